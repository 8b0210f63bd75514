"""Combined tables, and the rows that were left out of tables, as plain data."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..tables.pooled import PooledTable
    from ..tables.records import RowsLeftOut


def pooled_data(pooled: PooledTable, rule: str, **files: object) -> dict[str, Any]:
    """What was combined and what was not; ``files`` are those that were written, or None."""
    first = pooled.forecasts if pooled.options is None else pooled.forecasts[:, 0]
    return {
        "questions": len(pooled.questions),
        **{name: None if file is None else str(file) for name, file in files.items()},
        "rule": rule,
        "rows": pooled.tally.entries,
        "answers": int(pooled.answers.sum()),
        "forecasters": pooled.forecasters,
        "rejected": rejected_data(pooled.rejected),
        "outcomes_not_used": rejected_data(pooled.tally.outcomes),
        **pooled.tally.aside,
        "clipped": pooled.clipped,
        "contradictions": pooled.contradictions,
        "unfit": pooled.unfit,
        "without_forecast": int(np.isnan(first).sum()),
    }


def forecasts_data(pooled: PooledTable) -> list[dict[str, Any]]:
    """A record for each question."""
    columns = pooled.columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def forecasts_text(pooled: PooledTable) -> str:
    """The forecasts as CSV."""
    text = io.StringIO()
    pooled.write_text(text)
    return text.getvalue().removesuffix("\n")


def rejected_data(rejected: RowsLeftOut) -> dict[str, Any]:
    """How many rows were left out, why, and the first of them."""
    first = [{"line": each.line, "reason": each.reason} for each in rejected.first]
    return {"total": rejected.total, "counts": rejected.counts, "first": first}
