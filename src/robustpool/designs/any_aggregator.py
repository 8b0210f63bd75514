"""Whatever users call an aggregator: a rule's name, a design file, a function."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeGuard

from ..aggregators.rules import get_rule
from ..errors import InputError
from ..typing import FilePath
from .design_file import load_design

AnyAggregator = FilePath | Callable[[Any], Any]
"""The name of a rule, a design file (``*.json`` or a path), or a callable from reports (m, n) to forecasts (m,)."""


def is_design_file(rule: object) -> TypeGuard[FilePath]:
    """Whether a rule is meant as a design file: a path, or a name that ends in .json."""
    return isinstance(rule, os.PathLike) or (isinstance(rule, str) and rule.endswith(".json"))


def as_aggregator(rule: AnyAggregator) -> Callable[[Any], Any]:
    """The callable that a user means.

    >>> as_aggregator("mean")([[0.2, 0.4]])
    array([0.3])
    """
    if is_design_file(rule):
        return load_design(rule)
    if isinstance(rule, str):
        return get_rule(rule)
    aggregator: Any = rule if callable(rule) else getattr(rule, "aggregator", None)  # a solution has one
    if callable(aggregator):
        return aggregator
    raise InputError(f"rule must be the name of a rule, a design file or a callable; it is {rule!r}.")
