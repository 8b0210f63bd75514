"""A fitted pool: the rule that was learned, and what is known about how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import html
from ..aggregators.learned_rule import LearnedRule  # noqa: TC001  # the reader of files looks at the types
from ..designs.records import Versions  # noqa: TC001
from ..evaluation.diagnosis import is_enough
from ..evaluation.records import CurvePoint, Interval  # noqa: TC001
from ..evaluation.scoring import UNSEEN
from ..forecasts import aggregate
from ..tables.pooling import aggregate_table
from ..tables.records import ForecastTable
from ..tables.sources import is_path
from ..wording import counted

if TYPE_CHECKING:
    from ..typing import FilePath

DEFAULT = "robust"
REFERENCE = "mean"


def is_gain(gain: Interval) -> bool:
    """Whether the interval of a gain lies above 0, by more than rounding.

    >>> is_gain(Interval(0.01, 0.001, 0.02)), is_gain(Interval(0.01, 0.0, 0.02)), is_gain(Interval(1e-16, 1e-17, 1e-15))
    (True, False, False)
    """
    return gain.low > 0 and gain.high > UNSEEN


class Tried(NamedTuple):
    """A form that the pool could have taken, fitted without the questions that it is scored on."""

    name: str
    brier: float
    gain: Interval  # over the mean


class Weight(NamedTuple):
    """How much a forecaster counts, 1 for an average one, with a 95 % interval."""

    forecaster: str
    weight: float
    low: float
    high: float
    questions: int  # (or clusters) that the weight rests on: resolved, and answered by others as well


class Period(NamedTuple):
    """How the pool did in a block of time, having learned from what was known before."""

    start: float  # seconds since 1970
    questions: int
    chosen: str
    brier: float
    mean: float  # the Brier score of the mean on the same questions
    robust: float


class Calibrations(NamedTuple):
    """Reliability diagrams of the mean and of the pool, on unseen questions."""

    before: tuple[CurvePoint, ...]
    after: tuple[CurvePoint, ...]
    histogram_before: tuple[float, ...]
    histogram_after: tuple[float, ...]


@dataclass(frozen=True)
class Learned:
    """What the pool was learned from."""

    questions: int
    answers: int
    forecasters: int
    clusters: int | None  # of questions that depend on each other; None: each is its own
    options: int | None  # the largest number of outcomes; None: yes and no
    base_rate: float | None  # how often the event happened; None with options
    typical_answers: int  # the median number of answers to a question
    as_of: float | None  # only questions resolved until then, in seconds since 1970
    in_order: bool | None  # whether unseen questions always came after those learned from; None without times
    seed: int
    draws: int


@dataclass(frozen=True, kw_only=True)
class FittedPool:
    """A pool that was learned from a track record; `aggregate` applies it.

    The gain is the Brier score of the mean minus that of the pool, on questions that the pool had not seen when it was chosen and
    fitted. A pool is called better only if its interval does not hold 0.
    """

    aggregator: LearnedRule
    chosen: str  # the form
    brier: Interval  # of the pool on unseen questions
    over_mean: Interval  # the gain
    over_default: Interval  # the gain over the default rule
    scored: int  # unseen questions
    scheme: str  # how questions were kept unseen
    learned: Learned
    tried: tuple[Tried, ...]
    weights: tuple[Weight, ...]  # heaviest first; empty if all count the same
    calibration: Calibrations
    periods: tuple[Period, ...]  # empty without times
    notes: tuple[str, ...]
    summary: tuple[str, ...]  # what follows, in sentences
    versions: Versions
    hash: str = ""

    @property
    def gain(self) -> float:
        """The Brier score of the mean minus that of the pool."""
        return self.over_mean.value

    @property
    def gain_low(self) -> float:
        """The lower end of the gain's 95 % interval."""
        return self.over_mean.low

    @property
    def gain_high(self) -> float:
        """The upper end of the gain's 95 % interval."""
        return self.over_mean.high

    @property
    def better(self) -> bool:
        """Whether it is better than the mean: the interval of the gain lies above 0, and the order in time was tested if there is one."""
        return is_gain(self.over_mean) and self.learned.in_order is not False

    @property
    def recommended(self) -> bool:
        """Whether to use it: it is better than the mean, and rests on enough questions (or clusters): 40, 20 with each outcome."""
        learned = self.learned
        return self.better and is_enough(learned.clusters or learned.questions, learned.base_rate)

    def aggregate(self, source: Any, **options: Any) -> Any:
        """Combine new answers: a table (a file, a long or wide data frame, a `ForecastTable`), or an array of probabilities.

        Tables have the names of forecasters, so learned weights are used. The options are those of `aggregate_table`, or of
        `robustpool.aggregate` for arrays.
        """
        is_table = is_path(source) or isinstance(source, ForecastTable) or hasattr(source, "columns")
        return (aggregate_table if is_table else aggregate)(source, self.aggregator, **options)

    def save(self, path: FilePath) -> None:
        """Write the pool as JSON, whole or not at all."""
        from .pool_file import save_pool

        save_pool(self, path)

    def __repr__(self) -> str:
        """What was learned and what it gains, in a line."""
        return (
            f"FittedPool({self.chosen}, {self.aggregator.formula}; gain {self.gain:+.4f} "
            f"({self.gain_low:+.4f} to {self.gain_high:+.4f}) over the mean, {counted(self.learned.questions, 'question')})"
        )

    def _repr_html_(self) -> html.Html:
        """In a notebook: what follows, and the numbers."""
        facts = [
            ("rule", self.aggregator.formula),
            (
                "learned from",
                f"{counted(self.learned.questions, 'question')}, {counted(self.learned.answers, 'answer')}",
            ),
            ("gain over the mean", "{:+.4f} ({:+.4f} to {:+.4f})".format(*self.over_mean)),
            (f"gain over {DEFAULT}", "{:+.4f} ({:+.4f} to {:+.4f})".format(*self.over_default)),
        ]
        return html.card(f"Fitted pool: {self.chosen}", html.facts(facts))
