"""A comparison of rules as plain data and as lines for people."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from math import isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluation.advice import COMMAND
from ..evaluation.records import Decomposition, Interval
from . import comparison_words as words
from .terminal import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..evaluation.records import Comparison, RuleScore

SHORT = 3
"""Rules that are shown after recalibration, besides the reference, the default rule and `minimax`."""

ESTIMATES = {"slope", "intercept", "dependence", "stretch"}
"""What has three names in the data even where it could not be estimated."""

SIZES = (
    *("questions", "left_out", "forecasters", "answers", "clusters", "base_rate", "base_rate_brier", "up_to_three"),
    *("pairs", "clip", "clipped", "seed", "draws", "reference", "unscored", "notes", "options"),
)


def naming_file(comparison: Comparison, file: str, **reading: Any) -> Comparison:
    """The same comparison with commands that name the file and how it was read, so that they can be typed as they are."""
    if not Path(file).is_file():
        return comparison  # a pipe is gone
    options = []
    for name, value in reading.items():
        if isinstance(value, dict):
            options += [f"--{name} {shlex.quote(f'{role}={own}')}" for role, own in value.items()]
        elif value not in (False, None, "auto", "."):  # the defaults
            options.append(f"--{name}" if value is True else f"--{name} {shlex.quote(value)}")
    named = " ".join(["robustpool aggregate", shlex.quote(file), *options])
    return replace(comparison, advice=tuple(sentence.replace(COMMAND, named) for sentence in comparison.advice))


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a JSON object."""
    individuals = ("brier", "slope", "intercept", "certain", "dependence", "one_answer", "stretch")
    data = {
        "rules": [_rule_data(rule) for rule in comparison.rules],
        "recalibrated": [_rule_data(rule) for rule in comparison.recalibrated],
        "individuals": _fields(comparison.individuals, *individuals),
        "advice": " ".join(comparison.advice),
        **_fields(comparison, *SIZES),
    }
    return data | ({"base_rate": None} if isnan(comparison.base_rate) else {})


def _rule_data(rule: RuleScore) -> dict[str, Any]:
    parts = rule.log_decomposition
    return {
        **_fields(rule, "name", "recalibration", "brier", "brier_by_forecast", "log"),
        "log_is_infinite": isinf(rule.log.value),
        "certain_and_wrong": rule.certain_and_wrong,
        **rule.decomposition._asdict(),
        **{f"log_{name}": parts and getattr(parts, name) for name in Decomposition._fields},
        **_fields(rule, "slope", "intercept", "auc", "sharpness", "difference", "verdict", "tied_with_best"),
    }


def _fields(record: object, *names: str) -> dict[str, Any]:
    """Fields of a record by name; an estimate and its ends have three names."""
    data: dict[str, Any] = {}
    for name in names:
        value = getattr(record, name)
        if isinstance(value, Interval) or name in ESTIMATES:
            data[name], data[f"{name}_low"], data[f"{name}_high"] = value or (None, None, None)
        else:
            data[name] = value
    return data


# --------------------------------------------------------------------------------------------------------------- lines


def as_lines(comparison: Comparison, width: int) -> list[str]:
    """What to do, the scores, and the reasons; at most ``width`` wide but for long names, which stay in one piece."""
    to_do, why = words.in_parts(comparison.advice)
    lines = [
        *(line for sentence in to_do for line in [*with_commands(sentence), ""]),
        words.say("basis", comparison),
        words.say("how_scored", comparison),
        "",
    ]
    lines += [*_table(comparison.rules, comparison.reference, width), "   (* cannot be told from the best)"]
    lines += filter(None, [words.of_base_rate(comparison), *words.not_scored(comparison), *comparison.notes])
    if comparison.recalibrated:
        short = _shortened(comparison.recalibrated, comparison.reference)
        lines += ["", f"After recalibration ({words.say('recalibrated_how', comparison)}):"]
        lines += _table(short, comparison.reference, width)
    return wrapped([*lines, *(["", " ".join(why)] if why else [])], width)


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
    heads = ("   rule", "Brier", "95 % interval", f"minus {reference}", "95 % interval ", f"against {reference}")
    rows = [(f" {'*' if rule.tied_with_best else ' '} {rule.name}", *words.scores(rule)) for rule in rules]
    columns = dict(zip(heads, zip(*rows, strict=True), strict=True))
    for dropped in (None, "95 % interval", "95 % interval ", f"minus {reference}"):
        columns.pop(dropped or "", None)
        right = [place for place, head in enumerate(columns) if head in ("Brier", f"minus {reference}")]
        lines = table(list(columns), zip(*columns.values(), strict=True), right)
        if max(map(len, lines)) <= width:
            break
    return lines
