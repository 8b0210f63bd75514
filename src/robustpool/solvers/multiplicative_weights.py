"""Algorithm 1: multiplicative weights for nature against the aggregator's best response [Guo2024, Section 4].

Each round t: the aggregator answers the mixture w with the best response f; every structure earns the payoff u of f;
w is multiplied by exp(rate * u). The averages of f and of w over the rounds approach an equilibrium. Mended against
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
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ..game.finite_game import FiniteGame
    from ..game.response import Responder

    Floats = NDArray[np.float64]

LARGEST_STEP = 5.0
SHRINK, GROW = 0.7, 1.02
AVERAGE_EVERY = 10
"""Where a best response is dear, the lower bound of the average mixture is taken every so many rounds."""


@dataclass(frozen=True, eq=False)
class State:
    """All there is to know after a round; never changed, so an interrupted run is whole and a saved one goes on."""

    round: int
    log_weights: Floats  # (structures,) nature's next mixture, its largest entry 0
    weights: Floats  # (structures,) the same, summing to 1
    masses: Floats  # (cells, states) its mass table
    offset: float  # its expected offset
    weight_sum: Floats  # sums over the rounds played
    mass_sum: Floats
    offset_sum: float
    table_sum: Floats
    rate: float
    expected: float  # the lower bound of the last round's mixture
    lower: float
    lower_weights: Floats  # the mixture that gives ``lower``
    upper: float
    upper_table: Floats  # the table that gives ``upper``


@dataclass(frozen=True)
class MultiplicativeWeights:
    """The settings of Algorithm 1; ``epsilon`` makes it the theory mode."""

    epsilon: float | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", checks.number("epsilon", self.epsilon, above=0, most=1))

    def theory_rounds(self, game: FiniteGame) -> int:
        """T = ceil(25 ln n (B/eps)^2)."""
        assert self.epsilon is not None
        needed = 25 * math.log(len(game.family)) * (self.payoff_bound(game) / self.epsilon) ** 2
        if needed > 1e12:
            raise UnsupportedError(
                f"the theorem asks for {needed:.1g} rounds at epsilon = {self.epsilon:g}; raise epsilon."
            )
        return max(1, math.ceil(needed))

    def payoff_bound(self, game: FiniteGame) -> float:
        """B: no payoff exceeds it."""
        bound = game.loss.bound(game.states)
        if not math.isfinite(bound):
            raise UnsupportedError(f"the theory mode needs a bounded loss; the {game.loss.name} loss is not.")
        return float(np.max(game.scale * bound - game.offset))

    def start(self, game: FiniteGame) -> State:
        """The uniform mixture, before the first round."""
        count = len(game.family)
        weights = np.full(count, 1 / count)
        masses = game.masses(weights)
        if self.epsilon is None:
            rate = 1.0
        else:
            bound = self.payoff_bound(game) or 1.0  # 0: every payoff is 0, and any rate will do
            rate = math.log(1 + math.sqrt(2 * math.log(count) / self.theory_rounds(game))) / bound
        return State(
            round=0,
            log_weights=np.zeros(count),
            weights=weights,
            masses=masses,
            offset=float(weights @ game.offset),
            weight_sum=np.zeros(count),
            mass_sum=np.zeros_like(masses),
            offset_sum=0.0,
            table_sum=np.zeros_like(masses),
            rate=rate,
            expected=-math.inf,
            lower=-math.inf,
            lower_weights=weights,
            upper=math.inf,
            upper_table=np.full_like(masses, 1 / game.states),
        )

    def iterate(self, game: FiniteGame, responder: Responder, state: State | None = None) -> Iterator[State]:
        """Round after round, without end; from ``state`` on if it is given."""
        state = self.start(game) if state is None else state
        while True:
            state = self.step(game, responder, state)
            yield state

    def step(self, game: FiniteGame, responder: Responder, state: State) -> State:
        """One round."""
        number = state.round + 1
        response = responder(state.masses)
        bounds = [(response.least - state.offset, state.weights)]
        weight_sum = state.weight_sum + state.weights
        mass_sum, offset_sum = state.mass_sum + state.masses, state.offset_sum + state.offset
        if responder.cheap or number % AVERAGE_EVERY == 0:
            bounds.append((responder(mass_sum / number).least - offset_sum / number, weight_sum / number))
        own = bounds[0][0]
        rate = state.rate
        if self.epsilon is None:
            rate = min(max(rate * (SHRINK if own < state.expected - 1e-15 else GROW), 1e-4), 1e6)
        table_sum = state.table_sum + response.table
        mean = table_sum / number
        expected = response.cost - state.offset
        step = rate if self.epsilon is not None else rate / max(abs(expected), 1e-12)
        play = _play(game, response.table, mean, state.log_weights, step, expected)
        lower, lower_weights = max([(state.lower, state.lower_weights), *bounds], key=lambda pair: pair[0])
        upper, upper_table = min(
            [(state.upper, state.upper_table), (play.largest, response.table), (play.largest_mean, mean)],
            key=lambda pair: pair[0],
        )
        return State(
            round=number,
            log_weights=play.log_weights,
            weights=play.weights,
            masses=play.masses,
            offset=play.offset,
            weight_sum=weight_sum,
            mass_sum=mass_sum,
            offset_sum=offset_sum,
            table_sum=table_sum,
            rate=rate,
            expected=own,
            lower=lower,
            lower_weights=lower_weights,
            upper=upper,
            upper_table=upper_table,
        )


@dataclass(frozen=True, eq=False)
class _Play:
    """What a pass over the structures gives."""

    largest: float
    largest_mean: float
    log_weights: Floats
    weights: Floats
    masses: Floats
    offset: float


def _play(game: FiniteGame, table: Floats, mean: Floats, log_weights: Floats, rate: float, expected: float) -> _Play:
    """Payoffs of both tables, nature's next mixture and its mass table, in one pass over the support points."""
    from ..game.kernels import play_round

    losses, mean_losses = game.loss.table(table), game.loss.table(mean)
    new_log_weights, new_weights = np.empty_like(log_weights), np.empty_like(log_weights)
    masses = np.zeros((len(game.chunks), *table.shape))
    summary = np.tile([-np.inf, -np.inf, 0.0, 0.0, -np.inf], (len(game.chunks), 1))
    family = game.family

    def work(number: int, chunk: tuple[int, int]) -> None:
        play_round(
            *chunk, family.start, game.cell, game.mass, game.scale, game.offset, losses, mean_losses,
            log_weights, rate, expected, LARGEST_STEP, new_log_weights, new_weights, masses[number], summary[number],
        )  # fmt: skip

    game.over_chunks(work)
    total = float(summary[:, 2].sum())
    return _Play(
        largest=float(summary[:, 0].max()),
        largest_mean=float(summary[:, 1].max()),
        log_weights=new_log_weights - summary[:, 4].max(),
        weights=new_weights / total,
        masses=masses.sum(axis=0) / total,
        offset=float(summary[:, 3].sum()) / total,
    )
