"""What a comparison says of the forecasters, and what it says to do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from robustpool.evaluation.records import Comparison, Interval, RuleScore, Verdict

if TYPE_CHECKING:
    from robustpool.tables.records import ForecastTable

RULES_HERE = ["mean", "minimax", "geometric-odds", "product", "karmarkar"]


def test_calibrated_independent_agents_are_the_theorys_case() -> None:
    comparison = compare(simulated(800, 2), rules=RULES_HERE, fit=False)
    found = diagnose(comparison)
    assert comparison.individuals.stretch is not None
    assert comparison.individuals.stretch.value == pytest.approx(2, abs=0.25)
    findings = (Sample.ENOUGH, Confidence.IN_LINE, Sharing.INDEPENDENT, Extremising.HELPS)
    assert found == Diagnosis(*findings, stretched=True)
    assert of(comparison, "minimax").verdict is Verdict.BETTER
    words = said(comparison)
    assert "Their evidence looks independent" in words
    assert "minimax has the smallest worst case here" in words
    assert "Every rule that extremises beats the mean here, as expected." in words
    assert not of(comparison, "minimax").tied_with_best  # with base rate 1/2, which product takes for granted
    assert words.startswith("What to do: use product (0.1563 against 0.1743 for the mean). The command: ")
    assert "The command: `robustpool aggregate FILE --rule product`." in words
    assert "This is measured, not proved" in words
    assert comparison.recommended == "product"
    without = compare(simulated(800, 2), rules=["mean", "minimax"], fit=False)
    assert said(without).startswith("What to do: use minimax (0.1682 against 0.1743 for the mean). The command: ")
    few = compare(simulated(80, 2, seed=3), rules=RULES_HERE)  # product scores best, but is not told from the mean
    assert few.rules[0].name == "product"
    assert few.fitted is not None
    assert few.fitted.over_mean.low < 0
    assert said(few).startswith("What to do: use minimax (0.1719 against 0.1777 for the mean). The command: ")


def test_shared_evidence_voids_no_proof_but_shared_errors_do() -> None:
    comparison = compare(simulated(800, 2, shared=0.5), rules=["mean", "minimax"], fit=False)
    found = diagnose(comparison)
    assert (found.confidence, found.sharing) == (Confidence.IN_LINE, Sharing.PARTLY)
    assert (
        "The picture is mixed: evidence that all of them saw does not void the proved worst cases, but shared errors do, "
        "and there is no guarantee that rules for independent evidence (minimax, product, average-prior) beat the mean."
    ) in said(comparison)


def test_in_the_theorys_case_a_fitted_pool_beats_minimax() -> None:
    comparison = compare(simulated(800, 2), rules=["mean", "minimax"])
    assert comparison.recommended == "fitted"
    start = "What to do: fit a pool to these data and use it (0.1570 against 0.1743 for the mean, on 800 questions"
    assert said(comparison).startswith(start)


def test_over_confident_agents_make_extremising_lose() -> None:
    table = simulated(1500, 2, slope=0.35, shared=0.3)
    comparison = compare(table, rules=RULES_HERE)
    found = diagnose(comparison)
    assert (found.confidence, found.extremising) == (Confidence.OVER, Extremising.HURTS)
    assert (found.stretched, found.shrunk) == (False, True)
    for name in ("minimax", "product", "karmarkar"):
        assert of(comparison, name).verdict is Verdict.WORSE
    words = said(comparison)
    assert "over-confident: their calibration slope is 0.4" in words
    assert (
        "Averaging does not correct this: the average of their log-odds should be multiplied by 0.6 (0.6 to 0.7), so "
        "rules that extremise are expected to do worse than the mean." in words
    )
    assert "Every rule that extremises loses to the mean here, as expected." in words
    assert words.startswith("What to do: fit a pool to these data and use it (0.1727 against 0.1791 for the mean, on")
    assert comparison.recommended == "fitted"
    rules = compare(table, rules=RULES_HERE, recalibrate="auto", fit=False)
    assert rules.recalibrated[0].verdict is Verdict.BETTER  # which is told, but never recommended
    assert said(rules).startswith("What to do: use the mean: nothing that was tried is clearly better. The command: ")
    assert rules.recommended == "mean"


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
    assert words.startswith("What to do: fit a pool to these data and use it (0.1996 against 0.2132 for the mean, on")
    assert comparison.recommended == "fitted"


@pytest.mark.parametrize(("agents", "slope", "shared"), [(2, 0.6, 0.3), (5, 1.0, 0.5), (20, 0.7, 0.2)])
def test_the_stretch_is_measured_on_what_the_rules_combine(agents: int, slope: float, shared: float) -> None:
    """For simulated forecasters the truth is known: b n/(1 + (n - 1) rho), for pairs with n = 2."""
    table = simulated(3000, agents, slope=slope, shared=shared)
    for pairs, together in ((None, agents), (3, 2)):
        found = compare(table, rules=["geometric-odds"], pairs=pairs, fit=False, draws=100).individuals.stretch
        assert found is not None
        assert found.low < found.value < found.high
        assert found.value == pytest.approx(slope * together / (1 + (together - 1) * shared), rel=0.15)


def test_the_interval_of_the_stretch_covers() -> None:
    hits = 0
    for seed in range(60):
        table = simulated(150, 5, slope=1.0, shared=0.3, seed=seed)
        found = compare(table, rules=[], draws=100, fit=False).individuals.stretch
        assert found is not None
        hits += found.low < 5 / (1 + 4 * 0.3) < found.high
    assert 0.85 <= hits / 60 < 1


def test_so_many_over_confident_agents_gain_by_stretching() -> None:
    """One by one over-confident, 0.6, but ten of them share little: their average should be stretched by 3.2."""
    comparison = compare(simulated(600, 10, slope=0.6, shared=0.1), fit=False)
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


@pytest.mark.parametrize(("questions", "agents", "shrunk"), [(150, 3, False), (1500, 2, True)])
def test_a_stretch_that_is_not_told_from_1_promises_no_gain(questions: int, agents: int, shrunk: bool) -> None:
    comparison = compare(simulated(questions, agents, slope=0.5, shared=0.3), rules=RULES_HERE, fit=False)
    found = diagnose(comparison)
    assert (found.stretched, found.shrunk) == (False, shrunk)
    less, unclear = "rules that extremise are expected to do worse than the mean.", "It is unclear whether averaging"
    assert (less in said(comparison), unclear in said(comparison)) == (shrunk, not shrunk)


# ---------------------------------------------------------------------------------------------------------- thresholds


@pytest.fixture(scope="module")
def measured() -> Comparison:
    return compare(simulated(60, 2), rules=["mean", "product"], fit=False, draws=100)


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
    comparison = compare(simulated(60, 2), rules=["mean"], fit=False, draws=100)
    for low, stretched in ((1.001, True), (1.0, False), (0.999, False)):
        people = replace(comparison.individuals, stretch=between(low, 3.0))
        found = diagnose(replace(comparison, individuals=people))
        assert (found.stretched, found.shrunk) == (stretched, False)


def test_a_stretch_below_1_is_one_whose_whole_interval_is() -> None:
    comparison = compare(simulated(60, 2), rules=["mean"], fit=False, draws=100)
    for high, shrunk in ((0.999, True), (1.0, False), (1.001, False)):
        people = replace(comparison.individuals, stretch=between(0.2, high))
        found = diagnose(replace(comparison, individuals=people))
        assert (found.stretched, found.shrunk) == (False, shrunk)
    unknown = diagnose(replace(comparison, individuals=replace(comparison.individuals, stretch=None)))
    assert (unknown.stretched, unknown.shrunk) == (False, False)


@pytest.mark.parametrize(("size", "sample"), [(39, Sample.SMALL), (40, Sample.ENOUGH)])
def test_forty_questions_or_clusters_are_enough(measured: Comparison, size: int, sample: Sample) -> None:
    """With fewer, forecasts that carry no detectable information are not said to have none."""
    people = replace(measured.individuals, slope=between(-0.5, 0.5))
    blind = tuple(replace(rule, slope=None) for rule in measured.rules)
    confidence = Confidence.UNINFORMED if sample is Sample.ENOUGH else Confidence.CANNOT_TELL
    for questions, clusters in ((size, None), (1000, size)):
        sized = replace(
            measured, questions=questions, clusters=clusters, individuals=people, rules=blind, base_rate=0.5
        )
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
        assert (comparison.recommended, comparison.fitted) == ("", None)


def test_forecasts_that_point_the_wrong_way() -> None:
    table = simulated(300, 3)
    comparison = compare(replace(table, outcome=1 - table.outcome), recalibrate="auto")
    assert diagnose(comparison).confidence is Confidence.WRONG_WAY
    assert comparison.recalibrated == ()
    assert comparison.recommended == ""
    words = said(comparison)
    assert words.startswith("What to do: check the outcome column first. The forecasters point the wrong way: is the")
    assert "outcome column reversed? Their calibration slope is -0." in words
    assert not any(word in words for word in (" use ", "robustpool aggregate"))


def test_forecasts_without_information_are_worth_the_base_rate() -> None:
    rng = np.random.default_rng(1)
    comparison = compare(table_of(rng.random((300, 3)).tolist(), (rng.random(300) < 0.3).astype(float).tolist()))
    assert diagnose(comparison).confidence is Confidence.UNINFORMED
    assert comparison.recommended == ""
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
    comparison = compare(simulated(400, 2, slope=0.1, shared=0.9), rules=["mean", "median"], fit=False)
    assert comparison.base_rate_brier < of(comparison, "mean").brier.value
    assert f"Always forecasting the base rate scores {comparison.base_rate_brier:.4f}, better than the mean." in said(
        comparison
    )


def test_one_answer_each_leaves_nothing_to_combine() -> None:
    comparison = compare(simulated(400, 1), rules=["mean", "karmarkar"])
    assert comparison.individuals.dependence is None
    assert comparison.advice[0] == "What to do: there is nothing to combine, because each question has only one answer."
    assert comparison.recommended == "mean"
    assert not any("rules" in sentence for sentence in comparison.advice)  # neither theory nor scores of rules
    over_confident = compare(simulated(400, 1, slope=0.4), rules=["mean", "karmarkar"])
    fit = "What to do: fit a pool to these data and use it (0.1841 against 0.1934 for the mean, on 400"
    assert over_confident.advice[0].startswith(fit)
    assert over_confident.advice[2].startswith("Individual forecasters are over-confident: ")


def test_what_four_digits_cannot_show_is_no_verdict() -> None:
    def hardly(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return reports.mean(axis=1) * (1 - 1e-5)

    comparison = compare(table_of([[0.9, 0.7]] * 30 + [[0.2, 0.3]] * 30, [0] * 60), rules=[hardly, "mean"])
    found = of(comparison, "hardly")
    assert not found.stands_out
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
    few, many = simulated(900, 2), simulated(900, 3)
    assert claim in said(compare(few, rules=["mean", "minimax"], fit=False))
    words = said(compare(many, rules=["mean", "minimax"], fit=False))
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
        ({"rules": ["mean"], "recalibrate": "slope", "per_forecaster": True}, "--rule mean`"),
    ],
)
def test_the_command_is_what_was_scored(options: dict[str, Any], command: str) -> None:
    comparison = compare(simulated(900, 3, slope=2.5, shared=0.3), fit=False, **options)
    assert f"{command}." in said(comparison)


def test_a_function_of_ones_own_has_no_command() -> None:
    def mine(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return 1 / (1 + (1 / reports.mean(axis=1) - 1) ** 2)

    words = said(compare(simulated(900, 3, slope=2.5, shared=0.3), rules=[mine], fit=False))
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
    options: Any = {"rules": ["mean", "karmarkar:a=1.5"], "draws": 200, "fit": False}
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
    comparison = compare(simulated(1500, 4, shared=0.6), rules=RULES_HERE, fit=False)
    assert diagnose(comparison).sharing is Sharing.PARTLY
    assert "They share much of their evidence: " in said(comparison)


def test_a_small_sample_cannot_tell() -> None:
    comparison = compare(simulated(25, 25, slope=1.3))
    assert diagnose(comparison).sample is Sample.SMALL
    assert diagnose(comparison).extremising is Extremising.CANNOT_TELL
    words = said(comparison)
    assert "the sample is small" in words
    assert "There are too few to tell which rule is best" in words
    assert "keep your current rule, or use the mean, until 40 questions are resolved, 20 with each outcome." in words
    assert "The command: `robustpool aggregate FILE --rule mean`." in words
    unscored = said(compare(simulated(25, 25, slope=1.3), rules=["mean", "product"]))
    assert "What to do: keep your current rule, or use the mean, until 40" in unscored


def test_what_to_do_follows_the_scores_where_theory_is_silent() -> None:
    """Under-confident with evidence of their own: the best of the rules that stand out."""
    comparison = compare(simulated(1500, 3, slope=2.0, shared=0.4), rules=RULES_HERE, fit=False)
    assert diagnose(comparison).confidence is Confidence.UNDER
    assert "they correct under-confidence" in said(comparison)
    assert "Every rule that extremises beats the mean here, as expected." in said(comparison)
    assert said(comparison).startswith("What to do: use product (0.1616 against 0.1975 for the mean). The command: ")
    raw = compare(simulated(1500, 3, slope=2.0, shared=0.4), rules=["mean", "karmarkar"], fit=False)
    assert said(raw).startswith("What to do: use karmarkar (0.")
    assert "The command: `robustpool aggregate FILE --rule karmarkar`." in said(raw)  # it averages: nothing is clipped


def optimists() -> ForecastTable:
    table = simulated(800, 5, slope=0.5, shared=0.5)
    return replace(table, probability=1 / (1 + np.exp(-1.5) * (1 / table.probability - 1)))


def test_people_who_expect_too_much_are_not_sent_to_a_rule_that_leans() -> None:
    comparison = compare(optimists(), rules=["mean", "geometric-mean", "minimax"], recalibrate="auto", fit=False)
    assert of(comparison, "geometric-mean").stands_out
    assert comparison.recommended == "mean"
    assert said(comparison).startswith(
        "What to do: use the mean: nothing that was tried is clearly better except geometric-mean, which is biased towards "
        "no on every question. The command: `robustpool aggregate FILE --rule mean`."
    )
    assert {rule.recalibration for rule in comparison.recalibrated} == {"platt"}  # auto sees the lean
    assert comparison.recalibrated[0].verdict is Verdict.BETTER
    corrected = next(rule for rule in comparison.recalibrated if rule.name == "mean")
    after = f"After recalibration of the individuals (platt), the mean scores {corrected.brier.value:.4f}."
    assert after in comparison.advice
    fitted = compare(optimists(), rules=["mean", "geometric-mean"])
    assert fitted.fitted is not None
    assert fitted.recommended == "fitted"
    assert fitted.fitted.aggregator.intercept < -0.5  # it learned the lean


def test_an_extremising_reference_judges_no_extremising() -> None:
    comparison = compare(simulated(800, 2, slope=0.35), rules=RULES_HERE, reference="product", fit=False)
    assert diagnose(comparison).extremising is Extremising.CANNOT_TELL
    assert "that extremises loses" not in said(comparison)
    options: Any = {"rules": RULES_HERE, "reference": "extremized-odds:d=3", "fit": False}
    many = said(compare(simulated(600, 10, slope=0.6, shared=0.1), **options))
    assert "that extremises" not in many
    assert "Extremising " not in many


# ---------------------------------------------------------------------------------------------------------- what to do


@pytest.fixture(scope="module")
def enough() -> Comparison:
    """Sixty questions, on which nothing is better than the mean, with a pool that is not shown to be better either."""
    rules = ["mean", "robust", "product", "geometric-mean"]
    comparison = compare(simulated(60, 2), rules=rules, draws=100)
    scores = {"mean": 0.2, "robust": 0.2, "product": 0.21, "geometric-mean": 0.22}
    for name, brier in scores.items():
        comparison = scored(comparison, name, brier)
    return with_pool(comparison, "recalibrated", over_mean=(-0.01, 0.01), over_default=(-0.01, 0.01))


def scored(
    comparison: Comparison,
    name: str,
    brier: float,
    verdict: Verdict = Verdict.CANNOT_TELL,
    *,
    stands_out: bool = False,
) -> Comparison:
    """The same with another score of a rule; the best comes first."""
    verdict = Verdict.REFERENCE if name == comparison.reference else verdict

    def told(rule: RuleScore) -> RuleScore:
        if rule.name != name:
            return rule
        return replace(rule, brier=between(brier - 0.1, brier + 0.1), verdict=verdict, stands_out=stands_out)

    return replace(comparison, rules=tuple(sorted(map(told, comparison.rules), key=lambda rule: rule.brier.value)))


def with_pool(comparison: Comparison, chosen: str, **gains: tuple[float, float]) -> Comparison:
    """The same with a pool that has a Brier score of 0.15 and these gains."""
    assert comparison.fitted is not None
    intervals: Any = {name: between(*ends) for name, ends in gains.items()}
    return replace(comparison, fitted=replace(comparison.fitted, chosen=chosen, brier=between(0.1, 0.2), **intervals))


def to_do(comparison: Comparison) -> str:
    """What to do, without the words that it begins with."""
    return advise(comparison).advice[0].removeprefix("What to do: ")


NOTHING = (
    "use the mean: nothing that was tried is clearly better. The command: `robustpool aggregate FILE --rule mean`."
)


def test_if_nothing_is_better_the_reference_is_kept(enough: Comparison) -> None:
    assert (to_do(enough), advise(enough).recommended) == (NOTHING, "mean")
    assert to_do(scored(enough, "product", 0.2 - 4e-5)) == NOTHING  # four digits do not show it
    nearly = to_do(scored(enough, "product", 0.19))
    assert nearly == f"{NOTHING} product scores best, 0.1900 against 0.2000, but is not significantly better."


def test_a_rule_that_may_be_lucky_is_named_but_not_recommended(enough: Comparison) -> None:
    lucky = scored(enough, "product", 0.19, Verdict.BETTER)
    assert to_do(lucky) == (
        f"{NOTHING} product scores best, 0.1900 against 0.2000, but with 3 rules tried, this may be luck."
    )
    assert advise(lucky).recommended == "mean"


def test_the_best_rule_that_stands_out_is_recommended(enough: Comparison) -> None:
    better = scored(enough, "product", 0.19, Verdict.BETTER, stands_out=True)
    command = "The command: `robustpool aggregate FILE --rule product`."
    assert to_do(better) == f"use product (0.1900 against 0.2000 for the mean). {command}"
    assert advise(better).recommended == "product"
    assert to_do(replace(better, fitted=None)) == to_do(better)
    both = scored(better, "robust", 0.18, Verdict.BETTER, stands_out=True)
    assert advise(both).recommended == "robust"
    unsure = scored(better, "robust", 0.18, Verdict.BETTER)  # a better score, but less sure
    assert advise(unsure).recommended == "product"


def test_the_rule_that_leans_is_never_recommended(enough: Comparison) -> None:
    leaning = scored(enough, "geometric-mean", 0.17, Verdict.BETTER, stands_out=True)
    assert advise(leaning).recommended == "mean"
    but = "clearly better except geometric-mean, which is biased towards no on every question."
    assert to_do(leaning) == NOTHING.replace("clearly better.", but)
    assert to_do(scored(enough, "geometric-mean", 0.17, Verdict.BETTER)) == NOTHING
    nearest = to_do(scored(leaning, "product", 0.19))
    assert nearest == f"{to_do(leaning)} product scores best, 0.1900 against 0.2000, but is not significantly better."
    second = scored(leaning, "product", 0.19, Verdict.BETTER, stands_out=True)
    assert advise(second).recommended == "product"
    own = advise(replace(leaning, reference="geometric-mean"))
    assert own.recommended == "geometric-mean"  # unless it is the current rule


def test_a_rule_that_did_well_in_the_past_is_not_recommended_if_times_are_known(enough: Comparison) -> None:
    better = scored(enough, "product", 0.19, Verdict.BETTER, stands_out=True)
    changing = replace(better, timed=True)
    assert to_do(changing) == (
        f"{NOTHING} product scores best, 0.1900 against 0.2000, but what did well in the past need not do so now."
    )
    assert advise(changing).recommended == "mean"
    assert advise(replace(changing, fitted=None)).recommended == "mean"
    fitted = with_pool(changing, "recalibrated", over_mean=(0.01, 0.02))  # which was scored on what came after
    assert advise(fitted).recommended == "fitted"


@pytest.mark.parametrize(("low", "recommended"), [(1e-9, "fitted"), (0.0, "mean"), (-1e-9, "mean")])
def test_a_pool_is_recommended_if_its_gain_lies_above_0(enough: Comparison, low: float, recommended: str) -> None:
    comparison = with_pool(enough, "weighted-recalibrated", over_mean=(low, 0.02))
    assert advise(comparison).recommended == recommended


def test_a_pool_that_is_better_goes_before_a_rule_that_is(enough: Comparison) -> None:
    better = scored(enough, "product", 0.14, Verdict.BETTER, stands_out=True)
    comparison = with_pool(better, "weighted", over_mean=(0.004, 0.016))
    assert to_do(comparison) == (
        "fit a pool to these data and use it (0.1500 against 0.1600 for the mean, on 60 questions that it had not seen; "
        "the gain is 0.0040 to 0.0160). Fit it: `robustpool fit FILE --out pool.json`. Use it: `robustpool aggregate "
        "NEW.csv --rule pool.json`."
    )
    assert advise(comparison).recommended == "fitted"
    alone = replace(comparison, answers=comparison.questions)  # a single answer can be recalibrated
    assert advise(alone).recommended == "fitted"
    nothing = advise(replace(better, answers=better.questions))
    assert nothing.recommended == "mean"
    assert nothing.advice[0].startswith("What to do: there is nothing to combine")


def test_a_pool_that_is_a_rule_needs_no_fit(enough: Comparison) -> None:
    comparison = with_pool(enough, "robust", over_mean=(0.004, 0.016))
    assert to_do(comparison) == (
        "use robust (0.1500 against 0.1600 for the mean). Nothing learned from these data does better. The command: "
        "`robustpool aggregate FILE --rule robust`."
    )
    assert advise(comparison).recommended == "robust"
    without = replace(comparison, rules=tuple(rule for rule in comparison.rules if rule.name != "robust"))
    assert to_do(without) == to_do(comparison)  # it need not be scored as a rule
    mean = replace(with_pool(enough, "mean", over_default=(0.004, 0.016)), reference="robust")
    assert to_do(mean).startswith(
        "use the mean (0.1500 against 0.1600 for robust). Nothing learned from these data does"
    )
    assert advise(mean).recommended == "mean"


def test_the_gain_is_that_over_the_reference(enough: Comparison) -> None:
    comparison = with_pool(enough, "weighted", over_mean=(-0.01, 0.01), over_default=(0.02, 0.04))
    assert advise(comparison).recommended == "mean"
    against_default = replace(comparison, reference="robust")
    assert "(0.1500 against 0.1800 for robust, on 60 questions" in to_do(against_default)
    reverse = with_pool(enough, "weighted", over_mean=(0.02, 0.04), over_default=(-0.01, 0.01))
    assert advise(replace(reverse, reference="robust")).recommended == "robust"
    assert advise(replace(reverse, reference="product")).recommended == "product"  # over it no gain is known


# ------------------------------------------------------------------------------------------------------- small samples


def few(comparison: Comparison, questions: int = 39) -> Comparison:
    return replace(comparison, questions=questions, base_rate=0.5)


def test_a_small_sample_recommends_nothing_new(enough: Comparison) -> None:
    """However good a pool or a rule looks."""
    lucky = with_pool(enough, "weighted", over_mean=(0.02, 0.04))
    lucky = scored(lucky, "product", 0.1, Verdict.BETTER, stands_out=True)
    assert advise(few(lucky, 40)).recommended == "fitted"
    assert advise(few(lucky)).recommended == "mean"
    assert to_do(few(lucky)) == (
        "keep your current rule, or use the mean, until 40 questions are resolved, 20 with each outcome. There are too few "
        "to tell which rule is best. The command: `robustpool aggregate FILE --rule mean`."
    )
    assert "until 40 clusters of questions are resolved" in to_do(replace(lucky, clusters=39))


@pytest.mark.parametrize(
    ("base_rate", "recommended"), [(0.2, "fitted"), (0.19, "mean"), (0.81, "mean"), (0.8, "fitted")]
)
def test_twenty_questions_with_the_rarer_outcome_are_enough(
    enough: Comparison, base_rate: float, recommended: str
) -> None:
    lucky = with_pool(enough, "weighted", over_mean=(0.02, 0.04))
    assert advise(replace(lucky, questions=100, base_rate=base_rate)).recommended == recommended
    options = replace(lucky, questions=39, options=3, base_rate=float("nan"))
    assert "until 40 questions are resolved. There" in to_do(options)
    assert advise(replace(options, questions=40)).recommended == "fitted"


# ------------------------------------------------------------------------------------------------- what theory expects


def people(comparison: Comparison, slope: Interval, stretch: Interval | None, rho: Interval) -> Comparison:
    """The same with other forecasters."""
    others = replace(comparison.individuals, slope=slope, stretch=stretch, dependence=rho)
    return replace(comparison, individuals=others)


OVER, IN_LINE, UNDER, UNCLEAR = between(0.3, 0.7), between(0.8, 1.2), between(1.5, 2.5), between(0.5, 1.9)
STRETCHED, SHRUNK, NEITHER = between(2.0, 4.0), between(0.4, 0.8), between(0.8, 1.4)
INDEPENDENT, PARTLY = between(-0.1, 0.1), between(0.4, 0.6)
AVERAGE = "the average of their log-odds should be multiplied by"
GAIN = f"But averaging corrects this: {AVERAGE} 3.0 (2.0 to 4.0), so rules that extremise by about this factor are expected"
LOSE = f"Averaging does not correct this: {AVERAGE} 0.6 (0.4 to 0.8), so rules that extremise are expected to do worse"
EITHER = f"It is unclear whether averaging corrects this: {AVERAGE} 1.1 (0.8 to 1.4)."


@pytest.mark.parametrize(
    ("stretch", "sentence"),
    [
        (STRETCHED, f"{GAIN} to gain."),
        (SHRUNK, f"{LOSE} than the mean."),
        (NEITHER, EITHER),
        (None, "Rules that extremise strongly (product, extremized-odds) amplify this."),
    ],
    ids=["above 1", "below 1", "neither", "unknown"],
)
def test_what_over_confidence_means_depends_on_the_average(
    enough: Comparison, stretch: Interval | None, sentence: str
) -> None:
    assert sentence in advise(people(enough, OVER, stretch, PARTLY)).advice


@pytest.mark.parametrize(
    ("slope", "stretch", "rho", "expected"),
    [
        (OVER, STRETCHED, PARTLY, Verdict.BETTER),
        (OVER, SHRUNK, PARTLY, Verdict.WORSE),
        (OVER, NEITHER, PARTLY, None),
        (OVER, NEITHER, INDEPENDENT, None),
        (OVER, None, PARTLY, None),
        (UNDER, STRETCHED, PARTLY, Verdict.BETTER),
        (UNDER, SHRUNK, PARTLY, Verdict.BETTER),
        (IN_LINE, STRETCHED, INDEPENDENT, Verdict.BETTER),
        (IN_LINE, STRETCHED, PARTLY, None),
        (UNCLEAR, STRETCHED, INDEPENDENT, None),
    ],
)
def test_whether_the_effect_of_extremising_was_expected(
    enough: Comparison, slope: Interval, stretch: Interval | None, rho: Interval, expected: Verdict | None
) -> None:
    comparison = people(enough, slope, stretch, rho)
    for verdict, beats, difference in ((Verdict.BETTER, "beats", -0.02), (Verdict.WORSE, "loses to", 0.02)):
        told: Any = {"difference": between(difference - 0.01, difference + 0.01), "verdict": verdict}
        rules = tuple(
            replace(rule, **told) if rule.name in ("product", "robust") else rule for rule in comparison.rules
        )
        end = "." if expected is None else ", as expected." if verdict is expected else ", contrary to expectation."
        sentence = f"Every rule that extremises {beats} the mean here{end}"
        assert sentence in advise(replace(comparison, rules=rules)).advice


def test_recalibration_of_the_individuals_is_told_but_not_recommended() -> None:
    table = simulated(200, 2, slope=0.3, shared=0.3)
    both, one = "the mean scores {mean:.4f} and robust {robust:.4f}.", "the mean scores {mean:.4f}."
    for names, words in ((["mean", "robust"], both), (["mean"], one)):
        comparison = compare(table, rules=names, recalibrate="slope", fit=False, draws=100)
        scores = {rule.name: rule.brier.value for rule in comparison.recalibrated}
        assert comparison.recommended == "mean"
        assert f"After recalibration of the individuals (slope), {words.format(**scores)}" in comparison.advice
    assert not any("recalibration" in sentence for sentence in compare(table, rules=names, fit=False, draws=100).advice)
