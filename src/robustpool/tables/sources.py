"""What a table can come from: a file or a data frame, as names of columns and batches of rows."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ..errors import InputError
from .csv_batches import Batch, CsvSource
from .formats import OUR_NAMES, OURS, check_different, plain, told_format
from .text_blocks import Progress, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .rejecting import RejectionLog

PARQUET_SIGN = b"PAR1"
"""How a Parquet file begins."""

PARQUET_SUFFIXES = (".parquet", ".pq")
"""How its name ends."""

STANDARD_INPUT = "-"
"""The name of standard input."""


class Source(Protocol):
    """The names of the columns, and the rows in batches; where a row stands is called its line or its row."""

    names: list[str]
    place: str

    def batches(self) -> Iterator[Batch]:
        """The rows, some at a time."""


def is_path(source: object) -> bool:
    """Whether a source is meant as a file."""
    return isinstance(source, (str, os.PathLike))


@contextmanager
def rewindable(source: Any) -> Iterator[Any]:
    """The same source, or a copy in a temporary folder of what can be read only once: standard input, ``-``, or a pipe."""
    if not is_path(source) or not _only_once(os.fspath(source)):
        yield source
        return
    name = os.fspath(source)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="robustpool-input-"))
            copy = Path(folder) / "input"
            with _opened_once(name) as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            why = error.strerror or error
            raise InputError(f"{name!r} needs a temporary folder, set by TMPDIR; it cannot be used ({why}).") from None
        try:
            yield copy
        except InputError as error:  # which should name what the user knows
            raise InputError(str(error).replace(str(copy), name)) from None


def _opened_once(name: str) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if name == STANDARD_INPUT else open_file(Path(name))


def _only_once(name: str) -> bool:
    path = Path(name)
    return name == STANDARD_INPUT or (path.exists() and not path.is_file() and not path.is_dir())


def open_source(source: Any, log: RejectionLog, progress: Progress | None = None) -> Source:
    """A CSV or Parquet file, told from its first bytes, or a data frame."""
    if not is_path(source):
        return _frame_source(source)
    path = Path(source)
    with open_file(path) as file:
        beginning = file.read(4)
    if beginning == PARQUET_SIGN:
        from .frames import ParquetSource

        return ParquetSource(path, progress)
    if path.suffix.lower() in PARQUET_SUFFIXES:
        raise InputError(
            f"{str(path)!r} must be a Parquet file, as its name says; it does not begin as one: "
            "write it again, or give it another name if it is CSV."
        )
    return CsvSource(path, log, progress)


def native_frame(source: Any) -> Any:
    """A data frame of any library that narwhals knows; an index of pandas that says something becomes a column."""
    import narwhals as nw

    if hasattr(source, "reset_index") and hasattr(source, "columns"):
        check_different(list(map(str, source.columns)))
        if _index_says_something(source):
            source = source.reset_index(names=[name or "question_id" for name in source.index.names])
        source = source.rename(columns=str)
    if hasattr(source, "column_names"):  # of pyarrow, which allows a name twice
        check_different(source.column_names)
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            "forecasts must be a file, a data frame of pandas, polars or pyarrow, or a ForecastTable; "
            f"they are of the type {type(source).__name__}."
        )
    return frame


def _frame_source(source: Any) -> Source:
    from .frames import FrameSource

    return FrameSource(native_frame(source))


def _index_says_something(frame: Any) -> bool:
    """Whether the index of a pandas frame has a name, holds text, or stands beside columns that hold nothing but numbers."""
    if any(name is not None for name in frame.index.names):
        return True
    names = {plain(str(name)) for name in frame.columns}
    if names & set(OURS.roles["question_id"]) or told_format(list(names)) is not OURS or frame.index.nlevels > 1:
        return False
    other = [kind for name, kind in frame.dtypes.items() if plain(str(name)) not in OUR_NAMES]
    return frame.index.dtype.kind not in "iuf" or all(getattr(kind, "kind", "O") in "iuf" for kind in other)
