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
import tomllib
from dataclasses import dataclass, fields
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError
from ..families.asked_world import AskedWorld
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

FILES = ("family", "rule")
"""Options that may name a file, which stands beside the settings."""

MOST_CELLS = 100_000


@dataclass(frozen=True)
class Cell:
    """One setting: the kind of work, its options, and a hash of them and of the files that they name."""

    kind: str
    options: dict[str, Any]
    digest: str

    @property
    def words(self) -> str:
        """What tells it from others, in a line."""
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.options.items())


def read_settings(path: FilePath) -> list[Cell]:
    """The cells of a file, in its order; twice the same is one."""
    place = Path(path)
    try:
        data = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the file {str(path)!r} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not TOML: {error}.") from None
    cells: dict[str, Cell] = {}
    for options in _combinations(data, str(path)):
        cell = _cell(str(data["kind"]), options, place.parent)
        cells.setdefault(cell.digest, cell)
    return list(cells.values())


def _combinations(data: dict[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """The options of each cell."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in OPTIONS:
        raise InputError(f"{path!r} must have a kind, one of {', '.join(OPTIONS)}; it is {kind!r}.")
    if unknown := [name for name in data if name not in ("kind", "settings", "grid", "cells")]:
        raise InputError(
            f"{path!r} may have kind, settings, grid and cells; it has {listed([repr(n) for n in unknown])}."
        )
    shared = _table(data.get("settings", {}), kind, path, "[settings]")
    grids = _tables(data.get("grid", []), kind, path, "[grid]")
    single = _tables(data.get("cells", []), kind, path, "[[cells]]")
    for grid in grids:
        for name, values in grid.items():
            if not isinstance(values, list) or not values:
                raise InputError(f"{path!r}, [grid]: {name} must be a list of values; it is {values!r}.")
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
        raise InputError(f"{path!r}, {place} must be a table of options; it is {data!r}.")
    named = {name.replace("-", "_"): value for name, value in data.items()}
    for name in named:
        if name not in OPTIONS[kind]:
            raise InputError(
                f"{path!r}, {place}: {name!r} is no option of {kind!r}; the options are {', '.join(OPTIONS[kind])}."
            )
    return named


def _cell(kind: str, options: dict[str, Any], folder: Path) -> Cell:
    """A cell, with files by their whole paths, and the hash of its options and of the content of these files."""
    contents = {}
    for name in FILES:
        file = folder / str(options.get(name, ""))
        if name in options and file.is_file():
            contents[name] = hashlib.sha256(file.read_bytes()).hexdigest()
            options = options | {name: str(file.resolve())}
    about = {**{name: value for name, value in options.items() if name not in contents}, "files": contents}
    try:
        text = json.dumps([kind, about, __version__], sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        raise InputError(
            f"the options of a cell must be numbers, texts or lists of these; they are {options!r}."
        ) from None
    return Cell(kind, options, hashlib.sha256(text.encode()).hexdigest())


def _shown(value: Any) -> str:
    return " to ".join(f"{each:g}" for each in value) if isinstance(value, list) else str(value)
