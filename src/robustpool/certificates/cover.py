"""A proved upper bound for two agents: cover the priors, and refine the interval that is worst until all are good enough.

The search is best-first, some intervals at a time. The bound that is proved so far is the largest over the intervals, and falls; whoever stops early
keeps it. The aim is the regret of the worst structure that is known plus the tolerance. When the linear programme of a
narrow interval needs more than the aim, its multipliers point to a structure that the search had missed: a local search
from there raises what is found, and the aim with it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..execution import mapped
from ..verification.cover import cells, least_of, needed, tail_bound
from .dual import Problem, Proved, Split, halves, highest, needs_split, prove_interval, prove_split

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
    witness: Callable[[], dict[str, Any]] | None = None  # once all priors are covered


class Tail(NamedTuple):
    """Priors up to ``prior`` (in the mirror, from 1 - prior on), and their bound."""

    prior: float
    constants: tuple[float, float, float]
    bound: float


def cover(problem: Problem, prior_range: Priors, found: float, tolerance: float, polish: Polish) -> Iterator[Covered]:
    """Prove an upper bound step by step; each state has a witness once all priors are covered."""
    low, high = prior_range
    goal = found + tolerance
    tails: dict[str, Tail] = {}
    if problem.mirrored and Fraction(low) + Fraction(high) == 1:  # exactly, as the verifier: not so for 0.3 and 0.7
        high = 0.5
    if low == 0:
        tails["low"] = find_tail(problem, goal, mirrored=False)
        low = tails["low"].prior
    if high == 1:
        tails["high"] = find_tail(problem, goal, mirrored=True)
        high = float(np.nextafter(1 - tails["high"].prior, 1.0))  # at least that, whatever the rounding
    waiting = [
        (priors, None) for priors in pairwise(edges(low, high) if low < high else [])
    ]  # a tail may have them all
    open_intervals: list[Proved] = []
    for number, proved in enumerate(mapped(_proved, waiting, (problem, goal, tolerance)), 1):
        open_intervals.append(proved)
        if number < len(waiting):
            yield Covered(np.inf, found, number, len(waiting) - number)
    final: list[Proved] = []  # too narrow to be halved
    while True:
        intervals = [*final, *open_intervals]
        bounds = [*(proved.bound for proved in intervals), *(tail.bound for tail in tails.values())]
        unfinished = sum(bound > found + tolerance for bound in bounds)
        witness = partial(witness_of, tails, intervals, problem) if np.isfinite(max(bounds)) else None
        yield Covered(max(bounds), found, len(intervals), unfinished, witness)
        worst = _worst(open_intervals, goal)
        if not worst:
            return
        doubtful = [proved for proved in worst if proved.least > goal]
        found = max(found, polish([(sum(each.priors) / 2, np.unique(each.contacts.reports)) for each in doubtful]))
        goal = max(goal, found + tolerance)
        splits = [each for each in doubtful if each.bound > goal and not isinstance(each.slopes, Split)]
        for each, split in zip(splits, mapped(_split, splits, (problem, goal, tolerance)), strict=True):
            if split is not None:
                worst.remove(each)
                open_intervals.remove(each)
                open_intervals.append(split)
        for each in [each for each in worst if each.bound > goal and halves(each.priors) is None]:
            worst.remove(each)
            open_intervals.remove(each)
            final.append(each)
            goal = max(goal, each.bound)  # no interval needs to be better than the worst one
        parents = [each for each in worst if each.bound > goal]
        parts = [(half, each.knots) for each in parents for half in halves(each.priors) or ()]
        children = list(mapped(_proved, parts, (problem, goal, tolerance)))
        open_intervals = [each for each in open_intervals if each not in parents] + children


def _worst(intervals: list[Proved], goal: float) -> list[Proved]:
    """The intervals to be refined next: those that are furthest from the goal, the worst first."""
    far = [proved for proved in intervals if proved.bound > goal]
    return sorted(far, key=lambda proved: (-proved.bound, proved.priors[0]))[:AT_ONCE]


def _proved(common: tuple[Problem, float, float], item: tuple[Priors, Floats | None]) -> Proved:
    (problem, goal, tolerance), (priors, knots) = common, item
    return prove_interval(problem, priors, goal, tolerance, knots)


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
