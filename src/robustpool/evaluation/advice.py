"""A comparison in plain words, for somebody who decides: what to do, and why. Measured on these data, never proved."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING

from ..aggregators.rules import RULES, get_rule
from ..errors import InputError
from ..forecasts import CLIP
from ..wording import counted, listed, percent
from .diagnosis import FEW_QUESTIONS, Confidence, Extremising, Sample, Sharing, diagnose, findable, is_extremising
from .diagnosis_words import confidence_says, individuals_say, the, theory_says, without_forecasters
from .records import Verdict
from .scoring import UNSEEN

if TYPE_CHECKING:
    from .diagnosis import Diagnosis
    from .records import Comparison, RuleScore

DEFAULT = next(iter(RULES))
"""The rule that is used where none is named."""

LEANING = "geometric-mean"
"""It is biased towards no on every question, so it is never recommended, whatever its score."""

COMMAND = "robustpool aggregate FILE"
"""How the commands begin; a caller that knows the file and the reading options replaces FILE by them."""

TO_DO = "What to do: "
"""How the advice begins."""


def advise(comparison: Comparison) -> tuple[str, ...]:
    """The sentences, in the order: what to do, sample, individuals, what theory expects, what the data say."""
    diagnosis = diagnose(comparison)
    if comparison.base_rate in (0.0, 1.0):
        return (
            f"{TO_DO}wait for questions with a different outcome.",
            "All outcomes are the same, so they cannot show which rule is better.",
        )
    if diagnosis.confidence in (Confidence.WRONG_WAY, Confidence.UNINFORMED):
        return _without_a_rule(comparison, diagnosis)
    if comparison.answers == comparison.questions:
        sentences = [_nothing_to_combine(comparison), _sample(comparison, diagnosis)]
        sentences.append(confidence_says(comparison.individuals, diagnosis))
    else:
        sentences = [_what_to_do(comparison, diagnosis), _sample(comparison, diagnosis)]
        sentences += [*individuals_say(comparison.individuals, diagnosis), theory_says(comparison, diagnosis)]
        sentences += [*_data(comparison, diagnosis), _recalibration(comparison, diagnosis)]
    return tuple(filter(None, [*sentences, _reservation(comparison)]))


# ------------------------------------------------------------------------------------------------- nothing to choose from


def _without_a_rule(comparison: Comparison, diagnosis: Diagnosis) -> tuple[str, ...]:
    """The forecasts carry no information about the outcomes, or point the wrong way."""
    wrong_way = diagnosis.confidence is Confidence.WRONG_WAY
    to_do = "check the outcome column first" if wrong_way else "forecast the base rate and ignore the forecasters"
    reference = comparison.reference_score
    base_rate = "" if comparison.options is not None else f", {percent(comparison.base_rate)},"
    return (
        f"{TO_DO}{to_do}.",
        confidence_says(comparison.individuals, diagnosis),
        (
            f"{without_forecasters(comparison)}{base_rate} has a Brier score of "
            f"{comparison.base_rate_brier:.4f}, {the(reference.name)} {reference.brier.value:.4f}."
        ),
        _reservation(comparison),
    )


def _nothing_to_combine(comparison: Comparison) -> str:
    to_do = f"{TO_DO}there is nothing to combine, because each question has only one answer"
    own = _named(comparison.reference, comparison.recalibrated)
    if own is None or own.verdict is not Verdict.BETTER:
        return f"{to_do}."
    gain = f"{own.brier.value:.4f} against {comparison.reference_score.brier.value:.4f}"
    return f"{to_do}; recalibrate the answers ({own.recalibration}): {gain}.{_by(own, comparison)}"


# ------------------------------------------------------------------------------------------------------------ what to do


def _what_to_do(comparison: Comparison, diagnosis: Diagnosis) -> str:
    if diagnosis.sample is Sample.SMALL:
        size = "questions" if comparison.clusters is None else "clusters of questions"
        rule = _until_more_is_known(comparison)
        keep = f"keep your current rule, or use {the(rule.name)}, until {FEW_QUESTIONS} {size} are resolved"
        return f"{TO_DO}{keep}. There are too few to tell which rule is best.{_by(rule, comparison)}"
    minimax = _named("minimax", comparison.rules) if _theorys_case(diagnosis) else None
    if minimax is not None and _stands(minimax, comparison):
        best = comparison.rules[0]
        tied = "" if best.name in ("minimax", LEANING) else f"; {best.name} scores best, but not significantly so"
        return f"{TO_DO}use minimax{_told(minimax, comparison)}{tied}.{_by(minimax, comparison)}"
    winner, recalibrated = _winner(comparison.rules), _winner(comparison.recalibrated)
    if recalibrated is not None and diagnosis.sharing is Sharing.NESTED:
        simple = _named(comparison.reference, comparison.recalibrated)
        winner = simple if simple is not None and simple.verdict is Verdict.BETTER else recalibrated
    elif recalibrated is not None and (winner is None or _gains(recalibrated, winner, diagnosis)):
        winner = recalibrated
    if winner is None:
        return _keep(comparison)
    first = "" if winner.recalibration == "none" else f"recalibrate the forecasters ({winner.recalibration}), then "
    why = _why_not_the_best(winner, comparison, diagnosis)
    if minimax is not None:
        why = f", which did better here than minimax{why}"
    return f"{TO_DO}{first}use {the(winner.name)}{_told(winner, comparison)}{why}.{_by(winner, comparison)}"


def _named(name: str, rules: tuple[RuleScore, ...]) -> RuleScore | None:
    return next((rule for rule in rules if rule.name == name), None)


def _until_more_is_known(comparison: Comparison) -> RuleScore:
    """The default rule, unless it was not scored or is significantly worse than the reference."""
    default = _named(DEFAULT, comparison.rules)
    return comparison.reference_score if default is None or default.verdict is Verdict.WORSE else default


def _told(rule: RuleScore, comparison: Comparison) -> str:
    """The score of a rule and that of the reference, to follow its name."""
    reference = comparison.reference_score
    if rule is reference:
        return ""
    scores = f" ({rule.brier.value:.4f} against {reference.brier.value:.4f} for {the(reference.name)}"
    if rule.recalibration != "none":
        scores += " without recalibration"
    return f"{scores}, not significant)" if rule.verdict is Verdict.CANNOT_TELL else f"{scores})"


def _keep(comparison: Comparison) -> str:
    """Nothing is significantly better than the reference: keep it, and name the rule that comes nearest."""
    reference = comparison.reference_score
    leaning = any(rule.name == LEANING and rule.verdict is Verdict.BETTER for rule in comparison.rules)
    but = f" except {LEANING}, which is biased towards no on every question" if leaning else ""
    keep = f"{TO_DO}use {the(reference.name)}: nothing that was tried is significantly better{but}.{_by(reference, comparison)}"
    best = _best(comparison)
    if best.brier.value > reference.brier.value - UNSEEN:
        return keep
    trial = _command(best, comparison.clip) if best.recalibration != "none" else ""
    return (
        f"{keep} {_after(best)} scores best{' of the others' if leaning else ''}, {best.brier.value:.4f} against "
        f"{reference.brier.value:.4f}, but is not significantly better than {the(reference.name)} "
        f"({best.difference.low:+.4f} to {best.difference.high:+.4f}){f'; to try it: {trial}' if trial else ''}."
    )


def _why_not_the_best(winner: RuleScore, comparison: Comparison, diagnosis: Diagnosis) -> str:
    """Half a sentence on the rule with the best score, if it is another one."""
    best = _best(comparison)
    if best.brier.value > winner.brier.value - UNSEEN:
        return ""
    if best.verdict is not Verdict.BETTER:
        why = f"is not significantly better than {the(comparison.reference)}"
    elif diagnosis.sharing is Sharing.NESTED:
        why = "there is no second opinion to combine"
    else:
        why = "this may be luck"
    return f"; {_after(best)} scores best, {best.brier.value:.4f}, but {why}"


def _stands(minimax: RuleScore, comparison: Comparison) -> bool:
    """Whether the scores agree with the theory: minimax is not worse than the reference, nor than the best rule."""
    return minimax.verdict is not Verdict.WORSE and (minimax.tied_with_best or comparison.rules[0].name == LEANING)


def _gains(recalibrated: RuleScore, raw: RuleScore, diagnosis: Diagnosis) -> bool:
    """Whether recalibration beats the best rule without it; significantly, if averaging already corrects the answers."""
    gained = recalibrated.difference.high if diagnosis.undone_by_averaging else recalibrated.difference.value
    return gained <= raw.difference.value


def _winner(rules: tuple[RuleScore, ...]) -> RuleScore | None:
    """The best rule that is significantly better than the reference."""
    return next((rule for rule in rules if rule.verdict is Verdict.BETTER and rule.name != LEANING), None)


def _best(comparison: Comparison) -> RuleScore:
    """The best score of all, leaving aside the biased rule."""
    scored = (*comparison.rules, *comparison.recalibrated)
    return min(
        (rule for rule in scored if rule.name != LEANING or rule.verdict is Verdict.REFERENCE),
        key=lambda rule: rule.brier.value,
    )


def _after(rule: RuleScore) -> str:
    """A rule to begin a clause with, and the recalibration before it."""
    return the(rule.name) + ("" if rule.recalibration == "none" else f" after recalibration ({rule.recalibration})")


def _by(rule: RuleScore, comparison: Comparison) -> str:
    """The sentence with the command."""
    command = _command(rule, comparison.clip)
    two = " (for two answers)" if comparison.pairs is not None else ""
    return f" The command{two}: {command}." if command else ""


def _command(rule: RuleScore, clip: float) -> str:
    """What to type; nothing for a function of one's own. With recalibration it is the fit that sees clipped answers."""
    try:
        clips = not get_rule(rule.name).averages
    except InputError:
        if not rule.name.endswith(".json"):
            return ""
        clips = True
    method, *own = rule.recalibration.split(", ")
    options = [f"--rule {rule.name}"]
    if method != "none":
        options += [f"--recalibrate {method}", *(["--per-forecaster"] if own else [])]
        options += [f"--clip {clip:g}"] if clip not in (0, CLIP) else []
    elif clips and clip != CLIP:
        options.append(f"--clip {clip:g}")
    return f"`{COMMAND} {' '.join(options)}`"


