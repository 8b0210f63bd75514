"""Cutting planes with a proximal term: the game as a convex programme with very many constraints, of which few bind.

Each round: nature answers the table with the worst structures (all that she can name cheaply, not just one); they join the
bundle; the master programme proposes the next table near the best one so far, and a mixture of the bundle. Upper bound:
nature's exact answer to a table. Lower bound: the exact best response to a mixture. Nothing is taken from the cone
solver's word.

The proximal term keeps the table from jumping where no cut holds it yet, but blurs the mixture; so while the gap is open
the master is solved once more almost without it, for the mixture alone. A step that lowers the upper bound enough moves
the centre and loosens the term; another tightens it, unless the bundle had its worst structure already: then the step was
too short for the cone solver's precision. Cuts that have not held anything up for some rounds are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..checkpoints import check
from ..errors import InputError
from ..families.nature import unseen
from ..numerics import ROUNDING
from .saved_state import is_mixture
from .solver import Outcome, Solver, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..aggregators.restrictions import Restriction
    from ..families.nature import Family, Nature
    from ..game.master_programme import Proposal
    from ..losses.loss import Loss
    from ..typing import Floats, Integers

FIRST_RHO, LEAST_RHO, MOST_RHO = 1e-2, 1e-7, 1e2
SHRINK, GROW = 0.7, 4.0
DUAL_RHO = 1e-8
TYPICAL = 0.025
"""The payoffs that these were tuned for."""
LIGHT, IDLE = 1e-7, 8
"""A cut that has had less than this share of the largest weight for more rounds than that is dropped."""
MANY, LIGHT_OF_MANY, IDLE_OF_MANY = 1500, 1e-5, 3
"""The same after a step that lowered the bound enough, if there are more cuts than this: they take nearly all of the time."""
COARSE_GAP, COARSE_ROUNDS = 1e-5, 20
"""When the coarser game that a fine one starts from is solved well enough."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BundleState(State):
    """The best table and the bundle after a round."""

    table: Floats  # to be answered next
    centre: Floats  # the best table, with the upper bound ``upper``
    label: Floats  # the structures of the bundle
    idle: Integers  # for how many rounds each had no weight
    lower_label: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # of the mixture that gives ``lower``
    lower_weights: Floats = field(default_factory=lambda: np.zeros(0))
    rho: float = FIRST_RHO
    predicted: float = -math.inf  # what the master hoped the next table's upper bound to be


