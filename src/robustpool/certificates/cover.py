"""A proved upper bound for two agents: cover the priors, and refine the interval that is worst until all are good enough.

The search is best-first. The bound that is proved so far is the largest over the intervals, and falls; whoever stops early
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

from ..checkpoints import check
from ..verification.cover import cells, least_of, needed, tail_bound
from .dual import Problem, Proved, Split, halves, highest, needs_split, prove_interval, prove_split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Floats
    from ..verification.dual import Slopes
    from .dual import Priors

    Polish = Callable[[float, Floats], float]

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
        tails["low"] = find_tail(problem, goal, mirrored=False) if start is None else start.tails["low"]
        low = tails["low"].prior
    if high == 1:
        tails["high"] = find_tail(problem, goal, mirrored=True) if start is None else start.tails["high"]
        high = float(np.nextafter(1 - tails["high"].prior, 1.0))  # at least that, whatever the rounding
    waiting = list(pairwise(edges(low, high) if low < high else []))  # a tail may have them all
    open_intervals, final = list[Proved](), list[Proved]()
    if start is not None:
        found, goal, _, open_intervals, final = start
        covered = [end for proved in (*open_intervals, *final) for end in proved.priors]
        ends = [end for priors in waiting[: len(open_intervals) + len(final)] for end in priors]
        check(
            "the cover",
            (min(covered, default=0), max(covered, default=0)) == (min(ends, default=0), max(ends, default=0)),
        )
    for number in range(len(open_intervals) + len(final) + 1, len(waiting) + 1):
        open_intervals.append(prove_interval(problem, waiting[number - 1], goal, tolerance))
        if number < len(waiting):
            standing = Standing(found, goal, tails, open_intervals.copy(), [])
            yield Covered(np.inf, found, number, len(waiting) - number, standing)
    while True:
        intervals = [*final, *open_intervals]
        bounds = [*(proved.bound for proved in intervals), *(tail.bound for tail in tails.values())]
        unfinished = sum(bound > found + tolerance for bound in bounds)
        witness = partial(witness_of, tails, intervals, problem) if np.isfinite(max(bounds)) else None
        standing = Standing(found, goal, tails, open_intervals.copy(), final.copy())
        yield Covered(max(bounds), found, len(intervals), unfinished, standing, witness)
        worst = max(open_intervals, key=lambda proved: (proved.bound, -proved.priors[0]), default=None)
        if worst is None or worst.bound <= goal:
            return
        open_intervals.remove(worst)
        parts = halves(worst.priors)
        if worst.least > goal:
            middle = sum(worst.priors) / 2
            found = max(found, polish(middle, np.unique(worst.contacts.reports)))
            goal = max(goal, found + tolerance)
            if not isinstance(worst.slopes, Split) and needs_split(problem, worst.knots, middle, goal):
                proved = prove_split(problem, worst.priors, goal, tolerance, worst.knots)
                if proved.bound <= goal and isinstance(proved.slopes, Split):
                    open_intervals.append(proved)
                    continue
        if parts is None:
            final.append(worst)
            goal = max(goal, worst.bound)  # no interval needs to be better than the worst one
            continue
        open_intervals += [prove_interval(problem, priors, goal, tolerance, worst.knots) for priors in parts]


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
