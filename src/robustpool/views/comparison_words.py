"""A comparison in words and numbers for people: what both the page and the command line say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..evaluation.advice import TO_DO
from ..evaluation.diagnosis_words import without_forecasters
from ..evaluation.records import Verdict
from ..html import words
from ..wording import estimate

if TYPE_CHECKING:
    from ..evaluation.records import Comparison, Interval, RuleScore

DIGITS = 4
NOTHING = "-"


def signed(value: float, digits: int = DIGITS) -> str:
    """A difference as text, with its sign unless it is zero.

    >>> signed(0.01), signed(-0.01), signed(-1e-9)
    ('+0.0100', '-0.0100', '0.0000')
    """
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def span(interval: Interval | None, digits: int = DIGITS) -> str:
    """The ends of an interval.

    >>> from robustpool.evaluation.records import Interval
    >>> span(Interval(0.2, 0.18128, 0.22031)), span(Interval(0.0, -1e-9, 0.1)), span(None)
    ('0.1813 to 0.2203', '0.0000 to 0.1000', '-')
    """
    if interval is None or math.isnan(interval.low) or math.isnan(interval.high):
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
    """What no forecaster at all would score, in a sentence; nothing where it is not to be had."""
    score = comparison.base_rate_brier
    return "" if math.isnan(score) else f"{without_forecasters(comparison)} has {estimate(score)}."


def not_scored(comparison: Comparison, mark: str = "") -> list[str]:
    """The rules that were not scored, in a sentence for each reason; ``mark`` goes around their names."""
    by_reason: dict[str, list[str]] = {}
    for name, why in comparison.unscored.items():
        by_reason.setdefault(why, []).append(f"{mark}{name}{mark}")
    return [
        f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not scored: {why}"
        for why, names in by_reason.items()
    ]
