"""``solve``: the game on a family of structures, to a measured gap."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, checks
from ..aggregators.grid import GridAggregator
from ..aggregators.restrictions import Constrained, Lipschitz, Mirrored, Restriction, Symmetric
from ..errors import InputError
from ..game.best_response import best_responder
from ..game.finite_game import FiniteGame, finite_game
from ..game.losses import ConvexLoss, Loss, get_loss
from ..structures.conditionally_independent import ConditionallyIndependent, EnumeratedFamily
from ..structures.finite import FiniteFamily
from .checkpoint import load_checkpoint, problem_hash, save_checkpoint
from .multiplicative_weights import MultiplicativeWeights, State
from .solution import Mixture, Solution, Stopped, TracePoint

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..game.response import Responder

METHODS = ("multiplicative-weights",)
CHECKPOINT_SECONDS = 20.0
LIGHT = 1e-6
"""Structures with less than this share of the largest weight are left out of the mixture that is returned."""

TRACE_DENSITY = 1000
"""The trace keeps every round up to this one, then about this many for each doubling."""


def solve(
    family: FiniteFamily | ConditionallyIndependent,
    *,
    tolerance: float = 1e-6,
    loss: str | Loss = "square",
    paradigm: str = "additive",
    lipschitz: float | None = None,
    restrictions: Sequence[Restriction] = (),
    method: str = "multiplicative-weights",
    epsilon: float | None = None,
    rounds: int = 10_000,
    progress: Callable[[State, int], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Solution:
    """The aggregator with the least worst-case regret over a family, and a mixture that shows it cannot be much better.

    Stops when upper - lower <= ``tolerance``, or after ``rounds``. With ``epsilon`` it runs in theory mode: exactly the
    rounds that [Guo2024, Theorem 4.2] asks for, whatever the gap. ``lipschitz=L`` is short for the restriction
    ``Lipschitz(L)``. ``progress`` is called after each round with the
    state and the number of the last round. Ctrl-C returns what was reached. With a
    ``checkpoint`` file the state is saved as the run goes on, and ``resume=True`` continues from it to the same result
    as an uninterrupted run.

    >>> from robustpool import FiniteFamily, solve
    >>> family = FiniteFamily.from_joints([[[0.5, 0.0], [0.25, 0.25]], [[0.25, 0.25], [0.5, 0.0]]])
    >>> solution = solve(family)   # the one signal tells the truth in one structure, lies in the other
    >>> solution.gap <= 1e-6
    True
    """
    if not isinstance(family, (FiniteFamily, ConditionallyIndependent)):
        raise InputError(f"family must be a FiniteFamily or ConditionallyIndependent; it is {type(family).__name__}.")
    checks.choice("method", method, METHODS)
    checks.number("tolerance", tolerance, least=0)
    checks.whole("rounds", rounds, least=1)
    limits = list(restrictions)
    if lipschitz is not None:
        limits.append(Lipschitz(lipschitz))
    structures, game = _game(family, get_loss(loss), paradigm, limits)
    solver = MultiplicativeWeights(epsilon)
    last = rounds if epsilon is None else solver.theory_rounds(game)
    responder = best_responder(game)
    settings = {
        "method": method,
        "mode": "practical" if epsilon is None else "theory",
        "loss": game.loss.name,
        "paradigm": paradigm,
        "report": game.family.report.name,
        "restrictions": [_describe(limit) for limit in limits],
        "tolerance": tolerance,
        "epsilon": epsilon,
        "rounds": last,
        "arithmetic": responder.arithmetic,
        "version": __version__,
    }
    fixed = {key: settings[key] for key in ("method", "mode", "loss", "paradigm", "restrictions", "epsilon")}
    problem = problem_hash(family.fingerprint(), fixed)
    state, trace = load_checkpoint(checkpoint, problem) if checkpoint is not None and resume else (None, [])

    before = trace[-1].seconds if trace else 0.0
    began = saved = time.perf_counter()
    stopped = None if state is None else _stop(state, tolerance, epsilon, last)
    try:
        for state in () if stopped else solver.iterate(game, responder, state):  # noqa: B020
            now = time.perf_counter()
            _record(trace, state, before + now - began)
            if progress is not None:
                progress(state, last)
            stopped = _stop(state, tolerance, epsilon, last)
            if checkpoint is not None and (stopped or now - saved > CHECKPOINT_SECONDS):
                save_checkpoint(checkpoint, state, trace, problem)
                saved = now
            if stopped:
                break
    except KeyboardInterrupt:
        if state is None:
            raise
        stopped = Stopped.INTERRUPTED
        if checkpoint is not None:
            save_checkpoint(checkpoint, state, trace, problem)
    assert state is not None
    assert stopped is not None
    return _solution(family, structures, game, responder, state, trace, stopped, settings)


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


def _stop(state: State, tolerance: float, epsilon: float | None, last: int) -> Stopped | None:
    if epsilon is None and state.upper - state.lower <= tolerance:
        return Stopped.GAP
    if state.round >= last:
        return Stopped.ROUNDS if epsilon is None else Stopped.THEORY
    return None


def _record(trace: list[TracePoint], state: State, seconds: float) -> None:
    """Add a round to the trace; the latest round is always its last entry."""
    if len(trace) > 1 and trace[-1].round % max(1, trace[-1].round // TRACE_DENSITY):
        trace.pop()
    trace.append(TracePoint(state.round, state.lower, state.upper, seconds))


def _solution(
    family: FiniteFamily | ConditionallyIndependent,
    structures: FiniteFamily | EnumeratedFamily,
    game: FiniteGame,
    responder: Responder,
    state: State,
    trace: list[TracePoint],
    stopped: Stopped,
    settings: dict[str, Any],
) -> Solution:
    """The best table and the best mixture so far, with their bounds computed anew."""
    weights, lower = _trimmed(game, responder, state)
    table = game.aggregator(state.upper_table)
    on_grid = isinstance(family, ConditionallyIndependent)
    shape = (len(family.report_grid),) * family.agents if isinstance(family, ConditionallyIndependent) else ()
    guarantee = None
    if settings["mode"] == "theory":
        guarantee = {
            "source": "[Guo2024, Theorem 4.2]",
            "epsilon": settings["epsilon"],
            "rounds": settings["rounds"],
            "says": f"upper is at most {settings['epsilon']:g} above the value of the game",
        }
    return Solution(
        family=family,
        aggregator=GridAggregator(table.forecasts.reshape(shape)) if on_grid else table,
        mixture=Mixture(structures, checks.frozen(weights)),
        lower=lower,
        upper=float(game.payoffs(state.upper_table).max()),
        rounds=state.round,
        seconds=trace[-1].seconds,
        stopped=stopped,
        trace=tuple(trace),
        settings=settings,
        guarantee=guarantee,
    )


def _trimmed(game: FiniteGame, responder: Responder, state: State) -> tuple[NDArray[np.float64], float]:
    """The best mixture without the structures that hardly weigh, unless that costs a thousandth of the gap."""

    def value(weights: NDArray[np.float64]) -> float:
        return float(responder(game.masses(weights)).least - weights @ game.offset)

    whole = state.lower_weights / math.fsum(state.lower_weights)
    lower = value(whole)
    heavy = np.where(whole >= LIGHT * whole.max(), whole, 0.0)
    heavy /= math.fsum(heavy)
    trimmed = value(heavy)
    return (heavy, trimmed) if trimmed >= lower - 1e-3 * max(state.upper - lower, 0.0) else (whole, lower)


def _describe(restriction: Restriction) -> str:
    if isinstance(restriction, Constrained):
        return f"Constrained({restriction.name})"
    return repr(restriction)
