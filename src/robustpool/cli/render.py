"""What the commands share: one JSON object on standard output, or lines for people."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Option

from .output import text

JsonFlag = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]


def show(data: dict[str, Any], lines: list[str], *, as_json: bool) -> None:
    """Print the object, or the lines."""
    typer.echo(text(data, lines, as_json=as_json))
