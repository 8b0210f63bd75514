"""A fraction of arbitrary questions: with probability 1 - eps the agents are independent, with eps anything goes.

The omniscient knows which kind a question is. The regret is (1 - eps) R(f, theta) + eps R(f, P), with theta a conditionally
independent structure and P a calibrated law, each chosen freely, so that the worst case is (1 - eps) times the one plus
eps times the other. If she does not know, the regret is at most that. No rule is below (1 - eps) V_n + eps/4 under the
square loss (docs/worlds/arbitrary-correlation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .. import checks
from ..errors import UnsupportedError
from .conditionally_independent import ConditionallyIndependent
from .correlated import Correlated
from .world import World
from .worst_case import WorstCase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from .nature import Nature


@dataclass(frozen=True)
class Contaminated(World):
    """Independent agents, but in a ``fraction`` of the questions any correlation; ``prior_range`` does not bind those.

    >>> Contaminated(fraction=0.1).words()
    '2 conditionally independent agents, any reports, any prior, but any correlation and any prior in a fraction 0.1 of the questions'
    """

    agents: int = 2
    prior_range: tuple[float, float] = (0.0, 1.0)
    fraction: float = 0.05

    kind: ClassVar[str] = "contaminated"

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.number("fraction", self.fraction, least=0, most=1)
        object.__setattr__(self, "prior_range", self.independent.prior_range)
        _ = self.arbitrary

    @property
    def independent(self) -> ConditionallyIndependent:
        """The ordinary questions."""
        return ConditionallyIndependent(self.agents, None, None, self.prior_range)

    @property
    def arbitrary(self) -> Correlated:
        """The others."""
        return Correlated(self.agents, None)

    def words(self, nature: str = "grid") -> str:
        """See World."""
        arbitrary = f"any correlation and any prior in a fraction {self.fraction:g} of the questions"
        return f"{self.independent.words(nature)}, but {arbitrary}"

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:  # noqa: ARG002
        """See World: there is none."""
        raise UnsupportedError(
            "there is no design for a fraction of arbitrary questions; for two agents a search finds that `minimax` attains the "
            "lower bound."
        )

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World: the two searches."""
        ordinary = self.independent.worst_case(aggregator, loss, rng)
        other = self.arbitrary.worst_case(aggregator, loss, rng)
        regret = (1 - self.fraction) * ordinary.regret + self.fraction * other.regret
        return WorstCase(regret, TwoKinds(self.fraction, ordinary.structure, other.structure))


@dataclass(frozen=True, eq=False)
class TwoKinds:
    """The worst structure of each kind of question."""

    fraction: float
    ordinary: Any
    arbitrary: Any

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        return {"fraction": self.fraction, "arbitrary": self.arbitrary.as_data(), **self.ordinary.as_data()}

    def words(self) -> dict[str, str]:
        """The same in words."""
        return self.ordinary.words() | {f"arbitrary: {name}": text for name, text in self.arbitrary.words().items()}