# ------------------------------------------------------------------------------------------------------ what the data say


def _sample(comparison: Comparison, diagnosis: Diagnosis) -> str:
    size = counted(comparison.questions, "question")
    if comparison.clusters is not None:
        size += f" in {counted(comparison.clusters, 'cluster')}"
    difference = findable(comparison)
    detects = f"a Brier difference of {_rounded(difference)} would be detected 80 % of the time" if difference else ""
    if diagnosis.sample is Sample.SMALL:
        return f"{size}: the sample is small{f' ({detects})' if detects else ''}."
    return f"With {size}, {detects}." if detects else ""


def _rounded(difference: float) -> str:
    """One digit that counts, written out.

    >>> _rounded(0.0412), _rounded(0.00007)
    ('0.04', '0.00007')
    """
    return f"{difference:.{max(-floor(log10(difference)), 0)}f}"


def _data(comparison: Comparison, diagnosis: Diagnosis) -> list[str]:
    reference = comparison.reference_score
    sentences = [] if diagnosis.sample is Sample.SMALL else [_beyond(comparison, diagnosis) or _significant(comparison)]
    score = comparison.base_rate_brier
    if score < reference.brier.value - UNSEEN:
        sentences.append(f"{without_forecasters(comparison)} scores {score:.4f}, better than {the(reference.name)}.")
    return sentences


