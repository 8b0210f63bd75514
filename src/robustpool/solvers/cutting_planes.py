"""Cutting planes with a proximal term: the game as a convex programme with very many constraints, of which few bind.

Each round: nature answers the table with the worst structures (all that she can name cheaply, not just one); they join the
bundle; the master programme proposes the next table near the best one so far, and a mixture of the bundle. Upper bound:
nature's exact answer to a table. Lower bound: the exact best response to a mixture. Nothing is taken from the cone
solver's word.

The proximal term keeps the table from jumping where no cut holds it yet, but blurs the mixture; so while the gap is open
the master is solved once more almost without it, for the mixture alone. A step that lowers the upper bound enough moves
the centre and loosens the term; another tightens it. Cuts that have not held anything up for some rounds are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..game.losses import ConvexLoss
from .convex_master import ConvexMaster
from .master_programme import Cuts, MasterProgramme, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ..game.response import Responder
    from ..game.tables import Tables

    Floats = NDArray[np.float64]

FIRST_RHO, LEAST_RHO, MOST_RHO = 1e-2, 1e-7, 1e2
SHRINK, GROW = 0.7, 4.0
DUAL_RHO = 1e-8
IDLE = 8
"""Rounds after which a cut without weight is dropped."""


class Nature(Protocol):
    """Whoever answers a table with the worst structures."""

    @property
    def tables(self) -> Tables:
        """What the aggregator may say."""
        ...

    def first_table(self) -> Floats:
        """Where to start."""
        ...

    def answer(self, table: Floats) -> tuple[float, Cuts]:
        """The largest payoff against a table, and structures with large ones, the worst among them."""
        ...


@dataclass(frozen=True, eq=False)
class BundleState:
    """All there is to know after a round; never changed."""

    round: int
    table: Floats  # to be answered next
    centre: Floats  # the best table, with the upper bound ``upper``
    upper: float
    lower: float
    lower_label: NDArray[np.float64]  # the mixture that gives ``lower``: what nature calls its structures,
    lower_cell: NDArray[np.int32]
    lower_mass: Floats
    lower_scale: Floats
    lower_offset: Floats
    lower_weights: Floats  # and how they are weighted
    rho: float
    predicted: float  # what the master hoped the next table's upper bound to be
    label: NDArray[np.float64]  # the bundle
    cell: NDArray[np.int32]
    mass: Floats
    scale: Floats
    offset: Floats
    idle: NDArray[np.int64]
    stumbles: int  # rounds in which the cone solver failed at first

    @property
    def bundle(self) -> Cuts:
        """The cuts of the bundle."""
        return Cuts(self.label, self.cell, self.mass, self.scale, self.offset)

    @property
    def mixture(self) -> Cuts:
        """The cuts of the best mixture."""
        return Cuts(self.lower_label, self.lower_cell, self.lower_mass, self.lower_scale, self.lower_offset)


@dataclass(frozen=True)
class CuttingPlanes:
    """The settings: the gap at which the mixture needs no further polish."""

    tolerance: float = 1e-6

    def iterate(self, nature: Nature, responder: Responder, state: BundleState | None = None) -> Iterator[BundleState]:
        """Round after round, without end; from ``state`` on if it is given."""
        own = isinstance(nature.tables.loss, ConvexLoss) or bool(nature.tables.layout.constraints)
        master = ConvexMaster(nature.tables) if own else MasterProgramme(nature.tables)
        state = _start(nature) if state is None else state
        while True:
            state = self.step(nature, responder, master, state)
            yield state

    def step(
        self, nature: Nature, responder: Responder, master: MasterProgramme | ConvexMaster, state: BundleState
    ) -> BundleState:
        """One round."""
        value, answers = nature.answer(state.table)
        bundle = joined(state.bundle, answers)
        idle = np.concatenate((state.idle, np.zeros(len(bundle) - len(state.idle), dtype=np.int64)))
        centre, upper, rho = state.centre, state.upper, state.rho
        if value < upper:
            enough = value <= upper - 0.1 * max(upper - state.predicted, 0.0)
            rho = max(rho * (SHRINK if enough else 1.0), LEAST_RHO)
            centre, upper = state.table, value
        elif state.round:
            rho = min(rho * GROW, MOST_RHO)

        proposal = master(bundle, centre, rho)
        candidates = [proposal.weights]
        used = proposal.weights
        stumbles = state.stumbles + proposal.stumbled
        if upper - _lower(responder, bundle, proposal.weights) > self.tolerance:
            dual = master(bundle, centre, DUAL_RHO)
            candidates.append(dual.weights)
            used = np.maximum(used, dual.weights)
            stumbles += dual.stumbled
        lower, weights = max(((_lower(responder, bundle, w), w) for w in candidates), key=lambda pair: pair[0])
        mixture, mixed = state.mixture, state.lower_weights
        if lower > state.lower:
            heavy = weights > 1e-12 * weights.max()
            mixture, mixed = bundle.taken(heavy), weights[heavy] / weights[heavy].sum()
        idle = np.where(used > 1e-7 * used.max(), 0, idle + 1)
        keep = idle <= IDLE
        kept = bundle.taken(keep)
        return BundleState(
            round=state.round + 1,
            table=proposal.table,
            centre=centre,
            upper=upper,
            lower=max(lower, state.lower),
            lower_label=mixture.label,
            lower_cell=mixture.cell,
            lower_mass=mixture.mass,
            lower_scale=mixture.scale,
            lower_offset=mixture.offset,
            lower_weights=mixed,
            rho=rho,
            predicted=lower,
            label=kept.label,
            cell=kept.cell,
            mass=kept.mass,
            scale=kept.scale,
            offset=kept.offset,
            idle=idle[keep],
            stumbles=stumbles,
        )


def _lower(responder: Responder, cuts: Cuts, weights: Floats) -> float:
    """The least expected payoff of any table against a mixture of the cuts."""
    masses = cuts.masses(weights, responder.tables.cells)
    return float(responder(masses).least - weights @ cuts.offset)


def _start(nature: Nature) -> BundleState:
    table = nature.first_table()
    states = nature.tables.states
    none = Cuts(np.zeros((0, 0)), np.zeros((0, 1), np.int32), np.zeros((0, 1, states)), np.zeros(0), np.zeros(0))
    return BundleState(
        round=0,
        table=table,
        centre=table,
        upper=math.inf,
        lower=-math.inf,
        lower_label=none.label,
        lower_cell=none.cell,
        lower_mass=none.mass,
        lower_scale=none.scale,
        lower_offset=none.offset,
        lower_weights=np.zeros(0),
        rho=FIRST_RHO,
        predicted=-math.inf,
        label=none.label,
        cell=none.cell,
        mass=none.mass,
        scale=none.scale,
        offset=none.offset,
        idle=np.zeros(0, dtype=np.int64),
        stumbles=0,
    )
