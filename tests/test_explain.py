"""`explain` and `robustpool aggregate --explain`: the numbers, the sentences, the plot, and what is refused."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from dataclasses import FrozenInstanceError, asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import robustpool as rp
from programs import PROGRAM, run_program, run_robustpool
from refusals import input_error
from robustpool import ContradictionWarning, aggregate, get_rule, load_design, load_family, regret
from robustpool.aggregators.rules import RULES
from robustpool.aggregators.worst_cases import WORST_CASES
from robustpool.designs.design_file import save_design
from robustpool.explanation.explain import PRIORS, explain
from robustpool.explanation.sentences import MADE_FOR, NO_PROMISE
from robustpool.families.conditionally_independent import ConditionallyIndependent
from robustpool.families.family_file import EXAMPLES
from robustpool.families.random_families import random_family
from robustpool.families.worlds import WORLDS
from robustpool.solvers.solve import solve
from robustpool.structures.information_structure import InformationStructure
from robustpool.views import explanation as edge
from robustpool.views.terminal import terminal_width
from robustpool.wording import percent, shown

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from robustpool.explanation.records import Explanation

INNER = st.floats(1e-6, 1 - 1e-6)
Range = tuple[float, float]  # of priors


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with designs for a finite family, for independent agents, and for reports that are vectors."""
    folder = tmp_path_factory.mktemp("designs")
    save_design(solve(load_family(EXAMPLES / "weather.json")), folder / "weather.json")
    save_design(solve(ConditionallyIndependent(2, 4, 8, (0.25, 0.5))), folder / "independent.json")
    save_design(solve(ConditionallyIndependent(2, 4, 8), loss="log", tolerance=1e-2), folder / "log.json")
    save_design(solve(random_family(structures=2, states=3, rng=1)), folder / "vectors.json")
    return folder


def run(*arguments: str, cwd: Path | None = None) -> CompletedProcess[str]:
    return run_robustpool("aggregate", *arguments, cwd=cwd, env={"COLUMNS": "80"})


def chosen(why: Explanation) -> str:
    (name,) = (said.name for said in why.rules if said.chosen)
    return name


def sentence(why: Explanation, words: str) -> str:
    """The one sentence of the closing paragraph with these words."""
    (found,) = (one for one in why.closing if words in one)
    return found


def cost(why: Explanation) -> str:
    """The sentence on what the forecast can cost: the bound, or where to find it."""
    (found,) = (
        one for one in why.closing if "expected squared error is at most" in one or "worst-case regret of this" in one
    )
    return found


# --------------------------------------------------------------------------------------------------------- the numbers


@settings(max_examples=60, deadline=None)
@given(st.lists(INNER, min_size=2, max_size=5), INNER, INNER)
def test_the_posterior_falls_in_the_prior(reports: list[float], one: float, two: float) -> None:
    why = explain(reports)
    low, high = sorted((one, two))
    assert why.posterior_at(low) >= why.posterior_at(high)
    assert [posterior for _, posterior in why.posterior] == sorted((p for _, p in why.posterior), reverse=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-3, 1 - 1e-3), min_size=2, max_size=5), st.sampled_from(["robust", "mean", "product"]))
def test_agrees_at_and_even_at_invert_the_posterior(reports: list[float], rule: str) -> None:
    why = explain(reports, rule)
    assume(why.agrees_at is not None and 1e-9 < why.agrees_at < 1 - 1e-9)
    assume(why.even_at is not None and 1e-9 < why.even_at < 1 - 1e-9)
    assert why.agrees_at is not None
    assert why.even_at is not None
    assert why.posterior_at(why.agrees_at) == pytest.approx(why.forecast, rel=1e-5)
    assert why.posterior_at(why.even_at) == pytest.approx(0.5, rel=1e-5)


def test_by_hand() -> None:
    """Odds 7/3 and 3/2, product 7/2: at the prior 1/2 the posterior is 7/9, and it is 1/2 where the prior's odds are 7/2."""
    why = explain([0.7, 0.6], "product")
    assert why.forecast == pytest.approx(7 / 9)
    assert why.agrees_at == pytest.approx(1 / 2)
    assert why.even_at == pytest.approx(7 / 9)
    assert dict(why.posterior)[0.25] == pytest.approx(21 / 23)
    assert [prior for prior, _ in why.posterior] == list(PRIORS)
    assert why.base_rate_matters
    with pytest.raises(FrozenInstanceError):
        why.forecast = 0.5  # type: ignore[misc]


def test_every_rule_is_listed_with_its_worst_case_the_best_first() -> None:
    why = explain([0.7, 0.6])
    assert {said.name for said in why.rules} == set(RULES) - {"bordley"}  # which needs a prior
    regrets = [said.regret for said in why.rules if said.regret is not None]
    assert regrets == sorted(regrets)
    assert len(regrets) == len(why.rules)
    known = json.loads(WORST_CASES.read_text())
    for said in why.rules:
        assert said.forecast == aggregate([0.7, 0.6], said.name)
        record = known[said.name]
        assert (said.regret, said.proved) == (record["upper" if record["proved"] else "found"], record["proved"])
    assert chosen(why) == why.rule == "robust"


