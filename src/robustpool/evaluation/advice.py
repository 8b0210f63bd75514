"""A comparison in plain words, for somebody who decides: what to do, and why. Measured on these data, never proved."""

from __future__ import annotations

from dataclasses import replace
from math import floor, log10
from typing import TYPE_CHECKING

from ..aggregators.rules import RULES, get_rule
from ..errors import InputError
from ..forecasts import CLIP
from ..wording import counted, listed, percent
from .diagnosis import (
    FEW_OUTCOMES,
    FEW_QUESTIONS,
    Confidence,
    Extremising,
    Sample,
    Sharing,
    diagnose,
    findable,
    is_extremising,
)
from .diagnosis_words import confidence_says, individuals_say, the, theory_says, without_forecasters
from .records import Verdict
from .scoring import UNSEEN

if TYPE_CHECKING:
    from .diagnosis import Diagnosis
    from .records import Comparison, Interval, RuleScore

DEFAULT = next(iter(RULES))
"""The rule that is used where none is named."""

LEANING = "geometric-mean"
"""It is biased towards no on every question, so it is never recommended, whatever its score."""

COMMAND, FIT_COMMAND = "robustpool aggregate FILE", "robustpool fit FILE"
"""How the commands begin; a caller that knows the file and the reading options replaces FILE by them."""

FITTED = "fitted"
"""What `Comparison.recommended` calls a pool that is fitted to the data."""

TO_DO = "What to do: "
"""How the advice begins."""


def advise(comparison: Comparison) -> Comparison:
    """The comparison with its advice, in the order: what to do, sample, individuals, what theory expects, what the data say."""
    diagnosis = diagnose(comparison)
    if comparison.base_rate in (0.0, 1.0):
        sentences = [
            f"{TO_DO}wait for questions with a different outcome.",
            "All outcomes are the same, so they cannot show which rule is better.",
        ]
        return replace(comparison, advice=tuple(sentences))
    if diagnosis.confidence in (Confidence.WRONG_WAY, Confidence.UNINFORMED):
        return replace(comparison, advice=_without_a_rule(comparison, diagnosis))
    recommended, to_do = _recommendation(comparison, diagnosis)
    sentences = [f"{TO_DO}{to_do}", _sample(comparison, diagnosis)]
    if comparison.answers == comparison.questions:
        sentences.append(confidence_says(comparison.individuals, diagnosis))
    else:
        sentences += [*individuals_say(comparison.individuals, diagnosis), theory_says(comparison, diagnosis)]
        sentences += [*_data(comparison, diagnosis), _recalibration(comparison)]
    advice = tuple(filter(None, [*sentences, _reservation(comparison)]))
    return replace(comparison, advice=advice, recommended=recommended)


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


# ------------------------------------------------------------------------------------------------------------ what to do


def _recommendation(comparison: Comparison, diagnosis: Diagnosis) -> tuple[str, str]:
    """What to use, and the sentences that say so.

    A fitted pool if it is better than the reference on questions that it had not seen; else a rule that is better even allowing for
    the number of rules that were tried; else the reference.
    """
    if diagnosis.sample is Sample.SMALL:
        return _until_more_is_known(comparison)
    gain = _gain_of_fit(comparison)
    if gain is not None:
        return _fit_it(comparison, gain)
    if comparison.answers == comparison.questions:
        return comparison.reference, "there is nothing to combine, because each question has only one answer."
    prominent = () if comparison.timed else comparison.rules  # what did well long ago may not do so now
    winner = next((rule for rule in prominent if rule.stands_out and rule.name != LEANING), None)
    if winner is None:
        return comparison.reference, _keep(comparison)
    return winner.name, f"use {the(winner.name)}{_told(winner, comparison)}.{_by(winner.name, comparison)}"


def _until_more_is_known(comparison: Comparison) -> tuple[str, str]:
    """The reference: with so few questions even a significant difference is often luck."""
    reference = comparison.reference
    size = "questions" if comparison.clusters is None else "clusters of questions"
    of_each = f", {FEW_OUTCOMES} with each outcome" if comparison.options is None else ""
    keep = f"keep your current rule, or use {the(reference)}, until {FEW_QUESTIONS} {size} are resolved{of_each}"
    return reference, f"{keep}. There are too few to tell which rule is best.{_by(reference, comparison)}"


def _gain_of_fit(comparison: Comparison) -> Interval | None:
    """The gain of a fitted pool over the reference, if it is known to be one."""
    pool = comparison.fitted
    if pool is None or pool.learned.in_order is False:
        return None
    gain = {"mean": pool.over_mean, DEFAULT: pool.over_default}.get(comparison.reference)
    return gain if gain is not None and gain.low > 0 and gain.high > UNSEEN else None


