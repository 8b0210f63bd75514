"""Algorithm 1: multiplicative weights for nature against the aggregator's best response [Guo2024, Section 4].

Each round t: the aggregator answers the mixture w with the best response f; every structure earns the payoff u of f;
w is multiplied by exp(rate * u). The averages of f and of w over the rounds approach an equilibrium. Corrections to
the paper's text (docs/theory/slips): nature *maximises*, so the exponent is positive, and 1/(1 + sqrt(2 ln n/T)) is
Freund and Schapire's factor beta, not a rate.

Two modes. *Theory*: T = ceil(25 ln n (B/eps)^2) rounds with the rate ln(1 + sqrt(2 ln n/T))/B for payoffs in [0, B], which
gives an eps-optimal average (docs/derivations/algorithm-1). *Practical*: payoffs are divided by the round's expected
payoff and the rate starts at 1, as in the paper's experiments; a structure's log-weight rises by at most 5 a round (the
division explodes when the expected payoff is nearly 0), and the rate shrinks by 0.7 when the round's own lower bound has
fallen, else grows by 1.02 (a fixed rate can circle around the equilibrium for ever).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..checkpoints import check
from ..errors import UnsupportedError
from ..families.nature import NO_CONTINUUM, ListableFamily
from ..numerics import ROUNDING, dot
from .saved_state import is_mixture
from .solver import Outcome, Solver, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..aggregators.restrictions import Restriction
    from ..families.finite_game import FiniteGame, FiniteNature
    from ..families.nature import Family
    from ..game.response import Responder
    from ..losses.loss import Loss
    from ..typing import Floats


LARGEST_STEP = 5.0
SHRINK, GROW = 0.7, 1.02
AVERAGE_EVERY = 10
"""Where a best response is expensive, the lower bound of the average mixture is computed in every tenth round only."""

LIGHT = 1e-6
"""Structures with less than this share of the largest weight are left out of the mixture that is returned."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightsState(State):
    """Nature's mixture, and the sums over all rounds, after a round."""

    log_weights: Floats  # (structures,) nature's next mixture, its largest entry 0
    masses: Floats  # (cells, states) its mass table
    offset: float  # its expected offset
    weight_sum: Floats  # sums over the rounds played
    mass_sum: Floats
    offset_sum: float = 0.0
    table_sum: Floats
    rate: float
    expected: float = -math.inf  # the lower bound of the last round's mixture
    saved_weights: Floats  # the mixture that gives ``lower``; empty if it is the average of all rounds
    upper_table: Floats  # the table that gives ``upper``

    @cached_property
    def weights(self) -> Floats:
        """Nature's next mixture, summing to 1."""
        weights = np.exp(self.log_weights)
        return np.asarray(weights / weights.sum())

    @property
    def lower_weights(self) -> Floats:
        """The mixture that gives ``lower``."""
        return self.saved_weights if len(self.saved_weights) else self.weight_sum / self.round


