"""Rules for questions with more than two outcomes: each report is a distribution over the options, and so is the answer.

Notation: x_ik is what agent i says of option k of a question, n agents and K options; sums over agents are weighted where
there are weights. The log-linear pool g of the reports is their geometric mean, divided by its sum:

    log g_k = mean_i log x_ik - log sum_j exp(mean_i log x_ij)

For K = 2 it is the geometric mean of odds: log g_1/g_0 = mean_i log x_i1/x_i0. So it has that name here, and each rule gives
for two options what the rule of the same name in `robustpool.aggregators.rules` gives.

>>> reports = np.array([[[0.6, 0.3, 0.1], [0.5, 0.2, 0.3]]])
>>> combine_distributions(reports, "mean").forecasts.round(3)
array([[0.55, 0.25, 0.2 ]])
>>> combine_distributions(reports, "geometric-odds").forecasts.round(3)
array([[0.567, 0.254, 0.179]])
>>> combine_distributions(reports, "robust").forecasts.round(3)
array([[0.574, 0.251, 0.175]])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from ..checks import SUM_ROUNDING
from ..errors import InputError
from .pools import LEAST, stretch
from .rows import SMALLEST, blocks
from .rules import Rule, get_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..typing import Booleans, Floats

SUM_TOLERANCE = 1e-6
"""The numbers of an answer may miss 1 by this much (single precision does), then they are divided by their sum."""

# ------------------------------------------------------------------------------------------------------------ the pools


def mean(terms: Floats, weights: Floats) -> Floats:
    """f_k = mean_i x_ik, weighted, (m, n, k) and (m, n) -> (m, k); a weight of 0 leaves an agent out, whatever she says."""
    heavy = weights[:, :, None]
    total = np.multiply(terms, heavy, where=heavy > 0, out=np.zeros_like(terms)).sum(axis=1)
    return np.asarray(total / weights.sum(axis=1)[:, None])


def log_linear(reports: Floats, weights: Floats) -> Floats:
    """f = g, the geometric mean of the distributions, divided by its sum."""
    return softmax(mean(np.log(reports), weights))


def robust(reports: Floats, weights: Floats) -> Floats:
    """f_k = g_k^d / sum_j g_j^d with d = 1 + ((g_1 - g_2)/(g_1 + g_2))^2 / 5, g_1 >= g_2 the two largest entries of g.

    The log-linear pool, pushed out by up to a fifth where it is far out already. With z = log g the fraction is
    tanh((z_1 - z_2)/2), which nothing can make overflow.
    """
    return pushed(mean(np.log(reports), weights))


def pushed(z: Floats) -> Floats:
    """The distributions of `robust`, from mean logarithms z of shape (m, k)."""
    lead = np.tanh(gap(z) / 2)  # infinite where one option alone is left: tanh is 1
    return softmax(z * (1 + lead**2 / 5)[:, None])


TWO_ANSWERS = {2: (0.5, 0.1, 4.0), 3: (0.4707, 0.5381, 5.309), 4: (0.4609, 0.4378, 3.681), 5: (0.4552, 0.4935, 4.514)}
"""(alpha, b, k) of `minimax` for two answers and each number of options that has its own; those of 5 serve for more."""


def minimax(reports: Floats, weights: Floats) -> Floats:
    """The rule of small worst-case regret: conditionally independent agents, unknown prior, square loss.

    n = 2      f_k ~ exp(w s_k), s_k = sum_i log x_ik, w = alpha + b tanh(D/k)^2, D the gap of the two largest s_k
    n >= 3     f_k ~ exp(mean_i w_i log x_ik), w_i = a + c (D_i - t)_+^2 / D_i, D_i the gap of the two largest log x_ik

    with a, t and c as for two options (`robustpool.aggregators.pools.stretch`). For two options it is the rule of the same
    name. For two answers and 3, 4, 5 options a search *found* the worst cases 0.076329, 0.100657 and 0.121164; no rule has less
    than 0.076278, 0.100088 and 0.119273 (docs/derivations/several-states.md).
    """
    options = reports.shape[2]
    n = np.count_nonzero(weights > 0, axis=1)
    logs = np.log(reports)
    z = mean(logs, weights)
    for count in np.unique(n).tolist():
        these = n == count
        if count == 2:
            alpha, b, k = TWO_ANSWERS[min(options, max(TWO_ANSWERS))]
            s = 2 * z[these]
            z[these] = s * (alpha + b * np.tanh(gap(s) / k) ** 2)[:, None]
        elif count > 2:
            a, threshold, c = stretch(count)
            own = logs[these]
            apart = np.minimum(gap(own), FARTHEST)[:, :, None]
            factor = a + c * np.maximum(apart - threshold, 0) ** 2 / np.maximum(apart, SMALLEST)
            z[these] = mean((own - own.max(axis=2, keepdims=True)) * factor, weights[these])
    return np.where(np.isinf(z), 0.0, np.maximum(softmax(z), LEAST))  # only who is ruled out gets 0


FARTHEST = 1000.0
"""More than any gap of the logarithms of positive probabilities; it stands for that of a certain report."""


def gap(z: Floats) -> Floats:
    """The difference of the two largest entries, (..., k) -> (...)."""
    largest = np.partition(z, -2, axis=-1)[..., -2:]
    return np.asarray(largest[..., 1] - largest[..., 0])


def softmax(z: Floats) -> Floats:
    """exp(z_k) / sum_j exp(z_j); the largest of each row is finite."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


