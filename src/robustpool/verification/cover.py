"""An upper bound for two agents from a certificate: tails at both ends, intervals of priors with slopes between them.

A tail, the priors next to 0 or 1, needs no slopes.
A = p (1-f)^2 + q f^2 - XY/d <= p + q f^2, where p = x_1 x_2/mu has the mean mu. If

    (1-x_1)(1-x_2) f^2 <= C_0 + C_2 (x_1 + x_2) + C_1 x_1 x_2        for all x_1, x_2,

with C_0, C_1, C_2 >= 0, then the regret at the prior mu is at most mu + (C_0 + 2 C_2 mu + C_1 mu^2)/(1-mu), which grows with mu:
so what it is at the largest prior of the tail holds for all. Priors next to 1 are those next to 0 in the mirror, where
reports are 1 - x and forecasts 1 - f.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

from .boxes import Boxes, Measured, all_at_most, pairs
from .dual import Forecast, Loss, Reports, Seen, Slopes, measured, proved
from .intervals import Floats, Interval, up
from .reading import LATER, Budget, Refused, double, read, word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .forecasts import Aggregator

Ends = tuple[float, float]
Ranges = tuple[Ends, Ends]

STEPS_OF_SLOPES = 250  # of the budget, to read them; 116 to 247 microseconds were measured

TAIL = {"prior": double, "constants": [double]}
ENTRY = {"knots": [double], "slopes": LATER}
SPLIT = {"end": word("low", "high"), "at": double, "parts": [LATER]}
WITNESS = {"kind": word("dual"), "tails": {"low?": TAIL, "high?": TAIL}, "intervals": [LATER]}


def check_upper(
    aggregator: Aggregator,
    prior_range: tuple[Fraction, Fraction],
    witness: Any,
    bound: float,
    budget: Budget,
    watch: Callable[[float], None] = lambda _: None,
) -> None:
    """Prove that no two conditionally independent agents cost the aggregator more than the bound, or refuse.

    ``watch`` is told which share of the intervals is done.
    """
    data = read(witness, WITNESS, "upper.witness")
    intervals = [
        list(_interval(entry, aggregator, f"upper.witness.intervals[{i}]", budget))
        for i, entry in enumerate(data["intervals"])
    ]
    _check_cover(data["tails"], [leaves[0].priors for leaves in intervals], aggregator, prior_range)
    for end, tail in data["tails"].items():
        _check_tail(end, tail, aggregator, bound, budget)
    for number, leaves in enumerate(intervals):
        for slopes in leaves:
            symmetric = aggregator.exchangeable and slopes.ranges is None
            if not all(proved(piece, slopes, bound, budget, symmetric=symmetric) for piece in aggregator.pieces):
                low, high = slopes.priors
                raise Refused(
                    f"the slopes for the priors from {low:.6g} to {high:.6g} do not prove the bound {bound!r}."
                )
        watch((number + 1) / len(intervals))


def all_ranges(n: int, priors: Ends) -> Ranges:
    """Where a low report, at most the prior, and a high one, at least the prior, can lie: between whole numbers of cells."""
    return (0.0, float(ceil(n * Fraction(priors[1])))), (float(floor(n * Fraction(priors[0]))), float(n))


def halved_ranges(ranges: Ranges, end: str, at: float) -> tuple[Ranges, Ranges]:
    """The ranges of both parts of a split: every pair (low, high) belongs to one of them, wherever ``at`` is."""
    low, high = ranges
    if end == "low":
        return ((low[0], at), high), ((at, low[1]), high)
    return (low, (high[0], at)), (low, (at, high[1]))


def _interval(entry: Any, about: Aggregator, where: str, budget: Budget) -> Iterator[Slopes]:
    """The slopes of an interval {"priors", "knots", "slopes"}, or those of its parts {"priors", "end", "at", "parts"}."""
    if not isinstance(entry, dict) or "priors" not in entry:
        raise Refused(f"{where} must be an object with the field 'priors'.")
    priors = read(entry["priors"], [double], f"{where}.priors")
    if len(priors) != 2 or not 0 < priors[0] < priors[1] < 1:
        raise Refused(f"{where}.priors must be two numbers in (0, 1), the lower first.")
    rest = {name: part for name, part in entry.items() if name != "priors"}
    return _leaves(rest, (priors[0], priors[1]), None, about, where, budget)


def _leaves(
    entry: Any, priors: Ends, ranges: Ranges | None, about: Aggregator, where: str, budget: Budget
) -> Iterator[Slopes]:
    """The slopes for all structures with these priors, or those in whose ranges the first agent's reports lie.

    A split says that her low or her high report lies below a number, or above. The regret is linear in the
    distribution of her reports, and each distribution with the mean mu is a mixture of such on two reports, low <= mu <=
    high. So it is enough that each pair (low, high) belongs to some leaf.
    """
    budget.spend(STEPS_OF_SLOPES)
    if not isinstance(entry, dict) or "parts" not in entry:
        yield _slopes(read(entry, ENTRY, where), priors, ranges, about, where)
        return
    split = read(entry, SPLIT, where)
    if len(split["parts"]) != 2:
        raise Refused(f"{where} must split the low or the high reports at a number, into two parts.")
    halves = halved_ranges(ranges or all_ranges(about.resolution, priors), split["end"], split["at"])
    for i, (part, half) in enumerate(zip(split["parts"], halves, strict=True)):
        yield from _leaves(part, priors, half, about, f"{where}.parts[{i}]", budget)


def _slopes(data: dict[str, Any], priors: Ends, ranges: Ranges | None, about: Aggregator, where: str) -> Slopes:
    """{"knots", "slopes"}; agents that can be exchanged share their slopes, unless the first one's reports are split."""
    shared = about.exchangeable and ranges is None
    values = read(data["slopes"], [[double]] if shared else [[[double]]], f"{where}.slopes")
    n, knots = about.resolution, np.array(data["knots"])
    if not (np.diff(knots) > 0).all() or not np.isin(np.arange(n + 1.0), knots).all():
        raise Refused(f"{where}.knots must grow and include 0, 1, ..., {n}.")
    if knots[0] != 0 or knots[-1] != n:
        raise Refused(f"{where}.knots must go from 0 to {n}.")
    if ranges is not None and not np.isin([end for pair in ranges for end in pair], knots).all():
        raise Refused(f"{where}.knots must include the ends of the ranges that the splits leave.")
    ends = [values] * 2 if shared else values
    if len(ends) != 2 or any(len(end) != 2 or any(len(row) != len(knots) for row in end) for end in ends):
        raise Refused(f"{where}.slopes do not fit the knots.")
    return Slopes(priors, knots, np.array(ends), ranges)


