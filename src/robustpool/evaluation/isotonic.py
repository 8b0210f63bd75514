"""Isotonic recalibration, the reliability diagram that it draws, and the decomposition of a score that it gives.

[Dimitriadis2021] call it CORP: consistent, optimally binned, reproducible, by the pool-adjacent-violators algorithm.
The formulas are in docs/theory/scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .records import CurvePoint, Decomposition
from .scores import Distinct, Score, mean_score

if TYPE_CHECKING:
    from ..typing import Floats


@dataclass(frozen=True, eq=False)
class Isotonic:
    """The increasing function of the forecast that fits the outcomes best, by its values at the forecasts that were made."""

    at: Distinct  # k forecasts
    frequencies: Floats  # (k,), not decreasing: how often the event happened, recalibrated

    def __call__(self, forecasts: Floats) -> Floats:
        """The recalibrated forecasts: linear between the forecasts that were seen, constant beyond."""
        return np.interp(forecasts, self.at.values, self.frequencies)


def fit_isotonic(at: Distinct) -> Isotonic:
    """Minimise sum_i w_i (g(p_i) - y_i)^2 over the functions g that do not decrease.

    Equal forecasts are one point, with the mean of their outcomes; then adjacent points that violate the order are pooled.
    The solution is the same for every proper score, not only for the square [Dimitriadis2021].

    >>> from .scores import distinct
    >>> p, y = np.array([0.1, 0.3, 0.3, 0.6]), np.array([0.0, 1.0, 1.0, 0.0])
    >>> fit_isotonic(distinct(p, y, np.ones(4))).frequencies.round(3)
    array([0.   , 0.667, 0.667])
    """
    starts = np.arange(len(at.values))  # of the blocks of points that share a frequency
    while True:
        means = np.add.reduceat(at.yes, starts) / np.add.reduceat(at.weights, starts)
        rises = np.concatenate(([True], means[1:] > means[:-1]))
        if rises.all():
            sizes = np.diff(starts, append=len(at.values))
            return Isotonic(at, np.clip(np.repeat(means, sizes), 0.0, 1.0))  # means of zeros and ones, up to rounding
        starts = starts[rises]


def decompose(score: Score, fit: Isotonic) -> Decomposition:
    """Split a mean score into reliability - resolution + uncertainty, exactly.

    With S(p) the mean score of the forecasts, S(g) that of the recalibrated ones and S(r) that of the base rate:
    reliability = S(p) - S(g), resolution = S(r) - S(g), uncertainty = S(r); the first two are never negative.

    >>> from .scores import brier, distinct
    >>> p, y = np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 0.0, 0.0, 1.0])
    >>> decompose(brier, fit_isotonic(distinct(p, y, np.ones(4))))
    Decomposition(reliability=0.065..., resolution=0.0625, uncertainty=0.1875)
    """
    base_rate = np.full_like(fit.frequencies, fit.at.yes.sum() / fit.at.weights.sum())
    own, recalibrated, constant = (
        mean_score(score, forecasts, fit.at) for forecasts in (fit.at.values, fit.frequencies, base_rate)
    )
    return Decomposition(own - recalibrated, constant - recalibrated, constant)


def curve(fit: Isotonic) -> tuple[CurvePoint, ...]:
    """The steps of the reliability diagram, by their ends: one point for a step at a single forecast, else two.

    >>> from .scores import distinct
    >>> curve(fit_isotonic(distinct(np.array([0.1, 0.3, 0.6]), np.array([0.0, 1.0, 0.0]), np.ones(3))))
    (CurvePoint(forecast=0.1, frequency=0.0), CurvePoint(forecast=0.3, frequency=0.5), CurvePoint(forecast=0.6, frequency=0.5))
    """
    values = fit.at.values
    starts = np.flatnonzero(np.concatenate(([True], np.diff(fit.frequencies) > 0)))
    ends = np.concatenate((starts[1:], [len(values)])) - 1
    places = np.unique(np.concatenate((starts, ends)))
    return tuple(map(CurvePoint, values[places].tolist(), fit.frequencies[places].tolist()))
