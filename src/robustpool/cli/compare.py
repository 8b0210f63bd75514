"""``robustpool compare``: score the rules on forecasts with outcomes, and say which one to use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..practice.comparing import ScoringOptions, compare_table
from .command import check_report, command
from .output import Answer
from .progress import share_bar
from .tables import TableOptions, tell


@dataclass(frozen=True)
class Scoring(ScoringOptions):
    """What is scored and how, as options of a command."""

    clip: Annotated[
        float | None,
        Option(
            min=0,
            max=0.49,
            help="Clip probabilities to [CLIP, 1 - CLIP] for rules in which a 0 or 1 decides, as in aggregate.",
            show_default="0.01",
        ),
    ] = None
    pairs: Annotated[
        int | None,
        Option(min=1, metavar="K", help="Score up to K random pairs per question.", show_default="all answers"),
    ] = None
    rules: Annotated[
        list[str] | None, Option("--rule", "-r", help="A rule to score; may be repeated.", show_default="all rules")
    ] = None
    reference: Annotated[str, Option(help="The rule that the others are compared with.")] = "mean"
    fit: Annotated[
        bool, Option("--fit/--no-fit", help="Also fit a pool to the data and score it on unseen questions.")
    ] = True
    rolling: Annotated[
        bool, Option("--rolling", help="Fit as a platform lives: learn on the past, score the next month.")
    ] = False
    recalibrate: Annotated[
        str, Option(help="none, auto, slope, platt or isotonic: also score the rules on recalibrated answers.")
    ] = "none"
    per_forecaster: Annotated[bool, Option("--per-forecaster", help="Recalibrate each forecaster separately.")] = False
    draws: Annotated[int, Option(min=100, help="Bootstrap draws.")] = 2000
    seed: Annotated[int, Option(min=0, help="Seed of the pairs, the draws and the folds.")] = 0


@command
def compare(
    *,
    file: Annotated[str, Argument(metavar="FILE", help="A table of forecasts with outcomes: CSV, Parquet or Excel.")],
    scoring: Scoring,
    cluster: Annotated[
        str | None, Option(metavar="COLUMN", help="Column that groups questions that depend on each other.")
    ] = None,
    files: TableOptions,
    report: Annotated[str | None, Option(metavar="FILE.html", help="Also write an HTML report.")] = None,
) -> Answer:
    """Score every rule on forecasts whose outcomes are known, and say which one to use.

    The table has a row for each answer (question_id, forecaster_id, probability, outcome) or one for each question with
    a column for each forecaster. Brier scores are means over questions. The intervals are 95 % bootstrap intervals over
    questions, or over clusters of them. Rows that cannot be used are left out and summarised on standard error; if they
    are more than half, nothing is compared, and the exit status is 1.

    \b
    Examples:
      robustpool compare forecasts.csv
      robustpool compare forecasts.csv --report forecasts.html
      robustpool compare forecasts.csv --pairs 2000 --rule mean --rule robust
      robustpool compare forecasts.csv --column probability=p --column outcome=resolution --percent
      robustpool compare forecasts.csv --cluster topic --json
      robustpool compare forecasts.csv --rolling --column resolved=closed_on
      robustpool compare matches.csv --odds decimal --options H,D,A --column question_id=Date,Home,Away --rejects bad.csv
      robustpool compare survey_fcasts.csv --outcomes ifps.csv --date-format d/m/y
    """
    from ..practice.reading import left_out, read_table
    from ..tables.rejecting import why_no_answer
    from ..views.comparison import as_lines
    from ..views.terminal import terminal_width

    if report is not None:
        check_report(report)
    files = files.with_cluster(cluster)
    how = files.reading()
    files.check(file, None if report is None else Path(report))
    with files.writing_rejects(), share_bar() as bar:
        table = read_table(file, how, files.rejects, bar)
    if why_no_answer(table.rejected, table.tally, len(table.questions)) is not None:
        tell(table.rejected, table.tally, len(table.questions))
        return Answer({**left_out(table.rejected, files.rejects), "output": None}, [], yes=False)
    with share_bar() as bar:
        compared = compare_table(table, scoring, files, file=file, rejects=files.rejects, report=report, progress=bar)
    tell(table.rejected, table.tally, len(table.questions))
    lines = as_lines(compared.named, terminal_width())
    if report is not None:
        from ..views.comparison_page import write_comparison

        title = f"Rules compared on {Path(file).name}"
        # The page is for others, whose file lies elsewhere.
        write_comparison(compared.comparison, report, title=title, rejected=table.rejected.total)
        lines.append(f"The report is in {report}")
    return Answer(compared.data, lines)
