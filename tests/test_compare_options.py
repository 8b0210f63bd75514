"""`compare` on questions with options: scores as scikit-learn has them, and all that is said about them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import robustpool as rp
from forecasters import of, said, slope_alone
from refusals import input_error
from robustpool.evaluation import option_scores
from robustpool.evaluation.calibration import best_power
from robustpool.evaluation.options import one_against_rest
from robustpool.evaluation.recalibration import recalibrate
from robustpool.evaluation.records import Comparison, Verdict
from robustpool.forecasts import raised
from robustpool.tables.records import ForecastTable
from robustpool.views.comparison import as_data, as_lines
from robustpool.views.comparison_page import write_comparison

if TYPE_CHECKING:
    from pathlib import Path

    from robustpool.typing import Floats

NAMES = ("home", "draw", "away", "abandoned")


def matches(
    questions: int = 120, agents: int = 4, options: int = 3, *, power: float = 1.0, seed: int = 0
) -> ForecastTable:
    """Forecasters with evidence of their own on a known prior; calibrated, and then raised to a power."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.arange(options, 0, -1), size=questions)
    y = np.array([rng.choice(options, p=each) for each in prior])
    evidence = rng.normal(size=(questions, agents, options)) + (np.arange(options) == y[:, None])[:, None]
    p = np.exp(power * (np.log(prior)[:, None] + evidence))
    return table_of(p / p.sum(axis=2, keepdims=True), y, [NAMES[:options]] * questions)


def table_of(reports: Floats, outcomes: Any, options: Any, **more: Any) -> ForecastTable:
    questions, agents, _ = reports.shape
    return ForecastTable(
        [f"q{q}" for q in range(questions)],
        [f"f{f}" for f in range(agents)],
        np.repeat(np.arange(questions), agents),
        np.tile(np.arange(agents), questions),
        reports.reshape(questions * agents, -1),
        np.asarray(outcomes, dtype=float),
        options=options,
        **more,
    )


def close(one: Any, other: Any, **tolerances: Any) -> None:
    np.testing.assert_allclose(np.asarray(one, dtype=float), np.asarray(other, dtype=float), **tolerances)


def own_options(questions: int = 120) -> ForecastTable:
    """Half of the questions with three options and half with two, all by names of their own."""
    table = matches(questions)
    p, names, y = table.probability.copy(), [], table.outcome.copy()
    for q in range(questions):
        rows = slice(4 * q, 4 * q + 4)
        if q % 2:
            p[rows, :2] /= p[rows, :2].sum(axis=1, keepdims=True)
            p[rows, 2] = np.nan
            y[q] = min(y[q], 1)
        names.append(tuple(f"{q} {k}" for k in range(2 if q % 2 else 3)))
    return replace(table, probability=p, outcome=y, options=names)


TABLE = matches()
COMPARISON = rp.compare(TABLE)


# ------------------------------------------------------------------------------------------------------- scikit-learn's


@pytest.mark.parametrize("rule", ["robust", "mean", "geometric-odds"])
def test_scores_are_those_of_scikit_learn(rule: str) -> None:
    reports = TABLE.probability.reshape(120, 4, 3)
    forecasts = np.asarray(rp.aggregate(reports, rule, clip=0.01))
    score = of(COMPARISON, rule)
    close(score.brier.value, brier_score_loss(TABLE.outcome, forecasts, labels=[0, 1, 2]), rtol=1e-12)
    close(score.log.value, log_loss(TABLE.outcome, forecasts, labels=[0, 1, 2]), rtol=1e-12)
    auc = roc_auc_score(TABLE.outcome, forecasts, multi_class="ovr", average="macro")
    close(score.auc, auc, rtol=1e-12)


