"""The forecasters one by one, before any rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .calibration import calibration, slope_alone
from .dependence import dependence
from .isotonic import curve, fit_isotonic
from .pairs import sample_pairs
from .panel import mean_log_odds
from .records import Individuals
from .scores import brier, distinct, histogram

if TYPE_CHECKING:
    from ..tables.records import ForecastTable
    from .panel import Panel

DRAWN_PAIRS = 500
"""Pairs that a picture shows."""


def describe(panel: Panel, *, draws: int, seed: int) -> Individuals:
    """Score, calibration and dependence of the answers as they came; clipped only where log-odds are taken."""
    table = panel.table
    p, y, once = table.probability, table.outcome[table.question], np.ones(table.rows)
    losses = np.bincount(table.question, brier(p, y)) / table.answers
    found = calibration(p, y, once, panel.clusters[table.question])
    average = mean_log_odds(panel)
    at = distinct(p, y, once)
    return Individuals(
        brier=float(losses.mean()),
        slope=found.slope if found else None,
        intercept=found.intercept if found else None,
        certain=float(np.mean((p == 0) | (p == 1))),
        dependence=dependence(table, panel.clusters, draws=draws, seed=seed),
        stretch=slope_alone(average, panel.outcome, panel.weight, panel.clusters[panel.question]),
        curve=curve(fit_isotonic(at)),
        histogram=histogram(at),
        one_answer=int(np.sum(table.answers == 1)),
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
    asked = some[question[kept]]
    one, other = (table.probability[table.offsets[asked] + place[kept]] for place in (first, second))
    return tuple(zip(one.tolist(), other.tolist(), table.outcome[asked].astype(int).tolist(), strict=True))
