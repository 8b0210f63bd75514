"""What a forecast costs when the outcome is known, and two numbers about many forecasts: AUC and sharpness.

The formulas are in docs/theory/scores. Outcomes y are 0 or 1, forecasts p probabilities, weights w positive; all have the
shape (m,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..typing import Floats

Score = Callable[["Floats", "Floats"], "Floats"]
"""From forecasts and outcomes to losses."""


def brier(forecasts: Floats, outcomes: Floats) -> Floats:
    """(p - y)^2 for each forecast [Brier1950].

    >>> brier(np.array([0.8, 0.5]), np.array([1.0, 0.0])).round(2)
    array([0.04, 0.25])
    """
    return np.asarray((forecasts - outcomes) ** 2)


def log_score(forecasts: Floats, outcomes: Floats) -> Floats:
    """-log of the probability that was given to what happened; infinite for a certain forecast that was wrong.

    >>> log_score(np.array([0.5, 1.0, 1.0]), np.array([0.0, 1.0, 0.0])).round(3)
    array([0.693, 0.   ,   inf])
    """
    with np.errstate(divide="ignore"):  # log 0 is meant
        return np.abs(np.where(outcomes == 1, np.log(forecasts), np.log1p(-forecasts)))


class Distinct(NamedTuple):
    """Forecasts that occur, and how much weight the two outcomes have at each."""

    values: Floats  # (k,), increasing
    yes: Floats  # (k,)
    no: Floats  # (k,)

    @property
    def weights(self) -> Floats:
        """The weight at each value."""
        return self.yes + self.no


BINS = 20
"""Bins of a histogram of forecasts: one for every 5 %."""


def histogram(at: Distinct) -> tuple[float, ...]:
    """The share of the weight in each of 20 equal bins [k/20, (k+1)/20), of which the last has 1 as well.

    >>> shares = histogram(distinct(np.array([0.15, 0.15, 0.5, 1.0]), np.ones(4), np.ones(4)))
    >>> {place: share for place, share in enumerate(shares) if share}
    {3: 0.5, 10: 0.25, 19: 0.25}
    """
    places = np.minimum(np.floor(at.values * BINS + 1e-9), BINS - 1).astype(np.intp)  # 0.15 * 20 may fall short of 3
    return tuple((np.bincount(places, at.weights, BINS) / at.weights.sum()).tolist())


def distinct(forecasts: Floats, outcomes: Floats, weights: Floats) -> Distinct:
    """Put equal forecasts together: one sort, which all that follows shares.

    >>> distinct(np.array([0.9, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), np.ones(3))
    Distinct(values=array([0.5, 0.9]), yes=array([1., 1.]), no=array([1., 0.]))
    """
    values, place = np.unique(forecasts, return_inverse=True)
    yes, no = (np.bincount(place, weights * happened).astype(np.float64) for happened in (outcomes, 1 - outcomes))
    return Distinct(values, yes, no)


def mean_score(score: Score, forecasts: Floats, at: Distinct) -> float:
    """The weighted mean score of a forecast for each value, infinite only if an outcome happened that was ruled out.

    >>> at = distinct(np.array([0.9, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), np.ones(3))
    >>> round(mean_score(brier, at.values, at), 3)
    0.17
    """
    total = 0.0
    for mass, outcome in ((at.yes, 1.0), (at.no, 0.0)):
        there = mass > 0
        total += float(mass[there] @ score(forecasts[there], np.full(np.count_nonzero(there), outcome)))
    return total / float(at.weights.sum())


def auc(at: Distinct) -> float | None:
    """How likely a forecast on a question that came true is higher than one on a question that did not; ties count 1/2.

    AUC = sum_{i: y=1, j: y=0} w_i w_j (1[p_i > p_j] + 1[p_i = p_j]/2) / sum_{i: y=1, j: y=0} w_i w_j. None where all
    outcomes are the same.

    >>> auc(distinct(np.array([0.9, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), np.ones(3)))
    0.75
    """
    pairs = at.yes.sum() * at.no.sum()
    below = np.cumsum(at.no) - at.no
    return float(at.yes @ (below + at.no / 2) / pairs) if pairs > 0 else None


def sharpness(at: Distinct) -> float:
    """The weighted variance of the forecasts: how much they differ.

    >>> sharpness(distinct(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.ones(2)))
    0.25
    """
    mean = np.average(at.values, weights=at.weights)
    return float(np.average((at.values - mean) ** 2, weights=at.weights))
