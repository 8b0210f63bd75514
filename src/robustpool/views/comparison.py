"""A comparison of rules as plain data, as the words and numbers that its page shares, and as lines for people."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from math import isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluation.advice import COMMAND, FIT_COMMAND, TO_DO
from ..evaluation.diagnosis_words import without_forecasters
from ..evaluation.records import Interval, Verdict
from ..html import words
from ..wording import estimate
from .pool import DIGITS, NOTHING, period_lines, signed
from .pool import as_data as pool_data
from .terminal import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..evaluation.records import Comparison, Individuals, RuleScore
    from ..learning.records import FittedPool
    from ..typing import FilePath

SHORT = 3
"""Rules that are shown after recalibration, besides the reference, the default rule and `minimax`."""

ESTIMATES = {"slope", "intercept", "dependence", "stretch"}
"""Fields with three names in the data, even if they could not be estimated."""

DRAWN = {"curve", "histogram", "pair_sample"}
"""Fields that are only for pictures."""


def naming_file(comparison: Comparison, file: FilePath, **reading: Any) -> Comparison:
    """The same comparison with commands that name the file and the reading options, ready to be copied."""
    if not Path(file).is_file():
        return comparison  # a pipe is gone
    options = []
    for name, value in reading.items():
        if isinstance(value, dict):
            options += [f"--{name} {shlex.quote(f'{role}={own}')}" for role, own in value.items()]
        elif value not in (False, None, "auto", "."):  # the defaults
            options.append(f"--{name}" if value is True else f"--{name} {shlex.quote(str(value))}")
    named = " ".join([shlex.quote(str(file)), *options])
    advice = comparison.advice
    for command in (COMMAND, FIT_COMMAND):
        advice = tuple(sentence.replace(command, command.replace("FILE", named)) for sentence in advice)
    return replace(comparison, advice=advice)


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a JSON object."""
    return _fields(comparison) | {
        "base_rate": None if isnan(comparison.base_rate) else comparison.base_rate,
        "individuals": _fields(comparison.individuals),
        "rules": [_rule_data(rule) for rule in comparison.rules],
        "recalibrated": [_rule_data(rule) for rule in comparison.recalibrated],
        "fitted": None if comparison.fitted is None else pool_data(comparison.fitted),
        "advice": " ".join(comparison.advice),
    }


def _rule_data(rule: RuleScore) -> dict[str, Any]:
    data = _fields(rule)
    parts, log_parts = data.pop("decomposition"), data.pop("log_decomposition")
    logs = {f"log_{name}": log_parts and getattr(log_parts, name) for name in parts._fields}
    return data | parts._asdict() | logs | {"log_is_infinite": isinf(rule.log.value)}


def _fields(record: Comparison | RuleScore | Individuals) -> dict[str, Any]:
    """The fields of a record except those for pictures; an estimate and its ends have three names."""
    data: dict[str, Any] = {}
    for name, value in vars(record).items():
        if isinstance(value, Interval) or name in ESTIMATES:
            data[name], data[f"{name}_low"], data[f"{name}_high"] = value or (None, None, None)
        elif name not in DRAWN:
            data[name] = value
    return data


# --------------------------------------------------------------------------------------------------------------- words


def span(interval: Interval | None, digits: int = DIGITS) -> str:
    """The ends of an interval.

    >>> from robustpool.evaluation.records import Interval
    >>> span(Interval(0.2, 0.18128, 0.22031)), span(Interval(0.0, -1e-9, 0.1)), span(None)
    ('0.1813 to 0.2203', '0.0000 to 0.1000', '-')
    """
    if interval is None or isnan(interval.low) or isnan(interval.high):
        return NOTHING
    return " to ".join(estimate(end if round(end, digits) else 0.0, digits) for end in interval[1:])


def scores(rule: RuleScore, digits: int = DIGITS) -> tuple[str, ...]:
    """Brier score and difference to that of the reference, each with its interval, and the verdict.

    The difference has ``digits``; the reference has no interval of its difference to itself.
    """
    ends = NOTHING if rule.verdict is Verdict.REFERENCE else span(rule.difference, digits)
    return estimate(rule.brier.value), span(rule.brier), signed(rule.difference.value, digits), ends, rule.verdict.value


