"""A fitted pool as JSON, as lines and as a page: the numbers are the pool's, and what was not learned has no section."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
import worlds
from browser import WIDTHS, chromium, findings, opened, overflow
from quick import slowly
from robustpool import checks
from robustpool.aggregators.learned_rule import LearnedRule
from robustpool.evaluation.records import Interval
from robustpool.learning import worst_case as learning_worst_case
from robustpool.learning.records import FittedPool, Weight
from robustpool.learning.worst_case import PoolWorstCase, WorstCaseBounds, worst_case
from robustpool.plots.pools import running_gains
from robustpool.views import Page, Picture, Table, render
from robustpool.views.pool import as_data, as_lines
from robustpool.views.pool_page import pool_page, write_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

NO_BOUND = PoolWorstCase((), ("it was not tried.",))


def fitted(world: Callable[[np.random.Generator, int], worlds.Drawn], questions: int) -> FittedPool:
    return rp.fit(world(np.random.default_rng(1), questions).table)


@pytest.fixture(scope="module")
def weighted() -> FittedPool:
    """A pool with weights, and without times."""
    pool = fitted(worlds.skilled, 300)
    assert pool.weights
    assert not pool.periods
    return pool


@pytest.fixture(scope="module")
def timed() -> FittedPool:
    """A pool with times, and without weights."""
    pool = fitted(worlds.drifting, 200)
    assert pool.periods
    assert not pool.weights
    return pool


@pytest.fixture(scope="module")
def recalibrated() -> FittedPool:
    """A pool that is a function of the summed log-odds."""
    pool = fitted(worlds.independent, 200)
    assert pool.aggregator.recalibrates
    assert pool.aggregator.weights is None
    return pool


@pytest.fixture(params=["weighted", "timed", "recalibrated"])
def pool(request: pytest.FixtureRequest) -> FittedPool:
    each: FittedPool = request.getfixturevalue(request.param)
    return each


def tables(page: Page) -> dict[str, Table]:
    return {part.title: part for section in page.sections for part in section.parts if isinstance(part, Table)}


def pictures(page: Page) -> dict[str, Picture]:
    return {part.name: part for section in page.sections for part in section.parts if isinstance(part, Picture)}


def numbers(cell: str) -> list[float]:
    """The ends of an interval."""
    return [float(end) for end in cell.replace("\u00a0", " ").split(" to ")]


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_the_data_are_those_of_the_pool(pool: FittedPool) -> None:
    data = json.loads(json.dumps(as_data(pool, "pool.json"), allow_nan=False))
    assert (data["output"], data["chosen"], data["better"]) == ("pool.json", pool.chosen, pool.better)
    assert [data[key] for key in ("brier", "brier_low", "brier_high")] == list(pool.brier)
    assert [data[key] for key in ("gain", "gain_low", "gain_high")] == list(pool.over_mean)
    assert [data["over_default"][key] for key in ("gain", "low", "high")] == list(pool.over_default)
    learned = (pool.learned.questions, pool.learned.answers, pool.learned.forecasters)
    assert tuple(data[key] for key in ("questions", "answers", "forecasters")) == learned
    assert (data["scored"], data["scheme"], data["formula"]) == (pool.scored, pool.scheme, pool.aggregator.formula)
    assert [(each["name"], each["brier"]) for each in data["tried"]] == [(form.name, form.brier) for form in pool.tried]
    gains = [tuple(each[key] for key in ("gain", "gain_low", "gain_high")) for each in data["tried"]]
    assert gains == [form.gain for form in pool.tried]
    assert [Weight(**each) for each in data["weights"]] == list(pool.weights)
    assert len(data["periods"]) == len(pool.periods)
    for each, period in zip(data["periods"], pool.periods, strict=True):
        assert datetime.fromisoformat(each.pop("start")).timestamp() == period.start
        assert tuple(each.values()) == period[1:]
    assert (data["notes"], data["summary"]) == (list(pool.notes), " ".join(pool.summary))
    assert data["worst_case"] is None


def test_the_worst_case_is_in_the_data_if_it_is_known(recalibrated: FittedPool) -> None:
    worst = PoolWorstCase((WorstCaseBounds(2, 0.05, 0.03),), ("nothing for three.",))
    found = as_data(recalibrated, worst=worst)["worst_case"]
    assert found["refusals"] == ["nothing for three."]
    assert [dict(each) for each in found["bounds"]] == [
        {"agents": 2, "pool": 0.05, "robust": 0.03, "difference": pytest.approx(0.02)}
    ]


# --- the terminal -----------------------------------------------------------------------------------------------------


def changed(pool: FittedPool, *gain: float, chosen: str = "recalibrated", questions: int = 300) -> FittedPool:
    learned = replace(pool.learned, questions=questions, base_rate=0.5)
    return replace(pool, over_mean=Interval(*gain), chosen=chosen, learned=learned)


def test_a_pool_of_few_questions_is_not_recommended(recalibrated: FittedPool) -> None:
    for questions, answer in (
        (39, "keep your current rule until 40 questions are resolved, 20 with each outcome."),
        (40, "use this pool."),
    ):
        pool = changed(recalibrated, 0.02, 0.01, 0.03, questions=questions)
        assert as_lines(pool, 120)[0].startswith(f"What to do: {answer}")


@pytest.mark.parametrize(
    ("gain", "chosen", "answer"),
    [
        (
            (0.02, 0.01, 0.03),
            "weighted",
            "use this pool. On questions that were not learned from, it is better than the mean.",
        ),
        ((0.0, 0.0, 0.0), "mean", "use the mean. Nothing that was learned is better than the mean"),
        ((0.02, -0.01, 0.05), "weighted", "keep the mean for now. "),
        ((0.02, 0.0, 0.05), "weighted", "keep the mean for now. "),
        (
            (-0.02, -0.03, -0.01),
            "robust",
            "keep the mean. On questions that were not learned from, the pool is worse than the mean.",
        ),
    ],
)
def test_the_answer_comes_first(recalibrated: FittedPool, gain: tuple[float, ...], chosen: str, answer: str) -> None:
    pool = changed(recalibrated, *gain, chosen=chosen)
    assert as_lines(pool, 120)[0].startswith(f"What to do: {answer}")
    assert pool_page(pool, worst=NO_BOUND).lead.startswith(f"What to do: {answer}")
    if answer.startswith("keep the mean for now"):
        assert "the pool is not shown to be better than the mean." in " ".join(as_lines(pool, 120)[:2])


def test_the_chosen_form_has_a_mark_and_every_form_its_numbers(pool: FittedPool) -> None:
    lines = as_lines(pool, 100)
    assert " ".join(pool.summary) in " ".join(lines)
    start = next(place for place, line in enumerate(lines) if line.startswith("   form"))
    rows = lines[start + 1 : start + 1 + len(pool.tried)]
    assert [line[1] for line in rows] == ["*" if form.name == pool.chosen else " " for form in pool.tried]
    for line, form in zip(rows, pool.tried, strict=True):
        name, brier, gain, *interval = line[3:].split(maxsplit=3)
        assert name == form.name
        assert [float(brier), float(gain)] == pytest.approx([form.brier, form.gain.value], abs=5e-5)
        assert (
            interval == ["-"] if form.name == "mean" else numbers(interval[0]) == pytest.approx(form.gain[1:], abs=5e-5)
        )
    whole = lines[start + 1 + len(pool.tried)].removeprefix("   whole procedure").split()
    assert [float(cell) for cell in whole[:2]] == pytest.approx([pool.brier.value, pool.gain], abs=5e-5)


def test_weights_and_times_are_shown_where_there_are_any(weighted: FittedPool, timed: FittedPool) -> None:
    text = "\n".join(as_lines(weighted, 80))
    for each in weighted.weights:
        assert f"   {each.forecaster} " in text
        assert f"{each.weight:.2f}  {each.low:.2f} to {each.high:.2f}" in text
    assert "block from" not in text
    lines = as_lines(timed, 80)
    rows = [line.split() for line in lines if line.startswith("   19")]
    assert [int(row[1]) for row in rows] == [period.questions for period in timed.periods]
    assert [float(row[-1]) for row in rows] == pytest.approx(
        [each.mean - each.brier for each in timed.periods], abs=5e-5
    )
    assert all(line in " ".join(lines) for line in timed.notes)
    assert "forecaster " not in "\n".join(line for line in lines if line.startswith("   "))


def test_of_many_weights_and_blocks_some_are_shown(weighted: FittedPool, timed: FittedPool) -> None:
    weights = tuple(Weight(f"person-{k}", 4.0 - k / 10, 1.0, 5.0, 9) for k in range(30))
    lines = as_lines(replace(weighted, weights=weights), 80)
    rows = [line.split()[0] for line in lines if line.startswith("   person-")]
    assert rows == [f"person-{k}" for k in (0, 1, 2, 3, 4, 25, 26, 27, 28, 29)]
    assert "   (20 more)" in lines
    periods = tuple(timed.periods[0]._replace(start=86_400.0 * k) for k in range(20))
    lines = as_lines(replace(timed, periods=periods), 80)
    assert sum(line.startswith("   1970-") for line in lines) == 12
    assert any(line.startswith("   1970-01-20") for line in lines)
    assert "   (the first 8 of 20 blocks are not shown)" in lines


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_lines_fit_into_the_terminal(pool: FittedPool, width: int) -> None:
    assert max(map(len, as_lines(pool, width))) <= width


def test_blocks_of_less_than_a_day_are_told_apart(timed: FittedPool) -> None:
    periods = tuple(each._replace(start=3600.0 * k) for k, each in enumerate(timed.periods))
    text = "\n".join(as_lines(replace(timed, periods=periods), 100))
    assert "1970-01-01 00:00:00" in text
    assert "1970-01-01 01:00:00" in text


# --- the worst case ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [2, slowly(3)])
def test_the_bounds_are_those_of_certify(recalibrated: FittedPool, agents: int) -> None:
    worst = worst_case(recalibrated, agents=agents)
    assert [each.agents for each in worst.bounds] == sorted({2, agents})
    assert worst.refusals == ()
    for each in worst.bounds:
        family = rp.ConditionallyIndependent(each.agents, None, None)
        proved = rp.certify(recalibrated.aggregator, family)
        assert each.pool == proved.upper
        assert each.robust == rp.certify("robust", family).upper
        assert each.difference == each.pool - each.robust
        assert rp.verify(proved.data).verified


PROVED_ONCE = cache(learning_worst_case._proved)


@pytest.fixture
def _proofs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proved of a rule is proved once."""
    monkeypatch.setattr(learning_worst_case, "_proved", PROVED_ONCE)


