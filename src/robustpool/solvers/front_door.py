"""``solve``: the game on a family of structures, to a measured gap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, checks
from ..aggregators.grid import GridAggregator
from ..aggregators.restrictions import Constrained, Lipschitz, Mirrored, Restriction, Symmetric
from ..errors import InputError
from ..files import check_writable
from ..game.best_response import best_responder
from ..game.finite_game import FiniteGame, finite_game
from ..game.losses import ConvexLoss, Loss, get_loss
from ..structures.conditionally_independent import ConditionallyIndependent, EnumeratedFamily
from ..structures.finite import FiniteFamily
from ..structures.information_structure import InformationStructure
from .checkpoint import load_checkpoint, problem_hash, save_checkpoint
from .multiplicative_weights import MultiplicativeWeights, State
from .solution import Mixture, Solution, Stopped, TracePoint

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from ..aggregators.table import TableAggregator
    from ..game.response import Responder

METHODS = ("multiplicative-weights",)
DEFAULT_ROUNDS = 10_000
CHECKPOINT_SECONDS = 20.0
LIGHT = 1e-6
"""Structures with less than this share of the largest weight are left out of the mixture that is returned."""

TRACE_DENSITY = 1000
"""The trace keeps every round up to this one, then about this many for each doubling."""


def solve(
    family: FiniteFamily | ConditionallyIndependent | Sequence[InformationStructure],
    *,
    tolerance: float = 1e-6,
    loss: str | Loss = "square",
    paradigm: str = "additive",
    lipschitz: float | None = None,
    restrictions: Restriction | Sequence[Restriction] = (),
    method: str = "multiplicative-weights",
    epsilon: float | None = None,
    rounds: int | None = None,
    progress: Callable[[State, int], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Solution:
    """The aggregator with the least worst-case regret over a family, and a mixture that shows it cannot be much better.

    Stops when upper - lower <= ``tolerance``, or after ``rounds`` (10,000 unless given). With ``epsilon`` it runs in
    theory mode: exactly the rounds that [Guo2024, Theorem 4.2] asks for, whatever the gap. ``lipschitz=L`` is short for
    the restriction ``Lipschitz(L)``. ``progress`` is called after each round with the state and the number of the last
    round. Ctrl-C returns what was reached. With a ``checkpoint`` file the state is saved as the run goes on, and
    ``resume=True`` continues from it to the same result as an uninterrupted run.

    >>> from robustpool import FiniteFamily, solve
    >>> family = FiniteFamily.from_joints([[[0.5, 0.0], [0.25, 0.25]], [[0.25, 0.25], [0.5, 0.0]]])
    >>> solution = solve(family)   # the one signal tells the truth in one structure, lies in the other
    >>> solution.gap <= 1e-6
    True
    """
    checks.choice("method", method, METHODS)
    tolerance = checks.number("tolerance", tolerance, least=0)
    if rounds is not None and epsilon is not None:
        raise InputError(f"give rounds or epsilon, not both: epsilon = {epsilon!r} says how many rounds there are.")
    most = checks.whole("rounds", DEFAULT_ROUNDS if rounds is None else rounds, least=1)
    if resume and checkpoint is None:
        raise InputError("resume needs the checkpoint file to go on from; checkpoint is None.")
    limits = list(restrictions) if isinstance(restrictions, Sequence) else [restrictions]
    if lipschitz is not None:
        limits.append(Lipschitz(lipschitz))
    chosen = _family(family)
    structures, game = _game(chosen, get_loss(loss), paradigm, limits)
    solver = MultiplicativeWeights(epsilon)
    responder = best_responder(game.tables)
    settings: dict[str, Any] = {
        "method": method,
        "mode": "practical" if solver.epsilon is None else "theory",
        "loss": game.loss.name,
        "paradigm": paradigm,
        "report": game.family.report.name,
        "restrictions": [_describe(limit) for limit in limits],
        "tolerance": tolerance if solver.epsilon is None else None,
        "epsilon": solver.epsilon,
        "rounds": most if solver.epsilon is None else solver.theory_rounds(game),
        "arithmetic": responder.arithmetic,
        "version": __version__,
    }
    run = _Run(game, responder, solver, settings, _problem(chosen, game, settings), checkpoint, progress)
    state, stopped = run.play(resume=resume)
    return _solution(chosen, structures, run, state, stopped)


@dataclass
class _Run:
    """A run of the solver: it keeps the trace, saves checkpoints and knows when to stop."""

    game: FiniteGame
    responder: Responder
    solver: MultiplicativeWeights
    settings: dict[str, Any]
    problem: str
    checkpoint: str | os.PathLike[str] | None
    progress: Callable[[State, int], None] | None
    trace: list[TracePoint] = field(default_factory=list)

    def play(self, *, resume: bool) -> tuple[State, Stopped]:
        """Round after round until there is a reason to stop; Ctrl-C is one."""
        state = None
        if resume and self.checkpoint is not None:
            state, self.trace = load_checkpoint(self.checkpoint, self.problem)
            if (stopped := self._reason(state)) is not None:
                return state, stopped
        elif self.checkpoint is not None:
            check_writable(self.checkpoint)  # say so now, not after hours
        before = self.trace[-1].seconds if self.trace else 0.0
        began = saved = time.perf_counter()
        try:
            for state in self.solver.iterate(self.game, self.responder, state):  # noqa: B020
                now = time.perf_counter()
                self._record(state, before + now - began)
                if self.progress is not None:
                    self.progress(state, self.settings["rounds"])
                stopped = self._reason(state)
                if stopped is not None or now - saved > CHECKPOINT_SECONDS:
                    self._save(state)
                    saved = now
                if stopped is not None:
                    return state, stopped
        except KeyboardInterrupt:
            if state is None:
                raise
            if not self.trace or self.trace[-1].round != state.round:
                self._record(state, before + time.perf_counter() - began)
            self._save(state)
        assert state is not None
        return state, Stopped.INTERRUPTED

    def _reason(self, state: State) -> Stopped | None:
        practical = self.solver.epsilon is None
        if practical and state.upper - state.lower <= self.settings["tolerance"]:
            return Stopped.GAP
        if state.round >= self.settings["rounds"]:
            return Stopped.ROUNDS if practical else Stopped.THEORY
        return None

    def _record(self, state: State, seconds: float) -> None:
        """Add a round to the trace; the latest round is always its last entry."""
        if len(self.trace) > 1 and self.trace[-1].round % max(1, self.trace[-1].round // TRACE_DENSITY):
            self.trace.pop()
        self.trace.append(TracePoint(state.round, state.lower, state.upper, seconds))

    def _save(self, state: State) -> None:
        if self.checkpoint is not None:
            save_checkpoint(self.checkpoint, state, self.trace, self.problem)


def _family(family: Any) -> FiniteFamily | ConditionallyIndependent:
    """What users give as a family; a list of structures is one."""
    if isinstance(family, (list, tuple)) and all(isinstance(one, InformationStructure) for one in family):
        return FiniteFamily.from_structures(family)
    if not isinstance(family, (FiniteFamily, ConditionallyIndependent)):
        raise InputError(
            "family must be a FiniteFamily, ConditionallyIndependent or a list of structures; "
            f"it is {type(family).__name__}."
        )
    return family


def _problem(family: FiniteFamily | ConditionallyIndependent, game: FiniteGame, settings: dict[str, Any]) -> str:
    """A hash of what a state belongs to; a few losses tell one custom loss from another of the same name."""
    keys = ("method", "mode", "loss", "paradigm", "restrictions", "epsilon", "version")
    forecasts = np.stack([np.roll(np.arange(1.0, game.states + 1), k) for k in range(game.states)])
    losses = game.loss.table(forecasts / forecasts.sum(axis=1, keepdims=True)).tolist()
    return problem_hash(family.fingerprint(), {key: settings[key] for key in keys}, losses)


def _game(
    family: FiniteFamily | ConditionallyIndependent, loss: Loss, paradigm: str, limits: Sequence[Restriction]
) -> tuple[FiniteFamily | EnumeratedFamily, FiniteGame]:
    """The structures one by one, and the game on them; where symmetry allows, one of those that it makes equal.

    The square and the log loss and the Lipschitz and monotone tables are symmetric in agents and states, so some
    optimal table is as well [Guo2024, lem:symmetry]. What users state need not be.
    """
    if isinstance(family, FiniteFamily):
        return family, finite_game(family, loss, paradigm, limits)
    own = isinstance(loss, ConvexLoss) or any(isinstance(limit, Constrained) for limit in limits)
    bound = any(not isinstance(limit, Symmetric | Mirrored) for limit in limits)
    if own or (bound and family.agents > 2):
        enumerated = family.enumerate(pruned=False)
        return enumerated, finite_game(enumerated.flat, loss, paradigm, limits)
    enumerated = family.enumerate(pruned=True)
    return enumerated, finite_game(enumerated.flat, loss, paradigm, [*limits, Symmetric(), Mirrored()])


def _solution(
    family: FiniteFamily | ConditionallyIndependent,
    structures: FiniteFamily | EnumeratedFamily,
    run: _Run,
    state: State,
    stopped: Stopped,
) -> Solution:
    """The best table and the best mixture so far, with their bounds computed anew."""
    game, epsilon = run.game, run.solver.epsilon
    weights, lower = _trimmed(game, run.responder, state, run.settings["tolerance"] or 0.0)
    table = game.aggregator(state.upper_table)
    promise = {
        "source": "[Guo2024, Theorem 4.2]",
        "epsilon": epsilon,
        "rounds": run.settings["rounds"],
        "says": f"upper is at most {epsilon} above the value of the game",
    }
    return Solution(
        family=family,
        aggregator=_on_grid(table, family) if isinstance(family, ConditionallyIndependent) else table,
        mixture=Mixture(structures, checks.frozen(weights)),
        lower=lower,
        upper=float(game.payoffs(state.upper_table).max()),
        rounds=state.round,
        seconds=run.trace[-1].seconds,
        stopped=stopped,
        trace=tuple(run.trace),
        settings=run.settings,
        guarantee=promise if stopped is Stopped.THEORY else None,
    )


def _on_grid(table: TableAggregator, family: ConditionallyIndependent) -> GridAggregator:
    return GridAggregator(table.forecasts.reshape((len(family.report_grid),) * family.agents))


def _trimmed(
    game: FiniteGame, responder: Responder, state: State, tolerance: float
) -> tuple[NDArray[np.float64], float]:
    """The best mixture without the structures that hardly weigh, if the gap stays below the tolerance or hardly grows."""

    def value(weights: NDArray[np.float64]) -> float:
        return float(responder(game.masses(weights)).least - weights @ game.offset)

    whole = state.lower_weights / math.fsum(state.lower_weights)
    lower = value(whole)
    heavy = np.where(whole >= LIGHT * whole.max(), whole, 0.0)
    heavy /= math.fsum(heavy)
    trimmed = value(heavy)
    gap = state.upper - lower
    most = tolerance if gap <= tolerance else gap * 1.001
    return (heavy, trimmed) if state.upper - trimmed <= most else (whole, lower)


def _describe(restriction: Restriction) -> str:
    if isinstance(restriction, Constrained):
        return f"Constrained({restriction.name})"
    return repr(restriction)
