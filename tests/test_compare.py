"""`compare`: what rules see, and what is told apart."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from forecasters import of, simulated, slope_alone, table_of
from refusals import input_error
from robustpool.aggregators.rules import RULES
from robustpool.errors import InputError
from robustpool.evaluation.comparison import compare
from robustpool.evaluation.diagnosis import Confidence, diagnose
from robustpool.evaluation.records import Interval, Verdict

RULES_HERE = ["mean", "minimax", "geometric-odds", "product", "karmarkar"]


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
    assert sum((1, -1, 1) * np.array(of(comparison, "mean").decomposition)) == pytest.approx((first + 0.3**2) / 2)
    assert of(comparison, "mean").sharpness == pytest.approx(
        np.cov([0.8, 0.75, 0.65, 0.3], aweights=[1, 1, 1, 3], ddof=0)  # each question counts once
    )


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
    seen.clear()
    compare(table, rules=["mean", spy])  # what a function sees is clipped only if somebody asks for it
    assert np.concatenate(seen).tolist() == [[0.0, 0.3], [1.0, 0.6]]


def test_a_0_and_a_1_are_numbers_to_an_average_and_are_counted() -> None:
    table = table_of([[0.0, 1.0, 0.5, 0.9], [0.2, 0.4, 0.1, 0.1]], [1, 0])
    comparison = compare(table, rules=["mean", "geometric-odds"])
    assert of(comparison, "mean").brier.value == pytest.approx((0.4**2 + 0.2**2) / 2)
    assert comparison.clipped == 2
    assert comparison.notes == (
        (
            "2 of 8 answers were clipped to [0.01, 0.99] for rules in which a certain answer decides, as in "
            "`aggregate`; --clip 0 turns this off."
        ),
        "1 question with both a 0 and a 1: averages use them as numbers.",
    )
    assert compare(table, rules=["mean", "karmarkar"]).clipped == 0
    assert compare(table, rules=["mean", "product"], clip=0.15).clipped == 5
    unclipped = compare(table, rules=["mean", "geometric-odds"], clip=0)
    assert of(unclipped, "geometric-odds").brier.value > of(comparison, "geometric-odds").brier.value
    assert unclipped.notes[0].endswith("averages use them as numbers, all other rules return 0.5.")


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
    assert comparison.notes == ("Scored without weights, because they do not accept any: median.",)


def test_the_stretch_is_that_of_the_weighted_answers() -> None:
    table = simulated(60, 2)
    log_odds = np.log(np.clip(table.probability, 0.01, 0.99)) - np.log1p(-np.clip(table.probability, 0.01, 0.99))
    together = log_odds.reshape(60, 2) @ [0.75, 0.25]
    found = compare(replace(table, weight=np.tile([3.0, 1.0], 60)), rules=[], draws=100).individuals.stretch
    assert found == pytest.approx(slope_alone(together, table.outcome, np.ones(60), np.arange(60)))


def test_all_rules_are_scored_but_those_that_need_a_number() -> None:
    comparison = compare(simulated(50, 3))
    assert {rule.name for rule in comparison.rules} | set(comparison.unscored) == set(RULES)
    assert "needs the parameter prior" in comparison.unscored["bordley"]
    assert "bordley:prior=0.3" in {rule.name for rule in compare(simulated(50, 3), rules=["bordley:prior=0.3"]).rules}


def test_a_rule_that_refuses_is_left_out_with_its_reason() -> None:
    def only_pairs(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if reports.shape[1] != 2:
            raise InputError("it is for two agents.")
        return reports.mean(axis=1)

    table = simulated(50, 3)
    assert compare(table, rules=[only_pairs]).unscored == {"only_pairs": "it is for two agents."}
    assert compare(table, rules=[only_pairs], pairs=3).unscored == {}
    with input_error(r"^reference must be a rule that can be scored; bordley cannot be: it needs"):
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


def test_who_cannot_be_told_from_the_best_is_tied_with_it() -> None:
    for questions, tied in ((60, True), (3000, False)):
        table, names = simulated(questions, 2), ["product", "geometric-odds"]
        best = compare(table, rules=names, reference="product").rules[0].name
        second = compare(table, rules=names, reference=best).rules[1]
        assert second.difference.value > 0
        assert second.tied_with_best is tied is (second.difference.low < 0)


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
    briers = [of(comparison, "mean").brier for comparison in (naive, honest, plain)]
    widths = [brier.high - brier.low for brier in briers]
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
    assert "they cannot show which rule is better" in " ".join(comparison.advice)


def test_five_questions_are_no_verdict_even_if_all_agree() -> None:
    comparison = compare(table_of([[0.9, 0.8]] * 5, [1] * 5), rules=["mean", "product"])
    found = of(comparison, "product")
    assert found.difference.high < 0
    assert found.verdict is Verdict.CANNOT_TELL
    more = compare(table_of([[0.9, 0.8]] * 6, [1] * 6), rules=["mean", "product"])
    assert of(more, "product").verdict is Verdict.BETTER


@pytest.mark.parametrize("single", [1, 24])
def test_questions_with_one_answer_are_left_out_of_the_dependence_and_counted(single: int) -> None:
    table = simulated(100, 3)
    outcomes = table.outcome.astype(int).tolist()
    answers = table.probability.reshape(100, 3).tolist()
    rows = [row[: 1 if q < single else 2 + q % 2] for q, row in enumerate(answers)]
    found = compare(table_of(rows, outcomes), rules=["mean"], draws=200)
    rest = compare(table_of(rows[single:], outcomes[single:]), rules=["mean"], draws=200)
    assert (found.individuals.one_answer, rest.individuals.one_answer) == (single, 0)
    assert found.individuals.dependence == rest.individuals.dependence
    words = "1 question with a single answer is" if single == 1 else "24 questions with a single answer are"
    sentence = next(sentence for sentence in found.advice if "have a correlation of" in sentence)
    assert sentence.endswith(f" ({words} left out of this correlation).")
    assert not any("single answer" in sentence for sentence in rest.advice)


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
        ({"clip": 0.5}, r"^clip must lie in \[0, 0\.5\); it is 0\.5\.$"),
        ({"draws": 10}, r"^draws must be a whole number, at least 100; it is 10\.$"),
        ({"recalibrate": "yes"}, r"^recalibrate must be one of auto, none, slope, platt, isotonic; it is 'yes'\.$"),
        ({"rules": ["maen"]}, r"the closest is 'mean'\.$"),
        ({"rules": ["mean", "mean"]}, r"^rules must have different names; mean occurs twice\.$"),
        ({"rules": ["bordley"]}, r"^rule bordley needs the parameter prior"),
        ({"reference": "nobody"}, r"^rule must be one of"),
        ({"seed": -1}, r"^seed must be a whole number, at least 0; it is -1\.$"),
        ({"recalibrate": "slope"}, r"^recalibration needs at least 10 resolved questions to learn from; there are 2 "),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with input_error(sentence):
        compare(table_of([[0.9, 0.7], [0.2, 0.4]], [1, 0]), **options)


def test_without_outcomes_there_is_nothing_to_compare() -> None:
    with input_error(
        r"^a comparison needs at least one question with an outcome and 1 answer; 0 of 2 questions have an outcome\.$"
    ):
        compare(table_of([[0.9, 0.7], [0.2, 0.4]], [math.nan, math.nan]))
    with input_error(r"with an outcome and 2 answers; 2 of 2 questions have an outcome\.$"):
        compare(table_of([[0.9], [0.2]], [1, 0]), pairs=5)


def test_pairs_that_do_not_fit_into_memory_are_refused() -> None:
    with input_error(r"^scoring 79,999,800,000 pairs \(fewer pairs a question would do\) would need"):
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
    assert comparison.notes == ("The bootstrap used 500 draws instead of 2,000, because there are so many questions.",)


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


@pytest.mark.parametrize("lean", [-1.0, 1.0])
def test_people_who_lean_but_are_as_sure_as_they_are_right_get_an_intercept(lean: float) -> None:
    table = simulated(300, 2)
    leaning = replace(table, probability=1 / (1 + np.exp(-lean) * (1 / table.probability - 1)))
    comparison = compare(leaning, rules=["mean"])
    slope, intercept = comparison.individuals.slope, comparison.individuals.intercept
    assert slope is not None
    assert intercept is not None
    assert slope.low < 1 < slope.high
    assert intercept.low < -lean < intercept.high
    assert {rule.recalibration for rule in comparison.recalibrated} == {"platt"}


@pytest.mark.parametrize(("questions", "methods"), [(39, set()), (40, {"slope"})])
def test_recalibration_is_automatic_from_forty_questions_on(questions: int, methods: set[str]) -> None:
    comparison = compare(simulated(questions, 3, slope=0.2, seed=1), rules=["mean"])
    assert {rule.recalibration for rule in comparison.recalibrated} == methods


def test_questions_with_up_to_three_answers_are_counted() -> None:
    table = table_of([[0.5] * n for n in (1, 2, 3, 4, 5)], [1, 0, 1, 0, 1])
    assert compare(table, rules=["mean"]).up_to_three == 0.6


def test_recalibrated_answers_are_not_clipped_again() -> None:
    shy = simulated(2000, 1, slope=3.0)
    shy = replace(shy, probability=np.where(shy.outcome == 1, 0.9, 0.1))
    shy = replace(shy, probability=np.where(np.arange(2000) % 500 == 0, 1 - shy.probability, shy.probability))
    comparison = compare(shy, rules=["mean", "geometric-odds"], clip=0.05)
    assert {rule.brier.value < 0.004 for rule in comparison.recalibrated} == {True}  # 0.998 is right, 0.95 is not
