"""L-Lipschitz aggregators for some L, and what the slope costs [Guo2024, fig:allresults2]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.worst_case import worst_case
from ...plots import draw_aggregator, draw_value_by_lipschitz
from ...plots.style import draw_panels
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...solvers.solution import Solution
    from ..workbench import Workbench


def bounds(solutions: Sequence[Solution]) -> dict[str, list[float]]:
    """The lower and the upper bound of each solution."""
    return {"lower": [solution.lower for solution in solutions], "upper": [solution.upper for solution in solutions]}


def slope(L: float) -> str:
    """L in a sentence."""
    return "infinity" if np.isinf(L) else f"{L:g}"


class LipschitzAggregators(PaperFigure):
    """Heatmaps of the best tables with a bounded slope."""

    name = "lipschitz-aggregators"
    title = "What they say"
    alt = "Heatmaps of optimal aggregators over the two reports, one for each Lipschitz constant, the last without a bound."
    width = 2.9

    def numbers(self, bench: Workbench) -> Numbers:
        slopes = (*bench.settings.drawn_slopes, None)
        solutions = [bench.against_continuous_nature(bench.settings.reports, L) for L in slopes]
        tables: list[Any] = [solution.aggregator for solution in solutions]
        return {
            "L": [np.inf if L is None else L for L in slopes],
            "tables": [table.values for table in tables],
            **bounds(solutions),
        }

    def panels(self, numbers: Numbers) -> tuple[int, int]:
        return len(numbers["L"]), 1

    def paint(self, numbers: Numbers, axes: Any) -> None:
        slopes = [r"\infty" if np.isinf(L) else f"{L:g}" for L in numbers["L"]]
        titles = [f"$L = {L}$: {upper:.5f}" for L, upper in zip(slopes, numbers["upper"], strict=True)]
        draw_panels(draw_aggregator, dict(zip(titles, numbers["tables"], strict=True)), axes)

    def meaning(self, numbers: Numbers) -> str:
        costs = zip(numbers["L"], numbers["upper"], strict=True)
        return (
            "Tables with knots in steps of the grid, made against any reports and any prior, under a bound L on the slope. "
            "The worst regret of each that a search found: "
            f"{', '.join(f'{upper:.5f} for L = {slope(L)}' for L, upper in costs)}."
        )


class LipschitzValues(PaperFigure):
    """The value of the game against L."""

    name = "lipschitz-values"
    title = "What a bounded slope costs"
    alt = (
        "Curves against the Lipschitz constant: the value of the game on the grid, the regret of the same tables between "
        "the grid points, and that of tables made for any reports."
    )
    width, height = 6.0, 3.6

    def numbers(self, bench: Workbench) -> Numbers:
        slopes, drawn = bench.settings.slopes, bench.settings.drawn_slopes
        solutions, interpolated = [], []
        for done, L in enumerate(slopes):
            bench.tell("value against the Lipschitz constant", done / len(slopes))
            solutions.append(bench.exact(lipschitz=L))
            interpolated.append(worst_case(solutions[-1].aggregator).regret)
        continuous = bounds([bench.against_continuous_nature(bench.settings.reports, L) for L in drawn])
        return {
            "L": np.array(slopes, dtype=float),
            **bounds(solutions),
            "interpolated": interpolated,
            "unrestricted": [bench.exact().lower, bench.exact().upper],
            "continuous_L": np.array(drawn, dtype=float),
            **{f"continuous_{bound}": values for bound, values in continuous.items()},
        }

    def paint(self, numbers: Numbers, axes: Any) -> None:
        draw_value_by_lipschitz(numbers, axes[0, 0])

    def meaning(self, numbers: Numbers) -> str:
        L, upper = numbers["L"], numbers["upper"]
        excess = numbers["interpolated"] - upper
        most = int(np.argmax(excess))
        return (
            f"On the grid the value falls from {upper[0]:.5f} at L = {L[0]:g} to {upper[-1]:.5f} at L = {L[-1]:g}; without "
            f"a bound on the slope it is {numbers['unrestricted'].max():.5f}. Between the grid points the same tables cost "
            f"more, by {excess[most]:.4f} at L = {L[most]:g}: a solver on the grid cannot see which of its optimal "
            "tables is good in between."
        )
