"""``robustpool aggregate``: combine a few numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from .pooling import pooled
from .render import JsonFlag, show


def aggregate(
    reports: Annotated[
        list[str], typer.Argument(help="The forecasters' probabilities, such as 0.7 0.6.", show_default=False)
    ],
    rule: Annotated[
        str, typer.Option("--rule", "-r", help="A rule (see `robustpool rules`) or a design file.")
    ] = "minimax",
    clip: Annotated[float | None, typer.Option(help="Bring probabilities into [CLIP, 1 - CLIP] first.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Combine probabilities for one event into one.

    Fractions such as 1/3 are numbers too. For a design whose reports are vectors (more than two states, or higher-order
    reports) write each with commas; for a design on decisions, the name of the state.

    \b
    Examples:
      robustpool aggregate 0.7 0.6
      robustpool aggregate 0.7 0.6 0.8 --rule extremized-odds:d=1.5
      robustpool aggregate 0.5 0.5 --rule weather.json
    """
    data, lines = pooled(reports, rule, clip)
    show(data, lines, as_json=as_json)
