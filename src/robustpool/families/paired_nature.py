"""Nature of agents who are independent given a hidden state, each with two signals and reports on a grid.

A *circumstance* is all but the signals: Pr[y, omega] of the hidden state y and the event, and the pairs of reports that an
agent can have, with Pr[report | y]. A structure is a circumstance and a pair for each agent, and nature goes through
all of them. Against a table f, the losses of all structures of one circumstance are a product of small matrices,

    loss[i, j] = sum_y (D_y K_y D_y')[i, j],   D_y[i, x] = Pr[x | y] of pair i,   K_y[x] = sum_omega Pr[y, omega] l(f(x), omega)

for two agents; for more the same is done along every axis. The omniscient aggregator sees the signals, not y.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import checks
from ..aggregators.grid import GridAggregator
from ..aggregators.multisets import grid_ranks, multisets, ranks
from ..aggregators.restrictions import Constrained, Mirrored
from ..aggregators.rules import get_rule
from ..errors import UnsupportedError
from ..execution import mapped
from ..game.feasible import symmetric_tables
from ..structures.binary_structure import independent_profiles
from .nature import NO_CONTINUUM, Answer, LabelledStructures, Mixture, Nature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..aggregators.restrictions import Restriction
    from ..game.feasible import FeasibleTables
    from ..losses.loss import Loss
    from ..typing import Floats, Integers

MOST_CUTS = 256

HUGE = 1e12
"""Stands for an infinite loss, so that it costs nothing where it never comes."""


class Circumstance(NamedTuple):
    """Everything about a structure but who has which pair of reports."""

    parameters: tuple[float, ...]  # what tells it from others, for its name
    hidden: Floats  # (hidden states, 2): Pr[y, omega]
    pairs: Integers  # (pairs, 2): low and high, by their place in the grid
    chances: Floats  # (pairs, 2, hidden states): Pr[low | y] and Pr[high | y]


@dataclass(frozen=True, eq=False)
class PairedNature(Nature):
    """All structures of some circumstances; a label is the number of the circumstance, then that of each agent's pair."""

    circumstances: Sequence[Circumstance]
    size: int  # of the grid of reports
    agents: int
    parameters: tuple[str, ...]  # what a circumstance's numbers are called
    tables: FeasibleTables
    paradigm: str = "additive"
    exchanged: tuple[str, ...] = ("agents",)  # what the tables treat alike

    def answer(self, table: Floats) -> Answer:
        """See Nature: the worst structure of each circumstance, and the worst of all."""
        losses = np.minimum(self.tables.loss.table(self.tables.layout.spread(table)), HUGE)
        grid = losses[grid_ranks(self.size, self.agents)]
        best = list(mapped(_worst, range(len(self.circumstances)), (self, grid), seconds=self.seconds))
        values = np.concatenate([value for value, _ in best])
        labels = np.concatenate([label for _, label in best])
        order = np.argsort(-values, kind="stable")[:MOST_CUTS]
        return Answer(float(values[order[0]]), labels[order])

    @cached_property
    def seconds(self) -> float:
        """How long an answer takes, roughly: for each structure some operations, and for each circumstance many calls."""
        structures = sum(float(len(each.pairs)) ** self.agents for each in self.circumstances)
        return 2e-8 * structures + 2e-4 * len(self.circumstances)

    def knows(self, labels: Floats) -> bool:
        """See Nature: whole numbers of circumstances and of pairs that there are."""
        if labels.shape[1] != 1 + self.agents or not ((labels == np.rint(labels)) & (labels >= 0)).all():
            return False
        if not (labels[:, 0] < len(self.circumstances)).all():
            return False
        pairs = np.array([len(self.circumstances[number].pairs) for number in labels[:, 0].astype(np.int64)])
        return bool((labels[:, 1:] < pairs[:, None]).all())

    def support(self, labels: Floats) -> tuple[Integers, Floats]:
        """See Nature."""
        numbers = labels.astype(np.int64)
        parts = [self._support(self.circumstances[row[0]], row[None, 1:]) for row in numbers]
        profiles, masses = zip(*parts, strict=True)
        return np.concatenate(profiles), np.concatenate(masses)

    def _support(self, circumstance: Circumstance, choices: Integers) -> tuple[Integers, Floats]:
        """The profiles and Pr[s, omega] of structures with the pairs ``choices`` (m, agents)."""
        profile = ranks(independent_profiles(circumstance.pairs[choices]))
        chances = circumstance.chances[choices]  # (m, agents, 2, hidden)
        joint = np.ones((len(choices), 1, chances.shape[-1]))
        for agent in range(self.agents):
            joint = (joint[:, :, None] * chances[:, agent][:, None]).reshape(len(choices), -1, chances.shape[-1])
        return profile, joint @ circumstance.hidden

    def choices(self, circumstance: Circumstance) -> Integers:
        """Which pairs the agents may have, shape (structures, agents)."""
        return multisets(len(circumstance.pairs), self.agents)

    @cached_property
    def offsets(self) -> dict[int, Floats]:
        """What the omniscient aggregator pays, by the number of the circumstance; filled in as it is needed."""
        return {}

    def offset(self, number: int) -> Floats:
        """What she pays on the structures of a circumstance."""
        if number not in self.offsets:
            circumstance = self.circumstances[number]
            choices = self.choices(circumstance)
            pays = np.zeros(len(choices))
            if self.paradigm == "additive":
                _, mass = self._support(circumstance, choices)
                pays = self.tables.loss.bayes_risk(mass.reshape(-1, 2)).reshape(len(choices), -1).sum(axis=1)
            self.offsets[number] = pays
        return self.offsets[number]

    def aggregator(self, table: Floats) -> GridAggregator:
        """See Nature."""
        return GridAggregator(self.tables.layout.spread(table)[:, 1][grid_ranks(self.size, self.agents)])

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """See Nature."""
        return Mixture(LabelledStructures(labels, self.words), checks.frozen(weights), self.exchanged)

    def words(self, label: Floats) -> str:
        """What to call a structure in a sentence."""
        circumstance, *choice = label.astype(np.int64)
        numbers = self.circumstances[circumstance]
        about = [f"{name} {value:g}" for name, value in zip(self.parameters, numbers.parameters, strict=True)]
        pairs = numbers.pairs[choice] / (self.size - 1)
        return ", ".join(about) + ", reports " + ", ".join(f"{low:g} or {high:g}" for low, high in pairs)


