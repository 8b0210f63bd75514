"""Finite families in JSON, format robustpool-family/1 (the schema is families/family.schema.json)."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import InputError, TooLargeError
from ..files import parse_json, read_limited, write_json
from ..structures.information_structure import InformationStructure
from ..structures.report_formats import FORMATS
from .finite import FiniteFamily

if TYPE_CHECKING:
    from ..typing import FilePath, Floats

FORMAT = "robustpool-family/1"
SCHEMA = Path(__file__).parent / "family.schema.json"
FIELDS = ("format", "states", "agents", "report", "structures")
STRUCTURE_FIELDS = ("name", "joint")
FRACTION = re.compile(r"\s*\d{1,30}(\.\d{1,30})?(/\d{1,30})?\s*")
EXAMPLES = Path(__file__).parent / "examples"


def load_family(path: FilePath) -> FiniteFamily:
    """Read a family from a JSON file.

    >>> weather = load_family(EXAMPLES / "weather.json")
    >>> weather.agents
    ('ann', 'bob')
    """
    data = read_family_file(path)
    try:
        return family_from_json(data)
    except InputError as error:
        raise InputError(f"{os.fspath(path)!r}: {error}") from None


def read_family_file(path: FilePath) -> Any:
    """The parsed JSON of a family file, not yet checked: "1/3" is still a text, and so exact."""
    name = os.fspath(path)
    try:
        return parse_json(read_limited(path).decode("utf-8-sig"))
    except TooLargeError:
        raise
    except FileNotFoundError:
        raise InputError(f"the family file {name!r} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the family file {name!r} cannot be read ({error}).") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{name!r} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except ValueError as error:  # a name twice, too many brackets, or more digits than Python reads
        raise InputError(f"{name!r} is not a family ({error}).") from None


def family_from_json(data: Any) -> FiniteFamily:
    """The family of parsed JSON."""
    if not isinstance(data, dict):
        raise InputError(f"a family must be a JSON object; it is a {_kind(data)}.")
    given = data.get("format")
    if isinstance(given, str) and given.startswith("robustpool-design/"):
        raise InputError(f"this is a design, not a family: format must be {FORMAT!r}; it is {checks.shown(given)}.")
    _only_fields("the family", data, FIELDS, required=FIELDS[:3] + FIELDS[4:])
    if given != FORMAT:
        raise InputError(f"format must be {FORMAT!r}; it is {checks.shown(given)}.")
    states = _names("states", data["states"], least=2)
    agents = _names("agents", data["agents"], least=1)
    report = checks.choice("report", data.get("report", "posterior"), FORMATS)
    entries = data["structures"]
    if not isinstance(entries, list):
        raise InputError(f"structures must be a list; it is a {_kind(entries)}.")
    if not entries:
        raise InputError("structures must hold at least one structure; the list is empty.")
    structures = [_structure(number, entry, states, agents) for number, entry in enumerate(entries)]
    return FiniteFamily.from_structures(structures, report=report, states=states, agents=agents)


def family_to_json(
    structures: list[InformationStructure], states: list[str], agents: list[str], report: str
) -> dict[str, Any]:
    """The JSON object of a family."""
    entries = [
        {"name": structure.name or f"structure {number}", "joint": structure.joint.tolist()}
        for number, structure in enumerate(structures)
    ]
    return {"format": FORMAT, "states": states, "agents": agents, "report": report, "structures": entries}


def save_family(
    structures: list[InformationStructure],
    path: FilePath,
    *,
    states: list[str] | None = None,
    agents: list[str] | None = None,
    report: str = "posterior",
) -> None:
    """Write structures as a family file, whole or not at all."""
    if not isinstance(structures, (list, tuple)):
        raise InputError(f"save_family takes the list of structures; it got a {type(structures).__name__}.")
    if not structures:
        raise InputError("a family must have at least one structure; it is empty.")
    states = states or [f"state {i}" for i in range(structures[0].states)]
    agents = agents or [f"agent {i}" for i in range(structures[0].agents)]
    data = family_to_json(structures, states, agents, report)
    family_from_json(data)  # what is written can be read
    write_json(path, data)


def _structure(number: int, entry: Any, states: list[str], agents: list[str]) -> InformationStructure:
    where = f"structures[{number}]"
    if not isinstance(entry, dict):
        raise InputError(f"{where} must be an object with name and joint; it is a {_kind(entry)}.")
    _only_fields(where, entry, STRUCTURE_FIELDS, required=("joint",))
    name = entry.get("name")
    if name is not None and not isinstance(name, str):
        raise InputError(f"{where}.name must be text; it is a {_kind(name)}.")
    where = f"{where} ({checks.shown(name)})" if name else where
    joint = _joint(f"{where}.joint", entry["joint"], len(states), len(agents))
    return InformationStructure(checks.distributions(f"{where}.joint", joint, stacked=False), name=name)


def _joint(where: str, value: Any, states: int, agents: int) -> Floats:
    """Nested lists of numbers and fractions as an array, or the first entry that is not one."""
    try:
        array = np.array(value if _plain(value) else _numbers(where, value, agents + 1), dtype=np.float64)
    except (ValueError, OverflowError):  # lists of different lengths; a whole number beyond floats
        array = np.zeros(())
    if array.ndim != agents + 1:
        _numbers(where, value, agents + 1)  # says which entry is too deep, too shallow or too large
        raise InputError(f"{where} must be a full array: every list of signals of an agent needs the same length.")
    if array.shape[0] != states:
        raise InputError(f"{where} must have one list for each of the {states} states; it has {array.shape[0]}.")
    return array


def _plain(value: Any) -> bool:
    """Whether nested lists hold numbers only: no text, truth values or null."""
    return all(map(_plain, value)) if isinstance(value, list) else type(value) in (int, float)


def _numbers(where: str, value: Any, depth: int) -> Any:
    if depth == 0:
        return _number(where, value)
    if not isinstance(value, list):
        wanted = f"{depth} more level{'s' if depth > 1 else ''} of lists (states, then the signals of each agent)"
        raise InputError(f"{where} must have {wanted}; it is a {_kind(value)}.")
    if not value:
        raise InputError(f"{where} must not be empty.")
    return [_numbers(f"{where}[{i}]", item, depth - 1) for i, item in enumerate(value)]


def _number(where: str, value: Any) -> float:
    """A number or a fraction such as "1/3"."""
    if isinstance(value, str):
        above, _, below = value.partition("/")
        if FRACTION.fullmatch(value) and Fraction(below or 1):
            return float(Fraction(above) / Fraction(below or 1))
        raise InputError(f'{where} must be a number or a fraction such as "1/3"; it is {value[:50]!r}.')
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not abs(value) < 1e300:
            raise InputError(f"{where} must be a finite number; it is {str(value)[:20]}.")
        return float(value)
    hint = "; there are more levels of lists than states and agents" if isinstance(value, list) else ""
    raise InputError(f"{where} must be a number; it is a {_kind(value)}{hint}.")


def _names(what: str, value: Any, *, least: int) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise InputError(f"{what} must be a list of names; it is {checks.shown(value)}.")
    if len(value) < least:
        raise InputError(f"{what} must name at least {least}; there {'is' if len(value) == 1 else 'are'} {len(value)}.")
    if len(set(value)) != len(value):
        raise InputError(f"{what} must be different names; they are {checks.shown(value)}.")
    return value


def _only_fields(where: str, data: dict[str, Any], allowed: tuple[str, ...], required: tuple[str, ...]) -> None:
    for name in data:
        if name not in allowed:
            raise InputError(
                f"{where} has the unknown field {checks.shown(name)}; the fields are {', '.join(allowed)}."
            )
    for name in required:
        if name not in data:
            raise InputError(
                f"{where} must have the field {name!r}; it has {', '.join(map(checks.shown, data)) or 'none'}."
            )


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "list", str: "text", bool: "truth value", int: "number", float: "number"}
    return kinds.get(type(value), "null" if value is None else type(value).__name__)
