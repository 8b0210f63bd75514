"""Agents who neglect the base rate: independent evidence, and the prior only to the power lambda [Kong2024].

Agent i with the log-likelihood ratio r_i says y_i with logit y_i = lambda m + r_i, where m = logit mu. Her posterior has
logit x_i = m + r_i, so that she says sigma(logit x_i - (1 - lambda) m). The omniscient knows mu: logit g = m + sum r_i.
With s = sum logit y_i and k = n lambda - 1,

    s = logit g + k m.

At lambda = 1 this is the ordinary setting; at lambda = 1/n the plain sum of log-odds is the posterior. Every function of s
has the regret that it has for k + 1 = n lambda agents who neglect nothing, and so has the lower bound that follows.
(docs/worlds/base-rate-neglect)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..errors import InputError, UnsupportedError
from ..numerics import ROUNDING, sigma
from ..structures.binary_structure import independent_masses, independent_profiles
from ..wording import counted
from .compass import climbed
from .conditionally_independent import ConditionallyIndependent
from .grid_oracle import WorstStructures, joined, parameters, worst_by_prior
from .independent_nature import IndependentNature, has_oracle, independent_nature, within
from .many_agents import MOST_WORK, symmetric_table, work, worst_of
from .nature import LabelledStructures, Mixture, Nature, are_multiples
from .regret import expected_divergence
from .world import World
from .worst_case import STARTS, STEPS, WorstCase, decode, encode, inside, logit, logit_range, random_starts, tabulated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from ..typing import Floats, Integers

LEVELS = 5
"""Values of lambda, where it is in a range, among which a nature on a grid chooses and from which a search starts."""

MOST_AGENTS = 6
SATURATION = 1.3
"""C of the rule, in log-odds: its estimate of the prior stays between 0.21 and 0.79."""


@dataclass(frozen=True)
class Neglect(World):
    """Independent agents who put the base rate to the power lambda; ``neglect`` is the range of lambda.

    On a grid, ``reports`` are multiples of 1/N in what they say, and lambda is one of five values of its range.

    >>> Neglect(neglect=(0.75, 0.75)).words()
    '2 independent agents who put the base rate to the power 0.75, reports in steps of 1/20, priors in steps of 1/400'
    """

    agents: int = 2
    reports: int | None = 20
    priors: int | None = 400
    prior_range: tuple[float, float] = (0.0, 1.0)
    neglect: tuple[float, float] = (0.5, 1.0)

    kind: ClassVar[str] = "neglect"

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "prior_range", self.ordinary.prior_range)
        object.__setattr__(self, "neglect", checks.interval("neglect", self.neglect, least=0, most=1))

    @classmethod
    def of_certificate(cls, data: Mapping[str, Any]) -> Neglect:
        """See World: a certificate names one lambda."""
        return super().of_certificate({**data, "neglect": (data["neglect"], data["neglect"])})

    @property
    def ordinary(self) -> ConditionallyIndependent:
        """The agents who neglect nothing, with the same grids."""
        return ConditionallyIndependent(self.agents, self.reports, self.priors, self.prior_range)

    @property
    def report_grid(self) -> Floats:
        """0, 1/N, ..., 1: what the agents may say."""
        return self.ordinary.report_grid

    @property
    def prior_grid(self) -> Floats:
        """The multiples of 1/M in the range of the priors."""
        return self.ordinary.prior_grid

    @property
    def mirrored(self) -> bool:
        """Whether the family is the same with the states exchanged."""
        return self.ordinary.mirrored

    @property
    def levels(self) -> Floats:
        """The values of lambda on a grid."""
        return np.unique(np.linspace(*self.neglect, LEVELS))

    def words(self, nature: str = "grid") -> str:
        """See World."""
        grids = self.ordinary.words(nature).partition(", ")[2]
        power = " to ".join(dict.fromkeys(f"{end:g}" for end in self.neglect))
        return f"{counted(self.agents, 'independent agent')} who put the base rate to the power {power}, {grids}"

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:
        """See World: for each prior and each lambda the exact worst structure."""
        if kind != "grid" or self.priors is None or not has_oracle(loss, paradigm, restrictions):
            raise UnsupportedError(
                "a design for agents who neglect the base rate needs a number of reports and of priors, the square or the "
                "log loss, additive or absolute regret, and no constraints of your own."
            )
        nature: Any = self  # it has the grids of its ordinary family
        return independent_nature(nature, loss, paradigm, restrictions, NeglectNature)

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World: among all reports, priors and lambdas, whatever the grids."""
        checks.extra("the worst case under base-rate neglect", "solve")
        if self.agents > MOST_AGENTS:
            raise UnsupportedError(
                f"base-rate neglect is searched for at most {MOST_AGENTS} agents; there are {self.agents}. A function of the "
                f"summed log-odds has the worst case of n lambda agents who neglect nothing."
            )
        return Search(aggregator, loss, self).worst(rng)

    def rule(self) -> Callable[[Any], Floats]:
        """The rule for a known lambda: logit f = s - k C tanh((1 - alpha) s / (k C)), the sum s itself where k = 0.

        It is Bordley's rule with an estimate of the prior whose log-odds stay within -C and C, C = 1.3; alpha is the slope at
        s = 0 that the lower bound forces.

        >>> Neglect(neglect=(0.75, 0.75)).rule()([[0.7, 0.6], [0.7, 0.3]]).round(4)
        array([0.7151, 0.5   ])
        """
        k = self.agents * self._level("the rule") - 1
        alpha, scale = mirrored_pair(k).slope, k * SATURATION

        def rule(reports: Any) -> Floats:
            y = np.asarray(reports, dtype=float)
            with np.errstate(divide="ignore", invalid="ignore"):  # 0 and 1 together give s = 0
                s = np.log(y).sum(axis=1) - np.log1p(-y).sum(axis=1)
            s = np.nan_to_num(s, nan=0.0, posinf=np.inf, neginf=-np.inf)
            return np.asarray(sigma(s - scale * np.tanh((1 - alpha) * s / scale) if k else s))

        return rule

    def lower(self) -> float:
        """What no rule can stay below, for a known lambda and any prior: the mirrored pair, square loss.

        >>> round(Neglect(neglect=(1.0, 1.0)).lower(), 7), Neglect(neglect=(0.5, 0.5)).lower()
        (0.0225425, 0.0)
        """
        if self.prior_range != (0.0, 1.0):
            raise InputError(f"the lower bound is for all priors; prior_range is {self.prior_range!r}.")
        return mirrored_pair(self.agents * self._level("the lower bound") - 1).bound

    def slope(self) -> float:
        """alpha, the slope of logit f at s = 0 that a rule attaining the lower bound must have, for a known lambda.

        >>> round(Neglect(neglect=(0.75, 0.75)).slope() ** 2, 6)
        0.5
        """
        return mirrored_pair(self.agents * self._level("the slope") - 1).slope

    def _level(self, what: str) -> float:
        low, high = self.neglect
        if low < high:
            raise InputError(f"{what} is for one lambda; neglect is {self.neglect!r}.")
        return low


