"""``robustpool aggregate FILE``: combine a table of forecasts into one forecast per question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from ..errors import InputError
from ..practice.pooling import PoolingOptions, clipping, pool_table
from ..practice.reading import write_rejects
from ..wording import counted
from .output import Answer, say
from .pooling import NUMERALS, warnings_on_standard_error
from .progress import share_bar
from .tables import TableOptions, tell

SUFFIXES = {".csv", ".tsv", ".tab", ".txt", ".gz", ".parquet", ".pq", ".xlsx", ".xls"}
"""Arguments with these endings are files; the content decides the format."""


@dataclass(frozen=True)
class FileOptions(TableOptions):
    """The options that go with a file and not with numbers."""

    out: Annotated[
        Path | None,
        Option("--out", "-o", help="With a file: the output file, .csv or .parquet, or - for standard output."),
    ] = None
    half_life: Annotated[
        float | None,
        Option(
            metavar="DAYS",
            help="With a file: an answer DAYS older than the newest counts half; one without a timestamp is left out.",
        ),
    ] = None
    as_of: Annotated[
        str | None,
        Option(
            metavar="TIME", help="With a file: use answers up to TIME; a date without a time includes its day, in UTC."
        ),
    ] = None
    recalibrate: Annotated[
        str | None, Option(help="With a file that has outcomes: recalibrate first, by slope, platt or isotonic.")
    ] = None
    per_forecaster: Annotated[bool, Option("--per-forecaster", help="With --recalibrate: one fit per forecaster.")] = (
        False
    )


def looks_like_file(text: str) -> bool:
    """Whether an argument is meant as a file and not as a number; ``-`` is standard input.

    What can be read as a number is one, whichever files lie in the folder: a file 0.7 is ./0.7.

    >>> looks_like_file("forecasts.csv"), looks_like_file("./0.7"), looks_like_file("0.7"), looks_like_file("1/3")
    (True, True, False, False)
    """
    path = Path(text)
    if text in ("-", ".", "..") or text.startswith(("/", "./", "../")) or path.suffix.lower() in SUFFIXES:
        return True
    path_like = "/" in text and not text[:1].isdigit()
    return not NUMERALS.issuperset(text) and (path_like or (path.exists() and not path.is_dir()))


def pooled_file(file: str, rule: str, clip: float | None, options: FileOptions, *, as_json: bool) -> Answer:
    """Combine a file, write the result or return it as lines; what was left out goes to standard error."""
    from ..files import check_writable
    from ..forecasts import ClippedWarning
    from ..tables.pooled import suffix_of
    from ..tables.rejecting import RowsLeftOutWarning
    from ..views import tables as views

    how = options.reading()
    options.check(file, options.out)
    pooling = PoolingOptions(options.half_life, options.as_of, options.recalibrate, options.per_forecaster)
    pooling.check()
    if options.out is not None:
        if options.out.exists() and Path(file).exists() and options.out.samefile(file):
            raise InputError(f"--out must differ from the input file; both are {file!r}.")
        suffix_of(options.out)
        check_writable(options.out)
    with options.writing_rejects(), warnings_on_standard_error(RowsLeftOutWarning, ClippedWarning), share_bar() as bar:
        how["progress"] = lambda done, size: bar(f"reading {Path(file).name}", done / max(size, 1))
        pooled = pool_table(file, rule, clip, pooling, how)
    write_rejects(pooled.rejected, options.rejects)
    data = views.pooled_data(pooled, rule, output=options.out, rejects=options.rejects)
    if tell(pooled.rejected, pooled.tally, len(pooled.questions)):
        return Answer(data | {"output": None}, [], yes=False)
    if (words := clipping(rule, rule, clip, pooled, pooling)) is not None:
        say(words)
    if options.out is not None:
        pooled.write(options.out)
        return Answer(data, [f"{counted(len(pooled.questions), 'question')}: the forecasts are in {options.out}"])
    if as_json:
        return Answer(data | {"forecasts": views.forecasts_data(pooled)}, [])
    return Answer(data, [views.forecasts_text(pooled)])
