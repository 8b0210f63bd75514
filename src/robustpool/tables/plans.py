"""Which column of a source is what: decided once, from the names of the columns and a look at the first rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from ..checks import choice
from ..errors import InputError
from ..wording import listed
from . import formats
from .formats import FORMATS, NEEDED, OUR_NAMES, OURS, ROLES, Format, check_different, plain, told_format
from .values import NO, YES, is_missing, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .entries import Reading

    Column = Sequence[Any]
    Said = dict[str, tuple[int, ...]]

LAYOUTS = ("auto", "long", "wide")
BESIDE = ("question_id", "outcome", "cluster", "option")
"""What a wide table may have beside its forecasters."""

NOT_ASKED = ("timestamp", "weight")
"""What columns of a wide table may be that are no forecasters either, and that cannot be used there."""

NO_FORECASTER = re.compile(r"index|level_\d+|unnamed_\d+|forecasts?|forecasters?")
"""Columns of numbers that count rows, as pandas names them, or that are our own output."""

HOME_DRAW_AWAY = ("H", "D", "A")
SEPARATORS = ("_", ".", ":", "|", " - ")
"""What stands between a forecaster and an option in the name of a column, if nobody says the options."""

LONGEST_ODDS = 1000

LOOK_AT_SUMS, MOST = 1000, 0.9
"""Rows whose sums are looked at to tell options, and the share of them that must be about 1."""


class PlacedCell(NamedTuple):
    """A column of a wide table: whose answers it holds, and for which option if there are more than two."""

    place: int
    forecaster: str
    option: str | None = None


@dataclass(frozen=True)
class Plan:
    """Which columns play which role, by their place in the header."""

    format: Format
    question: tuple[int, ...]  # one column, or several that name the question together
    roles: Mapping[str, int]  # of the other roles, those that there are
    cells: tuple[PlacedCell, ...] = ()  # of a wide table: the columns of the forecasters
    extras: Mapping[str, int] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()  # of a wide table: columns of numbers most of which are no probabilities
    times: tuple[str, ...] = ()  # columns that look like times, where none is used
    odds: bool = False  # values are decimal odds

    @property
    def wide(self) -> bool:
        """Whether there is a column for each forecaster."""
        return bool(self.cells)

    @property
    def forecasters(self) -> tuple[str, ...]:
        """Of a wide table: their names."""
        return tuple(dict.fromkeys(cell.forecaster for cell in self.cells))


def interval(how: Reading) -> tuple[int, int]:
    """Where most values of a forecaster lie."""
    return (1, LONGEST_ODDS) if how.odds else (0, 100 if how.percent else 1)


def make_plan(
    names: Sequence[str],
    first_rows: Sequence[Column],
    how: Reading,
    *,
    layout: str = "auto",
    format: str = "auto",
    columns: Mapping[str, str | Sequence[str]] | None = None,
    options: Sequence[str] = (),
) -> Plan:
    """Decide what the columns are; ``first_rows`` are some of the rows, by columns."""
    choice("layout", layout, LAYOUTS)
    choice("format", format, ["auto", *FORMATS])
    header = list(names)
    _check_header(header)
    said = _said(header, columns or {})
    if how.decimal != ".":
        first_rows = [[_with_point(entry, how.decimal) for entry in column] for column in first_rows]
    known = told_format(header) if format == "auto" else FORMATS[format]
    if format == "auto" and known.options and not _groups(header, range(len(header)), options or known.options):
        known = OURS
    if layout == "wide" or options or known.options:
        if layout == "long":
            raise InputError(
                "options end the names of the columns of a wide table; with the layout long there are none."
            )
        return _wide(header, first_rows, said, how, known if known.options else OURS, tuple(options))
    if layout == "auto" and known is OURS and not said.keys() & {"forecaster_id", "probability"}:
        found = _found(header, OURS, said, ambiguous_is_error=False)
        if not all(role in found for role in ("forecaster_id", "probability")):
            wide = _wide(header, first_rows, said, how, OURS, ())
            if len(wide.cells) + len(wide.outside) > 1 and not {"forecaster_id", "probability"} & set(
                map(plain, header)
            ):
                return wide
    return _long(header, first_rows, known, said)


def _long(header: list[str], first_rows: Sequence[Column], known: Format, said: Said) -> Plan:
    roles = _found(header, known, said)
    extras = _extras(header, known)
    question = said.get("question_id", ()) or ((roles["question_id"],) if "question_id" in roles else ())
    roles.pop("question_id", None)
    if known.question_is_the_rest and not question:
        taken = {*roles.values(), *extras.values()}
        question = tuple(i for i, name in enumerate(header) if i not in taken and name)
    missing = [role for role in NEEDED if role not in roles and not (role == "question_id" and question)]
    if missing:
        raise InputError(
            f"a long table needs the columns {', '.join(NEEDED)}, a wide one a column of numbers for each forecaster; "
            f"{listed(missing)} cannot be told from the columns {', '.join(map(repr, header))}: "
            f"name them as --column {missing[0]}=NAME (in Python columns={{{missing[0]!r}: NAME}})."
        )
    if known is OURS and "option" not in roles:
        answer = [first_rows[place] for place in (*question, roles["forecaster_id"])]
        for place in (i for name in formats.TOPICS for i in _places(header).get(name, []) if i not in roles.values()):
            if len(set(zip(*answer, first_rows[place], strict=True))) > len(set(zip(*answer, strict=True))):
                roles["option"] = place
    ignored = _unused(header, {*question, *roles.values(), *extras.values()})
    return Plan(known, question, roles, extras=extras, ignored=ignored, times=_times(ignored, roles, known))


def _wide(
    header: list[str], first_rows: Sequence[Column], said: Said, how: Reading, known: Format, options: tuple[str, ...]
) -> Plan:
    """A column of the question, else the first, names the question; every column of probabilities without a role is a forecaster.

    If no column is one for the most part, every column of numbers is: its rows are rejected then, and that says why. With
    options a forecaster has a column for each, and the other columns are none.
    """
    beside = [*BESIDE, *NOT_ASKED]
    roles = _found(header, known, {role: places for role, places in said.items() if role in beside}, only=BESIDE)
    question = said.get("question_id") or tuple(
        place for name in known.question for place in _places(header).get(name, [])[:1]
    )
    if "question_id" not in roles and not question:
        other = next((f"is the {role}" for role, place in roles.items() if place == 0), None)
        if other is not None or _has_fraction(first_rows[0]):
            raise InputError(
                "the first column of a wide table must name the questions; "
                f"{header[0]!r} {other or 'holds probabilities'}: add a column question_id."
            )
    question = question or (roles.get("question_id", 0),)
    taken = {*question, *roles.values()}
    taken |= {i for i, name in enumerate(header) if OUR_NAMES.get(plain(name)) in beside}
    roles = {role: place for role, place in roles.items() if role not in ("question_id", "weight")}
    free = [i for i in range(len(header)) if i not in taken and header[i]]
    numeric = [i for i in free if _numeric(first_rows[i]) and not NO_FORECASTER.fullmatch(plain(header[i]))]
    in_range = [i for i in numeric if _in_range(first_rows[i], how)]
    odds = how.odds or (known.odds and not how.percent)
    outcomes = first_rows[roles["outcome"]] if "outcome" in roles else ()
    options = options or known.options or _told_options(header, first_rows, numeric, in_range, outcomes, how)
    if options:
        groups = _groups(header, free, options)
        if known.odds and _sums_to_one(list(groups.values()), first_rows, how._replace(odds=False)):
            odds = False
        if not groups:
            raise InputError(
                f"with the options {', '.join(options)} a forecaster must have a column that ends in each of them; "
                f"none has, of the columns {', '.join(map(repr, header))}."
            )
        cells = tuple(PlacedCell(group[each], who, each) for who, group in groups.items() for each in options)
    else:
        cells = tuple(PlacedCell(place, header[place]) for place in in_range or numeric)
    if not cells:
        raise InputError(
            "a long table needs the columns question_id, forecaster_id, probability, a wide one a column of numbers for "
            f"each forecaster; the columns are {', '.join(map(repr, header))}."
        )
    ignored = _unused(header, {*question, *roles.values(), *(cell.place for cell in cells)})
    outside = tuple(header[i] for i in numeric if i not in in_range and header[i] in ignored and not options)
    return Plan(known, question, roles, cells, {}, ignored, outside, _times(ignored, roles, known), odds)


def _unused(header: list[str], used: set[int]) -> tuple[str, ...]:
    return tuple(name for i, name in enumerate(header) if i not in used and name)


def _times(unused: tuple[str, ...], roles: Mapping[str, int], known: Format) -> tuple[str, ...]:
    """Of columns that are not used, those that look like times; none where a time is used, or the format is known."""
    if "timestamp" in roles or known is not OURS:
        return ()
    return tuple(name for name in unused if formats.A_TIME.fullmatch(plain(name)))


# ---------------------------------------------------------------------------------------------------------------- options


def _groups(header: Sequence[str], places: Iterable[int], options: Sequence[str]) -> dict[str, dict[str, int]]:
    """The columns of each forecaster who has one for every option: her name, perhaps a separator, and the option.

    Who is made of the others is none, and closing odds (which end in C) are not beside those before them.
    """
    groups: dict[str, dict[str, int]] = {}
    for place in places:
        option = next((each for each in sorted(options, key=len)[::-1] if header[place].endswith(each)), None)
        who = header[place][: -len(option)].rstrip("_-.:| ") if option else ""
        if option and who and not formats.AGGREGATES.fullmatch(who):
            groups.setdefault(who, {}).setdefault(option, place)
    whole = {who: group for who, group in groups.items() if len(group) == len(set(options))}
    closing = {who for who in whole if tuple(options) == HOME_DRAW_AWAY and who[-1] == "C" and who[:-1] in whole}
    return {who: group for who, group in whole.items() if who not in closing}


def _told_options(
    header: list[str],
    first_rows: Sequence[Column],
    numeric: list[int],
    in_range: list[int],
    outcomes: Column,
    how: Reading,
) -> tuple[str, ...]:
    """The options that names of columns end in, the same for everybody, if that is no accident.

    The outcomes name them, or the values sum to 1.
    """
    came_true = {str(entry).strip().lower() for entry in outcomes if not is_missing(entry)}
    candidates: list[tuple[str, ...]] = [HOME_DRAW_AWAY]
    for separator in SEPARATORS:
        ends: dict[str, tuple[str, ...]] = {}
        for place in numeric:
            who, _, option = header[place].rpartition(separator)
            if who and option:
                ends[who] = (*ends.get(who, ()), option)
        several = [options for options in ends.values() if len(options) > 1]
        if several and len(set(map(frozenset, several))) == 1:
            candidates.append(several[0])
    for options in candidates:
        lower = {option.lower() for option in options}
        if came_true - YES - NO and came_true <= lower and _groups(header, numeric, options):
            return options
        words = lower == {"yes", "no"}
        groups = list(_groups(header, in_range, options).values())
        enough = words or (len(options) > 2 and (how.odds or len(groups) > 1 or len(first_rows[0]) > 2))
        enough &= how.odds or 2 * len(groups) * len(options) >= len(in_range)  # other columns may look like odds
        if enough and _sums_to_one(groups, first_rows, how):
            return options
    return ()


def _sums_to_one(groups: list[dict[str, int]], first_rows: Sequence[Column], how: Reading) -> bool:
    """Whether nearly all rows that are there in full sum to about 1; one over odds, to a little more."""
    sums = []
    for group in groups:
        columns = [_numbers(first_rows[place][:LOOK_AT_SUMS]) for place in group.values()]
        for row in zip(*columns, strict=True):
            if not any(map(isnan, row)):
                parts = [1 / value if value > 0 else nan for value in row] if how.odds else row
                sums.append(sum(parts) / (100 if how.percent else 1))
    low, high = (0.9, 1.5) if how.odds else (0.95, 1.05)
    return bool(sums) and sum(low <= value <= high for value in sums) >= MOST * len(sums)


# ------------------------------------------------------------------------------------------------------------------ names


def _found(
    header: list[str],
    known: Format,
    said: Said,
    *,
    only: Sequence[str] = ROLES,
    ambiguous_is_error: bool = True,
) -> dict[str, int]:
    """The place of each role: as said, or by its first name if that is there, or by its only other name."""
    places = _places(header)
    roles = {role: named[0] for role, named in said.items()}
    taken = {place for named in said.values() for place in named}
    for role, aliases in known.roles.items():
        there = [name for name in aliases if set(places.get(name, ())) - taken]
        if role in said or role not in only or not there:
            continue
        if known is not OURS or there[0] == aliases[0]:
            there = there[:1]
        could = [place for name in there for place in places[name] if place not in taken]
        if len(could) > 1 and ambiguous_is_error:
            raise InputError(
                f"one column must be the {role}; {listed([repr(header[place]) for place in could])} could be: "
                f"pass --column {role}=NAME (in Python columns={{{role!r}: NAME}})."
            )
        roles[role] = could[0]
    return roles


def _extras(header: list[str], known: Format) -> dict[str, int]:
    """The places of the columns that say which rows are forecasts of yes or no."""
    places, extras = _places(header), {}
    for role, name in known.extras.items():
        could = places.get(name, [])
        if len(could) > 1:
            both = listed([repr(header[place]) for place in could])
            raise InputError(f"one column must be the {name}; {both} could be: rename one of them.")
        if could:
            extras[role] = could[0]
    return extras


def _places(header: list[str]) -> dict[str, list[int]]:
    """Where each name stands, in small letters; a name may be written in two ways."""
    places: dict[str, list[int]] = {}
    for i, name in enumerate(header):
        places.setdefault(plain(name), []).append(i)
    return places


def _said(header: list[str], columns: Mapping[str, str | Sequence[str]]) -> Said:
    """The places of the columns that the user named; several, with commas or in a list, may name the question together."""
    said = {}
    for role, names in columns.items():
        choice("a role in columns", role, ROLES)
        several = role == "question_id" and names not in header
        parts: list[Any] = [names] if not several else names.split(",") if isinstance(names, str) else list(names)
        for name in parts:
            if name not in header:
                raise InputError(
                    f"column {role} is said to be {name!r}; the columns are {', '.join(map(repr, header))}."
                )
        said[role] = tuple(header.index(name) for name in parts)
    return said


def _check_header(header: list[str]) -> None:
    """Refuse a first line that is no header, and names that stand there twice."""
    if _has_fraction(header) or (len(header) > 1 and not any(map(isnan, _numbers(header)))):
        raise InputError(f"the first line must name the columns; it is {', '.join(header)!r:.80}.")
    check_different(header)


def _numbers(column: Column) -> list[float]:
    """The numbers of a column, NaN for what is none; per cent signs do not matter."""
    return list(map(_number, column))


def _number(entry: Any) -> float:
    try:
        return number(entry.rstrip("% ") if isinstance(entry, str) else entry)
    except (TypeError, ValueError):
        return nan


def _with_point(entry: Any, decimal: str) -> Any:
    return entry.replace(decimal, ".") if isinstance(entry, str) else entry


def _has_fraction(column: Column) -> bool:
    return any(isfinite(value) and value % 1 > 0 for value in _numbers(column))


def _numeric(column: Column) -> bool:
    """Whether most of what stands in a column are numbers."""
    if any(isinstance(entry, bool) for entry in column):
        return False
    values = _numbers(column)
    wrong = sum(isnan(value) and not is_missing(entry) for value, entry in zip(values, column, strict=True))
    return sum(not isnan(value) for value in values) >= wrong


def _in_range(column: Column, how: Reading) -> bool:
    """Whether at least half of the numbers of a column are probabilities, percentages or odds."""
    low, high = interval(how)
    given = [value for value in _numbers(column) if not isnan(value)]
    return 2 * sum(low <= value <= high for value in given) >= len(given)
