"""What a solver is: its settings, and a generator of states."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .. import checks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..aggregators.restrictions import Restriction
    from ..families.nature import Family, Mixture, Nature
    from ..losses.loss import Loss
    from ..typing import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class State:
    """All there is to know after a round; never changed, so an interrupted run is whole and a saved one goes on."""

    round: int = 0  # how many were played
    lower: float = -math.inf  # the best bounds on the value of the game so far
    upper: float = math.inf


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best table and the best mixture of a state; ``labels`` are structures worth a last look."""

    table: Floats
    labels: Floats
    mixture: Mixture
    lower: float  # the least payoff of any table against the mixture, computed anew


class Solver(ABC):
    """A way to solve the game: a frozen record of its settings."""

    method: ClassVar[str]
    tolerance: float  # the gap to reach
    rounds: int  # the round limit
    epsilon: float | None = None  # in theory mode
    canonical: str | None = None  # which of the best tables to return

    def __post_init__(self) -> None:
        """Check the settings."""
        object.__setattr__(self, "tolerance", checks.number("tolerance", self.tolerance, least=0))
        checks.whole("rounds", self.rounds, least=1)

    def nature(
        self, family: Family, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str
    ) -> Nature:
        """Nature in the form that this solver plays against."""
        return family.nature(loss, paradigm, restrictions, kind)

    def last_round(self, nature: Any) -> int:  # noqa: ARG002
        """The round limit in a game."""
        return self.rounds

    @abstractmethod
    def first(self, nature: Any) -> Any:
        """The state before the first round."""

    @abstractmethod
    def check_saved(self, nature: Any, state: Any) -> None:
        """Refuse a state from a file that the game cannot have reached."""

    @abstractmethod
    def iterate(self, nature: Any, state: Any = None) -> Iterator[Any]:
        """Round after round, without end; from ``state`` on if it is given."""

    @abstractmethod
    def outcome(self, nature: Any, state: Any) -> Outcome:
        """The result of a state."""