@pytest.mark.usefixtures("_proofs_once")
@pytest.mark.parametrize(("typical", "agents"), [(1, [2]), slowly((2, [2])), slowly((5, [2, 5])), (30, [2, 8])])
def test_agents_are_as_many_as_answers_up_to_eight(recalibrated: FittedPool, typical: int, agents: list[int]) -> None:
    pool = replace(recalibrated, learned=replace(recalibrated.learned, typical_answers=typical))
    worst = worst_case(pool)
    assert [each.agents for each in worst.bounds] == agents
    assert all(0 < each.robust < 0.25 for each in worst.bounds)


def test_the_mean_is_proved_for_two(timed: FittedPool) -> None:
    pool = replace(timed, aggregator=LearnedRule(rule="mean"))
    worst = worst_case(pool, agents=6)
    (two,) = worst.bounds
    assert two.agents == 2
    assert 0.0625 <= two.pool <= 0.0625 + 1e-6  # 1/16 [Arieli2018]
    assert worst.refusals == ("no upper bound can be proved for the rule mean and 6 agents.",)


def test_weights_cannot_be_certified(weighted: FittedPool) -> None:
    worst = worst_case(weighted)
    assert worst.bounds == ()
    (refusal,) = worst.refusals
    assert refusal.endswith("this one has learned weights of forecasters.")
    section = next(each for each in pool_page(weighted, worst=worst).sections if "worst case" in each.title)
    assert section.points == (refusal.replace("a fitted", "A fitted", 1),)
    assert section.parts == ()
    assert "it is not known what learning costs in the worst case" in section.text


