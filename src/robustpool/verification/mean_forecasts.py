"""Functions of the mean of two reports, and their geometric mean, as the verifier reads them.

With p = (x_1 + x_2)/2 and r = 1 - p a function f = h(p) has f_1 = f_2 = h'(p)/2 and f_11 = f_22 = h''(p)/4. Both functions h here
grow from 0 to 1, and h(r) = 1 - h(p). With Q = 4 p r:

    karmarkar    h = u/(u + v),  u = (2p)^a, v = (2r)^a, S = u + v
                 h' = 4 a Q^(a-1)/S^2,  h'' = 16 a Q^(a-2) (a (v - u) - (r - p) S)/S^3
    beta-pool    h = I_p(a, a) = Q^a/(a K) sum_n c_n p^n,  c_n = (2a)_n/(a+1)_n,  K = 4^a B(a, a)
                 h' = 4 Q^(a-1)/K,  h'' = 16 (a-1) Q^(a-2) (r - p)/K

Q and S grow, or fall, on either side of p = 1/2, so that their ranges follow from the ends and the middle.

The geometric mean f = sqrt(X) has no derivatives where X = 0, but X (1-f)^2 = X - 2 X^(3/2) + X^2 and Y f^2 = XY bend little
there. As a function of x = x_1 the first contains phi = x^(3/2), and phi'' = (3/4) x^(-1/2) falls. Between l and h, phi lies below its
chord by (x-l)(h-x) phi[l, x, h], where the divided difference is at most phi[0, x-l, h-l] = 1/(sqrt(h-l) + sqrt(x-l)), because
phi'' falls. So phi bends no more than if phi'' were min((3/4)/sqrt(l), 2/sqrt(h-l)) throughout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from .balls import ball, precision, sigma
from .dual import Bends, Enclosure
from .intervals import Interval, down, up
from .mixtures import masses, rational, read_mixture
from .powers import horner, power, root
from .refusal import Refused

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .intervals import Floats

ONE = Interval(1.0)
MEAN_KINDS = ("karmarkar", "beta-pool", "geometric-mean")
LEAST, MOST = Fraction(1, 20), Fraction(200)  # of the exponent a: beyond, f is next to a jump, at the ends or at 1/2
LARGEST = Fraction(51, 100)  # p, where the series is summed


class OfMean(ABC):
    """f = h(p) with p = (x_1 + x_2)/2, where h grows."""

    resolution = 1

    def __init__(self, a: Fraction) -> None:
        """Take the exponent."""
        if not LEAST <= a <= MOST:
            raise Refused(f"the exponent a must lie between {float(LEAST):g} and {float(MOST):g}; it is {float(a):g}.")
        self.a, self.factor = a, Interval.of(a)

    def holds(self, y1: Interval, y2: Interval) -> NDArray[np.bool_]:
        """Everywhere."""
        return np.ones(np.broadcast(y1.lo, y2.lo).shape, dtype=bool)

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:  # noqa: ARG002
        """h(p) for p <= 1/2, and 1 - h(r) beyond; either where rounding hides which."""
        mean = Mean.of(y1, y2)
        p, r = mean.p, mean.r
        small = Interval(np.minimum(p.lo, r.lo), np.minimum(p.hi, r.hi))
        large = Interval(np.maximum(p.lo, r.lo), np.maximum(p.hi, r.hi))
        part = self.lower_half(small, large).within(0.0, 1.0)
        rest = ONE - part
        both = _join(part, rest)
        below, above = p.hi < 0.5, p.lo > 0.5
        return Interval(
            np.where(below, part.lo, np.where(above, rest.lo, both.lo)),
            np.where(below, part.hi, np.where(above, rest.hi, both.hi)),
        ).within(0.0, 1.0)

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:  # noqa: ARG002
        """f between its corners, as it grows with both reports; its derivatives from their parts."""
        first, second = self.derivatives(Mean.of(y1.lo, y2.lo), Mean.of(y1.hi, y2.hi))
        first, second = first.scaled(0.5), second.scaled(0.25)
        return Enclosure(corners.hull(), (first, first), (second, second))

    @abstractmethod
    def lower_half(self, p: Interval, r: Interval) -> Interval:
        """h at points p <= 1/2, and r = 1 - p."""

    @abstractmethod
    def derivatives(self, low: Mean, high: Mean) -> tuple[Interval, Interval]:
        """h' and h'' between two points."""


