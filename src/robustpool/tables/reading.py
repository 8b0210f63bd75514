"""Read forecasts from a file or a data frame: usable rows become a table, the others are counted and reported."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..wording import counted
from . import entries
from .answers import fill
from .outcomes import join_outcomes, read_outcomes
from .plans import interval, make_plan
from .recency import DAY
from .records import ForecastTable, RowsLeftOut, Tally, both
from .rejecting import RejectedError
from .sources import open_engine
from .values import is_day, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from ..typing import FilePath
    from .answers import Answers
    from .engine import Engine, Progress
    from .plans import Plan
    from .sources import Source

LOOK, LOOK_CELLS, LOOK_LETTERS = 10_000, 1_000_000, 1000
"""Rows that are looked at to tell what the columns are, fewer if there are many columns, and the letters of a text."""


@dataclass(frozen=True)
class Reading:
    """How a source is read."""

    layout: str = "auto"
    format: str = "auto"
    columns: Mapping[str, str | Sequence[str]] | None = None
    percent: bool = False
    strict: bool = False
    as_of: float | str | datetime | None = None
    odds: str | None = None
    options: Sequence[str] | None = None
    decimal: str = "."
    date_format: str | None = None
    outcomes: Any = None
    progress: Progress | None = None
    plan: Plan | None = None  # what the columns are, where that was decided by a look at another part of the table
    signed: bool | None = None  # whether another part of the table has % signs

    def values(self) -> entries.Reading:
        """How numbers and times are written; an error for what cannot be."""
        if self.odds not in (None, "decimal"):
            raise InputError(f"odds must be decimal; they are {self.odds!r}.")
        if self.decimal not in (".", ","):
            raise InputError(f"decimal must be a point or a comma; it is {self.decimal!r}.")
        if self.odds and self.percent:
            raise InputError("values must be percentages or odds; percent and odds are both given.")
        return entries.Reading(self.percent, self.decimal, bool(self.odds), strptime_codes(self.date_format))

    def option_names(self) -> tuple[str, ...]:
        """The options that are said, each once."""
        given = self.options.split(",") if isinstance(self.options, str) else list(self.options or ())
        names = tuple(map(str.strip, given))
        if self.options is not None and (len(names) < 2 or len(set(names)) < len(names) or not all(names)):
            raise InputError(
                f"options must be at least two different names, such as H,D,A; they are {','.join(given)!r}."
            )
        return names


def read_forecasts(
    source: FilePath | ForecastTable | Any,
    *,
    layout: str = "auto",
    format: str = "auto",
    columns: Mapping[str, str | Sequence[str]] | None = None,
    percent: bool = False,
    strict: bool = False,
    as_of: float | str | datetime | None = None,
    odds: str | None = None,
    options: Sequence[str] | None = None,
    decimal: str = ".",
    date_format: str | None = None,
    outcomes: Any = None,
    progress: Progress | None = None,
) -> ForecastTable:
    """Read forecasts of many people on many questions.

    Parameters
    ----------
    source
        A CSV file (comma, semicolon or tab; plain or gzipped), a Parquet or Excel file, or a data frame of pandas, polars
        or pyarrow. A `ForecastTable` is returned as it is. ``"-"`` is standard input.
    layout
        ``"long"``: one answer per row, with the columns question_id, forecaster_id, probability, and perhaps outcome,
        timestamp, weight, cluster, option and resolved. ``"wide"``: one question per row, one column of numbers for each
        forecaster, or one for each forecaster and option, and perhaps outcome, cluster and resolved.
        ``resolved`` is the time when the outcome became known; a day without a time means its end, in UTC. Of several
        for one question the latest counts. A question whose date cannot be read has none.
        By default the names of the columns decide.
    format
        ``"robustpool"``, or the export of others: ``"metaculus"``, ``"gjp"``, ``"iqisa"``, ``"hubverse"`` or
        ``"bookmakers"``. By default the names of the columns decide.
    columns
        The roles of columns with other names, such as ``{"probability": "p"}``. Several columns may name the question
        together: ``{"question_id": ["date", "place"]}``.
    percent
        The probabilities are percentages: 0.5 is half a per cent. If other values of the table have a % sign, it is
        rejected.
    strict
        Raise an error if any row cannot be used, instead of leaving it out.
    as_of
        Only answers until then: ISO 8601, seconds since 1970, or a datetime. A day without a time, such as
        2024-01-31 or 20240131, means its end, in UTC. An answer without a timestamp may be later, and is left out.
    odds
        ``"decimal"``: the values are decimal odds, and 1/odds are the probabilities. If there is a value for each option,
        they are normalised for each forecaster; otherwise they still contain the bookmaker's margin.
    options
        For a wide table with columns for each forecaster and option: the options, which end the column names.
        ``["H", "D", "A"]`` finds B365H, B365D and B365A. By default the names and the values decide.
    decimal
        ``","`` for numbers such as 0,75.
    date_format
        How times are written, with the codes of strptime, such as ``"%d/%m/%Y"``, or their letters: ``"d/m/Y"``.
    outcomes
        Another file or data frame with the outcomes of the questions, and perhaps their dates of resolution.
    progress
        Called from time to time with the amount read so far and the total.

    Returns
    -------
    A table with the last answer of each forecaster to each question. `ForecastTable.rejected` has the rows that were
    left out, and `ForecastTable.tally` what was missing, repeated or superseded; `summary_lines` puts both into sentences.

    Raises
    ------
    InputError
        If the source cannot be read, its columns cannot be identified, or no row can be used.

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
    how = Reading(
        layout, format, columns, percent, strict, as_of, odds, options, decimal, date_format, outcomes, progress
    )
    if isinstance(source, ForecastTable):
        check_unread(how)
        return source
    with answers_of(source, how) as answers:
        (part,) = answers.parts(moment(as_of))
        if progress is not None:
            progress(200, 200)
        rejected, tally = closing(answers, how, len(part.first), part.table.rows)
        return replace(
            part.table,
            questions=answers.texts(part.first, "question")[0],
            forecasters=answers.forecaster_names(),
            rejected=rejected,
            tally=tally,
            question_type=answers.question_type,
        )


