"""Files that can stand for a rule: designs and fitted pools. Of a pool only the rule is read here; `robustpool.learning` reads the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..aggregators.learned_rule import LearnedRule
from .design_file import DESIGN_FORMAT, read_design, read_json, read_value, unsealed

if TYPE_CHECKING:
    from ..typing import FilePath
    from .design import Design

POOL_FORMAT = "robustpool-pool/1"


def load_aggregator(path: FilePath) -> Design | LearnedRule:
    """The design, or the rule of the fitted pool, in a file."""
    return read_aggregator(read_json(path, "design or pool"), path)


def read_aggregator(data: Any, path: FilePath) -> Design | LearnedRule:
    """The design, or the rule of the fitted pool, in the content of a file; messages call it ``path``."""
    format = data.get("format") if isinstance(data, dict) else None
    if isinstance(format, str) and format.startswith(POOL_FORMAT.partition("/")[0]):
        return unsealed(data, path, "fitted pool", POOL_FORMAT, read_rule)
    return unsealed(data, path, "design", DESIGN_FORMAT, read_design)


def read_rule(data: dict[str, Any]) -> LearnedRule:
    """The rule in the content of a pool's file."""
    rule: LearnedRule = read_value(LearnedRule, data.get("aggregator"), "aggregator")
    return rule
