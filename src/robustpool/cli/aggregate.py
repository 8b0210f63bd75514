"""``robustpool aggregate``: combine a few numbers and explain the forecast, or combine a table of forecasts."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ..errors import InputError
from .aggregate_file import FileOptions, looks_like_file, pooled_file
from .command import check_report, command
from .output import Answer
from .pooling import Asked, explained, pooled


@command
def aggregate(
    *,
    context: typer.Context,
    reports: Annotated[
        list[str] | None,
        Argument(
            help="The forecasters' probabilities, such as 0.7 0.6 or 70% 60%, or one file; - is standard input.",
            show_default=False,
        ),
    ] = None,
    rule: Annotated[
        str, Option("--rule", "-r", help="A rule (see `robustpool rules`), a design file or a fitted pool.")
    ] = "robust",
    clip: Annotated[
        float | None,
        Option(
            help="Clip probabilities to [CLIP, 1 - CLIP] first, for rules in which a 0 or 1 decides; 0 turns this off.",
            show_default="0.01",
        ),
    ] = None,
    explain: Annotated[
        bool, Option("--explain", help="Explain the forecast: other rules, the base rate and the assumptions.")
    ] = False,
    prior_range: Annotated[
        tuple[float, float] | None,
        Option(metavar="LO HI", help="With --explain: the base rate is between LO and HI.", show_default=False),
    ] = None,
    public_evidence: Annotated[
        bool, Option("--public-evidence", help="With --explain: all of them saw the same public evidence.")
    ] = False,
    knows_all: Annotated[
        str | None,
        Option(metavar="K", help="With --explain: report K knows all that the others know; unknown: one of them does."),
    ] = None,
    slope: Annotated[
        float | None, Option(help="With --explain: they are over-confident; multiply log-odds by SLOPE below 1.")
    ] = None,
    weights: Annotated[
        str | None, Option(metavar="W,W,...", help="With --explain: how much each report counts.")
    ] = None,
    names: Annotated[str | None, Option(metavar="A,B,...", help="With --explain: the forecasters' names.")] = None,
    report: Annotated[
        str | None, Option(metavar="FILE.html", help="With --explain: also write the reasons as one HTML page.")
    ] = None,
    files: FileOptions,
) -> Answer:
    """Combine probabilities for one event into one forecast, or a table into one forecast per question.

    Percentages such as 70% and fractions such as 1/3 are allowed. If the reports of a design are vectors (more than two
    states, or higher-order reports), write each with commas; if they are decisions, write the name of the state.

    --explain adds the reasons: the forecasts of the other rules, the base rate that the forecast implies, and its
    worst-case regret if the private evidence is independent. --prior-range LO HI adds the effect of knowing that the
    base rate, after any public evidence, lies in that range. --report FILE.html writes the same as the page of `robustpool serve`
    saves: the forecast with what is known, the worst world for these numbers, and the reason to repeat.

    A file is CSV (comma, semicolon or tab; gzipped or not), Parquet or Excel: long, with the columns question_id,
    forecaster_id, probability and perhaps outcome, timestamp, weight, cluster and option, or wide, with one column for each
    forecaster, or for each forecaster and option. If a forecaster answers a question several times, the last answer counts. Rows that cannot be used are left
    out and reported on standard error; if they are more than half, there is no forecast, and the exit status is 1.

    \b
    Examples:
      robustpool aggregate 0.7 0.6
      robustpool aggregate 70% 60% --explain
      robustpool aggregate 0.7 0.6 --explain --prior-range 0.05 0.2
      robustpool aggregate 0.7 0.6 --explain --names Ann,Bob --slope 0.8 --report forecast.html
      robustpool aggregate 0.7 0.6 0.8 --rule extremized-odds:d=1.5
      robustpool aggregate 0.5 0.5 --rule weather.json
      robustpool aggregate forecasts.csv -o pooled.csv
      robustpool aggregate forecasts.csv --percent --column probability=p --half-life 30 -o pooled.parquet
      robustpool aggregate matches.csv --odds decimal --options H,D,A --column question_id=Date,Home,Away --rejects bad.csv
      robustpool aggregate semicolons.csv --decimal , --date-format d/m/Y
      robustpool aggregate survey_fcasts.csv --outcomes ifps.csv
    """
    _refuse_options(reports or [], context)
    if not reports:
        raise InputError(
            "aggregate needs something to combine; give some probabilities, or one file: "
            "`robustpool aggregate 0.7 0.6` or `robustpool aggregate forecasts.csv`."
        )
    if files.out == Path("-"):
        files = replace(files, out=None)
    asked = Asked(prior_range, public_evidence, knows_all, slope, weights, names, report)
    if any(map(looks_like_file, reports)) or (len(reports) == 1 and Path(reports[0]).is_dir()):
        if explain or asked.given() is not None:
            raise InputError(f"--explain is for the numbers of one event; {reports[0]!r} is a file.")
        if len(reports) > 1:
            raise InputError(f"aggregate takes numbers or one file; the arguments are {' '.join(reports)!r}.")
        return pooled_file(reports[0], rule, clip, files, as_json=context.params["as_json"])
    if (option := files.given()) is not None:
        raise InputError(f"{option} needs a file; {reports[0]!r} is not a file.")
    if explain:
        if report is not None:
            check_report(report)
        return explained(reports, rule, clip, asked)
    if (option := replace(asked, prior_range=None).given()) is not None:
        raise InputError(f"{option} needs --explain.")
    if prior_range is not None:
        low, high = prior_range
        raise InputError(
            "--prior-range needs --explain and does not change the forecast; to design a rule for that range, run "
            f"`robustpool design --prior-range {low:g} {high:g} --nature continuous`, then pass --rule design.json."
        )
    return pooled(reports, rule, clip)


def _refuse_options(words: list[str], context: typer.Context) -> None:
    """Reject words that look like options but are unknown; -0.1 and -5% are numbers, and - is standard input."""
    for word in words:
        if word.startswith("-") and word.lstrip("-")[:1].isalpha():
            name = word.partition("=")[0]
            options = [option for each in context.command.params for option in each.opts if option.startswith("-")]
            near = get_close_matches(name, options, n=1)
            hint = f"did you mean {near[0]}?" if near else "`robustpool aggregate --help` lists them."
            raise InputError(f"there is no option {name!r}; {hint}")
