"""One forecast per question: the record that pooling a table gives, and how it is written."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..files import write_whole
from ..processes import own_folder
from ..wording import counted
from .engine import MEGABYTES, from_system, literal, no_folder
from .records import FORMULA, RowsLeftOut, Tally
from .sources import PARQUET_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..typing import FilePath, Floats, Integers


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
    forecasts: Floats  # (questions,), or with options (questions, K), NaN beyond one's own
    answers: Integers  # (questions,): how many answers each forecast is made of
    outcome: Floats  # (questions,): 0, 1 (with options: the number of one), or NaN where it is not known
    forecasters: int  # how many there are in the whole table
    rejected: RowsLeftOut = field(default_factory=RowsLeftOut)
    tally: Tally = field(default_factory=Tally)
    contradictions: int = 0  # questions with both a 0 and a 1
    unfit: int = 0  # questions with another number of answers than the rule is for
    question_type: np.dtype[Any] | None = None  # of the names in the source, if they were whole numbers there
    clipped: int = 0  # answers that were clipped to [clip, 1 - clip]
    options: Sequence[tuple[str, ...]] | None = None  # (questions,): the names of each one's options; None: yes and no

    def __repr__(self) -> str:
        """How many there are of everything, in a line."""
        return (
            f"PooledTable({counted(len(self.questions), 'question')}, {counted(self.forecasters, 'forecaster')}, "
            f"{counted(int(self.answers.sum()), 'answer')})"
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table by columns, None for NaN; with the outcomes, if any is known."""
        columns = {name: column.tolist() for name, column in self.arrays().items()}
        columns["forecast"] = [None if math.isnan(value) else value for value in columns["forecast"]]
        if "outcome" in columns:
            columns["outcome"] = [None if math.isnan(value) else int(value) for value in columns["outcome"]]
        return columns

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The table by columns, NaN where there is no number; with options a line for each, 1 for the one that came true."""
        names = np.array(self.questions, dtype=object if self.question_type is None else self.question_type)
        if self.options is None:
            columns = {"question_id": names, "forecast": self.forecasts, "forecasters": self.answers}
            return columns if np.isnan(self.outcome).all() else {**columns, "outcome": self.outcome}
        sizes = np.fromiter(map(len, self.options), np.int64, len(self.options))
        line = np.repeat(np.arange(len(sizes)), sizes)
        option = np.arange(len(line)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = {
            "question_id": names[line],
            "option": np.array([name for each in self.options for name in each], dtype=object),
            "forecast": self.forecasts[line, option],
            "forecasters": self.answers[line],
        }
        if np.isnan(self.outcome).all():
            return columns
        return {**columns, "outcome": np.where(np.isnan(self.outcome[line]), np.nan, self.outcome[line] == option)}

    def frame(self, backend: str = "pandas") -> Any:
        """A data frame of pandas, polars or pyarrow; question ids that were whole numbers are whole numbers again, for joins.

        >>> pooled = PooledTable(["rain"], np.array([0.75]), np.array([2]), np.array([1.0]), forecasters=2)
        >>> pooled.frame("polars").rows()
        [('rain', 0.75, 2, 1)]
        """
        columns: dict[str, Any] = self.columns()
        if self.question_type is not None:
            columns["question_id"] = self.arrays()["question_id"]
        try:
            library = import_module(backend)
            return library.table(columns) if backend == "pyarrow" else library.DataFrame(columns)
        except (ImportError, ValueError, AttributeError, TypeError) as error:
            raise InputError(f"a data frame of {backend!r} cannot be made ({error}).") from None

    def write(self, path: FilePath) -> None:
        """Write the table, whole or not at all: as Parquet if the name ends so, else as CSV (with tabs for .tsv).

        In CSV a missing number is empty, and a name that a spreadsheet would read as a formula begins with '.
        """
        suffix = suffix_of(path)
        write_whole(path, lambda partial: self._copy(partial, suffix))

    def write_text(self, file: IO[str]) -> None:
        """Write the table as CSV to an open file."""
        with own_folder() as folder:
            try:
                self._copy(folder / "pooled.csv", ".csv")
            except OSError as error:
                raise no_folder("forecasts as text need", error) from None
            with (folder / "pooled.csv").open(encoding="utf-8", newline="") as written:
                shutil.copyfileobj(written, file)

    def _copy(self, path: Path, suffix: str) -> None:
        import duckdb

        arrays = self.arrays()
        parquet = suffix in PARQUET_SUFFIXES
        delimiter = "\t" if suffix == ".tsv" else ","
        form = "FORMAT parquet" if parquet else f"FORMAT csv, DELIMITER '{delimiter}'"
        form += ", USE_TMP_FILE false"  # the path is that of a temporary file already
        columns = [_written(name, column, neutral=not parquet) for name, column in arrays.items()]
        with duckdb.connect(config={"memory_limit": f"{4 * MEGABYTES}MB"}) as connection:
            connection.register("pooled", arrays)
            try:
                connection.execute(f"COPY (SELECT {', '.join(columns)} FROM pooled) TO {literal(str(path))} ({form})")
            except duckdb.IOException as error:
                raise from_system(str(error)) from None


def _written(name: str, column: NDArray[Any], *, neutral: bool) -> str:
    """A column in SQL as it is written."""
    if column.dtype.kind == "f":
        return f"CASE WHEN NOT isnan({name}) THEN {name}{'::BIGINT' if name == 'outcome' else ''} END AS {name}"
    if column.dtype == object and neutral:
        begins = f"regexp_matches({name}, {literal('^' + FORMULA.pattern)})"
        return f"CASE WHEN {begins} THEN chr(39) || {name} ELSE {name} END AS {name}"
    return name


def suffix_of(path: FilePath) -> str:
    """How the name of an output ends, if that is something that can be written.

    >>> suffix_of("pooled.CSV")
    '.csv'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ("", ".csv", ".tsv", ".txt", *PARQUET_SUFFIXES):
        raise InputError(f"the output must end in .csv, .tsv or .parquet; it is {os.fspath(path)!r}.")
    return suffix
