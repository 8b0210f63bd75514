"""``robustpool plan``: what the theorems ask for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from .render import JsonFlag, show


def plan(
    epsilon: Annotated[float, typer.Option(help="How far the regret may be from the best.", show_default=False)],
    reports: Annotated[int | None, typer.Option(help="Reports are multiples of 1/REPORTS.")] = None,
    lipschitz: Annotated[float | None, typer.Option(help="Aggregators have this Lipschitz constant.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what grid, rounds and work the paper's theorems ask for, and what is practical.

    \b
    Examples:
      robustpool plan --epsilon 0.01 --reports 20
      robustpool plan --epsilon 0.01 --lipschitz 2 --json
    """
    from .. import planning

    asked = planning.plan(epsilon, reports=reports, lipschitz=lipschitz)
    texts = {"work": asked.work, "sentence": asked.sentence, "practical": asked.practical}
    show(asdict(asked) | texts, [asked.sentence, asked.practical], as_json=as_json)
