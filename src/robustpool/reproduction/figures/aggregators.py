"""Heatmaps of the aggregators, and of how they differ from ours [Guo2024, fig:allaggregators]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.worst_case import tabulated
from ...plots import colour_bar, draw_aggregator, draw_difference, new_figure, title
from ...plots.heatmaps import DIFFERENCE, FORECAST
from ..table_1 import RULES
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

NAMES = {
    **RULES,
    "algorithm-1": "the paper's: Algorithm 1, N = {N}",
    "continuous": "ours: N = {N}, any reports",
    "minimax": "ours: minimax",
}
OURS = "minimax"
OTHERS = [name for name in NAMES if name != OURS]


def compared(bench: Workbench) -> dict[str, Any]:
    """The aggregators that the figures of Section 7 compare."""
    rules: dict[str, Any] = {name: name for name in RULES}
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
    low = ", ".join(f"{words(name, numbers)} {float(numbers[name][10, 10]):.3f}" for name in NAMES)
    return (
        "A report of 0 or 1 decides for every aggregator but simple averaging (and but for the tables next to (0, 1) and "
        f"(1, 0), which never come). When both report 0.1 they say: {low}."
    )


def _compute_differences(bench: Workbench) -> Numbers:
    numbers = _compute(bench)
    return {"x": numbers["x"], "N": numbers["N"], **{name: numbers[name] - numbers[OURS] for name in OTHERS}}


def _draw_differences(numbers: Numbers) -> Figure:
    figure, axes = new_figure(3, 2)
    for name, ax in zip(OTHERS, axes.flat, strict=False):
        image = draw_difference(numbers[name], np.zeros_like(numbers[name]), ax, limit=0.15, bar=False)
        title(ax, f"{words(name, numbers)}\nminus minimax")
    axes.flat[-1].set_axis_off()
    colour_bar(image, axes, DIFFERENCE, extend="both")
    return figure


def _differences_mean(numbers: Numbers) -> str:
    x = numbers["x"]
    away = np.abs(np.subtract.outer(x, x)) < 0.95  # at (0, 1) and (1, 0), which never come, tables are arbitrary
    far = ", ".join(f"{words(name, numbers)} {float(np.abs(numbers[name])[away].max()):.2f}" for name in OTHERS)
    return (
        f"The largest differences to minimax where the reports do not contradict each other: {far}. The tables differ "
        "from it and are nearly as good: the optimum is flat, and what should be compared are worst cases, not points."
    )


AGGREGATORS = PaperFigure(
    "aggregators",
    "What each aggregator says",
    "Six heatmaps of the forecast over the two reports. Simple averaging has straight diagonal contours; the other "
    "five bend towards the corners and agree in the centre.",
    _compute,
    _draw,
    _meaning,
)
DIFFERENCES = PaperFigure(
    "differences",
    "How they differ from ours",
    "Five heatmaps of the forecast minus that of minimax. Simple averaging differs strongly along the borders, the "
    "others weakly between the corners and the centre.",
    _compute_differences,
    _draw_differences,
    _differences_mean,
)
