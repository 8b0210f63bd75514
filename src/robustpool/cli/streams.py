"""Standard output that says when it cannot be written, and standard error that never stops the work."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

NOWHERE = -1
"""The number of a stream that was closed before the program began."""


class _Stream(io.RawIOBase):
    """What is written to a stream of the system. If it matters, a failure is an error, once; else nobody is told."""

    def __init__(self, number: int, *, matters: bool) -> None:
        self._number, self._matters, self._broken = number, matters, False

    def write(self, data: ReadableBuffer, /) -> int:
        size = memoryview(data).nbytes
        if self._broken:  # Python writes what is left once more when it ends
            return size
        try:
            return os.write(self._number, data)
        except BrokenPipeError:  # `| head -1` has all that it wants
            if not self._matters:
                return size
            self._broken = True
            raise
        except OSError as error:
            if not self._matters:
                return size
            self._broken = True
            raise InputError(f"standard output cannot be written ({error.strerror}).") from None

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._number != NOWHERE and os.isatty(self._number)

    def fileno(self) -> int:
        return super().fileno() if self._number == NOWHERE else self._number  # which says that there is none


def watch_streams() -> None:
    """Put such streams in place of Python's, whether these are buffered or not, unless a caller has put others there."""
    if os.name == "nt":  # where a console is not a file
        return
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(sys.stdout, _Stream(_number(sys.stdout), matters=True))
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(sys.stderr, _Stream(_number(sys.stderr), matters=False))


def _number(stream: io.TextIOBase | None) -> int:
    return NOWHERE if stream is None else stream.fileno()


def _text(like: io.TextIOBase | None, raw: _Stream) -> io.TextIOWrapper:
    """Text with the encoding of a stream; all of it is written, or there is an error."""
    how = ("utf-8", "replace") if like is None else (like.encoding, like.errors)
    live = like is sys.__stderr__ or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), *how, line_buffering=live, write_through=live)