def test_without_the_extra_the_page_says_so(recalibrated: FittedPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_installed", lambda module: module not in {"scipy", "numba", "clarabel"})
    worst = worst_case(recalibrated)
    assert worst.bounds == ()
    (refusal,) = worst.refusals
    assert "install robustpool[solve]" in refusal
    assert "install robustpool[solve]" in render(pool_page(recalibrated, worst=worst))


@pytest.mark.parametrize("agents", [1, 9, 2.5])
def test_agents_must_be_a_number_that_is_proved(recalibrated: FittedPool, agents: Any) -> None:
    with pytest.raises(rp.InputError, match=f"agents must be a whole number, at least 2 and at most 8; it is {agents}"):
        worst_case(recalibrated, agents=agents)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((0.068410001, 0.0225), "For 2 forecasters the bound of the pool is larger by 0.0459."),
        ((0.0200005, 0.0225), "the bound of the pool is smaller by 0.0025."),
        ((0.0225, 0.0225), "both bounds are the same."),
    ],
)
def test_the_worst_case_is_said_with_what_it_holds_for(
    recalibrated: FittedPool, bounds: tuple[float, float], words: str
) -> None:
    page = pool_page(recalibrated, worst=PoolWorstCase((WorstCaseBounds(2, *bounds),), ()))
    section = next(each for each in page.sections if each.title == "What learning costs in the worst case")
    assert words in section.text
    assert (
        "They hold for calibrated forecasters with independent private evidence, with any public evidence, and for reports that are not clipped."
        in section.text
    )
    assert "In practice the pool clips reports to [0.01, 0.99]." in section.text
    assert "A typical question has 5 answers, for which nothing is proved here." in section.text
    ((agents, own, robust, _),) = tables(page)["Worst-case regret, proved"].rows
    assert (agents, robust) == ("2", "0.022500")
    assert bounds[0] <= float(own) < bounds[0] + 1e-6  # rounded up, never down
    assert page.sections[-1].text.endswith("Only the bounds on the worst case are proved.")


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_forms_are_those_of_the_pool(pool: FittedPool) -> None:
    page = pool_page(pool, worst=NO_BOUND)
    *rows, whole = tables(page)["Forms that were tried"].rows
    assert [row[0] for row in rows] == [
        f"{each.name} *" if each.name == pool.chosen else each.name for each in pool.tried
    ]
    for row, form in zip(rows, pool.tried, strict=True):
        assert float(row[1]) == pytest.approx(form.brier, abs=5e-5)
        assert float(row[2]) == pytest.approx(form.gain.value, abs=5e-5)
        assert row[3] == "-" if form.name == "mean" else numbers(row[3]) == pytest.approx(form.gain[1:], abs=5e-5)
    assert [float(cell) for cell in whole[1:3]] == pytest.approx([pool.brier.value, pool.gain], abs=5e-5)
    assert whole[3] == "-" or numbers(whole[3]) == pytest.approx(pool.over_mean[1:], abs=5e-5)
    assert " ".join(pool.summary) in page.lead
    assert page.sections[0].points == pool.notes
    assert page.settings["rule"] == pool.aggregator.formula
    assert page.settings["questions"] == str(pool.learned.questions)
    assert page.settings["hash of the pool"] == pool.hash


