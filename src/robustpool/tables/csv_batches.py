"""A CSV file as batches of columns: the standard csv module, and a shortcut for blocks in which quotes hide nothing."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InputError
from .text_blocks import Progress, TextBlock, text_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .records import IntArray
    from .rejecting import RejectionLog
    from .values import Cells

DELIMITERS = ",;\t"


class Batch(NamedTuple):
    """Some rows of a source, by columns, and where each row stands."""

    columns: Sequence[Cells]  # in the order of the header
    lines: IntArray  # (rows,)


class CsvSource:
    """The names of the columns of a CSV file, and its rows in batches."""

    def __init__(self, path: Path, log: RejectionLog, progress: Progress | None = None) -> None:
        """Read the header."""
        self.place = "line"
        self._path, self._log = path, log
        self._blocks = text_blocks(path, log, progress)
        block = self._first_line()
        header, _, rest = block.text.partition("\n")
        if header.count('"') % 2:
            raise InputError(f"a quote must be closed; the one in line {block.line} of {str(path)!r} is not.")
        try:
            split = {mark: next(csv.reader([header], delimiter=mark)) for mark in DELIMITERS}
        except csv.Error:
            raise InputError(f"line {block.line} of {str(path)!r} must name the columns; a name is too long.") from None
        self.delimiter = max(DELIMITERS, key=lambda mark: len(split[mark]))
        self.names = [name.strip() for name in split[self.delimiter]]
        self._rest = TextBlock(rest, block.line + 1)

    def batches(self) -> Iterator[Batch]:
        """The rows, some at a time."""
        block: TextBlock | None = self._rest
        while block is not None:
            if block.text:
                yield self._split(block) or self._parsed(block)
            block = next(self._blocks, None)

    def _first_line(self) -> TextBlock:
        """The first block, from its first line on that is not blank."""
        for text, line in self._blocks:
            if self._log.lost:
                long = self._log.done().first[0].line
                raise InputError(
                    f"line {long} of {str(self._path)!r} must name the columns; it is longer than a line may be."
                )
            blank = len(text) - len(text.lstrip())
            if blank < len(text):
                start = text.rfind("\n", 0, blank) + 1
                return TextBlock(text[start:], line + text.count("\n", 0, start))
        raise InputError(f"{str(self._path)!r} must have a line with the names of the columns; it is empty.")

    def _split(self, block: TextBlock) -> Batch | None:
        """The columns of a block in which quotes hide nothing and every row has as many fields as the header; else None.

        Cut at the delimiters and at the ends of lines, which stay as fields of their own, it is one flat list with
        period ``width + 1``.
        """
        mark, width, rows = self.delimiter, len(self.names), block.text.count("\n")
        text = without_quotes(block.text, mark)
        if text is None:
            return None
        flat = text.replace("\n", f"{mark}\n{mark}").split(mark)
        if len(flat) != rows * (width + 1) + 1 or flat[width :: width + 1] != ["\n"] * rows:
            return None
        flat.pop()  # what stands after the last end of a line: nothing
        columns = [flat[i :: width + 1] for i in range(width)]
        return Batch(columns, np.arange(block.line, block.line + rows))

    def _parsed(self, block: TextBlock) -> Batch:
        """The columns of any block, and of those after it into which a quoted field reaches."""
        width, rows, places = len(self.names), [], []
        lines = _Lines(block, self._blocks)
        reader = csv.reader(lines, delimiter=self.delimiter)
        while True:
            began = lines.ended + 1
            try:
                row = next(reader)
            except StopIteration:
                break
            except csv.Error:
                row = None
                lines.skip_quoted()
            if lines.open:
                raise InputError(f"a quote must be closed; the one in line {began} of {str(self._path)!r} is not.")
            lines.end_row()
            if row is None:
                rule = f"a field must have at most {csv.field_size_limit():,} characters"
                self._reject(rule, "has more", began, lines.ended)
            elif len(row) == width:
                rows.append(row)
                places.append(began)
            elif row and not (len(row) == 1 and row[0].isspace()):  # blank lines are no rows
                self._reject(f"a row must have {width} fields", f"has {len(row)}", began, lines.ended)
        columns = list(zip(*rows, strict=True)) if rows else [()] * width
        return Batch(columns, np.array(places, dtype=np.int64))

    def _reject(self, rule: str, said: str, began: int, ended: int) -> None:
        quoted = f" with what is quoted up to line {ended}" if ended > began else ""
        self._log.reject_line(rule, began, f"{said}{quoted}", count=ended - began + 1)


def without_quotes(text: str, mark: str) -> str | None:
    """Whole lines without their quotes, if none of these hides a mark, a line end or a quote; else None.

    Odd quotes open and even ones close. If no mark or line end stands between, only a quote that opens can come right after
    one of these; where all that open do, each begins a field, and the csv module would just drop it and the one that closes.

    >>> without_quotes('"q1",ann,""\\n', ",")
    'q1,ann,\\n'
    >>> without_quotes('"a,b",1\\n', ","), without_quotes('"a ""b"" c",1\\n', ","), without_quotes('a "b",1\\n', ",")
    (None, None, None)
    """
    if '"' not in text:
        return text
    parts = text.split('"')
    held, quotes = parts[1::2], len(parts) - 1
    inside = "".join(held)
    if quotes % 2 or mark in inside or "\n" in inside or max(map(len, held)) > csv.field_size_limit():
        return None
    opening = text.startswith('"') + text.count(f'{mark}"') + text.count('\n"')
    return "".join(parts) if opening == quotes // 2 else None


class _Lines:
    """Feeds lines to a csv reader: those of a block, and of the next ones as long as a quote is open."""

    def __init__(self, block: TextBlock, following: Iterator[TextBlock]) -> None:
        self._following = following
        self.number = self.ended = block.line - 1  # the last line that was fed, and the last that a row ended with
        self.open = False  # whether the file ends inside a quote
        self._quotes = 0  # since the last row ended
        self._lines = iter(block.text.split("\n")[:-1])

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            if self.ended == self.number:
                raise StopIteration
            block = next(self._following, None)
            if block is None:
                self.open = True
                raise StopIteration
            self._lines, self.number = iter(block.text.split("\n")[:-1]), block.line - 1
            line = next(self._lines)
        self.number += 1
        self._quotes += line.count('"')
        return line + "\n"

    def skip_quoted(self) -> None:
        """Go on to the line in which the quote is closed that is open in this one."""
        while self._quotes % 2 and next(self, None) is not None:
            pass

    def end_row(self) -> None:
        """A row has ended with the last line that was fed."""
        self.ended, self._quotes = self.number, 0
