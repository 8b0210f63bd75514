"""The log loss -log y(omega)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics import safe_divide
from .loss import Lift, Loss

if TYPE_CHECKING:
    from ..typing import Floats


@dataclass(frozen=True)
class Log(Loss):
    """The logarithmic score -log y(omega)."""

    name: str = "log"
    tilted, kernel = True, 1

    def table(self, forecasts: Floats) -> Floats:
        """Infinite where a state is called impossible."""
        return -np.log(forecasts, out=np.full(forecasts.shape, -np.inf), where=forecasts > 0)

    def divergence(self, forecasts: Floats, posteriors: Floats) -> Floats:
        """sum_omega g log(g/f)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = posteriors * (np.log(posteriors) - np.log(forecasts))
        return np.where(posteriors > 0, terms, 0.0).sum(axis=1)

    def expression(self, forecast: Any, state: int) -> Any:
        """See Loss."""
        import cvxpy as cp

        if forecast.ndim == 1:
            return -cp.log(forecast) if state == 1 else -cp.log(1 - forecast)
        return -cp.log(forecast[:, state])

    def tilted_minimum(self, masses: Floats, tilt: Floats) -> Floats:
        """max over nu of sum_omega (m - m log(m/(tilt + nu))) - nu, at any nu with tilt + nu > 0 where m > 0 (>= 0 else).

        The dual of the constraint that y sums to 1: a lower bound for every nu. The best one solves
        sum_omega m/(tilt + nu) = 1 and is found by bisection.
        """
        total = masses.sum(axis=1)
        seen = masses > 0
        floor = -tilt.min(axis=1)  # nu >= -tilt everywhere keeps y >= 0 from sending the bound to -infinity
        low, high = floor, -np.min(np.where(seen, tilt, np.inf), axis=1, initial=np.inf)
        high = np.maximum(np.where(np.isfinite(high), high, floor), floor) + total
        for _ in range(100):
            middle = (low + high) / 2
            slope = np.sum(safe_divide(masses, np.maximum(tilt + middle[:, None], 0.0)), axis=1)
            blocked = np.any(seen & (tilt + middle[:, None] <= 0), axis=1)
            rises = blocked | (slope > 1)
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        shifted = tilt + high[:, None]
        share = np.where(seen & (shifted > 0), safe_divide(masses, shifted), 1.0)
        return np.sum(np.where(seen, masses - masses * np.log(share), 0.0), axis=1) - high

    def lift(self, cells: int, states: int) -> Lift:
        """s >= -log f as (-s, 1, f) in the exponential cone, for each state and cell; f = 1 - y for the first of two."""
        from scipy import sparse

        points = cells if states == 2 else states * cells
        index = np.arange(states * cells)
        first_of_two = (index < cells) & (states == 2)
        place = index % cells if states == 2 else index
        rows = np.concatenate((3 * index, 3 * index + 2))
        places = np.concatenate((points + index, place))
        values = np.concatenate((np.ones(len(index)), np.where(first_of_two, 1.0, -1.0)))
        side = np.zeros(3 * len(index))
        side[1::3] = 1.0
        side[2::3] = np.where(first_of_two, 1.0, 0.0)
        matrix = sparse.csc_matrix((values, (rows, places)), shape=(3 * len(index), points + len(index)))

        def row(mass: Floats) -> tuple[list[tuple[int, Floats]], Floats]:
            return [(points + k * cells, mass[:, k]) for k in range(states)], np.zeros(len(mass))

        return Lift(len(index), matrix, side, [("exponential", 3)] * len(index), row)


LOSS = Log()
