"""Files are written whole or not at all; and JSON has no infinities."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .checks import shown
from .errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .typing import FilePath


TOO_DEEP = "its brackets are nested too deeply"
LEVELS = 100
"""Brackets within brackets that a JSON file may have; no array has so many axes."""


def parse_json(text: str | bytes) -> Any:
    """JSON that anybody may have written; a ValueError says what is wrong with it.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: an object in it has the name 'a' twice
    """
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    level = [data]
    for _ in range(LEVELS):
        level = [item for node in level for item in _items(node) if isinstance(item, (dict, list))]
        if not level:
            return data
    raise ValueError(TOO_DEEP)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object each of whose names stands there once."""
    data = dict(pairs)
    if len(data) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object in it has the name {shown(twice)} twice")
    return data


def _items(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def write_json(path: FilePath, data: Any) -> None:
    """Write JSON, whole or not at all."""
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def check_writable(path: FilePath) -> None:
    """Refuse a file that cannot be written before the work is done, not after it."""
    target = Path(path).absolute()
    if target.exists() and not target.is_file():
        raise InputError(f"{os.fspath(path)!r} cannot be written: it is not a regular file.")
    folder = next(parent for parent in target.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(
            f"{os.fspath(path)!r} cannot be written: {folder.name!r} is not a folder that can be written to."
        )


def refuse_foreign(name: str, path: FilePath, sign: str, kind: str) -> None:
    """Refuse to overwrite a file of another kind: one whose beginning does not contain ``sign``."""
    check_writable(path)
    target = Path(path)
    if target.is_file() and target.stat().st_size:
        with target.open("rb") as file:
            beginning = file.read(500)
        if sign.encode().lower() not in beginning.lower():
            raise InputError(f"{name} must be a new file or {kind}; {os.fspath(path)!r} is neither.")


def write_whole(path: FilePath, write: Callable[[Path], object]) -> None:
    """Let ``write`` write a file under a temporary name, then move it into place; links are followed."""
    check_writable(path)
    target = Path(path).resolve()
    partial = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        partial.replace(target)
    except OSError as error:
        raise InputError(f"{os.fspath(path)!r} cannot be written ({error.strerror or error}).") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def finite(value: Any) -> Any:
    """The same data with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
