"""``robustpool rules``: the rules by name."""

from __future__ import annotations

from .render import JsonFlag, show


def rules(as_json: JsonFlag = False) -> None:
    """List the rules: name, parameters, formula, source, worst-case regret and whether that is proved.

    \b
    Example:
      robustpool rules --json
    """
    from ..views import results

    show(*results.rules(), as_json=as_json)
