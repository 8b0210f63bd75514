"""Lower and upper bounds against rounds and seconds, for Algorithm 1 and the exact solver [Guo2024, fig:perform]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plots import draw_convergence, new_figure
from ...plots.convergence import COLUMNS, trace_columns
from ...wording import counted
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

SOLVERS = {"algorithm_1": "Algorithm 1", "exact": "exact solver (cutting planes)"}


def _compute(bench: Workbench) -> Numbers:
    numbers = {"N": np.array(bench.settings.reports), "M": np.array(bench.settings.priors)}
    for name, solution in (("algorithm_1", bench.algorithm_1()), ("exact", bench.exact())):
        numbers.update({f"{name}_{key}": column for key, column in trace_columns(solution.trace).items()})
    return numbers


def _draw(numbers: Numbers) -> Figure:
    figure, axes = new_figure(2, 1, width=4.6, height=3.3)
    traces = {words: {key: numbers[f"{name}_{key}"] for key in COLUMNS} for name, words in SOLVERS.items()}
    for ax, against in zip(axes.flat, ("rounds", "seconds"), strict=True):
        draw_convergence(traces, ax, against=against)
    return figure


def first_within(numbers: Numbers, bound: str, distance: float) -> int | None:
    """The first round of Algorithm 1 whose bound is this near to the value of the game; None if none is."""
    value = (numbers["exact_lower"][-1] + numbers["exact_upper"][-1]) / 2
    near = np.flatnonzero(np.abs(numbers[f"algorithm_1_{bound}"] - value) <= distance)
    return int(numbers["algorithm_1_round"][near[0]]) if len(near) else None


def first_gap(numbers: Numbers, gap: float) -> int | None:
    """The first round of Algorithm 1 whose bounds are this near to each other; None if none is."""
    closed = np.flatnonzero(numbers["algorithm_1_upper"] - numbers["algorithm_1_lower"] <= gap)
    return int(numbers["algorithm_1_round"][closed[0]]) if len(closed) else None


def _meaning(numbers: Numbers) -> str:
    rounds = int(numbers["algorithm_1_round"][-1])
    gaps = [max(numbers[f"{name}_upper"][-1] - numbers[f"{name}_lower"][-1], 0.0) for name in SOLVERS]
    exact = counted(int(numbers["exact_round"][-1]), "round")
    return (
        f"After {rounds:,} rounds and {numbers['algorithm_1_seconds'][-1]:.1f} s Algorithm 1 has a gap of "
        f"{gaps[0]:.1e}. The exact solver has {gaps[1]:.1e} after {exact} and {numbers['exact_seconds'][-1]:.2f} s, on "
        f"the same game (N = {int(numbers['N'])}, M = {int(numbers['M'])})."
    )


CONVERGENCE = PaperFigure(
    "convergence",
    "How fast the bounds close",
    "Two panels with lower and upper bounds, against rounds and against seconds on logarithmic axes. Those of "
    "Algorithm 1 close slowly; those of the exact solver in a few rounds.",
    _compute,
    _draw,
    _meaning,
)
