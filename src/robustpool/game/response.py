"""What a best response to a mixture is, and the lower bound that comes with it.

With multipliers lambda >= 0 of the difference constraints G f <= slack, weak duality gives

    min_f  >=  sum_x min_{y in simplex} { M(x,.) . l(y,.) + (G' lambda)(x,.) . y }  -  lambda . slack

(docs/derivations/dual-bound), computed here from the closed form of each tilted minimum. It holds for any multipliers,
so nothing rests on a solver's word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .losses import Log, Square

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tables import Tables

    Floats = NDArray[np.float64]


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
    def tables(self) -> Tables:
        """What the aggregator may say."""
        ...

    @property
    def arithmetic(self) -> str:
        """What the lower bound rests on, in words."""
        ...

    @property
    def cheap(self) -> bool:
        """Whether a response costs less than a pass over the structures."""
        ...

    def __call__(self, masses: Floats) -> Response:
        """The best response to the mass table of a mixture."""
        ...


def cost(masses: Floats, losses: Floats) -> float:
    """sum_x sum_omega M(x, omega) l(f(x), omega); an impossible state costs nothing, whatever its loss."""
    return float(cost_by_cell(masses, losses).sum())


def cost_by_cell(masses: Floats, losses: Floats) -> Floats:
    """The same for each cell."""
    return np.where(masses > 0, masses * np.where(masses > 0, losses, 0.0), 0.0).sum(axis=1)


def dual_bound(tables: Tables, masses: Floats, multipliers: Floats) -> float:
    """The lower bound of the module's head; ``multipliers`` has shape (states, or 1 for two states, constraints)."""
    assert isinstance(tables.loss, (Square, Log))
    bonds = tables.layout.differences
    tilt = np.zeros_like(masses)
    tilt[:, -len(multipliers) :] = (bonds.matrix(len(masses)).T @ multipliers.T).reshape(len(masses), -1)
    fixed = cost_by_cell(masses, tables.loss.table(tables.pins)) + np.sum(tilt * tables.pins, axis=1)
    least = np.where(tables.pinned, fixed, tables.loss.tilted_minimum(masses, tilt))
    return float(least.sum() - np.sum(multipliers @ bonds.slack))