# ------------------------------------------------------------------------------------------------------------- the rules


@final
@dataclass(frozen=True)
class DistributionRule:
    """A rule for any number of outcomes: a pool of reports (m, n, k) with weights (m, n), to forecasts (m, k)."""

    name: str
    formula: str
    averages: bool  # of probabilities: 0 is a number like others to it, and decides nothing
    pool: Callable[[Floats, Floats], Floats] = field(repr=False)

    def __call__(self, reports: Floats) -> Floats:
        """The forecasts for reports (m, n, k), unclipped as in theory."""
        return combine_distributions(reports, self).forecasts


DISTRIBUTION_RULES: Mapping[str, DistributionRule] = {
    rule.name: rule
    for rule in (
        DistributionRule("robust", "f ~ g^(1 + ((g_1 - g_2)/(g_1 + g_2))^2/5), g the log-linear pool", False, robust),
        DistributionRule("mean", "f = mean x", True, mean),
        DistributionRule("geometric-odds", "f = g ~ (prod x)^(1/n), the log-linear pool", False, log_linear),
        DistributionRule(
            "minimax",
            "n = 2: f ~ exp(w s), s = sum log x, w = alpha + b tanh(D/k)^2, D the gap of the two largest s; "
            "n > 2: f ~ exp(mean w log x), w = a + c max(D - t, 0)^2/D, D the gap of the two largest log x of an answer",
            False,
            minimax,
        ),
    )
}
"""The rules for more than two outcomes, in the order in which they are listed."""

FOR_TWO = f"is for two outcomes; for more: {', '.join(DISTRIBUTION_RULES)}."


def distribution_rule(rule: Any) -> DistributionRule:
    """The rule for more than two outcomes that a user means.

    >>> distribution_rule("mean").formula
    'f = mean x'
    """
    if isinstance(rule, DistributionRule):
        return rule
    if not isinstance(rule, str | Rule) or (isinstance(rule, str) and rule.endswith(".json")):
        raise InputError(f"a design or a function {FOR_TWO}")
    name = (get_rule(rule) if isinstance(rule, str) else rule).name
    if name not in DISTRIBUTION_RULES:
        raise InputError(f"rule {name} {FOR_TWO}")
    return DISTRIBUTION_RULES[name]


# ------------------------------------------------------------------------------------------------------------ the checks


def check_distributions(values: Floats) -> Floats:
    """Answers of shape (questions, agents, options) as distributions; all NaN: the agent did not answer.

    >>> check_distributions(np.array([[[0.2, 0.3, 0.5], [np.nan, np.nan, np.nan]]]))
    array([[[0.2, 0.3, 0.5],
            [nan, nan, nan]]])
    """
    if values.shape[1] == 0 or values.shape[2] < 2:
        raise InputError(
            f"questions with options must have at least one agent and two options; the shape is {values.shape}."
        )
    missing = np.isnan(values)
    absent = missing.all(axis=2)
    partly = np.asarray(missing.any(axis=2) & ~absent)
    if partly.any():
        raise InputError(
            "an answer must have a number for every option, or for none; "
            f"{_first(partly)} has NaN for {missing[partly][0].sum()} of {values.shape[2]} options {_count(partly)}."
        )
    wrong = ~((values >= 0) & (values <= 1) | missing)
    if wrong.any():
        row, agent, option = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"probability must lie in [0, 1]; row {row}, agent {agent}, option {option} is "
            f"{values[row, agent, option]:g} ({wrong.sum()} of {wrong.size} are out of range)."
        )
    totals = values.sum(axis=2)
    off = ~(np.abs(totals - 1) <= SUM_TOLERANCE) & ~absent
    if off.any():
        raise InputError(
            f"the probabilities of an answer must sum to 1 (within {SUM_TOLERANCE:g}); "
            f"{_first(off)} sums to {totals[off][0]:.10g} {_count(off)}."
        )
    return np.asarray(values / np.where(np.abs(totals - 1) <= SUM_ROUNDING, 1.0, totals)[:, :, None])


def _first(wrong: Booleans) -> str:
    row, agent = np.argwhere(wrong)[0].tolist()
    return f"row {row}, agent {agent}"


def _count(wrong: Booleans) -> str:
    return f"({wrong.sum()} of {wrong.size} answers)"


# ---------------------------------------------------------------------------------------------------------- the clipping


