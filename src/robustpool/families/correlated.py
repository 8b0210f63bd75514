"""Arbitrary correlation: every joint law of reports and state in which each agent alone is calibrated.

The omniscient sees all signals, and these may decide the state although the reports do not: give agent 1 a fair coin b_1 and
agent 2 the bit b_2 = b_1 xor omega. Neither bit says anything beside her report, both together say all. So the regret of a
rule is its whole loss, which is linear in the law P, and its worst case on a grid of reports is a linear programme:

    maximise  sum_x sum_omega P(x, omega) l(f(x), omega)   subject to   sum over x with x_i = r of P(x, omega) (omega - r) = 0

for each agent i and report r, and sum P = 1. With multipliers alpha_i(r), for every calibrated law,

    E l = E[l(f(x), omega) - sum_i alpha_i(x_i) (omega - x_i)] <= max over x, omega of what is in brackets,

which is recomputed here and does not rest on the solver. No rule is below 1/4 under the square loss: all agents say 1/2, and
together they know the state. The constant 1/2 attains it. (docs/worlds/arbitrary-correlation)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..aggregators.grid import GridAggregator
from ..aggregators.multisets import grid_ranks, multisets
from ..aggregators.restrictions import Constrained, Mirrored, Symmetric
from ..aggregators.rules import get_rule
from ..errors import SolverError, UnsupportedError
from ..game.feasible import FeasibleTables, symmetric_tables
from ..game.master_programme import Cuts
from ..numerics import ROUNDING, dot
from ..wording import counted, outward
from .conditionally_independent import grid
from .nature import Answer, LabelledStructures, Mixture, Nature
from .world import World
from .worst_case import WorstCase, by_multiset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from ..typing import Floats, Integers

MOST_PROFILES = 4_000
"""Of a grid that is chosen for a search: 88 reports of two agents, 27 of three, 16 of four."""

SHOWN = 1e-9
"""Profiles that are less likely are left out of what is shown."""


@dataclass(frozen=True)
class Correlated(World):
    """Agents each of whom is calibrated, however they depend on each other; reports are multiples of 1/N.

    >>> Correlated(3).words()
    '3 calibrated agents with any correlation, reports in steps of 1/20'
    """

    agents: int = 2
    reports: int | None = 20

    kind: ClassVar[str] = "correlated"

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.whole("agents", self.agents, least=2, most=8)
        if self.reports is not None:
            checks.whole("reports", self.reports, least=1)

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002
        """See World."""
        reports = "any reports" if self.reports is None else f"reports in steps of 1/{self.reports:,}"
        return f"{counted(self.agents, 'calibrated agent')} with any correlation, {reports}"

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:
        """See World: a linear programme answers."""
        own = any(isinstance(limit, Constrained) for limit in restrictions)
        if kind != "grid" or self.reports is None or own or paradigm not in ("additive", "absolute"):
            raise UnsupportedError(
                "a design for arbitrary correlation needs a number of reports, additive or absolute regret, and no "
                "constraints of your own."
            )
        mirror = [] if restrictions or not loss.symmetric else [Mirrored()]
        limits = [*restrictions, Symmetric(), *mirror]
        tables = symmetric_tables(grid(self.reports), self.agents, loss, limits, get_rule("mean"))
        return CorrelatedNature(self, tables, bool(mirror), paradigm)

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:  # noqa: ARG002
        """See World: the worst law on the grid, or on a fine one if any reports are allowed."""
        steps = self.reports
        if steps is None:
            steps = 4
            while comb(steps + 2 + self.agents, self.agents) <= MOST_PROFILES:
                steps += 2  # even, so that 1/2 is among them
        said = by_multiset(aggregator, grid(steps), self.agents)
        if said is None:
            raise UnsupportedError(
                "arbitrary correlation is searched under rules whose forecast does not change with the agents' order."
            )
        law = worst_law(grid(steps), self.agents, loss.table(np.stack((1 - said, said), axis=1)))
        return WorstCase(law.loss, law, exhaustive=self.reports is not None)

    def off_grid(self, table: Any, loss: Loss) -> float | None:
        """See World."""
        if not isinstance(table, GridAggregator):
            return None
        return Correlated(self.agents, None).worst_case(table, loss, np.random.default_rng(0)).regret


@dataclass(frozen=True, eq=False)
class CalibratedLaw:
    """A joint law of reports and state, the loss that it causes, and a bound on that of all laws on its grid.

    The law treats the agents alike: the chance of a profile is that of all its orders together.
    """

    loss: float
    at_most: float
    profiles: Floats  # (profiles, agents)
    masses: Floats  # (profiles, 2)

    def as_data(self) -> dict[str, Any]:
        """Plain data: the profiles that come, with Pr[profile, omega]."""
        comes = self.masses.sum(axis=1) > SHOWN
        return {
            "prior": float(self.masses[:, 1].sum()),
            "profiles": self.profiles[comes].tolist(),
            "masses": self.masses[comes].tolist(),
            "on_the_grid_at_most": self.at_most,
        }

    def words(self) -> dict[str, str]:
        """The same in words, the likeliest profiles first."""
        chance = self.masses.sum(axis=1)
        order = [i for i in np.argsort(-chance, kind="stable")[:6] if chance[i] > SHOWN]
        said = [
            f"{', '.join(f'{x:g}' for x in self.profiles[i])} with probability {chance[i]:.4g}, "
            f"the event then with {self.masses[i, 1] / chance[i]:.4g}"
            for i in order
        ]
        return {
            "prior": f"{self.masses[:, 1].sum():.10g}",
            "reports": "; ".join(said),
            "bound": f"on this grid no law is worse than {outward(self.at_most, 'ROUND_CEILING', 9)}",
        }


def worst_law(x: Floats, agents: int, losses: Floats) -> CalibratedLaw:
    """The calibrated law with the largest loss, for losses (multisets of ``x``, 2) of a rule that treats the agents alike.

    >>> x = np.array([0.0, 0.5, 1.0])
    >>> mean = x[multisets(3, 2)].mean(axis=1)
    >>> law = worst_law(x, 2, np.stack((mean**2, (1 - mean) ** 2), axis=1))
    >>> round(law.loss, 9), round(law.at_most, 9)
    (0.25, 0.25)
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, csc_matrix, vstack

    drawn = multisets(len(x), agents)
    certain = np.stack([(x[drawn] == 1 - omega).any(axis=1) for omega in (0, 1)], axis=1).ravel()
    come = np.flatnonzero(~certain)  # nobody who is certain is wrong, so that the other states have no mass
    gain = losses.ravel()[come]
    if not np.isfinite(gain).all():
        raise UnsupportedError(
            "arbitrary correlation needs a rule with a finite loss; under the log loss it may say 0 or 1 only after an agent."
        )
    profile, report = np.repeat(np.arange(len(drawn)), agents), drawn.ravel()
    columns = np.concatenate((2 * profile, 2 * profile + 1))  # state 0, state 1
    away = np.concatenate((0.0 - x[report], 1.0 - x[report]))
    calibration = coo_matrix((away, (np.tile(report, 2), columns)), shape=(len(x), 2 * len(drawn))).tocsc()[:, come]
    equal: Any = vstack((calibration, csc_matrix(np.ones((1, len(come)))))).tocsr()
    solution: Any = linprog(-gain, A_eq=equal, b_eq=np.append(np.zeros(len(x)), 1.0), method="highs")
    if solution.status != 0:
        raise SolverError(f"the linear programme of arbitrary correlation failed: {solution.message}")
    alpha = -solution.eqlin.marginals[:-1]
    at_most = float((gain - calibration.T @ alpha).max())  # a bound for any alpha, whatever the solver did
    masses = np.zeros(2 * len(drawn))
    masses[come] = np.maximum(solution.x, 0.0)
    return CalibratedLaw(dot(gain, solution.x), at_most, x[drawn], masses.reshape(-1, 2))


