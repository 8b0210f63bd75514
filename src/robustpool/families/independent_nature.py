"""Nature of conditionally independent agents on a grid of reports.

There is an exact answer that needs no list of structures, under a loss that the compiled oracles know: ``grid_oracle`` for
two agents, ``many_agents`` for any other number. Else the structures are written out. Where symmetry allows, only one of the structures that it makes equal is kept: such losses and
the Lipschitz and monotone tables are symmetric in agents and states, so some optimal table is as well
[Guo2024, lem:symmetry]. What users state need not be.

Agents with a prior between lo and hi have an omniscient posterior between g_hi(x) and g_lo(x), as it falls in the prior. A
forecast outside is beaten on every structure by the nearer end of that interval, under any proper loss; a solver may leave
one in a table all the same, where the worst case does not depend on it. The table that is returned has none, if it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import factorial, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..aggregators.grid import GridAggregator
from ..aggregators.multisets import additions, grid_ranks, multisets, ranks
from ..aggregators.restrictions import Constrained, Mirrored, Restriction, Symmetric
from ..aggregators.rules import get_rule
from ..game.feasible import posterior_tables, symmetric_tables
from ..game.master_programme import Aim, MasterProgramme
from ..numerics import ROUNDING
from ..structures.binary_structure import independent_masses, independent_profiles, omniscient_posterior
from .conditionally_independent import IndependentStructures
from .finite_game import MOST_CUTS, FiniteNature, finite_game
from .grid_oracle import WorstStructures, joined, parameters, worst_any_prior, worst_by_pair, worst_by_prior
from .many_agents import MOST_WORK, symmetric_table, work, worst_any_prior_of, worst_of
from .nature import Answer, Mixture, Nature, are_multiples, unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import TableLayout
    from ..game.feasible import FeasibleTables
    from ..losses.loss import Loss
    from ..typing import Floats, Integers
    from .conditionally_independent import ConditionallyIndependent

BEST_PRIORS, MORE, MORE_IF_BOUND = 8, MOST_CUTS, 32
"""Two agents: at so many priors of the worst structures, so many more structures are cuts; fewer if restrictions bind the cells to
each other, because then a cut says more and a programme takes longer. One structure for each prior would be too few."""

FEW_REPORTS = 32
"""From this many on, the grid of half as many reports is solved first."""

START = {"log": "minimax-log"}
START_ELSE = "minimax:unanimous=0"
"""The rule that a table starts from, by the loss; a good one saves minutes with four agents or many reports."""

CANONICAL_ROUNDS, CANONICAL_CUTS = 100, 150
"""Of the search for a canonical table: its rounds at most, and the new cuts of each."""

TIE = 1e-3
"""The weight of the distance to the geometric mean of odds beside the roughness, so that one table is best."""

PARTS = 2.0**40  # of 1, in which forecasts on a grid are counted


@dataclass(frozen=True, eq=False)
class IndependentNature(Nature):
    """Conditionally independent agents with reports on a grid: the exact worst structure of every prior.

    The tables are symmetric in the agents, and in the states if the range of priors is. The label of a structure is
    prior, then low and high of each agent. The profiles of two agents are the full grid, those of more are multisets.
    """

    family: ConditionallyIndependent
    tables: FeasibleTables
    paradigm: str
    restrictions: tuple[Restriction, ...] = ()
    labels: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # structures that a coarser grid found to matter

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """With continuous priors, the priors are searched; and where the pairs of many agents are too many, the pairs."""
        family = self.family
        return family.priors is not None and (family.agents == 2 or work(*self._game, self._inner) <= MOST_WORK)

    @property
    def mirrored(self) -> bool:
        """Whether the tables and the structures are those of one half, the other being its mirror image."""
        return self.family.mirrored and not _bound(self.family, self.restrictions)

    @property
    def _game(self) -> tuple[Floats, int]:
        """The reports and the number of the agents."""
        return self.family.report_grid, self.family.agents

    @property
    def _inner(self) -> Floats:
        """The priors strictly between 0 and 1, of the lower half where the mirror allows."""
        priors = self.family.prior_grid
        return priors[(priors > 0) & (priors < 1) & (priors <= (0.5 if self.mirrored else 1.0))]

    def first_labels(self) -> Floats:
        """See Nature."""
        return self.labels

    def by_profile(self, table: Floats) -> Floats:
        """A table as forecasts of the second state at each profile of the layout.

        Forecasts are multiples of 2^-40, so that the mirror image of each, 1 - f, is exact: certificates use it.
        """
        layout = self.tables.layout
        second = (np.round(table[:, 1] * PARTS) / PARTS)[layout.cell]
        return np.where(layout.flipped, 1 - second, second)

    def forecasts(self, table: Floats) -> Floats:
        """The same at each profile of the full grid, shape (N + 1, ..., N + 1)."""
        x, agents = self._game
        every = self.by_profile(table)
        return every.reshape(len(x), len(x)) if agents == 2 else every[grid_ranks(len(x), agents)]

    def profiles(self, index: Integers) -> Integers:
        """The numbers of profiles (..., agents) of grid points in the layout."""
        return index @ (len(self.family.report_grid), 1) if self.family.agents == 2 else ranks(index)

    def worst(self, table: Floats) -> WorstStructures:
        """The worst structure of every prior strictly between 0 and 1, or of the lower half where the mirror allows."""
        family, (low, high) = self.family, self.family.prior_range
        game: dict[str, Any] = {"loss": self.tables.loss, "paradigm": self.paradigm}
        half = (low, min(high, 0.5 if self.mirrored else 1.0))
        if family.agents != 2:
            oracle = symmetric_table(*self._game, self.by_profile(table), **game)
            return worst_any_prior_of(oracle, half) if family.priors is None else worst_of(oracle, self._inner)
        x, f = family.report_grid, self.forecasts(table)
        if family.priors is None:
            response = worst_any_prior(x, f, prior_range=half, **game)
        else:
            response = worst_by_prior(x, f, self._inner, **game)
        best = np.unique(response.worst(BEST_PRIORS)[:, 0])
        pairs = _once(worst_by_pair(x, f, best, **game), at_any_prior=True)
        most = MORE_IF_BOUND if len(self.tables.layout.differences) else MORE
        more = WorstStructures(pairs.values[:most], pairs.labels[:most])
        return _once(joined((response, more)), at_any_prior=family.priors is None)

    def answer(self, table: Floats) -> Answer:
        """See Nature. Where the prior may be 0 or 1, so that all is certain, that structure is a cut as well."""
        response = self.worst(table)
        corners = [corner for corner in (0, 1) if self._certain(corner)]
        losses = [self._at_corner(table, corner) for corner in corners]
        certain = np.repeat(np.array(corners, dtype=float)[:, None], response.labels.shape[1], axis=1)
        value = float(np.concatenate((response.values, losses)).max())
        return Answer(value, np.concatenate((response.worst(MOST_CUTS), certain)))

    def knows(self, labels: Floats) -> bool:
        """See Nature: priors and reports on the grids, low <= prior <= high, where the masses sum to 1."""
        if labels.shape[1] != 1 + 2 * self.family.agents or not ((labels >= 0) & (labels <= 1)).all():
            return False
        priors, reports = parameters(labels)
        return self.are_allowed(priors, reports) and _are_structures(priors, reports)

    def are_allowed(self, priors: Floats, reports: Floats) -> bool:
        """Whether the family has these priors and reports."""
        family = self.family
        if family.priors is not None and not are_multiples(priors, family.priors):
            return False
        return within(priors, family.prior_range) and are_multiples(reports, len(family.report_grid) - 1)

    def support(self, labels: Floats) -> tuple[Integers, Floats]:
        """See Nature."""
        priors, reports = parameters(labels)
        index = np.rint(reports * (len(self.family.report_grid) - 1)).astype(np.int64)
        return self.profiles(independent_profiles(index)), independent_masses(priors, reports)

    def payoffs(self, labels: Floats, table: Floats) -> Floats:
        """The payoff of each structure with these labels against a table."""
        return self.cuts(labels).payoffs(self.tables.loss.table(table))

    def settled(self, table: Floats, labels: Floats, slack: float) -> tuple[Floats, float]:
        """Its forecasts brought into what the range of the priors allows, which costs nothing on a grid."""

        def worst(one: Floats) -> float:
            """The largest payoff; with continuous priors a structure that was met before may be worse than what is found now."""
            seen = -np.inf if self.exact else self.payoffs(labels, one).max(initial=-np.inf)
            return float(max(self.answer(one).value, seen))

        return settled(self, table, slack, worst)

    def check_canonical(self, choice: str) -> None:
        """See Nature."""
        if self.tables.layout.constraints:
            super().check_canonical(choice)
        if choice != "smooth":
            get_rule(choice)

    def canonical(self, labels: Floats, upper: float, slack: float, choice: str) -> Floats | None:
        """See Nature.

        Optimal tables are far from unique, and most are ugly between the knots. The second objective is strictly convex,
        so that one table is best, whatever cuts led there: minimise it subject to payoff <= level for all structures, by
        the same cutting planes, until nature's exact answer is at most the level. The cuts are held to nine tenths of the
        slack, so that the rest ends the iteration. None if the cone solver fails or the rounds run out before that.
        """
        quadratic, linear = _roughness(self) if choice == "smooth" else _distance(self, choice, 1.0)
        size = float(abs(quadratic).max())
        aim = Aim(quadratic / size, linear / size, upper + 0.9 * slack)
        master = MasterProgramme(self.tables)
        for _ in range(CANONICAL_ROUNDS):
            proposal = master(self.cuts(labels), self.tables.default, 0.0, aim)
            if proposal.stumbled:
                return None
            value, answers = self.answer(proposal.table)
            if value <= upper + slack:
                return proposal.table
            labels = np.concatenate((labels, unseen(labels, answers)[:CANONICAL_CUTS]))
        return None

    def aggregator(self, table: Floats) -> GridAggregator:
        """See Nature."""
        return GridAggregator(self.forecasts(table))

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """See Nature."""
        exchanged = ("agents", "states") if self.mirrored else ("agents",)
        return Mixture(IndependentStructures(*parameters(labels)), weights, exchanged)

    def coarser(self) -> IndependentNature | None:
        """The grid of half as many reports, if this one is fine and even, for two agents.

        A structure of the coarse grid is one of the fine grid as well; so the cuts that mattered on the coarse grid are
        there from the first round, and the table, interpolated, is nearly right everywhere.
        """
        N = self.family.reports
        if N is None or N < FEW_REPORTS or N % 2 or self.family.agents != 2:
            return None
        half = replace(self.family, reports=N // 2)
        return independent_nature(half, self.tables.loss, self.paradigm, self.restrictions)

    def started(self, aggregator: Callable[[Floats], Floats] | None, labels: Floats) -> IndependentNature:
        """See Nature."""
        tables = self.tables
        if aggregator is not None:
            tables = replace(tables, default=tables.layout.table_of(aggregator))
        return replace(self, tables=tables, labels=labels)

    def _certain(self, corner: int) -> bool:
        low, high = self.family.prior_range
        return low <= corner <= high and not (corner == 1 and self.mirrored)

    def _at_corner(self, table: Floats, corner: int) -> float:
        """The loss of a table where everybody reports 0, or 1, and is right."""
        forecast = self.by_profile(table)[-corner]  # the first profile, or the last
        return float(self.tables.loss.table(np.array([[1.0 - forecast, forecast]]))[0, corner])


def _once(worst: WorstStructures, *, at_any_prior: bool) -> WorstStructures:
    """Structures of two agents, the worst first, without those that are another with the agents exchanged.

    With ``at_any_prior``, also without those whose reports another has at a prior where it pays more.
    """
    order = np.argsort(-worst.values, kind="stable")
    labels = worst.labels[order]
    first, second = labels[:, 1:3], labels[:, 3:5]
    exchanged = (first[:, 0] > second[:, 0]) | ((first[:, 0] == second[:, 0]) & (first[:, 1] > second[:, 1]))
    labels = np.where(exchanged[:, None], labels[:, [0, 3, 4, 1, 2]], labels)
    _, keep = np.unique(labels[:, 1:] if at_any_prior else labels, axis=0, return_index=True)
    keep.sort()
    return WorstStructures(worst.values[order][keep], labels[keep])


def within(values: Floats, ends: tuple[float, float]) -> bool:
    """Whether numbers lie between two others, but for rounding."""
    return bool(((values >= ends[0] - ROUNDING) & (values <= ends[1] + ROUNDING)).all())


def _are_structures(priors: Floats, reports: Floats) -> bool:
    """Whether every prior lies between each agent's reports: else some signal would have a chance below 0, or above 1."""
    masses = independent_masses(priors, reports).sum(axis=(1, 2))
    ordered = (reports[:, :, 0] <= priors[:, None] + ROUNDING) & (priors[:, None] <= reports[:, :, 1] + ROUNDING)
    return bool(ordered.all() and (np.abs(masses - 1.0) <= ROUNDING).all())


