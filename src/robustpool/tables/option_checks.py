"""The columns of a table whose questions have options, checked once when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..checks import SUM_ROUNDING
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.rows import BoolArray, FloatArray
    from .records import IntArray

SUM_TOLERANCE = 1e-9
"""A distribution of a table may miss 1 by this much; who reads files normalises within a tolerance of its own before."""


def sizes(options: Sequence[tuple[str, ...]], questions: Sequence[str]) -> IntArray:
    """How many options each question has: at least two, with different names.

    >>> sizes([("home", "draw", "away")], ["final"])
    array([3])
    """
    if len(options) != len(questions):
        raise InputError(
            f"column options of a forecast table must have {len(questions)} entries; it has {len(options)}."
        )
    wrong = {names for names in set(options) if len(names) < 2 or len(set(names)) < len(names)}
    if wrong:
        first = next(number for number, names in enumerate(options) if names in wrong)
        raise InputError(
            "a question must have at least two options with different names; question "
            f"{questions[first]} has {list(options[first])}."
        )
    return np.fromiter(map(len, options), np.int64, len(options))


def distributions(column: FloatArray, sizes: IntArray, where: Callable[[int], str]) -> FloatArray:
    """Each row as a distribution over as many options as its question has, and NaN beyond; divided by its sum.

    >>> distributions(np.array([[0.2, 0.8, np.nan]]), np.array([2]), "row {}".format)
    array([[0.2, 0.8, nan]])
    """
    most = int(sizes.max(initial=0))
    if column.ndim != 2 or column.shape[1] < most:
        raise InputError(
            f"column probability of a table with options must have the shape (rows, {most}), one column for each option; "
            f"the shape is {column.shape}."
        )
    own = np.arange(column.shape[1]) < sizes[:, None]
    wrong = own & ~((column >= 0) & (column <= 1))
    if wrong.any():
        i, k = np.argwhere(wrong)[0].tolist()
        rows = np.asarray(wrong.any(axis=1))
        raise InputError(f"probability must lie in [0, 1]; {where(i)}, option {k} is {column[i, k]:g} {_count(rows)}.")
    beyond = np.asarray((~own & ~np.isnan(column)).any(axis=1))
    if beyond.any():
        i = int(np.argmax(beyond))
        raise InputError(
            f"probability must be NaN beyond the options of the question; {where(i)} has a number for option {sizes[i]} "
            f"of {sizes[i]}, counted from 0 {_count(beyond)}."
        )
    totals = np.where(own, column, 0.0).sum(axis=1)
    off = ~(np.abs(totals - 1) <= SUM_TOLERANCE)
    if off.any():
        i = int(np.argmax(off))
        raise InputError(
            f"the probabilities of an answer must sum to 1 (within {SUM_TOLERANCE:g}); {where(i)} sums to "
            f"{totals[i]:.12g} {_count(off)}."
        )
    rounded = np.abs(totals - 1) <= SUM_ROUNDING
    return column if rounded.all() else np.asarray(column / np.where(rounded, 1.0, totals)[:, None])


def outcomes(column: FloatArray, sizes: IntArray, questions: Sequence[str]) -> None:
    """Refuse what is not the number of an option, nor NaN."""
    wrong = ~(((column >= 0) & (column < sizes) & (column == np.floor(column))) | np.isnan(column))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InputError(
            f"outcome must be the number of an option, from 0, or NaN; that of question {questions[i]}, which has "
            f"{sizes[i]} options, is {column[i]:g} ({np.count_nonzero(wrong):,} of {len(column):,} questions)."
        )


def _count(wrong: BoolArray) -> str:
    return f"({np.count_nonzero(wrong):,} of {len(wrong):,} rows)"
