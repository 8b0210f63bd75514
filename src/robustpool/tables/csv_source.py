"""A CSV file as the engine reads it: its header, its dialect, the lines that are no rows, and the line of each row."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InputError, TooLargeError
from .engine import literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..typing import Integers
    from .engine import Engine

BLOCK = 1 << 20
"""Bytes that are looked at at a time; no line may be longer."""

LONGEST_FIELD = 1 << 17
"""Characters of a name or a number; more is a mistake, mostly of quotes."""

DELIMITERS = ",;\t"
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
OTHER_FILES = {b"PK\x03\x04": "a workbook or another zip archive", b"\xd0\xcf\x11\xe0": "a workbook", b"%PDF": "a PDF"}
AS_TEXT = "must be text in UTF-8, or in UTF-16 with a byte order mark"
GZIPPED = b"\x1f\x8b"
SWELLING, LARGE = 200, 1 << 26
"""A zipped file may become so many times larger, or this large."""

PADDING = [*(f"{mark} ".encode() for mark in ',;\n"'), *(f" {mark}".encode() for mark in ',;\r\n"')]
"""What stands where a field has spaces around it."""

FIELDS = "a row must have {} fields"
LONG_LINE = "a line must have at most {:,} characters"
QUOTED = "a quoted field must end with its closing quote"


class Lost(NamedTuple):
    """Lines that cannot be parted into columns."""

    line: int
    last: int
    rule: str
    says: str


@dataclass
class Census:
    """What a look at all bytes of a file tells of its lines."""

    newlines: int = 0
    returns: int = 0
    pairs: int = 0  # of a return and a newline
    quotes: bool = False
    padded: bool = False  # a field may have spaces around it
    open: int = 0  # bytes of the line that has not ended
    long: bool = False  # a line is longer than a line may be
    tail: bytes = b""

    def add(self, block: bytes) -> None:
        """Look at the next bytes; no block ends between a return and a newline."""
        first, last = block.find(b"\n"), block.rfind(b"\n")
        self.open += len(block) if first < 0 else first
        self.long |= self.open > BLOCK
        self.open = self.open if first < 0 else len(block) - last - 1
        self.newlines += block.count(b"\n")
        self.returns += block.count(b"\r")
        self.pairs += block.count(b"\r\n") if self.returns else 0
        self.quotes |= b'"' in block
        self.padded |= b"\t" in block or (b" " in block and any(sign in block for sign in PADDING))
        self.padded |= self.tail[-1:] + block[:1] in PADDING
        self.tail = (self.tail + block[-4096:])[-4096:]

    @property
    def even(self) -> bool:
        """Whether all lines end in the same way, with or without a return."""
        return self.returns == 0 or self.returns == self.pairs == self.newlines

    @property
    def lines(self) -> int:
        """How many lines there are, blank ones at the end not counted."""
        text = self.tail.rstrip(b"\r\n")
        return self.newlines - self.tail[len(text) :].count(b"\n") + 1


class CsvSource:
    """The names of the columns of a CSV file, and how the engine reads its rows."""

    place = "line"
    unread: tuple[str, ...] = ()

    def __init__(self, path: Path, shown: str, engine: Engine, most: int | None = None) -> None:
        """Look at the file, and make a plain copy of one that the engine would not read as it is: gzipped, or in UTF-16.

        The copy may have ``most`` bytes, if that is said.
        """
        self._given, self._shown, self._engine, self._most = path, repr(shown), engine, most
        with path.open("rb") as file:
            self._zipped = file.read(2) == GZIPPED
        encoding = self._encoding()
        self._path, self._census = path, Census()
        self._long: list[int] = []  # lines that are left out of the copy
        plain = not self._zipped and encoding != "utf-16"
        if plain:
            with self._opened() as file:
                while block := self._read(file):
                    self._census.add(block)
        if not plain or not self._census.even or self._census.long:
            self._copy(encoding)
        self._header, self.delimiter, self.names = self._first_line()
        self.types = ["VARCHAR"] * len(self.names)
        self.padded = self._census.padded or self._census.tail.endswith(b" ")
        engine.expect(self._path.stat().st_size, len(self.names))
        self._lost: list[Lost] | None = None

    def relation(self, *, first: bool = False) -> str:
        """The rows in SQL; of the ``first`` ones those that are no rows are not kept."""
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        rejects = "ignore_errors = true" if first else "store_rejects = true, rejects_limit = 0"
        return (
            f"read_csv({literal(str(self._path))}, auto_detect = false, header = false, skip = {self._header}, "
            f"columns = {{{columns}}}, delim = {literal(self.delimiter)}, quote = '\"', escape = '\"', "
            f"compression = 'none', max_line_size = {BLOCK}, {rejects})"
        )

    def lost(self, rows: int) -> list[Lost]:
        """The lines that are no rows, after ``rows`` others were read; an error if that is due to the file as a whole."""
        if self._lost is None:
            query = """SELECT line_byte_position, first(error_type), first(csv_line) FROM reject_errors
                       GROUP BY line_byte_position ORDER BY line_byte_position"""
            found = self._engine.rows(query)
            lines = self._lines_at([position for position, _, _ in found])
            self._lost = [
                self._why(line, position, kind, text or "")
                for line, (position, kind, text) in zip(lines, found, strict=True)
                if kind == "LINE SIZE OVER MAXIMUM" or (text or "").strip()  # blank lines are no rows
            ]
            self._check_complete(rows + len(found))
            self._lost += [Lost(line, line, LONG_LINE.format(BLOCK), "is longer") for line in self._long]
            self._lost.sort()
        return self._lost

    def lines(self, rows: Integers, read: int) -> tuple[Integers, Integers]:
        """The first and the last line of each of these rows, of those ``read``; rows are numbered from 0, in order."""
        lost = np.array([each.line for each in self.lost(read)], dtype=np.int64)
        if self._census.lines == self._header + read + len(lost):  # each row is a line, and none is blank
            before = np.searchsorted(lost - self._header - 1 - np.arange(len(lost)), rows, side="right")
            lines = self._header + 1 + rows + before
            return lines, lines
        wanted, skipped = set(rows.tolist()), set(lost.tolist())
        taken = (span for span in self._spans() if span[0] not in skipped)
        spans = {row: span for row, span in enumerate(islice(taken, max(wanted, default=-1) + 1)) if row in wanted}
        pairs = np.array([spans[each] for each in rows.tolist()], dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    # -------------------------------------------------------------------------------------------------- the file itself

    def _encoding(self) -> str:
        """The encoding that the first bytes tell."""
        with self._opened() as file:
            beginning = self._read(file)
        for sign, kind in OTHER_FILES.items():
            if beginning.startswith(sign):
                raise InputError(f"{self._shown} must be a CSV or Parquet file; it is {kind}: save the table as CSV.")
        if beginning.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins as that of UTF-16 does
            raise InputError(f"{self._shown} {AS_TEXT}; it is in UTF-32: save the table as UTF-8.")
        for mark, encoding in BYTE_ORDER_MARKS.items():
            if beginning.startswith(mark):
                return encoding
        if b"\x00" in beginning:
            line = 1 + beginning[: beginning.index(b"\x00")].count(b"\n")
            raise InputError(f"{self._shown} {AS_TEXT}; line {line} has a zero byte.")
        return "utf-8"

    def _opened(self) -> IO[bytes]:
        return gzip.open(self._given) if self._zipped else self._given.open("rb")  # type: ignore[return-value]

    def _read(self, stream: IO[bytes]) -> bytes:
        """The next block, which does not end in a return."""
        try:
            block = stream.read(BLOCK)
            while block.endswith(b"\r") and (more := stream.read(1)):
                block += more
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self._shown} cannot be read to its end ({error}).") from None
        return block

    def _copy(self, encoding: str) -> None:
        """A copy in UTF-8 whose lines all end with a newline."""
        self._path, self._census = self._engine.place("input.csv", f"{self._shown} needs"), Census()
        decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
        try:
            with self._opened() as file, self._path.open("wb") as copy:
                data, start, expanded = b" ", 0, 0  # the start is that of the line in the copy
                while data:
                    data = self._read(file)
                    expanded += len(data)
                    if self._most is not None and expanded > self._most:
                        raise TooLargeError(f"{self._shown} must not expand to more than {self._most:,} bytes.")
                    try:
                        block = decoder.decode(data, final=not data).encode()
                    except UnicodeDecodeError as error:
                        raise self._no_text(error, self._census.newlines + 1) from None
                    before, line = self._census.open, self._census.newlines + 1
                    self._census.add(block)
                    end = block.find(b"\n")
                    if before + (len(block) if end < 0 else end) > BLOCK:  # the line stays as a blank one
                        self._long += [line] if self._long[-1:] != [line] else []
                        copy.seek(start)
                        copy.truncate()
                        block = block[end:] if end >= 0 else b""
                    copy.write(block)
                    if copy.tell() > max(LARGE, SWELLING * self._given.stat().st_size):
                        raise InputError(f"{self._shown} must not expand to {SWELLING} times its size or more.")
                    if b"\n" in block:
                        start = copy.tell() - self._census.open
        except OSError as error:
            raise InputError(f"{self._shown} cannot be copied to a temporary folder ({error.strerror}).") from None

    def _first_line(self) -> tuple[int, str, list[str]]:
        """The number of the first line that is not blank, the delimiter, and the names of the columns there."""
        with self._path.open("rb") as file:
            for line in range(1, 1 << 20):
                header = file.readline()
                if not header:
                    break
                if line in self._long:
                    raise InputError(f"line {line} of {self._shown} must name the columns; it is too long.")
                if header.strip().removeprefix(codecs.BOM_UTF8):
                    return line, *self._parted(line, header)
        raise InputError(f"{self._shown} must have a line with the names of the columns; it is empty.")

    def _parted(self, line: int, header: bytes) -> tuple[str, list[str]]:
        try:
            text = header.removeprefix(codecs.BOM_UTF8).decode().strip("\r\n")
        except UnicodeDecodeError as error:
            raise self._no_text(error, line) from None
        if text.count('"') % 2:
            raise InputError(f"a quote must be closed; the one in line {line} of {self._shown} is not.")
        try:
            split = {mark: next(csv.reader([text], delimiter=mark)) for mark in DELIMITERS}
        except csv.Error:
            raise InputError(f"line {line} of {self._shown} must name the columns; a name is too long.") from None
        delimiter = max(DELIMITERS, key=lambda mark: len(split[mark]))
        return delimiter, [name.strip() for name in split[delimiter]]

    # --------------------------------------------------------------------------------------- what the engine left out

    def _why(self, line: int, position: int, kind: str, text: str) -> Lost:
        last = line + text.rstrip("\r\n").count("\n")
        quoted = f" with what is quoted up to line {last}" if last > line else ""
        if kind == "INVALID ENCODING":
            with self._path.open("rb") as file:
                file.seek(position)
                try:
                    file.read(BLOCK).decode()
                except UnicodeDecodeError as error:
                    raise self._no_text(error, line) from None
        if kind == "LINE SIZE OVER MAXIMUM":
            return Lost(line, last, LONG_LINE.format(BLOCK), "is longer")
        fields = self._fields(text)
        if fields is None:
            raise InputError(f"a quote must be closed; the one in line {line} of {self._shown} is not.")
        if kind in ("MISSING COLUMNS", "TOO MANY COLUMNS"):
            return Lost(line, last, FIELDS.format(len(self.names)), f"has {fields}{quoted}")
        return Lost(line, last, QUOTED, f"has text after one{quoted}")

    def _fields(self, text: str) -> int | None:
        """How many fields a row has; None if a quote is open at its end."""
        try:
            next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            if "unexpected end" in str(error):
                return None
        except StopIteration:
            return 0
        return len(next(csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter), []))

    def _lines_at(self, positions: list[int]) -> list[int]:
        """The lines at which these bytes stand; they come in order."""
        lines, line, at = [], 1, 0
        with self._path.open("rb") as file:
            for position in positions:
                while at < position:
                    block = file.read(min(BLOCK, position - at))
                    at += len(block)
                    line += block.count(b"\n")
                lines.append(line)
        return lines

    def _spans(self) -> Iterator[tuple[int, int]]:
        """The first and the last line of each row below the header, as the csv module parts them; blank lines are none."""
        with self._path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            for _ in range(self._header):
                file.readline()
            last = self._header
            for text in file:
                first = last = last + 1
                if '"' in text:
                    last += _quoted_lines(text, file, self.delimiter)
                if text.strip() or (self.delimiter in text and self.delimiter != " "):
                    yield first, last

    def _check_complete(self, rows: int) -> None:
        """Refuse a file in which the engine found another number of rows than there are, such as behind an open quote."""
        if self._census.lines <= self._header + rows:
            return
        count, longest = 0, (0, 0)
        for span in self._spans():
            count, longest = count + 1, max(longest, span, key=lambda lines: lines[1] - lines[0])
        if count != rows:
            first, last = longest
            hint = f": is the quote in line {first} closed?" if last > first else "."
            raise InputError(f"{self._shown} has {count:,} rows below its header, and {rows:,} were found{hint}")

    def _no_text(self, error: UnicodeDecodeError, line: int) -> InputError:
        """Say in which line the bytes stop being text; ``line`` is that of the first byte."""
        before = error.object[: error.start].decode(error.encoding, errors="ignore")
        line += before.replace("\r\n", "\n").replace("\r", "\n").count("\n")
        byte = error.object[error.start]
        return InputError(f"{self._shown} {AS_TEXT}; line {line} has the byte 0x{byte:02x}: save the table as UTF-8.")


def _quoted_lines(text: str, file: IO[str], delimiter: str) -> int:
    """How many further lines belong to the row that begins with this one, as the csv module parts it."""
    lines = [text]

    def fed() -> Iterator[str]:
        yield text
        for line in file:
            lines.append(line)
            yield line

    try:
        next(csv.reader(fed(), delimiter=delimiter))
    except csv.Error:  # a field that is too long: its quotes tell where it ends
        quotes = sum(line.count('"') for line in lines)
        while quotes % 2 and (line := next(file, "")):
            lines.append("")
            quotes += line.count('"')
    return len(lines) - 1
