"""The best response under any convex loss in any convex family: the paper's convex oracle [Guo2024, Lemma 4.3]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import extra
from ..conic import cone_form, solve_convex
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
        if tables.pinned.any() and not tables.loss.proper:
            raise UnsupportedError(
                "the ratio of a custom loss needs a positive omniscient loss in every structure; some have none."
            )
        self.forecast, rules, self.bonds = convex_tables(tables)
        self.masses = cp.Parameter((tables.cells, tables.states), nonneg=True)
        terms = [
            cp.multiply(self.masses[:, state], tables.loss.expression(self.forecast, state))
            for state in range(tables.states)
        ]
        self.problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms))), rules)

    @property
    def exact(self) -> bool:
        """Whether the dual bound is our own."""
        return self.tables.loss.tilted and not self.tables.layout.constraints

    @property
    def arithmetic(self) -> str:
        """See Responder."""
        solver = "float64, the convex solver's value less 1e-8; omniscient losses to its accuracy"
        return WEAK_DUALITY if self.exact else solver

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        tables = self.tables
        size = float(masses.sum(axis=1).max()) or 1.0
        self.masses.value = masses / size
        solve_convex(self.problem, "the best response")
        table = tables.feasible(forecast_table(np.asarray(self.forecast.value)))
        value = cost(masses, tables.loss.table(table))
        if self.exact:
            none = np.zeros((0, 1 if tables.states == 2 else tables.states))
            dual = np.asarray(none if self.bonds is None else self.bonds.dual_value)
            multipliers = size * np.maximum(np.atleast_2d(dual.T), 0.0)
            least = dual_bound(tables, masses, multipliers)
        else:
            optimum = size * float(self.problem.value)
            least = min(optimum, value) - 1e-8 * max(1.0, abs(optimum))
        return Response(table, value, least)


def convex_tables(tables: FeasibleTables) -> tuple[Any, list[Any], Any]:
    """A cvxpy variable for the forecasts, what makes it one of the tables, and of this the difference constraints, or None."""
    forecast, rules = forecast_variable(tables.cells, tables.states)
    if tables.pinned.any():
        pins = tables.pins[:, 1] if tables.states == 2 else tables.pins
        rules.append(forecast[tables.pinned] == pins[tables.pinned])
    bonds, differences = None, tables.layout.differences
    if len(differences):
        slack = differences.slack
        slack = slack if tables.states == 2 else np.repeat(slack[:, None], tables.states, axis=1)
        bonds = differences.matrix(tables.cells) @ forecast <= slack
        rules.append(bonds)
    return forecast, [*rules, *tables.layout.user_constraints(forecast)], bonds


def nearest_table(tables: FeasibleTables, table: Floats) -> Floats:
    """The table that the constraints allow and that is nearest to another one."""
    import cvxpy as cp

    forecast, rules, _ = convex_tables(tables)
    distance = cp.sum_squares(forecast - (table[:, 1] if tables.states == 2 else table))
    solve_convex(cp.Problem(cp.Minimize(distance), rules), "the first table")
    return tables.feasible(forecast_table(np.asarray(forecast.value)))


def user_cones(tables: FeasibleTables) -> list[Any]:
    """The tables that a user's constraints allow, in cones: the same lists for the same constraints."""
    import cvxpy as cp

    forecast, rules = forecast_variable(tables.cells, tables.states)
    return cone_form(cp.Problem(cp.Minimize(0), [*rules, *tables.layout.user_constraints(forecast)]))