@dataclass(frozen=True)
class MirroredPair:
    """The two structures that bound every rule from below, by the prior of the first: the bound and what it forces."""

    k: float
    logit_prior: float

    @property
    def prior(self) -> float:
        """mu."""
        return float(sigma(np.array(self.logit_prior)))

    @cached_property
    def posterior(self) -> float:
        """g = sigma(-k m), where everybody says 1/2."""
        return float(sigma(np.array(-self.k * self.logit_prior)))

    @property
    def bound(self) -> float:
        """(mu / g) (g - 1/2)^2: everybody says 1/2 with probability mu / g."""
        return self.prior / self.posterior * (self.posterior - 0.5) ** 2

    @property
    def slope(self) -> float:
        """d logit f / d s = (1 - g) (1 + 2 g) at s = 0, which a rule that attains the bound must have."""
        return (1 - self.posterior) * (1 + 2 * self.posterior)


def mirrored_pair(k: float) -> MirroredPair:
    """The pair with the largest bound, k = n lambda - 1: each agent says 0 or 1/2, in the other one 1/2 or 1.

    Any prior proves a bound, so that nothing depends on the search being exact.
    """
    grid = np.linspace(-40.0, -1e-3, 4001)
    for _ in range(12):
        bounds = [MirroredPair(k, m).bound for m in grid]
        best = int(np.argmax(bounds))
        pair = MirroredPair(k, float(grid[best]))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 21)
    return pair


