"""The entries of a source, one for each answer that somebody gave or did not give: SQL that reads each and finds what is wrong.

Of each entry the table ``entries`` has the names of question and forecaster, the numbers that could be read, and the number of the
first check that it does not pass, with the text that an error shows. Entries are numbered in the order of the source.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .csv_source import LONGEST_FIELD
from .engine import among, literal, stripped
from .recency import DAY
from .values import FIRST_DAY, LAST_DAY, LATEST, MISSING, NO, YES

if TYPE_CHECKING:
    from .engine import Engine
    from .plans import Plan
    from .sources import Source

OPTION_YES, OPTION_NO = YES | {"a"}, NO | {"b"}
"""How exports name the two options of a question, in small letters; brackets do not matter."""

IN_RANGE = "probability must lie in [0, 1]"
IN_PERCENT = "probability must lie in [0, 100] per cent"
IN_ODDS = "decimal odds must be at least 1"
A_NUMBER = "probability must be a number"
SIGNED = "a value below 1 must have a % sign if other values have one"
POSITIVE = "weight must be a positive number"
READABLE = "timestamp must be ISO 8601 or seconds since 1970"
IN_FORMAT = "timestamp must be written as {}"
DATED = "the date of resolution must be ISO 8601 or seconds since 1970"
DATED_IN_FORMAT = "the date of resolution must be written as {}"
TOO_LONG = f"a field must have at most {LONGEST_FIELD:,} characters"
NO_QUESTION, NO_FORECASTER = "question_id must not be empty", "forecaster_id must not be empty"
NO_OPTION = "option must not be empty"
TWO_VALUED = "outcome must be 0 or 1, false or true, no or yes, or empty"

BASIC_FORMATS = "['%Y%m%dT%H%M%S', '%Y%m%dT%H%M%SZ', '%Y%m%dT%H%M', '%Y-%m-%dT%H', '%Y-%m-%d %H']"
"""Spellings of ISO 8601 that the engine does not read by itself, in UTC."""

EARLIEST = -3e10
"""Seconds in which a year of two digits lies that was read with four."""

NUMBERS = {"BOOLEAN", "FLOAT", "DOUBLE", "HUGEINT", "UHUGEINT"} | {
    f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
}
"""The types of numbers, as the engine calls them."""

NOTHING, UNREADABLE = -2, -1
"""In the place of an outcome: none is given, or none that can be read."""


class Check(NamedTuple):
    """What an entry must be; ``shown`` is the text of what it is instead."""

    rule: str
    fails: str  # in SQL
    shown: str = "NULL"
    is_forecast: bool = True  # an entry that fails it is a forecast, even so, and its question one of the table


class Cell(NamedTuple):
    """A column in SQL, its type, and whether it may have spaces around what it holds."""

    sql: str
    type: str
    padded: bool = True

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers, or true and false."""
        return self.type in NUMBERS or re.fullmatch(r"DECIMAL\(\d+,\d+\)", self.type) is not None

    @property
    def is_time(self) -> bool:
        """Whether it holds dates or times."""
        return self.type == "DATE" or (self.type.startswith("TIMESTAMP") and not self.type.endswith("]"))

    @property
    def text(self) -> str:
        """As an error shows it."""
        return self.sql if self.type == "VARCHAR" else f"CAST({self.sql} AS VARCHAR)"

    @property
    def name(self) -> str:
        """As a name: whole numbers without a point, nothing as the empty text."""
        if self.type in ("DOUBLE", "FLOAT"):
            whole = f"CAST(CAST({self.sql} AS HUGEINT) AS VARCHAR)"
            is_whole = f"abs({self.sql}) < 1e18 AND {self.sql} = floor({self.sql})"
            return f"CASE WHEN {is_whole} THEN {whole} WHEN isnan({self.sql}) OR {self.sql} IS NULL THEN '' ELSE {self.text} END"
        return f"coalesce({stripped(self.text) if self.padded else self.text}, '')"

    def number(self, decimal: str = ".", *, percent: bool = False) -> str:
        """As a number, NULL where it is none; the engine alone would read 0_1 as 1."""
        if self.is_number:
            return f"CAST({self.sql} AS DOUBLE)"
        text = f"replace({self.text}, {literal(decimal)}, '.')" if decimal != "." else self.text
        if percent:
            text = f"rtrim({text}, '% ')"
        return f"CASE WHEN contains({self.text}, '_') THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END"

    @property
    def missing(self) -> str:
        """Whether nothing is written there."""
        if self.is_number:
            return f"({self.sql} IS NULL OR isnan(CAST({self.sql} AS DOUBLE)))"
        return f"({self.sql} IS NULL OR {among(f'lower({stripped(self.text)})', MISSING)})"

    def seconds(self, date_format: str | None) -> str:
        """Seconds since 1970, NULL where it is no time."""
        if self.is_time:
            return f"epoch({self.sql})"
        text = stripped(self.text)
        if date_format is not None:
            time = f"epoch(TRY_STRPTIME({text}, {literal(date_format)}))"
            return f"CASE WHEN {time} > {EARLIEST} THEN {time} END"
        number, is_day = self.number(), self._is_numeric_day
        day = f"epoch(TRY_STRPTIME(CAST(CAST({number} AS BIGINT) AS VARCHAR), '%Y%m%d'))"
        iso = f"coalesce(TRY_CAST({text} AS TIMESTAMPTZ), TRY_STRPTIME({text}, {BASIC_FORMATS})::TIMESTAMPTZ)"
        of_text = (
            "NULL" if self.is_number else f"CASE WHEN regexp_matches({text}, '^[12][0-9]{{3}}') THEN epoch({iso}) END"
        )
        return (
            f"CASE WHEN {number} IS NULL THEN {of_text} WHEN {is_day} THEN {day} "
            f"WHEN abs({number}) < {LATEST} THEN {number} END"
        )

    @property
    def _is_numeric_day(self) -> str:
        """Whether it is a day written as YYYYMMDD."""
        number = self.number()
        return f"{number} BETWEEN {FIRST_DAY} AND {LAST_DAY} AND {number} = floor({number})"

    def resolved(self, date_format: str | None) -> str:
        """Seconds since 1970 when an outcome became known, for a day its last moment; NULL for nothing, NaN if unreadable.

        Yes and no say whether a question is resolved, not when. In a column of times a day is midnight.
        """
        time, text = self.seconds(date_format), stripped(self.text)
        if self.is_time:
            is_day = f"{time} % {DAY} = 0"
        elif date_format is not None:
            is_day = str(re.search("%-?[HIcX]", date_format) is None)
        else:
            is_day = f"{self._is_numeric_day} OR regexp_full_match({text}, '[0-9]{{4}}[-/ ][0-9]+[-/ ][0-9]+')"
        return (
            f"CASE WHEN {self.missing} OR {among(f'lower({text})', YES | NO)} THEN NULL "
            f"WHEN {time} IS NULL THEN 'nan'::DOUBLE WHEN {is_day} THEN nextafter({time} + {DAY}, {time}) ELSE {time} END"
        )

    def outcome(self, *, options: bool) -> str:
        """0 or 1, or why there is neither."""
        text, number = f"lower({stripped(self.text)})", self.number()
        yes, no = (OPTION_YES, OPTION_NO) if options else (YES, NO)
        return (
            f"CASE WHEN {self.missing} THEN {NOTHING} WHEN {number} = 1 OR {among(text, yes)} THEN 1 "
            f"WHEN {number} = 0 OR {among(text, no)} THEN 0 ELSE {UNREADABLE} END"
        )

    @property
    def key(self) -> str:
        """In small letters, without brackets and spaces."""
        return f"coalesce(lower(trim({self.text}, ' ()')), '')"


