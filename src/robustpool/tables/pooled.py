"""One forecast a question: the record that pooling a table gives, and how it is written."""

from __future__ import annotations

import csv
import math
import os
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..files import write_whole
from .engine import literal
from .records import RowsLeftOut, Tally
from .sources import PARQUET_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.rows import FloatArray
    from .records import IntArray


@dataclass(frozen=True, eq=False)
class PooledTable:
    """A forecast for each question, NaN where there is none.

    >>> pooled = PooledTable(["rain"], np.array([0.75]), np.array([2]), np.array([np.nan]), forecasters=2)
    >>> pooled.columns()
    {'question_id': ['rain'], 'forecast': [0.75], 'forecasters': [2]}

    Questions with options have a line for each of them:

    >>> pooled = PooledTable(["final"], np.array([[0.75, 0.25]]), np.array([2]), np.array([0.0]), 2, options=[("win", "lose")])
    >>> pooled.columns()
    {'question_id': ['final', 'final'], 'option': ['win', 'lose'], 'forecast': [0.75, 0.25], 'forecasters': [2, 2],
     'outcome': [1, 0]}
    """

    questions: Sequence[str]
    forecasts: FloatArray  # (questions,), or with options (questions, K), NaN beyond one's own
    answers: IntArray  # (questions,): how many answers each forecast is made of
    outcome: FloatArray  # (questions,): 0, 1 (with options: the number of one), or NaN where it is not known
    forecasters: int  # how many there are in the whole table
    rejected: RowsLeftOut = field(default_factory=RowsLeftOut)
    tally: Tally = field(default_factory=Tally)
    contradictions: int = 0  # questions with both a 0 and a 1
    unfit: int = 0  # questions with another number of answers than the rule is for
    question_type: np.dtype[Any] | None = None  # of the names in the source, if they were whole numbers there
    clipped: int = 0  # answers that were brought into [clip, 1 - clip]
    options: Sequence[tuple[str, ...]] | None = None  # (questions,): the names of each one's options; None: yes and no

    def columns(self) -> dict[str, list[Any]]:
        """The table by columns, None for NaN; with the outcomes, if any is known."""
        if self.options is not None:
            return self._long_columns(self.options)
        columns: dict[str, list[Any]] = {
            "question_id": list(self.questions) if self.question_type is None else list(map(int, self.questions)),
            "forecast": _with_none(self.forecasts),
            "forecasters": self.answers.tolist(),
        }
        if not np.isnan(self.outcome).all():
            columns["outcome"] = [None if math.isnan(value) else int(value) for value in self.outcome.tolist()]
        return columns

    def _long_columns(self, options: Sequence[tuple[str, ...]]) -> dict[str, list[Any]]:
        """A line for each option of each question; the outcome is 1 for the option that came true, 0 for the others."""
        sizes = np.fromiter(map(len, options), np.int64, len(options))
        line = np.repeat(np.arange(len(options)), sizes)
        option = np.arange(len(line)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        names = list(self.questions) if self.question_type is None else list(map(int, self.questions))
        columns: dict[str, list[Any]] = {
            "question_id": [names[question] for question in line.tolist()],
            "option": [name for names in options for name in names],
            "forecast": _with_none(self.forecasts[line, option]),
            "forecasters": self.answers[line].tolist(),
        }
        if not np.isnan(self.outcome).all():
            known = ~np.isnan(self.outcome[line])
            true = self.outcome[line] == option
            columns["outcome"] = [
                int(came) if there else None for came, there in zip(true.tolist(), known.tolist(), strict=True)
            ]
        return columns

    def frame(self, backend: str = "pandas") -> Any:
        """A data frame of pandas, polars or pyarrow.

        >>> pooled = PooledTable(["rain"], np.array([0.75]), np.array([2]), np.array([1.0]), forecasters=2)
        >>> pooled.frame("polars").rows()
        [('rain', 0.75, 2, 1)]
        """
        columns = self._typed_columns()
        try:
            library = import_module(backend)
            return library.table(columns) if backend == "pyarrow" else library.DataFrame(columns)
        except (ImportError, ValueError, AttributeError, TypeError) as error:
            raise InputError(f"a data frame of {backend!r} cannot be made ({error}).") from None

    def _typed_columns(self) -> dict[str, Any]:
        """The columns of a data frame: questions that had whole numbers have them again, so that frames can be joined."""
        columns: dict[str, Any] = self.columns()
        if self.question_type is not None:
            columns["question_id"] = np.array(columns["question_id"], dtype=self.question_type)
        return columns

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table, whole or not at all: as Parquet if the name ends so, else as CSV (with tabs for .tsv)."""
        suffix = suffix_of(path)
        if suffix in PARQUET_SUFFIXES:
            write_whole(path, _parquet_writer(self))
            return

        def write_text(partial: Path) -> None:
            with partial.open("w", encoding="utf-8", newline="") as file:
                self.write_text(file, delimiter="\t" if suffix == ".tsv" else ",")

        write_whole(path, write_text)

    def write_text(self, file: IO[str], delimiter: str = ",") -> None:
        """Write the table as CSV; nothing where there is no number."""
        columns = self.columns()
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def suffix_of(path: str | os.PathLike[str]) -> str:
    """How the name of an output ends, if that is something that can be written.

    >>> suffix_of("pooled.CSV")
    '.csv'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ("", ".csv", ".tsv", ".txt", *PARQUET_SUFFIXES):
        raise InputError(f"the output must end in .csv, .tsv or .parquet; it is {os.fspath(path)!r}.")
    return suffix


def _with_none(values: FloatArray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _parquet_writer(table: PooledTable) -> Callable[[Path], object]:
    """What writes the table to a path."""
    import duckdb

    columns = {
        name: column if isinstance(column, np.ndarray) else np.array(column)
        for name, column in table._typed_columns().items()
    }

    def write(path: Path) -> None:
        with duckdb.connect() as connection:
            connection.register("pooled", columns)
            connection.execute(f"COPY (SELECT * FROM pooled) TO {literal(str(path))} (FORMAT parquet)")

    return write
