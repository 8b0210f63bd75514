"""What several commands ask in the same words: which rule or design, for how many agents, over which priors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..families.conditionally_independent import ConditionallyIndependent

RuleArgument = Annotated[
    str, typer.Argument(help="A rule (see `robustpool rules`) or a design file.", show_default=False)
]
AgentsOption = Annotated[
    int | None, typer.Option(help="How many conditionally independent agents.", show_default="2, or the design's")
]
PriorRangeOption = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LO HI", help="Only priors between LO and HI.", show_default="all, or the design's"),
]


def independent_family(
    rule: str, agents: int | None, prior_range: tuple[float, float] | None
) -> ConditionallyIndependent:
    """All reports, and what the options say of agents and priors, or else the design."""
    from ..designs.any_aggregator import is_design_file
    from ..designs.design_file import load_design
    from ..errors import InputError
    from ..families.conditionally_independent import ConditionallyIndependent

    own = load_design(rule).family if is_design_file(rule) else ConditionallyIndependent()
    if not isinstance(own, ConditionallyIndependent):
        raise InputError(f"{rule!r} is a design for a finite family, which answers only its own reports.")
    count = own.agents if agents is None else agents
    return ConditionallyIndependent(count, None, None, own.prior_range if prior_range is None else prior_range)


def check_report(report: str) -> None:
    """Say that a report cannot be written to a file, or had better not be, before the work is done."""
    from ..checks import extra
    from ..errors import InputError
    from ..files import check_writable, refuse_foreign

    extra("a report", "plots")
    if Path(report).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report must name an HTML file; it is {report!r}.")
    check_writable(report)
    refuse_foreign("--report", report, "<!doctype html", "an HTML page")
