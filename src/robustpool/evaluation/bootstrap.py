"""The bootstrap: questions (or clusters of them) drawn again, with replacement.

Everything that is resampled here is a ratio of sums over questions. So a draw is a row of counts, how often each cluster
was drawn, and the sums of a draw are counts @ sums of the clusters. Statistics that share a seed share their draws, and
so differences between them are paired.
"""

from __future__ import annotations

from math import ceil, floor, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from .calibration import t_quantile
from .records import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..typing import Floats, Integers


COUNTS_AT_ONCE = 1 << 23
"""Counts that are held at a time: 64 MB."""

MOST_COUNTS = 1e8
"""Counts that are drawn in all, a second's worth; a table with more than 50,000 clusters has fewer than 2,000 draws."""

LEAST_DRAWS = 200


def affordable(draws: int, clusters: int) -> int:
    """How many draws a table of that many clusters gets if ``draws`` are requested.

    >>> affordable(2000, 500), affordable(2000, 1_000_000)
    (2000, 200)
    """
    return min(draws, max(LEAST_DRAWS, int(MOST_COUNTS // clusters)))


def resampled_sums(columns: Floats, draws: int, seed: int) -> Floats:
    """The sums of the columns in each draw: (clusters, k) -> (draws, k).

    >>> resampled_sums(np.ones((5, 1)), draws=3, seed=0).ravel()
    array([5., 5., 5.])
    """
    clusters = len(columns)
    rng = np.random.default_rng(seed)
    sums = np.empty((draws, columns.shape[1]))
    step = max(1, COUNTS_AT_ONCE // clusters)
    for first in range(0, draws, step):
        last = min(first + step, draws)
        counts = np.empty((last - first, clusters))
        for row in counts:
            row[:] = np.bincount(rng.integers(clusters, size=clusters), minlength=clusters)
        sums[first:last] = counts @ columns
    return sums


def sums_by_cluster(columns: Iterable[Floats], clusters: Integers) -> Floats:
    """Add up each column, of shape (questions,), over the questions of a cluster: (clusters, k).

    >>> sums_by_cluster([np.array([1.0, 3.0, 5.0])], np.array([1, 0, 1])).tolist()
    [[3.0], [6.0]]
    """
    number = int(clusters.max()) + 1
    return np.stack([np.bincount(clusters, column, minlength=number) for column in columns], axis=1)


def chance(clusters: int) -> float:
    """The share of the draws beyond each end of a 95 % interval: a little less than 2.5 % if clusters are few.

    >>> round(chance(10), 4), round(chance(100_000), 4)
    (0.0086, 0.025)
    """
    return NormalDist().cdf(-sqrt(clusters / (clusters - 1)) * t_quantile(0.975, clusters - 1))


def percentile_interval(value: float, draws: Floats, clusters: int) -> Interval:
    """The 95 % percentile interval, a little wider where clusters are few.

    Percentiles of a bootstrap are too narrow by sqrt((G - 1)/G) and by the step from the normal to the t distribution, so
    the level is that of Phi(-sqrt(G/(G - 1)) t) instead of Phi(-1.96) [Hesterberg2015]. Its ends are
    draws, the outer ones, so that infinite scores do no harm. One cluster alone says nothing about others: the interval
    is all numbers.

    >>> percentile_interval(0.5, np.linspace(0, 1, 2001), clusters=1000)
    Interval(value=0.5, low=0.0245, high=0.9755)
    """
    if clusters < 2:
        return Interval(value, -np.inf, np.inf)
    tail = chance(clusters)
    ordered = np.sort(draws)
    last = len(draws) - 1
    return Interval(value, float(ordered[floor(tail * last)]), float(ordered[ceil((1 - tail) * last)]))
