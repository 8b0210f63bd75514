"""From batches of columns to rows of the store: each entry is checked, and what is wrong is rejected with its place."""

from __future__ import annotations

from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from .codes import NO_NAME
from .sieves import BINARY, sift
from .values import Column, all_text, is_missing, named, numbers, outcomes, quoted, times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .csv_batches import Batch
    from .plans import Plan
    from .records import FloatArray, IntArray
    from .row_store import RowStore
    from .values import Cells

    BoolArray = NDArray[np.bool_]

IN_RANGE = "probability must lie in [0, 1]"
IN_PERCENT = "probability must lie in [0, 100] per cent"
A_NUMBER = "probability must be a number"
TWO_VALUED = "outcome must be 0 or 1, false or true, no or yes, or empty"
POSITIVE = "weight must be a positive number"
READABLE = "timestamp must be ISO 8601 or seconds since 1970"
NAMED = "must not be empty"
ONE_OUTCOME = "a question must have one outcome"
ONE_CLUSTER = "a question must have one cluster"


class Checked:
    """The rows of a batch that are still good; each row is rejected for one reason, the first that is found."""

    def __init__(self, store: RowStore, lines: IntArray, where: Callable[[int], str]) -> None:
        """All rows are good; ``where(i)`` says whose answer to which question row i is."""
        self._store, self._where = store, where
        self.lines = lines
        self.good = np.ones(len(lines), np.bool_)

    def reject(self, rule: str, wrong: BoolArray, says: Callable[[int], str], entries: int = 1) -> None:
        """Reject the good rows among those that are marked; ``says(i)`` is what is wrong with row i."""
        rows = np.flatnonzero(wrong & self.good)
        if len(rows):
            self.good[rows] = False
            self._store.log.reject(
                rule, self.lines[rows], lambda i: f"{self._where(rows[i])}{says(rows[i])}", count=entries * len(rows)
            )


def take_long(batch: Batch, plan: Plan, store: RowStore, *, percent: bool) -> None:
    """Take a batch with one answer a row."""
    store.count(entries=len(batch.lines))
    ids = _question_ids(batch, plan)
    people = _texts(batch.columns[plan.roles["forecaster_id"]])
    checked = Checked(store, batch.lines, lambda i: f"(question {named(ids[i])}, forecaster {named(people[i])}) ")
    forecast, complement, third = _sieved(batch, plan, checked)
    outcome = _read(batch, plan, "outcome", lambda column: outcomes(column, options="option" in plan.extras))
    if outcome is not None:
        checked.reject(TWO_VALUED, outcome.wrong, _shows(batch, plan, "outcome"))
    probability = _probabilities(batch.columns[plan.roles["probability"]], checked, percent=percent, skip=complement)
    weight = _read(batch, plan, "weight", numbers)
    if weight is not None:
        checked.reject(POSITIVE, ~(weight.values > 0) | np.isinf(weight.values), _shows(batch, plan, "weight"))
    timestamp = _read(batch, plan, "timestamp", times)
    if timestamp is not None:
        checked.reject(READABLE, timestamp.wrong, _shows(batch, plan, "timestamp"))
    question = _spread(store.questions.codes.numbers(_picked(ids, forecast)), forecast)
    forecaster = _spread(store.forecasters.numbers(_picked(people, checked.good)), checked.good)
    checked.reject(f"question_id {NAMED}", question == NO_NAME, lambda _: "is empty")
    checked.reject(f"forecaster_id {NAMED}", forecaster == NO_NAME, lambda _: "is empty")
    third &= question >= 0
    store.questions.refuse(question[third], BINARY, batch.lines[third], "has more than two options")
    good = checked.good
    store.count(complements=(good & complement).sum())
    good &= ~complement
    _learn(store, batch, plan, question, outcome, good)
    answered = good & ~np.isnan(probability)
    store.count(missing=(good & ~answered).sum())
    store.add(
        question[answered],
        forecaster[answered],
        probability[answered],
        None if weight is None else weight.values[answered],
        None if timestamp is None else timestamp.values[answered],
    )


