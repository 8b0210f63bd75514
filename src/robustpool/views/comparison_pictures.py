"""The pictures of a comparison, each with what it means: differences, reliability diagrams, and pairs of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..designs.any_aggregator import as_aggregator
from ..evaluation.diagnosis_words import with_interval
from ..html import words
from ..plots.scores import draw_differences, draw_pairs, draw_reliability
from ..plots.style import new_figure, png
from ..wording import estimate
from .page import Picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from ..evaluation.records import Comparison, Individuals, RuleScore


def differences(comparison: Comparison) -> Picture:
    """Each rule against the reference, with intervals."""
    names = max(len(rule.name) for rule in comparison.rules)
    figure, axes = new_figure(width=5.0 + max(0.0, 0.07 * (names - 18)), height=1.3 + 0.25 * len(comparison.rules))
    draw_differences(comparison.rules, axes[0, 0])
    title = f"Brier score of each rule minus that of {comparison.reference}"
    return _picture("differences", "differences", title, figure, it=comparison)


def of_individuals(comparison: Comparison) -> Picture:
    """The reliability diagram of all answers."""
    slope = comparison.individuals.slope
    remark = "Their slope is not available." if slope is None else f"Their calibration slope is {with_interval(slope)}."
    return _diagram({"individuals": comparison.individuals}, "The answers of the individuals", remark, "answer")


def of_rule(score: RuleScore, *, best: bool) -> Picture:
    """The reliability diagram of a rule."""
    title = f"The forecasts of {score.name}" + (", which did best" if best else "")
    saved, of = estimate(score.decomposition.reliability), estimate(score.brier.value)
    return _diagram({score.name: score}, title, f"Perfect recalibration would save {saved} of the Brier score of {of}.")


def before_and_after(before: RuleScore, after: RuleScore) -> Picture:
    """The reliability diagram of a rule on the original answers, and on the recalibrated ones."""
    scores = f"{estimate(after.brier.value)} after recalibration, and {estimate(before.brier.value)} without"
    curves = {"original": before, "recalibrated": after}
    return _diagram(curves, f"The forecasts of {after.name} before and after", f"Its Brier score is {scores}.")


def _diagram(scores: Mapping[str, RuleScore | Individuals], title: str, remark: str, unit: str = "question") -> Picture:
    """The curves with their histograms; ``unit`` is what counts once in them."""
    figure, axes = new_figure(width=3.7, height=4.0)
    histograms = {name: score.histogram for name, score in scores.items()}
    draw_reliability({name: score.curve for name, score in scores.items()}, axes[0, 0], histograms=histograms)
    name = f"reliability-{'-'.join(scores)}"
    return _picture("diagram", name, title, figure, scores=scores, remark=remark, unit=unit)


def surface(comparison: Comparison, rule: str) -> Picture:
    """The forecast of a rule for two answers, with pairs of answers on it."""
    pairs = np.array(comparison.pair_sample, dtype=float)
    reports = pairs[:, :2]
    forecasts = as_aggregator(rule)(reports)
    beyond = float(((forecasts < reports.min(axis=1) - 1e-9) | (forecasts > reports.max(axis=1) + 1e-9)).mean())
    figure, axes = new_figure(width=5.0, height=4.3)
    draw_pairs(rule, pairs, axes[0, 0])
    title = f"The forecast of {rule} for two answers, with pairs of yours on it"
    numbers = {"count": len(pairs), "happened": int(pairs[:, 2].sum()), "beyond": f"{beyond:.0%}"}
    return _picture("pairs", "pairs", title, figure, rule=rule, **numbers)


def _picture(block: str, name: str, title: str, figure: Figure, **values: object) -> Picture:
    """A picture with the words of a block of ``comparison.txt``."""
    alt, meaning = words("comparison.txt", block, **values).split("\n\n")
    return Picture(name, title, png(figure), alt, meaning)
