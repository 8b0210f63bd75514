"""From the forecasts of several rules on the same questions to their scores, with intervals and paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import option_scores, scores
from .bootstrap import chance, percentile_interval, resampled_sums, sums_by_cluster
from .isotonic import curve, decompose, fit_isotonic
from .option_scores import WORST_BRIER, same_options
from .options import confidence, one_against_rest
from .records import Decomposition, Interval, RuleScore, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Floats
    from .panel import Panel

CLUSTERS_FOR_A_VERDICT = 6
"""With five questions, even if one rule wins on all of them, chance alone does that in 2/32 = 6 % of cases: no verdict."""

UNSEEN = 5e-5
"""A difference that four digits cannot show. One that is smaller, with an interval that lies within, is rounding: the rules
say the same, and there is no verdict on them."""


class Measured(NamedTuple):
    """The losses of one rule, and its score, but for what is learnt by drawing the questions again."""

    name: str
    brier: Floats  # (questions,)
    log: Floats  # (questions,), infinite where a certain forecast was wrong
    intercept: Interval | None
    score: Callable[..., RuleScore]


def measure(name: str, recalibration: str, forecasts: Floats, panel: Panel) -> Measured:
    """Score the forecasts of one rule, one for each profile of the panel: (profiles,), or with options (profiles, K).

    With options the Brier score is split, and the variance taken, for each option against the rest, and summed up; the AUC is
    the mean over the options, without those that never or always came true.
    """
    outcome, weight, options = panel.outcome, panel.weight, panel.table.options
    kind = scores if options is None else option_scores
    log = panel.by_question(kind.log_score(forecasts, outcome))
    single = one_against_rest(forecasts, outcome, weight, same=same_options(options or ()))
    fits = [fit_isotonic(at) for at in single.parts()]
    shares = np.array([fit.at.weights.sum() for fit in fits]) / weight.sum()
    together = fits[0] if len(fits) == 1 else fit_isotonic(single.together())
    areas = [area for fit in fits if (area := scores.auc(fit.at)) is not None]
    # The log scores of the options one against the rest do not sum to that of the distribution.
    log_is_split = options is None and np.isfinite(log).all()
    slope, intercept = confidence(forecasts, outcome, weight, panel.clusters[panel.question])
    score = partial(
        RuleScore,
        name=name,
        recalibration=recalibration,
        certain_and_wrong=int(np.isinf(log).sum()),
        decomposition=Decomposition(*(shares @ [decompose(scores.brier, fit) for fit in fits]).tolist()),
        log_decomposition=decompose(scores.log_score, together) if log_is_split else None,
        slope=slope,
        intercept=intercept,
        auc=float(np.mean(areas)) if areas else None,
        sharpness=float(shares @ [scores.sharpness(fit.at) for fit in fits]),
        curve=curve(together),
        histogram=scores.histogram(together.at),
    )
    return Measured(name, panel.by_question(kind.brier(forecasts, outcome)), log, intercept, score)


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
    brier, log = (
        np.stack(losses, axis=1) for losses in zip(*((rule.brier, rule.log) for rule in measured), strict=True)
    )
    answers = panel.table.answers[:, None]
    infinite = np.isinf(log)
    columns = [np.ones_like(answers), answers, brier, brier * answers, np.where(infinite, 0.0, log), infinite]
    by_cluster = sums_by_cluster(np.hstack(columns).T, panel.clusters)
    sums = np.vstack([by_cluster.sum(axis=0), resampled_sums(by_cluster, draws, seed)])
    questions, answers = sums[:, :1], sums[:, 1:2]
    brier, brier_by_answers, log, infinite = np.split(sums[:, 2:], 4, axis=1)
    log = np.where(infinite > 0, np.inf, log / questions)
    worst = 1.0 if panel.table.options is None else WORST_BRIER
    return Resampled(brier / questions, brier_by_answers / answers, log, len(by_cluster), worst)


def rule_scores(
    measured: Sequence[Measured], resampled: Resampled, group: Sequence[int], reference: int
) -> tuple[RuleScore, ...]:
    """The scores of the rules in ``group``, best first; ties are judged against the best of the group."""
    order = sorted(group, key=lambda r: float(resampled.brier[0, r]))
    prominent = _prominent(resampled, order, reference)
    return tuple(_rule_score(measured[r], resampled, r, order[0], reference, r in prominent) for r in order)


def _prominent(resampled: Resampled, group: Sequence[int], reference: int) -> set[int]:
    """The rules that are better than the reference even allowing for how many were tried.

    With d_r the difference of rule r to the reference, s_r its standard error and d*_r that of a draw: those with d_r/s_r below the
    2.5 % quantile of min over r of (d*_r - d_r)/s_r, the statistic that chance alone would give to the luckiest rule.
    """
    others = [r for r in group if r != reference]
    if not others or resampled.clusters < CLUSTERS_FOR_A_VERDICT:
        return set()
    differences = resampled.brier[:, others] - resampled.brier[:, [reference]]
    errors = differences[1:].std(axis=0)
    told = errors > UNSEEN / 100
    scaled = np.divide(differences, errors, out=np.zeros_like(differences), where=told)
    luckiest = (scaled[1:] - scaled[0]).min(axis=1)
    limit = np.quantile(luckiest, chance(resampled.clusters))
    return {r for r, value in zip(others, scaled[0].tolist(), strict=True) if value < limit}


def _rule_score(rule: Measured, resampled: Resampled, r: int, best: int, reference: int, prominent: bool) -> RuleScore:
    difference = resampled.difference(r, reference)
    to_best = resampled.difference(r, best)
    enough = resampled.clusters >= CLUSTERS_FOR_A_VERDICT
    return rule.score(
        brier=resampled.interval(resampled.brier[:, r], 0.0, resampled.worst),
        brier_by_forecast=resampled.interval(resampled.brier_by_forecast[:, r], 0.0, resampled.worst),
        log=resampled.interval(resampled.log[:, r], 0.0, np.inf),
        difference=difference,
        verdict=Verdict.REFERENCE if r == reference else _verdict(difference, enough),
        stands_out=prominent and _verdict(difference, enough) is Verdict.BETTER,
        tied_with_best=to_best.low <= 0 or _unseen(to_best) or not enough,
    )


def _unseen(difference: Interval) -> bool:
    return -UNSEEN < difference.low <= difference.high < UNSEEN


def _verdict(difference: Interval, enough: bool) -> Verdict:
    if _unseen(difference):
        return Verdict.CANNOT_TELL
    if enough and difference.high < 0:
        return Verdict.BETTER
    return Verdict.WORSE if enough and difference.low > 0 else Verdict.CANNOT_TELL
