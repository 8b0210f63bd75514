"""The numbers behind the sliders: every aggregator at all pairs of whole percents, so that the page only looks them up."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.rules import RULES, Rule, get_rule
from ..aggregators.worst_cases import UNKNOWN, KnownWorstCase, worst_case_on_record
from ..designs.any_aggregator import as_aggregator
from ..designs.design import Design
from ..errors import InputError
from ..families.worst_case import tabulated
from ..wording import outward

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..designs.any_aggregator import AnyAggregator

STEPS = 100
DIGITS = 6


def calculator(
    aggregators: Mapping[str, AnyAggregator],
    chosen: str,
    *,
    bounds: Mapping[str, KnownWorstCase] | None = None,
    prior_range: tuple[float, float] = (0.0, 1.0),
    note: str = "",
) -> dict[str, Any]:
    """The calculator's data: the given aggregators of two reports, then the named rules from the best to the worst.

    ``chosen`` is the one that is shown first. ``bounds`` has the worst cases of those that are not on
    record. The worst structure behind two reports is looked for among
    the priors of ``prior_range``; ``note`` is added to what the page says about the regrets.

    >>> data = calculator({"half": lambda x: 0.5 + 0 * x[:, 0]}, "half")
    >>> [entry["name"] for entry in data["aggregators"]][:3], data["aggregators"][1]["regret"]
    (['half', 'robust', 'minimax'], {'text': '0.022543', 'kind': 'proved', 'upper': 0.022542485937368562})
    """
    known = {**{name: worst_case_on_record(name) for name in RULES}, **(bounds or {})}
    regrets = {name: known[name].regret for name in RULES if name not in aggregators}
    named = sorted((regret, place, name) for place, (name, regret) in enumerate(regrets.items()) if regret is not None)
    everything: dict[str, AnyAggregator] = {**aggregators, **{name: get_rule(name) for _, _, name in named}}
    if chosen not in everything:
        raise InputError(f"the chosen aggregator must be one of {', '.join(everything)}; it is {chosen!r}.")
    return {
        "steps": STEPS,
        "chosen": chosen,
        "prior_range": list(prior_range),
        "note": note,
        "aggregators": [_entry(name, rule, known.get(name, UNKNOWN)) for name, rule in everything.items()],
    }


def _entry(name: str, aggregator: AnyAggregator, worst: KnownWorstCase) -> dict[str, Any]:
    rule = as_aggregator(aggregator)
    table = tabulated(rule, np.arange(STEPS + 1) / STEPS)
    symmetric = bool(np.abs(table - table.T).max() < 1e-12)
    values = table[np.tril_indices(STEPS + 1)] if symmetric else table
    return {
        "name": name,
        "formula": _formula(rule),
        "regret": _regret(worst),
        "symmetric": symmetric,
        "values": base64.b64encode(values.astype("<f4").tobytes()).decode("ascii"),  # exact to 3e-8
    }


def _formula(rule: object) -> str:
    if isinstance(rule, Rule):
        return rule.formula
    kind = rule.aggregator if isinstance(rule, Design) else rule
    resolution = getattr(kind, "resolution", None)
    if resolution is None:
        return "a function of both reports"
    return f"a table at the reports 0, 1/{resolution}, ..., 1, bilinear in between"


def _regret(worst: KnownWorstCase) -> dict[str, Any]:
    """What the table says: a proved bound rounded up, what was found rounded down."""
    if worst.upper is not None:
        return {"text": outward(worst.upper, "ROUND_CEILING", DIGITS), "kind": "proved", "upper": worst.upper}
    if worst.found is not None:
        return {"text": outward(worst.found, "ROUND_FLOOR", DIGITS), "kind": "found", "upper": None}
    return {"text": "–", "kind": "not known", "upper": None}
