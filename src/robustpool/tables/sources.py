"""What a table can come from: a CSV, Parquet or Excel file, standard input or a data frame; to the engine all are relations."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import sys
import zipfile
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ..checks import extra, printable
from ..errors import InputError, TooLargeError
from .csv_source import LARGE, SWELLING, CsvSource, Lost
from .engine import engine, identifier, literal, no_folder
from .formats import OUR_NAMES, OURS, check_different, plain, told_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Integers
    from .engine import Engine

PARQUET_SIGN, ZIP_SIGN = b"PAR1", b"PK\x03\x04"
PARQUET_SUFFIXES = (".parquet", ".pq")
STANDARD_INPUT = "-"
NESTED = re.compile(r"STRUCT|MAP|UNION|.*\]$", re.DOTALL)
"""Types of columns that hold columns."""

ROWS_PER_BYTE, MANY_ROWS = 8, 1_000_000
"""A Parquet file with many rows may have so many to a byte; people's answers take two bytes and more each."""

VALUES_PER_BYTE, MANY_VALUES = 64, 20_000_000
"""The same for the values of all columns, which may be the same or missing."""

EXPANDED = 1 << 28
"""Bytes that the texts of a Parquet file may take, or `SWELLING` times its size: a long text that comes often is stored once."""

BYTES = 8
"""A guess of what a cell takes."""

COLUMNS = 10_000
"""Columns that a file may have whose size is limited; the engine needs a millisecond for each."""


@dataclass(frozen=True)
class NamedFile:
    """A file that people know under another name, such as an upload. Nothing follows from the name: the content decides.

    Expanded, the file may have at most ``most`` bytes.
    """

    path: Path
    name: str
    most: int | None = None

    def __fspath__(self) -> str:
        """Where the file is."""
        return str(self.path)

    def __str__(self) -> str:
        """What people call it."""
        return self.name


class Source(Protocol):
    """The names and types of the columns, and the rows in SQL, with the columns c0, c1, ...; rows have lines, or numbers."""

    names: list[str]
    types: list[str]  # as the engine calls them
    place: str
    padded: bool  # texts may have spaces around them
    unread: tuple[str, ...]  # further sheets of a workbook

    def relation(self, *, first: bool = False) -> str:
        """The rows, or only the ``first``, for a look."""

    def lost(self, rows: int) -> list[Lost]:
        """Lines that are no rows, after so many rows were read."""

    def lines(self, rows: Integers, read: int) -> tuple[Integers, Integers]:
        """Where each of these rows begins and ends, of those that were read."""


def is_path(source: object) -> bool:
    """Whether a source is meant as a file."""
    return isinstance(source, (str, os.PathLike))


@contextmanager
def open_engine(source: Any) -> Iterator[tuple[Source, Engine]]:
    """A source in an engine of its own; what the engine says while it reads is told in one sentence."""
    import duckdb

    with engine() as own:
        opened = open_source(source, own)
        try:
            yield opened, own
        except duckdb.Error as error:
            if isinstance(opened, ParquetSource):
                raise opened.unreadable(error) from None
            why = printable(str(error))
            if isinstance(error, duckdb.OutOfMemoryException):
                raise InputError(f"the table needs more memory than is allowed ({why}).") from None
            raise no_folder("many rows need", why) from None


def open_source(source: Any, engine: Engine) -> Source:
    """A CSV, Parquet or Excel file, told from its first bytes, or a data frame."""
    if isinstance(source, NumberedFrame):
        return NumberedSource(source, engine)
    if not is_path(source):
        return FrameSource(source, engine)
    if isinstance(source, NamedFile):
        return _open_named(source, engine)
    path, shown = Path(source), str(Path(source))
    if shown == STANDARD_INPUT or (path.exists() and not (path.is_file() or path.is_dir())):
        path = _copied(path, engine)
    elif path.is_file():
        path = _no_pattern(path, shown, engine)
    if Path(shown).suffix.lower() in PARQUET_SUFFIXES and _beginning(path, shown) != PARQUET_SIGN:
        raise InputError(
            f"{shown!r} must be a Parquet file, as its name says; it does not begin as one: "
            "write it again, or give it another name if it is CSV."
        )
    return _told_by_content(path, shown, engine)


