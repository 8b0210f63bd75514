"""The individual forecasters, before any rule: score, calibration, dependence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import option_scores, scores
from .calibration import best_power
from .dependence import dependence
from .isotonic import curve, fit_isotonic
from .options import as_binary_table, confidence, mean_logs, one_against_rest
from .panel import sample_pairs
from .records import Individuals

if TYPE_CHECKING:
    from ..tables.records import ForecastTable
    from .panel import Panel

DRAWN_PAIRS = 500
"""Pairs that a picture shows."""


def describe(panel: Panel, *, draws: int, seed: int) -> Individuals:
    """Score, calibration and dependence of the answers as they came; clipped only where logarithms are taken."""
    table, clusters = panel.table, panel.clusters
    p, y, once = table.probability, table.outcome[table.question], np.ones(table.rows)
    slope, intercept = confidence(p, y, once, clusters[table.question])
    stretch = best_power(mean_logs(panel), panel.outcome, panel.weight, clusters[panel.question])
    if table.options is None:
        losses, certain = scores.brier(p, y), (p == 0) | (p == 1)
        binary, one_answer = table, int(np.sum(table.answers == 1))
    else:
        losses, certain = option_scores.brier(p, y), (p == 0).any(axis=1)
        (binary, clusters), one_answer = as_binary_table(table, clusters), 0
    at = one_against_rest(p, y, once, same=False).together()
    return Individuals(
        brier=float(np.mean(np.bincount(table.question, losses) / table.answers)),
        slope=slope,
        intercept=intercept,
        certain=float(np.mean(certain)),
        dependence=dependence(binary, clusters, draws=draws, seed=seed),
        stretch=stretch,
        curve=curve(fit_isotonic(at)),
        histogram=scores.histogram(at),
        one_answer=one_answer,
    )


def pair_sample(table: ForecastTable, seed: int) -> tuple[tuple[float, float, int], ...]:
    """Some pairs of answers to one question, with its outcome, over as many questions as possible."""
    rng = np.random.default_rng(seed)
    several = np.flatnonzero(table.answers >= 2)
    some = np.sort(rng.permutation(several)[:DRAWN_PAIRS])
    if not len(some):
        return ()
    question, first, second = sample_pairs(table.answers[some], -(-DRAWN_PAIRS // len(some)), seed)
    kept = np.sort(rng.permutation(len(question))[:DRAWN_PAIRS])
    questions = some[question[kept]]
    one, other = (table.probability[table.offsets[questions] + place[kept]] for place in (first, second))
    return tuple(zip(one.tolist(), other.tolist(), table.outcome[questions].astype(int).tolist(), strict=True))
