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
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ..game.response import Responder
    from ..game.tables import Tables
    from .master_programme import Proposal

    Floats = NDArray[np.float64]

FIRST_RHO, LEAST_RHO, MOST_RHO = 1e-2, 1e-7, 1e2
SHRINK, GROW = 0.7, 4.0
DUAL_RHO = 1e-8
TYPICAL = 0.025
"""The payoffs that these were tuned for."""
IDLE = 8
"""Rounds after which a cut without weight is dropped."""


class Nature(Protocol):
    """Whoever answers a table with the worst structures. A structure has a label, from which its cut can be made."""

    @property
    def tables(self) -> Tables:
        """What the aggregator may say."""
        ...

    def first_table(self) -> Floats:
        """Where to start."""
        ...

    def first_labels(self) -> Floats:
        """Structures that are known to matter, or none."""
        ...

    def answer(self, table: Floats) -> tuple[float, Floats]:
        """The largest payoff against a table, and the labels (m, anything) of structures with large ones."""
        ...

    def cuts(self, labels: Floats) -> Any:
        """The structures with these labels as the master wants them."""
        ...

    def master(self) -> Callable[[Any, Floats, float], Proposal]:
        """The programme that proposes a table and a mixture of cuts, given the cuts, the centre and rho."""
        ...

    def least(self, cuts: Any, weights: Floats, responder: Responder) -> float:
        """The least expected payoff of any table against a mixture of the cuts."""
        ...


@dataclass(frozen=True, eq=False)
class BundleState:
    """All there is to know after a round; never changed."""

    round: int
    table: Floats  # to be answered next
    centre: Floats  # the best table, with the upper bound ``upper``
    upper: float
    lower: float
    lower_label: Floats  # the structures of the mixture that gives ``lower``
    lower_weights: Floats
    rho: float
    predicted: float  # what the master hoped the next table's upper bound to be
    label: Floats  # the structures of the bundle
    idle: NDArray[np.int64]  # for how many rounds each had no weight
    stumbles: int  # how often the cone solver failed at first


@dataclass(frozen=True)
class CuttingPlanes:
    """The settings: the gap at which the mixture needs no further polish."""

    tolerance: float = 1e-6

    def iterate(self, nature: Nature, responder: Responder, state: BundleState | None = None) -> Iterator[BundleState]:
        """Round after round, without end; from ``state`` on if it is given."""
        master = nature.master()
        state = _start(nature) if state is None else state
        while True:
            state = self.step(nature, responder, master, state)
            yield state

    def step(
        self,
        nature: Nature,
        responder: Responder,
        master: Callable[[Any, Floats, float], Proposal],
        state: BundleState,
    ) -> BundleState:
        """One round."""
        value, answers = nature.answer(state.table)
        label = _joined(state.label, answers)
        idle = np.concatenate((state.idle, np.zeros(len(label) - len(state.idle), dtype=np.int64)))
        centre, upper, rho = state.centre, state.upper, state.rho
        size = min(1.0, max(min(value, upper), 1e-12) / TYPICAL)  # small payoffs want a small proximal term
        if state.round == 0:
            rho *= size
        if value < upper:
            enough = value <= upper - 0.1 * max(upper - state.predicted, 0.0)
            rho = max(rho * (SHRINK if enough else 1.0), LEAST_RHO * size)
            centre, upper = state.table, value
        elif state.round:
            rho = min(rho * GROW, MOST_RHO * size)

        cuts = nature.cuts(label)
        proposal = master(cuts, centre, rho)
        mixtures = [(nature.least(cuts, proposal.weights, responder), proposal.weights)]
        used, stumbles = proposal.weights, state.stumbles + proposal.stumbled
        if upper - mixtures[0][0] > self.tolerance:
            dual = master(cuts, centre, DUAL_RHO * size)
            mixtures.append((nature.least(cuts, dual.weights, responder), dual.weights))
            used, stumbles = np.maximum(used, dual.weights), stumbles + dual.stumbled
        lower, weights = max(mixtures, key=lambda pair: pair[0])
        mixture, mixed = state.lower_label, state.lower_weights
        if lower > state.lower:
            heavy = weights > 1e-12 * weights.max()
            mixture, mixed = label[heavy], weights[heavy] / weights[heavy].sum()
        idle = np.where(used > 1e-7 * used.max(), 0, idle + 1)
        keep = idle <= IDLE
        return BundleState(
            round=state.round + 1,
            table=proposal.table,
            centre=centre,
            upper=upper,
            lower=max(lower, state.lower),
            lower_label=mixture,
            lower_weights=mixed,
            rho=rho,
            predicted=lower,
            label=label[keep],
            idle=idle[keep],
            stumbles=stumbles,
        )


def _joined(labels: Floats, more: Floats) -> Floats:
    """Both, each label once."""
    if len(labels) == 0:
        return more
    known = {row.tobytes() for row in labels}
    new = np.array([row.tobytes() not in known for row in more], dtype=bool)
    return np.concatenate((labels, more[new]))


def _start(nature: Nature) -> BundleState:
    table, label = nature.first_table(), nature.first_labels()
    return BundleState(
        round=0,
        table=table,
        centre=table,
        upper=math.inf,
        lower=-math.inf,
        lower_label=np.zeros((0, 0)),
        lower_weights=np.zeros(0),
        rho=FIRST_RHO,
        predicted=-math.inf,
        label=label,
        idle=np.zeros(len(label), dtype=np.int64),
        stumbles=0,
    )