def _fit_it(comparison: Comparison, gain: Interval) -> tuple[str, str]:
    pool = comparison.fitted
    assert pool is not None
    reference = the(comparison.reference)
    scores = f"{pool.brier.value:.4f} against {pool.brier.value + gain.value:.4f} for {reference}"
    unseen = f"on {counted(pool.scored, 'question')} that it had not seen"
    if pool.chosen in RULES:
        by = _by(pool.chosen, comparison)
        return pool.chosen, f"use {the(pool.chosen)} ({scores}). Nothing learned from these data does better.{by}"
    options = " --rolling" if "months" in pool.scheme else ""
    options += f" --clip {comparison.clip:g}" if comparison.clip not in (0, CLIP) else ""
    return FITTED, (
        f"fit a pool to these data and use it ({scores}, {unseen}; the gain is {gain.low:.4f} to {gain.high:.4f}). "
        f"Fit it: `{FIT_COMMAND} --out pool.json{options}`. Use it: `robustpool aggregate NEW.csv --rule pool.json`."
    )


def _told(rule: RuleScore, comparison: Comparison) -> str:
    """The score of a rule and that of the reference, to follow its name."""
    reference = comparison.reference_score
    return f" ({rule.brier.value:.4f} against {reference.brier.value:.4f} for {the(reference.name)})"


def _keep(comparison: Comparison) -> str:
    """Nothing is clearly better than the reference: keep it, and name the rule that comes nearest."""
    reference = comparison.reference_score
    leaning = any(rule.name == LEANING and rule.stands_out for rule in comparison.rules)
    but = f" except {LEANING}, which is biased towards no on every question" if leaning else ""
    keep = f"use {the(reference.name)}: nothing that was tried is clearly better{but}.{_by(reference.name, comparison)}"
    best = min(
        (rule for rule in comparison.rules if rule.name != LEANING or rule is reference),
        key=lambda rule: rule.brier.value,
    )
    if best.brier.value > reference.brier.value - UNSEEN:
        return keep
    but = "is not significantly better"
    if best.verdict is Verdict.BETTER:
        tried = counted(len(comparison.rules) - 1, "rule")
        but = (
            "what did well in the past need not do so now"
            if best.stands_out
            else f"with {tried} tried, this may be luck"
        )
    name = the(best.name)
    return f"{keep} {name} scores best, {best.brier.value:.4f} against {reference.brier.value:.4f}, but {but}."


def _by(rule: str, comparison: Comparison) -> str:
    """The sentence with the command."""
    command = _command(rule, comparison.clip)
    two = " (for two answers)" if comparison.pairs is not None else ""
    return f" The command{two}: {command}." if command else ""


def _command(rule: str, clip: float) -> str:
    """What to type; nothing for a function of one's own."""
    try:
        clips = not get_rule(rule).averages
    except InputError:
        if not rule.endswith(".json"):
            return ""
        clips = True
    given = f" --clip {clip:g}" if clips and clip != CLIP else ""
    return f"`{COMMAND} --rule {rule}{given}`"


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
    expected = _expected(diagnosis) if comparison.options is None else None
    if expected is None:
        return f"{did}."
    return f"{did}, {'as expected' if expected is diagnosis.extremising else 'contrary to expectation'}."


def _expected(diagnosis: Diagnosis) -> Extremising | None:
    """The effect of extremising that `theory_says` expects; None if it expects nothing."""
    if diagnosis.confidence is Confidence.OVER:
        return Extremising.HELPS if diagnosis.stretched else Extremising.HURTS if diagnosis.shrunk else None
    theorys_case = (diagnosis.confidence, diagnosis.sharing) == (Confidence.IN_LINE, Sharing.INDEPENDENT)
    return Extremising.HELPS if diagnosis.confidence is Confidence.UNDER or theorys_case else None


def _recalibration(comparison: Comparison) -> str:
    """What cross-fitted recalibration of the individuals did, if it was tried."""
    if not comparison.recalibrated:
        return ""
    ordered = sorted(comparison.recalibrated, key=lambda rule: rule.name)
    shown = [rule for rule in ordered if rule.name in (comparison.reference, DEFAULT)]
    verbs = [" scores", *[""] * len(shown)]
    scores = [f"{the(rule.name)}{verb} {rule.brier.value:.4f}" for rule, verb in zip(shown, verbs, strict=False)]
    return f"After recalibration of the individuals ({comparison.recalibrated[0].recalibration}), {listed(scores)}."


def _reservation(comparison: Comparison) -> str:
    if comparison.clusters is not None:
        return "This is measured, not proved."
    return "This is measured, not proved; if questions are related, name a cluster column."
