"""The pictures of a comparison, each with what it means: differences, reliability diagrams, and pairs of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..designs.any_aggregator import as_aggregator
from ..evaluation.diagnosis_words import with_interval
from ..evaluation.records import Verdict
from ..plots.scores import draw_differences, draw_pairs, draw_reliability
from ..plots.style import new_figure, png
from ..wording import counted, estimate
from .page import Picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..evaluation.records import Comparison, CurvePoint, Individuals, RuleScore

    Curve = tuple[CurvePoint, ...]
    Histogram = tuple[float, ...]


def differences(comparison: Comparison) -> Picture:
    """Each rule against the reference, with intervals."""
    rules, reference = comparison.rules, comparison.reference
    names = max(len(rule.name) for rule in rules)
    figure, axes = new_figure(width=5.0 + max(0.0, 0.07 * (names - 18)), height=1.3 + 0.25 * len(rules))
    draw_differences(rules, axes[0, 0])
    return Picture(
        "differences",
        f"Brier score of each rule minus that of {reference}",
        png(figure),
        f"Dots with 95 % intervals, one line a rule, for the Brier score minus that of {reference}: {tally(rules)}.",
        f"A rule whose interval lies left of zero did better than {reference}, one whose interval lies right of it worse. "
        "Where the interval crosses zero these questions cannot tell.",
    )


def tally(rules: tuple[RuleScore, ...]) -> str:
    """How many rules did better than the reference, how many worse, and how many cannot be told from it."""
    better, worse, unclear = (
        sum(rule.verdict is verdict for rule in rules)
        for verdict in (Verdict.BETTER, Verdict.WORSE, Verdict.CANNOT_TELL)
    )
    return f"{better} better, {worse} worse, {unclear} that cannot be told from it"


def of_individuals(comparison: Comparison) -> Picture:
    """The reliability diagram of all answers."""
    slope = comparison.individuals.slope
    said = "Their slope is not to be had." if slope is None else f"Their calibration slope is {with_interval(slope)}."
    return _diagram({"individuals": comparison.individuals}, "The answers of the individuals", said, "answer")


def of_rule(score: RuleScore, *, best: bool) -> Picture:
    """The reliability diagram of a rule."""
    return _diagram(
        {score.name: score},
        f"The forecasts of {score.name}" + (", which did best" if best else ""),
        f"Perfect recalibration would save {estimate(score.decomposition.reliability)} of the Brier score of "
        f"{estimate(score.brier.value)}.",
    )


def before_and_after(before: RuleScore, after: RuleScore) -> Picture:
    """The reliability diagram of a rule on the answers as they came, and on the recalibrated ones."""
    return _diagram(
        {"as they came": before, "recalibrated": after},
        f"The forecasts of {after.name} before and after",
        f"Its Brier score is {estimate(after.brier.value)} after recalibration, and {estimate(before.brier.value)} "
        "without.",
    )


def _diagram(scores: Mapping[str, RuleScore | Individuals], title: str, said: str, unit: str = "question") -> Picture:
    """The curves with their histograms; ``unit`` is what counts once in them."""
    figure, axes = new_figure(width=3.7, height=4.0)
    histograms = {name: score.histogram for name, score in scores.items()}
    draw_reliability({name: score.curve for name, score in scores.items()}, axes[0, 0], histograms=histograms)
    ends = "; ".join(f"{name}: {_ends(score.curve)}" for name, score in scores.items())
    return Picture(
        f"reliability-{'-'.join(scores)}",
        title,
        png(figure),
        f"Reliability diagram against the diagonal, with a histogram. {ends}.",
        f"How often the event happened at each forecast, by isotonic regression. {said} {_spread(histograms, unit)}".strip(),
    )


def _spread(histograms: Mapping[str, Histogram], unit: str) -> str:
    """What the bars are, and how high."""
    filled = {name: shares for name, shares in histograms.items() if shares}
    if not filled:
        return ""
    heights = " and ".join(
        f"{max(shares):.0%}" + (f" ({name})" if len(filled) > 1 else "") for name, shares in filled.items()
    )
    width = 1 / len(next(iter(filled.values())))
    return (
        f"Bars: the share of the {'answers' if unit == 'answer' else 'forecasts'} in each {width:.0%} of the scale, every "
        f"{unit} counting once; the tallest is {heights}."
    )


def _ends(curve: Curve) -> str:
    if not curve:
        return "no forecasts"
    first, last = curve[0], curve[-1]
    return (
        f"at the lowest forecast, {first.forecast:.2f}, it happened in {first.frequency:.0%} of the cases, at the "
        f"highest, {last.forecast:.2f}, in {last.frequency:.0%}"
    )


def surface(comparison: Comparison, rule: str) -> Picture:
    """What a rule says to two answers, with pairs of answers on it."""
    pairs = np.array(comparison.pair_sample, dtype=float)
    reports = pairs[:, :2]
    forecasts = as_aggregator(rule)(reports)
    beyond = float(((forecasts < reports.min(axis=1) - 1e-9) | (forecasts > reports.max(axis=1) + 1e-9)).mean())
    happened = int(pairs[:, 2].sum())
    figure, axes = new_figure(width=5.0, height=4.3)
    draw_pairs(rule, pairs, axes[0, 0])
    return Picture(
        "pairs",
        f"What {rule} makes of two answers, with pairs of yours on it",
        png(figure),
        f"Heatmap of the forecast of {rule} over two reports with {counted(len(pairs), 'pair')} of answers on it: "
        f"{happened} triangles where the event happened, {len(pairs) - happened} discs where it did not.",
        "Each mark is a pair of answers to one question, and the colour below it the forecast. "
        f"For {beyond:.0%} of these pairs the forecast goes beyond both answers; for the others it stays between them.",
    )