@pytest.mark.parametrize("reports", [[0.7], [0.7, 0.6, 0.2], [0.5] * 12])
def test_other_numbers_of_agents_have_no_worst_case_on_record(reports: list[float]) -> None:
    why = explain(reports)
    assert all(said.regret is None and not said.proved for said in why.rules)
    forecasts: list[Any] = [round(said.forecast, 9) for said in why.rules]  # type: ignore[arg-type]
    assert forecasts == sorted(forecasts)


def test_a_rule_with_parameters_of_its_own_comes_first_and_the_default_ones_are_recognised() -> None:
    why = explain([0.7, 0.6], "extremized-odds:d=2")
    assert (why.rules[0].name, why.rules[0].regret, why.rules[0].chosen) == ("extremized-odds:d=2", None, True)
    assert "`robustpool certify extremized-odds:d=2` proves it" in cost(why)
    same = explain([0.7, 0.6], "extremized-odds:d=2.5")
    assert chosen(same) == "extremized-odds"
    assert len(same.rules) == len(why.rules) - 1
    assert chosen(explain([0.7, 0.6], get_rule("mean"))) == "mean"


def test_a_function_is_explained_under_its_name_and_never_taken_for_a_rule() -> None:
    def mean(reports: Any) -> Any:
        return 0.5 * reports.mean(axis=1)

    why = explain([0.7, 0.6], mean)
    assert (why.rules[0].name, why.rules[0].chosen, why.rules[0].regret) == ("mean", True, None)
    assert sum(said.chosen for said in why.rules) == 1
    assert "`robustpool.worst_case` searches for it" in cost(why)
    assert "her report is the answer" in sentence(why, "below the lowest report")


def test_who_did_not_answer_does_not_count() -> None:
    assert explain([0.7, None, 0.6, np.nan]) == explain([0.7, 0.6])


def test_clipping_takes_the_recorded_worst_cases_away() -> None:
    why = explain([0.0, 0.9], clip=0.01)
    assert why.reports == (0.01, 0.9)
    assert all(said.regret is None for said in why.rules)
    assert "without clipping" in why.on_rules[0]
    assert why.closing[0].startswith("Two forecasters say 0.01 and 0.9 (clipped to [0.01, 0.99])")
    assert cost(why).endswith("is not proved here.")  # and no command, as none clips
    assert explain([0.7, 0.6], clip=0.0).rules[0].regret is not None  # clips nothing


def test_what_is_clipped_by_default_is_explained_as_if_it_had_been_asked_for() -> None:
    by_default, asked = explain([0.0, 0.9]), explain([0.0, 0.9], clip=0.01)
    assert by_default == asked
    assert by_default.forecast == aggregate([0.0, 0.9], clip=0.01)
    averaged = explain([0.0, 0.9], "mean")
    assert averaged.reports == (0.0, 0.9)
    assert averaged.closing[0] == "Two forecasters say 0 and 0.9. The rule mean combines them into 0.450."
    for why in (asked, averaged):
        assert all(said.forecast == aggregate([0.0, 0.9], said.name, clip=0.01) for said in why.rules)
        assert all(said.regret is None for said in why.rules)
    assert explain([0.7, 0.6], clip=0.01) == explain([0.7, 0.6])


def test_with_nothing_to_clip_the_promise_is_that_of_the_rule_as_such() -> None:
    by_default, unclipped = explain([0.7, 0.6]), explain([0.7, 0.6], clip=0)
    assert "applies to the rules without clipping (--clip 0)" in by_default.on_rules[-1]
    assert "(proved, without clipping; no rule" in cost(by_default)
    assert "(proved; no rule" in cost(unclipped)
    assert len(unclipped.on_rules) == len(by_default.on_rules) - 1
    assert "(proved). The root" in cost(explain([0.7, 0.6], "mean"))  # which is never clipped


# ----------------------------------------------------------------------------------------------------- the short answer


def test_the_short_answer_has_the_number_a_range_and_one_sentence() -> None:
    """Odds 7/2 over 1/3 and over 3: 21/2 and 7/6, that is 21/23 = 0.9130... and 7/13 = 0.5384..."""
    why = explain([0.7, 0.6])
    assert why.answer == (
        "The answer is 0.654.",
        (
            "If their private evidence is independent and the base rate lies between 25 % and 75 %, the right "
            "answer lies between "
            "0.538 and 0.914."
        ),
        "Use 0.654 if you know neither the base rate nor how much of their evidence they share.",
    )
    assert why.span is not None
    assert (why.span.low, why.span.high) == (0.25, 0.75)
    assert (why.span.posterior_low, why.span.posterior_high) == pytest.approx((7 / 13, 21 / 23))
    assert why.sentences[:3] == why.answer
    assert edge.as_lines(why, 400, braille=False)[0] == " ".join(why.answer)


