"""The seam between families and solvers: a family brings its nature, and a solver never asks what kind it is.

*Nature* answers a table of forecasts with the structures that hurt it most. A structure has a label, an array from which
its cut can be made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .. import checks, html
from ..aggregators.table import TableAggregator
from ..designs.records import ListedMixture
from ..errors import UnsupportedError
from ..game.convex_master import ConvexMaster
from ..game.master_programme import Cuts, MasterProgramme
from ..game.responders import best_responder
from ..numerics import ROUNDING, dot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import Restriction
    from ..designs.records import IndependentMixture
    from ..game.feasible import FeasibleTables
    from ..game.master_programme import Proposal
    from ..game.response import Responder
    from ..losses.loss import Loss
    from ..typing import Floats, Integers
    from .finite_game import FiniteNature


NO_CONTINUUM = (
    "continuous nature is for conditionally independent agents with a number of reports (the knots of the table), "
    "the square loss, additive regret, cutting planes and no constraints of your own."
)


class Structures(Protocol):
    """Structures by number, as a mixture needs them."""

    def name(self, number: int) -> str:
        """What to call a structure in a sentence."""

    def record(
        self, numbers: Integers, weights: Floats, exchanged: tuple[str, ...]
    ) -> ListedMixture | IndependentMixture:
        """Some structures and their weights, as a design file lists them."""


class Family(Protocol):
    """A set of structures."""

    def fingerprint(self) -> str:
        """A text that is the same for the same family only."""

    def as_data(self) -> dict[str, Any]:
        """The family as it stands in a design file: plain data with a ``kind``."""

    def words(self, nature: str = "grid") -> str:
        """The family in a few words, with nature of this kind."""

    def nature(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction], kind: str) -> Nature:
        """The opponent of the aggregator; ``kind`` is grid or continuous."""


@runtime_checkable
class ListableFamily(Family, Protocol):
    """A family whose structures can be listed, which Algorithm 1 needs."""

    def written_out(self, loss: Loss, paradigm: str, restrictions: Sequence[Restriction]) -> FiniteNature:
        """Nature with every structure of the family in a list."""


class Answer(NamedTuple):
    """The largest payoff against a table, and the labels (m, anything) of structures with large ones, the largest first."""

    value: float
    labels: Floats


def are_multiples(values: Floats, steps: int) -> bool:
    """Whether numbers are multiples of 1/``steps``, but for rounding.

    >>> are_multiples(np.array([0.1, 0.3]), 10), are_multiples(np.array([0.15]), 10)
    (True, False)
    """
    return bool((np.abs(values * steps - np.rint(values * steps)) <= ROUNDING).all())


def unseen(labels: Floats, more: Floats) -> Floats:
    """Those of ``more`` that are not among ``labels``."""
    seen = {row.tobytes() for row in labels}
    return more[np.array([row.tobytes() not in seen for row in more], dtype=bool)]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Nature's mixture: a weight for each structure of a family.

    Where ``symmetries`` names agents or states, each structure stands, in equal parts, for itself and for those in
    which the agents or the two states are exchanged.
    """

    structures: Structures
    weights: Floats
    symmetries: tuple[str, ...] = ()

    def heaviest(self, count: int = 10) -> list[tuple[str, float]]:
        """The structures with the largest weights."""
        least = np.partition(self.weights, -count)[-count] if 0 < count < len(self.weights) else 0.0
        candidates = np.flatnonzero(self.weights >= least)  # a million weights are not sorted for ten of them
        order = candidates[np.argsort(-self.weights[candidates], kind="stable")][:count]
        return [(self.structures.name(int(t)), float(self.weights[t])) for t in order if self.weights[t] > 0]

    @property
    def record(self) -> ListedMixture | IndependentMixture:
        """The structures that have weight, as a design file lists them."""
        used = np.flatnonzero(self.weights)
        return self.structures.record(used, self.weights[used], self.symmetries)

    def __repr__(self) -> str:
        """How many structures have weight, in a line."""
        return f"Mixture({np.count_nonzero(self.weights):,} of {len(self.weights):,} structures have weight)"

    def _repr_html_(self) -> html.Html:
        """In a notebook: the heaviest structures."""
        return html.card("Nature's mixture", *self._html(10))

    def _html(self, count: int) -> tuple[html.Html, html.Html]:
        """How many structures have weight, and the heaviest of them."""
        used, exchanged = int(np.count_nonzero(self.weights)), " and ".join(self.symmetries)
        images = f"; each stands, in equal parts, for itself and those with {exchanged} exchanged" if exchanged else ""
        rows = [[f"{weight:.4g}", name] for name, weight in self.heaviest(count)]
        shown = html.table(["weight", "structure"], rows, used - len(rows), "structures")
        return html.line(f"{used:,} of {len(self.weights):,} structures have weight{images}"), shown


