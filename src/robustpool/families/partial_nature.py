"""Nature of agents with partial information, against a curve of the mean probit.

Her answer is a search over all structures, so the upper bound is *found*. The lower bound is one for *all* aggregators of
all reports, not only for curves: among structures with the same delta and rho, mean z is sufficient for the prior, because
the differences between the agents have one law and are independent of it. Where a mixture has several pairs
(delta, rho), the bound is that of an aggregator who is told which pair it is.

In the master programme each point between two knots is split into parts at both, which keeps the mean of f but adds
E[a (1 - a) (f_right - f_left)^2] to that of f^2, with a its place between them. The tangent of this at the centre is
taken off, so that the programme is exact there up to second order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..aggregators.curve import CurveAggregator
from ..aggregators.restrictions import Mirrored, Monotone, Symmetric
from ..designs.records import ListedMixture
from ..errors import UnsupportedError
from ..game.feasible import posterior_tables
from ..game.master_programme import Cuts, MasterProgramme
from ..numerics import normal_cdf, probit
from .gaussian_quadrature import density, expectations, laws, nodes
from .nature import Answer, Mixture, Nature
from .partial_search import peaks, spaced, start_cube, zoomed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import Restriction
    from ..game.feasible import FeasibleTables
    from ..game.master_programme import Proposal
    from ..losses.loss import Loss
    from ..typing import Floats, Integers
    from .gaussian_quadrature import Points
    from .partial_information import PartialInformation

KNOTS = 121
STRETCHES = np.linspace(1.0, 3.0, 41)
"""Of the curves Phi(k mean z), the best of which is the first."""
FURTHEST_KNOT = 5.5
"""In mean probits; beyond it are the knots 0 and 1."""
ANSWERS = 16
EVERY = 2
"""The first structures have every second threshold of the search."""
ZOOMS = 10
STEEP = 0.97
"""From this share of what can be known on, the omniscient's forecast rises steeply."""
MOST_OF_ALL = 0.99
LIGHT = 1e-9
"""Structures with a smaller weight are left out of the lower bound, which only lowers it."""


@dataclass(frozen=True, eq=False)
class PartialCuts(Cuts):
    """Cuts that know their structures, and what the splitting of points adds: sum of excess (f_right - f_left)^2."""

    labels: Floats
    excess: Floats  # (cuts, knots - 1)


