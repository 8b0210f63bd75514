"""``robustpool fit``: learn a pool from forecasts with outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from .command import check_report, command
from .output import Answer
from .progress import share_bar
from .tables import TableOptions, tell


@command
def fit(
    *,
    file: Annotated[str, Argument(metavar="FILE", help="A table of forecasts with outcomes: CSV, Parquet or Excel.")],
    out: Annotated[Path, Option("--out", "-o", metavar="POOL.json", help="Where to write the pool.")],
    as_of: Annotated[
        str | None,
        Option(metavar="TIME", help="Learn only from questions resolved up to TIME; a date includes its day, in UTC."),
    ] = None,
    clip: Annotated[
        float | None,
        Option(
            min=0, max=0.49, help="Clip probabilities to [CLIP, 1 - CLIP] before taking log-odds.", show_default="0.01"
        ),
    ] = None,
    rolling: Annotated[
        bool, Option("--rolling", help="Estimate the gain month by month: learn on the past, score the next month.")
    ] = False,
    draws: Annotated[int, Option(min=100, help="Bootstrap draws.")] = 2000,
    seed: Annotated[int, Option(min=0, help="Seed of the folds and the draws.")] = 0,
    cluster: Annotated[
        str | None, Option(metavar="COLUMN", help="Column that groups questions that depend on each other.")
    ] = None,
    files: TableOptions,
    report: Annotated[str | None, Option(metavar="FILE.html", help="Also write an HTML report.")] = None,
) -> Answer:
    """Learn a pool from forecasts whose outcomes are known, and say what it gains over the mean.

    The answers are pooled first and recalibrated afterwards; forecasters may be weighted by their track record. What is learned is
    pulled towards no change, and the simplest pool that does about as well as the best is chosen. The gain is measured on
    questions that the pool had not seen, with a 95 % interval; if that holds 0, the pool is not called better.

    With a column timestamp or resolved the pool is fitted to the past and scored on what came after; if that cannot be done,
    it is not called better. Then combine new
    answers with `robustpool aggregate NEW.csv --rule POOL.json`.

    \b
    Examples:
      robustpool fit forecasts.csv --out pool.json
      robustpool fit forecasts.csv --out pool.json --report pool.html
      robustpool fit forecasts.csv --out pool.json --as-of 2024-06-30 --column resolved=closed_on
      robustpool aggregate new.csv --rule pool.json -o pooled.csv
    """
    from ..errors import InputError
    from ..files import check_writable
    from ..practice.fitting import FitOptions, fit_table, report_pool
    from ..practice.reading import left_out, read_table
    from ..views.pool import as_data, as_lines
    from ..views.terminal import terminal_width

    if out.suffix.lower() != ".json":
        raise InputError(f"--out must name a JSON file; it is {str(out)!r}.")
    check_writable(out)
    if report is not None:
        check_report(report)
    files = files.with_cluster(cluster)
    how = files.reading()
    files.check(file, out, None if report is None else Path(report))
    with files.writing_rejects(), share_bar() as bar:
        table = read_table(file, how, files.rejects, bar)
    not_used = left_out(table.rejected, files.rejects)
    if tell(table.rejected, table.tally, len(table.questions)):
        return Answer({**not_used, "output": None}, [], yes=False)
    with share_bar() as bar:
        pool = fit_table(table, FitOptions(as_of, clip, rolling, draws, seed), out, bar)
    use = f"use it with robustpool aggregate NEW.csv --rule {out}" if pool.recommended else "it is not recommended yet"
    lines = [*as_lines(pool, terminal_width()), f"The pool is in {out}; {use}"]
    worst = None
    if report is not None:
        worst = report_pool(pool, report, Path(file).name)
        lines.append(f"The report is in {report}")
    return Answer({**as_data(pool, str(out), worst), **not_used, "report": report}, lines)
