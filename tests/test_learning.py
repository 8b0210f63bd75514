"""Pools that learn: what is learned, that nothing is learned from what is scored, and what the file keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import robustpool as rp
import worlds
from quick import slowly
from robustpool.aggregators.learned_rule import LearnedRule
from robustpool.designs.design_file import content_hash
from robustpool.evaluation.calibration import Calibration
from robustpool.evaluation.records import Interval
from robustpool.learning import cross_fitting
from robustpool.learning.candidates import ENOUGH, FORMS, PULL, Form, fit_form, pulls
from robustpool.learning.cross_fitting import CrossFitted, even_blocks, rolling, shuffled, simplest
from robustpool.learning.fitting import check_enough, fit
from robustpool.learning.gains import measure
from robustpool.learning.history import History
from robustpool.learning.skill import MOST_RATIO, POWER, skill, variance_of_skill
from robustpool.learning.times import months, question_times, stamp, until, without_hindsight
from robustpool.numerics import logit, sigma
from robustpool.tables.pooling import ForecastersWarning
from robustpool.tables.records import ForecastTable

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0
BY_NAME = {form.name: form for form in FORMS}


def quiet(*_: object) -> None:
    pass


def drawn(world: Any = worlds.over_confident, questions: int = 120, seed: int = 0) -> ForecastTable:
    return world(np.random.default_rng(seed), questions).table


def every(history: History) -> np.ndarray:
    return np.ones(history.size, dtype=bool)


def with_options(questions: int = 90, seed: int = 0) -> ForecastTable:
    """Questions with two to four options, three forecasters of differing skill, who are too timid."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, questions)
    probability = np.full((3 * questions, 4), np.nan)
    outcome = np.empty(questions)
    for q, k in enumerate(sizes.tolist()):
        truth = 1.5 * rng.standard_normal(k)
        outcome[q] = rng.choice(k, p=np.exp(truth) / np.exp(truth).sum())
        for f, noise in enumerate((0.1, 0.3, 0.8)):
            z = truth / 2 + noise * rng.standard_normal(k)
            probability[3 * q + f, :k] = np.exp(z) / np.exp(z).sum()
    return ForecastTable(
        [f"q{q}" for q in range(questions)],
        ["ann", "bob", "eve"],
        np.repeat(np.arange(questions), 3),
        np.tile([0, 1, 2], questions),
        probability,
        outcome,
        options=[tuple("abcd"[:k]) for k in sizes.tolist()],
    )


# ---------------------------------------------------------------------------------------------------------- what is learned


def test_the_recalibration_is_the_penalised_maximum_likelihood() -> None:
    history = History.of(drawn(), 0.01)
    training = np.arange(history.size) % 3 > 0
    fitted = fit_form(BY_NAME["recalibrated"], history, training)
    z, y = history.log_odds()[training], history.table.outcome[training]
    strength = PULL * ENOUGH / training.sum()  # 80 questions, fewer than 100

    def loss(beta: np.ndarray) -> float:
        eta = beta[0] + beta[1] * z
        return float(np.sum(np.logaddexp(0, eta) - y * eta) + strength * (beta[0] ** 2 / 2 + (beta[1] - 1) ** 2) / 2)

    best = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert (fitted.intercept, fitted.slope) == pytest.approx(best.x, abs=1e-6)


def test_the_power_for_options_is_the_penalised_maximum_likelihood() -> None:
    history = History.of(with_options(), 0.01)
    fitted = fit_form(BY_NAME["recalibrated"], history, every(history))
    strength = PULL * ENOUGH / history.size
    logs, outcome = history.log_odds(), history.table.outcome.astype(int)

    def loss(b: float) -> float:
        total = 0.0
        for row, y in zip(logs, outcome, strict=True):
            own = row[np.isfinite(row)]
            total += np.log(np.exp(b * own).sum()) - b * own[y]
        return total + strength * (b - 1) ** 2 / 2

    grid = np.linspace(0.5, 3, 2501)
    assert fitted.slope == pytest.approx(grid[np.argmin([loss(b) for b in grid])], abs=1e-3)
    assert fitted.intercept == 0
    assert fitted.slope > 1.1  # they are too timid


@pytest.mark.parametrize(("questions", "strength"), [(10, 80), (50, 16), (100, 8), (5000, 8)])
def test_the_pull_grows_below_a_hundred_questions(questions: int, strength: float) -> None:
    history = History.of(drawn(questions=questions), 0.01)
    assert pulls(history, every(history)) == (strength / 2, strength)


