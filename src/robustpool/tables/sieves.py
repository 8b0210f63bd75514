"""Formats with a row for each option, and exports with rows that are no forecasts: what is taken, and what is not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .values import is_missing, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..aggregators.rows import BoolArray
    from .csv_batches import Batch
    from .plans import Plan
    from .values import Cells

YES = frozenset(["a", "1", "1.0", "true", "yes"])
NO = frozenset(["b", "0", "0.0", "false", "no"])
"""How exports name the two options of a question, in small letters; brackets do not matter."""

BINARY = "a question must have two options, named a and b, 1 and 0 or yes and no"


class Sieve(NamedTuple):
    """Rows that are rejected, by rule; rows that give the probability of no; rows that show a third option."""

    rejected: list[tuple[str, BoolArray, Callable[[int], str]]]
    complement: BoolArray | None  # None in a format without options
    third: BoolArray
    third_says: Callable[[int], str]


def sift(batch: Batch, plan: Plan) -> Sieve | None:
    """What of these rows is no forecast of yes; None for a format in which every row is one."""
    if not plan.extras:
        return None
    extras = {role: batch.columns[place] for role, place in plan.extras.items()}
    rejected: list[tuple[str, BoolArray, Callable[[int], str]]] = []

    def reject(role: str, rule: str, wrong: Callable[[str], bool]) -> None:
        if role in extras:
            column = extras[role]
            rejected.append((rule, each(column, wrong), lambda i: f"is {quoted(column[i])}"))

    reject("count", "a row must be the forecast of one forecaster, not an aggregate of so many", bool)
    for role in ("categories", "cdf"):
        reject(role, "a forecast must be on a binary question", bool)
    if plan.format.name == "gjp":
        ids = batch.columns[plan.question[0]]
        rule = "a question must not be conditional on another (its name ends in -1 to -5)"
        rejected.append((rule, each(ids, re.compile(r".*-[1-5]").fullmatch), lambda i: f"is {quoted(ids[i])}"))
    reject("kind", "a forecast must not be withdrawn (fcast_type 4)", {"4", "4.0"}.__contains__)
    reject("status", "a question must not be voided", "voided".__eq__)
    reject("output_type", "output_type must be pmf", lambda text: text != "pmf")
    if "option" not in extras:
        return Sieve(rejected, None, np.zeros(len(batch.lines), np.bool_), str)
    options = extras["option"]
    return Sieve(
        rejected,
        complement=each(options, lambda text: text in NO),
        third=each(options, lambda text: text not in NO and text not in YES),
        third_says=lambda i: f"has the option {quoted(options[i])}",
    )


def each(column: Cells, test: Callable[[str], object]) -> BoolArray:
    """Whether a test holds for each entry, as text in small letters without brackets; once for each different text."""
    texts = column if isinstance(column, (list, tuple)) else list(column)
    answers = {entry: bool(test(_text(entry))) for entry in set(texts)}
    return np.fromiter(map(answers.__getitem__, texts), np.bool_, len(texts))


def _text(entry: Any) -> str:
    return "" if is_missing(entry) else str(entry).strip().strip("()").lower()
