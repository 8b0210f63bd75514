"""What the aggregator may say: tables of forecasts under a loss and a layout, and the polyhedron that they form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..aggregators.restrictions import TableLayout
    from .losses import Loss

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of shape (cells, states): the loss they suffer, the cells that are fixed, the constraints between cells."""

    loss: Loss
    layout: TableLayout
    pinned: NDArray[np.bool_]  # (cells,): cells that the ratio paradigm or the mirror fixes
    pins: Floats  # (cells, states): to what
    default: Floats  # (cells, states): what to say where a mixture never leads

    @property
    def states(self) -> int:
        """The number of states."""
        return self.pins.shape[1]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.layout.cells

    def feasible(self, table: Floats) -> Floats:
        """What a solver returned, with its small violations taken out."""
        return self.layout.differences.repaired(np.where(self.pinned[:, None], self.pins, table), self.pinned)

    @cached_property
    def polyhedron(self) -> Polyhedron:
        """The tables as a polyhedron, for cone solvers."""
        return _polyhedron(self)


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """equal @ y = equal_side, unequal @ y <= unequal_side; y is the table column by column.

    For two states y is the probability of the second. The first rows of ``unequal`` are the difference constraints.
    """

    columns: int
    equal: Any
    equal_side: Floats
    unequal: Any
    unequal_side: Floats
    bonds: int  # how many rows are difference constraints

    def flat(self, table: Floats) -> Floats:
        """A table (cells, states) as a point y."""
        return (table[:, 1:] if self.columns == 1 else table).T.ravel()

    def table(self, y: Floats) -> Floats:
        """A point y as a table (cells, states) of exact forecasts."""
        from .losses import forecast_table

        shaped = y.reshape(self.columns, -1).T
        return forecast_table(shaped[:, 0] if self.columns == 1 else shaped)


def _polyhedron(tables: Tables) -> Polyhedron:
    from scipy import sparse

    columns = 1 if tables.states == 2 else tables.states
    differences = tables.layout.differences
    unit = sparse.identity(columns * tables.cells, format="csc")
    each = sparse.kron(sparse.identity(columns), differences.matrix(tables.cells), format="csc")
    pinned = np.tile(tables.pinned, columns)
    shown = (tables.pins[:, 1:] if columns == 1 else tables.pins).T.ravel()
    equal, equal_side = unit[pinned], shown[pinned]
    bounds, bounds_side = -unit[~pinned], np.zeros(int((~pinned).sum()))
    if columns == 1:
        bounds, bounds_side = sparse.vstack((bounds, -bounds)), np.concatenate((bounds_side, bounds_side + 1))
    else:
        sums = sparse.hstack([sparse.identity(tables.cells, format="csc")[~tables.pinned]] * columns)
        equal, equal_side = sparse.vstack((equal, sums)), np.concatenate((equal_side, np.ones(sums.shape[0])))
    return Polyhedron(
        columns=columns,
        equal=sparse.csc_matrix(equal),
        equal_side=equal_side,
        unequal=sparse.vstack((each, bounds), format="csc"),
        unequal_side=np.concatenate((np.tile(differences.slack, columns), bounds_side)),
        bonds=columns * len(differences),
    )
