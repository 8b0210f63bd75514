"""Do the forecasters know the same things? The correlation of two of them on a question, given the outcome.

With independent evidence and one base rate for all questions it is 0; where one forecaster repeats the other it is 1. Two
forecasters with correlation rho are worth 2 / (1 + rho) independent ones.

It is an upper bound in spirit: questions with base rates of their own, which everybody knows, look the same as
evidence that everybody has seen, and no table of forecasts and outcomes can tell the two apart (docs/theory/scores).
Neither voids a proved worst case, while shared errors, which look like this too, do (docs/derivations/shared-evidence.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .bootstrap import resampled_sums, sums_by_cluster
from .calibration import clipped_logit, t_quantile
from .records import Interval

if TYPE_CHECKING:
    from ..tables.records import ForecastTable
    from ..typing import Booleans, Floats, Integers

CLUSTERS_TO_RESAMPLE = 6
"""With fewer an interval from resampling is a fiction."""

NEARLY_1 = 1 - 1e-9  # atanh 1 is infinite


def dependence(table: ForecastTable, clusters: Integers, *, draws: int, seed: int) -> Interval | None:
    """The correlation of two forecasters' log-odds on the same question, given the outcome, with its interval.

    With l the log-odds, and averages over questions of one outcome in which each question counts once:

        rho = sum over outcomes of N (mean l_i l_j - m^2)  /  sum over outcomes of N (mean l_i^2 - m^2)

    for i and j on the same question, N questions and m^2 the mean of l_i l_k on *different* questions (of different
    clusters): the square of their mean, without the bias that would pull rho down where questions are few. The interval
    is symmetric for atanh rho, with the standard error of the resampled ones and the quantile of t.

    All questions must be resolved; those with one answer are left aside (`Individuals.one_answer` counts them). None where too
    few questions have two answers, or where all answers of an outcome are the same.

    >>> from ..tables.records import ForecastTable
    >>> x = np.linspace(0.1, 0.9, 10)
    >>> twins = ForecastTable(
    ...     [str(q) for q in range(10)], ["ann", "bob"], np.repeat(np.arange(10), 2), np.tile([0, 1], 10),
    ...     np.repeat(x, 2), np.tile([0.0, 1.0], 5),
    ... )  # fmt: skip
    >>> dependence(twins, np.arange(10), draws=200, seed=0).low > 0.999
    True
    """
    usable = table.answers >= 2
    names, number = np.unique(clusters[usable], return_inverse=True)
    if len(names) < CLUSTERS_TO_RESAMPLE:
        return None
    sums = sums_by_cluster(_moments(table, usable).T, number)
    columns = np.hstack([sums, sums[:, [0, 1, 4, 5]] ** 2])
    value = float(_correlation(columns.sum(axis=0)))
    resampled = _correlation(resampled_sums(columns, draws, seed).T)
    resampled = resampled[np.isfinite(resampled)]
    if not (np.isfinite(value) and len(resampled)):
        return None
    free = len(names) - 2  # two means are fitted
    error = np.std(np.arctanh(np.clip(resampled, -NEARLY_1, NEARLY_1))) * np.sqrt(len(names) / free)
    reach = t_quantile(0.975, free) * error
    middle = np.arctanh(np.clip(value, -NEARLY_1, NEARLY_1))
    return Interval(float(np.tanh(middle)), float(np.tanh(middle - reach)), float(np.tanh(middle + reach)))


def _moments(table: ForecastTable, usable: Booleans) -> Floats:
    """For each usable question 1, mean l, mean l^2 and mean over pairs l_i l_j, in four columns for each outcome: (q, 8)."""
    x = clipped_logit(table.probability)
    answered = table.answers > 0
    starts, usable_of_answered, n = table.offsets[:-1][answered], usable[answered], table.answers[usable]
    total, squares = (np.add.reduceat(values, starts)[usable_of_answered] for values in (x, x**2))
    pairs = (total**2 - squares) / (n * (n - 1))
    each = np.stack([np.ones_like(total), total / n, squares / n, pairs], axis=1)
    happened = table.outcome[usable, None] == 1
    return np.hstack([each * happened, each * ~happened])


def _correlation(sums: Floats) -> Floats:
    """rho from the sums over clusters of the eight moments, and of the squares of two of them, (12, ...) -> (...).

    An outcome with a single cluster says nothing. NaN where rho is 0/0.
    """
    own, together, size = np.zeros((3, *sums.shape[1:]))
    for (count, first, square, product), (counts, firsts) in ((sums[:4], sums[8:10]), (sums[4:8], sums[10:])):
        pairs = count**2 - counts
        several = pairs > 0
        m_squared = np.divide(first**2 - firsts, pairs, out=np.zeros_like(first), where=several)
        own += np.where(several, square - count * m_squared, 0.0)
        together += np.where(several, product - count * m_squared, 0.0)
        size += square
    spread = own > 1e-9 * size  # below, all answers of an outcome are the same, up to rounding
    return np.divide(together, own, out=np.full(own.shape, np.nan), where=spread)
