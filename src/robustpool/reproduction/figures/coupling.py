"""The coupling of the covering proof, on a pair of structures [Guo2024, fig:coupling]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plots import draw_coupling
from ...structures.binary_structure import BinaryStructure
from ...theory.coupling import LOCAL, couple
from ...theory.coverings import em_covering_bound
from ...theory.distances import earth_mover
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from ..workbench import Workbench

N = 5
STRUCTURE = BinaryStructure(0.47, [[0.33, 0.56], [0.13, 0.88]])
NEAR = BinaryStructure(0.47, [[0.2, 0.6], [0.0, 1.0]])
"""Each report rounded outward to a multiple of 1/N, the prior kept."""


class Coupling(PaperFigure):
    """Arrows for the mass that moves between two structures."""

    name = "coupling"
    title = "The coupling of the covering proof"
    alt = (
        "Four filled discs at the report pairs of a structure and four hollow ones at those of its neighbour on the grid, "
        "with arrows for the mass that moves locally, to the other report of the first agent, and elsewhere."
    )
    width, height = 5.6, 3.9

    def numbers(self, _bench: Workbench) -> Numbers:
        coupling = couple(STRUCTURE, NEAR)
        return {
            "structure": np.column_stack((STRUCTURE.profiles(), STRUCTURE.probabilities())),
            "near": np.column_stack((NEAR.profiles(), NEAR.probabilities())),
            "flows": np.column_stack((coupling.start, coupling.end, coupling.mass, coupling.kind)),
            "cost": coupling.cost,
            "earth_mover": earth_mover(STRUCTURE, NEAR),
            "bound": em_covering_bound(N),
        }

    def paint(self, numbers: Numbers, axes: Any) -> None:
        draw_coupling(numbers["structure"], numbers["near"], numbers["flows"], axes[0, 0])

    def meaning(self, numbers: Numbers) -> str:
        local = numbers["flows"][numbers["flows"][:, 3] == LOCAL, 2].sum()
        return (
            f"A structure with prior {STRUCTURE.prior:g} and its neighbour whose reports are rounded outward to multiples "
            f"of 1/{N}: {local:.1%} of the probability moves locally. The coupling costs {numbers['cost']:.3f}, the "
            f"earth mover's distance is {numbers['earth_mover']:.3f}, and the lemma's bound 8/sqrt(N) + 4/N is "
            f"{numbers['bound']:.2f}."
        )
