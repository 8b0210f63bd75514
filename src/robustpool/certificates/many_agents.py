"""A proved upper bound for n agents and a rule that is not a function of their summed log-odds: the slopes for the dual inequality.

On an interval of priors, the slopes at each end are the analytic centre of all that satisfy, at some points x,

    A(x, mu) <= goal + sum_i alpha(x_-i)(x_i - mu),        alpha linear in each report between knots.

The centre leaves room everywhere, so that few boxes are enough, and it moves smoothly with mu, so that the slopes in between may be
interpolated. The points are the knots at first. Where the verifier finds that the inequality fails, points are added; where
that does not help, the interval is halved. docs/derivations/many-agents-certificate.md has the mathematics;
`robustpool.verification.many_agents` is what proves it.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import pairwise, product
from math import ceil, comb, floor, inf, log, nextafter
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checkpoints import check
from ..errors import SolverError
from ..execution import mapped
from ..numerics import sigma
from ..verification.boxes import batches
from ..verification.many_agents import (
    PLACES,
    Slopes,
    check_tail,
    elementary,
    multisets,
    needed,
    tail_bound,
)
from ..verification.reading import Budget, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Floats
    from ..verification.many_agents import SymmetricRule

    Priors = tuple[float, float]

KNOTS = {3: 25, 4: 17, 5: 11}
"""How many knots there are between 0 and 1, for so many agents."""

TOLERANCES = {3: 5e-5, 4: 5e-4, 5: 5e-3}
"""What is proved beyond the worst case found, unless the user asks for another tolerance."""

SAMPLES = {3: 24, 4: 14, 5: 10}
"""How many reports below 1/2 the constants of a tail are fitted to."""

FARTHEST = 4.5  # log-odds of the outermost knots
STEP = 1.18  # between the odds of the ends of the first intervals of priors
TAILS = (0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 5e-3, 1e-3, 1e-4, 1e-5)
AT_ONCE = 8  # intervals that are tried together, whoever does the work: the proof must not depend on that
ROUNDS = 12  # of new points, before an interval is halved
NEW_POINTS = 2000  # in a round
MOST_BOXES = 400_000  # of an interval
NARROWEST = 2.0**-14
TAIL_STEPS = 20_000_000  # of a budget, to check the constants of a tail


class Covered(NamedTuple):
    """Where the proof stands: the bound that holds, how many intervals of priors are done and left, and the witness."""

    upper: float
    done: int
    left: int
    standing: Standing
    witness: dict[str, Any] | None = None


class Standing(NamedTuple):
    """All that the proof goes on from."""

    stage: int
    proved: float  # by the stage before, with its witness
    witness: dict[str, Any] | None
    tail: dict[str, Any] | None
    waiting: list[Priors]
    done: list[dict[str, Any]]
    points: Floats
    tried: dict[Priors, int]  # how often, of those that wait
    centres: dict[float, Floats]  # slopes at priors, to start from


class TooLow(Exception):  # noqa: N818
    """No slopes prove the goal at a prior: at these points alone, they need this much."""


def cover(
    rule: SymmetricRule,
    prior_range: Priors,
    found: float,
    tolerance: float,
    reports: Floats,
    start: Standing | None = None,
) -> Iterator[Covered]:
    """Prove ``found`` + tolerance for all priors of the range, in two stages, the first of them quick and rough.

    ``reports`` are those of the worst structure found, next to which knots are worth most. The proof goes on from where another
    one stood, if ``start`` says where.
    """
    low, high = prior_range
    low, high = min(low, 1 - high), min(high, 1 - low, 0.5)
    problem = Problem(rule, reports)
    proved, witness = inf, None
    if start is not None:
        proved, witness = start.proved, start.witness
        problem.points = start.points
    slacks = [*([20 * tolerance] if 20 * tolerance < 0.5 * found else []), tolerance]
    if start is not None:
        check("the stage", start.stage < len(slacks))
        check("the slopes", all(len(slopes) == len(problem.multisets) for slopes in start.centres.values()))
        _check_cover(start, low, high)
    for stage, slack in enumerate(slacks):
        if start is not None and stage < start.stage:
            continue
        goal = nextafter(found + slack, inf)
        if start is not None and stage == start.stage:
            tail, waiting, done = start.tail, list(start.waiting), list(start.done)
            tried, centres = dict(start.tried), start.centres
        else:
            tail = find_tail(rule, goal) if low < TAILS[-1] else None
            first = low if tail is None else max(low, tail["prior"])
            waiting = list(pairwise(_edges(first, high)))[::-1] if first < high else []  # a tail may have them all
            done, tried, centres = [], {}, {}

        def standing() -> Standing:
            again = {priors: tried[priors] for priors in waiting if priors in tried}  # noqa: B023
            now = tail, waiting.copy(), done.copy(), problem.points, again, centres  # noqa: B023
            return Standing(stage, proved, witness, *now)  # noqa: B023

        while waiting:
            yield Covered(proved, len(done), len(waiting), standing(), witness)
            intervals = [waiting.pop() for _ in range(min(AT_ONCE, len(waiting)))]
            centres = _centres(problem, intervals, goal, centres)
            slopes = [problem.between(priors, centres) for priors in intervals]
            failures = list(mapped(_failures, slopes, (problem.rule, goal)))
            for each, points in reversed(list(zip(slopes, failures, strict=True))):
                tried[each.priors] = tried.get(each.priors, 0) + 1
                if points is not None and not len(points):
                    done.append(
                        {"priors": list(each.priors), "knots": each.knots.tolist(), "slopes": each.values.tolist()}
                    )
                elif points is None or problem.has(points) or tried[each.priors] == ROUNDS:
                    waiting += _halved(each.priors)
                else:
                    waiting.append(each.priors)  # again, with more points
            problem = problem.with_points([points for points in failures if points is not None])
        done.sort(key=itemgetter("priors"))
        now = standing()
        proved = goal
        witness = {"kind": "symmetric-dual", **({} if tail is None else {"tail": tail}), "intervals": done}
        yield Covered(goal, len(done), 0, now, witness)


def _check_cover(start: Standing, low: float, high: float) -> None:
    """Refuse intervals, with the tail, that do not cover the priors."""
    check("the tail", (start.tail is None) == (low >= TAILS[-1]))
    first = low if start.tail is None else max(low, start.tail["prior"])
    edges = _edges(first, high) if first < high else []
    ends = [end for priors in (*start.waiting, *(each["priors"] for each in start.done)) for end in priors]
    check("the cover", [min(ends), max(ends)] == [edges[0], edges[-1]] if edges and ends else not (edges or ends))


def _centres(problem: Problem, intervals: list[Priors], goal: float, known: dict[float, Floats]) -> dict[float, Floats]:
    """The slopes at the ends of some intervals of priors; those that are known are where to start."""
    ends = sorted({prior for priors in intervals for prior in priors})
    items = [(prior, known.get(prior)) for prior in ends]
    try:
        return dict(zip(ends, mapped(_centred, items, (problem, goal)), strict=True))
    except TooLow as error:
        (needs,) = error.args
        raise Refused(f"no slopes were found for a bound of {goal:.6g}; they need {needs:.6g} at least.") from None


def _centred(common: tuple[Problem, float], item: tuple[float, Floats | None]) -> Floats:
    (problem, goal), (prior, start) = common, item
    return problem.centre(prior, goal, start)


def _halved(priors: Priors) -> list[Priors]:
    """An interval of priors cut in two, the lower half last."""
    middle = _placed((priors[0] + priors[1]) / 2, floor)
    if priors[1] - priors[0] <= NARROWEST or not priors[0] < middle < priors[1]:
        raise Refused(f"no slopes were found for priors between {priors[0]:.6g} and {priors[1]:.6g}.")
    return [(middle, priors[1]), (priors[0], middle)]


def _edges(low: float, high: float) -> list[float]:
    """Ends of intervals, multiples of 2^-24, with odds that grow by a factor; the first not above low, the last not below high."""
    first, last = log(low / (1 - low)), log(high / (1 - high))
    count = max(1, ceil((last - first) / log(STEP)))
    inner = sigma(np.linspace(first, last, count + 1)[1:-1])
    return sorted({_placed(low, floor), *(_placed(edge, floor) for edge in inner.tolist()), _placed(high, ceil)})


def _placed(x: float, towards: Any) -> float:
    return float(towards(x * PLACES) / PLACES)


def _failures(common: tuple[SymmetricRule, float], slopes: Slopes) -> Floats | None:
    """Points where the inequality fails, one in each box where a corner shows it; None if there are too many boxes."""
    rule, goal = common
    seen, failures = 0, [np.zeros((0, rule.agents))]
    for boxes, (corner, most, bends), waiting in batches(partial(needed, rule), slopes.boxes(), Budget(inf)):
        seen += len(boxes)
        fails = ~(corner.max(axis=1) <= goal)
        if fails.any():
            worst = corner[fails].argmax(axis=1)
            side = (worst[:, None] >> np.arange(rule.agents, 0, -1)) & 1  # the last bit is the prior's
            x = np.take_along_axis(boxes.x[fails], side[:, :, None], axis=2)[:, :, 0]
            order = np.argsort(-corner[fails].max(axis=1), kind="stable")[:NEW_POINTS]
            failures.append(np.sort(x[order], axis=1))
        unsettled = ~(most <= goal) & ~fails
        if unsettled.any():
            if seen > MOST_BOXES:
                return np.concatenate(failures) if len(failures) > 1 else None
            try:
                waiting.append(boxes.pick(unsettled).halved(bends[unsettled]))
            except Refused:
                return None
    return np.concatenate(failures)


class Problem:
    """The rule, the knots, and the points so far."""

    def __init__(self, rule: SymmetricRule, reports: Floats) -> None:
        """Lay out the knots: even in log-odds, and at the reports of the worst structure."""
        n = rule.agents
        even = sigma(np.linspace(-FARTHEST, FARTHEST, KNOTS[n]))
        near = reports[(reports > 0.02) & (reports < 0.98)]
        apart = even[np.abs(even[:, None] - near).min(axis=1, initial=1.0) > 0.02]
        self.rule = rule
        self.knots = np.unique(np.round(np.concatenate(([0.0, 1.0], near, apart)) * PLACES) / PLACES)
        self.knots = self.knots[np.concatenate(([True], np.diff(self.knots) > 1e-3))]
        self.multisets = np.concatenate(list(multisets(len(self.knots), n - 1)))
        self.points = self.knots[np.concatenate(list(multisets(len(self.knots), n)))]

    def with_points(self, failures: list[Floats]) -> Problem:
        """The same with more points."""
        problem = copy(self)
        problem.points = np.unique(np.concatenate((self.points, *failures)), axis=0)
        return problem

    def has(self, points: Floats) -> bool:
        """Whether none of these points is new: the inequality holds there at the ends of an interval, and fails in between."""
        return len(np.unique(np.concatenate((self.points, points)), axis=0)) == len(self.points)

    def between(self, priors: Priors, centres: dict[float, Floats]) -> Slopes:
        """The slopes of an interval of priors, from those at its ends."""
        return Slopes(self.rule.agents, priors, self.knots, np.round([centres[prior] for prior in priors], 9))

    # --------------------------------------------------------------------------------------------------------- the slopes

    def centre(self, prior: float, goal: float, start: Floats | None) -> Floats:
        """The analytic centre of the slopes that satisfy the inequality at the points, for one prior."""
        rows, costs = self._rows(prior), density(self.rule, self.points, prior)
        if start is None or not (goal + rows @ start - costs > 0).all():
            start, needs = _least(rows, costs)
            if not needs < goal:
                raise TooLow(needs)
        return _centre(rows, costs, goal, start)

    def _rows(self, prior: float) -> Any:
        """sum_i alpha(x_-i)(x_i - mu) at the points, as a sparse matrix on the slopes at the knots."""
        from scipy import sparse

        n, x = self.rule.agents, self.points
        cell = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 2)
        share = (x - self.knots[cell]) / (self.knots[cell + 1] - self.knots[cell])
        code = len(self.knots) ** np.arange(n - 2, -1, -1)
        codes = self.multisets @ code
        rows, columns, values = [], [], []
        for i in range(n):
            others = [j for j in range(n) if j != i]
            for corner in product((0, 1), repeat=n - 1):
                weight = np.prod(np.where(corner, share[:, others], 1 - share[:, others]), axis=1)
                there = np.flatnonzero(weight > 0)
                knot = np.sort(cell[there][:, others] + np.array(corner), axis=1)
                rows.append(there)
                columns.append(np.searchsorted(codes, knot @ code))
                values.append(weight[there] * (x[there, i] - prior))
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csr_matrix(entries, shape=(len(x), len(codes)))


def density(rule: SymmetricRule, x: Floats, prior: float) -> Floats:
    """A = c (f - g)^2 at points (m, n), in floats; 0 where 0 meets 1."""
    n, f = rule.agents, _forecasts(rule, x)
    p, q = x.prod(axis=1) / prior ** (n - 1), (1 - x).prod(axis=1) / (1 - prior) ** (n - 1)
    g = np.divide(p, p + q, out=np.zeros_like(p), where=p + q > 0)
    return np.asarray((p + q) * (f - g) ** 2)


def _forecasts(rule: SymmetricRule, x: Floats) -> Floats:
    """f at points (m, n), in floats; 1/2 where 0 meets 1."""
    with np.errstate(invalid="ignore"):
        return np.where((x == 0).any(axis=1) & (x == 1).any(axis=1), 0.5, rule.near(x))


def _least(rows: Any, costs: Floats) -> tuple[Floats, float]:
    """Slopes with the least V that satisfies the inequality at the points, and this V."""
    from scipy import sparse
    from scipy.optimize import linprog

    matrix = sparse.hstack((-rows, sparse.csr_matrix(-np.ones((rows.shape[0], 1))))).tocsr()
    aim = np.append(np.zeros(rows.shape[1]), 1.0)
    solved = linprog(aim, A_ub=matrix, b_ub=-costs, bounds=(None, None), method="highs-ipm")
    if solved.x is None:
        raise SolverError("the linear programme for the slopes has no finite solution.")
    slopes = solved.x[:-1]
    return slopes, float((costs - rows @ slopes).max())


def _centre(rows: Any, costs: Floats, goal: float, slopes: Floats) -> Floats:
    """Maximise sum log(goal + rows @ slopes - costs) by Newton's method, from slopes where all of these are positive.

    Some slopes say the same as others, so that a small square term makes the centre unique.
    """
    from scipy.linalg import cho_factor, cho_solve

    ridge, turned = 1e-6, rows.T.tocsr()

    def value(at: Floats) -> tuple[float, Floats]:
        room = goal + rows @ at - costs
        if not (room > 0).all():
            return inf, room
        return float(0.5 * ridge * at @ at - np.log(room).sum()), room

    best, room = value(slopes)
    for _ in range(60):
        gradient = ridge * slopes - turned @ (1 / room)
        hessian = (turned.multiply((1 / room**2)[None]) @ rows).toarray()
        hessian[np.diag_indices_from(hessian)] += ridge + 1e-13 * hessian.diagonal().max()
        step = -cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        gain = float(-gradient @ step)
        if not gain > 1e-3:
            break
        size = 1.0
        while (after := value(slopes + size * step))[0] > best - 1e-4 * size * gain and size > 1e-9:
            size *= 0.5
        if size <= 1e-9:
            break
        slopes, (best, room) = slopes + size * step, after
    return slopes


# ------------------------------------------------------------------------------------------------------------ the tail


def find_tail(rule: SymmetricRule, goal: float) -> dict[str, Any]:
    """The longest tail that proves the goal. What its constants leave of the goal is added to the first: few boxes are enough."""
    n = rule.agents
    for prior in (prior for prior in TAILS if prior < goal):
        constants = _growth(rule, prior)
        spare = goal - float(tail_bound(prior, constants, n))
        if spare <= 0:
            continue
        constants[0] += floor(0.9 * spare * (1 - prior) ** (n - 1) * 1e6) / 1e6
        tail = {"prior": prior, "constants": constants}
        try:
            check_tail(rule, tail, goal, Budget(TAIL_STEPS))
        except Refused:
            continue
        return tail
    raise Refused(f"no argument was found for priors below {TAILS[-1]:.3g}.")


def _growth(rule: SymmetricRule, prior: float) -> list[float]:
    """C_0, ..., C_n with the least bound at a prior, at sample points; rounded up."""
    from scipy.optimize import linprog

    n = rule.agents
    half = sigma(-np.geomspace(0.1, 12, SAMPLES[n]))
    grid = np.unique(np.round(np.concatenate(([0.0, 0.5, 1.0], half, 1 - half)) * 2**40) / 2**40)
    x = grid[np.concatenate(list(multisets(len(grid), n)))]
    f = _forecasts(rule, x)
    costs = [comb(n, k) * prior**k for k in range(n + 1)]
    solved = linprog(costs, A_ub=-elementary(x), b_ub=-((1 - x).prod(axis=1) * f**2), bounds=(0, None))
    constants = solved.x if solved.x is not None else np.eye(n + 1)[0]
    return [float(np.ceil(c * 1.05 * 1e6) / 1e6) for c in constants]
