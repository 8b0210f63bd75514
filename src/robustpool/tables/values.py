"""Columns of text or numbers as arrays: NaN where there is nothing, a mark where there is something else."""

from __future__ import annotations

import math
import re
import warnings
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..aggregators.rows import BoolArray, FloatArray

    Cells = Sequence[Any] | NDArray[Any]

MISSING = frozenset(["", "na", "n/a", "nan", "nat", "null", "none", "<na>", "#n/a", "missing", "-"])
"""How people write that there is nothing, in small letters."""

OUTCOMES = {**dict.fromkeys(["true", "t", "yes", "y"], 1.0), **dict.fromkeys(["false", "f", "no", "n"], 0.0)}
"""How people write yes and no in letters, small ones here; the numbers 1 and 0 are the others."""

LATEST = 1e11
"""Seconds since 1970 beyond which a number is no time that anybody meant; milliseconds are."""

FIRST_DAY, LAST_DAY = 19000101, 21001231
"""A whole number from here to there is a day written as YYYYMMDD, and not a second of August 1970."""

LONGEST_SHOWN = 40


class Column(NamedTuple):
    """The values of a column, NaN where nothing is written, and which entries say something that is no value."""

    values: FloatArray
    wrong: BoolArray


def is_missing(entry: object) -> bool:
    """Whether nothing is written there.

    >>> is_missing("NA"), is_missing(None), is_missing(float("nan")), is_missing("0")
    (True, True, True, False)
    """
    if isinstance(entry, str):
        return entry.strip().lower() in MISSING
    try:
        return entry is None or bool(entry != entry)  # noqa: PLR0124
    except TypeError:  # pandas.NA does not compare
        return True


def quoted(entry: object) -> str:
    """An entry as an error shows it: numbers as they are, text in quotes, none of it long.

    >>> quoted("1.20"), quoted("fifty"), quoted(1.5), quoted("x" * 100)
    ('1.20', "'fifty'", '1.5', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    text = str(entry).strip()
    short = text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."
    try:
        number(text)
    except ValueError:
        return repr(short) if isinstance(entry, str) else short
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


def numbers(column: Cells, *, percent_signs: bool = False) -> Column:
    """Numbers of any kind, or text that says a number; with ``percent_signs`` also ``55%``.

    >>> numbers(["0.5", "", "x"])
    Column(values=array([0.5, nan, nan]), wrong=array([False, False,  True]))
    """
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return _right(column.astype(np.float64))
    with suppress(TypeError, ValueError):
        return _right(_all_numbers(column))
    with suppress(TypeError, ValueError):
        return _right(np.fromiter((math.nan if is_missing(x) else number(x) for x in column), np.float64, len(column)))
    return _one_by_one(column, _percentage if percent_signs else number)


def outcomes(column: Cells, *, options: bool = False) -> Column:
    """0 and 1 in any of their spellings; with ``options`` also the letters a (yes) and b (no).

    >>> outcomes(["yes", "0", "", "maybe"])
    Column(values=array([ 1.,  0., nan, nan]), wrong=array([False, False, False,  True]))
    """
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        values = column.astype(np.float64)
        wrong = ~np.isnan(values) & (values != 0) & (values != 1)
        return Column(np.where(wrong, np.nan, values), wrong)
    known = OUTCOMES | ({"a": 1.0, "b": 0.0} if options else {})
    text = column if all_text(column) else ["" if is_missing(entry) else str(entry) for entry in column]
    said = {each: _outcome(each.strip().lower(), known) for each in set(text)}
    odd = {each for each, value in said.items() if math.isnan(value) and not is_missing(each)}
    values = np.fromiter(map(said.__getitem__, text), np.float64, len(text))
    wrong = np.fromiter(map(odd.__contains__, text), np.bool_, len(text)) if odd else np.zeros(len(text), np.bool_)
    return Column(values, wrong)


def times(column: Cells) -> Column:
    """Seconds since 1970, of ISO 8601 with a zone or in UTC, of dates, and of numbers: days as YYYYMMDD, or seconds already.

    >>> times(["1970-01-02", "1970-01-01 01:00:00+01:00", "90", "soon"])
    Column(values=array([86400.,     0.,    90.,    nan]), wrong=array([False, False, False,  True]))
    >>> times([19700102, 19700199, 18700102])
    Column(values=array([   86400.,       nan, 18700102.]), wrong=array([False,  True, False]))
    """
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        seconds = column.astype("datetime64[us]").astype(np.int64) / 1e6
        return _right(np.where(np.isnat(column), np.nan, seconds))
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiu":
        return _times_of_numbers(column.astype(np.float64))
    with suppress(TypeError, ValueError, Warning):
        return _right(_all_iso(column))
    with suppress(TypeError, ValueError):
        return _times_of_numbers(_all_numbers(column))
    with suppress(TypeError, ValueError, Warning):
        return _right(_zoned_iso(column))
    return _one_by_one(column, _seconds)


def is_day(when: object) -> bool:
    """Whether a point of time is a day without a time, in any of the spellings that `times` reads.

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


