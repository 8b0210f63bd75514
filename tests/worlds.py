"""Worlds in which the truth is known: tables of forecasts with the probability that each question really had.

With the true probability p of a question, given everything that anybody saw, the expected Brier score of a forecast f is
(f - p)^2 + p (1 - p), so that the gain of one forecast over another needs no outcome: (m - p)^2 - (f - p)^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robustpool.numerics import sigma
from robustpool.tables.records import ForecastTable

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table with outcomes, and the truth."""

    table: ForecastTable
    truth: np.ndarray  # (questions,): the probability of each question's event


def drawn(
    log_odds: np.ndarray,
    truth: np.ndarray,
    rng: np.random.Generator,
    *,
    outcome: np.ndarray | None = None,
    times: bool = False,
) -> Drawn:
    """A table of log-odds (questions, forecasters), NaN where somebody did not answer; with times, one question a day."""
    questions, forecasters = log_odds.shape
    question, forecaster = np.nonzero(~np.isnan(log_odds))
    table = ForecastTable(
        [f"q{q}" for q in range(questions)],
        [f"f{f}" for f in range(forecasters)],
        question,
        forecaster,
        sigma(log_odds[question, forecaster]).round(3),
        (rng.random(questions) < truth).astype(float) if outcome is None else outcome,
        timestamp=DAY * question.astype(float) if times else None,
    )
    return Drawn(table, truth)


def _signals(rng: np.random.Generator, outcome: np.ndarray, strength: float, shape: tuple[int, ...]) -> np.ndarray:
    """Log-likelihood ratios of normal signals: N(+-v/2, v) with v = strength^2."""
    sign = (2 * outcome - 1).reshape(-1, *[1] * (len(shape) - 1))
    return sign * strength**2 / 2 + strength * rng.standard_normal(shape)


def independent(rng: np.random.Generator, questions: int) -> Drawn:
    """Five calibrated forecasters with independent evidence, and a base rate of 0.4."""
    prior = np.log(0.4 / 0.6)
    outcome = (rng.random(questions) < 0.4).astype(float)
    evidence = _signals(rng, outcome, 0.8, (questions, 5))
    return drawn(prior + evidence, sigma(prior + evidence.sum(axis=1)), rng, outcome=outcome)


def public(rng: np.random.Generator, questions: int) -> Drawn:
    """Six calibrated forecasters who all know most of what there is to know, and each a little more."""
    outcome = (rng.random(questions) < 0.5).astype(float)
    common = _signals(rng, outcome, 1.5, (questions,))
    evidence = _signals(rng, outcome, 0.5, (questions, 6))
    return drawn(common[:, None] + evidence, sigma(common + evidence.sum(axis=1)), rng, outcome=outcome)


def nested(rng: np.random.Generator, questions: int) -> Drawn:
    """Four calibrated forecasters, each of whom knows all that the one before knows, and more."""
    outcome = (rng.random(questions) < 0.5).astype(float)
    known = np.cumsum(_signals(rng, outcome, 0.8, (questions, 4)), axis=1)
    return drawn(known, sigma(known[:, -1]), rng, outcome=outcome)


def over_confident(rng: np.random.Generator, questions: int) -> Drawn:
    """Eight forecasters who exaggerate what they know and share their errors; a third of the answers are missing."""
    truth = 1.2 * rng.standard_normal(questions)
    errors = 0.8 * rng.standard_normal(questions)[:, None] + 0.8 * rng.standard_normal((questions, 8))
    answers = 1.6 * (truth[:, None] + errors)
    answers[:, 1:] = np.where(rng.random((questions, 7)) < 1 / 3, np.nan, answers[:, 1:])
    return drawn(answers, sigma(truth), rng)


def skilled(rng: np.random.Generator, questions: int) -> Drawn:
    """Ten forecasters, three of whom know something and seven of whom know next to nothing."""
    truth = 1.5 * rng.standard_normal(questions)
    noise = np.where(np.arange(10) < 3, 0.3, 2.5)
    return drawn(truth[:, None] + noise * rng.standard_normal((questions, 10)), sigma(truth), rng)


def drifting(rng: np.random.Generator, questions: int) -> Drawn:
    """Six forecasters who were too timid and slowly become over-confident, one question a day."""
    truth = 1.3 * rng.standard_normal(questions)
    confidence = np.linspace(0.7, 1.4, questions)[:, None]
    answers = confidence * (truth[:, None] + 0.7 * rng.standard_normal((questions, 6)))
    return drawn(answers, sigma(truth), rng, times=True)


WORLDS: dict[str, tuple[Callable[[np.random.Generator, int], Drawn], int]] = {
    "calibrated, independent": (independent, 300),
    "calibrated, public evidence": (public, 300),
    "nested": (nested, 300),
    "over-confident, shared errors": (over_confident, 300),
    "few questions, independent": (independent, 30),
    "few questions, over-confident": (over_confident, 30),
    "few skilled": (skilled, 300),
    "drifting": (drifting, 300),
}
"""Each world with the number of questions in the half that is learned from."""


def split(
    world: Callable[[np.random.Generator, int], Drawn], questions: int, rng: np.random.Generator, later: int
) -> tuple[Drawn, Drawn]:
    """The half that is learned from, and what comes after it."""
    whole = world(rng, questions + later)
    return part(whole, 0, questions), part(whole, questions, questions + later)


def part(whole: Drawn, first: int, last: int) -> Drawn:
    """Some of the questions."""
    table = whole.table
    rows = slice(*table.offsets[[first, last]].tolist())
    return Drawn(
        ForecastTable(
            list(table.questions[first:last]),
            table.forecasters,
            table.question[rows] - first,
            table.forecaster[rows],
            table.probability[rows],
            table.outcome[first:last],
            timestamp=None if table.timestamp is None else table.timestamp[rows],
        ),
        whole.truth[first:last],
    )