def test_for_two_options_the_brier_score_is_twice_the_binary_one_and_the_rest_is_the_same() -> None:
    two = matches(options=2)
    binary = replace(two, probability=two.probability[:, 1], options=None)
    with_options, plain = rp.compare(two, recalibrate="none"), rp.compare(binary, recalibrate="none")
    for rule in ("robust", "mean", "geometric-odds"):
        one, other = of(with_options, rule), of(plain, rule)
        close(one.brier, 2 * np.array(other.brier), rtol=1e-9)
        close(one.difference, 2 * np.array(other.difference), rtol=1e-9, atol=1e-12)
        close(one.log, other.log, rtol=1e-9)
        close(one.decomposition, 2 * np.array(other.decomposition), atol=1e-12)
        close([one.auc, one.sharpness], [other.auc, 2 * other.sharpness], rtol=1e-9)
        assert one.verdict is other.verdict
    close(with_options.base_rate_brier, 2 * plain.base_rate_brier, rtol=1e-12)
    close(with_options.individuals.brier, 2 * plain.individuals.brier, rtol=1e-12)
    close(with_options.individuals.stretch, plain.individuals.stretch, rtol=1e-6)
    assert with_options.clipped == plain.clipped


def test_scikit_learn_scales_as_we_say() -> None:
    y, p = np.array([1, 0]), np.array([[0.2, 0.8], [0.4, 0.6]])
    assert brier_score_loss(y, p, scale_by_half=False) == pytest.approx(option_scores.brier(p, y.astype(float)).mean())
    assert brier_score_loss(y, p[:, 1]) == pytest.approx(option_scores.brier(p, y.astype(float)).mean() / 2)


def test_what_was_ruled_out_and_happened_costs_an_infinite_log_score_and_2() -> None:
    p, y = np.array([[1.0, 0.0, 0.0]]), np.array([2.0])
    assert option_scores.log_score(p, y).tolist() == [np.inf]
    assert option_scores.brier(p, y).tolist() == [2.0]


# -------------------------------------------------------------------------------------------------------------- the parts


@pytest.mark.parametrize("table", [TABLE, own_options()], ids=["same options", "own options"])
def test_the_parts_sum_to_the_score(table: ForecastTable) -> None:
    for rule in rp.compare(table).rules:
        parts = rule.decomposition
        assert min(parts) >= -1e-12
        assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(rule.brier.value, rel=1e-12)
        assert rule.log_decomposition is None


def test_the_uncertainty_is_what_the_frequencies_cost() -> None:
    frequencies = np.bincount(TABLE.outcome.astype(int)) / 120
    assert COMPARISON.rules[0].decomposition.uncertainty == pytest.approx(1 - (frequencies**2).sum(), rel=1e-12)
    assert COMPARISON.base_rate == pytest.approx(frequencies.max())


def test_options_are_taken_apart() -> None:
    reports = np.array([[0.2, 0.3, 0.5], [0.4, 0.6, np.nan]])
    parts = one_against_rest(reports, np.array([2.0, 0.0]), np.ones(2), same=True)
    assert parts.outcomes.tolist() == [0, 0, 1, 1, 0]
    assert parts.option.tolist() == [0, 1, 2, 0, 1]
    assert len(parts.parts()) == 3


def test_the_best_power_of_two_options_is_the_slope_alone() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(-0.7 * x))).astype(float)
    weights, clusters = rng.random(200) + 0.5, np.arange(200) // 2
    power = best_power(np.stack([np.zeros(200), x], axis=1), y, weights, clusters)
    close(power, slope_alone(x, y, weights, clusters), rtol=1e-6)


@pytest.mark.parametrize(("power", "slope"), [(1.0, 1.0), (2.0, 0.5), (0.5, 2.0)])
def test_the_best_power_undoes_over_confidence(power: float, slope: float) -> None:
    """Evidence z_k = 1[k = y] + noise has the likelihood ratio exp(z_k): a calibrated forecast of equally likely options."""
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=3000)
    z = rng.normal(size=(3000, 3)) + (np.arange(3) == y[:, None])
    found = best_power(power * z, y.astype(float), np.ones(3000), np.arange(3000))
    assert found is not None
    assert found.low < slope < found.high
    assert found.value == pytest.approx(slope, rel=0.05)


def test_no_power_is_best_where_the_likeliest_always_comes_true() -> None:
    z = np.log(np.array([[0.7, 0.2, 0.1]] * 5))
    assert best_power(z, np.zeros(5), np.ones(5), np.arange(5)) is None
    assert best_power(z, np.full(5, 2.0), np.ones(5), np.arange(5)) is None
    assert best_power(z, np.array([0.0, 1, 0, 0, 0]), np.ones(5), np.zeros(5, dtype=int)) is None


