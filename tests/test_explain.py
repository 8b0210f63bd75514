"""`explain` and `robustpool aggregate --explain`: the numbers, the sentences, the plot, and what is refused."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from robustpool import ContradictionWarning, InputError, aggregate, get_rule, load_design, load_family, regret
from robustpool.aggregators.rules import RULES, WORST_CASES
from robustpool.artefact import save_design
from robustpool.cli import explain as edge
from robustpool.explanation import Explanation, explain
from robustpool.explanation.front_door import PRIORS
from robustpool.explanation.sentences import NO_PROMISE
from robustpool.solvers.front_door import solve
from robustpool.structures.conditionally_independent import ConditionallyIndependent
from robustpool.structures.family_file import EXAMPLES
from robustpool.structures.information_structure import InformationStructure
from robustpool.structures.random_families import random_family
from robustpool.wording import percent, shown

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "robustpool")
INNER = st.floats(1e-6, 1 - 1e-6)


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with designs for a finite family, for independent agents, and for reports that are vectors."""
    folder = tmp_path_factory.mktemp("designs")
    save_design(solve(load_family(EXAMPLES / "weather.json")), folder / "weather.json")
    save_design(solve(ConditionallyIndependent(2, 4, 8, (0.25, 0.5))), folder / "independent.json")
    save_design(solve(ConditionallyIndependent(2, 4, 8), loss="log", tolerance=1e-2), folder / "log.json")
    save_design(solve(random_family(structures=2, states=3, rng=1)), folder / "vectors.json")
    return folder


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "COLUMNS": "80", **environment}
    return subprocess.run(
        [PROGRAM, "aggregate", *arguments], capture_output=True, text=True, cwd=cwd, env=given, check=False
    )


def chosen(why: Explanation) -> str:
    (name,) = (said.name for said in why.rules if said.chosen)
    return name


# --------------------------------------------------------------------------------------------------------- the numbers


@settings(max_examples=60, deadline=None)
@given(st.lists(INNER, min_size=2, max_size=5), INNER, INNER)
def test_the_posterior_falls_in_the_prior(reports: list[float], one: float, two: float) -> None:
    why = explain(reports)
    low, high = sorted((one, two))
    assert why.posterior_at(low) >= why.posterior_at(high)
    assert [posterior for _, posterior in why.posterior] == sorted((p for _, p in why.posterior), reverse=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-3, 1 - 1e-3), min_size=2, max_size=5), st.sampled_from(["minimax", "mean", "product"]))
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
        assert (said.regret, said.proved) == (known[said.name]["upper"], known[said.name]["proved"])
    assert chosen(why) == why.rule == "minimax"


@pytest.mark.parametrize("reports", [[0.7], [0.7, 0.6, 0.2], [0.5] * 12])
def test_other_numbers_of_agents_have_no_worst_case_on_record(reports: list[float]) -> None:
    why = explain(reports)
    assert all(said.regret is None and not said.proved for said in why.rules)
    assert "arieli-tuned" not in {said.name for said in why.rules}
    forecasts: list[Any] = [round(said.forecast, 9) for said in why.rules]  # type: ignore[arg-type]
    assert forecasts == sorted(forecasts)


def test_a_rule_with_parameters_of_its_own_comes_first_and_the_default_ones_are_recognised() -> None:
    why = explain([0.7, 0.6], "extremized-odds:d=2")
    assert (why.rules[0].name, why.rules[0].regret, why.rules[0].chosen) == ("extremized-odds:d=2", None, True)
    assert "`robustpool certify extremized-odds:d=2` proves it" in why.closing[1]
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
    assert "`robustpool.worst_case` searches for it" in why.closing[1]
    assert "below the lowest report" in why.closing[2]


def test_who_did_not_answer_does_not_count() -> None:
    assert explain([0.7, None, 0.6, np.nan]) == explain([0.7, 0.6])


def test_clipping_takes_the_recorded_worst_cases_away() -> None:
    why = explain([0.0, 0.9], clip=0.01)
    assert why.reports == (0.01, 0.9)
    assert all(said.regret is None for said in why.rules)
    assert "without clipping" in why.on_rules[0]
    assert why.closing[0].startswith("Two forecasters say 0.01 and 0.9 (brought into [0.01, 0.99])")
    assert "not proved here." in why.closing[1]
    assert explain([0.7, 0.6], clip=0.0).rules[0].regret is not None  # clips nothing


