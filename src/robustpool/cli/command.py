"""What commands share: the option --json, the answer on standard output, the exit status, and where a report may go."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer import Option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .output import Answer

JSON = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]


def command(function: Callable[..., Answer]) -> Callable[..., None]:
    """Make a function that answers a command, which prints the answer.

    The fields of a parameter that is a record of options stand in place of the parameter.
    """
    options: list[Parameter] = []
    records: dict[str, Any] = {}
    for each in signature(function, eval_str=True).parameters.values():
        if is_dataclass(each.annotation):
            records[each.name] = kind = each.annotation
            hints = get_type_hints(kind, include_extras=True)
            options += [_option(field.name, hints[field.name], field.default) for field in fields(kind)]
        else:
            options.append(_option(each.name, each.annotation, each.default))
    options.append(_option("as_json", JSON, False))

    @wraps(function)
    def run(*, as_json: bool, **given: Any) -> None:
        for name, kind in records.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        answer = function(**given)
        if as_json or answer.lines:
            typer.echo(answer.text(as_json=as_json))
        if not answer.yes:
            raise typer.Exit(1)

    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in options}
    return run


def _option(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def checkpoint_of(out: str) -> Path:
    """Where the work on an output is saved as it goes on."""
    return Path(f"{out}.checkpoint.npz")


@contextmanager
def told_on_standard_error() -> Iterator[None]:
    """Say there what becomes of checkpoints, and which work could not be sent to other processes."""
    from ..checkpoints import CheckpointWarning
    from ..execution.sending import NotSentWarning
    from .output import say

    with warnings.catch_warnings():
        shown = warnings.showwarning
        for category in (CheckpointWarning, NotSentWarning):
            warnings.simplefilter("always", category)

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, (CheckpointWarning, NotSentWarning)):
                say(str(message))
            else:
                shown(message, category, *where, **more)

        warnings.showwarning = show
        yield


def check_report(report: str) -> None:
    """Check before the work that the report can be written, and that no other file is overwritten."""
    from ..checks import extra
    from ..errors import InputError
    from ..files import refuse_foreign

    extra("a report", "plots")
    if Path(report).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report must name an HTML file; it is {report!r}.")
    refuse_foreign("--report", report, "<!doctype html", "an HTML page")