class Entries(NamedTuple):
    """How the entries of a source are made, and what they are checked for."""

    query: str
    checks: tuple[Check, ...]
    columns: frozenset[str]  # those beside question, forecaster, probability, fault and shown
    width: int  # entries of a row
    distributions: bool = False  # a row names the options, so that they are more than yes and no
    odds: bool = False
    date_rule: str = DATED  # how dates of resolution must be written

    @property
    def sieves(self) -> int:
        """How many of the checks tell that an entry is no forecast at all; they come first."""
        return sum(not check.is_forecast for check in self.checks)


class Reading(NamedTuple):
    """How numbers and times are written."""

    percent: bool = False
    decimal: str = "."
    odds: bool = False
    date_format: str | None = None


def make_entries(source: Source, plan: Plan, how: Reading, outcome_columns: tuple[int, ...] = ()) -> Entries:
    """The SQL that makes the table of entries; ``outcome_columns`` name the question in a file of outcomes."""
    cells = _cells(source, plan)
    probability = cells["probability"]
    value = probability.number(how.decimal, percent=how.percent)
    if how.odds:
        value = f"1 / ({value})"
    elif how.percent:
        value = f"({value}) / 100"
    columns = {
        "question": cells["question"].sql,
        "forecaster": cells["forecaster_id"].name,
        "given": value,
        "unread": f"CASE WHEN given IS NULL THEN NOT {probability.missing} ELSE false END",
    }
    if how.percent and not probability.is_number:
        columns["signed"] = f"contains({probability.text}, '%')"
    if "option" in cells:
        columns["option"] = f"coalesce({stripped(cells['option'].text)}, '')"
        columns["option_key"] = cells["option"].key
    for role in ("timestamp", "end"):
        if role in cells:
            columns[role] = cells[role].seconds(how.date_format)
    if "weight" in cells:
        columns["weight"] = cells["weight"].number(how.decimal)
    if "outcome" in cells:
        columns["outcome"] = cells["outcome"].outcome(options="option" in cells)
        columns["outcome_text"] = stripped(cells["outcome"].text)
    if outcome_columns:
        columns["outcome_key"] = joined_name(source, outcome_columns)
    if "resolved" in cells:
        columns["resolved"] = cells["resolved"].resolved(how.date_format)
        columns["resolved_text"] = f"CASE WHEN isnan(resolved) THEN {cells['resolved'].text} END"
    if "cluster" in cells:
        columns["cluster"] = cells["cluster"].name
    checks = _checks(cells, plan, how)
    faults = " ".join(f"WHEN {check.fails} THEN {i}" for i, check in enumerate(checks) if check.rule != SIGNED)
    shown = " ".join(f"WHEN {i} THEN {check.shown}" for i, check in enumerate(checks))
    if "signed" in columns:  # what may be asked about when all have been seen
        shown += f" ELSE CASE WHEN NOT signed AND given > 0 AND given < 0.01 THEN {probability.text} END"
    named = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    kept = [name for name in columns if name not in ("given", "unread")]
    quoted = ", ".join(
        ["hash(question) AS q", '(hash(question, 1) & 65535)::USMALLINT AS "check"', *(f'"{name}"' for name in kept)]
    )
    query = f"""
        CREATE TABLE entries AS
        SELECT {quoted}, given AS probability, fault, CASE fault {shown} END AS shown
        FROM (SELECT *, CASE {faults} END::UTINYINT AS fault
              FROM (SELECT *, {named} FROM {_unpivoted(source, plan)}))"""
    grouped = bool(plan.cells) and plan.cells[0].option is not None
    width = max(1, len(plan.cells))
    date_rule = DATED if how.date_format is None else DATED_IN_FORMAT.format(how.date_format)
    return Entries(query, checks, frozenset(kept) - {"question", "forecaster"}, width, grouped, how.odds, date_rule)