def test_the_short_answer_with_a_range_a_base_rate_another_rule_or_one_report() -> None:
    ranged = explain([0.7, 0.6], prior_range=(0.05, 0.2))
    assert "between 5 % and 20 %, the right answer lies between 0.933 and 0.986." in ranged.answer[1]
    assert ranged.answer[2] == "Use that if you trust both assumptions; otherwise use 0.654."
    known = explain([0.7, 0.6], prior_range=(0.2, 0.2))
    assert known.answer[1] == (
        "If their private evidence is independent and the base rate is 20 %, the right answer is 0.933."
    )
    other = explain([0.7, 0.6], "product")
    assert other.answer[2] == "This is the forecast of product; the default rule, robust, gives 0.654."
    assert explain([0.7]).answer == (
        "The answer is 0.700.",
        "There is only one report, so there is nothing to combine.",
    )


# ------------------------------------------------------------------------------------------------------- the base rate


@pytest.mark.parametrize(("reports", "said"), [([0.0, 0.4], 0.0), ([0.4, 1.0, 1.0], 1.0)])
def test_a_certain_report_decides_at_every_base_rate(reports: list[float], said: float) -> None:
    why = explain(reports, prior_range=(0.1, 0.2), clip=0)
    assert {posterior for _, posterior in why.posterior} == {said}
    assert (why.agrees_at, why.even_at, why.base_rate_matters) == (None, None, False)
    assert f"the answer is {said:g} at every base rate" in why.on_base_rate[0]
    assert why.on_range == (f"Knowing the base rate changes nothing: the posterior is always {said:g}.",)
    assert why.prior_range is not None
    assert why.prior_range.command is None
    assert "One report is certain" in sentence(why, "unless --clip 0 is given")
    sentence_of_the_certain = "One report is certain. If it is right, the base rate does not matter."
    assert why.answer == (f"The answer is {said:g}.", sentence_of_the_certain)
    assert why.span is None
    assert why.on_range[0] in why.closing
    assert not any("the right answer if" in said for said in why.closing)


def test_a_contradiction_warns_and_says_so() -> None:
    with pytest.warns(ContradictionWarning, match="contradict each other"):
        why = explain([0.0, 1.0], clip=0)
    assert (why.forecast, why.posterior, why.agrees_at, why.even_at) == (0.5, (), None, None)
    assert "not all of the forecasters can be right" in why.on_base_rate[0]
    assert "Ask again" in why.closing[1]
    assert why.answer == (
        "The answer is 0.500.",
        "It is not a forecast: the reports contradict each other, so ask again.",
    )
    assert len(why.closing) == 2


def test_one_forecaster_has_the_base_rate_in_her_report() -> None:
    why = explain([0.6], "extremized-odds", prior_range=(0.1, 0.2))
    assert [posterior for _, posterior in why.posterior] == pytest.approx([0.6] * len(PRIORS))
    assert not why.base_rate_matters
    assert "nothing to combine" in why.on_rules[0]
    assert why.on_range == (
        "Knowing the base rate does not change a single report, which already takes it into account.",
    )
    assert why.closing[1:] == ("It is as good as its source: a single forecaster cannot be checked against others.",)


def test_forecasts_that_no_base_rate_explains() -> None:
    certain = explain([0.7, 0.6], lambda reports: np.zeros(len(reports)))
    assert certain.agrees_at is None
    assert "At no base rate strictly between 0 % and 100 %" in certain.on_base_rate[1]
    assert not any("the right answer if" in said for said in certain.closing)
    tiny = explain([1e-300, 1e-300], clip=0)
    assert tiny.even_at is None
    assert "it is 0.5 only next to 0 % or 100 %" in tiny.on_base_rate[1]


# --------------------------------------------------------------------------------------------------- a range of priors


@settings(max_examples=40, deadline=None)
@given(st.lists(INNER, min_size=2, max_size=4), st.tuples(INNER, INNER), INNER)
def test_the_posterior_of_a_prior_lies_in_the_interval(reports: list[float], ends: Range, share: float) -> None:
    low, high = sorted(ends)
    why = explain(reports, prior_range=(low, high))
    known = why.prior_range
    assert known is not None
    between = why.posterior_at(min(max(low + share * (high - low), low), high))
    assert known.posterior_low - 1e-12 <= between <= known.posterior_high + 1e-12
    errors = [abs(known.middle - end) for end in (known.posterior_low, known.posterior_high)]
    assert errors[0] == pytest.approx(errors[1], abs=1e-12)


@pytest.mark.parametrize(
    ("ends", "where"), [((0.05, 0.2), "lies below"), ((0.6, 0.7), "lies inside"), ((0.8, 0.9), "lies above")]
)
def test_where_the_forecast_stands(ends: tuple[float, float], where: str) -> None:
    why = explain([0.7, 0.6], prior_range=ends)
    assert why.prior_range is not None
    assert where in why.on_range[0]
    assert why.prior_range.contains_forecast == (where == "lies inside")
    low, high = ends
    assert why.prior_range.command is not None
    assert why.prior_range.command.startswith(f"robustpool design --prior-range {low} {high} --nature continuous")
    assert explain([0.7, 0.6, 0.6], prior_range=ends).prior_range.command is None  # type: ignore[union-attr]


