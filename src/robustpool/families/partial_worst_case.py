"""The structure of partial information that hurts a rule most, by search.

A curve of the mean probit is integrated over mean z alone. Any other rule is asked at reports Phi(mean z + e_i): mean z on
nodes, the differences e_i between the agents by Gauss and Hermite for two agents, else at random (the same draws for every
structure, each with its negative). The worst structure is then integrated anew with other draws, which also say how far
off the mean may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..aggregators.curve import CurveAggregator
from ..designs.design import Design
from ..numerics import dot, normal_cdf
from .gaussian_quadrature import density, laws, nodes
from .partial_nature import STEEP, corner_spread, curve_regrets
from .partial_search import peaks, start_cube, zoomed
from .regret import forecasts_of
from .worst_case import WorstCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..losses.loss import Loss
    from ..typing import Floats
    from .partial_information import PartialInformation

DRAWS, FINAL_REPORTS = 48, 2_000_000
"""Draws in the search, fewer for many agents; and reports at which the rule is asked about the worst structure."""
HERMITE = 24
CORNERS = (0, 3, 12, 15)
"""The combinations of the start at the ends of both ranges."""
MEANS = np.linspace(-4.8, 4.8, 33)
LARGEST = 1.0 - 2.0**-53


class Draws(NamedTuple):
    """Differences between the agents, of variance 1 before the mean was taken off, and their weights."""

    differences: Floats  # (draws, agents)
    weights: Floats  # (draws,)
    random: bool


def worst_partial(
    aggregator: Callable[[Any], Any], family: PartialInformation, loss: Loss, rng: np.random.Generator
) -> WorstCase:
    """See World."""
    inner = aggregator.aggregator if isinstance(aggregator, Design) else aggregator
    cube = start_cube(family, corner_spread(family), mirrored=False)
    if isinstance(inner, CurveAggregator) and inner.agents >= family.agents and loss.quadratic:
        curve = inner
        found, regret = _searched(
            lambda points: curve_regrets(curve, family.structures(points), family.agents), cube, starts=24, zooms=14
        )
        return WorstCase(regret, family.structure(family.structures(found)[0]))
    draws = drawn(family.agents, max(2, min(DRAWS, 2000 // family.agents)), rng)

    def regrets(points: Floats) -> Floats:
        labels = family.structures(points)
        return np.array([dot(_by_draw(aggregator, one, family.agents, loss, draws), draws.weights) for one in labels])

    found, _ = _searched(regrets, cube[::3, CORNERS], starts=3, zooms=7)
    worst = family.structures(found)[0]
    fresh = drawn(family.agents, max(16, FINAL_REPORTS // (110 * family.agents)), rng)
    again = _by_draw(aggregator, worst, family.agents, loss, fresh, exactly=True)
    pairs = again.reshape(2, -1).mean(axis=0)
    error = float(pairs.std(ddof=1) / np.sqrt(len(pairs))) if fresh.random else None
    return WorstCase(dot(again, fresh.weights), family.structure(worst), error=error)


def _searched(regrets: Callable[[Floats], Floats], cube: Floats, *, starts: int, zooms: int) -> tuple[Floats, float]:
    """The point (1, 3) of the cube with the largest regret that a search finds, and the regret."""
    values = regrets(cube.reshape(-1, 3)).reshape(cube.shape[:2])
    found, regret = zoomed(regrets, cube[peaks(values, starts)], zooms)
    return found[[int(regret.argmax())]], float(regret.max())


def drawn(agents: int, count: int, rng: np.random.Generator) -> Draws:
    """Differences between agents: on nodes for two, else at random, the second half being the negatives of the first."""
    if agents == 2:
        node, weight = np.polynomial.hermite_e.hermegauss(HERMITE)
        return Draws(node[:, None] * np.array([1.0, -1.0]) / np.sqrt(2), weight / weight.sum(), random=False)
    normal = rng.standard_normal((count // 2, agents))
    normal -= normal.mean(axis=1, keepdims=True)
    return Draws(np.concatenate((normal, -normal)), np.full(2 * (count // 2), 0.5 / (count // 2)), random=True)


def _by_draw(
    aggregator: Callable[[Any], Any], label: Floats, agents: int, loss: Loss, draws: Draws, *, exactly: bool = False
) -> Floats:
    """The regret on a structure (t, delta, overlap) given each draw of the differences: shape (draws,)."""
    rule = laws(label[None], agents)
    if exactly or rule.together[0, 0] > STEEP:
        u, weight = nodes(rule.panels(np.zeros(0)))
    else:
        u, weight = MEANS[None], np.ones((1, len(MEANS)))
    chance = (weight * density(u))[0] / np.sum(weight * density(u))
    _, delta, overlap = label
    apart = np.sqrt(delta * (1 - overlap) / (1 - delta)) * draws.differences
    z = (rule.centre + rule.spread * u)[0][:, None, None] + apart
    reports = np.clip(normal_cdf(z), 1e-300, LARGEST).reshape(-1, agents)
    forecasts = forecasts_of(aggregator, reports, 2)
    g = np.repeat(rule.posterior(u)[0], len(apart))
    lost = loss.divergence(forecasts, np.stack((1.0 - g, g), axis=1)).reshape(len(chance), -1)
    return np.sum(chance[:, None] * lost, axis=0)
