"""``robustpool rules``: the rules by name."""

from __future__ import annotations

import json
from typing import Any

from ..wording import between
from .render import JsonFlag, show

LEGEND = [
    "x_1, ..., x_n are the reports, l_i = logit x_i, s = sum of the l_i, sigma the inverse of logit.",
    "Parameters are set as in extremized-odds:d=1.5. The regret is the worst for two conditionally independent agents, as",
    "defaults stand. `robustpool certify RULE` proves it again, `robustpool worst-case RULE` repeats the search.",
]


def rules(as_json: JsonFlag = False) -> None:
    """List the rules: name, parameters, formula, source, worst-case regret and whether that is proved.

    \b
    Example:
      robustpool rules --json
    """
    from ..aggregators.rules import RULES, WORST_CASES

    known: dict[str, dict[str, Any] | None] = json.loads(WORST_CASES.read_text(encoding="utf-8"))
    listed = []
    lines = []
    for name, rule in RULES.items():
        worst = known[name] or {"found": None, "lower": None, "upper": None, "proved": False}
        parameters = {key: {"default": p.default, "range": str(p)} for key, p in rule.parameters.items()}
        listed.append(
            {
                "name": name,
                "parameters": parameters,
                "takes_weights": rule.takes_weights,
                "formula": rule.formula,
                "source": rule.source,
                "regret": worst["upper"] if worst["proved"] else worst["found"],
                "proved": worst["proved"],
                "lower": worst["lower"],
                "upper": worst["upper"],
                "found": worst["found"],
            }
        )
        regret = _regret(worst)
        given = ", ".join(
            f"{key} in {p['range']}"
            + (f", by default {p['default']:g}" if p["default"] is not None else ", to be given")
            for key, p in parameters.items()
        )
        lines += [f"{name}", f"    {rule.formula}", *([f"    {given}"] if given else [])]
        lines += [f"    worst-case regret {regret}", f"    {rule.source}"]
    show({"rules": listed}, [*lines, "", *LEGEND], as_json=as_json)


def _regret(worst: dict[str, Any]) -> str:
    if worst["proved"]:
        return f"{between(worst['lower'], worst['upper'], 9)}, proved"
    return f"{worst['found']:.6f}, found" if worst["found"] is not None else "depends on its parameter"
