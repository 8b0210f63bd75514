"""The cells of a table: names as text, probabilities as numbers, and what is wrong with them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .values import all_text, is_missing, number, numbers, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..aggregators.rows import FloatArray
    from .csv_batches import Batch
    from .plans import Plan
    from .rejecting import Checked
    from .values import Cells

IN_RANGE = "probability must lie in [0, 1]"
IN_PERCENT = "probability must lie in [0, 100] per cent"
A_NUMBER = "probability must be a number"


def question_ids(batch: Batch, plan: Plan) -> Sequence[str]:
    """The name of each row's question."""
    if len(plan.question) == 1:
        return texts(batch.columns[plan.question[0]])
    return list(map(" | ".join, zip(*(texts(batch.columns[place]) for place in plan.question), strict=True)))


def texts(column: Cells) -> Sequence[str]:
    """Names as text: whole numbers without a point, nothing as the empty text."""
    if all_text(column):
        return column
    entries = column.tolist() if isinstance(column, np.ndarray) else column
    return ["" if not isinstance(x, str) and is_missing(x) else _text(x) for x in entries]


def _text(entry: Any) -> str:
    return str(int(entry)) if isinstance(entry, float) and entry.is_integer() else str(entry)


def by_rows(columns: Sequence[Cells]) -> Cells:
    """The cells of some columns, row after row."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1).ravel()
    return list(chain.from_iterable(zip(*columns, strict=True)))


def probabilities(column: Cells, checked: Checked, *, percent: bool) -> FloatArray:
    """Probabilities, NaN where there is none; what is no number in the range is rejected, with what to do about it."""
    values, wrong = numbers(column, percent_signs=percent)
    high = 100 if percent else 1
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
        try:
            if text.endswith("%"):
                return f"; {_instead(number(text[:-1].replace(',', '.')))}"
            return f"; write {number(text.replace(',', '.')):g}"
        except ValueError:
            return ""
    number_like = isinstance(entry, float) and not percent and 2 <= entry <= 100
    return f"; if that is {entry:g} %, {_instead(entry)}" if number_like else ""


def _instead(percentage: float) -> str:
    return f"write {percentage / 100:g}, or pass --percent (percent=True) if all are in per cent"