@dataclass(frozen=True)
class MultiplicativeWeights(Solver):
    """The settings of Algorithm 1: the gap to reach and the round limit; ``epsilon`` makes it the theory mode instead."""

    tolerance: float = 1e-6
    rounds: int = 10_000
    epsilon: float | None = None

    method: ClassVar[str] = "multiplicative-weights"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", checks.number("epsilon", self.epsilon, above=0, most=1))

    def nature(
        self, family: Family, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str
    ) -> FiniteNature:
        """See Solver: every structure is in a list."""
        if kind != "grid":
            raise UnsupportedError(NO_CONTINUUM)
        if not isinstance(family, ListableFamily):
            raise UnsupportedError(
                f"Algorithm 1 needs structures that can be listed; those of {family.words()} cannot."
            )
        return family.written_out(loss, paradigm, restrictions)

    def last_round(self, nature: FiniteNature) -> int:
        """See Solver."""
        return self.rounds if self.epsilon is None else self.theory_rounds(nature.game)

    def theory_rounds(self, game: FiniteGame) -> int:
        """T = ceil(25 ln n (B/eps)^2)."""
        assert self.epsilon is not None
        ratio = self.payoff_bound(game) / self.epsilon
        needed = 25 * math.log(len(game.family)) * ratio * ratio  # ** would raise an error where this is infinite
        if needed > 1e12:
            raise UnsupportedError(
                f"the theorem requires {needed:.1g} rounds at epsilon = {self.epsilon:g}; increase epsilon."
            )
        return max(1, math.ceil(needed))

    def payoff_bound(self, game: FiniteGame) -> float:
        """B: no payoff exceeds it."""
        loss = game.tables.loss
        bound = loss.bound(game.tables.states)
        if not math.isfinite(bound):
            raise UnsupportedError(f"the theory mode needs a bounded loss; the {loss.name} loss is not.")
        return float(np.max(game.scale * bound - game.offset))

    def first(self, nature: FiniteNature) -> WeightsState:
        """See Solver."""
        return self.start(nature.game)

    def start(self, game: FiniteGame) -> WeightsState:
        """The uniform mixture, before the first round."""
        count = len(game.family)
        weights = np.full(count, 1 / count)
        masses = game.masses(weights)
        rate = 1.0
        if self.epsilon is not None:
            bound = self.payoff_bound(game) or 1.0  # 0: every payoff is 0, and any rate will do
            rate = math.log(1 + math.sqrt(2 * math.log(count) / self.theory_rounds(game))) / bound
        return WeightsState(
            log_weights=np.zeros(count),
            masses=masses,
            offset=dot(weights, game.offset),
            weight_sum=np.zeros(count),
            mass_sum=np.zeros_like(masses),
            table_sum=np.zeros_like(masses),
            rate=rate,
            saved_weights=weights,
            upper_table=np.full_like(masses, 1 / game.tables.states),
        )

    def check_saved(self, nature: FiniteNature, state: WeightsState) -> None:
        """See Solver."""
        first = self.first(nature)
        for name in ("log_weights", "masses", "weight_sum", "mass_sum", "table_sum", "upper_table"):
            check(name, getattr(state, name).shape == getattr(first, name).shape)
        for name in ("masses", "weight_sum", "mass_sum", "table_sum", "upper_table"):
            check(name, bool((getattr(state, name) >= -ROUNDING).all()))
        check("log_weights", bool((state.log_weights <= 0).all() and state.log_weights.max() >= -ROUNDING))
        check("saved_weights", len(state.lower_weights) == len(first.log_weights) and is_mixture(state.lower_weights))
        check("rate", state.rate > 0 and (self.epsilon is None or state.rate == first.rate))
        game, tables = nature.game, nature.tables
        check("a table", tables.allows(state.upper_table) and tables.allows(state.table_sum / state.round))
        check("weight_sum", bool(abs(state.weight_sum.sum() - state.round) <= ROUNDING * state.round))
        for name, weights, masses, offset in (
            ("masses", state.weights, state.masses, state.offset),
            ("mass_sum", state.weight_sum, state.mass_sum, state.offset_sum),
        ):
            check(name, np.allclose(game.masses(weights), masses, ROUNDING, ROUNDING))
            check(name, bool(np.isclose(weights @ game.offset, offset, ROUNDING, ROUNDING)))
        check("the lower bound", state.lower <= self._least(nature, state.lower_weights) + ROUNDING)
        check("the upper bound", state.upper >= float(game.payoffs(state.upper_table).max()) - ROUNDING)
        if state.round >= self.last_round(nature) and self.epsilon is not None:
            check("the bounds", state.upper - state.lower <= self.epsilon + ROUNDING)

    def iterate(self, nature: FiniteNature, state: WeightsState | None = None) -> Iterator[WeightsState]:
        """Round after round, without end; from ``state`` on if it is given."""
        state = self.first(nature) if state is None else state
        while True:
            state = self.step(nature.game, nature.responder, state)
            yield state

    def outcome(self, nature: FiniteNature, state: WeightsState) -> Outcome:
        """The best mixture, without the structures that hardly weigh if that hardly costs anything."""
        upper, tolerance = state.upper, self.tolerance if self.epsilon is None else 0.0
        whole = state.lower_weights / math.fsum(state.lower_weights)
        heavy = np.where(whole >= LIGHT * whole.max(), whole, 0.0)
        heavy /= math.fsum(heavy)
        lower, trimmed = self._least(nature, whole), self._least(nature, heavy)
        most = tolerance if upper - lower <= tolerance else (upper - lower) * 1.001
        weights, lower = (heavy, trimmed) if upper - trimmed <= most else (whole, lower)
        labels = np.arange(len(weights), dtype=np.float64)[:, None]
        return Outcome(state.upper_table, labels[:0], nature.mixture(labels, weights), lower)

    def _least(self, nature: FiniteNature, weights: Floats) -> float:
        """The least expected payoff of any table against a mixture."""
        return float(nature.responder(nature.game.masses(weights)).least) - dot(weights, nature.game.offset)

    def step(self, game: FiniteGame, responder: Responder, state: WeightsState) -> WeightsState:
        """One round."""
        number = state.round + 1
        response = responder(state.masses)
        bounds = [(response.least - state.offset, state.weights)]
        weight_sum = state.weight_sum + state.weights
        mass_sum, offset_sum = state.mass_sum + state.masses, state.offset_sum + state.offset
        if responder.cheap or number % AVERAGE_EVERY == 0:
            bounds.append((responder(mass_sum / number).least - offset_sum / number, np.zeros(0)))  # the average
        own = bounds[0][0]
        rate = state.rate
        if self.epsilon is None:
            rate = min(max(rate * (SHRINK if own < state.expected - 1e-15 else GROW), 1e-4), 1e6)
        table_sum = state.table_sum + response.table
        mean = table_sum / number
        expected = response.cost - state.offset
        step = rate if self.epsilon is not None else rate / max(abs(expected), 1e-12)
        largest, largest_mean, mixture = _play(game, response.table, mean, state.log_weights, step, expected)
        lower, saved = max(bounds, key=lambda pair: pair[0])
        if state.lower >= lower:
            lower, saved = state.lower, state.lower_weights
        tables = [(state.upper, state.upper_table), (largest, response.table), (largest_mean, mean)]
        upper, upper_table = min(tables, key=lambda pair: pair[0])
        return WeightsState(
            **mixture,
            round=number,
            weight_sum=weight_sum,
            mass_sum=mass_sum,
            offset_sum=offset_sum,
            table_sum=table_sum,
            rate=rate,
            expected=own,
            lower=lower,
            saved_weights=saved,
            upper=upper,
            upper_table=upper_table,
        )