# ------------------------------------------------------------------------------------------------------- a whole comparison


def test_rules_for_two_are_listed_with_a_reason() -> None:
    assert {rule.name for rule in COMPARISON.rules} == {"robust", "mean", "geometric-odds", "minimax"}
    assert (
        COMPARISON.unscored["product"] == "it is for two outcomes; for more, use robust, mean, geometric-odds, minimax."
    )
    assert {"bordley", "median"} <= set(COMPARISON.unscored)
    only = rp.compare(TABLE, rules=["product", "robust"])
    assert list(only.unscored) == ["product"]
    with input_error(r"^reference must be a rule that can be scored; product cannot be: it is for two"):
        rp.compare(TABLE, reference="product")


def test_what_compare_scores_is_what_aggregate_gives() -> None:
    certain = TABLE.probability.copy()
    certain[::7] = [1.0, 0.0, 0.0]
    table = replace(TABLE, probability=certain)
    comparison = rp.compare(table)
    pooled = rp.aggregate_table(table, "robust", clip=0.01)
    expected = option_scores.brier(pooled.forecasts, table.outcome).mean()
    assert of(comparison, "robust").brier.value == pytest.approx(expected, rel=1e-14)
    assert comparison.clipped == pooled.clipped == raised(table.probability, 0.01)
    raised_answers = f"{comparison.clipped} of 480 answers were raised to at least 0.01"
    assert any(note.startswith(raised_answers) for note in comparison.notes)


def test_at_their_word_some_are_certain_and_wrong_and_contradictions_are_counted() -> None:
    reports = TABLE.probability.reshape(120, 4, 3).copy()
    reports[3, 0], reports[3, 1] = [1, 0, 0], [0, 0.5, 0.5]
    wrong = int((TABLE.outcome[4] + 1) % 3)
    reports[4, 0] = np.arange(3) == wrong
    comparison = rp.compare(table_of(reports, TABLE.outcome, TABLE.options), clip=0)
    assert of(comparison, "robust").certain_and_wrong == 1
    (note,) = comparison.notes
    ruled_out = "1 question in which every option is ruled out by somebody: averages use them as numbers, all other"
    assert note.startswith(ruled_out)


def test_pairs_are_scored() -> None:
    comparison = rp.compare(TABLE, pairs=3)
    reports = TABLE.probability.reshape(120, 4, 3)
    every = rp.compare(TABLE, pairs=100)
    losses = [option_scores.brier(reports[:, [i, j]].mean(axis=1), TABLE.outcome) for i in range(4) for j in range(i)]
    assert of(every, "mean").brier.value == pytest.approx(np.mean(losses), rel=1e-12)
    assert comparison.pairs == 3
    assert rp.compare(own_options(), pairs=2).pairs == 2


def test_pairs_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rp.compare(own_options(), pairs=4)
    monkeypatch.setattr("robustpool.evaluation.panel.ANSWERS_AT_ONCE", 50)
    pieces = rp.compare(own_options(), pairs=4)
    assert [rule.brier for rule in pieces.rules] == [rule.brier for rule in whole.rules]


