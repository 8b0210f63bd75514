"""exp, log, powers and square roots in interval arithmetic, from + - * / and what IEEE rounds exactly.

numpy's own exp and log promise no error bound. Here arguments are reduced to a short range, where a polynomial with positive
coefficients is evaluated at a positive argument: then every operation of Horner's rule has positive operands, a relative
error never grows, and k operations are wrong by a factor of at most (1 + 2^-53)^k. The rest of the series is a geometric
bound. Square roots are rounded correctly by IEEE; frexp and ldexp are exact.

>>> e = exp(Interval(1.0))
>>> bool(e.lo < 2.718281828459045 < e.hi), bool(e.hi - e.lo < 1e-12)
(True, True)
>>> z = log(Interval(3.0)).scaled(2.0)
>>> bool(exp(z).lo < 9 < exp(z).hi)
True
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from .intervals import Interval, down, up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from .intervals import Floats

LN2 = Interval(0.6931471805599452, 0.6931471805599454)
FARTHEST = 700.0  # exp of more, or of less than minus that, is only said to be larger or smaller
TERMS = 20
EXP = [1 / factorial(k) for k in range(TERMS)]  # exp r, for 0 < r < 0.72
ATANH = [1 / (2 * k + 1) for k in range(TERMS)]  # atanh(t)/t in t^2, for t^2 < 0.03
# What is left out, relative to the sum, which is at least 1: 0.72^20/20! (1 + 1/28) < 2^-70 and 0.03^20/41 (1 + 1/32) < 2^-100.
# What is rounded: a coefficient once; in each of the twenty steps the argument (t^2 five times) and two operations; and six
# operations around them: (1 + 2^-53)^147 < 1 + 2^-45.
ERROR = 2.0**-45


def horner(coefficients: Sequence[float], x: Floats) -> Floats:
    """sum_k c_k x^k, rounded as it comes: 2 len(c) operations on positive numbers."""
    total = np.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total *= x
        total += c
    return total


def exp(x: Interval) -> Interval:
    """exp x, from exp(k ln 2 + r) = 2^k exp r with some whole number k and 0 < r < 0.72."""
    lo, hi = (_exp(np.clip(end, -FARTHEST, FARTHEST)) for end in (x.lo, x.hi))
    return Interval(np.where(x.lo < -FARTHEST, 0.0, lo.lo), np.where(x.hi <= FARTHEST, hi.hi, np.inf))


def _exp(x: Floats) -> Interval:
    k = np.floor(x * 1.4426950408889634 - 0.02)
    r = Interval(x) - Interval(k) * LN2
    lo, hi = horner(EXP, r.lo) * (1 - ERROR), horner(EXP, r.hi) * (1 + ERROR)
    power = np.nan_to_num(k).astype(np.int64)
    return Interval(down(np.ldexp(lo, power)), up(np.ldexp(hi, power)))


def log(x: Interval) -> Interval:
    """log x for x >= 0, from log(2^k m) = k ln 2 + 2 atanh((m-1)/(m+1)) with 0.7 < m < 1.42."""
    lo = np.where(x.lo > 0, _log(np.where(x.lo > 0, x.lo, 1.0)).lo, -np.inf)
    hi = np.where(x.hi > 0, _log(np.where(x.hi > 0, x.hi, 1.0)).hi, -np.inf)
    return Interval(lo, hi)


def _log(x: Floats) -> Interval:
    m, k = np.frexp(x)
    small = m < 0.7071
    m, k = np.where(small, 2 * m, m), np.where(small, k - 1, k)
    t = (m - 1) / (m + 1)  # m - 1 is exact
    size = 2 * np.abs(t) * horner(ATANH, t * t)
    lo, hi = size * (1 - ERROR), size * (1 + ERROR)
    part = Interval(np.where(t > 0, lo, -hi), np.where(t > 0, hi, -lo))
    return Interval(k.astype(np.float64)) * LN2 + part


def power(x: Interval, exponent: Fraction) -> Interval:
    """x^s for x >= 0; where x may be 0 and s < 0 it may be infinite."""
    if exponent == 0:
        return Interval(np.ones_like(x.lo))
    with np.errstate(invalid="ignore"):
        found = exp(Interval.of(exponent) * log(x))
    if exponent < 0:
        return Interval(found.lo, np.where(x.lo <= 0, np.inf, found.hi))
    return Interval(np.where(x.lo <= 0, 0.0, found.lo), np.where(x.hi <= 0, 0.0, found.hi))


def root(x: Interval) -> Interval:
    """The square root of x >= 0."""
    return Interval(np.maximum(down(np.sqrt(np.maximum(x.lo, 0.0))), 0.0), up(np.sqrt(np.maximum(x.hi, 0.0))))
