"""Rules for questions with more than two outcomes: what holds of each, and that for two they are the binary rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import robustpool as rp
from refusals import input_error
from robustpool.aggregators.distributions import (
    DISTRIBUTION_RULES,
    clipped,
    combine_distributions,
    distribution_rule,
    least_share,
)
from robustpool.forecasts import ClippedWarning, ContradictionWarning

if TYPE_CHECKING:
    from robustpool.typing import Floats

RULES = sorted(DISTRIBUTION_RULES)
NAN = float("nan")
SOME_OPTIONS = st.integers(2, 5)
every_rule = pytest.mark.parametrize("rule", RULES)


@st.composite
def panels(draw: Any, options: st.SearchStrategy[int] = SOME_OPTIONS, certain: bool = False) -> Floats:
    """Reports of some agents on some questions, as distributions; with ``certain`` options may be ruled out."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 5), options))
    lowest = 0.0 if certain else 1e-12
    masses = draw(arrays(np.float64, shape, elements=st.floats(lowest, 1.0)))
    totals = masses.sum(axis=2, keepdims=True)
    assume((totals > 1e-9).all())
    return np.asarray(masses / totals)


def binary(reports: Floats, rule: str, **settings: Any) -> Floats:
    return np.asarray(rp.aggregate(reports[:, :, 1], rule, **settings))


def pooled(reports: Floats, rule: str, clip: float = 0.0, weights: Any = None) -> Floats:
    return combine_distributions(reports, rule, clip, weights).forecasts


# ------------------------------------------------------------------------------------------------------ what holds of each


@every_rule
@given(panels(certain=True), st.sampled_from([0.0, 0.01, 0.2]))
def test_forecasts_are_distributions(rule: str, reports: Floats, clip: float) -> None:
    forecasts = pooled(reports, rule, clip)
    assert (forecasts >= 0).all()
    np.testing.assert_allclose(forecasts.sum(axis=1), 1, rtol=1e-12)


@every_rule
@given(panels(), st.randoms(use_true_random=False))
def test_permuting_options_permutes_forecasts_and_agents_nothing(rule: str, reports: Floats, random: Any) -> None:
    agents, options = (list(range(size)) for size in reports.shape[1:])
    random.shuffle(agents)
    random.shuffle(options)
    expected = pooled(reports, rule, 0.01)
    np.testing.assert_allclose(pooled(reports[:, :, options], rule, 0.01), expected[:, options], atol=1e-12)
    np.testing.assert_allclose(pooled(reports[:, agents], rule, 0.01), expected, atol=1e-12)


@pytest.mark.parametrize("rule", ["mean", "geometric-odds"])
@given(panels(certain=True), st.integers(1, 6))
def test_the_unanimous_are_believed(rule: str, reports: Floats, agents: int) -> None:
    same = np.repeat(reports[:, :1], agents, axis=1)
    np.testing.assert_allclose(pooled(same, rule), same[:, 0], atol=1e-12)


@given(panels())
def test_robust_pushes_the_likeliest_option_out_and_keeps_the_order(reports: Floats) -> None:
    assume(reports.shape[1] > 1)
    plain, pushed = pooled(reports, "geometric-odds"), pooled(reports, "robust")
    assert (pushed.max(axis=1) >= plain.max(axis=1) - 1e-12).all()
    assert (np.diff(np.take_along_axis(pushed, plain.argsort(axis=1), axis=1), axis=1) >= -1e-12).all()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "minimax"])  # which counts the answers
@given(panels(), st.data())
def test_whole_weights_are_copies(rule: str, reports: Floats, data: Any) -> None:
    weights = data.draw(arrays(np.int64, reports.shape[1], elements=st.integers(0, 3)))
    assume(weights.sum() > 1)
    copies = np.repeat(reports, weights, axis=1)
    alone = np.count_nonzero(weights) == 1  # of one person a single answer is kept, of her copies it need not be
    assume(not alone)
    np.testing.assert_allclose(pooled(reports, rule, 0.01, weights), pooled(copies, rule, 0.01), atol=1e-12)


@every_rule
@given(panels(certain=True))
def test_a_single_answer_is_kept(rule: str, reports: Floats) -> None:
    rest = np.full_like(reports, np.nan)
    rest[:, 0] = reports[:, 0]
    np.testing.assert_array_equal(pooled(rest, rule), reports[:, 0])


@every_rule
@given(panels())
def test_who_did_not_answer_or_has_no_weight_is_left_out(rule: str, reports: Floats) -> None:
    absent = np.concatenate([reports, np.full_like(reports[:, :1], np.nan)], axis=1)
    np.testing.assert_array_equal(pooled(absent, rule), pooled(reports, rule))
    silent = np.concatenate([reports, np.roll(reports[:, :1], 1, axis=2)], axis=1)
    weights = [1.0] * reports.shape[1] + [0.0]
    np.testing.assert_allclose(pooled(silent, rule, 0.0, weights), pooled(reports, rule), atol=1e-15)
    assert np.isnan(pooled(np.full_like(reports, np.nan), rule)).all()


