"""Combine a table into one forecast per question, and say what was done to its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..designs.any_aggregator import AnyAggregator
    from ..tables.pooled import PooledTable


@dataclass(frozen=True)
class PoolingOptions:
    """What is done to the answers before they are combined, and which of them count."""

    half_life: float | None = None
    as_of: str | None = None
    recalibrate: str | None = None
    per_forecaster: bool = False

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.per_forecaster and self.recalibrate is None:
            raise InputError("--per-forecaster needs --recalibrate, which is missing.")


def pool_table(
    source: Any, rule: AnyAggregator, clip: float | None, options: PoolingOptions, how: dict[str, Any]
) -> PooledTable:
    """One forecast per question; ``how`` is how the source is read."""
    from ..tables.pooling import aggregate_table
    from ..tables.reading import read_forecasts

    options.check()
    how = how | {"as_of": options.as_of}
    if options.recalibrate is None:
        pooled: PooledTable = aggregate_table(source, rule, clip=clip, half_life=options.half_life, **how)
        return pooled
    from ..checks import choice
    from ..evaluation.recalibration import METHODS, recalibrate
    from ..forecasts import CLIP, outside

    choice("--recalibrate", options.recalibrate, METHODS)
    low = CLIP if clip is None else clip  # before the fit, for every rule; what comes out is not clipped again
    answers = read_forecasts(source, **how)
    table = recalibrate(answers, options.recalibrate, per_forecaster=options.per_forecaster, clip=low)
    recalibrated: PooledTable = aggregate_table(table, rule, clip=0.0, half_life=options.half_life)
    return replace(recalibrated, clipped=outside(answers.probability, low))


def clipping_words(rule: AnyAggregator, name: str, clip: float | None, clipped: int, of: int, what: str) -> str | None:
    """A sentence if reports were clipped by default, or if a clip was given and changes nothing; ``name`` is that of the rule."""
    from ..aggregators.rules import Rule
    from ..designs.any_aggregator import as_aggregator
    from ..forecasts import clipped_words

    aggregator = as_aggregator(rule)
    if clip and isinstance(aggregator, Rule) and aggregator.averages:
        return f"--clip has no effect on {name}: an average of probabilities treats 0 and 1 like any other number."
    return clipped_words(clipped, of, "--clip 0", what) if clipped and clip is None else None


def clipping(
    rule: AnyAggregator, name: str, clip: float | None, pooled: PooledTable, options: PoolingOptions
) -> str | None:
    """What `clipping_words` says of a table; one that was recalibrated was clipped before, since certain answers have no log-odds."""
    from ..forecasts import brought

    answers = int(pooled.answers.sum())
    if options.recalibrate is None:
        return clipping_words(rule, name, clip, pooled.clipped, answers, "answer")
    clipped = bool(pooled.clipped) and clip is None
    return f"{brought(pooled.clipped, answers, 'answer')} before the answers were recalibrated." if clipped else None
