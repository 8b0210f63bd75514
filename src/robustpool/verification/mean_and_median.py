"""The mean and the median of any number of reports: exact forecasts, for lower bounds. No upper bound is known for them.

A user loses the certificates of `mean` and `median` for three or more agents if this is deleted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from .reading import by_kind, word

if TYPE_CHECKING:
    from collections.abc import Callable

    from .mixtures import Profile

AVERAGES = ("mean", "median")
_read = by_kind(**{kind: {"kind": word(kind)} for kind in AVERAGES})


class Average(NamedTuple):
    """A symmetric aggregator: its formula as a claim states it, and its exact forecasts."""

    formula: str
    forecast: Callable[[Profile], Fraction]


def mean(profile: Profile) -> Fraction:
    """The mean of the reports."""
    return sum(profile, Fraction(0)) / len(profile)


def median(profile: Profile) -> Fraction:
    """The middle report, or the mean of the two in the middle.

    >>> median((Fraction(1), Fraction(0), Fraction(1, 3), Fraction(1, 2)))
    Fraction(5, 12)
    """
    ordered, n = sorted(profile), len(profile)
    return mean(tuple(ordered[(n - 1) // 2 : n // 2 + 1]))


def read_average(aggregator: Any) -> Average:
    """The aggregator of a certificate."""
    kind = _read(aggregator, "aggregator")["kind"]
    if kind == "mean":
        return Average("f = the mean of the reports", mean)
    return Average("f = the median of the reports, for an even number the mean of the two in the middle", median)
