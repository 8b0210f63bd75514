"""A design: an aggregator with what it was made for, its bounds and how they came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import html
from ..aggregators.curve import CurveAggregator  # noqa: TC001  # the reader of files looks at the types
from ..aggregators.grid import GridAggregator  # noqa: TC001
from ..aggregators.table import TableAggregator  # noqa: TC001
from ..errors import InputError
from ..families.world import World  # noqa: TC001
from ..wording import between, between_points
from . import records  # noqa: TC001

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..typing import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """A design; call it like any aggregator."""

    family: records.FiniteRecord | World | records.OtherRecord
    settings: records.Settings
    bounds: records.Bounds
    guarantee: records.Guarantee | None  # in theory mode
    rounds: int
    seconds: float
    stopped: records.Ending
    aggregator: TableAggregator | GridAggregator | CurveAggregator
    mixture: records.ListedMixture | records.IndependentMixture  # nature's, which gives the lower bound
    trace: tuple[records.TracePoint, ...]
    versions: records.Versions
    hash: str = ""  # of all the rest, as it stands in the file

    def __post_init__(self) -> None:
        """Check that the parts belong to one game."""
        if not self.family.fits(self.aggregator, self.mixture):
            raise InputError(f"the aggregator, or nature's mixture, does not fit {self.made_for}.")

    def __call__(self, reports: ArrayLike) -> Floats:
        """The forecasts for report profiles."""
        return self.aggregator(reports)

    @property
    def lower(self) -> float:
        """No aggregator (against continuous nature: no table with these knots) can be sure of less."""
        return self.bounds.lower

    @property
    def upper(self) -> float:
        """Its own worst case, or the worst that a search found."""
        return self.bounds.upper

    @property
    def agents(self) -> int:
        """For how many answers it is made."""
        return self.aggregator.agents

    @property
    def fewer(self) -> bool:
        """Whether it takes fewer answers as well."""
        return bool(getattr(self.aggregator, "fewer", False))

    @property
    def decided_by_one(self) -> bool:
        """Whether a certain report decides its forecast, so that reports are clipped in practice."""
        return bool(getattr(self.aggregator, "decided_by_one", False))

    @property
    def made_for(self) -> str:
        """Its family in words."""
        return self.family.words(self.settings.nature)

    @property
    def certifiable(self) -> bool:
        """Whether `certify` has a proof for such a design.

        The square loss; a finite family, or the additive regret of two agents over a range of priors.
        """
        return self.family.certifiable(self.settings)

    @property
    def off_grid(self) -> bool:
        """Whether its upper bound is the worst regret found over any reports of independent agents, not over a grid or a list."""
        return self.settings.judged_by_regret and self.settings.nature == "continuous"

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return f"design {self.hash[7:15]}"

    def __repr__(self) -> str:
        """What it is for and its bounds, in a line."""
        return f"Design({self.family.kind}, lower={self.lower:.9g}, upper={self.upper:.9g}, {self.aggregator!r})"

    def _repr_html_(self) -> html.Html:
        """In a notebook: the bounds, how they came about, and the aggregator."""
        bounds = self.bounds
        proved = "proved, as the file says" if bounds.proved else "not proved"
        facts = [
            ("value of the game", f"{between(self.lower, self.upper, 9)}, {proved}"),
            ("lower bound", f"measured ({bounds.arithmetic})"),
            ("upper bound", bounds.upper_is),
            *([("between the grid points", between_points(bounds.off_grid))] if bounds.off_grid is not None else []),
            ("family", self.family.kind),
            ("game", f"{self.settings.loss} loss, {self.settings.paradigm}"),
            ("stopped because", self.stopped.sentence),
        ]
        return html.card(f"Design {self.hash[7:15]}".rstrip(), html.facts(facts), self.aggregator._repr_html_())
