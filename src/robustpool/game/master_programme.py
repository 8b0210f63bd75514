"""The master programme of cutting planes: the best table against the structures seen so far, near the best table so far.

    minimise  t + rho/2 |f - centre|^2   subject to   scale_k loss_k(f) - offset_k <= t  for each cut k, f in the tables.

The loss of a structure is linear once the convex part is lifted out: with u_x >= |f_x|^2 (square loss) or s_x,omega >=
-log f_x(omega) (log loss), every structure is one *linear* row in (f, u, t), and only one small cone a cell is left,
however many structures there are (docs/derivations/cutting-planes). The multipliers of the rows, normalised, are a
mixture of structures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..conic import diagonal, solve_cones, stacked
from ..numerics import dot
from .response import dual_bound, masses_by_cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..conic import ConeSolution
    from ..typing import Floats, Integers
    from .feasible import FeasibleTables, Polyhedron


@dataclass(frozen=True, eq=False)
class Cuts:
    """Structures as the master sees them: their support points by cell, and payoff = scale * loss - offset."""

    cell: NDArray[np.int32]  # (cuts, points)
    mass: Floats  # (cuts, points, states); 0 where a structure has fewer points
    scale: Floats  # (cuts,)
    offset: Floats  # (cuts,)

    def __len__(self) -> int:
        """The number of cuts."""
        return len(self.scale)

    def payoffs(self, losses: Floats) -> Floats:
        """The payoff of each cut under the losses (cells, states) of a table; an impossible state costs nothing."""
        costs = np.where(self.mass > 0, self.mass * np.where(self.mass > 0, losses[self.cell], 0.0), 0.0)
        return self.scale * costs.sum(axis=(1, 2)) - self.offset

    def masses(self, weights: Floats, cells: int) -> Floats:
        """M(x, omega) of a mixture of the cuts, shape (cells, states)."""
        shares = (weights * self.scale)[:, None, None] * self.mass
        return masses_by_cell(self.cell.ravel(), shares.reshape(-1, self.mass.shape[2]), cells)


@dataclass(frozen=True, eq=False)
class Aim:
    """A second objective, 1/2 y' quadratic y + linear . y, among the points y whose payoffs are at most ``level``."""

    quadratic: Any  # sparse, (points, points), positive semidefinite
    linear: Floats
    level: float


@dataclass(frozen=True, eq=False)
class Proposal:
    """A table, the mixture of the cuts that holds it up, and how the cone solver ended."""

    table: Floats
    weights: Floats  # (cuts,), summing to 1
    stumbled: bool
    least: float = -math.inf  # a lower bound on what any table pays against the mixture, if that was cheap to find


def failed(centre: Floats, cuts: int) -> Proposal:
    """What is proposed where the cone solver fails."""
    return Proposal(centre, np.full(cuts, 1 / cuts), stumbled=True)


