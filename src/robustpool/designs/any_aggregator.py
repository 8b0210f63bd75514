"""Whatever users call an aggregator: a rule's name, the file of a design or of a fitted pool, a function."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeGuard

from ..aggregators.rules import get_rule
from ..errors import InputError
from ..typing import FilePath
from .aggregator_file import load_aggregator

AnyAggregator = FilePath | Callable[[Any], Any]
"""The name of a rule, a file (``*.json`` or a path) of a design or of a fitted pool, or a callable from reports (m, n) to
forecasts (m,)."""


LONGEST = 100
"""Names of rules up to this length are looked up once; a longer one is nobody's habit, and would fill the memory."""

_rule = lru_cache(maxsize=256)(get_rule)


def is_aggregator_file(rule: object) -> TypeGuard[FilePath]:
    """Whether a rule is meant as a file, of a design or of a fitted pool: a path, or a name that ends in .json."""
    return isinstance(rule, os.PathLike) or (isinstance(rule, str) and rule.endswith(".json"))


def as_aggregator(rule: AnyAggregator) -> Callable[[Any], Any]:
    """The callable that a user means.

    >>> as_aggregator("mean")([[0.2, 0.4]])
    array([0.3])
    """
    if is_aggregator_file(rule):
        return load_aggregator(rule)
    if isinstance(rule, str):
        return _rule(rule) if len(rule) <= LONGEST else get_rule(rule)
    aggregator: Any = (
        rule if callable(rule) else getattr(rule, "aggregator", None)
    )  # a solution and a fitted pool have one
    if callable(aggregator):
        return aggregator
    raise InputError(
        f"rule must be the name of a rule, the file of a design or of a fitted pool, or a callable; it is {rule!r}."
    )
