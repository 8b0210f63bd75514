"""The page of a comparison: the advice, how each rule did and how sure that is, and what the forecasters look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evaluation.diagnosis_words import one_answer_says
from ..wording import estimate, percent
from . import comparison_pictures as pictures
from .comparison import fitted_says, in_parts, not_scored, of_base_rate, say, scores, span
from .page import Page, Section, Table, write_page
from .pool import NOTHING
from .pool_page import calibration_picture, forms_table, period_sections

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..evaluation.records import Comparison, Decomposition, Interval, RuleScore
    from ..typing import FilePath

TITLE = "Rules for combining forecasts, compared"
FINE = 5
"""Digits of differences, which are smaller than scores."""


def write_comparison(
    comparison: Comparison, path: FilePath, *, title: str = TITLE, rule: str = "robust", rejected: int | None = None
) -> None:
    """Write the page of a comparison, whole or not at all."""
    write_page(comparison_page(comparison, title=title, rule=rule, rejected=rejected), path)


def comparison_page(
    comparison: Comparison, *, title: str = TITLE, rule: str = "robust", rejected: int | None = None
) -> Page:
    """The whole page of a comparison.

    ``rule`` gets pictures of its own; ``rejected`` is the number of rows that could not be used, if it is known.
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
            *_fitted(comparison),
            *_recalibrated(comparison),
            _meaning(comparison),
        ),
        settings=dict(line.split(": ", 1) for line in say("settings", comparison, rejected=rejected).split("\n\n")),
    )


def _lead(advice: tuple[str, ...], at_once: int = 3) -> str:
    """The advice: first what to do, then the reasons in paragraphs that are not too long."""
    to_do, why = in_parts(advice)
    return "\n\n".join([*to_do, *(" ".join(why[k : k + at_once]) for k in range(0, len(why), at_once))])


# --- how the rules did ------------------------------------------------------------------------------------------------


def _scores(comparison: Comparison) -> Section:
    scored = _score_table("Scores", comparison.rules, comparison)
    tables = (scored, _other_table(comparison), _decomposition_table(comparison))
    text = f"{say('basis', comparison)} {say('how_scored', comparison)} {of_base_rate(comparison)}".strip()
    return Section("What the data say", text, tables, (*not_scored(comparison, "`"), *comparison.notes))


def _score_table(title: str, rules: Iterable[RuleScore], comparison: Comparison) -> Table:
    rows = tuple(
        (f"{rule.name} *" if rule.tied_with_best else rule.name, *map(_unbroken, scores(rule, FINE))) for rule in rules
    )
    columns = ("rule", "Brier score", "95 % interval", f"minus that of {comparison.reference}", "95 % interval of that")
    return Table(title, (*columns, f"against {comparison.reference}"), rows, say("score_note", comparison))


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
    columns = ("rule", "Brier by answers", "log score", "slope", "95 % interval", "AUC", "sharpness")
    return Table("Other scores", columns, rows, say("other_note", comparison))


def _decomposition_table(comparison: Comparison) -> Table:
    rows = tuple((rule.name, *_parts(rule.decomposition), *_parts(rule.log_decomposition)) for rule in comparison.rules)
    columns = ("rule", "Brier reliability", "Brier resolution", "log reliability", "log resolution")
    shown = 5 if comparison.options is None else 3
    of_log = next((rule.log_decomposition.uncertainty for rule in comparison.rules if rule.log_decomposition), None)
    of_brier = comparison.rules[0].decomposition.uncertainty
    note = say("decomposition_note", comparison, of_brier=of_brier, of_log=of_log)
    return Table("Parts of the scores", columns[:shown], tuple(row[:shown] for row in rows), note)


def _parts(score: Decomposition | None) -> tuple[str, str]:
    return (estimate(score and score.reliability), estimate(score and score.resolution))


def _unbroken(text: str) -> str:
    """The same text, which stays in one line."""
    return text.replace(" ", "\u00a0")


def _differences(comparison: Comparison) -> Section:
    text = f"Compared with `{comparison.reference}`: {say('tally', comparison)}"
    return Section(f"Which rules did better than {comparison.reference}", text, (pictures.differences(comparison),))


def _reliability(comparison: Comparison, rule: str) -> Section:
    """Individuals, the reference, the best rule and the one that is looked at: each once."""
    best = comparison.rules[0]
    shown = [score for score in comparison.rules if score.name in {comparison.reference, best.name, rule}]
    diagrams = (pictures.of_rule(score, best=score is best) for score in shown)
    parts = (pictures.of_individuals(comparison), *diagrams)
    return Section("Are the forecasts calibrated?", say("reliability", comparison), parts)


# --- the forecasters --------------------------------------------------------------------------------------------------


def _surface(comparison: Comparison, rule: str) -> tuple[Section, ...]:
    if not comparison.pair_sample:
        return ()
    text = say("surface", comparison, rule=rule)
    return (Section(f"The forecast of {rule} for two answers", text, (pictures.surface(comparison, rule),)),)


def _individuals(comparison: Comparison) -> Section:
    it = comparison.individuals
    rows: tuple[tuple[str, ...], ...] = (
        _row("calibration slope", it.slope, "1", "below 1: over-confident; above 1: under-confident"),
        _row("calibration intercept", it.intercept, "0", "below 0: forecasts too high; above 0: too low"),
        _row("correlation given the outcome", it.dependence, "0", "above 0: shared information or errors"),
        _row("stretch of the average", it.stretch, NOTHING, "below 1: moderate the average; above 1: extremise it"),
        ("answers of exactly 0 or 1", percent(it.certain), NOTHING, NOTHING, "claims of certainty"),
        ("Brier score of an answer", estimate(it.brier), NOTHING, NOTHING, "the score that a rule should beat"),
    )
    if comparison.options is not None:
        rows = (rows[0], *rows[2:4], ("answers that rule out an option", *rows[4][1:]), *rows[5:])
    note = say("individuals_note", comparison, without=one_answer_says(it))
    table = Table("The answers", ("quantity", "measured", "95 % interval", "the theory's", "what it means"), rows, note)
    return Section("The individual forecasters", say("individuals", comparison), (table,))


def _row(name: str, measured: Interval | None, ideal: str, meaning: str) -> tuple[str, ...]:
    return (name, estimate(measured and measured.value, 2), _unbroken(span(measured, 2)), ideal, meaning)


def _fitted(comparison: Comparison) -> tuple[Section, ...]:
    """The pool that was fitted to these questions, as its own page has it."""
    pool = comparison.fitted
    if pool is None:
        return ()
    parts = (forms_table(pool), calibration_picture(pool))
    return (Section("A pool fitted to these data", fitted_says(pool), parts, pool.notes), *period_sections(pool))


def _recalibrated(comparison: Comparison) -> tuple[Section, ...]:
    if not comparison.recalibrated:
        return ()
    best = comparison.recalibrated[0]
    before = next(rule for rule in comparison.rules if rule.name == best.name)
    table = _score_table("Scores after recalibration", comparison.recalibrated, comparison)
    parts = (table, pictures.before_and_after(before, best))
    return (Section("After recalibration", say("recalibrated", comparison), parts),)


# --- what it all means ------------------------------------------------------------------------------------------------


def _meaning(comparison: Comparison) -> Section:
    points = tuple(say("points", comparison).split("\n\n"))
    return Section("What these numbers mean", say("meaning", comparison), points=points)
