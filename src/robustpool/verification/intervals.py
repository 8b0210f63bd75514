"""Interval arithmetic on numpy arrays, rounded outward.

Every IEEE operation returns the nearest double, so a result is wrong by at most 2^-53 of its size (or by less than 1e-300,
where it is that small). Moving the ends of the result outward by 2^-51 of their size and by 1e-300 more than covers it,
the rounding of that move itself included. Only + - * / are used here, which every machine rounds alike.

>>> third = Interval(1.0) / Interval(3.0)
>>> bool(third.lo < third.hi), bool((third * Interval(3.0)).hi >= 1.0)
(True, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from fractions import Fraction

Floats: TypeAlias = NDArray[np.float64]

STEP = 2.0**-51
TINY = 1e-300


def down(x: Floats) -> Floats:
    """At most the exact value of which x is the rounding."""
    return np.asarray(x - (np.abs(x) * STEP + TINY))


def up(x: Floats) -> Floats:
    """At least the exact value of which x is the rounding."""
    return np.asarray(x + (np.abs(x) * STEP + TINY))


class Interval:
    """The closed intervals [lo, hi], entry by entry; a single array stands for points."""

    __slots__ = ("hi", "lo")

    def __init__(self, lo: ArrayLike, hi: ArrayLike | None = None) -> None:
        """Take the ends as they are: doubles are exact."""
        self.lo: Floats = np.asarray(lo, dtype=np.float64)
        self.hi: Floats = self.lo if hi is None else np.asarray(hi, dtype=np.float64)

    @classmethod
    def of(cls, x: Fraction) -> Interval:
        """A rational number, between its neighbours among the doubles."""
        return cls(down(np.asarray(float(x))), up(np.asarray(float(x)))) if x else cls(0.0)

    def __add__(self, other: Interval) -> Interval:
        """x + y."""
        return Interval(down(self.lo + other.lo), up(self.hi + other.hi))

    def __sub__(self, other: Interval) -> Interval:
        """x - y."""
        return Interval(down(self.lo - other.hi), up(self.hi - other.lo))

    def __mul__(self, other: Interval) -> Interval:
        """x y: the extremes are at the ends."""
        with np.errstate(invalid="ignore"):  # 0 times infinity: not a number, which no bound satisfies
            a, b, c, d = self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi
        return Interval(
            down(np.minimum(np.minimum(a, b), np.minimum(c, d))), up(np.maximum(np.maximum(a, b), np.maximum(c, d)))
        )

    def __truediv__(self, other: Interval) -> Interval:
        """x / y for y > 0; the whole line where y may be 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = self * Interval(down(1.0 / other.hi), up(1.0 / other.lo))
        sound = other.lo > 0
        return Interval(np.where(sound, quotient.lo, -np.inf), np.where(sound, quotient.hi, np.inf))

    def squared(self) -> Interval:
        """x^2, which is never negative."""
        least = np.where((self.lo > 0) | (self.hi < 0), np.minimum(self.lo * self.lo, self.hi * self.hi), 0.0)
        return Interval(np.maximum(down(least), 0.0), up(np.maximum(self.lo * self.lo, self.hi * self.hi)))

    def within(self, low: float, high: float) -> Interval:
        """What is left of it between two numbers that are known to enclose it."""
        return Interval(np.clip(self.lo, low, high), np.clip(self.hi, low, high))

    def __getitem__(self, key: Any) -> Interval:
        """Entries, or new axes, as numpy has them."""
        return Interval(self.lo[key], self.hi[key])

    def hull(self) -> Interval:
        """The range on boxes of what is monotone in each of two directions, from its corners (boxes, 2, 2)."""
        return Interval(self.lo.min(axis=(1, 2)), self.hi.max(axis=(1, 2)))

    def scaled(self, factor: float) -> Interval:
        """A positive number of times x."""
        return Interval(down(self.lo * factor), up(self.hi * factor))
