"""``robustpool rules``: the rules by name."""

from __future__ import annotations

from .command import command
from .output import Answer


@command
def rules() -> Answer:
    """List the rules: name, parameters, formula, source, worst-case regret and whether that is proved.

    \b
    Example:
      robustpool rules --json
    """
    from ..views import results

    return Answer(*results.rules())
