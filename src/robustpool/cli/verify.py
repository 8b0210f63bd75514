"""``robustpool verify``: re-check a certificate."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from ..wording import between
from .render import JsonFlag, show

if TYPE_CHECKING:
    from collections.abc import Callable


def verify(
    certificate: Annotated[str, typer.Argument(help="A file that `robustpool certify` wrote.", show_default=False)],
    as_json: JsonFlag = False,
) -> None:
    """Re-check every bound of a certificate, from the file alone, with nothing of the code that made it.

    Exit status 1: not verified, with a sentence that says which claim does not hold.

    \b
    Example:
      robustpool verify CERT-minimax.json
    """
    from ..verification.verify import verify as check

    began = time.perf_counter()
    verdict = check(certificate, _watch(began))
    seconds = time.perf_counter() - began
    data = {
        "verified": verdict.verified,
        "upper": verdict.upper,
        "lower": verdict.lower,
        "value": verdict.value,
        "sentence": verdict.sentence,
        "claim": verdict.claim,
        "seconds": seconds,
    }
    lines = [f"{'verified' if verdict.verified else 'NOT verified'}: {verdict.sentence}"]
    if verdict.verified and verdict.lower is not None and verdict.upper is not None:
        lines.append(f"worst-case regret    {between(verdict.lower, verdict.upper)}")
        lines.append(f"the claim            {verdict.claim}")
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
