"""The findings of a diagnosis as sentences: what the individuals are like, and what theory expects of rules then."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from ..wording import counted
from .diagnosis import NEARLY_ALL, Confidence, Sharing

if TYPE_CHECKING:
    from .diagnosis import Diagnosis
    from .records import Comparison, Individuals, Interval

INDEPENDENT_RULES = "rules for independent evidence (minimax, product, average-prior)"


def individuals_say(individuals: Individuals, found: Diagnosis) -> tuple[str, ...]:
    """How sure the forecasters are, and how much they share: one sentence each."""
    sharing, without = _sharing(individuals.dependence, found.sharing), one_answer_says(individuals)
    return confidence_says(individuals, found), f"{sharing[:-1]} ({without})." if without else sharing


def one_answer_says(individuals: Individuals) -> str:
    """How many questions the dependence leaves out, in words that make a sentence; nothing if there are none."""
    few = individuals.one_answer
    are = "is" if few == 1 else "are"
    return f"{counted(few, 'question')} with a single answer {are} left out of this correlation" if few else ""


def confidence_says(individuals: Individuals, found: Diagnosis) -> str:
    """How sure the forecasters are, in a sentence."""
    slope = individuals.slope
    cannot = "Whether the forecasters are over- or under-confident cannot be told: "
    if slope is None:
        return f"{cannot}for a calibration slope both outcomes have to occur, at forecasts that overlap."
    measured = f"their calibration slope is {with_interval(slope)}"
    match found.confidence:
        case Confidence.CANNOT_TELL:
            return f"{cannot}{measured}, and 1 would be right."
        case Confidence.IN_LINE:
            return f"One by one the forecasters are about calibrated: {measured}."
        case Confidence.WRONG_WAY:
            return f"The forecasters {found.confidence.value}: is the outcome column reversed? T{measured[1:]}."
        case Confidence.UNINFORMED:
            return f"The forecasters {found.confidence.value}: {measured}."
        case _:
            return f"One by one the forecasters are {found.confidence.value}: {measured}."


def _sharing(rho: Interval | None, found: Sharing) -> str:
    cannot = "How much of their evidence they share cannot be told: "
    if rho is None:
        return f"{cannot}too few questions have two answers, or all answers are the same."
    measured = f"given the outcome, two correlate by {with_interval(rho)}"
    worth = f"and are worth {2 / (1 + max(rho.value, 0.0)):.2f} independent ones"
    match found:
        case Sharing.NESTED:
            return f"Their information is nested, or nearly so: {measured} {worth}."
        case Sharing.PARTLY:
            much = "much" if rho.value > 0.5 else "some"
            return f"They share {much} of their evidence: {measured} {worth}."
        case Sharing.INDEPENDENT:
            return f"Their evidence looks independent: {measured}."
        case Sharing.CANNOT_TELL:
            return f"{cannot}{measured}."


def theory_says(comparison: Comparison, found: Diagnosis) -> str:
    """What the findings make one expect of the rules, before their scores are looked at."""
    if comparison.options is not None:
        return "What is proved of rules is about two outcomes, and not about these questions."
    if found.confidence is Confidence.OVER:
        return _of_over_confidence(comparison.individuals.stretch, found)
    return _of_the_others(comparison, found)


def _of_over_confidence(stretch: Interval | None, found: Diagnosis) -> str:
    """Rules that stretch the average make over-confidence worse, unless averaging has more than undone it."""
    if found.stretched and stretch is not None:
        by = "{:.1f} ({:.1f} to {:.1f})".format(*stretch)
        return (
            f"But averaging so many undoes it: the average of their log-odds should be stretched by {by}, so that rules that "
            "go about so far beyond it are expected to gain."
        )
    return (
        "Rules that go far beyond the average (product, extremized-odds) exaggerate this: they are "
        "expected to lose to the mean, unless the forecasters are recalibrated first."
    )


def _of_the_others(comparison: Comparison, found: Diagnosis) -> str:
    if found.sharing is Sharing.NESTED:
        gain = ", and gain by correcting under-confidence, as recalibration does"
        return (
            f"There is next to no second opinion to add up: {INDEPENDENT_RULES} have nothing to work with"
            f"{gain if found.confidence is Confidence.UNDER else ''}."
        )
    if found.confidence is Confidence.UNDER:
        return "Rules that go beyond the average are expected to gain, since they correct under-confidence on the way."
    if found.confidence is Confidence.CANNOT_TELL or found.sharing is Sharing.CANNOT_TELL:
        return "As long as that is open, theory picks no rule."
    if found.sharing is Sharing.INDEPENDENT:
        best = (
            "minimax is the rule whose worst case is smallest there"
            if comparison.up_to_three >= NEARLY_ALL
            else "minimax is made for it"
        )
        return (
            f"This is the theory's case, calibrated forecasters with independent evidence: {best}, and it is expected to "
            "beat the mean."
        )
    return (
        f"That is a mixed picture: {INDEPENDENT_RULES} count in part the same thing twice, and nothing promises that they "
        "beat the mean."
    )


# ---------------------------------------------------------------------------------------------------------------- words


def without_forecasters(comparison: Comparison) -> str:
    """What one would say without any forecaster, to begin a sentence."""
    if comparison.options is None:
        return "Always saying the base rate"
    if isnan(comparison.base_rate):
        return "Giving all options of a question the same probability"
    return "Always saying how often each option came true"


def the(rule: str) -> str:
    """A rule in a sentence.

    >>> the("mean"), the("minimax")
    ('the mean', 'minimax')
    """
    return f"the {rule}" if rule in ("mean", "median") else rule


def with_interval(interval: Interval) -> str:
    """An estimate and its interval.

    >>> from .records import Interval
    >>> with_interval(Interval(0.48, 0.346, 0.604))
    '0.48 (0.35 to 0.60)'
    """
    value, low, high = (round(end, 2) + 0.0 for end in interval)  # no -0.00
    return f"{value:.2f} ({low:.2f} to {high:.2f})"
