"""Fitted pools in files: the part that every reader needs, which is the rule. `robustpool.learning` reads the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..aggregators.learned_rule import LearnedRule
from .design_file import load_sealed, read_json, read_value

if TYPE_CHECKING:
    from ..typing import FilePath

POOL_FORMAT = "robustpool-pool/1"


def is_pool_file(path: FilePath) -> bool:
    """Whether a JSON file is a fitted pool, of whatever version."""
    data = read_json(path, "design")
    return isinstance(data, dict) and str(data.get("format")).startswith(POOL_FORMAT.partition("/")[0])


def load_learned_rule(path: FilePath) -> LearnedRule:
    """The rule in the file of a fitted pool."""
    return load_sealed(path, "fitted pool", POOL_FORMAT, read_rule)


def read_rule(data: dict[str, Any]) -> LearnedRule:
    """The rule in the content of such a file."""
    rule: LearnedRule = read_value(LearnedRule, data.get("aggregator"), "aggregator")
    return rule