class LabelledStructures(NamedTuple):
    """The structures of a mixture, known by their labels."""

    labels: Floats
    words: Callable[[Floats], str] = lambda label: "structure " + ", ".join(map("{:g}".format, label))

    def name(self, number: int) -> str:
        """What to call a structure in a sentence."""
        return self.words(self.labels[number])

    def record(self, numbers: Integers, weights: Floats, exchanged: tuple[str, ...]) -> ListedMixture:  # noqa: ARG002
        """See Structures."""
        structure = tuple(numbers.tolist())
        return ListedMixture(structure=structure, name=tuple(map(self.name, structure)), weight=weights)


class Nature(ABC):
    """Whoever answers a table with the worst structures.

    The defaults are those of structures that show the profiles of one layout of cells: such a nature has ``tables`` and
    a ``paradigm`` (additive or absolute), and defines ``answer`` and ``support``. Others define ``cuts``, ``master`` and
    ``least`` themselves.
    """

    tables: FeasibleTables
    """What the aggregator may say."""

    paradigm: str = "additive"

    exact: bool = True
    """Whether an answer is the worst of all structures; else it is the worst that a search finds."""

    few: int | None = None
    """How many answers become cuts in the first round, and twice as many in each one after it; None: all of them."""

    final_search: bool = False
    """Whether ``settled`` searches anew and may find a worse structure; half of the tolerance is then left for it."""

    report: str = "posterior"
    """What the agents say."""

    @abstractmethod
    def answer(self, table: Floats) -> Answer:
        """The worst structures for a table."""

    def support(self, labels: Floats) -> tuple[Integers, Floats]:
        """The profiles that structures show and Pr[s, omega]: shapes (m, points) and (m, points, states)."""
        raise NotImplementedError

    @cached_property
    def responder(self) -> Responder:
        """The aggregator's best response to a mixture."""
        return best_responder(self.tables)

    def first_table(self) -> Floats:
        """Where to start: the default, where nothing forbids it; else a table near it."""
        return self.tables.near(self.tables.default)

    def first_labels(self) -> Floats:
        """Structures that are known to matter; none, unless a subclass knows some."""
        return np.zeros((0, 0))

    def knows(self, labels: Floats) -> bool:  # noqa: ARG002
        """Whether structures have these labels, which come from a file and are finite: else a bound on them says nothing."""
        return True

    def cuts(self, labels: Floats) -> Any:
        """The structures with these labels as the master wants them."""
        profile, mass = self.support(labels)
        count, _, states = mass.shape
        offset = np.zeros(count)
        if self.paradigm == "additive":
            offset = self.tables.loss.bayes_risk(mass.reshape(-1, states)).reshape(count, -1).sum(axis=1)
        return Cuts(*self.tables.layout.folded(profile, mass), np.ones(count), offset)

    def master(self) -> Callable[[Any, Floats, float], Proposal]:
        """The programme that proposes a table and a mixture of cuts, given the cuts, the centre and rho.

        In cones where the loss can be lifted and nothing else is asked for.
        """
        tables = self.tables
        own = tables.layout.constraints or tables.loss.lift(1, tables.states) is None
        return ConvexMaster(tables) if own else MasterProgramme(tables)

    def least(self, cuts: Any, weights: Floats) -> float:
        """The least expected payoff of any table against a mixture of the cuts."""
        return float(self.responder(cuts.masses(weights, self.tables.cells)).least) - dot(weights, cuts.offset)

    def settled(self, table: Floats, labels: Floats, slack: float) -> tuple[Floats, float]:  # noqa: ARG002
        """The table to return, at most ``slack`` worse than the given one, and its largest payoff, computed anew."""
        return table, self.answer(table).value

    def check_canonical(self, choice: str) -> None:  # noqa: ARG002
        """Say before the work that a canonical table cannot be chosen."""
        raise UnsupportedError(
            "a canonical table is chosen for conditionally independent agents on a grid of reports, additive or absolute."
        )

    def canonical(self, labels: Floats, upper: float, slack: float, choice: str) -> Floats | None:  # noqa: ARG002
        """Of the tables with payoffs up to upper + slack, the smoothest or the nearest to a rule; None if it fails."""
        return None

    def aggregator(self, table: Floats) -> Any:
        """The aggregator of a table."""
        layout = self.tables.layout
        forecasts = layout.spread(table)
        return TableAggregator(layout.reports, forecasts[:, 1] if self.tables.states == 2 else forecasts)

    def mixture(self, labels: Floats, weights: Floats) -> Mixture:
        """The structures with these labels and their weights."""
        return Mixture(LabelledStructures(labels), checks.frozen(weights))

    def coarser(self) -> Nature | None:
        """Nature of a coarser game whose solution is a good start, or None."""
        return None

    def started(self, aggregator: Any, labels: Floats) -> Nature:  # noqa: ARG002
        """The same nature with the aggregator, if there is one, and the structures of a coarser game to start from."""
        return self
