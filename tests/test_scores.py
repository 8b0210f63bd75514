"""Scores, isotonic fits, calibration slopes, resampling, dependence and pairs: each against a second, slower way."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasters import simulated, table_of
from quick import one_of
from robustpool.evaluation.bootstrap import chance, percentile_interval, resampled_sums, sums_by_cluster
from robustpool.evaluation.calibration import calibration, fit_logistic, overlap, t_quantile
from robustpool.evaluation.dependence import dependence
from robustpool.evaluation.isotonic import curve, decompose, fit_isotonic
from robustpool.evaluation.panel import numbered_pair, sample_pairs
from robustpool.evaluation.scores import auc, brier, distinct, histogram, log_score, mean_score, sharpness
from robustpool.evaluation.scoring import CLUSTERS_FOR_A_VERDICT, Resampled, _prominent
from robustpool.tables.records import ForecastTable

Array = np.ndarray[Any, np.dtype[np.float64]]


@st.composite
def forecasts_with_outcomes(draw: st.DrawFn, least: int = 1) -> tuple[Array, Array, Array]:
    """Forecasts on a coarse grid, so that there are ties, with outcomes and weights."""
    size = draw(st.integers(least, 12))
    rows = draw(st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(1, 4)), min_size=size, max_size=size))
    p, y, w = np.array(rows, dtype=float).T
    return p / 8, y, w


# -------------------------------------------------------------------------------------------------------------- scores


def test_a_certain_forecast_costs_nothing_or_everything() -> None:
    assert log_score(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 0.0])).tolist() == [
        0.0, 0.0, math.inf, math.inf,
    ]  # fmt: skip
    assert brier(np.array([0.0, 1.0]), np.array([1.0, 1.0])).tolist() == [1.0, 0.0]


@given(forecasts_with_outcomes())
def test_auc_counts_pairs(data: tuple[Array, Array, Array]) -> None:
    p, y, w = data
    wins = pairs = 0.0
    for i, j in product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)):
        wins += w[i] * w[j] * (0.5 if p[i] == p[j] else float(p[i] > p[j]))
        pairs += w[i] * w[j]
    found = auc(distinct(p, y, w))
    assert found is None if pairs == 0 else found == pytest.approx(wins / pairs)


@given(forecasts_with_outcomes())
def test_scores_of_pooled_forecasts_are_those_of_all(data: tuple[Array, Array, Array]) -> None:
    p, y, w = data
    at = distinct(p, y, w)
    assert mean_score(brier, at.values, at) == pytest.approx(np.average((p - y) ** 2, weights=w))
    assert mean_score(log_score, at.values, at) == pytest.approx(np.average(log_score(p, y), weights=w))
    assert sharpness(at) == pytest.approx(np.cov(p, fweights=w.astype(int), ddof=0), abs=1e-12)


# ------------------------------------------------------------------------------------------------------------ isotonic


def by_min_max(values: Array, means: Array, weights: Array) -> list[float]:
    """g(p_k) = max over i <= k of min over j >= k of the mean of i..j: the formula that pooling has to obey."""

    def mean(i: int, j: int) -> float:
        return float(np.average(means[i : j + 1], weights=weights[i : j + 1]))

    k = len(values)
    return [max(min(mean(i, j) for j in range(at, k)) for i in range(at + 1)) for at in range(k)]


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 24, 500, 10**6])
@pytest.mark.parametrize("level", [0.6, 0.975, 0.9999])
def test_the_quantile_of_t_is_that_of_scipy(level: float, degrees: int) -> None:
    assert t_quantile(level, degrees) == pytest.approx(float(scipy.special.stdtrit(degrees, level)), rel=1e-12)


@given(forecasts_with_outcomes())
def test_isotonic_is_the_min_max_formula(data: tuple[Array, Array, Array]) -> None:
    at = distinct(*data)
    fit = fit_isotonic(at)
    assert fit.frequencies == pytest.approx(by_min_max(at.values, at.yes / at.weights, at.weights))
    assert fit(at.values) == pytest.approx(fit.frequencies)


def test_isotonic_is_that_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(0)
    p, w = np.round(rng.random(500), 2), rng.random(500)
    y = (rng.random(500) < p**2).astype(float)
    theirs = sklearn.IsotonicRegression().fit(p, y, sample_weight=w).predict(p)
    np.testing.assert_allclose(fit_isotonic(distinct(p, y, w))(p), theirs, atol=1e-12)


@given(forecasts_with_outcomes())
def test_the_decomposition_adds_up_and_its_parts_are_not_negative(data: tuple[Array, Array, Array]) -> None:
    at = distinct(*data)
    fit = fit_isotonic(at)
    for score in (brier, log_score):
        whole = mean_score(score, at.values, at)
        if math.isfinite(whole):
            reliability, resolution, uncertainty = decompose(score, fit)
            assert reliability - resolution + uncertainty == pytest.approx(whole)
            assert min(reliability, resolution, uncertainty) >= -1e-12


@given(forecasts_with_outcomes())
def test_what_the_parts_of_the_decomposition_mean(data: tuple[Array, Array, Array]) -> None:
    p, y, w = data
    r = np.average(y, weights=w)
    fit = fit_isotonic(distinct(p, y, w))
    found = decompose(brier, fit)
    recalibrated = decompose(brier, fit_isotonic(distinct(fit(p), y, w)))
    constant = decompose(brier, fit_isotonic(distinct(np.full_like(p, 0.5), y, w)))
    assert found.uncertainty == pytest.approx(r * (1 - r))
    assert recalibrated == pytest.approx((0, found.resolution, found.uncertainty))
    assert constant == pytest.approx(((r - 0.5) ** 2, 0, found.uncertainty))


@given(forecasts_with_outcomes())
def test_the_curve_draws_the_fit_from_the_lowest_forecast_to_the_highest(data: tuple[Array, Array, Array]) -> None:
    p, y, w = data
    fit = fit_isotonic(distinct(p, y, w))
    points = curve(fit)
    assert np.interp(p, *np.array(points).T) == pytest.approx(fit(p))
    assert [point.forecast for point in points] == sorted({point.forecast for point in points})
    assert {points[0].forecast, points[-1].forecast} == {p.min(), p.max()}


@given(forecasts_with_outcomes())
def test_a_histogram_has_all_weight_in_the_bins_of_the_forecasts(data: tuple[Array, Array, Array]) -> None:
    p, y, w = data
    shares = histogram(distinct(p, y, w))
    assert len(shares) == 20
    assert sum(shares) == pytest.approx(1)
    assert shares[10] == pytest.approx(w[(p >= 0.5) & (p < 0.55 - 1e-9)].sum() / w.sum())


def test_round_forecasts_open_their_bins() -> None:
    p = 1 - np.arange(21) / 20  # 0.09999999999999998 and such
    assert histogram(distinct(p, np.zeros(21), np.ones(21))) == pytest.approx([1 / 21] * 19 + [2 / 21])


# --------------------------------------------------------------------------------------------------------- calibration


@settings(deadline=None)
@given(forecasts_with_outcomes(least=3))
def test_the_logistic_fit_has_no_gradient_left(data: tuple[Array, Array, Array]) -> None:
    p, y, w = data
    x = p - 0.4
    if overlap(x, y):
        a, b = fit_logistic(x, y, w)
        residual = w * (y - 1 / (1 + np.exp(-a - b * x)))
        assert abs(residual.sum()) < 1e-6
        assert abs(residual @ x) < 1e-6


def test_the_logistic_fit_is_that_of_a_general_optimiser() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(1)
    x, w = rng.normal(size=200), rng.random(200)
    y = (rng.random(200) < 1 / (1 + np.exp(-0.5 - 1.5 * x))).astype(float)

    def loss(beta: Array) -> float:
        z = beta[0] + beta[1] * x
        return float(w @ (np.logaddexp(0, z) - y * z))

    def pulled_loss(beta: Array) -> float:
        return loss(beta) + 2 * float(beta[1] - 3) ** 2

    pulled = minimize(pulled_loss, [0.0, 1.0], tol=1e-12).x
    np.testing.assert_allclose(fit_logistic(x, y, w), minimize(loss, [0.0, 1.0], tol=1e-12).x, atol=1e-5)
    np.testing.assert_allclose(fit_logistic(x, y, w, towards=(0, 3), pull=(0, 4)), pulled, atol=1e-5)
    kept, _ = fit_logistic(x, y, w, towards=(0.25, 1), pull=(np.inf, 0))
    assert kept == 0.25


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.2, 0.4, 0.6, 0.8], [1, 1, 1, 1]),
        ([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1]),
        ([0.2, 0.5, 0.5, 0.8], [0, 0, 1, 1]),
        ([0.2, 0.4, 0.6, 0.8], [1, 1, 0, 0]),
        ([0.5, 0.5, 0.5, 0.5], [0, 1, 0, 1]),
        ([0.2, 0.6], [1, 0]),
    ],
    ids=["one outcome", "separated", "separated but for a tie", "upside down", "one forecast", "two questions"],
)
def test_no_slope_where_there_is_none(p: list[float], y: list[int]) -> None:
    assert calibration(np.array(p), np.array(y, dtype=float), np.ones(len(p)), np.arange(len(p))) is None


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_the_slope_of_simulated_agents_is_found(slope: float) -> None:
    table = simulated(3000, 3, slope=slope)
    found = calibration(table.probability, table.outcome[table.question], np.ones(table.rows), table.question, 1e-6)
    assert found is not None
    assert found.slope.low < slope < found.slope.high
    assert found.slope.high - found.slope.low < 0.3 * slope
    assert found.intercept.low < 0 < found.intercept.high


def test_answers_that_are_copied_do_not_narrow_the_interval() -> None:
    table = simulated(200, 1)
    p, y, question = table.probability, table.outcome, np.arange(200)
    once = calibration(p, y, np.ones(200), question)
    five = calibration(np.repeat(p, 5), np.repeat(y, 5), np.ones(1000), np.repeat(question, 5))
    as_if = calibration(np.repeat(p, 5), np.repeat(y, 5), np.ones(1000), np.arange(1000))
    assert once is not None
    assert five is not None
    assert as_if is not None
    assert five.slope == pytest.approx(once.slope)
    assert as_if.slope.high - as_if.slope.low < 0.5 * (once.slope.high - once.slope.low)


def test_the_slope_interval_is_the_sandwich_of_few_clusters() -> None:
    """A^-1 B A^-1 G/(G - 1) with the quantile of t with G - 1 degrees of freedom, by loops."""
    from scipy.stats import t

    table, G = simulated(24, 1, seed=2), 4
    p, y, clusters = table.probability, table.outcome, np.arange(24) % G
    found = calibration(p, y, np.ones(24), clusters, 1e-9)
    assert found is not None
    design = np.stack([np.ones(24), np.log(p / (1 - p))], axis=1)
    fitted = 1 / (1 + np.exp(-design @ [found.intercept.value, found.slope.value]))
    bread = np.linalg.inv(sum(q * (1 - q) * np.outer(row, row) for q, row in zip(fitted, design, strict=True)))
    sums = [((y - fitted)[:, None] * design)[clusters == g].sum(axis=0) for g in range(G)]
    variance = bread @ sum(np.outer(s, s) for s in sums) @ bread * G / (G - 1)
    reach = t.ppf(0.975, G - 1) * np.sqrt(np.diag(variance))
    for interval, width in zip((found.intercept, found.slope), reach, strict=True):
        assert interval == pytest.approx((interval.value, interval.value - width, interval.value + width))


def test_the_slope_interval_covers() -> None:
    """40 questions, each with 5 answers that hang together: about 95 of 100 intervals hold the truth."""
    hits = 0
    for seed in range(200):
        table = simulated(40, 5, shared=0.0, slope=0.5, seed=seed)
        found = calibration(table.probability, table.outcome[table.question], np.ones(table.rows), table.question, 1e-6)
        assert found is not None
        hits += found.slope.low < 0.5 < found.slope.high
    assert 0.90 <= hits / 200 <= 0.99


# ----------------------------------------------------------------------------------------------------------- bootstrap


def test_resampled_sums_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(0).random((7, 3))
    rng = np.random.default_rng(5)
    loop = [sum(columns[i] for i in rng.integers(7, size=7)) for _ in range(50)]
    np.testing.assert_allclose(resampled_sums(columns, 50, seed=5), loop)
    monkeypatch.setattr("robustpool.evaluation.bootstrap.COUNTS_AT_ONCE", 10)  # one draw at a time
    np.testing.assert_allclose(resampled_sums(columns, 50, seed=5), loop)


def test_clusters_are_added_up() -> None:
    columns = [np.array([1.0, 3.0, 5.0]), np.array([2.0, 4.0, 6.0])]
    assert sums_by_cluster(columns, np.array([1, 0, 1])).tolist() == [[3, 4], [6, 8]]


@pytest.mark.parametrize("questions", one_of(2, [8, 25, 200]))
def test_percentile_intervals_cover_the_mean(questions: int) -> None:
    rng = np.random.default_rng(questions)
    hits = 0
    for trial in range(300):
        sample = rng.normal(size=(questions, 1))
        draws = resampled_sums(sample, 400, seed=trial)[:, 0] / questions
        interval = percentile_interval(float(sample.mean()), draws, questions)
        hits += interval.low <= 0 <= interval.high
    assert 0.91 <= hits / 300 <= 0.99


@pytest.mark.parametrize("clusters", [2, 3, 6, 20, 1000])
def test_the_level_of_a_percentile_interval_is_that_of_t_and_its_ends_are_the_outer_draws(clusters: int) -> None:
    from scipy.stats import norm, t

    draws = np.random.default_rng(0).permutation(np.linspace(0, 1, 100_001))
    tail = norm.cdf(-math.sqrt(clusters / (clusters - 1)) * t.ppf(0.975, clusters - 1))
    interval = percentile_interval(0.5, draws, clusters)
    assert tail - 1e-5 <= interval.low <= tail
    assert 1 - tail <= interval.high <= 1 - tail + 1e-5


def test_intervals_stand_infinite_scores_and_single_questions() -> None:
    draws = np.array([1.0] * 60 + [math.inf] * 40)
    assert percentile_interval(math.inf, draws, 50) == (math.inf, 1.0, math.inf)
    assert percentile_interval(0.3, np.full(9, 0.3), 1) == (0.3, -math.inf, math.inf)


# ------------------------------------------------------------------------------------------------------ what stands out


def resampled(differences: Array, errors: Array, clusters: int = 10_000, *, alike: bool = False) -> Resampled:
    """Mean scores of a reference, rule 0, and of rules with these differences and standard errors, which share no noise.

    ``alike``: they share all of it.
    """
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((20_000, 1 if alike else len(errors)))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0) * errors
    reference = 0.2 + 0.01 * rng.standard_normal((20_001, 1))  # differences are paired: its own noise does not matter
    brier = np.hstack([np.zeros((20_001, 1)), np.vstack([differences, differences + noise])]) + reference
    return Resampled(brier, brier, brier, clusters)


@pytest.mark.parametrize("rules", [1, 10, 100])
def test_what_stands_out_is_better_than_chance_gives_the_luckiest_of_so_many(rules: int) -> None:
    """The luckiest of n independent rules falls below z with probability 1 - Phi(-z)^n: 2.5 % at the limit."""
    from scipy.stats import norm

    limit = norm.ppf(1 - 0.975 ** (1 / rules))  # -1.96 for one rule
    errors = np.geomspace(0.0001, 0.1, rules)  # it is a matter of standard errors, not of Brier scores
    differences = np.zeros(rules)
    for times, found in ((0.93, set()), (1.07, {rules})):
        differences[-1] = times * limit * errors[-1]
        assert _prominent(resampled(differences, errors), range(rules + 1), 0) == found


def test_a_rule_that_is_significant_alone_may_be_the_lucky_one() -> None:
    differences = np.r_[-0.023, np.linspace(-0.01, 0.01, 39)]  # 2.3 standard errors
    errors = np.full(40, 0.01)
    scores = resampled(differences, errors)
    assert scores.difference(1, 0).high < 0
    assert _prominent(scores, [0, 1], 0) == {1}
    assert _prominent(scores, range(41), 0) == set()
    differences[0] = -0.04
    assert _prominent(resampled(differences, errors), range(41), 0) == {1}


def test_many_names_for_one_rule_are_one_attempt() -> None:
    scores = resampled(np.full(40, -0.0215), np.full(40, 0.01), alike=True)
    assert _prominent(scores, range(41), 0) == set(range(1, 41))


def test_only_rules_of_the_group_count() -> None:
    scores = resampled(np.array([-0.03, -0.04, 0.05, -0.09]), np.full(4, 0.01))
    assert _prominent(scores, [0, 1, 3], 0) == {1}
    assert _prominent(scores, [2, 4], 0) == {2, 4}  # the reference need not be in it
    assert _prominent(scores, [0], 0) == set()
    assert _prominent(scores, range(5), 2) == {4}  # another reference, and nothing else


def test_nothing_stands_out_below_six_clusters() -> None:
    scores = [resampled(np.array([-0.1]), np.array([0.01]), clusters) for clusters in (2, 5, 6)]
    assert CLUSTERS_FOR_A_VERDICT == 6
    assert [_prominent(each, [0, 1], 0) for each in scores] == [set(), set(), {1}]


def test_with_few_clusters_more_is_needed_to_stand_out() -> None:
    scores = {clusters: resampled(np.array([-0.022]), np.array([0.01]), clusters) for clusters in (8, 10_000)}
    assert {clusters: _prominent(each, [0, 1], 0) for clusters, each in scores.items()} == {8: set(), 10_000: {1}}
    assert chance(8) < 0.01 < chance(10_000) < 0.02501


def test_a_difference_without_any_spread_does_not_stand_out() -> None:
    """There is no scale to judge it by, and it must not keep others from standing out."""
    scores = resampled(np.array([-0.01, 0.0, -0.03]), np.array([0.0, 0.0, 0.01]))
    assert _prominent(scores, range(4), 0) == {3}
    assert _prominent(scores, [0, 1, 2], 0) == set()


def test_among_rules_that_are_all_alike_one_stands_out_in_2_of_100_samples() -> None:
    """Twenty rules that are as good as the reference; in a third of the samples one is significant by itself."""
    rng = np.random.default_rng(0)
    found = significant = 0
    for seed in range(300):
        losses = np.hstack([np.zeros((100, 1)), rng.standard_normal((100, 20))])
        draws = np.vstack([losses.mean(axis=0), resampled_sums(losses, 400, seed) / 100])
        scores = Resampled(draws, draws, draws, 100)
        found += bool(_prominent(scores, range(21), 0))
        significant += any(scores.difference(rule, 0).high < 0 for rule in range(1, 21))
    assert found / 300 <= 0.05
    assert significant / 300 >= 0.25


# ---------------------------------------------------------------------------------------------------------- dependence


def by_definition(table: ForecastTable) -> float:
    """The correlation as it is defined, by loops over pairs of answers, on one question and on different ones."""
    x = np.log(p := np.clip(table.probability, 0.01, 0.99)) - np.log(1 - p)
    own = together = 0.0
    for y in (0, 1):
        questions = [q for q in range(len(table.questions)) if table.answers[q] >= 2 and table.outcome[q] == y]
        rows = [x[table.offsets[q] : table.offsets[q + 1]] for q in questions]
        elsewhere = np.mean([np.outer(one, other).mean() for one, other in combinations(rows, 2)])
        own += sum(np.mean(row**2) - elsewhere for row in rows)
        together += sum(np.mean([a * b for a, b in combinations(row, 2)]) - elsewhere for row in rows)
    return float(together / own)


def test_dependence_is_what_it_is_defined_to_be() -> None:
    rng = np.random.default_rng(2)
    question = np.sort(rng.integers(30, size=100))
    table = ForecastTable(
        [str(q) for q in range(30)],
        [str(row) for row in range(100)],
        question,
        np.arange(100),
        rng.random(100).round(1),
        (rng.random(30) < 0.4).astype(float),
    )
    assert {0, 1} & set(table.answers.tolist())  # questions without two answers are left aside
    found = dependence(table, np.arange(30), draws=200, seed=0)
    assert found is not None
    assert found.value == pytest.approx(by_definition(table))


def test_the_interval_of_the_dependence_is_that_of_resampled_questions() -> None:
    """atanh rho -+ t(n - 2) sqrt(n/(n - 2)) times the standard deviation of atanh rho over samples of the questions."""
    from scipy.stats import t

    n, draws = 20, 100
    table = simulated(n, 3, shared=0.3, slope=1.5, seed=1)
    rng = np.random.default_rng(7)
    samples = [rng.integers(n, size=n) for _ in range(draws)]
    answers, outcome = table.probability.reshape(n, 3), table.outcome
    drawn = [by_definition(table_of(answers[sample].tolist(), outcome[sample].tolist())) for sample in samples]
    spread = np.std(np.arctanh(np.clip(drawn, -1 + 1e-9, 1 - 1e-9)))
    found = dependence(table, np.arange(n), draws=draws, seed=7)
    assert found is not None
    reach = t.ppf(0.975, n - 2) * math.sqrt(n / (n - 2)) * spread
    assert np.arctanh(found) == pytest.approx(np.arctanh(found.value) + reach * np.array([0, -1, 1]))


@pytest.mark.parametrize("shared", [0.0, 0.4, 0.95])
def test_the_dependence_of_simulated_agents_is_found(shared: float) -> None:
    found = dependence(simulated(1500, 3, shared=shared, slope=1.5), np.arange(1500), draws=400, seed=0)
    assert found is not None
    assert found.low < shared < found.high
    assert found.high - found.low < 0.1


def test_the_interval_of_the_dependence_covers_even_with_few_questions() -> None:
    tables = [simulated(40, 4, shared=0.4, seed=seed) for seed in range(200)]
    found = [dependence(table, np.arange(40), draws=200, seed=seed) for seed, table in enumerate(tables)]
    hits = [interval.low < 0.4 < interval.high for interval in found if interval is not None]
    assert len(hits) == 200
    assert 0.90 <= np.mean(hits) <= 0.99


def test_base_rates_of_their_own_look_like_dependence() -> None:
    """What the documentation warns of: independent evidence, but each question has a prior that everybody knows."""
    rng = np.random.default_rng(3)
    prior = rng.normal(scale=1.5, size=1000)
    y = (rng.random(1000) < 1 / (1 + np.exp(-prior))).astype(float)
    x = prior[:, None] + (y - 0.5)[:, None] + rng.normal(size=(1000, 2))
    table = ForecastTable(
        [str(q) for q in range(1000)], ["a", "b"], np.repeat(np.arange(1000), 2), np.tile([0, 1], 1000),
        (1 / (1 + np.exp(-x))).ravel(), y,
    )  # fmt: skip
    found = dependence(table, np.arange(1000), draws=200, seed=0)
    assert found is not None
    assert found.low > 0.3


@pytest.mark.parametrize(
    ("questions", "agents", "probability"),
    [(50, 1, None), (5, 2, None), (50, 2, 0.3)],
    ids=["one answer each", "too few questions", "all answers the same"],
)
def test_no_dependence_where_there_is_nothing_to_see(questions: int, agents: int, probability: float | None) -> None:
    table = simulated(questions, agents)
    if probability is not None:
        table = ForecastTable(
            table.questions,
            table.forecasters,
            table.question,
            table.forecaster,
            np.full(table.rows, 0.3),
            table.outcome,
        )
    assert dependence(table, np.arange(questions), draws=200, seed=0) is None


# --------------------------------------------------------------------------------------------------------------- pairs


def test_pairs_are_numbered_without_a_gap() -> None:
    n = 60
    i, j = numbered_pair(np.arange(n * (n - 1) // 2))
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == list(combinations(range(n), 2))
    last = 3_000_000 * 2_999_999 // 2 - 1
    assert [int(place[0]) for place in numbered_pair(np.array([last]))] == [2_999_998, 2_999_999]


def test_pairs_are_different_and_each_is_as_likely() -> None:
    question, first, second = sample_pairs(np.array([5] * 4000 + [1, 2]), most=3, seed=0)
    assert np.bincount(question).tolist() == [3] * 4000 + [0, 1]
    assert len(set(zip(question.tolist(), first.tolist(), second.tolist(), strict=True))) == len(question)
    counts = np.bincount(10 * first[:-1] + second[:-1])
    counts = counts[counts > 0]
    assert len(counts) == 10
    assert np.abs(counts - 1200).max() < 5 * math.sqrt(1200)