def integer_type(column: Cells) -> np.dtype[Any] | None:
    """The type of a column of whole numbers, none of which is text; None for another one.

    >>> integer_type(np.array([1, 2], dtype=np.int32)), integer_type([1, None]), integer_type(["1"])
    (dtype('int32'), dtype('int64'), None)
    """
    if isinstance(column, np.ndarray):
        return column.dtype if column.dtype.kind in "iu" else None
    kinds = set(map(type, column))
    return np.dtype(np.int64) if int in kinds and kinds <= {int, type(None)} else None


def all_text(column: Cells) -> TypeGuard[Sequence[str]]:
    """Whether a column holds nothing but text."""
    return set(map(type, column)) <= {str}


def _all_iso(column: Cells) -> FloatArray:
    """Seconds since 1970, if all are dates or times with a date, in UTC; else an error."""
    return _iso_in_utc(column, len(column))


def _iso_in_utc(column: Cells, given: int) -> FloatArray:
    """Seconds since 1970 of times in UTC; NaN for the others than those ``given``, which must be NaT."""
    joined = "\n".join(column)
    # numpy would read 1704067200 as a year, and one with a day as well
    if not joined or joined.count("-") != 2 * given:
        raise ValueError(joined[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy warns of zones
        moments = np.array(joined.replace("Z", "").replace("+00:00", "").split("\n"), dtype="datetime64[us]")
    seconds = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)
    if np.count_nonzero(np.abs(seconds) < LATEST) != given:
        raise ValueError(joined[:40])
    return seconds


def _zoned_iso(column: Cells) -> FloatArray:
    """Seconds since 1970, if all are dates or times with a date and perhaps a zone such as +02:00, or missing; else an error."""
    tails = [text[-6:] for text in column]
    ahead = {tail: _seconds_ahead(tail) for tail in set(tails)}
    missing = {tail for tail in ahead if is_missing(tail)}
    texts = [
        "NaT" if tail in missing and tail == text else text if ahead[tail] is None else text[:-6]
        for text, tail in zip(column, tails, strict=True)
    ]
    shortest = min((len(text) for text, tail in zip(texts, tails, strict=True) if ahead[tail] is not None), default=99)
    if shortest < len("2024-01-31T23"):  # what looks like a zone right after a date is its time, to Python
        raise ValueError(column[0])
    seconds = _iso_in_utc(texts, len(texts) - texts.count("NaT"))
    return seconds - np.fromiter((ahead[tail] or 0.0 for tail in tails), np.float64, len(tails))


def _seconds_ahead(zone: str) -> float | None:
    """How much a zone such as +02:00 is ahead of UTC; None if that is none."""
    match = re.fullmatch(r"([+-])([01][0-9]|2[0-3]):([0-5][0-9])", zone)
    return float(f"{match[1]}1") * (3600 * int(match[2]) + 60 * int(match[3])) if match else None


def _all_numbers(column: Cells) -> FloatArray:
    """Numbers, if all are; else an error."""
    words = column if all_text(column) else [entry for entry in column if isinstance(entry, str)]
    if "_" in "".join(words):
        raise ValueError(column[0])
    return np.fromiter(map(float, column), np.float64, len(column))


def _times_of_numbers(values: FloatArray) -> Column:
    """Numbers as seconds since 1970; those that are days are counted once each."""
    seconds = values.copy()
    days = (values >= FIRST_DAY) & (values <= LAST_DAY)
    days[days] = values[days] % 1 == 0
    if days.any():
        different, which = np.unique(values[days], return_inverse=True)
        seconds[days] = np.array([_day(each) for each in different.tolist()])[which]
    wrong = ~np.isnan(values) & ~(np.abs(seconds) < LATEST)
    return Column(np.where(wrong, np.nan, seconds), wrong)


def _day(number: float) -> float:
    """Seconds since 1970 of a day written as YYYYMMDD, infinite if there is no such day."""
    try:
        return _iso_seconds(str(int(number)))
    except ValueError:
        return math.inf


def _right(values: FloatArray) -> Column:
    return Column(values, np.zeros(len(values), np.bool_))


def _one_by_one(column: Cells, read: Callable[[Any], float]) -> Column:
    """The slow way, for a batch with an entry that is wrong."""
    values, wrong = np.full(len(column), np.nan), np.zeros(len(column), np.bool_)
    for i, entry in enumerate(column):
        if is_missing(entry):
            continue
        try:
            values[i] = read(entry)
        except (TypeError, ValueError):
            wrong[i] = True
    return Column(values, wrong)


def _percentage(entry: Any) -> float:
    return number(entry.rstrip().removesuffix("%") if isinstance(entry, str) else entry)


def _outcome(text: str, known: dict[str, float]) -> float:
    """0 or 1, or NaN if the text says neither."""
    if text in known:
        return known[text]
    try:
        value = number(text)
    except ValueError:
        return math.nan
    return value if value in (0, 1) else math.nan


def _iso_seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _seconds(entry: Any) -> float:
    """Seconds since 1970 of text, a date or a number."""
    if isinstance(entry, date):  # a datetime is one
        return _iso_seconds(entry.isoformat())
    try:
        seconds = number(entry)
    except ValueError:
        return _iso_seconds(entry.strip())
    if FIRST_DAY <= seconds <= LAST_DAY and seconds.is_integer():
        seconds = _day(seconds)
    if not abs(seconds) < LATEST:
        raise ValueError(entry)
    return seconds