@dataclass(frozen=True)
class CuttingPlanes(Solver):
    """The settings: the gap to reach, the round limit, and which of the best tables to return.

    ``canonical`` chooses, among the tables within the tolerance of the best, the smoothest (``"smooth"``) or the one
    nearest to a rule (its name), for independent agents on a grid.
    """

    tolerance: float = 1e-6
    rounds: int = 200
    canonical: str | None = None

    method: ClassVar[str] = "cutting-planes"

    def nature(
        self, family: Family, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str
    ) -> Nature:
        """See Solver."""
        nature = super().nature(family, loss, paradigm, restrictions, kind)
        if self.canonical is not None:
            if kind != "grid" or not isinstance(self.canonical, str):
                raise InputError(
                    "canonical is the name of a rule, or smooth; it requires cutting planes and nature on the grid."
                )
            nature.check_canonical(self.canonical)
        return nature

    def first(self, nature: Nature) -> BundleState:
        """See Solver."""
        table, label = nature.first_table(), nature.first_labels()
        return BundleState(table=table, centre=table, label=label, idle=np.zeros(len(label), dtype=np.int64))

    def check_saved(self, nature: Nature, state: BundleState) -> None:
        """See Solver: the aggregator may say the tables, nature knows the structures, and the bounds are theirs."""
        for table in (state.table, state.centre):
            check("a table", nature.tables.allows(table))
        for labels in (state.label, state.lower_label):
            check("a structure", len(labels) > 0 and nature.knows(labels))
        check("idle", len(state.idle) == len(state.label) > 0 and bool((state.idle >= 0).all()))
        check("the mixture", len(state.lower_label) == len(state.lower_weights) > 0 and is_mixture(state.lower_weights))
        check("rho", state.rho > 0)
        least = nature.least(nature.cuts(state.lower_label), state.lower_weights)
        check("the lower bound", math.isfinite(least) and state.lower <= least + ROUNDING)
        if nature.exact:  # a search may find more today than it did then
            check("the upper bound", state.upper >= nature.answer(state.centre).value - ROUNDING)

    def iterate(self, nature: Nature, state: BundleState | None = None) -> Iterator[BundleState]:
        """Round after round, without end; from ``state`` on if it is given."""
        master = nature.master()
        state = self.first(nature) if state is None else state
        while True:
            state = self.step(nature, master, state)
            yield state

    def outcome(self, nature: Nature, state: BundleState) -> Outcome:
        """See Solver."""
        lower = nature.least(nature.cuts(state.lower_label), state.lower_weights)
        mixture = nature.mixture(state.lower_label, state.lower_weights)
        return Outcome(state.centre, state.label, mixture, lower)

    def step(self, nature: Nature, master: Callable[[Any, Floats, float], Proposal], state: BundleState) -> BundleState:
        """One round."""
        value, answers = nature.answer(state.table)
        if nature.few is not None:  # most games in a list are decided by few structures: keep the master small
            answers = answers[: nature.few << min(state.round, 30)]
        label = np.concatenate((state.label, unseen(state.label, answers))) if len(state.label) else answers
        idle = np.concatenate((state.idle, np.zeros(len(label) - len(state.idle), dtype=np.int64)))
        centre, upper, rho = state.centre, state.upper, state.rho
        size = min(1.0, max(min(value, upper), 1e-12) / TYPICAL)  # small payoffs want a small proximal term
        if state.round == 0:
            rho *= size
        enough = value <= upper - 0.1 * max(upper - state.predicted, 0.0)
        expected = len(state.label) > 0 and len(unseen(state.label, answers[:1])) == 0
        serious = value < upper and enough
        if serious:
            rho = max(rho * SHRINK, LEAST_RHO * size)
        elif expected:  # the bundle had the worst structure already: the step was too short, or lost in rounding
            rho = max(rho / GROW, LEAST_RHO * size)
        elif value >= upper and state.round:
            rho = min(rho * GROW, MOST_RHO * size)
        if value < upper:
            centre, upper = state.table, value

        cuts = nature.cuts(label)

        def bounded(proposal: Proposal) -> tuple[float, Floats]:
            # A lower bound that leaves the gap open needs no best response.
            known = math.isfinite(proposal.least) and upper - proposal.least > self.tolerance
            return proposal.least if known else nature.least(cuts, proposal.weights), proposal.weights

        proposal = master(cuts, centre, rho)
        mixtures = [bounded(proposal)]
        used = proposal.weights
        if upper - mixtures[0][0] > self.tolerance / 2:
            dual = master(cuts, centre, DUAL_RHO * size)
            mixtures.append(bounded(dual))
            used = np.maximum(used, dual.weights)
        lower, weights = max(mixtures, key=lambda pair: pair[0])
        mixture, mixed = state.lower_label, state.lower_weights
        if lower > state.lower:
            heavy = weights > 1e-12 * weights.max()
            mixture, mixed = label[heavy], weights[heavy] / weights[heavy].sum()
        many = serious and len(label) > MANY
        light, most = (LIGHT_OF_MANY, IDLE_OF_MANY) if many else (LIGHT, IDLE)
        idle = np.where(used > light * used.max(), 0, idle + 1)
        keep = idle <= most
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
        )


def with_head_start(nature: Nature) -> Nature:
    """Nature with the structures of a coarser game to start from, if there is one, which is solved roughly.

    And with its table, unless all that is hardly better than the rule that the coarser game began with: then the finer game
    begins with that rule as well.
    """
    own = nature.coarser()
    if own is None:
        return nature
    coarse, rule = with_head_start(own), math.inf
    for state in CuttingPlanes(2 * COARSE_GAP).iterate(coarse):
        rule = min(rule, state.upper) if coarse.tables is own.tables and state.round == 1 else rule
        if state.upper - state.lower <= COARSE_GAP or state.round >= COARSE_ROUNDS:
            break
    better = rule - state.upper > COARSE_GAP
    return nature.started(coarse.aggregator(state.centre) if better else None, state.label)
