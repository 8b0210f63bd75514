"""``solve``: the game on a family of structures, to a measured gap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, checks
from ..aggregators.restrictions import Constrained, Lipschitz, Restriction
from ..errors import InputError, UnsupportedError
from ..files import check_writable
from ..game.convex_programme import user_cones
from ..game.losses import Loss, get_loss
from ..structures.conditionally_independent import ConditionallyIndependent
from ..structures.finite import FiniteFamily
from ..structures.information_structure import InformationStructure
from .canonical import canonical_table, check_canonical
from .checkpoint import load_checkpoint, problem_hash, save_checkpoint
from .contests import Contest, contest
from .cutting_planes import BundleState, CuttingPlanes
from .multiplicative_weights import MultiplicativeWeights, State
from .natures import IndependentNature
from .plausible import plausible
from .solution import Mixture, Solution, Stopped, TracePoint

if TYPE_CHECKING:
    import os

METHODS = ("cutting-planes", "multiplicative-weights")
DEFAULT_ROUNDS = {"cutting-planes": 200, "multiplicative-weights": 10_000}
CHECKPOINT_SECONDS = 20.0
TRACE_DENSITY = 1000
"""The trace keeps every round up to this one, then about this many for each doubling."""

MARGINS = (0.0, 0.1, 0.2, 0.3)
"""From which distance to 0 and 1 on reports have forecasts that the range of the priors allows, if not everywhere."""

AnyState = State | BundleState


def solve(
    family: FiniteFamily | ConditionallyIndependent | Sequence[InformationStructure],
    *,
    tolerance: float = 1e-6,
    loss: str | Loss = "square",
    paradigm: str = "additive",
    lipschitz: float | None = None,
    restrictions: Restriction | Sequence[Restriction] = (),
    method: str | None = None,
    nature: str = "grid",
    canonical: str | None = None,
    epsilon: float | None = None,
    rounds: int | None = None,
    progress: Callable[[Any, int], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Solution:
    """The aggregator with the least worst-case regret over a family, and a mixture that shows it cannot be much better.

    Stops when upper - lower <= ``tolerance``, or after ``rounds``. The ``method`` is cutting planes, which needs few
    rounds, or multiplicative weights, the paper's Algorithm 1. With ``epsilon`` the latter runs in theory mode:
    exactly the rounds that [Guo2024, Theorem 4.2] asks for, whatever the gap. ``nature="continuous"`` lets nature choose
    any reports and priors against the interpolated table (the upper bound is then the worst that searches find).

    ``lipschitz=L`` is short for the restriction ``Lipschitz(L)``. ``canonical`` chooses, among the tables within the
    tolerance of the best, the smoothest (``"smooth"``) or the one nearest to a rule (its name), for two independent
    agents on a grid. ``progress`` is called after each round with the state and the number of the last round. Ctrl-C
    returns what was reached. With a ``checkpoint`` file the state is saved as the run goes on, and ``resume=True``
    continues from it to the same result as an uninterrupted run.

    >>> from robustpool import FiniteFamily, solve
    >>> family = FiniteFamily.from_joints([[[0.5, 0.0], [0.25, 0.25]], [[0.25, 0.25], [0.5, 0.0]]])
    >>> solution = solve(family)   # the one signal tells the truth in one structure, lies in the other
    >>> solution.gap <= 1e-6
    True
    """
    tolerance = checks.number("tolerance", tolerance, least=0)
    if rounds is not None and epsilon is not None:
        raise InputError(f"give rounds or epsilon, not both: epsilon = {epsilon!r} says how many rounds there are.")
    chosen = checks.choice("method", method or METHODS[epsilon is not None], METHODS)
    if epsilon is not None and chosen != "multiplicative-weights":
        raise InputError(f"epsilon belongs to the method multiplicative-weights; the method is {chosen!r}.")
    if canonical is not None and (chosen != "cutting-planes" or nature != "grid"):
        raise InputError("canonical goes with cutting planes and nature on the grid.")
    most = checks.whole("rounds", DEFAULT_ROUNDS[chosen] if rounds is None else rounds, least=1)
    if resume and checkpoint is None:
        raise InputError("resume needs the checkpoint file to go on from; checkpoint is None.")
    limits = list(restrictions) if isinstance(restrictions, Sequence) else [restrictions]
    if lipschitz is not None:
        limits.append(Lipschitz(lipschitz))
    structures, measure = _family(family), get_loss(loss)
    if canonical is not None:
        check_canonical(structures, measure, paradigm, limits, canonical)
    game = contest(
        structures,
        measure,
        paradigm,
        limits,
        exact=chosen == "cutting-planes",
        continuous=checks.choice("nature", nature, ("grid", "continuous")) == "continuous",
    )
    solver: CuttingPlanes | MultiplicativeWeights
    solver = CuttingPlanes(tolerance / 2) if chosen == "cutting-planes" else MultiplicativeWeights(epsilon)
    theory = isinstance(solver, MultiplicativeWeights) and solver.epsilon is not None
    settings: dict[str, Any] = {
        "method": chosen,
        "mode": "theory" if theory else "practical",
        "loss": game.tables.loss.name,
        "paradigm": paradigm,
        "report": game.report,
        "nature": nature,
        "canonical": canonical,
        "canonical_applied": False,
        "restrictions": [_describe(limit) for limit in limits],
        "tolerance": None if theory else tolerance,
        "epsilon": solver.epsilon if isinstance(solver, MultiplicativeWeights) else None,
        "rounds": solver.theory_rounds(game.finite) if isinstance(solver, MultiplicativeWeights) and theory else most,
        "arithmetic": game.responder.arithmetic,
        "version": __version__,
    }
    problem = "" if checkpoint is None else _problem(game, settings)
    run = _Run(game, solver, settings, problem, checkpoint, progress)
    state, stopped = run.play(resume=resume)
    return _solution(run, state, stopped)


@dataclass
class _Run:
    """A run of a solver: it keeps the trace, saves checkpoints and knows when to stop."""

    contest: Contest
    solver: CuttingPlanes | MultiplicativeWeights
    settings: dict[str, Any]
    problem: str
    checkpoint: str | os.PathLike[str] | None
    progress: Callable[[Any, int], None] | None
    trace: list[TracePoint] = field(default_factory=list)

    def play(self, *, resume: bool) -> tuple[AnyState, Stopped]:
        """Round after round until there is a reason to stop; Ctrl-C is one."""
        state: Any = None
        if resume and self.checkpoint is not None:
            kind = BundleState if isinstance(self.solver, CuttingPlanes) else State
            state, self.trace = load_checkpoint(self.checkpoint, kind, self.problem)
            if (stopped := self._reason(state)) is not None:
                return state, stopped
        elif self.checkpoint is not None:
            check_writable(self.checkpoint)  # say so now, not after hours
        before = self.trace[-1].seconds if self.trace else 0.0
        began = saved = time.perf_counter()
        nature: Any = self.contest.nature if isinstance(self.solver, CuttingPlanes) else self.contest.finite
        try:
            for state in self.solver.iterate(nature, self.contest.responder, state):  # noqa: B020
                self._check_finite(state)
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
        return state, Stopped.INTERRUPTED

    def _check_finite(self, state: AnyState) -> None:
        """By the third round some table has a finite payoff if any has."""
        if state.round >= 3 and not math.isfinite(state.upper):
            raise UnsupportedError(
                f"no aggregator has a finite {self.settings['paradigm']} payoff under the {self.settings['loss']} loss: the "
                "restrictions, or structures without omniscient loss, force forecasts that other structures punish without bound."
            )

    def _reason(self, state: AnyState) -> Stopped | None:
        practical = self.settings["mode"] == "practical"
        if practical and state.upper - state.lower <= self.settings["tolerance"] * self._share:
            return Stopped.GAP
        if state.round >= self.settings["rounds"]:
            return Stopped.ROUNDS if practical else Stopped.THEORY
        return None

    @property
    def _share(self) -> float:
        """How much of the tolerance is the solver's; half is left for a canonical table, or for what a last search finds."""
        return 0.5 if self.settings["canonical"] or self.settings["nature"] == "continuous" else 1.0

    def _record(self, state: AnyState, seconds: float) -> None:
        """Add a round to the trace; the latest round is always its last entry."""
        if len(self.trace) > 1 and self.trace[-1].round % max(1, self.trace[-1].round // TRACE_DENSITY):
            self.trace.pop()
        self.trace.append(TracePoint(state.round, state.lower, state.upper, seconds))

    def _save(self, state: AnyState) -> None:
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


def _problem(game: Contest, settings: dict[str, Any]) -> str:
    """A hash of what a state belongs to.

    A few losses tell one custom loss from another of the same name; the cones of its constraints, one family of tables.
    """
    keys = ("method", "mode", "loss", "paradigm", "nature", "restrictions", "epsilon", "version")
    states = game.tables.states
    forecasts = np.stack([np.roll(np.arange(1.0, states + 1), k) for k in range(states)])
    losses = game.tables.loss.table(forecasts / forecasts.sum(axis=1, keepdims=True)).tolist()
    own = [user_cones(game.tables)] if game.tables.layout.constraints else []
    return problem_hash(game.family.fingerprint(), {key: settings[key] for key in keys}, losses, *own)


def _solution(run: _Run, state: AnyState, stopped: Stopped) -> Solution:
    """The best table and the best mixture so far, with their bounds computed anew."""
    game, epsilon = run.contest, run.settings["epsilon"]
    if isinstance(state, BundleState):
        table, (structures, weights, lower) = state.centre, game.of_labels(state.lower_label, state.lower_weights)
        if isinstance(game.nature, IndependentNature) and run.settings["canonical"] and stopped is Stopped.GAP:
            slack = run.settings["tolerance"] / 2  # the other half was for the solver
            chosen = canonical_table(game.nature, state.label, state.upper, slack, run.settings["canonical"])
            table = state.centre if chosen is None else chosen
            run.settings["canonical_applied"] = chosen is not None
    else:
        tolerance = run.settings["tolerance"] or 0.0
        table, (structures, weights, lower) = (
            state.upper_table,
            game.of_weights(state.lower_weights, state.upper, tolerance),
        )
    promise = {
        "source": "[Guo2024, Theorem 4.2]",
        "epsilon": epsilon,
        "rounds": run.settings["rounds"],
        "says": f"upper is at most {epsilon} above the value of the game",
    }
    table, upper = _plausible(run, table, state.label if isinstance(state, BundleState) else None)
    if stopped is Stopped.GAP and upper - lower > run.settings["tolerance"] * (1 + 1e-9) + 1e-12:
        stopped = Stopped.SEARCH  # nature on the continuum is a search, and the last one may find more
    return Solution(
        family=game.family,
        aggregator=game.aggregator(table),
        mixture=Mixture(structures, checks.frozen(weights), game.symmetries),
        lower=lower,
        upper=upper,
        rounds=state.round,
        seconds=run.trace[-1].seconds,
        stopped=stopped,
        trace=tuple(run.trace),
        settings=run.settings,
        guarantee=promise if stopped is Stopped.THEORY else None,
    )


def _plausible(run: _Run, table: Any, labels: Any) -> tuple[Any, float]:
    """The table and its worst payoff; where the priors have a known range, its forecasts are those that the range allows.

    That costs nothing on a grid; between the knots it can, and is done only as far from the borders as it hardly costs.
    """
    game = run.contest
    upper = game.worst_payoff(table, labels)
    family = game.family
    if (
        not isinstance(family, ConditionallyIndependent)
        or family.prior_range == (0.0, 1.0)
        or run.settings["restrictions"]
    ):
        return table, upper
    for margin in MARGINS if run.settings["nature"] == "continuous" else MARGINS[:1]:
        within = plausible(table, game.tables.layout, family.prior_range, margin)
        worst = game.worst_payoff(within, labels)
        if worst <= upper + 0.1 * (run.settings["tolerance"] or 0.0):
            return within, worst
    return table, upper


def _describe(restriction: Restriction) -> str:
    if isinstance(restriction, Constrained):
        return f"Constrained({restriction.name})"
    return repr(restriction)
