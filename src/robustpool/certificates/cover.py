"""A proved upper bound for two agents: cover the priors, and refine the interval that is worst until all are good enough.

The search is best-first, some intervals at a time. The bound that is proved so far is the largest over the intervals, and
falls; whoever stops early keeps it. The aim is the regret of the worst structure that is known plus the tolerance. When the linear programme of a
narrow interval needs more than the aim, its multipliers point to a structure that the search had missed: a local search
from there raises what is found, and the aim with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checkpoints import check
from ..execution import mapped
from ..verification.cover import cells, least_of, needed, tail_bound
from .dual import Problem, Proved, Split, halves, highest, needs_split, no_worse, prove_interval, prove_split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Floats
    from ..verification.dual import Slopes
    from .dual import Priors

    Polish = Callable[[list[tuple[float, Floats]]], float]

AT_ONCE = 8  # intervals that are refined together, whoever does the work: the proof must not depend on that
STEP = 1.18  # between the ends of the first intervals of priors
TAILS = (0.02, 0.015, 0.012, 0.01, 0.008, 0.006, 0.004, 0.002, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)


class Covered(NamedTuple):
    """Where the proof stands: the bound that holds, the worst regret found, and how many intervals there are."""

    upper: float  # inf as long as some priors are not covered
    found: float
    intervals: int
    unfinished: int  # of these (and the tails), how many have not come within the tolerance
    standing: Standing
    witness: Callable[[], dict[str, Any]] | None = None  # once all priors are covered


class Standing(NamedTuple):
    """All that the search goes on from."""

    found: float
    goal: float
    tails: dict[str, Tail]
    open: list[Proved]  # the first of the intervals to begin with, or all of them as they were halved since
    final: list[Proved]  # too narrow to be halved
    halving: list[Priors]  # of the open ones, those that are refined together and not halved yet


class Tail(NamedTuple):
    """Priors up to ``prior`` (in the mirror, from 1 - prior on), and their bound."""

    prior: float
    constants: tuple[float, float, float]
    bound: float


def cover(
    problem: Problem,
    prior_range: Priors,
    found: float,
    tolerance: float,
    polish: Polish,
    start: Standing | None = None,
) -> Iterator[Covered]:
    """Prove an upper bound step by step, from where another search stood; each state has a witness once all priors are covered."""
    low, high = prior_range
    goal = found + tolerance
    tails: dict[str, Tail] = {}
    if problem.mirrored and Fraction(low) + Fraction(high) == 1:  # exactly, as the verifier: not so for 0.3 and 0.7
        high = 0.5
    if low == 0:
        tails["low"] = _tail(problem, goal, start, "low")
        low = tails["low"].prior
    if high == 1:
        tails["high"] = _tail(problem, goal, start, "high")
        high = float(np.nextafter(1 - tails["high"].prior, 1.0))  # at least that, whatever the rounding
    waiting = list(pairwise(edges(low, high) if low < high else []))  # a tail may have them all
    search = _Search(problem, tolerance, found, goal, tails) if start is None else _continued(problem, tolerance, start)
    number = len(search.intervals)
    if start is not None:
        check("the tails", start.tails.keys() == tails.keys())
        first, last = problem.knots[[0, -1]]
        check("the knots", all(each.knots[0] == first and each.knots[-1] == last for each in search.intervals))
        covered = [end for proved in search.intervals for end in proved.priors]
        ends = [end for priors in waiting[:number] for end in priors]
        check(
            "the cover",
            (min(covered, default=0), max(covered, default=0)) == (min(ends, default=0), max(ends, default=0)),
        )
    for proved in search.proved([(priors, None) for priors in waiting[number:]]):
        search.open.append(proved)
        number += 1
        if number < len(waiting):
            yield Covered(np.inf, search.found, number, len(waiting) - number, search.standing())
    while True:
        yield search.state()
        if not search.halving and not search.choose(polish):
            return
        children = search.proved([(half, each) for each in search.halving for half in halves(each.priors) or ()])
        for parent, *both in zip(search.halving.copy(), children, children, strict=True):
            search.halving.remove(parent)
            search.open.remove(parent)
            search.open += both
            if search.halving:
                yield search.state()


def _tail(problem: Problem, goal: float, start: Standing | None, end: str) -> Tail:
    """The tail at an end, as it was saved or found now."""
    if start is None:
        return find_tail(problem, goal, mirrored=end == "high")
    check("the tails", end in start.tails)
    return start.tails[end]


@dataclass
class _Search:
    """The intervals so far. What is chosen together is halved with one goal, whoever does it and whoever continues it."""

    problem: Problem
    tolerance: float
    found: float
    goal: float
    tails: dict[str, Tail]
    open: list[Proved] = field(default_factory=list)
    final: list[Proved] = field(default_factory=list)
    halving: list[Proved] = field(default_factory=list)

    @property
    def intervals(self) -> list[Proved]:
        return [*self.final, *self.open]

    def standing(self) -> Standing:
        left = [proved.priors for proved in self.halving]
        return Standing(self.found, self.goal, self.tails, self.open.copy(), self.final.copy(), left)

    def state(self) -> Covered:
        intervals = self.intervals
        bounds = [*(proved.bound for proved in intervals), *(tail.bound for tail in self.tails.values())]
        unfinished = sum(bound > self.found + self.tolerance for bound in bounds)
        witness = partial(witness_of, self.tails, intervals, self.problem) if np.isfinite(max(bounds)) else None
        return Covered(max(bounds), self.found, len(intervals), unfinished, self.standing(), witness)

    def proved(self, items: list[tuple[Priors, Proved | None]]) -> Iterator[Proved]:
        """Proofs for intervals, or for parts of those that were proved, in their order, by whoever does the work."""
        return mapped(_proved, items, (self.problem, self.goal, self.tolerance))

    def choose(self, polish: Polish) -> bool:
        """Look at the worst intervals, and choose those of them that are to be halved; False if all are good enough."""
        worst = _worst(self.open, self.goal)
        if not worst:
            return False
        doubtful = [each for each in worst if each.least > self.goal]
        places = [(sum(each.priors) / 2, np.unique(each.contacts.reports)) for each in doubtful]
        self.found = max(self.found, polish(places))
        self.goal = max(self.goal, self.found + self.tolerance)
        splits = [each for each in doubtful if each.bound > self.goal and not isinstance(each.slopes, Split)]
        for each, split in zip(splits, mapped(_split, splits, (self.problem, self.goal, self.tolerance)), strict=True):
            if split is not None:
                worst.remove(each)
                self.open.remove(each)
                self.open.append(split)
        for each in [each for each in worst if each.bound > self.goal and halves(each.priors) is None]:
            worst.remove(each)
            self.open.remove(each)
            self.final.append(each)
            self.goal = max(self.goal, each.bound)  # no interval needs to be better than the worst one
        self.halving = [each for each in worst if each.bound > self.goal]
        return True


def _continued(problem: Problem, tolerance: float, start: Standing) -> _Search:
    halving = [proved for proved in start.open if proved.priors in start.halving]
    now = start.found, start.goal, start.tails, start.open.copy(), start.final.copy(), halving
    return _Search(problem, tolerance, *now)


def _worst(intervals: list[Proved], goal: float) -> list[Proved]:
    """The intervals to be refined next: those that are furthest from the goal, the worst first."""
    far = [proved for proved in intervals if proved.bound > goal]
    return sorted(far, key=lambda proved: (-proved.bound, proved.priors[0]))[:AT_ONCE]


def _proved(common: tuple[Problem, float, float], item: tuple[Priors, Proved | None]) -> Proved:
    (problem, goal, tolerance), (priors, parent) = common, item
    if parent is None:
        return prove_interval(problem, priors, goal, tolerance)
    return no_worse(problem, prove_interval(problem, priors, goal, tolerance, parent.knots), parent)


def _split(common: tuple[Problem, float, float], proved: Proved) -> Proved | None:
    """The goal, proved by kinds of structures where one set of slopes cannot do it; None if that does not help."""
    problem, goal, tolerance = common
    if not needs_split(problem, proved.knots, sum(proved.priors) / 2, goal):
        return None
    split = prove_split(problem, proved.priors, goal, tolerance, proved.knots)
    return split if split.bound <= goal and isinstance(split.slopes, Split) else None


def edges(low: float, high: float, step: float = STEP) -> list[float]:
    """Ends of intervals that grow in proportion to the distance from the nearer end of (0, 1)."""
    place = np.log(low / (1 - low)), np.log(high / (1 - high))
    count = max(1, int(np.ceil((place[1] - place[0]) / np.log(step))))
    inner = 1 / (1 + np.exp(-np.linspace(*place, count + 1)[1:-1]))
    return [low, *(float(edge) for edge in inner), high]


def witness_of(tails: dict[str, Tail], intervals: list[Proved], problem: Problem) -> dict[str, Any]:
    """The plain data that `robustpool.verification.cover` reads."""
    ordered = sorted(intervals, key=lambda proved: proved.priors)
    return {
        "kind": "dual",
        "tails": {end: {"prior": tail.prior, "constants": list(tail.constants)} for end, tail in tails.items()},
        "intervals": [
            {"priors": list(proved.priors), **_slopes_data(proved.slopes, symmetric=problem.symmetric)}
            for proved in ordered
        ],
    }


def _slopes_data(slopes: Slopes | Split, *, symmetric: bool) -> dict[str, Any]:
    if isinstance(slopes, Split):
        parts = [_slopes_data(part, symmetric=False) for part in slopes.parts]
        return {"end": slopes.end, "at": slopes.at, "parts": parts}
    return {"knots": slopes.knots.tolist(), "slopes": (slopes.values[0] if symmetric else slopes.values).tolist()}


def find_tail(problem: Problem, goal: float, *, mirrored: bool) -> Tail:
    """The longest tail that proves the goal; the last one tried if none does."""
    for prior in TAILS:
        growth = _growth(problem, prior, mirrored=mirrored)
        c0 = max(
            highest(partial(needed, forecast, growth, mirrored=mirrored), cells(forecast), 0.0, goal * 1e-6)
            for forecast in (piece.forecast for piece in problem.pieces)
        )
        constants = (max(c0, 0.0), *growth)
        least = least_of([piece.forecast for piece in problem.pieces], "high" if mirrored else "low")
        exact = tail_bound(prior, constants, least) if np.isfinite(c0) else np.inf
        tail = Tail(prior, constants, float(np.nextafter(float(exact), np.inf)))
        if tail.bound <= goal:
            break
    return tail


def _growth(problem: Problem, prior: float, *, mirrored: bool) -> tuple[float, float]:
    """(C_2, C_1) with the least C_0 + 2 C_2 mu + C_1 mu^2, at sample points; rounded up."""
    from scipy.optimize import linprog

    ends = 10.0 ** np.arange(-8, -1)
    x = np.unique(np.concatenate((np.linspace(0, 1, 1 + 4 * max(problem.resolution, 25)), ends, 1 - ends)))
    x1, x2 = (z.ravel() for z in np.meshgrid(x, x, indexing="ij"))
    rows, right = [], []
    for piece in problem.pieces:
        f, holds = piece.formula(x1, x2), piece.holds(x1, x2)
        a, b, y = (1 - x1, 1 - x2, 1 - f) if mirrored else (x1, x2, f)
        rows.append(-np.stack((np.ones_like(a), a + b, a * b), axis=1)[holds])
        right.append(-((1 - a) * (1 - b) * y**2)[holds])
    costs = [1.0, 2 * prior, prior**2]
    solved = linprog(costs, A_ub=np.concatenate(rows), b_ub=np.concatenate(right), bounds=(0, None))
    _, c2, c1 = solved.x if solved.x is not None else (1.0, 0.0, 0.0)
    return float(np.round(max(c2, 0.0) * (1 + 1e-6) + 1e-9, 9)), float(np.round(max(c1, 0.0) * (1 + 1e-6) + 1e-9, 9))