def test_the_pull_counts_clusters() -> None:
    table = drawn(questions=200)
    history = History.of(replace(table, cluster=np.arange(200) // 4), 0.01)
    assert pulls(history, every(history)) == (
        32,
        64,
    )  # 8, twice as much for 50 clusters, four times for four questions each


def test_nothing_is_learned_from_forecasts_that_point_the_wrong_way() -> None:
    table = drawn(worlds.skilled, 400)
    backwards = replace(table, outcome=1 - table.outcome)
    history = History.of(backwards, 0.01)
    fitted = fit_form(BY_NAME["recalibrated"], history, every(history))
    assert (fitted.intercept, fitted.slope) == (0.0, 1.0)  # no increasing correction helps
    with pytest.raises(
        rp.InputError, match=r"point the wrong way; the calibration slope of their mean is -\d.* reversed\?"
    ):
        fit(backwards)


def by_hand(table: ForecastTable) -> tuple[dict[int, float], dict[int, int]]:
    """The weights of the forecasters, from the formulas of the page, one answer at a time."""
    excess: dict[int, list[float]] = {}
    losses = []
    for q in range(len(table.questions)):
        rows = range(int(table.offsets[q]), int(table.offsets[q + 1]))
        if len(rows) < 2:
            continue
        scores = [(np.clip(table.probability[r], 0.01, 0.99) - table.outcome[q]) ** 2 for r in rows]
        losses += scores
        for i, r in enumerate(rows):
            others = [score for j, score in enumerate(scores) if j != i]
            excess.setdefault(int(table.forecaster[r]), []).append(scores[i] - float(np.mean(others)))
    own = {f: float(np.mean(values)) for f, values in excess.items()}
    total = sum(map(len, excess.values()))
    within = sum((x - own[f]) ** 2 for f, values in excess.items() for x in values) / (total - len(own))
    assert sum(len(excess[f]) * own[f] for f in own) == pytest.approx(0, abs=1e-9)
    q_statistic = sum(len(excess[f]) * own[f] ** 2 for f in own)
    between = max(0.0, (q_statistic - len(own) * within) / total)
    typical = float(np.mean(losses))
    weights = {}
    for f, values in excess.items():
        kept = between / (between + within / len(values))
        score = typical + kept * own[f]
        weights[f] = float(np.clip(typical / score if score > 0 else 2.0, 0.5, 2)) ** 4
    return weights, {f: len(values) for f, values in excess.items()}


@pytest.mark.parametrize("world", [worlds.skilled, worlds.over_confident])
def test_weights_follow_the_formulas_one_answer_at_a_time(world: Any) -> None:
    table = drawn(world, 60)
    found = skill(History.of(table, 0.01), np.ones(60, dtype=bool))
    weights, counts = by_hand(table)
    for forecaster, weight in weights.items():
        assert found.weights[forecaster] == pytest.approx(weight, rel=1e-9)
        assert found.questions[forecaster] == counts[forecaster]
        assert found.low[forecaster] <= weight <= found.high[forecaster]


def test_the_skilled_count_more_and_nobody_counts_beyond_the_bounds() -> None:
    found = skill(History.of(drawn(worlds.skilled, 400), 0.01), np.ones(400, dtype=bool))
    assert found.weights[:3].min() > 2 * found.weights[3:].max()
    assert MOST_RATIO**-POWER <= found.weights.min() <= found.weights.max() <= MOST_RATIO**POWER


@pytest.mark.parametrize("forecasters", [2, 3, 8])
@pytest.mark.parametrize("spread", [0.01, 0.0])
def test_the_variance_of_skill_is_estimated_without_bias(forecasters: int, spread: float) -> None:
    rng = np.random.default_rng(0)
    factor = forecasters / (forecasters - 1)
    estimates, truths = [], []
    for _ in range(300):
        skills = spread * rng.standard_normal(forecasters)
        losses = skills + 0.05 * rng.standard_normal((100, forecasters))
        excess = (losses - losses.mean(axis=1, keepdims=True)) * factor
        own = excess.mean(axis=0)
        within = float(np.sum((excess - own) ** 2)) / (excess.size - forecasters)
        # without the 0 that it is cut off at
        estimates.append(variance_of_skill(own, np.full(forecasters, 100), within - 1) - 0.01)
        truths.append(float(np.mean(((skills - skills.mean()) * factor) ** 2)))
    noise = 0.05**2 * factor / 100
    assert np.mean(estimates) == pytest.approx(np.mean(truths), abs=0.15 * noise)


def test_questions_of_a_cluster_count_as_one_for_the_weights() -> None:
    table = drawn(worlds.skilled, 60)
    four = np.tile(np.arange(60), 4)
    order = np.argsort(four, kind="stable")
    rows = np.concatenate([np.arange(table.offsets[q], table.offsets[q + 1]) for q in four[order]])
    copies = ForecastTable(
        [f"{q}-{c}" for q in range(60) for c in range(4)],
        table.forecasters,
        np.repeat(np.arange(240), table.answers[four[order]]),
        table.forecaster[rows],
        table.probability[rows],
        table.outcome[four[order]],
        cluster=four[order],
    )
    once, again = (skill(History.of(each, 0.01), np.ones(len(each.questions), dtype=bool)) for each in (table, copies))
    for one, other in zip(once, again, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9)


def test_people_who_do_not_differ_count_the_same() -> None:
    equal = sum(
        bool(np.allclose(skill(History.of(drawn(worlds.public, 200, seed), 0.01), np.ones(200, bool)).weights, 1))
        for seed in range(10)
    )
    assert equal >= 4  # the estimated variance between people is 0 in about half of the draws
    alone = replace(drawn(questions=30), forecaster=np.zeros(drawn(questions=30).rows, dtype=int))
    assert np.allclose(skill(History.of(alone, 0.01), np.ones(30, bool)).weights, 1)


# ------------------------------------------------------------------------------------------- nothing is learned from the future


def flipped(table: ForecastTable, question: int) -> ForecastTable:
    outcome = table.outcome.copy()
    outcome[question] = 1 - outcome[question]
    return replace(table, outcome=outcome)


@pytest.mark.parametrize("world", [worlds.over_confident, worlds.skilled])
def test_the_forecast_of_a_question_does_not_depend_on_its_outcome(world: Any) -> None:
    table = drawn(world, 60)
    usual = shuffled(History.of(table, 0.01), 0, quiet)
    for question in (0, 17, 59):
        other = shuffled(History.of(flipped(table, question), 0.01), 0, quiet)
        assert other.forecasts[question] == usual.forecasts[question]
        for name in usual.by_form:
            assert other.by_form[name][question] == usual.by_form[name][question]
        assert not np.array_equal(other.by_form["recalibrated"], usual.by_form["recalibrated"])


def test_clusters_are_left_out_together() -> None:
    table = replace(drawn(questions=80), cluster=np.arange(80) // 2)
    usual = shuffled(History.of(table, 0.01), 0, quiet)
    other = shuffled(History.of(flipped(table, 10), 0.01), 0, quiet)  # question 11 is of the same cluster
    assert other.by_form["recalibrated"][11] == usual.by_form["recalibrated"][11]
    assert other.by_form["recalibrated"][12] != usual.by_form["recalibrated"][12]


def test_with_times_only_what_was_known_before_the_block_counts() -> None:
    table = drawn(worlds.drifting, 200)
    history = History.of(table, 0.01)
    times, notes = question_times(history.table)
    assert times is not None
    assert len(notes) == 1
    starts = even_blocks(times.time)
    usual = rolling(history, times.time, times.known, starts, quiet)
    assert usual is not None
    assert usual.block is not None
    changed = 100  # one question a day, blocks of 20: it is the first of the block that begins on day 100
    other = rolling(History.of(flipped(table, changed), 0.01), times.time, times.known, starts, quiet)
    assert other is not None
    before = usual.block <= usual.block[changed]
    for name in usual.by_form:
        np.testing.assert_array_equal(other.by_form[name][before], usual.by_form[name][before])
    np.testing.assert_array_equal(other.forecasts[before], usual.forecasts[before])
    assert not np.array_equal(other.by_form["recalibrated"], usual.by_form["recalibrated"], equal_nan=True)
    assert usual.scored.sum() == 160  # the first block has no past, the second nothing to choose by
    late = times.known.copy()
    late[:60] = (
        times.time.max() + DAY
    )  # resolved after everything: twenty are known from day 80 on, and there is a choice from day 100 on
    fewer = rolling(history, times.time, late, starts, quiet)
    assert fewer is not None
    assert fewer.scored.sum() == 100


def test_a_block_with_fewer_than_twenty_resolved_questions_before_it_is_not_scored() -> None:
    history = History.of(drawn(worlds.drifting, 61), 0.01)
    times, _ = question_times(history.table)
    assert times is not None
    for first, scored in ((20, 21), (19, 0)):
        starts = [0.0, first * DAY, (first + 10) * DAY, (first + 20) * DAY, 50 * DAY]
        found = rolling(history, times.time, times.known, starts, quiet)
        assert found is not None
        assert found.scored[first + 10] == (scored > 0)


def test_the_simplest_within_one_standard_error_is_chosen() -> None:
    rng = np.random.default_rng(0)
    best, noise = rng.normal(0.2, 0.1, 100), rng.normal(0, 0.1, 100)
    noise -= noise.mean()
    error = float(np.sqrt(np.sum(noise**2)) / 100)
    questions = np.arange(100)
    assert simplest([best + noise + 0.99 * error, best], questions) == 0
    assert simplest([best + noise + 1.01 * error, best], questions) == 1
    assert simplest([best, best], questions) == 0
    # in clusters of two that say the same, the standard error is sqrt 2 times as large
    twice = [np.repeat(each, 2) for each in (best + noise + 1.01 * error, best)]
    assert simplest(twice, np.repeat(questions, 2)) == 1
    assert simplest(twice, np.arange(200)) == 1
    almost = [np.repeat(best + noise + 0.8 * error, 2), np.repeat(best, 2)]
    assert simplest(almost, np.repeat(questions, 2)) == 0
    assert simplest(almost, np.arange(200)) == 1


def test_the_interval_of_the_gain_holds_that_of_the_procedure_and_that_of_the_form() -> None:
    history = History.of(drawn(questions=100), 0.01)
    mean = history.mean()
    good = np.where(history.table.outcome == 1, 0.9, 0.1)
    forms = {form.name: mean for form in FORMS} | {"recalibrated": good}
    recalibrated = BY_NAME["recalibrated"]
    unsure = CrossFitted(every(history), mean, forms, recalibrated, ("mean",), None)
    found = measure(history, unsure, draws=200, seed=0).over_mean
    assert found.value == 0
    assert found.low == 0  # the procedure
    sure = measure(history, replace(unsure, forecasts=good, choices=("recalibrated",)), draws=200, seed=0).over_mean
    assert sure.value == pytest.approx(float((history.brier(mean) - history.brier(good)).mean()))
    assert found.high == pytest.approx(np.sqrt(1 + 40 / 100) * (sure.value + (sure.high - sure.value) / np.sqrt(1.4)))
    nothing = replace(unsure, forecasts=good, choices=("mean",), chosen=BY_NAME["mean"])
    plain = measure(history, nothing, draws=200, seed=0).over_mean
    assert plain.high - plain.value == pytest.approx((sure.high - sure.value) / np.sqrt(1.4))  # nothing was learned


# ------------------------------------------------------------------------------------------------------ what the pool says


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("kind", ["two outcomes", "options", "weighted answers"])
def test_the_rule_says_what_was_fitted(form: Form, kind: str) -> None:
    table = with_options() if kind == "options" else drawn(worlds.skilled, 90)
    if kind == "weighted answers":
        weight = np.random.default_rng(1).uniform(0.5, 2, table.rows)
        table = replace(table, weight=weight)
    history = History.of(table, 0.01)
    fitted = fit_form(form, history, every(history))
    weights = None if fitted.weights is None else dict(zip(table.forecasters, fitted.weights.tolist(), strict=True))
    rule = LearnedRule(
        rule=form.rule,
        intercept=fitted.intercept,
        slope=fitted.slope,
        weights=weights,
        options=table.options is not None,
    )
    pooled = rp.aggregate_table(table, rule, clip=0.01)
    np.testing.assert_allclose(pooled.forecasts, fitted.forecasts(history), atol=1e-12)


def test_single_answers_are_recalibrated_and_not_pushed_out() -> None:
    table = drawn(worlds.over_confident, 40)
    first = table.offsets[:-1]
    alone = replace(
        table, question=np.arange(40), forecaster=table.forecaster[first], probability=table.probability[first]
    )
    history = History.of(alone, 0.01)
    np.testing.assert_allclose(
        fit_form(BY_NAME["robust"], history, every(history)).forecasts(history),
        np.clip(alone.probability, 0.01, 0.99),
    )


def test_a_pool_is_the_same_from_its_file(tmp_path: Path) -> None:
    for table in (drawn(worlds.skilled, 200), with_options(), drawn(worlds.drifting, 200)):
        pool = fit(table)
        path = tmp_path / "pool.json"
        pool.save(path)
        again = rp.load_pool(path)
        assert again.hash == pool.hash
        for name in ("aggregator", "chosen", "brier", "over_mean", "tried", "weights", "periods", "learned", "summary"):
            assert getattr(again, name) == getattr(pool, name)
        np.testing.assert_array_equal(
            rp.aggregate_table(table, path, clip=0.01).forecasts, pool.aggregate(table, clip=0.01).forecasts
        )
        data = json.loads(path.read_text())
        assert (data["gain"], data["gain_low"], data["gain_high"]) == tuple(pool.over_mean)
        assert data["better"] is (pool.gain_low > 0)


def test_the_interval_that_holds_0_is_not_called_better() -> None:
    pool = replace(fit(drawn(worlds.over_confident, 60)), chosen="recalibrated")
    for low, better in ((1e-9, True), (0.0, False), (-1e-9, False)):
        assert replace(pool, over_mean=Interval(0.01, low, 0.02)).better is better
    from robustpool.learning.words import sentences

    said = " ".join(sentences(replace(pool, over_mean=Interval(0.01, 0.0, 0.02))))
    assert (
        "It is not shown to be better than the mean: the gain is +0.0100 (95 % interval +0.0000 to +0.0200), which includes 0."
        in said
    )
    assert "It is better than the mean" in " ".join(sentences(replace(pool, over_mean=Interval(0.01, 0.001, 0.02))))
    assert "It is worse than the default rule, robust" in " ".join(
        sentences(replace(pool, over_default=Interval(-0.01, -0.02, -0.001)))
    )
    assert "It says the same as the mean." in " ".join(sentences(replace(pool, over_mean=Interval(0.0, 0.0, 0.0))))
    itself = " ".join(sentences(replace(pool, chosen="mean", over_mean=Interval(-0.01, -0.02, 0.0))))
    assert "The pool is the mean" in itself
    assert "than the mean:" not in itself
    surely = replace(pool, over_mean=Interval(0.01, 0.001, 0.02))
    for questions, recommended in ((39, False), (40, True)):
        half = replace(pool.learned, base_rate=0.5)
        assert replace(surely, learned=replace(half, questions=questions)).recommended is recommended
        clusters = replace(half, questions=400, clusters=questions)
        assert replace(surely, learned=clusters).recommended is recommended
    assert not replace(surely, over_mean=Interval(0.01, 0.0, 0.02)).recommended


# ------------------------------------------------------------------------------------------------------------- bad input


def test_too_little_to_learn_from() -> None:
    with pytest.raises(
        rp.InputError, match=r"at least 20 resolved questions to learn from; there are 10 \(of 10 questions\)"
    ):
        fit(drawn(questions=10))
    assert fit(drawn(questions=20)).learned.questions == 20
    with pytest.raises(rp.InputError, match="there are 19"):
        fit(drawn(questions=19))
    table = drawn(questions=40)
    with pytest.raises(rp.InputError, match="both outcomes to learn from; all 40 resolved ones have 1"):
        fit(replace(table, outcome=np.ones(40)))
    with pytest.raises(rp.InputError, match="at least 20 clusters of resolved questions to learn from; there are 4"):
        fit(replace(table, cluster=np.arange(40) % 4))
    with pytest.raises(rp.InputError, match="a pool needs outcomes to learn from; none of 40 questions has one"):
        fit(replace(table, outcome=np.full(40, np.nan)))


def test_options_that_cannot_be() -> None:
    table = drawn(questions=40)
    with pytest.raises(rp.InputError, match=r"clip must lie in \(0, 0.5\) to fit a pool"):
        fit(table, clip=0)
    with pytest.raises(rp.InputError, match="rolling months need a time for each question"):
        fit(table, rolling=True)
    with pytest.raises(rp.InputError, match="as_of needs a column timestamp or resolved; there is neither"):
        fit(table, as_of="2024-01-01")


def test_a_pool_and_questions_with_another_number_of_outcomes() -> None:
    two, more = fit(drawn(questions=60)), fit(with_options())
    with pytest.raises(rp.InputError, match="fitted to questions with two outcomes; these have more than two"):
        two.aggregate(with_options())
    with pytest.raises(rp.InputError, match="fitted to questions with more than two outcomes; these have two outcomes"):
        more.aggregate([0.7, 0.6])
    assert more.aggregate([[[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]]).sum() == pytest.approx(1)


def weighted_pool() -> rp.FittedPool:
    pool = fit(drawn(worlds.skilled, 400))
    assert pool.aggregator.weights is not None
    return pool


def test_forecasters_who_are_new_or_absent() -> None:
    pool = weighted_pool()
    new = pd.DataFrame(
        {
            "question_id": ["a", "a", "a", "b"],
            "forecaster_id": ["f0", "f9", "stranger", "f0"],
            "probability": [0.9, 0.2, 0.5, 0.6],
        }
    )
    with pytest.warns(ForecastersWarning) as caught:
        pooled = pool.aggregate(new)
    messages = [str(each.message) for each in caught]
    assert "1 of 3 forecasters has no track record in the pool, and counts as an average one." in messages
    assert "8 of the pool's 10 forecasters gave no answer here." in messages
    weights = [pool.aggregator.weights["f0"], pool.aggregator.weights["f9"], 1.0]  # type: ignore[index]
    expected = rp.aggregate([[0.9, 0.2, 0.5]], pool.aggregator.rule, weights=[weights])
    assert pooled["forecast"][0] == pytest.approx(pool.aggregator.corrected(np.asarray(expected))[0], abs=1e-12)


def test_a_table_without_anybody_of_the_pool() -> None:
    new = pd.DataFrame({"question_id": ["a", "a"], "forecaster_id": ["F0", "F1"], "probability": [0.9, 0.2]})
    with pytest.warns(ForecastersWarning) as caught:
        weighted_pool().aggregate(new)
    assert "none of 2 forecasters has a track record in the pool, so all count the same; is it the right pool?" in [
        str(each.message) for each in caught
    ]


def test_compare_scores_a_pool_with_its_weights() -> None:
    pool = weighted_pool()
    table = drawn(worlds.skilled, 100, seed=5)
    compared = rp.compare(table, rules=["robust", pool.aggregator], fit=False, draws=100)
    forecasts = pool.aggregate(table, clip=0.01).forecasts
    score = next(rule for rule in compared.rules if rule.name == "LearnedRule")
    assert score.brier.value == pytest.approx(float(np.mean((forecasts - table.outcome) ** 2)))
    assert "LearnedRule learned before; a pool that learned from these questions is flattered here." in compared.notes


def test_the_search_for_a_worst_case_needs_forecasters_who_are_alike() -> None:
    with pytest.raises(rp.UnsupportedError, match="a pool with learned weights depends on who reports"):
        rp.worst_case(LearnedRule(rule="robust", weights={"ann": 2.0}))


def test_forecasters_without_names_count_the_same() -> None:
    pool = weighted_pool()
    with pytest.warns(UserWarning, match="these have no names, so all count the same"):
        forecast = pool.aggregate([0.9, 0.2])
    base = np.asarray(rp.aggregate([[0.9, 0.2]], pool.aggregator.rule))
    assert forecast == pytest.approx(pool.aggregator.corrected(base)[0])
    named = pd.DataFrame({"f0": [0.9], "f9": [0.2]})
    assert rp.aggregate(named, pool.aggregator)[0] > forecast  # f0 knows something, f9 does not


def changed(pool: rp.FittedPool, path: Path, **parts: Any) -> Path:
    pool.save(path)
    data = json.loads(path.read_text()) | parts
    data["hash"] = content_hash(data)
    path.write_text(json.dumps(data))
    return path


def test_files_that_are_no_pools(tmp_path: Path) -> None:
    pool = fit(drawn(questions=40))
    path = tmp_path / "pool.json"
    for version in ("robustpool-pool/2", "robustpool-pool/0"):
        with pytest.raises(rp.InputError, match=f"format must be 'robustpool-pool/1'; it is '{version}'"):
            rp.aggregate([0.7, 0.6], changed(pool, path, format=version))
    with pytest.raises(rp.InputError, match="is not a whole fitted pool: aggregator must be an object; it is missing"):
        rp.aggregate([0.7, 0.6], changed(pool, path, aggregator=None))
    rule = {"rule": "robust", "intercept": 0.0, "slope": 1.0, "weights": None, "clip": 0.01, "options": False}
    for part, match in (
        ({"slope": 0.0}, "aggregator.slope must be positive"),
        ({"slope": -1.0}, "aggregator.slope must be positive"),
        ({"rule": "product"}, "aggregator.rule must be one of mean, robust, geometric-odds"),
        ({"weights": {"ann": 0.0}}, "weight must be positive and finite; that of forecaster ann is 0.0"),
        ({"weights": {"ann": "NaN"}}, r"aggregator.weights\['ann'\] must be a .*number"),
        ({"clip": 0.5}, r"aggregator.clip must lie in \(0, 0.5\)"),
        ({"options": True, "intercept": 0.5}, "aggregator.intercept must be 0 for options"),
    ):
        with pytest.raises(rp.InputError, match=match):
            rp.aggregate([0.7, 0.6], changed(pool, path, aggregator=rule | part))
    pool.save(path)
    path.write_text(path.read_text().replace('"chosen": "', '"chosen": "x'))
    with pytest.raises(rp.InputError, match="was changed after it was written"):
        rp.load_pool(path)
    with pytest.raises(rp.InputError, match="format must be 'robustpool-pool/1'; it is 'robustpool-design/1'"):
        rp.load_pool(changed(pool, path, format="robustpool-design/1"))


def test_weights_that_are_not_numbers() -> None:
    frame = pd.DataFrame(
        {"question_id": ["a", "a"], "forecaster_id": ["x", "y"], "probability": [0.4, 0.6], "weight": [np.nan, 1.0]}
    )
    pooled = rp.fit(drawn(questions=40)).aggregator
    with pytest.warns(UserWarning, match="weight must be a positive number"):
        rp.aggregate_table(frame, pooled)


# ------------------------------------------------------------------------------------------------------------------ times


def test_notes_about_times_that_are_missing_or_odd() -> None:
    table = drawn(worlds.drifting, 60)
    only_resolved = replace(table, timestamp=None, resolved=DAY * np.arange(60.0))
    assert "a forecast counts as made when its question was resolved" in " ".join(question_times(only_resolved)[1])
    times, notes = question_times(dated(table, DAY * (np.arange(60.0) + 3)))
    assert times is not None
    assert notes == []
    np.testing.assert_array_equal(times.known - times.time, 3 * DAY)


def test_answers_after_the_resolution_are_not_learned_from() -> None:
    table = drawn(worlds.drifting, 80)
    resolved = DAY * np.arange(80.0)  # the moment of the answers
    certain = np.where(
        table.forecaster == 0, np.where(table.outcome[table.question] == 1, 0.99, 0.01), table.probability
    )
    times = table.timestamp + np.where(table.forecaster == 0, DAY, 0.0)
    pool = fit(replace(table, probability=certain, timestamp=times, resolved=resolved))
    assert "80 of 480 answers were given after the question was resolved, and left out." in pool.notes
    assert (pool.learned.answers, pool.learned.forecasters) == (400, 5)
    assert without_hindsight(dated(table, resolved))[1] == []


def test_a_gain_whose_order_in_time_could_not_be_tested_is_not_called_one() -> None:
    world = worlds.independent(np.random.default_rng(0), 150)
    late = replace(world.table, timestamp=DAY * world.table.question.astype(float), resolved=np.full(150, 1e9))
    pool = fit(late)
    assert pool.learned.in_order is False
    assert pool.gain_low > 0
    assert (pool.better, pool.recommended) == (False, False)
    assert "but the order in time could not be tested." in " ".join(pool.summary)
    assert rp.compare(late, draws=100, rules=["mean"]).recommended == "mean"
    assert fit(world.table).learned.in_order is None
    assert fit(drawn(worlds.drifting, 100)).learned.in_order is True


def test_a_last_block_with_one_question_has_finite_intervals(tmp_path: Path) -> None:
    table = drawn(worlds.drifting, 122)  # the last month begins on day 120
    timestamp = table.timestamp.copy()  # type: ignore[union-attr]
    timestamp[table.question == 121] = 400 * DAY
    pool = fit(replace(table, timestamp=timestamp), rolling=True)
    assert pool.periods[-1].questions == 1
    assert np.isfinite(pool.over_mean).all()
    pool.save(tmp_path / "pool.json")


def test_weights_of_any_size_count_by_their_ratios() -> None:
    table = drawn(worlds.skilled, 60)
    weight = np.random.default_rng(0).uniform(0.5, 1, table.rows)
    small, large = (History.of(replace(table, weight=size * weight), 0.01) for size in (1e-300, 1.7e308))
    np.testing.assert_allclose(small.log_odds(), large.log_odds())
    assert np.isfinite(large.log_odds()).all()


@pytest.mark.parametrize(("high", "refused"), [(-0.49, False), (-0.51, True)])
def test_only_a_slope_far_below_0_is_refused(monkeypatch: pytest.MonkeyPatch, high: float, refused: bool) -> None:
    slope = Calibration(Interval(-1.0, -2.0 - high, high), Interval(0.0, -1.0, 1.0))
    monkeypatch.setattr("robustpool.learning.fitting.calibration", lambda *_: slope)
    history = History.of(drawn(questions=40), 0.01)
    if not refused:
        check_enough(history, history.table)
        return
    with pytest.raises(rp.InputError, match=r"the calibration slope of their mean is -1.00 \(-1.49 to -0.51\)"):
        check_enough(history, history.table)


def test_forecasts_that_are_always_wrong_are_refused() -> None:
    table = drawn(questions=40)
    wrong = replace(table, probability=np.where(table.outcome[table.question] == 1, 0.1, 0.9))
    with pytest.raises(rp.InputError, match="point the wrong way; the calibration slope of their mean is -inf"):
        fit(wrong)


def dated(table: ForecastTable, resolved: np.ndarray | None = None) -> ForecastTable:
    return replace(table, resolved=resolved)


def test_as_of_learns_only_from_what_was_resolved() -> None:
    table = drawn(worlds.drifting, 200)
    pool = fit(table, as_of=99.5 * DAY)
    assert pool.learned.questions == 100
    assert pool.learned.as_of == 99.5 * DAY
    assert any("counts as resolved when its last answer was given" in note for note in pool.notes)
    only = worlds.part(worlds.Drawn(table, np.zeros(200)), 0, 100).table
    assert pool.aggregator == fit(only).aggregator
    later = dated(table, DAY * (np.arange(200.0) + 50))
    by_date = fit(later, as_of=99.5 * DAY)
    assert by_date.learned.questions == 50
    assert not any("counts as resolved" in note for note in by_date.notes)
    partly = DAY * (np.arange(200.0) + 50)
    partly[:10] = np.nan
    without = fit(dated(table, partly), as_of=99.5 * DAY)
    assert without.learned.questions == 40
    assert "10 of 200 resolved questions without a date were left out." in without.notes
    with pytest.raises(
        rp.InputError,
        match="no question was resolved by 1969-12-31; the earliest of 200 resolved questions is of 1970-01-01",
    ):
        fit(table, as_of=-1.0)


def test_months_begin_on_the_first() -> None:
    time = np.array([DAY * 30.9, DAY * 31, DAY * 365 * 3])
    starts = months(time)
    assert [stamp(start) for start in starts[:3]] == ["1970-01-01", "1970-02-01", "1970-03-01"]
    assert stamp(starts[-1]) == "1972-12-01"
    assert len(starts) == 36
    assert all(start % DAY == 0 for start in starts)


def test_rolling_months_say_how_each_month_went() -> None:
    table = drawn(worlds.drifting, 200)
    pool = fit(table, rolling=True)
    assert [stamp(period.start) for period in pool.periods] == [f"1970-0{month}-01" for month in range(3, 8)]
    assert [period.questions for period in pool.periods] == [31, 30, 31, 30, 19]
    scores = {each.name: each.brier for each in pool.tried}
    questions = sum(period.questions for period in pool.periods)
    assert questions == pool.scored
    for name, of in (("mean", "mean"), ("robust", "robust")):
        total = sum(period.questions * getattr(period, of) for period in pool.periods)
        assert total / questions == pytest.approx(scores[name])
    assert sum(period.questions * (period.mean - period.brier) for period in pool.periods) / questions == pytest.approx(
        pool.gain
    )
    with pytest.raises(
        rp.InputError,
        match="at least three months with questions after 20 questions are resolved; there are 2 months in all",
    ):
        fit(worlds.part(worlds.Drawn(table, np.zeros(200)), 0, 45).table, rolling=True)


def test_times_that_have_gaps_are_not_used() -> None:
    table = drawn(worlds.drifting, 60)
    timestamp = table.timestamp.copy()  # type: ignore[union-attr]
    timestamp[table.question == 7] = np.nan
    pool = fit(replace(table, timestamp=timestamp))
    assert pool.periods == ()
    assert "The order in time was not used, because 1 of 60 questions has no time." in pool.notes
    same = fit(replace(table, timestamp=np.zeros(table.rows)))
    assert same.periods == ()
    assert any("Fewer than three blocks of time" in note for note in same.notes)


# -------------------------------------------------------------------------------------------------------------- guarantee


@pytest.mark.parametrize("agents", [2, slowly(3)])
def test_a_recalibrated_pool_is_certified_like_any_rule(agents: int) -> None:
    rule = LearnedRule(rule="geometric-odds", intercept=-0.3, slope=1.3)
    family = rp.ConditionallyIndependent(agents, None, None)
    certificate: Any = rp.certify(rule, family)
    assert rp.verify(certificate).verified
    found = rp.worst_case(rule, family)
    assert certificate.lower <= found.regret + 1e-12
    assert found.regret <= certificate.upper <= found.regret + 2e-3
    x = np.random.default_rng(0).uniform(0.01, 0.99, (50, agents))
    np.testing.assert_allclose(rule(x), sigma(-0.3 + 1.3 * logit(x).mean(axis=1)), atol=1e-14)


def test_a_pool_that_learned_nothing_has_the_worst_case_of_its_rule() -> None:
    assert rp.certify(LearnedRule(rule="robust")).upper == rp.certify("robust").upper
    with pytest.raises(rp.UnsupportedError, match="this one has learned weights of forecasters"):
        rp.certify(LearnedRule(rule="robust", weights={"ann": 2.0}))
    with pytest.raises(rp.UnsupportedError, match="this one is for more than two outcomes"):
        rp.certify(LearnedRule(rule="geometric-odds", slope=1.2, options=True))


# ------------------------------------------------------------------------------------------- borders that mutants crossed


def table_of_answers(answers: np.ndarray, outcome: np.ndarray) -> ForecastTable:
    questions, people = answers.shape
    return ForecastTable(
        [f"q{q}" for q in range(questions)],
        [f"f{f}" for f in range(people)],
        np.repeat(np.arange(questions), people),
        np.tile(np.arange(people), questions),
        answers.ravel(),
        outcome,
    )


def judged_losses(monkeypatch: pytest.MonkeyPatch, run: Any) -> list[list[np.ndarray]]:
    """The losses by which forms are chosen while it runs, choice by choice."""
    seen: list[list[np.ndarray]] = []
    usual = cross_fitting.simplest

    def noting(losses: Any, clusters: Any) -> int:
        seen.append([np.array(each) for each in losses])
        return usual(losses, clusters)

    with monkeypatch.context() as patch:
        patch.setattr(cross_fitting, "simplest", noting)
        run()
    return seen


def test_the_choice_for_a_fold_does_not_see_its_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even through the fits by which the forms are judged on the other folds."""
    table, question, folds = drawn(worlds.skilled, 60), 17, 20
    fold = np.random.default_rng(0).permutation(60) % folds  # as in `shuffled`
    usual, other = (
        judged_losses(monkeypatch, lambda given=given: shuffled(History.of(given, 0.01), 0, quiet))
        for given in (table, flipped(table, question))
    )
    assert len(usual) == folds + 1  # and the choice by all questions
    for k in range(folds):
        same = [np.array_equal(a, b) for a, b in zip(usual[k], other[k], strict=True)]
        assert same == [k == fold[question]] * len(FORMS)


def test_forms_are_chosen_by_outcomes_that_were_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions of blocks 2 and 3 that are resolved after everything are never judged by, though they have forecasts."""
    table = drawn(worlds.drifting, 200)
    history = History.of(table, 0.01)
    times, _ = question_times(history.table)
    assert times is not None
    known = times.known.copy()
    known[30:80] = times.time.max() + DAY
    starts = even_blocks(times.time)
    runs = [
        judged_losses(
            monkeypatch,
            lambda given=given: rolling(History.of(given, 0.01), times.time, known, starts, quiet),
        )
        for given in (table, flipped(table, 50))
    ]
    for usual, other in list(zip(*runs, strict=True))[:-1]:  # the last chooses in the end
        for a, b in zip(usual, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_nobody_counts_more_than_16_times_an_average_forecaster() -> None:
    rng = np.random.default_rng(0)
    outcome = (rng.random(300) < 0.5).astype(float)
    right = np.where(outcome == 1, 0.98, 0.02)[:, None]
    wrong = 1 - right
    usual = rng.uniform(0.3, 0.7, (300, 4))
    found = skill(History.of(table_of_answers(np.hstack([right, wrong, usual]), outcome), 0.01), np.ones(300, bool))
    assert found.weights[:2] == pytest.approx([16, 1 / 16])


def test_with_times_the_interval_holds_that_of_the_last_third() -> None:
    """The pool is better in the first two thirds and worse in the last."""
    history = History.of(drawn(questions=90), 0.01)
    block = np.arange(90) // 10
    mean, sure = history.mean(), np.where(history.table.outcome == 1, 0.95, 0.05)
    bad = np.where(block < 6, sure, 1 - sure)
    forms = {form.name: mean for form in FORMS} | {"recalibrated": bad}
    fit_ = CrossFitted(every(history), bad, forms, BY_NAME["recalibrated"], ("recalibrated",), block, tuple(range(9)))
    timed = measure(history, fit_, draws=200, seed=0).over_mean
    plain = measure(history, replace(fit_, block=None), draws=200, seed=0).over_mean
    assert timed.value == plain.value
    few, all_ = np.sqrt(1 + 40 / 30), np.sqrt(1 + 40 / 90)  # 30 questions in the last third
    assert (timed.high - timed.value) / few == pytest.approx((plain.high - plain.value) / all_)
    last = float((history.brier(mean) - history.brier(bad))[60:].mean())
    assert timed.low < timed.value + few * (last - timed.value) < plain.low


def test_the_interval_of_the_gain_draws_clusters_together() -> None:
    table = drawn(questions=40)
    rows = np.concatenate([np.flatnonzero(table.question == q) for q in np.repeat(np.arange(40), 3)])
    sizes = np.repeat(table.answers, 3)
    copies = ForecastTable(
        [f"q{q}" for q in range(120)],
        table.forecasters,
        np.repeat(np.arange(120), sizes),
        table.forecaster[rows],
        table.probability[rows],
        table.outcome.repeat(3),
        cluster=np.repeat(np.arange(40), 3),
    )

    def brier(given: ForecastTable) -> tuple[float, ...]:
        history = History.of(given, 0.01)
        forms = {form.name: history.mean() for form in FORMS}
        fit_ = CrossFitted(every(history), history.pushed(history.log_odds()), forms, BY_NAME["mean"], ("mean",), None)
        found = measure(history, fit_, draws=200, seed=0)
        return (*found.brier, *found.over_mean)

    assert brier(copies) == pytest.approx(brier(table))


def test_the_pool_is_fitted_to_all_questions_in_the_end() -> None:
    """Also to the first blocks, which are not scored."""
    table = drawn(worlds.independent, 200)
    table = replace(table, timestamp=DAY * table.question.astype(float))
    pool = fit(table)
    assert pool.scored == 160
    assert pool.aggregator.recalibrates
    assert fit(flipped(table, 3)).aggregator.slope != pool.aggregator.slope


def test_an_outcome_is_not_known_before_the_last_answer() -> None:
    table = replace(drawn(worlds.drifting, 60), resolved=np.zeros(60))
    times, _ = question_times(table)
    assert times is not None
    np.testing.assert_array_equal(times.known, times.time)


def test_as_of_includes_its_moment() -> None:
    table = drawn(worlds.drifting, 60)
    known, _ = until(table, 29 * DAY)
    assert np.isfinite(known.outcome).sum() == 30