def test_a_forecast_at_an_end_of_the_interval_lies_inside_up_to_rounding() -> None:
    """At the reports 0.7 and 0.6 and a prior of 0.2 the posterior is 14/15."""

    def inside(forecast: float, ends: tuple[float, float]) -> bool:
        known = explain([0.7, 0.6], lambda reports: np.full(len(reports), forecast), prior_range=ends).prior_range
        assert known is not None
        return known.contains_forecast

    assert inside(14 / 15 - 0.9e-12, (0.1, 0.2))
    assert not inside(14 / 15 - 1.1e-12, (0.1, 0.2))
    assert inside(14 / 15 + 0.9e-12, (0.2, 0.3))
    assert not inside(14 / 15 + 1.1e-12, (0.2, 0.3))


def test_the_ends_of_the_interval_are_rounded_outward() -> None:
    sentence = explain([0.7, 0.6], prior_range=(0.05, 0.2)).on_range[0]
    assert "between 0.933 and 0.986;" in sentence  # 14/15 = 0.9333..., 133/135 = 0.98518...


@pytest.mark.parametrize(("ends", "limits"), [((0, 0.5), (7 / 9, 1)), ((0.5, 1), (0, 7 / 9))])
def test_a_range_up_to_0_or_1_has_the_limits(ends: tuple[float, float], limits: tuple[float, float]) -> None:
    known = explain([0.7, 0.6], prior_range=ends).prior_range
    assert known is not None
    assert (known.posterior_low, known.posterior_high) == pytest.approx(limits)
    assert known.command is not None
    assert f"--prior-range {ends[0]} {ends[1]} " in known.command


def test_all_base_rates_are_nothing_to_know() -> None:
    why = explain([0.7, 0.6], prior_range=(0, 1))
    assert why.prior_range is not None
    assert (why.prior_range.posterior_low, why.prior_range.posterior_high) == (0, 1)
    assert why.prior_range.command is None
    (said,) = why.on_range
    assert "between 0 % and 100 % carries no information" in said
    assert said in why.closing


@pytest.mark.parametrize("n", [2, 3])
def test_a_known_prior_is_the_rule_bordley(n: int) -> None:
    why = explain([0.7, 0.6, 0.2][:n], prior_range=(0.3, 0.3))
    known = why.prior_range
    assert known is not None
    assert known.posterior_low == known.posterior_high == aggregate([0.7, 0.6, 0.2][:n], "bordley:prior=0.3")
    assert known.command == f"robustpool aggregate {' '.join(['0.7', '0.6', '0.2'][:n])} --rule bordley:prior=0.3"
    assert "(the rule bordley with this prior)" in why.on_range[0]
    printed = run(*known.command.split()[2:]).stdout
    assert float(printed) == pytest.approx(known.middle, rel=1e-5)
    assert f"    {known.command}" in edge.as_lines(why, 80, braille=False)
    own = explain([0.7, 0.6], "bordley:prior=0.3", prior_range=(0.3, 0.3))
    assert own.prior_range is not None
    assert own.prior_range.contains_forecast
    assert own.agrees_at == pytest.approx(0.3)


# ------------------------------------------------------------------------------------------------------- the sentences


def test_the_promise_is_rounded_outward_and_comes_from_the_record() -> None:
    upper = json.loads(WORST_CASES.read_text())["mean"]["upper"]
    said = cost(explain([0.7, 0.6], "mean"))
    (number,) = (float(word) for word in said.split() if word.startswith("0.0"))
    assert upper <= number < upper + 1e-6
    (points,) = re.findall(r"at most ([0-9.]+) percentage points", said)
    assert 0 <= float(points) - 100 * upper**0.5 < 0.1
    assert "(proved)." in said
    assert "no rule in the list has a smaller bound" in cost(explain([0.7, 0.6]))
    assert "0.022543 above" in cost(explain([0.7, 0.6]))


@pytest.mark.parametrize(
    ("reports", "rule", "percents", "news"),
    [
        ([0.7, 0.6], "minimax", "64.9 %", "one report is then evidence for the event and the other against it"),
        ([0.7, 0.6], "product", "50 %", "the reports are then evidence for the event"),
        ([0.3, 0.4], "product", "50 %", "the reports are then evidence against the event"),
        ([0.7, 0.6, 0.2], "product", "50 %", "some reports are then evidence for the event and others against it"),
    ],
)
def test_the_reason_is_a_base_rate(reports: list[float], rule: str, percents: str, news: str) -> None:
    why = explain(reports, rule)
    assert why.agrees_at is not None
    assert percent(why.agrees_at) == percents
    right = f"It is the right answer if the base rate is {percents} and their private evidence is independent: {news}."
    assert why.closing[1] == right
    assert sentence(why, "If the base rate is lower, the right answer is higher,") == why.closing[2]