def _significant(comparison: Comparison) -> str:
    if len(comparison.rules) == 1:
        return ""
    verdicts = [rule.verdict for rule in comparison.rules]
    clear = [verdict for verdict in (Verdict.BETTER, Verdict.WORSE) if verdict in verdicts]
    if not clear:
        return f"No rule differs significantly from {the(comparison.reference)}."
    counts = listed([f"{verdicts.count(verdict)} did {verdict.value}" for verdict in clear])
    return f"Of {counted(len(comparison.rules) - 1, 'other rule')}, {counts} than {the(comparison.reference)}."


def _beyond(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """The effect of extremising, and whether it was expected."""
    beyond = [rule for rule in comparison.rules if is_extremising(rule.name)]
    if diagnosis.extremising not in (Extremising.HELPS, Extremising.HURTS):
        return ""
    helps = diagnosis.extremising is Extremising.HELPS
    if {rule.verdict for rule in beyond} == {Verdict.BETTER if helps else Verdict.WORSE}:
        did = f"Every rule that extremises {'beats' if helps else 'loses to'} {the(comparison.reference)} here"
    else:
        did = f"Extremising {diagnosis.extremising.value} here"
    expected = _expected(diagnosis)
    if expected is None:
        return f"{did}."
    return f"{did}, {'as expected' if expected is diagnosis.extremising else 'contrary to expectation'}."


def _expected(diagnosis: Diagnosis) -> Extremising | None:
    """The effect of extremising that `theory_says` expects; None if it expects nothing."""
    if diagnosis.confidence is Confidence.OVER:
        return Extremising.HELPS if diagnosis.stretched else Extremising.HURTS
    return Extremising.HELPS if diagnosis.confidence is Confidence.UNDER or _theorys_case(diagnosis) else None


def _recalibration(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """What cross-fitted recalibration did, or a hint that it is available."""
    if not comparison.recalibrated:
        possible = comparison.options is None and diagnosis.sample is Sample.ENOUGH
        wanted = possible and diagnosis.confidence in (Confidence.OVER, Confidence.UNDER)
        return "Recalibrating the forecasters first was not tried (--recalibrate auto)." if wanted else ""
    ordered = sorted(comparison.recalibrated, key=lambda rule: rule.name)
    shown = [rule for rule in ordered if rule.name in (comparison.reference, DEFAULT)]
    verbs = [" scores", *[""] * len(shown)]
    scores = [f"{the(rule.name)}{verb} {rule.brier.value:.4f}" for rule, verb in zip(shown, verbs, strict=False)]
    method, lean = comparison.recalibrated[0].recalibration, _lean(comparison)
    why = f", because {the(comparison.reference)} forecasts {lean}" if lean and method.startswith("platt") else ""
    return f"After recalibration ({method}{why}), {listed(scores)}."


def _lean(comparison: Comparison) -> str:
    """Whether the forecasts of the reference rule are too high or too low."""
    intercept = comparison.reference_score.intercept
    if intercept is None or intercept.low <= 0 <= intercept.high:
        return ""
    return "too high" if intercept.value < 0 else "too low"


def _reservation(comparison: Comparison) -> str:
    if comparison.clusters is not None:
        return "This is measured, not proved."
    return "This is measured, not proved; if questions are related, name a cluster column."


def _theorys_case(diagnosis: Diagnosis) -> bool:
    """Whether the individuals look calibrated and independent."""
    return (diagnosis.confidence, diagnosis.sharing) == (Confidence.IN_LINE, Sharing.INDEPENDENT)
