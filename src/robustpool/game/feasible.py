"""What the aggregator may say: tables of forecasts under a loss and a layout, and the polyhedron that they form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.restrictions import lay_out, lay_out_multisets
from ..conic import stacked
from ..numerics import ROUNDING
from ..structures.report_formats import Posterior

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..aggregators.restrictions import Restriction, TableLayout
    from ..conic import ConeSolution
    from ..losses.loss import Loss
    from ..typing import Booleans, Floats, Integers

MANY = 4
"""Above this many difference constraints for each number of a table, they are added as they are needed."""

VIOLATED, NEARLY = 1e-9, 1e-6
LAZY_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class FeasibleTables:
    """Tables of shape (cells, states): the loss they suffer, the cells that are fixed, the constraints between cells."""

    loss: Loss
    layout: TableLayout
    pinned: Booleans  # (cells,): cells that the ratio paradigm or the mirror fixes
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

    def near(self, table: Floats) -> Floats:
        """A table near another one that is none of these: its payoff would be too good to be true."""
        table = self.feasible(table)
        if self._constraints_hold(table, 1e-9):
            return table
        from .convex_programme import nearest_table

        return nearest_table(self, table)

    def allows(self, table: Floats) -> bool:
        """Whether a table that comes from a file is one of these, but for rounding."""
        if table.shape != self.pins.shape or not (np.abs(table - 0.5) <= 0.5 + ROUNDING).all():
            return False
        differences, ordered = self.layout.differences, table[:, 1:] if self.states == 2 else table
        rises = ordered[differences.upper] - ordered[differences.lower]
        return bool(
            (np.abs(table.sum(axis=1) - 1.0) <= 1e-9).all()
            and (np.abs(table - self.pins)[self.pinned] <= ROUNDING).all()
            and (rises <= differences.slack[:, None] + ROUNDING).all()
            and self._constraints_hold(table, 1e-4)
        )

    def _constraints_hold(self, table: Floats, slack: float) -> bool:
        """Whether it meets the user's own constraints; a convex solver does it less exactly than other numbers."""
        if not self.layout.constraints:
            return True
        from .convex_programme import convex_tables

        forecast, rules, _ = convex_tables(self)
        forecast.value = table[:, 1] if self.states == 2 else table
        return all(float(np.max(rule.violation())) <= slack for rule in rules)

    def of_cells(self, cells: NDArray[Any]) -> FeasibleTables:
        """The tables of these cells alone, where no constraint binds cells to each other."""
        layout = replace(self.layout, cells=len(cells), balanced=self.layout.balanced[cells])
        return FeasibleTables(self.loss, layout, self.pinned[cells], self.pins[cells], self.default[cells])

    @cached_property
    def polyhedron(self) -> Polyhedron:
        """The tables as a polyhedron, for cone solvers."""
        return _polyhedron(self)


def posterior_tables(
    reports: Floats, loss: Loss, restrictions: Sequence[Restriction], default: Callable[[Floats], Floats]
) -> FeasibleTables:
    """Tables over profiles of probabilities, shape (profiles, agents), under restrictions.

    ``default`` is an aggregator: what to start from, and what to say where a mixture never leads.
    """
    return tables_of(lay_out(reports[:, :, None], Posterior(), 2, restrictions), loss, default)


def symmetric_tables(
    x: Floats, agents: int, loss: Loss, restrictions: Sequence[Restriction], default: Callable[[Floats], Floats]
) -> FeasibleTables:
    """The same over multisets of the reports ``x``: tables that treat the agents alike."""
    return tables_of(lay_out_multisets(x, agents, restrictions), loss, default)