def in_parts(advice: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The advice in two parts, of which the first may be empty: what to do, and why.

    >>> in_parts(("What to do: use the mean.", "It is so.", "Nothing is proved."))
    (('What to do: use the mean.',), ('It is so.', 'Nothing is proved.'))
    """
    at = sum(sentence.startswith(TO_DO) for sentence in advice[:1])
    return advice[:at], advice[at:]


def say(block: str, comparison: Comparison, **values: object) -> str:
    """What ``comparison.txt`` says about one thing."""
    return words("comparison.txt", block, it=comparison, **values)


def of_base_rate(comparison: Comparison) -> str:
    """The score without any forecaster, in a sentence; empty if it is not available."""
    score = comparison.base_rate_brier
    return "" if isnan(score) else f"{without_forecasters(comparison)} scores {estimate(score)}."


def fitted_says(pool: FittedPool) -> str:
    """What a fitted pool is and what it gains, in a paragraph."""
    return f"A pool was fitted to these data. {' '.join(pool.summary[:-1])} The score is that of {pool.scheme}."


def not_scored(comparison: Comparison, mark: str = "") -> list[str]:
    """The rules that were not scored, in a sentence for each reason; ``mark`` goes around their names."""
    by_reason: dict[str, list[str]] = {}
    for name, why in comparison.unscored.items():
        by_reason.setdefault(why, []).append(f"{mark}{name}{mark}")
    return [
        f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not scored: {why}"
        for why, names in by_reason.items()
    ]


# --------------------------------------------------------------------------------------------------------------- lines


def as_lines(comparison: Comparison, width: int) -> list[str]:
    """What to do, the scores, and the reasons; at most ``width`` wide but for long names, which stay in one piece."""
    to_do, why = in_parts(comparison.advice)
    lines = [line for sentence in to_do for line in [*with_commands(sentence), ""]]
    lines += [say("basis", comparison), say("how_scored", comparison), ""]
    lines += [*_table(comparison.rules, comparison.reference, width), "   (* not significantly worse than the best)"]
    lines += filter(None, [of_base_rate(comparison), *not_scored(comparison), *comparison.notes])
    if comparison.fitted is not None:
        lines += ["", fitted_says(comparison.fitted)]
        if comparison.fitted.periods:
            lines += ["", *period_lines(comparison.fitted.periods, width)]
    if comparison.recalibrated:
        often_wanted = {comparison.reference, "robust", "minimax"}
        short = [rule for k, rule in enumerate(comparison.recalibrated) if k < SHORT or rule.name in often_wanted]
        lines += ["", f"After recalibration ({say('recalibrated_how', comparison)}):"]
        lines += _table(short, comparison.reference, width)
    return wrapped([*lines, *(["", " ".join(why)] if why else [])], width)


def with_commands(text: str) -> list[str]:
    """A paragraph in which each command has a line of its own, to be copied whole.

    >>> with_commands("Do it. The command: `robustpool rules`. Or not.")
    ['Do it. The command:', '    robustpool rules', 'Or not.']
    """
    parts = re.split(r" ?`([^`]*)`\.? ?", text)
    return [f"    {part}" if place % 2 else part for place, part in enumerate(parts) if part]


def _table(rules: Sequence[RuleScore], reference: str, width: int) -> list[str]:
    """A line for each rule; short of width, fewer columns: the score's interval goes first, then that of the difference."""
    heads = ("   rule", "Brier", "95 % interval", f"minus {reference}", "95 % interval ", f"against {reference}")
    rows = [(f" {'*' if rule.tied_with_best else ' '} {rule.name}", *scores(rule)) for rule in rules]
    columns = dict(zip(heads, zip(*rows, strict=True), strict=True))
    for dropped in (None, "95 % interval", "95 % interval ", f"minus {reference}"):
        columns.pop(dropped or "", None)
        right = [place for place, head in enumerate(columns) if head in ("Brier", f"minus {reference}")]
        lines = table(list(columns), zip(*columns.values(), strict=True), right)
        if max(map(len, lines)) <= width:
            break
    return lines
