"""Forecasters made up for tests: how sure they are, and how much they share, is known."""

from __future__ import annotations

import numpy as np

from robustpool.tables.records import ForecastTable


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
