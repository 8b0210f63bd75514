"""Checks at the door: each returns a clean copy or raises one sentence with rule, place, value and how many."""

from __future__ import annotations

import math
import os
import reprlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from .typing import Floats

SUM_TOLERANCE = 1e-8
"""A distribution may miss 1 by this much (decimals that people type), then it is normalised."""

SUM_ROUNDING = 1e-14
"""Below this the sum is 1 up to rounding, and the numbers stay as they are: saved and loaded they are the same."""

NEGATIVE_TOLERANCE = 1e-12
"""A probability may be below 0 by this much (1 - 0.9 - 0.1 in floating point), then it counts as 0."""

_SOLVE = {"scipy": "scipy", "numba": "numba", "clarabel": "clarabel"}
_PLOTS = {"matplotlib": "matplotlib"}
_EXCEL = {"openpyxl": "openpyxl"}
EXTRAS = {
    "solve": _SOLVE,
    "cvxpy": {**_SOLVE, "cvxpy": "cvxpy"},
    "plots": _PLOTS,
    "sklearn": {"scikit-learn": "sklearn.frozen"},
    "excel": _EXCEL,
    "dask": {"dask": "dask", "distributed": "distributed", "pandas": "pandas", "pyarrow": "pyarrow"},
    "serve": {**_SOLVE, **_PLOTS, **_EXCEL, "fastapi": "fastapi", "uvicorn": "uvicorn", "httptools": "httptools"},
}
"""The packages of each extra, and the modules that show that they are installed."""


def extra(what: str, name: str) -> None:
    """Refuse what needs the packages of an extra that are not installed."""
    if not all(map(_installed, EXTRAS[name].values())):
        packages = "package" if len(EXTRAS[name]) == 1 else "packages"
        raise MissingExtraError(
            f'{what} needs the {packages} of the extra "{name}" ({", ".join(EXTRAS[name])}); install robustpool[{name}].'
        )


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:  # of the package that the module is in
        return False


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        """Python writes no whole number with more than 4,300 digits."""
        return super().repr_int(x, level) if x.bit_length() < 10_000 else f"a whole number of {x.bit_length():,} bits"


SHORT = _Short()
SHORT.maxlevel, SHORT.maxlist, SHORT.maxtuple, SHORT.maxdict = 4, 20, 20, 20
SHORT.maxstring = SHORT.maxlong = SHORT.maxother = LONGEST_SHOWN = 200


def shown(value: object) -> str:
    """A value as an error shows it: as Python writes it, but never long, whatever a file holds.

    >>> shown([0.5, "x"]), len(shown([["x" * 9999] * 9999])), shown(float("nan")), shown(1 << 99999)
    ("[0.5, 'x']", 203, 'nan', 'a whole number of 100,000 bits')
    """
    text = SHORT.repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def printable(text: str) -> str:
    """What a library says, as a part of a sentence: its first line, in signs that can be printed, and never long.

    >>> printable("no such type: \\x0e; see\\nthe manual")
    'no such type: \\\\x0e; see'
    """
    line = (text.splitlines() or [""])[0][:LONGEST_SHOWN]
    return line if line.isprintable() else repr(line)[1:-1]


def place(index: Iterable[int]) -> str:
    """The entry of an array as people write it: ``[0][2]``.

    >>> place((0, 2))
    '[0][2]'
    """
    return "".join(f"[{int(i)}]" for i in index)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array