def _open_named(source: NamedFile, engine: Engine) -> Source:
    """A file from somebody else: the engine may read it and nothing else."""
    path = _no_pattern(source.path.resolve(), source.name, engine)
    engine.read_only_from(path)
    opened = _told_by_content(path, source.name, engine, source.most)
    if source.most is not None and len(opened.names) > COLUMNS:
        raise TooLargeError(f"{source.name!r} must have at most {COLUMNS:,} columns; it has {len(opened.names):,}.")
    return opened


def _no_pattern(path: Path, shown: str, engine: Engine) -> Path:
    """The same file under a name that is no pattern to the engine."""
    if not set(str(path)) & set("*?["):
        return path
    link = engine.place("input", f"{shown!r} needs")
    link.symlink_to(path.resolve())
    return link


def _beginning(path: Path, shown: str) -> bytes:
    with _open(path, shown) as file:
        return file.read(4)


def _told_by_content(path: Path, shown: str, engine: Engine, most: int | None = None) -> Source:
    beginning = _beginning(path, shown)
    if beginning == PARQUET_SIGN:
        return ParquetSource(path, shown, engine, most)
    if beginning == ZIP_SIGN and _is_workbook(path):
        return _workbook(path, shown, engine, most)
    return CsvSource(path, shown, engine, most)


def _open(path: Path, shown: str) -> IO[bytes]:
    """Open a file for reading, or say in a sentence why not."""
    if path.is_dir():
        raise InputError(f"{shown!r} cannot be read: it is a folder.")
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise InputError(f"the file {shown!r} does not exist.") from None
    except OSError as error:
        raise InputError(f"{shown!r} cannot be read ({error.strerror or error}).") from None


def _copied(path: Path, engine: Engine) -> Path:
    """A copy of standard input or of a pipe, which can be read only once."""
    needs = f"{str(path)!r} needs"
    copy = engine.place("standard-input", needs)
    from_input = str(path) == STANDARD_INPUT
    try:
        with nullcontext(sys.stdin.buffer) if from_input else _open(path, str(path)) as stream, copy.open("wb") as file:
            shutil.copyfileobj(stream, file)
    except OSError as error:
        raise no_folder(needs, error) from None
    return copy


class FrameSource:
    """A data frame of pandas, polars or pyarrow."""

    place, padded = "row", True
    unread: tuple[str, ...] = ()

    def __init__(self, frame: Any, engine: Engine) -> None:
        """Take a frame as it is; an index of pandas that says something becomes a column."""
        import duckdb

        frame = native(frame)
        try:
            engine.connection.register("source_frame", frame)
            self._describe(engine)
            self.names = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
        except duckdb.Error:
            if not hasattr(frame, "write_parquet"):
                raise
            copy = engine.place("frame.parquet", "a data frame of polars without pyarrow needs")
            frame.write_parquet(copy)
            self._view(copy, engine)

    def _view(self, path: Path, engine: Engine) -> None:
        engine.connection.execute(f"CREATE VIEW source_frame AS SELECT * FROM read_parquet({literal(str(path))})")
        self._describe(engine)

    def _describe(self, engine: Engine) -> None:
        described = engine.rows("DESCRIBE SELECT * FROM source_frame")
        self._inner, self.types = [name for name, *_ in described], [kind for _, kind, *_ in described]
        self.names = self._inner  # those of the engine differ where two are the same but for capital letters
        ((rows,),) = engine.rows("SELECT count(*) FROM source_frame")
        engine.expect(BYTES * rows * len(self.names), len(self.names))

    def relation(self, *, first: bool = False) -> str:  # noqa: ARG002
        """The rows."""
        columns = ", ".join(f"{identifier(name)} AS c{i}" for i, name in enumerate(self._inner))
        return f"(SELECT {columns} FROM source_frame)"

    def lost(self, rows: int) -> list[Lost]:  # noqa: ARG002
        """None."""
        return []

    def lines(self, rows: Integers, read: int) -> tuple[Integers, Integers]:  # noqa: ARG002
        """Rows are numbered from 0."""
        return rows, rows


@dataclass(frozen=True)
class NumberedFrame:
    """Some rows of a table: a data frame, and where in the table each of its rows stands."""

    frame: Any
    rows: Integers


class NumberedSource(FrameSource):
    """A data frame whose rows have numbers of their own."""

    def __init__(self, source: NumberedFrame, engine: Engine) -> None:
        """Take the frame, and the numbers."""
        super().__init__(source.frame, engine)
        self._rows = source.rows

    def lines(self, rows: Integers, read: int) -> tuple[Integers, Integers]:  # noqa: ARG002
        """Those of the whole table."""
        return self._rows[rows], self._rows[rows]


