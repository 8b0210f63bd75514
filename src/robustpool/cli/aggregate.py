"""``robustpool aggregate``: combine a few numbers, and say why."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InputError
from .pooling import explained, pooled
from .render import JsonFlag, show


def aggregate(
    reports: Annotated[
        list[str], typer.Argument(help="The forecasters' probabilities, such as 0.7 0.6.", show_default=False)
    ],
    rule: Annotated[
        str, typer.Option("--rule", "-r", help="A rule (see `robustpool rules`) or a design file.")
    ] = "minimax",
    clip: Annotated[float | None, typer.Option(help="Bring probabilities into [CLIP, 1 - CLIP] first.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why: other rules, the base rate, and what is assumed.")
    ] = False,
    prior_range: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LO HI", help="With --explain: the base rate is between LO and HI.", show_default=False),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Combine probabilities for one event into one.

    Fractions such as 1/3 are numbers too. For a design whose reports are vectors (more than two states, or higher-order
    reports) write each with commas; for a design on decisions, the name of the state.

    --explain adds a reason to repeat to others: what the other rules say, at which base rate somebody who knows it would
    agree, and what the forecast can cost if the evidence is independent. --prior-range LO HI adds what it would change
    to know that the base rate lies there.

    \b
    Examples:
      robustpool aggregate 0.7 0.6
      robustpool aggregate 0.7 0.6 --explain
      robustpool aggregate 0.7 0.6 --explain --prior-range 0.05 0.2
      robustpool aggregate 0.7 0.6 0.8 --rule extremized-odds:d=1.5
      robustpool aggregate 0.5 0.5 --rule weather.json
    """
    if explain:
        data, lines = explained(reports, rule, clip, prior_range)
    elif prior_range is None:
        data, lines = pooled(reports, rule, clip)
    else:
        low, high = prior_range
        raise InputError(
            "--prior-range goes with --explain and changes no forecast; a rule for that range is made by "
            f"`robustpool design --prior-range {low:g} {high:g} --nature continuous` and used with --rule design.json."
        )
    show(data, lines, as_json=as_json)
