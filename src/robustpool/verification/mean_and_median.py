"""The mean and the median of any number of reports: exact forecasts, and derivatives of the mean.

A user loses the certificates of `mean` and `median` for three or more agents if this is deleted. For the median, which has no
derivatives where reports are equal, only lower bounds are checked.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .intervals import Floats, Interval, down, up
from .many_agents import Derivatives, outer
from .reading import by_kind, word

if TYPE_CHECKING:
    from .mixtures import Profile

AVERAGES = ("mean", "median")
_read = by_kind(**{kind: {"kind": word(kind)} for kind in AVERAGES})


class Mean:
    """f = (x_1 + ... + x_n)/n; see `robustpool.verification.many_agents.SymmetricRule`."""

    formula = "f = the mean of the reports"

    def __init__(self, agents: int) -> None:
        """Take the number of agents."""
        self.agents = agents

    def forecast(self, profile: Profile) -> Fraction:
        """The mean of rational reports."""
        return sum(profile, Fraction(0)) / len(profile)

    def near(self, x: Floats) -> Floats:
        """See SymmetricRule."""
        return x.mean(axis=1)

    def on(self, x: Floats) -> tuple[Floats, Derivatives]:
        """See SymmetricRule. Sums of at most 8 reports are off by less than 2^-49."""
        n = self.agents
        low, high = (x[..., end].sum(axis=1) / n for end in (0, 1))
        share, none = Interval.of(Fraction(1, n)), np.zeros(x.shape[:2])
        f = Interval(down(low - 2.0**-49), up(high + 2.0**-49)).within(0.0, 1.0)
        first = Interval(none + share.lo, none + share.hi)
        return outer(np.add, np.moveaxis(x, 1, 0)) / n, Derivatives(f, first, Interval(none))


class Median:
    """The middle report, or the mean of the two in the middle."""

    formula = "f = the median of the reports, for an even number the mean of the two in the middle"

    def forecast(self, profile: Profile) -> Fraction:
        """The median of rational reports.

        >>> Median().forecast((Fraction(1), Fraction(0), Fraction(1, 3), Fraction(1, 2)))
        Fraction(5, 12)
        """
        ordered, n = sorted(profile), len(profile)
        middle = ordered[(n - 1) // 2 : n // 2 + 1]
        return sum(middle, Fraction(0)) / len(middle)


def read_average(aggregator: Any, agents: int) -> Mean | Median:
    """The aggregator of a certificate."""
    return Mean(agents) if _read(aggregator, "aggregator")["kind"] == "mean" else Median()
