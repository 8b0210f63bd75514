"""``robustpool table``: the minimax table, shown, written as a page, and computed again."""

from __future__ import annotations

import io
import json
import shlex
import signal
import threading
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

from typer import Abort, Exit, Option

from ..processes import own_folder
from .command import command
from .output import Answer, say
from .progress import share_bar

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from ..minimax.rows import Row

SETTING = (
    "Only the rows of one setting: independent, unanimous, known-base-rate, prior-range, log-loss, neglect, identical, "
    "arbitrary-correlation, contaminated, common-source, several-outcomes, second-question, partial-information."
)


@command
def table(
    *,
    setting: Annotated[str | None, Option(help=SETTING, show_default="all")] = None,
    row: Annotated[str | None, Option(metavar="NAME", help="Only this row.", show_default="all")] = None,
    recompute: Annotated[bool, Option("--recompute", help="Run the commands again, and verify the proofs.")] = False,
    slow: Annotated[bool, Option("--slow", help="With --recompute: also rows that take minutes.")] = False,
    save: Annotated[
        bool, Option("--save", help="With --recompute: put the new bounds and certificates on record.")
    ] = False,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE.md", help="Write the table as a page.")] = None,
) -> Answer:
    """Show the smallest worst-case regret that is possible in each setting: bounds, the best rule, what was published.

    Lower bounds hold for every rule, upper bounds for the rule of the row. Proved bounds come from certificates or theorems,
    found ones from a search. Each row has the commands that compute it. With --recompute they run, certificates are
    verified, and exit status 1 means that a bound differs from that on record. Ctrl-C keeps the rows done so far, if there
    are any, and the exit status is then 1 too.

    \b
    Examples:
      robustpool table
      robustpool table --setting prior-range --json
      robustpool table --recompute --row independent-3
    """
    from ..errors import InputError
    from ..minimax.rows import minimax_rows
    from ..views import minimax_table as view

    rows = minimax_rows(setting)
    if row is not None:
        rows = [each for each in rows if each.name == row]
        if not rows:
            known = "a row" if setting is None else f"a row of the setting {setting}"
            where = "robustpool table" + ("" if setting is None else f" --setting {setting}")
            raise InputError(f"--row must be the name of {known} (see `{where}`); it is {row!r}.")
    if (slow or save) and not recompute:
        raise InputError("--slow and --save are for --recompute, which was not given.")
    if out is not None:
        view.write_page(rows, out)
    if not recompute:
        return Answer(view.as_data(rows, output=out), view.as_lines(rows, output=out))
    chosen = [each for each in rows if each.minutes is None or slow or row is not None]
    done, finished = _recompute(chosen, save=save)
    right = view.agree(done, rows)
    return Answer(
        view.as_data(done, record=rows, output=out), view.as_lines(done, record=rows, output=out), right and finished
    )


def _recompute(rows: list[Row], *, save: bool) -> tuple[list[Row], bool]:
    """The rows computed again, and whether it was all of them."""
    from ..minimax.proofs import save_certificate
    from ..minimax.recompute import recompute, save_record
    from ..wording import counted

    done: list[Row] = []
    with share_bar() as tell, noticing_ctrl_c() as stopped, own_folder() as folder:

        def run(text: str) -> dict[str, Any]:
            tell(f"row {len(done) + 1} of {len(rows)}: robustpool {text}", len(done) / len(rows))
            try:
                return run_command(text, folder)
            finally:
                if stopped():  # what was reached by then is no result for the table, and no error
                    raise KeyboardInterrupt

        def keep(certified: str, file: str) -> None:
            if save:
                save_certificate(certified, folder / file)

        try:
            for new in recompute(rows, run, keep):
                done.append(new)
                if save:
                    save_record([new])
        except KeyboardInterrupt:
            if not done:
                raise
            say(f"stopped after {len(done)} of {counted(len(rows), 'row')}.")
    return done, len(done) == len(rows)


def run_command(text: str, folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Run a command of robustpool in this process and in a folder; its JSON object.

    >>> run_command("aggregate 0.5 0.5", ".")["forecast"]
    0.5
    """
    from ..errors import SolverError
    from . import app as commands

    answer = io.StringIO()
    with chdir(folder), redirect_stdout(answer), redirect_stderr(io.StringIO()):
        try:
            status = commands.app([*shlex.split(text), "--json"], standalone_mode=False) or 0
        except Exit as stop:
            status = stop.exit_code
        except SystemExit as stop:
            status = stop.code
        except Abort:
            status = 130
    if status == 130:  # Ctrl-C, whichever way typer says so
        raise KeyboardInterrupt
    if status not in (0, 1) or not answer.getvalue():  # status 1: the answer is no, and says so
        raise SolverError(f"`robustpool {text}` gave no answer; its exit status is {status}.")
    data: dict[str, Any] = json.loads(answer.getvalue())
    return data


@contextmanager
def noticing_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Tell whether Ctrl-C was pressed, even where a command caught it and kept what it had."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return

    def stop(*_: object) -> None:
        pressed.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
