"""Partial information: any number of agents who each know a part of what can be known, overlapping [Satopaa2016].

How much each knows, how much of it the others know too, and the prior lie in ranges; what all of them know together is
capped. The structures are those of ``structures.gaussian_structure``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks
from ..errors import InputError, UnsupportedError
from ..numerics import ROUNDING, normal_cdf, probit
from ..structures.gaussian_structure import MOST_INFORMATION, GaussianStructure, breadth
from ..wording import counted
from .world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from ..typing import Floats
    from .nature import Nature
    from .worst_case import WorstCase

MOST_AGENTS = 1000
FURTHEST = 7.0
"""The largest threshold |t|, of a prior of 1e-12: with less, every sensible rule has no regret left."""


@dataclass(frozen=True)
class PartialInformation(World):
    """Agents with partial information.

    ``information`` is the range of delta, the share of what can be known that an agent knows; ``overlap`` the range of
    rho / delta, the share of her information that each other agent has too; ``knowable`` the most that all of them know
    together.

    >>> PartialInformation(agents=20).words()
    '20 agents with partial information: overlap 0.2 to 1, information 0 to 1, together at most 0.9 of what can be known, any prior'
    """

    agents: int = 2
    overlap: tuple[float, float] = (0.2, 1.0)
    information: tuple[float, float] = (0.0, 1.0)
    knowable: float = 0.9
    prior_range: tuple[float, float] = (0.0, 1.0)

    kind: ClassVar[str] = "partial-information"

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.whole("agents", self.agents, least=2, most=MOST_AGENTS)
        for name in ("overlap", "information", "prior_range"):
            object.__setattr__(self, name, checks.interval(name, getattr(self, name), least=0, most=1))
        object.__setattr__(self, "knowable", checks.number("knowable", self.knowable, above=0, most=1))
        if self.least_overlap > self.overlap[1]:
            low, high = self.information[0], self.overlap[1]
            least = breadth(self.agents, high) * low
            raise InputError(
                f"knowable must be at least what the agents know together; {self.agents} agents with information of at "
                f"least {low:g} and overlap of at most {high:g} know {least:g}, and knowable is {self.knowable:g}."
            )

    @property
    def mirrored(self) -> bool:
        """Whether the family is the same with the states exchanged."""
        return abs(sum(self.prior_range) - 1.0) < 1e-12

    @cached_property
    def least_overlap(self) -> float:
        """The least overlap with which agents of the least information do not know more than is knowable together."""
        needed = (self.agents * self.information[0] / self.knowable - 1.0) / (self.agents - 1)
        return max(self.overlap[0], needed)

    @cached_property
    def thresholds(self) -> tuple[float, float]:
        """The range of t."""
        low, high = np.clip(-probit(np.array(self.prior_range)), -FURTHEST, FURTHEST)[::-1].tolist()
        return low, high

    def structures(self, cube: Floats) -> Floats:
        """The points of the unit cube (m, 3) as structures (t, delta, overlap): a corner is the least overlap and most information."""
        low, high = self.thresholds
        overlap = self.least_overlap + cube[:, 2] * (self.overlap[1] - self.least_overlap)
        least, most = self._information(overlap)
        return np.stack((low + cube[:, 0] * (high - low), least + cube[:, 1] * (most - least), overlap), axis=1)

    def _information(self, overlap: Floats) -> tuple[Floats, Floats]:
        """The range of delta, given the overlap."""
        most = np.minimum(min(self.information[1], MOST_INFORMATION), self.knowable / breadth(self.agents, overlap))
        return np.minimum(self.information[0], most), most

    def has(self, labels: Floats) -> bool:
        """Whether structures (t, delta, overlap) belong to the family, but for rounding."""
        t, delta, overlap = labels.T
        low, high = self.thresholds
        inside = (t >= low - ROUNDING) & (t <= high + ROUNDING)
        inside &= (overlap >= self.least_overlap - ROUNDING) & (overlap <= self.overlap[1] + ROUNDING)
        least, most = self._information(np.clip(overlap, self.least_overlap, self.overlap[1]))
        return bool((inside & (delta >= least - ROUNDING) & (delta <= most + ROUNDING)).all())

    def structure(self, label: Floats) -> GaussianStructure:
        """The structure (t, delta, overlap)."""
        prior = float(normal_cdf(np.array(-label[0])))
        return GaussianStructure(self.agents, prior, float(label[1]), float(label[2]))

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:
        """See Family."""
        from .partial_nature import partial_nature

        if not loss.quadratic or paradigm != "additive":
            raise UnsupportedError(
                f"partial information is designed for under the square loss and additive regret, not {loss.name} and {paradigm}."
            )
        if kind != "grid":
            raise UnsupportedError(
                "partial information has one nature, which searches all of its structures; leave nature out."
            )
        return partial_nature(self, loss, restrictions)

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World."""
        from .partial_worst_case import worst_partial

        return worst_partial(aggregator, self, loss, rng)

    @property
    def title(self) -> str:
        """Who they are, without the ranges."""
        return f"{counted(self.agents, 'agent')} with partial information"

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002
        """See World."""
        low, high = self.prior_range
        ranges = [
            f"{name} {a:g} to {b:g}" for name, (a, b) in (("overlap", self.overlap), ("information", self.information))
        ]
        cap = f"together at most {self.knowable:g} of what can be known"
        priors = "any prior" if (low, high) == (0.0, 1.0) else f"priors from {low:g} to {high:g}"
        return f"{self.title}: {', '.join((*ranges, cap, priors))}"

    def facts(self) -> dict[str, str]:
        """The ranges, one by one, and what is assumed.

        >>> PartialInformation(knowable=0.8).facts()["knowable"]
        '0.8: an assumption, not estimated; together they know at most 80 % of what can be known'
        """
        low, high = self.prior_range
        more = f"; with less than {self.least_overlap:.3g} they would know more together than is knowable"
        return {
            "overlap": "{:.3g} to {:.3g}".format(*self.overlap) + more * (self.least_overlap > self.overlap[0]),
            "information": "{:.3g} to {:.3g}".format(*self.information),
            "knowable": (
                f"{self.knowable:g}: an assumption, not estimated; together they know at most {100 * self.knowable:g} % of "
                "what can be known"
            ),
            "prior": "any" if (low, high) == (0.0, 1.0) else f"{low:g} to {high:g}",
        }
