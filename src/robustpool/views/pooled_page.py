"""A table that was combined, for people: by which rule, the first forecasts, and what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wording import counted, shown
from .page import Section, Table
from .reading_page import Read, reading_sections

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..tables.pooled import PooledTable

FIRST = 10
"""Lines of the forecasts that are shown; all are in the file."""


def pooled_sections(pooled: PooledTable, by: str, remarks: Iterable[str]) -> tuple[Section, ...]:
    """One forecast for each question by a rule that is called ``by``, with what has to be said of it."""
    text = f"{counted(len(pooled.questions), 'question')}, combined by {by}."
    section = Section("One forecast for each question", text, (_forecasts(pooled),), tuple(remarks))
    return (section, *reading_sections(Read.of_pooled(pooled)))


def _forecasts(pooled: PooledTable) -> Table:
    columns = pooled.columns()
    rows = tuple(tuple(map(_cell, row)) for row in list(zip(*columns.values(), strict=True))[:FIRST])
    title = "The first forecasts" if len(columns["forecast"]) > FIRST else "The forecasts"
    return Table(title, tuple(name.replace("question_id", "question") for name in columns), rows)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return shown(value) if isinstance(value, float) else str(value)
