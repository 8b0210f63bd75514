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

from .boxes import Boxes, Measured, all_at_most, pairs
from .dual import Loss, Seen, measured
from .intervals import Interval, up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .dual import Forecast, Reports
    from .intervals import Floats
    from .reading import Budget


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
    """The C_0 that is needed on boxes: (1-x_1)(1-x_2) f^2, or in the mirror x_1 x_2 (1-f)^2, less C_2 (x_1 + x_2) + C_1 x_1 x_2.

    The first is a `Loss` with u = 0 and v = 1, or u = 1 and v = 0. The second is bilinear and does not bend.
    """
    seen = Seen.on(forecast, boxes, np.stack((boxes.k1, boxes.k2), axis=1))
    u, v = Interval(float(mirrored)), Interval(float(not mirrored))
    c2, c1 = (Interval(c) for c in growth)

    def excess(one: Reports, two: Reports, loss: Loss) -> Floats:
        x1, x2 = (one.rest, two.rest) if mirrored else (one.x, two.x)
        return up(loss.most() - (c2 * (x1 + x2) + c1 * (x1 * x2)).lo)

    (one, two), inside = seen.over, Loss.of(*seen.over, u, v, seen.given.f)
    corner = excess(*seen.at, Loss.of(*seen.at, u, v, seen.corners))
    bends = (inside.bend(two, seen.given, 0), inside.bend(one, seen.given, 1), np.zeros(len(boxes)))
    return measured(forecast, boxes, corner, excess(one, two, inside), bends)
