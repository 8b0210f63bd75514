"""The formulas of the rules, one small function each.

Notation: x_1, ..., x_n are the reports on one question, l_i = logit x_i, s = l_1 + ... + l_n, and sigma is the inverse
of logit. A pool maps reports of shape (m, n) to forecasts of shape (m,); NaN marks an agent who did not answer, so that n
differs from row to row. Who proposed which formula stands in the catalogue, `robustpool.aggregators.rules.RULES`.

Pools trust their input: every row has an answer, and no row has both a 0 and a 1. A certain report has l_i = -inf or
+inf and carries the sum with it: log 0 is meant, and `Rule` keeps numpy silent about it.

>>> reports = np.array([[0.9, 0.8, np.nan], [0.2, 0.4, 0.6]])
>>> mean(reports).round(4)
array([0.85, 0.4 ])
>>> geometric_odds(reports).round(4)
array([0.8571, 0.3865])
>>> product(reports).round(4)
array([0.973, 0.2  ])
"""

from __future__ import annotations

from functools import partial
from math import log, log1p
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]

# ---------------------------------------------------------------------------------------------------------------- rows


def answers(reports: FloatArray) -> npt.NDArray[np.intp]:
    """Count the agents who answered, row by row: the n of every formula below."""
    return np.asarray(np.count_nonzero(~np.isnan(reports), axis=1))


def total(terms: FloatArray) -> FloatArray:
    """Sum each row over the agents who answered."""
    return np.asarray(np.nansum(terms, axis=1))


def contradictory(reports: FloatArray) -> npt.NDArray[np.bool_]:
    """Mark the rows in which one agent is certain of 0 and another is certain of 1."""
    return np.asarray(np.any(reports == 0, axis=1) & np.any(reports == 1, axis=1))


def select(reports: FloatArray, rows: npt.NDArray[np.bool_]) -> FloatArray:
    """The marked rows; the table itself, not copied, if they are all marked."""
    return reports if rows.all() else reports[rows]


# ------------------------------------------------------------------------------------------------------------ log-odds


def logit(x: FloatArray) -> FloatArray:
    """log(x / (1 - x)), to full relative accuracy at both ends."""
    return np.log(x) - np.log1p(-x)


def sigma(z: FloatArray) -> FloatArray:
    """1 / (1 + exp(-z)), as exp(z) / (1 + exp(z)) where z < 0, so that nothing overflows and small values keep digits."""
    return np.asarray(np.exp(np.minimum(z, 0)) / (1 + np.exp(-np.abs(z))))


def log_odds(reports: FloatArray) -> FloatArray:
    """s = sum_i logit x_i."""
    return total(logit(reports))


def logit_mean(reports: FloatArray) -> FloatArray:
    """Logit of the mean report, as log sum x_i - log sum (1 - x_i)."""
    return np.log(total(reports)) - np.log(total(1 - reports))


def logit_root_mean(reports: FloatArray, k: float) -> FloatArray:
    """k logit(mean_i sigma(l_i / k)): from the logit of the mean report (k = 1) to the mean logit (k -> inf).

    For k = 2 it is 4 atanh(mean_i tanh(l_i / 4)), in a form that survives |l_i| > 75, where tanh(l_i / 4) rounds to 1.
    """
    z = logit(reports) / k
    return k * (np.log(total(sigma(z))) - np.log(total(sigma(-z))))


# ------------------------------------------------------------------------------------------- averages of probabilities


def mean(reports: FloatArray) -> FloatArray:
    """Average the reports: (x_1 + ... + x_n) / n."""
    return total(reports) / answers(reports)


def _mean_of_the_middle(reports: FloatArray, k: npt.NDArray[np.intp]) -> FloatArray:
    """Average what remains of each row without its k smallest and its k largest reports; k has shape (m,)."""
    ordered = np.sort(reports, axis=1)  # NaN comes last
    rank = np.arange(reports.shape[1])
    n = answers(reports)
    kept = (rank >= k[:, None]) & (rank < (n - k)[:, None])
    return total(np.where(kept, ordered, np.nan)) / (n - 2 * k)