def real_array(name: str, values: ArrayLike) -> Floats:
    """A float64 copy of an array of finite numbers."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a full array of numbers ({printable(str(error))}).") from None
    _all(np.isfinite(array), f"{name} must be finite", name, array)
    return array


def _all(good: NDArray[np.bool_], rule: str, name: str, array: Floats) -> None:
    """Refuse an array of which some entries break a rule."""
    if not good.all():
        where = np.argwhere(~good)[0]
        raise InputError(
            f"{rule}; {name}{place(where)} is {array[tuple(where)]:g} ({np.sum(~good)} of {array.size} entries)."
        )


def distributions(name: str, values: ArrayLike, *, stacked: bool) -> Floats:
    """Probability distributions: one array, or (``stacked``) one along each entry of the first axis.

    >>> distributions("joint", [[0.25, 0.25], [0.5, 0]], stacked=False).sum()
    np.float64(1.0)
    """
    array = real_array(name, values)
    if array.size == 0:
        raise InputError(f"{name} must have at least one entry; its shape is {array.shape}.")
    _all(array >= -NEGATIVE_TOLERANCE, "probability must not be negative", name, array)
    array = np.maximum(array, 0.0)
    axes = tuple(range(1 if stacked else 0, array.ndim))
    totals = array.sum(axis=axes, keepdims=True)
    bad = ~(np.abs(totals - 1.0) <= SUM_TOLERANCE)
    if bad.any():
        where = np.argwhere(bad)[0]
        one = f"{name}{place(where[:1])}" if stacked else name
        count = f" ({bad.sum()} of {totals.size} distributions)" if stacked else ""
        raise InputError(f"probabilities must sum to 1; {one} sums to {totals[tuple(where)]:.10g}{count}.")
    return np.asarray(array / np.where(np.abs(totals - 1.0) <= SUM_ROUNDING, 1.0, totals))


def number(
    name: str, value: object, *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf
) -> float:
    """A finite number with ``above < value``, ``least <= value <= most``; written so that NaN fails.

    >>> number("tolerance", 0.1, above=0)
    0.1
    """
    limits = {f"greater than {above:g}": above, f"at least {least:g}": least, f"at most {most:g}": most}
    rule = " and ".join(text for text, limit in limits.items() if math.isfinite(limit))
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name} must be a number; it is {shown(value)}.")
    try:
        result = float(value)
    except OverflowError:  # a whole number beyond all floats
        result = math.inf
    if not (math.isfinite(result) and above < result and least <= result <= most):
        raise InputError(f"{name} must be a finite number{', ' + rule if rule else ''}; it is {shown(value)}.")
    return result


def interval(name: str, ends: Any, *, least: float, most: float) -> tuple[float, float]:
    """Two numbers in [least, most], the lower first.

    >>> interval("prior_range", [0.1, 0.4], least=0, most=1)
    (0.1, 0.4)
    """
    if not isinstance(ends, (tuple, list)) or len(ends) != 2:
        raise InputError(f"{name} must be a pair, from low to high; it is {shown(ends)}.")
    low, high = (number(name, end, least=least, most=most) for end in ends)
    if low > high:
        raise InputError(f"{name} must be from low to high; it is {shown(ends)}.")
    return low, high


def open_unit(name: str, value: float) -> float:
    """A number strictly between 0 and 1.

    >>> open_unit("prior", 0.3)
    0.3
    """
    inner = number(name, value)
    if not 0 < inner < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1; it is {inner!r}.")
    return inner


def unit_array(name: str, values: ArrayLike, *, of: str | None = None) -> Floats:
    """A float64 copy of an array of probabilities, each of them called ``of`` in the message.

    >>> unit_array("reports", [[0, 1]])
    array([[0., 1.]])
    """
    array = real_array(name, values)
    _all((array >= 0) & (array <= 1), f"{of or name} must lie in [0, 1]", name, array)
    return array


def whole(name: str, value: object, *, least: int, most: int | None = None) -> int:
    """A whole number that is at least ``least``, and at most ``most`` if that is given.

    >>> whole("structures", 3, least=1)
    3
    """
    rule = f"at least {least}" + (f" and at most {most}" if most is not None else "")
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or not least <= value <= (value if most is None else most)
    ):
        raise InputError(f"{name} must be a whole number, {rule}; it is {shown(value)}.")
    return int(value)


def choice(name: str, value: object, options: Iterable[str]) -> str:
    """One of a few words.

    >>> choice("paradigm", "ratio", ["additive", "ratio"])
    'ratio'
    """
    words = list(options)
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{name} must be one of {', '.join(words)}; it is {shown(value)}.")
    return value


def fits_in_memory(what: str, needed: float) -> None:
    """Refuse work that cannot fit into this machine's memory before it is begun."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8e9
    if needed > 0.6 * memory:
        raise InputError(
            f"{what} would need about {needed / 1e9:,.0f} GB of memory; this machine has {memory / 1e9:,.0f} GB."
        )
