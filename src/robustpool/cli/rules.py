"""``robustpool rules``: the rules by name."""

from __future__ import annotations

from .render import JsonFlag, show


def rules(as_json: JsonFlag = False) -> None:
    """List the rules: name, formula, source, worst-case regret and whether that is proved.

    \b
    Example:
      robustpool rules --json
    """
    from ..aggregators.rules import RULES

    found = [
        {"name": name, "formula": rule.formula, "source": rule.source, "regret": None, "proved": False}
        for name, rule in RULES.items()
    ]
    width = max(len(name) for name in RULES)
    lines = [f"{rule['name']:<{width}}  {rule['formula']}\n{'':<{width}}  {rule['source']}" for rule in found]
    show({"rules": found}, lines, as_json=as_json)
