"""What a best response to a mixture is, and the lower bound that comes with it.

With multipliers lambda >= 0 of the difference constraints G f <= slack, weak duality gives

    min_f  >=  sum_x min_{y in simplex} { M(x,.) . l(y,.) + (G' lambda)(x,.) . y }  -  lambda . slack

(docs/derivations/dual-bound), computed here from the closed form of each tilted minimum. It holds for any multipliers,
so nothing rests on a solver's word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..numerics import safe_divide

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Floats
    from .feasible import FeasibleTables


WEAK_DUALITY = "float64, weak duality from the cone solver's multipliers"


@dataclass(frozen=True, eq=False)
class Response:
    """A table, what it costs, and a lower bound on what any table of the family costs."""

    table: Floats
    cost: float
    least: float


class Responder(Protocol):
    """Best responses for one game."""

    @property
    def tables(self) -> FeasibleTables:
        """What the aggregator may say."""

    @property
    def arithmetic(self) -> str:
        """What the lower bound rests on, in words."""

    @property
    def cheap(self) -> bool:
        """Whether a response costs less than a pass over the structures."""

    def __call__(self, masses: Floats) -> Response:
        """The best response to the mass table of a mixture."""


def cost(masses: Floats, losses: Floats) -> float:
    """sum_x sum_omega M(x, omega) l(f(x), omega); an impossible state costs nothing, whatever its loss."""
    return float(cost_by_cell(masses, losses).sum())


def cost_by_cell(masses: Floats, losses: Floats) -> Floats:
    """The same for each cell."""
    return np.where(masses > 0, masses * np.where(masses > 0, losses, 0.0), 0.0).sum(axis=1)


def masses_by_cell(cell: NDArray[Any], masses: Floats, cells: int) -> Floats:
    """Masses (points, states) of support points in these cells, added up: (cells, states)."""
    columns = [np.bincount(cell, weights=column, minlength=cells) for column in masses.T]
    return np.stack(columns, axis=1)


def dual_bound(tables: FeasibleTables, masses: Floats, multipliers: Floats) -> float:
    """The lower bound of the module's head; ``multipliers`` has shape (states, or 1 for two states, constraints)."""
    bonds = tables.layout.differences
    tilt = np.zeros_like(masses)
    tilt[:, -len(multipliers) :] = (bonds.matrix(len(masses)).T @ multipliers.T).reshape(len(masses), -1)
    fixed = cost_by_cell(masses, tables.loss.table(tables.pins)) + np.sum(tilt * tables.pins, axis=1)
    least = np.where(tables.pinned, fixed, tables.loss.tilted_minimum(masses, tilt))
    return float(least.sum() - np.sum(multipliers @ bonds.slack))


class ClosedForm:
    """The posterior Pr[omega | x] under the mixture; where the mixture never leads, the default."""

    arithmetic = "float64, closed form"
    cheap = True

    def __init__(self, tables: FeasibleTables) -> None:
        self.tables = tables

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        tables = self.tables
        reached = (masses.sum(axis=1) > 0) & ~tables.pinned
        table = np.where(reached[:, None], posterior(masses), tables.default)
        pinned = tables.pinned.any()
        least = cost(masses, tables.loss.table(table)) if pinned else float(tables.loss.bayes_risk(masses).sum())
        return Response(table, least, least)


def posterior(masses: Floats) -> Floats:
    """M(x, omega) / M(x); uniform at profiles of probability 0, such as the reports (0, 1) of independent agents."""
    total = masses.sum(axis=1, keepdims=True)
    return np.where(total > 0, safe_divide(masses, total), 1 / masses.shape[1])
