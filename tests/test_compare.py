"""`compare`: what rules see, what is told apart, what is diagnosed, and what is said about it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from forecasters import simulated
from robustpool.aggregators.rules import RULES
from robustpool.errors import InputError
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
from robustpool.tables.records import ForecastTable

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
RULES_HERE = ["mean", "minimax", "geometric-odds", "product", "karmarkar"]


def table_of(
    answers: Sequence[Sequence[float]], outcomes: Sequence[float], weights: Sequence[Sequence[float]] | None = None
) -> ForecastTable:
    """A table with one list of answers for each question."""
    sizes = [len(row) for row in answers]
    return ForecastTable(
        [f"q{q}" for q in range(len(answers))],
        [f"f{f}" for f in range(max(sizes))],
        np.repeat(np.arange(len(answers)), sizes),
        np.concatenate([np.arange(size) for size in sizes]),
        np.concatenate([np.array(row, dtype=float) for row in answers]),
        np.array(outcomes, dtype=float),
        weight=None if weights is None else np.concatenate([np.array(row, dtype=float) for row in weights]),
    )


def of(comparison: Comparison, name: str) -> RuleScore:
    return next(rule for rule in comparison.rules if rule.name == name)


# ------------------------------------------------------------------------------------------------------ what is scored


def test_scores_are_those_of_a_plain_loop() -> None:
    answers = [[0.9, 0.7, 0.6], [0.2, 0.4], [0.5], [0.3, 0.8, 0.1, 0.6]]
    outcomes = [1, 0, 1, 0]
    comparison = compare(table_of(answers, outcomes), rules=["mean", "product"], recalibrate="none")
    means = [float(np.mean(row)) for row in answers]
    losses = [(mean - y) ** 2 for mean, y in zip(means, outcomes, strict=True)]
    found = of(comparison, "mean")
    assert found.brier.value == pytest.approx(np.mean(losses))
    assert found.brier_by_forecast.value == pytest.approx(np.average(losses, weights=[3, 2, 1, 4]))
    logs = [-math.log(mean if y else 1 - mean) for mean, y in zip(means, outcomes, strict=True)]
    assert found.log.value == pytest.approx(np.mean(logs))
    assert found.auc == 1.0
    assert found.sharpness == pytest.approx(np.var(means))
    assert sum((1, -1, 1) * np.array(found.decomposition)) == pytest.approx(found.brier.value)
    each = [np.mean([(p - y) ** 2 for p in row]) for row, y in zip(answers, outcomes, strict=True)]
    assert comparison.individuals.brier == pytest.approx(np.mean(each))
    assert (comparison.questions, comparison.answers, comparison.forecasters, comparison.base_rate) == (4, 10, 4, 0.5)


def test_pairs_are_scored_as_pairs() -> None:
    answers = [[0.9, 0.7, 0.6], [0.2, 0.4], [0.5]]
    comparison = compare(table_of(answers, [1, 0, 1]), rules=["mean"], pairs=10)
    first = np.mean([(p - 1) ** 2 for p in (0.8, 0.75, 0.65)])
    assert (comparison.questions, comparison.left_out, comparison.answers) == (2, 1, 5)
    assert of(comparison, "mean").brier.value == pytest.approx((first + 0.3**2) / 2)
    assert of(comparison, "mean").brier_by_forecast.value == pytest.approx((3 * first + 2 * 0.3**2) / 5)


def test_only_averages_see_reports_as_they_are() -> None:
    seen: list[np.ndarray[Any, Any]] = []

    def spy(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        seen.append(reports)
        return reports.mean(axis=1)

    table = table_of([[0.0, 0.3], [1.0, 0.6]], [0, 1])
    comparison = compare(table, rules=["mean", "geometric-odds", spy], clip=0.05)
    assert of(comparison, "mean").brier.value == pytest.approx((0.15**2 + 0.2**2) / 2)
    assert np.concatenate(seen).tolist() == [[0.05, 0.3], [0.95, 0.6]]
    assert of(comparison, "spy").brier.value == pytest.approx((0.175**2 + 0.225**2) / 2)
    assert of(comparison, "geometric-odds").certain_and_wrong == 0


def test_a_0_and_a_1_are_numbers_to_an_average_and_are_counted() -> None:
    table = table_of([[0.0, 1.0, 0.5, 0.9], [0.2, 0.4, 0.1, 0.1]], [1, 0])
    comparison = compare(table, rules=["mean", "geometric-odds"])
    assert of(comparison, "mean").brier.value == pytest.approx((0.4**2 + 0.2**2) / 2)
    assert comparison.notes == ("1 question with both a 0 and a 1: averages take them as numbers.",)
    unclipped = compare(table, rules=["mean", "geometric-odds"], clip=0)
    assert of(unclipped, "geometric-odds").brier.value > of(comparison, "geometric-odds").brier.value
    assert unclipped.notes[0].endswith("averages take them as numbers, all other rules say 0.5.")


def test_a_certain_forecast_that_is_wrong_has_no_log_score() -> None:
    comparison = compare(table_of([[0.0, 0.0], [0.9, 0.8]] * 5, [1, 1, 0, 1] + [0, 1] * 3), rules=["mean"])
    found = of(comparison, "mean")
    assert (found.log.value, found.log.high, found.certain_and_wrong) == (math.inf, math.inf, 1)
    assert found.log_decomposition is None
    assert comparison.individuals.certain == 0.5


def test_weights_go_to_the_rules_that_take_them() -> None:
    table = table_of([[0.9, 0.1], [0.2, 0.4]], [1, 0], weights=[[3, 1], [1, 1]])
    comparison = compare(table, rules=["mean", "median"])
    assert of(comparison, "mean").brier.value == pytest.approx((0.3**2 + 0.3**2) / 2)
    assert of(comparison, "median").brier.value == pytest.approx((0.5**2 + 0.3**2) / 2)
    assert comparison.notes == ("Without weights, as they take none: median.",)


def test_all_rules_are_scored_but_those_that_need_a_number() -> None:
    comparison = compare(simulated(50, 3))
    assert {rule.name for rule in comparison.rules} | set(comparison.unscored) == set(RULES)
    assert "needs its parameter prior" in comparison.unscored["bordley"]
    assert "bordley:prior=0.3" in {rule.name for rule in compare(simulated(50, 3), rules=["bordley:prior=0.3"]).rules}


def test_a_rule_that_refuses_is_left_out_with_its_reason() -> None:
    def only_pairs(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if reports.shape[1] != 2:
            raise InputError("it is for two agents.")
        return reports.mean(axis=1)

    table = simulated(50, 3)
    assert compare(table, rules=[only_pairs]).unscored == {"only_pairs": "it is for two agents."}
    assert compare(table, rules=[only_pairs], pairs=3).unscored == {}
    with pytest.raises(InputError, match=r"^reference must be a rule that can be scored; bordley cannot be: it needs"):
        compare(table, reference="bordley")


# --------------------------------------------------------------------------------------------------- what is told apart


def test_the_reference_is_added_and_differences_are_paired() -> None:
    table = simulated(300, 2)
    comparison = compare(table, rules=["product"], reference="karmarkar:a=2.5")
    assert comparison.reference == "karmarkar"
    assert {rule.name for rule in comparison.rules} == {"product", "karmarkar"}
    found = of(comparison, "product")
    own = of(comparison, "karmarkar")
    assert found.difference.value == pytest.approx(found.brier.value - own.brier.value)
    assert own.difference == Interval(0, 0, 0)
    assert own.verdict is Verdict.REFERENCE
    width = found.brier.high - found.brier.low
    assert found.difference.high - found.difference.low < 0.5 * width  # the same questions for both


def test_two_names_for_one_rule_are_tied() -> None:
    comparison = compare(simulated(200, 2), rules=["mean", "median"])  # the same for two answers
    found = of(comparison, "median")
    assert found.difference == Interval(0, 0, 0)
    assert found.verdict is Verdict.CANNOT_TELL
    assert all(rule.tied_with_best for rule in comparison.rules)


def test_clusters_widen_the_intervals() -> None:
    table = simulated(60, 2)
    copies = table_of(table.probability.reshape(60, 2).repeat(4, axis=0).tolist(), table.outcome.repeat(4).tolist())
    naive = compare(copies, rules=["mean", "product"])
    honest = compare(replace(copies, cluster=7 * (np.arange(240) // 4)), rules=["mean", "product"])
    plain = compare(table, rules=["mean", "product"])
    widths = [
        found.brier.high - found.brier.low
        for found in (of(comparison, "mean") for comparison in (naive, honest, plain))
    ]
    assert widths[0] < 0.6 * widths[1]
    assert widths[1] == pytest.approx(widths[2])
    assert (naive.clusters, honest.clusters) == (None, 60)
    assert honest.individuals.slope == pytest.approx(plain.individuals.slope)
    assert honest.individuals.dependence == pytest.approx(plain.individuals.dependence)


def test_the_seed_decides_and_nothing_else() -> None:
    table = simulated(80, 4, slope=0.4)
    one, same, other = (compare(table, pairs=3, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert of(one, "mean").brier != of(other, "mean").brier


def test_unresolved_questions_are_left_out() -> None:
    table = simulated(100, 2)
    outcome = table.outcome.copy()
    outcome[80:] = np.nan
    comparison = compare(replace(table, outcome=outcome))
    assert (comparison.questions, comparison.left_out) == (80, 20)
    assert comparison.base_rate == table.outcome[:80].mean()


# ---------------------------------------------------------------------------------------------------------------- edges


def test_one_question_tells_nothing() -> None:
    comparison = compare(table_of([[0.9, 0.7]], [1]))
    assert all(rule.verdict in (Verdict.CANNOT_TELL, Verdict.REFERENCE) for rule in comparison.rules)
    assert all(rule.tied_with_best for rule in comparison.rules)
    assert of(comparison, "mean").brier == pytest.approx((0.04, 0.0, 1.0))
    assert of(comparison, "minimax").difference[1:] == (-1.0, 1.0)
    assert comparison.individuals.slope is None
    assert "nothing can be learnt" in " ".join(comparison.advice)


def test_five_questions_are_no_verdict_even_if_all_agree() -> None:
    comparison = compare(table_of([[0.9, 0.8]] * 5, [1] * 5), rules=["mean", "product"])
    found = of(comparison, "product")
    assert found.difference.high < 0
    assert found.verdict is Verdict.CANNOT_TELL
    assert (
        of(compare(table_of([[0.9, 0.8]] * 6, [1] * 6), rules=["mean", "product"]), "product").verdict is Verdict.BETTER
    )


def test_one_forecaster_and_equal_outcomes() -> None:
    comparison = compare(table_of([[p] for p in np.linspace(0, 1, 50)], [1] * 50))
    assert comparison.individuals.dependence is None
    assert comparison.individuals.slope is None
    assert of(comparison, "mean").auc is None
    assert comparison.pair_sample == ()
    assert comparison.recalibrated == ()
    assert diagnose(comparison).confidence is Confidence.CANNOT_TELL


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"pairs": 0}, r"^pairs must be a whole number, at least 1; it is 0\.$"),
        ({"clip": 0.5}, r"^clip must be a finite number, at least 0 and at most 0\.49; it is 0\.5\.$"),
        ({"draws": 10}, r"^draws must be a whole number, at least 100; it is 10\.$"),
        ({"recalibrate": "yes"}, r"^recalibrate must be one of auto, none, slope, platt, isotonic; it is 'yes'\.$"),
        ({"rules": ["maen"]}, r"the closest is 'mean'\.$"),
        ({"rules": ["mean", "mean"]}, r"^rules must have different names; mean is there twice\.$"),
        ({"rules": ["bordley"]}, r"^rule bordley needs the parameter prior"),
        ({"reference": "nobody"}, r"^rule must be one of"),
        ({"seed": -1}, r"^seed must be a whole number, at least 0; it is -1\.$"),
        ({"recalibrate": "slope"}, r"^recalibration needs at least 10 resolved questions to learn from; there are 2 "),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        compare(table_of([[0.9, 0.7], [0.2, 0.4]], [1, 0]), **options)


def test_without_outcomes_there_is_nothing_to_compare() -> None:
    with pytest.raises(
        InputError,
        match=r"^a comparison needs at least one question with an outcome and 1 answer; 0 of 2 questions have an outcome\.$",
    ):
        compare(table_of([[0.9, 0.7], [0.2, 0.4]], [math.nan, math.nan]))
    with pytest.raises(InputError, match=r"with an outcome and 2 answers; 2 of 2 questions have an outcome\.$"):
        compare(table_of([[0.9], [0.2]], [1, 0]), pairs=5)


def test_pairs_that_do_not_fit_into_memory_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"^scoring 79,999,800,000 pairs \(fewer pairs a question would do\) would need"
    ):
        compare(simulated(1, 400_000), pairs=10**12)


def test_progress_is_told_and_never_goes_back() -> None:
    told: list[tuple[str, float]] = []
    compare(simulated(50, 2, slope=0.3), progress=lambda line, share: told.append((line, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert any(line == "minimax" for line, _ in told)


def test_huge_tables_get_fewer_draws_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.evaluation.bootstrap.MOST_COUNTS", 500 * 60)
    comparison = compare(simulated(60, 2))
    assert comparison.draws == 500
    assert comparison.notes == ("The questions were drawn again 500 times instead of 2,000, as they are so many.",)


# ------------------------------------------------------------------------------------------------------- recalibration


def test_recalibration_is_automatic_where_the_slope_is_off() -> None:
    assert compare(simulated(300, 2), rules=RULES_HERE).recalibrated == ()
    assert compare(simulated(30, 2, slope=0.2), rules=RULES_HERE).recalibrated == ()  # too few questions
    off = simulated(800, 2, slope=0.25)
    assert compare(off, rules=RULES_HERE, recalibrate="none").recalibrated == ()
    comparison = compare(off, rules=RULES_HERE)
    assert {rule.recalibration for rule in comparison.recalibrated} == {"slope"}
    assert {rule.name for rule in comparison.recalibrated} == {rule.name for rule in comparison.rules}
    best = comparison.recalibrated[0]
    assert best.verdict is Verdict.BETTER
    assert best.difference.value == pytest.approx(best.brier.value - of(comparison, "mean").brier.value)


def test_recalibrated_answers_are_not_clipped_again() -> None:
    shy = simulated(2000, 1, slope=3.0)
    shy = replace(shy, probability=np.where(shy.outcome == 1, 0.9, 0.1))
    shy = replace(shy, probability=np.where(np.arange(2000) % 500 == 0, 1 - shy.probability, shy.probability))
    comparison = compare(shy, rules=["mean", "geometric-odds"], clip=0.05)
    assert {rule.brier.value < 0.004 for rule in comparison.recalibrated} == {True}  # 0.998 is right, 0.95 is not


# ------------------------------------------------------------------------------------------------ diagnosis and advice


def said(comparison: Comparison) -> str:
    return " ".join(comparison.advice)


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
    assert "minimax is the rule whose worst case is smallest there" in words
    assert not of(comparison, "minimax").tied_with_best  # with base rate 1/2, which product takes for granted
    assert words.startswith(
        "What to do: use product (0.1563 against 0.1743 of the mean), which did better here than minimax."
    )
    assert "The command: `robustpool aggregate FILE --rule product --clip 0.01`." in words
    assert "This is measured, not proved" in words
    without = compare(simulated(800, 2), rules=["mean", "minimax"])
    assert said(without).startswith("What to do: use minimax (0.1652 against 0.1743 of the mean). The command: ")
    tied = said(compare(simulated(250, 2, seed=2), rules=RULES_HERE))
    assert (
        "product, the best score, cannot be told from it. The command: `robustpool aggregate FILE --rule minimax"
        in tied
    )


def test_over_confident_agents_make_extremising_lose() -> None:
    table = simulated(1500, 2, slope=0.35, shared=0.3)
    comparison = compare(table, rules=RULES_HERE)
    found = diagnose(comparison)
    assert (found.confidence, found.extremising) == (Confidence.OVER, Extremising.HURTS)
    for name in ("minimax", "product", "karmarkar"):
        assert of(comparison, name).verdict is Verdict.WORSE
    words = said(comparison)
    assert "over-confident: their calibration slope is 0.4" in words
    assert "expected to lose to the mean, unless the forecasters are recalibrated first" in words
    assert "Every rule that goes beyond the average loses to the mean here, as expected." in words
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
    assert "next to no second opinion" in words
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
    assert "One by one the forecasters are over-confident" in words
    assert (
        "But averaging so many undoes it: the average of their log-odds should be stretched by 3.1 (2.6 to 3.6), so that rules "
        "that go about so far beyond it are expected to gain." in words
    )
    assert "Every rule that goes beyond the average beats the mean here, as expected." in words
    assert words.startswith("What to do: use extremized-odds (0.")
    assert "The command: `robustpool aggregate FILE --rule extremized-odds --clip 0.01`." in words
    assert "are expected to lose" not in words


@pytest.mark.parametrize(("questions", "agents"), [(150, 3), (1500, 2)])
def test_a_stretch_that_is_not_told_from_1_promises_no_gain(questions: int, agents: int) -> None:
    found = compare(simulated(questions, agents, slope=0.5, shared=0.3), rules=RULES_HERE)
    assert not diagnose(found).stretched
    assert "expected to lose to the mean, unless the forecasters are recalibrated first" in said(found)


# ------------------------------------------------------------------------------------------- nothing to be recommended


def test_equal_outcomes_teach_nothing() -> None:
    rng = np.random.default_rng(0)
    for outcome in (0, 1):
        comparison = compare(table_of(rng.random((80, 3)).tolist(), [outcome] * 80))
        assert comparison.advice == (
            "What to do: wait until other outcomes are in.",
            "All outcomes are the same: nothing can be learnt from them about rules.",
        )


def test_forecasts_that_point_the_wrong_way() -> None:
    table = simulated(300, 3)
    comparison = compare(replace(table, outcome=1 - table.outcome))
    assert diagnose(comparison).confidence is Confidence.WRONG_WAY
    assert comparison.recalibrated == ()
    words = said(comparison)
    assert words.startswith("What to do: look at the outcome column first. The forecasters point the wrong way: is the")
    assert "outcome column reversed? Their calibration slope is -0." in words
    assert not any(word in words for word in (" use ", "robustpool aggregate"))


def test_forecasts_without_information_are_worth_the_base_rate() -> None:
    rng = np.random.default_rng(1)
    comparison = compare(table_of(rng.random((300, 3)).tolist(), (rng.random(300) < 0.3).astype(float).tolist()))
    assert diagnose(comparison).confidence is Confidence.UNINFORMED
    words = said(comparison)
    assert words.startswith(
        "What to do: say the base rate and leave the forecasts aside. The forecasters carry no information"
    )
    assert (
        f"has a Brier score of {comparison.base_rate_brier:.4f}, the mean {of(comparison, 'mean').brier.value:.4f}."
        in words
    )
    assert not any(word in words for word in (" use ", "robustpool aggregate"))


def test_what_single_answers_hide_the_average_may_show() -> None:
    table = simulated(60, 200, slope=0.02, seed=3)
    comparison = compare(table, rules=RULES_HERE)
    assert diagnose(comparison).confidence is not Confidence.UNINFORMED


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
    assert f"Always saying the base rate has {comparison.base_rate_brier:.4f}, less than the mean." in said(comparison)


def test_one_answer_each_leaves_nothing_to_combine() -> None:
    comparison = compare(simulated(400, 1, slope=0.4), rules=["mean", "karmarkar"])
    assert comparison.individuals.dependence is None
    words = said(comparison)
    assert words.startswith(
        "What to do: there is nothing to combine, as each question has one answer; recalibrate it (slope)"
    )
    assert "--rule mean --recalibrate slope`." in words
    calibrated = compare(simulated(400, 1), rules=["mean", "karmarkar"])
    assert calibrated.advice[0] == "What to do: there is nothing to combine, as each question has one answer."


def test_what_four_digits_cannot_show_is_no_verdict() -> None:
    def hardly(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return reports.mean(axis=1) * (1 - 1e-5)

    comparison = compare(table_of([[0.9, 0.7]] * 30 + [[0.2, 0.3]] * 30, [0] * 60), rules=[hardly, "mean"])
    found = of(comparison, "hardly")
    assert -5e-5 < found.difference.low < found.difference.high < 0
    assert found.verdict is Verdict.CANNOT_TELL
    assert all(rule.tied_with_best for rule in comparison.rules)
    assert findable(comparison) is None


def test_minimax_is_called_smallest_where_that_is_proved() -> None:
    claim, weaker = "minimax is the rule whose worst case is smallest there", "minimax is made for it"
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
        ({"rules": ["extremized-odds:d=2"], "clip": 0.0}, "--rule extremized-odds:d=2`"),
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


def test_the_difference_that_is_found_four_times_out_of_five() -> None:
    """Many samples with that very difference: the interval excludes 0 in about 80 % of them."""
    options: Any = {"rules": ["mean", "karmarkar:a=1.5"], "draws": 200, "recalibrate": "none"}
    first = compare(simulated(60, 2, slope=0.8, seed=0), **options)
    step, half = findable(first), of(first, "karmarkar:a=1.5").difference
    assert step is not None
    assert step == pytest.approx((half.high - half.low) / 2 * 2.8 / 1.96)
    samples = np.random.default_rng(0).normal(step, (half.high - half.low) / 2 / 1.96, 4000)
    assert np.mean(np.abs(samples) > (half.high - half.low) / 2) == pytest.approx(0.8, abs=0.03)
    assert f"find a difference of {step:.1g} in Brier score four times out of five" in said(first)


@pytest.mark.parametrize("questions", [1, 5])
def test_too_few_questions_say_nothing_about_differences(questions: int) -> None:
    comparison = compare(table_of([[0.9, 0.7]] * questions, ([1, 0, 1, 1, 1] * 2)[:questions]))
    assert findable(comparison) is None
    if questions > 1:
        assert comparison.advice[1] == f"{questions} questions: a small sample, which cannot tell much."


def test_partly_shared_evidence_promises_nothing() -> None:
    comparison = compare(simulated(1500, 4, shared=0.6), rules=RULES_HERE)
    assert diagnose(comparison).sharing is Sharing.PARTLY
    assert "They share much of their evidence: " in said(comparison)


def test_a_small_sample_cannot_tell() -> None:
    comparison = compare(simulated(25, 25, slope=1.3))
    assert diagnose(comparison).sample is Sample.SMALL
    assert diagnose(comparison).extremising is Extremising.CANNOT_TELL
    words = said(comparison)
    assert "a small sample" in words
    assert "so few cannot tell which rule is best" in words
    assert "What to do: keep the mean" in words


def test_what_to_do_follows_the_scores_where_theory_is_silent() -> None:
    """Under-confident with evidence of their own: the best rule that is told apart, recalibrated or not."""
    comparison = compare(simulated(1500, 3, slope=2.0, shared=0.4), rules=RULES_HERE)
    assert diagnose(comparison).confidence is Confidence.UNDER
    assert "they correct under-confidence" in said(comparison)
    assert "Every rule that goes beyond the average beats the mean here, as expected." in said(comparison)
    raw = compare(simulated(1500, 3, slope=2.0, shared=0.4), rules=["mean", "karmarkar"], recalibrate="none")
    assert said(raw).startswith("What to do: use karmarkar (0.")
    assert "The command: `robustpool aggregate FILE --rule karmarkar`." in said(raw)  # it averages: nothing is clipped


def test_people_who_expect_too_much_are_not_sent_to_a_rule_that_leans() -> None:
    table = simulated(800, 5, slope=0.5, shared=0.5)
    optimists = replace(table, probability=1 / (1 + np.exp(-1.5) * (1 / table.probability - 1)))
    words = said(compare(optimists, rules=["mean", "geometric-mean", "minimax"], recalibrate="none"))
    assert words.startswith(
        "What to do: use the mean: nothing that was tried is surely better but geometric-mean, which leans towards no on every "
        "question. The command: `robustpool aggregate FILE --rule mean`."
    )
    corrected = compare(optimists, rules=["mean", "geometric-mean", "minimax"])
    assert {rule.recalibration for rule in corrected.recalibrated} == {"platt"}  # auto sees the lean
    assert corrected.recalibrated[0].verdict is Verdict.BETTER
    assert said(corrected).startswith("What to do: recalibrate the forecasters (platt), then use ")
    assert "since the mean expects too much" in said(corrected)


def test_an_extremising_reference_judges_no_extremising() -> None:
    comparison = compare(simulated(800, 2, slope=0.35), rules=RULES_HERE, reference="product")
    assert diagnose(comparison).extremising is Extremising.CANNOT_TELL
    assert "beyond the average loses" not in said(comparison)
    many = said(compare(simulated(600, 10, slope=0.6, shared=0.1), rules=RULES_HERE, reference="extremized-odds:d=3"))
    assert "beyond the average lose here" not in many
    assert "beyond the average loses" not in many


# ------------------------------------------------------------------------------ the real sets, where they are to be had

ALL = {
    "replication_surveys": (0.48, 0.2529, 0.2049, 0.2008),
    "fte_midterms": (1.89, 0.0306, 0.0297, 0.0294),
    "forecastbench_super": (1.04, 0.1275, 0.1197, 0.1194),
    "aggrecat_replication": (1.29, 0.1764, 0.1516, 0.1445),
}
MOST_WORDS = 180
PAIRS = {
    "replication_surveys": (0.2286, 0.2319, 0.2362),
    "fte_midterms": (0.0300, 0.0297, 0.0294),
    "forecastbench_super": (0.1230, 0.1232, 0.1236),
    "aggrecat_replication": (0.1635, 0.1613, 0.1598),
}
FOUND = {
    "replication_surveys": (Sample.ENOUGH, Confidence.OVER, Sharing.PARTLY, "forecasters are over-confident"),
    "fte_midterms": (Sample.ENOUGH, Confidence.UNDER, Sharing.NESTED, "information is nested"),
    "forecastbench_super": (Sample.ENOUGH, Confidence.IN_LINE, Sharing.PARTLY, "nothing promises that they beat"),
    "aggrecat_replication": (Sample.SMALL, Confidence.CANNOT_TELL, Sharing.PARTLY, "cannot tell which rule is best"),
}


def real(name: str) -> ForecastTable:
    """One of the four sets of shared/data, which the repository does not ship."""
    if not (DATA / f"{name}.csv").is_file():
        pytest.skip(f"{DATA} is not here; the repository ships none of these data")
    import pandas as pd

    rows = pd.read_csv(DATA / f"{name}.csv", dtype={"question_id": str, "forecaster_id": str})
    question, questions = pd.factorize(rows.question_id)
    forecaster, forecasters = pd.factorize(rows.forecaster_id)
    order = np.argsort(question, kind="stable")
    _, first = np.unique(question, return_index=True)
    return ForecastTable(
        list(questions),
        list(forecasters),
        question[order],
        forecaster[order],
        rows.probability.to_numpy()[order],
        rows.outcome.to_numpy(dtype=float)[first],
    )


@pytest.mark.parametrize("name", ALL)
def test_real_forecasts_all_of_a_question(name: str) -> None:
    comparison = compare(real(name), draws=500)
    slope, individual, mean, odds = ALL[name]
    assert comparison.individuals.slope is not None
    assert comparison.individuals.slope.value == pytest.approx(slope, abs=0.006)
    assert comparison.individuals.brier == pytest.approx(individual, abs=0.001)
    assert of(comparison, "mean").brier.value == pytest.approx(mean, abs=0.001)
    assert of(comparison, "geometric-odds").brier.value == pytest.approx(odds, abs=0.001)
    found = diagnose(comparison)
    assert (found.sample, found.confidence, found.sharing) == FOUND[name][:3]
    assert FOUND[name][3] in said(comparison)
    assert len(said(comparison).split()) <= MOST_WORDS


@pytest.mark.parametrize("name", PAIRS)
def test_real_forecasts_two_at_a_time(name: str) -> None:
    comparison = compare(real(name), pairs=2000, draws=500)
    for rule, brier in zip(("mean", "geometric-odds", "average-prior"), PAIRS[name], strict=True):
        assert of(comparison, rule).brier.value == pytest.approx(brier, abs=0.002)
    assert FOUND[name][3] in said(comparison)
    assert len(said(comparison).split()) <= MOST_WORDS


def test_over_confident_surveys_two_at_a_time_and_all_at_once() -> None:
    table = real("replication_surveys")
    everyone, two = compare(table), compare(table, pairs=500, draws=500)
    stretch = everyone.individuals.stretch
    assert stretch is not None
    assert stretch.value == pytest.approx(1.05, abs=0.01)
    for comparison in (everyone, two):
        assert not diagnose(comparison).stretched
        assert "expected to lose to the mean, unless the forecasters are recalibrated first" in said(comparison)
        assert {rule.recalibration for rule in comparison.recalibrated} == {"platt"}  # the mean expects too much
        assert "since the mean expects too much" in said(comparison)
    assert "Every rule that goes beyond the average loses to the mean here, as expected." in said(two)
    best = everyone.recalibrated[0]
    assert (best.name, round(best.brier.value, 4), best.verdict) == ("extremized-odds", 0.1867, Verdict.CANNOT_TELL)
    assert said(everyone).startswith(
        "What to do: use the mean: nothing that was tried is surely better but geometric-mean, which leans"
    )
    assert "to try it: `robustpool aggregate FILE --rule extremized-odds --recalibrate platt`" in said(everyone)