def _roughness(nature: IndependentNature) -> tuple[Any, Floats]:
    """The sum of squared second differences along all axes of the grid, plus a little of the distance to a rule."""
    from scipy import sparse

    layout, (x, agents) = nature.tables.layout, nature._game
    size, profiles = len(x), len(layout.cell)
    sign = np.where(layout.flipped, -1.0, 1.0)
    spread = sparse.csr_matrix((sign, (np.arange(profiles), layout.cell)), shape=(profiles, nature.tables.cells))
    if agents == 2:
        unit = sparse.identity(size)
        second = sparse.csr_matrix(np.diff(np.eye(size), n=2, axis=0))
        rough = sparse.vstack((sparse.kron(second, unit), sparse.kron(unit, second)))
    else:
        rough = _second_differences(size, agents)
    onto = (rough @ spread) * size**1.5
    fixed = (rough @ layout.flipped.astype(float)) * size**1.5
    near, pull = _distance(nature, "geometric-odds", TIE)
    return sparse.csc_matrix(2 * (onto.T @ onto) + near), 2 * (onto.T @ fixed) + pull


def _second_differences(size: int, agents: int) -> Any:
    """One agent's second differences for each multiset of what the others report, times how often the full grid has it."""
    from scipy import sparse

    step = additions(size, agents)
    above = step.ranks[step.first[-1] :].reshape(-1, size)
    others = multisets(size, agents - 1)
    equals = np.stack([np.count_nonzero(others == k, axis=1) for k in range(size)])
    often = agents * factorial(agents - 1) / np.prod(np.vectorize(factorial)(equals), axis=0)  # agents: all axes
    scale = np.repeat(np.sqrt(often), max(size - 2, 0))
    columns = np.concatenate([above[:, k : size - 2 + k].ravel() for k in range(3)])
    values = np.concatenate((scale, -2 * scale, scale))
    rows = np.tile(np.arange(len(scale)), 3)
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(scale), step.counts[-1]))


