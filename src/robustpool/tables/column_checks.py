"""The columns of a forecast table, checked once when it is made, and read-only from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import frozen
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..aggregators.rows import BoolArray, FloatArray
    from .records import IntArray


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


def numbers_of(name: str, column: Any, names: Sequence[str]) -> IntArray:
    """A column with numbers of names: whole, and each below the number of names."""
    numbers = whole(name, column)
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(names)):
        rule = f"{name} must be the number of one of the {len(names):,} {name}s, from 0"
        _refuse(rule, (numbers < 0) | (numbers >= len(names)), numbers, lambda i: f"row {i}", "rows")
    return numbers


def whole(name: str, column: Any) -> IntArray:
    """A column of whole numbers."""
    given = np.asarray(column)
    if given.dtype.kind not in "iu" and len(given):
        raise InputError(f"column {name} of a forecast table must have whole numbers; it has the type {given.dtype}.")
    return own(given, np.int64)


def increasing(name: str, column: IntArray) -> None:
    """Refuse numbers of which one is smaller than the one before it."""
    falls = column[1:] < column[:-1]
    if falls.any():
        row = int(np.argmax(falls)) + 1
        raise InputError(
            f"the rows of a forecast table must be ordered by {name}; row {row} is of {name} {column[row]}, "
            f"row {row - 1} of {name} {column[row - 1]} ({np.count_nonzero(falls):,} of {len(column):,} rows)."
        )


def probabilities(column: FloatArray, where: Callable[[int], str]) -> None:
    """Refuse what is no probability."""
    if len(column) and not (column.min() >= 0 and column.max() <= 1):  # NaN fails
        _refuse("probability must lie in [0, 1]", ~((column >= 0) & (column <= 1)), column, where, "rows")


def outcomes(column: FloatArray, where: Callable[[int], str]) -> None:
    """Refuse what is neither 0 nor 1 nor NaN."""
    wrong = ~((column == 0) | (column == 1) | np.isnan(column))
    if wrong.any():
        _refuse("outcome must be 0, 1 or NaN", wrong, column, where, "questions")


def weights(column: FloatArray, where: Callable[[int], str]) -> None:
    """Refuse what is not positive and finite."""
    if len(column) and not (column.min() > 0 and column.max() < np.inf):  # NaN fails
        _refuse("weight must be positive and finite", ~((column > 0) & (column < np.inf)), column, where, "rows")


def timestamps(column: FloatArray, where: Callable[[int], str]) -> None:
    """Refuse what is neither finite nor NaN."""
    if len(column) and np.isinf(column).any():
        _refuse("timestamp must be finite or NaN", np.isinf(column), column, where, "rows")


def _refuse(rule: str, wrong: BoolArray, column: NDArray[Any], where: Callable[[int], str], things: str) -> None:
    i = int(np.argmax(wrong))
    count = f"{np.count_nonzero(wrong):,} of {len(column):,} {things}"
    raise InputError(f"{rule}; {where(i)} is {column[i]:g} ({count}).")