# --------------------------------------------------------------------------------------------- two options, the binary rules


@every_rule
@given(panels(st.just(2), certain=True), st.sampled_from([0.0, 0.01, 0.3]), st.booleans())
def test_for_two_options_each_is_the_binary_rule(rule: str, reports: Floats, clip: float, weighted: bool) -> None:
    reports[:, :, 0] = 1 - reports[:, :, 1]
    weights = np.linspace(1, 2, reports.shape[1]) if weighted else None
    at_odds = (reports == 0).any(axis=1).all(axis=1)
    assume(not at_odds.any())
    seen = 0.0 if rule == "mean" else clip  # averages are not clipped
    expected = binary(reports, rule, clip=seen, weights=weights)
    np.testing.assert_allclose(pooled(reports, rule, clip, weights)[:, 1], expected, rtol=1e-12, atol=1e-15)


def test_robust_is_the_formula_of_the_issue() -> None:
    reports = np.array([[[0.6, 0.3, 0.1], [0.5, 0.2, 0.3], [0.7, 0.2, 0.1]]])
    g = np.prod(reports, axis=1) ** (1 / 3)
    g /= g.sum()
    first, second = np.sort(g[0])[:-3:-1]
    f = g ** (1 + ((first - second) / (first + second)) ** 2 / 5)
    np.testing.assert_allclose(rp.aggregate(reports, "robust"), f / f.sum(), rtol=1e-14)
    p = np.array([0.9, 0.6, 0.7])
    mean_log_odds = np.log(p / (1 - p)).mean()
    pushed = mean_log_odds * (1 + np.tanh(mean_log_odds / 2) ** 2 / 5)
    two = np.asarray(rp.aggregate(np.stack([1 - p, p], axis=1)[None], "robust"))
    np.testing.assert_allclose(two[0, 1], 1 / (1 + np.exp(-pushed)), rtol=1e-14)


# ------------------------------------------------------------------------------------------------------------ the clipping


@given(panels(certain=True), st.floats(0.001, 0.49))
def test_clipping_gives_each_option_its_least_share_and_keeps_other_ratios(reports: Floats, clip: float) -> None:
    share = least_share(clip, reports.shape[2])
    inner, touched = clipped(reports, clip)
    assert (inner >= share * (1 - 1e-12)).all()
    np.testing.assert_allclose(inner.sum(axis=2), 1, rtol=1e-12)
    np.testing.assert_array_equal(inner[~touched], reports[~touched])
    kept = np.where(inner > share * (1 + 1e-9), reports, np.nan)
    ratios = inner / kept
    np.testing.assert_allclose(np.nanmax(ratios, axis=2), np.nanmin(ratios, axis=2), rtol=1e-9)
    if reports.shape[2] == 2:
        np.testing.assert_allclose(inner, np.clip(reports, clip, 1 - clip), rtol=1e-12)


def test_clipping_counts_answers_and_is_for_rules_in_which_a_0_decides() -> None:
    reports = np.array([[[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 0.4, 0.6]]])
    assert combine_distributions(reports, "robust", 0.01).clipped == 2
    assert combine_distributions(reports, "robust", 0.01, np.array([1.0, 1.0, 0.0])).clipped == 1
    assert combine_distributions(reports, "robust").clipped == 0
    assert combine_distributions(reports, "mean", 0.01).clipped == 0
    np.testing.assert_allclose(rp.aggregate(reports, "mean"), [[0.4, 0.7 / 3, 1.1 / 3]])


def test_by_default_certain_answers_are_clipped_and_counted() -> None:
    reports = [[[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 0.4, 0.6]], [[0.1, 0.2, 0.7], [NAN] * 3, [NAN] * 3]]
    raised = r"^2 of 4 answers were raised to at least 0\.01 for each option; clip=0 turns"
    with pytest.warns(ClippedWarning, match=raised):
        forecasts = np.asarray(rp.aggregate(reports))
    inner = np.array([[[0.98, 0.01, 0.01], [0.2, 0.3, 0.5], [0.01, 0.396, 0.594]]])
    np.testing.assert_allclose(forecasts[0], pooled(inner, "robust")[0], rtol=1e-12)
    rp.aggregate(reports, clip=0.01)  # asked for: no warning
    rp.aggregate(reports, "mean")


def test_at_their_word_a_0_decides_and_a_contradiction_is_said() -> None:
    reports = [[[0.0, 0.4, 0.6], [0.2, 0.3, 0.5]], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]]
    sentence = r"^every option is ruled out by somebody, .*; the first is row 1 \(1 of 2 rows\)\.$"
    with pytest.warns(ContradictionWarning, match=sentence):
        forecasts = rp.aggregate(reports, "robust", clip=0)
    assert forecasts[0, 0] == 0
    np.testing.assert_allclose(forecasts[1], 1 / 3)
    assert forecasts[1].tolist() != np.asarray(rp.aggregate(reports, "robust", clip=0.01))[1].tolist()


