"""Tables of a few thousand bytes that expand to as much as the size says."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq


def gzip_bomb(size: int) -> bytes:
    """A table in a few bytes that expands to this size."""
    return gzip.compress(b"question_id,ann,bob\n") + gzip.compress(b"1" * 2**23) * (size // 2**23)


def workbook_bomb(workbook: bytes, size: int) -> bytes:
    """A workbook with a part that is nothing but zeros."""
    file = io.BytesIO(workbook)
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/more.xml", "w", force_zip64=True) as part,
    ):
        for _ in range(size // 2**20):
            part.write(b"0" * 2**20)
    return file.getvalue()


def sparse_workbook() -> bytes:
    """A workbook whose two cells are as far apart as cells can be: seventeen thousand million cells."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active["A1"], book.active["XFD1048576"] = "question_id", 1
    book.save(file)
    return file.getvalue()


def parquet_bomb(rows: int) -> bytes:
    """Rows that are all the same, in a few thousand bytes."""
    file = io.BytesIO()
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["q"]))
    pq.write_table(pa.table({"question_id": same, "ann": pa.array(np.zeros(rows))}), file, compression="zstd")
    return file.getvalue()
