"""The best response under the square loss and difference constraints: a quadratic programme [Guo2024, lem:lipbestresponsecomp]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SolverError, UnsupportedError
from .response import WEAK_DUALITY, Response, cost, dual_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tables import Tables

    Floats = NDArray[np.float64]


class QuadraticProgramme:
    """Square loss under difference constraints, on Clarabel: min h (p |y|^2 - 2 m.y) with one y for each cell.

    For two states y is the probability of the second (h p |y|^2 becomes p y^2 - 2 m_1 y); for more it is the vector.
    """

    arithmetic = WEAK_DUALITY
    cheap = False

    def __init__(self, tables: Tables) -> None:
        import clarabel
        from scipy import sparse

        self.tables = tables
        self.polyhedron = polyhedron = tables.polyhedron
        self.matrix = sparse.vstack((polyhedron.equal, polyhedron.unequal), format="csc")
        self.side = np.concatenate((polyhedron.equal_side, polyhedron.unequal_side))
        equalities = len(polyhedron.equal_side)
        self.cones = [clarabel.ZeroConeT(equalities)] if equalities else []
        self.cones.append(clarabel.NonnegativeConeT(len(polyhedron.unequal_side)))
        self.multipliers = slice(equalities, equalities + polyhedron.bonds)
        self.sparse = sparse
        self.clarabel = clarabel

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        tables = self.tables
        total = masses.sum(axis=1)
        size = total.max() or 1.0
        columns = self.polyhedron.columns
        curvature = np.tile(2 * total / size, columns) + 1e-12  # where no mass is, anything goes: stay bounded
        solution = self._solve(self.sparse.diags(curvature, format="csc"), -2 * self.polyhedron.flat(masses) / size)
        table = tables.feasible(self.polyhedron.table(np.array(solution.x)))
        multipliers = size * np.maximum(np.array(solution.z)[self.multipliers].reshape(columns, -1), 0.0)
        return Response(table, cost(masses, tables.loss.table(table)), dual_bound(tables, masses, multipliers))

    def _solve(self, quadratic: Any, linear: Floats) -> Any:
        """Clarabel, and once more with stronger regularisation if it stumbles."""
        for regularisation in (1e-8, 1e-6):
            settings = self.clarabel.DefaultSettings()
            settings.verbose = False
            settings.max_threads = 1
            settings.static_regularization_constant = regularisation
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
            solver = self.clarabel.DefaultSolver(quadratic, linear, self.matrix, self.side, self.cones, settings)
            solution = solver.solve()
            if "Infeasible" in str(solution.status):
                raise UnsupportedError(
                    "no aggregator of this family has a finite ratio: structures without omniscient loss force forecasts "
                    "that the restrictions forbid."
                )
            if np.isfinite(solution.x).all() and str(solution.status) in ("Solved", "AlmostSolved"):
                return solution
        raise SolverError(f"the cone solver failed on the best response (status {solution.status}).")