def _play(
    game: FiniteGame, table: Floats, mean: Floats, log_weights: Floats, rate: float, expected: float
) -> tuple[float, float, dict[str, Any]]:
    """The largest payoffs of both tables, and of the next state nature's mixture and its mass table, in one pass."""
    loss = game.tables.loss
    given = loss.table(table), loss.table(mean), log_weights, rate, expected
    new_log_weights, masses, summary = zip(*game.over_chunks(_play_chunk, given), strict=True)
    sums = np.stack(summary)
    total = float(sums[:, 2].sum())
    mixture = {
        "log_weights": np.concatenate(new_log_weights) - sums[:, 4].max(),
        "masses": np.asarray(sum(masses)) / total,
        "offset": float(sums[:, 3].sum()) / total,
    }
    return float(sums[:, 0].max()), float(sums[:, 1].max()), mixture


def _play_chunk(common: tuple[FiniteGame, Any], chunk: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
    from ..families.kernels import play_round

    (game, (losses, mean_losses, log_weights, rate, expected)), (first, last) = common, chunk
    new_log_weights, masses = np.empty(last - first), np.zeros_like(losses)
    summary = np.array([-np.inf, -np.inf, 0.0, 0.0, -np.inf])
    play_round(
        first, last, game.family.start, game.cell, game.mass, game.scale, game.offset, losses, mean_losses,
        log_weights, rate, expected, LARGEST_STEP, new_log_weights, masses, summary,
    )  # fmt: skip
    return new_log_weights, masses, summary