def tables_of(layout: TableLayout, loss: Loss, default: Callable[[Floats], Floats]) -> FeasibleTables:
    """The tables of a layout for two states."""
    pins = np.where(layout.balanced[:, None], np.full((layout.cells, 2), 0.5), 0.0)
    return FeasibleTables(loss, layout, layout.balanced, pins, layout.table_of(default))


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

    @cached_property
    def matrix(self) -> Any:
        """Both kinds of rows, the equalities first."""
        return stacked((self.equal, self.unequal), self.equal.shape[1])

    @cached_property
    def side(self) -> Floats:
        """Their right-hand sides."""
        return np.concatenate((self.equal_side, self.unequal_side))

    @property
    def cones(self) -> list[tuple[str, int]]:
        """Where their slacks lie."""
        return [("zero", len(self.equal_side)), ("nonnegative", len(self.unequal_side))]

    def multipliers(self, z: Floats, bonds: Integers) -> Floats:
        """Those of the difference constraints, shape (columns, constraints), where a programme had ``bonds`` of them."""
        every = np.zeros(self.bonds)
        every[bonds] = np.maximum(z[len(self.equal_side) :][: len(bonds)], 0.0)
        return every.reshape(self.columns, -1)

    def flat(self, table: Floats) -> Floats:
        """A table (cells, states) as a point y."""
        return (table[:, 1:] if self.columns == 1 else table).T.ravel()

    def table(self, y: Floats) -> Floats:
        """A point y as a table (cells, states) of exact forecasts."""
        from ..losses.convex import forecast_table

        shaped = y.reshape(self.columns, -1).T
        return forecast_table(shaped[:, 0] if self.columns == 1 else shaped)

    def lazily(self, solve: Callable[[Polyhedron], ConeSolution], near: Floats) -> tuple[ConeSolution, Integers]:
        """The solution under all difference constraints from programmes that have some, and which the last one had.

        Off a grid all profiles are neighbours, and few of their constraints bind. Start with those that bind at the
        table ``near``; add those that the solution violates, at most the worst two of each number of a table; repeat
        until it violates none. Then it solves the whole programme, and the multipliers of the others are 0.
        """
        matrix, side = self.unequal[: self.bonds], self.unequal_side[: self.bonds]
        points, everything = matrix.shape[1], np.arange(self.bonds)
        if self.bonds <= MANY * points:
            return solve(self), everything
        ends = np.sort(matrix.indices.reshape(-1, 2), axis=1).T
        active = matrix @ self.flat(near) >= side - NEARLY
        for _ in range(LAZY_ROUNDS):
            bonds = np.flatnonzero(active)
            solution = solve(self._part(bonds))
            excess = np.where(active, 0.0, matrix @ solution.x[:points] - side)
            violated = np.flatnonzero(excess > VIOLATED)
            if len(violated) == 0 or not solution.accepted:
                return solution, bonds
            violated = violated[np.argsort(-excess[violated], kind="stable")]
            for end in ends:
                active[violated[np.unique(end[violated], return_index=True)[1]]] = True
        return solve(self), everything

    def _part(self, bonds: Integers) -> Polyhedron:
        """The same with these difference constraints only."""
        rows = np.concatenate((bonds, np.arange(self.bonds, len(self.unequal_side))))
        return replace(self, unequal=self.unequal[rows], unequal_side=self.unequal_side[rows], bonds=len(bonds))


def _polyhedron(tables: FeasibleTables) -> Polyhedron:
    from scipy import sparse

    columns, cells, differences = 1 if tables.states == 2 else tables.states, tables.cells, tables.layout.differences
    points, first = columns * cells, np.arange(columns)[:, None] * cells  # first: where a column begins
    pinned = np.tile(tables.pinned, columns)
    fixed, free = np.flatnonzero(pinned), np.flatnonzero(~pinned)
    upper, lower = (first + differences.upper).ravel(), (first + differences.lower).ravel()
    bonds = len(upper)
    bond, bound = np.arange(bonds), bonds + np.arange(len(free))
    ends = [(bond, upper, 1.0), (bond, lower, -1.0), (bound, free, -1.0)]
    equal, sides = [(np.arange(len(fixed)), fixed, 1.0)], [np.tile(differences.slack, columns), np.zeros(len(free))]
    if columns == 1:
        ends.append((bound + len(free), free, 1.0))
        sides.append(np.ones(len(free)))
    else:
        cell = np.flatnonzero(~tables.pinned)
        equal.extend((len(fixed) + np.arange(len(cell)), start + cell, 1.0) for start in first.ravel())
    unequal_side = np.concatenate(sides)
    sums = 0 if columns == 1 else len(cell)
    shown = (tables.pins[:, 1:] if columns == 1 else tables.pins).T.ravel()

    def matrix(entries: list[tuple[Integers, Integers, float]], rows: int) -> Any:
        row, column = (np.concatenate([entry[k] for entry in entries]) for k in (0, 1))
        value = np.repeat([entry[2] for entry in entries], [len(entry[0]) for entry in entries])
        return sparse.csr_matrix((value, (row, column)), shape=(rows, points))

    return Polyhedron(
        columns=columns,
        equal=matrix(equal, len(fixed) + sums),
        equal_side=np.append(shown[fixed], np.ones(sums)),
        unequal=matrix(ends, len(unequal_side)),
        unequal_side=unequal_side,
        bonds=bonds,
    )
