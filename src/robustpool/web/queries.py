"""Options in a query: those of the commands, by the same names, each read as what it is."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import QueryParams

WORDS = {"true": True, "1": True, "": True, "false": False, "0": False}
LARGEST = 10**9
LONGEST = 1000
"""Characters of a value, and values of an option that may be repeated."""

SCHEMAS: Mapping[type, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0, "maximum": LARGEST},
    float: {"type": "number"},
    str: {"type": "string", "maxLength": LONGEST},
    list: {"type": "array", "items": {"type": "string", "maxLength": LONGEST}},
}


def kinds(record: type, without: tuple[str, ...] = ()) -> dict[str, type]:
    """What each field of a record of options is: bool, int, float, str or list (of texts)."""
    hints = get_type_hints(record)
    return {each.name: _kind(hints[each.name]) for each in fields(record) if each.name not in without}


def _kind(hint: Any) -> type:
    (kind,) = [each for each in get_args(hint) or (hint,) if each is not type(None)]
    return list if getattr(kind, "__origin__", None) is list else kind


def read_query(query: QueryParams, options: Mapping[str, type]) -> dict[str, Any]:
    """The options that were given; an option is called as on the command line, and may be written with _ for -."""
    given: dict[str, Any] = {}
    for written in dict.fromkeys(query.keys()):
        name, values = written.replace("-", "_"), query.getlist(written)
        if name not in options:
            names = ", ".join(sorted(each.replace("_", "-") for each in options))
            raise InputError(f"there is no option {written[:80]!r}; the options are {names}.")
        if options[name] is list:
            given[name] = [*given.get(name, []), *(_value(written, each, str) for each in values)][:LONGEST]
        elif len(values) > 1 or name in given:
            raise InputError(
                f"an option must be given once; {written!r} is given {len(values) + (name in given)} times."
            )
        else:
            given[name] = _value(written, values[0], options[name])
    return given


def _value(name: str, text: str, kind: type) -> Any:
    shown = repr(text if len(text) <= 80 else f"{text[:80]}...")
    if len(text) > LONGEST:
        raise InputError(f"{name} must have at most {LONGEST:,} characters; it has {len(text):,}.")
    if kind is bool:
        if text.lower() not in WORDS:
            raise InputError(f"{name} must be true or false; it is {shown}.")
        return WORDS[text.lower()]
    if kind is int:
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= LARGEST):
            raise InputError(f"{name} must be a whole number from 0 to {LARGEST:,}; it is {shown}.")
        return int(text)
    if kind is float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InputError(f"{name} must be a number; it is {shown}.")
        return number
    return text


def described(options: Mapping[str, type], command: str) -> list[dict[str, Any]]:
    """The options for the OpenAPI document."""
    return [
        {
            "name": name.replace("_", "-"),
            "in": "query",
            "required": False,
            "schema": SCHEMAS[kind],
            "description": OWN.get(name, f"As --{name.replace('_', '-')} of `robustpool {command}`."),
        }
        for name, kind in options.items()
    ]


OWN = {
    "name": "What the table is called in messages and in the report. Nothing else follows from it.",
    "files": "Keep the rejected rows, the pooled forecasts and the pool as files of the job.",
    "report": "Keep the HTML report as a file of the job. That of a pool has a proof, which may take a minute.",
    "rule": "The name of a rule, or the id of a fit or a design that is done; `compare` takes several names.",
}
"""Options that commands do not have, or have otherwise."""
