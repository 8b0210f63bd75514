"""The search for the worst structures of partial information: a grid that has the corners, then zooming in."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from .partial_information import FURTHEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats, Integers
    from .partial_information import PartialInformation

THRESHOLDS = 121
SHARES = np.array([0.0, 0.3, 0.7, 1.0])
MOVES = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
FIRST = np.array([0.5, 0.5, 0.5]) * np.array([1.0 / 20, 0.3, 0.3])
"""The first step of the zoom in each direction of the cube."""


def spaced(family: PartialInformation, count: int, spread: float, furthest: float) -> Floats:
    """Thresholds, or mean probits, that are dense where nature's mixture lives and sparse in the tails.

    What hurts most are priors near 1/2, or the nearest to it, as far apart as the mean probit is spread in one structure:
    z = centre + a sinh(x) with equal steps of x.
    """
    low, high = family.thresholds
    centre, scale = float(np.clip(0.0, low, high)), 2.0 * max(spread, 1e-4)
    first, last = np.arcsinh((np.array([-furthest, furthest]) - centre) / scale).tolist()
    points = centre + scale * np.sinh(np.linspace(first, last, count))
    return points if centre else (points - points[::-1]) / 2


def start_cube(family: PartialInformation, spread: float, *, mirrored: bool) -> Floats:
    """Points of the unit cube to start from, (thresholds, combinations, 3): every share of overlap and of information.

    The first combination is the corner that usually binds: the least overlap and the most information. Where the mirror
    allows, thresholds of 0 and more are enough.
    """
    low, high = family.thresholds
    t = np.unique(np.clip(np.append(spaced(family, THRESHOLDS, spread, FURTHEST), (low, high)), low, high))
    t = t[t >= 0] if mirrored else t
    first = (t - low) / (high - low) if high > low else np.zeros(1)
    shares = np.array([(information, overlap) for overlap in SHARES for information in SHARES[::-1]])
    cube = np.empty((len(first), len(shares), 3))
    cube[:, :, 0], cube[:, :, 1:] = first[:, None], shares
    return cube


def peaks(values: Floats, count: int) -> tuple[Integers, Integers]:
    """The places of the largest of values (thresholds, combinations) of each threshold, as far as they are local maxima over the thresholds."""
    best = values.max(axis=1)
    beside = np.concatenate(([-np.inf], best, [-np.inf]))
    tops = np.flatnonzero((best >= beside[:-2]) & (best >= beside[2:]))
    tops = tops[np.argsort(-best[tops], kind="stable")][:count]
    return tops, values[tops].argmax(axis=1)


def zoomed(regrets: Callable[[Floats], Floats], cube: Floats, zooms: int) -> tuple[Floats, Floats]:
    """Points of the cube moved to where ``regrets`` of points is largest near them, by smaller and smaller steps, and the regrets."""
    step, values = FIRST, regrets(cube)
    for _ in range(zooms):
        around = np.clip(cube[:, None] + step * MOVES, 0.0, 1.0)
        found = regrets(around.reshape(-1, 3)).reshape(len(cube), -1)
        best = found.argmax(axis=1)
        better = found.max(axis=1) > values
        cube = np.where(better[:, None], around[np.arange(len(cube)), best], cube)
        values = np.maximum(values, found.max(axis=1))
        step = np.where(better.any(), step * 0.7, step * 0.5)
    return cube, values
