"""The pictures of a comparison, each with what it means: differences, reliability diagrams, and pairs of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..aggregators.design import as_aggregator
from ..evaluation.records import Verdict
from ..evaluation.sayings import with_interval
from ..plots.scores import draw_differences, draw_pairs, draw_reliability
from ..plots.style import new_figure, png
from ..wording import counted
from .comparison_words import estimate
from .page import Picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..evaluation.records import Comparison, CurvePoint, RuleScore

    Curve = tuple[CurvePoint, ...]


def differences(comparison: Comparison) -> Picture:
    """Each rule against the reference, with intervals."""
    rules, reference = comparison.rules, comparison.reference
    figure, axes = new_figure(width=5.0, height=1.3 + 0.25 * len(rules))
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
    return _diagram({"individuals": comparison.individuals.curve}, "The answers of the individuals", said)


def of_rule(score: RuleScore, *, best: bool) -> Picture:
    """The reliability diagram of a rule."""
    return _diagram(
        {score.name: score.curve},
        f"The forecasts of {score.name}" + (", which did best" if best else ""),
        f"Perfect recalibration would save {estimate(score.decomposition.reliability)} of the Brier score of "
        f"{estimate(score.brier.value)}.",
    )


def before_and_after(before: RuleScore, after: RuleScore) -> Picture:
    """The reliability diagram of a rule on the answers as they came, and on the recalibrated ones."""
    return _diagram(
        {"as they came": before.curve, "recalibrated": after.curve},
        f"The forecasts of {after.name} before and after",
        f"Its Brier score is {estimate(after.brier.value)} after recalibration, and {estimate(before.brier.value)} "
        "without.",
    )


def _diagram(curves: Mapping[str, Curve], title: str, said: str) -> Picture:
    figure, axes = new_figure(width=3.7, height=4.0)
    draw_reliability(curves, axes[0, 0])
    ends = "; ".join(f"{name}: {_ends(curve)}" for name, curve in curves.items())
    return Picture(
        f"reliability-{'-'.join(curves)}",
        title,
        png(figure),
        f"Reliability diagram against the diagonal. {ends}.",
        f"How often the event happened at each forecast, by isotonic regression. {said}",
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
