"""Slopes for the dual inequality of two agents: found by linear programmes in floats, then proved by the verifier.

On an interval of priors, the least V for which slopes alpha, linear between knots and in the prior, satisfy

    A(x_1, x_2, mu) <= V + alpha_1(x_1, mu)(x_2 - mu) + alpha_2(x_2, mu)(x_1 - mu)

at all pairs of knots and some priors of the interval is a linear programme. An interior-point method is used on purpose:
its solution is in the middle of all optimal ones, with room where there is room, so that few knots are enough. Where the
inequality fails between knots, knots are added; where that does not help, the interval is halved.
docs/derivations/dual-certificate.md has the mathematics; `robustpool.verification.dual` is what proves it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..conic import solve_cones
from ..errors import SolverError
from ..verification.boxes import Boxes, Measured, batches
from ..verification.cover import Ranges, all_ranges, halved_ranges
from ..verification.dual import Forecast, Slopes, needed, whole
from ..verification.intervals import Interval
from ..verification.reading import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Booleans, Floats

    Priors = tuple[float, float]  # the ends of an interval of them

PLACES = 5  # in an interval of priors, where the programme asks for the inequality
ROUNDS = 8  # of new knots, before an interval is halved
DEPTH = 10  # of splits by the first agent's reports
MOST_BOXES = 20_000_000  # before a search for the highest value gives up
NARROWEST = 1e-7  # relative to the prior; an interval is not halved below that


class Piece(NamedTuple):
    """One smooth piece of an aggregator: its formula in floats, and how the verifier reads it."""

    formula: Callable[[Floats, Floats], Floats]  # f(x_1, x_2)
    forecast: Forecast

    def holds(self, x1: Floats, x2: Floats) -> Booleans:
        """Where it is in force, borders included."""
        n = self.forecast.resolution
        return self.forecast.holds(Interval(n * x1), Interval(n * x2))


class Problem(NamedTuple):
    """An aggregator of two reports to be bounded: its pieces, the first knots (in cells), and its symmetries."""

    pieces: tuple[Piece, ...]
    knots: Floats
    symmetric: bool
    mirrored: bool

    @property
    def resolution(self) -> int:
        """N."""
        return self.pieces[0].forecast.resolution


@dataclass(frozen=True, eq=False)
class Proved:
    """Slopes on an interval of priors, and the bound that the verifier's arithmetic proves with them."""

    slopes: Slopes | Split = field(repr=False)
    priors: Priors
    bound: float
    least: float  # what the linear programme needs
    contacts: Contacts = field(repr=False)
    knots: Floats = field(repr=False)


class Split(NamedTuple):
    """Slopes for two kinds of structures: the first agent's low or high report lies below a number, or above."""

    end: str  # "low" or "high"
    at: float  # in cells
    parts: tuple[Slopes | Split, Slopes | Split]


class Contacts(NamedTuple):
    """The pairs of reports where the programme binds, with their probabilities: the structure that it thinks of."""

    reports: Floats  # (pairs, 2)
    chances: Floats


def regret_density(mu: float, x1: Floats, x2: Floats, f: Floats) -> Floats:
    """A = X (1-f)^2/mu + Y f^2/(1-mu) - XY/d, in floats."""
    yes, no = x1 * x2, (1 - x1) * (1 - x2)
    d = mu * no + (1 - mu) * yes
    omniscient = np.divide(yes * no, d, out=np.zeros_like(d), where=d > 0)
    return np.asarray(yes * (1 - f) ** 2 / mu + no * f**2 / (1 - mu) - omniscient)


def highest(
    measure: Callable[[Boxes], Measured],
    start: Iterator[Boxes],
    enough: float,
    slack: float,
    blamed: list[tuple[Floats, Floats]] | None = None,
) -> float:
    """At least the largest value of a function on boxes; at most ``enough``, if that can be shown, inf if nothing can.

    Boxes are halved until none may exceed ``enough``. Once a corner is seen to exceed it, nothing can show it; the search
    then goes on to what the corners need plus the slack. The reports y_1, y_2 of such corners are added to ``blamed``.
    """
    proved, goal, seen = -np.inf, enough, 0
    for boxes, (corner, most, bends), waiting in batches(measure, start, Budget(np.inf)):
        seen += len(boxes)
        if blamed is not None and (corner > enough).any():
            box, i, j = np.nonzero(corner > enough)[:3]
            blamed.append((boxes.y1[box, i], boxes.y2[box, j]))
        if not (corner <= goal).all():
            if np.isnan(corner).any():
                return np.inf
            goal = max(goal, float(corner.max()) + slack)
        unsettled = ~(most <= goal)
        proved = max(proved, float(most[~unsettled].max(initial=-np.inf)))
        if unsettled.any():
            if seen > MOST_BOXES:
                return np.inf
            waiting.append(boxes.pick(unsettled).halved(bends[unsettled]))
    return proved