def ask_for_signs(engine: Engine, entries: Entries, *, elsewhere: bool | None = None) -> None:
    """Reject what is below 1 and has no % sign, if any value, here or ``elsewhere``, has one: 0.6 beside 70% may be 60 %."""
    if "signed" in entries.columns and (elsewhere or engine.rows("SELECT 1 FROM entries WHERE signed LIMIT 1")):
        fault = [check.rule for check in entries.checks].index(SIGNED)
        engine.connection.execute(f"UPDATE entries SET fault = {fault} WHERE fault IS NULL AND shown IS NOT NULL")


def _cells(source: Source, plan: Plan) -> dict[str, Cell]:
    """The columns by their roles."""
    cells = {
        role: Cell(f"c{place}", source.types[place], source.padded)
        for role, place in {**plan.roles, **plan.extras}.items()
    }
    cells["question"] = Cell(joined_name(source, plan.question), "VARCHAR")
    if plan.cells:
        cells["forecaster_id"] = Cell("cell_forecaster", "VARCHAR", padded=False)
        cells["probability"] = Cell("cell_probability", _common_type(source, plan))
        if plan.cells[0].option is not None:
            cells["option"] = Cell("cell_option", "VARCHAR")
    return cells


def joined_name(source: Source, places: tuple[int, ...]) -> str:
    """The name that some columns have together; none where all of them are empty."""
    parts = [Cell(f"c{place}", source.types[place], source.padded).name for place in places]
    together = " || ' | ' || ".join(parts)
    return together if len(parts) == 1 else f"CASE WHEN concat({', '.join(parts)}) = '' THEN '' ELSE {together} END"


