"""A comparison in words and numbers for people: what both the page and the command line say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..evaluation.advice import TO_DO
from ..evaluation.sayings import without_forecasters
from ..wording import counted, percent

if TYPE_CHECKING:
    from ..evaluation.records import Comparison, Interval

DIGITS = 4
NOTHING = "-"


def estimate(value: float | None, digits: int = DIGITS) -> str:
    """An estimate as text.

    >>> estimate(0.20007), estimate(float("inf")), estimate(None)
    ('0.2001', 'infinite', '-')
    """
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:.{digits}f}" if math.isfinite(value) else "infinite"


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


def in_parts(advice: tuple[str, ...]) -> tuple[str, str]:
    """The advice in two paragraphs, of which the first may be empty: what to do, and why.

    >>> in_parts(("What to do: use the mean.", "It is so.", "Nothing is proved."))
    ('What to do: use the mean.', 'It is so. Nothing is proved.')
    """
    at = sum(sentence.startswith(TO_DO) for sentence in advice[:1])
    return " ".join(advice[:at]), " ".join(advice[at:])


def basis(comparison: Comparison) -> str:
    """What the comparison rests on, in a sentence."""
    size = (
        f"{counted(comparison.questions, 'question')} with an outcome, {counted(comparison.forecasters, 'forecaster')}, "
        f"{counted(comparison.answers, 'answer')}"
    )
    if comparison.options is None:
        return f"{size}; the event happened in {percent(comparison.base_rate)} of the questions."
    if math.isnan(comparison.base_rate):
        return f"{size}; each question has its own options, up to {comparison.options}."
    often = percent(comparison.base_rate)
    return f"{size}; of the {comparison.options} options the most frequent came true in {often} of the questions."


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


def how_scored(comparison: Comparison) -> str:
    """What the rules combined, and how many questions were left out, in a sentence or two."""
    if comparison.pairs is None:
        said, few = "Each rule combined all answers to a question at once.", ""
    else:
        said = f"Each rule combined up to {counted(comparison.pairs, 'random pair')} of answers to each question."
        few = " or with fewer than two answers"
    if not comparison.left_out:
        return said
    are = "is" if comparison.left_out == 1 else "are"
    return f"{said} {counted(comparison.left_out, 'question')} without an outcome{few} {are} left out."


def recalibrated_how(comparison: Comparison) -> str:
    """What was done to the answers, and what the rules are compared with then; to follow "after recalibration"."""
    return (
        f"{comparison.recalibrated[0].recalibration}, fitted on other questions; compared with "
        f"{comparison.reference} on the answers as they came"
    )
