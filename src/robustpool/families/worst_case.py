"""The structure that hurts an aggregator most, by search: what it returns is found, never proved.

Two agents: the exact maximum over a coarse grid of reports and priors that is dense at the corners (``grid_oracle``), then
many local searches from its best structures, over continuous reports and priors. More agents: local searches from
structures drawn at random, from those in which all agents are alike, from those with one informed agent, and from what block
ascent finds on a grid of reports (``many_agents``) if the aggregator treats the agents alike; of six or more agents under a named
rule, only among structures with few types of agents (``few_types``). A local search moves all its starts at once, so
the aggregator is called with large arrays. A table has kinks at its knots, where the worst reports like to stay while the
prior moves, and where a local search gets stuck: there the best structures are zoomed in on, by exact maxima over finer
and finer grids that hold the knots.

A structure is searched in the coordinates logit mu, u_i = low_i / mu and v_i = (1 - high_i) / (1 - mu), in which every
point of a box is a structure, reports of 0 and 1 are its faces, and priors of 1e-9 are as easy as others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from math import comb
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .. import checks, html
from ..aggregators.multisets import multisets
from ..aggregators.rules import Rule
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..errors import InputError, UnsupportedError
from ..execution import mapped
from ..losses import get_loss
from ..structures.binary_structure import BinaryStructure, independent_masses, independent_profiles
from ..structures.common_source_structure import event_masses, event_reports
from ..wording import outward
from .compass import climbed
from .conditionally_independent import ConditionallyIndependent
from .finite import FiniteFamily
from .grid_oracle import PARTS, Grid, WorstStructures, joined, oracle_grid, parameters, worst_any_prior, worst_by_prior
from .many_agents import MOST_WORK, ascended, symmetric_table, work, worst_any_prior_of, worst_of
from .regret import expected_divergence, forecasts_of, regrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from ..aggregators.grid import GridAggregator
    from ..losses.loss import Loss
    from ..typing import Floats
    from .few_types import Types
    from .world import World


MANY = 6  # agents, from which on named rules are searched among structures with few types of agents
MOST_AGENTS = 100
STARTS = 36
STEPS = 400
ZOOMS = 6

MOST_POINTS = 160_000
"""Profiles of reports, as multisets, on which block ascent looks for starts."""

SHORT_SEARCH = 4e8
"""How many numbers a short search looks at, roughly: some seconds."""

SAME = 1e-9
"""Forecasts that differ by no more count as the same."""


class Structure(Protocol):
    """A structure that a search found."""

    def as_data(self) -> dict[str, Any]:
        """Its numbers, as plain data."""

    def words(self) -> dict[str, str]:
        """Its numbers in words, each with its name."""


@dataclass(frozen=True, eq=False)
class WorstCase:
    """A structure and the aggregator's regret on it: the worst that a search found, not a bound.

    Of a finite family, or reports and priors on grids, it is the worst of all, in floating point: ``exhaustive``.
    """

    regret: float
    structure: Structure | int  # of a finite family: the number of the structure
    proved: bool = False
    exhaustive: bool = False
    error: float | None = None  # the standard error of the regret, where it is the mean of random draws

    def _repr_html_(self) -> html.Html:
        """In a notebook: the regret, and the structure that has it."""
        searched = "found by search, not proved: another structure may be worse"
        how = "proved" if self.proved else "the largest of all, in floating point" if self.exhaustive else searched
        simulated = "" if self.error is None else f" (simulated, standard error {self.error:.1g})"
        said = html.line(f"regret {outward(self.regret, 'ROUND_FLOOR', 9)}{simulated}, {how}")
        if isinstance(self.structure, int):
            return html.card("Worst case", said, html.line(f"on structure {self.structure:,} of the family"))
        return html.card("Worst case", said, html.facts(list(self.structure.words().items())))


def worst_case(
    aggregator: AnyAggregator,
    family: World | FiniteFamily | None = None,
    *,
    loss: str | Loss = "square",
    rng: int | np.random.Generator = 0,
) -> WorstCase:
    """Search for the structure with the largest additive regret: of two independent agents, unless a family is given.

    Each world has its own search. A family with ``reports`` and ``priors`` on grids, or a finite one, is searched through and through, unless the pairs
    of many agents are too many; ``exhaustive`` says whether it was.

    >>> found = worst_case(lambda x: x.mean(axis=1))
    >>> round(found.regret, 6), round(found.structure.prior, 6)
    (0.0625, 0.5)
    """
    loss = get_loss(loss)
    aggregator = as_aggregator(aggregator)  # once, not at every call
    if getattr(aggregator, "weights", None):
        raise UnsupportedError(
            "a pool with learned weights depends on who reports; a worst case is that of a rule for anybody."
        )
    if isinstance(family, FiniteFamily):
        values = regrets(aggregator, family, loss=loss)
        return WorstCase(float(values.max()), int(values.argmax()), exhaustive=True)
    if not loss.proper:
        raise UnsupportedError(f"the worst case is searched under proper losses, not under {loss.name!r}.")
    family = ConditionallyIndependent(2, None, None) if family is None else family
    seed = rng if isinstance(rng, np.random.Generator) else checks.whole("the seed", rng, least=0)
    return family.worst_case(aggregator, loss, np.random.default_rng(seed))


def worst_independent(
    aggregator: Callable[[Any], Any], family: ConditionallyIndependent, loss: Loss, rng: np.random.Generator
) -> WorstCase:
    """The same for conditionally independent agents."""
    if family.reports is not None and (worst := _on_grid(aggregator, family, loss)) is not None:
        return worst
    default = ConditionallyIndependent(family.agents)  # its grids are left out where there is no oracle
    if (family.reports, family.priors) not in ((None, None), (default.reports, default.priors)):
        raise UnsupportedError(
            "the worst case on a grid needs a loss with a compiled kernel and, for more than two agents, an aggregator whose "
            "forecast does not change when two agents swap reports; leave reports and priors open."
        )
    if family.agents > MOST_AGENTS:
        raise UnsupportedError(f"a worst case is searched for at most {MOST_AGENTS} agents; there are {family.agents}.")
    search = Search(aggregator, loss, family.prior_range)
    if isinstance(aggregator, Rule) and family.agents >= MANY and find_spec("scipy"):
        return search.among_few_types(aggregator, family.agents, rng)
    if family.agents == 2 and loss.kernel is not None:
        starts = search.grid_starts()
    else:
        starts = np.concatenate((random_starts(family.agents, rng), search.ascent_starts(family.agents, STARTS)))
    return search.best_of(search.climb(search.clipped(starts), rng))


def off_grid_regret(aggregator: GridAggregator, prior_range: tuple[float, float], loss: str | Loss = "square") -> float:
    """The worst regret that a short search finds for an interpolated table over any reports and priors.

    Two agents: as in ``worst_case``. More: block ascent on the knots and points between them, then local searches, as many
    steps as take a few seconds.
    """
    agents, loss = aggregator.agents, get_loss(loss)
    if agents == 2:
        return worst_case(aggregator, ConditionallyIndependent(2, None, None, prior_range), loss=loss).regret
    search = Search(aggregator, loss, prior_range)
    a_step = 2.0 * (1 + 2 * agents) * 4.0**agents * agents  # numbers to look at for a step of one start
    count = int(np.clip(SHORT_SEARCH / (40 * a_step), 4, STARTS))
    starts = search.clipped(search.ascent_starts(agents, count))
    steps = int(np.clip(SHORT_SEARCH / (count * a_step), 10, STEPS))
    points = np.concatenate((starts, search.climb(starts, np.random.default_rng(0), steps=steps)))
    return float(continuous_regrets(aggregator, points, loss).max())


def tabulated(aggregator: AnyAggregator, x: Floats, agents: int = 2) -> Floats:
    """What an aggregator says on the grid of reports ``x``, shape (len(x), ..., len(x)); 1/2 where 0 meets 1."""
    profiles = np.stack(np.meshgrid(*[x] * agents, indexing="ij"), axis=-1).reshape(-1, agents)
    impossible = (profiles == 0).any(axis=1) & (profiles == 1).any(axis=1)
    said = np.full(len(profiles), 0.5)
    said[~impossible] = forecasts_of(aggregator, profiles[~impossible], 2)[:, 1]
    return said.reshape((len(x),) * agents)


def _on_grid(aggregator: AnyAggregator, family: ConditionallyIndependent, loss: Loss) -> WorstCase | None:
    """The worst structure with reports and priors on grids; None where there is no oracle."""
    if loss.kernel is None:
        return None
    x, inner = family.report_grid, np.zeros(0)
    if family.priors is not None:
        inner = family.prior_grid[(family.prior_grid > 0) & (family.prior_grid < 1)]
        if not len(inner):
            raise UnsupportedError(
                f"the worst case needs a prior strictly between 0 and 1; the priors are {family.prior_grid.tolist()}."
            )
    if family.agents == 2:
        f, exhaustive = tabulated(aggregator, x), family.priors is not None
        free = worst_any_prior(x, f, loss=loss, prior_range=family.prior_range) if not exhaustive else None
        response = free or worst_by_prior(x, f, inner, loss=loss)
    else:
        said = by_multiset(aggregator, x, family.agents)
        if said is None:
            return None
        table = symmetric_table(x, family.agents, said, loss=loss)
        exhaustive = family.priors is not None and work(x, family.agents, inner) <= MOST_WORK
        response = worst_any_prior_of(table, family.prior_range) if family.priors is None else worst_of(table, inner)
    certain = [end for end in (0.0, 1.0) if family.priors is not None and end in family.prior_grid]
    if certain:  # where the prior is 0 or 1 everybody says so; there a sensible aggregator has no regret
        said = forecasts_of(aggregator, np.repeat(np.array(certain)[:, None], family.agents, axis=1), 2)
        regrets = loss.divergence(said, np.stack((1 - np.array(certain), certain), axis=1))
        exhaustive = exhaustive and bool((regrets <= response.value).all())
    return WorstCase(response.value, response.structure(), exhaustive=exhaustive)


def by_multiset(aggregator: AnyAggregator, x: Floats, agents: int) -> Floats | None:
    """What an aggregator says at the multisets of the reports ``x``, 1/2 where 0 meets 1; None if it tells agents apart."""
    checks.fits_in_memory(
        f"{comb(len(x) + agents - 1, agents):,} profiles", 40.0 * agents * comb(len(x) + agents - 1, agents)
    )
    profiles = x[multisets(len(x), agents)]
    comes = ~((profiles == 0).any(axis=1) & (profiles == 1).any(axis=1))
    said = np.full(len(profiles), 0.5)
    said[comes] = forecasts_of(aggregator, profiles[comes], 2)[:, 1]
    swapped = [1, 0, *range(2, agents)] if agents > 1 else [0]
    for order in (swapped, np.roll(np.arange(agents), 1)):  # from these two every order can be made
        again = forecasts_of(aggregator, profiles[comes][:, order], 2)[:, 1]
        if np.abs(again - said[comes]).max(initial=0.0) > SAME:
            return None
    return said


def weakness(
    aggregator: AnyAggregator, reports: ArrayLike, priors: ArrayLike, *, loss: str | Loss = "square"
) -> Floats:
    """R(x_1, x_2), the worst regret over structures that can produce these reports; shape (len(reports), len(reports)).

    R(x_1, x_2) = max over theta with Pr_theta[x_1, x_2] > 0 of R(f, theta) [Guo2024, Section 7.1]. Here theta runs through
    all structures of two conditionally independent agents with two signals each and these reports and priors: the exact
    maximum over these, so a lower bound on the one over all structures. (0, 1) and (1, 0) never come, and get 0.

    The reports increase from 0 or more to 1 or less; the priors lie strictly between 0 and 1. The loss is square or log,
    or another one with a kernel.

    >>> x = np.linspace(0, 1, 5)
    >>> weakness("mean", x, np.arange(1, 8) / 8).round(4)[0]   # weak where one agent is certain
    array([0.0469, 0.0547, 0.0625, 0.0547, 0.    ])
    """
    checks.extra("the weakness of an aggregator", "solve")
    x, mu = checks.unit_array("reports", reports), checks.unit_array("priors", priors)
    if x.ndim != 1 or len(x) < 2 or not (np.diff(x) > 0).all():
        raise InputError("reports must be a list of two or more numbers that rise.")
    if mu.ndim != 1 or len(mu) == 0 or not ((mu > 0) & (mu < 1)).all():
        raise InputError("priors must be a list of one or more numbers strictly between 0 and 1.")
    grid = oracle_grid(x, tabulated(aggregator, x), loss=loss)
    parts = [mu[k::PARTS] for k in range(PARTS)]
    worst = np.max(list(mapped(_worst_by_reports, parts, grid, compiled=True)), axis=0)
    impossible = np.outer(x == 0, x == 1)
    return np.where(impossible | impossible.T, 0.0, worst)


def _worst_by_reports(grid: Grid, priors: Floats) -> Floats:
    from .envelopes import worst_by_reports

    worst = np.zeros_like(grid[1])
    for prior in priors:
        worst_by_reports(prior, *grid, worst)
    return worst


@dataclass(frozen=True)
class Search:
    """A search for the worst structure of an aggregator, with priors in a range; structures are points (see ``encode``)."""

    aggregator: AnyAggregator
    loss: Loss
    prior_range: tuple[float, float]

    def best_of(self, points: Floats) -> WorstCase:
        """The worst of some structures; of a table, what zooming in on the worst few of them finds."""
        worst = self.zoom_in(points)
        return WorstCase(worst.value, worst.structure())

    def among_few_types(self, rule: Rule, agents: int, rng: np.random.Generator) -> WorstCase:
        """The worst structure of a named rule, which is symmetric, with agents of few types."""
        from .few_types import worst_of_few_types

        regrets_of = partial(_regrets_of_types, rule, self.loss)
        regret, point = worst_of_few_types(regrets_of, agents, self.clipped, rng)
        prior, reports = decode(point[None])
        return WorstCase(regret, BinaryStructure(float(prior[0]), reports[0]))

    def zoom_in(self, points: Floats, zooms: int = ZOOMS) -> WorstStructures:
        """The worst of some structures, and, of a table for two agents, what zooming in on the worst few of them finds."""
        values = continuous_regrets(self.aggregator, points, self.loss)
        order = np.argsort(-values, kind="stable")
        labels = labelled(points[order])
        worst = WorstStructures(values[order[:1]], labels[:1])
        if not len(_knots(self.aggregator)) or labels.shape[1] != 5 or self.loss.kernel is None:
            return worst  # the exact maxima are those of two agents
        apart: list[Floats] = []
        for label in labels:
            if len(apart) < zooms and all(abs(label[0] - other[0]) > 1e-3 for other in apart):
                apart.append(label)
        return joined((worst, *map(self._zoom, apart)))

    def _zoom(self, label: Floats) -> WorstStructures:
        """Exact maxima over the knots, reports around the best ones and priors around the best one, ever closer."""
        best, width = WorstStructures(np.array([-np.inf]), label[None]), 0.005
        while width > 1e-10:
            prior, *reports = best.labels[0]
            near = np.add.outer(reports, width * np.linspace(-1, 1, 9))
            x = np.unique(np.concatenate((_knots(self.aggregator), np.clip(near.ravel(), 0, 1))))
            priors = np.unique(np.clip(prior + width * np.linspace(-1, 1, 13), *inside(self.prior_range)))
            response = worst_by_prior(x, tabulated(self.aggregator, x), priors, loss=self.loss)
            if response.value > best.value:
                best = WorstStructures(response.values.max(keepdims=True), response.worst(1))
            width *= 0.4
        return best

    def grid_starts(self) -> Floats:
        """The best structures of a coarse grid that is dense at the corners, one for each of the best priors."""
        tails = 10.0 ** np.array([-9.0, -6.0, -4.0, -3.0, -2.5, -2.0, -1.6])
        x = np.unique(np.concatenate(([0.0, 1.0], np.arange(1, 32) / 32, tails, 1 - tails, _knots(self.aggregator))))
        low, high = inside(self.prior_range)
        priors = np.unique(np.concatenate((np.arange(1, 64) / 64, tails, 1 - tails, np.linspace(low, high, 33))))
        priors = priors[(priors >= low) & (priors <= high)]
        response = worst_by_prior(x, tabulated(self.aggregator, x), priors, loss=self.loss)
        return starts_from(response, STARTS, every=3)

    def ascent_starts(self, agents: int, count: int) -> Floats:
        """What block ascent finds for an aggregator that treats the agents alike, on the knots of a table and points between."""
        none = np.zeros((0, 1 + 2 * agents))
        if self.loss.kernel is None or not find_spec("numba"):  # the search goes on from its random starts
            return none
        x = _points(self.aggregator, agents)
        said = by_multiset(self.aggregator, x, agents)
        if said is None:
            return none
        low, high = inside(self.prior_range)
        priors = np.unique(np.concatenate((np.arange(1, 32) / 32, [1e-4, 1e-2, 0.99], np.linspace(low, high, 17))))
        priors = priors[(priors >= low) & (priors <= high)]
        return starts_from(ascended(symmetric_table(x, agents, said, loss=self.loss), priors), count, every=3)

    def climb(self, points: Floats, rng: np.random.Generator, steps: int = STEPS) -> Floats:
        """Compass search from all points at once."""
        agents = points.shape[1] // 2
        return climbed(self.regrets, self.clipped, points, rng, steps, keep=STARTS, work=agents << agents)[1]

    def regrets(self, points: Floats) -> Floats:
        """The regret on the structures at these points."""
        return continuous_regrets(self.aggregator, points, self.loss)

    def clipped(self, points: Floats) -> Floats:
        """Points brought back into the box."""
        points[..., 0] = np.clip(points[..., 0], *logit_range(self.prior_range))
        points[..., 1:] = np.clip(points[..., 1:], 0.0, 1.0)
        return points


def _regrets_of_types(rule: Rule, loss: Loss, types: Types, points: Floats) -> Floats:
    from .few_types import regrets_of_types

    return regrets_of_types(rule, types, points, loss.divergence)


def _knots(aggregator: AnyAggregator) -> Floats:
    """The knots of a grid design, where its worst structures like to be; none for other aggregators."""
    resolution = getattr(getattr(aggregator, "aggregator", aggregator), "resolution", None)
    return np.arange(resolution + 1) / resolution if isinstance(resolution, int) and resolution <= 128 else np.zeros(0)


def _points(aggregator: AnyAggregator, agents: int) -> Floats:
    """Reports for block ascent: the knots and as many points between as stay within MOST_POINTS profiles, or a grid."""
    knots = _knots(aggregator)
    if len(knots) and comb(len(knots) + agents - 1, agents) <= MOST_POINTS:
        parts = 1
        while parts < 8 and comb((parts + 1) * (len(knots) - 1) + agents, agents) <= MOST_POINTS:
            parts += 1
        return np.arange(parts * (len(knots) - 1) + 1) / (parts * (len(knots) - 1))
    size = 3
    while size < 65 and comb(size + 1 + agents, agents) <= MOST_POINTS // 8:
        size += 2
    return np.arange(size) / (size - 1)


def starts_from(response: WorstStructures, count: int, every: int) -> Floats:
    """Points to start from: the best structures, and some of the others."""
    labels = response.worst(len(response.values))
    return encode(*parameters(np.concatenate((labels[: count // 2], labels[count // 2 :: every]))[:count]))


def random_starts(agents: int, rng: np.random.Generator) -> Floats:
    """Structures drawn at random; in a third of them all agents are alike, in a third every low report is 0.

    In half of the others only the first agent learns anything: the worst case of every function of the summed log-odds
    (docs/derivations/log-odds-certificates).
    """
    points = rng.random((12 * STARTS, 1 + 2 * agents))
    points[:, 0] = rng.normal(0.0, 2.0, len(points))
    alike = slice(0, 4 * STARTS)
    points[alike, 1::2], points[alike, 2::2] = points[alike, 1:2], points[alike, 2:3]
    points[4 * STARTS : 8 * STARTS, 1::2] = 0.0
    points[8 * STARTS : 10 * STARTS, 3:] = 1.0
    return points


def continuous_regrets(aggregator: AnyAggregator, points: Floats, loss: Loss, chances: Floats | None = None) -> Floats:
    """The regret E[D(f, g)] on the structures with the coordinates ``points``: (m, 1 + 2n) -> (m,).

    It is sum over profiles of sum_omega Pr[x, omega] (l(f, omega) - l(g, omega)), without the loss of digits. If ``chances``
    (m, 2) are given, the points are about a hidden state y, and the event has the chance p_y.
    """
    prior, reports = decode(points)
    profile, mass = independent_profiles(reports), independent_masses(prior, reports)
    if chances is not None:
        profile, mass = event_reports(profile, chances), event_masses(mass, chances)
    return expected_divergence(aggregator, profile, mass, loss)


def encode(prior: Floats, reports: Floats) -> Floats:
    """Structures as points: logit mu, then u = low / mu and v = (1 - high) / (1 - mu) of each agent."""
    u = reports[:, :, 0] / prior[:, None]
    v = (1 - reports[:, :, 1]) / (1 - prior[:, None])
    return np.concatenate((logit(prior)[:, None], np.stack((u, v), axis=2).reshape(len(prior), -1)), axis=1)


def decode(points: Floats) -> tuple[Floats, Floats]:
    """Points as priors (m,) and reports (m, n, 2); low <= mu <= high whatever the rounding."""
    prior = 1.0 / (1.0 + np.exp(-points[:, 0]))
    u, v = points[:, 1::2], points[:, 2::2]
    low = np.minimum(prior[:, None] * u, prior[:, None])
    high = np.maximum(1.0 - (1.0 - prior[:, None]) * v, prior[:, None])
    return prior, np.stack((low, high), axis=2)


def labelled(points: Floats) -> Floats:
    """Points as the labels of structures: prior, then low and high of each agent, shape (m, 1 + 2n)."""
    prior, reports = decode(points)
    return np.column_stack((prior, reports.reshape(len(prior), -1)))


def logit(prior: Any) -> Any:
    """logit mu."""
    return np.log(prior) - np.log1p(-prior)


def inside(prior_range: tuple[float, float]) -> tuple[float, float]:
    """The range without 0 and 1, as far as the search goes: from 1e-9 to 1 - 1e-9, unless it lies beyond."""
    low, high = prior_range
    low, high = low or min(1e-9, high / 2), high if high < 1 else max(1 - 1e-9, (1 + low) / 2)
    return low, high


def logit_range(prior_range: tuple[float, float]) -> tuple[float, float]:
    """The log-odds of the priors that the search takes."""
    low, high = map(logit, inside(prior_range))
    return float(low), float(high)