def prove_interval(
    problem: Problem,
    priors: Priors,
    goal: float,
    slack: float,
    knots: Floats | None = None,
    ranges: Ranges | None = None,
    rounds: int = ROUNDS,
) -> Proved:
    """Look for slopes that prove ``goal`` on an interval of priors; return the best there was."""
    knots = problem.knots if knots is None else knots
    proofs: list[Proved] = []
    for _ in range(rounds):
        slopes, least, contacts = best_slopes(problem, knots, priors, ranges)
        blamed: list[tuple[Floats, Floats]] = []
        bound = max(
            highest(
                partial(needed, piece.forecast, slopes), whole(slopes, symmetric=problem.symmetric), goal, slack, blamed
            )
            for piece in problem.pieces
        )
        proofs.append(Proved(slopes, priors, bound, least, contacts, knots))
        if bound <= goal or least > goal:
            break
        finer = _with_knots(knots, np.concatenate([y for pair in blamed for y in pair]))
        if len(finer) == len(knots):  # it fails at the knots, between the priors: the next round would be the same
            break
        knots = finer
    return min(proofs, key=lambda proved: proved.bound)


def prove_split(
    problem: Problem,
    priors: Priors,
    goal: float,
    slack: float,
    knots: Floats,
    ranges: Ranges | None = None,
    depth: int = DEPTH,
) -> Proved:
    """The same where one set of slopes cannot do: it has to allow for joint distributions of reports that are no products.

    Some structure with two signals for the first agent is worst, so it is enough to look at these, and to split them by
    where her low and her high report lie. The smaller the ranges, the nearer to a product.
    """
    n, each = problem.resolution, problem._replace(symmetric=False)
    ranges = ranges or all_ranges(n, priors)
    proved = prove_interval(each, priors, goal, slack, knots, ranges)
    cut = _cut(proved.contacts, ranges, n, sum(priors) / 2) if proved.bound > goal and depth else None
    if cut is None:
        return proved
    end, at = cut
    finer = np.union1d(proved.knots, [at])
    parts = [
        prove_split(problem, priors, goal, slack, finer, half, depth - 1) for half in halved_ranges(ranges, end, at)
    ]
    split = Split(end, at, (parts[0].slopes, parts[1].slopes))
    worst = max(parts, key=lambda part: part.bound)
    return Proved(split, priors, worst.bound, max(part.least for part in parts), worst.contacts, finer)


def no_worse(problem: Problem, proved: Proved, parent: Proved) -> Proved:
    """A proof on a part of an interval, with the slopes of the whole interval if these prove more."""
    if proved.bound <= parent.bound:
        return proved
    slopes = _narrowed(parent.slopes, parent.priors, proved.priors)
    symmetric = problem.symmetric and isinstance(slopes, Slopes)
    bound = max(
        highest(partial(needed, piece.forecast, one), whole(one, symmetric=symmetric), parent.bound, 0.0)
        for one in _leaves(slopes)
        for piece in problem.pieces
    )
    return replace(proved, slopes=slopes, bound=bound, knots=parent.knots) if bound < proved.bound else proved


def _narrowed(slopes: Slopes | Split, whole: Priors, part: Priors) -> Slopes | Split:
    """The same slopes on a part of their interval, but for rounding."""
    if isinstance(slopes, Split):
        first, second = (_narrowed(each, whole, part) for each in slopes.parts)
        return slopes._replace(parts=(first, second))
    at = [(prior - whole[0]) / (whole[1] - whole[0]) for prior in part]
    values = np.stack([(1 - r) * slopes.values[:, 0] + r * slopes.values[:, 1] for r in at], axis=1)
    return replace(slopes, priors=part, values=values)


def _leaves(slopes: Slopes | Split) -> Iterator[Slopes]:
    """The slopes of all kinds of structures."""
    if isinstance(slopes, Split):
        for part in slopes.parts:
            yield from _leaves(part)
    else:
        yield slopes


