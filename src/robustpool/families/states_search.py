"""The worst structure of conditionally independent agents with K states, by search: what it returns is found, never proved.

A structure is a point: the prior is proportional to the squares of its first K coordinates, and Pr[s | omega] of each agent
and state to the squares of the next ones, so that zeros, and with them certain reports, are ordinary points. The best of
many random structures are improved by a quasi-Newton method with difference quotients, the best of those by a search
along random axes, which kinks do not stop. For a rule of the summed log-reports one informed agent is enough
(docs/derivations/several-states.md), so a quarter of the random structures has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import UnsupportedError
from ..execution import mapped
from ..structures.independent_structure import IndependentStructure, profile_masses
from ..structures.report_formats import as_seen
from .regret import forecasts_of
from .worst_case import WorstCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..losses.loss import Loss
    from ..typing import Floats

MOST_PROFILES = 1024
"""Profiles of signals, K^n, up to which structures are searched."""

DRAWN, IMPROVED, POLISHED = 1200, 24, 3
"""Structures that are drawn, that are improved by gradients, and that are improved along random axes."""

TURNS = 60  # of the steps along random axes, at most
STEP = 1e-6  # of the difference quotients
LARGEST = 1e6  # stands for an infinite regret
SMALL = 1e-6  # coordinates below it may as well be 0


@dataclass(frozen=True)
class StatesSearch:
    """Structures of n agents and K states as points, and what an aggregator loses on them."""

    aggregator: Callable[[Any], Any]
    agents: int
    states: int
    loss: Loss

    @property
    def size(self) -> int:
        """The coordinates of a point."""
        return self.states + self.agents * self.states**2

    def decode(self, points: Floats) -> tuple[Floats, Floats]:
        """Priors (m, K) and Pr[s_i | omega], (m, n, K, K)."""
        squares = points**2
        prior, rest = squares[:, : self.states], squares[:, self.states :]
        given = rest.reshape(len(points), self.agents, self.states, self.states)
        return _shares(prior, 1), _shares(given, 2)

    def regrets(self, points: Floats) -> Floats:
        """E[D(f, g)] on the structures with these coordinates: (m, size) -> (m,)."""
        profiles, mass = profile_masses(*self.decode(points))
        chance = mass.sum(axis=2)
        comes = chance > 0
        losses = np.zeros(chance.shape)
        said = forecasts_of(self.aggregator, as_seen(_shown(profiles[comes])), self.states)
        losses[comes] = chance[comes] * self.loss.divergence(said, mass[comes] / chance[comes][:, None])
        return np.minimum(losses.sum(axis=1), LARGEST)

    def starts(self, rng: np.random.Generator) -> Floats:
        """Structures drawn at random; a quarter has many zeros, a quarter one informed agent, a quarter is near to the hard ones."""
        points, part = rng.random((DRAWN, self.size)), DRAWN // 4
        sparse, one, hard = (slice(k * part, (k + 1) * part) for k in (1, 2, 3))
        points[sparse, self.states :] *= rng.random((part, self.size - self.states)) < rng.choice(
            [0.2, 0.4, 0.6], (part, 1)
        )
        points[one, self.states + self.states**2 :] = 1.0
        points[hard] = [self._hard(rng) for _ in range(part)]
        return points

    def _hard(self, rng: np.random.Generator) -> Floats:
        """A structure like those of the lower bound, for all agents or for one, sometimes with a little noise.

        One state is likely, the other K - 1 have m. An informed agent hears the state if it is unlikely, or, with a small
        probability d, another unlikely one; if it is likely, she hears it or, with probability c each, an unlikely one.
        """
        K = self.states
        prior = np.full(K, rng.uniform(0, 1 / (K - 1)))
        prior[-1] = max(1 - prior[:-1].sum(), 0)
        d = rng.choice([0, 0.2]) * rng.random() ** 4 / (K - 1)
        given = np.full((K, K), d) + (1 - (K - 1) * d) * np.eye(K)
        given[-1], given[:, -1] = 0, rng.random() ** 2 / (K - 1)
        given[-1, -1] = max(1 - given[:-1, -1].sum(), 0)
        informed = rng.choice([1, self.agents])
        everyone = np.stack([given if agent < informed else np.ones((K, K)) for agent in range(self.agents)])
        point = np.sqrt(np.concatenate((prior, everyone.ravel())))
        return np.asarray(point + rng.choice([0, 0.01]) * rng.random(self.size))

    def improved(self, point: Floats) -> Floats:
        """What a quasi-Newton method reaches from a point."""
        from scipy.optimize import minimize

        steps = STEP * np.vstack((np.zeros(self.size), np.eye(self.size)))

        def downhill(at: Floats) -> tuple[float, Floats]:
            values = -self.regrets(at + steps)
            return values[0], (values[1:] - values[0]) / STEP

        reached = minimize(downhill, point, jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": 1e-13})
        return np.asarray(reached.x)

    def polished(self, point: Floats, rng: np.random.Generator) -> tuple[float, Floats]:
        """What steps along random axes reach, and what is left of it if small coordinates become 0."""
        value, step = float(self.regrets(point[None])[0]), 0.02
        for _ in range(TURNS):
            axes = np.linalg.qr(rng.normal(size=(self.size, self.size)))[0]
            tries = point + step * np.concatenate((axes, -axes))
            regrets = self.regrets(tries)
            best = int(regrets.argmax())
            if regrets[best] > value:
                value, point, step = float(regrets[best]), tries[best], min(1.6 * step, 0.1)
            else:
                step *= 0.4
            if step < 1e-9:
                break
        rounded = np.where(np.abs(point) < SMALL, 0.0, point)
        return max((value, point), (float(self.regrets(rounded[None])[0]), rounded), key=lambda pair: pair[0])


def worst_of_states(
    aggregator: Callable[[Any], Any], agents: int, states: int, loss: Loss, rng: np.random.Generator
) -> WorstCase:
    """The worst structure of an aggregator of distributions, as far as the search finds it."""
    checks.extra("the worst case with several states", "solve")
    if states**agents > MOST_PROFILES:
        raise UnsupportedError(
            f"with several states a worst case is searched for at most {MOST_PROFILES:,} profiles of signals; "
            f"{agents} agents and {states} states have {states**agents:,}."
        )
    search = StatesSearch(aggregator, agents, states, loss)
    starts = search.starts(rng)
    order = np.argsort(-_in_parts(search, starts), kind="stable")
    reached = np.array(list(mapped(StatesSearch.improved, [starts[number] for number in _spread(order)], search)))
    best = np.argsort(-search.regrets(reached), kind="stable")[:POLISHED]
    items = list(zip(reached[best], rng.spawn(len(best)), strict=True))
    regret, point = max(mapped(_polished, items, search), key=lambda end: end[0])
    prior, given = search.decode(point[None])
    return WorstCase(regret, IndependentStructure(prior[0], given[0]))


def _polished(search: StatesSearch, item: tuple[Floats, np.random.Generator]) -> tuple[float, Floats]:
    return search.polished(*item)


def _spread(order: Any) -> Any:
    """The best half, and others spread over the better half of the rest."""
    best, rest = order[: IMPROVED // 2], order[IMPROVED // 2 : len(order) // 2]
    return np.concatenate((best, rest[:: max(1, len(rest) // (IMPROVED // 2))][: IMPROVED // 2]))


def _in_parts(search: StatesSearch, points: Floats) -> Floats:
    return np.concatenate([search.regrets(part) for part in np.array_split(points, 12)])


def _shares(weights: Floats, axis: int) -> Floats:
    """Weights divided by their sum along an axis; equal ones where all are 0."""
    total = weights.sum(axis=axis, keepdims=True)
    equal = np.full(weights.shape, 1 / weights.shape[axis])
    return np.divide(weights, total, out=equal, where=total > 0)


def _shown(profiles: Floats) -> Floats:
    """Distributions as they are reported: one number for two states."""
    return profiles[..., 1:] if profiles.shape[-1] == 2 else profiles