class ParquetSource(FrameSource):
    """A Parquet file."""

    def __init__(self, path: Path, shown: str, engine: Engine, most: int | None = None) -> None:
        """Read what the file says of itself; it may have ``most`` bytes, if that is said."""
        import duckdb

        self._path, self._shown, self._most = path, shown, most
        file = literal(str(path))
        try:
            ((rows, values, columns, texts),) = engine.rows(
                "SELECT any_value(f.num_rows), sum(m.num_values), sum(m.total_uncompressed_size), "
                "sum(m.num_values::DOUBLE * m.total_uncompressed_size) FILTER (m.type LIKE '%BYTE_ARRAY') "
                f"FROM parquet_file_metadata({file}) f, parquet_metadata({file}) m"
            )
            self._check_size(int(rows or 0), int(values or 0), int(columns or 0))
            schema = engine.rows(f"SELECT name, num_children FROM parquet_schema({file})")
            names = _top_level(schema[1:])
            check_different(names)
            self._view(path, engine)
            self.names = names if len(names) == len(self.names) else self.names
            if (texts or 0) > self._allowed:  # at most so much: now each text is measured
                self._check_texts(engine)
        except InputError:
            raise
        except (duckdb.Error, ValueError) as error:
            raise self.unreadable(error) from None

    @property
    def _allowed(self) -> int:
        """Bytes that its texts may take."""
        return max(EXPANDED, SWELLING * self._path.stat().st_size)

    def _check_texts(self, engine: Engine) -> None:
        """Refuse texts that would fill the memory or the disk."""
        measures = {"VARCHAR": "strlen", "BLOB": "octet_length"}
        columns = zip(self._inner, self.types, strict=True)
        lengths = [f"sum({measures[kind]}({identifier(name)}))" for name, kind in columns if kind in measures]
        if not lengths:
            return
        (totals,) = engine.rows(
            f"SELECT {', '.join(lengths)} FROM source_frame"
        )  # a query within one would copy the texts
        if (expanded := sum(int(total or 0) for total in totals)) > self._allowed:
            raise TooLargeError(
                f"the Parquet file {self._shown!r} would expand to {expanded / 1e9:,.1f} GB of text, more than the "
                f"{self._allowed / 1e9:,.1f} GB that a file of its size may have."
            )

    def unreadable(self, error: Exception) -> InputError:
        """One sentence on a file that is damaged, or too large."""
        import duckdb

        why = printable(str(error).replace(str(self._path), Path(self._shown).name))
        if isinstance(error, duckdb.OutOfMemoryException):
            return InputError(f"the Parquet file {self._shown!r} needs more memory than is allowed ({why}).")
        return InputError(f"the Parquet file {self._shown!r} cannot be read ({why}).")

    def relation(self, *, first: bool = False) -> str:  # noqa: ARG002
        """The rows. What is nested is no answer of anybody, and may be very large: it is a mark, and not read."""
        columns = ", ".join(
            f"{literal('[...]') if NESTED.match(kind) else identifier(name)} AS c{i}"
            for i, (name, kind) in enumerate(zip(self._inner, self.types, strict=True))
        )
        return f"(SELECT {columns} FROM source_frame)"

    def _check_size(self, rows: int, values: int, columns: int) -> None:
        size = self._path.stat().st_size
        too_many = rows > max(MANY_ROWS, ROWS_PER_BYTE * size) or values > max(MANY_VALUES, VALUES_PER_BYTE * size)
        if too_many or columns > max(LARGE, SWELLING * size):
            raise InputError(
                f"the Parquet file {self._shown!r} expands too much; it has {rows:,} rows, {values:,} values and "
                f"{columns:,} bytes in {size:,} bytes."
            )
        if self._most is not None and (expanded := max(BYTES * rows, columns)) > self._most:
            raise TooLargeError(
                f"the Parquet file {self._shown!r} must not expand to more than {self._most:,} bytes; it has {rows:,} rows "
                f"and about {expanded:,} bytes."
            )


