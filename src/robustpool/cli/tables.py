"""What the commands that read a table of forecasts share: how it is read, and the rows that were left out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ..errors import InputError
from ..practice.reading import ReadingOptions, remarks, writing_rejects
from .output import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..tables.records import RowsLeftOut, Tally


@dataclass(frozen=True)
class TableOptions(ReadingOptions):
    """How a file is read: the options that the commands share."""

    percent: Annotated[bool, Option("--percent", help="With a file: the probabilities are percentages.")] = False
    strict: Annotated[bool, Option("--strict", help="With a file: a row that cannot be used is an error.")] = False
    layout: Annotated[
        str, Option(help="With a file: long (one answer per row), wide (one forecaster per column) or auto.")
    ] = "auto"
    format: Annotated[
        str, Option(help="With a file: robustpool, metaculus, gjp, iqisa, hubverse, bookmakers or auto.")
    ] = "auto"
    column: Annotated[
        list[str] | None,
        Option(
            metavar="ROLE=NAME",
            help="With a file: the role of a column, as in probability=p; several can be question_id=Date,Home,Away.",
        ),
    ] = None
    odds: Annotated[
        str | None,
        Option(
            metavar="decimal",
            help="With a file: values are decimal odds, such as 2.5; with options, normalised per forecaster.",
        ),
    ] = None
    options: Annotated[
        str | None,
        Option(
            metavar="A,B,...",
            help="With a wide file: the endings of each forecaster's columns, such as H,D,A for B365H, B365D, B365A.",
            show_default="recognised",
        ),
    ] = None
    decimal: Annotated[str, Option(metavar="MARK", help="With a file: the decimal mark, such as , for 0,75.")] = "."
    date_format: Annotated[
        str | None,
        Option(
            metavar="CODES",
            help="With a file: the format of its times, such as %d/%m/%Y or d/m/Y.",
            show_default="ISO 8601",
        ),
    ] = None
    outcomes: Annotated[str | None, Option(metavar="FILE", help="With a file: another file that has the outcomes.")] = (
        None
    )
    rejects: Annotated[
        Path | None,
        Option(metavar="FILE.csv", help="With a file: write all rows that were left out, with line and reason."),
    ] = None

    def given(self) -> str | None:
        """The first of the options that was given, as the user writes it."""
        changed = [each.name for each in fields(self) if getattr(self, each.name) not in (each.default, [])]
        return f"--{changed[0].replace('_', '-')}" if changed else None

    def check(self, file: str, *others: Path | None) -> None:
        """Check before anything is read that the rejected rows can be written, and overwrite no other file."""
        from ..files import check_writable

        if self.rejects is None:
            return
        if self.rejects.suffix.lower() not in ("", ".csv", ".txt"):
            raise InputError(f"--rejects must name a CSV file; it is {str(self.rejects)!r}.")
        used = [Path(file), *(Path(other) for other in (self.outcomes, *others) if other is not None)]
        if any(path.resolve() == self.rejects.resolve() for path in used):
            raise InputError(f"--rejects must differ from the other files; {str(self.rejects)!r} is one of them.")
        check_writable(self.rejects)

    @contextmanager
    def writing_rejects(self) -> Iterator[None]:
        """Write the rejected rows even if no row is left; the exit status is then 1, as if most were rejected."""
        from ..tables.rejecting import RejectedError, remedy

        try:
            with writing_rejects(self.rejects):
                yield
        except RejectedError as error:
            if self.strict:
                raise
            say(f"{error}{remedy(error.rejected)}")
            raise typer.Exit(1) from None


def tell(rejected: RowsLeftOut, tally: Tally, questions: int) -> bool:
    """Report on standard error what was not used; True if it is too much for a forecast, and the reason comes first."""
    reason, lines = remarks(rejected, tally, questions)
    for line in lines:
        say(line)
    return reason is not None
