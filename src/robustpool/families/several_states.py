"""The world of questions with K outcomes: agents whose signals are independent given one of K states.

For a fixed prior mu the regret of an aggregator is linear in the distribution of each agent's report, whose mean is mu. So
K signals an agent are enough: a distribution with mean mu is a mixture of some with at most K values
(docs/derivations/several-states.md). The square loss is summed over the states; for two states it is half of that, as
everywhere in robustpool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .. import checks
from ..errors import UnsupportedError
from ..wording import counted
from .world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from ..aggregators.restrictions import Restriction
    from ..losses.loss import Loss
    from .nature import Nature
    from .worst_case import WorstCase


@dataclass(frozen=True)
class SeveralStates(World):
    """Conditionally independent agents and ``states`` outcomes.

    >>> SeveralStates(agents=2, states=3).words()
    '2 conditionally independent agents, 3 outcomes, any reports, any prior'
    """

    agents: int = 2
    states: int = 3

    kind: ClassVar[str] = "several-states"

    def __post_init__(self) -> None:
        """Check the numbers."""
        checks.whole("agents", self.agents, least=1)
        checks.whole("states", self.states, least=2)

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002
        """See World."""
        agents = counted(self.agents, "conditionally independent agent")
        return f"{agents}, {self.states} outcomes, any reports, any prior"

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:  # noqa: ARG002
        """There is none: a grid of distributions has too many structures."""
        raise UnsupportedError(
            "the world several-states has no design; use the rule minimax, or design for a finite family of structures (--family)."
        )

    def hard_structures(self) -> dict[str, Any]:
        """See World: those of the lower bound LB_{K,n}."""
        from .states_bound import hard_structures

        return hard_structures(self.states, self.agents)

    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """See World: local searches over all priors and K signals an agent."""
        from .states_search import worst_of_states

        return worst_of_states(aggregator, self.agents, self.states, loss, rng)
