"""Lower and upper bounds against rounds and seconds, for Algorithm 1 and the exact solver [Guo2024, fig:perform]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...plots import draw_convergence
from ...plots.convergence import AGAINST, COLUMNS, trace_columns
from ...wording import counted
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from ..workbench import Workbench

SOLVERS = {"algorithm_1": "Algorithm 1", "exact": "exact solver (cutting planes)"}


class Convergence(PaperFigure):
    """Two panels with the bounds of both solvers."""

    name = "convergence"
    title = "How fast the bounds close"
    alt = (
        "Two panels with lower and upper bounds, against rounds and against seconds on logarithmic axes. Those of "
        "Algorithm 1 close slowly; those of the exact solver in a few rounds."
    )
    columns, width, height = 2, 4.6, 3.3

    def numbers(self, bench: Workbench) -> Numbers:
        numbers: dict[str, Any] = {"N": bench.settings.reports, "M": bench.settings.priors}
        for solver in SOLVERS:
            trace = trace_columns(getattr(bench, solver)().trace)
            numbers.update({f"{solver}_{key}": column for key, column in trace.items()})
        return numbers

    def paint(self, numbers: Numbers, axes: Any) -> None:
        traces = {words: {key: numbers[f"{name}_{key}"] for key in COLUMNS} for name, words in SOLVERS.items()}
        for ax, against in zip(axes.flat, AGAINST, strict=True):
            draw_convergence(traces, ax, against=against)

    def meaning(self, numbers: Numbers) -> str:
        gaps = [max(numbers[f"{name}_upper"][-1] - numbers[f"{name}_lower"][-1], 0.0) for name in SOLVERS]
        exact = counted(int(numbers["exact_round"][-1]), "round")
        return (
            f"After {numbers['algorithm_1_round'][-1]:,.0f} rounds and {numbers['algorithm_1_seconds'][-1]:.1f} s "
            f"Algorithm 1 has a gap of {gaps[0]:.1e}. The exact solver has {gaps[1]:.1e} after {exact} and "
            f"{numbers['exact_seconds'][-1]:.2f} s, on the same game (N = {numbers['N']}, M = {numbers['M']})."
        )
