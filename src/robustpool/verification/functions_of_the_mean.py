"""Functions of the mean of two reports, and their geometric mean, as the verifier reads them.

With p = (x_1 + x_2)/2 and r = 1 - p a function f = h(p) has f_1 = f_2 = h'(p)/2 and f_11 = f_22 = h''(p)/4. Both functions h here
grow from 0 to 1, and h(r) = 1 - h(p). With Q = 4 p r:

    karmarkar    h = u/S,  h' = 4 a Q^(a-1)/S^2,  h'' = 16 a Q^(a-2)/S^2 (a (1 - 2h) - (1 - 2p)),
                 u = (2p)^a,  S = (2p)^a + (2r)^a
    beta-pool    h = Q^a/(a K) sum_n c_n p^n,  h' = 4 Q^(a-1)/K,  h'' = 16 (a-1) Q^(a-2)/K (1 - 2p),
                 c_n = (2a)_n/(a+1)_n,  K = 4^a B(a, a)

Each power, S and h' are monotone in m = min(p, r), so that their ranges on a box follow from the ends of m. There they are
computed by Arb, once for each double, and rounded outward. docs/derivations/functions-of-the-mean.md derives all of it.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, arb_poly

from .balls import PRECISION, ball, precision
from .dual import Bends, Enclosure, Forecast
from .intervals import Floats, Interval, down, up
from .reading import Budget, Refused, Schema, exactly, quoted, rational, word
from .remembering import Remembering

if TYPE_CHECKING:
    from numpy.typing import NDArray


ONE = Interval(1.0)
LEAST, MOST = Fraction(1, 20), Fraction(200)  # of the exponent a: beyond, f is next to a jump, at the ends or at 1/2
MOST_POINTS = 2**14  # that are remembered, which takes ten megabytes
STEPS_OF_A_POINT = 60  # of the budget; 26 to 67 microseconds were measured, the most for beta-pool with a = 200


class OfMean(Remembering, Forecast):
    """f = h(p) with p = (x_1 + x_2)/2, where h grows and h(1 - p) = 1 - h(p)."""

    resolution, exchangeable, mirrored = 1, True, True
    rule: str

    def __init__(self, a: Fraction, text: str, budget: Budget | None = None) -> None:
        """Take the exponent, how it is written, and the budget for points that are not remembered; None: no limit."""
        self.formula = f"f = {self.rule} with p the mean of the two reports and a = {text}"
        self.a, self.budget = a, budget or Budget(inf)
        self.remember()

    def remember(self) -> None:
        """See Remembering."""
        self.ends = lru_cache(MOST_POINTS)(self._ends)

    @abstractmethod
    def parts(self, m: arb) -> tuple[arb, ...]:
        """h, h' and what else h'' needs, at 0 <= m <= 1/2: each monotone, and none negative."""

    @abstractmethod
    def second(self, parts: list[Interval], f: Interval, tilt: Interval) -> Interval:
        """h'' from the last of these parts, from f and from 1 - 2p."""

    def _ends(self, m: float) -> list[tuple[float, float]]:
        self.budget.spend(STEPS_OF_A_POINT)
        with precision():
            return [(float(part.lower()), float(part.upper())) for part in self.parts(arb(m))]

    def on(self, m: Interval) -> list[Interval]:
        """The parts on intervals, from their ends; a part that is infinite there, or unknown, is only not negative."""
        points, place = np.unique(np.stack((m.lo, m.hi)), return_inverse=True)
        lo, hi = np.moveaxis(np.array([self.ends(point) for point in points.tolist()]), -1, 0)
        with np.errstate(invalid="ignore", over="ignore"):
            lo, hi = np.fmax(down(lo), 0.0), np.fmin(up(hi), np.inf)  # where a number is none, the other
        place = place.reshape(2, *m.lo.shape)
        return [Interval(low[place].min(axis=0), high[place].max(axis=0)) for low, high in zip(lo.T, hi.T, strict=True)]

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:  # noqa: ARG002
        """h(m) for p < 1/2, 1 - h(m) for p > 1/2; either where rounding hides which."""
        part = self.on(smaller(Interval(y1), Interval(y2)))[0]
        rest, total = ONE - part, y1 + y2
        return Interval(np.where(total > 1, rest.lo, part.lo), np.where(total < 1, part.hi, rest.hi)).within(0.0, 1.0)

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:  # noqa: ARG002
        """f between its corners, as it grows with both reports; its derivatives from their parts."""
        f, (_, slope, *parts) = corners.hull(), self.on(smaller(y1, y2))
        first, second = slope.scaled(0.5), self.second(parts, f, ONE - (y1 + y2)).scaled(0.25)
        return Enclosure(f, (first, first), (second, second))

    def forecast(self, profile: tuple[Fraction, ...]) -> Fraction | arb:
        """f at two rational reports."""
        p = sum(profile, Fraction(0)) / 2
        if p in (0, Fraction(1, 2), 1):
            return p
        with precision():
            h = self.parts(ball(min(p, 1 - p)))[0]
            return h if 2 * p < 1 else 1 - h


