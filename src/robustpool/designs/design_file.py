"""Designs in files: JSON with a version and a hash, no pickles."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Protocol, get_args, get_origin, get_type_hints

import numpy as np

from .. import checks
from ..aggregators.grid import GridAggregator
from ..aggregators.table import TableAggregator
from ..errors import InputError
from ..families.conditionally_independent import ConditionallyIndependent
from ..files import write_json
from .design import Design
from .records import FiniteRecord, IndependentMixture, ListedMixture, OtherRecord, TracePoint

if TYPE_CHECKING:
    from ..typing import FilePath

DESIGN_FORMAT = "robustpool-design/1"

OLDER: dict[str, Any] = {
    "nature": "grid",
    "canonical": None,
    "canonical_applied": False,
    "upper_is": "measured",
    "exchanged": [],
    "prior_range": [0.0, 1.0],
}
"""What the first files of the format do not have, and what it was then."""

FAMILIES: dict[str, Any] = {"finite": FiniteRecord, "conditionally-independent": ConditionallyIndependent}
AGGREGATORS: dict[str, Any] = {"table": TableAggregator, "grid": GridAggregator}
NOUNS = {str: "a text", bool: "true or false", list: "a list", dict: "an object"}


class Designed(Protocol):
    """What can be saved; a solution is."""

    @property
    def design(self) -> Design:
        """What the file keeps."""


def save_design(solution: Designed, path: FilePath) -> None:
    """Write a solution as a design file, whole or not at all."""
    write_json(path, design_to_json(solution.design))


def load_design(path: FilePath) -> Design:
    """Read a design file and check that nobody changed it."""
    name = os.fspath(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the design file {name!r} does not exist.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the design file {name!r} cannot be read ({error}).") from None
    format = data.get("format") if isinstance(data, dict) else None
    if format != DESIGN_FORMAT:
        raise InputError(f"{name!r} is not a design: format must be {DESIGN_FORMAT!r}; it is {format!r}.")
    if data.get("hash") != content_hash(data):
        raise InputError(f"{name!r} was changed after it was written: its content does not match its hash.")
    try:
        return _design(data)
    except OverflowError:
        raise InputError(f"{name!r} is not a whole design: it has a number that is too large.") from None
    except InputError as error:
        raise InputError(f"{name!r} is not a whole design: {error}") from None


def sealed(design: Design) -> Design:
    """The design with its hash."""
    return replace(design, hash=content_hash(design_to_json(design)))


def content_hash(data: dict[str, Any]) -> str:
    """sha256 over the JSON text without the hash, with sorted keys and no spaces.

    >>> content_hash({"b": 1, "a": 0.5}) == content_hash({"a": 0.5, "b": 1, "hash": "any"})
    True
    """
    rest = {key: value for key, value in data.items() if key != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


# --- records to JSON --------------------------------------------------------------------------------------------------


def design_to_json(design: Design) -> dict[str, Any]:
    """The JSON object of a design."""
    trace = {column.name: [getattr(point, column.name) for point in design.trace] for column in fields(TracePoint)}
    return {"format": DESIGN_FORMAT, **_object(design), "trace": trace}


def _object(record: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}


def _plain(value: Any) -> Any:
    """A part of a design as JSON has it; families and aggregators say it themselves."""
    if hasattr(value, "as_data"):
        return value.as_data()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return _object(value) if is_dataclass(value) else value


# --- JSON to records --------------------------------------------------------------------------------------------------


def _design(data: dict[str, Any]) -> Design:
    readers: dict[str, Any] = {name: partial(_read, kind, where=name) for name, kind in get_type_hints(Design).items()}
    readers |= {"family": read_family, "aggregator": _aggregator, "mixture": _mixture, "trace": _trace}
    return Design(**{name: read(data.get(name)) for name, read in readers.items()})


def read_family(value: Any) -> FiniteRecord | ConditionallyIndependent | OtherRecord:
    """A family as it stands in a design file."""
    kind = _typed(str, _typed(dict, value, "family").get("kind"), "family.kind")
    return _read(FAMILIES[kind], value, "family") if kind in FAMILIES else OtherRecord(value)


def _aggregator(value: Any) -> TableAggregator | GridAggregator:
    kind = checks.choice("aggregator.kind", _typed(dict, value, "aggregator").get("kind"), AGGREGATORS)
    return _read(AGGREGATORS[kind], value, "aggregator")


def _mixture(value: Any) -> ListedMixture | IndependentMixture:
    mixture = _typed(dict, value, "mixture")
    return _read(IndependentMixture if "prior" in mixture else ListedMixture, mixture, "mixture")


def _trace(value: Any) -> tuple[TracePoint, ...]:
    hints = get_type_hints(TracePoint)
    table = _typed(dict, value, "trace")
    columns = [_read(tuple[kind, ...], table.get(key), f"trace.{key}") for key, kind in hints.items()]  # type: ignore[valid-type]
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"the lists of trace must have one length; they have {[len(column) for column in columns]}.")
    return tuple(TracePoint(*row) for row in zip(*columns, strict=True))


def _read(kind: Any, value: Any, where: str) -> Any:
    """A value of the file as what it is meant to be; an error says where it is not."""
    options = get_args(kind)
    if NoneType in options:
        return None if value is None else _read(options[0], value, where)
    if get_origin(kind) is tuple:
        return tuple(_read(options[0], item, f"{where}[{k}]") for k, item in enumerate(_typed(list, value, where)))
    if get_origin(kind) is np.ndarray:
        return checks.frozen(checks.real_array(where, value))
    if kind is float:
        return checks.number(where, value)
    if kind is int:
        return checks.whole(where, value, least=0)
    return _record(kind, value, where) if is_dataclass(kind) else _typed(kind, value, where)


def _record(kind: Any, value: Any, where: str) -> Any:
    """A record from its object; families and aggregators check their own values."""
    parts = {**OLDER, **_typed(dict, value, where)}
    names = [field.name for field in fields(kind) if field.init]
    for name in names:
        if name not in parts:
            raise InputError(f"{where}.{name} is missing.")
    hints = {} if kind in (*AGGREGATORS.values(), ConditionallyIndependent) else get_type_hints(kind)
    return kind(
        **{name: _read(hints[name], parts[name], f"{where}.{name}") if hints else parts[name] for name in names}
    )


def _typed(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{where} must be {NOUNS[kind]}; it is {'missing' if value is None else repr(value)[:80]}.")
    return value