def test_what_is_known_of_the_base_rate_stands_in_the_closing_paragraph() -> None:
    why, without = explain([0.7, 0.6], prior_range=(0.05, 0.2)), explain([0.7, 0.6])
    assert len(why.on_range) == 3
    assert set(why.closing) - set(without.closing) == {why.on_range[0]}
    assert why.closing.index(why.on_range[0]) < why.closing.index(cost(why))


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("robust", "`robustpool certify robust --agents 3` proves it"),
        ("minimax:unanimous=0", "`robustpool certify minimax:unanimous=0 --agents 3` proves it"),
        ("log-odds:alpha=0.6", "`robustpool certify log-odds:alpha=0.6 --agents 3` proves it"),
        ("mean", "`robustpool certify mean --agents 3` proves it"),
        ("minimax", "`robustpool certify minimax --agents 3` proves it"),
        ("karmarkar", "`robustpool worst-case karmarkar --agents 3` searches for it"),
    ],
)
def test_the_advice_for_three_agents_is_a_command_that_works(rule: str, command: str) -> None:
    assert cost(explain([0.7, 0.6, 0.2], rule)).endswith(f"is not proved here; {command}.")
    family = ConditionallyIndependent(3, None, None)
    if "certify" in command:
        next(iter(rp.certification(rule, family)))
    else:
        with pytest.raises(rp.UnsupportedError):
            next(iter(rp.certification(rule, family)))


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([0.7, 0.6], "between the lowest and the highest report"),
        ([0.9, 0.9], "above the highest report, because independent evidence adds up"),
        ([0.1, 0.1], "nothing beyond 0.1 is justified"),
    ],
)
def test_the_newspaper(reports: list[float], words: str) -> None:
    assert "If they read the same newspaper" in sentence(explain(reports), words)


@pytest.mark.parametrize("name", [name for name in RULES if name != "bordley"])
def test_no_rule_can_promise_less_if_the_evidence_may_be_dependent(name: str) -> None:
    """The state is the exclusive or of two fair coins; everybody reports 1/2, and both coins together decide."""
    coins = InformationStructure(np.array([[[0.25, 0.0], [0.0, 0.25]], [[0.0, 0.25], [0.25, 0.0]]]))
    assert regret(name, coins) >= NO_PROMISE - 1e-12
    assert regret(lambda reports: np.full(len(reports), 0.5), coins) == pytest.approx(NO_PROMISE)


def test_many_forecasters_are_not_enumerated() -> None:
    assert explain([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]).closing[0].startswith("Seven forecasters say 0.1 to 0.7. The")
    assert explain([0.1] * 12).closing[0].startswith("12 forecasters all say 0.1. The")


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1))
def test_no_uncertain_number_is_written_as_certain(probability: float) -> None:
    certain = probability in (0, 1)
    text = shown(probability)
    assert certain == (text in ("0", "1"))
    assert certain or " - " in text or 0 < float(text) < 1
    assert (percent(probability) in ("0 %", "100 %")) == certain


# ------------------------------------------------------------------------------------------------------------- designs


def test_a_design_for_a_finite_family_has_no_base_rate(designs: Path) -> None:
    why = explain([0.5, 0.5], designs / "weather.json")
    assert why.forecast == pytest.approx(0.7)
    assert why.rule == str(designs / "weather.json")
    assert [said.chosen for said in why.rules] == [True]
    assert why.posterior == ()
    assert not why.base_rate_matters
    assert "does not apply" in why.on_base_rate[0]
    assert "finite family of 1 structure; the value of its game (square loss, additive) lies between" in why.on_rules[0]
    with input_error(r"prior_range is for conditionally independent agents; '.*weather.json' is a design"):
        explain([0.5, 0.5], designs / "weather.json", prior_range=(0.1, 0.2))


def test_a_design_for_independent_agents_stands_beside_the_rules(designs: Path) -> None:
    why = explain([0.7, 0.6], str(designs / "independent.json"))
    design = load_design(designs / "independent.json")
    assert why.rules[0].regret is None  # its bound is for its own grid and range of priors
    assert not why.rules[0].proved
    assert len(why.rules) == len(RULES)
    assert f"The design was made for {design.made_for}; the value of its game" in why.on_rules[0]
    assert "from 0.25 to 0.5" in design.made_for
    assert f"`robustpool certify {designs / 'independent.json'}` proves it" in cost(why)
    assert why.base_rate_matters
    assert explain([0.7, 0.6], design).forecast == why.forecast
    assert explain([0.7, 0.6], designs / "log.json").rules[0].regret is None  # not a regret under the square loss


def test_a_continuous_design_shows_the_worst_that_was_found(tmp_path: Path) -> None:
    solution = solve(ConditionallyIndependent(2, 4, None), nature="continuous", tolerance=1e-3)
    save_design(solution, tmp_path / "continuous.json")
    design = load_design(tmp_path / "continuous.json")
    why = explain([0.7, 0.6], design)
    assert (why.rules[0].regret, why.rules[0].proved) == (design.upper, False)
    (marked,) = (line for line in edge.as_lines(why, 80, braille=False) if line.startswith(" > "))
    (found,) = re.findall(r"at least (0\.\d{6}), found$", marked)
    assert design.upper - 1e-6 < float(found) <= design.upper
    assert "robustpool certify" in cost(why)  # what was found is no promise
    ranged = replace(design, family=ConditionallyIndependent(2, 4, None, (0.25, 1.0)))
    assert explain([0.7, 0.6], ranged).rules[0].regret is None
    judged = replace(design, settings=replace(design.settings, loss="log"))
    assert explain([0.7, 0.6], judged).rules[0].regret is None