def check_unread(how: Reading) -> None:
    """Reject reading options for a table that has already been read."""
    for name in Reading.__dataclass_fields__:
        given, default = getattr(how, name), getattr(Reading, name)
        if name == "progress" or given is default:
            continue
        if name == "outcomes" or (given and given != default):
            raise InputError(f"{name} is for reading a file or a data frame; a ForecastTable has already been read.")


@contextmanager
def answers_of(source: Any, how: Reading) -> Iterator[Answers]:
    """Every entry of a source in the engine, checked."""
    with open_engine(source) as (opened, own):
        yield _answers(opened, own, how)


def _answers(source: Source, own: Engine, how: Reading) -> Answers:
    values = how.values()
    plan = how.plan or look_at(source, own, how)
    joined = None if how.outcomes is None else read_outcomes(how.outcomes, source.names, plan.question, values)
    values = values._replace(odds=values.odds or plan.odds)
    made = entries.make_entries(source, plan, values, joined.columns if joined else ())
    own.run(made.query, how.progress)
    entries.ask_for_signs(own, made, elsewhere=how.signed)
    if joined is not None:
        made = join_outcomes(own, made, joined, how.outcomes)
    tally = Tally(
        entry="answer" if plan.wide else "row",
        ignored=plan.ignored,
        outside=plan.outside,
        interval=interval(values),
        forecasters=plan.forecasters,
        times=plan.times,
        named_by=tuple(source.names[place] for place in plan.question),
        roles=tuple((role, source.names[place]) for role, place in plan.roles.items()),
        unread=source.unread,
        outcomes=RowsLeftOut() if joined is None else joined.lost,
    )
    answers = fill(own, source, made, tally)
    if len(plan.question) == 1:
        name = f"SELECT c{plan.question[0]} AS name FROM {source.relation(first=True)} LIMIT 0"
        kind = own.arrays(name)["name"].dtype
        answers.question_type = kind if kind.kind in "iu" else None
    if how.percent:
        _count_percentages(answers)
    return answers


