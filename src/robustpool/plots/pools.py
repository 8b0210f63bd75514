"""What a fitted pool learned and how it did: the weights of the forecasters, and the gain over the mean in time.

Its calibration before and after is drawn by `draw_reliability`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, GREEN, GREY, INK, ORANGE, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ..learning.records import Period, Weight
    from ..typing import Floats

LONGEST_NAME = 24
"""Letters of a forecaster's name beside the axis; longer names are cut."""

MOST_COUNTS = 15
"""Blocks of time, at most, whose number of questions is written beside the mark; the size of the mark always shows it."""

SMALLEST_MARK, LARGEST_MARK = 12.0, 70.0
"""Areas of the marks of a block without questions and of the block with most of them."""


def ends(weights: Sequence[Weight], most: int) -> tuple[Sequence[Weight], Sequence[Weight]]:
    """The heaviest and the lightest, ``most`` of them together; all of them and none if there are no more than that.

    The weights are given heaviest first, as a `FittedPool` has them.

    >>> ends("abcdefg", 4), ends("abc", 4)
    (('ab', 'fg'), ('abc', ''))
    """
    if len(weights) <= most:
        return weights, weights[:0]
    return weights[: most - most // 2], weights[len(weights) - most // 2 :]


def gains(periods: Sequence[Period]) -> Floats:
    """The Brier score of the mean minus that of the pool in each block of time."""
    return np.array([period.mean - period.brier for period in periods])


def running_gains(periods: Sequence[Period]) -> Floats:
    """The mean gain over all questions up to the end of each block.

    >>> from robustpool.learning.records import Period
    >>> running_gains([Period(0.0, 10, "mean", 0.2, 0.2, 0.2), Period(1.0, 30, "mean", 0.1, 0.2, 0.2)]).round(3).tolist()
    [0.0, 0.075]
    """
    questions = np.array([period.questions for period in periods])
    return np.asarray(np.cumsum(questions * gains(periods)) / np.cumsum(questions))


def draw_weights(weights: Sequence[Weight], ax: Axes, most: int = 20) -> list[Any]:
    """The weights of forecasters with their 95 % intervals, a line for each, the heaviest on top; at 1 one counts as an average one.

    The weights are given heaviest first. If there are more than ``most``, the heaviest and the lightest are drawn, and a line
    between them says how many are left out. Colour and marker tell whether the interval lies above 1, below 1, or holds it.
    """
    heaviest, lightest = ends(weights, most)
    left_out = len(weights) - len(heaviest) - len(lightest)
    drawn_ones = [*heaviest, *lightest]
    places = np.arange(len(drawn_ones)) + (np.arange(len(drawn_ones)) >= len(heaviest)) * bool(left_out)
    value, low, high = np.array([each[1:4] for each in drawn_ones], dtype=float).reshape(-1, 3).T
    kinds = (
        (low > 1, ">", GREEN, GREEN, "counts more"),
        ((low <= 1) & (high >= 1), "o", "white", INK, "about average"),
        (high < 1, "<", ORANGE, ORANGE, "counts less"),
    )
    ax.axvline(1, color=GREY, linewidth=1.0)
    drawn = []
    for which, marker, filling, line, meaning in kinds:
        if which.any():
            ax.hlines(places[which], low[which], high[which], color=line, linewidth=1.4)
            look: Any = {"color": line, "markerfacecolor": filling, "markersize": 6, "zorder": 3}
            drawn += ax.plot(value[which], places[which], marker, label=meaning, **look)
    labels = [_short(each.forecaster) for each in drawn_ones]
    if left_out:
        labels.insert(len(heaviest), f"({left_out:,} more)")
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    _axis_of_weights(ax, low.min(initial=0.5), high.max(initial=2.0))
    ax.set(xlabel="weight (1 for an average forecaster)", ylabel="forecaster")
    plain(ax)
    ax.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    _legend_above(ax)
    return drawn


def _axis_of_weights(ax: Axes, low: float, high: float) -> None:
    """A logarithmic axis with the powers of 2."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    ax.set_xscale("log", base=2)
    ax.set_xlim(low / 1.15, high * 1.15)
    ax.xaxis.set_major_locator(LogLocator(base=2, numticks=12))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}"))
    ax.minorticks_off()


def draw_gain_over_time(periods: Sequence[Period], ax: Axes) -> list[Any]:
    """The gain over the mean in each block of time, at its beginning, and the mean gain over all questions so far.

    Above 0 the pool did better than the mean. A mark is as large as its block has questions; if there are not too many, the numbers
    of questions stand beside them.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    when = np.array([period.start for period in periods]).astype(np.int64).astype("datetime64[s]")
    questions = np.array([period.questions for period in periods])
    gain = gains(periods)
    ax.axhline(0, color=GREY, linewidth=1.0)
    ax.vlines(when, 0, gain, color=INK, linewidth=1.0)
    areas = SMALLEST_MARK + (LARGEST_MARK - SMALLEST_MARK) * questions / questions.max(initial=1)
    marks = ax.scatter(
        when, gain, areas, facecolors="white", edgecolors=INK, zorder=3, label="a block, with its questions"
    )
    (line,) = ax.plot(when, running_gains(periods), "--", color=BLUE, linewidth=1.6, label="all questions so far")
    if len(periods) <= MOST_COUNTS:
        for x, y, number in zip(when, gain, questions.tolist(), strict=True):
            look: Any = {"ha": "center", "va": "bottom" if y >= 0 else "top", "fontsize": 8, "color": INK}
            ax.annotate(f"{number:,}", (x, y), (0, 6 if y >= 0 else -6), textcoords="offset points", **look)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    ax.margins(x=0.06, y=0.18)
    ax.set(xlabel="beginning of the block (UTC)", ylabel="gain over the mean (above 0 is better)")
    plain(ax)
    _legend_above(ax)
    return [marks, line]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."


def _legend_above(ax: Axes) -> None:
    """What the marks mean, in a line above the axes, where it covers nothing."""
    if ax.get_legend_handles_labels()[0]:
        close = {"handletextpad": 0.3, "columnspacing": 1.0}
        ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, **close)
