"""Expectations over Gaussian structures: nodes and weights for u, and what is said and known there.

The nodes are those of Gauss and Legendre on panels of u. Besides the fixed panels there are some around t / sqrt(v), where
the omniscient's forecast Phi((sqrt(v) u - t) / sqrt(1 - v)) rises, as wide as it needs them: a step if v = 1. For a curve
the knots are ends of panels too, so that it is smooth on each and no curve can bend between the nodes unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..numerics import normal_cdf
from ..structures.gaussian_structure import breadth

if TYPE_CHECKING:
    from ..typing import Floats

PANELS = np.linspace(-7.0, 7.0, 29)
STEPS = np.array([-6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)


class Points(NamedTuple):
    """What comes with which chance, each of shape (structures, points)."""

    chance: Floats
    pooled: Floats  # Phi(mean z)
    posterior: Floats  # g


class Laws(NamedTuple):
    """Structures by the numbers that rule mean z and g: mean z = centre + spread u, each of shape (structures, 1)."""

    threshold: Floats
    centre: Floats
    spread: Floats
    together: Floats  # v

    def posterior(self, u: Floats) -> Floats:
        """g at u: shape (structures, points)."""
        v = self.together
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = (np.sqrt(v) * u - self.threshold) / np.sqrt(1.0 - v)
        return normal_cdf(np.where(np.isnan(rise), 0.0, rise))

    def panels(self, knots: Floats) -> Floats:
        """The ends of the panels of each structure, in u: shape (structures, ends). ``knots`` are mean probits."""
        v = np.maximum(self.together, 1e-12)
        steps = (self.threshold + np.sqrt(1.0 - v) * STEPS) / np.sqrt(v)
        bends = (knots - self.centre) / np.maximum(self.spread, 1e-12)
        fixed = np.broadcast_to(PANELS, (len(v), len(PANELS)))
        ends = np.clip(np.concatenate((fixed, steps, bends), axis=1), PANELS[0], PANELS[-1])
        return np.sort(ends, axis=1)


def laws(labels: Floats, agents: int) -> Laws:
    """The laws of structures (t, delta, overlap)."""
    t, delta, overlap = (column[:, None] for column in labels.T)
    m, own = breadth(agents, overlap), np.sqrt(1.0 - delta)
    return Laws(t, -t / own, np.sqrt(delta / m) / own, np.minimum(m * delta, 1.0))


def nodes(ends: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights between the ends of panels: (..., ends) -> (..., points) each."""
    half = np.diff(ends, axis=-1)[..., None] / 2
    points = ends[..., :-1, None] + half * (1.0 + NODES)
    shape = (*ends.shape[:-1], -1)
    return points.reshape(shape), np.broadcast_to(half * WEIGHTS, points.shape).reshape(shape)


def density(u: Floats) -> Floats:
    """Of N(0, 1)."""
    return np.exp(-u * u / 2) / np.sqrt(2 * np.pi)


def expectations(labels: Floats, agents: int, knots: Floats) -> Points:
    """The points of structures (t, delta, overlap), for a curve with these knots, in mean probits."""
    rule = laws(labels, agents)
    u, weight = nodes(rule.panels(knots))
    chance = weight * density(u)
    chance /= chance.sum(axis=1, keepdims=True)
    return Points(chance, normal_cdf(rule.centre + rule.spread * u), rule.posterior(u))
