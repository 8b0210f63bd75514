"""The findings of a diagnosis as sentences: how the individuals are, and what theory then expects of the rules."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from ..wording import counted
from .diagnosis import NEARLY_ALL, Confidence, Sharing

if TYPE_CHECKING:
    from .diagnosis import Diagnosis
    from .records import Comparison, Individuals, Interval

INDEPENDENT_RULES = "rules for independent evidence (minimax, product, average-prior)"


def individuals_say(individuals: Individuals, diagnosis: Diagnosis) -> tuple[str, ...]:
    """How confident the forecasters are, and how much they share: one sentence each."""
    without = one_answer_says(individuals)
    sharing = _sharing(individuals.dependence, diagnosis.sharing)
    return confidence_says(individuals, diagnosis), f"{sharing}{f' ({without})' if without else ''}."


def one_answer_says(individuals: Individuals) -> str:
    """How many questions the correlation leaves out, as a sentence without its full stop; empty if there are none."""
    few = individuals.one_answer
    are = "is" if few == 1 else "are"
    return f"{counted(few, 'question')} with a single answer {are} left out of this correlation" if few else ""


def confidence_says(individuals: Individuals, diagnosis: Diagnosis) -> str:
    """How confident the forecasters are, in a sentence."""
    slope = individuals.slope
    cannot = "It is unclear whether the forecasters are over- or under-confident: "
    if slope is None:
        return f"{cannot}a calibration slope needs both outcomes, at overlapping forecasts."
    measured = f"their calibration slope is {with_interval(slope)}"
    match diagnosis.confidence:
        case Confidence.CANNOT_TELL:
            return f"{cannot}{measured} (1 means calibrated)."
        case Confidence.IN_LINE:
            return f"Individual forecasters are roughly calibrated: {measured}."
        case Confidence.WRONG_WAY:
            return f"The forecasters {diagnosis.confidence.value}: is the outcome column reversed? {measured.capitalize()}."
        case Confidence.UNINFORMED:
            return f"The forecasters {diagnosis.confidence.value}: {measured}."
        case _:
            return f"Individual forecasters are {diagnosis.confidence.value}: {measured}."


def _sharing(rho: Interval | None, sharing: Sharing) -> str:
    """How much evidence they share, as a sentence without its full stop."""
    cannot = "It is unclear how much of their evidence they share: "
    if rho is None:
        return f"{cannot}too few questions have two answers, or all answers are the same"
    measured = f"given the outcome, two forecasters have a correlation of {with_interval(rho)}"
    worth = f"and are worth {2 / (1 + max(rho.value, 0.0)):.2f} independent ones"
    match sharing:
        case Sharing.NESTED:
            return f"Their information is nested, or nearly so: {measured} {worth}"
        case Sharing.PARTLY:
            much = "much" if rho.value > 0.5 else "some"
            return f"They share {much} of their evidence: {measured} {worth}"
        case Sharing.INDEPENDENT:
            return f"Their evidence looks independent: {measured}"
        case Sharing.CANNOT_TELL:
            return f"{cannot}{measured}"


def theory_says(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """What to expect of the rules before looking at their scores."""
    if comparison.options is not None:
        return "The proofs about rules are for two outcomes, not for these questions."
    if diagnosis.confidence is Confidence.OVER:
        return _of_over_confidence(comparison.individuals.stretch, diagnosis)
    return _of_the_others(comparison, diagnosis)


def _of_over_confidence(stretch: Interval | None, diagnosis: Diagnosis) -> str:
    """Rules that extremise make over-confidence worse, unless averaging has corrected it."""
    if stretch is None:
        return "Rules that extremise strongly (product, extremized-odds) amplify this."
    by = "the average of their log-odds should be multiplied by {:.1f} ({:.1f} to {:.1f})".format(*stretch)
    if diagnosis.stretched:
        return f"But averaging corrects this: {by}, so rules that extremise by about this factor are expected to gain."
    if diagnosis.shrunk:
        return f"Averaging does not correct this: {by}, so rules that extremise are expected to do worse than the mean."
    return f"It is unclear whether averaging corrects this: {by}."


def _of_the_others(comparison: Comparison, diagnosis: Diagnosis) -> str:
    if diagnosis.sharing is Sharing.NESTED:
        gain = "; they gain by correcting under-confidence, as recalibration does"
        return (
            f"A second opinion adds almost nothing: {INDEPENDENT_RULES} have nothing to combine"
            f"{gain if diagnosis.confidence is Confidence.UNDER else ''}."
        )
    if diagnosis.confidence is Confidence.UNDER:
        return "Rules that extremise are expected to gain, because they correct under-confidence as well."
    if diagnosis.confidence is Confidence.CANNOT_TELL or diagnosis.sharing is Sharing.CANNOT_TELL:
        return "Until this is clear, the theory does not favour any rule."
    if diagnosis.sharing is Sharing.INDEPENDENT:
        few = comparison.up_to_two >= NEARLY_ALL
        best = "minimax has the smallest worst case here" if few else "minimax is designed for it"
        return (
            f"This is the case of the theory, calibrated forecasters with independent evidence: {best}, and it is "
            "expected to beat the mean."
        )
    return (
        "The picture is mixed: evidence that all of them saw does not void the proved worst cases, but shared errors do, "
        f"and there is no guarantee that {INDEPENDENT_RULES} beat the mean."
    )


# ---------------------------------------------------------------------------------------------------------------- words


def without_forecasters(comparison: Comparison) -> str:
    """The forecast without any forecaster, to begin a sentence."""
    if comparison.options is None:
        return "Always forecasting the base rate"
    if isnan(comparison.base_rate):
        return "Giving all options of a question the same probability"
    return "Always forecasting how often each option came true"


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
