"""The master programme for what only cvxpy can state: losses and constraints of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..conic import solve_convex
from ..errors import SolverError
from ..losses.convex import forecast_table
from .convex_programme import convex_tables
from .master_programme import Cuts, Proposal, failed

if TYPE_CHECKING:
    from ..typing import Floats
    from .feasible import FeasibleTables


class ConvexMaster:
    """The same programme as ``MasterProgramme``, written in cvxpy: s_x,omega >= l(f_x, omega) for each cell and state."""

    def __init__(self, tables: FeasibleTables) -> None:
        self.tables = tables

    def __call__(self, cuts: Cuts, centre: Floats, rho: float) -> Proposal:
        """See MasterProgramme."""
        import cvxpy as cp
        from scipy import sparse

        tables, states = self.tables, self.tables.states
        forecast, rules, _ = convex_tables(tables)
        lifted, worst = cp.Variable((tables.cells, states)), cp.Variable()
        rules += [lifted[:, k] >= tables.loss.expression(forecast, k) for k in range(states)]
        row = np.repeat(np.arange(len(cuts)), cuts.cell.shape[1])
        mass = (cuts.scale[:, None, None] * cuts.mass).reshape(-1, states)
        shape = (len(cuts), tables.cells)
        parts = [
            sparse.csr_matrix((mass[:, k], (row, cuts.cell.ravel())), shape=shape) @ lifted[:, k] for k in range(states)
        ]
        held = cp.sum(cp.vstack(parts), axis=0) - cuts.offset <= worst
        target = centre[:, 1] if states == 2 else centre
        near = rho / 2 * cp.sum_squares(forecast - target)
        try:
            solve_convex(cp.Problem(cp.Minimize(worst + near), [*rules, held]), "the master programme")
        except SolverError:
            return failed(centre, len(cuts))
        weights = np.maximum(np.asarray(held.dual_value, dtype=np.float64).reshape(-1), 0.0)
        total = weights.sum()
        weights = weights / total if total > 0 else np.full(len(cuts), 1 / len(cuts))
        return Proposal(tables.feasible(forecast_table(np.asarray(forecast.value))), weights, stumbled=False)
