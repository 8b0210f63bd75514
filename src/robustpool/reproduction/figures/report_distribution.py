"""The distribution of the reports at equilibrium under the three paradigms [Guo2024, fig:weight]."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...game.paradigms import PARADIGMS
from ...plots import draw_report_distribution
from ...plots.style import draw_panels
from ...structures.binary_structure import independent_masses, independent_profiles
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from ...families.nature import Mixture
    from ...typing import Floats
    from ..workbench import Workbench

SOLVERS = {"algorithm_1": "Algorithm 1", "exact": "exact solver"}
PANELS = tuple(product(SOLVERS, PARADIGMS))


def report_distribution(mixture: Mixture, N: int) -> Floats:
    """Pr[x] = sum over theta of w_theta Pr_theta[x] on the grid [1/N]^2, exchanged structures in equal parts."""
    used = np.flatnonzero(mixture.weights)
    structures: Any = mixture.structures
    priors, reports = structures.parameters(used)
    chances = mixture.weights[used, None] * independent_masses(priors, reports).sum(axis=2)
    places = np.rint(N * independent_profiles(reports)).astype(int)
    total = np.zeros((N + 1, N + 1))
    np.add.at(total, (places[..., 0], places[..., 1]), chances)
    if "agents" in mixture.symmetries:
        total = (total + total.T) / 2
    if "states" in mixture.symmetries:
        total = (total + total[::-1, ::-1]) / 2
    return total


def shares(chances: Floats) -> dict[str, float]:
    """How much of a distribution lies where the paper looks."""
    border = np.pad(np.zeros(np.array(chances.shape) - 2, dtype=bool), 1, constant_values=True)
    second = np.fliplr(np.eye(len(chances), dtype=bool))
    middle = slice((len(chances) - 1) // 2, len(chances) // 2 + 1)  # of an odd number of steps: the four reports around
    return {
        "centre": float(chances[middle, middle].sum()),
        "corners": float(chances[0, 0] + chances[-1, -1]),
        "borders": float(chances[border].sum()),
        "borders and second diagonal": float(chances[border | second].sum()),
    }


class ReportDistribution(PaperFigure):
    """Heatmaps of the reports that nature produces, for each solver and paradigm."""

    name = "report-distribution"
    title = "Which reports nature produces"
    alt = (
        "Six heatmaps of the probability of report pairs on a logarithmic scale, under the additive, absolute and ratio "
        "paradigms; above by Algorithm 1, below by the exact solver."
    )
    columns, rows = 3, 2

    def numbers(self, bench: Workbench) -> Numbers:
        mixtures = {f"{solver}_{paradigm}": getattr(bench, solver)(paradigm).mixture for solver, paradigm in PANELS}
        return {name: report_distribution(mixture, bench.settings.reports) for name, mixture in mixtures.items()}

    def paint(self, numbers: Numbers, axes: Any) -> None:
        panels = {f"{paradigm}, {SOLVERS[solver]}": numbers[f"{solver}_{paradigm}"] for solver, paradigm in PANELS}
        draw_panels(draw_report_distribution, panels, axes)

    def meaning(self, numbers: Numbers) -> str:
        additive, absolute, ratio = (shares(numbers[f"algorithm_1_{paradigm}"]) for paradigm in PARADIGMS)
        return (
            f"Under additive regret {additive['borders and second diagonal']:.1%} of the reports lie on the borders and "
            f"the second diagonal, under absolute loss {absolute['centre']:.1%} are (0.5, 0.5), and under the ratio "
            f"{ratio['corners']:.1%} are (0, 0) or (1, 1), by Algorithm 1. The exact solver's mixtures are other "
            "equilibria, with weight on fewer structures (grey: a probability below 1e-8)."
        )
