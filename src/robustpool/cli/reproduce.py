"""``robustpool reproduce``: the paper's table and figures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..wording import between
from .progress import share_bar
from .render import JsonFlag, show


def reproduce(
    what: Annotated[str, typer.Argument(help="table1, figures or all.")] = "all",
    out: Annotated[str, typer.Option("--out", "-o", help="The folder to write to.")] = "reproduction",
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rounds of Algorithm 1 and coarser grids: some minutes.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Recompute the paper's Table 1 and its figures, prove the bounds, and write a report.

    In the folder: report.html, which needs nothing else; table1.csv; figures/ as PNG and PDF, each with the numbers that it is
    drawn from as NPZ; designs/; certificates/, each of which `robustpool verify FILE` checks. Ctrl-C keeps what was reached; exit status
    1 then says that not all is there. Full size takes seven to eight minutes on two cores, --quick three to four.

    \b
    Examples:
      robustpool reproduce all --out reproduction
      robustpool reproduce table1 --quick
      robustpool reproduce figures --out figures --json
    """
    from ..reproduction.run import reproduce as run
    from ..reproduction.settings import FULL, QUICK

    with share_bar(patience=0.0) as tell:
        result = run(what, out, settings=QUICK if quick else FULL, tell=tell)
    judged = result.claims
    data: dict[str, Any] = {
        "output": out,
        "report": str(result.report),
        "finished": result.finished,
        "seconds": result.seconds,
        "table": [{**asdict(row), "agrees": row.agrees} for row in result.rows],
        "figures": sorted(result.pictures),
        "claims": [asdict(claim) for claim in judged],
    }
    lines = [
        f"{row.name:<15} {_published(row.published)}  {between(row.lower, row.upper, 9)} (proved)"
        for row in result.rows
    ]
    differ = [claim for claim in judged if not claim.agrees]
    lines += [f"differs from the paper: {claim.paper}; {claim.ours}." for claim in differ]
    lines.append(
        f"{len(result.pictures)} figures, {len(judged) - len(differ)} of {len(judged)} claims of the paper hold, "
        f"{result.seconds:.0f} s"
    )
    if not result.finished:
        lines.append("stopped before the end; the report has what was reached")
    lines.append(f"the report is {result.report}")
    show(data, lines, as_json=as_json)
    if not result.finished:
        raise typer.Exit(1)


def _published(number: float | None) -> str:
    return "published " + ("  -   " if number is None else f"{number:.4f}")
