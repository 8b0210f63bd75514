"""The best response under any convex loss in any convex family: the paper's convex oracle [Guo2024, Lemma 4.3]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import extra
from ..conic import solve_convex
from ..errors import UnsupportedError
from ..losses.convex import forecast_table, forecast_variable
from .response import WEAK_DUALITY, Response, cost, dual_bound

if TYPE_CHECKING:
    from ..typing import Floats
    from .feasible import FeasibleTables


class ConvexProgramme:
    """Any convex loss and any convex family of tables, by cvxpy: the paper's convex-optimisation oracle."""

    cheap = False

    def __init__(self, tables: FeasibleTables) -> None:
        extra("a best response under this loss and these restrictions", "cvxpy")
        import cvxpy as cp

        self.tables = tables
        layout, bonds = tables.layout, tables.layout.differences
        if tables.pinned.any() and not tables.loss.proper:
            raise UnsupportedError(
                "the ratio of a custom loss needs a positive omniscient loss in every structure; some have none."
            )
        self.forecast, rules = forecast_variable(layout.cells, tables.states)
        self.masses = cp.Parameter((layout.cells, tables.states), nonneg=True)
        terms = [
            cp.multiply(self.masses[:, state], tables.loss.expression(self.forecast, state))
            for state in range(tables.states)
        ]
        shown = tables.pins[:, 1] if tables.states == 2 else tables.pins
        if tables.pinned.any():
            rules.append(self.forecast[tables.pinned] == shown[tables.pinned])
        self.bonds = None
        if len(bonds):
            slack = bonds.slack if tables.states == 2 else np.repeat(bonds.slack[:, None], tables.states, axis=1)
            self.bonds = bonds.matrix(layout.cells) @ self.forecast <= slack
            rules.append(self.bonds)
        rules.extend(layout.user_constraints(self.forecast))
        self.problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms))), rules)

    @property
    def exact(self) -> bool:
        """Whether the dual bound is our own."""
        return self.tables.loss.tilted and not self.tables.layout.constraints

    @property
    def arithmetic(self) -> str:
        """See Responder."""
        return (
            WEAK_DUALITY
            if self.exact
            else "float64, the convex solver's value less 1e-8; omniscient losses to its accuracy"
        )

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        tables = self.tables
        size = float(masses.sum(axis=1).max()) or 1.0
        self.masses.value = masses / size
        solve_convex(self.problem, "the best response")
        table = forecast_table(np.asarray(self.forecast.value))
        table = tables.feasible(table)
        value = cost(masses, tables.loss.table(table))
        if self.exact:
            dual = (
                np.zeros((1 if tables.states == 2 else tables.states, 0))
                if self.bonds is None
                else self.bonds.dual_value
            )
            multipliers = size * np.maximum(np.atleast_2d(np.asarray(dual).T), 0.0)
            least = dual_bound(tables, masses, multipliers)
        else:
            found = size * float(self.problem.value)
            least = min(found, value) - 1e-8 * max(1.0, abs(found))
        return Response(table, value, least)


def user_cones(tables: FeasibleTables) -> list[Any]:
    """The tables that a user's constraints allow, A f + s = b with s in some cones: the same lists for the same constraints."""
    import cvxpy as cp

    forecast, rules = forecast_variable(tables.cells, tables.states)
    problem = cp.Problem(cp.Minimize(0), [*rules, *tables.layout.user_constraints(forecast)])
    data, _, _ = problem.get_problem_data(cp.CLARABEL)
    matrix = data["A"].tocoo()
    entries = sorted(zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True))
    return [entries, data["b"].tolist(), str(data["dims"])]
