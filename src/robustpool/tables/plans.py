"""Which column of a source is what: decided once, from the names of the columns and a look at the first rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from ..checks import choice
from ..errors import InputError
from ..wording import listed
from .formats import FORMATS, NEEDED, OUR_NAMES, OURS, ROLES, Format, check_different, plain, told_format
from .values import is_missing, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Column = Sequence[Any]

LAYOUTS = ("auto", "long", "wide")
BESIDE = ("question_id", "outcome", "cluster")
"""What a wide table may have beside its forecasters."""

NOT_ASKED = ("timestamp", "weight")
"""What columns of a wide table may be that are no forecasters either, and that cannot be used there."""

NO_FORECASTER = re.compile(r"index|level_\d+|unnamed_\d+|forecasts?|forecasters?")
"""Columns of numbers that count rows, as pandas names them, or that are our own output."""


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

    @property
    def wide(self) -> bool:
        """Whether there is a column for each forecaster."""
        return bool(self.cells)

    @property
    def forecasters(self) -> tuple[str, ...]:
        """Of a wide table: their names."""
        return tuple(dict.fromkeys(cell.forecaster for cell in self.cells))


def make_plan(
    names: Sequence[str],
    first_rows: Sequence[Column],
    *,
    layout: str = "auto",
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    percent: bool = False,
) -> Plan:
    """Decide what the columns are; ``first_rows`` are some of the rows, by columns."""
    choice("layout", layout, LAYOUTS)
    choice("format", format, ["auto", *FORMATS])
    header = list(names)
    _check_header(header)
    said = _said(header, columns or {})
    known = told_format(header) if format == "auto" else FORMATS[format]
    if layout == "wide":
        return _wide(header, first_rows, said, percent=percent)
    if layout == "auto" and known is OURS and not said.keys() & {"forecaster_id", "probability"}:
        found = _found(header, OURS, said, ambiguous_is_error=False)
        if not all(role in found for role in ("forecaster_id", "probability")):
            wide = _wide(header, first_rows, said, percent=percent)
            if len(wide.forecasters) + len(wide.outside) > 1 and not {"forecaster_id", "probability"} & set(
                map(plain, header)
            ):
                return wide
    return _long(header, known, said)


def _long(header: list[str], known: Format, said: dict[str, int]) -> Plan:
    roles = _found(header, known, said)
    extras = _extras(header, known)
    question: tuple[int, ...] = (roles.pop("question_id"),) if "question_id" in roles else ()
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
    used = {*question, *roles.values(), *extras.values()}
    ignored = tuple(name for i, name in enumerate(header) if i not in used and name)
    return Plan(known, question, roles, extras=extras, ignored=ignored)


def _wide(header: list[str], first_rows: Sequence[Column], said: dict[str, int], *, percent: bool) -> Plan:
    """A column of the question, else the first, names the question; every column of probabilities without a role is a forecaster.

    If no column is one for the most part, every column of numbers is: its rows are rejected then, and that says why.
    """
    beside = [*BESIDE, *NOT_ASKED]
    roles = _found(header, OURS, {role: place for role, place in said.items() if role in beside}, only=BESIDE)
    if "question_id" not in roles:
        other = next((f"is the {role}" for role, place in roles.items() if place == 0), None)
        if other is not None or _has_fraction(first_rows[0]):
            raise InputError(
                "the first column of a wide table must name the questions; "
                f"{header[0]!r} {other or 'holds probabilities'}: add a column question_id."
            )
    question = roles.pop("question_id", 0)
    taken = {question, *roles.values()}
    taken |= {i for i, name in enumerate(header) if OUR_NAMES.get(plain(name)) in beside}
    roles = {role: place for role, place in roles.items() if role in BESIDE}
    free = [i for i in range(len(header)) if i not in taken and header[i]]
    numeric = [i for i in free if _numeric(first_rows[i]) and not NO_FORECASTER.fullmatch(plain(header[i]))]
    forecasters = tuple(i for i in numeric if _in_range(first_rows[i], 100 if percent else 1)) or tuple(numeric)
    if not forecasters:
        raise InputError(
            "a long table needs the columns question_id, forecaster_id, probability, a wide one a column of numbers for "
            f"each forecaster; the columns are {', '.join(map(repr, header))}."
        )
    used = {question, *roles.values(), *forecasters}
    ignored = tuple(name for i, name in enumerate(header) if i not in used and name)
    outside = tuple(header[i] for i in numeric if i not in forecasters)
    cells = tuple(PlacedCell(place, header[place]) for place in forecasters)
    return Plan(OURS, (question,), roles, cells, ignored=ignored, outside=outside)


def _found(
    header: list[str],
    known: Format,
    said: dict[str, int],
    *,
    only: Sequence[str] = ROLES,
    ambiguous_is_error: bool = True,
) -> dict[str, int]:
    """The place of each role: as said, or by its first name if that is there, or by its only other name."""
    places = _places(header)
    roles = dict(said)
    for role, aliases in known.roles.items():
        there = [name for name in aliases if set(places.get(name, ())) - set(said.values())]
        if role in said or role not in only or not there:
            continue
        if known is not OURS or there[0] == aliases[0]:
            there = there[:1]
        could = [place for name in there for place in places[name] if place not in said.values()]
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


def _said(header: list[str], columns: Mapping[str, str]) -> dict[str, int]:
    """The places of the columns that the user named."""
    said = {}
    for role, name in columns.items():
        choice("a role in columns", role, ROLES)
        if name not in header:
            raise InputError(f"column {role} is said to be {name!r}; the columns are {', '.join(map(repr, header))}.")
        said[role] = header.index(name)
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


def _has_fraction(column: Column) -> bool:
    return any(isfinite(value) and value % 1 > 0 for value in _numbers(column))


def _numeric(column: Column) -> bool:
    """Whether most of what stands in a column are numbers."""
    if any(isinstance(entry, bool) for entry in column):
        return False
    values = _numbers(column)
    wrong = sum(isnan(value) and not is_missing(entry) for value, entry in zip(values, column, strict=True))
    return sum(not isnan(value) for value in values) >= wrong


def _in_range(column: Column, high: float) -> bool:
    """Whether at least half of the numbers of a column lie in [0, high]."""
    given = [value for value in _numbers(column) if not isnan(value)]
    return 2 * sum(0 <= value <= high for value in given) >= len(given)