def _worst(common: tuple[PairedNature, Floats], number: int) -> tuple[Floats, Floats]:
    """The largest payoff of a circumstance, and the label of the structure that has it."""
    nature, losses = common
    circumstance = nature.circumstances[number]
    choices, pays = nature.choices(circumstance), 0.0
    for y, row in enumerate(circumstance.hidden):
        chance = np.zeros((len(circumstance.pairs), nature.size))
        for report in (0, 1):
            np.add.at(
                chance,
                (np.arange(len(chance)), circumstance.pairs[:, report]),
                circumstance.chances[:, report, y],
            )
        expected = losses @ row
        for _ in range(nature.agents):  # the first axis becomes that of the pairs, and moves to the end
            expected = np.tensordot(expected, chance, axes=(0, 1))
        pays = pays + expected[tuple(choices.T)]
    payoffs = pays - nature.offset(number)
    best = int(np.argmax(payoffs))
    return payoffs[[best]], np.concatenate(([number], choices[best])).astype(float)[None]


def paired_nature(
    circumstances: Sequence[Circumstance],
    *,
    agents: int,
    reports: int,
    loss: Loss,
    paradigm: str,
    restrictions: Sequence[Restriction],
    kind: str,
    parameters: tuple[str, ...],
    mirrored: bool = False,
) -> PairedNature:
    """Nature with these circumstances, reports in multiples of 1/``reports`` and a table that treats the agents alike.

    ``mirrored`` says that the family is the same with the states exchanged; then so is the table.
    """
    if kind != "grid":
        raise UnsupportedError(NO_CONTINUUM)
    if paradigm == "ratio" or any(isinstance(limit, Constrained) for limit in restrictions):
        raise UnsupportedError(
            "a world of pairs of reports is solved for additive or absolute, without constraints of your own."
        )
    most = max(len(circumstance.pairs) for circumstance in circumstances)
    checks.fits_in_memory(f"structures of {agents} agents with {most} pairs of reports", 24.0 * float(most) ** agents)
    folded = [Mirrored()] if mirrored and not restrictions else []
    rule = get_rule("geometric-odds")
    tables = symmetric_tables(np.arange(reports + 1) / reports, agents, loss, [*restrictions, *folded], rule)
    exchanged = ("agents", "states") if folded else ("agents",)
    return PairedNature(circumstances, reports + 1, agents, parameters, tables, paradigm, exchanged)
