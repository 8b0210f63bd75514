"""Identical agents: n draws from one experiment, independent given the state [Arieli2018].

An experiment has signals 1..K with chances q_k and posteriors r_k, and the prior is mu = sum_k q_k r_k. Every choice of q and r
is an experiment, so that a search needs no constraint. All agents report the posteriors of their own signals. With counts
c_1..c_K of the signals among n agents,

    Pr[c, omega = 1] = mu n!/(c_1!..c_K!) prod_k (q_k r_k / mu)^c_k,        and the same with 1 - r_k, 1 - mu for omega = 0.

The regret is no longer linear in one agent's experiment while the others keep theirs, so two signals need not be enough. The
structures behind the lower bounds V_n and U_n have identical agents (docs/worlds/identical-agents).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..aggregators.grid import GridAggregator
from ..aggregators.multisets import grid_ranks, multisets, ranks
from ..aggregators.restrictions import Constrained, Mirrored, Symmetric
from ..aggregators.rules import get_rule
from ..errors import UnsupportedError
from ..game.feasible import FeasibleTables, symmetric_tables
from ..wording import counted
from .compass import climbed
from .conditionally_independent import ConditionallyIndependent
from .nature import Answer, LabelledStructures, Mixture, Nature, unseen
from .regret import expected_divergence, forecasts_of
from .world import World
from .worst_case import SAME, WorstCase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from ..typing import Floats, Integers

STARTS, KEPT, STEPS = 300, 24, 300
MOST_CUTS = 256
MOST_AGENTS = 100


@dataclass(frozen=True)
class Identical(World):
    """Agents who draw from the same experiment; a search takes experiments with up to ``signals`` signals, a grid those with two.

    >>> Identical(3).words()
    '3 identical independent agents, reports in steps of 1/20, priors in steps of 1/400'
    """

    agents: int = 2
    reports: int | None = 20
    priors: int | None = 400
    signals: int = 3

    kind: ClassVar[str] = "identical"

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.whole("signals", self.signals, least=2, most=6)
        checks.whole("agents", self.agents, least=1, most=MOST_AGENTS)
        _ = self.ordinary

    @property
    def ordinary(self) -> ConditionallyIndependent:
        """Agents who need not be identical, with the same grids."""
        return ConditionallyIndependent(self.agents, self.reports, self.priors)

    def words(self, nature: str = "grid") -> str:
        """See World."""
        grids = self.ordinary.words(nature).partition(", ")[2]
        return f"{counted(self.agents, 'identical independent agent')}, {grids}"

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:
        """See World: every experiment with two signals on the grids."""
        own = any(isinstance(limit, Constrained) for limit in restrictions)
        if kind != "grid" or self.priors is None or own or paradigm not in ("additive", "absolute"):
            raise UnsupportedError(
                "a design for identical agents needs a number of reports and of priors, additive or absolute regret, and no "
                "constraints of your own."
            )
        mirror = [] if restrictions or not loss.symmetric else [Mirrored()]
        rule = get_rule("minimax:unanimous=0")
        tables = symmetric_tables(
            self.ordinary.report_grid, self.agents, loss, [*restrictions, Symmetric(), *mirror], rule
        )
        return IdenticalNature(self, tables, bool(mirror), paradigm)

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World: among all experiments with 2, ..., ``signals`` signals, whatever the grids."""
        some = rng.random((64, self.agents))
        if np.abs(forecasts_of(aggregator, some, 2) - forecasts_of(aggregator, some[:, ::-1], 2)).max() > SAME:
            raise UnsupportedError(
                "identical agents are searched under rules whose forecast does not change with their order."
            )
        best = WorstCase(-np.inf, Experiment(self.agents, np.zeros(0), np.zeros(0)))
        for signals in range(2, self.signals + 1):
            points = rng.random((STARTS, 2 * signals - 1))
            points[::3, signals - 1] = 0.0  # in a third of them a signal rules state 1 out
            points[1::3, signals] = 1.0
            regrets = partial(_regrets, aggregator, self.agents, loss, signals)
            values, points = climbed(regrets, partial(np.clip, a_min=0.0, a_max=1.0), points, rng, STEPS, keep=KEPT)
            k = int(np.argmax(values))
            if values[k] > best.regret:
                chances, posteriors = experiments(points[k : k + 1], signals)
                best = WorstCase(float(values[k]), Experiment(self.agents, chances[0], posteriors[0]))
        return best


def _regrets(aggregator: Callable[[Any], Any], agents: int, loss: Loss, signals: int, points: Floats) -> Floats:
    """The regrets in the experiments at some points."""
    return regrets_of_experiments(aggregator, *experiments(points, signals), agents, loss)


@dataclass(frozen=True, eq=False)
class Experiment:
    """What each of some agents may say, and how often."""

    agents: int
    chances: Floats  # (signals,)
    reports: Floats  # (signals,)

    @property
    def prior(self) -> float:
        """The mean report."""
        return float(self.chances @ self.reports)

    def as_data(self) -> dict[str, Any]:
        """Plain data: the reports of each agent from low to high, and how likely each agent gives them.

        >>> Experiment(2, np.array([0.4, 0.6]), np.array([0.5, 0.0])).as_data()
        {'prior': 0.2, 'reports': [[0.0, 0.5], [0.0, 0.5]], 'chances': [[0.6, 0.4], [0.6, 0.4]]}
        """
        order = np.argsort(self.reports, kind="stable")
        reports, chances = self.reports[order].tolist(), self.chances[order].tolist()
        return {"prior": self.prior, "reports": [reports] * self.agents, "chances": [chances] * self.agents}

    def words(self) -> dict[str, str]:
        """The same in words.

        >>> Experiment(2, np.array([0.6, 0.4]), np.array([0.0, 0.5])).words()
        {'prior': '0.2', 'reports of each agent': '0 with probability 0.6, 0.5 with probability 0.4'}
        """
        every = sorted(zip(self.reports, self.chances, strict=True))
        said = ", ".join(f"{report:.6g} with probability {chance:.6g}" for report, chance in every if chance > 0)
        return {"prior": f"{self.prior:.10g}", "reports of each agent": said}


