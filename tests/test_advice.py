"""What a comparison says of the forecasters, and what it says to do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from forecasters import of, said, simulated, table_of
from robustpool.aggregators.rules import RULES
from robustpool.evaluation.advice import advise
from robustpool.evaluation.comparison import compare
from robustpool.evaluation.diagnosis import (
    Confidence,
    Diagnosis,
    Extremising,
    Sample,
    Sharing,
    diagnose,
    findable,
    is_extremising,
)
from robustpool.evaluation.records import Comparison, Interval, Verdict

RULES_HERE = ["mean", "minimax", "geometric-odds", "product", "karmarkar"]


def test_calibrated_independent_agents_are_the_theorys_case() -> None:
    comparison = compare(simulated(800, 2), rules=RULES_HERE)
    found = diagnose(comparison)
    assert comparison.individuals.stretch is not None
    assert comparison.individuals.stretch.value == pytest.approx(2, abs=0.25)
    findings = (Sample.ENOUGH, Confidence.IN_LINE, Sharing.INDEPENDENT, Extremising.HELPS)
    assert found == Diagnosis(*findings, stretched=True)
    assert of(comparison, "minimax").verdict is Verdict.BETTER
    words = said(comparison)
    assert "Their evidence looks independent" in words
    assert "minimax has the smallest worst case here" in words
    assert not of(comparison, "minimax").tied_with_best  # with base rate 1/2, which product takes for granted
    start = "What to do: use product (0.1563 against 0.1743 for the mean), which did better here than minimax."
    assert words.startswith(start)
    assert "The command: `robustpool aggregate FILE --rule product`." in words
    assert "This is measured, not proved" in words
    without = compare(simulated(800, 2), rules=["mean", "minimax"])
    assert said(without).startswith("What to do: use minimax (0.1682 against 0.1743 for the mean). The command: ")
    few = said(compare(simulated(80, 2, seed=3), rules=RULES_HERE))  # too few to tell product from minimax
    tied = "product scores best, but not significantly so. The command: `robustpool aggregate FILE --rule minimax"
    assert tied in few


def test_over_confident_agents_make_extremising_lose() -> None:
    table = simulated(1500, 2, slope=0.35, shared=0.3)
    comparison = compare(table, rules=RULES_HERE)
    found = diagnose(comparison)
    assert (found.confidence, found.extremising) == (Confidence.OVER, Extremising.HURTS)
    for name in ("minimax", "product", "karmarkar"):
        assert of(comparison, name).verdict is Verdict.WORSE
    words = said(comparison)
    assert "over-confident: their calibration slope is 0.4" in words
    assert "expected to do worse than the mean, unless recalibrated first" in words
    assert "Every rule that extremises loses to the mean here, as expected." in words
    assert words.startswith("What to do: recalibrate the forecasters (slope), then use")
    assert "--recalibrate auto" in said(compare(table, rules=RULES_HERE, recalibrate="none"))


def test_forecasters_who_say_the_same_are_nested() -> None:
    one = simulated(1500, 1, slope=2.5)
    twins = table_of([[p, p, p] for p in one.probability.tolist()], one.outcome.tolist())
    comparison = compare(twins, rules=RULES_HERE)
    found = diagnose(comparison)
    assert (found.sharing, found.confidence) == (Sharing.NESTED, Confidence.UNDER)
    words = said(comparison)
    assert "Their information is nested, or nearly so" in words
    assert "A second opinion adds almost nothing" in words
    assert "gain by correcting under-confidence, as recalibration does" in words
    assert "recalibrate the forecasters (slope), then use the mean (0." in words
    assert "The command: `robustpool aggregate FILE --rule mean --recalibrate slope`." in words


@pytest.mark.parametrize(("agents", "slope", "shared"), [(2, 0.6, 0.3), (5, 1.0, 0.5), (20, 0.7, 0.2)])
def test_the_stretch_is_measured_on_what_the_rules_combine(agents: int, slope: float, shared: float) -> None:
    """For simulated forecasters the truth is known: b n/(1 + (n - 1) rho), for pairs with n = 2."""
    table = simulated(3000, agents, slope=slope, shared=shared)
    for pairs, together in ((None, agents), (3, 2)):
        found = compare(table, rules=["geometric-odds"], pairs=pairs, recalibrate="none", draws=100).individuals.stretch
        assert found is not None
        assert found.low < found.value < found.high
        assert found.value == pytest.approx(slope * together / (1 + (together - 1) * shared), rel=0.15)


def test_the_interval_of_the_stretch_covers() -> None:
    hits = 0
    for seed in range(60):
        table = simulated(150, 5, slope=1.0, shared=0.3, seed=seed)
        found = compare(table, rules=[], draws=100, recalibrate="none").individuals.stretch
        assert found is not None
        hits += found.low < 5 / (1 + 4 * 0.3) < found.high
    assert 0.85 <= hits / 60 < 1


def test_so_many_over_confident_agents_gain_by_stretching() -> None:
    """One by one over-confident, 0.6, but ten of them share little: their average should be stretched by 3.2."""
    comparison = compare(simulated(600, 10, slope=0.6, shared=0.1))
    found = diagnose(comparison)
    assert (found.confidence, found.stretched, found.extremising) == (Confidence.OVER, True, Extremising.HELPS)
    words = said(comparison)
    assert "Individual forecasters are over-confident" in words
    assert (
        "But averaging corrects this: the average of their log-odds should be multiplied by 3.1 (2.6 to 3.6), so rules "
        "that extremise by about this factor are expected to gain." in words
    )
    assert "Every rule that extremises beats the mean here, as expected." in words
    assert words.startswith("What to do: use extremized-odds (0.")
    assert "The command: `robustpool aggregate FILE --rule extremized-odds`." in words
    assert "are expected to do worse" not in words


@pytest.mark.parametrize(("questions", "agents"), [(150, 3), (1500, 2)])
def test_a_stretch_that_is_not_told_from_1_promises_no_gain(questions: int, agents: int) -> None:
    found = compare(simulated(questions, agents, slope=0.5, shared=0.3), rules=RULES_HERE)
    assert not diagnose(found).stretched
    assert "expected to do worse than the mean, unless recalibrated first" in said(found)


# ---------------------------------------------------------------------------------------------------------- thresholds


@pytest.fixture(scope="module")
def measured() -> Comparison:
    return compare(simulated(60, 2), rules=["mean", "product"], recalibrate="none", draws=100)


def between(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high)


@pytest.mark.parametrize(
    ("low", "high", "confidence"),
    [
        (0.667, 1.4, Confidence.IN_LINE),
        (0.666, 1.4, Confidence.CANNOT_TELL),
        (0.8, 1.499, Confidence.IN_LINE),
        (0.8, 1.501, Confidence.CANNOT_TELL),
        (0.999, 1.3, Confidence.IN_LINE),
        (1.001, 1.3, Confidence.UNDER),
        (0.7, 1.001, Confidence.IN_LINE),
        (0.7, 0.999, Confidence.OVER),
        (0.001, 0.999, Confidence.OVER),
        (-0.5, 0.001, Confidence.UNINFORMED),
        (-0.5, -0.001, Confidence.WRONG_WAY),
    ],
)
def test_what_the_slopes_interval_says(measured: Comparison, low: float, high: float, confidence: Confidence) -> None:
    people = replace(measured.individuals, slope=between(low, high))
    blind = tuple(replace(rule, slope=between(-0.1, 0.9)) for rule in measured.rules)
    assert diagnose(replace(measured, individuals=people, rules=blind)).confidence is confidence


@pytest.mark.parametrize(
    ("low", "high", "sharing"),
    [
        (0.901, 0.99, Sharing.NESTED),
        (0.899, 0.99, Sharing.PARTLY),
        (-0.1, 0.199, Sharing.INDEPENDENT),
        (0.001, 0.201, Sharing.PARTLY),
        (-0.001, 0.201, Sharing.CANNOT_TELL),
        (0.5, 1.0, Sharing.CANNOT_TELL),
    ],
)
def test_what_the_dependences_interval_says(measured: Comparison, low: float, high: float, sharing: Sharing) -> None:
    people = replace(measured.individuals, dependence=between(low, high))
    assert diagnose(replace(measured, individuals=people)).sharing is sharing


def test_a_stretch_above_1_is_one_whose_whole_interval_is() -> None:
    comparison = compare(simulated(60, 2), rules=["mean"], recalibrate="none", draws=100)
    for low, stretched in ((1.001, True), (0.999, False)):
        people = replace(comparison.individuals, stretch=between(low, 3.0))
        assert diagnose(replace(comparison, individuals=people)).stretched is stretched


@pytest.mark.parametrize(("size", "sample"), [(39, Sample.SMALL), (40, Sample.ENOUGH)])
def test_forty_questions_or_clusters_are_enough(measured: Comparison, size: int, sample: Sample) -> None:
    """With fewer, forecasts that carry no detectable information are not said to have none."""
    people = replace(measured.individuals, slope=between(-0.5, 0.5))
    blind = tuple(replace(rule, slope=None) for rule in measured.rules)
    confidence = Confidence.UNINFORMED if sample is Sample.ENOUGH else Confidence.CANNOT_TELL
    for questions, clusters in ((size, None), (1000, size)):
        sized = replace(measured, questions=questions, clusters=clusters, individuals=people, rules=blind)
        found = diagnose(sized)
        assert (found.sample, found.confidence) == (sample, confidence)


def test_extremising_depends_if_one_rule_wins_and_another_loses(measured: Comparison) -> None:
    product = of(measured, "product")

    def judged(*differences: float) -> Extremising:
        better = (
            replace(product, difference=between(d - 0.01, d + 0.01), verdict=Verdict.BETTER if d < 0 else Verdict.WORSE)
            for d in differences
        )
        return diagnose(replace(measured, rules=(of(measured, "mean"), *better))).extremising

    assert judged(-0.02, -0.03) is Extremising.HELPS
    assert judged(0.02, 0.03) is Extremising.HURTS
    assert judged(-0.02, 0.03) is Extremising.DEPENDS


# ------------------------------------------------------------------------------------------- nothing to be recommended


def test_equal_outcomes_teach_nothing() -> None:
    rng = np.random.default_rng(0)
    for outcome in (0, 1):
        comparison = compare(table_of(rng.random((80, 3)).tolist(), [outcome] * 80))
        assert comparison.advice == (
            "What to do: wait for questions with a different outcome.",
            "All outcomes are the same, so they cannot show which rule is better.",
        )


def test_forecasts_that_point_the_wrong_way() -> None:
    table = simulated(300, 3)
    comparison = compare(replace(table, outcome=1 - table.outcome))
    assert diagnose(comparison).confidence is Confidence.WRONG_WAY
    assert comparison.recalibrated == ()
    words = said(comparison)
    assert words.startswith("What to do: check the outcome column first. The forecasters point the wrong way: is the")
    assert "outcome column reversed? Their calibration slope is -0." in words
    assert not any(word in words for word in (" use ", "robustpool aggregate"))


def test_forecasts_without_information_are_worth_the_base_rate() -> None:
    rng = np.random.default_rng(1)
    comparison = compare(table_of(rng.random((300, 3)).tolist(), (rng.random(300) < 0.3).astype(float).tolist()))
    assert diagnose(comparison).confidence is Confidence.UNINFORMED
    words = said(comparison)
    start = "What to do: forecast the base rate and ignore the forecasters. The forecasters carry no detectable"
    assert words.startswith(start)
    base_rate, mean = comparison.base_rate_brier, of(comparison, "mean").brier.value
    assert f"has a Brier score of {base_rate:.4f}, the mean {mean:.4f}." in words
    assert not any(word in words for word in (" use ", "robustpool aggregate"))


def test_what_single_answers_hide_the_average_may_show() -> None:
    """Six questions on which all of a hundred say the same, half of them wrongly, drown the single answers to the others.

    To the mean they are six questions among many.
    """
    good = simulated(114, 2, slope=0.8)
    crowds = [[p] * 100 for p in (0.9, 0.9, 0.9, 0.1, 0.1, 0.1)]
    answers = [*good.probability.reshape(114, 2).tolist(), *crowds]
    comparison = compare(table_of(answers, [*good.outcome, 1, 0, 0, 1, 1, 0]), rules=RULES_HERE)
    alone, together = comparison.individuals.slope, of(comparison, "mean").slope
    assert alone is not None
    assert together is not None
    assert alone.low < 0 < alone.high < 1
    assert together.low > 0
    assert diagnose(comparison).confidence is Confidence.OVER
    without = replace(comparison, rules=tuple(replace(rule, slope=None) for rule in comparison.rules))
    assert diagnose(without).confidence is Confidence.UNINFORMED


def test_the_base_rate_is_that_of_the_other_clusters() -> None:
    table = table_of([[0.5, 0.6]] * 4, [1, 1, 0, 0])
    found = compare(table, rules=["mean"])
    assert found.base_rate_brier == pytest.approx((2 / 3) ** 2)  # one of three others came out the same way
    clustered = compare(replace(table, cluster=np.array([0, 1, 0, 1])), rules=["mean"])
    assert clustered.base_rate_brier == pytest.approx(0.25)
    assert math.isnan(compare(replace(table, cluster=np.zeros(4, dtype=int)), rules=["mean"]).base_rate_brier)


def test_a_base_rate_that_beats_the_reference_is_named() -> None:
    comparison = compare(simulated(400, 2, slope=0.1, shared=0.9), rules=["mean", "median"], recalibrate="none")
    assert comparison.base_rate_brier < of(comparison, "mean").brier.value
    assert f"Always forecasting the base rate scores {comparison.base_rate_brier:.4f}, better than the mean." in said(
        comparison
    )


def test_one_answer_each_leaves_nothing_to_combine() -> None:
    comparison = compare(simulated(400, 1, slope=0.4), rules=["mean", "karmarkar"])
    assert comparison.individuals.dependence is None
    words = said(comparison)
    nothing = "What to do: there is nothing to combine, because each question has only one answer"
    assert words.startswith(f"{nothing}; recalibrate the answers (slope)")
    assert "--rule mean --recalibrate slope`." in words
    calibrated = compare(simulated(400, 1), rules=["mean", "karmarkar"])
    assert calibrated.advice[0] == f"{nothing}."


def test_what_four_digits_cannot_show_is_no_verdict() -> None:
    def hardly(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return reports.mean(axis=1) * (1 - 1e-5)

    comparison = compare(table_of([[0.9, 0.7]] * 30 + [[0.2, 0.3]] * 30, [0] * 60), rules=[hardly, "mean"])
    found = of(comparison, "hardly")
    assert -5e-5 < found.difference.low < found.difference.high < 0
    assert found.verdict is Verdict.CANNOT_TELL
    assert all(rule.tied_with_best for rule in comparison.rules)
    assert findable(comparison) is None


@pytest.mark.parametrize(
    ("difference", "verdict"), [(4.9e-5, Verdict.CANNOT_TELL), (5.1e-5, Verdict.BETTER)], ids=["unseen", "seen"]
)
def test_half_of_the_fourth_digit_can_be_seen(difference: float, verdict: Verdict) -> None:
    """All answers are 0.5 and all outcomes 0: the square of a little less than 0.5 is better by that difference."""

    def less(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.full(len(reports), math.sqrt(0.25 - difference))

    comparison = compare(table_of([[0.5, 0.5]] * 30, [0] * 30), rules=[less, "mean"])
    assert of(comparison, "less").difference == pytest.approx((-difference,) * 3)
    assert of(comparison, "less").verdict is verdict
    assert of(comparison, "mean").tied_with_best is (verdict is Verdict.CANNOT_TELL)


def test_minimax_is_called_smallest_where_that_is_proved() -> None:
    claim, weaker = "minimax has the smallest worst case here", "minimax is designed for it"
    few, many = simulated(900, 3), simulated(900, 7)
    assert claim in said(compare(few, rules=["mean", "minimax"]))
    words = said(compare(many, rules=["mean", "minimax"]))
    assert weaker in words
    assert claim not in words
    assert claim in said(compare(many, rules=["mean", "minimax"], pairs=5))


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({"rules": ["extremized-odds:d=2"], "clip": 0.02}, "--rule extremized-odds:d=2 --clip 0.02`"),
        ({"rules": ["extremized-odds:d=2"], "clip": 0.0}, "--rule extremized-odds:d=2 --clip 0`"),
        ({"rules": ["extremized-odds:d=2"], "clip": 0.01}, "--rule extremized-odds:d=2`"),
        ({"rules": ["extremized-odds:d=2"]}, "--rule extremized-odds:d=2`"),
        ({"rules": ["karmarkar:a=2"], "clip": 0.02}, "--rule karmarkar:a=2`"),
        ({"rules": ["karmarkar:a=2"]}, "--rule karmarkar:a=2`"),
        ({"rules": ["mean"], "recalibrate": "slope", "per_forecaster": True}, "--recalibrate slope --per-forecaster`"),
    ],
)
def test_the_command_is_what_was_scored(options: dict[str, Any], command: str) -> None:
    comparison = compare(simulated(900, 3, slope=2.5, shared=0.3), **{"recalibrate": "none", **options})
    assert f"{command}." in said(comparison)


def test_a_function_of_ones_own_has_no_command() -> None:
    def mine(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return 1 / (1 + (1 / reports.mean(axis=1) - 1) ** 2)

    words = said(compare(simulated(900, 3, slope=2.5, shared=0.3), rules=[mine], recalibrate="none"))
    assert words.startswith("What to do: use mine (")
    assert "robustpool aggregate" not in words


def test_extremising_is_what_the_catalogue_says() -> None:
    assert is_extremising("karmarkar:a=2")
    assert is_extremising("bordley:prior=0.3")
    assert not any(map(is_extremising, ("mean", "geometric-odds", "design.json", "<lambda>")))
    assert [name for name in RULES if name != "bordley" and is_extremising(name)] == [
        name for name, rule in RULES.items() if name != "bordley" and rule.extremises
    ]


def test_the_difference_that_is_detected_80_percent_of_the_time() -> None:
    """Many samples with that very difference: the interval excludes 0 in about 80 % of them."""
    options: Any = {"rules": ["mean", "karmarkar:a=1.5"], "draws": 200, "recalibrate": "none"}
    first = compare(simulated(60, 2, slope=0.8, seed=0), **options)
    step, half = findable(first), of(first, "karmarkar:a=1.5").difference
    assert step is not None
    assert step == pytest.approx((half.high - half.low) / 2 * 2.8 / 1.96)
    samples = np.random.default_rng(0).normal(step, (half.high - half.low) / 2 / 1.96, 4000)
    assert np.mean(np.abs(samples) > (half.high - half.low) / 2) == pytest.approx(0.8, abs=0.03)
    assert f"With 60 questions, a Brier difference of {step:.1g} would be detected 80 % of the time" in said(first)


@pytest.mark.parametrize("questions", [1, 5])
def test_too_few_questions_say_nothing_about_differences(questions: int) -> None:
    comparison = compare(table_of([[0.9, 0.7]] * questions, ([1, 0, 1, 1, 1] * 2)[:questions]))
    assert findable(comparison) is None
    if questions > 1:
        assert comparison.advice[1] == f"{questions} questions: the sample is small."


def test_partly_shared_evidence_promises_nothing() -> None:
    comparison = compare(simulated(1500, 4, shared=0.6), rules=RULES_HERE)
    assert diagnose(comparison).sharing is Sharing.PARTLY
    assert "They share much of their evidence: " in said(comparison)


def test_a_small_sample_cannot_tell() -> None:
    comparison = compare(simulated(25, 25, slope=1.3))
    assert diagnose(comparison).sample is Sample.SMALL
    assert diagnose(comparison).extremising is Extremising.CANNOT_TELL
    words = said(comparison)
    assert "the sample is small" in words
    assert "There are too few to tell which rule is best" in words
    assert "What to do: keep your current rule, or use robust, until 40 questions are resolved" in words
    assert "The command: `robustpool aggregate FILE --rule robust`." in words
    unscored = said(compare(simulated(25, 25, slope=1.3), rules=["mean", "product"]))
    assert "What to do: keep your current rule, or use the mean, until 40" in unscored


def test_a_default_that_is_told_to_be_worse_is_not_recommended() -> None:
    comparison = compare(simulated(25, 25, slope=1.3), rules=["mean", "robust"])
    worse = tuple(replace(rule, verdict=Verdict.WORSE) if rule.name == "robust" else rule for rule in comparison.rules)
    assert "or use robust, until" in advise(comparison)[0]
    assert "or use the mean, until" in advise(replace(comparison, rules=worse))[0]


def test_what_to_do_follows_the_scores_where_theory_is_silent() -> None:
    """Under-confident with evidence of their own: the best rule that is told apart, recalibrated or not."""
    comparison = compare(simulated(1500, 3, slope=2.0, shared=0.4), rules=RULES_HERE)
    assert diagnose(comparison).confidence is Confidence.UNDER
    assert "they correct under-confidence" in said(comparison)
    assert "Every rule that extremises beats the mean here, as expected." in said(comparison)
    raw = compare(simulated(1500, 3, slope=2.0, shared=0.4), rules=["mean", "karmarkar"], recalibrate="none")
    assert said(raw).startswith("What to do: use karmarkar (0.")
    assert "The command: `robustpool aggregate FILE --rule karmarkar`." in said(raw)  # it averages: nothing is clipped


def test_people_who_expect_too_much_are_not_sent_to_a_rule_that_leans() -> None:
    table = simulated(800, 5, slope=0.5, shared=0.5)
    optimists = replace(table, probability=1 / (1 + np.exp(-1.5) * (1 / table.probability - 1)))
    words = said(compare(optimists, rules=["mean", "geometric-mean", "minimax"], recalibrate="none"))
    assert words.startswith(
        "What to do: use the mean: nothing that was tried is significantly better except geometric-mean, which is biased towards "
        "no on every question. The command: `robustpool aggregate FILE --rule mean`."
    )
    corrected = compare(optimists, rules=["mean", "geometric-mean", "minimax"])
    assert {rule.recalibration for rule in corrected.recalibrated} == {"platt"}  # auto sees the lean
    assert corrected.recalibrated[0].verdict is Verdict.BETTER
    assert said(corrected).startswith("What to do: recalibrate the forecasters (platt), then use ")
    assert "because the mean forecasts too high" in said(corrected)


def test_an_extremising_reference_judges_no_extremising() -> None:
    comparison = compare(simulated(800, 2, slope=0.35), rules=RULES_HERE, reference="product")
    assert diagnose(comparison).extremising is Extremising.CANNOT_TELL
    assert "that extremises loses" not in said(comparison)
    many = said(compare(simulated(600, 10, slope=0.6, shared=0.1), rules=RULES_HERE, reference="extremized-odds:d=3"))
    assert "beyond the average lose here" not in many
    assert "that extremises loses" not in many
