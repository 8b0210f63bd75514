"""Pictures of fitted pools: the weights and the gain in time, as they are given, on the axes that are given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from robustpool import plots
from robustpool.learning.records import Period, Weight
from robustpool.plots.pools import ends, gains, running_gains

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400.0
WEIGHTS = (
    Weight("ann", 4.0, 2.0, 8.0, 40),
    Weight("bob", 1.1, 0.8, 1.5, 30),
    Weight("eve", 0.5, 0.25, 0.75, 20),
)
MANY = tuple(Weight(f"f{k}", 2.0 ** (3 - k / 5), 2.0 ** (2 - k / 5), 2.0 ** (4 - k / 5), k) for k in range(31))
PERIODS = (
    Period(19_000 * DAY, 10, "mean", 0.20, 0.20, 0.21),
    Period(19_030 * DAY, 30, "robust", 0.15, 0.19, 0.15),
    Period(19_060 * DAY, 20, "recalibrated", 0.22, 0.21, 0.23),
)

DRAWINGS: dict[str, Callable[[Any], Any]] = {
    "weights": lambda ax: plots.draw_weights(WEIGHTS, ax),
    "many weights": lambda ax: plots.draw_weights(MANY, ax, most=6),
    "one weight": lambda ax: plots.draw_weights([Weight("ann", 1.0, 1.0, 1.0, 1)], ax),
    "gain": lambda ax: plots.draw_gain_over_time(PERIODS, ax),
    "one block": lambda ax: plots.draw_gain_over_time(PERIODS[:1], ax),
}


@pytest.fixture
def ax() -> Any:
    return plots.new_figure()[1][0, 0]


@pytest.mark.parametrize("name", DRAWINGS)
def test_draws_on_the_axes_given_and_on_no_others(name: str) -> None:
    figure, axes = plots.new_figure(2, 1)
    blank = plots.png(figure)
    DRAWINGS[name](axes[0, 0])
    assert axes[0, 0].has_data()
    assert not axes[0, 1].has_data()
    assert axes[0, 0].get_xlabel()
    assert axes[0, 0].get_ylabel()
    assert plots.png(figure) != blank
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def segments(ax: Any) -> list[list[list[float]]]:
    return [
        segment.tolist() for part in ax.collections if hasattr(part, "get_segments") for segment in part.get_segments()
    ]


# --- weights ----------------------------------------------------------------------------------------------------------


def test_weights_are_drawn_with_their_intervals_the_heaviest_on_top(ax: Any) -> None:
    drawn = plots.draw_weights(WEIGHTS, ax)
    points = {(x, y) for line in drawn for x, y in line.get_xydata().tolist()}
    assert points == {(each.weight, float(place)) for place, each in enumerate(WEIGHTS)}
    assert sorted(segments(ax)) == sorted([[each.low, k], [each.high, k]] for k, each in enumerate(WEIGHTS))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ann", "bob", "eve"]
    low, high = ax.get_ylim()
    assert low > high  # the first line is the highest
    assert [line.get_xdata() for line in ax.lines if list(line.get_ydata()) == [0, 1]] == [[1, 1]]  # from bottom to top


def test_colour_and_marker_tell_whether_an_interval_holds_1(ax: Any) -> None:
    drawn = {line.get_label(): line for line in plots.draw_weights(WEIGHTS, ax)}
    assert {name: line.get_xdata().tolist() for name, line in drawn.items()} == {
        "counts more": [4.0], "about average": [1.1], "counts less": [0.5],
    }  # fmt: skip
    assert len({line.get_marker() for line in drawn.values()}) == 3
    assert len({(line.get_color(), line.get_markerfacecolor()) for line in drawn.values()}) == 3


def test_weights_have_a_logarithmic_axis_with_powers_of_2(ax: Any) -> None:
    plots.draw_weights(WEIGHTS, ax)
    assert ax.get_xscale() == "log"
    left, right = ax.get_xlim()
    assert left < 0.25
    assert right > 8.0
    labels = [ax.xaxis.get_major_formatter()(x, 0) for x in ax.get_xticks() if left <= x <= right]
    assert labels == ["1/4", "1/2", "1", "2", "4", "8"]


@pytest.mark.parametrize("most", [6, 7, 20])
def test_of_many_weights_the_heaviest_and_the_lightest_are_drawn(ax: Any, most: int) -> None:
    drawn = plots.draw_weights(MANY, ax, most=most)
    names = [label.get_text() for label in ax.get_yticklabels()]
    heavy, light = most - most // 2, most // 2
    heaviest, lightest = MANY[:heavy], MANY[-light:]
    more = f"({31 - most} more)"
    assert names == [*(each.forecaster for each in heaviest), more, *(each.forecaster for each in lightest)]
    points = {y: x for line in drawn for x, y in line.get_xydata().tolist()}
    by_name = {each.forecaster: each.weight for each in MANY}
    assert {names[int(y)]: x for y, x in points.items()} == {name: by_name[name] for name in names if name != more}


def test_no_weight_is_left_out_if_there_are_no_more_than_that(ax: Any) -> None:
    assert ends(MANY, 31) == (MANY, ())
    plots.draw_weights(MANY, ax, most=31)
    assert len(ax.get_yticklabels()) == 31


def test_names_are_cut_and_are_no_formulas(ax: Any) -> None:
    name = "$100_{bet" + 30 * "x" + "$"
    plots.draw_weights([Weight(name, 1.0, 0.5, 2.0, 3), Weight("$\\x$", 1.0, 0.5, 2.0, 3)], ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"{name[:21]}...", "$\\x$"]
    assert plots.png(ax.figure)  # as a formula it cannot be drawn


# --- time -------------------------------------------------------------------------------------------------------------


def test_gains_stand_at_the_beginning_of_their_blocks(ax: Any) -> None:
    marks, line = plots.draw_gain_over_time(PERIODS, ax)
    when = [each.start / DAY for each in PERIODS]
    assert marks.get_offsets().tolist() == [pytest.approx([x, g]) for x, g in zip(when, (0, 0.04, -0.01), strict=True)]
    so_far = [0.0, 0.03, (30 * 0.04 - 20 * 0.01) / 60]
    assert (line.get_xdata().astype(float) / DAY).tolist() == pytest.approx(when)
    assert line.get_ydata().tolist() == pytest.approx(so_far)
    assert segments(ax) == [
        [pytest.approx([x, 0]), pytest.approx([x, g])] for x, g in zip(when, gains(PERIODS), strict=True)
    ]


def test_the_last_running_gain_is_that_of_all_questions() -> None:
    questions = np.array([each.questions for each in PERIODS])
    assert running_gains(PERIODS)[-1] == pytest.approx(np.average(gains(PERIODS), weights=questions))


def test_every_block_shows_its_questions(ax: Any) -> None:
    marks, _ = plots.draw_gain_over_time(PERIODS, ax)
    assert [text.get_text() for text in ax.texts] == ["10", "30", "20"]
    first, second, third = marks.get_sizes().tolist()
    assert first < third < second
    few, many = plots.new_figure(2, 1)[1][0]
    blocks = [PERIODS[1]._replace(start=k * DAY, questions=k + 1) for k in range(40)]
    plots.draw_gain_over_time(blocks[:15], few)
    marks, _ = plots.draw_gain_over_time(blocks, many)
    assert (len(few.texts), len(many.texts)) == (15, 0)  # they would cover each other
    assert (np.diff(marks.get_sizes()) > 0).all()


def test_the_axis_has_dates(ax: Any) -> None:
    plots.draw_gain_over_time(PERIODS, ax)
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    assert 18_993 < low < 19_000  # days; 2022 begins with the 18,993rd
    assert 19_060 < high < 19_070
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert "Feb" in labels
    assert ax.xaxis.get_offset_text().get_text().startswith("2022")


@pytest.mark.parametrize("days", [1e-5, 0.01, 0.5, 3, 20, 60, 200, 500, 1000, 1600, 2500, 5000, 20_000])
def test_any_span_of_time_has_some_dates(ax: Any, days: float) -> None:
    """Too few ticks at most make matplotlib warn for spans of some years, and warnings are errors here."""
    starts = 1.6e9 + days * DAY * np.linspace(0, 1, 10)
    plots.draw_gain_over_time([PERIODS[1]._replace(start=start) for start in starts.tolist()], ax)
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    assert 1 <= sum(low <= tick <= high for tick in ax.get_xticks()) <= 12
