"""The settings of a sweep: a TOML file with lists of values, every combination of which is a cell.

kind = "design"                # or "worst-case", "certify": the command whose options these are

[settings]                     # the same in all cells
reports = 10

[[grid]]                       # every combination of these lists; there may be several grids
agents = [2, 3, 4]
prior_range = [[0, 1], [0.1, 0.5]]

[[cells]]                      # a cell of its own
agents = 5
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__
from ..checks import printable, shown
from ..designs.any_aggregator import is_aggregator_file
from ..errors import InputError, TooLargeError
from ..families.asked_world import AskedWorld
from ..files import read_limited
from ..wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import FilePath

WORLD = tuple(field.name for field in fields(AskedWorld))
SOLVING = ("nature", "lipschitz", "loss", "paradigm", "canonical", "method", "tolerance", "rounds", "epsilon")
OPTIONS = {
    "design": ("family", *WORLD, "reports", "priors", "symmetric", "monotone", *SOLVING),
    "worst-case": ("rule", *WORLD, "loss", "seed"),
    "certify": ("rule", "family", *WORLD, "loss", "paradigm", "tolerance"),
}
"""What a cell of each kind may say: the options of the command, with _ in place of -."""

RANGES = ("prior_range", "neglect", "overlap", "information")
"""Options that have two ends."""

FILES = ("family", "rule")
"""Options that may name a file, which stands beside the settings."""

MOST_CELLS = 100_000
MOST_BYTES = 2**20
MOST_SIGNS = 1000
"""Of a text."""

LARGEST = 2**63
"""Whole numbers are smaller: the table of the results has no larger ones."""

WRITTEN = json.JSONEncoder(sort_keys=True).encode
"""What is hashed, as a text."""

TOO_DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}""")
"""A key of so many parts: settings have three at most, and the time to read a key grows with their square."""


@dataclass(frozen=True)
class Cell:
    """One setting: the kind of work, its options, and a hash of them and of the files that they name."""

    kind: str
    options: dict[str, Any]
    digest: str
    files: tuple[tuple[str, str | None], ...] = ()  # those that the options name, with hashes

    def changed_file(self) -> str | None:
        """A file that the options name and that was changed since they were read."""
        return next((path for path, content in self.files if _hash_of(Path(path)) != content), None)

    @property
    def words(self) -> str:
        """What tells it from others, in a line."""
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.options.items())


def read_settings(path: FilePath) -> list[Cell]:
    """The cells of a file, in its order; twice the same is one."""
    data, folder = _parsed(Path(path)), Path(path).parent
    cells: dict[str, Cell] = {}
    files: dict[tuple[str, str], _File | None] = {}
    for options in _combinations(data, str(path)):
        cell = _cell(str(data["kind"]), options, folder, files)
        cells.setdefault(cell.digest, cell)
    return list(cells.values())


def _parsed(path: Path) -> dict[str, Any]:
    """The content of a TOML file that is not too large."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise TooLargeError(f"a file of settings may have at most {MOST_BYTES:,} bytes; {str(path)!r} has more.")
        text = content.decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"the file {str(path)!r} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    if (deep := TOO_DEEP.search(text)) is not None:
        line = text.count("\n", 0, deep.start()) + 1
        raise InputError(f"{str(path)!r} is not a file of settings: line {line} has a key of more than 50 parts.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also of a number with too many digits
        raise InputError(f"{str(path)!r} is not TOML: {printable(str(error)).rstrip('.')}.") from None


def _combinations(data: dict[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """The options of each cell."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in OPTIONS:
        raise InputError(
            f"{path!r} must have a kind, one of {', '.join(OPTIONS)}; it {'has none' if kind is None else f'is {shown(kind)}'}."
        )
    if unknown := [name for name in data if name not in ("kind", "settings", "grid", "cells")]:
        raise InputError(
            f"{path!r} may have kind, settings, grid and cells; it has {listed([shown(name) for name in unknown])}."
        )
    shared = _table(data.get("settings", {}), kind, path, "[settings]")
    _check_values([shared], path, "[settings]")
    grids = _tables(data.get("grid", []), kind, path, "[grid]")
    single = _tables(data.get("cells", []), kind, path, "[[cells]]")
    _check_values(single, path, "[[cells]]")
    for grid in grids:
        for name, values in grid.items():
            if not isinstance(values, list) or not values:
                raise InputError(f"{path!r}, [grid]: {name} must be a list of values; it is {shown(values)}.")
            for value in values:
                _check_value(value, name, path, "[grid]")
    count = len(single) + sum(prod(map(len, grid.values())) for grid in grids)
    if not count and not shared:
        raise InputError(f"{path!r} has no cells: give lists in [grid], or options in [[cells]].")
    if count > MOST_CELLS:
        raise InputError(f"{path!r} must have at most {MOST_CELLS:,} cells; it has {count:,}.")
    if not grids and not single:
        yield shared
    for grid in grids:
        for values in product(*grid.values()):
            yield shared | dict(zip(grid, values, strict=True))
    for options in single:
        yield shared | options


