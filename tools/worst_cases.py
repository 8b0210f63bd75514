"""Write the table of worst cases that `robustpool rules` shows: what the search finds, and what can be proved.

Run by `make regrets`, in some minutes. tests/test_worst_case.py repeats the search and compares; tests/test_rule_bounds.py
proves the quick ones again, and all of them in the slow suite.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import robustpool as rp
from robustpool.aggregators.rules import RULES
from robustpool.aggregators.worst_cases import WORST_CASES


def worst_case(name: str) -> dict[str, Any] | None:
    """The worst case of a rule with its default parameters, for two conditionally independent agents."""
    if any(parameter.default is None for parameter in RULES[name].parameters.values()):
        return None
    worst: Any = rp.worst_case(name)
    found = {
        "found": worst.regret,
        "prior": worst.structure.prior,
        "reports": worst.structure.reports.tolist(),
    }
    try:
        certificate = rp.certify(name)
    except rp.UnsupportedError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return {**found, "lower": None, "upper": None, "proved": False}
    sys.stderr.write(f"{name}: {certificate.claim}\n")
    return {**found, "lower": certificate.lower, "upper": certificate.upper, "proved": True}


def main() -> None:
    """Write the table."""
    table = {name: worst_case(name) for name in RULES}
    Path(WORST_CASES).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
