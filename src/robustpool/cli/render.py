"""What the commands share: one JSON object on standard output, or lines for people."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .output import text

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def show(data: dict[str, Any], lines: list[str], *, as_json: bool) -> None:
    """Print the object, or the lines."""
    typer.echo(text(data, lines, as_json=as_json))


def outward(value: float, rounding: str, digits: int = 12) -> str:
    """A bound as text, rounded away from the value that it bounds (ROUND_FLOOR or ROUND_CEILING)."""
    from .. import numerics  # here, so that `robustpool --help` need not wait for numpy

    return numerics.outward(value, rounding, digits)


def between(lower: float, upper: float, digits: int = 12) -> str:
    """Two bounds in a sentence, rounded outward."""
    from .. import numerics

    return numerics.between(lower, upper, digits)
