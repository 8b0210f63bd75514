"""The division of the square of reports into A, D_1, D_2 and E [Guo2024, fig:area]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plots import draw_areas, new_figure
from ...theory.smoothing import trim
from .figure import Numbers, PaperFigure
from .sensitivity import grid_of_reports

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

PRIOR, EPSILON_1, EPSILON_2 = 0.3, 0.4, 0.4
NAMES = {0: "$A_\\mu$", 1: "$D_1$", 2: "$D_2$", 3: "$E$"}


def _compute(_bench: Workbench) -> Numbers:
    reports = grid_of_reports(401)
    moved = trim(PRIOR, reports, EPSILON_1, EPSILON_2) != reports
    return {
        "areas": (moved[:, 0] + 2 * moved[:, 1]).reshape(401, 401),
        "prior": np.array(PRIOR),
        "epsilon_1": np.array(EPSILON_1),
        "epsilon_2": np.array(EPSILON_2),
    }


def _draw(numbers: Numbers) -> Figure:
    figure, axes = new_figure(width=4.0, height=3.8)
    draw_areas(numbers["areas"], NAMES, axes[0, 0])
    return figure


def _meaning(numbers: Numbers) -> str:
    edge = min(1.0, float(numbers["prior"] / numbers["epsilon_2"]))
    return (
        f"An example with mu = {float(numbers['prior']):g}, eps_1 = {float(numbers['epsilon_1']):g} and eps_2 = "
        f"{float(numbers['epsilon_2']):g}: on A the posterior stays as it is, no report being above {edge:g} and the "
        f"two no further apart than {1 - float(numbers['epsilon_1']):g}. On D_1 the first report is moved left to the "
        "border of A, on D_2 the second one down, and on E both."
    )


AREAS = PaperFigure(
    "areas",
    "The division of areas in the proof",
    "The square of reports divided into A in the lower left, D 1 to its right, D 2 above it, and E in the upper right.",
    _compute,
    _draw,
    _meaning,
)
