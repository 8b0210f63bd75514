"""The master programme against structures whose reports lie between the knots of a table.

Between the knots the forecast is a fixed mean of the table's entries, f(x) = sum_c a_c table_c + constant, so the
regret sum_j p_j (f(x_j) - g_j)^2 of a structure is a convex quadratic of the table: one second-order cone a cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..conic import diagonal, solve_cones, stacked
from .master_programme import Proposal, failed

if TYPE_CHECKING:
    from ..conic import ConeSolution
    from ..typing import Floats
    from .feasible import FeasibleTables


@dataclass(frozen=True, eq=False)
class InterpolatedCuts:
    """Structures as quadratics of the table y: payoff = sum_j |root_j . y - target_j|^2, j over the 2^n points of each."""

    roots: Any  # sparse, (points * cuts, cells): sqrt(p_j) a_j
    targets: Floats  # (points * cuts,): sqrt(p_j) (g_j - constant_j)
    points: int = 4  # of each structure

    def __len__(self) -> int:
        """The number of cuts."""
        return len(self.targets) // self.points


class InterpolatedMaster:
    """min t + rho/2 |y - centre|^2 subject to |roots_k y - targets_k|^2 <= t for each cut k, y in the tables."""

    def __init__(self, tables: FeasibleTables) -> None:
        self.tables = tables

    def __call__(self, cuts: InterpolatedCuts, centre: Floats, rho: float) -> Proposal:
        """See MasterProgramme."""
        from scipy import sparse

        polyhedron, cells, count = self.tables.polyhedron, self.tables.cells, len(cuts)
        size = cuts.points + 2  # |(2 v, t - 1)| <= t + 1
        place = np.arange(count) * size
        inner = (place[:, None] + 1 + np.arange(cuts.points)).ravel()
        roots = cuts.roots.tocoo()
        rows = np.concatenate((inner[roots.row], place, place + size - 1))
        columns = np.concatenate((roots.col, np.full(2 * count, cells)))
        values = np.concatenate((-2 * roots.data, np.full(2 * count, -1.0)))
        cone_matrix = sparse.csc_matrix((values, (rows, columns)), shape=(count * size, cells + 1))
        cone_side = np.zeros(count * size)
        cone_side[place], cone_side[place + size - 1], cone_side[inner] = 1.0, -1.0, -2 * cuts.targets

        def weights(solution: ConeSolution) -> Floats:
            z = solution.z[len(polyhedron.side) :].reshape(count, size)
            return np.maximum(z[:, 0] + z[:, -1], 0.0)  # the multiplier of t in |v|^2 <= t

        solution = solve_cones(
            diagonal(np.append(np.full(cells, rho), 0.0)),
            np.append(-rho * polyhedron.flat(centre), 1.0),
            stacked((polyhedron.matrix, cone_matrix), cells + 1),
            np.concatenate((polyhedron.side, cone_side)),
            [*polyhedron.cones, *[("second-order", size)] * count],
            accept=lambda one: bool(np.isfinite(one.x).all()) and 0 < weights(one).sum() < np.inf,
            tolerance=1e-9,
        )
        if not solution.accepted:
            return failed(centre, count)
        mixture = weights(solution)
        table = self.tables.feasible(polyhedron.table(solution.x[:cells]))
        return Proposal(table, mixture / mixture.sum(), solution.stumbled)
