"""Priors next to 0 or 1: an upper bound on the regret that needs no slopes.

A = p (1-f)^2 + q f^2 - XY/d <= p + q f^2, where p = x_1 x_2/mu has the mean mu. If

    (1-x_1)(1-x_2) f^2 <= C_0 + C_2 (x_1 + x_2) + C_1 x_1 x_2        for all x_1, x_2,

with C_0, C_1, C_2 >= 0, then the regret at the prior mu is at most mu + (C_0 + 2 C_2 mu + C_1 mu^2)/(1-mu), which grows with mu:
so what it is at the largest prior of the tail holds for all. Priors next to 1 are those next to 0 in the mirror, where
reports are 1 - x and forecasts 1 - f.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .boxes import Boxes, Measured, all_at_most, bending, pairs
from .intervals import Interval, up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .dual import Forecast
    from .intervals import Floats
    from .reading import Budget

ONE = Interval(1.0)


def tail_bound(prior: float, constants: Sequence[float]) -> Fraction:
    """mu + (C_0 + 2 C_2 mu + C_1 mu^2)/(1-mu), exactly."""
    mu, (c0, c2, c1) = Fraction(prior), (Fraction(c) for c in constants)
    return mu + (c0 + 2 * c2 * mu + c1 * mu * mu) / (1 - mu)


def constants_hold(forecast: Forecast, constants: Sequence[float], budget: Budget, *, mirrored: bool) -> bool:
    """Whether the inequality of the constants (C_0, C_2, C_1) is proved for all reports."""
    c0, *growth = constants
    measure = partial(needed, forecast, growth, mirrored=mirrored)
    return all_at_most(measure, cells(forecast), c0, budget)


def cells(forecast: Forecast) -> Iterator[Boxes]:
    """The boxes to begin with: all pairs of cells of the table."""
    knots = np.arange(forecast.resolution + 1.0)
    for k1, k2 in pairs(forecast.resolution, symmetric=False):
        yield Boxes.between(knots, k1, k2, (0.0, 0.0))


def needed(forecast: Forecast, growth: Sequence[float], boxes: Boxes, *, mirrored: bool) -> Measured:
    """The C_0 that is needed on boxes: G = (1-x_1)(1-x_2) f^2 less the rest of the right-hand side, which is bilinear.

    -G_11 = (1-x_2)(4 f f_1 - 2 (1-x_1) f_1^2 - 2 (1-x_1) f f_11); in the mirror f_1 stays and f_11 changes its sign.
    In the mirror G is X (1-f)^2.
    """
    n = Interval(float(forecast.resolution))
    cell = np.stack((boxes.k1, boxes.k2), axis=1)
    corners = forecast.at(boxes.y1[:, :, None], boxes.y2[:, None, :], cell).within(0.0, 1.0)
    y1, y2 = Interval(boxes.y1[:, 0], boxes.y1[:, 1]), Interval(boxes.y2[:, 0], boxes.y2[:, 1])
    given = forecast.over(y1, y2, cell, corners)

    corner = _excess(
        Interval(boxes.y1[:, :, None]), Interval(boxes.y2[:, None, :]), n, corners, growth, mirrored=mirrored
    )
    anywhere = _excess(y1, y2, n, given.f.within(0.0, 1.0), growth, mirrored=mirrored)
    f = (ONE - given.f).within(0.0, 1.0) if mirrored else given.f.within(0.0, 1.0)
    z1, z2 = ((y / n).within(0.0, 1.0) if mirrored else ((n - y) / n).within(0.0, 1.0) for y in (y1, y2))
    bends = []
    for number, (own, other, y) in enumerate(((z1, z2, y1), (z2, z1, y2))):
        if given.first is None:
            assert given.bends is not None
            bend = given.bends[number]
            bends.append(bending(bend.yes if mirrored else bend.no, y, n))
            continue
        first = given.first[number]
        half = (f * first).scaled(2.0) - own * first.squared()
        if given.second is not None:
            second = own * f * given.second[number]
            half = half + second if mirrored else half - second
        bends.append(bending((other * half).scaled(2.0).hi, y, n))
    added = np.stack((*bends, np.zeros(len(boxes))), axis=1)
    most = np.fmin(up(corner.max(axis=(1, 2)) + added.sum(axis=1) * (1 + 1e-15)), anywhere)
    there = forecast.holds(Interval(boxes.y1[:, :, None]), Interval(boxes.y2[:, None, :]))
    return Measured(np.where(there, corner, -np.inf), np.where(forecast.holds(y1, y2), most, -np.inf), added)


def _excess(y1: Interval, y2: Interval, n: Interval, f: Interval, growth: Sequence[float], *, mirrored: bool) -> Floats:
    """At least (1-x_1)(1-x_2) f^2 - C_2 (x_1 + x_2) - C_1 x_1 x_2."""
    x1, x2, z1, z2 = ((z / n).within(0.0, 1.0) for z in (y1, y2, n - y1, n - y2))
    if mirrored:
        x1, x2, z1, z2, f = z1, z2, x1, x2, (ONE - f).within(0.0, 1.0)
    c2, c1 = (Interval(c) for c in growth)
    return up((z1 * z2 * f.squared()).hi - (c2 * (x1 + x2) + c1 * (x1 * x2)).lo)
