"""Tables that came with a request, as workers read them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...practice.reading import ReadingOptions, left_out, read_table, remarks
from ...tables.rejecting import RejectedError, remedy
from ...tables.sources import NamedFile
from ...views.reading_page import Read
from ...wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ...practice.reading import Progress
    from ...tables.records import ForecastTable
    from ..jobs.task import Task

TABLE, OUTCOMES, RULE = "table", "outcomes", "rule.json"
"""What uploads are called in the folder of a job, whatever the client calls them."""

REJECTS, REPORT, POOLED, POOL, VIEW = "rejects.csv", "report.html", "pooled.csv", "pool.json", "view.html"
"""What the files of a job are called."""


NO_OUTCOMES = "Without outcomes the table cannot be scored, but it can be combined."


def source(task: Task) -> NamedFile:
    """The table that was uploaded, under the name that the client has for it."""
    return NamedFile(task.uploads / TABLE, task.options["name"], task.options["most"])


def reading(task: Task) -> ReadingOptions:
    """How it is read."""
    options = ReadingOptions(**task.options["reading"]).with_cluster(task.options.get("cluster"))
    outcomes = task.uploads / OUTCOMES
    if not outcomes.exists():
        return options
    return ReadingOptions(**{**vars(options), "outcomes": NamedFile(outcomes, OUTCOMES, task.options["most"])})


def read(task: Task, how: ReadingOptions) -> ForecastTable:
    """The table, if enough of it can be used; the rows that cannot are among the results, if files are wanted."""
    with usable(task):
        table = read_table(source(task), how.reading(), rejects(task), teller(task))
    note_reading(task, Read.of_table(table))
    if np.isnan(table.outcome).all():
        task.note(no_outcomes=NO_OUTCOMES)
    refuse_unusable(table)
    return table


def note_reading(task: Task, read: Read) -> None:
    """Let the progress say what was read, and what was left out."""
    task.note(read=read.size, **({} if read.left_out is None else {"left_out": read.left_out}))


def refuse_unusable(table: Any) -> None:
    """An error if too much of a table, or of what was combined from one, cannot be used."""
    reason, _ = remarks(table.rejected, table.tally, len(table.questions))
    if reason is not None:
        raise InputError(reason)


@contextmanager
def usable(task: Task) -> Iterator[None]:
    """Say what may help if no row can be used."""
    try:
        yield
    except RejectedError as error:
        task.note(left_out=f"{counted(error.rejected.total, 'row')} could not be used.")
        raise InputError(f"{error}{remedy(error.rejected)}") from None


def rejects(task: Task) -> Path | None:
    """Where the rows go that were left out."""
    return task.results / REJECTS if task.options["files"] else None


def files(task: Task, table: ForecastTable) -> dict[str, Any]:
    """The rows that were left out, as data."""
    return left_out(table.rejected, REJECTS if task.options["files"] else None)


def teller(task: Task) -> Progress:
    """What says how far the work is."""
    return lambda what, share: task.progress({"doing": what, "share": min(1.0, max(0.0, share))})
