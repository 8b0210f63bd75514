"""Search for the worst structure of a symmetric rule in which the agents are of one, two or three types.

n agents with m_1, m_2, ... of each type have (m_1 + 1)(m_2 + 1) ... multisets of reports in place of 2^n profiles,
so that twenty agents are as easy as five. Worst structures have few types, as far as searches with all agents free show;
what is found is a lower bound in any case. Without this, a search for ten or more agents takes hours.

A structure is a point as in `worst_case`: logit mu, then u = low / mu and v = (1 - high) / (1 - mu) of each type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from ..numerics import safe_divide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Floats, Integers

    Divergence = Callable[[Floats, Floats], Floats]

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


def regrets_of_types(rule: Callable[[Floats], Floats], types: Types, points: Floats, divergence: Divergence) -> Floats:
    """The regret of a symmetric rule on structures with agents of these types: (points, 1 + 2 types) -> (points,)."""
    mu = 1.0 / (1.0 + np.exp(-points[:, 0]))
    u, v = points[:, 1::2], points[:, 2::2]
    low = np.minimum(mu[:, None] * u, mu[:, None])
    high = np.maximum(1.0 - (1.0 - mu[:, None]) * v, mu[:, None])
    share = safe_divide(mu[:, None] - low, np.where(high > low, high - low, 0.0))
    k, rest = types.high[None], (types.counts - types.high)[None]
    masses = []
    for own, prior, x, y in ((1 - mu, 1 - mu, 1 - low, 1 - high), (mu, mu, low, high)):
        chances = xlogy(rest, ((1 - share) * x / prior[:, None])[:, None]) + xlogy(
            k, (share * y / prior[:, None])[:, None]
        )
        masses.append(own[:, None] * np.exp(chances.sum(axis=2) + types.ways))
    mass = np.stack(masses, axis=2)
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
    rule: Callable[[Floats], Floats],
    agents: int,
    divergence: Divergence,
    logits: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[float, Floats]:
    """The largest regret found and its point, with the coordinates of all agents: a short search for each composition, then long ones."""
    found, few = [], agents >= CROWD
    for counts in compositions(agents):
        types = Types.of(counts)
        points = _starts(types, logits, rng)[:: 3 if few else 1]
        values, points = _climb(rule, types, points, divergence, logits, rng, FIRST)
        best = np.argsort(-values, kind="stable")[:4]
        found.append((float(values[best[0]]), types, points[best]))
    found.sort(key=lambda part: -part[0])
    results = []
    for _, types, starts in found[: 2 if few else KEPT]:
        values, points = _climb(rule, types, starts, divergence, logits, rng, STEPS // 2 if few else STEPS)
        k = int(np.argmax(values))
        place = np.repeat(np.arange(len(types.counts)), types.counts)
        own = points[k, 1:].reshape(-1, 2)[place].ravel()
        results.append((float(values[k]), np.concatenate((points[k, :1], own))))
    return max(results, key=lambda result: result[0])


def _starts(types: Types, logits: tuple[float, float], rng: np.random.Generator) -> Floats:
    """Points drawn at random. In a third every low report is 0; in a third only the first type learns anything."""
    points = rng.random((STARTS, 1 + 2 * len(types.counts)))
    points[:, 0] = np.clip(rng.normal(0.0, 1.5, STARTS), *logits)
    points[: STARTS // 3, 1::2] = 0.0
    points[STARTS // 3 : 2 * STARTS // 3, 3:] = 1.0
    return points


def _climb(
    rule: Callable[[Floats], Floats],
    types: Types,
    points: Floats,
    divergence: Divergence,
    logits: tuple[float, float],
    rng: np.random.Generator,
    steps: int,
) -> tuple[Floats, Floats]:
    """Compass search from all points at once, as in `worst_case`."""
    count, size = points.shape
    step = np.full(count, 0.25)
    values = regrets_of_types(rule, types, points, divergence)
    for turn in range(steps):
        axes = np.eye(size) if turn % 2 else np.linalg.qr(rng.normal(size=(size, size)))[0]
        tries = points[:, None] + step[:, None, None] * np.concatenate((axes, -axes))[None]
        tries[..., 0] = np.clip(tries[..., 0], *logits)
        tries[..., 1:] = np.clip(tries[..., 1:], 0.0, 1.0)
        regrets = regrets_of_types(rule, types, tries.reshape(-1, size), divergence).reshape(count, -1)
        best = regrets.argmax(axis=1)
        better = regrets[np.arange(count), best] > values
        points = np.where(better[:, None], tries[np.arange(count), best], points)
        values = np.where(better, regrets[np.arange(count), best], values)
        step = np.where(better, np.minimum(1.6 * step, 2.0), 0.55 * step)
        if (step < 1e-13).all():
            break
    return values, points
