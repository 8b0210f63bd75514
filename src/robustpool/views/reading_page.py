"""What was read from a table, for people: its columns and how they were understood, how much there is, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..tables.rejecting import summary_lines
from ..wording import counted
from .page import Section, Table

if TYPE_CHECKING:
    from ..tables.pooled import PooledTable
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


class Read(NamedTuple):
    """What became of the rows of a table."""

    tally: Tally
    rejected: RowsLeftOut
    answers: int
    questions: int
    forecasters: int

    @classmethod
    def of_table(cls, table: ForecastTable) -> Read:
        """Of a table that was read."""
        return cls(table.tally, table.rejected, table.rows, len(table.questions), len(table.forecasters))

    @classmethod
    def of_pooled(cls, pooled: PooledTable) -> Read:
        """Of a table that was combined while it was read."""
        answers = int(pooled.answers.sum())
        return cls(pooled.tally, pooled.rejected, answers, len(pooled.questions), pooled.forecasters)

    @property
    def size(self) -> str:
        """How much there is, in a sentence."""
        tally = self.tally
        numbers = (
            (tally.entries, tally.entry if tally.entry == "row" else "cell"),
            (self.answers, "usable answer"),
            (self.questions, "question"),
            (self.forecasters, "forecaster"),
        )
        return f"{', '.join(counted(number, name) for number, name in numbers)}."

    @property
    def left_out(self) -> str | None:
        """How much could not be used, in a sentence; None if everything could."""
        if not self.rejected.total:
            return None
        return f"{self.rejected.total:,} of {counted(self.tally.entries, self.tally.entry)} could not be used."


def reading_sections(read: Read) -> tuple[Section, ...]:
    """What was read, and what was left out if that is anything."""
    tally, rejected = read.tally, read.rejected
    columns = Table("Columns", ("column", "understood as"), tuple(_columns(tally)))
    lines = summary_lines(rejected, tally)
    points = tuple(line for line in lines[rejected.total > 0 :] if not line.startswith(OF_COLUMNS))
    section = Section("What was read", read.size, (columns,), points)
    return (section, _left_out_section(read)) if rejected.total else (section,)


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


def _left_out_section(read: Read) -> Section:
    """The rows that were left out: how many for which reason, and the first of them."""
    rejected = read.rejected
    counts = sorted(rejected.counts.items(), key=lambda item: -item[1])
    reasons = Table("Reasons", ("rule", "rows"), tuple((rule, f"{count:,}") for rule, count in counts))
    title = "All of them" if len(rejected.first) == rejected.total else "The first of them"
    rows = tuple((str(each.line), each.reason) for each in rejected.first)
    return Section(
        "What was left out", f"{read.left_out} The others count.", (reasons, Table(title, ("line", "reason"), rows))
    )
