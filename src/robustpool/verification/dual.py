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
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .boxes import Boxes, Measured, all_at_most, bending, pairs
from .intervals import Floats, Interval, down, up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .reading import Budget

ONE = Interval(1.0)


class Bends(NamedTuple):
    """Where f has no derivatives: K such that X (1-f)^2, or Y f^2, bends in a report no more than one whose -( )_11 is K."""

    yes: Floats  # X (1-f)^2
    no: Floats  # Y f^2


class Enclosure(NamedTuple):
    """f and its derivatives in x_1 and x_2, on boxes."""

    f: Interval
    first: tuple[Interval, Interval] | None
    second: tuple[Interval, Interval] | None  # None: 0, as for a bilinear f
    bends: tuple[Bends, Bends] | None = None  # given where the derivatives are not


class Forecast(Protocol):
    """An aggregator of two reports, or a piece of one: smooth within each cell."""

    resolution: int
    least: float = 0.0  # f lies between this and 1; it is not positive

    def holds(self, y1: Interval, y2: Interval) -> NDArray[np.bool_]:
        """Whether the piece is in force anywhere on boxes, or at points: everywhere, unless it is one of several."""
        return np.ones(np.broadcast(y1.lo, y2.lo).shape, dtype=bool)

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
        if inside.any():
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
    seen = Seen.on(forecast, boxes, np.floor(slopes.knots[np.stack((boxes.k1, boxes.k2), axis=1)]).astype(np.int64))
    alpha_1 = _slope(slopes, 0, boxes.k1, boxes.y1, boxes.mu)
    alpha_2 = _slope(slopes, 1, boxes.k2, boxes.y2, boxes.mu)

    one, two = (reports[..., None] for reports in seen.at)
    mu = Interval(boxes.mu[:, None, None, :])
    terms = alpha_1[:, :, None, :] * (two.x - mu) + alpha_2[:, None, :, :] * (one.x - mu)
    corner = up(Density.of(one, two, mu, seen.corners[..., None]).most() - terms.lo)

    (one, two), mu = seen.over, Interval(boxes.mu[:, 0], boxes.mu[:, 1])
    density = Density.of(one, two, mu, seen.given.f)
    terms = alpha_1.hull() * (two.x - mu) + alpha_2.hull() * (one.x - mu)
    bends = (
        density.bend_in_report(two, seen.given, 0),
        density.bend_in_report(one, seen.given, 1),
        up(density.bend_in_prior() - 2 * _growth(slopes, boxes).lo),
    )
    return measured(forecast, boxes, corner, up(density.most() - terms.lo), bends)


def measured(forecast: Forecast, boxes: Boxes, corner: Floats, anywhere: Floats, bends: Sequence[Floats]) -> Measured:
    """What is known of a function on boxes, from its corners, its range, and how it bends in each direction."""
    widths = (boxes.y1, boxes.y2, boxes.mu)
    scales = (float(forecast.resolution), float(forecast.resolution), 1.0)
    added = np.stack([bending(*which) for which in zip(bends, widths, scales, strict=True)], axis=1)
    by_bends = up(corner.reshape(len(boxes), -1).max(axis=1) + added.sum(axis=1) * (1 + 1e-15))
    there = forecast.holds(Interval(boxes.y1[:, :, None]), Interval(boxes.y2[:, None, :]))
    there = there.reshape(*there.shape, *[1] * (corner.ndim - 3))
    inside = forecast.holds(Interval(boxes.y1[:, 0], boxes.y1[:, 1]), Interval(boxes.y2[:, 0], boxes.y2[:, 1]))
    most = np.where(inside, np.fmin(by_bends, anywhere), -np.inf)
    return Measured(np.where(there, corner, -np.inf), most, added)


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
    def of(cls, y: Interval, n: int) -> Reports:
        """From reports in cells."""
        cells = Interval(float(n))
        return cls((y / cells).within(0.0, 1.0), ((cells - y) / cells).within(0.0, 1.0))

    def __getitem__(self, key: Any) -> Reports:
        """Entries, or new axes."""
        return Reports(self.x[key], self.rest[key])


class Seen(NamedTuple):
    """An aggregator on boxes: the reports and its forecasts at the corners, and in between."""

    at: tuple[Reports, Reports]  # (boxes, 2, 1) and (boxes, 1, 2)
    corners: Interval  # (boxes, 2, 2)
    over: tuple[Reports, Reports]  # (boxes,)
    given: Enclosure

    @classmethod
    def on(cls, forecast: Forecast, boxes: Boxes, cell: NDArray[np.int64]) -> Seen:
        """Ask the aggregator, whose formula in a box is that of a cell."""
        n, points = forecast.resolution, (boxes.y1[:, :, None], boxes.y2[:, None, :])
        y1, y2 = Interval(boxes.y1[:, 0], boxes.y1[:, 1]), Interval(boxes.y2[:, 0], boxes.y2[:, 1])
        corners = forecast.at(*points, cell).within(forecast.least, 1.0)
        given = forecast.over(y1, y2, cell, corners)
        one, two = (Reports.of(Interval(y), n) for y in points)
        inside = given._replace(f=given.f.within(forecast.least, 1.0))
        return cls((one, two), corners, (Reports.of(y1, n), Reports.of(y2, n)), inside)


