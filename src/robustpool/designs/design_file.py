"""Designs in files: JSON with a version and a hash, no pickles."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from .. import checks
from ..aggregators.curve import CurveAggregator
from ..aggregators.grid import GridAggregator
from ..aggregators.table import TableAggregator
from ..errors import InputError, TooLargeError
from ..families.world import World
from ..files import parse_json, read_limited, write_json
from .design import Design
from .records import INFINITE, FiniteRecord, IndependentMixture, ListedMixture, OtherRecord, TracePoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import FilePath

T = TypeVar("T")

DESIGN_FORMAT = "robustpool-design/1"

OLDER: dict[str, Any] = {
    "nature": "grid",
    "canonical": None,
    "canonical_applied": False,
    "upper_is": "measured",
    "off_grid": None,
    "exchanged": [],
    "prior_range": [0.0, 1.0],
}
"""What the first files of the format do not have, and what it was then."""

AGGREGATORS: dict[str, Any] = {"table": TableAggregator, "grid": GridAggregator, "curve": CurveAggregator}
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
    return unsealed(read_json(path, "design"), path, "design", DESIGN_FORMAT, read_design)


def read_json(path: FilePath, kind: str) -> Any:
    """The JSON value in a file."""
    name = os.fspath(path)
    try:
        return parse_json(read_limited(path).decode("utf-8"))
    except TooLargeError:
        raise
    except FileNotFoundError:
        raise InputError(f"the {kind} file {name!r} does not exist.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"the {kind} file {name!r} cannot be read ({error}).") from None


def unsealed(data: Any, path: FilePath, kind: str, format: str, read: Callable[[dict[str, Any]], T]) -> T:
    """Check the format and the hash of the content of a file, and make of it what ``read`` makes."""
    name = os.fspath(path)
    given = data.get("format") if isinstance(data, dict) else None
    if given != format:
        raise InputError(f"{name!r} is not a {kind}: format must be {format!r}; it is {checks.shown(given)}.")
    if data.get("hash") != content_hash(data):
        raise InputError(f"{name!r} was changed after it was written: its content does not match its hash.")
    try:
        return read(data)
    except OverflowError:
        raise InputError(f"{name!r} is not a whole {kind}: it has a number that is too large.") from None
    except InputError as error:
        raise InputError(f"{name!r} is not a whole {kind}: {error}") from None


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
    return {"format": DESIGN_FORMAT, **as_object(design), "trace": trace}


def as_object(record: Any) -> dict[str, Any]:
    """A record as a JSON object."""
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}


def _plain(value: Any) -> Any:
    """A part of a record as JSON has it; families and aggregators say it themselves."""
    if hasattr(value, "as_data"):
        return value.as_data()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if value == math.inf:  # under the log loss, between the grid points
        return INFINITE
    return as_object(value) if is_dataclass(value) else value


# --- JSON to records --------------------------------------------------------------------------------------------------


def read_design(data: dict[str, Any]) -> Design:
    """A design from the content of its file."""
    readers: dict[str, Any] = {
        name: partial(read_value, kind, where=name) for name, kind in get_type_hints(Design).items()
    }
    readers |= {"family": read_family, "aggregator": _aggregator, "mixture": _mixture, "trace": _trace}
    return Design(**{name: read(data.get(name)) for name, read in readers.items()})


def read_family(value: Any) -> FiniteRecord | World | OtherRecord:
    """A family as it stands in a design file."""
    from ..families.worlds import class_of_kind

    kind = _typed(str, _typed(dict, value, "family").get("kind"), "family.kind")
    known = FiniteRecord if kind == FiniteRecord.kind else class_of_kind(kind)
    return OtherRecord(value) if known is None else read_value(known, value, "family")


def _aggregator(value: Any) -> TableAggregator | GridAggregator | CurveAggregator:
    kind = checks.choice("aggregator.kind", _typed(dict, value, "aggregator").get("kind"), AGGREGATORS)
    return read_value(AGGREGATORS[kind], value, "aggregator")


def _mixture(value: Any) -> ListedMixture | IndependentMixture:
    mixture = _typed(dict, value, "mixture")
    return read_value(IndependentMixture if "prior" in mixture else ListedMixture, mixture, "mixture")


def _trace(value: Any) -> tuple[TracePoint, ...]:
    hints = get_type_hints(TracePoint)
    table = _typed(dict, value, "trace")
    columns = [read_value(tuple[kind, ...], table.get(key), f"trace.{key}") for key, kind in hints.items()]  # type: ignore[valid-type]
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"the lists of trace must have one length; they have {[len(column) for column in columns]}.")
    return tuple(TracePoint(*row) for row in zip(*columns, strict=True))


def read_value(kind: Any, value: Any, where: str) -> Any:  # noqa: PLR0911  # one for each kind
    """A value of the file as what it is meant to be; an error says where it is not."""
    options = get_args(kind)
    if hasattr(kind, "_fields") or get_origin(kind) is Mapping:
        return _named(kind, _typed(dict, value, where), where)
    if NoneType in options:
        return None if value is None else read_value(options[0], value, where)
    if get_origin(kind) is tuple:
        return tuple(read_value(options[0], item, f"{where}[{k}]") for k, item in enumerate(_typed(list, value, where)))
    if get_origin(kind) is np.ndarray:
        return checks.frozen(checks.real_array(where, value))
    if kind is float:
        return math.inf if where == "bounds.off_grid" and value == INFINITE else checks.number(where, value)
    if kind is int:
        return checks.whole(where, value, least=0)
    return _record(kind, value, where) if is_dataclass(kind) else _typed(kind, value, where)


def _named(kind: Any, parts: dict[str, Any], where: str) -> Any:
    """A named tuple, or an object with any names, from its object."""
    if get_origin(kind) is Mapping:
        return {
            key: read_value(get_args(kind)[1], item, f"{where}[{checks.shown(key)}]") for key, item in parts.items()
        }
    hints = get_type_hints(kind)
    return kind(*(read_value(part, parts.get(name), f"{where}.{name}") for name, part in hints.items()))


def _record(kind: Any, value: Any, where: str) -> Any:
    """A record from its object; families and aggregators check their own values."""
    parts = {**OLDER, **_typed(dict, value, where)}
    names = [field.name for field in fields(kind) if field.init]
    for name in names:
        if name not in parts:
            raise InputError(f"{where}.{name} is missing.")
    hints = {} if kind in AGGREGATORS.values() or issubclass(kind, World) else get_type_hints(kind)
    return kind(
        **{name: read_value(hints[name], parts[name], f"{where}.{name}") if hints else parts[name] for name in names}
    )


def _typed(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{where} must be {NOUNS[kind]}; it is {'missing' if value is None else checks.shown(value)}.")
    return value
