"""The parts of a design, as they stand in its file. Without them every reader would take a dict apart by strings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..aggregators.table import TableAggregator
from ..errors import InputError
from ..typing import Floats  # noqa: TC001  # the reader of files looks at the types
from ..wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

SEARCHED = "found by search"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The game and how it was solved."""

    method: str
    mode: str  # practical or theory
    loss: str
    paradigm: str
    report: str
    nature: str  # grid or continuous
    canonical: str | None  # which table was asked for among the best: smooth, or near a rule
    canonical_applied: bool
    restrictions: tuple[str, ...]
    tolerance: float | None  # None in theory mode
    epsilon: float | None
    rounds: int  # at most
    arithmetic: str  # what the lower bound rests on
    version: str

    @property
    def judged_by_regret(self) -> bool:
        """Whether the game is about the regret under the square loss, as the rules are judged."""
        return (self.loss, self.paradigm) == ("square", "additive")

    def __getitem__(self, name: str) -> Any:
        """``settings["loss"]``, as it was written before settings were a record."""
        return getattr(self, name)


INFINITE = "infinite"
"""What stands in a file for a regret between the grid points that has no bound: JSON has no such number."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """lower <= value of the game <= upper."""

    lower: float
    upper: float
    gap: float
    proved: bool
    upper_is: str  # measured or found by search
    arithmetic: str
    off_grid: float | None = None  # the worst regret that a search found between the grid points

    @property
    def searched(self) -> bool:
        """Whether the upper bound is the worst case that a search found, which may have missed a worse one."""
        return self.upper_is == SEARCHED


@dataclass(frozen=True)
class Ending:
    """Why the solver stopped: a word and a sentence."""

    reason: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What the theorem promises in theory mode."""

    source: str
    epsilon: float
    rounds: int
    says: str


@dataclass(frozen=True)
class TracePoint:
    """The bounds after a round."""

    round: int
    lower: float
    upper: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Versions:
    """The programs that made a design."""

    robustpool: str
    numpy: str
    python: str


@dataclass(frozen=True, kw_only=True)
class FiniteRecord:
    """A finite family without its structures; the fingerprint tells whether another one is the same."""

    states: tuple[str, ...]
    agents: tuple[str, ...]
    report: str
    structures: int
    fingerprint: str

    kind: ClassVar[str] = "finite"

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002  # every family takes it
        """The family in words."""
        return f"a finite family of {counted(self.structures, 'structure')}"

    def as_data(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {"kind": self.kind, **asdict(self)}

    def fits(self, table: Any, mixture: Any) -> bool:
        """Whether an aggregator and nature's mixture can belong to a game on this family."""
        return (
            isinstance(table, TableAggregator)
            and isinstance(mixture, ListedMixture)
            and table.agents == len(self.agents)
            and table.forecasts.shape[1:] == ((len(self.states),) if len(self.states) > 2 else ())
            and max(mixture.structure, default=0) < self.structures
        )

    def certifiable(self, settings: Settings) -> bool:
        """Whether `certify` has a proof for a design: under the square loss."""
        return settings.loss == "square"


@dataclass(frozen=True)
class OtherRecord:
    """A family of a kind that robustpool does not know, as it stands in the file."""

    data: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind that the file names."""
        return str(self.data["kind"])

    def words(self, nature: str = "grid") -> str:  # noqa: ARG002
        """The family in words."""
        return f"a family of the kind {self.kind}"

    def as_data(self) -> dict[str, Any]:
        """As it stands in the file."""
        return dict(self.data)

    def fits(self, table: Any, mixture: Any) -> bool:  # noqa: ARG002
        """Nobody knows, so anything fits."""
        return True

    def certifiable(self, settings: Settings) -> bool:  # noqa: ARG002
        """No proof is known."""
        return False


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedMixture:
    """Nature's mixture over a finite family: the structures that have weight, by their numbers."""

    structure: tuple[int, ...]
    name: tuple[str, ...] | None
    weight: Floats  # (structures,)

    def __post_init__(self) -> None:
        """Check that each structure has one weight and one name."""
        if self.weight.shape != (len(self.structure),) or len(self.name or self.structure) != len(self.structure):
            raise InputError(
                f"a mixture needs one weight and one name for each of its structures; there are {len(self.structure)}, "
                f"{self.weight.size} and {len(self.name or self.structure)}."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class IndependentMixture:
    """Nature's mixture over conditionally independent agents.

    Each structure stands, in equal parts, for itself and for those in which what ``exchanged`` names is exchanged.
    """

    prior: Floats  # (structures,)
    reports: Floats  # (structures, agents, 2)
    weight: Floats  # (structures,)
    exchanged: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the shapes."""
        shapes = self.prior.shape, self.weight.shape, (*self.reports.shape[:1], *self.reports.shape[2:])
        if shapes != ((count := self.prior.size,), (count,), (count, 2)):
            raise InputError(
                "a mixture needs a prior, a weight and two reports of each agent for each structure; the shapes are "
                f"{self.prior.shape}, {self.weight.shape} and {self.reports.shape}."
            )