def _distance(nature: IndependentNature, rule: str, weight: float) -> tuple[Any, Floats]:
    """weight |y - rule|^2, each cell counted once."""
    from scipy import sparse

    target = nature.tables.layout.table_of(get_rule(rule))[:, 1]
    return 2 * weight * sparse.identity(len(target), format="csc"), -2 * weight * target


@dataclass(frozen=True, eq=False)
class WrittenOutNature(FiniteNature):
    """Conditionally independent agents whose structures are listed."""

    family: ConditionallyIndependent = field(kw_only=True)

    def settled(self, table: Floats, labels: Floats, slack: float) -> tuple[Floats, float]:  # noqa: ARG002
        """See IndependentNature."""
        return settled(self, table, slack, lambda one: self.answer(one).value)

    def aggregator(self, table: Floats) -> GridAggregator:
        """See Nature."""
        forecasts = self.tables.layout.spread(table)[:, 1]
        return GridAggregator(forecasts.reshape((len(self.family.report_grid),) * self.family.agents))


def has_oracle(loss: Loss, paradigm: str, limits: Sequence[Restriction]) -> bool:
    """Whether there is an exact answer that needs no list of structures; else they are written out."""
    own = any(isinstance(limit, Constrained) for limit in limits)
    return loss.kernel is not None and paradigm in ("additive", "absolute") and not own


