"""Write the table of worst cases that `robustpool rules` shows: what the search finds for each rule today.

Run by `make regrets`. tests/test_worst_case.py repeats the search and compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import robustpool as rp
from robustpool.aggregators.rules import FOUND_REGRETS, RULES


def found(name: str) -> dict[str, Any] | None:
    """The worst case of a rule with its default parameters, for two conditionally independent agents."""
    if any(parameter.default is None for parameter in RULES[name].parameters.values()):
        return None
    worst: Any = rp.worst_case(name)
    return {
        "regret": worst.regret,
        "prior": worst.structure.prior,
        "reports": worst.structure.reports.tolist(),
        "proved": worst.proved,
    }


def main() -> None:
    table = {name: found(name) for name in RULES}
    Path(FOUND_REGRETS).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
