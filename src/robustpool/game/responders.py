"""The aggregator's best response to a mixture, by the first way that applies.

Given the mass table M (cells, states) of a mixture, minimise sum_x sum_omega M(x, omega) l(f(x), omega) over the tables
f that the layout allows: in closed form; by a quadratic programme on a cone solver, for the square loss with difference
constraints; by cvxpy for everything else that is convex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .convex_programme import ConvexProgramme
from .quadratic_programme import QuadraticProgramme
from .response import ClosedForm

if TYPE_CHECKING:
    from .feasible import FeasibleTables
    from .response import Responder


def best_responder(tables: FeasibleTables) -> Responder:
    """The first way that applies."""
    layout = tables.layout
    if layout.constraints or not tables.loss.proper:
        return ConvexProgramme(tables)
    if len(layout.differences) == 0:
        return ClosedForm(tables)
    return QuadraticProgramme(tables) if tables.loss.quadratic else ConvexProgramme(tables)
