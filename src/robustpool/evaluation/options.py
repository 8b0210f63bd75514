"""Questions with options, scored: each rule's distributions, and the forecasters one by one.

What is defined for two outcomes (reliability, AUC, dependence) is taken one option against the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..aggregators.distributions import DISTRIBUTION_RULES, clipped, distribution_rule, least_share
from ..errors import InputError
from ..forecasts import CLIP
from ..tables.records import ForecastTable
from . import option_scores, scores
from .dependence import dependence
from .isotonic import curve, decompose, fit_isotonic
from .records import Decomposition, Individuals
from .scoring import Measured
from .temperature import best_power

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Floats, Integers
    from .contenders import Contenders
    from .panel import Panel

FOR_TWO = f"made for two outcomes; for more there are {', '.join(DISTRIBUTION_RULES)}."


def for_options(rules: Contenders, unscored: dict[str, str]) -> tuple[Contenders, dict[str, str]]:
    """Those of the rules that are for more than two outcomes, and the others with what they say."""
    chosen: Contenders = {}
    without = dict.fromkeys(unscored, FOR_TWO)
    for name, rule in rules.items():
        try:
            distribution_rule(rule)
        except InputError:
            without[name] = FOR_TWO
        else:
            chosen[name] = rule
    return chosen, without


# ---------------------------------------------------------------------------------------------- one option against the rest


class OneAgainstRest(NamedTuple):
    """Each option of each question as a binary question of its own."""

    forecasts: Floats  # (l,)
    outcomes: Floats  # (l,): whether the option came true
    weights: Floats  # (l,)
    option: Integers  # (l,): its number where all questions have the same options, else 0

    def parts(self) -> list[scores.Distinct]:
        """The forecasts of each option, or all together where options differ from question to question."""
        parts = []
        for number in np.unique(self.option).tolist():
            these = self.option == number
            parts.append(scores.distinct(self.forecasts[these], self.outcomes[these], self.weights[these]))
        return parts


def one_against_rest(forecasts: Floats, outcomes: Floats, weights: Floats, *, same: bool) -> OneAgainstRest:
    """Take the options apart: forecasts (m, K), outcomes and weights (m,).

    >>> parts = one_against_rest(np.array([[0.2, 0.8, np.nan]]), np.array([1.0]), np.ones(1), same=False)
    >>> parts.forecasts, parts.outcomes
    (array([0.2, 0.8]), array([0., 1.]))
    """
    row, option = np.nonzero(~np.isnan(forecasts))
    happened = (outcomes[row] == option).astype(np.float64)
    return OneAgainstRest(forecasts[row, option], happened, weights[row], option if same else np.zeros_like(option))


def decomposition(parts: Sequence[scores.Distinct], questions: float) -> Decomposition:
    """The Brier score of distributions split into reliability - resolution + uncertainty: the sum over the options.

    Each option's binary Brier scores are split by isotonic regression; ``questions`` is the weight of all questions, so that
    the parts sum to the mean score.
    """
    total = np.zeros(3)
    for at in parts:
        total += np.array(decompose(scores.brier, fit_isotonic(at))) * at.weights.sum() / questions
    return Decomposition(*total.tolist())


def auc(parts: Sequence[scores.Distinct]) -> float | None:
    """The mean AUC of the options one against the rest, without those that never or always came true."""
    found = [value for at in parts if (value := scores.auc(at)) is not None]
    return float(np.mean(found)) if found else None


def sharpness(parts: Sequence[scores.Distinct], questions: float) -> float:
    """The variance of the forecasts, summed over the options."""
    return float(sum(scores.sharpness(at) * at.weights.sum() for at in parts) / questions)


# ------------------------------------------------------------------------------------------------------------ the rules


def measure_options(name: str, recalibration: str, forecasts: Floats, panel: Panel) -> Measured:
    """Score the distributions of one rule, one for each profile of the panel: (profiles, K)."""
    outcome, weight = panel.outcome, panel.weight
    options = panel.table.options or ()
    single = one_against_rest(forecasts, outcome, weight, same=option_scores.same_options(options))
    parts, questions = single.parts(), float(weight.sum())
    together = scores.distinct(single.forecasts, single.outcomes, single.weights)
    return Measured(
        name,
        recalibration,
        brier=panel.by_question(option_scores.brier(forecasts, outcome)),
        log=panel.by_question(option_scores.log_score(forecasts, outcome)),
        decomposition=decomposition(parts, questions),
        log_decomposition=None,  # the log scores of the options one against the rest do not sum to that of the distribution
        slope=best_power(_clipped_logs(forecasts, panel), outcome, weight, panel.clusters[panel.question]),
        intercept=None,
        auc=auc(parts),
        sharpness=sharpness(parts, questions),
        curve=curve(fit_isotonic(together)),
        histogram=scores.histogram(together),
    )


def _clipped_logs(forecasts: Floats, panel: Panel) -> Floats:
    """log f of each profile, clipped; -inf beyond its options."""
    return _logs(forecasts, panel.table.option_counts[panel.question])


def _logs(distributions: Floats, sizes: Integers) -> Floats:
    logs = np.full(distributions.shape, -np.inf)
    for k in np.unique(sizes).tolist():
        these = sizes == k
        logs[these, :k] = np.log(clipped(distributions[these, :k], CLIP)[0])
    return logs


# ------------------------------------------------------------------------------------------------------- the forecasters


def describe_options(panel: Panel, *, draws: int, seed: int) -> Individuals:
    """Score, confidence and dependence of the answers as they came; clipped only where logarithms are taken."""
    table = panel.table
    p, y, once = table.probability, table.outcome[table.question], np.ones(table.rows)
    losses = np.bincount(table.question, option_scores.brier(p, y)) / table.answers
    single = one_against_rest(p, y, once, same=False)
    together = scores.distinct(single.forecasts, single.outcomes, single.weights)
    logs = _logs(p, table.option_counts[table.question])
    binary, cluster = as_binary_table(table, panel.clusters)
    return Individuals(
        brier=float(losses.mean()),
        slope=best_power(logs, y, once, panel.clusters[table.question]),
        intercept=None,
        certain=float(np.mean((p == 0).any(axis=1))),
        dependence=dependence(binary, cluster, draws=draws, seed=seed),
        stretch=best_power(_mean_logs(panel), panel.outcome, panel.weight, panel.clusters[panel.question]),
        curve=curve(fit_isotonic(together)),
        histogram=scores.histogram(together),
    )


def raised(distributions: Floats, clip: float) -> int:
    """How many answers of a table, (rows, K) with NaN beyond one's own options, the clipping changes."""
    sizes = np.count_nonzero(~np.isnan(distributions), axis=1)
    share = np.array([least_share(clip, max(k, 1)) for k in range(distributions.shape[1] + 1)])[sizes]
    return int(np.count_nonzero((distributions < share[:, None]).any(axis=1)))


