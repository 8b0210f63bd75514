"""``robustpool plan``: what the theorems ask for."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from .render import JsonFlag, show


def plan(
    epsilon: Annotated[float, Option(help="How far the regret may be from the best.")],
    reports: Annotated[int | None, Option(help="Reports are multiples of 1/REPORTS.")] = None,
    lipschitz: Annotated[float | None, Option(help="Aggregators have this Lipschitz constant.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what grid, rounds and work the paper's theorems ask for, and what is practical.

    \b
    Examples:
      robustpool plan --epsilon 0.01 --reports 20
      robustpool plan --epsilon 0.01 --lipschitz 2 --json
    """
    from ..theory import planning
    from ..views import results

    show(*results.plan(planning.plan(epsilon, reports=reports, lipschitz=lipschitz)), as_json=as_json)
