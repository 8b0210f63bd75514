"""The best response of an unrestricted aggregator under a proper loss: the posterior [Guo2024, Observation 4.5]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numerics import safe_divide
from .response import Response, cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .finite_game import FiniteGame

    Floats = NDArray[np.float64]


class ClosedForm:
    """The posterior Pr[omega | x] under the mixture; where the mixture never leads, that under the uniform one."""

    arithmetic = "float64, closed form"
    cheap = True

    def __init__(self, game: FiniteGame) -> None:
        self.game = game
        everywhere = game.masses(np.full(len(game.family), 1.0))
        self.elsewhere = np.where(game.pinned[:, None], game.pins, _posterior(everywhere))

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        game = self.game
        reached = (masses.sum(axis=1) > 0) & ~game.pinned
        table = np.where(reached[:, None], _posterior(masses), self.elsewhere)
        pinned = game.pinned.any()
        least = cost(masses, game.loss.table(table)) if pinned else float(game.loss.bayes_risk(masses).sum())
        return Response(table, least, least)


def _posterior(masses: Floats) -> Floats:
    """M(x, omega) / M(x); uniform at profiles of probability 0, such as the reports (0, 1) of independent agents."""
    total = masses.sum(axis=1, keepdims=True)
    return np.where(total > 0, safe_divide(masses, total), 1 / masses.shape[1])
