"""Rows of different cells as one table, in CSV and in Parquet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..files import write_whole
from ..tables.engine import from_system, identifier, literal
from ..tables.records import neutral
from .work import NUMBERS

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = {"results.csv": "FORMAT csv", "results.parquet": "FORMAT parquet"}


def write_table(rows: list[dict[str, Any]], folder: Path) -> None:
    """Write the rows into a folder; a column that only some rows have is empty in the others."""
    import duckdb

    names = list(dict.fromkeys(name for row in rows for name in row))
    last = [name for name in ("status", *NUMBERS, "seconds", "error") if name in names]
    names = [*(name for name in names if name not in last), *last]
    types = [_type([row.get(name) for row in rows]) for name in names]
    columns = ", ".join(f"{identifier(name)} {kind}" for name, kind in zip(names, types, strict=True))
    for file, form in FORMATS.items():
        cells = [[row.get(name) for name in names] for row in rows]
        if file.endswith(".csv"):  # which may be opened in a spreadsheet
            cells = [[neutral(cell) if isinstance(cell, str) else cell for cell in row] for row in cells]
        texts = [
            [
                str(cell) if kind == "VARCHAR" and cell is not None else cell
                for cell, kind in zip(row, types, strict=True)
            ]
            for row in cells
        ]
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE results ({columns})")
            connection.executemany(f"INSERT INTO results VALUES ({', '.join('?' * len(names))})", texts)
            write_whole(folder / file, partial(_copy, connection, form))


def _copy(connection: Any, form: str, path: Path) -> None:
    import duckdb

    try:
        connection.execute(f"COPY results TO {literal(str(path))} ({form})")
    except duckdb.IOException as error:
        raise from_system(str(error)) from None


def _type(values: list[Any]) -> str:
    """The type of a column, as the engine calls it."""
    kinds = {type(value) for value in values if value is not None}
    for name, allowed in (("BOOLEAN", {bool}), ("BIGINT", {int}), ("DOUBLE", {int, float})):
        if kinds and kinds <= allowed:
            return name
    return "VARCHAR"
