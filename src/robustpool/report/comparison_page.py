"""The page of a comparison: the advice, how each rule did and how sure that is, and what the forecasters look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evaluation.advice import TO_DO
from ..evaluation.records import Verdict
from ..evaluation.sayings import one_answer_says
from ..wording import counted, percent
from . import comparison_pictures as pictures
from .comparison_words import (
    NOTHING,
    basis,
    estimate,
    how_scored,
    not_scored,
    of_base_rate,
    recalibrated_how,
    signed,
    span,
)
from .page import Page, Section, Table, write_page

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from ..evaluation.records import Comparison, Decomposition, Interval, RuleScore

TITLE = "Rules for combining forecasts, compared"
FINE = 5
"""Digits of differences, which are smaller than scores."""


def write_comparison(
    comparison: Comparison,
    path: str | os.PathLike[str],
    *,
    title: str = TITLE,
    rule: str = "robust",
    rejected: int | None = None,
) -> None:
    """Write the page of a comparison, whole or not at all."""
    write_page(comparison_page(comparison, title=title, rule=rule, rejected=rejected), path)


def comparison_page(
    comparison: Comparison, *, title: str = TITLE, rule: str = "robust", rejected: int | None = None
) -> Page:
    """All that there is to say about a comparison.

    ``rule`` is the one that is looked at more closely, ``rejected`` the number of rows that could not be used, if it is known.
    """
    return Page(
        title=title,
        lead=_lead(comparison.advice),
        sections=(
            _scores(comparison),
            _differences(comparison),
            _reliability(comparison, rule),
            *_surface(comparison, rule),
            _individuals(comparison),
            *_recalibrated(comparison),
            _meaning(comparison),
        ),
        settings=_settings(comparison, rejected),
    )


def _lead(advice: tuple[str, ...], at_once: int = 3) -> str:
    """The advice: first what to do, then the reasons in paragraphs that are not too long."""
    to_do = [sentence for sentence in advice[:1] if sentence.startswith(TO_DO)]
    why = advice[len(to_do) :]
    return "\n\n".join([*to_do, *(" ".join(why[k : k + at_once]) for k in range(0, len(why), at_once))])


# --- how the rules did ------------------------------------------------------------------------------------------------


def _scores(comparison: Comparison) -> Section:
    unscored = tuple(not_scored(comparison, "`"))
    tables = (
        _score_table("Scores", comparison.rules, comparison),
        _other_table(comparison),
        _decomposition_table(comparison),
    )
    said = f"{basis(comparison)} {how_scored(comparison)} {of_base_rate(comparison)}".strip()
    return Section("What the data say", said, tables, (*unscored, *comparison.notes))


def _score_table(title: str, rules: Iterable[RuleScore], comparison: Comparison) -> Table:
    rows = tuple(
        (
            f"{rule.name} *" if rule.tied_with_best else rule.name,
            estimate(rule.brier.value),
            _unbroken(span(rule.brier)),
            signed(rule.difference.value, FINE),
            NOTHING if rule.verdict is Verdict.REFERENCE else _unbroken(span(rule.difference, FINE)),
            _unbroken(rule.verdict.value),
        )
        for rule in rules
    )
    columns = ("rule", "Brier score", "95 % interval", f"minus that of {comparison.reference}", "95 % interval of that")
    note = "Smaller is better, and the best rule comes first. Rules with a * cannot be told from the best one."
    return Table(title, (*columns, f"against {comparison.reference}"), rows, note)


def _other_table(comparison: Comparison) -> Table:
    rows = tuple(
        (
            rule.name,
            estimate(rule.brier_by_forecast.value),
            estimate(rule.log.value),
            estimate(rule.slope and rule.slope.value, 3),
            _unbroken(span(rule.slope, 3)),
            estimate(rule.auc, 3),
            estimate(rule.sharpness),
        )
        for rule in comparison.rules
    )
    columns = ("rule", "Brier by answers", "log score", "slope", "95 % interval")
    note = (
        "Brier by answers: each question counts by the number of its answers. The slope is 1 for forecasts that are neither too extreme (below 1) nor too timid (above 1). The AUC is "
        "the chance that an event that happened had a higher forecast than one that did not. Sharpness is the variance of "
        "the forecasts."
    )
    if comparison.options is not None:
        note = (
            "Brier by answers: each question counts by the number of its answers. The slope is the power that the forecasts should "
            "be raised to: 1 for forecasts that are neither too extreme (below 1) nor too timid (above 1). AUC and sharpness are "
            "those of each option against the rest: the mean AUC, and the sum of the variances."
        )
    return Table(
        "Other scores", (*columns, "AUC", "sharpness"), rows, f"{note} {_certain_and_wrong(comparison)}".strip()
    )


def _decomposition_table(comparison: Comparison) -> Table:
    rows = tuple((rule.name, *_parts(rule.decomposition), *_parts(rule.log_decomposition)) for rule in comparison.rules)
    columns = ("rule", "Brier reliability", "Brier resolution", "log reliability", "log resolution")
    of_brier = comparison.rules[0].decomposition.uncertainty
    of_log = next((rule.log_decomposition.uncertainty for rule in comparison.rules if rule.log_decomposition), None)
    note = (
        "Score = reliability - resolution + uncertainty. Reliability is what perfect recalibration would save, resolution "
        "what the recalibrated forecasts save against the base rate, and the uncertainty is what the base rate costs, "
        f"whatever the rule: {estimate(of_brier)} in Brier score, {estimate(of_log)} in log score. An infinite log score has "
        "no parts."
    )
    if comparison.options is not None:
        note = (
            "Score = reliability - resolution + uncertainty, each summed over the options, one against the rest. Reliability is what "
            "perfect recalibration would save, resolution what the recalibrated forecasts save against the base rates, and the "
            f"uncertainty is what these cost, whatever the rule: {estimate(of_brier)} in Brier score. The log score of more than two "
            "options has no such parts."
        )
        return Table("What the scores are made of", columns[:3], tuple(row[:3] for row in rows), note)
    return Table("What the scores are made of", columns, rows, note)


def _parts(found: Decomposition | None) -> tuple[str, str]:
    return (estimate(found and found.reliability), estimate(found and found.resolution))


def _certain_and_wrong(comparison: Comparison) -> str:
    wrong = [rule for rule in comparison.rules if rule.certain_and_wrong]
    if not wrong:
        return ""
    where = ", ".join(f"{rule.name} on {counted(rule.certain_and_wrong, 'question')}" for rule in wrong)
    return f"A log score is infinite where a forecast was certain and wrong: {where}."


def _unbroken(text: str) -> str:
    """The same text, which stays in one line."""
    return text.replace(" ", "\u00a0")


def _differences(comparison: Comparison) -> Section:
    text = f"Compared with `{comparison.reference}`: {pictures.tally(comparison.rules)}."
    return Section(f"Which rules did better than {comparison.reference}", text, (pictures.differences(comparison),))


def _reliability(comparison: Comparison, rule: str) -> Section:
    """Individuals, the reference, the best rule and the one that is looked at: each once."""
    best = comparison.rules[0]
    shown = [score for score in comparison.rules if score.name in {comparison.reference, best.name, rule}]
    diagrams = (pictures.of_rule(score, best=score is best) for score in shown)
    text = (
        "Where the curve lies on the diagonal, the event happened as often as was forecast. A curve that is flatter than the "
        "diagonal belongs to forecasts that are too extreme, a steeper one to forecasts that are too timid. The bars below "
        "are a histogram of the forecasts: they show where the forecasts lie."
    )
    if comparison.options is not None:
        text = f"Each option of each question is an event here, one against the rest. {text}"
    return Section("Can the forecasts be taken at their word?", text, (pictures.of_individuals(comparison), *diagrams))


# --- the forecasters --------------------------------------------------------------------------------------------------


def _surface(comparison: Comparison, rule: str) -> tuple[Section, ...]:
    if not comparison.pair_sample:
        return ()
    text = (
        f"A rule that goes beyond its reports, as `{rule}` may, treats them as independent evidence. That pays where both "
        "are right for different reasons, and costs where they err together."
    )
    return (Section(f"What {rule} makes of two answers", text, (pictures.surface(comparison, rule),)),)


def _individuals(comparison: Comparison) -> Section:
    found = comparison.individuals
    text = (
        "The theory behind `minimax` is about forecasters who are calibrated and whose evidence is independent once the "
        "outcome is known. This is how far yours are from that."
    )
    if comparison.options is not None:
        text = "How sure the forecasters are and how much they share, measured on their distributions over the options."
    rows: tuple[tuple[str, ...], ...] = (
        _measured("calibration slope", found.slope, "1", "below 1: over-confident; above 1: under-confident"),
        _measured("calibration intercept", found.intercept, "0", "below 0: they expect too much; above 0: too little"),
        _measured("correlation given the outcome", found.dependence, "0", "above 0: shared information or errors"),
        _measured(
            "stretch of the average",
            found.stretch,
            NOTHING,
            "below 1: go less far than the average; above 1: beyond it",
        ),
        ("answers of exactly 0 or 1", percent(found.certain), NOTHING, NOTHING, "nothing could change such a mind"),
        ("Brier score of an answer", estimate(found.brier), NOTHING, NOTHING, "what a rule has to improve on"),
    )
    without, both = one_answer_says(found), counted(comparison.questions - found.one_answer, "question")
    note = (
        "The correlation is that of the log-odds of two forecasters, over questions with the same outcome: here "
        f"{both} with at least two answers. {f'{without}. ' if without else ''}The stretch is that of "
        "the average log-odds of the answers that a rule combined, which would have fitted the outcomes best."
    )
    if comparison.options is not None:
        ruled_out = ("answers that rule out an option", *rows[4][1:])
        rows = (rows[0], *rows[2:4], ruled_out, *rows[5:])
        note = (
            "The slope is the power that the answers should be raised to. The correlation is that of the log-odds of two forecasters "
            "for one option against the rest, over options with the same outcome. The stretch is the power for the geometric mean of "
            "the answers that a rule combined."
        )
    table = Table("The answers", ("quantity", "measured", "95 % interval", "the theory's", "what it means"), rows, note)
    return Section("The forecasters one by one", text, (table,))


def _measured(name: str, found: Interval | None, ideal: str, meaning: str) -> tuple[str, ...]:
    return (name, estimate(found and found.value, 2), _unbroken(span(found, 2)), ideal, meaning)


def _recalibrated(comparison: Comparison) -> tuple[Section, ...]:
    if not comparison.recalibrated:
        return ()
    best = comparison.recalibrated[0]
    before = next(rule for rule in comparison.rules if rule.name == best.name)
    text = (
        f"The answers were recalibrated before the rules saw them ({recalibrated_how(comparison)}). Since the recalibration "
        "of a question knows other questions only, no outcome helps to forecast itself."
    )
    table = _score_table("Scores after recalibration", comparison.recalibrated, comparison)
    return (Section("After recalibration", text, (table, pictures.before_and_after(before, best))),)


# --- what it all means ------------------------------------------------------------------------------------------------


def _meaning(comparison: Comparison) -> Section:
    together = (
        "each question is drawn on its own, as if it said nothing about the others"
        if comparison.clusters is None
        else f"the {comparison.clusters:,} clusters of questions are drawn whole, since questions of one cluster go together"
    )
    clipped = (
        f"Rules in which a certain answer decides saw answers brought into [{comparison.clip:g}, {1 - comparison.clip:g}], since one "
        "certain answer would decide the forecast alone."
    )
    brier = "A Brier score is the mean squared distance of the forecast from the outcome, 0 or 1."
    if comparison.options is not None:
        clipped = (
            f"Rules in which a certain answer decides saw answers raised to at least {comparison.clip:g} for each option, since "
            "one certain answer would decide the forecast alone."
        )
        brier = (
            "A Brier score is the squared distance of the forecast from the outcome, 0 or 1, summed over the options: from 0 to 2. "
            "For two options it is twice the score of a question with yes and no."
        )
    points = (
        f"{brier} Each question counts once, however many answers it has.",
        (
            f"The 95 % intervals come from {comparison.draws:,} bootstrap draws: {together}. Two rules are compared on the "
            "same draws, so that hard questions do not blur the difference."
        ),
        (
            "Cannot tell means that the interval of the difference holds 0. It does not mean that the two rules are equally "
            "good. With many rules, one or the other looks better by luck."
        ),
        *([clipped] if comparison.clip else []),
    )
    text = (
        "All numbers on this page were measured on your data. None of them is proved, and other questions may favour other "
        "rules."
    )
    return Section("What these numbers mean", text, points=points)


def _settings(comparison: Comparison, rejected: int | None) -> dict[str, str]:
    methods = sorted({rule.recalibration for rule in comparison.recalibrated})
    clusters = comparison.clusters
    return {
        "questions": f"{comparison.questions:,}",
        "questions left out": f"{comparison.left_out:,}",
        **({} if comparison.options is None else {"options a question": f"up to {comparison.options:,}"}),
        "forecasters": f"{comparison.forecasters:,}",
        "answers": f"{comparison.answers:,}",
        **({} if rejected is None else {"rows rejected": f"{rejected:,}"}),
        "clusters": "each question is its own" if clusters is None else f"{clusters:,}",
        "pairs a question": "all answers at once" if comparison.pairs is None else f"up to {comparison.pairs:,}",
        "clip": f"{comparison.clip:g}",
        "reference": comparison.reference,
        "recalibration": ", ".join(methods) or "none",
        "bootstrap draws": f"{comparison.draws:,}",
        "seed": str(comparison.seed),
    }
