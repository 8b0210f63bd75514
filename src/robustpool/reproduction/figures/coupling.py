"""The coupling of the covering proof, on a pair of structures [Guo2024, fig:coupling]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plots import draw_coupling, new_figure
from ...structures.binary_structure import BinaryStructure
from ...theory.coupling import LOCAL, couple
from ...theory.coverings import em_covering_bound
from ...theory.distances import earth_mover
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

N = 5
STRUCTURE = BinaryStructure(0.47, [[0.33, 0.56], [0.13, 0.88]])
NEAR = BinaryStructure(0.47, [[0.2, 0.6], [0.0, 1.0]])
"""Each report rounded outward to a multiple of 1/N, the prior kept."""


def _compute(_bench: Workbench) -> Numbers:
    coupling = couple(STRUCTURE, NEAR)
    return {
        "structure": np.column_stack((STRUCTURE.profiles(), STRUCTURE.probabilities())),
        "near": np.column_stack((NEAR.profiles(), NEAR.probabilities())),
        "flows": np.column_stack((coupling.start, coupling.end, coupling.mass, coupling.kind)),
        "cost": np.array(coupling.cost),
        "earth_mover": np.array(earth_mover(STRUCTURE, NEAR)),
        "bound": np.array(em_covering_bound(N)),
    }


def _draw(numbers: Numbers) -> Figure:
    figure, axes = new_figure(width=5.6, height=3.9)
    draw_coupling(numbers["structure"], numbers["near"], numbers["flows"], axes[0, 0])
    return figure


def _meaning(numbers: Numbers) -> str:
    local = float(numbers["flows"][numbers["flows"][:, 3] == LOCAL, 2].sum())
    return (
        f"A structure with prior {STRUCTURE.prior:g} and its neighbour whose reports are rounded outward to multiples "
        f"of 1/{N}: {local:.1%} of the probability moves locally. The coupling costs {float(numbers['cost']):.3f}, the "
        f"earth mover's distance is {float(numbers['earth_mover']):.3f}, and the lemma's bound 8/sqrt(N) + 4/N is "
        f"{float(numbers['bound']):.2f}."
    )


COUPLING = PaperFigure(
    "coupling",
    "The coupling of the covering proof",
    "Four filled discs at the report pairs of a structure and four hollow ones at those of its neighbour on the grid, "
    "with arrows for the mass that moves locally, to the other report of the first agent, and elsewhere.",
    _compute,
    _draw,
    _meaning,
)
