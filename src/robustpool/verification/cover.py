"""An upper bound for two agents from a certificate: tails at both ends, intervals of priors with slopes between them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .dual import Slopes, highest_needed
from .forecasts import Pieces, read_pieces
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
    try:
        tails, intervals = witness["tails"], [_slopes(entry, about) for entry in witness["intervals"]]
        _check_cover(tails, intervals, about, prior_range)
        for end, tail in tails.items():
            _check_tail(end, tail, about, bound)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Refused(f"the witness of the upper bound cannot be read: {error!r}.") from None
    for number, slopes in enumerate(intervals):
        for piece in about.pieces:
            if not highest_needed(piece, slopes, symmetric=about.exchangeable, enough=double) <= double:
                low, high = slopes.priors
                raise Refused(
                    f"the slopes for the priors from {low:.6g} to {high:.6g} do not prove the bound {double:.12g}."
                )
        watch((number + 1) / len(intervals))


def _slopes(entry: dict[str, Any], about: Pieces) -> Slopes:
    """One interval of the witness: {"priors", "knots", "slopes"}; agents that can be exchanged share their slopes."""
    low, high = (float(prior) for prior in entry["priors"])
    knots = np.array(entry["knots"], dtype=np.float64)
    values = np.array(entry["slopes"], dtype=np.float64)
    n = about.pieces[0].resolution
    if not (0 < low < high < 1):
        raise Refused(f"an interval of priors must lie in (0, 1); one is {entry['priors']}.")
    if knots.ndim != 1 or not (np.diff(knots) > 0).all() or not np.isin(np.arange(n + 1.0), knots).all():
        raise Refused(f"the knots for the priors from {low:.6g} must grow and include 0, 1, ..., {n}.")
    if knots[0] != 0 or knots[-1] != n:
        raise Refused(f"the knots for the priors from {low:.6g} must go from 0 to {n}.")
    if about.exchangeable:
        values = np.stack((values, values))
    if values.shape != (2, 2, len(knots)) or not np.isfinite(values).all():
        raise Refused(f"the slopes for the priors from {low:.6g} do not fit their knots.")
    return Slopes((low, high), knots, values)


def _check_cover(
    tails: dict[str, Any], intervals: list[Slopes], about: Pieces, prior_range: tuple[Fraction, Fraction]
) -> None:
    """All priors of the range lie in a tail or in an interval; half of them, where the mirror has the other half."""
    low, high = prior_range
    if about.mirrored and low + high == 1:
        high = HALF
    reached = low
    if "low" in tails:
        reached = max(reached, Fraction(tails["low"]["prior"]))
    ends = [(Fraction(low), Fraction(high)) for low, high in (slopes.priors for slopes in intervals)]
    for first, last in ends:
        if first > reached or (reached == 0 and first == 0):
            raise Refused(f"the priors from {float(reached):.9g} to {float(first):.9g} are not covered.")
        reached = max(reached, last)
    if "high" in tails:
        first = 1 - Fraction(tails["high"]["prior"])
        reached = Fraction(1) if first <= reached else reached
    if reached < high or (reached == 0 and high > 0):
        raise Refused(f"the priors from {float(reached):.9g} to {float(high):.9g} are not covered.")


def _check_tail(end: str, tail: dict[str, Any], about: Pieces, bound: Fraction) -> None:
    """The tail {"prior", "constants"} at the "low" or the "high" end; at the latter, prior means 1 - mu."""
    constants = tuple(float(c) for c in tail["constants"])
    prior = float(tail["prior"])
    if end not in ("low", "high") or len(constants) != 3 or not min(constants) >= 0 or not 0 < prior < 1:
        raise Refused(f"the tail at the {end} end needs a prior in (0, 1) and three constants that are not negative.")
    c0, c2, c1 = constants
    if not tail_bound(prior, (c0, c2, c1)) <= bound:
        raise Refused(f"the tail at the {end} end does not prove the bound at its prior {prior:.6g}.")
    for piece in about.pieces:
        if not highest_constant(piece, (c2, c1), mirrored=end == "high", enough=c0) <= c0:
            raise Refused(f"the constants of the tail at the {end} end do not hold for all reports.")
