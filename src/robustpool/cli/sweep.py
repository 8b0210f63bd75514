"""``robustpool sweep``: many designs, worst cases or certificates from one file of settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from .command import command
from .output import Answer
from .progress import progress_bar
from .running import RunningOptions  # noqa: TC001  # typer looks at the types

if TYPE_CHECKING:
    from ..sweeps.run import Sweep


@command
def sweep(
    *,
    settings: Annotated[str, Argument(metavar="SETTINGS.toml", help="The file of settings.", show_default=False)],
    out: Annotated[str, Option("--out", "-o", help="The folder to write to.")] = "sweep",
    resume: Annotated[bool, Option("--resume", help="Keep the cells of the folder that are done.")] = False,
    running: RunningOptions,
) -> Answer:
    """Make many designs, worst cases or certificates: every combination of lists of options.

    In the folder: results.csv and results.parquet, with a row for each cell, and cells/ with the files of each. A cell
    that fails is recorded with its sentence, and the others go on. Ctrl-C keeps the cells that are done; --resume does
    the others. Exit status 1: some cells failed, or the sweep was stopped.

    \b
    A file of settings:
      kind = "design"                # or "worst-case" or "certify": the options are those of the command
      [settings]                     # the same in all cells
      reports = 10
      [[grid]]                       # every combination of these lists; there may be several grids
      agents = [2, 3]
      prior_range = [[0, 1], [0.1, 0.5]]
      [[cells]]                      # a cell of its own
      agents = 5

    \b
    Examples:
      robustpool sweep settings.toml --out curves
      robustpool sweep settings.toml --out curves --resume --workers 2
      robustpool sweep settings.toml --cluster tcp://10.0.0.1:8786
    """
    from ..sweeps.run import sweep as run
    from ..sweeps.view import as_data, as_lines

    texts = ("{task.completed:,} of {task.total:,} cells", "{task.fields[last]}")
    with progress_bar(*texts, remaining=True, total=1, last="") as show:

        def tell(state: Sweep, line: str) -> None:
            ended, of = len(state.outcomes), len(state.cells)
            show(f"{ended:,} of {of:,} cells: {line}", completed=ended, total=of, last=line[:60])

        with running.in_use():
            result = run(settings, out, resume=resume, tell=tell)
    return Answer(as_data(result), as_lines(result), result.finished and not result.failed)
