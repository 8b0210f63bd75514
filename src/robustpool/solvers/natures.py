"""Who answers a table with cuts: nature on a finite family, and nature with two conditionally independent agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.restrictions import Mirrored, Restriction, Symmetric, lay_out
from ..aggregators.rules import get_rule
from ..game.losses import ConvexLoss, Log, Square
from ..game.nature import NatureResponse, best_response, best_response_any_prior, every_pair
from ..game.tables import Tables
from ..structures.binary_structure import independent_masses
from ..structures.report_formats import Posterior
from .convex_master import ConvexMaster
from .master_programme import Cuts, MasterProgramme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..aggregators.restrictions import TableLayout
    from ..game.finite_game import FiniteGame
    from ..game.losses import Loss
    from ..game.response import Responder
    from ..structures.conditionally_independent import ConditionallyIndependent

    Floats = NDArray[np.float64]

MOST_CUTS = 300
NARROW = 0.25
"""A range of priors narrower than this."""

FEW_PRIORS = 100
"""With fewer priors than this, one structure a prior would be too few cuts a round."""

PARTS = 2.0**40  # of 1, in which forecasts on a grid are counted


class _OnCells:
    """What natures have in common whose structures live on the cells of the table."""

    tables: Tables

    def first_table(self) -> Floats:
        """The default, where nothing forbids it; else a table near it."""
        return self.tables.feasible(self.tables.default)

    def first_labels(self) -> Floats:
        """See Nature."""
        return np.zeros((0, 0))

    def master(self) -> MasterProgramme | ConvexMaster:
        """See Nature."""
        own = isinstance(self.tables.loss, ConvexLoss) or bool(self.tables.layout.constraints)
        return ConvexMaster(self.tables) if own else MasterProgramme(self.tables)

    def least(self, cuts: Cuts, weights: Floats, responder: Responder) -> float:
        """See Nature."""
        return float(responder(cuts.masses(weights, self.tables.cells)).least - weights @ cuts.offset)


@dataclass(frozen=True, eq=False)
class FiniteNature(_OnCells):
    """A finite family: one pass finds the payoff of every structure; the largest become cuts."""

    game: FiniteGame

    @property
    def tables(self) -> Tables:  # type: ignore[override]
        """See Nature."""
        return self.game.tables

    def answer(self, table: Floats) -> tuple[float, Floats]:
        """See Nature; the label is the structure's number."""
        payoffs = self.game.payoffs(table)
        count = min(MOST_CUTS, len(payoffs))
        worst = np.argpartition(-payoffs, count - 1)[:count]
        worst = worst[np.argsort(-payoffs[worst], kind="stable")]
        return float(payoffs.max()), worst[:, None].astype(np.float64)

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


