"""The zero-sum game on a finite family: payoffs of tables and the masses that a mixture puts on their cells.

Nature's mixture w enters the aggregator's problem only through M(x, omega) = sum_theta w_theta scale_theta
Pr_theta[x, omega] (docs/derivations/mass-table): her expected payoff against f is
sum_x sum_omega M(x, omega) l(f(x), omega) - sum_theta w_theta offset_theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import checks
from ..aggregators.restrictions import Restriction, TableLayout, lay_out
from ..errors import UnsupportedError
from ..execution import mapped
from ..game.feasible import FeasibleTables
from ..game.master_programme import Cuts
from ..game.paradigms import payoff_terms
from ..game.response import masses_by_cell, posterior
from .nature import Answer, Mixture, Nature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from ..losses.loss import Loss
    from ..typing import Booleans, Floats
    from .conditionally_independent import EnumeratedFamily
    from .finite import FiniteFamily

CHUNK_POINTS = 20_000
MOST_CHUNKS = 8
MOST_CUTS = 256
A_POINT = 4e-9
"""Seconds for a support point, roughly."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class FiniteGame:
    """Payoff = scale * loss - offset for each structure; tables of forecasts have shape (cells, states)."""

    family: FiniteFamily
    tables: FeasibleTables
    cell: NDArray[np.int32]  # (points,): the cell of a support point's profile
    mass: Floats  # (points, states): Pr_theta[s, omega], states exchanged where the profile is flipped
    scale: Floats  # (structures,)
    offset: Floats  # (structures,)

    @cached_property
    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of structures with about equally many support points, fixed by the family's size."""
        start = self.family.start
        count = int(np.clip(start[-1] // CHUNK_POINTS, 1, MOST_CHUNKS))
        edges = np.searchsorted(start, np.linspace(0, start[-1], count + 1))
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def payoffs(self, table: Floats) -> Floats:
        """Nature's payoff from each structure against a table: (cells, states) -> (structures,)."""
        losses = np.concatenate(list(self.over_chunks(_expected_losses, self.tables.loss.table(table))))
        return np.where(self.scale > 0, self.scale * losses, 0.0) - self.offset

    def masses(self, weights: Floats) -> Floats:
        """M(x, omega) of a mixture: (structures,) -> (cells, states)."""
        return np.asarray(sum(self.over_chunks(_masses, weights * self.scale)))

    def over_chunks(self, work: Callable[[tuple[FiniteGame, Any], tuple[int, int]], T], given: Any) -> Iterator[T]:
        """``work((game, given), chunk)`` for every chunk of structures, in order."""
        return mapped(work, self.chunks, (self, given), compiled=True, seconds=A_POINT * len(self.cell))


def _expected_losses(common: tuple[FiniteGame, Floats], chunk: tuple[int, int]) -> Floats:
    from .kernels import expected_losses

    (game, losses), (first, last) = common, chunk
    out = np.empty(last - first)
    expected_losses(first, last, game.family.start, game.cell, game.mass, losses, out)
    return out


def _masses(common: tuple[FiniteGame, Floats], chunk: tuple[int, int]) -> Floats:
    from .kernels import add_masses

    game, factor = common
    out = np.zeros(game.tables.pins.shape)
    add_masses(*chunk, game.family.start, game.cell, game.mass, factor, out)
    return out


def omniscient_losses(family: FiniteFamily, loss: Loss) -> Floats:
    """E[l(opt(s), omega)] of each structure: she sees the signals, so she minimises at every support point."""
    return np.asarray(np.add.reduceat(loss.bayes_risk(family.mass), family.start[:-1]))


def finite_game(family: FiniteFamily, loss: Loss, paradigm: str, restrictions: Sequence[Restriction]) -> FiniteGame:
    """The game on a family under a loss, a paradigm and restrictions on the aggregator."""
    scale, offset, pinning = payoff_terms(paradigm, omniscient_losses(family, loss))
    layout = lay_out(family.reports, family.report, len(family.states), restrictions)
    cell, mass = layout.folded(layout.of_family[family.profile], family.mass)
    pins = _pins(family, cell, mass, layout, pinning)
    pins[layout.balanced] = 0.5
    pinned = np.asarray(pins.any(axis=1))
    default = np.where(pinned[:, None], pins, posterior(masses_by_cell(cell, mass, layout.cells)))
    return FiniteGame(family, FeasibleTables(loss, layout, pinned, pins, default), cell, mass, scale, offset)


def _pins(
    family: FiniteFamily, cell: NDArray[np.int32], mass: Floats, layout: TableLayout, pinning: Booleans
) -> Floats:
    """What structures without omniscient loss fix the cells to, or why no aggregator can please them all."""
    points = np.flatnonzero(pinning[family.structure_of_point] & (family.mass.sum(axis=1) > 0))
    pins = np.zeros((layout.cells, mass.shape[1]), dtype=bool)
    pins[cell[points], mass[points].argmax(axis=1)] = True
    torn = (pins.sum(axis=1) > 1) | (layout.balanced & pins.any(axis=1))
    if torn.any():
        at = int(np.flatnonzero(torn)[0])
        those = np.unique(family.structure_of_point[points[cell[points] == at]])
        raise UnsupportedError(
            "no aggregator has a finite ratio: structures without omniscient loss "
            f"({', '.join(repr(family.name(t)) for t in those[:2])}) show the same reports in different states."
        )
    return pins.astype(float)


@dataclass(frozen=True, eq=False)
class FiniteNature(Nature):
    """Nature on a finite game: one pass finds the payoff of every structure; the largest become cuts.

    The label of a structure is its number. ``structures`` are those of the game, under their own names.
    """

    game: FiniteGame
    structures: FiniteFamily | EnumeratedFamily
    few = 8
    symmetries: tuple[str, ...] = ()  # what a structure of a mixture stands for besides itself

    @property
    def tables(self) -> FeasibleTables:  # type: ignore[override]
        """See Nature."""
        return self.game.tables

    @property
    def report(self) -> str:  # type: ignore[override]
        """See Nature."""
        return self.game.family.report.name

    def answer(self, table: Floats) -> Answer:
        """See Nature."""
        payoffs = self.game.payoffs(table)
        count = min(MOST_CUTS, len(payoffs))
        worst = np.argpartition(-payoffs, count - 1)[:count]
        worst = worst[np.argsort(-payoffs[worst], kind="stable")]
        return Answer(float(payoffs.max()), worst[:, None].astype(np.float64))

    def knows(self, labels: Floats) -> bool:
        """See Nature: whole numbers of structures that there are."""
        whole = (labels == np.rint(labels)) & (labels >= 0) & (labels < len(self.game.family))
        return labels.shape[1] == 1 and bool(whole.all())

    def cuts(self, labels: Floats) -> Cuts:
        """See Nature."""
        game, start, numbers = self.game, self.game.family.start, labels[:, 0].astype(np.int64)
        sizes = start[numbers + 1] - start[numbers]
        slot = np.arange(int(sizes.max()))[None]
        inside = slot < sizes[:, None]
        point = np.where(inside, start[numbers][:, None] + slot, 0)
        return Cuts(
            cell=np.where(inside, game.cell[point], 0).astype(np.int32),
            mass=np.where(inside[:, :, None], game.mass[point], 0.0),
            scale=game.scale[numbers],
            offset=game.offset[numbers],
        )

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """See Nature."""
        whole = np.zeros(len(self.game.family))
        np.add.at(whole, labels[:, 0].astype(np.int64), weights)
        return Mixture(self.structures, checks.frozen(whole), self.symmetries)