# ------------------------------------------------------------------------------------------------------ what they say


def neglected(posteriors: Floats, priors: Floats, power: Floats) -> Floats:
    """What agents with these posteriors say: odds times (odds of the prior)^(lambda - 1).

    >>> neglected(np.array([0.2, 0.5]), np.array([0.2, 0.2]), np.array([0.0, 0.0]))   # nothing learned, and evidence
    array([0.5, 0.8])
    """
    factor = np.exp((power - 1.0) * logit(np.clip(priors, 1e-300, 1 - 1e-16)))
    return np.asarray(posteriors * factor / (posteriors * factor + (1.0 - posteriors)))


def recovered(said: Floats, priors: Floats, power: Floats) -> Floats:
    """The posteriors of agents who say this, the inverse of ``neglected``."""
    return neglected(said, priors, 2.0 - power)


@dataclass(frozen=True, eq=False)
class NeglectStructure:
    """A prior, lambda, and what each agent says after each of her two signals."""

    prior: float
    power: float
    reports: Floats  # (agents, 2)

    @classmethod
    def of(cls, label: Floats) -> NeglectStructure:
        """The structure of a label: prior, posteriors low and high of each agent, lambda."""
        prior, posteriors, power = label[0], label[1:-1].reshape(-1, 2), label[-1]
        return cls(float(prior), float(power), neglected(posteriors, prior, power))

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        return {"prior": self.prior, "neglect": self.power, "reports": self.reports.tolist()}

    def words(self) -> dict[str, str]:
        """The same in words.

        >>> NeglectStructure.of(np.array([0.2, 0.0, 0.5, 0.2, 0.2, 0.0])).words()["reports"]
        '0 or 0.8, 0.5 or 0.5'
        """
        reports = ", ".join(f"{low:.6g} or {high:.6g}" for low, high in self.reports)
        return {"prior": f"{self.prior:.10g}", "neglect": f"{self.power:.6g}", "reports": reports}


# ------------------------------------------------------------------------------------------------------ nature on a grid


@dataclass(frozen=True, eq=False)
class NeglectNature(IndependentNature):
    """Reports on a grid, for each prior and lambda the exact worst structure.

    What is a grid in reports is another grid in posteriors, one for each prior and lambda; the oracles of independent agents
    take any grid. A label is that of independent agents, with the posteriors, and then lambda.
    """

    family: Any

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """For each prior and lambda of the grids; of many agents, if the pairs are not too many."""
        return self.family.agents == 2 or work(*self._game, self._inner) <= MOST_WORK

    def worst(self, table: Floats) -> WorstStructures:
        """See IndependentNature."""
        said, agents = self._game
        game: dict[str, Any] = {"loss": self.tables.loss, "paradigm": self.paradigm}
        forecasts = self.forecasts(table) if agents == 2 else self.by_profile(table)
        parts = []
        for power in self.family.levels:
            for prior in self._inner:
                x, one = recovered(said, prior, power), np.array([prior])
                if agents == 2:
                    worst = worst_by_prior(x, forecasts, one, **game)
                else:
                    worst = worst_of(symmetric_table(x, agents, forecasts, **game), one)
                parts.append(
                    WorstStructures(worst.values, np.column_stack((worst.labels, np.full(len(worst.values), power))))
                )
        values, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
        return WorstStructures(values, labels)

    def knows(self, labels: Floats) -> bool:
        """See Nature: what is said lies on the grid; or all is certain."""
        inner = labels[(labels != labels[:, :1]).any(axis=1)] if labels.shape[1] > 1 else labels
        powers, levels = inner[:, -1:], self.family.levels
        return (
            super().knows(labels[:, :-1])
            and within(labels[:, -1], (0.0, 1.0))
            and bool((np.abs(powers - levels).min(axis=1) <= ROUNDING).all())
            and are_multiples(self._said(inner), len(self.family.report_grid) - 1)
        )

    def are_allowed(self, priors: Floats, reports: Floats) -> bool:  # noqa: ARG002
        """See IndependentNature: the grid of reports is that of what is said."""
        return are_multiples(priors, self.family.priors) and within(priors, self.family.prior_range)

    def _said(self, labels: Floats) -> Floats:
        priors, posteriors = parameters(labels[:, :-1])
        return neglected(posteriors, priors[:, None, None], labels[:, -1, None, None])

    def support(self, labels: Floats) -> tuple[Integers, Floats]:
        """See Nature."""
        priors, posteriors = parameters(labels[:, :-1])
        index = np.rint(self._said(labels) * (len(self.family.report_grid) - 1)).astype(np.int64)
        return self.profiles(independent_profiles(index)), independent_masses(priors, posteriors)

    def settled(self, table: Floats, labels: Floats, slack: float) -> tuple[Floats, float]:
        """See Nature: the table as it is."""
        return Nature.settled(self, table, labels, slack)

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """See Nature."""
        exchanged = ("agents", "states") if self.mirrored else ("agents",)
        return Mixture(LabelledStructures(labels, _name), checks.frozen(weights), exchanged)

    def coarser(self) -> None:
        """See Nature: none."""
        return


