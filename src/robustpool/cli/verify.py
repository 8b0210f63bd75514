"""``robustpool verify``: re-check a certificate."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from typer import Argument, Option

from ..verification.reading import STEPS
from .progress import share_bar
from .render import JsonFlag, show


def verify(
    certificate: Annotated[str, Argument(help="A file that `robustpool certify` wrote.")],
    budget: Annotated[
        int, Option(min=1, help="How much work the check may take, in steps of about a microsecond.")
    ] = STEPS,
    as_json: JsonFlag = False,
) -> None:
    """Re-check every bound of a certificate, from the file alone, with nothing of the code that made it.

    Shows each claim that was proved. A label in the file is shown apart: nothing is proved of it. Exit status 1: not
    verified, with a sentence that says which claim does not hold, or that the check needs more than the budget.

    \b
    Examples:
      robustpool verify CERT-minimax.json
      robustpool verify CERT-design.json --budget 100000000
    """
    from ..verification.verify import verify as check
    from ..views import results

    began = time.perf_counter()
    with share_bar() as bar:
        verdict = check(certificate, lambda share: bar("re-checking the certificate", share), budget=budget)
    show(*results.verdict(verdict, time.perf_counter() - began), as_json=as_json)
    if not verdict.verified:
        raise typer.Exit(1)
