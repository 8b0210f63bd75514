"""What comes back from a solver: plain data, with bounds that belong to exactly what is returned."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from .. import __version__, html
from ..designs.design import Design
from ..designs.design_file import read_family, sealed
from ..designs.records import SEARCHED, Bounds, Ending, Versions
from ..losses import LOSSES, get_loss
from ..wording import at_most, between_points, outward

if TYPE_CHECKING:
    from ..aggregators.curve import CurveAggregator
    from ..aggregators.grid import GridAggregator
    from ..aggregators.table import TableAggregator
    from ..designs.records import Guarantee, Settings, TracePoint
    from ..families.nature import Family, Mixture


class Stopped(Enum):
    """How a run ended; the value is the sentence for the user."""

    GAP = "the gap reached the tolerance"
    ROUNDS = "the round limit was reached; increase the rounds or the tolerance"
    SEARCH = "the gap seemed to reach the tolerance, but the final search found a worse structure; lower the tolerance"
    THEORY = "all rounds that the theorem requires were run"
    INTERRUPTED = "the run was interrupted; the best result so far is kept"

    @property
    def to_continue(self) -> str:
        """What to add to the command so that it goes on."""
        return "--resume and more --rounds" if self is Stopped.ROUNDS else "--resume"


@dataclass(frozen=True, eq=False)
class Solution:
    """A measured epsilon-equilibrium: lower <= value of the game <= upper, both in floating point.

    ``lower`` is the least expected payoff of any aggregator of the family against ``mixture``; ``upper`` is the largest
    payoff of any structure against ``aggregator``. Both are computed anew from what is returned.
    """

    family: Family
    aggregator: TableAggregator | GridAggregator | CurveAggregator
    mixture: Mixture
    lower: float
    upper: float
    rounds: int
    seconds: float
    stopped: Stopped
    trace: tuple[TracePoint, ...]
    settings: Settings
    guarantee: Guarantee | None = None  # in theory mode: what the theorem promises
    searched: bool = False  # whether ``upper`` is the worst that nature's search found
    off_grid: float | None = None  # the worst regret that a search found between the grid points, if one was made

    @property
    def gap(self) -> float:
        """upper - lower, never below 0 for rounding's sake."""
        return max(0.0, self.upper - self.lower)

    @property
    def converged(self) -> bool:
        """Whether the gap reached the tolerance, or all rounds that the theorem requires were run."""
        return self.stopped in (Stopped.GAP, Stopped.THEORY)

    def with_off_grid(self) -> Solution:
        """The same with ``off_grid``: a search of some seconds over any reports and priors, for a table made on a grid.

        Between the grid points the table is interpolated, and its regret can be larger than the upper bound.
        """
        settings, search = self.settings, getattr(self.family, "off_grid", None)
        regret = (settings.nature, settings.paradigm) == ("grid", "additive")
        if search is None or not regret or settings.loss not in LOSSES:
            return self
        return replace(self, off_grid=search(self.aggregator, get_loss(settings.loss)))

    @property
    def design(self) -> Design:
        """What a file keeps of it."""
        bounds = Bounds(
            lower=self.lower,
            upper=self.upper,
            gap=self.gap,
            proved=False,
            upper_is=SEARCHED if self.searched else "measured",
            arithmetic=self.settings.arithmetic,
            off_grid=self.off_grid,
        )
        design = Design(
            family=read_family(self.family.as_data()),
            settings=self.settings,
            bounds=bounds,
            guarantee=self.guarantee,
            rounds=self.rounds,
            seconds=self.seconds,
            stopped=Ending(self.stopped.name.lower(), self.stopped.value),
            aggregator=self.aggregator,
            mixture=self.mixture.record,
            trace=self.trace,
            versions=Versions(robustpool=__version__, numpy=np.__version__, python=platform.python_version()),
        )
        return sealed(design)

    def _repr_html_(self) -> html.Html:
        """In a notebook: the bounds and what they are worth, how it ended, what nature does, and the aggregator."""
        upper_is = "the worst that a search found" if self.searched else "measured in floating point"
        rounding = "ROUND_FLOOR" if self.searched else "ROUND_CEILING"  # the worst case is at least what was found
        facts = [
            ("family", self.family.words(self.settings.nature)),
            ("game", f"{self.settings.loss} loss, {self.settings.paradigm}"),
            ("lower bound", f"{outward(self.lower, 'ROUND_FLOOR', 9)}, measured in floating point, not proved"),
            ("upper bound", f"{outward(self.upper, rounding, 9)}, {upper_is}, not proved"),
            ("gap", f"at most {at_most(self.gap)}"),
            *([("between the grid points", between_points(self.off_grid))] if self.off_grid is not None else []),
            ("rounds", f"{self.rounds:,} in {self.seconds:.3g} s"),
            ("stopped because", self.stopped.value),
        ]
        if self.guarantee is not None:
            facts.append(("guarantee", self.guarantee.says))
        return html.card("Solution", html.facts(facts), *self.mixture._html(5), self.aggregator._repr_html_())

    def __repr__(self) -> str:
        """The verdict in a line."""
        return (
            f"Solution(lower={self.lower:.9g}, upper={self.upper:.9g}, gap={self.gap:.2g}, rounds={self.rounds}, "
            f"stopped={self.stopped.name})"
        )