# ------------------------------------------------------------------------------------------------------- the base rate


@pytest.mark.parametrize(("reports", "said"), [([0.0, 0.4], 0.0), ([0.4, 1.0, 1.0], 1.0)])
def test_a_certain_report_decides_at_every_base_rate(reports: list[float], said: float) -> None:
    why = explain(reports, prior_range=(0.1, 0.2))
    assert {posterior for _, posterior in why.posterior} == {said}
    assert (why.agrees_at, why.even_at, why.base_rate_matters) == (None, None, False)
    assert f"says {said:g} at every base rate" in why.on_base_rate[0]
    assert why.on_range == (f"Knowing the base rate changes nothing: the posterior is {said:g} at each.",)
    assert why.prior_range is not None
    assert why.prior_range.command is None
    assert "--clip 0.01" in why.closing[2]


def test_a_contradiction_warns_and_says_so() -> None:
    with pytest.warns(ContradictionWarning, match="contradict each other"):
        why = explain([0.0, 1.0])
    assert (why.forecast, why.posterior, why.agrees_at, why.even_at) == (0.5, (), None, None)
    assert "not all of the forecasters can be right" in why.on_base_rate[0]
    assert "ask again" in why.closing[1]


def test_one_forecaster_has_the_base_rate_in_her_report() -> None:
    why = explain([0.6], "extremized-odds", prior_range=(0.1, 0.2))
    assert [posterior for _, posterior in why.posterior] == pytest.approx([0.6] * len(PRIORS))
    assert not why.base_rate_matters
    assert "nothing to combine" in why.on_rules[0]
    assert why.on_range == ("Knowing the base rate changes nothing about a single report, which has it in it.",)
    assert len(why.closing) == 2


def test_forecasts_that_no_base_rate_explains() -> None:
    certain = explain([0.7, 0.6], lambda reports: np.zeros(len(reports)))
    assert certain.agrees_at is None
    assert "At no base rate strictly between 0 % and 100 %" in certain.on_base_rate[1]
    tiny = explain([1e-300, 1e-300])
    assert tiny.even_at is None
    assert "says 0.5 only next to 0 % or 100 %" in tiny.on_base_rate[1]


# --------------------------------------------------------------------------------------------------- a range of priors


@settings(max_examples=40, deadline=None)
@given(st.lists(INNER, min_size=2, max_size=4), st.tuples(INNER, INNER), INNER)
def test_the_posterior_of_every_prior_of_the_range_lies_in_the_interval(
    reports: list[float], ends: tuple[float, float], share: float
) -> None:
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


def test_the_ends_of_the_interval_are_rounded_outward() -> None:
    sentence = explain([0.7, 0.6], prior_range=(0.05, 0.2)).on_range[0]
    assert "between 0.933 and 0.986," in sentence  # 14/15 = 0.9333..., 133/135 = 0.98518...


def test_a_range_up_to_0_or_1_has_the_limits() -> None:
    known = explain([0.7, 0.6], prior_range=(0, 1)).prior_range
    assert known is not None
    assert (known.posterior_low, known.posterior_high) == (0, 1)
    assert known.command is not None
    assert "--prior-range 0 1 " in known.command


@pytest.mark.parametrize("n", [2, 3])
def test_a_known_prior_is_the_rule_bordley(n: int) -> None:
    why = explain([0.7, 0.6, 0.2][:n], prior_range=(0.3, 0.3))
    known = why.prior_range
    assert known is not None
    assert known.posterior_low == known.posterior_high == aggregate([0.7, 0.6, 0.2][:n], "bordley:prior=0.3")
    assert known.command == "--rule bordley:prior=0.3"
    assert "that of --rule bordley:prior=0.3" in why.on_range[0]
    own = explain([0.7, 0.6], "bordley:prior=0.3", prior_range=(0.3, 0.3))
    assert own.prior_range is not None
    assert own.prior_range.contains_forecast
    assert own.agrees_at == pytest.approx(0.3)


# ------------------------------------------------------------------------------------------------------- the sentences


