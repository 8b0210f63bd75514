"""How rules did on forecasts with outcomes: calibration, score differences, and the data on an aggregator's surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.records import Verdict
from .heatmaps import draw_aggregator
from .style import GREEN, GREY, INK, LINES, ORANGE, plain, square

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..evaluation.records import CurvePoint, RuleScore
    from ..typing import Floats
    from .heatmaps import Values

    Curve = Sequence[CurvePoint]
    Histogram = Sequence[float]

TICKS = 5
"""Parts, at most, of an axis of differences: labels such as -0.0125 are long, and the names of the rules take their room."""

STRIP = 0.14
"""Height of the bars below the diagram, in units of its vertical axis; each curve has a strip of its own."""

VERDICTS = {
    Verdict.BETTER: ("<", GREEN, GREEN),
    Verdict.CANNOT_TELL: ("o", "white", INK),
    Verdict.WORSE: (">", ORANGE, ORANGE),
    Verdict.REFERENCE: ("D", INK, INK),
}
"""Marker, its filling and its line: neither shape nor colour alone has to tell the verdicts apart."""

OUTCOMES = {0: ("o", INK, "white", "it did not happen"), 1: ("^", "white", INK, "it happened")}
"""Marker, its filling, its line, and what it means: both can be seen on any colour of the surface."""


def draw_reliability(
    curves: Curve | Mapping[str, Curve], ax: Axes, *, histograms: Histogram | Mapping[str, Histogram] | None = None
) -> list[Any]:
    """How often the event happened against the forecast, by isotonic regression; on the diagonal they agree.

    Of one curve, or of several under their names [Dimitriadis2021]. With ``histograms``, under the same names, bars below
    show where the forecasts lie: the share in each of so many equal bins on [0, 1].
    """
    named = curves if isinstance(curves, Mapping) else {"": curves}
    shares = histograms if isinstance(histograms, Mapping) else {"": histograms or ()}
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    ax.axhline(0, color=INK, linewidth=0.8)
    drawn = []
    for number, ((name, curve), (colour, dash)) in enumerate(zip(named.items(), cycle(LINES), strict=False)):
        points = np.array(curve, dtype=float).reshape(-1, 2)
        drawn += ax.plot(points[:, 0], points[:, 1], dash, color=colour, linewidth=1.6, label=name, clip_on=False)
        _bars(np.asarray(shares.get(name, ()), dtype=float), ax, -(number + 1) * STRIP, colour)
    square(ax)
    ax.set(xlabel="forecast", ylabel="how often it happened")
    ax.set_ylim(-len(named) * STRIP - 0.02 if histograms else 0, 1)
    plain(ax)
    if any(named):
        ax.legend(frameon=False, fontsize=8, loc="upper left")
    return drawn


def _bars(shares: Floats, ax: Axes, base: float, colour: str) -> None:
    """How the forecasts are spread, in bars that stand on ``base``: the tallest is as high as fits."""
    if shares.any():
        left, heights = np.arange(len(shares)) / len(shares), shares * (0.8 * STRIP / shares.max())
        look: Any = {"align": "edge", "color": colour, "edgecolor": "white", "linewidth": 0.5}
        ax.bar(left, heights, 1 / len(shares), base, **look)


def draw_differences(rules: Sequence[RuleScore], ax: Axes) -> list[Any]:
    """Brier score minus that of the reference rule with its 95 % interval, a line for each rule, in the order given.

    Left of zero a rule did better. The marker and its colour show the verdict.
    """
    drawn = []
    ax.axvline(0, color=GREY, linewidth=1.0)
    for verdict, (marker, filling, line) in VERDICTS.items():
        places = [place for place, rule in enumerate(rules) if rule.verdict is verdict]
        if places:
            value, low, high = np.array([rules[place].difference for place in places], dtype=float).T
            ax.hlines(places, low, high, color=line, linewidth=1.4)
            look: Any = {"color": line, "markerfacecolor": filling, "markersize": 6, "zorder": 3}
            drawn += ax.plot(value, places, marker, label=verdict.value, **look)
    ax.set_yticks(range(len(rules)), [rule.name for rule in rules])
    ax.set_ylim(len(rules) - 0.4, -0.6)
    reference = next((rule.name for rule in rules if rule.verdict is Verdict.REFERENCE), "the reference")
    ax.set(xlabel=f"Brier score minus that of {reference} (left is better)", ylabel="rule")
    ax.locator_params(axis="x", nbins=TICKS)
    plain(ax)
    ax.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    _legend_above(ax, 4)
    return drawn


def draw_pairs(aggregator: Values, pairs: ArrayLike, ax: Axes, *, bar: bool = True) -> Any:
    """The forecast of an aggregator over two reports, with given pairs of reports on it: rows x_1, x_2, outcome (0 or 1)."""
    image = draw_aggregator(aggregator, ax, bar=bar)
    rows = np.asarray(pairs, dtype=float).reshape(-1, 3)
    for outcome, (marker, filling, line, meaning) in OUTCOMES.items():
        x = rows[rows[:, 2] == outcome]
        ax.scatter(
            x[:, 0], x[:, 1], 16, marker=marker, facecolors=filling, edgecolors=line, linewidths=0.7, label=meaning,
            clip_on=False, zorder=3,
        )  # fmt: skip
    _legend_above(ax, 2)
    return image


def _legend_above(ax: Axes, columns: int) -> None:
    """What the markers mean, in a line above the axes, where it covers nothing."""
    close = {"handletextpad": 0.1, "columnspacing": 1.0}
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, **close)
