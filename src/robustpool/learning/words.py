"""What follows from a fit, in plain sentences. A gain is called one only if its interval does not hold 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..wording import counted
from .records import DEFAULT, REFERENCE, is_gain

if TYPE_CHECKING:
    from ..evaluation.records import Interval
    from .records import FittedPool

FORM_WORDS = {
    "mean": "The pool is the mean: nothing that was tried does better by more than one standard error.",
    "robust": "The pool is the default rule, robust: nothing else does better by more than one standard error.",
    "recalibrated": "The pool averages the log-odds of the answers and then recalibrates the average.",
    "weighted": "The pool is the default rule, robust, with forecasters weighted by their track record.",
    "weighted-recalibrated": (
        "The pool averages the log-odds of the answers, weighted by the forecasters' track records, and then recalibrates the average."
    ),
}
OTHERS = {REFERENCE: "the mean", DEFAULT: "the default rule, robust"}


def summary(pool: FittedPool) -> FittedPool:
    """The pool with its summary."""
    return replace(pool, summary=tuple(sentences(pool)))


def sentences(pool: FittedPool) -> list[str]:
    """What the pool is, what it gains over the mean and over the default rule, and on what this rests."""
    mean = next(each.brier for each in pool.tried if each.name == REFERENCE)
    unseen = (
        f"On {counted(pool.scored, 'question')} that were not learned from, choosing and fitting a pool in this way has a Brier "
        f"score of {pool.brier.value:.4f}, and the mean has {mean:.4f}."
    )
    gains = [
        _compared(gain, words, in_order=pool.learned.in_order is not False)
        for (other, words), gain in zip(OTHERS.items(), (pool.over_mean, pool.over_default), strict=True)
        if other != pool.chosen  # it gains nothing over itself
    ]
    return [FORM_WORDS[pool.chosen], unseen, *gains, "This is measured, not proved."]


def _compared(gain: Interval, other: str, *, in_order: bool) -> str:
    interval = f"{gain.value:+.4f} (95 % interval {gain.low:+.4f} to {gain.high:+.4f})"
    if gain.low == gain.high == 0:
        return f"It says the same as {other}."
    if is_gain(gain):
        if not in_order:
            return f"It is not shown to be better than {other}: the gain is {interval}, but the order in time could not be tested."
        return f"It is better than {other}: the gain is {interval}."
    if gain.high < 0:
        return f"It is worse than {other}: the gain is {interval}."
    return f"It is not shown to be better than {other}: the gain is {interval}, which includes 0."
