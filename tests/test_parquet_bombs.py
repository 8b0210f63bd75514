"""Small Parquet files that would fill the memory or the disk are read within bounds, or refused in a sentence."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from programs import PEAK, run_python
from refusals import input_error
from robustpool.processes import own_prefix
from robustpool.tables.engine import Engine, engine
from robustpool.tables.reading import read_forecasts
from robustpool.tables.sources import ParquetSource

if TYPE_CHECKING:
    from pathlib import Path


def often(text: str, rows: int) -> Any:
    """One text in every row, which a Parquet file stores once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


@pytest.mark.parametrize("column", ["question_id", "forecaster_id", "probability", "comment"])
def test_a_long_text_that_comes_often_is_refused_before_it_is_copied(column: str, tmp_path: Path) -> None:
    """A file of some thousand bytes with texts of 4 GB; the process that reads it stays small."""
    columns = {
        "question_id": often("q", 10_000),
        "forecaster_id": often("f", 10_000),
        "probability": np.full(10_000, 0.5),
    }
    parquet.write_table(pa.table({**columns, column: often("5" * 400_000, 10_000)}), tmp_path / "f.parquet")
    code = (
        "import sys, robustpool as rp\n"
        "try:\n    rp.read_forecasts(sys.argv[1])\n"
        "except rp.InputError as error:\n    print(error)\n"
        f"print({PEAK})"
    )
    done = run_python("-c", code, str(tmp_path / "f.parquet"))
    sentence, kilobytes = done.stdout.splitlines()
    assert sentence.endswith("would expand to 4.0 GB of text, more than the 0.3 GB that a file of its size may have.")
    assert int(kilobytes) < 300_000


def test_a_wide_file_of_equal_values_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.tables.sources.MANY_VALUES", 10_000)
    columns = {"question_id": often("q", 5000), **{f"f{i}": np.full(5000, 0.5) for i in range(40)}}
    parquet.write_table(pa.table(columns), tmp_path / "f.parquet", compression="zstd")
    monkeypatch.setattr("robustpool.tables.sources.VALUES_PER_BYTE", 1)
    with input_error(r"^the Parquet file '.*' expands too much; it has 5,000 rows, 205,000 values and [\d,]+ bytes in"):
        read_forecasts(tmp_path / "f.parquet")


def test_the_look_at_the_first_rows_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many columns, and long texts: what is fetched to tell what the columns are does not grow with them."""
    cells: list[int] = []
    fetch = Engine.rows

    def counted_rows(self: Engine, query: str) -> list[tuple[Any, ...]]:
        rows = fetch(self, query)
        cells.append(sum(len(str(cell)) for row in rows for cell in row))
        return rows

    monkeypatch.setattr(Engine, "rows", counted_rows)
    monkeypatch.setattr("robustpool.tables.reading.LOOK_CELLS", 2000)
    columns = {"question_id": often("q", 500), "comment": often("x" * 50_000, 500)}
    columns |= {f"f{i}": np.full(500, 0.5) for i in range(40)}
    parquet.write_table(pa.table(columns), tmp_path / "f.parquet")
    assert read_forecasts(tmp_path / "f.parquet").forecasters[-1] == "f39"
    assert max(cells) < 100_000


def test_a_nested_column_of_texts_that_come_often_does_no_harm(tmp_path: Path) -> None:
    tags = pa.ListArray.from_arrays(pa.array(np.arange(2001) * 50, pa.int32()), often("x" * 100_000, 100_000))
    columns = {"question_id": often("q", 2000), "forecaster_id": often("f", 2000), "probability": np.full(2000, 0.5)}
    parquet.write_table(pa.table({**columns, "tags": tags}), tmp_path / "f.parquet")
    table = read_forecasts(tmp_path / "f.parquet")
    assert (table.rows, table.tally.ignored) == (1, ("tags",))


def test_what_the_engine_says_of_a_damaged_file_can_be_printed() -> None:
    said = ParquetSource.unreadable.__get__(SimpleNamespace(_path="/x", _shown="f.parquet"))(ValueError("type \x0e"))
    assert str(said) == r"the Parquet file 'f.parquet' cannot be read (type \x0e)."


def test_a_folder_of_no_process_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / own_prefix().replace(str(os.getpid()), "99999999999")
    folder.mkdir()
    with engine():
        assert folder.exists()