def _common_type(source: Source, plan: Plan) -> str:
    """Numbers, if all columns of a wide table hold numbers, else text."""
    return "DOUBLE" if all(Cell("", source.types[cell.place]).is_number for cell in plan.cells) else "VARCHAR"


def _unpivoted(source: Source, plan: Plan) -> str:
    """The rows of a long table; of a wide one a row for each cell."""
    relation = source.relation()
    if not plan.cells:
        return relation
    kind = _common_type(source, plan)
    columns = {
        "cell_forecaster": [literal(cell.forecaster) for cell in plan.cells],
        "cell_probability": [f"CAST(c{cell.place} AS {kind})" for cell in plan.cells],
    }
    if plan.cells[0].option is not None:
        columns["cell_option"] = [literal(str(cell.option)) for cell in plan.cells]
    lists = ", ".join(f"unnest([{', '.join(texts)}]) AS {name}" for name, texts in columns.items())
    return f"(SELECT *, {lists} FROM {relation})"


def _checks(cells: dict[str, Cell], plan: Plan, how: Reading) -> tuple[Check, ...]:
    """What each entry must be, in the order in which it is looked at."""
    shown = cells["probability"].text
    long = f"strlen(question) > {LONGEST_FIELD} OR strlen(forecaster) > {LONGEST_FIELD}"
    checks = [Check(TOO_LONG, long, is_forecast=False), Check(NO_QUESTION, "question = ''", is_forecast=False)]
    for role, rule, fails in plan.format.sieves:
        if role == "question":
            checks.append(Check(rule, fails.format("question"), "question", is_forecast=False))
        elif role in cells:
            cell = cells[role]
            given = f"NOT {cell.missing}" if fails == "given" else fails.format(cell.key)
            checks.append(Check(rule, given, stripped(cell.text), is_forecast=False))
    rule = IN_ODDS if how.odds else IN_PERCENT if how.percent else IN_RANGE
    checks.append(Check(A_NUMBER, "unread", shown))
    checks.append(Check(rule, "NOT isnan(given) AND NOT given BETWEEN 0 AND 1", shown))
    if "weight" in cells:
        wrong = "NOT coalesce(weight > 0 AND weight < 'inf'::DOUBLE, false)"
        checks.append(Check(POSITIVE, wrong, f"coalesce({cells['weight'].text}, '')"))
    for role in ("timestamp", "end"):
        if role in cells:
            rule = READABLE if how.date_format is None else IN_FORMAT.format(how.date_format)
            checks.append(Check(rule, f'"{role}" IS NULL AND NOT {cells[role].missing}', cells[role].text))
    checks.append(Check(NO_FORECASTER, "forecaster = ''"))
    if "option" in cells:
        checks.append(Check(NO_OPTION, "option = ''"))
    checks.append(Check(SIGNED, "false"))
    return tuple(checks)
