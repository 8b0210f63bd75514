"""The world in which a forecast costs most at the reports that it was made from, in natural frequencies.

Let mu be the base rate of independent forecasters with the reports x_1, ..., x_n, and g the right answer. Somebody who reports x_i
does so with a chance q_i of at most mu/x_i, if x_i > mu, and of at most (1-mu)/(1-x_i), if x_i < mu: else the mean of her reports
could not be mu. She reaches it if she is certain, and right, whenever she does not report x_i. The forecast f costs, at these reports,

    Pr[x] (f - g)^2,    Pr[x] = prod q_i (mu prod x_i/mu + (1-mu) prod (1-x_i)/(1-mu)),

and g depends on mu and x alone. So for each mu no world costs more at these reports than the one in which all others are certain,
and one number, mu, is searched for.

>>> worst, other = worst_worlds(np.array([0.5, 0.5]), 0.5)
>>> worst.days, worst.happens, worst.together, worst.together_happens, worst.forecast_is
(1000, 191, 236, 191, 'too low')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..numerics import logit, sigma
from .posterior import base_rate_matters

if TYPE_CHECKING:
    from ..typing import Floats

DAYS = (1_000, 10_000, 100_000, 1_000_000)
ENOUGH = 100
"""Days with these reports, at least, if that many days in all are allowed."""

RAREST = 1e-9
"""The search looks at base rates from there on, and as far from 1."""

ROUNDING = 1e-15
"""A smaller cost is none."""

POINTS, ZOOMS = 801, 3


@dataclass(frozen=True)
class World:
    """How often it happens, how often these reports come together, and how often it happens then; whole days."""

    days: int
    happens: int
    together: int
    together_happens: int
    base_rate: float
    right_answer: float  # how often it happens where these reports come, exactly
    cost: float  # Pr[x] (f - g)^2
    else_certain: tuple[bool | None, ...]  # of what each is certain if she reports something else; None: she never does
    forecast_is: str  # "too low" or "too high"


def worst_worlds(x: Floats, forecast: float, prior_range: tuple[float, float] | None = None) -> list[World]:
    """The world in which the forecast costs most at these reports, and then the worst one in which it errs to the other side.

    Base rates outside the ``prior_range`` are left out. Where a report is certain, or there is only one, no world has a cost.
    """
    if not base_rate_matters(x):
        return []
    low, high = np.clip(prior_range or (0.0, 1.0), RAREST, 1 - RAREST).tolist()
    found = [_worst(x, forecast, side, low, high) for side in (1.0, -1.0)]
    worlds = [_world(x, forecast, mu) for mu in found if mu is not None]
    return sorted((world for world in worlds if world.cost > ROUNDING), key=lambda world: -world.cost)


def _worst(x: Floats, forecast: float, side: float, low: float, high: float) -> float | None:
    """The base rate at which the cost is largest, if the right answer is on one side of the forecast."""
    ends = logit(np.array([low, high])).tolist()
    start, end = ends
    at_reports = np.clip(logit(x), *ends)  # where the cost has kinks
    for _ in range(ZOOMS):
        priors = np.clip(sigma(np.append(np.linspace(start, end, POINTS), at_reports)), low, high)
        chance, right = _at(x, priors)
        cost = np.where(side * (right - forecast) > 0, chance * (right - forecast) ** 2, -1.0)
        best = int(np.argmax(cost))
        if cost[best] <= 0:
            return None
        step, middle = (end - start) / (POINTS - 1), float(logit(priors[best : best + 1])[0])
        start, end = max(ends[0], middle - 2 * step), min(ends[1], middle + 2 * step)
    return float(priors[best])


def _at(x: Floats, priors: Floats) -> tuple[Floats, Floats]:
    """Pr[x] and g at some base rates: an agent reports x_i with the chance min(1, ...) in the state that x_i speaks for."""
    odds = (x / (1 - x))[None, :] * ((1 - priors) / priors)[:, None]  # of x_i against the base rate
    happens = priors * np.minimum(odds, 1.0).prod(axis=1)
    not_ = (1 - priors) * np.minimum(1 / odds, 1.0).prod(axis=1)
    return happens + not_, happens / (happens + not_)


def _world(x: Floats, forecast: float, prior: float) -> World:
    """The world with a base rate, in whole days that add up."""
    chances, rights = _at(x, np.array([prior]))
    chance, right = float(chances[0]), float(rights[0])
    rare = min(chance * right, chance * (1 - right))
    days = next((days for days in DAYS if days * chance >= ENOUGH and days * rare >= 1), DAYS[-1])
    happens = round(days * prior)
    with_reports = min(round(days * chance * right), happens)
    without = min(round(days * chance * (1 - right)), days - happens)
    return World(
        days=days,
        happens=happens,
        together=with_reports + without,
        together_happens=with_reports,
        base_rate=prior,
        right_answer=right,
        cost=chance * (forecast - right) ** 2,
        else_certain=tuple(None if abs(each - prior) < 1e-9 else bool(each < prior) for each in x.tolist()),
        forecast_is="too low" if forecast < right else "too high",
    )