def least_share(clip: float, options: int) -> float:
    """What a clipped report gives each of K options at least: ``clip``, or 2/K^2 where that is less.

    For two options that is ``clip``, whatever it is below 1/2. For 0.01 it is so up to 14 options; with more, the least
    shares of all options together come to 2/K, so that they never crowd out what somebody says.

    >>> least_share(0.01, 3), least_share(0.01, 100)
    (0.01, 0.0002)
    """
    return min(clip, 2 / options**2)


def clipped(reports: Floats, clip: float) -> tuple[Floats, Booleans]:
    """Distributions with at least a least share c for each option, (..., k), and which of them that changed.

    y_k = max(c, t x_k) with the t for which sum_k y_k = 1: the options below c are raised to it, and the others give way in
    proportion. Of all distributions that give each option c it is the one with the smallest Kullback-Leibler divergence
    from x. For K = 2 it is x clipped to [c, 1 - c].

    >>> clipped(np.array([[0.0, 0.2, 0.8], [0.3, 0.3, 0.4]]), 0.01)
    (array([[0.01 , 0.198, 0.792],
           [0.3  , 0.3  , 0.4  ]]), array([ True, False]))
    """
    share = least_share(clip, reports.shape[-1])
    touched = np.asarray((reports < share).any(axis=-1))  # NaN is not
    if not touched.any():
        return reports, touched
    x = reports[touched]
    low = x < share
    while True:
        kept = np.where(low, 0.0, x)
        t = (1 - share * low.sum(axis=-1, keepdims=True)) / kept.sum(axis=-1, keepdims=True)
        lower = low | (t * x < share)
        if (lower == low).all():
            break
        low = lower
    result = reports.copy()
    result[touched] = np.where(low, share, t * x)
    return result, touched


# ------------------------------------------------------------------------------------------------------------- combining


class Combined(NamedTuple):
    """Forecasts, and what was odd about the reports."""

    forecasts: Floats  # (m, k), or (m,) for two outcomes; NaN where nobody answered
    at_odds: list[int]  # rows in which each outcome is ruled out by somebody; all of them get the same there
    clipped: int  # answers that the clipping changed


def combine_distributions(reports: Floats, rule: Any, clip: float = 0.0, weights: Floats | None = None) -> Combined:
    """What a rule says of each question: reports (m, n, k) with weights (m, n) or (n,) to forecasts (m, k).

    The reports are distributions; an agent with NaN, or with a weight of 0, did not answer. A single answer is kept as it is
    (clipped, if the rule clips). ``clip`` is for rules other than the mean, which takes a 0 as a number. Without it reports are
    used unchanged: an option that somebody rules out gets 0, and if every option is ruled out, the question is a
    contradiction, and all its options get the same probability.

    >>> combine_distributions(np.array([[[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]]), "robust")
    Combined(forecasts=array([[0.333..., 0.333..., 0.333...]]), at_odds=[0], clipped=0)
    """
    chosen = distribution_rule(rule)
    low = 0.0 if chosen.averages else clip
    questions, agents, options = reports.shape
    by_agent = np.broadcast_to(1.0 if weights is None else weights, (questions, agents))
    forecasts = np.empty((questions, options))
    at_odds: list[int] = []
    changed = 0
    for block in blocks(reports):
        part, heavy = reports[block], _weights(reports[block], by_agent[block])
        part, touched = clipped(part, low)
        changed += int(np.count_nonzero(touched & (heavy > 0)))
        forecasts[block], contradictory = _pooled(chosen, part, heavy)
        at_odds += (block.start + np.flatnonzero(contradictory)).tolist()
    return Combined(forecasts, at_odds, changed)


def _weights(reports: Floats, weights: Floats) -> Floats:
    """The weights, 0 for agents who did not answer, scaled so that the largest of a row is 1 and no sum overflows."""
    given = np.where(np.isnan(reports).any(axis=2), 0.0, weights)
    most = given.max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(given, most, where=most > 0, out=np.zeros_like(given))
    return np.where(given > 0, np.maximum(scaled, SMALLEST), 0.0)


def _pooled(rule: DistributionRule, reports: Floats, weights: Floats) -> tuple[Floats, Booleans]:
    """The forecasts, and which rows contradict themselves."""
    there = weights > 0
    answers = np.count_nonzero(there, axis=1)
    ruled_out = ((reports == 0) & there[:, :, None]).any(axis=1)
    at_odds = ruled_out.all(axis=1) & (not rule.averages)
    forecasts = np.full((len(reports), reports.shape[2]), np.nan)
    forecasts[at_odds] = 1 / reports.shape[2]
    alone = (answers == 1) & ~at_odds
    forecasts[alone] = reports[alone, there[alone].argmax(axis=1)]
    several = (answers > 1) & ~at_odds
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant
        forecasts[several] = rule.pool(reports[several], weights[several])
    return forecasts, at_odds