def test_the_weights_are_those_of_the_pool(weighted: FittedPool) -> None:
    page = pool_page(weighted, worst=NO_BOUND)
    rows = tables(page)["Weights of the forecasters"].rows
    for row, each in zip(rows, weighted.weights, strict=True):
        assert (row[0], row[3]) == (each.forecaster, str(each.questions))
        assert [float(row[1]), *numbers(row[2])] == pytest.approx(each[1:4], abs=5e-3)
    picture = pictures(page)["weights"]
    heaviest, lightest = weighted.weights[0], weighted.weights[-1]
    assert f"from {heaviest.forecaster} with {heaviest.weight:.2f} to {lightest.forecaster}" in picture.alt
    above = sum(each.low > 1 for each in weighted.weights)
    assert above > 1
    assert f"The interval of {above} forecasters lies above 1" in picture.meaning


def test_of_very_many_weights_the_ends_are_listed(weighted: FittedPool) -> None:
    weights = tuple(Weight(f"человек 人 {k}", 4.0 - k / 40, 1.0, 5.0, 9) for k in range(120))
    page = pool_page(replace(weighted, weights=weights), worst=NO_BOUND)  # letters that the font lacks are no warning
    table = tables(page)["Weights of the forecasters"]
    assert [row[0] for row in table.rows] == [each.forecaster for each in (*weights[:25], *weights[-25:])]
    assert "70 forecasters in the middle are not shown" in table.note
    assert "not shown" not in tables(pool_page(weighted, worst=NO_BOUND))["Weights of the forecasters"].note


