"""Answers to resolved questions as arrays, and the two ways to pool them: the mean, and the mean of their log-odds.

Everything is a sum over the answers of a question, so that a pool with other weights costs a few passes over the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from ..aggregators import distributions, pools
from ..evaluation import option_scores, scores
from ..evaluation.calibration import clipped_logit, fit_logistic, fit_power
from ..evaluation.panel import resolved
from ..numerics import sigma

if TYPE_CHECKING:
    from ..tables.records import ForecastTable
    from ..typing import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class History:
    """Resolved questions with their answers.

    Pooled log-odds have the shape (questions,). With options they are mean logarithms, (questions, K), -inf beyond a question's
    own options; forecasts then have the same shape, NaN there.
    """

    table: ForecastTable  # every question has an outcome, and answers
    clusters: Integers  # (questions,), numbers from 0
    clip: float

    @classmethod
    def of(cls, table: ForecastTable, clip: float) -> Self:
        """The resolved questions of a table."""
        kept = resolved(table, 1)
        clusters = np.arange(len(kept.questions))
        if kept.cluster is not None:
            clusters = np.unique(kept.cluster, return_inverse=True)[1]
        return cls(kept, clusters, clip)

    @property
    def size(self) -> int:
        """How many questions there are."""
        return len(self.table.questions)

    @cached_property
    def number_of_clusters(self) -> int:
        """How many clusters of questions there are; as many as questions, if no clusters are known."""
        return int(self.clusters.max(initial=-1)) + 1

    @cached_property
    def _logs(self) -> Floats:
        """The log-odds of each answer, (rows,), or with options its logarithms, (rows, K)."""
        table = self.table
        if table.options is None:
            return clipped_logit(table.probability, self.clip)
        logs = np.full(table.probability.shape, -np.inf)
        sizes = table.option_counts[table.question]
        for k in np.unique(sizes).tolist():
            these = sizes == k
            logs[these, :k] = np.log(distributions.clipped(table.probability[these, :k], self.clip)[0])
        return logs

    @cached_property
    def losses(self) -> Floats:
        """The Brier score of each answer, clipped: (rows,)."""
        outcome = self.table.outcome[self.table.question]
        if self.table.options is None:
            return scores.brier(sigma(self._logs), outcome)
        return option_scores.brier(np.where(np.isfinite(self._logs), np.exp(self._logs), np.nan), outcome)

    # ------------------------------------------------------------------------------------------------------------- pooling

    def mean(self, weights: Floats | None = None) -> Floats:
        """The mean of the answers; ``weights`` are those of the forecasters."""
        return self._means(self.table.probability, weights)

    def log_odds(self, weights: Floats | None = None) -> Floats:
        """The mean log-odds of the answers."""
        return self._means(self._logs, weights)

    def _means(self, values: Floats, weights: Floats | None) -> Floats:
        by_row = np.ones(self.table.rows)
        if self.table.weight is not None:  # only ratios within a question matter, and sums must not overflow
            by_row = (
                self.table.weight / np.maximum.reduceat(self.table.weight, self.table.offsets[:-1])[self.table.question]
            )
        if weights is not None:
            by_row = by_row * weights[self.table.forecaster]
        total = np.add.reduceat(by_row, self.table.offsets[:-1])
        weighted = values * (by_row if values.ndim == 1 else by_row[:, None])
        sums = np.add.reduceat(weighted, self.table.offsets[:-1], axis=0)
        return np.asarray(sums / (total if values.ndim == 1 else total[:, None]))

    def pushed(self, log_odds: Floats) -> Floats:
        """The forecasts of `robust`; a single answer is kept as it is."""
        alone = self.table.answers == 1
        if log_odds.ndim == 1:
            return np.where(alone, sigma(log_odds), pools.pushed(log_odds))
        forecasts = np.where(alone[:, None], distributions.softmax(log_odds), distributions.pushed(log_odds))
        return np.where(np.isfinite(log_odds), forecasts, np.nan)

    def recalibrated(self, log_odds: Floats, intercept: float, slope: float) -> Floats:
        """sigma(a + b L), or with options f_k ~ exp(b z_k)."""
        if log_odds.ndim == 1:
            return sigma(intercept + slope * log_odds)
        return np.where(np.isfinite(log_odds), distributions.softmax(slope * log_odds), np.nan)

    # ------------------------------------------------------------------------------------------------------------- learning

    def brier(self, forecasts: Floats) -> Floats:
        """The Brier score of each question's forecast: (questions,)."""
        kind = scores if self.table.options is None else option_scores
        return kind.brier(forecasts, self.table.outcome)

    def platt(self, log_odds: Floats, training: Booleans, pull: tuple[float, float]) -> tuple[float, float]:
        """Intercept and slope that fit best, pulled towards 0 and 1; with options only the slope, which is a power."""
        z, y = log_odds[training], self.table.outcome[training]
        once = np.ones(len(y))
        if self.table.options is not None:
            return 0.0, fit_power(z, y, once, pull=pull[1])
        intercept, slope = fit_logistic(z, y, once, pull=pull).tolist()
        return intercept, slope
