"""exp and the logistic function of many doubles at once, from + - * / alone, with bounds on their errors.

exp(-u) = exp(-i) exp(-j/64) exp(-r) with i = floor(u), j = floor(64 (u - i)) and 0 <= r < 1/64: all three are exact for doubles.
The first two factors come from tables that Arb rounds. The last is its Taylor polynomial of degree 7, which misses it by less
than r^8/8! < 2^-63. With some thirty roundings of 2^-53 each, the product is wrong by less than 2^-47 of its size.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from flint import arb

from .balls import precision
from .intervals import Floats, Interval

MOST = 700  # exp(-700) = 1e-304 is still a normal number
PARTS = 64
DEGREE = 7
ERROR = 2.0**-47
"""The relative error of `exp_minus`, and more than the absolute one of `sigma_near`."""


@cache
def _tables() -> tuple[Floats, Floats]:
    """exp(-i) for i = 0, ..., MOST and exp(-j/64) for j = 0, ..., 63."""
    with precision():
        whole = [float(arb(-i).exp()) for i in range(MOST + 1)]
        parts = [float((arb(-j) / PARTS).exp()) for j in range(PARTS)]
    return np.array(whole), np.array(parts)


def exp_minus(u: Floats) -> Floats:
    """exp(-u) for 0 <= u <= 700, up to `ERROR` of its size; exp(-700) beyond, and 0 where u is infinite.

    >>> float(exp_minus(np.array([1.0]))[0]), float(exp_minus(np.array([np.inf]))[0])
    (0.367879441171442..., 0.0)
    """
    whole, parts = _tables()
    inside = np.minimum(u, float(MOST))
    i = np.floor(inside)
    rest = inside - i
    j = np.floor(PARTS * rest)
    r = rest - j / PARTS
    series = np.ones_like(r)
    for k in range(DEGREE, 0, -1):
        series = 1.0 - r * series / k
    exp = whole[i.astype(np.int64)] * parts[j.astype(np.int64)] * series
    return np.where(np.isinf(u), 0.0, exp)


def exp_most(z: Floats) -> Floats:
    """At least exp(z); infinite from z = 700 on, and where z is not a number."""
    known = np.where(np.isnan(z), np.inf, z)
    size = exp_minus(np.abs(known))
    with np.errstate(divide="ignore"):
        most = np.where(known <= 0, size, 1.0 / size) * (1 + 4 * ERROR)
    return np.where(known >= MOST, np.inf, most)


def sigma_near(z: Floats) -> Floats:
    """1/(1 + exp(-z)), off by less than `ERROR`; 0 and 1 where z is infinite. Not a number gives not a number."""
    known = np.where(np.isnan(z), 0.0, z)
    exp = exp_minus(np.abs(known))
    share = 1.0 / (1.0 + exp)
    return np.where(np.isnan(z), np.nan, np.where(known >= 0, share, exp * share))


def sigma(z: Interval) -> Interval:
    """1/(1 + exp(-z)), which grows with z; all of [0, 1] where z is not known."""
    lo, hi = sigma_near(z.lo), sigma_near(z.hi)
    lo = np.where(np.isnan(lo) | np.isneginf(z.lo), 0.0, lo - ERROR)
    hi = np.where(np.isnan(hi) | np.isposinf(z.hi), 1.0, hi + ERROR)
    return Interval(lo, hi).within(0.0, 1.0)
