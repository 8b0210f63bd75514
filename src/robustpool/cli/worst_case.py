"""``robustpool worst-case``: the structure that hurts a rule or a design most."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import AgentsOption, PriorRangeOption, RuleArgument, independent_family
from .render import JsonFlag, show


def worst_case(
    rule: RuleArgument,
    agents: AgentsOption = None,
    prior_range: PriorRangeOption = None,
    loss: Annotated[str, typer.Option(help="square or log.")] = "square",
    seed: Annotated[int, typer.Option(help="The same seed gives the same search.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Search for the information structure on which a rule loses most to someone who knows the structure.

    Searches all priors and all reports of conditionally independent agents. What it finds is a lower bound on the
    worst case: found, not proved.

    \b
    Examples:
      robustpool worst-case average-prior
      robustpool worst-case log-odds:alpha=0.6 --json
      robustpool worst-case design.json
    """
    from ..errors import InputError
    from ..game.losses import LOSSES
    from ..game.worst_case import worst_case as search
    from ..structures.binary_structure import BinaryStructure

    if loss not in LOSSES:
        raise InputError(f"loss must be one of {', '.join(LOSSES)}; it is {loss!r}.")
    found = search(rule, independent_family(rule, agents, prior_range), loss=loss, rng=seed)
    assert isinstance(found.structure, BinaryStructure)
    prior, reports = found.structure.prior, found.structure.reports.tolist()
    data = {
        "rule": rule,
        "regret": found.regret,
        "proved": found.proved,
        "structure": {"prior": prior, "reports": reports},
    }
    pairs = ", ".join(f"{low:.6g} or {high:.6g}" for low, high in reports)
    lines = [
        f"regret     {found.regret:.10f} (found by search, not proved)",
        f"prior      {prior:.10g}",
        f"reports    {pairs}",
    ]
    show(data, lines, as_json=as_json)
