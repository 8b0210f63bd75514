"""An upper bound on the regret of two conditionally independent agents: the dual inequality, box by box.

With X = x_1 x_2, Y = (1-x_1)(1-x_2), p = X/mu, q = Y/(1-mu), c = p + q and d = mu Y + (1-mu) X, the regret at the prior mu
is the mean of

    A(x_1, x_2, mu) = c (f - g)^2 = p (1-f)^2 + q f^2 - XY/d

over independent reports x_1 and x_2 whose means are mu. Whatever the slopes alpha_1 and alpha_2 are, the terms
alpha_1(x_1)(x_2 - mu) and alpha_2(x_2)(x_1 - mu) have the mean 0. So if

    A <= V + alpha_1(x_1, mu)(x_2 - mu) + alpha_2(x_2, mu)(x_1 - mu)        for all x_1, x_2        (*)

then no structure with this prior has a regret above V. The slopes are linear in mu between the two ends of an interval of
priors, and linear in x between knots. Then the right-hand side is bilinear in (x_1, x_2), and A is below the
interpolation of its corners by no more than curvature allows: on a box of widths w_k

    A - right-hand side <= the largest value at the eight corners + sum_k w_k^2/8 max(0, K_k),

with K_k at least minus the second derivative of (A - right-hand side) in direction k. Where that is poor (next to the corners
of the square, where some aggregators have no derivatives) the plain range of each term may do. Boxes where neither does
are halved. docs/derivations/dual-certificate.md derives each formula below.

Reports are measured in cells, y = N x, so that the knots of a table are whole numbers and no rounding moves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from .boxes import Boxes, Measured, all_at_most, bending, pairs
from .intervals import Interval, down, up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .intervals import Floats
    from .reading import Budget

ONE = Interval(1.0)


class Bends(NamedTuple):
    """Where f has no derivatives: K such that X (1-f)^2, or Y f^2, bends in a report no more than one whose -( )_11 is K."""

    yes: Floats  # X (1-f)^2
    no: Floats  # Y f^2


@dataclass(frozen=True)
class Enclosure:
    """f and its derivatives in x_1 and x_2, on boxes."""

    f: Interval
    first: tuple[Interval, Interval] | None
    second: tuple[Interval, Interval] | None  # None: 0, as for a bilinear f
    bends: tuple[Bends, Bends] | None = None  # given where the derivatives are not


class Forecast(Protocol):
    """An aggregator of two reports, or a piece of one: smooth within each cell."""

    resolution: int

    def holds(self, y1: Interval, y2: Interval) -> NDArray[np.bool_]:
        """Whether the piece is in force anywhere on boxes, or at points."""

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:
        """f at points, by the formula of a cell."""

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:
        """f and its derivatives on boxes, given f at their corners (boxes, 2, 2)."""


@dataclass(frozen=True)
class Slopes:
    """alpha_1 and alpha_2 on an interval of priors: values (agent, end of the interval, knot).

    They may be meant for some structures only: those in which the first agent's low report lies in one range and her high
    report in another. Then (*) is needed for her reports from these two ranges.
    """

    priors: tuple[float, float]
    knots: Floats  # in cells: 0 = knots[0] < ... < knots[-1] = N, all whole numbers among them
    values: Floats
    ranges: tuple[tuple[float, float], tuple[float, float]] | None = None  # of the first agent, between knots


def whole(slopes: Slopes, *, symmetric: bool) -> Iterator[Boxes]:
    """The boxes to begin with: all pairs of cells, in the ranges of the first agent if there are any."""
    for k1, k2 in pairs(len(slopes.knots) - 1, symmetric=symmetric):
        left, right = slopes.knots[k1], slopes.knots[k1 + 1]
        ranges = slopes.ranges or ((0.0, slopes.knots[-1]),)
        inside = np.logical_or.reduce([(low <= left) & (right <= high) for low, high in ranges])
        yield Boxes.between(slopes.knots, k1[inside], k2[inside], slopes.priors)


def _linear(ends: tuple[Interval, Interval], t: Interval) -> Interval:
    """(1-t) a + t b as a + t (b - a)."""
    return ends[0] + t * (ends[1] - ends[0])


def _slope(slopes: Slopes, agent: int, k: NDArray[np.int64], y: Floats, mu: Floats) -> Interval:
    """alpha at the reports y (boxes, 2) and the priors mu (boxes, 2): shape (boxes, 2, 2)."""
    left, right = (Interval(slopes.knots[k + side][:, None, None]) for side in (0, 1))
    t = (Interval(y[:, :, None]) - left) / (right - left)
    m0, m1 = (Interval(end) for end in slopes.priors)
    r = (Interval(mu[:, None, :]) - m0) / (m1 - m0)
    a = [[Interval(slopes.values[agent, end, k + side][:, None, None]) for side in (0, 1)] for end in (0, 1)]
    return _linear((_linear((a[0][0], a[0][1]), t), _linear((a[1][0], a[1][1]), t)), r)


def _positive(x: Interval) -> Interval:
    """What is known not to be negative."""
    return Interval(np.maximum(x.lo, 0.0), np.maximum(x.hi, 0.0))


def needed(forecast: Forecast, slopes: Slopes, boxes: Boxes) -> Measured:
    """The V that (*) needs on boxes."""
    n = Interval(float(forecast.resolution))
    cell = np.stack((np.floor(slopes.knots[boxes.k1]), np.floor(slopes.knots[boxes.k2])), axis=1).astype(np.int64)
    f = forecast.at(boxes.y1[:, :, None], boxes.y2[:, None, :], cell).within(0.0, 1.0)
    alpha_1 = _slope(slopes, 0, boxes.k1, boxes.y1, boxes.mu)
    alpha_2 = _slope(slopes, 1, boxes.k2, boxes.y2, boxes.mu)

    one = Reports.of(Interval(boxes.y1[:, :, None, None]), n)
    two = Reports.of(Interval(boxes.y2[:, None, :, None]), n)
    mu = Interval(boxes.mu[:, None, None, :])
    terms = alpha_1[:, :, None, :] * (two.x - mu) + alpha_2[:, None, :, :] * (one.x - mu)
    corner = up(Density.of(one, two, mu, f[:, :, :, None]).most() - terms.lo)

    y1, y2 = Interval(boxes.y1[:, 0], boxes.y1[:, 1]), Interval(boxes.y2[:, 0], boxes.y2[:, 1])
    one, two = Reports.of(y1, n), Reports.of(y2, n)
    mu = Interval(boxes.mu[:, 0], boxes.mu[:, 1])
    given = forecast.over(y1, y2, cell, f)
    density = Density.of(one, two, mu, given.f.within(0.0, 1.0))
    terms = alpha_1.hull() * (two.x - mu) + alpha_2.hull() * (one.x - mu)
    bends = np.stack(
        (
            bending(density.bend_in_report(two, given, 0), y1, n),
            bending(density.bend_in_report(one, given, 1), y2, n),
            bending(up(density.bend_in_prior() - 2 * _growth(slopes, boxes).lo), mu, ONE),
        ),
        axis=1,
    )
    by_bends = up(corner.max(axis=(1, 2, 3)) + bends.sum(axis=1) * (1 + 1e-15))
    most = np.fmin(by_bends, up(density.most() - terms.lo))
    there = forecast.holds(Interval(boxes.y1[:, :, None]), Interval(boxes.y2[:, None, :]))
    return Measured(np.where(there[..., None], corner, -np.inf), np.where(forecast.holds(y1, y2), most, -np.inf), bends)


def _growth(slopes: Slopes, boxes: Boxes) -> Interval:
    """d alpha_1/d mu + d alpha_2/d mu, which are linear between knots."""
    m0, m1 = (Interval(end) for end in slopes.priors)
    growth = Interval(np.zeros(len(boxes)))
    for agent, k in ((0, boxes.k1), (1, boxes.k2)):
        low, high = (
            (Interval(slopes.values[agent, 1, k + side]) - Interval(slopes.values[agent, 0, k + side])) / (m1 - m0)
            for side in (0, 1)
        )
        growth = growth + Interval(np.minimum(low.lo, high.lo), np.maximum(low.hi, high.hi))
    return growth


@dataclass(frozen=True)
class Reports:
    """x and 1 - x."""

    x: Interval
    rest: Interval

    @classmethod
    def of(cls, y: Interval, n: Interval) -> Reports:
        """From reports in cells."""
        return cls(_positive(y / n), _positive((n - y) / n))


@dataclass(frozen=True)
class Density:
    """A = p (1-f)^2 + q f^2 - XY/d on boxes or at points, with what it is made of."""

    yes: Interval  # X
    no: Interval  # Y
    d: Interval
    p: Interval
    q: Interval
    mu: Interval
    nu: Interval  # 1 - mu
    f: Interval
    wrong: Interval  # 1 - f

    @classmethod
    def of(cls, one: Reports, two: Reports, mu: Interval, f: Interval) -> Density:
        """At the reports, the prior and the forecast."""
        yes, no, nu = _positive(one.x * two.x), _positive(one.rest * two.rest), ONE - mu
        return cls(yes, no, _positive(mu * no + nu * yes), yes / mu, no / nu, mu, nu, f, _positive(ONE - f))

    def most(self) -> Floats:
        """At least A. XY/d is increasing in X and Y; where 0 meets 1, X = Y = d = 0 and it is 0."""
        low = Interval(self.mu.hi) * Interval(self.no.lo) + Interval(up(1.0 - self.mu.lo)) * Interval(self.yes.lo)
        omniscient = np.maximum(down(down(self.yes.lo * self.no.lo) / low.hi), 0.0)
        return up((self.p * self.wrong.squared() + self.q * self.f.squared()).hi - omniscient)

    def bend_in_report(self, other: Reports, given: Enclosure, agent: int) -> Floats:
        """At least -A_11, where the other agent reports x:

        4 f_1 (x (1-f)/mu + (1-x) f/nu) - 2 c f_1^2 - 2 mu nu x^2 (1-x)^2/d^3 + 2 f_11 (p (1-f) - q f).
        """
        with np.errstate(over="ignore"):
            concave = (other.x * other.rest).squared() * self.mu * self.nu / (self.d.squared() * self.d)
        convex = Interval(np.where(self.d.lo > 0, concave.lo, 0.0))
        if given.first is None:
            assert given.bends is not None
            yes, no = (Interval(bend) for bend in given.bends[agent])
            return up((yes / self.mu + no / self.nu).hi - 2 * np.maximum(convex.lo, 0.0))
        first = given.first[agent]
        four = first.scaled(4.0) * (other.x / self.mu * self.wrong + other.rest / self.nu * self.f)
        convex = (self.p + self.q) * first.squared() + convex
        bend = up(four.hi - 2 * np.maximum(convex.lo, 0.0))
        if given.second is not None:
            second = given.second[agent]
            bend = up(bend + (second.scaled(2.0) * (self.p * self.wrong - self.q * self.f)).hi)
        return bend

    def bend_in_prior(self) -> Floats:
        """At least -A_mumu = 2 h e^2 - 2 p (1-f)^2/mu^2 - 2 q f^2/nu^2 with h = XY/d and e = (Y - X)/d.

        h is at most X/mu and Y/nu, and |e| is at most 1/mu or 1/nu, also where d -> 0.
        """
        with np.errstate(invalid="ignore"):
            h = np.fmin((self.yes * self.no / self.d).hi, np.minimum(self.p.hi, self.q.hi))
            e = (self.no - self.yes) / self.d
            size = np.fmin(np.maximum(np.abs(e.lo), np.abs(e.hi)), np.maximum((ONE / self.mu).hi, (ONE / self.nu).hi))
        convex = self.p * (self.wrong / self.mu).squared() + self.q * (self.f / self.nu).squared()
        return up(2 * up(h * up(size * size)) - 2 * np.maximum(convex.lo, 0.0))


def proved(forecast: Forecast, slopes: Slopes, bound: float, budget: Budget, *, symmetric: bool) -> bool:
    """Whether the slopes prove the bound on their interval of priors."""
    return all_at_most(partial(needed, forecast, slopes), whole(slopes, symmetric=symmetric), bound, budget)
