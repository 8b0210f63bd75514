"""Nature on the continuum: independent agents with any reports and any prior, against a table that is interpolated.

Between the knots the forecast is a fixed mean of the table's entries, f(x) = sum_c a_c table_c + constant, so the
regret sum_j p_j (f(x_j) - g_j)^2 of a structure is a convex quadratic of the table, wherever its reports lie: one
second-order cone a cut. Nature's answer is a search (the exact maximum on a grid finer than the knots, or block ascent for
more than two agents, then local searches from its best structures), so the upper bound is *found*; the lower bound is a bound: at the table y that a
quadratic programme proposes against a mixture, convexity gives for every table z of the box

    phi(z) >= phi(y) + phi'(y) . (z - y) + lambda . (G z - slack)  >=  its minimum over the box, cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..aggregators.grid import corners
from ..conic import solve_cones
from ..game.interpolated_master import InterpolatedCuts, InterpolatedMaster
from ..numerics import dot
from ..structures.binary_structure import independent_masses, independent_profiles
from .finite_game import MOST_CUTS
from .grid_oracle import TINY, parameters, worst_by_pair, worst_by_prior
from .independent_nature import BEST_PRIORS, IndependentNature, settled, within
from .nature import Answer, Nature
from .worst_case import Search, continuous_regrets, labelled, off_grid_regret, starts_from, tabulated, worst_case

if TYPE_CHECKING:
    from ..aggregators.grid import GridAggregator
    from ..typing import Floats


FINE_REPORTS = 80
FINE_PRIORS = 160
POLISHED = 24
MARGINS = (0.0, 0.1, 0.2, 0.3)
"""From which distance to 0 and 1 on reports have forecasts that the range of the priors allows, if not everywhere."""


@dataclass(frozen=True, eq=False)
class ContinuousNature(IndependentNature):
    """Additive regret under the square loss; the tables and their layout are those of the grid of knots."""

    exact, final_search = False, True
    check_canonical = Nature.check_canonical

    @cached_property
    def fine(self) -> tuple[Floats, Floats]:
        """Reports, the knots among them, and priors for the first look."""
        N = len(self.family.report_grid) - 1
        steps = N * max(2, round(FINE_REPORTS / N))  # the middles between knots as well: the worst reports may be there
        tails = np.array([1e-4, 1e-3, 3e-3])
        reports = np.unique(np.concatenate((np.arange(steps + 1) / steps, tails, 1 - tails)))
        least, most = max(self.family.prior_range[0], TINY), min(self.family.prior_range[1], 1 - TINY)
        half = min(most, 0.5) if self.family.mirrored else most
        priors = np.unique(np.concatenate((np.linspace(least, half, FINE_PRIORS), tails, 1 - tails)))
        inside = priors[(priors >= least) & (priors <= half)]
        return reports, inside if len(inside) else np.array([min(least, 1 - TINY)])

    def answer(self, table: Floats) -> Answer:
        """See Nature; the label is prior, then low and high of each agent."""
        aggregator = self.aggregator(table)
        if self.family.agents != 2:
            return self._searched(aggregator)
        x, priors = self.fine
        f = tabulated(aggregator, x)
        response = worst_by_prior(x, f, priors)
        search = Search(aggregator, self.tables.loss, self.family.prior_range)
        polished = search.climb(starts_from(response, POLISHED, every=8), np.random.default_rng(0), steps=200)
        zoomed = search.zoom_in(polished, zooms=2)
        more = worst_by_pair(x, f, np.unique(response.worst(BEST_PRIORS)[:, 0]))
        labels = [zoomed.labels, labelled(polished), response.worst(MOST_CUTS), more.worst(MOST_CUTS)]
        return Answer(max(response.value, zoomed.value), np.concatenate(labels))

    def _searched(self, aggregator: GridAggregator) -> Answer:
        """Block ascent on the knots and points between them at many priors, then local searches from the worst."""
        search, agents = Search(aggregator, self.tables.loss, self.family.prior_range), self.family.agents
        starts = search.clipped(search.ascent_starts(agents, MOST_CUTS // 2))
        polished = search.climb(starts[: max(4, POLISHED >> max(agents - 3, 0))], np.random.default_rng(0), steps=60)
        points = np.concatenate((polished, starts))
        values = continuous_regrets(aggregator, points, self.tables.loss)
        return Answer(float(values.max()), labelled(points[np.argsort(-values, kind="stable")]))

    def are_allowed(self, priors: Floats, reports: Floats) -> bool:  # noqa: ARG002
        """See IndependentNature: any reports, and any prior in the range."""
        return within(priors, self.family.prior_range)

    def cuts(self, labels: Floats) -> InterpolatedCuts:
        """See Nature."""
        from scipy import sparse

        priors, reports = parameters(labels)
        mass = independent_masses(priors, reports).reshape(-1, 2)
        chance = mass.sum(axis=1)
        g = np.divide(mass[:, 1], chance, out=np.full(len(mass), 0.5), where=chance > 0)
        points, agents = 2**self.family.agents, self.family.agents
        profiles = independent_profiles(reports).reshape(-1, agents)
        layout, size, root = self.tables.layout, len(self.family.report_grid), np.sqrt(chance)
        columns, values, constant = [], [], np.zeros(len(profiles))
        for corner, share in corners(profiles, size - 1):
            profile = self.profiles(corner)
            flipped = layout.flipped[profile]
            columns.append(layout.cell[profile])
            values.append(root * np.where(flipped, -share, share))
            constant += np.where(flipped, share, 0.0)
        entries = (np.concatenate(values), (np.tile(np.arange(len(profiles)), points), np.concatenate(columns)))
        matrix = sparse.csr_matrix(entries, shape=(len(profiles), self.tables.cells))
        return InterpolatedCuts(matrix, root * (g - constant), points)

    def payoffs(self, labels: Floats, table: Floats) -> Floats:
        """The regret of a table on the structures with these labels."""
        cuts = self.cuts(labels)
        residual = cuts.roots @ self.tables.polyhedron.flat(table) - cuts.targets
        return np.sum((residual**2).reshape(-1, cuts.points), axis=1)

    def master(self) -> InterpolatedMaster:
        """See Nature."""
        return InterpolatedMaster(self.tables)

    def least(self, cuts: InterpolatedCuts, weights: Floats) -> float:
        """See Nature: the bound of the module's head."""
        from scipy import sparse

        heavy = np.repeat(weights, cuts.points) > 1e-14
        scale = sparse.diags(np.sqrt(np.repeat(weights, cuts.points)[heavy]))
        roots, targets = scale @ cuts.roots[heavy], scale @ cuts.targets[heavy]
        polyhedron = self.tables.polyhedron
        solution = solve_cones(
            sparse.triu(2 * (roots.T @ roots) + 1e-13 * sparse.identity(self.tables.cells), format="csc"),
            -2 * (roots.T @ targets),
            polyhedron.matrix,
            polyhedron.side,
            polyhedron.cones,
            accept=lambda one: bool(np.isfinite(one.x).all() and np.isfinite(one.z).all()),
            tolerance=1e-11,
        )
        y, multipliers = solution.x, polyhedron.multipliers(solution.z, np.arange(polyhedron.bonds))[0]
        if not solution.accepted:  # any table and any multipliers give a bound
            y, multipliers = polyhedron.flat(self.first_table()), np.zeros(polyhedron.bonds)
        y = np.where(self.tables.pinned, polyhedron.flat(self.tables.pins), np.clip(y, 0.0, 1.0))
        bonds = polyhedron.unequal[: polyhedron.bonds]
        residual = roots @ y - targets
        slope = 2 * (roots.T @ residual) + bonds.T @ multipliers
        slack = polyhedron.unequal_side[: polyhedron.bonds]
        moves = np.where(self.tables.pinned, 0.0, np.minimum(slope * (0.0 - y), slope * (1.0 - y)))
        return dot(residual, residual) + dot(multipliers, bonds @ y - slack) + float(moves.sum())

    def settled(self, table: Floats, labels: Floats, slack: float) -> tuple[Floats, float]:
        """Plausible forecasts, which can cost something between the knots: only as far from the borders as they hardly do."""

        def worst(one: Floats) -> float:
            """The largest payoff that searches find."""
            free = replace(self.family, reports=None, priors=None)
            if self.family.agents != 2:
                found = off_grid_regret(self.aggregator(one), self.family.prior_range)
                return float(max(self.answer(one).value, self.payoffs(labels, one).max(initial=0.0), found))
            searched = [worst_case(self.aggregator(one), free, rng=seed).regret for seed in (1, 2, 3)]
            seen = self.payoffs(labels, one).max(initial=0.0)
            return float(max(self.answer(one).value, seen, *searched))

        return settled(self, table, slack, worst, MARGINS)
