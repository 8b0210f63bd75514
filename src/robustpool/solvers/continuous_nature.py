"""Nature on the continuum: two independent agents with any reports and any prior, against a table that is interpolated.

Between the knots the forecast is a fixed mean of the table's entries, f(x) = sum_c a_c table_c + constant, so the
regret sum_j p_j (f(x_j) - g_j)^2 of a structure is a convex quadratic of the table, wherever its reports lie: one
second-order cone a cut. Nature's answer is a search (the exact maximum on a grid finer than the knots, then local
searches from its best structures), so the upper bound is *found*; the lower bound is a bound: at the table y that a
quadratic programme proposes against a mixture, convexity gives for every table z of the box

    phi(z) >= phi(y) + phi'(y) . (z - y) + lambda . (G z - slack)  >=  its minimum over the box, cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.grid import GridAggregator
from ..game.losses import Square
from ..game.nature import TINY, best_response, every_pair
from ..game.worst_case import climb, decode, encode, zoom_in
from ..structures.binary_structure import BinaryStructure, independent_masses, independent_profiles
from .master_programme import Proposal
from .natures import NARROW, IndependentNature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..game.response import Responder
    from ..game.tables import Tables
    from ..structures.conditionally_independent import ConditionallyIndependent

    Floats = NDArray[np.float64]

FINE_REPORTS = 80
FINE_PRIORS = 160
POLISHED = 24
MOST_CUTS = 300
POINTS = 4


@dataclass(frozen=True, eq=False)
class InterpolatedCuts:
    """Structures as quadratics of the table y: payoff = sum_j |root_j . y - target_j|^2, j over four points."""

    roots: Any  # sparse, (4 cuts, cells): sqrt(p_j) a_j
    targets: Floats  # (4 cuts,): sqrt(p_j) (g_j - constant_j)

    def __len__(self) -> int:
        """The number of cuts."""
        return len(self.targets) // POINTS


@dataclass(frozen=True, eq=False)
class ContinuousNature:
    """Additive regret under the square loss; the tables and their layout are those of the grid of knots."""

    knots: IndependentNature

    @property
    def tables(self) -> Tables:
        """See Nature."""
        return self.knots.tables

    @property
    def family(self) -> ConditionallyIndependent:
        """The family; its reports are the knots."""
        return self.knots.family

    def first_table(self) -> Floats:
        """See Nature."""
        return self.knots.first_table()

    def first_labels(self) -> Floats:
        """See Nature."""
        return self.knots.first_labels()

    def forecasts(self, table: Floats) -> Floats:
        """A table on the grid of knots."""
        return self.knots.forecasts(table)

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

    def answer(self, table: Floats) -> tuple[float, Floats]:
        """See Nature; the label is prior, low, high, low, high."""
        aggregator = GridAggregator(self.forecasts(table))
        x, priors = self.fine
        grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
        f = aggregator(grid).reshape(len(x), len(x))
        response = best_response(x, f, priors)
        best = np.argsort(-response.values, kind="stable")
        found = x[response.found].reshape(-1, 2, 2)
        picked = np.concatenate((best[: POLISHED // 2], best[POLISHED // 2 :: 8]))[:POLISHED]  # the best, and others
        low, high = self.family.prior_range
        starts, rng = encode(response.priors[picked], found[picked]), np.random.default_rng(0)
        polished = climb(aggregator, starts, Square(), rng, steps=200, prior_range=(low, high))
        zoomed = zoom_in(aggregator, polished, Square(), (low, high), zooms=2)
        structures = [worst.structure for worst in zoomed if isinstance(worst.structure, BinaryStructure)]
        labels = [
            _labels(np.array([s.prior for s in structures]), np.array([s.reports for s in structures])),
            _labels(*decode(polished)),
            _labels(response.priors, found)[best[:MOST_CUTS]],
        ]
        if high - low < NARROW:  # one structure a prior is too little to learn from
            more = every_pair(x, f, response.priors[best[:6]])
            worst = np.argsort(-more.values, kind="stable")[:MOST_CUTS]
            labels.append(_labels(more.priors[worst], x[more.found[worst]]))
        return max(response.value, *(worst.regret for worst in zoomed)), np.concatenate(labels)

    def cuts(self, labels: Floats) -> InterpolatedCuts:
        """See Nature."""
        from scipy import sparse

        priors, reports = labels[:, 0], labels[:, 1:].reshape(-1, 2, 2)
        mass = independent_masses(priors, reports).reshape(-1, 2)
        chance = mass.sum(axis=1)
        g = np.divide(mass[:, 1], chance, out=np.full(len(mass), 0.5), where=chance > 0)
        profiles = independent_profiles(reports).reshape(-1, 2)
        layout, size = self.tables.layout, len(self.family.report_grid)
        scaled = (size - 1) * profiles
        corner = np.minimum(scaled.astype(np.int64), size - 2)
        alpha = scaled - corner
        rows, columns, values, constant = [], [], [], np.zeros(len(profiles))
        for step in product((0, 1), repeat=2):
            share = np.prod(np.where(step, alpha, 1.0 - alpha), axis=1)
            profile = (corner[:, 0] + step[0]) * size + corner[:, 1] + step[1]
            flipped = layout.flipped[profile]
            rows.append(np.arange(len(profiles)))
            columns.append(layout.cell[profile])
            values.append(np.where(flipped, -share, share))
            constant += np.where(flipped, share, 0.0)
        root = np.sqrt(chance)
        entries = (np.concatenate(values) * np.tile(root, 4), (np.concatenate(rows), np.concatenate(columns)))
        matrix = sparse.csr_matrix(entries, shape=(len(profiles), self.tables.cells))
        return InterpolatedCuts(matrix, root * (g - constant))

    def payoffs(self, labels: Floats, table: Floats) -> Floats:
        """The regret of a table on the structures with these labels."""
        cuts = self.cuts(labels)
        residual = cuts.roots @ self.tables.polyhedron.flat(table) - cuts.targets
        return np.sum((residual**2).reshape(-1, POINTS), axis=1)

    def master(self) -> InterpolatedMaster:
        """See Nature."""
        return InterpolatedMaster(self.tables)

    def least(self, cuts: InterpolatedCuts, weights: Floats, responder: Responder) -> float:  # noqa: ARG002
        """See Nature: the bound of the module's head."""
        from scipy import sparse

        heavy = np.repeat(weights, POINTS) > 1e-14
        scale = sparse.diags(np.sqrt(np.repeat(weights, POINTS)[heavy]))
        roots, targets = scale @ cuts.roots[heavy], scale @ cuts.targets[heavy]
        y, multipliers = self._programme(roots, targets)
        polyhedron = self.tables.polyhedron
        bonds = polyhedron.unequal[: polyhedron.bonds]
        residual = roots @ y - targets
        slope = 2 * (roots.T @ residual) + bonds.T @ multipliers
        slack = polyhedron.unequal_side[: polyhedron.bonds]
        moves = np.where(self.tables.pinned, 0.0, np.minimum(slope * (0.0 - y), slope * (1.0 - y)))
        return float(residual @ residual + multipliers @ (bonds @ y - slack) + moves.sum())

    def _programme(self, roots: Any, targets: Floats) -> tuple[Floats, Floats]:
        """The table that minimises |roots y - targets|^2, and the multipliers of the difference constraints."""
        import clarabel
        from scipy import sparse

        polyhedron = self.tables.polyhedron
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        hessian = sparse.triu(2 * (roots.T @ roots) + 1e-13 * sparse.identity(self.tables.cells), format="csc")
        equalities = len(polyhedron.equal_side)
        cones = [clarabel.ZeroConeT(equalities)] if equalities else []
        cones.append(clarabel.NonnegativeConeT(len(polyhedron.unequal_side)))
        matrix = sparse.vstack((polyhedron.equal, polyhedron.unequal), format="csc")
        side = np.concatenate((polyhedron.equal_side, polyhedron.unequal_side))
        solution = clarabel.DefaultSolver(hessian, -2 * (roots.T @ targets), matrix, side, cones, settings).solve()
        y, z = np.array(solution.x), np.array(solution.z)[equalities : equalities + polyhedron.bonds]
        if not (np.isfinite(y).all() and np.isfinite(z).all()):
            y, z = polyhedron.flat(self.first_table()), np.zeros(polyhedron.bonds)
        y = np.where(self.tables.pinned, polyhedron.flat(self.tables.pins), np.clip(y, 0.0, 1.0))
        return y, np.maximum(z, 0.0)


