"""What was read from a table, for people: its columns and how they were understood, how much there is, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tables.rejecting import summary_lines
from ..wording import counted
from .page import Section, Table

if TYPE_CHECKING:
    from ..tables.records import ForecastTable, RowsLeftOut, Tally

UNDERSTOOD = {
    "forecaster_id": "the forecaster",
    "probability": "the probability",
    "outcome": "the outcome",
    "timestamp": "when the answer was given",
    "weight": "the weight of the answer",
    "cluster": "questions that depend on each other",
    "option": "the option of the question",
    "resolved": "when the outcome became known",
}
"""What a column is, by its role."""

MANY = 12
"""Columns of forecasters, or columns that are not used, that are listed one by one."""


def reading_sections(table: ForecastTable) -> tuple[Section, ...]:
    """What was read, and what was left out if that is anything."""
    tally = table.tally
    size = ", ".join(
        counted(number, name)
        for number, name in (
            (tally.entries, tally.entry if tally.entry == "row" else "cell"),
            (table.rows, "usable answer"),
            (len(table.questions), "question"),
            (len(table.forecasters), "forecaster"),
        )
    )
    columns = Table("Columns", ("column", "understood as"), tuple(_columns(tally)))
    lines = summary_lines(table.rejected, tally)
    points = tuple(line for line in lines[table.rejected.total > 0 :] if not line.startswith(OF_COLUMNS))
    read = Section("What was read", f"{size}.", (columns,), points)
    return (read, left_out_section(table.rejected, tally)) if table.rejected.total else (read,)


OF_COLUMNS = ("forecasters: ", "columns that were not used: ")
"""How sentences begin that the table of the columns says."""


def _columns(tally: Tally) -> list[tuple[str, str]]:
    """Each column with what it is taken for."""
    rows = [(name, "the question") for name in tally.named_by]
    rows += [(column, UNDERSTOOD.get(role, role)) for role, column in tally.roles]
    for names, what in ((tally.forecasters, "a forecaster"), (tally.ignored, "not used")):
        rows += [(name, what) for name in names[:MANY]]
        if len(names) > MANY:
            rows.append((f"{len(names) - MANY:,} more", what))
    return rows


def left_out_section(rejected: RowsLeftOut, tally: Tally) -> Section:
    """The rows that were left out: how many for which reason, and the first of them."""
    text = f"{rejected.total:,} of {counted(tally.entries, tally.entry)} could not be used. The others count."
    counts = sorted(rejected.counts.items(), key=lambda item: -item[1])
    reasons = Table("Reasons", ("rule", "rows"), tuple((rule, f"{count:,}") for rule, count in counts))
    first = Table(
        "The first of them", ("line", "reason"), tuple((str(each.line), each.reason) for each in rejected.first)
    )
    return Section("What was left out", text, (reasons, first))