def _mean_logs(panel: Panel) -> Floats:
    """The mean log probabilities of the answers of each profile, clipped, by their weights; -inf beyond the options."""
    logs = np.full((len(panel.question), panel.table.probability.shape[1]), -np.inf)
    for places, reports, weights in panel.profiles():
        each = np.log(clipped(reports, CLIP)[0])
        by_agent = np.ones(reports.shape[:2]) if weights is None else weights / weights.max(axis=1, keepdims=True)
        mean = (each * by_agent[:, :, None]).sum(axis=1) / by_agent.sum(axis=1)[:, None]
        logs[places, : reports.shape[2]] = mean
    return logs


def as_binary_table(table: ForecastTable, clusters: Integers) -> tuple[ForecastTable, Integers]:
    """Each option of each question as a question with yes and no, and the cluster of each."""
    sizes = table.option_counts
    start = np.cumsum(sizes) - sizes
    row, option = np.nonzero(~np.isnan(table.probability))
    question = start[table.question[row]] + option
    order = np.argsort(question, kind="stable")
    owner = np.repeat(np.arange(len(sizes)), sizes)
    number = np.arange(len(owner)) - start[owner]
    names = [f"{q} {name}" for q, options in zip(table.questions, table.options or (), strict=True) for name in options]
    binary = ForecastTable(
        names,
        table.forecasters,
        question[order],
        table.forecaster[row][order],
        table.probability[row, option][order],
        (table.outcome[owner] == number).astype(np.float64),
    )
    return binary, clusters[owner]