def independent_nature(
    family: ConditionallyIndependent,
    loss: Loss,
    paradigm: str,
    limits: Sequence[Restriction],
    kind: type[IndependentNature] = IndependentNature,
) -> IndependentNature:
    """Nature for conditionally independent agents with an exact oracle, or on the continuum."""
    size = min(300.0, family.agents * log10(1 + (family.reports or 0)))  # in digits
    checks.fits_in_memory(f"a table for {family.agents} agents", 16.0 * 10.0**size)
    x, rule = family.report_grid, get_rule(START.get(loss.name, START_ELSE))
    if family.agents == 2:
        reports = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
        tables = posterior_tables(reports, loss, [*limits, *_symmetries(family)], rule)
    else:
        folded = [] if _bound(family, limits) else _symmetries(family)
        tables = symmetric_tables(x, family.agents, loss, [*limits, *folded], rule)
    return kind(family, tables, paradigm, tuple(limits))


def _bound(family: ConditionallyIndependent, limits: Sequence[Restriction]) -> bool:
    """Whether restrictions bind cells to each other across the mirror, which only two agents can be folded along."""
    return family.agents > 2 and any(not isinstance(limit, Symmetric | Mirrored) for limit in limits)


def written_out(
    family: ConditionallyIndependent, loss: Loss, paradigm: str, limits: Sequence[Restriction]
) -> WrittenOutNature:
    """Nature on all structures of the family, pruned where the loss and the restrictions are symmetric."""
    own = not loss.symmetric or any(isinstance(limit, Constrained) for limit in limits)
    pruned = not own and not _bound(family, limits)
    enumerated = family.enumerate(pruned=pruned)
    game = finite_game(enumerated.flat, loss, paradigm, [*limits, *(_symmetries(family) if pruned else ())])
    return WrittenOutNature(game, enumerated, family.symmetries if pruned else (), family=family)