def test_the_promise_is_rounded_outward_and_comes_from_the_record() -> None:
    upper = json.loads(WORST_CASES.read_text())["mean"]["upper"]
    sentence = explain([0.7, 0.6], "mean").closing[1]
    (number,) = (float(word) for word in sentence.split() if word.startswith("0.0"))
    assert upper <= number < upper + 1e-6
    assert "(proved):" in sentence
    assert "no rule in the list promises less" in explain([0.7, 0.6]).closing[1]
    assert "0.022543 of" in explain([0.7, 0.6]).closing[1]


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([0.7, 0.6], "between the lowest and the highest report"),
        ([0.9, 0.9], "above the highest report, as independent evidence adds up"),
        ([0.1, 0.1], "nothing beyond 0.1 is justified"),
    ],
)
def test_the_newspaper(reports: list[float], words: str) -> None:
    assert words in explain(reports).closing[2]


@pytest.mark.parametrize("name", [name for name in RULES if name != "bordley"])
def test_no_rule_can_promise_less_if_the_evidence_may_be_dependent(name: str) -> None:
    """The state is the exclusive or of two fair coins; everybody reports 1/2, and both coins together decide."""
    coins = InformationStructure(np.array([[[0.25, 0.0], [0.0, 0.25]], [[0.0, 0.25], [0.25, 0.0]]]))
    assert regret(name, coins) >= NO_PROMISE - 1e-12
    assert regret(lambda reports: np.full(len(reports), 0.5), coins) == pytest.approx(NO_PROMISE)


def test_many_forecasters_are_not_enumerated() -> None:
    assert explain([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]).closing[0].startswith("Seven forecasters say 0.1 to 0.7, and")
    assert explain([0.1] * 12).closing[0].startswith("12 forecasters say 0.1 to 0.1, and")


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
    with pytest.raises(
        InputError, match=r"prior_range is for conditionally independent agents; '.*weather.json' is a design"
    ):
        explain([0.5, 0.5], designs / "weather.json", prior_range=(0.1, 0.2))


def test_a_design_for_independent_agents_stands_beside_the_rules(designs: Path) -> None:
    why = explain([0.7, 0.6], str(designs / "independent.json"))
    design = load_design(designs / "independent.json")
    assert why.rules[0].regret == design.upper
    assert not why.rules[0].proved
    assert len(why.rules) == len(RULES)
    assert "2 conditionally independent agents with base rates from 25 % to 50 %" in why.on_rules[0]
    assert "certify" in why.closing[1]
    assert why.base_rate_matters
    assert explain([0.7, 0.6], design).forecast == why.forecast
    assert explain([0.7, 0.6], designs / "log.json").rules[0].regret is None  # not a regret under the square loss


