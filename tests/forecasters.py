"""Forecasters made up for tests: how sure they are, and how much they share, is known."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from robustpool.evaluation import comparison as comparison_module
from robustpool.evaluation.calibration import fit_logistic, t_quantile
from robustpool.evaluation.scoring import measure
from robustpool.tables.records import ForecastTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from robustpool.evaluation.panel import Panel
    from robustpool.evaluation.records import Comparison, RuleScore
    from robustpool.evaluation.scoring import Measured
    from robustpool.typing import Floats, Integers

Answers = dict[tuple[str, str], float]


def simulated(questions: int, agents: int, *, slope: float = 1.0, shared: float = 0.0, seed: int = 0) -> ForecastTable:
    """Calibrated agents with prior 1/2 whose log-odds given y are normal with mean +-1/2 and variance 1, times 1/slope.

    ``shared`` is their correlation given the outcome.
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(questions) < 0.5).astype(float)
    common, own = rng.normal(size=(questions, 1)), rng.normal(size=(questions, agents))
    evidence = (y - 0.5)[:, None] + np.sqrt(shared) * common + np.sqrt(1 - shared) * own
    return ForecastTable(
        [f"q{q}" for q in range(questions)],
        [f"f{f}" for f in range(agents)],
        np.repeat(np.arange(questions), agents),
        np.tile(np.arange(agents), questions),
        (1 / (1 + np.exp(-evidence / slope))).ravel(),
        y,
    )


def table_of(
    answers: Sequence[Sequence[float]], outcomes: Sequence[float], weights: Sequence[Sequence[float]] | None = None
) -> ForecastTable:
    """A table with one list of answers for each question."""
    sizes = [len(row) for row in answers]
    return ForecastTable(
        [f"q{q}" for q in range(len(answers))],
        [f"f{f}" for f in range(max(sizes))],
        np.repeat(np.arange(len(answers)), sizes),
        np.concatenate([np.arange(size) for size in sizes]),
        np.concatenate([np.array(row, dtype=float) for row in answers]),
        np.array(outcomes, dtype=float),
        weight=None if weights is None else np.concatenate([np.array(row, dtype=float) for row in weights]),
    )


@contextmanager
def scored_forecasts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[tuple[str, str], dict[str, float]]]:
    """What `compare` scores while this lasts: for each rule and recalibration the forecast of each question."""
    scored: dict[tuple[str, str], dict[str, float]] = {}

    def noting(name: str, recalibration: str, forecasts: Floats, panel: Panel) -> Measured:
        scored[name, recalibration] = dict(zip(panel.table.questions, forecasts.tolist(), strict=True))
        return measure(name, recalibration, forecasts, panel)

    with monkeypatch.context() as patch:
        patch.setattr(comparison_module, "measure", noting)
        yield scored


def of(comparison: Comparison, name: str) -> RuleScore:
    return next(rule for rule in comparison.rules if rule.name == name)


def said(comparison: Comparison) -> str:
    return " ".join(comparison.advice)


def as_answers(table: ForecastTable) -> Answers:
    return {
        (table.questions[q], table.forecasters[f]): p
        for q, f, p in zip(table.question, table.forecaster, table.probability.tolist(), strict=True)
    }


def slope_alone(x: Floats, y: Floats, weights: Floats, clusters: Integers) -> tuple[float, float, float]:
    """The slope k of logit Pr[y = 1] = k x with its interval: the sandwich of the textbooks, for one parameter."""
    k = float(fit_logistic(x, y, weights, pull=(np.inf, 0.0))[1])
    p, number = 1 / (1 + np.exp(-k * x)), int(clusters.max()) + 1
    scores = np.bincount(clusters, weights * (y - p) * x)
    error = np.sqrt(np.sum(scores**2) * number / (number - 1)) / np.sum(weights * p * (1 - p) * x**2)
    reach = float(t_quantile(0.975, number - 1) * error)
    return k, k - reach, k + reach
