"""An upper bound for two agents from a certificate: tails at both ends, intervals of priors with slopes between them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

from .dual import Slopes, highest_needed
from .forecasts import Pieces, read_pieces
from .mixtures import field, rational
from .refusal import Refused
from .tails import highest_constant, tail_bound

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = Fraction(1, 2)


def check_upper(
    aggregator: dict[str, Any],
    prior_range: tuple[Fraction, Fraction],
    witness: dict[str, Any],
    bound: Fraction,
    watch: Callable[[float], None] = lambda _: None,
) -> None:
    """Prove that no two conditionally independent agents cost the aggregator more than the bound, or refuse.

    ``watch`` is told which share of the intervals is done.
    """
    about = read_pieces(aggregator)
    double = float(bound)
    if Fraction(double) > bound:
        double = float(np.nextafter(double, -np.inf))
    if field(witness, "kind", "upper.witness") != "dual":
        raise Refused(f"upper.witness.kind must be 'dual'; it is {str(witness['kind'])[:40]!r}.")
    tails, entries = field(witness, "tails", "upper.witness"), field(witness, "intervals", "upper.witness")
    if not isinstance(tails, dict) or not isinstance(entries, list):
        raise Refused("the witness of the upper bound must have tails by their ends and a list of intervals.")
    intervals = [_interval(entry, about, f"upper.witness.intervals[{i}]") for i, entry in enumerate(entries)]
    read = {end: _tail(end, tail) for end, tail in tails.items()}
    _check_cover({end: prior for end, (prior, _) in read.items()}, intervals, about, prior_range)
    for end, (prior, constants) in read.items():
        _check_tail(end, prior, constants, about, bound)
    for number, slopes in enumerate(slopes for _, parts in intervals for slopes in parts):
        for piece in about.pieces:
            symmetric = about.exchangeable and slopes.ranges is None
            if not highest_needed(piece, slopes, symmetric=symmetric, enough=double) <= double:
                low, high = slopes.priors
                raise Refused(
                    f"the slopes for the priors from {low:.6g} to {high:.6g} do not prove the bound {double:.12g}."
                )
        watch((number + 1) / sum(len(parts) for _, parts in intervals))


Ends = tuple[float, float]
Ranges = tuple[Ends, Ends]
Interval = tuple[Ends, list[Slopes]]  # priors, and slopes that together are for all structures with these


def _interval(entry: Any, about: Pieces, where: str) -> Interval:
    """One interval of the witness: {"priors"} and either {"knots", "slopes"} or a split, see `_split`."""
    priors = np.array(_doubles(field(entry, "priors", where), f"{where}.priors"), dtype=np.float64)
    if priors.shape != (2,) or not 0 < priors[0] < priors[1] < 1:
        raise Refused(f"{where}.priors must be two numbers in (0, 1), the lower first; it is {entry['priors']}.")
    low, high = float(priors[0]), float(priors[1])
    if "parts" not in entry:
        return (low, high), [_slopes(entry, (low, high), None, about, where)]
    return (low, high), _split(entry, (low, high), all_ranges(about.pieces[0].resolution, (low, high)), about, where)


def all_ranges(n: int, priors: Ends) -> Ranges:
    """Where a low report, at most the prior, and a high one, at least the prior, can lie: between whole numbers of cells."""
    return (0.0, float(ceil(n * Fraction(priors[1])))), (float(floor(n * Fraction(priors[0]))), float(n))


def halved_ranges(ranges: Ranges, end: str, at: float) -> tuple[Ranges, Ranges]:
    """The ranges of both parts of a split: every pair (low, high) belongs to one of them, wherever ``at`` is."""
    low, high = ranges
    if end == "low":
        return ((low[0], at), high), ((at, low[1]), high)
    return (low, (high[0], at)), (low, (at, high[1]))


def _split(entry: Any, priors: Ends, ranges: Ranges, about: Pieces, where: str) -> list[Slopes]:
    """The leaves of {"end", "at", "parts": [below, above]}: the first agent's low or high report lies below a number, or above.

    The regret is linear in the distribution of her reports, and each distribution with the mean mu is a mixture of such on
    two reports, low <= mu <= high. So it is enough that each pair (low, high) belongs to some leaf.
    """
    if not isinstance(entry, dict) or "parts" not in entry:
        return [_slopes(entry, priors, ranges, about, where)]
    end, parts = field(entry, "end", where), entry["parts"]
    at = _doubles(field(entry, "at", where), f"{where}.at")
    if end not in ("low", "high") or not isinstance(at, float) or not isinstance(parts, list) or len(parts) != 2:
        raise Refused(f"{where} must split the low or the high reports at a number, into two parts.")
    halves = halved_ranges(ranges, end, at)
    return [
        leaf
        for i, (part, half) in enumerate(zip(parts, halves, strict=True))
        for leaf in _split(part, priors, half, about, f"{where}.parts[{i}]")
    ]


def _slopes(entry: Any, priors: Ends, ranges: Ranges | None, about: Pieces, where: str) -> Slopes:
    """{"knots", "slopes"}; agents that can be exchanged share their slopes, unless the first one's reports are split."""
    knots, values = (
        np.array(_doubles(field(entry, name, where), f"{where}.{name}"), dtype=np.float64)
        for name in ("knots", "slopes")
    )
    n = about.pieces[0].resolution
    if knots.ndim != 1 or not (np.diff(knots) > 0).all() or not np.isin(np.arange(n + 1.0), knots).all():
        raise Refused(f"{where}.knots must grow and include 0, 1, ..., {n}.")
    if knots[0] != 0 or knots[-1] != n:
        raise Refused(f"{where}.knots must go from 0 to {n}.")
    if ranges is not None and not np.isin([end for pair in ranges for end in pair], knots).all():
        raise Refused(f"{where}.knots must include the ends of the ranges that the splits leave, {ranges}.")
    if about.exchangeable and ranges is None:
        values = np.stack((values, values))
    if values.shape != (2, 2, len(knots)):
        raise Refused(f"{where}.slopes do not fit the knots.")
    return Slopes(priors, knots, values, ranges)