def test_the_blocks_are_those_of_the_pool(timed: FittedPool) -> None:
    page = pool_page(timed, worst=NO_BOUND)
    rows = tables(page)["Blocks of time"].rows
    so_far = running_gains(timed.periods)
    for row, each, total in zip(rows, timed.periods, so_far, strict=True):
        assert datetime.fromisoformat(f"{row[0]}T00:00Z").timestamp() == each.start
        assert row[1:3] == (str(each.questions), each.chosen)
        shown = [each.brier, each.mean, each.mean - each.brier, total, each.robust]
        assert [float(cell) for cell in row[3:]] == pytest.approx(shown, abs=5e-5)
    assert so_far[-1] == pytest.approx(timed.gain)
    assert f"in {len(timed.periods)} blocks of time from {rows[0][0]} on" in pictures(page)["gain-over-time"].alt


def test_what_was_not_learned_has_no_section(pool: FittedPool) -> None:
    page = pool_page(pool, worst=NO_BOUND)
    titles = {section.title for section in page.sections}
    assert ("How much each forecaster counts" in titles) == bool(pool.weights)
    assert ("How the pool did in time" in titles) == bool(pool.periods)
    names = {"calibration", *(["weights"] if pool.weights else []), *(["gain-over-time"] if pool.periods else [])}
    assert set(pictures(page)) == names
    assert ("most recent third of the blocks" in render(page)) == bool(pool.periods)
    assert {"What was learned", "Are the forecasts calibrated?", "What learning costs in the worst case"} < titles


def test_every_picture_has_words(pool: FittedPool) -> None:
    found = pictures(pool_page(pool, worst=NO_BOUND)).values()
    assert all(len(picture.alt) > 40 and picture.meaning.endswith(".") for picture in found)
    assert len({picture.alt for picture in found}) == len(found)


def test_the_calibration_is_that_of_the_pool(recalibrated: FittedPool) -> None:
    picture = pictures(pool_page(recalibrated, worst=NO_BOUND))["calibration"]
    before, after = recalibrated.calibration[:2]
    assert f"mean (before): at the lowest forecast, {before[0].forecast:.2f}" in picture.alt
    assert f"pool (after): at the lowest forecast, {after[0].forecast:.2f}" in picture.alt
    mean = next(form.brier for form in recalibrated.tried if form.name == "mean")
    assert f"{mean:.4f} for the mean and {recalibrated.brier.value:.4f} for the pool" in picture.meaning
    same = replace(recalibrated, calibration=recalibrated.calibration._replace(after=before))
    assert "the curves coincide" in pictures(pool_page(same, worst=NO_BOUND))["calibration"].meaning


def test_settings_say_until_when_it_learned(timed: FittedPool) -> None:
    assert pool_page(timed, worst=NO_BOUND).settings["learned from questions resolved until"] == "the end of the table"
    until = replace(timed, learned=replace(timed.learned, as_of=86_400.0 * 365))
    assert pool_page(until, worst=NO_BOUND).settings["learned from questions resolved until"] == "1971-01-01"


def test_a_pool_of_options_has_a_page() -> None:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([1, 1, 1], 60)
    outcome = (rng.random(60)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    answers = np.repeat(truth, 3, axis=0) ** rng.uniform(0.5, 2, (180, 1)) + 0.02
    table = rp.ForecastTable(
        [f"q{q}" for q in range(60)], ["ann", "bob", "eve"], np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60),
        answers / answers.sum(axis=1, keepdims=True), outcome.astype(float), options=60 * [("H", "D", "A")],
    )  # fmt: skip
    pool = rp.fit(table, draws=100)
    page = pool_page(pool)
    assert page.settings["options per question"] == "up to 3"
    text = render(page)
    assert "summed over the options: from 0 to 2" in text
    assert "one against the rest" in text
    assert tuple(as_data(pool)["over_default"].values()) == pool.over_default


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_the_page_opens_without_a_complaint(
    browser: Browser, weighted: FittedPool, timed: FittedPool, tmp_path: Path
) -> None:
    everything = replace(weighted, periods=timed.periods, notes=("a < b & c",))
    worst = PoolWorstCase((WorstCaseBounds(2, 0.05, 0.03),), ("nothing for three.",))
    write_pool(everything, tmp_path / "new" / "page.html", title="Learned from <my> data.csv", worst=worst)
    narrow, wide = WIDTHS
    with opened(browser, tmp_path / "new" / "page.html", narrow) as page:
        assert overflow(page) == 0
        assert findings(page) == []
        assert page.locator("h1").inner_text() == "Learned from <my> data.csv"
        assert page.locator("table").count() == 4
        assert page.locator("img").count() == page.locator("img[alt]").count() == 3
        page.set_viewport_size({"width": wide, "height": 900})
        assert overflow(page) == 0