class InterpolatedMaster:
    """min t + rho/2 |y - centre|^2 subject to |roots_k y - targets_k|^2 <= t for each cut k, y in the tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def __call__(self, cuts: InterpolatedCuts, centre: Floats, rho: float) -> Proposal:
        """See MasterProgramme."""
        import clarabel
        from scipy import sparse

        polyhedron, cells, count = self.tables.polyhedron, self.tables.cells, len(cuts)
        size = POINTS + 2  # |(2 v, t - 1)| <= t + 1
        place = np.arange(count) * size
        inner = (place[:, None] + 1 + np.arange(POINTS)).ravel()
        roots = cuts.roots.tocoo()
        rows = np.concatenate((inner[roots.row], place, place + size - 1))
        columns = np.concatenate((roots.col, np.full(2 * count, cells)))
        values = np.concatenate((-2 * roots.data, np.full(2 * count, -1.0)))
        cone_matrix = sparse.csc_matrix((values, (rows, columns)), shape=(count * size, cells + 1))
        cone_side = np.zeros(count * size)
        cone_side[place], cone_side[place + size - 1], cone_side[inner] = 1.0, -1.0, -2 * cuts.targets
        fixed = sparse.vstack((polyhedron.equal, polyhedron.unequal), format="csc")
        fixed = sparse.hstack((fixed, sparse.csc_matrix((fixed.shape[0], 1))))
        matrix = sparse.vstack((fixed, cone_matrix), format="csc")
        side = np.concatenate((polyhedron.equal_side, polyhedron.unequal_side, cone_side))
        equalities = len(polyhedron.equal_side)
        cones = [clarabel.ZeroConeT(equalities)] if equalities else []
        cones += [clarabel.NonnegativeConeT(len(polyhedron.unequal_side)), *[clarabel.SecondOrderConeT(size)] * count]
        linear = np.append(-rho * polyhedron.flat(centre), 1.0)
        objective = sparse.diags(np.append(np.full(cells, rho), 0.0), format="csc")
        stumbled = False
        for regularisation in (1e-8, 1e-6):
            settings = clarabel.DefaultSettings()
            settings.verbose, settings.max_threads = False, 1
            settings.static_regularization_constant = regularisation
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
            solution = clarabel.DefaultSolver(objective, linear, matrix, side, cones, settings).solve()
            x = np.array(solution.x)
            z = np.array(solution.z)[len(side) - len(cone_side) :].reshape(count, size)
            weights = np.maximum(z[:, 0] + z[:, -1], 0.0)  # the multiplier of t in |v|^2 <= t
            if np.isfinite(x).all() and np.isfinite(weights).all() and weights.sum() > 0:
                table = self.tables.feasible(polyhedron.table(x[:cells]))
                return Proposal(table, weights / weights.sum(), stumbled)
            stumbled = True
        return Proposal(centre, np.full(count, 1 / count), stumbled=True)


def _labels(priors: Floats, reports: Floats) -> Floats:
    return np.concatenate((priors[:, None], reports.reshape(-1, 4)), axis=1)
