"""The numbers behind the sliders: every aggregator at all pairs of whole percents, so that the page only looks them up."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.design import Design, as_aggregator
from ..aggregators.rules import RULES, WORST_CASES, Rule, get_rule
from ..errors import InputError
from ..game.worst_case import tabulated
from ..wording import outward

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..aggregators.design import AnyAggregator

STEPS = 100
DIGITS = 6
UNKNOWN: dict[str, Any] = {"found": None, "lower": None, "upper": None, "proved": False}


def calculator(
    aggregators: Mapping[str, AnyAggregator],
    chosen: str,
    *,
    bounds: Mapping[str, Mapping[str, Any]] | None = None,
    prior_range: tuple[float, float] = (0.0, 1.0),
    note: str = "",
) -> dict[str, Any]:
    """The calculator's data: the given aggregators of two reports, then the named rules from the best to the worst.

    ``chosen`` is the one that is shown first. ``bounds`` says of an aggregator what ``worst_cases.json`` says of the
    rules: ``proved`` and ``upper``, or what was ``found``. The worst structure behind two reports is looked for among
    the priors of ``prior_range``; ``note`` is added to what the page says about the regrets.

    >>> data = calculator({"half": lambda x: 0.5 + 0 * x[:, 0]}, "half")
    >>> [entry["name"] for entry in data["aggregators"]][:3], data["aggregators"][1]["regret"]
    (['half', 'robust', 'minimax'], {'text': '0.022543', 'kind': 'proved', 'upper': 0.022542485937368562})
    """
    known: dict[str, Mapping[str, Any] | None] = {
        **json.loads(WORST_CASES.read_text(encoding="utf-8")),
        **(bounds or {}),
    }
    named = {name: get_rule(name) for name in RULES if name not in aggregators and known.get(name) is not None}
    ordered = sorted(named, key=lambda name: _rank(known[name] or UNKNOWN))
    everything: dict[str, AnyAggregator] = {**aggregators, **{name: named[name] for name in ordered}}
    if chosen not in everything:
        raise InputError(f"the chosen aggregator must be one of {', '.join(everything)}; it is {chosen!r}.")
    return {
        "steps": STEPS,
        "chosen": chosen,
        "prior_range": list(prior_range),
        "note": note,
        "aggregators": [_entry(name, rule, known.get(name) or UNKNOWN) for name, rule in everything.items()],
    }


def _rank(worst: Mapping[str, Any]) -> float:
    return float(worst["upper"] if worst["proved"] else worst["found"])


def _entry(name: str, aggregator: AnyAggregator, worst: Mapping[str, Any]) -> dict[str, Any]:
    rule = as_aggregator(aggregator)
    table = tabulated(rule, np.arange(STEPS + 1) / STEPS)
    symmetric = bool(np.abs(table - table.T).max() < 1e-12)
    return {
        "name": name,
        "formula": _formula(rule),
        "regret": _regret(worst),
        "symmetric": symmetric,
        "values": _packed(table[np.tril_indices(STEPS + 1)] if symmetric else table),
    }


def _packed(values: NDArray[np.float64]) -> str:
    """Numbers as base64 of 32-bit floats, low byte first: exact to 3e-8."""
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")


def _formula(rule: object) -> str:
    if isinstance(rule, Rule):
        return rule.formula
    kind = rule.aggregator if isinstance(rule, Design) else rule
    resolution = getattr(kind, "resolution", None)
    return (
        f"a table at the reports 0, 1/{resolution}, ..., 1, bilinear in between"
        if resolution
        else "a function of both reports"
    )


def _regret(worst: Mapping[str, Any]) -> dict[str, Any]:
    """What the table says: a proved bound rounded up, what was found rounded down."""
    if worst["proved"]:
        return {"text": outward(worst["upper"], "ROUND_CEILING", DIGITS), "kind": "proved", "upper": worst["upper"]}
    if worst["found"] is not None:
        return {"text": outward(worst["found"], "ROUND_FLOOR", DIGITS), "kind": "found", "upper": None}
    return {"text": "–", "kind": "not known", "upper": None}
