"""Recalibration: it corrects what is wrong, and no question's outcome finds a way into its own answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from forecasters import simulated
from refusals import input_error
from robustpool.evaluation.calibration import calibration
from robustpool.evaluation.recalibration import METHODS, recalibrate
from robustpool.tables.records import ForecastTable


def slope(table: ForecastTable) -> float:
    found = calibration(table.probability, table.outcome[table.question], np.ones(table.rows), table.question, 1e-6)
    assert found is not None
    return found.slope.value


def brier(table: ForecastTable) -> float:
    return float(np.mean((table.probability - table.outcome[table.question]) ** 2))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("true_slope", [0.4, 2.0])
def test_it_corrects_the_slope_and_the_score(method: str, true_slope: float) -> None:
    table = simulated(600, 3, slope=true_slope)
    corrected = recalibrate(table, method)
    assert slope(table) == pytest.approx(true_slope, rel=0.15)
    assert slope(corrected) == pytest.approx(1, abs=0.15)
    assert brier(corrected) < brier(table) - 0.005


@pytest.mark.parametrize("method", METHODS)
def test_what_is_right_is_left_alone(method: str) -> None:
    table = simulated(3000, 2)
    assert np.abs(recalibrate(table, method).probability - table.probability).mean() < 0.03


@pytest.mark.parametrize("per_forecaster", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_its_own_outcome_does_not_reach_a_question(method: str, per_forecaster: bool) -> None:
    table = simulated(60, 3, slope=0.5)
    before = recalibrate(table, method, per_forecaster=per_forecaster).probability
    others = False
    for q in (0, 7, 59):
        outcome = table.outcome.copy()
        outcome[q] = 1 - outcome[q]
        after = recalibrate(replace(table, outcome=outcome), method, per_forecaster=per_forecaster).probability
        own = table.question == q
        np.testing.assert_array_equal(after[own], before[own])
        others |= bool(np.any(after[~own] != before[~own]))
    assert others, "the outcome should matter for other questions, or this test sees nothing"


def test_nor_does_the_outcome_of_its_cluster() -> None:
    table = replace(simulated(60, 2, slope=0.5), cluster=np.arange(60) // 3)
    outcome = table.outcome.copy()
    outcome[[30, 31]] = 1 - outcome[[30, 31]]
    before, after = recalibrate(table), recalibrate(replace(table, outcome=outcome))
    own = np.isin(table.question, [30, 31, 32])
    np.testing.assert_array_equal(after.probability[own], before.probability[own])
    assert np.any(after.probability != before.probability)


def test_unresolved_questions_get_what_all_resolved_ones_say() -> None:
    table = simulated(200, 2, slope=0.5)
    outcome = table.outcome.copy()
    outcome[150:] = np.nan
    corrected = recalibrate(replace(table, outcome=outcome))
    rows = table.question >= 150
    x, fitted = (np.log(p / (1 - p)) for p in (np.clip(table.probability, 0.01, 0.99), corrected.probability))
    ratios = fitted[rows] / x[rows]
    assert np.ptp(ratios) < 1e-9  # one slope for all of them
    assert ratios[0] == pytest.approx(0.5, abs=0.12)
    assert len({f"{ratio:.9f}" for ratio in fitted[~rows] / x[~rows]}) == 20  # one for each fold


def test_forecasters_are_corrected_one_by_one_if_they_have_enough_questions() -> None:
    bold, shy = simulated(400, 1, slope=0.4), simulated(400, 1, slope=2.5)
    novice = 10
    table = ForecastTable(
        [f"q{q}" for q in range(400)],
        ["bold", "shy", "novice"],
        np.concatenate([np.repeat(np.arange(novice), 3), np.repeat(np.arange(novice, 400), 2)]),
        np.concatenate([np.tile([0, 1, 2], novice), np.tile([0, 1], 400 - novice)]),
        np.concatenate([
            np.stack([bold.probability, shy.probability, bold.probability], axis=1)[:novice].ravel(),
            np.stack([bold.probability, shy.probability], axis=1)[novice:].ravel(),
        ]),
        bold.outcome,
    )  # fmt: skip
    pooled, own = recalibrate(table), recalibrate(table, per_forecaster=True)
    of = {name: table.forecaster == number for number, name in enumerate(table.forecasters)}
    np.testing.assert_array_equal(own.probability[of["novice"]], pooled.probability[of["novice"]])
    for name in ("bold", "shy"):
        rows = of[name]
        losses = [(some.probability[rows] - table.outcome[table.question[rows]]) ** 2 for some in (own, pooled)]
        assert losses[0].mean() < losses[1].mean()


@pytest.mark.parametrize("answered", [19, 20])
def test_her_own_slope_is_pulled_towards_the_common_one_from_twenty_questions_on(answered: int) -> None:
    """Each slope b solves sum_i (y_i - sigma(b x_i)) x_i = pull (b - target); it is read off the unresolved questions."""
    table = simulated(60, 2, slope=0.5)
    table = replace(table, outcome=np.where(np.arange(60) < 40, table.outcome, np.nan))
    kept = (table.forecaster == 0) | (table.question < answered) | (table.question >= 40)
    columns = {name: getattr(table, name)[kept] for name in ("question", "forecaster", "probability")}
    table = replace(table, **columns)
    x = np.log(p := np.clip(table.probability, 0.01, 0.99)) - np.log1p(-p)
    y, hers = table.outcome[table.question], table.forecaster == 1
    assert np.count_nonzero(hers & ~np.isnan(y)) == answered

    def slope(*, per_forecaster: bool) -> float:
        said = recalibrate(table, per_forecaster=per_forecaster).probability
        (ratio,) = {round(float(b), 9) for b in (np.log(said / (1 - said)) / x)[hers & np.isnan(y)]}
        return ratio

    def pulled(b: float, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
        return float((y[rows] - 1 / (1 + np.exp(-b * x[rows]))) @ x[rows])

    common, own = slope(per_forecaster=False), slope(per_forecaster=True)
    assert pulled(common, ~np.isnan(y)) == pytest.approx(1.0 * (common - 1), abs=1e-6)
    if answered < 20:
        assert own == common
    else:
        assert abs(own - common) > 0.01
        assert pulled(own, hers & ~np.isnan(y)) == pytest.approx(4.0 * (own - common), abs=1e-6)


def test_certain_answers_and_separated_outcomes_are_no_trouble() -> None:
    y = np.tile([0.0, 1.0], 20)
    table = ForecastTable([str(q) for q in range(40)], ["a"], np.arange(40), np.zeros(40, dtype=int), y.copy(), y)
    for method in METHODS:
        corrected = recalibrate(table, method).probability
        assert np.all((corrected > 0) & (corrected < 1))
        assert np.all((corrected > 0.5) == (y == 1))


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"method": "magic"}, r"^method must be one of slope, platt, isotonic; it is 'magic'\.$"),
        ({}, {"folds": 1}, r"^folds must be a whole number, at least 2; it is 1\.$"),
        ({}, {"clip": 0}, r"^clip must lie strictly between 0 and 1; it is 0\.0\.$"),
        (
            {"outcome": np.array([0.0, 1.0] * 4 + [np.nan] * 12)},
            {},
            r"^recalibration needs at least 10 resolved questions to learn from; there are 8 resolved questions\.$",
        ),
        (
            {"cluster": np.arange(20) // 5},
            {},
            r"^recalibration needs at least 10 clusters to learn from; there are 4 clusters\.$",
        ),
        (
            {"outcome": np.ones(20)},
            {},
            r"^recalibration needs questions with both outcomes; all 20 resolved ones have 1\.$",
        ),
    ],
)
def test_what_cannot_be_recalibrated(change: dict[str, object], options: dict[str, object], sentence: str) -> None:
    with input_error(sentence):
        recalibrate(replace(simulated(20, 1), **change), **options)  # type: ignore[arg-type]
