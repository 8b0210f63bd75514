"""``robustpool worst-case``: the structure that hurts a rule or a design most."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from .options import AgentsOption, PriorRangeOption, RuleArgument, independent_family
from .render import JsonFlag, show


def worst_case(
    rule: RuleArgument,
    agents: AgentsOption = None,
    prior_range: PriorRangeOption = None,
    loss: Annotated[str, Option(help="square or log.")] = "square",
    seed: Annotated[int, Option(help="The same seed gives the same search.")] = 0,
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
    from ..families.worst_case import worst_case as search
    from ..views import results

    found = search(rule, independent_family(rule, agents, prior_range), loss=loss, rng=seed)
    show(*results.worst_case(rule, found), as_json=as_json)
