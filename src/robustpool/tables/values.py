"""Single entries of a table: what is missing, a number, an outcome or a time, and how an error shows it."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

MISSING = frozenset(["", "na", "n/a", "nan", "nat", "null", "none", "<na>", "#n/a", "missing", "-"])
"""How people write that there is nothing, in small letters."""

YES = frozenset(["1", "1.0", "true", "t", "yes", "y"])
NO = frozenset(["0", "0.0", "false", "f", "no", "n"])
"""How people write the two outcomes, in small letters."""

LATEST = 1e11
"""Seconds since 1970 beyond which a number is no time that anybody meant; milliseconds are."""

FIRST_DAY, LAST_DAY = 19000101, 21001231
"""A whole number from here to there is a day written as YYYYMMDD, and not a second of August 1970."""

LONGEST_SHOWN = 40


def is_missing(entry: object) -> bool:
    """Whether nothing is written there.

    >>> is_missing("NA"), is_missing(None), is_missing(float("nan")), is_missing("0")
    (True, True, True, False)
    """
    if isinstance(entry, str):
        return entry.strip().lower() in MISSING
    return entry is None or bool(entry != entry)  # noqa: PLR0124


def quoted(text: str) -> str:
    """An entry as an error shows it: numbers as they are, text in quotes, none of it long.

    >>> quoted("1.20"), quoted("fifty"), quoted("x" * 100)
    ('1.20', "'fifty'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    text = text.strip()
    short = text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."
    try:
        number(text)
    except ValueError:
        return short if text.startswith("[") else repr(short)
    return short


def named(name: str) -> str:
    """A name as an error shows it: as it is, if it is short and printable.

    >>> named(" ann "), named("a\\nn")
    ('ann', 'a\\\\nn')
    """
    text = name.strip() or "''"
    return text if len(text) <= LONGEST_SHOWN and text.isprintable() else repr(text[:LONGEST_SHOWN])[1:-1]


def number(entry: Any) -> float:
    """A number of any kind, or text that says one; Python alone would read 0_1 as 1.

    >>> number(" 1e-2 ")
    0.01
    """
    if isinstance(entry, str) and "_" in entry:
        raise ValueError(entry)
    return float(entry)


def seconds(entry: Any) -> float:
    """Seconds since 1970 of ISO 8601 with a zone or in UTC, of a date, or of a number: a day as YYYYMMDD, or seconds already.

    >>> seconds("1970-01-02"), seconds("1970-01-01 01:00+01:00"), seconds("90"), seconds(19700102)
    (86400.0, 0.0, 90.0, 86400.0)
    """
    if isinstance(entry, date):  # a datetime is one
        return _iso_seconds(entry.isoformat())
    try:
        value = number(entry)
    except ValueError:
        return _iso_seconds(entry.strip())
    if FIRST_DAY <= value <= LAST_DAY and value.is_integer():
        value = _iso_seconds(str(int(value)))
    if not abs(value) < LATEST:
        raise ValueError(entry)
    return value


def is_day(when: object) -> bool:
    """Whether a point of time is a day without a time, in any of the spellings that `seconds` reads.

    >>> is_day("2024-01-31"), is_day(20240131), is_day("2024-01-31 00:00"), is_day(1704067200)
    (True, True, False, False)
    """
    if isinstance(when, date):
        return not isinstance(when, datetime)
    try:
        value = number(when)
    except (TypeError, ValueError):
        with suppress(TypeError, ValueError):
            date.fromisoformat(str(when).strip())
            return True
        return False
    return FIRST_DAY <= value <= LAST_DAY and value.is_integer()


def _iso_seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
