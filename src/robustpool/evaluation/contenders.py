"""The rules that are compared, by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..aggregators.distributions import DISTRIBUTION_RULES
from ..aggregators.rules import RULES, Rule
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..errors import InputError

Contenders = dict[str, Callable[[Any], Any]]

FOR_TWO = f"it is for two outcomes; for more, use {', '.join(DISTRIBUTION_RULES)}."


def contenders(rules: Iterable[AnyAggregator] | None) -> tuple[Contenders, dict[str, str]]:
    """The rules by name, all if none are given; and those of the catalogue that need a number first, with that reason.

    >>> list(contenders(["mean", "karmarkar:a=2.5", "karmarkar:a=2"])[0])
    ['mean', 'karmarkar', 'karmarkar:a=2']
    >>> contenders(None)[1]
    {'bordley': 'it needs the parameter prior; write bordley:prior=..., with the prior that you know.'}
    """
    unscored: dict[str, str] = {}
    if rules is None:
        unscored = _without_default()
        rules = [name for name in RULES if name not in unscored]
    named: Contenders = {}
    for rule in rules:
        aggregator = as_aggregator(rule)
        name = name_of(rule, aggregator)
        if name in named:
            raise InputError(f"rules must have different names; {name} occurs twice.")
        named[name] = aggregator
    return named, unscored


def for_options(rules: Contenders, unscored: dict[str, str]) -> tuple[Contenders, dict[str, str]]:
    """Those of the rules that are for more than two outcomes, and the others with the reason."""
    fit = [name for name, rule in rules.items() if isinstance(rule, Rule) and rule.name in DISTRIBUTION_RULES]
    return {name: rules[name] for name in fit}, dict.fromkeys(
        [*unscored, *(name for name in rules if name not in fit)], FOR_TWO
    )


def _without_default() -> dict[str, str]:
    """The rules with a parameter that has no default, and what to write."""
    return {
        name: f"it needs the parameter {key}; write {name}:{key}=..., with the {key} that you know."
        for name, rule in RULES.items()
        for key, parameter in rule.parameters.items()
        if parameter.default is None
    }


def name_of(rule: AnyAggregator, aggregator: Any) -> str:
    """A rule's canonical name, a file's name, or what a callable calls itself."""
    if isinstance(aggregator, Rule):
        return aggregator.name
    if isinstance(rule, (str, os.PathLike)):
        return Path(rule).name
    return str(getattr(rule, "__name__", None) or getattr(rule, "name", None) or type(rule).__name__)
