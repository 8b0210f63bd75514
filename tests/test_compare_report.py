"""Pictures and the page of a comparison: they show the record's numbers, on the axes given, with words for everything."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from browser import WIDTHS, chromium, findings, opened, overflow
from robustpool import plots
from robustpool.evaluation.records import (
    Comparison,
    CurvePoint,
    Decomposition,
    Individuals,
    Interval,
    RuleScore,
    Verdict,
)
from robustpool.tables.records import ForecastTable
from robustpool.views import Page, Picture, Table, comparison_pictures, render
from robustpool.views.comparison_page import comparison_page, write_comparison
from robustpool.views.comparison_pictures import differences, surface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

CURVE = (CurvePoint(0.0, 0.1), CurvePoint(0.4, 0.3), CurvePoint(1.0, 0.8))
BARS = tuple({0: 0.2, 8: 0.5, 19: 0.3}.get(place, 0.0) for place in range(20))
RECALIBRATED: Any = {"brier": Interval(0.1873, 0.1774, 0.1975), "verdict": Verdict.BETTER}
NAMES = ("extremized-odds:d=1.5", "geometric-odds", "mean", "median", "robust")


def rule_score(place: int, recalibration: str = "none") -> RuleScore:
    """The score of a rule that is the ``place``-th best; all its numbers are different."""
    shift = 0.01 * (place - 2)
    verdict = (Verdict.BETTER, Verdict.CANNOT_TELL, Verdict.REFERENCE, Verdict.CANNOT_TELL, Verdict.WORSE)[place]
    certain = place == 4
    return RuleScore(
        name=NAMES[place],
        recalibration=recalibration,
        brier=Interval(0.2001 + shift, 0.1812 + shift, 0.2203 + shift),
        brier_by_forecast=Interval(0.2104 + shift, 0.1905 + shift, 0.2306 + shift),
        log=Interval(math.inf, math.inf, math.inf) if certain else Interval(0.5907 + shift, 0.5508, 0.6309),
        certain_and_wrong=3 if certain else 0,
        decomposition=Decomposition(0.0131 + shift / 10, 0.0632 + shift / 10, 0.2499),
        log_decomposition=None if certain else Decomposition(0.01, 0.1, 0.693),
        slope=None if certain else Interval(1.2345 + shift, 1.0346, 1.4347),
        intercept=None if certain else Interval(0.0548, -0.1049, 0.2050),
        auc=0.7451 + shift,
        sharpness=0.0352 + shift / 10,
        difference=Interval(shift, shift - 0.0111 * (place != 2), shift + 0.0112 * (place != 2)),
        verdict=verdict,
        tied_with_best=place < 2,
        stands_out=place == 0,
        curve=CURVE,
        histogram=BARS,
    )


def comparison(**changes: Any) -> Comparison:
    """A comparison with numbers that were made up."""
    rng = np.random.default_rng(1)
    pairs = rng.beta(1.5, 1.5, (300, 2)).round(2)
    outcomes = (rng.random(300) < pairs.mean(axis=1)).astype(int)
    individuals = Individuals(
        brier=0.2561,
        slope=Interval(0.4862, 0.4163, 0.5564),
        intercept=Interval(0.0165, -0.0866, 0.1267),
        certain=0.0368,
        dependence=Interval(0.2169, 0.1570, 0.2771),
        stretch=Interval(1.0574, 0.5875, 1.5176),
        curve=CURVE,
        histogram=BARS,
    )
    record = Comparison(
        questions=103,
        left_out=2,
        forecasters=344,
        answers=7623,
        clusters=None,
        base_rate=0.4854,
        base_rate_brier=0.2547,
        up_to_two=0.0,
        up_to_three=0.0,
        pairs=None,
        clip=0.01,
        seed=0,
        draws=2000,
        reference="mean",
        individuals=individuals,
        rules=tuple(map(rule_score, range(5))),
        recalibrated=tuple(replace(rule_score(place, "slope"), **RECALIBRATED) for place in (4, 1, 2)),
        unscored={"bordley": "it needs a prior; write bordley:p=0.3."},
        advice=("The individuals are over-confident.", "Recalibrate them first, or take the mean."),
        recommended="mean",
        pair_sample=tuple((float(a), float(b), int(y)) for (a, b), y in zip(pairs, outcomes, strict=True)),
    )
    return replace(record, **changes)


# --- pictures ---------------------------------------------------------------------------------------------------------

DRAWINGS: dict[str, Callable[[Any], Any]] = {
    "one curve": lambda ax: plots.draw_reliability(CURVE, ax),
    "two curves": lambda ax: plots.draw_reliability({"individuals": CURVE, "mean": CURVE[1:]}, ax),
    "a curve and bars": lambda ax: plots.draw_reliability(CURVE, ax, histograms=BARS),
    "no forecasts": lambda ax: plots.draw_reliability((), ax),
    "differences": lambda ax: plots.draw_differences(comparison().rules, ax),
    "pairs": lambda ax: plots.draw_pairs("robust", comparison().pair_sample, ax),
    "no pairs": lambda ax: plots.draw_pairs("mean", [], ax, bar=False),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_draws_on_the_axes_given_and_on_no_others(name: str) -> None:
    figure, axes = plots.new_figure(2, 1)
    DRAWINGS[name](axes[0, 0])
    assert axes[0, 0].has_data()
    assert not axes[0, 1].has_data()
    assert axes[0, 0].get_xlabel()
    assert axes[0, 0].get_ylabel()
    assert plots.png(figure)
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_a_reliability_diagram_has_the_curve_and_where_the_forecasts_lie() -> None:
    _, axes = plots.new_figure(2, 1)
    both = {"one": CURVE, "other": CURVE[1:]}
    first, second = plots.draw_reliability(both, axes[0, 0], histograms={"one": BARS, "other": BARS[::-1]})
    assert first.get_xydata().tolist() == [list(point) for point in CURVE]
    assert [line.get_linestyle() for line in (first, second)] == ["-", "--"]
    assert [text.get_text() for text in axes[0, 0].get_legend().get_texts()] == ["one", "other"]
    for bars, shares in zip(axes[0, 0].containers, (BARS, BARS[::-1]), strict=True):
        heights = [bar.get_height() for bar in bars]
        assert heights == pytest.approx([max(heights) * share / 0.5 for share in shares])
        assert [bar.get_x() for bar in bars] == pytest.approx(np.arange(20) / 20)
    assert all(bar.get_y() + bar.get_height() < 0 for bar in axes[0, 0].patches)  # below the diagram
    plots.draw_reliability(CURVE, axes[0, 1])
    assert axes[0, 1].get_legend() is None
    assert not axes[0, 1].patches


@pytest.mark.parametrize("name", ["mean", "an aggregator with a name as long as this one"])
@pytest.mark.parametrize("reach", [(-1e-4, 1e-4), (-0.0074, 0.0002), (-0.0088, 0.0275), (-0.099, -0.011), (-0.9, 0.99)])
def test_difference_labels_keep_apart(name: str, reach: tuple[float, float], monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(comparison_pictures, "png", figures.append)
    rules = [replace(rule_score(0), name=name, difference=Interval(sum(reach) / 2, *reach)), rule_score(2)]
    differences(comparison(rules=tuple(rules)))
    figures[0].draw_without_rendering()
    ax = figures[0].axes[0]
    low, high = ax.get_xlim()
    labels = [label for at, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True) if low <= at <= high]
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) >= 2
    gap = 0.5 * boxes[0].height
    assert all(left.x1 + gap < right.x0 for left, right in pairwise(boxes)), [label.get_text() for label in labels]


def test_the_bars_are_the_answers_of_the_table() -> None:
    """Answers between the steps of the isotonic curve once fell into the bins of the ends of their step."""
    rng = np.random.default_rng(0)
    answers = rng.choice(np.arange(40, 56) / 100, 400)
    table = ForecastTable(
        [f"q{q}" for q in range(100)], [f"f{f}" for f in range(4)], np.repeat(np.arange(100), 4),
        np.tile(np.arange(4), 100), answers, (np.arange(100) % 2).astype(float),
    )  # fmt: skip
    found = rp.compare(table, rules=["mean"], draws=100)
    in_bins = [int(((answers >= k / 100) & (answers < (k + 5) / 100)).sum()) for k in (40, 45, 50, 55)]
    assert min(in_bins) > 0
    assert [round(400 * share) for share in found.individuals.histogram[8:12]] == in_bins
    means = answers.reshape(100, 4).mean(axis=1)
    assert 100 * found.rules[0].histogram[9] == pytest.approx(((means >= 0.45) & (means < 0.5)).sum())


def test_differences_are_told_by_marker_and_colour_best_on_top() -> None:
    _, axes = plots.new_figure()
    ax, rules = axes[0, 0], comparison().rules
    drawn = {line.get_label(): line for line in plots.draw_differences(rules, ax)}
    assert set(drawn) == {"better", "cannot tell", "worse", "reference"}
    assert len({line.get_marker() for line in drawn.values()}) == 4
    assert len({(line.get_color(), line.get_markerfacecolor()) for line in drawn.values()}) == 4
    assert drawn["better"].get_xdata().tolist() == [rules[0].difference.value]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(NAMES)
    low, high = ax.get_ylim()
    assert low > high  # the first line is the highest
    spans = {tuple(segment[:, 0].tolist()) for part in ax.collections for segment in part.get_segments()}
    assert spans == {(rule.difference.low, rule.difference.high) for rule in rules}
    assert "minus that of mean" in ax.get_xlabel()


def test_pairs_are_told_by_marker_and_colour() -> None:
    _, axes = plots.new_figure()
    plots.draw_pairs("mean", [(0.1, 0.2, 0), (0.7, 0.6, 1), (1.0, 0.4, 1)], axes[0, 0])
    discs, triangles = axes[0, 0].collections
    assert discs.get_offsets().tolist() == [[0.1, 0.2]]
    assert triangles.get_offsets().tolist() == [[0.7, 0.6], [1.0, 0.4]]
    assert discs.get_facecolor().tolist() != triangles.get_facecolor().tolist()
    assert len(discs.get_paths()[0].vertices) != len(triangles.get_paths()[0].vertices)


# --- the page ---------------------------------------------------------------------------------------------------------


def tables(page: Page) -> dict[str, Table]:
    return {part.title: part for section in page.sections for part in section.parts if isinstance(part, Table)}


def pictures(page: Page) -> list[Picture]:
    return [part for section in page.sections for part in section.parts if isinstance(part, Picture)]


def numbers(cell: str) -> list[float]:
    return [float(end) for end in cell.split("\u00a0to\u00a0")]


@pytest.fixture(scope="module")
def page() -> Page:
    return comparison_page(comparison())


def test_the_scores_are_those_of_the_record(page: Page) -> None:
    record, found = comparison(), tables(page)
    for rule, row in zip(record.rules, found["Scores"].rows, strict=True):
        assert row[0] == (f"{rule.name} *" if rule.tied_with_best else rule.name)
        assert float(row[1]) == pytest.approx(rule.brier.value, abs=5e-5)
        assert numbers(row[2]) == pytest.approx(rule.brier[1:], abs=5e-5)
        assert float(row[3]) == pytest.approx(rule.difference.value, abs=5e-6)
        if rule.verdict is not Verdict.REFERENCE:
            assert numbers(row[4]) == pytest.approx(rule.difference[1:], abs=1e-5)
        assert row[5].replace("\u00a0", " ") == rule.verdict
    after = found["Scores after recalibration"]
    assert [row[0].split()[0] for row in after.rows] == [rule.name for rule in record.recalibrated]
    assert {row[1] for row in after.rows} == {"0.1873"}


def test_the_other_scores_are_those_of_the_record(page: Page) -> None:
    record, table = comparison(), tables(page)["Other scores"]
    for rule, row in zip(record.rules, table.rows, strict=True):
        shown = [math.inf if cell == "infinite" else float(cell) for cell in row[1:3]]
        assert shown == pytest.approx([rule.brier_by_forecast.value, rule.log.value], abs=5e-5)
        if rule.slope is None:
            assert row[3:5] == ("-", "-")
        else:
            assert float(row[3]) == pytest.approx(rule.slope.value, abs=5e-4)
            assert numbers(row[4]) == pytest.approx(rule.slope[1:], abs=1e-3)
        assert [float(cell) for cell in row[5:]] == pytest.approx([rule.auc, rule.sharpness], abs=5e-4)
    assert "certain and wrong: robust on 3 questions." in table.note


def test_the_decompositions_are_those_of_the_record(page: Page) -> None:
    table = tables(page)["Parts of the scores"]
    for rule, row in zip(comparison().rules, table.rows, strict=True):
        assert [float(cell) for cell in row[1:3]] == pytest.approx(rule.decomposition[:2], abs=5e-5)
        if rule.log_decomposition is None:
            assert row[3:] == ("-", "-")
        else:
            assert [float(cell) for cell in row[3:]] == pytest.approx(rule.log_decomposition[:2], abs=5e-5)
    assert "0.2499 in Brier score, 0.6930 in log score." in table.note


def test_the_page_has_the_advice_and_says_what_was_done() -> None:
    notes = ("4 questions with both a 0 and a 1.",)
    page = comparison_page(
        comparison(notes=notes, pairs=20, clusters=17, advice=("What to do: D.", "A.", "B.", "C.", "E.")), title="Ours"
    )
    assert (page.title, page.lead) == ("Ours", "What to do: D.\n\nA. B. C.\n\nE.")
    text = render(page)
    for sentence in [
        "103 questions with an outcome, 344 forecasters, 7,623 answers; the event happened in 48.5 % of the questions.",
        "Each rule combined up to 20 random pairs of answers to each question.",
        "2 questions without a usable outcome or with fewer than two answers are left out.",
        "<code>bordley</code> was not scored: it needs a prior; write bordley:p=0.3.",
        "4 questions with both a 0 and a 1.",
        "slope, fitted on other questions; compared with mean on the original answers",
        "measured on your data. None of them is proved",
        "2,000 bootstrap draws: the 17 clusters are drawn as a whole",
    ]:
        assert sentence in text
    assert page.settings["seed"] == "0"
    assert page.settings["pairs per question"] == "up to 20"
    assert "rows rejected" not in page.settings
    assert comparison_page(comparison(), rejected=1234).settings["rows rejected"] == "1,234"


def test_the_surface_is_that_of_two_answers(page: Page) -> None:
    assert "The forecast of robust for two answers" in {section.title for section in page.sections}
    titles = {picture.name: picture.title for picture in pictures(page)}
    assert titles["pairs"] == "The forecast of robust for two answers, with pairs of yours on it"


def test_the_base_rate_is_shown_where_it_is_to_be_had(page: Page) -> None:
    assert page.sections[0].text.endswith("Always forecasting the base rate scores 0.2547.")
    assert "base rate scores" not in comparison_page(comparison(base_rate_brier=math.nan)).sections[0].text


def test_every_picture_has_words(page: Page) -> None:
    record, found = comparison(), pictures(page)
    assert [picture.name for picture in found] == [
        "differences", "reliability-individuals", "reliability-extremized-odds:d=1.5", "reliability-mean",
        "reliability-robust", "pairs", "reliability-original-recalibrated",
    ]  # fmt: skip
    assert all(len(picture.alt) > 40 and picture.meaning.count(". ") in (1, 2) for picture in found)
    assert len({picture.alt for picture in found}) == len(found)
    words = {picture.name: f"{picture.alt} {picture.meaning}" for picture in found}
    assert "1 better, 1 worse, 2 not significantly different" in words["differences"]
    assert "at the highest, 1.00, in 80%" in words["reliability-individuals"]
    assert "0.49 (0.42 to 0.56)" in words["reliability-individuals"]
    assert (
        "share of the answers in each 5% of the scale, where every answer counts once; the tallest is 50%."
        in (words["reliability-individuals"])
    )
    assert (
        "share of the forecasts in each 5% of the scale, where every question counts once; the tallest is 50%."
        in (words["reliability-mean"])
    )
    assert "the tallest is 50% (original) and 50% (recalibrated)" in words["reliability-original-recalibrated"]
    assert "would save 0.0131 of the Brier score of 0.2001" in words["reliability-mean"]
    happened = sum(outcome for _, _, outcome in record.pair_sample)
    assert f"300 pairs of answers: {happened} triangles" in words["pairs"]
    assert "0.1873 after recalibration, and 0.2201 without" in words["reliability-original-recalibrated"]


@pytest.mark.parametrize(("rule", "share"), [("mean", "0%"), ("geometric-odds", "0%"), ("product", "50%")])
def test_the_share_of_forecasts_beyond_both_answers(rule: str, share: str) -> None:
    record = comparison(pair_sample=((0.7, 0.6, 1), (0.9, 0.1, 0), (0.2, 0.3, 0), (0.5, 0.5, 1)))
    assert f"For {share} of these pairs the forecast goes beyond both answers" in surface(record, rule).meaning


def test_little_data_makes_a_smaller_page() -> None:
    few = comparison(
        rules=(rule_score(2),), recalibrated=(), pair_sample=(), unscored={}, left_out=0, clip=0.0,
        individuals=Individuals(0.25, None, None, 0.0, None, None, ()),
    )  # fmt: skip
    page = comparison_page(few)
    titles = [section.title for section in page.sections]
    assert not {"After recalibration", "The forecast of robust for two answers"} & set(titles)
    names = [picture.name for picture in pictures(page)]
    assert names == ["differences", "reliability-individuals", "reliability-mean"]
    text = render(page)
    assert "are left out" not in text
    assert "clipped to" not in text
    assert "no forecasts" in text
    assert tables(page)["The answers"].rows[0][1:3] == ("-", "-")
    assert page.settings["recalibration"] == "none"


def test_the_individuals_are_those_of_the_record(page: Page) -> None:
    rows = {row[0]: row[1:4] for row in tables(page)["The answers"].rows}
    assert rows["calibration slope"] == ("0.49", "0.42\u00a0to\u00a00.56", "1")
    assert rows["calibration intercept"] == ("0.02", "-0.09\u00a0to\u00a00.13", "0")
    assert rows["correlation given the outcome"] == ("0.22", "0.16\u00a0to\u00a00.28", "0")
    assert rows["stretch of the average"] == ("1.06", "0.59\u00a0to\u00a01.52", "-")
    assert rows["answers of exactly 0 or 1"][0] == "3.7 %"
    assert rows["Brier score of an answer"][0] == "0.2561"


def test_the_page_says_which_questions_the_correlation_rests_on(page: Page) -> None:
    note = tables(page)["The answers"].note
    assert "here 103 questions with at least two answers. The stretch" in note
    assert "single answer" not in note
    record = comparison()
    record = replace(record, individuals=replace(record.individuals, one_answer=24))
    note = tables(comparison_page(record))["The answers"].note
    assert "here 79 questions with at least two answers. 24 questions with a single answer are left out of" in note


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_the_page_opens_without_a_complaint(browser: Browser, tmp_path: Path) -> None:
    record = comparison(
        rules=tuple(replace(rule_score(k % 5), name=f"{NAMES[k % 5]}-{k}") for k in range(15)),
        recalibrated=(),
        unscored={"a<b": "no & never"},
    )
    write_comparison(record, tmp_path / "new" / "page.html", title="Rules compared on <my> data.csv")
    narrow, wide = WIDTHS
    with opened(browser, tmp_path / "new" / "page.html", narrow) as page:
        assert overflow(page) == 0
        assert findings(page) == []
        assert page.locator("h1").inner_text() == "Rules compared on <my> data.csv"
        assert page.locator("table").first.locator("tbody tr").count() == 15
        assert page.locator("img").count() == page.locator("img[alt]").count() == 4
        page.set_viewport_size({"width": wide, "height": 900})
        assert overflow(page) == 0


def test_a_table_that_does_not_fit_says_so_and_scrolls_by_keys(browser: Browser, tmp_path: Path) -> None:
    write_comparison(comparison(), tmp_path / "page.html")
    narrow, wide = WIDTHS
    with opened(browser, tmp_path / "page.html", narrow) as page:
        boxes = page.locator(".scroll")
        hints = page.locator(".hint")
        hints.first.wait_for(state="visible")
        assert hints.count() == boxes.count()
        for box, hint in zip(boxes.all(), hints.all(), strict=True):
            cut = box.evaluate("box => box.scrollWidth > box.clientWidth")
            assert hint.is_visible() == cut
            assert box.get_attribute("aria-describedby") == (hint.get_attribute("id") if cut else None)
        scores = page.locator(".table .scroll").first
        head = scores.locator("tbody th").first
        verdict = scores.locator("tbody td").last
        scores.focus()
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        at_its_end = "box => box.scrollLeft + box.clientWidth >= box.scrollWidth - 1"
        page.wait_for_function(at_its_end, arg=scores.element_handle())
        kept = head.bounding_box()
        assert kept is not None
        assert kept["x"] == 20  # the rule stays in view
        seen = verdict.bounding_box()
        assert seen is not None
        assert seen["x"] + seen["width"] <= narrow
        assert findings(page) == []
        page.set_viewport_size({"width": wide, "height": 900})
        hints.first.wait_for(state="hidden")
        assert not any(hint.is_visible() for hint in hints.all())


def test_without_javascript_the_tables_are_there(browser: Browser, tmp_path: Path) -> None:
    write_comparison(comparison(), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", 400, script=False) as page:
        assert page.locator("table").first.is_visible()
        assert page.locator(".table .scroll").first.evaluate("box => getComputedStyle(box).backgroundImage") != "none"
