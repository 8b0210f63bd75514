"""The best response under the square loss and difference constraints: a quadratic programme [Guo2024, lem:lipbestresponsecomp]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SolverError, UnsupportedError
from .losses import forecast_table
from .response import WEAK_DUALITY, Response, cost, dual_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .finite_game import FiniteGame

    Floats = NDArray[np.float64]


class QuadraticProgramme:
    """Square loss under difference constraints, on Clarabel: min h (p |y|^2 - 2 m.y) with one y for each cell.

    For two states y is the probability of the second (h p |y|^2 becomes p y^2 - 2 m_1 y); for more it is the vector.
    """

    arithmetic = WEAK_DUALITY
    cheap = False

    def __init__(self, game: FiniteGame) -> None:
        import clarabel
        from scipy import sparse

        self.game = game
        columns = 1 if game.states == 2 else game.states
        cells = game.layout.cells
        bonds = game.layout.differences
        unit = sparse.identity(columns * cells, format="csc")
        each = sparse.kron(sparse.identity(columns), bonds.matrix(cells), format="csc")  # column by column
        pinned = np.tile(game.pinned, columns)
        shown = (game.pins[:, 1:] if columns == 1 else game.pins).T.ravel()
        equal, equal_side = unit[pinned], shown[pinned]
        bounds, bounds_side = -unit[~pinned], np.zeros(int((~pinned).sum()))
        if columns == 1:
            bounds, bounds_side = sparse.vstack((bounds, -bounds)), np.concatenate((bounds_side, bounds_side + 1))
        else:
            sums = sparse.hstack([sparse.identity(cells, format="csc")[~game.pinned]] * columns)
            equal, equal_side = sparse.vstack((equal, sums)), np.concatenate((equal_side, np.ones(sums.shape[0])))
        self.matrix = sparse.vstack((equal, each, bounds), format="csc")
        self.side = np.concatenate((equal_side, np.tile(bonds.slack, columns), bounds_side))
        equalities = len(equal_side)
        self.cones = [clarabel.ZeroConeT(equalities)] if equalities else []
        self.cones.append(clarabel.NonnegativeConeT(len(self.side) - equalities))
        self.columns = columns
        self.multipliers = slice(equalities, equalities + columns * len(bonds))
        self.sparse = sparse
        self.clarabel = clarabel

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        game = self.game
        total = masses.sum(axis=1)
        size = total.max() or 1.0
        curvature = np.tile(2 * total / size, self.columns) + 1e-12  # where no mass is, anything goes: stay bounded
        linear = -2 * (masses[:, 1:] if self.columns == 1 else masses).T.ravel() / size
        solution = self._solve(self.sparse.diags(curvature, format="csc"), linear)
        y = np.array(solution.x).reshape(self.columns, -1).T
        table = forecast_table(y[:, 0] if self.columns == 1 else y)
        table = np.where(game.pinned[:, None], game.pins, table)
        table = game.layout.differences.repaired(table, game.pinned)
        multipliers = size * np.maximum(np.array(solution.z)[self.multipliers].reshape(self.columns, -1), 0.0)
        return Response(table, cost(masses, game.loss.table(table)), dual_bound(game, masses, multipliers))

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
