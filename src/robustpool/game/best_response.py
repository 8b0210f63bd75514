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
    from .finite_game import FiniteGame
    from .response import Responder


def best_responder(game: FiniteGame) -> Responder:
    """The first way that applies."""
    layout = game.layout
    if layout.constraints or isinstance(game.loss, ConvexLoss):
        return ConvexProgramme(game)
    if len(layout.differences) == 0:
        return ClosedForm(game)
    return QuadraticProgramme(game) if isinstance(game.loss, Square) else ConvexProgramme(game)
