"""``robustpool reproduce``: the paper's table and figures."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from .command import command
from .output import Answer
from .progress import share_bar


@command
def reproduce(
    what: Annotated[str, Argument(help="table1, figures or all.")] = "all",
    out: Annotated[str, Option("--out", "-o", help="The folder to write to.")] = "reproduction",
    quick: Annotated[
        bool, Option("--quick", help="Fewer rounds of Algorithm 1 and coarser grids: some minutes.")
    ] = False,
) -> Answer:
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
    from ..reproduction.view import as_data, as_lines

    with share_bar(patience=0.0) as tell:
        result = run(what, out, settings=QUICK if quick else FULL, tell=tell)
    return Answer(as_data(result) | {"output": out}, as_lines(result), result.finished)