@dataclass(frozen=True, eq=False)
class CorrelatedNature(Nature):
    """The worst calibrated law on a grid; a label is the law, Pr[x, omega] of each multiset x and state."""

    family: Correlated
    tables: FeasibleTables
    mirrored: bool
    paradigm: str = "additive"

    def first_labels(self) -> Floats:
        """All agents say 1/2 and together they know the state, if 1/2 is a report."""
        steps, agents = self.family.reports or 0, self.family.agents
        always = (multisets(steps + 1, agents) * 2 == steps).all(axis=1)
        return np.repeat(0.5 * always, 2)[None] if always.any() else np.zeros((0, 0))

    def answer(self, table: Floats) -> Answer:
        """See Nature."""
        loss, layout = self.tables.loss, self.tables.layout
        law = worst_law(grid(self.family.reports or 0), self.family.agents, loss.table(layout.spread(table)))
        mass = law.masses / law.masses.sum()
        return Answer(law.at_most - self._certain(mass), mass.reshape(1, -1))

    def knows(self, labels: Floats) -> bool:
        """See Nature: masses that sum to 1, by which each report is the chance of the event given it."""
        steps, agents = self.family.reports or 0, self.family.agents
        drawn, x = multisets(steps + 1, agents), grid(steps)
        if labels.shape[1] != 2 * len(drawn) or not (labels >= 0).all():
            return False
        masses = labels.reshape(len(labels), -1, 2)
        often = (drawn[:, :, None] == np.arange(len(x))).sum(axis=1)  # (profiles, reports)
        away = np.einsum("mpk,pr->mrk", masses, often) @ np.array([0.0, 1.0]) - x * (masses.sum(axis=2) @ often)
        sums = masses.sum(axis=(1, 2))
        return bool((np.abs(sums - 1.0) <= ROUNDING).all() and (np.abs(away) <= ROUNDING).all())

    def support(self, labels: Floats) -> tuple[Integers, Floats]:
        """See Nature."""
        masses = labels.reshape(len(labels), -1, 2)
        return np.tile(np.arange(masses.shape[1]), (len(labels), 1)), masses

    def cuts(self, labels: Floats) -> Cuts:
        """See Nature: the omniscient knows the state."""
        profile, mass = self.support(labels)
        offset = np.array([self._certain(each) for each in mass])
        return Cuts(*self.tables.layout.folded(profile, mass), np.ones(len(labels)), offset)

    def _certain(self, mass: Floats) -> float:
        """The loss of somebody who knows the state; 0 if the whole loss counts."""
        known = np.diag(self.tables.loss.table(np.eye(2)))
        return float(mass.sum(axis=0) @ known) if self.paradigm == "additive" else 0.0

    def aggregator(self, table: Floats) -> GridAggregator:
        """See Nature."""
        forecasts = self.tables.layout.spread(table)[:, 1]
        return GridAggregator(forecasts[grid_ranks((self.family.reports or 0) + 1, self.family.agents)])

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """See Nature."""
        return Mixture(LabelledStructures(labels, _name), checks.frozen(weights), ("states",) if self.mirrored else ())


def _name(label: Floats) -> str:
    """What to call a law in a sentence: how many profiles it has."""
    masses = label.reshape(-1, 2)
    comes = int((masses.sum(axis=1) > SHOWN).sum())
    return f"a calibrated law with {counted(comes, 'profile')}, prior {masses[:, 1].sum():.4g}"
