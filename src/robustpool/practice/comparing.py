"""Compare the rules on a table that was read: the comparison, its data, and its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .reading import left_out

if TYPE_CHECKING:
    from ..evaluation.records import Comparison
    from ..tables.records import ForecastTable
    from ..typing import FilePath
    from .reading import Progress, ReadingOptions


@dataclass(frozen=True)
class ScoringOptions:
    """What is scored and how, by the names that `robustpool.compare` has for it."""

    clip: float | None = None
    pairs: int | None = None
    rules: list[str] | None = None
    reference: str = "mean"
    fit: bool = True
    rolling: bool = False
    recalibrate: str = "none"
    per_forecaster: bool = False
    draws: int = 2000
    seed: int = 0


class Compared(NamedTuple):
    """A comparison whose commands can be copied, the same for readers who have the file elsewhere, and its data."""

    named: Comparison
    comparison: Comparison
    data: dict[str, Any]


def compare_table(
    table: ForecastTable,
    scoring: ScoringOptions,
    reading: ReadingOptions,
    *,
    file: FilePath,
    rejects: object,
    report: object,
    progress: Progress,
) -> Compared:
    """Score the rules; ``file`` is the table's, which commands name; ``rejects`` and ``report`` are the files with its results, or None."""
    from ..evaluation.comparison import compare
    from ..views.comparison import as_data, naming_file

    options = {name: getattr(scoring, name) for name in ScoringOptions.__dataclass_fields__}
    comparison = compare(table, **{**options, "rules": scoring.rules or None}, progress=progress)
    named = naming_file(comparison, file, **reading.repeated())
    files = {**left_out(table.rejected, rejects), "output": None if report is None else str(report)}
    return Compared(named, comparison, {**as_data(named), **files})
