"""Exact values and derivatives of what is bounded for two agents: power series in fractions, and random cases."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from robustpool.verification.dual import Slopes
from robustpool.verification.forecasts import Grid, PriorEstimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from robustpool.verification.intervals import Interval

    Floats = NDArray[np.float64]

ESTIMATES = {
    "average-prior": [{"kappa": "1/2", "delta": "0", "side": "everywhere"}],
    "arieli-tuned": [
        {"kappa": "49/100", "delta": "0", "side": "below"},
        {"kappa": "49/100", "delta": "1/50", "side": "above"},
    ],
    "lopsided": [{"kappa": "1/5", "delta": "3/10", "side": "everywhere"}],
}
KINDS = ["table", *ESTIMATES]


def inside(span: tuple[float, float], at: Fraction) -> Fraction:
    low, high = map(Fraction, span)
    return low + at * (high - low)


def holds(interval: Interval, exact: Fraction) -> bool:
    lo, hi = float(interval.lo), float(interval.hi)
    return (lo == -np.inf or Fraction(lo) <= exact) and (hi == np.inf or exact <= Fraction(hi))


class Series:
    """a + b h + c h^2 in fractions: a function of h up to its second derivative, 2 c."""

    def __init__(self, a: Any, b: Any = 0, c: Any = 0) -> None:
        self.a, self.b, self.c = Fraction(a), Fraction(b), Fraction(c)

    def __add__(self, other: Any) -> Series:
        o = _series(other)
        return Series(self.a + o.a, self.b + o.b, self.c + o.c)

    def __neg__(self) -> Series:
        return Series(-self.a, -self.b, -self.c)

    def __sub__(self, other: Any) -> Series:
        return self + -_series(other)

    def __rsub__(self, other: Any) -> Series:
        return _series(other) - self

    def __mul__(self, other: Any) -> Series:
        o = _series(other)
        return Series(self.a * o.a, self.a * o.b + self.b * o.a, self.a * o.c + self.b * o.b + self.c * o.a)

    def __truediv__(self, other: Any) -> Series:
        o = _series(other)
        a = self.a / o.a
        b = (self.b - a * o.b) / o.a
        return Series(a, b, (self.c - a * o.c - b * o.b) / o.a)

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Series:
        """The root, of a value that is the square of a fraction."""
        a = Fraction(isqrt(self.a.numerator), isqrt(self.a.denominator))
        assert a * a == self.a
        b = self.b / (2 * a)
        return Series(a, b, (self.c - b * b) / (2 * a))


def _series(x: Any) -> Series:
    return x if isinstance(x, Series) else Series(x)


def table_formula(values: Floats, cell: tuple[int, int]) -> Callable[[Any, Any], Any]:
    """The bilinear function of one cell."""
    n, (i, j) = len(values) - 1, cell
    f = [[Fraction(float(values[i + a, j + b])) for b in (0, 1)] for a in (0, 1)]

    def formula(x1: Any, x2: Any) -> Any:
        t, u = x1 * n - i, x2 * n - j
        return (1 - t) * ((1 - u) * f[0][0] + u * f[0][1]) + t * ((1 - u) * f[1][0] + u * f[1][1])

    return formula


def estimate_formula(kappa: Fraction, delta: Fraction) -> Callable[[Any, Any], Any]:
    """The posterior if the prior is kappa (x_1 + x_2) + delta."""

    def formula(x1: Any, x2: Any) -> Any:
        m = (x1 + x2) * kappa + delta
        yes, no = x1 * x2 * (1 - m), (1 - x1) * (1 - x2) * m
        return yes / (yes + no)

    return formula


def density(formula: Callable[[Any, Any], Any], x1: Any, x2: Any, mu: Any) -> Any:
    """Pr[x] (f - g)^2 over the product of the chances of the two reports, as it is defined."""
    yes, no = x1 * x2 / mu, (1 - x1) * (1 - x2) / (1 - mu)
    gap = formula(x1, x2) - yes / (yes + no)
    return (yes + no) * gap * gap


def right_side(slopes: Slopes, k: tuple[int, int], n: int, x1: Any, x2: Any, mu: Any) -> Any:
    """alpha_1(x_1, mu)(x_2 - mu) + alpha_2(x_2, mu)(x_1 - mu) between the knots k and k + 1."""
    m0, m1 = map(Fraction, slopes.priors)
    r = (mu - m0) / (m1 - m0)
    total: Any = Fraction(0)
    for agent, (own, other) in enumerate(((x1, x2), (x2, x1))):
        left, right = (Fraction(float(slopes.knots[k[agent] + side])) / n for side in (0, 1))
        t = (own - left) / (right - left)
        a = [[Fraction(float(slopes.values[agent, end, k[agent] + side])) for side in (0, 1)] for end in (0, 1)]
        low, high = ((1 - t) * ends[0] + t * ends[1] for ends in a)
        total = total + ((1 - r) * low + r * high) * (other - mu)
    return total


def random_slopes(n: int, rng: np.random.Generator) -> Slopes:
    extra = rng.uniform(0, n, size=3)
    knots = np.unique(np.concatenate((np.arange(n + 1.0), extra)))
    low = float(np.exp(rng.uniform(np.log(0.01), np.log(0.9))))
    priors = (low, low + float(rng.uniform(0.02, 1)) * (0.99 - low))
    return Slopes(priors, knots, rng.normal(scale=rng.choice([0.1, 1.0]), size=(2, 2, len(knots))))


def random_box(span: tuple[float, float], rng: np.random.Generator) -> tuple[float, float]:
    """A part of an interval: sometimes from its end, sometimes all, sometimes tiny."""
    low, high = span
    ends = np.sort(rng.uniform(low, high, size=2))
    if rng.random() < 0.3:
        ends[0] = low
    if rng.random() < 0.3:
        ends[1] = high
    if rng.random() < 0.2:
        ends[1] = min(ends[0] + 1e-6 * (high - low), high)
    return (float(ends[0]), float(ends[1])) if ends[0] < ends[1] else span


def random_aggregator(kind: str, rng: np.random.Generator) -> tuple[Grid | PriorEstimate, Any]:
    """A piece as the verifier has it, and its formula in a cell."""
    if kind == "table":
        n = int(rng.integers(1, 5))
        values = rng.random((n + 1, n + 1)).round(rng.choice([1, 15]))
        return Grid(values), lambda cell: table_formula(values, cell)
    pieces = ESTIMATES[kind]
    which = int(rng.integers(len(pieces)))
    kappa, delta = (Fraction(pieces[which][name]) for name in ("kappa", "delta"))
    return PriorEstimate(kappa, delta, "everywhere"), lambda _: estimate_formula(kappa, delta)