def test_a_silent_agent_contradicts_nobody() -> None:
    reports = np.array([[[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.25, 0.25]]])
    combined = combine_distributions(reports, "robust", 0.0, np.array([1.0, 0.0, 1.0]))
    assert combined.at_odds == []
    assert combined.forecasts.tolist() == [[1.0, 0.0, 0.0]]


# ----------------------------------------------------------------------------------------------------------- large and small


@pytest.mark.parametrize("rule", ["robust", "geometric-odds", "minimax"])
def test_extreme_reports_and_long_panels_do_no_harm(rule: str) -> None:
    tiny = np.array([[[1e-300, 1e-300, 1.0], [5e-324, 1.0, 1e-320]]])
    forecasts = pooled(tiny, rule)
    assert np.isfinite(forecasts).all()
    np.testing.assert_allclose(forecasts.sum(), 1, rtol=1e-12)
    long = np.tile(np.array([0.5, 0.3, 0.2]), (1, 100_000, 1))
    np.testing.assert_allclose(pooled(long, "geometric-odds")[0], [0.5, 0.3, 0.2], rtol=1e-9)
    weights = np.array([1e-300, 1e300])
    np.testing.assert_allclose(
        pooled(np.array([[[0.1, 0.9], [0.6, 0.4]]]), "geometric-odds", 0.0, weights)[0], [0.6, 0.4], rtol=1e-9
    )


def test_answers_that_nearly_rule_out_everything_keep_their_digits() -> None:
    """Agent i is nearly certain of option i: log g_k is -744 w_k / W up to a constant, far below what exp can take."""
    tiny, weights = 5e-324, np.linspace(1, 2, 50)
    reports = np.where(np.eye(50) == 1, 1.0, tiny)[None]
    g = np.exp(-np.log(tiny) * weights / weights.sum())
    np.testing.assert_allclose(pooled(reports, "geometric-odds", 0.0, weights)[0], g / g.sum(), rtol=1e-9)


def test_huge_weights_do_not_overflow() -> None:
    reports = np.array([[[0.1, 0.9], [0.6, 0.4]]])
    expected = pooled(reports, "mean")
    np.testing.assert_allclose(pooled(reports, "mean", 0.0, np.array([1.5e308, 1.5e308])), expected, rtol=1e-12)


def test_many_questions_are_combined_in_blocks() -> None:
    rng = np.random.default_rng(0)
    reports = rng.dirichlet([1.0] * 3, size=(20_000, 4))
    reports[15_000, 0], reports[15_000, 1] = [1, 0, 0], [0, 0.5, 0.5]
    whole = combine_distributions(reports, "robust", 0)
    assert whole.at_odds == [15_000]
    np.testing.assert_array_equal(whole.forecasts[-3:], pooled(reports[-3:], "robust"))


# ------------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("probabilities", "sentence"),
    [
        ([[[0.6, 0.3, 0.2]]], r"must sum to 1 \(within 1e-06\); row 0, agent 0 sums to 1\.1 \(1 of 1 answers\)\.$"),
        (
            [[[0.6, np.nan, 0.4]]],
            r"^an answer must have a number for every option, or for none; row 0, agent 0 has NaN",
        ),
        ([[[0.5, 0.5], [1.2, -0.2]]], r"^probability must lie in \[0, 1\]; row 0, agent 1, option 0 is 1\.2 \(2 of 4"),
        ([[[0.5, "a"]]], r"^probability must be a number; row 0, agent 0, option 1 is 'a'"),
        (
            [[[1.0]]],
            r"^questions with options must have at least one agent and two options; the shape is \(1, 1, 1\)\.$",
        ),
        (np.zeros((1, 1, 1, 1)), r"^probabilities must have the shape .*; the shape is \(1, 1, 1, 1\)\.$"),
    ],
)
def test_what_is_no_distribution_is_refused(probabilities: Any, sentence: str) -> None:
    with input_error(sentence):
        rp.aggregate(probabilities, "robust")


def test_single_precision_is_taken_and_normalised() -> None:
    reports = np.random.default_rng(0).dirichlet([1.0] * 4, size=(50, 3)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(rp.aggregate(reports, "mean")).sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("rule", ["product", "minimax:b=0.2", "karmarkar:a=2"])
def test_rules_for_two_say_so(rule: str) -> None:
    with input_error(rf"^rule {rule} is for two outcomes; for more: robust, mean, geometric-odds, minimax\.$"):
        rp.aggregate([[[0.6, 0.3, 0.1]]], rule)


def test_designs_and_functions_say_so_too() -> None:
    for rule in ("design.json", lambda reports: reports):
        with input_error(r"^a design or a function is for two outcomes; for more: robust, mean"):
            distribution_rule(rule)


@settings(max_examples=20)
@given(panels())
def test_weights_of_another_shape_are_refused(reports: Floats) -> None:
    with input_error(r"^weights must have the shape"):
        rp.aggregate(reports, "mean", weights=np.ones(reports.shape[1] + 1))