def _check_cover(
    tails: dict[str, Any], intervals: list[Ends], about: Aggregator, prior_range: tuple[Fraction, Fraction]
) -> None:
    """All priors of the range lie in a tail or in an interval; half of them, where the mirror has the other half.

    The priors 0 and 1 are covered by tails: there the reports are certain, and the constants bound the regret of a forecast
    that is not. Intervals are closed, and come in order.
    """
    low, high = prior_range
    if about.mirrored and low + high == 1:
        high = Fraction(1, 2)
    closed = [(Fraction(first), Fraction(last)) for first, last in intervals]
    if "low" in tails:
        closed.insert(0, (Fraction(0), Fraction(tails["low"]["prior"])))
    if "high" in tails:
        closed.append((1 - Fraction(tails["high"]["prior"]), Fraction(1)))
    reached = None  # all priors from low to this one are covered; none is to begin with, not even low
    for first, last in closed:
        if first <= (low if reached is None else reached) and last >= low:
            reached = last if reached is None else max(reached, last)
    if reached is None or reached < high:
        begin = low if reached is None else reached
        raise Refused(f"the priors from {float(begin):.9g} to {float(high):.9g} are not covered, or not in order.")


def _check_tail(end: str, tail: dict[str, Any], about: Aggregator, bound: float, budget: Budget) -> None:
    """The bound holds for the priors of the tail at the "low" or the "high" end; at the latter, prior means 1 - mu."""
    prior, constants = tail["prior"], tail["constants"]
    if not (0 < prior < 1 and len(constants) == 3 and min(constants) >= 0):
        raise Refused(f"upper.witness.tails.{end} needs a prior in (0, 1) and three constants that are not negative.")
    if not tail_bound(prior, constants, least_of(about.pieces, end)) <= Fraction(bound):
        raise Refused(f"the tail at the {end} end does not prove the bound at its prior {prior:.6g}.")
    for piece in about.pieces:
        if not constants_hold(piece, constants, budget, mirrored=end == "high"):
            raise Refused(f"the constants of the tail at the {end} end do not hold for all reports.")


