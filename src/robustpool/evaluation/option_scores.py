"""What a distribution over options costs when the outcome is known. The formulas are in docs/theory/scores.

Forecasts have the shape (m, K), NaN beyond a question's own options; outcomes (m,) are numbers of options, from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .bootstrap import sums_by_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Booleans, Floats, Integers


WORST_BRIER = 2.0
"""The Brier score of being certain of a wrong option."""


def came_true(outcomes: Floats, options: int) -> Booleans:
    """Which option came true, (m, K)."""
    return np.asarray(np.arange(options) == outcomes[:, None])


def brier(forecasts: Floats, outcomes: Floats) -> Floats:
    """sum_k (f_k - 1[k = y])^2 for each forecast, from 0 to 2 [Brier1950].

    For two options it is twice the score of a binary question, (p - y)^2 + (1 - p - (1 - y))^2.

    >>> brier(np.array([[0.5, 0.3, 0.2], [0.9, 0.1, np.nan]]), np.array([0.0, 1.0])).round(2)
    array([0.38, 1.62])
    """
    return np.asarray(np.nansum((forecasts - came_true(outcomes, forecasts.shape[1])) ** 2, axis=1))


def log_score(forecasts: Floats, outcomes: Floats) -> Floats:
    """-log f_y for each forecast; infinite where what happened was ruled out.

    >>> log_score(np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]), np.array([0.0, 1.0])).round(3)
    array([0.693,   inf])
    """
    given = np.take_along_axis(forecasts, outcomes.astype(np.int64)[:, None], axis=1)[:, 0]
    with np.errstate(divide="ignore"):  # log 0 is meant
        return np.abs(np.log(given))


def same_options(options: Sequence[tuple[str, ...]]) -> bool:
    """Whether all questions have the same options, in the same order."""
    return len(set(options)) == 1


def base_rate(outcomes: Floats, options: Sequence[tuple[str, ...]]) -> float:
    """How often the most frequent outcome came true; NaN where the options differ from question to question."""
    if not same_options(options):
        return float("nan")
    return float(np.bincount(outcomes.astype(np.int64)).max() / len(outcomes))


def base_rate_brier(outcomes: Floats, options: Sequence[tuple[str, ...]], clusters: Integers) -> float:
    """The Brier score of always saying how often each option came true, on the questions of other clusters.

    Where the options differ from question to question there are no such rates, and each of K options gets 1/K. NaN if
    there is only one cluster.

    >>> base_rate_brier(np.array([0.0, 1.0, 1.0]), [("win", "lose")] * 3, np.arange(3))
    1.0
    """
    if not same_options(options):
        return float(np.mean([1 - 1 / len(names) for names in options]))
    happened = sums_by_cluster(came_true(outcomes, len(options[0])).T, clusters)
    size = np.bincount(clusters)
    if len(size) < 2:
        return float("nan")
    others = (happened.sum(axis=0) - happened) / (size.sum() - size)[:, None]
    return float(brier(others[clusters], outcomes).mean())