def median(reports: FloatArray) -> FloatArray:
    """Take the middle report, or the mean of the two middle ones."""
    return _mean_of_the_middle(reports, (answers(reports) - 1) // 2)


def trimmed_mean(reports: FloatArray, share: float) -> FloatArray:
    """Average without the floor(share n) smallest and as many largest reports; at least the median remains."""
    n = answers(reports)
    k = np.floor(share * n + 1e-9).astype(np.intp)  # 0.29 * 100 is 28.999999999999996
    return _mean_of_the_middle(reports, np.minimum(k, (n - 1) // 2))


def geometric_mean(reports: FloatArray) -> FloatArray:
    """(x_1 ... x_n)^(1/n), not normalised: the complements pooled alike do not sum with it to 1."""
    return np.exp(total(np.log(reports)) / answers(reports))


def karmarkar(reports: FloatArray, a: float) -> FloatArray:
    """p^a / (p^a + (1-p)^a) of the mean report p, that is sigma(a logit p)."""
    return sigma(a * logit_mean(reports))


def beta_pool(reports: FloatArray, a: float) -> FloatArray:
    """I_p(a, a) of the mean report p, with I the regularised incomplete beta function."""
    from scipy.special import betainc

    return np.asarray(betainc(a, a, mean(reports)), dtype=np.float64)


# ----------------------------------------------------------------------------------------------- functions of log-odds


def geometric_odds(reports: FloatArray) -> FloatArray:
    """sigma(s / n): the geometric mean of the odds."""
    return extremized_odds(reports, d=1.0)


def extremized_odds(reports: FloatArray, d: float) -> FloatArray:
    """sigma(d s / n): the geometric mean of the odds, to the power d."""
    return sigma(d * (log_odds(reports) / answers(reports)))


def neyman_factor(n: npt.NDArray[np.intp]) -> FloatArray:
    """d(n) = n (sqrt(3n^2 - 3n + 1) - 2) / (n^2 - n - 1), from d(1) = 1 up to sqrt 3."""
    return np.asarray(n * (np.sqrt(3 * n**2 - 3 * n + 1) - 2) / (n**2 - n - 1))


def neyman_odds(reports: FloatArray) -> FloatArray:
    """sigma(d(n) s / n) with Neyman and Roughgarden's factor d(n)."""
    n = answers(reports)
    return sigma(neyman_factor(n) * (log_odds(reports) / n))


def scaled_log_odds(reports: FloatArray, alpha: float) -> FloatArray:
    """sigma(alpha s)."""
    return sigma(alpha * log_odds(reports))


# --------------------------------------------------------------------- conditionally independent agents, given a prior


def _given_prior(reports: FloatArray, logit_prior: FloatArray | float) -> FloatArray:
    """sigma(s - (n-1) logit mu): the posterior of n conditionally independent agents who share the prior mu.

    Summed as the prior's log-odds and what each agent adds to them, which keeps the digits of unanimous reports.
    No prior is certain: where all reports are, and with them a prior that is taken from them, the reports decide.
    (A positive double has |logit| < 1000.)
    """
    prior = np.clip(logit_prior, -1000, 1000)
    return sigma(prior + total(logit(reports) - prior[..., None]))


def product(reports: FloatArray) -> FloatArray:
    """sigma(s) = x_1 ... x_n / (x_1 ... x_n + (1-x_1) ... (1-x_n)): the prior is 1/2."""
    return _given_prior(reports, 0.0)


def bordley(reports: FloatArray, prior: float) -> FloatArray:
    """sigma(s - (n-1) logit mu): the prior mu is known."""
    return _given_prior(reports, log(prior) - log1p(-prior))


def average_prior(reports: FloatArray) -> FloatArray:
    """sigma(s - (n-1) logit mean_i x_i): the prior is taken to be the mean report."""
    return _given_prior(reports, logit_mean(reports))


def arieli_tuned(reports: FloatArray) -> FloatArray:
    """sigma(s - logit ep) for two agents, with ep = 0.49 (x_1 + x_2), plus 0.02 where x_1 + x_2 > 1.

    The rule jumps at x_1 + x_2 = 1, where it says 0.51 as printed in [Guo2024, Table 1]; its mirror image says 0.49.
    """
    yes, no = total(reports), total(1 - reports)
    upper = yes > 1
    return _given_prior(reports, np.log(0.49 * yes + 0.02 * upper) - np.log(0.49 * no + 0.02 * ~upper))


# ------------------------------------------------------------------------------------------------------------- minimax

ALPHA_3 = 0.2938321819  # the slope at s = 0 of any rule for three agents that attains the lower bound


def minimax(reports: FloatArray, b: float) -> FloatArray:
    """The rule of small worst-case regret for each n: conditionally independent agents, unknown prior, square loss.

    n = 1      f = x_1
    n = 2      logit f = s (1/2 + b tanh(s/4)^2)
    n = 3      logit f = s (alpha_3 + 0.2 tanh(s/3)^2)
    n = 4, 5   logit f = s - 1.04 (n-1) 2 logit(mean_i sigma(l_i / 2))
    n >= 6     logit f = s - (n-1) 3 logit(mean_i sigma(l_i / 3))

    For n = 2 and any b in [0.04, 0.9] the worst case is *proved* to be (5 sqrt 5 - 11)/8 = 0.022542..., the least that any
    rule can have (docs/derivations/two-agents-theorem); b = 0.35 is nearly the best of them under the log loss, too. For
    n = 3 it is proved to lie within 1e-9 of the lower bound 0.044477. The other formulas were *found* by search: their
    worst cases found are 0.0616, 0.0744, 0.087, 0.111 and 0.191 for n = 4, 5, 6, 10 and 50.
    From n = 6 on unanimous reports are kept; the factor 1.04 would pull them to 1/2, and past it from n = 27 on.
    """
    n = answers(reports)
    forecasts = np.empty(len(reports))
    for rows, pool in (
        (n == 1, mean),
        (n == 2, partial(_minimax_2, b=b)),
        (n == 3, _minimax_3),
        ((n == 4) | (n == 5), _minimax_4),
        (n >= 6, _minimax_6),
    ):
        forecasts[rows] = pool(select(reports, rows))
    return forecasts


def _minimax_2(reports: FloatArray, b: float) -> FloatArray:
    s = log_odds(reports)
    return sigma(s * (1 / 2 + b * np.tanh(s / 4) ** 2))


def _minimax_3(reports: FloatArray) -> FloatArray:
    s = log_odds(reports)
    return sigma(s * (ALPHA_3 + 0.2 * np.tanh(s / 3) ** 2))


def _minimax_4(reports: FloatArray) -> FloatArray:
    return _given_prior(reports, 1.04 * logit_root_mean(reports, k=2))


def _minimax_6(reports: FloatArray) -> FloatArray:
    return _given_prior(reports, logit_root_mean(reports, k=3))
