"""Whether the assumptions of the theory hold in a comparison, as a few findings; `diagnosis_words` words them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from ..aggregators.rules import get_rule
from ..errors import InputError
from .records import Verdict
from .scoring import CLUSTERS_FOR_A_VERDICT, UNSEEN

if TYPE_CHECKING:
    from .records import Comparison, Individuals, RuleScore

FEW_QUESTIONS = 40
"""Questions (or clusters) below which a sample is small. With n independent questions the slope of calibrated forecasts has
a standard error of about 1/sqrt(n x 0.2 x 1) (mean p (1 - p) times variance of the log-odds), 0.35 at 40: below that, a slope
of 1/2 can hardly be distinguished from a slope of 1, and neither can most rules."""

FEW_OUTCOMES = 20
"""Questions (or clusters) with the rarer outcome below which a sample is small as well: a rule that goes too far pays only where the rare
outcome happens, so that with a handful of those it looks better by luck. With 40 questions and a base rate of 0.2, rules that looked
significantly better were worse than the mean in one draw out of six."""

IN_LINE = (2 / 3, 3 / 2)
"""A slope whose interval lies in here is as good as 1: what is called 2/3 should at worst be called 0.61 or 0.74."""

NESTED = 0.9
"""Two forecasters with correlation rho are worth 2 / (1 + rho) independent ones: from 0.9 on less than 1.053."""

INDEPENDENT = 0.2
"""Up to this correlation two forecasters are worth 1.67 independent ones or more, and adding up their evidence as if it were
independent overstates it by a fifth at most."""

NEARLY_ALL = 0.95
"""If at least this share of the questions has two answers or fewer, the advice treats all of them so."""

ROUNDING = 1e-6

DETECTED_80_PERCENT = (1.96 + 0.84) / 1.96
"""A difference as large as the half-width of its interval is detected half of the time; one that is larger by this
factor, 80 % of the time (the normal quantiles of 0.975 and 0.8)."""


class Sample(StrEnum):
    """Whether there are enough questions."""

    SMALL = "small"
    ENOUGH = "enough"


class Confidence(StrEnum):
    """Whether the individuals are calibrated."""

    OVER = "over-confident"
    UNDER = "under-confident"
    IN_LINE = "in line"
    UNINFORMED = "carry no detectable information"
    WRONG_WAY = "point the wrong way"
    CANNOT_TELL = "cannot tell"


class Sharing(StrEnum):
    """How much of their evidence the forecasters share, given the outcome."""

    NESTED = "nested"
    PARTLY = "partly"
    INDEPENDENT = "independent"
    CANNOT_TELL = "cannot tell"


class Extremising(StrEnum):
    """The effect of extremising on these questions, compared with the reference."""

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
    stretched: bool  # the interval of the stretch of the average log-odds lies above 1
    shrunk: bool = False  # the same below 1


def diagnose(comparison: Comparison) -> Diagnosis:
    """Findings from a comparison's intervals.

    Extremising is not judged on a small sample, where among a dozen rules one looks better by chance, nor against a
    reference that extremises.
    """
    sample = Sample.ENOUGH if is_enough(_size(comparison), comparison.base_rate) else Sample.SMALL
    judged = sample is Sample.ENOUGH and not is_extremising(comparison.reference)
    extremising = _extremising(comparison.rules) if judged else Extremising.CANNOT_TELL
    people = comparison.individuals
    stretched = people.stretch is not None and people.stretch.low > 1
    shrunk = people.stretch is not None and people.stretch.high < 1
    return Diagnosis(sample, _confidence(comparison), _sharing(people), extremising, stretched, shrunk)


def is_enough(size: int, base_rate: float | None) -> bool:
    """Whether so many questions (or clusters) are enough, given how often the event (or the most frequent outcome) happened.

    >>> is_enough(40, 0.5), is_enough(40, 0.4), is_enough(100, 0.2), is_enough(40, None)
    (True, False, True, True)
    """
    known = base_rate is not None and not np.isnan(base_rate)
    rarer = size * min(base_rate, 1 - base_rate) if known and base_rate is not None else FEW_OUTCOMES
    return size >= FEW_QUESTIONS and rarer >= FEW_OUTCOMES - ROUNDING


def _size(comparison: Comparison) -> int:
    """How many questions, or clusters of them, there are."""
    return comparison.questions if comparison.clusters is None else comparison.clusters


def _confidence(comparison: Comparison) -> Confidence:
    slope = comparison.individuals.slope
    if slope is None:
        return Confidence.CANNOT_TELL
    if slope.high < 0:
        return Confidence.WRONG_WAY
    if slope.high < 1:
        if slope.low > 0 or _informed_together(comparison):
            return Confidence.OVER
        return Confidence.CANNOT_TELL if _size(comparison) < FEW_QUESTIONS else Confidence.UNINFORMED
    if slope.low > 1:
        return Confidence.UNDER
    return Confidence.IN_LINE if IN_LINE[0] < slope.low and slope.high < IN_LINE[1] else Confidence.CANNOT_TELL


def _informed_together(comparison: Comparison) -> bool:
    """Whether the reference rule is informative even if the noise of single answers hides it."""
    slope = comparison.reference_score.slope
    return slope is not None and slope.low > 0


def _sharing(individuals: Individuals) -> Sharing:
    rho = individuals.dependence
    if rho is None:
        return Sharing.CANNOT_TELL
    if rho.low > NESTED:
        return Sharing.NESTED
    if rho.high < INDEPENDENT:
        return Sharing.INDEPENDENT
    return Sharing.PARTLY if rho.low > 0 and rho.high < 1 else Sharing.CANNOT_TELL


def is_extremising(rule: str) -> bool:
    """Whether a rule by that name extremises; designs and functions of one's own are not judged.

    >>> is_extremising("karmarkar:a=2"), is_extremising("geometric-odds"), is_extremising("design.json")
    (True, False, False)
    """
    try:
        return get_rule(rule).extremises
    except InputError:
        return False


def _extremising(rules: tuple[RuleScore, ...]) -> Extremising:
    """It helps or hurts if some of these rules differ significantly from the reference, and none lies on its other side."""
    judged = [rule for rule in rules if is_extremising(rule.name)]
    verdicts = {rule.verdict for rule in judged}
    if not verdicts & {Verdict.BETTER, Verdict.WORSE}:
        return Extremising.CANNOT_TELL
    if all(rule.difference.value <= 0 for rule in judged):
        return Extremising.HELPS
    return Extremising.HURTS if all(rule.difference.value >= 0 for rule in judged) else Extremising.DEPENDS


def findable(comparison: Comparison) -> float | None:
    """The Brier difference that this many questions detect 80 % of the time, for a typical (median) pair of rules.

    None if there are too few clusters for a verdict, or nothing differs within four digits.
    """
    if _size(comparison) < CLUSTERS_FOR_A_VERDICT:
        return None
    half_widths = [(rule.difference.high - rule.difference.low) / 2 for rule in comparison.rules]
    finite = [width for width in half_widths if UNSEEN < width < np.inf]
    return DETECTED_80_PERCENT * float(np.median(finite)) if finite else None
