"""How a table is read, and what is said of the rows that were left out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ..tables.records import ForecastTable, RowsLeftOut, Tally

    Progress = Callable[[str, float], None]
    """Is told what is done, and how far it is, from 0 to 1."""

READING = ("layout", "format", "odds", "options", "decimal", "date_format", "outcomes", "percent", "strict")


@dataclass(frozen=True)
class ReadingOptions:
    """How a table is read, as users say it."""

    percent: bool = False
    strict: bool = False
    layout: str = "auto"
    format: str = "auto"
    column: list[str] | None = None  # ROLE=NAME
    odds: str | None = None
    options: str | None = None  # with commas
    decimal: str = "."
    date_format: str | None = None
    outcomes: Any = None

    def reading(self) -> dict[str, Any]:
        """As `read_forecasts` takes it."""
        values = {name: getattr(self, name) for name in READING}
        options = None if self.options is None else self.options.split(",")
        return {**values, "columns": named_columns(self.column or []), "options": options}

    def repeated(self) -> dict[str, Any]:
        """As another command takes it, by the names of the options."""
        values = {name.replace("_", "-"): getattr(self, name) for name in READING}
        return {"column": named_columns(self.column or []), **values}

    def with_cluster(self, column: str | None) -> Self:
        """The same with a column that groups questions."""
        return self if column is None else replace(self, column=[*(self.column or []), f"cluster={column}"])


def named_columns(texts: Iterable[str]) -> dict[str, str]:
    """The columns that the user named, ``role=name`` each.

    >>> named_columns(["probability=p", "outcome=result"])
    {'probability': 'p', 'outcome': 'result'}
    """
    columns: dict[str, str] = {}
    for text in texts:
        role, equals, name = text.partition("=")
        if not (role and equals and name):
            raise InputError(f"--column must be written as role=name, such as probability=p; it is {text!r}.")
        if columns.get(role, name) != name:
            raise InputError(f"a role must be given once; {role} is {columns[role]!r} and {name!r}.")
        columns[role] = name
    return columns


def read_table(source: Any, how: dict[str, Any], rejects: Path | None, progress: Progress) -> ForecastTable:
    """Read forecasts, and write the rows that were left out to ``rejects``, if that is wanted."""
    from ..tables.reading import read_forecasts

    with writing_rejects(rejects):
        table = read_forecasts(source, **how, progress=lambda done, size: progress("reading", done / max(size, 1)))
    write_rejects(table.rejected, rejects)
    return table


@contextmanager
def writing_rejects(rejects: Path | None) -> Iterator[None]:
    """Write the rejected rows even if no row is left."""
    from ..tables.rejecting import RejectedError

    try:
        yield
    except RejectedError as error:
        write_rejects(error.rejected, rejects)
        raise


def write_rejects(rejected: RowsLeftOut, rejects: Path | None) -> None:
    """Write all rows that were left out, if that is wanted."""
    if rejects is not None:
        rejected.write(rejects)


def left_out(rejected: RowsLeftOut, rejects: object) -> dict[str, Any]:
    """The rows that were left out as data, and the file that has all of them, if there is one."""
    from ..views.tables import rejected_data

    return {"rejected": rejected_data(rejected), "rejects": None if rejects is None else str(rejects)}


def remarks(rejected: RowsLeftOut, tally: Tally, questions: int) -> tuple[str | None, list[str]]:
    """Why there should be no forecast, or None; and sentences on all that was not used, that reason first."""
    from ..tables.rejecting import summary_lines, why_no_answer

    reason = why_no_answer(rejected, tally, questions)
    lines = summary_lines(rejected, tally)
    if reason is not None:
        lines = [reason, *(line for line in lines if line not in reason)]
    return reason, lines
