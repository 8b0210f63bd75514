"""The best response under any convex loss in any convex family: the paper's convex oracle [Guo2024, Lemma 4.3]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import UnsupportedError
from .losses import ConvexLoss, Log, Square, forecast_table, forecast_variable, solve_convex
from .response import WEAK_DUALITY, Response, cost, dual_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .finite_game import FiniteGame

    Floats = NDArray[np.float64]


class ConvexProgramme:
    """Any convex loss and any convex family of tables, by cvxpy: the paper's convex-optimisation oracle."""

    cheap = False

    def __init__(self, game: FiniteGame) -> None:
        import cvxpy as cp

        self.game = game
        layout, bonds = game.layout, game.layout.differences
        if game.pinned.any() and isinstance(game.loss, ConvexLoss):
            raise UnsupportedError(
                "the ratio of a custom loss needs a positive omniscient loss in every structure; "
                f"structure {self._lossless()!r} has none."
            )
        self.forecast, rules = forecast_variable(layout.cells, game.states)
        self.masses = cp.Parameter((layout.cells, game.states), nonneg=True)
        terms = [
            cp.multiply(self.masses[:, state], game.loss.expression(self.forecast, state))
            for state in range(game.states)
        ]
        shown = game.pins[:, 1] if game.states == 2 else game.pins
        if game.pinned.any():
            rules.append(self.forecast[game.pinned] == shown[game.pinned])
        self.bonds = None
        if len(bonds):
            slack = bonds.slack if game.states == 2 else np.repeat(bonds.slack[:, None], game.states, axis=1)
            self.bonds = bonds.matrix(layout.cells) @ self.forecast <= slack
            rules.append(self.bonds)
        rules.extend(layout.user_constraints(self.forecast))
        self.problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms))), rules)

    @property
    def exact(self) -> bool:
        """Whether the dual bound is our own."""
        return isinstance(self.game.loss, (Square, Log)) and not self.game.layout.constraints

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
        game = self.game
        size = float(masses.sum(axis=1).max()) or 1.0
        self.masses.value = masses / size
        solve_convex(self.problem, "the best response")
        table = forecast_table(np.asarray(self.forecast.value))
        table = np.where(game.pinned[:, None], game.pins, table)
        table = game.layout.differences.repaired(table, game.pinned)
        value = cost(masses, game.loss.table(table))
        if self.exact:
            dual = (
                np.zeros((1 if game.states == 2 else game.states, 0)) if self.bonds is None else self.bonds.dual_value
            )
            multipliers = size * np.maximum(np.atleast_2d(np.asarray(dual).T), 0.0)
            least = dual_bound(game, masses, multipliers)
        else:
            found = size * float(self.problem.value)
            least = min(found, value) - 1e-8 * max(1.0, abs(found))
        return Response(table, value, least)

    def _lossless(self) -> str:
        return self.game.family.name(int(np.argmax(self.game.scale == 0)))
