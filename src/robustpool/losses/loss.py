"""What a loss is: everything that solvers, searches and scores ask of it.

A forecast is a probability vector over the states, so a table of forecasts has shape (cells, states). What an aggregator
faces at a cell is a row of masses m(omega), the probabilities of the states together with the cell; the expected loss
there is sum_omega m(omega) l(y, omega). A new loss is one file: a subclass with ``table`` and ``expression``. The rest has
defaults, which a closed form can replace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..numerics import safe_divide

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats


@dataclass(frozen=True, eq=False)
class Lift:
    """Auxiliary variables that make the expected loss linear, and the cones that tie them to the forecasts.

    The variables are the forecasts, then ``variables`` lifted ones; ``matrix`` @ variables + slack = ``side``, with the
    slack in ``cones``. ``row(mass)`` gives, for support points with masses (m, states), the blocks (first column, values
    (m,)) of the linear form (the cell's number is added to the column) and the constants (m,).
    """

    variables: int
    matrix: Any
    side: Floats
    cones: list[tuple[str, int]]
    row: Callable[[Floats], tuple[list[tuple[int, Floats]], Floats]]


class Loss(ABC):
    """A loss l(y, omega) that is convex in the forecast y."""

    name: str
    """The word for it in files."""

    proper: ClassVar[bool] = True
    """Whether the posterior is a best forecast."""

    symmetric: ClassVar[bool] = True
    """Whether it treats all states alike."""

    quadratic: ClassVar[bool] = False
    """Whether l(., omega) is |y - e_omega|^2 up to a factor, so that best responses are quadratic programmes."""

    tilted: ClassVar[bool] = False
    """Whether ``tilted_minimum`` has a closed form, so that bounds under constraints rest on no solver."""

    kernel: ClassVar[int | None] = None
    """Its case in ``families.envelopes.penalty``, which compiled code switches on; None: structures are listed instead."""

    @abstractmethod
    def table(self, forecasts: Floats) -> Floats:
        """l(y, omega) for each forecast and state: (m, states) -> (m, states)."""

    @abstractmethod
    def expression(self, forecast: Any, state: int) -> Any:
        """The loss in one state as a cvxpy expression of the forecasts: (m,) for two states, else (m, states)."""

    def bayes_risk(self, masses: Floats) -> Floats:
        """min over y of sum_omega m(omega) l(y, omega), for each row of masses: (m, states) -> (m,)."""
        losses = self.table(safe_divide(masses, masses.sum(axis=1, keepdims=True)))
        return np.sum(masses * np.where(masses > 0, losses, 0.0), axis=1)

    def bound(self, states: int) -> float:
        """The largest value of the loss, infinite if there is none. A convex loss has it at a vertex."""
        return float(self.table(np.eye(states)).max())

    def divergence(self, forecasts: Floats, posteriors: Floats) -> Floats:
        """sum_omega g(omega) (l(f, omega) - l(g, omega)) for each row: (m, states) -> (m,)."""
        excess = np.where(posteriors > 0, self.table(forecasts) - self.table(posteriors), 0.0)
        return np.sum(np.where(posteriors > 0, posteriors * excess, 0.0), axis=1)

    def tilted_minimum(self, masses: Floats, tilt: Floats) -> Floats:
        """A lower bound on min over y of sum_omega m(omega) l(y, omega) + tilt . y, tight up to rounding."""
        raise NotImplementedError

    def lift(self, cells: int, states: int) -> Lift | None:  # noqa: ARG002
        """The loss in cones for the master programme; None: the master is stated in cvxpy."""
        return None
