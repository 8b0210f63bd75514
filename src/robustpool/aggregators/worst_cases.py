"""The worst cases of the named rules on record, for two conditionally independent agents; `make regrets` writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OVER = "two agents with independent private evidence, with any public evidence"
"""What the worst cases are over, in words: found and proved for conditionally independent agents, they hold with public evidence
(docs/derivations/shared-evidence.md)."""

WORST_CASES = Path(__file__).with_name("worst_cases.json")


@dataclass(frozen=True, kw_only=True)
class KnownWorstCase:
    """What is known of the worst-case regret: the worst that a search found, and proved bounds if there are any."""

    found: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def proved(self) -> bool:
        """Whether the bounds are proved."""
        return self.upper is not None

    @property
    def regret(self) -> float | None:
        """The proved upper bound, or else the worst that was found."""
        return self.found if self.upper is None else self.upper


UNKNOWN = KnownWorstCase()


def worst_case_on_record(rule: str) -> KnownWorstCase:
    """What is on record of a rule, by its canonical name; nothing unless its parameters have their defaults.

    >>> worst_case_on_record("mean").proved, worst_case_on_record("bordley:prior=0.3").regret
    (True, None)
    """
    return _record(WORST_CASES).get(rule, UNKNOWN)


@cache
def _record(file: Path) -> dict[str, KnownWorstCase]:
    content = json.loads(file.read_text(encoding="utf-8"))
    return {
        rule: KnownWorstCase(found=known["found"], lower=known["lower"], upper=known["upper"])
        for rule, known in content.items()
        if known is not None
    }
