"""A run of a solver: it keeps the trace, saves checkpoints, knows when to stop, and says what was reached."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..checkpoints import SECONDS, Checkpoint, check, job_hash
from ..designs.records import Guarantee, Settings, TracePoint
from ..errors import SolverError, UnsupportedError, WorkersLostError
from ..game.convex_programme import user_cones
from ..numerics import ROUNDING
from .cutting_planes import with_head_start
from .saved_state import state_from_data, state_to_data
from .solution import Solution, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..aggregators.restrictions import Restriction
    from ..checkpoints import Resume
    from ..families.nature import Family, Nature
    from ..typing import FilePath
    from .solver import Solver, State

TRACE_DENSITY = 1000
"""The trace keeps every round up to this one, then about this many for each doubling."""


@dataclass
class Run:
    """One game and the solver that plays it; ``began`` is when its set-up began."""

    family: Family
    nature: Nature
    solver: Solver
    paradigm: str
    kind: str
    restrictions: Sequence[Restriction]
    began: float
    trace: list[TracePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Describe the run."""
        theory, solver = self.solver.epsilon is not None, self.solver
        self.settings = Settings(
            method=solver.method,
            mode="theory" if theory else "practical",
            loss=self.nature.tables.loss.name,
            paradigm=self.paradigm,
            report=self.nature.report,
            nature=self.kind,
            canonical=solver.canonical,
            canonical_applied=False,
            restrictions=tuple(repr(restriction) for restriction in self.restrictions),
            tolerance=None if theory else solver.tolerance,
            epsilon=solver.epsilon,
            rounds=solver.last_round(self.nature),
            arithmetic=self.nature.responder.arithmetic,
            version=__version__,
        )

    def states(self, start: Any = None) -> Iterator[State]:
        """Round after round until there is a reason to stop."""
        if start is None:
            self.nature = with_head_start(self.nature)
        for state in self.solver.iterate(self.nature, start):
            self._check_finite(state)
            yield state
            if self._reason(state) is not None:
                return

    def solve(
        self,
        progress: Callable[[Any, int], None] | None,
        checkpoint: FilePath | None,
        *,
        resume: Resume,
        seconds: float = SECONDS,
    ) -> Solution:
        """All rounds, from a checkpoint on if ``resume``; Ctrl-C ends them as well."""
        job = "" if checkpoint is None else self._job()
        with Checkpoint(checkpoint, job, self._saved, seconds) as saved:
            start = saved.begin(resume, lambda found: self._reason(found[0]) is not None)
            if start is None:
                return self._solve(progress, saved, None)
            state, self.trace = start
            self.began -= self.trace[-1].seconds
            stopped = self._reason(state)
            return self._solve(progress, saved, state) if stopped is None else self._ended(state, stopped)

    def _solve(self, progress: Callable[[Any, int], None] | None, saved: Checkpoint[Any], start: Any) -> Solution:
        state, stopped = start, None
        try:
            for state in self.states(start):
                self._record(state, time.perf_counter() - self.began)
                if progress is not None:
                    progress(state, self.settings.rounds)
                stopped = self._reason(state)
                saved.offer(partial(state_to_data, state, self.trace), now=stopped is not None)
        except KeyboardInterrupt:
            if state is None:
                raise
            stopped = Stopped.INTERRUPTED
            if not self.trace or self.trace[-1].round != state.round:
                self._record(state, time.perf_counter() - self.began)
            saved.offer(partial(state_to_data, state, self.trace), now=True)
        except WorkersLostError:
            if state is not None:
                saved.offer(partial(state_to_data, state, self.trace), now=True)
            raise
        assert stopped is not None
        return self._ended(state, stopped)

    def _ended(self, state: Any, stopped: Stopped) -> Solution:
        """The solution; Ctrl-C during its last search, or while it looks for a canonical table, keeps what was reached."""
        try:
            return self._solution(state, stopped)
        except KeyboardInterrupt:
            if stopped is Stopped.INTERRUPTED:
                raise
            return self._solution(state, Stopped.INTERRUPTED)

    def _saved(self, data: Any) -> tuple[Any, list[TracePoint]]:
        """The state and the trace that a checkpoint holds."""
        state, trace = state_from_data(data, self.solver.first(self.nature))
        self.solver.check_saved(self.nature, state)
        rounds, last = [point.round for point in trace], trace[-1]
        check("the trace", [*rounds] == sorted({*rounds}))
        check("the trace", (last.round, last.lower, last.upper) == (state.round, state.lower, state.upper))
        return state, trace

    def _check_promise(self, gap: float) -> None:
        """The theorem bounds the gap; what was left out of the mixture may add a thousandth."""
        epsilon = self.settings.epsilon or 0.0
        if gap > 1.001 * epsilon + ROUNDING:
            raise SolverError(
                f"after all rounds the theorem promises a gap of at most {epsilon:g}, and it is {gap:.3g}; if the run continued "
                "from a checkpoint, that is not one of this run: delete it and begin again."
            )

    def _check_finite(self, state: State) -> None:
        """By the third round some table has a finite payoff if any has."""
        if state.round >= 3 and not math.isfinite(state.upper):
            raise UnsupportedError(
                f"no aggregator has a finite {self.paradigm} payoff under the {self.settings.loss} loss: the "
                "restrictions, or structures without omniscient loss, force forecasts with unbounded loss elsewhere."
            )

    def _reason(self, state: State) -> Stopped | None:
        practical = self.solver.epsilon is None
        # Half of the tolerance is left for a canonical table, or for what a last search finds.
        share = 0.5 if self.solver.canonical or self.nature.final_search else 1.0
        if practical and state.upper - state.lower <= self.solver.tolerance * share:
            return Stopped.GAP
        if state.round >= self.settings.rounds:
            return Stopped.ROUNDS if practical else Stopped.THEORY
        return None

    def _record(self, state: State, seconds: float) -> None:
        """Add a round to the trace; the latest round is always its last entry."""
        if len(self.trace) > 1 and self.trace[-1].round % max(1, self.trace[-1].round // TRACE_DENSITY):
            self.trace.pop()
        self.trace.append(TracePoint(state.round, state.lower, state.upper, seconds))

    def _job(self) -> str:
        """A hash of what a state belongs to: all that decides it but the tolerance and the rounds, which may change.

        Losses at some forecasts, nearly certain ones too, tell one custom loss from another of the same name; the cones of its
        constraints, one family of tables.
        """
        keys = ("method", "mode", "loss", "paradigm", "report", "nature", "restrictions", "epsilon", "version")
        tables = self.nature.tables
        forecasts = np.random.default_rng(0).dirichlet(np.full(tables.states, 0.3), 64)
        losses = tables.loss.table(np.clip(forecasts, 1e-12, 1.0)).tolist()
        own = [user_cones(tables)] if tables.layout.constraints else []
        return job_hash(
            "design", self.family.fingerprint(), {key: getattr(self.settings, key) for key in keys}, losses, *own
        )

    def _solution(self, state: Any, stopped: Stopped) -> Solution:
        """The best table and the best mixture so far, with their bounds computed anew."""
        outcome = self.solver.outcome(self.nature, state)
        table, tolerance = outcome.table, self.solver.tolerance if self.solver.epsilon is None else 0.0
        if self.solver.canonical and stopped is Stopped.GAP:
            slack = tolerance / 2  # the other half was for the solver
            canonical = self.nature.canonical(outcome.labels, state.upper, slack, self.solver.canonical)
            self.settings = replace(self.settings, canonical_applied=canonical is not None)
            table = table if canonical is None else canonical
        table, upper = self.nature.settled(table, outcome.labels, 0.1 * tolerance)
        if stopped is Stopped.GAP and upper - outcome.lower > tolerance * (1 + 1e-9) + 1e-12:
            stopped = Stopped.SEARCH  # nature on the continuum is a search, and the last one may find more
        if stopped is Stopped.THEORY:
            self._check_promise(float(upper) - outcome.lower)
        return Solution(
            family=self.family,
            aggregator=self.nature.aggregator(table),
            mixture=outcome.mixture,
            lower=min(outcome.lower, float(upper)) if outcome.lower < upper + 1e-12 else outcome.lower,  # rounding
            upper=float(upper),
            rounds=state.round,
            seconds=self.trace[-1].seconds,
            stopped=stopped,
            trace=tuple(self.trace),
            settings=self.settings,
            searched=not self.nature.exact,
            guarantee=_guarantee(self.settings) if stopped is Stopped.THEORY else None,
        )


def _guarantee(settings: Settings) -> Guarantee:
    """What the theorem promises after all of its rounds."""
    epsilon = settings.epsilon or 0.0
    says = f"upper is at most {epsilon} above the value of the game"
    return Guarantee(source="[Guo2024, Theorem 4.2]", epsilon=epsilon, rounds=settings.rounds, says=says)
