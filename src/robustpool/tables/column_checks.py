"""The columns of a forecast table, checked once when it is made, and read-only from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import SUM_ROUNDING, frozen
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..typing import Booleans, Floats, Integers


SUM_TOLERANCE = 1e-9
"""A distribution of a table may miss 1 by this much; who reads files normalises within a tolerance of its own before."""


def refuse(rule: str, wrong: Booleans, says: Callable[[int], str], things: str = "rows") -> None:
    """An error if any entry is wrong, with what it ``says`` and how many are.

    >>> refuse("a weight must be positive", np.array([False, True]), "row {} is 0".format)
    Traceback (most recent call last):
    robustpool.errors.InputError: a weight must be positive; row 1 is 0 (1 of 2 rows).
    """
    if wrong.any():
        count = f"{np.count_nonzero(wrong):,} of {len(wrong):,} {things}"
        raise InputError(f"{rule}; {says(int(np.argmax(wrong)))} ({count}).")


def own(column: Any, kind: type[np.generic]) -> NDArray[Any]:
    """A column that nobody can change: the same if that is so already, else a copy, since the array is its owner's.

    >>> mine = np.array([1, 2])
    >>> own(mine, np.int64) is mine, own(frozen(mine), np.int64) is mine
    (False, True)
    """
    if isinstance(column, np.ndarray) and column.dtype == kind:
        arrays = (column, column.base) if isinstance(column.base, np.ndarray) else (column,)
        if not any(array.flags.writeable for array in arrays):
            return column
    return frozen(np.array(column, dtype=kind))


def whole(name: str, column: Any) -> Integers:
    """A column of whole numbers."""
    given = np.asarray(column)
    if given.dtype.kind not in "iu" and len(given):
        raise InputError(f"column {name} of a forecast table must have whole numbers; it has the type {given.dtype}.")
    return own(given, np.int64)


def numbers_of(name: str, column: Any, names: Sequence[str]) -> Integers:
    """A column with numbers of names: whole, and each below the number of names."""
    numbers = whole(name, column)
    rule = f"{name} must be the number of one of the {len(names):,} {name}s, from 0"
    refuse(rule, (numbers < 0) | (numbers >= len(names)), lambda i: f"row {i} is {numbers[i]}")
    return numbers


def sizes(options: Sequence[tuple[str, ...]], questions: Sequence[str]) -> Integers:
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


def distributions(column: Floats, sizes: Integers, where: Callable[[int], str]) -> Floats:
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

    def option(i: int) -> str:
        k = int(np.argmax(wrong[i]))
        return f"{where(i)}, option {k} is {column[i, k]:g}"

    refuse("probability must lie in [0, 1]", np.asarray(wrong.any(axis=1)), option)
    refuse(
        "probability must be NaN beyond the options of the question",
        np.asarray((~own & ~np.isnan(column)).any(axis=1)),
        lambda i: f"{where(i)} has a number for option {sizes[i]} of {sizes[i]}, counted from 0",
    )
    totals = np.where(own, column, 0.0).sum(axis=1)
    rule = f"the probabilities of an answer must sum to 1 (within {SUM_TOLERANCE:g})"
    refuse(rule, np.abs(totals - 1) > SUM_TOLERANCE, lambda i: f"{where(i)} sums to {totals[i]:.12g}")
    rounded = np.abs(totals - 1) <= SUM_ROUNDING
    return column if rounded.all() else np.asarray(column / np.where(rounded, 1.0, totals)[:, None])
