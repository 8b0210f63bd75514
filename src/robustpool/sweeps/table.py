"""Rows of different cells as one table, in CSV and in Parquet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..files import write_whole
from ..tables.engine import literal
from ..tables.records import neutral

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = {"results.csv": "FORMAT csv", "results.parquet": "FORMAT parquet"}


def write_table(rows: list[dict[str, Any]], folder: Path) -> None:
    """Write the rows into a folder; a column that only some rows have is empty in the others."""
    import duckdb

    names = list(dict.fromkeys(name for row in rows for name in row))
    last = [name for name in ("status", "lower", "upper", "gap", "value", "regret") if name in names]
    ends = [name for name in ("seconds", "error") if name in names]
    numbers = [name for name in names if name not in (*last, *ends)]
    names = [*numbers, *last, *ends]
    types = [_type([row.get(name) for row in rows]) for name in names]
    with duckdb.connect() as connection:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(names, types, strict=True))
        connection.execute(f"CREATE TABLE results ({columns})")
        places = ", ".join("?" * len(names))
        cells = [[_cell(row.get(name), kind) for name, kind in zip(names, types, strict=True)] for row in rows]
        connection.executemany(f"INSERT INTO results VALUES ({places})", cells)
        for name, form in FORMATS.items():
            write_whole(folder / name, partial(_copy, connection, form))


def _copy(connection: Any, form: str, path: Path) -> None:
    connection.execute(f"COPY results TO {literal(str(path))} ({form})")


def _type(values: list[Any]) -> str:
    """The type of a column, as the engine calls it."""
    kinds = {type(value) for value in values if value is not None}
    for name, allowed in (("BOOLEAN", {bool}), ("BIGINT", {int}), ("DOUBLE", {int, float})):
        if kinds and kinds <= allowed:
            return name
    return "VARCHAR"


def _cell(value: Any, kind: str) -> Any:
    return neutral(str(value)) if value is not None and kind == "VARCHAR" else value