def test_reports_that_are_vectors(designs: Path) -> None:
    design: Any = load_design(designs / "vectors.json")
    reports = design.aggregator.reports[0].tolist()
    why = explain(reports, designs / "vectors.json")
    assert why.forecast == tuple(design.aggregator.forecasts[0].tolist())
    assert why.closing[0].startswith("Two forecasters say (")
    text = "\n".join(edge.as_lines(why, 80, braille=False))
    assert "base rate would say does not apply" in text.replace("\n", " ")
    arguments = [",".join(map(repr, report)) for report in reports]
    done = run(*arguments, "--rule", "vectors.json", "--explain", "--json", cwd=designs)
    assert json.loads(done.stdout)["forecast"] == list(why.forecast)


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("reports", "options", "message"),
    [
        ([np.nan, None], {}, r"nothing to explain without an answer; 2 of 2 are missing\."),
        ([[0.7, 0.6], [0.1, 0.2]], {}, r"one question is explained at a time; the shape of the reports is \(2, 2\)\."),
        ([0.7, 1.2], {}, r"probability must lie in \[0, 1\]; entry 1 is 1\.2"),
        ([0.7, 0.6], {"rule": "magic"}, "rule must be one of minimax, mean"),
        ([0.7, 0.6, 0.1], {"rule": "arieli-tuned"}, "is defined for 2 answers a row"),
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
        ([0.7, 0.6], {"rule": "none.json"}, "the design file 'none.json' does not exist"),
    ],
)
def test_refused(reports: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(reports, **options)


@pytest.mark.filterwarnings("ignore::robustpool.ContradictionWarning")
def test_a_contradiction_has_no_base_rate_to_know() -> None:
    with pytest.raises(InputError, match="contradict each other, whatever the base rate"):
        explain([0, 1], prior_range=(0.1, 0.2))


def test_a_design_is_not_clipped(designs: Path) -> None:
    with pytest.raises(InputError, match="clip is for rules; a design takes the reports of its family as they are"):
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
def test_the_width_is_that_of_the_terminal_within_reason(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert edge.terminal_width() == width


def test_the_chosen_rule_has_an_arrow_and_its_bound() -> None:
    lines = edge.as_lines(explain([0.7, 0.6], "mean"), 80, braille=False)
    (marked,) = (line for line in lines if line.startswith(" > "))
    assert marked.split(maxsplit=3) == [">", "mean", "0.650", "at most 0.062501, proved"]
    narrow = edge.as_lines(explain([0.7, 0.6], "mean"), 40, braille=False)
    assert any(line.startswith(" > mean") and line.endswith("<=0.062501") for line in narrow)
    assert "   (<= is proved, ~ is not)" in narrow


def test_what_is_not_proved_is_not_called_proved(designs: Path) -> None:
    why = explain([0.7, 0.6], designs / "independent.json")
    found = replace(why.rules[1], proved=False, regret=0.0123456789)
    own = replace(why.rules[0], name="own.json")
    unknown = replace(why.rules[0], name="other", regret=None, chosen=False)
    why = replace(why, rules=(own, found, unknown))
    wide = "\n".join(edge.as_lines(why, 80, braille=False))
    assert "0.012345, not proved" in wide  # what was found bounds the worst case from below
    assert "not on record" in wide
    narrow = "\n".join(edge.as_lines(why, 40, braille=False))
    assert "~0.012345" in narrow
    assert narrow.count(" -\n") == 1


# ----------------------------------------------------------------------------------------------------- the command line


def test_the_command_explains() -> None:
    done = run("0.7", "0.6", "--explain", "--prior-range", "0.05", "0.2", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Two forecasters say 0.7 and 0.6, and minimax makes 0.661 of it.\n")
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.startswith("    robustpool"))
    assert "\n    robustpool design --prior-range 0.05 0.2 --nature continuous" in done.stdout
    assert "*" in done.stdout


def test_json_has_the_same_facts() -> None:
    done = run("1/2", "0.6", "--explain", "--prior-range", "0.05", "0.2", "--json")
    assert done.stdout.count("\n") == 1
    data = json.loads(done.stdout)
    why = explain([0.5, 0.6], prior_range=(0.05, 0.2))
    assert {"forecast", "rule", "reports", "explanation"} == set(data)
    assert (data["forecast"], data["rule"], data["reports"]) == (why.forecast, "minimax", [0.5, 0.6])
    said = data["explanation"]
    assert {"name", "forecast", "regret", "proved"} <= set(said["rules"][0])
    assert said["posterior"][0] == {"prior": 0.01, "posterior": why.posterior[0][1]}
    assert (said["agrees_at"], said["even_at"]) == (why.agrees_at, why.even_at)
    assert said["sentences"] == list(why.sentences)
    assert {"low", "high", "posterior_low", "posterior_high", "contains_forecast", "middle"} <= set(said["prior_range"])
    assert json.loads(run("0.7", "--explain", "--json").stdout)["explanation"]["prior_range"] is None


def test_a_contradiction_is_explained_and_warned_of() -> None:
    done = run("0", "1", "--explain")
    assert done.returncode == 0
    assert done.stderr.startswith("robustpool: warning: 0 and 1 for the same question contradict each other")
    assert "No base rate can produce a 0 and a 1" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["0.7", "0.6", "--prior-range", "0.1", "0.2"], "--prior-range goes with --explain and changes no forecast"),
        (["0.7", "abc", "--explain"], "report 2 must be a number; it is 'abc'."),
        (["nan", "nan", "--explain"], "there is nothing to explain without an answer"),
        (["0.5", "0.5", "--rule", "weather.json", "--explain", "--clip", "0.1"], "clip is for rules"),
        (["0.5", "0.4", "--rule", "weather.json", "--explain"], "reports must be a profile of the design's family"),
        (["0.5", "0.4,0.6", "--rule", "weather.json", "--explain"], "reports must have one length"),
    ],
)
def test_wrong_input_gets_one_sentence(arguments: list[str], sentence: str, designs: Path) -> None:
    done = run(*arguments, cwd=designs)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"robustpool: {sentence}")
    assert done.stderr.count("\n") == 1