def _tables(data: Any, kind: str, path: str, place: str) -> list[dict[str, Any]]:
    tables = data if isinstance(data, list) else [data]
    return [_table(table, kind, path, place) for table in tables]


def _table(data: Any, kind: str, path: str, place: str) -> dict[str, Any]:
    """The options of a table by our names."""
    if not isinstance(data, dict):
        raise InputError(f"{path!r}, {place} must be a table of options; it is {shown(data)}.")
    named = {name.replace("-", "_"): value for name, value in data.items()}
    for name in named:
        if name not in OPTIONS[kind]:
            raise InputError(
                f"{path!r}, {place}: {shown(name)} is no option of {kind!r}; the options are {', '.join(OPTIONS[kind])}."
            )
    if len(named) < len(data):
        twice = next(name for name in data if "-" in name and name.replace("-", "_") in data)
        raise InputError(f"{path!r}, {place}: an option may be given once; {twice!r} is given with - and with _.")
    return named


def _check_values(tables: list[dict[str, Any]], path: str, place: str) -> None:
    for table in tables:
        for name, value in table.items():
            _check_value(value, name, path, place)


def _check_value(value: Any, name: str, path: str, place: str) -> None:
    """What an option may be: nothing that is long, and nothing that a table cannot hold."""
    if name in RANGES:
        good, wanted = _is_range(value), "a list of two numbers"
        if place == "[grid]":
            wanted = "a list of ranges such as [[0, 1], [0.1, 0.9]]; each is a list of two numbers"
    else:
        good = len(value) <= MOST_SIGNS if isinstance(value, str) else isinstance(value, bool) or _is_number(value)
        wanted = f"a finite number, true, false or a text of at most {MOST_SIGNS:,} characters"
    if not good:
        raise InputError(f"{path!r}, {place}: {name} must be {wanted}; it is {shown(value)}.")


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and -LARGEST <= value < LARGEST


class _File(NamedTuple):
    path: str
    content: str | None  # its hash; None if there is no such file


def _cell(kind: str, options: dict[str, Any], folder: Path, files: dict[tuple[str, str], _File | None]) -> Cell:
    """A cell, with files by their whole paths, and the hash of its options and of the content of these files."""
    if kind != "design" and not isinstance(options.get("rule"), str):
        raise InputError(f"every cell of {kind!r} needs a rule, by its name or the file of a design; one has none.")
    about, contents = dict(options), {}
    used: tuple[tuple[str, str | None], ...] = ()
    for name in FILES:
        if name in options:
            key = name, str(options[name])
            if key not in files:
                files[key] = _file(*key, folder)
            if (file := files[key]) is not None:
                contents[name] = file.content
                options = options | {name: file.path}
                del about[name]
                used += ((file.path, file.content),)
    text = WRITTEN([kind, about | {"files": contents}, __version__])
    return Cell(kind, options, hashlib.sha256(text.encode()).hexdigest(), used)


def _file(name: str, value: str, folder: Path) -> _File | None:
    """The file that an option names, never one of the current folder; None if the value is the name of a rule."""
    path = folder / value
    content = _hash_of(path)
    named = content is not None or name == "family" or is_aggregator_file(value)
    if named and not path.exists():
        raise InputError(f"the {name} file {str(path)!r} does not exist.")
    return _File(str(path.absolute()), content) if named else None


def _hash_of(path: Path) -> str | None:
    """Of the content of a file; None if there is none."""
    with suppress(OSError, TooLargeError):  # a name that is too long; or whoever reads it will say what is wrong
        return hashlib.sha256(read_limited(path)).hexdigest() if path.is_file() else None
    return None


def _shown(value: Any) -> str:
    return " to ".join(f"{each:g}" for each in value) if isinstance(value, list) else str(value)
