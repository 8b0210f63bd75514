"""The family Theta^bci_{N,M}: agents whose signals are independent given the state [Guo2024, Section 3.2].

Binary signals are enough: for any aggregator some structure with two signals an agent is at least as bad as any other
[Guo2024, Lemma 3.5]. A structure is then a prior mu and a pair of reports low <= mu <= high for each agent; reports are
multiples of 1/N, priors of 1/M, or either is continuous. An agent with low = mu = high learns nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..aggregators.grid import GridAggregator
from ..designs.records import IndependentMixture
from ..errors import InputError, UnsupportedError
from ..structures.binary_structure import BinaryStructure, independent_masses, independent_profiles
from ..structures.report_formats import Posterior
from ..wording import counted
from .finite import FiniteFamily
from .nature import NO_CONTINUUM
from .world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..aggregators.restrictions import Restriction
    from ..designs.records import Settings
    from ..losses.loss import Loss
    from ..typing import Floats, Integers
    from .finite_game import FiniteNature
    from .nature import Nature
    from .worst_case import WorstCase


@dataclass(frozen=True)
class ConditionallyIndependent(World):
    """Conditionally independent agents; ``reports`` is N and ``priors`` is M, None where continuous.

    >>> family = ConditionallyIndependent(agents=2, reports=20, priors=400)
    >>> family.count(pruned=True)
    684211
    """

    agents: int = 2
    reports: int | None = 20
    priors: int | None = 400
    prior_range: tuple[float, float] = (0.0, 1.0)

    kind: ClassVar[str] = "conditionally-independent"

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.whole("agents", self.agents, least=1)
        if self.reports is not None:
            checks.whole("reports", self.reports, least=1)
        if self.priors is not None:
            checks.fits_in_memory("so many priors", 40.0 * checks.whole("priors", self.priors, least=2))
        object.__setattr__(self, "prior_range", checks.interval("prior_range", self.prior_range, least=0, most=1))
        if self.priors is not None and not len(self.prior_numbers):
            raise InputError(f"prior_range must hold a multiple of 1/{self.priors}; it is {self.prior_range!r}.")

    @property
    def report_grid(self) -> Floats:
        """0, 1/N, ..., 1."""
        return grid(_given("reports", self.reports))

    @property
    def prior_numbers(self) -> Integers:
        """The multiples of 1/M in the range of the priors."""
        M = _given("priors", self.priors)
        low, high = (end * M for end in self.prior_range)
        return np.arange(math.ceil(low - 1e-9 * M), math.floor(high + 1e-9 * M) + 1)

    @property
    def prior_grid(self) -> Floats:
        """0, 1/M, ..., 1, as far as they are in the range of the priors."""
        return self.prior_numbers / _given("priors", self.priors)

    @property
    def mirrored(self) -> bool:
        """Whether the family is the same with the states exchanged."""
        return abs(sum(self.prior_range) - 1.0) < 1e-12

    @property
    def symmetries(self) -> tuple[str, ...]:
        """What can be exchanged without leaving the family."""
        return ("agents", "states") if self.mirrored else ("agents",)

    def fits(self, table: Any, mixture: Any) -> bool:
        """Whether an aggregator and nature's mixture can belong to a game on this family."""
        grid = isinstance(table, GridAggregator) and isinstance(mixture, IndependentMixture)
        return grid and table.agents == mixture.reports.shape[1] == self.agents

    def certifiable(self, settings: Settings) -> bool:
        """Whether `certify` has a proof for a design: for the regret of two agents over a range of priors."""
        low, high = self.prior_range
        return self.agents == 2 and low < high and settings.judged_by_regret

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:
        """See Family: with an exact oracle if there is one; on the continuum if that is asked for."""
        from .continuous_nature import ContinuousNature
        from .independent_nature import has_oracle, independent_nature, written_out

        exact = has_oracle(loss, paradigm, restrictions)
        if kind == "continuous":
            if not (exact and loss.quadratic and paradigm == "additive" and self.reports is not None):
                raise UnsupportedError(NO_CONTINUUM)
            return independent_nature(self, loss, paradigm, restrictions, ContinuousNature)
        return (independent_nature if exact else written_out)(self, loss, paradigm, restrictions)

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World: on the grids if there are any, else among all reports and priors."""
        from .worst_case import worst_independent

        return worst_independent(aggregator, self, loss, rng)

    def off_grid(self, table: Any, loss: Loss) -> float | None:
        """See World: a shorter search."""
        from .worst_case import off_grid_regret

        searchable = isinstance(table, GridAggregator) and loss.kernel is not None
        return off_grid_regret(table, self.prior_range, loss) if searchable else None

    def written_out(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction]) -> FiniteNature:
        """Nature with every structure of the family in a list."""
        from .independent_nature import written_out

        return written_out(self, loss, paradigm, restrictions)

    def words(self, nature: str = "grid") -> str:
        """The family in words; with continuous nature the reports and the priors are not on its grids.

        >>> ConditionallyIndependent(2, 20, 400, (0.1, 0.5)).words()
        '2 conditionally independent agents, reports in steps of 1/20, priors in steps of 1/400 from 0.1 to 0.5'
        """
        free = nature == "continuous"
        agents = counted(self.agents, "conditionally independent agent")
        reports = "any reports" if free or self.reports is None else f"reports in steps of 1/{self.reports:,}"
        priors = "any prior" if free or self.priors is None else f"priors in steps of 1/{self.priors:,}"
        low, high = self.prior_range
        return f"{agents}, {reports}, {priors}" + ("" if (low, high) == (0.0, 1.0) else f" from {low:g} to {high:g}")

    def pairs(self, prior: int) -> Integers:
        """The pairs (low, high) of one agent as multiples of 1/N, for the prior ``prior``/M; shape (pairs, 2).

        low < mu < high, and low = mu = high if mu is a report.
        """
        N, M = _given("reports", self.reports), _given("priors", self.priors)
        low = np.arange(-(-prior * N // M))  # k/N < prior/M
        high = np.arange(prior * N // M + 1, N + 1)  # k/N > prior/M
        apart = np.stack(np.meshgrid(low, high, indexing="ij"), axis=-1).reshape(-1, 2)
        if prior * N % M:
            return apart
        return np.concatenate((apart, [[prior * N // M] * 2]))

    def count(self, *, pruned: bool) -> int:
        """How many structures there are; ``pruned`` counts one of those that are the same but for names."""
        sizes = [len(self.pairs(prior)) for prior in self._priors(pruned=pruned)]
        return sum(math.comb(size + self.agents - 1, self.agents) if pruned else size**self.agents for size in sizes)

    def _priors(self, *, pruned: bool) -> list[int]:
        numbers = self.prior_numbers
        half = numbers[2 * numbers <= _given("priors", self.priors)]
        return [int(number) for number in (half if pruned and self.mirrored else numbers)]

    def enumerate(self, *, pruned: bool = True) -> EnumeratedFamily:
        """Every structure, as flat arrays.

        ``pruned`` keeps one structure of those that differ only by a relabelling of signals, of agents or of the
        states [Guo2024, lem:symmetry]: up to 4 x 2 x 2 = 16 times fewer than labelled ones for two agents. Against an aggregator that is
        symmetric in the agents and mirrored in the states they have the same regret.
        """
        profiles = len(self.report_grid) ** self.agents
        count = self.count(pruned=pruned)
        what = f"{count:,} structures of {self.agents} agents"
        checks.fits_in_memory(what, 2.0**self.agents * 60.0 * count + 16.0 * profiles)
        N, M, numbers = _given("reports", self.reports), _given("priors", self.priors), self._priors(pruned=pruned)
        parts = [self._at_prior(prior, pruned=pruned) for prior in numbers]
        pairs = np.concatenate(parts)
        priors = np.repeat(np.array(numbers, dtype=np.int32), [len(part) for part in parts])
        profile = independent_profiles(pairs.astype(np.int32)) @ (N + 1) ** np.arange(self.agents - 1, -1, -1)
        points = 2**self.agents
        reports = np.stack(np.meshgrid(*[self.report_grid] * self.agents, indexing="ij"), axis=-1)
        flat = FiniteFamily(
            states=("state 0", "state 1"),
            agents=tuple(f"agent {i}" for i in range(self.agents)),
            report=Posterior(),
            reports=checks.frozen(reports.reshape(profiles, self.agents, 1)),
            start=checks.frozen(np.arange(0, points * count + 1, points)),
            profile=checks.frozen(profile.reshape(-1).astype(np.int32)),
            mass=checks.frozen(independent_masses(priors / M, pairs / N).reshape(-1, 2)),
        )
        return EnumeratedFamily(checks.frozen(priors), checks.frozen(pairs), M, N, flat=flat)

    def _at_prior(self, prior: int, *, pruned: bool) -> NDArray[np.int16]:
        """The pairs of all agents, shape (structures, agents, 2)."""
        pairs = self.pairs(prior)
        choices = np.indices((len(pairs),) * self.agents).reshape(self.agents, -1).T
        choices = choices[(np.diff(choices, axis=1) >= 0).all(axis=1)] if pruned else choices
        return pairs[choices].astype(np.int16)


@dataclass(frozen=True, eq=False)
class IndependentStructures:
    """Some structures of conditionally independent agents, by their numbers."""

    priors: NDArray[Any]  # (structures,): mu = priors / M
    pairs: NDArray[Any]  # (structures, agents, 2): reports = pairs / N
    M: int = 1
    N: int = 1

    def parameters(self, numbers: Any) -> tuple[Floats, Floats]:
        """Priors (m,) and reports (m, agents, 2) of some structures."""
        return self.priors[numbers] / self.M, self.pairs[numbers] / self.N

    def name(self, number: int) -> str:
        """What to call a structure in a sentence.

        >>> IndependentStructures(np.array([0.2]), np.array([[[0.0, 0.5], [0.2, 0.2]]])).name(0)
        'prior 0.2, reports 0 or 0.5, 0.2 or 0.2'
        """
        prior, reports = self.parameters(number)
        return f"prior {prior:g}, reports " + ", ".join(f"{low:g} or {high:g}" for low, high in reports)

    def record(self, numbers: Integers, weights: Floats, exchanged: tuple[str, ...]) -> IndependentMixture:
        """See Structures."""
        prior, reports = self.parameters(numbers)
        return IndependentMixture(prior=prior, reports=reports, weight=weights, exchanged=exchanged)

    def structure(self, number: int) -> BinaryStructure:
        """One structure with a prior strictly between 0 and 1."""
        prior, reports = self.parameters(number)
        return BinaryStructure(float(prior), reports)


@dataclass(frozen=True, eq=False, kw_only=True)
class EnumeratedFamily(IndependentStructures):
    """The structures of Theta^bci_{N,M} one by one; the flat arrays too."""

    flat: FiniteFamily


def grid(resolution: int) -> Floats:
    """[1/N] = {0, 1/N, ..., 1} [Guo2024, Section 3].

    >>> grid(4)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    return np.arange(resolution + 1) / resolution


def _given(name: str, value: int | None) -> int:
    if value is None:
        raise UnsupportedError(f"a family with continuous {name} cannot be listed; give a number of {name}.")
    return value
