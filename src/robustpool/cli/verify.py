"""``robustpool verify``: re-check a certificate."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from ..verification.reading import STEPS
from .render import JsonFlag, show

if TYPE_CHECKING:
    from collections.abc import Callable


def verify(
    certificate: Annotated[str, typer.Argument(help="A file that `robustpool certify` wrote.", show_default=False)],
    budget: Annotated[
        int, typer.Option(min=1, help="How much work the check may take, in steps of about a microsecond.")
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

    began = time.perf_counter()
    verdict = check(certificate, _watch(began), budget=budget)
    data = {
        "verified": verdict.verified,
        "upper": verdict.upper,
        "lower": verdict.lower,
        "value": verdict.value,
        "sentence": verdict.sentence,
        "claims": list(verdict.claims),
        "claim": " ".join(verdict.claims) or None,
        "label": verdict.label,
        "over_budget": verdict.over_budget,
        "seconds": time.perf_counter() - began,
    }
    lines = [f"{'verified' if verdict.verified else 'NOT verified'}: {verdict.sentence}"]
    lines += [f"proved               {claim}" for claim in verdict.claims]
    if verdict.label is not None:
        lines.append(f"label, not checked   {json.dumps(verdict.label)}")
    show(data, lines, as_json=as_json)
    if not verdict.verified:
        raise typer.Exit(1)


def _watch(began: float) -> Callable[[float], None]:
    """Say on standard error, now and then, how far a long check is."""
    last = began

    def watch(share: float) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last > (0.2 if sys.stderr.isatty() else 10.0) and now - began > 1.0:
            last = now
            end = "\r" if sys.stderr.isatty() else "\n"
            sys.stderr.write(f"{share:4.0%} of the intervals of priors re-checked{end}")
            sys.stderr.flush()

    return watch