@dataclass(frozen=True)
class Mean:
    """p and r = 1 - p at points."""

    p: Interval
    r: Interval

    @classmethod
    def of(cls, y1: Floats, y2: Floats) -> Mean:
        """The mean of two reports."""
        x1, x2 = Interval(y1), Interval(y2)
        return cls((x1 + x2).scaled(0.5).within(0.0, 1.0), ((ONE - x1) + (ONE - x2)).scaled(0.5).within(0.0, 1.0))

    def q(self) -> Interval:
        """Q = 4 p r."""
        return (self.p * self.r).scaled(4.0).within(0.0, 1.0)


def _between(low: Mean, high: Mean, ends: tuple[Interval, Interval], middle: float) -> Interval:
    """The range of what is monotone on either side of p = 1/2, from its values at both ends and in the middle."""
    inside = (low.p.lo <= 0.5) & (high.p.hi >= 0.5)
    found = _join(*ends)
    return Interval(
        np.where(inside, np.minimum(found.lo, middle), found.lo),
        np.where(inside, np.maximum(found.hi, middle), found.hi),
    )


def _join(x: Interval, y: Interval) -> Interval:
    return Interval(np.minimum(x.lo, y.lo), np.maximum(x.hi, y.hi))


class Karmarkar(OfMean):
    """h = p^a/(p^a + r^a)."""

    def lower_half(self, p: Interval, r: Interval) -> Interval:
        """w/(1 + w) with w = (p/r)^a."""
        odds = power((p / r).within(0.0, 1.1), self.a)
        return odds / (ONE + odds)

    def derivatives(self, low: Mean, high: Mean) -> tuple[Interval, Interval]:
        """See the formulas above."""
        a, ends = self.factor, []
        for mean in (low, high):
            u, v = (power(x.scaled(2.0), self.a) for x in (mean.p, mean.r))
            ends.append((u + v, v - u))
        total = _between(low, high, (ends[0][0], ends[1][0]), 2.0)
        gap = _join(ends[0][1], ends[1][1])  # v - u falls
        tilt = _join(low.r - low.p, high.r - high.p)
        q = _between(low, high, (low.q(), high.q()), 1.0)
        square = total.squared()
        first = (a * power(q, self.a - 1)).scaled(4.0) / square
        second = (a * power(q, self.a - 2) * (a * gap - tilt * total)).scaled(16.0) / (square * total)
        return first, second


class BetaPool(OfMean):
    """h = I_p(a, a)."""

    def __init__(self, a: Fraction) -> None:
        """Take the exponent; compute K and as many coefficients as the series needs for p <= 0.51."""
        super().__init__(a)
        self.k = scale(a)
        self.coefficients, self.error = series(a)

    def lower_half(self, p: Interval, r: Interval) -> Interval:
        """Q^a/(a K) times the sum."""
        total = Interval(
            horner(self.coefficients, p.lo) * (1 - self.error), horner(self.coefficients, p.hi) * (1 + self.error)
        )
        return power(Mean(p, r).q(), self.a) * total / (self.factor * self.k)

    def derivatives(self, low: Mean, high: Mean) -> tuple[Interval, Interval]:
        """See the formulas above."""
        q = _between(low, high, (low.q(), high.q()), 1.0)
        tilt = _join(low.r - low.p, high.r - high.p)
        first = power(q, self.a - 1).scaled(4.0) / self.k
        second = (Interval.of(self.a - 1) * power(q, self.a - 2) * tilt).scaled(16.0) / self.k
        return first, second


def scale(a: Fraction) -> Interval:
    """K = 4^a B(a, a) = 4^a Gamma(a)^2/Gamma(2a)."""
    with precision():
        x = ball(a)
        k = ((arb(4).log() * x) + 2 * x.lgamma() - (2 * x).lgamma()).exp()
        return Interval(down(np.asarray(float(k.lower()))), up(np.asarray(float(k.upper()))))