def _doubles(value: Any, where: str) -> Any:
    """Nested lists of numbers, equally long, as doubles; texts, truth values, NaN and infinities are refused."""
    if not isinstance(value, list):
        if isinstance(value, str):
            raise Refused(f"{where} must be a number; it is text.")
        return float(rational(value, where))
    if len({len(part) if isinstance(part, list) else -1 for part in value}) > 1:
        raise Refused(f"{where} must be lists of equal length.")
    return [_doubles(part, f"{where}[{i}]") for i, part in enumerate(value)]


def _check_cover(
    tails: dict[str, float], intervals: list[Interval], about: Pieces, prior_range: tuple[Fraction, Fraction]
) -> None:
    """All priors of the range lie in a tail or in an interval; half of them, where the mirror has the other half.

    The prior 0 has no regret, and nor has 1. Intervals are closed, and come in order.
    """
    low, high = prior_range
    if about.mirrored and low + high == 1:
        high = HALF
    closed = [(Fraction(first), Fraction(last)) for (first, last), _ in intervals]
    if "low" in tails:
        closed.insert(0, (Fraction(0), Fraction(tails["low"])))
    if "high" in tails:
        closed.append((1 - Fraction(tails["high"]), Fraction(1)))
    reached = None  # all priors from low to this one are covered; none is to begin with, not even low
    for first, last in closed:
        if first <= (low if reached is None else reached) and last >= low:
            reached = last if reached is None else max(reached, last)
    if reached is None or reached < high:
        begin = low if reached is None else reached
        raise Refused(f"the priors from {float(begin):.9g} to {float(high):.9g} are not covered, or not in order.")


def _tail(end: str, tail: Any) -> tuple[float, tuple[float, float, float]]:
    """The tail {"prior", "constants"} at the "low" or the "high" end; at the latter, prior means 1 - mu."""
    where = f"upper.witness.tails.{end}"
    prior, constants = (_doubles(field(tail, name, where), f"{where}.{name}") for name in ("prior", "constants"))
    shapes = isinstance(prior, float) and np.shape(constants) == (3,)
    if end not in ("low", "high") or not shapes or not (0 < prior < 1 and min(constants) >= 0):
        raise Refused(f"{where} needs a prior in (0, 1) and three constants that are not negative.")
    c0, c2, c1 = constants
    return prior, (c0, c2, c1)


def _check_tail(end: str, prior: float, constants: tuple[float, float, float], about: Pieces, bound: Fraction) -> None:
    """The bound holds for the priors of a tail."""
    if not tail_bound(prior, constants) <= bound:
        raise Refused(f"the tail at the {end} end does not prove the bound at its prior {prior:.6g}.")
    c0, c2, c1 = constants
    for piece in about.pieces:
        if not highest_constant(piece, (c2, c1), mirrored=end == "high", enough=c0) <= c0:
            raise Refused(f"the constants of the tail at the {end} end do not hold for all reports.")