def least_of(pieces: Sequence[Forecast], end: str) -> float:
    """The least forecast that counts for a tail: in the mirror f^2 <= 1 takes the place of (1-f)^2 <= (1 - least)^2."""
    least = min(piece.least for piece in pieces)
    if not -1 <= least <= 0:
        raise Refused(f"the forecasts must be at least -1, and known to be so; they are at least {least:.6g}.")
    return least if end == "low" else 0.0


def tail_bound(prior: float, constants: Sequence[float], least: float = 0.0) -> Fraction:
    """mu (1 - least)^2 + (C_0 + 2 C_2 mu + C_1 mu^2)/(1-mu), exactly; least is 0 unless forecasts can be negative."""
    mu, (c0, c2, c1) = Fraction(prior), (Fraction(c) for c in constants)
    return mu * (1 - Fraction(least)) ** 2 + (c0 + 2 * c2 * mu + c1 * mu * mu) / (1 - mu)


def constants_hold(forecast: Forecast, constants: Sequence[float], budget: Budget, *, mirrored: bool) -> bool:
    """Whether the inequality of the constants (C_0, C_2, C_1) is proved for all reports."""
    c0, *growth = constants
    measure = partial(needed, forecast, growth, mirrored=mirrored)
    return all_at_most(measure, cells(forecast), c0, budget)


def cells(forecast: Forecast) -> Iterator[Boxes]:
    """The boxes to begin with: all pairs of cells of the table."""
    knots = np.arange(forecast.resolution + 1.0)
    for k1, k2 in pairs(forecast.resolution, symmetric=False):
        yield Boxes.between(knots, k1, k2, (0.0, 0.0))


def needed(forecast: Forecast, growth: Sequence[float], boxes: Boxes, *, mirrored: bool) -> Measured:
    """The C_0 that is needed on boxes: (1-x_1)(1-x_2) f^2, or in the mirror x_1 x_2 (1-f)^2, less C_2 (x_1 + x_2) + C_1 x_1 x_2.

    The first is a `Loss` with u = 0 and v = 1, or u = 1 and v = 0. The second is bilinear and does not bend.
    """
    seen = Seen.on(forecast, boxes, np.stack((boxes.k1, boxes.k2), axis=1))
    u, v = Interval(float(mirrored)), Interval(float(not mirrored))
    c2, c1 = (Interval(c) for c in growth)

    def excess(one: Reports, two: Reports, loss: Loss) -> Floats:
        x1, x2 = (one.rest, two.rest) if mirrored else (one.x, two.x)
        return up(loss.most() - (c2 * (x1 + x2) + c1 * (x1 * x2)).lo)

    (one, two), inside = seen.over, Loss.of(*seen.over, u, v, seen.given.f)
    corner = excess(*seen.at, Loss.of(*seen.at, u, v, seen.corners))
    bends = (inside.bend(two, seen.given, 0), inside.bend(one, seen.given, 1), np.zeros(len(boxes)))
    return measured(forecast, boxes, corner, excess(one, two, inside), bends)
