"""L-Lipschitz aggregators for some L, and what the slope costs [Guo2024, fig:allresults2]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...families.worst_case import worst_case
from ...plots import colour_bar, draw_aggregator, draw_value_by_lipschitz, new_figure, title
from ...plots.heatmaps import FORECAST
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench


def _compute(bench: Workbench) -> Numbers:
    slopes = (*bench.settings.drawn_slopes, None)
    solutions = [bench.against_continuous_nature(bench.settings.reports, slope) for slope in slopes]
    return {
        "L": np.array([np.inf if slope is None else slope for slope in slopes]),
        "tables": np.stack([solution.aggregator.values for solution in solutions]),  # type: ignore[union-attr]
        "lower": np.array([solution.lower for solution in solutions]),
        "upper": np.array([solution.upper for solution in solutions]),
    }


def _draw(numbers: Numbers) -> Figure:
    figure, axes = new_figure(len(numbers["L"]), 1, width=2.9)
    for L, table, upper, ax in zip(numbers["L"], numbers["tables"], numbers["upper"], axes.flat, strict=True):
        image = draw_aggregator(table, ax, bar=False)
        slope = r"\infty" if np.isinf(L) else f"{L:g}"
        title(ax, f"$L = {slope}$: {upper:.5f}")
    colour_bar(image, axes, FORECAST)
    return figure


def _meaning(numbers: Numbers) -> str:
    costs = ", ".join(
        f"{upper:.5f} for L = {'infinity' if np.isinf(L) else f'{L:g}'}"
        for L, upper in zip(numbers["L"], numbers["upper"], strict=True)
    )
    return (
        "Tables with knots in steps of the grid, made against any reports and any prior, under a bound L on the "
        f"slope. The worst regret of each that a search found: {costs}."
    )


def _compute_values(bench: Workbench) -> Numbers:
    slopes = bench.settings.slopes
    solutions = []
    found = []
    for done, slope in enumerate(slopes):
        bench.tell("value against the Lipschitz constant", done / len(slopes))
        solutions.append(bench.exact(lipschitz=slope))
        found.append(worst_case(solutions[-1].aggregator).regret)
    drawn = bench.settings.drawn_slopes
    best = [bench.against_continuous_nature(bench.settings.reports, slope) for slope in drawn]
    return {
        "L": np.array(slopes, dtype=float),
        "lower": np.array([solution.lower for solution in solutions]),
        "upper": np.array([solution.upper for solution in solutions]),
        "interpolated": np.array(found),
        "unrestricted": np.array([bench.exact().lower, bench.exact().upper]),
        "continuous_L": np.array(drawn, dtype=float),
        "continuous_lower": np.array([solution.lower for solution in best]),
        "continuous_upper": np.array([solution.upper for solution in best]),
    }


def _draw_values(numbers: Numbers) -> Figure:
    figure, axes = new_figure(width=6.0, height=3.6)
    draw_value_by_lipschitz(numbers, axes[0, 0])
    return figure


def _values_mean(numbers: Numbers) -> str:
    ends = [(float(numbers["L"][k]), float(numbers["upper"][k])) for k in (0, -1)]
    excess = numbers["interpolated"] - numbers["upper"]
    most = int(np.argmax(excess))
    return (
        f"On the grid the value falls from {ends[0][1]:.5f} at L = {ends[0][0]:g} to {ends[1][1]:.5f} at L = "
        f"{ends[1][0]:g}; without a bound on the slope it is {float(numbers['unrestricted'].max()):.5f}. Between the "
        f"grid points the same tables cost more, by {excess[most]:.4f} at L = {numbers['L'][most]:g}: nothing tells a "
        "solver on the grid which of its optimal tables is good in between."
    )


LIPSCHITZ_AGGREGATORS = PaperFigure(
    "lipschitz-aggregators",
    "What they say",
    "Heatmaps of optimal aggregators over the two reports, one for each Lipschitz constant, the last without a bound.",
    _compute,
    _draw,
    _meaning,
)
LIPSCHITZ_VALUES = PaperFigure(
    "lipschitz-values",
    "What a bounded slope costs",
    "Curves against the Lipschitz constant: the value of the game on the grid, the regret of the same tables between "
    "the grid points, and that of tables made for any reports.",
    _compute_values,
    _draw_values,
    _values_mean,
)
