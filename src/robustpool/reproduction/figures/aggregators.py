"""Heatmaps of the aggregators, and of how they differ from ours [Guo2024, fig:allaggregators]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...game.worst_case import tabulated
from ...plots import colour_bar, draw_aggregator, draw_difference, new_figure, title
from ...plots.heatmaps import DIFFERENCE, FORECAST
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

NAMES = {
    "mean": "simple averaging",
    "average-prior": "average prior",
    "arieli-tuned": "state of the art",
    "algorithm-1": "the paper's: Algorithm 1, N = {N}",
    "continuous": "ours: N = {N}, any reports",
    "minimax": "ours: minimax",
}
OURS = "minimax"


def compared(bench: Workbench) -> dict[str, Any]:
    """The aggregators that the figures of Section 7 compare."""
    rules: dict[str, Any] = {name: name for name in ("mean", "average-prior", "arieli-tuned")}
    rules["algorithm-1"] = bench.algorithm_1().aggregator
    rules["continuous"] = bench.against_continuous_nature(bench.settings.reports).aggregator
    return {**rules, OURS: OURS}


def words(name: str, numbers: Numbers) -> str:
    """What to write above a panel."""
    return NAMES[name].format(N=int(numbers["N"]))


def _compute(bench: Workbench) -> Numbers:
    x = np.linspace(0, 1, 101)
    values = {name: tabulated(aggregator, x) for name, aggregator in compared(bench).items()}
    return {"x": x, "N": np.array(bench.settings.reports), **values}


def _draw(numbers: Numbers) -> Figure:
    figure, axes = new_figure(3, 2)
    for name, ax in zip(NAMES, axes.flat, strict=True):
        image = draw_aggregator(numbers[name], ax, bar=False)
        title(ax, words(name, numbers))
    colour_bar(image, axes, FORECAST)
    return figure


def _meaning(numbers: Numbers) -> str:
    low = {name: float(numbers[name][10, 10]) for name in NAMES}
    return (
        "Every aggregator but simple averaging follows a report that is nearly certain. When both report 0.1, ours goes further "
        f"out than they do: minimax says {low['minimax']:.3f}, the state of the art {low['arieli-tuned']:.3f} and the average "
        f"prior {low['average-prior']:.3f}; Algorithm 1's table says {low['algorithm-1']:.3f} there, but such a table is far from unique."
    )


def _draw_differences(numbers: Numbers) -> Figure:
    figure, axes = new_figure(3, 2)
    others = [name for name in NAMES if name != OURS]
    for name, ax in zip(others, axes.flat, strict=False):
        image = draw_difference(numbers[name], numbers[OURS], ax, limit=0.15, bar=False)
        title(ax, f"{words(name, numbers)}\nminus minimax")
    axes.flat[-1].set_axis_off()
    colour_bar(image, axes, DIFFERENCE, extend="both")
    return figure


def _differences_mean(numbers: Numbers) -> str:
    far = {name: float(np.abs(numbers[name] - numbers[OURS]).max()) for name in NAMES if name != OURS}
    return (
        f"Simple averaging differs from minimax by up to {far['mean']:.2f}, along the borders; the average prior by up to "
        f"{far['average-prior']:.2f} and the state of the art by up to {far['arieli-tuned']:.2f}. "
        f"The tables with N = {int(numbers['N'])} knots differ by up to {far['algorithm-1']:.2f} and {far['continuous']:.2f} and are "
        "nearly as good: the optimum is flat, and values of the worst case, not points of the tables, should be compared."
    )


AGGREGATORS = PaperFigure(
    "aggregators",
    "What each aggregator says",
    "Six heatmaps of the forecast over the two reports. Simple averaging has straight diagonal contours; the other five "
    "bend towards the corners and agree in the centre.",
    _compute,
    _draw,
    _meaning,
)
DIFFERENCES = PaperFigure(
    "differences",
    "How they differ from ours",
    "Five heatmaps of the forecast minus that of minimax. Simple averaging differs strongly along the borders, the others weakly "
    "between the corners and the centre.",
    _compute,
    _draw_differences,
    _differences_mean,
)
