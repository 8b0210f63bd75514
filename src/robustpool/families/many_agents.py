"""Nature's best response to a symmetric table on a grid, for any number of conditionally independent agents.

Exact for each prior, by going through the pairs of all agents but one (``enumeration``). Block ascent, in which one agent
after the other answers the others by her envelope, is much faster and finds many bad structures, but not always the worst:
what it says is found. Both take the forecasts by the ranks of the multisets of reports (``aggregators.multisets``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..aggregators.multisets import Additions, additions, multisets
from ..execution import mapped
from .grid_oracle import GOLDEN, PEAKS, PRIORS, WorstStructures, compiled_case, joined, prior_grid

if TYPE_CHECKING:
    from ..losses.loss import Loss
    from ..typing import Floats, Integers

MOST_WORK = 1e10
"""Above this many numbers to look at, the worst structure is searched by block ascent instead of enumerated."""

MIXED_STARTS = 32
"""Block ascents from structures with different agents, for each prior; there is one for each pair that all agents share."""

ALIKE_STARTS = 256
"""At most; of more pairs every k-th is taken."""

PRIOR_STEPS = 36
"""Golden sections of an interval of priors: it shrinks by a factor of 3e7."""

AN_ASCENT, A_MULTISET, A_NUMBER = 5e-4, 8e-8, 5e-9
"""Seconds, roughly: for all block ascents of a prior, for each multiset of reports there, and for a number of the enumeration."""

A_PART = 2e8
"""Numbers to look at in one piece of work, roughly: the pairs of the first agent are dealt out in such parts."""

INFINITE = 1e50  # payoffs above this come from an infinite penalty


@dataclass(frozen=True, eq=False)
class SymmetricTable:
    """Forecasts f[r] of n agents at the r-th multiset of the reports x, and the case of ``envelopes.penalty``."""

    x: Floats
    agents: int
    f: Floats
    kind: int

    @property
    def steps(self) -> Additions:
        """The ranks of multisets."""
        return additions(len(self.x), self.agents)

    def costs(self, mu: float) -> Floats:
        """c times the penalty at each multiset of reports."""
        from .enumeration import cost_of_multisets

        costs = np.empty(len(self.f))
        cost_of_multisets(mu, self.x, multisets(len(self.x), self.agents), self.f, self.kind, costs)
        return costs


def symmetric_table(
    x: Floats, agents: int, f: Floats, *, loss: str | Loss = "square", paradigm: str = "additive"
) -> SymmetricTable:
    """The forecasts f[r] at the multisets of ``x`` in a game: a ``loss`` with a kernel, and additive or absolute."""
    return SymmetricTable(x, agents, np.ascontiguousarray(f, dtype=np.float64), compiled_case(loss, paradigm))


def worst_of(table: SymmetricTable, priors: Floats) -> WorstStructures:
    """The worst structures of each prior strictly between 0 and 1: exact if the ``work`` is at most MOST_WORK."""
    response = ascended(table, priors)
    if work(table.x, table.agents, priors) > MOST_WORK:
        return response
    return joined((enumerated(table, priors, response), response), table.agents)


def worst_any_prior_of(table: SymmetricTable, prior_range: tuple[float, float]) -> WorstStructures:
    """The same over all priors of a range, by block ascent at the priors of a fine grid and around its peaks: found."""
    priors = prior_grid(table.x, prior_range, max(PRIORS, 8 * len(table.x)))
    coarse, last = ascended(table, priors), max(len(priors) - 1, 0)
    heights = np.array([coarse.values[coarse.labels[:, 0] == prior].max(initial=-np.inf) for prior in priors])
    padded = np.concatenate(([-np.inf], heights, [-np.inf]))
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    peaks = peaks[np.argsort(-heights[peaks], kind="stable")][:PEAKS]
    low, high = priors[np.maximum(peaks - 1, 0)], priors[np.minimum(peaks + 1, last)]
    for _ in range(PRIOR_STEPS if len(low) else 0):
        one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        both = np.concatenate((one, other))
        values = ascended(table, both, most=1).values
        better = values[: len(low)] >= values[len(low) :]
        low, high = np.where(better, low, one), np.where(better, other, high)
    last_priors = np.concatenate((priors[peaks], (low + high) / 2))
    return joined((worst_of(table, last_priors), coarse), table.agents)


def work(x: Floats, agents: int, priors: Floats) -> float:
    """How many numbers the enumeration looks at, at most: a value at each report for each choice of the other agents."""
    return float(len(x) * sum(choices(pairs_at(x, float(mu)), agents) for mu in priors))


def choices(pairs: int, agents: int) -> int:
    """How many multisets of so many pairs all agents but one may have."""
    return comb(pairs + agents - 2, agents - 1)


def pairs_at(x: Floats, mu: float) -> int:
    """How many pairs of reports an agent may have at a prior: one on either side, or the prior itself."""
    left, right = _around(x, mu)
    return left * (len(x) - right) + (right > left)


def ascended(table: SymmetricTable, priors: Floats, *, most: int = 3) -> WorstStructures:
    """What block ascent finds at each prior, from many starts: at most so many structures, the worst first."""
    checks.extra("the worst case of many agents", "solve")
    items = [(float(mu), most) for mu in priors]
    seconds = (AN_ASCENT + A_MULTISET * len(table.f)) * len(items)
    return joined(mapped(_ascended, items, table, compiled=True, seconds=seconds), table.agents)


def enumerated(table: SymmetricTable, priors: Floats, known: WorstStructures) -> WorstStructures:
    """The worst structure of each prior strictly between 0 and 1; those that are ``known`` save some of the work."""
    checks.extra("the worst case of many agents", "solve")
    items, counts = [], []
    for mu in map(float, priors):
        here = np.flatnonzero(known.labels[:, 0] == mu)
        best = here[np.argmax(known.values[here]) :][:1] if len(here) else here
        parts = first_pairs(table.x, table.agents, mu)
        items += [(mu, part, float(known.values[best].max(initial=-np.inf)), known.labels[best, 1:]) for part in parts]
        counts.append(len(parts))
    seconds = A_NUMBER * work(table.x, table.agents, priors)
    results = mapped(_enumerated, items, table, compiled=True, seconds=seconds)
    return joined((max(islice(results, count), key=_largest) for count in counts), table.agents)


def first_pairs(x: Floats, agents: int, mu: float) -> list[tuple[int, int]]:
    """The pairs of the first agent at a prior, from and to, in parts of about A_PART numbers each.

    The pairs of the others do not come before hers, so the later ones of hers are less work.
    """
    parts = max(1, round(work(x, agents, np.array([mu])) / A_PART))
    pairs = pairs_at(x, mu)
    if agents == 1 or parts == 1:
        return [(0, pairs)]
    left = np.array([choices(pairs - k, agents) for k in range(pairs + 1)], dtype=np.float64)
    ends = np.searchsorted(-left, -left[0] * (1 - np.arange(parts + 1) / parts))
    return [(int(begin), int(end)) for begin, end in pairwise(ends) if begin < end]


def _ascended(table: SymmetricTable, item: tuple[float, int]) -> WorstStructures:
    from .enumeration import ascend_all, pairs_around

    (mu, most), x, agents = item, table.x, table.agents
    pairs, _ = pairs_around(mu, x, *_around(x, mu))
    if len(pairs) == 0:
        return WorstStructures(np.zeros(0), np.zeros((0, 1 + 2 * agents)))
    few = pairs[:: -(-len(pairs) // ALIKE_STARTS)]
    mixed = pairs[np.random.default_rng(0).integers(0, len(pairs), (MIXED_STARTS, agents))]
    structures = np.ascontiguousarray(np.concatenate((np.repeat(few[:, None], agents, axis=1), mixed)))
    values = np.empty(len(structures))
    ascend_all(mu, x, agents, table.steps.ranks, table.steps.first, table.costs(mu), structures, values)
    order = np.argsort(-values, kind="stable")
    _, unlike = np.unique(_sorted(structures[order]).reshape(len(order), -1), axis=0, return_index=True)
    chosen = order[np.sort(unlike)[:most]]
    return WorstStructures(_payoffs(values[chosen]), _labels(mu, x, structures[chosen]))


def _largest(part: WorstStructures) -> float:
    return float(part.values.max(initial=-np.inf))


def _enumerated(table: SymmetricTable, item: tuple[float, tuple[int, int], float, Floats]) -> WorstStructures:
    from .enumeration import worst_structure

    (mu, part, value, label), agents, steps = item, table.agents, table.steps
    structure = np.full((agents, 2), -1, dtype=np.int64)
    ranked = (steps.ranks, steps.first, steps.counts)
    best = worst_structure(mu, table.x, agents, *ranked, table.costs(mu), *part, value, structure)
    if structure[0, 0] < 0:  # nothing is worse than what was known
        return WorstStructures(np.full(len(label), value), np.column_stack((np.full(len(label), mu), label)))
    return WorstStructures(_payoffs(np.array([best])), _labels(mu, table.x, structure[None]))


def _around(x: Floats, mu: float) -> tuple[int, int]:
    return int(np.searchsorted(x, mu)), int(np.searchsorted(x, mu, side="right"))


def _sorted(structures: Integers) -> Integers:
    """The agents of each structure in one order: their names do not matter."""
    key = structures[..., 0] * (1 + structures[..., 1].max(initial=0)) + structures[..., 1]
    return np.take_along_axis(structures, np.argsort(key, axis=1, kind="stable")[..., None], axis=1)


def _labels(mu: float, x: Floats, structures: Integers) -> Floats:
    reports = x[_sorted(structures)].reshape(len(structures), -1)
    return np.column_stack((np.full(len(structures), mu), reports))


def _payoffs(values: Floats) -> Floats:
    return np.where(values > INFINITE, np.inf, values)
