"""Which column of a source is what: decided once, from the names of the columns and a look at the first rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import choice
from ..errors import InputError
from ..wording import listed
from . import formats
from .formats import FORMATS, NEEDED, OUR_NAMES, OURS, ROLES, Format, check_different, plain, told_format
from .values import NO, YES, is_missing, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..typing import Floats
    from .entries import Reading as Values
    from .reading import Reading

    Column = Sequence[Any]
    Columns = Mapping[str, str | Sequence[str]]

LAYOUTS = ("auto", "long", "wide")
BESIDE = ("question_id", "outcome", "cluster", "option", "resolved")
"""What a wide table may have beside its forecasters."""

NOT_ASKED = ("timestamp", "weight")
"""Roles of columns in a wide table that are not forecasters and cannot be used there."""

NO_FORECASTER = re.compile(r"index|level_\d+|unnamed_\d+|forecasts?|forecasters?")
"""Columns of numbers that count rows, as pandas names them, or that are our own output."""

HOME_DRAW_AWAY = ("H", "D", "A")
SEPARATORS = ("_", ".", ":", "|", " - ")
"""Separators between a forecaster and an option in a column name, if the options are not given."""

LONGEST_ODDS = 1000

LAYOUTS_NEED = (
    f"a long table needs the columns {', '.join(NEEDED)}, a wide one a column of numbers for each forecaster; "
)

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


def interval(how: Values) -> tuple[int, int]:
    """Where most values of a forecaster lie."""
    return (1, LONGEST_ODDS) if how.odds else (0, 100 if how.percent else 1)


class Look:
    """The names of the columns, some of the rows, by columns, and which columns the user says are what."""

    def __init__(self, names: Sequence[str], rows: Sequence[Column], how: Values, columns: Columns) -> None:
        """Reject a first line that is not a header, and duplicate names."""
        self.names, self.rows, self.how = list(names), rows, how
        self.places: dict[str, list[int]] = {}  # in small letters; a name may be written in two ways
        for i, name in enumerate(names):
            self.places.setdefault(plain(name), []).append(i)
        numbers = _numbers(names)
        if _has_fraction(numbers) or (len(names) > 1 and not np.isnan(numbers).any()):
            raise InputError(f"the first line must name the columns; it is {', '.join(names)!r:.80}.")
        check_different(self.names)
        self.said = {choice("a role in columns", role, ROLES): self._said(role, columns[role]) for role in columns}

    def _said(self, role: str, names: Any) -> tuple[int, ...]:
        """The columns that the user named; several, with commas or in a list, may name the question together."""
        several = role == "question_id" and names not in self.names
        parts = [names] if not several else names.split(",") if isinstance(names, str) else list(names)
        for name in parts:
            if name not in self.names:
                raise InputError(f"column {role} is given as {name!r}; the columns are {self.listed}.")
        return tuple(map(self.names.index, parts))

    @property
    def listed(self) -> str:
        """All names, for an error."""
        return ", ".join(map(repr, self.names))

    @cached_property
    def numbers(self) -> list[Floats]:
        """The columns as numbers, NaN for what is none; per cent signs do not matter."""
        return [_numbers(column, self.how.decimal) for column in self.rows]

    def is_numeric(self, place: int) -> bool:
        """Whether most of what stands in a column are numbers."""
        column, values = self.rows[place], self.numbers[place]
        if any(isinstance(entry, bool) for entry in column):
            return False
        wrong = sum(not is_missing(column[i]) for i in np.flatnonzero(np.isnan(values)).tolist())
        return bool(np.count_nonzero(~np.isnan(values)) >= wrong)

    def is_in_range(self, place: int) -> bool:
        """Whether at least half of the numbers of a column are probabilities, percentages or odds."""
        low, high = interval(self.how)
        values = self.numbers[place]
        inside = np.count_nonzero((values >= low) & (values <= high))
        return bool(2 * inside >= np.count_nonzero(~np.isnan(values)))

    def free(self, names: Iterable[str]) -> list[int]:
        """Where some names stand, but for columns whose role is said."""
        taken = {place for places in self.said.values() for place in places}
        return [place for name in names for place in self.places.get(name, ()) if place not in taken]

    def roles(self, known: Format, only: Sequence[str] = ROLES) -> dict[str, int]:
        """The place of each role: as said, or by its first name if that is there, or by its only other name."""
        roles = {role: places[0] for role, places in self.said.items() if role in only}
        for role, aliases in known.roles.items():
            there = [name for name in aliases if self.free([name])]
            if role in self.said or role not in only or not there:
                continue
            if known is not OURS or there[0] == aliases[0]:
                there = there[:1]
            remedy = f"pass --column {role}=NAME (in Python columns={{{role!r}: NAME}})"
            roles[role] = self.only(role, self.free(there), remedy)
        return roles

    def only(self, what: str, could: list[int], remedy: str) -> int:
        """The one place that something could have."""
        if len(could) > 1:
            both = listed([repr(self.names[place]) for place in could])
            raise InputError(f"one column must be the {what}; {both} are possible: {remedy}.")
        return could[0]

    def unused(self, *used: int) -> tuple[str, ...]:
        """The names of the other columns."""
        return tuple(name for i, name in enumerate(self.names) if i not in used and name)


def make_plan(names: Sequence[str], first_rows: Sequence[Column], values: Values, how: Reading) -> Plan:
    """Decide what the columns are; ``first_rows`` are some of the rows, by columns."""
    layout, format, options = choice("layout", how.layout, LAYOUTS), how.format, how.option_names()
    choice("format", format, ["auto", *FORMATS])
    look = Look(names, first_rows, values, how.columns or {})
    known = told_format(look.names) if format == "auto" else FORMATS[format]
    if format == "auto" and known.options and not _groups(look, range(len(names)), options or known.options):
        known = OURS
    if layout == "wide" or options or known.options:
        if layout == "long":
            raise InputError(
                "options are the endings of column names in a wide table; they cannot be used with the layout long."
            )
        return _wide(look, known if known.options else OURS, options)
    answer = NEEDED[1:]
    may_be_wide = layout == "auto" and known is OURS and not look.said.keys() & {*answer}
    if may_be_wide and not all(look.free(OURS.roles[role]) for role in answer):
        wide = _wide(look, OURS, ())
        if len(wide.cells) + len(wide.outside) > 1 and not look.places.keys() & {*answer}:
            return wide
    return _long(look, known)


def _long(look: Look, known: Format) -> Plan:
    roles = look.roles(known)
    extras = {
        role: look.only(name, look.places[name], "rename one of them")
        for role, name in known.extras.items()
        if name in look.places
    }
    found = [roles.pop("question_id")] if "question_id" in roles else []
    question = look.said.get("question_id", tuple(found))
    if known.question_is_the_rest and not question:
        taken = {*roles.values(), *extras.values()}
        question = tuple(i for i, name in enumerate(look.names) if i not in taken and name)
    missing = [role for role in NEEDED if role not in roles and not (role == "question_id" and question)]
    if missing:
        raise InputError(
            f"{LAYOUTS_NEED}{listed(missing)} cannot be identified among the columns {look.listed}: "
            f"name them as --column {missing[0]}=NAME (in Python columns={{{missing[0]!r}: NAME}})."
        )
    if known is OURS and "option" not in roles:
        answer = [look.rows[place] for place in (*question, roles["forecaster_id"])]
        for place in (i for name in formats.TOPICS for i in look.places.get(name, []) if i not in roles.values()):
            if len(set(zip(*answer, look.rows[place], strict=True))) > len(set(zip(*answer, strict=True))):
                roles["option"] = place
    ignored = look.unused(*question, *roles.values(), *extras.values())
    return Plan(known, question, roles, extras=extras, ignored=ignored, times=_times(look, ignored, roles, known))


def _wide(look: Look, known: Format, options: tuple[str, ...]) -> Plan:
    """A column of the question, else the first, names the question; every column of probabilities without a role is a forecaster.

    If no column has mostly probabilities, every column of numbers counts, so that the rejected rows say why. With
    options a forecaster has one column for each, and all other columns are ignored.
    """
    names, how = look.names, look.how
    roles = look.roles(known, BESIDE) | {role: look.said[role][0] for role in NOT_ASKED if role in look.said}
    question = look.said.get("question_id") or tuple(
        place for name in known.question for place in look.places.get(name, [])[:1]
    )
    if "question_id" not in roles and not question:
        other = next((f"is the {role}" for role, place in roles.items() if place == 0), None)
        if other is not None or _has_fraction(look.numbers[0]):
            raise InputError(
                "the first column of a wide table must name the questions; "
                f"{names[0]!r} {other or 'holds probabilities'}: add a column question_id."
            )
    question = question or (roles.get("question_id", 0),)
    taken = {*question, *roles.values()}
    taken |= {i for i, name in enumerate(names) if OUR_NAMES.get(plain(name)) in (*BESIDE, *NOT_ASKED)}
    roles = {role: place for role, place in roles.items() if role not in ("question_id", "weight")}
    free = [i for i in range(len(names)) if i not in taken and names[i]]
    numeric = [i for i in free if look.is_numeric(i) and not NO_FORECASTER.fullmatch(plain(names[i]))]
    in_range = [i for i in numeric if look.is_in_range(i)]
    odds = how.odds or (known.odds and not how.percent)
    outcomes = look.rows[roles["outcome"]] if "outcome" in roles else ()
    options = options or known.options or _told_options(look, numeric, in_range, outcomes)
    if options:
        groups = _groups(look, free, options)
        if known.odds and _sum_to_one(look, groups, odds=False):
            odds = False
        if not groups:
            raise InputError(
                f"with the options {', '.join(options)} a forecaster must have a column that ends in each of them; "
                f"none does; the columns are {look.listed}."
            )
        cells = tuple(PlacedCell(group[each], who, each) for who, group in groups.items() for each in options)
    else:
        cells = tuple(PlacedCell(place, names[place]) for place in in_range or numeric)
    if not cells:
        raise InputError(f"{LAYOUTS_NEED}the columns are {look.listed}.")
    ignored = look.unused(*question, *roles.values(), *(cell.place for cell in cells))
    outside = tuple(names[i] for i in numeric if i not in in_range and names[i] in ignored and not options)
    return Plan(known, question, roles, cells, {}, ignored, outside, _times(look, ignored, roles, known), odds)


def _times(look: Look, unused: tuple[str, ...], roles: Mapping[str, int], known: Format) -> tuple[str, ...]:
    """Of columns that are not used, those that look like times; none where a time is used, or the format is known."""
    if "timestamp" in roles or known is not OURS:
        return ()
    columns = {name: look.rows[look.names.index(name)] for name in unused}
    return tuple(name for name in unused if formats.A_TIME.fullmatch(plain(name)) or _are_dates(columns[name]))


def _are_dates(column: Column) -> bool:
    """Whether the first entries that say something are dates or times, and no numbers."""
    given = [entry for entry in column if isinstance(entry, str) and not is_missing(entry)][:20]
    return bool(given) and all(
        re.match(r"\d{4}-\d\d?-\d\d?|\d\d?[/.]\d\d?[/.]\d{2,4}", entry.strip()) for entry in given
    )


# ---------------------------------------------------------------------------------------------------------------- options


def _groups(look: Look, places: Iterable[int], options: Sequence[str]) -> dict[str, dict[str, int]]:
    """The columns of each forecaster who has one for every option: her name, perhaps a separator, and the option.

    Aggregates of the others are not forecasters, and closing odds (ending in C) are ignored if earlier odds exist.
    """
    groups: dict[str, dict[str, int]] = {}
    for place in places:
        name = look.names[place]
        option = next((each for each in sorted(options, key=len)[::-1] if name.endswith(each)), None)
        who = name[: -len(option)].rstrip("_-.:| ") if option else ""
        if option and who and not formats.AGGREGATES.fullmatch(who):
            groups.setdefault(who, {}).setdefault(option, place)
    whole = {who: group for who, group in groups.items() if len(group) == len(set(options))}
    closing = {who for who in whole if tuple(options) == HOME_DRAW_AWAY and who[-1] == "C" and who[:-1] in whole}
    return {who: group for who, group in whole.items() if who not in closing}


def _told_options(look: Look, numeric: list[int], in_range: list[int], outcomes: Column) -> tuple[str, ...]:
    """The options that names of columns end in, the same for everybody, if that is no accident.

    The outcomes name them, or the values sum to 1.
    """
    came_true = {str(entry).strip().lower() for entry in outcomes if not is_missing(entry)}
    candidates: list[tuple[str, ...]] = [HOME_DRAW_AWAY]
    for separator in SEPARATORS:
        ends: dict[str, tuple[str, ...]] = {}
        for place in numeric:
            who, _, option = look.names[place].rpartition(separator)
            if who and option:
                ends[who] = (*ends.get(who, ()), option)
        several = [options for options in ends.values() if len(options) > 1]
        if several and len(set(map(frozenset, several))) == 1:
            candidates.append(several[0])
    for options in candidates:
        lower = {option.lower() for option in options}
        if came_true - YES - NO and came_true <= lower and _groups(look, numeric, options):
            return options
        words, odds = lower == {"yes", "no"}, look.how.odds
        groups = _groups(look, in_range, options)
        enough = words or (len(options) > 2 and (odds or len(groups) > 1 or len(look.rows[0]) > 2))
        enough &= odds or 2 * len(groups) * len(options) >= len(in_range)  # other columns may look like odds
        if enough and _sum_to_one(look, groups, odds=odds):
            return options
    return ()


def _sum_to_one(look: Look, groups: dict[str, dict[str, int]], *, odds: bool) -> bool:
    """Whether nearly all rows that are there in full sum to about 1; one over odds, to a little more."""
    if not groups:
        return False
    rows = np.hstack([[look.numbers[place][:LOOK_AT_SUMS] for place in group.values()] for group in groups.values()])
    there = rows[:, ~np.isnan(rows).any(axis=0)]
    low, high, whole = (0.9, 1.5, 1) if odds else (0.95, 1.05, 100 if look.how.percent else 1)
    sums = (1 / np.where(there > 0, there, nan) if odds else there / whole).sum(axis=0)
    return len(sums) > 0 and bool(np.count_nonzero((sums >= low) & (sums <= high)) >= MOST * len(sums))


# ---------------------------------------------------------------------------------------------------------------- numbers


def _numbers(column: Column, decimal: str = ".") -> Floats:
    return np.array([_number(entry, decimal) for entry in column], dtype=np.float64)


def _number(entry: Any, decimal: str) -> float:
    try:
        return number(entry.replace(decimal, ".").rstrip("% ") if isinstance(entry, str) else entry)
    except (TypeError, ValueError):
        return nan


def _has_fraction(values: Floats) -> bool:
    return bool((values[np.isfinite(values)] % 1 > 0).any())
