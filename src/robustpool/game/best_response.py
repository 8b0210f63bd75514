"""The aggregator's best response to a mixture, by the first way that applies.

Given the mass table M (cells, states) of a mixture, minimise sum_x sum_omega M(x, omega) l(f(x), omega) over the tables
f that the layout allows: in closed form; by a quadratic programme on a cone solver, for the square loss with difference
constraints; by cvxpy for everything else that is convex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .closed_form import ClosedForm
from .convex_programme import ConvexProgramme
from .losses import ConvexLoss, Square
from .quadratic_programme import QuadraticProgramme

if TYPE_CHECKING:
    from .response import Responder
    from .tables import Tables


def best_responder(tables: Tables) -> Responder:
    """The first way that applies."""
    layout = tables.layout
    if layout.constraints or isinstance(tables.loss, ConvexLoss):
        return ConvexProgramme(tables)
    if len(layout.differences) == 0:
        return ClosedForm(tables)
    return QuadraticProgramme(tables) if isinstance(tables.loss, Square) else ConvexProgramme(tables)