def test_reports_that_are_vectors(designs: Path) -> None:
    design: Any = load_design(designs / "vectors.json")
    reports = design.aggregator.reports[0].tolist()
    why = explain(reports, designs / "vectors.json")
    assert why.forecast == tuple(design.aggregator.forecasts[0].tolist())
    assert why.closing[0].startswith("Two forecasters say (")
    text = "\n".join(edge.as_lines(why, 80, braille=False))
    assert "The base rate does not apply" in text.replace("\n", " ")
    arguments = [",".join(map(repr, report)) for report in reports]
    done = run(*arguments, "--rule", "vectors.json", "--explain", "--json", cwd=designs)
    assert json.loads(done.stdout)["forecast"] == list(why.forecast)


@pytest.mark.parametrize("reports", [[0.9] * 12, [0.9, 0.9], [0.7] * 3, [0.1] * 3])
@pytest.mark.parametrize("rule", ["geometric-odds", "mean"])
def test_rounding_does_not_move_a_forecast_beyond_the_reports(reports: list[float], rule: str) -> None:
    said = explain(reports, rule).closing
    assert any("The forecast is what they all report" in sentence for sentence in said)


def test_reports_and_ranges_are_repeated_as_they_were_given() -> None:
    why = explain([0.999999999, 0.6], prior_range=(0.05555, 0.2), clip=0)
    assert why.closing[0].startswith("Two forecasters say 0.999999999 and 0.6")
    assert "between 5.555 % and 20 %" in why.on_range[0]


def test_designs_are_certifiable_where_certify_has_a_proof(tmp_path: Path) -> None:
    pair = rp.ConditionallyIndependent(2, 4, 8)
    solutions = {
        "square": rp.solve(pair, tolerance=1e-3),
        "log": rp.solve(pair, loss="log", tolerance=1e-3),
        "absolute": rp.solve(pair, paradigm="absolute", tolerance=1e-3),
        "three": rp.solve(rp.ConditionallyIndependent(3, 4, 8), tolerance=1e-2),
        "one prior": rp.solve(rp.ConditionallyIndependent(2, 4, 8, (0.25, 0.25)), tolerance=1e-3),
    }
    for name, solution in solutions.items():
        rp.save_design(solution, tmp_path / f"{name}.json")
        design = load_design(tmp_path / f"{name}.json")
        try:
            next(iter(rp.certification(design)))
        except rp.UnsupportedError:
            assert not design.certifiable, name
        else:
            assert design.certifiable, name
        reports = [0.7, 0.6, 0.8][: design.agents]
        assert ("certify" in cost(explain(reports, design))) == design.certifiable


# -------------------------------------------------------------------------------------------------------- in a notebook


def test_an_explanation_shows_itself_in_a_notebook() -> None:
    why = explain([0.7, 0.6], prior_range=(0.05, 0.2))
    shows = why._repr_html_()
    assert shows.count("<table") == shows.count("</table>") == 2
    assert shows.count("<div") == shows.count("</div>")
    assert shows.count("<tr") == 2 + len(why.rules) + len(PRIORS)
    text = re.sub("<[^>]*>", "|", shows)
    assert "|Forecast 0.654|" in text
    assert all(f"|{said}" in text for said in why.closing)
    for said in why.rules:
        assert f"|{said.name}||{shown(said.forecast)}||{'at most' if said.proved else 'at least'} " in text
    for prior, posterior in why.posterior:
        assert f"|{percent(prior)}||{shown(posterior)}|" in text
    hostile = replace(why, rule="<b>", closing=("<script>",), rules=(replace(why.rules[0], name="<i>", regret=None),))
    assert not re.search("<(b|i|script)>", hostile._repr_html_())
    assert "not on record" in hostile._repr_html_()
    searched = replace(why, rules=(replace(why.rules[0], proved=False, regret=0.0123456789),))
    assert "at least 0.012345, found" in searched._repr_html_()


def test_where_the_base_rate_says_nothing_a_notebook_has_no_table_of_it(designs: Path) -> None:
    for why in (explain([0.6]), explain([0.0, 0.4], clip=0), explain([0.5, 0.5], designs / "weather.json")):
        assert why._repr_html_().count("<table") == 1


def test_an_explanation_as_text_is_its_sentences() -> None:
    why = explain([0.7, 0.6], prior_range=(0.05, 0.2))
    assert str(why).split("\n") == [*why.answer, *why.on_rules, *why.on_base_rate, *why.on_range, *why.closing]


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("reports", "options", "message"),
    [
        ([np.nan, None], {}, r"explain needs at least one answer; 2 of 2 are missing\."),
        ([[0.7, 0.6], [0.1, 0.2]], {}, r"one question is explained at a time; the shape of the reports is \(2, 2\)\."),
        ([0.7, 1.2], {}, r"probability must lie in \[0, 1\]; entry 1 is 1\.2"),
        ([0.7, 0.6], {"rule": "magic"}, "rule must be one of robust, minimax, minimax-log, mean"),
        ([0.7, 0.6], {"prior_range": (0.4, 0.1)}, r"prior_range must be from low to high; it is \(0\.4, 0\.1\)\."),
        (
            [0.7, 0.6],
            {"prior_range": (0.4, np.nan)},
            "prior_range must be a finite number, at least 0 and at most 1; it is nan",
        ),
        ([0.7, 0.6], {"prior_range": (0.4, 1.1)}, r"at most 1; it is 1\.1\."),
        ([0.7, 0.6], {"prior_range": 0.4}, "prior_range must be a pair"),
        (
            [0.7, 0.6],
            {"prior_range": (1, 1)},
            r"a base rate of 1 leaves nothing to forecast; prior_range is \(1, 1\)\.",
        ),
        ([0.7, 0.6], {"clip": 0.7}, r"clip must lie in \[0, 0\.5\); it is 0\.7\."),
        ([0.7, 0.6], {"rule": "none.json"}, "the design or pool file 'none.json' does not exist"),
    ],
)
def test_refused(reports: Any, options: dict[str, Any], message: str) -> None:
    with input_error(message):
        explain(reports, **options)


