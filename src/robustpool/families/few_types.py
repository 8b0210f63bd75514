"""Search for the worst structure of a symmetric rule in which the agents are of one, two or three types.

n agents with m_1, m_2, ... of each type have (m_1 + 1)(m_2 + 1) ... multisets of reports in place of 2^n profiles,
so that twenty agents are as easy as five. Worst structures have few types, as far as searches with all agents free show;
what is found is a lower bound in any case. Without this, a search for ten or more agents takes hours.

A structure is a point as in `worst_case`: logit mu, then u = low / mu and v = (1 - high) / (1 - mu) of each type.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from ..execution import mapped
from ..numerics import safe_divide
from ..structures.common_source_structure import event_masses, event_reports
from .compass import climbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Floats, Integers

    Divergence = Callable[[Floats, Floats], Floats]
    Search = tuple[Callable[["Types", Floats], Floats], Callable[[Floats], Floats], int]

STARTS = 24  # of each composition
KEPT = 4  # compositions that are searched to the end
FIRST, STEPS = 16, 250
CROWD = 40  # from so many agents on, all of these are smaller: a regret takes so much longer


class Types(NamedTuple):
    """How many agents are of each type, and all ways in which so many of each have the high report."""

    counts: Integers
    high: Integers  # (multisets, types)

    @classmethod
    def of(cls, counts: tuple[int, ...]) -> Types:
        """The types with these counts."""
        every = np.meshgrid(*(np.arange(m + 1) for m in counts), indexing="ij")
        return cls(np.array(counts), np.stack([k.ravel() for k in every], axis=1))

    @property
    def ways(self) -> Floats:
        """The logarithm of prod_t comb(m_t, k_t), for each multiset."""
        m, k = self.counts, self.high
        return np.asarray((gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)).sum(axis=1))


def compositions(agents: int) -> Iterator[tuple[int, ...]]:
    """All alike, two types with every split, and one or two agents beside two other types."""
    yield (agents,)
    splits = range(1, agents) if agents <= 12 else sorted({*range(1, 6), *range(6, agents - 1, 3), agents - 1})
    if agents >= CROWD:
        splits = sorted({1, 2, agents // 8, agents // 4, agents // 2, 3 * agents // 4, agents - 1})
    for m in splits:
        yield m, agents - m
    for m in (1, agents // 2):
        if agents - m > 1:
            yield 1, m, agents - m - 1


def regrets_of_types(
    rule: Callable[[Floats], Floats],
    types: Types,
    points: Floats,
    divergence: Divergence,
    chances: Floats | None = None,
) -> Floats:
    """The regret of a symmetric rule on structures with agents of these types: (points, 1 + 2 types) -> (points,).

    If ``chances`` (points, 2) are given, the points are about a hidden state y, and the event has the chance p_y.
    """
    mu = 1.0 / (1.0 + np.exp(-points[:, 0]))
    u, v = points[:, 1::2], points[:, 2::2]
    low = np.minimum(mu[:, None] * u, mu[:, None])
    high = np.maximum(1.0 - (1.0 - mu[:, None]) * v, mu[:, None])
    share = safe_divide(mu[:, None] - low, np.where(high > low, high - low, 0.0))
    k, rest = types.high[None], (types.counts - types.high)[None]
    masses = []
    for own, prior, x, y in ((1 - mu, 1 - mu, 1 - low, 1 - high), (mu, mu, low, high)):
        given = xlogy(rest, ((1 - share) * x / prior[:, None])[:, None]) + xlogy(
            k, (share * y / prior[:, None])[:, None]
        )
        masses.append(own[:, None] * np.exp(given.sum(axis=2) + types.ways))
    mass = np.stack(masses, axis=2)
    if chances is not None:
        mass, low, high = event_masses(mass, chances), event_reports(low, chances), event_reports(high, chances)
    chance = mass.sum(axis=2)
    comes = chance > 0
    # the reports of a multiset: those of each type, the low ones first
    place = np.repeat(np.arange(len(types.counts)), types.counts)
    first = np.concatenate([np.arange(m) for m in types.counts])
    is_high = first[None] >= (types.counts - types.high)[:, place]
    profiles = np.where(is_high[None], high[:, None, place], low[:, None, place])
    f = np.full(chance.shape, 0.5)
    f[comes] = rule(profiles[comes])
    g = np.divide(mass[..., 1], chance, out=np.full(chance.shape, 0.5), where=comes)
    pair = [np.stack((1 - z, z), axis=-1).reshape(-1, 2) for z in (f, g)]
    return np.asarray((chance * divergence(*pair).reshape(chance.shape)).sum(axis=1))


def worst_of_few_types(
    regrets: Callable[[Types, Floats], Floats],
    agents: int,
    clipped: Callable[[Floats], Floats],
    rng: np.random.Generator,
    leading: int = 1,
) -> tuple[float, Floats]:
    """The largest regret found and its point, with the coordinates of all agents: a short search for each composition, then long ones.

    A point begins with ``leading`` coordinates that are not those of an agent: logit mu, and what else a world has.
    """
    search, few = (regrets, clipped, leading), agents >= CROWD
    every = list(compositions(agents))
    short = list(zip(every, rng.spawn(len(every)), [3 if few else 1] * len(every), strict=True))
    found = sorted(mapped(_first, short, search), key=lambda part: -part[0])[: 2 if few else KEPT]
    steps = STEPS // 2 if few else STEPS
    long = [(types, starts, own, steps) for (_, types, starts), own in zip(found, rng.spawn(len(found)), strict=True)]
    return max(mapped(_last, long, search), key=lambda result: result[0])


def _first(search: Search, item: tuple[tuple[int, ...], np.random.Generator, int]) -> tuple[float, Types, Floats]:
    """What a short search of a composition finds, and the points from which a longer one can go on."""
    (regrets, clipped, leading), (counts, rng, every) = search, item
    types = Types.of(counts)
    points = clipped(_starts(types, leading, rng))[::every]
    values, points = climbed(partial(regrets, types), clipped, points, rng, FIRST)
    best = np.argsort(-values, kind="stable")[:4]
    return float(values[best[0]]), types, points[best]


def _last(search: Search, item: tuple[Types, Floats, np.random.Generator, int]) -> tuple[float, Floats]:
    """What a long search finds, and where, with the coordinates of all agents."""
    (regrets, clipped, leading), (types, starts, rng, steps) = search, item
    values, points = climbed(partial(regrets, types), clipped, starts, rng, steps)
    k = int(np.argmax(values))
    place = np.repeat(np.arange(len(types.counts)), types.counts)
    own = points[k, leading:].reshape(-1, 2)[place].ravel()
    return float(values[k]), np.concatenate((points[k, :leading], own))


def _starts(types: Types, leading: int, rng: np.random.Generator) -> Floats:
    """Points drawn at random. In a third every low report is the least; in a third only the first type learns anything."""
    points = rng.random((STARTS, leading + 2 * len(types.counts)))
    points[:, 0] = rng.normal(0.0, 1.5, STARTS)
    points[: STARTS // 3, leading::2] = 0.0
    points[STARTS // 3 : 2 * STARTS // 3, leading + 2 :] = 1.0
    points[::2, 1:leading] = 0.0
    return points