def _name(label: Floats) -> str:
    """What to call a structure in a sentence."""
    words = NeglectStructure.of(label).words()
    return f"prior {words['prior']} to the power {words['neglect']}, reports {words['reports']}"


# ---------------------------------------------------------------------------------------------------------- the search


@dataclass(frozen=True)
class Search:
    """A search over all reports, priors and lambdas; a point is lambda and then as in `worst_case`."""

    aggregator: Callable[[Any], Any]
    loss: Loss
    family: Neglect

    def worst(self, rng: np.random.Generator) -> WorstCase:
        """The worst structure found: from the best ones of a coarse grid for two agents, from random ones for more."""
        agents = self.family.agents
        points = self.grid_starts() if agents == 2 and self.loss.kernel is not None else self.random_starts(rng)
        work, starts = agents << agents, self.clipped(points)
        values, points = climbed(self.regrets, self.clipped, starts, rng, STEPS, keep=STARTS, work=work)
        best = points[[np.argmax(values)]]
        prior, posteriors = decode(best[:, 1:])
        label = np.concatenate((prior, posteriors.ravel(), best[:, 0]))
        return WorstCase(float(values.max()), NeglectStructure.of(label))

    def regrets(self, points: Floats) -> Floats:
        """The regret E[D(f, g)] at points (m, 2 + 2n): f sees what the agents say, g what they know."""
        prior, posteriors = decode(points[:, 1:])
        profile, mass = independent_profiles(posteriors), independent_masses(prior, posteriors)
        said = neglected(profile, prior[:, None, None], points[:, :1, None])
        return expected_divergence(self.aggregator, said, mass, self.loss)

    def grid_starts(self) -> Floats:
        """The best structures of coarse grids that are dense at the corners."""
        tails = 10.0 ** np.array([-9.0, -6.0, -4.0, -3.0, -2.0])
        said = np.unique(np.concatenate(([0.0, 1.0], np.arange(1, 24) / 24, tails, 1 - tails)))
        low, high = inside(self.family.prior_range)
        priors = np.unique(np.clip(np.concatenate((np.arange(1, 48) / 48, tails, 1 - tails)), low, high))
        forecasts, starts = tabulated(self.aggregator, said), []
        for power in self.family.levels:
            worst = joined(
                worst_by_prior(recovered(said, mu, power), forecasts, np.array([mu]), loss=self.loss) for mu in priors
            )
            points = encode(*parameters(worst.worst(STARTS)))
            starts.append(np.column_stack((np.full(len(points), power), points)))
        return np.concatenate(starts)

    def random_starts(self, rng: np.random.Generator) -> Floats:
        """Structures drawn at random, with the lambdas of a grid."""
        points = random_starts(self.family.agents, rng)
        return np.column_stack((rng.choice(self.family.levels, len(points)), points))

    def clipped(self, points: Floats) -> Floats:
        """Points brought back into the box."""
        points[..., 0] = np.clip(points[..., 0], *self.family.neglect)
        points[..., 1] = np.clip(points[..., 1], *logit_range(self.family.prior_range))
        points[..., 2:] = np.clip(points[..., 2:], 0.0, 1.0)
        return points
