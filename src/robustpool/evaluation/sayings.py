"""The findings of a diagnosis as sentences: what the individuals are like, and what theory expects of rules then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .diagnosis import Average, Confidence, Sharing

if TYPE_CHECKING:
    from .diagnosis import Diagnosis
    from .records import Individuals, Interval

INDEPENDENT_RULES = "rules for independent evidence (minimax, product, average-prior)"


def individuals_say(individuals: Individuals, found: Diagnosis) -> tuple[str, str]:
    """How sure the forecasters are, and how much they share: one sentence each."""
    return _confidence(individuals.slope, found.confidence), _sharing(individuals.dependence, found.sharing)


def _confidence(slope: Interval | None, found: Confidence) -> str:
    cannot = "Whether the forecasters are over- or under-confident cannot be told: "
    if slope is None:
        return f"{cannot}for a calibration slope both outcomes have to occur, at forecasts that overlap."
    measured = f"their calibration slope is {with_interval(slope)}, where 1 is as sure as they are right"
    if found is Confidence.CANNOT_TELL:
        return f"{cannot}{measured}."
    if found is Confidence.IN_LINE:
        return f"One by one the forecasters are about calibrated: {measured}."
    return f"One by one the forecasters are {found.value}: {measured}."


def _sharing(rho: Interval | None, found: Sharing) -> str:
    cannot = "How much of their evidence they share cannot be told: "
    if rho is None:
        return f"{cannot}too few questions have two answers, or all answers are the same."
    measured = f"given the outcome, the log-odds of two of them have a correlation of {with_interval(rho)}"
    two = f"{2 / (1 + max(rho.value, 0.0)):.2f}"
    worth = f"so that two are worth {two} independent ones (more, if all just know each question's base rate)"
    match found:
        case Sharing.NESTED:
            return f"Their information is nested, or nearly so: {measured}, {worth}."
        case Sharing.PARTLY:
            much = "much" if rho.value > 0.5 else "some"
            return f"They share {much} of their evidence: {measured}, {worth}."
        case Sharing.INDEPENDENT:
            return f"Their evidence looks independent: {measured}."
        case Sharing.CANNOT_TELL:
            return f"{cannot}{measured}."


def theory_says(found: Diagnosis) -> tuple[str, ...]:
    """What the findings make one expect of the rules, before their scores are looked at."""
    return _of_over_confidence(found) if found.confidence is Confidence.OVER else (_of_the_others(found),)


def _of_over_confidence(found: Diagnosis) -> tuple[str, ...]:
    """On few answers every stretch makes it worse; the average of many bears one."""
    on_few = "On few answers this makes rules that go beyond the average lose to the mean"
    undone = f"averaging {found.together:.0f} undoes it"
    too_few = (
        "Rules that go beyond the average (minimax, product, extremized-odds and others) exaggerate this further: they are "
        "expected to lose to the mean, unless the forecasters are recalibrated first."
    )
    enough = (
        f"{on_few}, but {undone}: a stretch of the average log-odds up to about {_times(found)} is expected to gain, and "
        "recalibration is not the first remedy."
    )
    further = (
        "Rules for independent evidence (product, average-prior, log-odds) may stretch it up to "
        f"{found.together:.0f} times, and then gain less or lose."
    )
    match found.average:
        case Average.SHRUNK:
            return (too_few,)
        case Average.KEPT:
            return (f"{on_few}; {undone}, but hardly more: the average log-odds bears a stretch of {_times(found)}.",)
        case Average.STRETCHED:
            return (enough, further)
        case Average.CANNOT_TELL:
            return (f"{on_few}, unless the forecasters are recalibrated first; whether many undo it cannot be told.",)


def _times(found: Diagnosis) -> str:
    if found.stretch is None:
        return "not known"
    return "{:.1f} ({:.1f} to {:.1f})".format(*found.stretch)


def _of_the_others(found: Diagnosis) -> str:
    if found.sharing is Sharing.NESTED:
        gain = (
            ", and what they gain on the mean comes from correcting under-confidence, which recalibration does without "
            "counting anything twice"
        )
        return (
            f"There is next to no second opinion to add up: {INDEPENDENT_RULES} have nothing to work with"
            f"{gain if found.confidence is Confidence.UNDER else ''}."
        )
    if found.confidence is Confidence.UNDER:
        return "Rules that go beyond the average are expected to gain, since they correct under-confidence on the way."
    if found.confidence is Confidence.CANNOT_TELL or found.sharing is Sharing.CANNOT_TELL:
        return "As long as that is open, theory picks no rule."
    if found.sharing is Sharing.INDEPENDENT:
        return (
            "This is the theory's case, calibrated forecasters with independent evidence: minimax is the rule whose worst "
            "case is smallest there, and it is expected to beat the mean."
        )
    return (
        f"That is a mixed picture: {INDEPENDENT_RULES} count in part the same thing twice, and nothing promises that they "
        "beat the mean."
    )


# ---------------------------------------------------------------------------------------------------------------- words


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
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def with_signed_interval(interval: Interval) -> str:
    """A difference and its interval.

    >>> from .records import Interval
    >>> with_signed_interval(Interval(-0.02, -0.0321, -0.0079))
    '-0.0200, from -0.0321 to -0.0079'
    """
    return f"{interval.value:+.4f}, from {interval.low:+.4f} to {interval.high:+.4f}"
