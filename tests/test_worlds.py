"""Advice and claimed gains, judged in worlds whose truth is known.

Following the advice on one half must not cost more than 0.001 against the mean on what comes after, in 95 of 100 draws of each
world; the interval of the claimed gain must hold the true gain in 90 of 100. The quick test looks at some of these draws.
"""

from __future__ import annotations

import warnings
from math import ceil
from typing import Any

import numpy as np
import pytest

import robustpool as rp
import worlds
from quick import one_of

HARM = 0.001
LATER = 300
CLEARLY = {
    "calibrated, independent": 0.03,
    "nested": 0.008,
    "over-confident, shared errors": 0.005,
    "few skilled": 0.002,
}
"""The mean gain of following the advice, where there is something to gain."""


def judged(name: str, seed: int) -> tuple[float, bool]:
    """The true gain of following the advice, and whether the interval of the fitted pool holds its true gain."""
    world, questions = worlds.WORLDS[name]
    seen, later = worlds.split(world, questions, np.random.default_rng(seed), LATER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # clipping, and forecasters who are absent
        comparison = rp.compare(seen.table, draws=400)
        pool = comparison.fitted
        assert pool is not None
        mean = rp.aggregate_table(later.table, "mean").forecasts

        def gain(rule: Any) -> float:
            forecasts = rp.aggregate_table(later.table, rule).forecasts
            return float(np.mean((mean - later.truth) ** 2 - (forecasts - later.truth) ** 2))

        true = gain(pool.aggregator)
        followed = 0.0
        if comparison.recommended:
            followed = true if comparison.recommended == "fitted" else gain(comparison.recommended)
    return followed, pool.gain_low - 1e-12 <= true <= pool.gain_high + 1e-12


def check(name: str, draws: int) -> None:
    gains, holds = zip(*(judged(name, seed) for seed in range(draws)), strict=True)
    harmed = sum(gain < -HARM for gain in gains)
    assert draws - harmed >= ceil(0.95 * draws), f"{harmed} of {draws} draws were harmed"
    assert sum(holds) >= ceil(0.9 * draws), f"{sum(holds)} of {draws} intervals hold the true gain"
    assert np.mean(gains) >= CLEARLY.get(name, -HARM / 10)


@pytest.mark.parametrize("name", one_of(3, worlds.WORLDS))
def test_following_the_advice_does_no_harm(name: str) -> None:
    gains, holds = zip(*(judged(name, seed) for seed in range(3)), strict=True)
    assert sum(gain < -HARM for gain in gains) <= 1
    assert sum(holds) >= 2
    assert np.mean(gains) >= CLEARLY.get(name, -HARM) / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", worlds.WORLDS)
def test_following_the_advice_does_no_harm_in_95_of_100_draws(name: str) -> None:
    check(name, 100)
