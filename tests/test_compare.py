"""`compare`: what rules see, and what is told apart."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from forecasters import of, simulated, slope_alone, table_of
from refusals import input_error
from robustpool.aggregators.rules import RULES
from robustpool.errors import InputError
from robustpool.evaluation.comparison import compare
from robustpool.evaluation.diagnosis import Confidence, diagnose
from robustpool.evaluation.records import Interval, Verdict
from robustpool.learning.fitting import fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from robustpool.learning.records import FittedPool
    from robustpool.tables.records import ForecastTable

RULES_HERE = ["mean", "minimax", "geometric-odds", "product", "karmarkar"]


# ------------------------------------------------------------------------------------------------------ what is scored


def test_scores_are_those_of_a_plain_loop() -> None:
    answers = [[0.9, 0.7, 0.6], [0.2, 0.4], [0.5], [0.3, 0.8, 0.1, 0.6]]
    outcomes = [1, 0, 1, 0]
    comparison = compare(table_of(answers, outcomes), rules=["mean", "product"])
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
    comparison = compare(table, rules=["mean", "geometric-odds"], fit=False)
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
    comparison = compare(table, rules=["mean", "median"], fit=False)
    assert of(comparison, "mean").brier.value == pytest.approx((0.3**2 + 0.3**2) / 2)
    assert of(comparison, "median").brier.value == pytest.approx((0.5**2 + 0.3**2) / 2)
    assert comparison.notes == ("Scored without weights, because they do not accept any: median.",)


def test_the_stretch_is_that_of_the_weighted_answers() -> None:
    table = simulated(60, 2)
    log_odds = np.log(np.clip(table.probability, 0.01, 0.99)) - np.log1p(-np.clip(table.probability, 0.01, 0.99))
    together = log_odds.reshape(60, 2) @ [0.75, 0.25]
    found = compare(replace(table, weight=np.tile([3.0, 1.0], 60)), rules=[], draws=100, fit=False).individuals.stretch
    assert found == pytest.approx(slope_alone(together, table.outcome, np.ones(60), np.arange(60)))


def test_all_rules_are_scored_but_those_that_need_a_number() -> None:
    comparison = compare(simulated(50, 3), fit=False)
    assert {rule.name for rule in comparison.rules} | set(comparison.unscored) == set(RULES)
    assert "needs the parameter prior" in comparison.unscored["bordley"]
    assert "bordley:prior=0.3" in {
        rule.name for rule in compare(simulated(50, 3), rules=["bordley:prior=0.3"], fit=False).rules
    }


def test_a_rule_that_refuses_is_left_out_with_its_reason() -> None:
    def only_pairs(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if reports.shape[1] != 2:
            raise InputError("it is for two agents.")
        return reports.mean(axis=1)

    table = simulated(50, 3)
    assert compare(table, rules=[only_pairs], fit=False).unscored == {"only_pairs": "it is for two agents."}
    assert compare(table, rules=[only_pairs], pairs=3).unscored == {}
    with input_error(r"^reference must be a rule that can be scored; bordley cannot be: it needs"):
        compare(table, reference="bordley")


# --------------------------------------------------------------------------------------------------- what is told apart


def test_the_reference_is_added_and_differences_are_paired() -> None:
    table = simulated(300, 2)
    comparison = compare(table, rules=["product"], reference="karmarkar:a=2.5", fit=False)
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
        best = compare(table, rules=names, reference="product", fit=False).rules[0].name
        second = compare(table, rules=names, reference=best, fit=False).rules[1]
        assert second.difference.value > 0
        assert second.tied_with_best is tied is (second.difference.low < 0)


def test_two_names_for_one_rule_are_tied() -> None:
    comparison = compare(simulated(200, 2), rules=["mean", "median"], fit=False)  # the same for two answers
    found = of(comparison, "median")
    assert found.difference == Interval(0, 0, 0)
    assert found.verdict is Verdict.CANNOT_TELL
    assert all(rule.tied_with_best for rule in comparison.rules)


def test_clusters_widen_the_intervals() -> None:
    table = simulated(60, 2)
    copies = table_of(table.probability.reshape(60, 2).repeat(4, axis=0).tolist(), table.outcome.repeat(4).tolist())
    options: Any = {"rules": ["mean", "product"], "fit": False}
    naive = compare(copies, **options)
    honest = compare(replace(copies, cluster=7 * (np.arange(240) // 4)), **options)
    plain = compare(table, **options)
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
    comparison = compare(replace(table, outcome=outcome), fit=False)
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
    options: Any = {"rules": ["mean"], "draws": 200, "fit": False}
    found = compare(table_of(rows, outcomes), **options)
    rest = compare(table_of(rows[single:], outcomes[single:]), **options)
    assert (found.individuals.one_answer, rest.individuals.one_answer) == (single, 0)
    assert found.individuals.dependence == rest.individuals.dependence
    words = "1 question with a single answer is" if single == 1 else "24 questions with a single answer are"
    sentence = next(sentence for sentence in found.advice if "have a correlation of" in sentence)
    assert sentence.endswith(f" ({words} left out of this correlation).")
    assert not any("single answer" in sentence for sentence in rest.advice)


def test_one_forecaster_and_equal_outcomes() -> None:
    comparison = compare(table_of([[p] for p in np.linspace(0, 1, 50)], [1] * 50), recalibrate="auto")
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
        (
            {"rolling": True, "fit": False},
            r"^rolling is for a fitted pool, which needs all answers; it cannot be used with ",
        ),
        ({"rolling": True, "pairs": 3}, r"it cannot be used with pairs or without fit\.$"),
        ({"rolling": True}, r"^a pool needs at least 20 resolved questions to learn from; there are 2 "),
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


# --------------------------------------------------------------------------------------------------- what stands out


def noisy(number: int) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """A rule that is as good as the mean, but for a little noise of its own."""

    def rule(reports: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return reports.mean(axis=1) + 0.02 * np.random.default_rng(number).uniform(-1, 1, len(reports))

    rule.__name__ = f"noise-{number}"
    return rule


def test_a_lucky_rule_among_many_does_not_stand_out() -> None:
    """Of forty noisy means, one did significantly better than the mean; alone it would stand out."""
    table = simulated(200, 2)
    many = compare(table, rules=["mean", *map(noisy, range(40))], fit=False)
    lucky = [rule for rule in many.rules if rule.verdict is Verdict.BETTER]
    assert lucky
    assert not any(rule.stands_out for rule in many.rules)
    assert many.recommended == "mean"
    assert f"{lucky[0].name} scores best" in many.advice[0]
    assert many.advice[0].endswith("but with 40 rules tried, this may be luck.")
    alone = compare(table, rules=["mean", noisy(int(lucky[0].name.removeprefix("noise-")))], fit=False)
    assert alone.rules[0].stands_out
    assert alone.recommended == lucky[0].name


def test_a_rule_that_is_better_stands_out_among_many() -> None:
    comparison = compare(simulated(200, 2), rules=["mean", "minimax", *map(noisy, range(40))], fit=False)
    assert [rule.name for rule in comparison.rules if rule.stands_out] == ["minimax"]
    assert comparison.recommended == "minimax"


def test_the_reference_and_what_is_worse_do_not_stand_out() -> None:
    comparison = compare(simulated(800, 2, slope=0.35, shared=0.3), rules=RULES_HERE, fit=False)
    assert of(comparison, "product").verdict is Verdict.WORSE
    assert not any(rule.stands_out for rule in comparison.rules)


def test_recalibrated_rules_stand_out_too() -> None:
    options: Any = {"rules": ["mean", "product"], "recalibrate": "slope", "fit": False}
    comparison = compare(simulated(800, 2, slope=0.25), **options)
    assert comparison.recalibrated[0].stands_out
    assert [rule.stands_out for rule in comparison.rules] == [False, False]
    assert comparison.recommended == "mean"  # but are not recommended


# -------------------------------------------------------------------------------------------------------- a fitted pool


def test_the_fitted_pool_is_that_of_fit() -> None:
    table = simulated(100, 3, slope=0.5)
    found = compare(table, rules=["mean"], clip=0.05, seed=3, draws=200).fitted
    assert found is not None
    assert found.hash == fit(table, clip=0.05, seed=3, draws=200).hash
    assert found.aggregator.clip == 0.05
    unclipped = compare(table, rules=["mean"], clip=0, draws=200).fitted  # which a pool cannot do
    assert unclipped is not None
    assert unclipped.hash == fit(table, draws=200).hash


def test_no_pool_is_fitted_where_nothing_can_be_learned() -> None:
    def fitted(table: ForecastTable, **options: Any) -> FittedPool | None:
        return compare(table, rules=["mean"], draws=100, **options).fitted

    table = simulated(20, 2)
    assert fitted(table) is not None
    assert fitted(table, fit=False) is None
    assert fitted(table, pairs=3) is None
    assert fitted(simulated(19, 2)) is None
    assert fitted(replace(table, outcome=np.ones(20))) is None
    assert fitted(replace(simulated(40, 2), cluster=np.arange(40) // 4)) is None
    assert fitted(replace(simulated(40, 2), cluster=np.arange(40) // 2)) is not None


def test_why_no_pool_was_fitted_is_a_note() -> None:
    (note,) = compare(simulated(19, 2), rules=["mean"], draws=100).notes
    assert note.startswith(
        "No pool was fitted: a pool needs at least 20 resolved questions to learn from; there are 19 "
    )
    assert compare(simulated(19, 2), rules=["mean"], draws=100, fit=False).notes == ()
    assert compare(simulated(20, 2), rules=["mean"], draws=100).notes == ()


@pytest.mark.parametrize("fit", [True, False])
def test_a_comparison_knows_whether_there_are_times(fit: bool) -> None:
    """A rule that stands out is not recommended then, because people and questions may have changed."""
    table, days = simulated(60, 2), 86_400 * np.arange(60, dtype=np.float64)
    for timed in (replace(table, resolved=days), replace(table, timestamp=days[table.question])):
        assert compare(timed, rules=["mean"], draws=100, fit=fit).timed
    assert not compare(table, rules=["mean"], draws=100, fit=fit).timed


def test_times_are_for_the_pool_and_rolling_months_are_those_of_fit() -> None:
    table = simulated(200, 3, slope=0.5)
    days = 86_400 * np.arange(200, dtype=np.float64)
    dated = replace(table, resolved=days)
    by_answers = replace(table, timestamp=days[table.question])
    for timed in (dated, by_answers):
        blocks = compare(timed, rules=["mean"], draws=100).fitted
        months = compare(timed, rules=["mean"], draws=100, rolling=True).fitted
        assert blocks is not None
        assert months is not None
        assert (len(blocks.periods), len(months.periods)) == (8, 5)
        assert "5 months" in months.scheme
        assert months.hash == fit(timed, rolling=True, draws=100).hash
    with input_error(r"^rolling months need a time for each question"):
        compare(table, rolling=True)


# ------------------------------------------------------------------------------------------------------- recalibration


def test_automatic_recalibration_is_for_slopes_that_are_off() -> None:
    options: Any = {"rules": RULES_HERE, "fit": False}
    assert compare(simulated(300, 2), **options, recalibrate="auto").recalibrated == ()
    too_few = simulated(30, 2, slope=0.2)
    assert compare(too_few, **options, recalibrate="auto").recalibrated == ()
    off = simulated(800, 2, slope=0.25)
    assert compare(off, **options).recalibrated == ()  # only if it is asked for
    comparison = compare(off, **options, recalibrate="auto")
    assert {rule.recalibration for rule in comparison.recalibrated} == {"slope"}
    assert {rule.name for rule in comparison.recalibrated} == {rule.name for rule in comparison.rules}
    best = comparison.recalibrated[0]
    assert best.verdict is Verdict.BETTER
    assert best.difference.value == pytest.approx(best.brier.value - of(comparison, "mean").brier.value)


@pytest.mark.parametrize("lean", [-1.0, 1.0])
def test_people_who_lean_but_are_as_sure_as_they_are_right_get_an_intercept(lean: float) -> None:
    table = simulated(300, 2)
    leaning = replace(table, probability=1 / (1 + np.exp(-lean) * (1 / table.probability - 1)))
    comparison = compare(leaning, rules=["mean"], recalibrate="auto", fit=False)
    slope, intercept = comparison.individuals.slope, comparison.individuals.intercept
    assert slope is not None
    assert intercept is not None
    assert slope.low < 1 < slope.high
    assert intercept.low < -lean < intercept.high
    assert {rule.recalibration for rule in comparison.recalibrated} == {"platt"}


@pytest.mark.parametrize(("questions", "methods"), [(39, set()), (40, {"slope"})])
def test_recalibration_is_automatic_from_forty_questions_on(questions: int, methods: set[str]) -> None:
    comparison = compare(simulated(questions, 3, slope=0.2, seed=1), rules=["mean"], recalibrate="auto", fit=False)
    assert {rule.recalibration for rule in comparison.recalibrated} == methods


def test_automatic_recalibration_leaves_options_alone() -> None:
    table = simulated(100, 2, slope=0.2)
    options = replace(
        table, probability=np.stack([1 - table.probability, table.probability], axis=1), options=[("no", "yes")] * 100
    )
    for given, methods in ((table, {"slope"}), (options, set())):
        comparison = compare(given, rules=["mean"], recalibrate="auto", fit=False)
        assert {rule.recalibration for rule in comparison.recalibrated} == methods


def test_questions_with_up_to_two_answers_are_counted() -> None:
    table = table_of([[0.5] * n for n in (1, 2, 3, 4, 5)], [1, 0, 1, 0, 1])
    assert compare(table, rules=["mean"]).up_to_two == 0.4


def test_recalibrated_answers_are_not_clipped_again() -> None:
    shy = simulated(2000, 1, slope=3.0)
    shy = replace(shy, probability=np.where(shy.outcome == 1, 0.9, 0.1))
    shy = replace(shy, probability=np.where(np.arange(2000) % 500 == 0, 1 - shy.probability, shy.probability))
    comparison = compare(shy, rules=["mean", "geometric-odds"], clip=0.05, recalibrate="auto", fit=False)
    assert {rule.brier.value < 0.004 for rule in comparison.recalibrated} == {True}  # 0.998 is right, 0.95 is not
