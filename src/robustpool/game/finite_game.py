"""The zero-sum game on a finite family: payoffs of tables and the masses that a mixture puts on their cells.

Nature's mixture w enters the aggregator's problem only through M(x, omega) = sum_theta w_theta scale_theta
Pr_theta[x, omega] (docs/derivations/mass-table): her expected payoff against f is
sum_x sum_omega M(x, omega) l(f(x), omega) - sum_theta w_theta offset_theta.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..aggregators.restrictions import Restriction, TableLayout, lay_out
from ..aggregators.table import TableAggregator
from ..errors import UnsupportedError
from .closed_form import posterior
from .paradigms import omniscient_losses, payoff_terms
from .tables import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..structures.finite import FiniteFamily
    from .losses import Loss

CHUNK_POINTS = 20_000
MOST_CHUNKS = 8
THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, eq=False)
class FiniteGame:
    """Payoff = scale * loss - offset for each structure; tables of forecasts have shape (cells, states)."""

    family: FiniteFamily
    paradigm: str
    tables: Tables
    cell: NDArray[np.int32]  # (points,): the cell of a support point's profile
    mass: NDArray[np.float64]  # (points, states): Pr_theta[s, omega], states exchanged where the profile is flipped
    scale: NDArray[np.float64]  # (structures,)
    offset: NDArray[np.float64]  # (structures,)

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.tables.loss

    @property
    def layout(self) -> TableLayout:
        """The layout of the tables."""
        return self.tables.layout

    @property
    def states(self) -> int:
        """The number of states."""
        return self.tables.states

    @cached_property
    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of structures with about equally many support points, fixed by the family's size."""
        start = self.family.start
        count = int(np.clip(start[-1] // CHUNK_POINTS, 1, MOST_CHUNKS))
        edges = np.searchsorted(start, np.linspace(0, start[-1], count + 1))
        edges[0], edges[-1] = 0, len(self.family)
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def over_chunks(self, work: Callable[[int, tuple[int, int]], None]) -> None:
        """Run ``work(number, chunk)`` for every chunk, on several threads if there is more than one."""
        if len(self.chunks) == 1:
            work(0, self.chunks[0])
        else:
            list(_pool().map(work, range(len(self.chunks)), self.chunks))

    def payoffs(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Nature's payoff from each structure against a table: (cells, states) -> (structures,)."""
        from .kernels import expected_losses

        losses, out = self.loss.table(table), np.empty(len(self.family))
        self.over_chunks(lambda _, c: expected_losses(*c, self.family.start, self.cell, self.mass, losses, out))
        return np.where(self.scale > 0, self.scale * out, 0.0) - self.offset

    def masses(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """M(x, omega) of a mixture: (structures,) -> (cells, states)."""
        from .kernels import add_masses

        parts = np.zeros((len(self.chunks), self.layout.cells, self.states))
        factor = weights * self.scale
        self.over_chunks(lambda i, c: add_masses(*c, self.family.start, self.cell, self.mass, factor, parts[i]))
        return np.asarray(parts.sum(axis=0))

    def aggregator(self, table: NDArray[np.float64]) -> TableAggregator:
        """The aggregator of a table, for every profile that the layout answers."""
        forecasts = table[self.layout.cell]
        forecasts = np.where(self.layout.flipped[:, None], forecasts[:, ::-1], forecasts)
        return TableAggregator(self.layout.reports, forecasts[:, 1] if self.states == 2 else forecasts)


def finite_game(family: FiniteFamily, loss: Loss, paradigm: str, restrictions: Sequence[Restriction]) -> FiniteGame:
    """The game on a family under a loss, a paradigm and restrictions on the aggregator."""
    scale, offset, pinning = payoff_terms(paradigm, omniscient_losses(family, loss))
    layout = lay_out(family.reports, family.report, len(family.states), restrictions)
    profile = layout.of_family[family.profile]
    cell = layout.cell[profile].astype(np.int32)
    mass = family.mass
    if layout.flipped.any() or layout.balanced.any():
        mass = np.where(layout.flipped[profile, None], mass[:, ::-1], mass)
        mass = np.where(layout.balanced[cell, None], mass.mean(axis=1, keepdims=True), mass)
    pins = _pins(family, cell, mass, layout, pinning)
    pins[layout.balanced] = 0.5
    pinned = np.asarray(pins.any(axis=1))
    columns = [np.bincount(cell, weights=mass[:, k], minlength=layout.cells) for k in range(mass.shape[1])]
    default = np.where(pinned[:, None], pins, posterior(np.stack(columns, axis=1)))
    return FiniteGame(family, paradigm, Tables(loss, layout, pinned, pins, default), cell, mass, scale, offset)


def _pins(
    family: FiniteFamily,
    cell: NDArray[np.int32],
    mass: NDArray[np.float64],
    layout: TableLayout,
    pinning: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """What structures without omniscient loss fix the cells to, or why no aggregator can please them all."""
    points = np.flatnonzero(pinning[family.structure_of_point] & (family.mass.sum(axis=1) > 0))
    asked = np.zeros((layout.cells, mass.shape[1]), dtype=bool)
    asked[cell[points], mass[points].argmax(axis=1)] = True
    torn = (asked.sum(axis=1) > 1) | (layout.balanced & asked.any(axis=1))
    if torn.any():
        at = int(np.flatnonzero(torn)[0])
        those = np.unique(family.structure_of_point[points[cell[points] == at]])
        raise UnsupportedError(
            "no aggregator has a finite ratio: structures without omniscient loss "
            f"({', '.join(repr(family.name(t)) for t in those[:2])}) show the same reports in different states."
        )
    return asked.astype(float)


_POOL: list[ThreadPoolExecutor] = []


def _pool() -> ThreadPoolExecutor:
    if not _POOL:
        _POOL.append(ThreadPoolExecutor(THREADS, thread_name_prefix="robustpool"))
    return _POOL[0]
