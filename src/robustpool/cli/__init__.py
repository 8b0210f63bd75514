"""The command line: parse, one public call, render. No mathematics here."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

RESUME = "; if anything was saved, --resume continues from it"
LONG = ("design", "certify", "reproduce", "sweep")
"""Commands that --resume continues."""

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""One, as in a worker, unless the user has set it: the last bit of a sum depends on it, and more are slower on our sizes."""


def main() -> None:
    """Run ``robustpool``; exit with 0 done, 1 the answer is no, 2 the input or the options are wrong."""
    from ..errors import RobustpoolError, SolverError, WorkersLostError
    from .pooling import pooled, quick_arguments
    from .signals import status_of_stop
    from .streams import watch_streams

    watch_streams()
    for name in BLAS_THREADS:
        os.environ.setdefault(name, "1")  # before NumPy is imported
    quick = quick_arguments(sys.argv[1:])
    try:
        if quick is None:
            _run_app()
        else:
            reports, rule, as_json = quick
            print(pooled(reports, rule, None).text(as_json=as_json), flush=True)  # noqa: T201
    except KeyboardInterrupt:
        resume = RESUME if sys.argv[1:2] and sys.argv[1] in LONG else ""
        _fail(f"stopped before there was a result{resume}.", status_of_stop())
    except WorkersLostError as error:
        resume = RESUME if sys.argv[1] in LONG else ""
        _fail(f"{str(error).rstrip('.')}{resume}.", 1)
    except SolverError as error:
        _fail(str(error), 1)
    except RobustpoolError as error:
        _fail(str(error), 2)
    except BrokenPipeError:
        sys.exit(1)


def _run_app() -> None:
    """Run a command with typer, which takes longer to start than a few numbers take to combine."""
    import typer

    from .app import app
    from .signals import end_in_order, status_of_stop, terminated

    if sys.argv[1:2] != ["serve"]:  # which ends its jobs in its own way
        end_in_order()
    wrong_usage: Any = typer.BadParameter.__mro__[2]  # click's ClickException, which newer typers carry inside
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
    except typer.Exit as stop:
        status = stop.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except wrong_usage as error:
        _fail(_sentence(error), 2)
    if status == 130:  # newer typers make this of Ctrl-C
        raise KeyboardInterrupt
    sys.stdout.flush()
    sys.exit(status_of_stop() if terminated() else status)


def _sentence(error: Exception) -> str:
    """What was wrong, in one line."""
    message = " ".join(getattr(error, "format_message", error.__str__)().split())
    for option in getattr(getattr(error, "param", None), "opts", ()):  # name the value as well as the option
        if option in sys.argv[:-1] and message.startswith("Invalid value"):
            return f"{message}; it is {sys.argv[sys.argv.index(option) + 1]!r}."
    return message


def _fail(sentence: str, status: int) -> NoReturn:
    from .output import say

    say(sentence)
    sys.exit(status)