def test_dependence_is_that_of_each_option_against_the_rest() -> None:
    """Twins share everything; forecasters who see evidence of their own, and no prior of their own, share little."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    z = np.exp(rng.normal(size=(400, 2, 3)) + (np.arange(3) == y[:, None])[:, None])
    apart = z / z.sum(axis=2, keepdims=True)
    twins = np.repeat(apart[:, :1], 2, axis=1)
    found = [rp.compare(table_of(p, y, [NAMES[:3]] * 400), draws=200).individuals.dependence for p in (apart, twins)]
    assert found[0] is not None
    assert found[0].low < 0.05 < found[0].high + 0.1
    assert found[1] is not None
    assert found[1].low > 0.999


def test_who_rules_out_an_option_is_counted_as_certain() -> None:
    p = TABLE.probability.copy()
    p[:48] = [0.5, 0.5, 0.0]
    assert rp.compare(replace(TABLE, probability=p)).individuals.certain == pytest.approx(0.1)


def test_questions_with_options_of_their_own() -> None:
    table = own_options()
    comparison = rp.compare(table)
    losses = []
    for q in range(120):
        k = len((table.options or ())[q])
        p = table.probability[4 * q : 4 * q + 4, :k].mean(axis=0)
        losses.append(((p - (np.arange(k) == table.outcome[q])) ** 2).sum())
    assert of(comparison, "mean").brier.value == pytest.approx(np.mean(losses), rel=1e-12)
    assert comparison.base_rate_brier == pytest.approx((60 * 2 / 3 + 60 / 2) / 120)
    assert np.isnan(comparison.base_rate)
    assert as_data(comparison)["base_rate"] is None
    text = "\n".join(as_lines(comparison, 300))
    assert "each question has its own options, up to 3." in text
    assert "Giving all options of a question the same probability scores 0.5833." in text


def test_the_worst_brier_score_is_2() -> None:
    wrong = (TABLE.outcome.astype(int) + 1) % 3
    reports = np.repeat(np.eye(3)[wrong][:, None], 2, axis=1)
    assert of(rp.compare(table_of(reports, TABLE.outcome, TABLE.options)), "mean").brier == (2.0, 2.0, 2.0)


def test_unresolved_questions_are_left_out() -> None:
    y = TABLE.outcome.copy()
    y[:20] = np.nan
    comparison = rp.compare(replace(TABLE, outcome=y))
    assert (comparison.questions, comparison.left_out) == (100, 20)


def test_recalibration_is_for_two_outcomes() -> None:
    with input_error(r"^recalibrate must be auto or none for questions with options"):
        rp.compare(TABLE, recalibrate="platt")
    with input_error(r"^recalibration is for questions with two outcomes; those of this table have"):
        recalibrate(TABLE)
    over = rp.compare(matches(power=3.0))
    assert over.recalibrated == ()
    assert "over-confident" in said(over)
    assert "recalibrat" not in said(over)


def test_the_advice_names_a_rule_that_there_is_and_no_theory() -> None:
    assert of(COMPARISON, "robust").verdict is Verdict.BETTER
    assert (COMPARISON.recommended, COMPARISON.fitted is not None) == ("fitted", True)
    assert rp.compare(TABLE, fit=False).advice[0].startswith("What to do: use minimax (")
    assert "The proofs about rules are for two outcomes, not for these questions." in COMPARISON.advice
    assert "minimax" not in said(COMPARISON)
    same = rp.compare(replace(TABLE, outcome=np.zeros(120)))
    assert same.advice[1] == "All outcomes are the same, so they cannot show which rule is better."


def test_json_has_the_fields_of_a_binary_comparison() -> None:
    two = matches(options=2)
    binary = rp.compare(replace(two, probability=two.probability[:, 1], options=None))
    ours, theirs = as_data(COMPARISON), as_data(binary)
    assert set(ours) == set(theirs)
    assert set(ours["rules"][0]) == set(theirs["rules"][0])
    assert set(ours["individuals"]) == set(theirs["individuals"])
    assert (ours["options"], theirs["options"]) == (3, None)
    json.dumps(ours, allow_nan=False)


def test_lines_name_what_was_not_scored_once() -> None:
    text = "\n".join(as_lines(COMPARISON, 400))
    assert text.count("it is for two outcomes") == 1
    assert "of the 3 options the most frequent came true in" in text
    assert "Always forecasting how often each option came true scores" in text


def test_the_page_says_what_its_numbers_are(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_comparison(COMPARISON, file)
    page = file.read_text()
    for words in (
        "summed over the options: from 0 to 2",
        "Each option of each question is an event here, one against the rest.",
        "raised to at least 0.01 for each option",
        "answers that rule out an option",
        "up to 3",
    ):
        assert words in page, words
    for words in ("log reliability", "calibration intercept", "The theory behind"):
        assert words not in page, words


def test_clusters_are_drawn_together() -> None:
    clusters = np.repeat(np.arange(12), 10)
    wide: Comparison = rp.compare(replace(TABLE, cluster=clusters))
    assert wide.clusters == 12
    assert of(wide, "mean").brier.value == pytest.approx(of(COMPARISON, "mean").brier.value, rel=1e-12)
    assert of(wide, "mean").brier != of(COMPARISON, "mean").brier
