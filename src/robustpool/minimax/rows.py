"""The rows of the minimax table: what is bounded, by which commands, and the bounds on record.

A row is an entry of ``rows.toml``; its bounds are in ``record.json`` and its certificates in ``certificates``, which only
`robustpool table --recompute --save` writes.

To add a row, add one entry to ``rows.toml`` and run ``robustpool table --recompute --save --row NAME``, then
``robustpool table --out docs/minimax-table.md``. An entry has

- ``name``, which no other row has; ``setting``, ``agents``, ``loss`` (square if left out), ``states`` (2 if left out);
- ``family``: the structures, in words; ``rule``: what attains the upper bound;
- ``prior_range``: the range of the base rates, if that is what the row is about;
- ``published``: the best published number for this worst case, and ``source``: its key in references.bib; or neither;
- ``command``: what computes both bounds, without the word robustpool; it must be ``certify``, ``worst-case`` or ``design``;
- ``lower`` and ``upper``, if they differ from the default: ``{ command = "...", field = "..." }`` takes a field of the JSON of
  another command; with ``theorem = "docs/page.md", value = "1/4"`` the bound is that of a theorem on that page, and what the
  command finds has to be the same up to 1e-6;
- ``first``: commands that write a file which the others read, such as ``design --out design.json``;
- ``minutes``, if it takes some: such rows are recomputed only if they are named, or with ``--slow``.

The lower bound is on the minimax value: no aggregator has a smaller worst case. ``certify`` calls it ``value``, ``design`` ``lower``.
The upper bound is the worst case of the rule or design: ``upper`` of ``certify`` and ``design``, ``regret`` of ``worst-case``.
What ``certify`` says is proved, and so is a theorem. What ``worst-case`` says is found; what ``design`` says is measured in
floating point, or found.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InputError

ROWS = Path(__file__).with_name("rows.toml")
RECORD = Path(__file__).with_name("record.json")

FIELDS = {
    "lower": {"certify": "value", "design": "lower"},
    "upper": {"certify": "upper", "design": "upper", "worst-case": "regret"},
}
"""Where the commands have the bounds, unless a row says otherwise."""


@dataclass(frozen=True)
class Bound:
    """Where a bound comes from: a field of the answer to a command; or a theorem with its page, which a command confirms."""

    command: str | None = None
    field: str | None = None
    theorem: str | None = None
    value: str | None = None

    @property
    def proved(self) -> bool:
        """Whether it is a theorem, or has a certificate."""
        return self.theorem is not None or verb(self.command or "") == "certify"


@dataclass(frozen=True)
class Row:
    """A row of the table; ``lower`` and ``upper`` are the bounds on record, None for what was never computed."""

    name: str
    setting: str
    agents: int
    loss: str
    states: int
    family: str
    rule: str
    lower_from: Bound
    upper_from: Bound
    first: tuple[str, ...] = ()
    prior_range: tuple[float, float] | None = None
    published: float | None = None
    source: str | None = None
    minutes: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def proved(self) -> bool:
        """Whether both bounds are on record and proved."""
        return self.on_record and self.lower_from.proved and self.upper_from.proved

    @property
    def on_record(self) -> bool:
        """Whether both bounds were computed."""
        return self.lower is not None and self.upper is not None

    @property
    def commands(self) -> tuple[str, ...]:
        """What recomputes the row, in order."""
        given = (*self.first, self.lower_from.command, self.upper_from.command)
        return tuple(dict.fromkeys(command for command in given if command is not None))


def verb(command: str) -> str:
    """The name of a command.

    >>> verb("worst-case minimax --agents 5")
    'worst-case'
    """
    return command.split(maxsplit=1)[0]


def minimax_rows(setting: str | None = None) -> list[Row]:
    """The rows of the table with the bounds on record; of one setting, if it is given.

    >>> row = minimax_rows("independent")[1]
    >>> row.agents, row.lower, row.upper, row.proved
    (2, 0.022542485, 0.022542486, True)
    """
    rows = list(_read(ROWS, RECORD))
    settings = list(dict.fromkeys(row.setting for row in rows))
    if setting is not None and setting not in settings:
        raise InputError(f"--setting must be one of {', '.join(settings)}; it is {setting!r}.")
    return [row for row in rows if setting in (None, row.setting)]


def read_rows(entries: list[dict[str, Any]], record: dict[str, dict[str, float]]) -> list[Row]:
    """The rows of some entries, each with its bounds on record."""
    rows = [_row(entry, record.get(entry["name"], {})) for entry in entries]
    names = [row.name for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"a row must have a name of its own; {twice[0]!r} is the name of {names.count(twice[0])} rows."
        )
    return rows


@cache
def _read(rows: Path, record: Path) -> tuple[Row, ...]:
    entries = tomllib.loads(rows.read_text(encoding="utf-8"))["row"]
    return tuple(read_rows(entries, json.loads(record.read_text(encoding="utf-8"))))


def _row(entry: dict[str, Any], bounds: dict[str, float]) -> Row:
    given: dict[str, Any] = {"loss": "square", "states": 2} | entry
    command = given.pop("command", None)
    sides = {side: _bound(entry["name"], side, command, given.pop(side, {})) for side in FIELDS}
    first = tuple(given.pop("first", ()))
    if "prior_range" in given:
        low, high = given["prior_range"]
        given["prior_range"] = (float(low), float(high))
    unknown = set(given) - {field.name for field in fields(Row)}
    if unknown:
        raise InputError(f"a row has no field {min(unknown)!r}; {entry['name']!r} has one.")
    return Row(
        lower_from=sides["lower"],
        upper_from=sides["upper"],
        first=first,
        lower=bounds.get("lower"),
        upper=bounds.get("upper"),
        **given,
    )


def _bound(row: str, side: str, command: str | None, given: dict[str, str]) -> Bound:
    command = given.get("command", command)
    field = given.get("field") or (FIELDS[side].get(verb(command)) if command else None)
    if "theorem" not in given and (command is None or field is None):
        raise InputError(
            f"the {side} bound of a row needs a command with such a bound, or a theorem; {row!r} has {command!r}."
        )
    return Bound(command, field, given.get("theorem"), given.get("value"))