@pytest.mark.filterwarnings("ignore::robustpool.ContradictionWarning")
def test_a_contradiction_has_no_base_rate_to_know() -> None:
    with input_error("contradict each other, whatever the base rate"):
        explain([0, 1], prior_range=(0.1, 0.2), clip=0)


def test_a_design_is_not_clipped(designs: Path) -> None:
    with input_error("clip is for rules; a design uses the reports of its family unchanged"):
        explain([0.7, 0.6], designs / "independent.json", clip=0.1)


# ---------------------------------------------------------------------------------------------------- lines and a plot


@pytest.mark.parametrize("braille", [False, True])
@pytest.mark.parametrize("width", [40, 57, 80, 120])
@pytest.mark.parametrize("reports", [[0.7, 0.6], [0.99, 0.9999, 0.2], [1e-7, 1e-8], [0.5] * 7])
def test_nothing_is_wider_than_asked_but_commands(reports: list[float], width: int, braille: bool) -> None:
    why = explain(reports, prior_range=(0.05, 0.2))
    lines = edge.as_lines(why, width, braille=braille)
    assert all(len(line) <= width for line in lines if not line.startswith("    robustpool design"))
    drawn = edge.plot(why, width, braille=braille)
    assert len(drawn) == edge.ROWS + 4
    assert all(len(line) <= width for line in drawn)
    assert max(len(line) for line in drawn) >= min(width, 80) - 1
    assert drawn[0].strip() == "posterior"
    assert drawn[-1].strip() == "base rate"
    assert shown(why.forecast) in "\n".join(drawn)
    assert "=" in drawn[-3]
    assert braille or "\n".join(lines).isascii()
    assert not braille or not "\n".join(drawn).isascii()


def test_the_plot_falls_and_crosses_the_forecast_where_it_should() -> None:
    why = explain([0.7, 0.6], "product")  # 0.778, agreed with at 1/2
    drawn = edge.plot(why, 80, braille=False)
    (level,) = (line for line in drawn if "0.778|" in line)
    cells = level.split("|")[1]
    assert cells.startswith("-")
    assert abs((cells.index("*") + cells.rindex("*")) / 2 - len(cells) / 2) <= len(cells) / 10
    columns = [line.split("|")[1].ljust(71) for line in drawn[1 : edge.ROWS + 1]]
    rows = [min(row for row in range(edge.ROWS) if columns[row][c] == "*") for c in range(71)]
    assert rows == sorted(rows)


def test_steep_curves_have_no_gaps() -> None:
    drawn = edge.plot(explain([0.5] * 30), 40, braille=False)[1 : edge.ROWS + 1]
    assert all("*" in line for line in drawn)


def test_the_axis_marks_what_is_known() -> None:
    why = explain([0.7, 0.6], prior_range=(0.5, 0.5))
    assert edge.plot(why, 80, braille=False)[-3].count("=") == 1
    assert edge.plot(replace(why, prior_range=None), 80, braille=False)[-3].count("=") == 0