def experiments(points: Floats, signals: int) -> tuple[Floats, Floats]:
    """Points of a box as chances and posteriors, (m, K) each: the stick is broken K - 1 times, the rest are posteriors.

    >>> experiments(np.array([[0.5, 0.5, 0.1, 0.2, 0.3]]), 3)
    (array([[0.5 , 0.25, 0.25]]), array([[0.1, 0.2, 0.3]]))
    """
    breaks, posteriors = points[:, : signals - 1], points[:, signals - 1 :]
    left = np.cumprod(np.concatenate((np.ones((len(points), 1)), 1.0 - breaks), axis=1), axis=1)
    return np.concatenate((breaks * left[:, :-1], left[:, -1:]), axis=1), posteriors


def masses_of_counts(chances: Floats, posteriors: Floats, counts: Integers) -> Floats:
    """Pr[c, omega] for each experiment (m, K) and each row of counts (C, K): (m, C, 2)."""
    from scipy.special import gammaln, xlogy

    mu = np.sum(chances * posteriors, axis=1)
    ways = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    masses = []
    for share, own in ((1.0 - mu, chances * (1.0 - posteriors)), (mu, chances * posteriors)):
        given = np.divide(own, share[:, None], out=np.zeros_like(own), where=share[:, None] > 0)
        masses.append(share[:, None] * np.exp(xlogy(counts[None], given[:, None]).sum(axis=2) + ways))
    return np.stack(masses, axis=2)


def regrets_of_experiments(
    aggregator: Callable[[Any], Any], chances: Floats, posteriors: Floats, agents: int, loss: Loss
) -> Floats:
    """E[D(f, g)] for n draws from each experiment: (m, K) -> (m,); the aggregator treats the agents alike."""
    signals = chances.shape[1]
    drawn = multisets(signals, agents)  # (C, n), which signal each agent has
    counts = np.stack([(drawn == k).sum(axis=1) for k in range(signals)], axis=1)
    mass = masses_of_counts(chances, posteriors, counts)
    return expected_divergence(aggregator, posteriors[:, drawn], mass, loss)


@dataclass(frozen=True, eq=False)
class IdenticalNature(Nature):
    """Every experiment with two signals on the grids, tried one by one; a label is prior, low, high."""

    family: Identical
    tables: FeasibleTables
    mirrored: bool
    paradigm: str = "additive"

    @property
    def steps(self) -> int:
        """N."""
        return len(self.family.ordinary.report_grid) - 1

    @cached_property
    def labels(self) -> Floats:
        """All of them; the priors up to 1/2 only, where the tables are mirrored."""
        grids, parts = self.family.ordinary, []
        for number, prior in zip(grids.prior_numbers.tolist(), grids.prior_grid, strict=True):
            pairs = grids.pairs(number) / self.steps
            if prior <= 0.5 or not self.mirrored:
                parts.append(np.column_stack((np.full(len(pairs), prior), pairs)))
        return np.concatenate(parts)

    def knows(self, labels: Floats) -> bool:
        """See Nature."""
        return labels.shape[1] == self.labels.shape[1] and not len(unseen(self.labels, labels))

    def support(self, labels: Floats) -> tuple[Integers, Floats]:
        """See Nature: k agents say high, n - k low."""
        mu, low, high = labels.T
        agents = self.family.agents
        share = np.divide(mu - low, high - low, out=np.zeros_like(mu), where=high > low)
        highs = np.arange(agents + 1)
        counts = np.stack((agents - highs, highs), axis=1)
        mass = masses_of_counts(np.stack((1 - share, share), axis=1), labels[:, 1:], counts)
        index = np.rint(labels[:, 1:] * self.steps).astype(np.int64)
        drawn = np.arange(agents)[None] >= counts[:, :1]  # the low ones first
        return ranks(np.where(drawn[None], index[:, 1, None, None], index[:, 0, None, None])), mass

    def answer(self, table: Floats) -> Answer:
        """See Nature."""
        labels = self.labels
        payoffs = self.cuts(labels).payoffs(self.tables.loss.table(table))
        worst = np.argsort(-payoffs, kind="stable")[:MOST_CUTS]
        return Answer(float(payoffs.max()), labels[worst])

    def aggregator(self, table: Floats) -> GridAggregator:
        """See Nature."""
        forecasts = self.tables.layout.spread(table)[:, 1]
        return GridAggregator(forecasts[grid_ranks(self.steps + 1, self.family.agents)])

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """See Nature."""
        exchanged = ("states",) if self.mirrored else ()
        return Mixture(LabelledStructures(labels, _name), checks.frozen(weights), exchanged)


def _name(label: Floats) -> str:
    """What to call a structure in a sentence."""
    return "prior {:g}, each reports {:g} or {:g}".format(*label)