def _symmetries(family: ConditionallyIndependent) -> list[Restriction]:
    return [Symmetric(), Mirrored()] if family.mirrored else [Symmetric()]


def settled(
    nature: Any, table: Floats, slack: float, worst: Callable[[Floats], float], margins: Sequence[float] = (0.0,)
) -> tuple[Floats, float]:
    """The table, plausible if that costs at most ``slack``, and its worst payoff.

    The margins are tried in turn; a table under restrictions is left alone.
    """
    upper, layout, prior_range = worst(table), nature.tables.layout, nature.family.prior_range
    if prior_range == (0.0, 1.0) or len(layout.differences) or layout.constraints:
        return table, upper
    for margin in margins:
        within = plausible(table, layout, prior_range, margin)
        payoff = worst(within)
        if payoff <= upper + slack:
            return within, payoff
    return table, upper


def plausible(table: Floats, layout: TableLayout, prior_range: tuple[float, float], margin: float = 0.0) -> Floats:
    """The table, shape (cells, 2), with the forecasts brought into the interval of their reports.

    Those with a report nearer than ``margin`` to 0 or 1 are left alone: there the posterior is steep, and between the
    knots of a table what is right at a knot can be wrong.
    """
    x, (low, high) = layout.first_profiles, prior_range
    least = omniscient_posterior(high, x) if 0 < high < 1 else np.zeros(len(x))
    most = omniscient_posterior(low, x) if 0 < low < 1 else np.ones(len(x))
    inside = ((x >= margin) & (x <= 1 - margin)).all(axis=1)
    clipped = np.clip(table[:, 1], np.minimum(least, most), np.maximum(least, most))
    second = np.where(inside, clipped, table[:, 1])
    return np.stack((1.0 - second, second), axis=1)
