"""A comparison in plain words: one paragraph that somebody who decides can repeat. Measured on these data, never proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wording import counted
from .diagnosis import FEW_QUESTIONS, Confidence, Diagnosis, Extremising, Sample, Sharing, diagnose, resolution
from .records import Verdict
from .sayings import individuals_say, listed, signed, the, theory_says

if TYPE_CHECKING:
    from .records import Comparison, RuleScore

LEANING = "geometric-mean"
"""It leans towards no on every question: no rule to recommend, whatever its score."""


def advise(comparison: Comparison) -> tuple[str, ...]:
    """The sentences, in the order: sample, individuals, what theory expects, what the data say, what to do."""
    found = diagnose(comparison)
    said = [
        _sample(comparison, found),
        *individuals_say(comparison.individuals, found),
        theory_says(found),
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
    step = resolution(comparison)
    if found.sample is Sample.SMALL:
        few = f"{size}: a small sample, which cannot tell much"
        return (
            f"{few}."
            if step is None
            else f"{few} (rules that differ by less than {step:.1g} in Brier score look alike)."
        )
    return (
        f"{size}." if step is None else f"{size}: enough to tell rules apart that differ by {step:.1g} in Brier score."
    )


# ------------------------------------------------------------------------------------------------------ what the data say


def _data(comparison: Comparison, found: Diagnosis) -> list[str]:
    best, reference = comparison.rules[0], _reference(comparison)
    lead = the(best.name).replace("the ", "The ", 1) + f" has the best Brier score, {best.brier.value:.4f}"
    if best is not reference:
        lead += f" against {reference.brier.value:.4f} of {the(reference.name)}"
    if found.sample is Sample.SMALL:
        return [f"{lead}, but so few questions cannot tell which rule is best."]
    if best is not reference:
        lead += f" (difference {signed(best.difference)})"
    return [f"{lead}.", _told_apart(comparison), _beyond(found)]


def _told_apart(comparison: Comparison) -> str:
    if len(comparison.rules) == 1:
        return ""
    names = {
        verdict: [rule.name for rule in comparison.rules if rule.verdict is verdict]
        for verdict in (Verdict.BETTER, Verdict.WORSE, Verdict.CANNOT_TELL)
    }
    judged = [
        f"{listed(names[verdict])} did {verdict.value} than {the(comparison.reference)}"
        for verdict in (Verdict.BETTER, Verdict.WORSE)
        if names[verdict]
    ]
    if not judged:
        return f"No rule can be told apart from {the(comparison.reference)}."
    if names[Verdict.CANNOT_TELL]:
        judged.append("the others cannot be told apart from it")
    return f"On these questions {'; '.join(judged)}."


def _beyond(found: Diagnosis) -> str:
    if found.extremising not in (Extremising.HELPS, Extremising.HURTS):
        return ""
    expected = _expected(found)
    so = "" if expected is None else ", as expected" if expected is found.extremising else ", against expectation"
    return f"Going beyond the average {found.extremising.value} here{so}."


def _expected(found: Diagnosis) -> Extremising | None:
    """What going beyond the average should do; nothing is expected where findings pull both ways."""
    if found.confidence is Confidence.OVER:
        return Extremising.HURTS if found.stretch is not None and found.stretch < 1 else None
    return Extremising.HELPS if found.confidence is Confidence.UNDER or _theorys_case(found) else None


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
        Verdict.BETTER: "better than",
        Verdict.WORSE: "worse than",
        Verdict.CANNOT_TELL: "not to be told apart from",
    }
    return (
        f"Recalibrating the forecasters first ({best.recalibration}, fitted on other questions than it is used on) takes "
        f"{listed(moves)}; the best then, {best.name} with {best.brier.value:.4f}, is {judged[best.verdict]} {the(name)} of "
        f"the answers as they came (difference {signed(best.difference)})."
    )


# ------------------------------------------------------------------------------------------------------------ what to do


def _what_to_do(comparison: Comparison, found: Diagnosis) -> str:
    name = comparison.reference
    if found.sample is Sample.SMALL:
        return f"What to do: keep {the(name)}, or the rule that you have, until {FEW_QUESTIONS} questions or more are resolved."
    minimax = next((rule for rule in comparison.rules if rule.name == "minimax"), None)
    if _theorys_case(found) and minimax is not None and minimax.verdict is not Verdict.WORSE:
        return f"What to do: use minimax{_or_the_best(comparison, minimax)}."
    raw, recalibrated = _winner(comparison.rules), _winner(comparison.recalibrated)
    if recalibrated is not None and found.sharing is Sharing.NESTED:
        simple = next((rule for rule in comparison.recalibrated if rule.name == name), recalibrated)
        best = simple if simple.verdict is Verdict.BETTER else recalibrated
        return f"What to do: recalibrate the forecasters, then use {the(best.name)}."
    if recalibrated is not None and (raw is None or recalibrated.brier.value <= raw.brier.value):
        return f"What to do: recalibrate the forecasters, then use {the(recalibrated.name)}."
    if raw is not None:
        return f"What to do: use {the(raw.name)}, and see on questions to come whether it keeps its lead."
    return f"What to do: use {the(name)}; nothing that was tried beats it{_unless(comparison, found)}."


def _or_the_best(comparison: Comparison, minimax: RuleScore) -> str:
    """Another rule that was clearly better on these questions."""
    best = comparison.rules[0]
    if minimax.tied_with_best or best.name == LEANING:
        return ""
    return f", or {the(best.name)}, which did better, if the questions to come are like these"


def _unless(comparison: Comparison, found: Diagnosis) -> str:
    """What follows if no rule is recommended before the reference."""
    if any(rule.name == LEANING and rule.verdict is Verdict.BETTER for rule in comparison.rules):
        leans = f" but {LEANING}, which leans towards no on every question and so corrects people who expect too much"
        tried = any(rule.recalibration.startswith("platt") for rule in comparison.recalibrated)
        return leans if tried else f"{leans}: --recalibrate platt does that without leaning"
    return "; for a rule that goes beyond the average, recalibrate first" if found.confidence is Confidence.OVER else ""


def _reservation(comparison: Comparison) -> str:
    measured = "All this was measured on these questions, and nothing of it is proved"
    if comparison.clusters is not None:
        return f"{measured}."
    return f"{measured}; if some of them hang together, name a cluster column, or the intervals are too narrow."


def _winner(rules: tuple[RuleScore, ...]) -> RuleScore | None:
    """The best rule that is told apart from the reference."""
    return next((rule for rule in rules if rule.verdict is Verdict.BETTER and rule.name != LEANING), None)


def _theorys_case(found: Diagnosis) -> bool:
    """Whether the individuals look calibrated and independent."""
    return (found.confidence, found.sharing) == (Confidence.IN_LINE, Sharing.INDEPENDENT)


def _reference(comparison: Comparison) -> RuleScore:
    return next(rule for rule in comparison.rules if rule.name == comparison.reference)
