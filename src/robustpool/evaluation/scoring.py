"""From the forecasts of several rules on the same questions to their scores, with intervals and paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .bootstrap import percentile_interval, resampled_sums, sums_by_cluster
from .calibration import calibration
from .isotonic import curve, decompose, fit_isotonic
from .option_scores import WORST_BRIER
from .records import CurvePoint, Decomposition, Interval, RuleScore, Verdict
from .scores import auc, brier, distinct, histogram, log_score, sharpness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Floats
    from .panel import Panel

CLUSTERS_FOR_A_VERDICT = 6
"""With five questions, even if one rule wins on all of them, chance alone does that in 2/32 = 6 % of cases: no verdict."""

UNSEEN = 5e-5
"""A difference that four digits cannot show. One that is smaller, with an interval that lies within, is rounding: the rules
say the same, and there is no verdict on them."""


@dataclass(frozen=True, eq=False)
class Measured:
    """All that one rule's forecasts say on their own."""

    name: str
    recalibration: str
    brier: Floats  # (questions,)
    log: Floats  # (questions,), infinite where a certain forecast was wrong
    decomposition: Decomposition
    log_decomposition: Decomposition | None
    slope: Interval | None
    intercept: Interval | None
    auc: float | None
    sharpness: float
    curve: tuple[CurvePoint, ...]
    histogram: tuple[float, ...]


def measure(name: str, recalibration: str, forecasts: Floats, panel: Panel) -> Measured:
    """Score the forecasts of one rule, one for each profile of the panel."""
    outcome, weight = panel.outcome, panel.weight
    log = panel.by_question(log_score(forecasts, outcome))
    at = distinct(forecasts, outcome, weight)
    fit = fit_isotonic(at)
    found = calibration(forecasts, outcome, weight, panel.clusters[panel.question])
    return Measured(
        name,
        recalibration,
        brier=panel.by_question(brier(forecasts, outcome)),
        log=log,
        decomposition=decompose(brier, fit),
        log_decomposition=decompose(log_score, fit) if np.isfinite(log).all() else None,
        slope=found.slope if found else None,
        intercept=found.intercept if found else None,
        auc=auc(at),
        sharpness=sharpness(at),
        curve=curve(fit),
        histogram=histogram(at),
    )


@dataclass(frozen=True, eq=False)
class Resampled:
    """Mean scores on the data and in each draw; column r is rule r. One more row than draws: the first is the data."""

    brier: Floats  # (1 + draws, rules)
    brier_by_forecast: Floats
    log: Floats
    clusters: int
    worst: float = 1.0  # the largest Brier score that there is

    def interval(self, means: Floats, least: float, most: float) -> Interval:
        """The interval of a statistic that lies between two bounds, given on the data and in each draw: (1 + draws,)."""
        value, low, high = percentile_interval(float(means[0]), means[1:], self.clusters)
        return Interval(value, max(low, least), min(high, most))

    def difference(self, one: int, other: int) -> Interval:
        """The Brier score of one rule minus that of another, paired."""
        return self.interval(self.brier[:, one] - self.brier[:, other], -self.worst, self.worst)


def resample(measured: Sequence[Measured], panel: Panel, *, draws: int, seed: int) -> Resampled:
    """Draw the questions again, for all rules at once."""
    answers = panel.table.answers.astype(np.float64)
    wrong = {number for number, rule in enumerate(measured) if np.isinf(rule.log).any()}
    uneven = np.ptp(answers) > 0  # otherwise both weightings are the same
    columns = {"questions": np.ones_like(answers), "answers": answers}
    for number, rule in enumerate(measured):
        columns[f"brier {number}"] = rule.brier
        columns[f"log {number}"] = np.where(np.isinf(rule.log), 0.0, rule.log)
        if uneven:
            columns[f"by forecast {number}"] = rule.brier * answers
        if number in wrong:
            columns[f"infinite {number}"] = np.isinf(rule.log) * 1.0
    by_cluster = sums_by_cluster(columns.values(), panel.clusters)
    sums = np.vstack([by_cluster.sum(axis=0), resampled_sums(by_cluster, draws, seed)])
    drawn = dict(zip(columns, sums.T, strict=True))

    def means(what: str, weight: str) -> Floats:
        return np.stack([drawn[f"{what} {number}"] / drawn[weight] for number in range(len(measured))], axis=1)

    brier_means, log = means("brier", "questions"), means("log", "questions")
    for number in wrong:
        log[drawn[f"infinite {number}"] > 0, number] = np.inf
    by_forecast = means("by forecast", "answers") if uneven else brier_means
    worst = 1.0 if panel.table.options is None else WORST_BRIER
    return Resampled(brier_means, by_forecast, log, len(by_cluster), worst)


def rule_scores(
    measured: Sequence[Measured], resampled: Resampled, group: Sequence[int], reference: int
) -> tuple[RuleScore, ...]:
    """The scores of the rules in ``group``, best first; ties are judged against the best of the group."""
    order = sorted(group, key=lambda r: float(resampled.brier[0, r]))
    return tuple(_rule_score(measured[r], resampled, r, order[0], reference) for r in order)


def _rule_score(rule: Measured, resampled: Resampled, r: int, best: int, reference: int) -> RuleScore:
    difference = resampled.difference(r, reference)
    to_best = resampled.difference(r, best)
    enough = resampled.clusters >= CLUSTERS_FOR_A_VERDICT
    return RuleScore(
        name=rule.name,
        recalibration=rule.recalibration,
        brier=resampled.interval(resampled.brier[:, r], 0.0, resampled.worst),
        brier_by_forecast=resampled.interval(resampled.brier_by_forecast[:, r], 0.0, resampled.worst),
        log=resampled.interval(resampled.log[:, r], 0.0, np.inf),
        certain_and_wrong=int(np.isinf(rule.log).sum()),
        decomposition=rule.decomposition,
        log_decomposition=rule.log_decomposition,
        slope=rule.slope,
        intercept=rule.intercept,
        auc=rule.auc,
        sharpness=rule.sharpness,
        difference=difference,
        verdict=Verdict.REFERENCE if r == reference else _verdict(difference, enough),
        tied_with_best=to_best.low <= 0 or _unseen(to_best) or not enough,
        curve=rule.curve,
        histogram=rule.histogram,
    )


def _unseen(difference: Interval) -> bool:
    return -UNSEEN < difference.low <= difference.high < UNSEEN


def _verdict(difference: Interval, enough: bool) -> Verdict:
    if _unseen(difference):
        return Verdict.CANNOT_TELL
    if enough and difference.high < 0:
        return Verdict.BETTER
    return Verdict.WORSE if enough and difference.low > 0 else Verdict.CANNOT_TELL
