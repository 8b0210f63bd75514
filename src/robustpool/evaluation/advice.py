"""A comparison in plain words: one paragraph that somebody who decides can repeat. Measured on these data, never proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wording import counted, listed
from .diagnosis import (
    FEW_QUESTIONS,
    Average,
    Confidence,
    Diagnosis,
    Extremising,
    Sample,
    Sharing,
    diagnose,
    findable,
    is_extremising,
)
from .records import Verdict
from .sayings import individuals_say, the, theory_says, with_signed_interval

if TYPE_CHECKING:
    from .records import Comparison, RuleScore

LEANING = "geometric-mean"
"""It leans towards no on every question: no rule to recommend, whatever its score."""

TO_DO = "What to do: "
"""How the sentence begins that says so."""


def advise(comparison: Comparison) -> tuple[str, ...]:
    """The sentences, in the order: sample, individuals, what theory expects, what the data say, what to do."""
    found = diagnose(comparison)
    said = [
        _sample(comparison, found),
        *individuals_say(comparison.individuals, found),
        *theory_says(found),
        *_data(comparison, found),
        _recalibration(comparison, found),
        _what_to_do(comparison, found),
        _reservation(comparison),
    ]
    return tuple(filter(None, said))


def _sample(comparison: Comparison, found: Diagnosis) -> str:
    size = counted(comparison.questions, "question") + " with an outcome"
    if comparison.clusters is not None:
        size += f" in {counted(comparison.clusters, 'cluster')}"
    size += f", {counted(comparison.answers, 'answer')} of {counted(comparison.forecasters, 'forecaster')}"
    if comparison.pairs is not None:
        size += ", taken two at a time"
    difference = findable(comparison)
    found_out = f"find a difference of {difference or 0.0:.1g} in Brier score four times out of five"
    if found.sample is Sample.SMALL:
        few = f"{size}: a small sample, which cannot tell much"
        return f"{few}." if difference is None else f"{few} (so few {found_out}, smaller ones less often)."
    return f"{size}." if difference is None else f"{size}: enough to {found_out}."


# ------------------------------------------------------------------------------------------------------ what the data say


def _data(comparison: Comparison, found: Diagnosis) -> list[str]:
    best, reference = comparison.rules[0], _reference(comparison)
    lead = the(best.name).replace("the ", "The ", 1) + f" has the best Brier score, {best.brier.value:.4f}"
    if best is not reference:
        lead += f" against {reference.brier.value:.4f} of {the(reference.name)}"
    if found.sample is Sample.SMALL:
        return [f"{lead}, but so few questions cannot tell which rule is best."]
    if best is not reference:
        lead += f" ({with_signed_interval(best.difference)})"
    return [f"{lead}.", _told_apart(comparison), _beyond(comparison, found)]


def _told_apart(comparison: Comparison) -> str:
    if len(comparison.rules) == 1:
        return ""
    names = {
        verdict: [rule.name for rule in comparison.rules if rule.verdict is verdict]
        for verdict in (Verdict.BETTER, Verdict.WORSE, Verdict.CANNOT_TELL)
    }
    reference = the(comparison.reference)
    judged = [
        f"{listed(names[verdict])} did {verdict.value}" for verdict in (Verdict.BETTER, Verdict.WORSE) if names[verdict]
    ]
    if not judged:
        return f"No rule can be told apart from {reference}."
    others = "; the others cannot be told apart from it" if names[Verdict.CANNOT_TELL] else ""
    return f"On these questions {', and '.join(judged)} than {reference}{others}."


def _beyond(comparison: Comparison, found: Diagnosis) -> str:
    """What going beyond the average did, and whether that was expected."""
    beyond = [rule for rule in comparison.rules if is_extremising(rule.name)]
    losing = [rule for rule in beyond if rule.verdict is Verdict.WORSE]
    if found.extremising is Extremising.CANNOT_TELL:
        return ""
    if found.undone_by_averaging and losing:
        return _in_spite_of_averaging(comparison, found, losing, every=len(losing) == len(beyond))
    if found.extremising is Extremising.DEPENDS:
        return ""
    helps = found.extremising is Extremising.HELPS
    if {rule.verdict for rule in beyond} == {Verdict.BETTER if helps else Verdict.WORSE}:
        did = f"Every rule that goes beyond the average {'beats' if helps else 'loses to'} {the(comparison.reference)} here"
    else:
        did = f"Going beyond the average {found.extremising.value} here"
    expected = _expected(found)
    so = "" if expected is None else ", as expected" if expected is found.extremising else ", against expectation"
    return f"{did}{so}."


def _in_spite_of_averaging(comparison: Comparison, found: Diagnosis, losing: list[RuleScore], *, every: bool) -> str:
    """Why rules lose although their kind is expected to gain: they go too far, or they stretch a lean."""
    reference, lean = the(comparison.reference), _lean(comparison)
    none_gains = found.extremising is Extremising.HURTS
    too_far = all(rule.slope is not None and rule.slope.high < 1 for rule in losing)  # over-confident themselves
    if every:
        did = f"Every rule that goes beyond the average loses to {reference} here"
    elif none_gains:
        did = "No rule that goes beyond the average gains here"
    else:
        did = "Some rules that go beyond the average lose here"
    so = ", as expected" if too_far and (every or not none_gains) else ", against expectation"
    why = [
        *(["those that lose go too far"] if too_far else []),
        *([f"{reference} expects {lean}, which stretching magnifies"] if lean and none_gains else []),
    ]
    return f"{did}{so}{': ' if why else ''}{', and '.join(why)}."


def _expected(found: Diagnosis) -> Extremising | None:
    """What going beyond the average should do, as `theory_says` has it; None where it expects nothing."""
    if found.confidence is Confidence.OVER:
        return {Average.SHRUNK: Extremising.HURTS, Average.STRETCHED: Extremising.HELPS}.get(found.average)
    return Extremising.HELPS if found.confidence is Confidence.UNDER or _theorys_case(found) else None


def _lean(comparison: Comparison) -> str:
    """Whether the reference rule expects the event too often or too rarely."""
    intercept = _reference(comparison).intercept
    if intercept is None or intercept.low <= 0 <= intercept.high:
        return ""
    return "too much" if intercept.value < 0 else "too little"


def _recalibration(comparison: Comparison, found: Diagnosis) -> str:
    """What cross-fitted recalibration did, or that it is to be had."""
    if not comparison.recalibrated:
        wanted = found.confidence in (Confidence.OVER, Confidence.UNDER) and found.sample is Sample.ENOUGH
        return "Recalibrating the forecasters first was not tried (--recalibrate slope)." if wanted else ""
    raw = {rule.name: rule for rule in comparison.rules}
    name, best = comparison.reference, comparison.recalibrated[0]
    moves = [
        f"{the(rule.name)} from {raw[rule.name].brier.value:.4f} to {rule.brier.value:.4f}"
        for rule in sorted(comparison.recalibrated, key=lambda rule: rule.name)
        if rule.name in (name, "minimax")
    ]
    judged = {
        Verdict.BETTER: "does better than",
        Verdict.WORSE: "does worse than",
        Verdict.CANNOT_TELL: "cannot be told apart from",
    }
    return (
        f"Recalibrating the forecasters first ({best.recalibration}, fitted on other questions) takes {listed(moves)}; the "
        f"best then, {best.name} with {best.brier.value:.4f}, {judged[best.verdict]} {the(name)} without it "
        f"({with_signed_interval(best.difference)})."
    )


# ------------------------------------------------------------------------------------------------------------ what to do


def _what_to_do(comparison: Comparison, found: Diagnosis) -> str:
    name = comparison.reference
    if found.sample is Sample.SMALL:
        return (
            f"{TO_DO}keep {the(name)}, or the rule that you have, until {FEW_QUESTIONS} questions or more are resolved."
        )
    minimax = next((rule for rule in comparison.rules if rule.name == "minimax"), None)
    if _theorys_case(found) and minimax is not None and minimax.verdict is not Verdict.WORSE:
        return f"{TO_DO}use minimax{_or_the_best(comparison, minimax)}."
    raw, recalibrated = _winner(comparison.rules), _winner(comparison.recalibrated)
    if recalibrated is not None and found.sharing is Sharing.NESTED:
        simple = next((rule for rule in comparison.recalibrated if rule.name == name), recalibrated)
        best = simple if simple.verdict is Verdict.BETTER else recalibrated
        return f"{TO_DO}recalibrate the forecasters, then use {the(best.name)}."
    if recalibrated is not None and (raw is None or _gains(recalibrated, raw, found)):
        return f"{TO_DO}recalibrate the forecasters, then use {the(recalibrated.name)}."
    if raw is not None:
        return f"{TO_DO}use {the(raw.name)}, and see on questions to come whether it keeps its lead."
    return f"{TO_DO}use {the(name)}; nothing that was tried beats it{_unless(comparison, found)}."


def _gains(recalibrated: RuleScore, raw: RuleScore, found: Diagnosis) -> bool:
    """Whether recalibration gains on the best rule without it; where it is not the first remedy, by more than chance."""
    gained = recalibrated.difference.high if found.undone_by_averaging else recalibrated.difference.value
    return gained <= raw.difference.value


def _or_the_best(comparison: Comparison, minimax: RuleScore) -> str:
    """Another rule that was clearly better on these questions."""
    best = comparison.rules[0]
    if minimax.tied_with_best or best.name == LEANING:
        return ""
    return f", or {the(best.name)}, which did better, if the questions to come are like these"


def _unless(comparison: Comparison, found: Diagnosis) -> str:
    """What follows if no rule is recommended before the reference."""
    platt = any(rule.recalibration.startswith("platt") for rule in comparison.recalibrated)
    if any(rule.name == LEANING and rule.verdict is Verdict.BETTER for rule in comparison.rules):
        leans = f" but {LEANING}, which leans towards no on every question and so corrects people who expect too much"
        return leans if platt else f"{leans}: --recalibrate platt does that without leaning"
    if found.undone_by_averaging:
        lean = _lean(comparison)
        return f"; it expects {lean}: try --recalibrate platt" if lean and not platt else ""
    return "; for a rule that goes beyond the average, recalibrate first" if found.confidence is Confidence.OVER else ""


def _reservation(comparison: Comparison) -> str:
    measured = "All this was measured on these questions, not proved"
    if comparison.clusters is not None:
        return f"{measured}."
    return f"{measured}; if some hang together, name a cluster column, or the intervals are too narrow."


def _winner(rules: tuple[RuleScore, ...]) -> RuleScore | None:
    """The best rule that is told apart from the reference."""
    return next((rule for rule in rules if rule.verdict is Verdict.BETTER and rule.name != LEANING), None)


def _theorys_case(found: Diagnosis) -> bool:
    """Whether the individuals look calibrated and independent."""
    return (found.confidence, found.sharing) == (Confidence.IN_LINE, Sharing.INDEPENDENT)


def _reference(comparison: Comparison) -> RuleScore:
    return next(rule for rule in comparison.rules if rule.name == comparison.reference)
