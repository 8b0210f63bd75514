"""The game as the front door sees it: a family, nature in the form that a solver wants, the aggregator's best response.

Two conditionally independent agents have an exact nature that needs no list of structures; every other family is written
out. Where symmetry allows, only one of the structures that it makes equal is kept: the square and the log loss and the
Lipschitz and monotone tables are symmetric in agents and states, so some optimal table is as well [Guo2024, lem:symmetry].
What users state need not be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.grid import GridAggregator
from ..aggregators.restrictions import Constrained, Mirrored, Restriction, Symmetric
from ..errors import UnsupportedError
from ..game.best_response import best_responder
from ..game.finite_game import FiniteGame, finite_game
from ..game.losses import ConvexLoss, Loss, Square
from ..game.worst_case import worst_case
from ..structures.conditionally_independent import ConditionallyIndependent, EnumeratedFamily, NamedStructures
from ..structures.finite import FiniteFamily
from .continuous_nature import ContinuousNature
from .multigrid import with_head_start
from .natures import FiniteNature, IndependentNature, suits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..aggregators.table import TableAggregator
    from ..game.response import Responder
    from ..game.tables import Tables

    Floats = NDArray[np.float64]

LIGHT = 1e-6
"""Structures with less than this share of the largest weight are left out of the mixture that is returned."""

Structures = FiniteFamily | EnumeratedFamily | NamedStructures


@dataclass(frozen=True, eq=False)
class Contest:
    """Both players: ``nature`` answers tables, ``responder`` answers mixtures."""

    family: FiniteFamily | ConditionallyIndependent
    nature: FiniteNature | IndependentNature | ContinuousNature
    responder: Responder
    structures: FiniteFamily | EnumeratedFamily | None = None  # where they are written out
    symmetries: tuple[str, ...] = ()  # what a structure of a mixture stands for besides itself

    @property
    def tables(self) -> Tables:
        """What the aggregator may say."""
        return self.nature.tables

    @property
    def finite(self) -> FiniteGame:
        """The game on structures that are written out."""
        assert isinstance(self.nature, FiniteNature)
        return self.nature.game

    @property
    def report(self) -> str:
        """What the agents say."""
        return self.finite.family.report.name if isinstance(self.nature, FiniteNature) else "posterior"

    def aggregator(self, table: Floats) -> TableAggregator | GridAggregator:
        """The aggregator of a table."""
        if not isinstance(self.nature, FiniteNature):
            return GridAggregator(self.nature.forecasts(table))
        written = self.finite.aggregator(table)
        if isinstance(self.family, ConditionallyIndependent):
            return GridAggregator(written.forecasts.reshape((len(self.family.report_grid),) * self.family.agents))
        return written

    def worst_payoff(self, table: Floats, labels: Floats | None = None) -> float:
        """The largest payoff of any structure against a table; on the continuum the largest that searches find."""
        if isinstance(self.nature, ContinuousNature):
            free = ConditionallyIndependent(2, None, None, self.nature.family.prior_range)
            found = [worst_case(self.aggregator(table), free, rng=seed).regret for seed in (1, 2, 3)]
            known = self.nature.payoffs(labels, table).max() if labels is not None and len(labels) else 0.0
            return float(max(self.nature.answer(table)[0], known, *found))
        if isinstance(self.nature, IndependentNature):
            return self.nature.answer(table)[0]
        return float(self.finite.payoffs(table).max())

    def of_labels(self, labels: Floats, weights: Floats) -> tuple[Structures, Floats, float]:
        """The structures with these labels, their weights, and the least payoff of any table against the mixture."""
        if not isinstance(self.nature, FiniteNature):
            nature: Any = self.nature
            lower = nature.least(nature.cuts(labels), weights, self.responder)
            return NamedStructures(labels[:, 0], labels[:, 1:].reshape(-1, 2, 2)), weights, lower
        whole = np.zeros(len(self.finite.family))
        np.add.at(whole, labels[:, 0].astype(np.int64), weights)
        assert self.structures is not None
        return self.structures, whole, self._least(whole)

    def of_weights(self, weights: Floats, upper: float, tolerance: float) -> tuple[Structures, Floats, float]:
        """The same for weights of all structures; those that hardly weigh are left out if that hardly costs anything."""
        assert self.structures is not None
        whole = weights / math.fsum(weights)
        lower = self._least(whole)
        heavy = np.where(whole >= LIGHT * whole.max(), whole, 0.0)
        heavy /= math.fsum(heavy)
        trimmed = self._least(heavy)
        most = tolerance if upper - lower <= tolerance else (upper - lower) * 1.001
        return (self.structures, heavy, trimmed) if upper - trimmed <= most else (self.structures, whole, lower)

    def _least(self, weights: Floats) -> float:
        return float(self.responder(self.finite.masses(weights)).least - weights @ self.finite.offset)


def contest(
    family: FiniteFamily | ConditionallyIndependent,
    loss: Loss,
    paradigm: str,
    limits: Sequence[Restriction],
    *,
    exact: bool,
    continuous: bool = False,
) -> Contest:
    """The game; ``exact`` lets nature of two independent agents answer without a list of structures.

    ``continuous`` lets her choose any reports and priors, against the interpolated table.
    """
    own = isinstance(loss, ConvexLoss) or any(isinstance(limit, Constrained) for limit in limits)
    if continuous:
        _check_continuous(family, loss, paradigm, own=own, exact=exact)
        assert isinstance(family, ConditionallyIndependent)
        free = ContinuousNature(with_head_start(family, loss, paradigm, limits))
        return Contest(family, free, best_responder(free.tables), symmetries=_symmetries(family))
    if isinstance(family, FiniteFamily):
        game = finite_game(family, loss, paradigm, limits)
        return Contest(family, FiniteNature(game), best_responder(game.tables), family)
    if exact and not own and suits(family, loss, paradigm):
        nature = with_head_start(family, loss, paradigm, limits)
        return Contest(family, nature, best_responder(nature.tables), symmetries=_symmetries(family))
    bound = any(not isinstance(limit, Symmetric | Mirrored) for limit in limits)
    pruned = not own and not (bound and family.agents != 2)
    symmetries: list[Restriction] = [Symmetric()] if pruned else []
    if pruned and family.mirrored:
        symmetries.append(Mirrored())
    enumerated = family.enumerate(pruned=pruned)
    game = finite_game(enumerated.flat, loss, paradigm, [*limits, *symmetries])
    kept = _symmetries(family) if pruned else ()
    return Contest(family, FiniteNature(game), best_responder(game.tables), enumerated, kept)


def _symmetries(family: ConditionallyIndependent) -> tuple[str, ...]:
    return ("agents", "states") if family.mirrored else ("agents",)


def _check_continuous(family: object, loss: Loss, paradigm: str, *, own: bool, exact: bool) -> None:
    """Nature on the continuum is for two independent agents, the square loss, additive regret and cutting planes."""
    fits = isinstance(family, ConditionallyIndependent) and family.agents == 2 and family.reports is not None
    if not fits or own or not isinstance(loss, Square) or paradigm != "additive" or not exact:
        raise UnsupportedError(
            "continuous nature is for two conditionally independent agents with a number of reports (the knots of the table), "
            "the square loss, additive regret, cutting planes and no constraints of your own."
        )
