"""The master programme of cutting planes: the best table against the structures seen so far, near the best table so far.

    minimise  t + rho/2 |f - centre|^2   subject to   scale_k loss_k(f) - offset_k <= t  for each cut k, f in the tables.

The loss of a structure is linear once the convex part is lifted out: with u_x >= |f_x|^2 (square loss) or s_x,omega >=
-log f_x(omega) (log loss), every structure is one *linear* row in (f, u, t), and only one small cone a cell is left,
however many structures there are (docs/derivations/cutting-planes). The multipliers of the rows, normalised, are a
mixture of structures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..game.losses import Log, Square

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..game.tables import Tables

    Floats = NDArray[np.float64]

TOLERANCE = 1e-10
FINE = ("Solved", "AlmostSolved")


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

    def masses(self, weights: Floats, cells: int) -> Floats:
        """M(x, omega) of a mixture of the cuts, shape (cells, states)."""
        shares = (weights * self.scale)[:, None, None] * self.mass
        flat = self.cell.ravel()
        columns = [
            np.bincount(flat, weights=shares[:, :, k].ravel(), minlength=cells) for k in range(self.mass.shape[2])
        ]
        return np.stack(columns, axis=1)


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


class MasterProgramme:
    """The master for one set of tables; the square or the log loss."""

    def __init__(self, tables: Tables) -> None:
        import clarabel
        from scipy import sparse

        assert isinstance(tables.loss, (Square, Log))
        self.tables, self.sparse, self.clarabel = tables, sparse, clarabel
        self.polyhedron = tables.polyhedron
        self.points = self.polyhedron.equal.shape[1]
        lifted = tables.cells if isinstance(tables.loss, Square) else tables.cells * tables.states
        self.width = self.points + lifted + 1  # f, then the lifted variables, then t
        matrix, side, self.lifted_cones = self._square() if isinstance(tables.loss, Square) else self._log()
        pad = sparse.csc_matrix((self.polyhedron.unequal.shape[0], self.width - self.points))
        equal_pad = sparse.csc_matrix((self.polyhedron.equal.shape[0], self.width - self.points))
        self.equal = sparse.hstack((self.polyhedron.equal, equal_pad), format="csc")
        self.unequal = sparse.hstack((self.polyhedron.unequal, pad), format="csc")
        self.lifted, self.lifted_side = matrix, side

    def __call__(self, cuts: Cuts, centre: Floats, rho: float, aim: Aim | None = None) -> Proposal:
        """The master's table and mixture; after a failure once more with stronger regularisation, then the centre itself.

        With an aim, the table that meets it best instead, with payoffs of the cuts up to its level.
        """
        rows, sides = self._rows(cuts)
        equalities, count = self.equal.shape[0], len(cuts)
        matrix = self.sparse.vstack((self.equal, rows, self.unequal, self.lifted), format="csc")
        side = np.concatenate((self.polyhedron.equal_side, sides, self.polyhedron.unequal_side, self.lifted_side))
        inequalities = count + self.unequal.shape[0]
        if aim is not None:  # t <= level, as a last inequality before the cones
            row = self.sparse.csc_matrix(([1.0], ([0], [self.width - 1])), shape=(1, self.width))
            split = equalities + inequalities
            matrix = self.sparse.vstack((matrix[:split], row, matrix[split:]), format="csc")
            side = np.insert(side, split, aim.level)
            inequalities += 1
        cones = [self.clarabel.ZeroConeT(equalities)] if equalities else []
        cones += [self.clarabel.NonnegativeConeT(inequalities), *self.lifted_cones]
        quadratic = np.zeros(self.width)
        quadratic[: self.points] = rho
        linear = np.zeros(self.width)
        linear[: self.points] = -rho * self.polyhedron.flat(centre)
        linear[-1] = 1.0
        objective: Any = self.sparse.diags(quadratic, format="csc")
        if aim is not None:
            blank = self.sparse.csc_matrix((self.width - self.points,) * 2)
            objective = self.sparse.triu(self.sparse.block_diag((aim.quadratic, blank)), format="csc")
            linear = np.append(aim.linear, np.zeros(self.width - self.points))
        stumbled = False
        for regularisation in (1e-8, 1e-6, 1e-4):
            settings = self.clarabel.DefaultSettings()
            settings.verbose, settings.max_threads = False, 1
            settings.static_regularization_constant = regularisation
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
            solution = self.clarabel.DefaultSolver(objective, linear, matrix, side, cones, settings).solve()
            x, z = np.array(solution.x), np.array(solution.z)[equalities : equalities + count]
            weights = np.maximum(z, 0.0)
            mixture = np.isfinite(weights).all() and 0.5 < weights.sum() < 2.0
            if np.isfinite(x).all() and (mixture or (aim is not None and str(solution.status) in FINE)):
                table = self.tables.feasible(self.polyhedron.table(x[: self.points]))
                return Proposal(table, weights / max(weights.sum(), 1e-300), stumbled)
            stumbled = True
        return Proposal(centre, np.full(count, 1 / count), stumbled=True)

    def _rows(self, cuts: Cuts) -> tuple[Any, Floats]:
        """scale * loss(f, lifted) - t <= offset, one row a cut."""
        cells, states = self.tables.cells, self.tables.states
        row = np.repeat(np.arange(len(cuts)), cuts.cell.shape[1])
        cell = cuts.cell.ravel()
        mass = (cuts.scale[:, None, None] * cuts.mass).reshape(-1, states)
        entries = [(np.arange(len(cuts)), np.full(len(cuts), self.width - 1), -np.ones(len(cuts)))]
        constant = np.zeros(len(cuts))
        if isinstance(self.tables.loss, Log):
            entries += [(row, self.points + k * cells + cell, mass[:, k]) for k in range(states)]
        else:
            entries.append((row, self.points + cell, mass.sum(axis=1)))
            shown = mass[:, 1:] if states == 2 else mass
            entries += [(row, k * cells + cell, -2.0 * shown[:, k]) for k in range(shown.shape[1])]
            constant = np.bincount(row, weights=shown.sum(axis=1), minlength=len(cuts)).astype(np.float64)
        rows, columns, values = (np.concatenate([entry[k] for entry in entries]) for k in range(3))
        matrix = self.sparse.csc_matrix((values, (rows, columns)), shape=(len(cuts), self.width))
        return matrix, cuts.offset - constant

    def _square(self) -> tuple[Any, Floats, list[Any]]:
        """|f_x|^2 <= u_x as the cone |(2 f_x, u_x - 1)| <= u_x + 1 for each cell."""
        cells, columns = self.tables.cells, self.polyhedron.columns
        size = columns + 2
        cell = np.arange(cells)
        u = self.points + cell
        rows = [cell * size, cell * size + size - 1, *(cell * size + 1 + k for k in range(columns))]
        places = [u, u, *(k * cells + cell for k in range(columns))]
        values = np.concatenate((np.full(2 * cells, -1.0), np.full(columns * cells, -2.0)))
        side = np.zeros(cells * size)
        side[0::size], side[size - 1 :: size] = 1.0, -1.0
        entries = (values, (np.concatenate(rows), np.concatenate(places)))
        matrix = self.sparse.csc_matrix(entries, shape=(cells * size, self.width))
        return matrix, side, [self.clarabel.SecondOrderConeT(size)] * cells

    def _log(self) -> tuple[Any, Floats, list[Any]]:
        """s >= -log f as (-s, 1, f) in the exponential cone, for each state and cell; f = 1 - y for the first of two."""
        cells, states = self.tables.cells, self.tables.states
        index = np.arange(states * cells)
        cell = index % cells
        first_of_two = (index < cells) & (states == 2)
        place = cell if states == 2 else index
        rows = np.concatenate((3 * index, 3 * index + 2))
        places = np.concatenate((self.points + index, place))
        values = np.concatenate((np.ones(len(index)), np.where(first_of_two, 1.0, -1.0)))
        side = np.zeros(3 * len(index))
        side[1::3] = 1.0
        side[2::3] = np.where(first_of_two, 1.0, 0.0)
        matrix = self.sparse.csc_matrix((values, (rows, places)), shape=(3 * len(index), self.width))
        return matrix, side, [self.clarabel.ExponentialConeT()] * len(index)
