"""A lock with the number of its owner in it. The system frees it when the process ends, however it ends."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

if sys.platform != "win32":
    import fcntl

SIGN = re.compile(rb"(robustpool ([0-9]+)\n)?")
"""What a lock file holds: nothing, or whose it is."""

_held: set[int] = set()


class HeldError(Exception):
    """Another process has the lock; ``owner`` says which."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock in a file, which is removed afterwards; HeldError if somebody else holds it."""
    number = take_lock(path)
    try:
        yield
    finally:
        if number is not None:
            with suppress(OSError):
                path.unlink()  # while it is held: whoever opened it meanwhile finds that it is gone, and makes another
        free_lock(number)


def free_lock(number: int | None) -> None:
    """Give a lock back."""
    if number is not None:
        _held.discard(number)
        os.close(number)


def take_lock(path: Path) -> int | None:
    """Take the lock in a file; what comes back gives it back. None where there are no locks."""
    if sys.platform == "win32":
        return None
    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)  # a pipe would block
        try:
            if _taken(number, path):
                _held.add(number)
                return number
            os.close(number)
        except BaseException as error:
            os.close(number)
            if isinstance(error, OSError) and error.errno in (errno.ENOLCK, errno.EOPNOTSUPP):  # some network folders
                path.unlink(missing_ok=True)
                return None
            raise


def _taken(number: int, path: Path) -> bool:
    """Lock an open file, and write in it whose it is; False if the one before removed it in between."""
    regular = stat.S_ISREG(os.fstat(number).st_mode)
    owner = SIGN.fullmatch(os.read(number, 100)) if regular else None
    if owner is None:
        raise InputError(f"{str(path)!r} is where a lock would be, but it is another file; move it away.")
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise HeldError(f"process {owner[2].decode()}" if owner[2] else "another process") from None
    if not _same(number, path):
        return False
    os.ftruncate(number, 0)
    os.pwrite(number, f"robustpool {os.getpid()}\n".encode(), 0)
    return True


def _same(number: int, path: Path) -> bool:
    """Whether an open file still is the one of that name."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except FileNotFoundError:
        return False


def _forget() -> None:
    """A child has no part in the locks of its parent: if it outlives the parent, they are free all the same."""
    for number in _held:
        with suppress(OSError):
            os.close(number)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
