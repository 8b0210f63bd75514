"""Do the forecasters know the same things? The correlation of two of them on a question, given the outcome.

With independent evidence and one base rate for all questions it is 0; where one forecaster repeats the other it is 1. Two
forecasters with correlation rho are worth 2 / (1 + rho) independent ones.

It is an upper bound in spirit: questions with base rates of their own, which everybody knows, look the same as
evidence that everybody has seen, and no table of forecasts and outcomes can tell the two apart (docs/theory/scores).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .bootstrap import percentile_interval, resampled_sums, sums_by_cluster
from .calibration import clipped_logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..tables.records import ForecastTable
    from .records import Interval

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

LEAST_CLUSTERS = 6
"""With fewer an interval from resampling is a fiction."""


def dependence(table: ForecastTable, clusters: IntArray, *, draws: int, seed: int) -> Interval | None:
    """The correlation of two forecasters' log-odds on the same question, given the outcome, with its interval.

    With r = logit x - (mean of its outcome class, each question counting once):

        rho = mean over questions of mean over pairs r_i r_j  /  mean over questions of mean r_i^2.

    All questions must be resolved; those with one answer are left aside. The class means are those of each draw. None where
    too few questions have two answers, or where all answers of a class are the same.

    >>> from ..tables.records import ForecastTable
    >>> x = np.linspace(0.1, 0.9, 10)
    >>> twins = ForecastTable(
    ...     [str(q) for q in range(10)], ["ann", "bob"], np.repeat(np.arange(10), 2), np.tile([0, 1], 10),
    ...     np.repeat(x, 2), np.tile([0.0, 1.0], 5),
    ... )  # fmt: skip
    >>> round(dependence(twins, np.arange(10), draws=200, seed=0).value, 6)
    1.0
    """
    usable = table.answers >= 2
    if len(np.unique(clusters[usable])) < LEAST_CLUSTERS:
        return None
    number = np.unique(clusters[usable], return_inverse=True)[1]
    columns = sums_by_cluster(_moments(table, usable).T, number)
    value = float(_correlation(columns.sum(axis=0)))
    if not np.isfinite(value):
        return None
    resampled = _correlation(resampled_sums(columns, draws, seed).T)
    return percentile_interval(value, resampled[np.isfinite(resampled)], len(columns))


def _moments(table: ForecastTable, usable: NDArray[np.bool_]) -> FloatArray:
    """For each usable question 1, mean l, mean l^2 and mean over pairs l_i l_j, in four columns for each outcome: (q, 8)."""
    x = clipped_logit(table.probability)
    n, starts = table.answers[usable], table.offsets[:-1]
    total = np.add.reduceat(x, starts[table.answers > 0])[usable[table.answers > 0]]
    squares = np.add.reduceat(x**2, starts[table.answers > 0])[usable[table.answers > 0]]
    pairs = (total**2 - squares) / (n * (n - 1))
    each = np.stack([np.ones_like(total), total / n, squares / n, pairs], axis=1)
    happened = table.outcome[usable, None] == 1
    return np.hstack([each * happened, each * ~happened])


def _correlation(sums: FloatArray) -> FloatArray:
    """rho from the sums of the eight moments, (8, ...) -> (...); NaN where it is 0/0.

    With m the class mean, the mean of r_i^2 is mean l^2 - m^2 and that of r_i r_j is mean l_i l_j - m^2.
    """
    own = together = np.float64(0)
    for count, first, square, product in (sums[:4], sums[4:]):
        m_squared = np.divide(first**2, count, out=np.zeros_like(first), where=count > 0)
        own, together = own + square - m_squared, together + product - m_squared
    spread = own > 1e-9 * (sums[2] + sums[6])  # below, all answers of a class are the same, up to rounding
    return np.divide(together, own, out=np.full(np.shape(own), np.nan), where=spread)