@dataclass(frozen=True, eq=False)
class IndependentNature(_OnCells):
    """Two conditionally independent agents with reports on a grid: the exact worst structure of every prior.

    The tables are symmetric in the agents, and in the states if the range of priors is.
    """

    family: ConditionallyIndependent
    tables: Tables
    paradigm: str
    labels: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # structures that a coarser grid found to matter

    def first_labels(self) -> Floats:
        """See Nature."""
        return self.labels

    def on_cells(self, aggregator: Callable[[Floats], Floats]) -> Floats:
        """The table of an aggregator: what it says at each cell's first profile that is not flipped."""
        return _on_cells(self.tables.layout, aggregator)

    def forecasts(self, table: Floats) -> Floats:
        """A table as forecasts of the second state on the grid of reports, shape (N + 1, N + 1).

        Forecasts are multiples of 2^-40, so that the mirror image of each, 1 - f, is exact: certificates use it.
        """
        layout = self.tables.layout
        second = np.round(table[:, 1] * PARTS) / PARTS
        shown = np.where(layout.flipped, 1 - second[layout.cell], second[layout.cell])
        size = len(self.family.report_grid)
        return shown.reshape(size, size)

    def response(self, table: Floats) -> NatureResponse:
        """The worst structure of every prior strictly between 0 and 1, or of the lower half where the mirror allows."""
        family, loss = self.family, self.tables.loss.name
        x, f = family.report_grid, self.forecasts(table)
        half = 0.5 if self._mirrored else 1.0
        if family.priors is None:
            low, high = family.prior_range
            options: dict[str, Any] = {"loss": loss, "paradigm": self.paradigm}
            worst = best_response_any_prior(x, f, prior_range=(low, min(high, half)), **options)
            if high - low >= NARROW:
                return worst
            best = np.argsort(-worst.values, kind="stable")[:8]  # a narrow range: more cuts for each of the best priors
            return worst.joined(every_pair(x, f, np.unique(worst.priors[best]), **options))
        priors = family.prior_grid
        inner = priors[(priors > 0) & (priors < 1) & (priors <= half)]
        respond = best_response if len(inner) >= FEW_PRIORS else every_pair
        return respond(x, f, inner, loss=loss, paradigm=self.paradigm)

    def answer(self, table: Floats) -> tuple[float, Floats]:
        """See Nature; the label is prior, low, high, low, high.

        Where the prior may be 0 or 1, so that all is certain, that structure is a cut as well.
        """
        response = self.response(table)
        best = np.argsort(-response.values, kind="stable")[:MOST_CUTS]
        priors, reports = response.priors[best], response.x[response.found[best]].reshape(-1, 2, 2)
        values = [response.value] if len(best) else []
        corners = [corner for corner in (0.0, 1.0) if self._certain(corner)]
        priors = np.concatenate((priors, corners))
        reports = np.concatenate((reports, [[[corner] * 2] * 2 for corner in corners] or np.zeros((0, 2, 2))))
        values += [self._at_corner(table, corner) for corner in corners]
        return max(values), np.concatenate((priors[:, None], reports.reshape(-1, 4)), axis=1)

    def cuts(self, labels: Floats) -> Cuts:
        """See Nature."""
        priors, reports = labels[:, 0], labels[:, 1:].reshape(-1, 2, 2)
        layout, size = self.tables.layout, len(self.family.report_grid)
        index = np.rint(reports * (size - 1)).astype(np.int64)
        profile = (index[:, 0, :, None] * size + index[:, 1, None, :]).reshape(-1, 4)
        mass = independent_masses(priors, reports)
        offset = self.tables.loss.bayes_risk(mass.reshape(-1, 2)).reshape(-1, 4).sum(axis=1)
        cell = layout.cell[profile]
        folded = np.where(layout.flipped[profile][:, :, None], mass[:, :, ::-1], mass)
        folded = np.where(layout.balanced[cell][:, :, None], mass.mean(axis=2, keepdims=True), folded)
        offset = offset if self.paradigm == "additive" else np.zeros(len(priors))
        return Cuts(cell.astype(np.int32), folded, np.ones(len(priors)), offset)

    @property
    def _mirrored(self) -> bool:
        return self.family.mirrored

    def _certain(self, corner: float) -> bool:
        low, high = self.family.prior_range
        return low <= corner <= high and not (corner == 1.0 and self._mirrored)

    def _at_corner(self, table: Floats, corner: float) -> float:
        """The loss of a table where everybody reports 0, or 1, and is right."""
        forecast = self.forecasts(table)[(int(corner) * self.family.report_grid.size - int(corner),) * 2]
        return float(self.tables.loss.table(np.array([[1.0 - forecast, forecast]]))[0, int(corner)])


def independent_nature(
    family: ConditionallyIndependent, loss: Loss, paradigm: str, limits: Sequence[Restriction]
) -> IndependentNature:
    """Nature for two conditionally independent agents, additive or absolute, under the square or the log loss."""
    x = family.report_grid
    reports = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2, 1)
    symmetries: list[Restriction] = [Symmetric(), Mirrored()] if family.mirrored else [Symmetric()]
    layout = lay_out(reports, Posterior(), 2, [*limits, *symmetries])
    pins = np.where(layout.balanced[:, None], np.full((layout.cells, 2), 0.5), 0.0)
    default = _on_cells(layout, get_rule("geometric-odds"))
    return IndependentNature(family, Tables(loss, layout, layout.balanced, pins, default), paradigm)


def _on_cells(layout: TableLayout, aggregator: Callable[[Floats], Floats]) -> Floats:
    first = np.zeros(layout.cells, dtype=np.int64)
    profile = np.flatnonzero(~layout.flipped)[::-1]
    first[layout.cell[profile]] = profile
    second = aggregator(layout.reports[first, :, 0])
    return np.where(layout.balanced[:, None], 0.5, np.stack((1.0 - second, second), axis=1))


def suits(family: Any, loss: Loss, paradigm: str) -> bool:
    """Whether the exact answer of two independent agents applies; else the structures are written out."""
    return family.agents == 2 and isinstance(loss, (Square, Log)) and paradigm in ("additive", "absolute")
