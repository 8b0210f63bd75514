"""The square loss: for two states (y - omega)^2, half of the sum over both; for more the sum over the states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics import project_simplex, safe_divide
from .loss import Lift, Loss

if TYPE_CHECKING:
    from ..typing import Floats

NO_MASS = 1e-100
"""Masses below this are 0 where they would be divided by."""


@dataclass(frozen=True)
class Square(Loss):
    """The Brier score: (y - omega)^2 for two states, sum_k (y_k - [omega = k])^2 for more."""

    name: str = "square"
    quadratic, tilted, kernel = True, True, 0

    def table(self, forecasts: Floats) -> Floats:
        """Half or whole of (1 - y_omega)^2 + sum_{k != omega} y_k^2, where 1 - y_omega is the sum of the others."""
        return _halves(forecasts) * (_others(forecasts) ** 2 + _others(forecasts**2))

    def bayes_risk(self, masses: Floats) -> Floats:
        """sum_omega m (p - m)/p with p = sum_omega m; for two states m_0 m_1/p."""
        return _halves(masses) * safe_divide(np.sum(masses * _others(masses), axis=1), masses.sum(axis=1))

    def divergence(self, forecasts: Floats, posteriors: Floats) -> Floats:
        """(f - g)^2 of the second of two states, whose digits are all there; |f - g|^2 for more."""
        shown = slice(1, None) if forecasts.shape[1] == 2 else slice(None)
        return np.sum((forecasts - posteriors)[:, shown] ** 2, axis=1)

    def expression(self, forecast: Any, state: int) -> Any:
        """See Loss."""
        import cvxpy as cp

        if forecast.ndim == 1:
            return cp.square(forecast - state)
        target = np.eye(forecast.shape[1])[state][None]
        return cp.sum(cp.square(forecast - np.repeat(target, forecast.shape[0], axis=0)), axis=1)

    def tilted_minimum(self, masses: Floats, tilt: Floats) -> Floats:
        """h (p |y|^2 - 2 m.y + p) + tilt.y at y = projection of (2 h m - tilt)/(2 h p); at a vertex where p = 0."""
        h = _halves(masses)
        total = masses.sum(axis=1, keepdims=True)
        vertex = (tilt == tilt.min(axis=1, keepdims=True)).astype(float)
        vertex /= vertex.sum(axis=1, keepdims=True)
        heavy = np.where(total > NO_MASS, total, 0.0)
        y = np.where(heavy > 0, project_simplex(safe_divide(2 * h * masses - tilt, 2 * h * heavy)), vertex)
        return np.sum(masses * self.table(y) + tilt * y, axis=1)

    def lift(self, cells: int, states: int) -> Lift:
        """u_x >= |f_x|^2 as the cone |(2 f_x, u_x - 1)| <= u_x + 1: the loss p u - 2 m.f + constant is linear."""
        from scipy import sparse

        columns = 1 if states == 2 else states
        size, points, cell = columns + 2, columns * cells, np.arange(cells)
        rows = [cell * size, cell * size + size - 1, *(cell * size + 1 + k for k in range(columns))]
        places = [points + cell, points + cell, *(k * cells + cell for k in range(columns))]
        values = np.concatenate((np.full(2 * cells, -1.0), np.full(columns * cells, -2.0)))
        side = np.zeros(cells * size)
        side[0::size], side[size - 1 :: size] = 1.0, -1.0
        entries = (values, (np.concatenate(rows), np.concatenate(places)))
        matrix = sparse.csc_matrix(entries, shape=(cells * size, points + cells))

        def row(mass: Floats) -> tuple[list[tuple[int, Floats]], Floats]:
            shown = mass[:, 1:] if states == 2 else mass
            forecasts = [(k * cells, -2.0 * shown[:, k]) for k in range(shown.shape[1])]
            return [(points, mass.sum(axis=1)), *forecasts], shown.sum(axis=1)

        return Lift(cells, matrix, side, [("second-order", size)] * cells, row)


def _halves(rows: Floats) -> float:
    return 0.5 if rows.shape[1] == 2 else 1.0


def _others(rows: Floats) -> Floats:
    """For each entry of a row the sum of the others, without the digits that subtracting it would lose."""
    if rows.shape[1] == 2:
        return rows[:, ::-1]
    return rows @ (1.0 - np.eye(rows.shape[1]))


LOSS = Square()
