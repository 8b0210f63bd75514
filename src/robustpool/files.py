"""Files are written whole or not at all; and JSON has no infinities."""

from __future__ import annotations

import json
import math
import os
import stat
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .checks import shown
from .errors import InputError, TooLargeError
from .processes import PREFIX, left_behind, own_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .typing import FilePath

PART = ".part"
"""How the names of temporary files end; they begin with a dot and say whose they are."""


TOO_DEEP = "its brackets are nested too deeply"
MOST_BYTES = 2**28
"""Of a JSON file: a design on a grid of 1,000 reports has a tenth of that."""
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


def read_limited(path: FilePath) -> bytes:
    """The content of a file that is not too large to be one of ours; what is no regular file may be a stream."""
    with Path(path).open("rb") as file:
        huge = os.fstat(file.fileno()).st_size > MOST_BYTES
        content = b"" if huge else file.read(MOST_BYTES + 1)
    if huge or len(content) > MOST_BYTES:
        raise TooLargeError(
            f"{os.fspath(path)!r} has more than {MOST_BYTES:,} bytes, which is the limit for such files."
        )
    return content


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
    write_text(path, json_text(data))


def json_text(data: Any) -> str:
    """JSON as it stands in our files."""
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def write_text(path: FilePath, text: str) -> None:
    """Write a text, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: FilePath, content: bytes) -> None:
    """Write a file, whole or not at all."""
    write_whole(path, lambda partial: partial.write_bytes(content))


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


def write_whole(path: FilePath, write: Callable[[Path], object], *, keep: Path | None = None) -> None:
    """Let ``write`` write a file under a temporary name, then move it into place; links are followed.

    The temporary file has a name of its own, so that of two processes with one output the last one wins, whole. A file that is
    replaced keeps its mode; with ``keep`` it stays under that name. When this returns, a power cut cannot undo it.
    """
    check_writable(path)
    target = Path(path).resolve()
    partial = target.with_name(f".{own_name()}{PART}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(target.parent)
        _create(partial, target)
        write(partial)
        _settle(partial)
        if keep is not None and target.exists():
            target.replace(keep)
        partial.replace(target)
        with suppress(OSError):  # some systems have no such thing for folders
            _settle(target.parent)
    except OSError as error:
        raise InputError(f"{os.fspath(path)!r} cannot be written ({error.strerror or error}).") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _create(partial: Path, target: Path) -> None:
    """Make an empty file that only we can have made, with the mode and the owner of the file that it will replace."""
    before = target.stat() if target.exists() else None
    only_new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(partial, only_new, 0o666 if before is None else 0o600))
    if before is not None:
        with suppress(OSError, AttributeError):  # only the superuser can give a file away
            os.chown(partial, before.st_uid, before.st_gid)
        partial.chmod(stat.S_IMODE(before.st_mode) & 0o777)


def _settle(path: Path) -> None:
    """Have the system put what was written on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _remove_left_behind(folder: Path) -> None:
    """Remove the temporary files of processes that were killed while they wrote."""
    for partial in folder.glob(f".{PREFIX}*{PART}"):
        if left_behind(partial.name.removeprefix(".").removesuffix(PART)):
            with suppress(OSError):
                partial.unlink()


def finite(value: Any) -> Any:
    """The same data with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
