"""What every family with a name on the command line has; without it each world would repeat these methods.

A *world* is a family that describes how forecasters come by what they say: independently, from a common source, and so
on. It is a frozen record whose fields are its options: ``--overlap 0.2 0.6`` sets the field ``overlap``. It brings its
nature, for designs, and its own search for the worst structure of an aggregator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import html
from ..aggregators.grid import GridAggregator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from ..aggregators.restrictions import Restriction
    from ..designs.records import Settings
    from ..losses.loss import Loss
    from .nature import Nature
    from .worst_case import WorstCase


class World(ABC):
    """A family with a name; subclasses are frozen dataclasses."""

    kind: ClassVar[str]
    """The word for it in design files."""

    open_fields: ClassVar[tuple[str, ...]] = ("reports", "priors")
    """The grids, if it has any, that a search for the worst case leaves open."""

    agents: int

    @classmethod
    def of_certificate(cls, data: Mapping[str, Any]) -> Self:
        """The family that a certificate names: its options, and no grids."""
        grids = {field.name: None for field in fields(cls) if field.name in cls.open_fields}  # type: ignore[arg-type]
        return cls(**grids, **{name: value for name, value in data.items() if name != "kind"})

    def fingerprint(self) -> str:
        """A text that names the family."""
        return repr(self)

    def as_data(self) -> dict[str, Any]:
        """See Family."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]

    def fits(self, table: Any, mixture: Any) -> bool:  # noqa: ARG002
        """Whether an aggregator and nature's mixture can belong to a game on this family."""
        return bool(table.agents == self.agents)

    def certifiable(self, settings: Settings) -> bool:  # noqa: ARG002
        """Whether `certify` has a proof for a design."""
        return False

    def heard(self, aggregator: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The aggregator as a function of the reports of this family."""
        return aggregator

    def hard_structures(self) -> dict[str, Any] | None:
        """Structures of the family, as a family file lists them, whose uniform mixture proves a lower bound; None if none are known."""
        return None

    def off_grid(self, table: Any, loss: Loss) -> float | None:
        """The worst regret that a search of some seconds finds for a table that was made on a grid; None if there is no grid."""
        if not isinstance(table, GridAggregator):
            return None
        return self.worst_case(table, loss, np.random.default_rng(0)).regret

    @abstractmethod
    def words(self, nature: str = "grid") -> str:
        """The family in a few words, with nature of this kind."""

    @abstractmethod
    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str = "grid") -> Nature:
        """The opponent of the aggregator; ``kind`` is grid or continuous."""

    @abstractmethod
    def worst_case(self, aggregator: Callable[[Any], Any], loss: Loss, rng: np.random.Generator) -> WorstCase:
        """The structure of the family that hurts an aggregator most, as far as a search finds it."""

    def _repr_html_(self) -> html.Html:
        """In a notebook: a line."""
        return html.card("Family", html.line(self.words()))
