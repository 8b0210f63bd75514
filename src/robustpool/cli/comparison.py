"""``robustpool compare``: a comparison as lines for people, and as data."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from math import isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluation.records import Decomposition, Verdict
from ..report.comparison_words import (
    NOTHING,
    basis,
    estimate,
    how_scored,
    in_parts,
    not_scored,
    of_base_rate,
    recalibrated_how,
    signed,
    span,
)
from .terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..evaluation.records import Comparison, Interval, RuleScore

SHORT = 3
"""Rules that are shown after recalibration, besides the reference, the default rule and `minimax`."""


def naming_file(comparison: Comparison, file: str, **reading: Any) -> Comparison:
    """The same comparison with commands that name the file and how it was read, so that they can be typed as they are."""
    from ..evaluation.advice import COMMAND

    if not Path(file).is_file():
        return comparison  # a pipe is gone
    options = []
    for name, value in reading.items():
        if isinstance(value, dict):
            options += [f"--{name} {shlex.quote(f'{role}={own}')}" for role, own in value.items()]
        elif value not in (False, "auto"):
            options.append(f"--{name}" if value is True else f"--{name} {shlex.quote(value)}")
    named = " ".join(["robustpool aggregate", shlex.quote(file), *options])
    return replace(comparison, advice=tuple(sentence.replace(COMMAND, named) for sentence in comparison.advice))


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a JSON object."""
    individuals = comparison.individuals
    return {
        "rules": [_rule_data(rule) for rule in comparison.rules],
        "recalibrated": [_rule_data(rule) for rule in comparison.recalibrated],
        "individuals": {
            "brier": individuals.brier,
            **_interval("slope", individuals.slope),
            **_interval("intercept", individuals.intercept),
            "certain": individuals.certain,
            **_interval("dependence", individuals.dependence),
            "one_answer": individuals.one_answer,
            **_interval("stretch", individuals.stretch),
        },
        "advice": " ".join(comparison.advice),
        "questions": comparison.questions,
        "left_out": comparison.left_out,
        "forecasters": comparison.forecasters,
        "answers": comparison.answers,
        "clusters": comparison.clusters,
        "base_rate": _finite(comparison.base_rate),
        "base_rate_brier": comparison.base_rate_brier,
        "up_to_three": comparison.up_to_three,
        "pairs": comparison.pairs,
        "clip": comparison.clip,
        "clipped": comparison.clipped,
        "seed": comparison.seed,
        "draws": comparison.draws,
        "reference": comparison.reference,
        "unscored": comparison.unscored,
        "notes": list(comparison.notes),
        "options": comparison.options,
    }


def _rule_data(rule: RuleScore) -> dict[str, Any]:
    return {
        "name": rule.name,
        "recalibration": rule.recalibration,
        **_interval("brier", rule.brier),
        **_interval("brier_by_forecast", rule.brier_by_forecast),
        **_interval("log", rule.log),
        "log_is_infinite": isinf(rule.log.value),
        "certain_and_wrong": rule.certain_and_wrong,
        **rule.decomposition._asdict(),
        **_log_decomposition(rule.log_decomposition),
        **_interval("slope", rule.slope),
        **_interval("intercept", rule.intercept),
        "auc": rule.auc,
        "sharpness": rule.sharpness,
        **_interval("difference", rule.difference),
        "verdict": rule.verdict.value,
        "tied_with_best": rule.tied_with_best,
    }


def _finite(value: float) -> float | None:
    return None if isnan(value) else value


def _log_decomposition(parts: Decomposition | None) -> dict[str, float | None]:
    return {f"log_{name}": parts and getattr(parts, name) for name in Decomposition._fields}


def _interval(name: str, interval: Interval | None) -> dict[str, float | None]:
    """An estimate and its ends under three names."""
    value, low, high = (None, None, None) if interval is None else interval
    return {name: value, f"{name}_low": low, f"{name}_high": high}


# --------------------------------------------------------------------------------------------------------------- lines


def as_lines(comparison: Comparison, width: int) -> list[str]:
    """What to do, the scores, and the reasons; at most ``width`` wide but for long names, which stay in one piece."""
    to_do, why = in_parts(comparison.advice)
    lines = [*with_commands(to_do), *([""] if to_do else []), basis(comparison), how_scored(comparison), ""]
    lines += [*_table(comparison.rules, comparison.reference, width), "   (* cannot be told from the best)"]
    lines += [of_base_rate(comparison)] if of_base_rate(comparison) else []
    lines += not_scored(comparison)
    lines += comparison.notes
    if comparison.recalibrated:
        short = _shortened(comparison.recalibrated, comparison.reference)
        lines += ["", f"After recalibration ({recalibrated_how(comparison)}):"]
        lines += _table(short, comparison.reference, width)
    lines += ["", why] if why else []
    return [part for line in lines for part in wrapped(line, width)]


def with_commands(text: str) -> list[str]:
    """A paragraph in which each command has a line of its own, to be copied whole.

    >>> with_commands("Do it. The command: `robustpool rules`. Or not.")
    ['Do it. The command:', '    robustpool rules', 'Or not.']
    """
    parts = re.split(r" ?`([^`]*)`\.? ?", text)
    return [f"    {part}" if place % 2 else part for place, part in enumerate(parts) if part]


def _shortened(rules: Sequence[RuleScore], reference: str) -> list[RuleScore]:
    """The best of them, and those that people ask for."""
    return [rule for place, rule in enumerate(rules) if place < SHORT or rule.name in {reference, "robust", "minimax"}]


def _table(rules: Sequence[RuleScore], reference: str, width: int) -> list[str]:
    """A line for each rule; short of width, fewer columns: the score's interval goes first, then that of the difference."""
    columns = [
        _column("   rule", "<", [f" {'*' if rule.tied_with_best else ' '} {rule.name}" for rule in rules]),
        _column("Brier", ">", [estimate(rule.brier.value) for rule in rules]),
        _column("95 % interval", "<", [span(rule.brier) for rule in rules]),
        _column(f"minus {reference}", ">", [signed(rule.difference.value) for rule in rules]),
        _column("95 % interval", "<", [_difference_span(rule) for rule in rules]),
        _column(f"against {reference}", "<", [rule.verdict.value for rule in rules]),
    ]
    for dropped in (2, 3, 2):  # the difference itself goes last
        if sum(len(column[0]) + 2 for column in columns) - 2 > width:
            del columns[dropped]
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _difference_span(rule: RuleScore) -> str:
    return NOTHING if rule.verdict is Verdict.REFERENCE else span(rule.difference)


def _column(head: str, side: str, cells: list[str]) -> list[str]:
    """A head and its cells, of one width."""
    wide = max(map(len, (head, *cells)))
    return [f"{cell:{side}{wide}}" for cell in (head, *cells)]