def series(a: Fraction) -> tuple[list[float], float]:
    """c_n = (2a)_n/(a+1)_n for n < N, and the relative error of the sum for 0 <= p <= 0.51.

    From n on, c_(n+1)/c_n is at most m = max(1, (2a+n)/(a+1+n)), so that what is left out is at most c_N p^N/(1 - m p); the
    sum is at least c_0 = 1. A coefficient is rounded once, and each of N steps has two operations.
    """
    c, n = Fraction(1), 0
    found: list[float] = []
    while True:
        ratio = (2 * a + n) / (a + 1 + n)
        spare = 1 - LARGEST * max(Fraction(1), ratio)
        if spare > 0 and c * LARGEST**n / spare < Fraction(1, 2**54):
            return found, (2 * n + 8) * 2.0**-53
        found.append(float(c))
        c, n = c * ratio, n + 1


class GeometricMean:
    """f = sqrt(x_1 x_2)."""

    resolution = 1

    def holds(self, y1: Interval, y2: Interval) -> NDArray[np.bool_]:
        """Everywhere."""
        return np.ones(np.broadcast(y1.lo, y2.lo).shape, dtype=bool)

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:  # noqa: ARG002
        """f at points."""
        return root(Interval(y1) * Interval(y2))

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:  # noqa: ARG002
        """f between its corners; in place of derivatives how X (1-f)^2 and Y f^2 bend:

        -(X - 2 X^(3/2) + X^2)_11 = 2 x_2 (sqrt(x_2) phi'' - x_2) and -(XY)_11 = 2 x_2 (1-x_2).
        """
        bends = []
        for own, x in ((y1, y2), (y2, y1)):
            with np.errstate(divide="ignore", invalid="ignore"):
                inside = (Interval(0.75) / root(Interval(own.lo))).hi
                across = (Interval(2.0) / root(Interval(down(own.hi - own.lo)))).hi
            phi = Interval(0.0, np.minimum(inside, across))
            yes = (x * (root(x) * phi - x)).scaled(2.0).hi
            bends.append(Bends(yes, (x * (ONE - x)).scaled(2.0).hi))
        return Enclosure(corners.hull(), None, None, (bends[0], bends[1]))


def read_mean_forecast(aggregator: dict[str, Any]) -> OfMean | GeometricMean:
    """The aggregator {"kind", "a"} of a certificate."""
    if aggregator["kind"] == "geometric-mean":
        return GeometricMean()
    a = rational(aggregator.get("a"), "aggregator.a")
    return Karmarkar(a) if aggregator["kind"] == "karmarkar" else BetaPool(a)


def forecast_ball(aggregator: dict[str, Any], profile: tuple[Fraction, ...]) -> arb:
    """A ball that contains the forecast at two rational reports, not 0 and 1."""
    x1, x2 = profile
    if aggregator["kind"] == "geometric-mean":
        return ball(x1 * x2).sqrt()
    a, p = ball(rational(aggregator.get("a"), "aggregator.a")), (x1 + x2) / 2
    if p in (0, 1):
        return ball(p)
    if aggregator["kind"] == "karmarkar":
        return sigma(a * ball(p / (1 - p)).log())
    return ball(p).beta_lower(a, a, regularized=1)


def regret_ball(aggregator: dict[str, Any], mixture: Any, prior_range: Any, where: str = "mixture") -> arb:
    """A ball that contains the expected regret under a mixture of structures: all but the forecasts is rational.

    sum_theta w_theta sum_x Pr_theta[x] (f(x) - g_theta(x))^2 with g = Pr[x,1]/Pr[x].
    """
    read_mean_forecast(aggregator)  # refuses what is not well formed
    with precision():
        total = arb(0)
        for structure in read_mixture(mixture, 2, prior_range, where):
            for profile, (m0, m1) in masses(structure).items():
                gap = forecast_ball(aggregator, profile) - ball(m1 / (m0 + m1))
                total += ball(structure.weight * (m0 + m1)) * gap * gap
        return total
