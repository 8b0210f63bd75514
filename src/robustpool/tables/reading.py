"""Read forecasts from a file or a data frame: what can be used becomes a table, what cannot is counted and told."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..wording import counted
from .plans import make_plan
from .recency import DAY
from .records import ForecastTable, Rejections, Tally
from .rejecting import RejectionLog
from .row_store import RowStore
from .sources import open_source, rewindable
from .taking import take_long, take_wide
from .values import integer_type, is_day, times

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from .text_blocks import Progress


@dataclass(frozen=True)
class Reading:
    """How a source is read."""

    layout: str = "auto"
    format: str = "auto"
    columns: Mapping[str, str] | None = None
    percent: bool = False
    strict: bool = False
    as_of: float | str | datetime | None = None
    progress: Progress | None = None


def read_forecasts(
    source: str | os.PathLike[str] | ForecastTable | Any,
    *,
    layout: str = "auto",
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    percent: bool = False,
    strict: bool = False,
    as_of: float | str | datetime | None = None,
    progress: Progress | None = None,
) -> ForecastTable:
    """Read forecasts of many people on many questions.

    Parameters
    ----------
    source
        A CSV file (comma, semicolon or tab; plain or gzipped), a Parquet file, or a data frame of pandas, polars or
        pyarrow. A `ForecastTable` is returned as it is. ``"-"`` is standard input.
    layout
        ``"long"``: one answer a row, with the columns question_id, forecaster_id, probability, and perhaps outcome,
        timestamp, weight and cluster. ``"wide"``: one question a row, one column of numbers for each forecaster.
        By default it is told from the names of the columns.
    format
        ``"robustpool"``, or the export of others: ``"metaculus"``, ``"gjp"``, ``"iqisa"`` or ``"hubverse"``. By default
        it is told from the names of the columns.
    columns
        What columns with other names are, such as ``{"probability": "p"}``.
    percent
        The probabilities are percentages: 0.5 is half a per cent.
    strict
        Raise an error if any row cannot be used, in place of leaving it out.
    as_of
        Only answers until then: ISO 8601, seconds since 1970, or a datetime. Of a day without a time, such as
        2024-01-31 or 20240131, it is the end, in UTC. An answer without a timestamp may be later, and is left out.
    progress
        Called now and then with how much has been read, and of how much.

    Returns
    -------
    A table with the last answer of each forecaster to each question. `ForecastTable.rejected` has the rows that were
    left out, and `ForecastTable.tally` what was missing, repeated or superseded; `summary_lines` makes sentences of both.

    Raises
    ------
    InputError
        If the source cannot be read, it cannot be told what its columns are, or no row can be used.

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"question_id": ["rain", "rain", "snow"], "ann": [0.7, 0.8, 1.2], "bob": [0.6, 0.6, 0.1]})
    >>> table = read_forecasts(frame)
    >>> table.questions, table.forecasters, table.probability.tolist()
    (['rain', 'snow'], ['ann', 'bob'], [0.8, 0.6, 0.1])
    >>> table.rejected.first[0].reason
    'probability must lie in [0, 1]; row 2 (question snow, forecaster ann) is 1.2'
    """
    how = Reading(layout, format, columns, percent, strict, as_of, progress)
    if isinstance(source, ForecastTable):
        check_unread(how)
        return source
    with filled_store(source, how) as store:
        (part,) = store.parts(moment(as_of))
        rejected, tally = closing(store, how, answers=part.table.rows)
        return replace(part.table, rejected=rejected, tally=tally)


def check_unread(how: Reading) -> None:
    """Refuse options of reading for a table that has been read already."""
    for name in ("layout", "format", "columns", "percent", "strict", "as_of"):
        if getattr(how, name) and getattr(how, name) != getattr(Reading, name):
            raise InputError(f"{name} says how a file or a data frame is read; a ForecastTable has been read already.")


@contextmanager
def filled_store(source: Any, how: Reading, *, room: int | None = None) -> Iterator[RowStore]:
    """A store with every row of a source that can be used; without ``room`` all in memory."""
    log = RejectionLog()
    with RowStore(log, room=room) as store, rewindable(source) as again:
        opened = open_source(again, log, how.progress)
        log.place = opened.place
        batches = opened.batches()
        first = next((batch for batch in batches if len(batch.lines)), None)
        if first is None:
            if log.lost:
                closing(store, how, answers=0)  # says why no line is a row
            columns = ", ".join(map(repr, opened.names))
            raise InputError(f"forecasts must have at least one row; there is none below the columns {columns}.")
        plan = make_plan(
            opened.names,
            first.columns,
            layout=how.layout,
            format=how.format,
            columns=how.columns,
            percent=how.percent,
        )
        if how.as_of is not None and "timestamp" not in plan.roles:
            raise InputError("as_of needs a column timestamp; there is none.")
        if plan.wide:
            log.width = len(plan.forecasters)
        people = tuple(opened.names[place] for place in plan.forecasters)
        entry = "answer" if plan.wide else "row"
        store.tally = replace(store.tally, entry=entry, ignored=plan.ignored, outside=plan.outside, forecasters=people)
        if len(plan.question) == 1:
            store.question_type = integer_type(first.columns[plan.question[0]])
        for batch in chain([first], batches):
            if plan.wide:
                take_wide(batch, plan, opened.names, store, percent=how.percent)
            else:
                take_long(batch, plan, store, percent=how.percent)
        yield store


def closing(store: RowStore, how: Reading, *, answers: int) -> tuple[Rejections, Tally]:
    """What was left out in the end; an error if that is everything, or anything while reading strictly."""
    rejected, tally = store.log.done(), store.tally
    entries = tally.entries + store.log.lost
    outcomes = store.questions.unused_outcomes(store.log.place)
    tally = replace(tally, entries=entries, outcomes=outcomes)
    if rejected.total and (how.strict or not answers):
        first = rejected.first[0].reason
        raise InputError(f"{first} ({rejected.total:,} of {counted(entries, tally.entry)} cannot be used).")
    if outcomes.total and how.strict:
        questions = counted(len(store.questions.codes.names), "question")
        first = outcomes.first[0].reason
        raise InputError(f"{first} (the outcomes of {outcomes.total:,} of {questions} cannot be used).")
    if not answers:
        untimed = f"no answer has a timestamp, which {'half_life' if how.as_of is None else 'as_of'} needs"
        why = "no answer is that old" if tally.later else untimed if tally.untimed else "every probability is missing"
        raise InputError(f"forecasts must have at least one answer; {why} ({counted(entries, tally.entry)}).")
    return rejected, tally


def moment(as_of: float | str | datetime | None) -> float | None:
    """The last moment that is asked for, in seconds since 1970: that of a day, if no time is said.

    >>> moment("1970-01-02T00:00:00"), moment("1970-01-02")
    (86400.0, 172799.99999999997)
    """
    if as_of is None:
        return None
    said = times([as_of])
    if said.wrong[0] or said.values[0] != said.values[0]:
        raise InputError(f"as_of must be ISO 8601 or seconds since 1970; it is {as_of!r}.")
    seconds = float(said.values[0])
    return math.nextafter(seconds + DAY, seconds) if is_day(as_of) else seconds