class MasterProgramme:
    """The master for one set of tables, under a loss that can be lifted into cones."""

    def __init__(self, tables: FeasibleTables) -> None:
        self.tables = tables
        self.part = lru_cache(maxsize=1)(self._part)  # a round asks twice about the same cuts
        self.rows = lru_cache(maxsize=1)(self._rows)

    @cached_property
    def lift(self) -> Any:
        """The loss in cones."""
        return self.tables.loss.lift(self.tables.cells, self.tables.states)

    def __call__(self, cuts: Cuts, centre: Floats, rho: float, aim: Aim | None = None) -> Proposal:
        """The master's table and mixture; the centre itself if the cone solver fails.

        With an aim, the table that meets it best instead, with payoffs of the cuts up to its level.
        """
        from scipy import sparse

        if aim is None and len(self.tables.layout.differences) == 0:
            touched, part, own = self.part(cuts)
            if len(touched) < self.tables.cells:  # nothing moves the other cells away from the centre
                proposal = part(own, centre[touched], rho)
                table = centre.copy()
                table[touched] = proposal.table
                return replace(proposal, table=table)
        polyhedron = self.tables.polyhedron
        points, blank = polyhedron.equal.shape[1], self.lift.variables + 1  # f, then the lifted variables, then t
        below, below_side = self.rows(cuts)
        below_cones = [("nonnegative", len(cuts)), *self.lift.cones]
        if aim is None:
            quadratic = diagonal(np.append(np.full(points, rho), np.zeros(blank)))
            linear = np.concatenate((-rho * polyhedron.flat(centre), np.zeros(blank - 1), [1.0]))
        else:
            quadratic = sparse.triu(sparse.block_diag((aim.quadratic, sparse.csc_matrix((blank, blank)))), format="csc")
            linear = np.append(aim.linear, np.zeros(blank))
            limit = sparse.csc_matrix(([1.0], ([0], [points + blank - 1])), shape=(1, points + blank))  # t <= level
            below, below_side = stacked((limit, below), points + blank), np.append(aim.level, below_side)
            below_cones = [("nonnegative", 1), *below_cones]

        def weights(solution: ConeSolution) -> Floats:
            return np.maximum(solution.z[-len(self.rows(cuts)[1]) :][: len(cuts)], 0.0)

        def accept(solution: ConeSolution) -> bool:
            total = weights(solution).sum()
            mixture = bool(np.isfinite(total)) and 0.5 < total < 2.0
            return bool(np.isfinite(solution.x).all()) and (mixture or (aim is not None and solution.solved))

        def under(part: Polyhedron) -> ConeSolution:
            matrix, side = stacked((part.matrix, below), points + blank), np.concatenate((part.side, below_side))
            return solve_cones(quadratic, linear, matrix, side, [*part.cones, *below_cones], accept=accept)

        solution, bonds = polyhedron.lazily(under, centre)
        if not solution.accepted:
            return failed(centre, len(cuts))
        table = self.tables.feasible(polyhedron.table(solution.x[:points]))
        total = max(weights(solution).sum(), 1e-300)
        mixture, least = weights(solution) / total, -math.inf
        if len(bonds):  # the multipliers spare a programme for the best response
            multipliers = polyhedron.multipliers(solution.z, bonds) / total
            masses = cuts.masses(mixture, self.tables.cells)
            least = dual_bound(self.tables, masses, multipliers) - dot(mixture, cuts.offset)
        return Proposal(table, mixture, solution.stumbled, least)

    def _part(self, cuts: Cuts) -> tuple[Integers, MasterProgramme, Cuts]:
        """The cells that cuts reach, the master for these alone, and the cuts as it sees them."""
        cells = np.unique(cuts.cell[cuts.mass.any(axis=2)]).astype(np.int64)
        cell = np.minimum(np.searchsorted(cells, cuts.cell), len(cells) - 1)
        return cells, MasterProgramme(self.tables.of_cells(cells)), replace(cuts, cell=cell)

    def _rows(self, cuts: Cuts) -> tuple[Any, Floats]:
        """scale * loss(f, lifted) - t <= offset, one row a cut; then the cones of the lift."""
        from scipy import sparse

        lift, count = self.lift, len(cuts)
        row = np.repeat(np.arange(count), cuts.cell.shape[1])
        cell = cuts.cell.ravel()
        mass = (cuts.scale[:, None, None] * cuts.mass).reshape(len(cell), -1)
        blocks, constant = lift.row(mass)
        cones = lift.matrix.tocoo()
        last = cones.shape[1]  # the column of t
        rows = np.concatenate((np.arange(count), *(row for _ in blocks), count + cones.row))
        columns = np.concatenate((np.full(count, last), *(first + cell for first, _ in blocks), cones.col))
        values = np.concatenate((-np.ones(count), *(values for _, values in blocks), cones.data))
        matrix = sparse.csc_matrix((values, (rows, columns)), shape=(count + cones.shape[0], last + 1))
        sides = cuts.offset - np.bincount(row, weights=constant, minlength=count)
        return matrix, np.concatenate((sides, lift.side))
