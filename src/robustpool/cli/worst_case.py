"""``robustpool worst-case``: the structure that hurts a rule or a design most."""

from __future__ import annotations

from typing import Annotated

import typer

from .render import JsonFlag, show


def worst_case(
    rule: Annotated[str, typer.Argument(help="A rule (see `robustpool rules`) or a design file.", show_default=False)],
    agents: Annotated[
        int | None, typer.Option(help="How many conditionally independent agents.", show_default="2, or the design's")
    ] = None,
    prior_range: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LO HI", help="Only priors between LO and HI.", show_default="all, or the design's"),
    ] = None,
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
    from ..aggregators.design import is_design_file, load_design
    from ..errors import InputError
    from ..game.losses import LOSSES
    from ..game.worst_case import worst_case as search
    from ..structures.binary_structure import BinaryStructure
    from ..structures.conditionally_independent import ConditionallyIndependent

    if loss not in LOSSES:
        raise InputError(f"loss must be one of {', '.join(LOSSES)}; it is {loss!r}.")
    about = load_design(rule).data["family"] if is_design_file(rule) else {}
    own = about if about.get("kind") == "conditionally-independent" else {}
    if about and not own:
        raise InputError(f"{rule!r} is a design for a finite family, which answers only its own reports.")
    count = own.get("agents", 2) if agents is None else agents
    low, high = own.get("prior_range", (0.0, 1.0)) if prior_range is None else prior_range
    found = search(rule, ConditionallyIndependent(count, None, None, (low, high)), loss=loss, rng=seed)
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
