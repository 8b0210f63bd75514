"""When forecasts were made and when their outcomes became known, so that nothing is learned from the future."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InputError
from ..wording import counted

if TYPE_CHECKING:
    from ..tables.records import ForecastTable
    from ..typing import Floats

LAST_ANSWERS = "There is no column resolved, so a question counts as resolved when its last answer was given."
NO_TIMESTAMP = "There is no column timestamp, so a forecast counts as made when its question was resolved."


class Times(NamedTuple):
    """Of each question, in seconds since 1970."""

    time: Floats  # (questions,): its forecast was made, which is when its last answer was given
    known: Floats  # (questions,): its outcome was known


def without_hindsight(table: ForecastTable) -> tuple[ForecastTable, list[str]]:
    """The same table without answers that were given after their question was resolved; and what a user should know about it."""
    if table.timestamp is None or table.resolved is None:
        return table, []
    late = table.timestamp > table.resolved[table.question]  # not where a time is missing
    if not late.any():
        return table, []
    columns = ("question", "forecaster", "probability", "weight", "timestamp")
    kept = {name: column[~late] for name in columns if (column := getattr(table, name)) is not None}
    count = int(late.sum())
    of_all = f"{count:,} of {counted(table.rows, 'answer')}"
    note = f"{of_all} {'was' if count == 1 else 'were'} given after the question was resolved, and left out."
    return replace(table, **kept), [note]


def question_times(table: ForecastTable) -> tuple[Times | None, list[str]]:
    """The times of the questions of a table, None if it has none for some; and what a user should know about them."""
    last, resolved = _last_answers(table), table.resolved
    if last is None and resolved is None:
        return None, []
    nowhere = np.full(len(table.questions), np.nan)
    last, known = nowhere if last is None else last, nowhere if resolved is None else resolved
    time = np.where(np.isnan(last), known, last)
    known = np.where(np.isnan(known), time, known)
    untimed = int(np.count_nonzero(np.isnan(time)))
    if untimed:
        of_all = f"{untimed:,} of {counted(len(time), 'question')}"
        return None, [f"The order in time was not used, because {of_all} {'has' if untimed == 1 else 'have'} no time."]
    notes = [LAST_ANSWERS] if resolved is None else []
    if np.isnan(last).all():
        notes.append(NO_TIMESTAMP)
    return Times(time, np.maximum(known, time)), notes


def until(table: ForecastTable, moment: float) -> tuple[ForecastTable, list[str]]:
    """The same table without the outcomes that were not known by then; and what a user should know about it.

    A question with an answer after that moment was not resolved, whatever its date says.
    """
    last, resolved = _last_answers(table), table.resolved
    if last is None and resolved is None:
        raise InputError("as_of needs a column timestamp or resolved; there is neither.")
    times = [time for time in (last, resolved) if time is not None]
    known = np.all([np.isnan(time) | (time <= moment) for time in times], axis=0)
    dated = np.any([~np.isnan(time) for time in times], axis=0)
    if resolved is not None:
        dated &= ~np.isnan(resolved)
    outcome = np.where(known & dated, table.outcome, np.nan)
    there = np.isfinite(table.outcome)
    notes = [LAST_ANSWERS] if resolved is None else []
    undated = int(np.count_nonzero(there & ~dated))
    if undated:
        notes.append(f"{undated:,} of {counted(int(there.sum()), 'resolved question')} without a date were left out.")
    if not np.isfinite(outcome).any():
        raise InputError(
            f"no question was resolved by {stamp(moment)}; the earliest of {counted(int(there.sum()), 'resolved question')} "
            f"is of {_earliest(times, there)}."
        )
    return replace(table, outcome=outcome), notes


def months(time: Floats) -> list[float]:
    """When the months begin, in UTC, from that of the first time to that of the last.

    >>> [stamp(start) for start in months(np.array([0.0, 40 * 86400.0]))]
    ['1970-01-01', '1970-02-01']
    """
    starts = np.arange(
        np.datetime64(int(np.floor(time.min())), "s").astype("datetime64[M]"),
        np.datetime64(int(np.floor(time.max())), "s").astype("datetime64[M]") + 1,
    )
    return starts.astype("datetime64[s]").astype(np.float64).tolist()


def stamp(seconds: float) -> str:
    """A day, for people."""
    try:
        return datetime.fromtimestamp(floor(seconds), UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):  # beyond the calendar
        return f"{seconds:g} seconds since 1970"


def _earliest(times: list[Floats], there: Floats) -> str:
    given = np.concatenate([time[there] for time in times])
    given = given[np.isfinite(given)]
    return stamp(float(given.min())) if len(given) else "an unknown day"


def _last_answers(table: ForecastTable) -> Floats | None:
    """The time of each question's last answer, NaN if no answer has one."""
    if table.timestamp is None or np.isnan(table.timestamp).all():
        return None
    last = np.full(len(table.questions), -np.inf)
    np.maximum.at(last, table.question, np.where(np.isnan(table.timestamp), -np.inf, table.timestamp))
    return np.where(np.isfinite(last), last, np.nan)
