"""Data frames and Parquet files as batches of columns, whichever library they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .csv_batches import Batch
from .formats import check_different

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import narwhals as nw

    from .text_blocks import Progress
    from .values import Cells

ROWS = 1 << 16
"""Rows of a Parquet file that are read at a time."""

NO_PARQUET = "Parquet files need pyarrow or polars: pip install 'robustpool[parquet]'."


class FrameSource:
    """The names of the columns of a data frame, and its rows as one batch."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        """Take a frame as it is."""
        self.place = "row"
        self._frame = frame
        self.names = [str(name) for name in frame.columns]

    def batches(self) -> Iterator[Batch]:
        """All rows."""
        yield batch_of(self._frame, 0)


class ParquetSource:
    """The names of the columns of a Parquet file, and its rows in batches."""

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        """Read what the file says of itself."""
        self.place = "row"
        self._path, self._progress = path, progress
        try:
            self._pieces, self.names, self._rows = _with_pyarrow(path)
        except ImportError:
            try:
                self._pieces, self.names, self._rows = _with_polars(path)
            except ImportError:
                raise InputError(NO_PARQUET) from None
        check_different(self.names)

    def batches(self) -> Iterator[Batch]:
        """The rows, some at a time."""
        import narwhals as nw

        first = 0
        for piece in self._pieces:
            batch = batch_of(nw.from_native(piece, eager_only=True), first)
            first += len(batch.lines)
            yield batch
            if self._progress is not None:
                self._progress(first, self._rows)


def batch_of(frame: nw.DataFrame[Any], first: int) -> Batch:
    """The columns of a frame as arrays of numbers or times, or as lists of anything else; rows count from ``first``."""
    columns = [_column(frame[name]) for name in frame.columns]
    return Batch(columns, np.arange(first, first + len(frame)))


def _column(series: nw.Series[Any]) -> Cells:
    import narwhals as nw

    kind = series.dtype
    if kind.is_float():
        return series.cast(nw.Float64).to_numpy()
    if kind.is_integer() and not series.is_null().any():
        return series.to_numpy()
    if kind == nw.Boolean and not series.is_null().any():
        return series.to_numpy()
    if isinstance(kind, nw.Date):
        series, kind = series.cast(nw.Datetime("us")), nw.Datetime("us")
    if isinstance(kind, nw.Datetime):
        if kind.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return series.to_numpy()
    return series.to_list()


def _with_pyarrow(path: Path) -> tuple[Iterator[Any], list[str], int]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise _unreadable(path, error) from None
    pieces = (pa.Table.from_batches([batch]) for batch in file.iter_batches(ROWS))
    return pieces, list(file.schema_arrow.names), file.metadata.num_rows


def _with_polars(path: Path) -> tuple[Iterator[Any], list[str], int]:
    import polars as pl

    try:
        lazy = pl.scan_parquet(path)
        names = lazy.collect_schema().names()
        rows = int(lazy.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from None
    return (lazy.slice(first, ROWS).collect() for first in range(0, rows, ROWS)), names, rows


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"the Parquet file {str(path)!r} cannot be read ({str(error).splitlines()[0]}).")