def smaller(y1: Interval, y2: Interval) -> Interval:
    """m = min(p, 1 - p) on boxes: from two corners, and up to 1/2 where p may be 1/2.

    A corner's m is off by at most (1 + 2^-53)^2 - 1 of its size, as it is a sum of two positive numbers, each rounded once,
    and rounded again. One move outward covers that. Where p is 1/2 or beyond, the rounded sum is at least 1.
    """
    low, high = (np.minimum(z1 + z2, (1 - z1) + (1 - z2)) / 2 for z1, z2 in ((y1.lo, y2.lo), (y1.hi, y2.hi)))
    middle = (y1.lo + y2.lo <= 1) & (y1.hi + y2.hi >= 1)
    return Interval(down(np.minimum(low, high)), np.where(middle, 0.5, up(np.maximum(low, high)))).within(0.0, 0.5)


class Karmarkar(OfMean):
    """h = p^a/(p^a + r^a)."""

    rule = "p^a/(p^a + (1-p)^a)"

    def parts(self, m: arb) -> tuple[arb, ...]:
        """h, h', 16 a Q^(a-2) and S^2."""
        a, r = ball(self.a), 1 - m
        u, q = (2 * m) ** a, 4 * m * r
        s = u + (2 * r) ** a
        return u / s, 4 * a * q ** ball(self.a - 1) / (s * s), 16 * a * q ** ball(self.a - 2), s * s

    def second(self, parts: list[Interval], f: Interval, tilt: Interval) -> Interval:
        """16 a Q^(a-2) (a (1 - 2f) - (1 - 2p))/S^2."""
        return parts[0] * (Interval.of(self.a) * (ONE - f.scaled(2.0)) - tilt) / parts[1]


class BetaPool(OfMean):
    """h = I_p(a, a), the integral of (pr)^(a-1)/B(a, a)."""

    rule = "I_p(a, a), the regularised incomplete beta function,"

    def remember(self) -> None:
        """Compute K and the series, too: balls cannot be sent."""
        super().remember()
        with precision():
            x = ball(self.a)
            self.k, self.series = arb(4) ** x * x.gamma() * x.gamma() / (2 * x).gamma(), series(x)

    def __getstate__(self) -> dict[str, Any]:
        """See Remembering."""
        return {name: value for name, value in super().__getstate__().items() if name not in ("k", "series")}

    def parts(self, m: arb) -> tuple[arb, ...]:
        """h, h' and 16 Q^(a-2)/K."""
        a, q = ball(self.a), 4 * m * (1 - m)
        h = q**a * self.series(m) / (a * self.k)
        return h, 4 * q ** ball(self.a - 1) / self.k, 16 * q ** ball(self.a - 2) / self.k

    def second(self, parts: list[Interval], f: Interval, tilt: Interval) -> Interval:  # noqa: ARG002
        """16 (a-1) Q^(a-2)/K (1 - 2p)."""
        return Interval.of(self.a - 1) * parts[0] * tilt


