"""From batches of columns to rows of the store: each entry is checked, and what is wrong is rejected with its place."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from .cells import by_rows, probabilities, question_ids, texts
from .codes import NO_NAME
from .rejecting import Checked
from .sieves import BINARY, sift
from .values import Column, named, numbers, outcomes, quoted, times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.rows import BoolArray
    from .csv_batches import Batch
    from .plans import Plan
    from .records import IntArray
    from .row_store import RowStore
    from .values import Cells

TWO_VALUED = "outcome must be 0 or 1, false or true, no or yes, or empty"
POSITIVE = "weight must be a positive number"
READABLE = "timestamp must be ISO 8601 or seconds since 1970"
NAMED = "must not be empty"
ONE_OUTCOME = "a question must have one outcome"
ONE_CLUSTER = "a question must have one cluster"


def take_long(batch: Batch, plan: Plan, store: RowStore, *, percent: bool) -> None:
    """Take a batch with one answer a row."""
    store.count(entries=len(batch.lines))
    ids = question_ids(batch, plan)
    people = texts(batch.columns[plan.roles["forecaster_id"]])
    checked = Checked(store.log, batch.lines, lambda i: f"(question {named(ids[i])}, forecaster {named(people[i])}) ")
    forecast, complement, third = _sieved(batch, plan, checked)
    outcome = _read(batch, plan, "outcome", lambda column: outcomes(column, options="option" in plan.extras))
    probability = probabilities(batch.columns[plan.roles["probability"]], checked, percent=percent)
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
    store.count_percentages(probability[good], percent=percent)
    if complement is not None:
        probability = np.where(complement, 1 - probability, probability)
    _learn(store, batch, plan, question, outcome, checked, good if complement is None else good & ~complement)
    answered = good & ~np.isnan(probability)
    store.count(missing=(good & ~answered).sum())
    store.add(
        question[answered],
        forecaster[answered],
        probability[answered],
        None if weight is None else weight.values[answered],
        None if timestamp is None else timestamp.values[answered],
        None if complement is None else complement[answered],
    )


def _sieved(batch: Batch, plan: Plan, checked: Checked) -> tuple[BoolArray, BoolArray | None, BoolArray]:
    """Which rows are forecasts of some option, and of which: of no, of a third one. What is no forecast is rejected.

    None in the place of no, if the format has no options.
    """
    sieve = sift(batch, plan)
    if sieve is None:
        none = np.zeros(len(batch.lines), np.bool_)
        return ~none, None, none
    for rule, wrong, says in sieve.rejected:
        checked.reject(rule, wrong, says)
    forecast = checked.good.copy()
    checked.reject(BINARY, sieve.third, sieve.third_says)
    return forecast, sieve.complement, sieve.third & forecast


def take_wide(batch: Batch, plan: Plan, names: Sequence[str], store: RowStore, *, percent: bool) -> None:
    """Take a batch with one question a row and one forecaster a column."""
    width, rows = len(plan.forecasters), len(batch.lines)
    store.count(entries=rows * width)
    ids = question_ids(batch, plan)
    row = Checked(store.log, batch.lines, lambda i: f"(question {named(ids[i])}) ")
    outcome = _read(batch, plan, "outcome", outcomes)
    question = store.questions.codes.numbers(ids)
    row.reject(f"question_id {NAMED}", question == NO_NAME, lambda _: "is empty", entries=width)
    _learn(store, batch, plan, question, outcome, row, row.good)
    cells = by_rows([batch.columns[place] for place in plan.forecasters])
    people = [names[place] for place in plan.forecasters]
    cell = Checked(
        store.log,
        np.repeat(batch.lines, width),
        lambda i: f"(question {named(ids[i // width])}, forecaster {named(people[i % width])}) ",
    )
    cell.good = np.repeat(row.good, width)
    probability = probabilities(cells, cell, percent=percent)
    store.count_percentages(probability[cell.good], percent=percent)
    answered = cell.good & ~np.isnan(probability)
    store.count(missing=(cell.good & ~answered).sum())
    question = np.repeat(question, width)[answered]
    forecaster = np.tile(store.forecasters.numbers(people), rows)[answered]
    store.add(question, forecaster, probability[answered], None, None)


def _read(batch: Batch, plan: Plan, role: str, read: Callable[[Cells], Column]) -> Column | None:
    """The column of a role, if there is one."""
    return read(batch.columns[plan.roles[role]]) if role in plan.roles else None


def _shows(batch: Batch, plan: Plan, role: str) -> Callable[[int], str]:
    column = batch.columns[plan.roles[role]]
    return lambda i: f"is {quoted(column[i])}"


def _learn(
    store: RowStore,
    batch: Batch,
    plan: Plan,
    question: IntArray,
    outcome: Column | None,
    checked: Checked,
    good: BoolArray,
) -> None:
    """What the good rows say of their questions; an outcome that cannot be read costs the outcome, not the answers."""
    known, lines, place = store.questions, batch.lines[good], store.log.place
    if outcome is not None:
        unread = np.flatnonzero(outcome.wrong & good)
        shows = _shows(batch, plan, "outcome")
        known.doubt(
            question[unread],
            TWO_VALUED,
            batch.lines[unread],
            lambda i: f"{checked.where(unread[i])}{shows(unread[i])}",
        )
        known.learn_outcomes(ONE_OUTCOME, question[good], outcome.values[good], lines, place)
    if "cluster" in plan.roles:
        cluster = known.clusters.numbers(texts(batch.columns[plan.roles["cluster"]])).astype(np.float64)
        cluster[cluster == NO_NAME] = np.nan
        known.learn_clusters(ONE_CLUSTER, question[good], cluster[good], lines, place)


def _picked(texts: Sequence[str], good: BoolArray) -> Sequence[str]:
    return texts if good.all() else list(compress(texts, good.tolist()))


def _spread(numbers_of_good: IntArray, good: BoolArray) -> IntArray:
    """Numbers of the good rows in the places of all rows; the others get one that is no number of a name."""
    if good.all():
        return numbers_of_good
    spread = np.full(len(good), NO_NAME - 1, dtype=np.int64)
    spread[good] = numbers_of_good
    return spread
