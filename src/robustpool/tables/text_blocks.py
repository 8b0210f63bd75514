"""A text file as blocks of whole lines, in bounded memory whatever the file holds."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, NamedTuple

from ..errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from .rejecting import RejectionLog

BLOCK = 1 << 20
"""Bytes that are read at a time; no line may be longer."""

BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
OTHER_FILES = {b"PK\x03\x04": "a workbook or another zip archive", b"\xd0\xcf\x11\xe0": "a workbook", b"%PDF": "a PDF"}
AS_TEXT = "must be text in UTF-8, or in UTF-16 with a byte order mark"
GZIPPED = b"\x1f\x8b"

Progress = Callable[[int, int], object]
"""Called now and then with how much has been read, and of how much: bytes, or rows of a Parquet file."""


class TextBlock(NamedTuple):
    """Whole lines, each ended by a newline, and the number of the first."""

    text: str
    line: int


def text_blocks(path: Path, log: RejectionLog, progress: Progress | None = None) -> Iterator[TextBlock]:
    """The lines of a file in UTF-8, or in UTF-16 with a byte order mark; plain or gzipped. Too long ones are rejected."""
    line, pending, long = 1, "", False
    with _opened(path) as (raw, stream):
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        data = _read(path, stream)
        decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(_encoding(path, data))(), translate=True)
        while True:
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise _no_text(path, error, line) from None
            if not data and (text or pending or long) and not text.endswith("\n"):
                text += "\n"  # the end of the file ends its last line
            end = text.find("\n")
            if long or len(pending) + (len(text) if end < 0 else end) > BLOCK:
                pending, long = "", end < 0
                text = text[end + 1 :] if end >= 0 else ""
                if end >= 0:
                    log.reject_line(f"a line must have at most {BLOCK:,} characters", line, "is longer")
                    line += 1
            text = pending + text
            end = text.rfind("\n") + 1
            whole, pending = text[:end], text[end:]
            if whole:
                yield TextBlock(whole, line)
                line += whole.count("\n")
            if not data:
                return
            if progress is not None:
                progress(raw.tell(), size)
            data = _read(path, stream)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The file as it lies on the disk, and its bytes, unzipped."""
    with open_file(path) as raw:
        zipped = raw.read(2) == GZIPPED
        raw.seek(0)
        if zipped:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield raw, stream  # type: ignore[misc]
        else:
            yield raw, raw


def open_file(path: Path) -> IO[bytes]:
    """Open a file for reading, or say in a sentence why not."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} cannot be read: it is a folder.")
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise InputError(f"the file {str(path)!r} does not exist.") from None
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror or error}).") from None


def _read(path: Path, stream: IO[bytes]) -> bytes:
    try:
        return stream.read(BLOCK)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{str(path)!r} cannot be read to its end ({error}).") from None


def _encoding(path: Path, beginning: bytes) -> str:
    """The encoding that the first bytes tell."""
    for sign, kind in OTHER_FILES.items():
        if beginning.startswith(sign):
            raise InputError(f"{str(path)!r} must be a CSV or Parquet file; it is {kind}: save the table as CSV.")
    if beginning.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins as that of UTF-16 does
        raise InputError(f"{str(path)!r} {AS_TEXT}; it is in UTF-32: save the table as UTF-8.")
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if beginning.startswith(mark):
            return encoding
    if b"\x00" in beginning:
        line = 1 + beginning[: beginning.index(b"\x00")].count(b"\n")
        raise InputError(f"{str(path)!r} {AS_TEXT}; line {line} has a zero byte.")
    return "utf-8"


def _no_text(path: Path, error: UnicodeDecodeError, line: int) -> InputError:
    """Say in which line the bytes stop being text; ``line`` is that of the first byte."""
    before = error.object[: error.start].decode(error.encoding, errors="ignore")
    line += before.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    return InputError(
        f"{str(path)!r} {AS_TEXT}; line {line} has the byte 0x{error.object[error.start]:02x}: save the table as UTF-8."
    )
