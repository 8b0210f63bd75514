"""L-Lipschitz aggregators for some L, and what the slope costs [Guo2024, fig:allresults2]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...game.worst_case import worst_case
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
        "The larger the slope that is allowed, the more extreme the forecasts near the corners, while the centre hardly changes, as the "
        f"paper says. The worst regret over any reports and any prior that a search found: {costs}."
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
    at = {float(L): float(upper) for L, upper in zip(numbers["L"], numbers["upper"], strict=True)}
    best = float(numbers["unrestricted"].max())
    listed = ", ".join(f"{value:.5f} at L = {L:g}" for L, value in at.items())
    return (
        f"On the grid, the value falls quickly to the {best:.5f} of any slope: {listed}. Between the grid points the same tables cost more, "
        f"up to {float(numbers['interpolated'].max()):.4f}: an optimal table is not unique, and nothing tells the solver on the grid which is good between."
    )


LIPSCHITZ_AGGREGATORS = PaperFigure(
    "lipschitz-aggregators",
    "Aggregators with a bounded slope",
    "Four heatmaps of optimal aggregators for Lipschitz constants 1, 2, 4 and infinity; the corners get more extreme as the constant grows.",
    _compute,
    _draw,
    _meaning,
)
LIPSCHITZ_VALUES = PaperFigure(
    "lipschitz-values",
    "What a bounded slope costs",
    "A curve of the value of the game on the grid against the Lipschitz constant, which falls and is level from about 4 on, and above it "
    "the regret of the same tables between the grid points.",
    _compute_values,
    _draw_values,
    _values_mean,
)
