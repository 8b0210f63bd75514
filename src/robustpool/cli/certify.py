"""``robustpool certify``: prove bounds on the worst-case regret of a rule or a design."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from .options import AgentsOption, PriorRangeOption, RuleArgument, independent_family
from .progress import progress_bar
from .render import JsonFlag, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def certify(
    rule: RuleArgument,
    out: Annotated[
        str | None, Option("--out", "-o", help="Where to write the certificate.", show_default="CERT-<rule>.json")
    ] = None,
    agents: AgentsOption = None,
    prior_range: PriorRangeOption = None,
    family: Annotated[str | None, Option(help="The family file of a design that was made for one.")] = None,
    paradigm: Annotated[
        str | None,
        Option(
            help="additive, absolute or ratio, for a rule on a finite family.", show_default="additive, or the design's"
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        Option(
            help="How far the proved bound may lie above the worst structure found.",
            show_default="1e-9 for functions of the summed log-odds, else 5e-7",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Prove bounds on the worst-case regret, over all priors, all reports and any number of signals.

    The upper bound is proved with rigorous arithmetic, the lower bound by an explicit structure, and both can be re-checked
    with `robustpool verify`. Ctrl-C keeps the bound that was reached. Exit status 1: a bound was proved, but it is
    further than the tolerance above the worst structure found.

    \b
    Examples:
      robustpool certify minimax
      robustpool certify design.json --out certificate.json
      robustpool certify log-odds:alpha=0.6 --prior-range 0.05 0.5
    """
    from ..certificates.certify import certify as prove
    from ..files import check_writable, refuse_foreign
    from ..verification.verify import CERTIFICATE_FORMAT
    from ..views import results

    target = f"CERT-{_stem(rule, agents, prior_range)}.json" if out is None else out
    check_writable(target)
    refuse_foreign("--out", target, CERTIFICATE_FORMAT, "a certificate")
    about = _family(rule, agents, prior_range, family)
    began = time.perf_counter()
    last: Any = None
    with _bar() as tell:

        def progress(state: Any) -> None:
            nonlocal last
            last = state
            tell(state)

        try:
            certificate = prove(rule, about, paradigm=paradigm, tolerance=tolerance, progress=progress)
        except KeyboardInterrupt:
            typer.echo("robustpool: stopped before a bound was reached; no certificate was written.", err=True)
            raise
    certificate.save(target)
    finished, seconds = last.left == 0, time.perf_counter() - began
    show(*results.certificate(rule, certificate, target, finished=finished, seconds=seconds), as_json=as_json)
    if not finished:
        raise typer.Exit(1)


def _stem(rule: str, agents: int | None, prior_range: tuple[float, float] | None) -> str:
    """What tells one certificate from another: log-odds-alpha=0.6-3-agents-0.1-to-0.5."""
    from pathlib import Path

    name = Path(rule).stem if rule.endswith(".json") else rule.replace(":", "-").replace(",", "-")
    parts = [
        name,
        *([f"{agents}-agents"] if agents is not None else []),
        *(["{:g}-to-{:g}".format(*prior_range)] if prior_range is not None else []),
    ]
    return "-".join(parts)


def _family(rule: str, agents: int | None, prior_range: tuple[float, float] | None, family: str | None) -> Any:
    """What the options say: a finite family, conditionally independent agents, or None for what the aggregator is for."""
    from ..errors import InputError

    if family is not None:
        if agents is not None or prior_range is not None:
            raise InputError("--family brings its own structures; leave out --agents and --prior-range.")
        return family
    if agents is None and prior_range is None:
        return None
    return independent_family(rule, agents, prior_range)


@contextmanager
def _bar() -> Iterator[Callable[[Any], None]]:
    """The bound as it falls, and how many intervals of priors are left."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[bound]}"),
        BarColumn(bar_width=None),
        TextColumn("{task.completed:,} of {task.total:,} intervals of priors"),
        TimeElapsedColumn(),
    )
    with progress_bar(*columns, total=1, bound="") as show_bar:

        def tell(state: Any) -> None:
            proved = f"proved <= {state.upper:.9f}" if state.upper < 1 else "covering the priors"
            bound, every = f"{proved}, found {state.lower:.9f}", state.done + state.left
            line = f"{bound}, {state.done:,} of {every:,} intervals of priors"
            show_bar(line, completed=state.done, total=every, bound=bound)

        yield tell