def _top_level(schema: list[tuple[Any, ...]]) -> list[str]:
    """The names of the columns of a Parquet file, whose schema lists what is nested in each after it, with how many parts.

    >>> _top_level([("a", None), ("b", 1), ("list", 1), ("element", None), ("c", 0)])
    ['a', 'b', 'c']
    """
    names, inside = [], 0
    for name, parts in schema:
        names += [] if inside else [name]
        inside = max(0, inside - 1) + (parts or 0)
    return names


def native_frame(source: Any) -> Any:
    """The library of a data frame, as the name of a module; an error for anything else."""
    module = type(source).__module__.partition(".")[0]
    if module not in ("pandas", "polars", "pyarrow", "dask") or not hasattr(type(source), "columns"):
        raise InputError(
            "forecasts must be a file, a data frame of pandas, polars or pyarrow, or a ForecastTable; "
            f"they are of the type {type(source).__name__}."
        )
    return module


def native(source: Any) -> Any:
    """A data frame as the engine takes it: with its index as a column, if that says something."""
    library = native_frame(source)
    if library == "dask":
        raise InputError(
            "a Dask data frame can be combined (aggregate_table) and nothing else; compute() makes one of pandas."
        )
    if library == "pandas":
        check_different(list(map(str, source.columns)))
        if index_says_something(source):
            source = source.reset_index(names=[name or "question_id" for name in source.index.names])
        return source.rename(columns=str)
    if hasattr(source, "column_names"):  # of pyarrow, which allows a name twice
        check_different(source.column_names)
    return source.collect() if hasattr(source, "collect") else source


def index_says_something(frame: Any) -> bool:
    """Whether the index of a pandas frame has a name, holds text, or stands beside columns that hold nothing but numbers."""
    if any(name is not None for name in frame.index.names):
        return True
    names = {plain(str(name)) for name in frame.columns}
    if names & set(OURS.roles["question_id"]) or told_format(list(names)) is not OURS or frame.index.nlevels > 1:
        return False
    other = [kind for name, kind in frame.dtypes.items() if plain(str(name)) not in OUR_NAMES]
    return frame.index.dtype.kind not in "iuf" or all(getattr(kind, "kind", "O") in "iuf" for kind in other)


# ------------------------------------------------------------------------------------------------------------------ Excel


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def _workbook(path: Path, shown: str, engine: Engine, most: int | None = None) -> CsvSource:
    """The first sheet of a workbook as a CSV file; a row of the sheet is a line."""
    extra("an Excel file", "excel")
    import openpyxl

    copy = engine.place("sheet.csv", f"{shown!r} needs")
    try:
        budget = _Budget(shown, path, most)
        sheet, *others = openpyxl.load_workbook(
            io.BytesIO(path.read_bytes()), read_only=True, data_only=True
        ).worksheets
        unread = tuple(each.title for each in others if any(map(_says_something, budget.rows(each))))
        with copy.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for row in budget.rows(sheet):
                writer.writerow(map(_text, row) if _says_something(row) else [])
    except TooLargeError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a damaged workbook makes of the library
        raise InputError(f"the workbook {shown!r} cannot be read ({printable(str(error))}).") from None
    source = CsvSource(copy, shown, engine, most)
    source.place, source.unread = "row", unread
    return source


class _Budget:
    """How much a workbook may expand: its parts in all, and the cells of its sheet, which may be empty and far apart."""

    def __init__(self, shown: str, path: Path, most: int | None) -> None:
        """Refuse an archive that says itself that it is too large; what it says is all that can be read from it."""
        self._shown, self._most, self._cells = shown, most, 0
        if most is not None:
            with zipfile.ZipFile(path) as archive:
                self._check(sum(part.file_size for part in archive.infolist()))

    def rows(self, sheet: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a sheet, as far as the budget goes."""
        for row in sheet.iter_rows(values_only=True):
            self._cells += len(row) + 1
            self._check(self._cells)
            yield row

    def _check(self, size: int) -> None:
        if self._most is not None and size > self._most:
            raise TooLargeError(f"the workbook {self._shown!r} must not expand to more than {self._most:,} bytes.")


def _says_something(row: tuple[Any, ...]) -> bool:
    return any(cell is not None for cell in row)


def _text(cell: Any) -> str:
    """A cell as text on one line; a workbook has no other way to write a day than its midnight."""
    if isinstance(cell, datetime) and cell.time() == time.min:
        cell = cell.date()
    text = "" if cell is None else cell.isoformat() if hasattr(cell, "isoformat") else str(cell)
    return text.replace("\n", " ")
