"""Fit a pool to a table that was read, and write its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..learning.records import FittedPool
    from ..learning.worst_case import PoolWorstCase
    from ..tables.records import ForecastTable
    from ..typing import FilePath
    from .reading import Progress


@dataclass(frozen=True)
class FitOptions:
    """What a pool is fitted to and how, by the names that `robustpool.fit` has for it."""

    as_of: str | None = None
    clip: float | None = None
    rolling: bool = False
    draws: int = 2000
    seed: int = 0


def fit_table(table: ForecastTable, options: FitOptions, out: FilePath, progress: Progress) -> FittedPool:
    """Fit a pool and save it."""
    from ..learning.fitting import fit

    given = {name: getattr(options, name) for name in FitOptions.__dataclass_fields__}
    pool = fit(table, **given, progress=progress)
    pool.save(out)
    return pool


def report_pool(pool: FittedPool, report: FilePath, name: str) -> PoolWorstCase:
    """Write the report on a pool that was learned from the file of this name; its worst case, which the report shows."""
    from ..learning.worst_case import worst_case
    from ..views.pool_page import write_pool

    worst = worst_case(pool)
    write_pool(pool, report, title=f"A pool learned from {name}", worst=worst)
    return worst