def needs_split(problem: Problem, knots: Floats, prior: float, goal: float) -> bool:
    """Whether one set of slopes cannot prove the goal, however narrow the interval around a prior."""
    _, least, _ = best_slopes(problem, knots, (prior, prior * (1 + 1e-9)))
    return least > goal


def _cut(contacts: Contacts, ranges: Ranges, n: int, prior: float) -> tuple[str, float] | None:
    """Where to split: the low or the high reports of the first agent, whichever are further spread, in their middle."""
    x, chance = contacts.reports[:, 0], contacts.chances
    best, cut = 0.0, None
    for end, side, (low, high) in zip(("low", "high"), (x <= prior, x >= prior), ranges, strict=True):
        inside = side & (x * n >= low) & (x * n <= high)
        mass = chance[inside].sum()
        if mass <= 0:
            continue
        mean = float(chance[inside] @ x[inside] / mass)
        spread = float(chance[inside] @ np.abs(x[inside] - mean))
        at = round(mean * n * 64) / 64
        if spread > best and low < at < high:
            best, cut = spread, (end, at)
    return cut


def best_slopes(
    problem: Problem, knots: Floats, priors: Priors, ranges: Ranges | None = None
) -> tuple[Slopes, float, Contacts]:
    """The slopes with the least V at the knots, this V, and where the programme binds."""
    import scipy.sparse as sp

    n, x = len(knots), knots / problem.resolution
    i, j = np.triu_indices(n) if problem.symmetric else (k.ravel() for k in np.indices((n, n)))
    if ranges is not None:
        inside = np.logical_or.reduce([(knots[i] >= low) & (knots[i] <= high) for low, high in ranges])
        i, j = i[inside], j[inside]
    agent_2 = 0 if problem.symmetric else 2 * n  # where the second agent's slopes stand
    size = (2 if problem.symmetric else 4) * n + 1
    blocks, right, pairs = [], [], []
    for piece in problem.pieces:
        holds = piece.holds(x[i], x[j])
        a, b = i[holds], j[holds]
        f, row = piece.formula(x[a], x[b]), np.arange(holds.sum())
        for r in np.linspace(0, 1, PLACES):
            mu = (1 - r) * priors[0] + r * priors[1]
            to_1, to_2 = x[b] - mu, x[a] - mu
            data = np.concatenate(((1 - r) * to_1, r * to_1, (1 - r) * to_2, r * to_2, np.ones(len(row))))
            columns = np.concatenate((a, n + a, agent_2 + b, agent_2 + n + b, np.full(len(row), size - 1)))
            blocks.append(sp.csc_matrix((-data, (np.tile(row, 5), columns)), shape=(len(row), size)))
            pairs.append(np.stack((x[a], x[b]), axis=1))
            right.append(-regret_density(mu, x[a], x[b], f))
    rows = sp.vstack(blocks).tocsc()
    solved = solve_cones(
        sp.csc_matrix((size, size)),
        np.append(np.zeros(size - 1), 1.0),
        rows,
        np.concatenate(right),
        [("nonnegative", rows.shape[0])],
        accept=lambda one: bool(np.isfinite(one.x).all()),
        tolerance=1e-11,
    )
    if not solved.accepted:
        raise SolverError(f"the linear programme for the slopes between the priors {priors} has no finite solution.")
    values = np.round(solved.x[:-1].reshape(-1, 2, n), 9)  # shorter files, and far less than any slack
    chances = solved.z  # the multipliers are probabilities of pairs of reports
    binding = chances > 1e-4
    slopes = Slopes(priors, knots, values[[0, 0]] if problem.symmetric else values, ranges)
    return slopes, float(solved.x[-1]), Contacts(np.concatenate(pairs)[binding], chances[binding])


def _with_knots(knots: Floats, blamed: Floats) -> Floats:
    """The knots, and the middles between those where the inequality fails."""
    between = np.unique(np.searchsorted(knots, blamed[~np.isin(blamed, knots)]) - 1)
    return np.sort(np.concatenate((knots, (knots[between] + knots[between + 1]) / 2)))


def halves(priors: Priors) -> tuple[Priors, Priors] | None:
    """An interval of priors cut in two, or None if it is too narrow."""
    low, high = priors
    if high - low <= NARROWEST * min(low, 1 - high + NARROWEST):
        return None
    middle = (low + high) / 2
    return (low, middle), (middle, high)