def look_at(source: Source, own: Engine, how: Reading) -> Plan:
    """What the columns of a source are, by their names and the first rows."""
    columns = ", ".join(
        f"c{i}" if entries.Cell("", kind).is_number else f"left(CAST(c{i} AS VARCHAR), {LOOK_LETTERS}) AS c{i}"
        for i, kind in enumerate(source.types)
    )
    look = min(LOOK, LOOK_CELLS // max(1, len(source.names)) + 1)
    rows = own.rows(f"SELECT {columns} FROM {source.relation(first=True)} LIMIT {look}")
    first = list(zip(*rows, strict=True)) or [()] * len(source.names)
    plan = make_plan(source.names, first, how.values(), how)
    if how.as_of is not None and "timestamp" not in plan.roles:
        raise InputError("as_of needs a column timestamp; there is none.")
    return plan


def _count_percentages(answers: Answers) -> None:
    """Count those that were given in per cent, and how many of them look as if they were not."""
    query = """SELECT count(probability), count(*) FILTER (probability <= 0.01),
                      arg_min(probability, rowid) FILTER (probability > 0 AND probability < 0.01)
               FROM entries WHERE fault IS NULL AND NOT isnan(probability)"""
    ((percentages, small, between),) = answers.engine.rows(query)
    fraction = None if between is None else 100 * between
    answers.tally = replace(answers.tally, percentages=percentages, small=small, fraction=fraction)


def closing(answers: Answers, how: Reading, questions: int, rows: int) -> tuple[RowsLeftOut, Tally]:
    """What was left out in the end; an error if that is everything, or anything while reading strictly."""
    rejected, tally = left_out(answers)
    check_left(rejected, tally, answers.source.names, how, questions, rows)
    return rejected, tally


def left_out(answers: Answers) -> tuple[RowsLeftOut, Tally]:
    """What was left out in the end."""
    outcomes = both(answers.tally.outcomes, answers.unused_outcomes())
    return answers.log.done(), replace(answers.tally, outcomes=outcomes, dates=answers.unused_dates())


def check_left(
    rejected: RowsLeftOut, tally: Tally, names: Sequence[str], how: Reading, questions: int, rows: int
) -> None:
    """An error if everything was left out, or anything while reading strictly; ``rows`` are left."""
    if rejected.total and (how.strict or not rows):
        first = rejected.first[0].reason
        raise RejectedError(
            f"{first} ({rejected.total:,} of {counted(tally.entries, tally.entry)} cannot be used).", rejected
        )
    if not tally.entries:
        columns = ", ".join(map(repr, names))
        raise InputError(f"forecasts must have at least one row; there is none below the columns {columns}.")
    for what, unused in (("outcomes", tally.outcomes), ("dates of resolution", tally.dates)):
        if unused.total and how.strict:
            of_all = f"{unused.total:,} of {counted(questions, 'question')}"
            raise InputError(f"{unused.first[0].reason} (the {what} of {of_all} cannot be used).")
    if not rows:
        untimed = f"no answer has a timestamp, which {'half_life' if how.as_of is None else 'as_of'} needs"
        why = "no answer is that old" if tally.later else untimed if tally.untimed else "every probability is missing"
        raise InputError(f"forecasts must have at least one answer; {why} ({counted(tally.entries, tally.entry)}).")


def strptime_codes(text: str | None) -> str | None:
    """A format of dates with the codes of strptime, which may be given as letters alone.

    >>> strptime_codes("d/m/Y H:M"), strptime_codes("%Y-%m-%d")
    ('%d/%m/%Y %H:%M', '%Y-%m-%d')
    """
    import duckdb

    if text is None:
        return None
    letters = re.findall("[A-Za-z]", text)
    if "%" not in text and len(set(letters)) == len(letters):
        text = re.sub("([A-Za-z])", r"%\1", text)
    try:
        with duckdb.connect() as engine:
            engine.execute("SELECT TRY_STRPTIME('', ?)", [text])
    except duckdb.Error:
        year = None
    else:
        year = re.search("%-?[YyGxcD]", text)
    if year is None:
        raise InputError(
            "date_format must have codes of strptime such as %d/%m/%Y, with a year, or their letters as in d/m/Y; "
            f"it is {text!r}."
        )
    return text


def moment(as_of: float | str | datetime | None) -> float | None:
    """The last moment that is asked for, in seconds since 1970: that of a day, if no time is said.

    >>> moment("1970-01-02T00:00:00"), moment("1970-01-02")
    (86400.0, 172799.99999999997)
    """
    if as_of is None:
        return None
    try:
        when = seconds(as_of)
    except (TypeError, ValueError):
        when = math.nan
    if math.isnan(when):
        raise InputError(f"as_of must be ISO 8601 or seconds since 1970; it is {as_of!r}.")
    return math.nextafter(when + DAY, when) if is_day(as_of) else when