def series(a: arb) -> arb_poly:
    """sum_n c_n p^n for 0 <= p <= 1/2; the last coefficient is a ball, which holds the rest of the sum.

    c_(n+1)/c_n = (2a+n)/(a+1+n) tends to 1 from one side. So from N on it is at most M = max(1, (2a+N)/(a+1+N)) < 2, and what
    is left, c_N p^N + ..., lies between 0 and c_N p^N/(1 - M/2).
    """
    terms, n = [arb(1)], 0
    while True:
        ratio = (2 * a + n) / (a + 1 + n)
        rest = terms[n] / (1 - ratio.max(arb(1)) / 2)
        if rest < arb(2) ** (n - PRECISION):
            return arb_poly([*terms[:n], rest.union(arb(0))])
        terms.append(terms[n] * ratio)
        n += 1


class GeometricMean(Forecast):
    """f = sqrt(x_1 x_2)."""

    resolution, exchangeable = 1, True
    mirrored = False
    formula = "f = sqrt(x_1 x_2) with x_1 and x_2 the two reports"

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:  # noqa: ARG002
        """f at points."""
        return root(Interval(y1) * Interval(y2))

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:  # noqa: ARG002
        """f between its corners; in place of derivatives how X (1-f)^2 = X - 2 X^(3/2) + X^2 and Y f^2 = XY bend:

        -(X - 2 X^(3/2) + X^2)_11 = 2 x_2 (sqrt(x_2) phi'' - x_2) with phi = x_1^(3/2), and -(XY)_11 = 2 x_2 (1-x_2).
        Between l and h phi bends no more than if phi'' were min((3/4)/sqrt(l), 2/sqrt(h-l)).
        """
        bends = []
        for own, x in ((y1, y2), (y2, y1)):
            inside = (Interval(0.75) / root(Interval(own.lo))).hi
            across = (Interval(2.0) / root(Interval(down(own.hi - own.lo)))).hi
            phi = Interval(0.0, np.minimum(inside, across))
            yes = (x * (root(x) * phi - x)).scaled(2.0).hi
            bends.append(Bends(yes, (x * (ONE - x)).scaled(2.0).hi))
        return Enclosure(corners.hull(), None, None, (bends[0], bends[1]))

    def forecast(self, profile: tuple[Fraction, ...]) -> Fraction | arb:
        """f at two rational reports."""
        product = profile[0] * profile[1]
        with precision():
            return product if product in (0, 1) else ball(product).sqrt()


def root(x: Interval) -> Interval:
    """The square root of x >= 0, which IEEE rounds correctly."""
    return Interval(np.maximum(down(np.sqrt(np.maximum(x.lo, 0.0))), 0.0), up(np.sqrt(np.maximum(x.hi, 0.0))))


def exponent(value: Any, where: str) -> tuple[Fraction, str]:
    """A schema for the exponent: what it is, and how the file writes it."""
    a = rational(value, where)
    if not LEAST <= a <= MOST:
        raise Refused(f"{where} must lie between {float(LEAST):g} and {float(MOST):g}; it is {quoted(value)}.")
    return a, exactly(value, where)


MEAN_SCHEMAS: dict[str, Schema] = {
    **{kind: {"kind": word(kind), "a": exponent} for kind in ("karmarkar", "beta-pool")},
    "geometric-mean": {"kind": word("geometric-mean")},
}


def read_mean_forecast(data: dict[str, Any], budget: Budget | None = None) -> Karmarkar | BetaPool | GeometricMean:
    """The aggregator of a certificate, as its schema read it."""
    if data["kind"] == "geometric-mean":
        return GeometricMean()
    a, text = data["a"]
    return Karmarkar(a, text, budget) if data["kind"] == "karmarkar" else BetaPool(a, text, budget)