def _sieved(batch: Batch, plan: Plan, checked: Checked) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Which rows are forecasts of some option, and of which: of no, of a third one. What is no forecast is rejected."""
    sieve = sift(batch, plan)
    if sieve is None:
        none = np.zeros(len(batch.lines), np.bool_)
        return ~none, none, none.copy()
    for rule, wrong, says in sieve.rejected:
        checked.reject(rule, wrong, says)
    forecast = checked.good.copy()
    checked.reject(BINARY, sieve.third, sieve.third_says)
    return forecast, sieve.complement, sieve.third & forecast


def take_wide(batch: Batch, plan: Plan, names: Sequence[str], store: RowStore, *, percent: bool) -> None:
    """Take a batch with one question a row and one forecaster a column."""
    width, rows = len(plan.forecasters), len(batch.lines)
    store.count(entries=rows * width)
    ids = _question_ids(batch, plan)
    row = Checked(store, batch.lines, lambda i: f"(question {named(ids[i])}) ")
    outcome = _read(batch, plan, "outcome", outcomes)
    if outcome is not None:
        row.reject(TWO_VALUED, outcome.wrong, _shows(batch, plan, "outcome"), entries=width)
    question = _spread(store.questions.codes.numbers(_picked(ids, row.good)), row.good)
    row.reject(f"question_id {NAMED}", question == NO_NAME, lambda _: "is empty", entries=width)
    _learn(store, batch, plan, question, outcome, row.good)
    cells = _by_rows([batch.columns[place] for place in plan.forecasters])
    people = [names[place] for place in plan.forecasters]
    cell = Checked(
        store,
        np.repeat(batch.lines, width),
        lambda i: f"(question {named(ids[i // width])}, forecaster {named(people[i % width])}) ",
    )
    cell.good = np.repeat(row.good, width)
    probability = _probabilities(cells, cell, percent=percent)
    answered = cell.good & ~np.isnan(probability)
    store.count(missing=(cell.good & ~answered).sum())
    question = np.repeat(question, width)[answered]
    forecaster = np.tile(store.forecasters.numbers(people), rows)[answered]
    store.add(question, forecaster, probability[answered], None, None)


def _by_rows(columns: Sequence[Cells]) -> Cells:
    """The cells of some columns, row after row."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1).ravel()
    return list(chain.from_iterable(zip(*columns, strict=True)))


def _probabilities(column: Cells, checked: Checked, *, percent: bool, skip: BoolArray | None = None) -> FloatArray:
    """Probabilities, NaN where there is none; what is no number in the range is rejected, with what to do about it."""
    values, wrong = numbers(column, percent_signs=percent)
    high = 100 if percent else 1
    if skip is not None:
        values, wrong = np.where(skip, np.nan, values), wrong & ~skip
    checked.reject(A_NUMBER, wrong, lambda i: f"is {quoted(column[i])}{_hint(column[i])}")
    outside = ~((values >= 0) & (values <= high)) & ~np.isnan(values)
    checked.reject(
        IN_PERCENT if percent else IN_RANGE,
        outside,
        lambda i: f"is {quoted(column[i])}{_hint(values[i], percent=percent)}",
    )
    return values / 100 if percent else values


def _hint(entry: Any, *, percent: bool = False) -> str:
    """What somebody probably meant."""
    if isinstance(entry, str):
        text = entry.strip()
        if text.endswith("%"):
            return _percent_hint(text[:-1])
        try:
            return f"; write {float(text.replace(',', '.')):g}"
        except ValueError:
            return ""
    return _percent_hint(f"{entry:g}") if not percent and 2 <= entry <= 100 else ""


def _percent_hint(text: str) -> str:
    return f"; if that is {text.strip()} %, pass --percent (percent=True)"


def _read(batch: Batch, plan: Plan, role: str, read: Callable[[Cells], Column]) -> Column | None:
    """The column of a role, if there is one."""
    return read(batch.columns[plan.roles[role]]) if role in plan.roles else None


def _shows(batch: Batch, plan: Plan, role: str) -> Callable[[int], str]:
    column = batch.columns[plan.roles[role]]
    return lambda i: f"is {quoted(column[i])}"


def _learn(
    store: RowStore, batch: Batch, plan: Plan, question: IntArray, outcome: Column | None, good: BoolArray
) -> None:
    """What the good rows say of their questions."""
    known, lines, place = store.questions, batch.lines[good], store.log.place
    if outcome is not None:
        known.learn(known.outcome, ONE_OUTCOME, question[good], outcome.values[good], lines, place)
    if "cluster" in plan.roles:
        cluster = known.clusters.numbers(_texts(batch.columns[plan.roles["cluster"]])).astype(np.float64)
        cluster[cluster == NO_NAME] = np.nan
        known.learn(known.cluster, ONE_CLUSTER, question[good], cluster[good], lines, place)


def _question_ids(batch: Batch, plan: Plan) -> Sequence[str]:
    if len(plan.question) == 1:
        return _texts(batch.columns[plan.question[0]])
    return list(map(" | ".join, zip(*(_texts(batch.columns[place]) for place in plan.question), strict=True)))


def _texts(column: Cells) -> Sequence[str]:
    """Names as text: whole numbers without a point, nothing as the empty text."""
    if all_text(column):
        return column
    entries = column.tolist() if isinstance(column, np.ndarray) else column
    return ["" if not isinstance(x, str) and is_missing(x) else _text(x) for x in entries]


def _text(entry: Any) -> str:
    return str(int(entry)) if isinstance(entry, float) and entry.is_integer() else str(entry)


def _picked(texts: Sequence[str], good: BoolArray) -> Sequence[str]:
    return texts if good.all() else list(compress(texts, good.tolist()))


def _spread(numbers_of_good: IntArray, good: BoolArray) -> IntArray:
    """Numbers of the good rows in the places of all rows; the others get one that is no number of a name."""
    if good.all():
        return numbers_of_good
    spread = np.full(len(good), NO_NAME - 1, dtype=np.int64)
    spread[good] = numbers_of_good
    return spread