class Loss(NamedTuple):
    """u X (1-f)^2 + v Y f^2 on boxes or at points, with what it is made of."""

    yes: Interval  # u X
    no: Interval  # v Y
    u: Interval
    v: Interval
    f: Interval
    wrong: Interval  # 1 - f

    @classmethod
    def of(cls, one: Reports, two: Reports, u: Interval, v: Interval, f: Interval) -> Loss:
        """At the reports and the forecast."""
        return cls(_positive(one.x * two.x) * u, _positive(one.rest * two.rest) * v, u, v, f, _positive(ONE - f))

    def most(self) -> Floats:
        """At least its value."""
        return (self.yes * self.wrong.squared() + self.no * self.f.squared()).hi

    def bend(self, other: Reports, given: Enclosure, agent: int) -> Floats:
        """At least minus its second derivative in a report, where the other agent reports x:

        4 f_1 (u x (1-f) + v (1-x) f) - 2 (u X + v Y) f_1^2 + 2 f_11 (u X (1-f) - v Y f).
        """
        if given.first is None:
            assert given.bends is not None
            yes, no = (Interval(bend) for bend in given.bends[agent])
            return (yes * self.u + no * self.v).hi
        first = given.first[agent]
        four = first.scaled(4.0) * (other.x * self.u * self.wrong + other.rest * self.v * self.f)
        bend = up(four.hi - 2 * np.maximum(((self.yes + self.no) * first.squared()).lo, 0.0))
        if given.second is None:
            return bend
        return up(bend + (given.second[agent].scaled(2.0) * (self.yes * self.wrong - self.no * self.f)).hi)


class Density(NamedTuple):
    """A = p (1-f)^2 + q f^2 - XY/d on boxes or at points, with what it is made of."""

    loss: Loss  # p (1-f)^2 + q f^2
    yes: Interval  # X
    no: Interval  # Y
    d: Interval
    mu: Interval
    nu: Interval  # 1 - mu

    @classmethod
    def of(cls, one: Reports, two: Reports, mu: Interval, f: Interval) -> Density:
        """At the reports, the prior and the forecast."""
        yes, no, nu = _positive(one.x * two.x), _positive(one.rest * two.rest), ONE - mu
        return cls(Loss.of(one, two, ONE / mu, ONE / nu, f), yes, no, _positive(mu * no + nu * yes), mu, nu)

    def most(self) -> Floats:
        """At least A. XY/d is increasing in X and Y; where 0 meets 1, X = Y = d = 0 and it is 0."""
        low = Interval(self.mu.hi) * Interval(self.no.lo) + Interval(up(1.0 - self.mu.lo)) * Interval(self.yes.lo)
        omniscient = np.maximum(down(down(self.yes.lo * self.no.lo) / low.hi), 0.0)
        return up(self.loss.most() - omniscient)

    def bend_in_report(self, other: Reports, given: Enclosure, agent: int) -> Floats:
        """At least -A_11, where the other agent reports x: that of the loss, less 2 mu nu x^2 (1-x)^2/d^3."""
        with np.errstate(over="ignore"):
            concave = (other.x * other.rest).squared() * self.mu * self.nu / (self.d.squared() * self.d)
        least = np.where(self.d.lo > 0, np.maximum(concave.lo, 0.0), 0.0)
        return up(self.loss.bend(other, given, agent) - 2 * least)

    def bend_in_prior(self) -> Floats:
        """At least -A_mumu = 2 h e^2 - 2 p (1-f)^2/mu^2 - 2 q f^2/nu^2 with h = XY/d and e = (Y - X)/d.

        h is at most X/mu and Y/nu, and |e| is at most 1/mu or 1/nu, also where d -> 0.
        """
        with np.errstate(invalid="ignore"):
            h = np.fmin((self.yes * self.no / self.d).hi, np.minimum(self.loss.yes.hi, self.loss.no.hi))
            e = (self.no - self.yes) / self.d
            size = np.fmin(np.maximum(np.abs(e.lo), np.abs(e.hi)), np.maximum((ONE / self.mu).hi, (ONE / self.nu).hi))
        convex = (
            self.loss.yes * (self.loss.wrong / self.mu).squared() + self.loss.no * (self.loss.f / self.nu).squared()
        )
        return up(2 * up(h * up(size * size)) - 2 * np.maximum(convex.lo, 0.0))


def proved(forecast: Forecast, slopes: Slopes, bound: float, budget: Budget, *, symmetric: bool) -> bool:
    """Whether the slopes prove the bound on their interval of priors."""
    return all_at_most(partial(needed, forecast, slopes), whole(slopes, symmetric=symmetric), bound, budget)
