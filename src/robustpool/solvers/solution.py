"""What comes back from a solver: plain data, with bounds that belong to exactly what is returned."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import html
from ..structures.finite import FiniteFamily
from ..wording import at_most, counted, outward

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..aggregators.grid import GridAggregator
    from ..aggregators.table import TableAggregator
    from ..structures.conditionally_independent import ConditionallyIndependent, EnumeratedFamily, NamedStructures


class Stopped(Enum):
    """How a run ended; the value is the sentence for the user."""

    GAP = "the gap reached the tolerance"
    ROUNDS = "the round limit was reached; raise the rounds or the tolerance"
    SEARCH = "the gap seemed to reach the tolerance, but a last search found a worse structure; lower the tolerance"
    THEORY = "the rounds that the theorem asks for were played"
    INTERRUPTED = "it was interrupted; what was reached is kept"


@dataclass(frozen=True, eq=False)
class Mixture:
    """Nature's mixture: a weight for each structure of a family.

    Where ``symmetries`` names agents or states, each structure stands, in equal parts, for itself and for those in
    which the agents or the two states are exchanged.
    """

    structures: FiniteFamily | EnumeratedFamily | NamedStructures
    weights: NDArray[np.float64]
    symmetries: tuple[str, ...] = ()

    def heaviest(self, count: int = 10) -> list[tuple[str, float]]:
        """The structures with the largest weights."""
        least = np.partition(self.weights, -count)[-count] if 0 < count < len(self.weights) else 0.0
        candidates = np.flatnonzero(self.weights >= least)  # a million weights are not sorted for ten of them
        order = candidates[np.argsort(-self.weights[candidates], kind="stable")][:count]
        return [(self.structures.name(int(t)), float(self.weights[t])) for t in order if self.weights[t] > 0]

    def _repr_html_(self) -> html.Html:
        """In a notebook: the heaviest structures."""
        return html.card("Nature's mixture", *self._html(10))

    def _html(self, count: int) -> tuple[html.Html, html.Html]:
        """How many structures have weight, and the heaviest of them."""
        used, every = int(np.count_nonzero(self.weights)), len(self.weights)
        said = f"{used:,} of {every:,} structures have weight"
        if self.symmetries:
            said += (
                f"; each stands, in equal parts, for itself and those with {' and '.join(self.symmetries)} exchanged"
            )
        rows = [[f"{weight:.4g}", name] for name, weight in self.heaviest(count)]
        return html.line(said), html.table(["weight", "structure"], rows, used - len(rows), "structures")


@dataclass(frozen=True)
class TracePoint:
    """The bounds after a round."""

    round: int
    lower: float
    upper: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Solution:
    """A measured epsilon-equilibrium: lower <= value of the game <= upper, both in floating point.

    ``lower`` is the least expected payoff of any aggregator of the family against ``mixture``; ``upper`` is the largest
    payoff of any structure against ``aggregator``. Both are computed anew from what is returned.
    """

    family: FiniteFamily | ConditionallyIndependent
    aggregator: TableAggregator | GridAggregator
    mixture: Mixture
    lower: float
    upper: float
    rounds: int
    seconds: float
    stopped: Stopped
    trace: tuple[TracePoint, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    guarantee: dict[str, Any] | None = None  # in theory mode: what the theorem promises

    @property
    def gap(self) -> float:
        """upper - lower, never below 0 for rounding's sake."""
        return max(0.0, self.upper - self.lower)

    @property
    def searched(self) -> bool:
        """Whether nature's answer to the table was a search, over reports and priors or over priors alone.

        ``upper`` is then the worst that was found.
        """
        return getattr(self.family, "priors", 0) is None or self.settings.get("nature") == "continuous"

    def _repr_html_(self) -> html.Html:
        """In a notebook: the bounds and what they are worth, how it ended, what nature does, and the aggregator."""
        upper_is = "the worst that a search found" if self.searched else "measured in floating point"
        rounding = "ROUND_FLOOR" if self.searched else "ROUND_CEILING"  # the worst case is at least what was found
        facts = [
            ("family", self._family()),
            ("game", f"{self.settings['loss']} loss, {self.settings['paradigm']}"),
            ("lower bound", f"{outward(self.lower, 'ROUND_FLOOR', 9)}, measured in floating point, not proved"),
            ("upper bound", f"{outward(self.upper, rounding, 9)}, {upper_is}, not proved"),
            ("gap", f"at most {at_most(self.gap)}"),
            ("rounds", f"{self.rounds:,} in {self.seconds:.3g} s"),
            ("it ended because", self.stopped.value),
        ]
        if self.guarantee is not None:
            facts.append(("guarantee", self.guarantee.get("says", "")))
        parts = (html.facts(facts), *self.mixture._html(5), self.aggregator._repr_html_())
        return html.card("Solution", *parts)

    def _family(self) -> str:
        if isinstance(self.family, FiniteFamily):
            return counted(len(self.family), "structure")
        return self.family.words(self.settings["nature"])

    def __repr__(self) -> str:
        """The verdict in a line."""
        return (
            f"Solution(lower={self.lower:.9g}, upper={self.upper:.9g}, gap={self.gap:.2g}, rounds={self.rounds}, "
            f"stopped={self.stopped.name})"
        )