@dataclass(frozen=True, eq=False)
class PartialNature(Nature):
    """Additive regret under the square loss; the label of a structure is (t, delta, overlap)."""

    family: PartialInformation
    tables: FeasibleTables

    exact = False

    @cached_property
    def knots(self) -> Floats:
        """Of the curve."""
        return self.tables.layout.reports[:, 0, 0]

    def knows(self, labels: Floats) -> bool:
        """See Nature."""
        return labels.shape[1] == 3 and self.family.has(labels)

    def points(self, labels: Floats) -> Points:
        """What comes with which chance in structures with these labels."""
        return expectations(labels, self.family.agents, probit(self.knots[1:-1]))

    @property
    def mirrored(self) -> bool:
        """Whether a structure stands for itself and its mirror image."""
        return bool(self.tables.layout.flipped.any())

    @cached_property
    def cube(self) -> Floats:
        """The points of the unit cube to start from."""
        return start_cube(self.family, corner_spread(self.family), mirrored=self.mirrored and self.family.mirrored)

    @cached_property
    def start(self) -> Points:
        """The points of their structures."""
        return self.points(self.family.structures(self.cube.reshape(-1, 3)))

    def first_labels(self) -> Floats:
        """The corner that usually binds, with some thresholds."""
        return self.family.structures(self.cube[:, 0][::EVERY])

    def first_table(self) -> Floats:
        """The best of the curves Phi(k mean z)."""
        layout = self.tables.layout
        tables = [layout.table_of(lambda x, k=k: normal_cdf(k * probit(x[:, 0]))) for k in STRETCHES]  # type: ignore[misc]
        worst = [regrets_at(self.aggregator(table), self.start).max() for table in tables]
        return self.tables.near(tables[int(np.argmin(worst))])

    def aggregator(self, table: Floats) -> CurveAggregator:
        """See Nature."""
        return CurveAggregator(self.family.agents, self.knots, self.tables.layout.spread(table)[:, 1])

    def answer(self, table: Floats) -> Answer:
        """See Nature."""
        curve = self.aggregator(table)
        values = regrets_at(curve, self.start).reshape(self.cube.shape[:2])

        def regrets(some: Floats) -> Floats:
            return curve_regrets(curve, self.family.structures(some), self.family.agents)

        found, regret = zoomed(regrets, self.cube[peaks(values, ANSWERS)], ZOOMS)
        order = np.argsort(-regret, kind="stable")
        return Answer(float(max(regret.max(), values.max())), self.family.structures(found[order]))

    def cuts(self, labels: Floats) -> PartialCuts:
        """See Nature: every knot, with the points around it split between it and its neighbours."""
        points, knots, row = self.points(labels), self.knots, np.arange(len(labels))[:, None]
        left = np.clip(np.searchsorted(knots, points.pooled, side="right") - 1, 0, len(knots) - 2)
        share = (points.pooled - knots[left]) / (knots[left + 1] - knots[left])
        mass, excess = np.zeros((len(labels), len(knots), 2)), np.zeros((len(labels), len(knots) - 1))
        for knot, part in ((left, 1.0 - share), (left + 1, share)):
            for state, chance in enumerate((1.0 - points.posterior, points.posterior)):
                np.add.at(mass[:, :, state], (row, knot), points.chance * chance * part)
        np.add.at(excess, (row, left), points.chance * share * (1.0 - share))
        offset = np.sum(points.chance * points.posterior * (1.0 - points.posterior), axis=1)
        profile = np.broadcast_to(np.arange(len(knots)), mass.shape[:2])
        return PartialCuts(*self.tables.layout.folded(profile, mass), np.ones(len(labels)), offset, labels, excess)

    def master(self) -> Callable[[PartialCuts, Floats, float], Proposal]:
        """See Nature: with the tangent of what the splitting of points adds taken off."""
        programme, layout = MasterProgramme(self.tables), self.tables.layout
        signs = np.where(layout.flipped, -1.0, 1.0)

        def proposed(cuts: PartialCuts, centre: Floats, rho: float) -> Proposal:
            rise = np.diff(layout.spread(centre)[:, 1])
            flow = np.pad(2.0 * cuts.excess * rise, ((0, 0), (1, 1)))
            slope = signs * (flow[:, :-1] - flow[:, 1:])  # of the excess, by knot
            half = slope[:, :, None] / 2 * np.array([-1.0, 1.0])
            tangent = cuts.excess @ rise**2 - slope @ centre[layout.cell, 1] + slope.sum(axis=1) / 2
            shifted = replace(cuts, mass=cuts.mass + half, offset=cuts.offset + tangent)
            proposal = programme(shifted, centre, rho)
            return replace(proposal, weights=concentrated(cuts.labels, proposal.weights), least=-math.inf)

        return proposed

    def least(self, cuts: PartialCuts, weights: Floats) -> float:
        """See Nature: the bound of the module's head."""
        labels, weights = self._mirrored(cuts.labels, weights)
        heavy = weights > LIGHT
        pairs, group = np.unique(labels[heavy][:, 1:], axis=0, return_inverse=True)
        parts = [group.reshape(-1) == k for k in range(len(pairs))]
        return float(sum(least_regret(labels[heavy][one], weights[heavy][one], self.family.agents) for one in parts))

    def settled(self, table: Floats, labels: Floats, slack: float) -> tuple[Floats, float]:  # noqa: ARG002
        """See Nature: over the structures of the bundle too."""
        seen = curve_regrets(self.aggregator(table), labels, self.family.agents)
        return table, float(max(self.answer(table).value, seen.max(initial=0.0)))

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """See Nature: with the mirror images, each in equal parts."""
        labels, weights = self._mirrored(labels, weights)
        return Mixture(PartialStructures(self.family, labels), checks.frozen(weights))

    def _mirrored(self, labels: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """The mixture that the tables face: symmetric in the states if they are."""
        if not self.mirrored:
            return labels, weights
        return np.concatenate((labels, labels * [-1.0, 1.0, 1.0])), np.concatenate((weights, weights)) / 2


@dataclass(frozen=True, eq=False)
class PartialStructures:
    """The structures of a mixture."""

    family: PartialInformation
    labels: Floats

    def name(self, number: int) -> str:
        """What to call a structure in a sentence."""
        one = self.family.structure(self.labels[number])
        return f"prior {one.prior:.4g}, information {one.information:.4g}, overlap {one.overlap:.4g}, together {one.together:.4g}"

    def record(self, numbers: Integers, weights: Floats, exchanged: tuple[str, ...]) -> ListedMixture:  # noqa: ARG002
        """See Structures."""
        structure = tuple(numbers.tolist())
        return ListedMixture(structure=structure, name=tuple(map(self.name, structure)), weight=weights)


def partial_nature(family: PartialInformation, loss: Loss, restrictions: Sequence[Restriction]) -> PartialNature:
    """Nature with the tables of curves of the mean probit, which rise."""
    for limit in restrictions:
        if not isinstance(limit, (Symmetric, Monotone, Mirrored)):
            raise UnsupportedError(f"a curve of the mean probit may be monotone, symmetric or mirrored; not {limit!r}.")
    limits: list[Restriction] = [Monotone()]
    z = spaced(family, KNOTS, corner_spread(family), FURTHEST_KNOT)
    if family.mirrored or any(isinstance(limit, Mirrored) for limit in restrictions):
        limits += [Mirrored()]
        z = np.union1d(z, 0.0)  # the mirror keeps the knot 1/2 in its place
    knots = np.concatenate(([0.0], normal_cdf(z), [1.0]))
    return PartialNature(family, posterior_tables(knots[:, None], loss, limits, lambda x: x[:, 0]))


def concentrated(labels: Floats, weights: Floats) -> Floats:
    """A mixture without the crumbs outside of the pair (delta, overlap) that has most of its weight.

    Of the other pairs the lower bound would count almost nothing.
    """
    pairs, pair = np.unique(labels[:, 1:], axis=0, return_inverse=True)
    shares = np.bincount(pair.reshape(-1), weights=weights, minlength=len(pairs))
    if shares.max() < MOST_OF_ALL * shares.sum():
        return weights
    kept = np.where(pair.reshape(-1) == shares.argmax(), weights, 0.0)
    return np.asarray(kept / kept.sum())


def corner_spread(family: PartialInformation) -> float:
    """How far mean z is spread in the structures with the least overlap and the most information."""
    return float(laws(family.structures(np.array([[0.5, 1.0, 0.0]])), family.agents).spread[0, 0])


def curve_regrets(curve: CurveAggregator, labels: Floats, agents: int) -> Floats:
    """The regret of a curve on structures (t, delta, overlap)."""
    if not len(labels):
        return np.zeros(0)
    return regrets_at(curve, expectations(labels, agents, probit(curve.knots[1:-1])))


def regrets_at(curve: CurveAggregator, points: Points) -> Floats:
    """The same from their points."""
    return np.asarray(np.sum(points.chance * (curve.at(points.pooled) - points.posterior) ** 2, axis=1))


def least_regret(labels: Floats, weights: Floats, agents: int) -> float:
    """min over f of sum_k w_k E_k[(f(mean z) - g_k)^2]: f is the mean of the g_k, by how likely mean z is in each.

    All structures have the same delta and overlap. By quadrature over mean z, with panels of a fifth of its spread and, where
    the g_k are steep, those of their steps.
    """
    rule = laws(labels, agents)
    spread = float(rule.spread[0, 0])
    if spread == 0:  # one value of mean z in each structure, from which the prior is read off
        return 0.0
    width = spread / 5
    regular = width * np.unique(np.rint((rule.centre + width * np.arange(-35, 36)) / width))
    steep = float(rule.together[0, 0]) > STEEP
    ends = np.unique(np.append(regular, rule.centre + spread * rule.panels(np.zeros(0)))) if steep else regular
    z, step = nodes(ends)
    u = (z - rule.centre) / rule.spread
    mass = weights[:, None] * density(u) / rule.spread * step
    g = rule.posterior(u)
    total = mass.sum(axis=0)
    best = np.divide((mass * g).sum(axis=0), total, out=np.full(len(total), 0.5), where=total > 0)
    return float(np.sum(mass * (best - g) ** 2))