@pytest.mark.parametrize(
    ("encoding", "terminal", "term", "wanted"),
    [
        ("utf-8", True, "xterm", True),
        ("utf-8", False, "xterm", False),
        ("utf-8", True, "dumb", False),
        ("ascii", True, "xterm", False),
        ("latin-1", True, "xterm", False),
    ],
)
def test_braille_only_where_it_can_be_seen(
    encoding: str, terminal: bool, term: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", term)
    assert edge.takes_braille() == wanted


@pytest.mark.parametrize(("columns", "width"), [("10", 40), ("57", 57), ("300", 120)])
def test_the_width_is_that_of_the_terminal(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal_width() == width


def test_the_chosen_rule_has_an_arrow_and_its_bound() -> None:
    lines = edge.as_lines(explain([0.7, 0.6], "mean"), 80, braille=False)
    (marked,) = (line for line in lines if line.startswith(" > "))
    assert marked.split(maxsplit=3) == [">", "mean", "0.650", "at most 0.062501, proved"]
    narrow = edge.as_lines(explain([0.7, 0.6], "mean"), 40, braille=False)
    assert any(line.startswith(" > mean") and line.endswith("<=0.062501") for line in narrow)
    assert "   (<= is proved, >= is found)" in narrow


def test_what_is_not_proved_is_not_called_proved(designs: Path) -> None:
    why = explain([0.7, 0.6], designs / "independent.json")
    found = replace(why.rules[1], proved=False, regret=0.0123456789)
    own = replace(why.rules[0], name="own.json")
    unknown = replace(why.rules[0], name="other", regret=None, chosen=False)
    why = replace(why, rules=(own, found, unknown))
    wide = "\n".join(edge.as_lines(why, 80, braille=False))
    assert "at least 0.012345, found" in wide  # what was found bounds the worst case from below
    assert "not on record" in wide
    narrow = "\n".join(edge.as_lines(why, 40, braille=False))
    assert ">=0.012345" in narrow
    assert narrow.count(" -\n") == 2


# ----------------------------------------------------------------------------------------------------- the command line


def test_the_command_explains() -> None:
    words = "aggregate 0.7 0.6 --explain --prior-range 0.05 0.2"
    done = run_program(PROGRAM, *words.split(), env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "The answer is 0.654. If their private evidence is independent and the base rate\nlies between 5 %"
    )
    assert "\nTwo forecasters say 0.7 and 0.6. The rule robust combines them into 0.654." in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.startswith("    robustpool"))
    assert "\n    robustpool design --prior-range 0.05 0.2 --nature continuous" in done.stdout
    assert "*" in done.stdout


def test_the_command_shows_the_next_command_of_a_known_base_rate() -> None:
    done = run("0.7", "0.6", "--explain", "--prior-range", "0.3", "0.3")
    assert "\n    robustpool aggregate 0.7 0.6 --rule bordley:prior=0.3\n" in done.stdout
    nothing = run("0.7", "0.6", "--explain", "--prior-range", "0", "1")
    assert "carries no information" in " ".join(nothing.stdout.split())
    assert "    robustpool" not in nothing.stdout


def test_json_has_the_same_facts() -> None:
    done = run("1/2", "0.6", "--explain", "--prior-range", "0.05", "0.2", "--json")
    assert done.stdout.count("\n") == 1
    data = json.loads(done.stdout)
    why = explain([0.5, 0.6], prior_range=(0.05, 0.2))
    assert {"forecast", "rule", "reports", "clipped", "explanation"} == set(data)
    assert (data["forecast"], data["rule"], data["reports"]) == (why.forecast, "robust", [0.5, 0.6])
    said = data["explanation"]
    assert {"name", "forecast", "regret", "proved"} <= set(said["rules"][0])
    assert said["posterior"][0] == {"prior": 0.01, "posterior": why.posterior[0][1]}
    assert (said["agrees_at"], said["even_at"]) == (why.agrees_at, why.even_at)
    assert said["span"] == asdict(why.span)  # type: ignore[arg-type]
    assert said["sentences"] == {
        "answer": list(why.answer),
        "rules": list(why.on_rules),
        "base_rate": list(why.on_base_rate),
        "range": list(why.on_range),
        "closing": list(why.closing),
    }
    assert {"low", "high", "posterior_low", "posterior_high", "contains_forecast", "middle"} <= set(said["prior_range"])
    alone = json.loads(run("0.7", "--explain", "--json").stdout)["explanation"]
    assert (alone["prior_range"], alone["span"], alone["sentences"]["range"]) == (None, None, [])


def test_a_contradiction_is_explained_and_warned_of() -> None:
    done = run("0", "1", "--explain", "--clip", "0")
    assert done.returncode == 0
    assert done.stderr.startswith("robustpool: warning: 0 and 1 for the same question contradict each other")
    assert "No base rate can produce a 0 and a 1" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["0.7", "0.6", "--prior-range", "0.1", "0.2"],
            "--prior-range needs --explain and does not change the forecast",
        ),
        (["0.7", "abc", "--explain"], "report 2 must be a number; it is 'abc'."),
        (["0.7", "60", "--explain"], "report 2 must lie in [0, 1]; it is 60; for 60 % write 0.6."),
        (["nan", "nan", "--explain"], "report 1 must be a number; it is 'nan'."),
        (["0.5", "0.5", "--rule", "weather.json", "--explain", "--clip", "0.1"], "clip is for rules"),
        (["0.5", "0.4", "--rule", "weather.json", "--explain"], "reports must be a profile of the design's family"),
        (["0.5", "0.4,0.6", "--rule", "weather.json", "--explain"], "reports must have the same length"),
    ],
)
def test_wrong_input_gets_one_sentence(arguments: list[str], sentence: str, designs: Path) -> None:
    done = run(*arguments, cwd=designs)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"robustpool: {sentence}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("reports", "agents"), [([0.7, 0.8], ""), ([0.7, 0.8, 0.6], " --agents 3")])
def test_a_rule_for_another_world_says_whom_it_is_made_for(reports: list[float], agents: str) -> None:
    text = " ".join(explain(reports, "common-source", clip=0).closing)
    made_for = "It is made for forecasters who share a source that may be wrong; errors of the source are covered."
    assert made_for in text
    assert f"`robustpool worst-case common-source{agents} --world common-source` searches for it" in text
    assert "is independent" not in text
    assert "Shared errors" not in text
    default = " ".join(explain(reports, clip=0).closing)
    assert "It is made for" not in default
    assert "Shared errors are not covered. If their evidence may be" in default


def test_every_world_that_a_rule_is_made_for_is_known_and_has_words() -> None:
    worlds = {rule.world for rule in RULES.values()} - {None}
    assert worlds == set(MADE_FOR) == {"common-source"}
    assert worlds <= set(WORLDS)
