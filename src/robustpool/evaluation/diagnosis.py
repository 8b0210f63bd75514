"""What a comparison says about the assumptions of the theory, as a few findings; the words are made of them elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from .records import Verdict

if TYPE_CHECKING:
    from .records import Comparison, Individuals, Interval, RuleScore

FEW_QUESTIONS = 40
"""Questions (or clusters) below which a sample is small. With n independent questions the slope of calibrated forecasts has
a standard error of about 1/sqrt(n x 0.2 x 1) (mean p (1 - p) times variance of the log-odds), 0.35 at 40: below, a slope of
1/2 and a slope of 1 are hardly told apart, and nor are most rules."""

IN_LINE = (2 / 3, 3 / 2)
"""A slope whose interval lies in here is as good as 1: what is called 2/3 should at worst be called 0.61 or 0.74."""

NESTED = 0.9
"""Two forecasters with correlation rho are worth 2 / (1 + rho) independent ones: from 0.9 on less than 1.053."""

INDEPENDENT = 0.2
"""Up to this correlation two forecasters are worth 1.67 independent ones or more, and adding up their evidence as if it were
independent overstates it by a fifth at most."""

EXTREMISING = frozenset(
    {"minimax", "extremized-odds", "neyman-odds", "karmarkar", "beta-pool", "product", "bordley", "average-prior"}
    | {"arieli-tuned", "log-odds"}
)
"""Rules that go beyond the average of the reports where these agree."""


class Sample(StrEnum):
    """How far the number of questions carries."""

    SMALL = "small"
    ENOUGH = "enough"


class Confidence(StrEnum):
    """Whether individuals are as sure as they are right."""

    OVER = "over-confident"
    UNDER = "under-confident"
    IN_LINE = "in line"
    CANNOT_TELL = "cannot tell"


class Sharing(StrEnum):
    """How much of their evidence the forecasters share, given the outcome."""

    NESTED = "nested"
    PARTLY = "partly"
    INDEPENDENT = "independent"
    CANNOT_TELL = "cannot tell"


class Extremising(StrEnum):
    """What going beyond the average did on these questions, against the reference."""

    HELPS = "helps"
    HURTS = "hurts"
    DEPENDS = "depends on the rule"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Diagnosis:
    """The findings that advice rests on."""

    sample: Sample
    confidence: Confidence
    sharing: Sharing
    extremising: Extremising
    stretch: (
        float | None
    )  # how far the average of log-odds should be stretched; None: slope or correlation not to be had


def diagnose(comparison: Comparison) -> Diagnosis:
    """Findings from a comparison's intervals.

    Extremising is not judged on a small sample, where among a dozen rules one looks better by chance, nor against a
    reference that extremises.
    """
    size = comparison.questions if comparison.clusters is None else comparison.clusters
    sample = Sample.SMALL if size < FEW_QUESTIONS else Sample.ENOUGH
    judged = sample is Sample.ENOUGH and not is_extremising(comparison.reference)
    extremising = _extremising(comparison.rules) if judged else Extremising.CANNOT_TELL
    people = comparison.individuals
    return Diagnosis(sample, _confidence(people), _sharing(people), extremising, _stretch(comparison))


def _confidence(individuals: Individuals) -> Confidence:
    slope = individuals.slope
    if slope is None:
        return Confidence.CANNOT_TELL
    if slope.high < 1:
        return Confidence.OVER
    if slope.low > 1:
        return Confidence.UNDER
    return Confidence.IN_LINE if IN_LINE[0] < slope.low and slope.high < IN_LINE[1] else Confidence.CANNOT_TELL


def _sharing(individuals: Individuals) -> Sharing:
    rho = individuals.dependence
    if rho is None:
        return Sharing.CANNOT_TELL
    if rho.low > NESTED:
        return Sharing.NESTED
    if rho.high < INDEPENDENT:
        return Sharing.INDEPENDENT
    return Sharing.PARTLY if rho.low > 0 and rho.high < 1 else Sharing.CANNOT_TELL


def _stretch(comparison: Comparison) -> float | None:
    """b n / (1 + (n - 1) rho): what n answers with slope b and correlation rho are worth together (docs/theory/scores)."""
    slope, rho = comparison.individuals.slope, comparison.individuals.dependence
    if slope is None or rho is None:
        return None
    n = comparison.answers / comparison.questions if comparison.pairs is None else 2.0
    return slope.value * n / (1 + (n - 1) * max(rho.value, 0.0))


def is_extremising(rule: str) -> bool:
    """Whether a rule by that name goes beyond the average.

    >>> is_extremising("karmarkar:a=2"), is_extremising("geometric-odds")
    (True, False)
    """
    return rule.partition(":")[0] in EXTREMISING


def _extremising(rules: tuple[RuleScore, ...]) -> Extremising:
    """It helps or hurts if some of these rules are told apart from the reference, and none lies on its other side."""
    judged = [rule for rule in rules if is_extremising(rule.name)]
    verdicts = {rule.verdict for rule in judged}
    if not verdicts & {Verdict.BETTER, Verdict.WORSE}:
        return Extremising.CANNOT_TELL
    if all(rule.difference.value <= 0 for rule in judged):
        return Extremising.HELPS
    return Extremising.HURTS if all(rule.difference.value >= 0 for rule in judged) else Extremising.DEPENDS


def resolution(comparison: Comparison) -> float | None:
    """The difference of Brier scores that these questions can just tell: the median half-width of the paired intervals."""
    widths = [_half_width(rule.difference) for rule in comparison.rules if rule.difference.high > rule.difference.low]
    finite = [width for width in widths if np.isfinite(width)]
    return float(np.median(finite)) if finite else None


def _half_width(interval: Interval) -> float:
    return (interval.high - interval.low) / 2
