"""A canonical optimum: of all tables within a slack of the best, the smoothest one, or the one nearest to a rule.

Optimal tables are far from unique, and most are ugly between the knots. The second objective is strictly convex, so that
one table is best, whatever cuts led there: minimise it subject to payoff <= level for all structures, by the same cutting
planes, until nature's exact answer is at most the level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.rules import get_rule
from ..game.master_programme import Aim, MasterProgramme
from .nature import unseen

if TYPE_CHECKING:
    from ..typing import Floats
    from .independent_nature import IndependentNature


ROUNDS = 100
NEW_CUTS = 150
TIE = 1e-3
"""The weight of the distance to the geometric mean of odds beside the roughness, so that one table is best."""


def canonical_table(
    nature: IndependentNature, labels: Floats, upper: float, slack: float, choice: str
) -> Floats | None:
    """The canonical table with payoffs up to ``upper`` + ``slack``: the smoothest, or the nearest to a rule.

    The cuts are held to nine tenths of the slack, so that the rest ends the iteration. None if the cone solver fails or
    the rounds run out before nature is content.
    """
    quadratic, linear = _roughness(nature) if choice == "smooth" else _distance(nature, choice, 1.0)
    size = float(abs(quadratic).max())
    aim = Aim(quadratic / size, linear / size, upper + 0.9 * slack)
    master = MasterProgramme(nature.tables)
    for _ in range(ROUNDS):
        proposal = master(nature.cuts(labels), nature.tables.default, 0.0, aim)
        if proposal.stumbled:
            return None
        value, answers = nature.answer(proposal.table)
        if value <= upper + slack:
            return proposal.table
        labels = np.concatenate((labels, unseen(labels, answers)[:NEW_CUTS]))
    return None


def _roughness(nature: IndependentNature) -> tuple[Any, Floats]:
    """The sum of squared second differences along both axes of the grid, plus a little of the distance to a rule."""
    from scipy import sparse

    layout, size = nature.tables.layout, len(nature.family.report_grid)
    sign = np.where(layout.flipped, -1.0, 1.0)
    profiles = len(layout.cell)
    spread = sparse.csr_matrix((sign, (np.arange(profiles), layout.cell)), shape=(profiles, nature.tables.cells))
    unit = sparse.identity(size)
    second = sparse.csr_matrix(np.diff(np.eye(size), n=2, axis=0))
    rough = sparse.vstack((sparse.kron(second, unit), sparse.kron(unit, second)))
    onto = (rough @ spread) * size**1.5
    fixed = (rough @ layout.flipped.astype(float)) * size**1.5
    near, pull = _distance(nature, "geometric-odds", TIE)
    return sparse.csc_matrix(2 * (onto.T @ onto) + near), 2 * (onto.T @ fixed) + pull


def _distance(nature: IndependentNature, rule: str, weight: float) -> tuple[Any, Floats]:
    """weight |y - rule|^2, each cell counted once."""
    from scipy import sparse

    target = nature.tables.layout.table_of(get_rule(rule))[:, 1]
    return 2 * weight * sparse.identity(len(target), format="csc"), -2 * weight * target
