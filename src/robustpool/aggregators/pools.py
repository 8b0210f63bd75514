"""The formulas of the rules, one small function each.

Notation: x_1, ..., x_n are the reports on one question, l_i = logit x_i, s = l_1 + ... + l_n, and sigma is the inverse
of logit. A pool maps `Rows` of reports (m, n) to forecasts (m,); an agent may not have answered, so that n differs from row
to row. Who proposed which formula stands in the catalogue, `robustpool.aggregators.rules.RULES`.

Weights change no formula: each sum over the agents becomes a weighted one, with weights that sum to n.

Pools trust their input: every row has an answer, and no row has both a 0 and a 1. A certain report has l_i = -inf or
+inf and carries the sum with it: log 0 is meant, and `Rule` keeps numpy silent about it.

>>> from robustpool.aggregators.rows import Rows
>>> rows = Rows(np.array([[0.9, 0.8, np.nan], [0.2, 0.4, 0.6]]))
>>> mean(rows).round(4)
array([0.85, 0.4 ])
>>> geometric_odds(rows).round(4)
array([0.8571, 0.3865])
>>> product(rows).round(4)
array([0.973, 0.2  ])
"""

from __future__ import annotations

from math import erfc, exp, lgamma, log, log1p, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..numerics import logit, sigma

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..typing import Floats
    from .rows import Rows

LEAST, MOST = 5e-324, 1 - 2.0**-53
"""The forecasts nearest to 0 and 1 of reports that are not certain, where squares of log-odds round to 0 and 1."""

MOST_BETA = 1e5
"""Up to here the series of `beta_pool` is summed, at most some thousand terms."""

# ------------------------------------------------------------------------------------------------------------ log-odds


def log_odds(rows: Rows) -> Floats:
    """s = sum_i logit x_i."""
    return rows.total(logit(rows.reports))


def logit_mean(rows: Rows) -> Floats:
    """Logit of the mean report, as log sum x_i - log sum (1 - x_i)."""
    return np.log(rows.total(rows.reports)) - np.log(rows.total(1 - rows.reports))


# ------------------------------------------------------------------------------------------- averages of probabilities


def mean(rows: Rows) -> Floats:
    """Average the reports: (x_1 + ... + x_n) / n."""
    return rows.mean(rows.reports)


def _mean_of_the_middle(rows: Rows, k: npt.NDArray[np.intp]) -> Floats:
    """Average what remains of each row without its k smallest and its k largest reports; k has shape (m,)."""
    if not k.any():
        return mean(rows)
    ordered = np.sort(rows.reports, axis=1)  # NaN comes last
    rank = np.arange(rows.reports.shape[1])
    kept = (rank >= k[:, None]) & (rank < (rows.n - k)[:, None])
    return np.asarray(np.where(kept, ordered, 0.0).sum(axis=1) / (rows.n - 2 * k))


def median(rows: Rows) -> Floats:
    """Take the middle report, or the mean of the two middle ones."""
    return _mean_of_the_middle(rows, (rows.n - 1) // 2)


def trimmed_mean(rows: Rows, share: float) -> Floats:
    """Average without the floor(share n) smallest and as many largest reports; at least the median remains."""
    k = np.floor(share * rows.n + 1e-9).astype(np.intp)  # 0.29 * 100 is 28.999999999999996
    return _mean_of_the_middle(rows, np.minimum(k, (rows.n - 1) // 2))


def geometric_mean(rows: Rows) -> Floats:
    """(x_1 ... x_n)^(1/n), not normalised: the complements pooled alike do not sum with it to 1."""
    return np.exp(rows.mean(np.log(rows.reports)))


def karmarkar(rows: Rows, a: float) -> Floats:
    """p^a / (p^a + (1-p)^a) of the mean report p, that is sigma(a logit p)."""
    return sigma(a * logit_mean(rows))


def beta_pool(rows: Rows, a: float) -> Floats:
    """I_p(a, a) of the mean report p, with I the regularised incomplete beta function.

    With x = min(p, 1 - p) and (a)_k = a (a+1) ... (a+k-1), the smaller of I_p and 1 - I_p is a series of positive terms,

        I_x(a, a) = (4x(1-x))^a Gamma(a + 1/2) / (2 sqrt(pi) Gamma(a + 1)) sum_k (2a)_k / (a+1)_k x^k,

    which converges most slowly at x = 1/2. For large a it is erfc(sqrt(-(a - 1/4) log(4x(1-x)))) / 2, up to 1/a^2.
    """
    p = mean(rows)
    x = np.clip(np.minimum(p, 1 - p), 0.0, 0.5)
    if a > MOST_BETA:
        z = np.sqrt((0.25 - a) * np.log1p(-((1 - 2 * x) ** 2)))
        smaller = np.array([erfc(each) / 2 for each in z.tolist()])
    else:
        term = (4 * x * (1 - x)) ** a * (exp(lgamma(a + 0.5) - lgamma(a + 1)) / (2 * sqrt(pi)))
        smaller, size, total, k = term.copy(), 1.0, 1.0, 0
        while size > 1e-17 * total:  # at x = 1/2
            ratio = (2 * a + k) / (a + 1 + k)
            size, total, k = size * ratio / 2, total + size * ratio / 2, k + 1
            term *= ratio * x
            smaller += term
    return np.where(p < 0.5, smaller, np.where(p > 0.5, 1 - smaller, 0.5))


# ----------------------------------------------------------------------------------------------- functions of log-odds


def geometric_odds(rows: Rows) -> Floats:
    """sigma(s / n): the geometric mean of the odds."""
    return extremized_odds(rows, d=1.0)


def extremized_odds(rows: Rows, d: float) -> Floats:
    """sigma(d s / n): the geometric mean of the odds, to the power d."""
    return sigma(d * (log_odds(rows) / rows.n))


def neyman_factor(n: npt.NDArray[np.intp]) -> Floats:
    """d(n) = n (sqrt(3n^2 - 3n + 1) - 2) / (n^2 - n - 1), from d(1) = 1 up to sqrt 3."""
    return np.asarray(n * (np.sqrt(3 * n**2 - 3 * n + 1) - 2) / (n**2 - n - 1))


def neyman_odds(rows: Rows) -> Floats:
    """sigma(d(n) s / n) with Neyman and Roughgarden's factor d(n)."""
    return sigma(neyman_factor(rows.n) * (log_odds(rows) / rows.n))


def scaled_log_odds(rows: Rows, alpha: float) -> Floats:
    """sigma(alpha s)."""
    return sigma(alpha * log_odds(rows))


def robust(rows: Rows) -> Floats:
    """logit f = L (1 + (2p - 1)^2 / 5), with L = s / n the mean log-odds and p = sigma(L), so that 2p - 1 = tanh(L/2).

    The geometric mean of the odds, pushed out by up to a fifth of L where it is far out already. It rises with every report,
    never jumps, and f(1 - x) = 1 - f(x). Unanimous reports are pushed out as well: five times 0.9 gives 0.922. A single report
    is kept as it is. For two it is `minimax` with b = 1/10, whose worst case no rule undercuts.
    """
    forecasts = pushed(log_odds(rows) / rows.n)
    return np.where(rows.n == 1, mean(rows), forecasts) if (rows.n == 1).any() else forecasts


def pushed(mean_log_odds: Floats) -> Floats:
    """sigma(L (1 + tanh(L/2)^2 / 5)) of mean log-odds L."""
    return sigma(mean_log_odds * (1 + np.tanh(mean_log_odds / 2) ** 2 / 5))


# --------------------------------------------------------------------- conditionally independent agents, given a prior


def _given_prior(rows: Rows, logit_prior: Floats | float) -> Floats:
    """sigma(s - (n-1) logit mu): the posterior of n conditionally independent agents who share the prior mu.

    Summed as the prior's log-odds and what each agent adds to them, which keeps the digits of unanimous reports.
    No prior is certain: where all reports are, and with them a prior that is taken from them, the reports decide.
    (A positive double has |logit| < 1000.)
    """
    prior = np.clip(logit_prior, -1000, 1000)
    return sigma(prior + rows.total(logit(rows.reports) - prior[..., None]))


def product(rows: Rows) -> Floats:
    """sigma(s) = x_1 ... x_n / (x_1 ... x_n + (1-x_1) ... (1-x_n)): the prior is 1/2."""
    return _given_prior(rows, 0.0)


def bordley(rows: Rows, prior: float) -> Floats:
    """sigma(s - (n-1) logit mu): the prior mu is known."""
    return _given_prior(rows, log(prior) - log1p(-prior))


def average_prior(rows: Rows) -> Floats:
    """sigma(s - (n-1) logit mean_i x_i): the prior is taken to be the mean report."""
    return _given_prior(rows, logit_mean(rows))


def arieli_tuned(rows: Rows) -> Floats:
    """sigma(s - (n-1) logit ep) with ep = 0.98 mean_i x_i, plus 0.02 where the mean is above 1/2.

    Published for two agents; with more, the prior is estimated from their mean in the same way. The rule jumps where the
    mean is 1/2: for x_1 + x_2 = 1 it says 0.51 as printed in [Guo2024, Table 1]; its mirror image says 0.49.
    """
    yes, no = rows.total(rows.reports), rows.total(1 - rows.reports)
    upper, share = yes > rows.n / 2, 0.98 / rows.n
    return _given_prior(rows, np.log(share * yes + 0.02 * upper) - np.log(share * no + 0.02 * ~upper))


# ------------------------------------------------------------------------------------------------------------- minimax

ALPHA_3, ALPHA_4 = 0.2938321819, 0.2012608381
"""The slope at s = 0 of any rule for three and for four agents that attains the lower bound (docs/derivations/lower-bound)."""

NOT_UNANIMOUS = {
    3: (ALPHA_3, 0.2, 3.0, 0.0, 0.0, 1.0),
    4: (ALPHA_4, 0.04091, 1.58558, 0.30294, 1.35335, 0.54436),
    5: (0.17836, 0.18482, 15.3385, 2.85589, 1.11403, 20.0),
    6: (0.15726, 0.71923, 46.0, 2.22361, 1.09094, 20.0),
    7: (0.14015, 0.59401, 46.0, 2.01286, 1.12697, 20.0),
    8: (0.12995, 0.0, 1.0, 1.38882, 0.9985, 19.521),
    9: (0.11927, 0.0, 1.0, 1.29111, 1.00184, 20.0),
    10: (0.1103, 0.0, 1.0, 1.16371, 0.9856, 20.0),
}
"""(alpha, c, k, beta, threshold, d) of `not_unanimous`, found by search, for each number of answers that has them."""


def minimax(rows: Rows, b: float, unanimous: float) -> Floats:
    """The rule of small worst-case regret for each n: conditionally independent agents, unknown prior, square loss.

    n = 1      f = x_1
    n = 2      logit f = s (1/2 + b tanh(s/4)^2)
    n >= 3     logit f = (1/n) sum_i h(l_i): `stretched_log_odds`, or, for n <= 10 and unanimous = 0, `not_unanimous`

    For n = 2 and any b in [0.08, 0.9] the worst case is *proved* to be (5 sqrt 5 - 11)/8 = 0.022542..., the least that any
    rule can have (docs/derivations/two-agents-theorem). With the default b = 1/10 the rule is logit f = L (1 + (2p-1)^2/5)
    for the mean log-odds L and p = sigma(L): the geometric mean of odds, pushed out by at most a fifth. A larger b suits
    over-confident forecasters less; b = 0.35 has a smaller worst case under the log loss (found: 0.0506, not 0.0678).
    """
    forecasts = np.empty(len(rows))
    for n, these, part in rows.by_answers():
        forecasts[these] = _minimax(part, n, b, unanimous)
    return forecasts


def _minimax(rows: Rows, n: int, b: float, unanimous: float) -> Floats:
    if n < 2:
        return mean(rows)
    if n == 2:
        s = log_odds(rows)
        return sigma(s * (1 / 2 + b * np.tanh(s / 4) ** 2))
    return stretched_log_odds(rows, n) if unanimous or n not in NOT_UNANIMOUS else not_unanimous(rows, n)


def stretch(n: int) -> tuple[float, float, float]:
    """The numbers (a, threshold, c) of `stretched_log_odds` for n answers, n >= 2.

    a = max(1, 1 + 0.31 ln(n/7)),    threshold = max(1, 1.7 - n/10),    c = 0.6 - 1.2/n^2

    >>> [round(number, 4) for number in stretch(3)], [round(number, 4) for number in stretch(50)]
    ([1.0, 1.4, 0.4667], [1.6095, 1.0, 0.5995])
    """
    return max(1.0, 1 + 0.31 * log(n / 7)), max(1.0, 1.7 - n / 10), 0.6 - 1.2 / n**2


def stretched_log_odds(rows: Rows, n: int) -> Floats:
    """logit f = (1/n) sum_i h(l_i) with h(l) = a l + c sgn(l) (|l| - threshold)_+^2 and the numbers of `stretch`.

    The mean log-odds, after those beyond the threshold are stretched. It rises with every report, f(1 - x) = 1 - f(x), and if all
    say p > 1/2, then f >= p (docs/derivations/many-agents). The worst cases that a search *found* are 0.045122, 0.061032, 0.072533 and
    0.081200 for n = 3, 4, 5, 6, which is the least that such a rule can have, and 0.1063, 0.1816 and 0.2062 for n = 10, 50 and 100.
    """
    return _not_certain(_mean_stretched(rows, *stretch(n)))


def _mean_stretched(rows: Rows, a: float, threshold: float, c: float) -> Floats:
    """(1/n) sum_i h(l_i) with h(l) = a l + c sgn(l) (|l| - threshold)_+^2."""
    logits = logit(rows.reports)
    beyond = np.maximum(np.abs(logits) - threshold, 0)
    return rows.mean(a * logits + c * np.sign(logits) * beyond**2)


def _not_certain(z: Floats) -> Floats:
    """sigma(z), where only a certain report gives 0 or 1."""
    return np.where(np.isinf(z), sigma(z), np.clip(sigma(z), LEAST, MOST))


def not_unanimous(rows: Rows, n: int) -> Floats:
    """logit f = s (alpha + c tanh(s/k)^2) + beta sum_i sgn(l_i) e_i^2/(e_i + d), e_i = (|l_i| - threshold)_+, for n = 3 to 10.

    Its worst case is smaller than that of `stretched_log_odds`, and for n <= 7 it pulls unanimous reports near 1/2 towards 1/2. For
    n = 3 the worst case is proved to lie within 1e-9 of the lower bound 0.044477. For n = 4 a search *found* the lower bound, 0.059023,
    and for n = 5 to 10 it found 0.07045, 0.07993, 0.08804, 0.09493, 0.10084 and 0.10608.
    """
    alpha, c, k, beta, threshold, d = NOT_UNANIMOUS[n]
    s = log_odds(rows)
    z = s * (alpha + c * np.tanh(s / k) ** 2)
    if beta:  # 0 times infinity is not 0
        logits = logit(rows.reports)
        e = np.maximum(np.abs(logits) - threshold, 0)
        z += beta * rows.total(np.sign(logits) * (e / (1 + d / e)))  # e^2 / (e + d), at 0 and at infinity as well
    return sigma(z)


# ------------------------------------------------------------------------------------------------------- common source

SOURCE_OF_TWO = (0.3222, 0.1908, 0.1661, 1.4104)
"""(slope, d, kappa, k) of `common_source` for two answers, found by search."""

SOURCE_OF_MORE = {
    3: (1.0447, 1.34659, 0.46949, 0.04365, 2.92563),
    4: (0.99369, 1.19769, 0.64719, 0.07698, 7.08816),
    5: (0.99053, 1.10078, 0.70029, 0.04201, 20.0),
    6: (0.98473, 1.04466, 0.77292, 0.004, 20.0),
}
"""(a, threshold, c, kappa, k) of `common_source` for more answers, found by search."""


def common_source(rows: Rows) -> Floats:
    """The rule of small worst-case regret for agents who share a source that may be wrong (docs/worlds/common-source).

    n = 1      f = x_1
    n = 2      logit f = slope sum_i log((d + o_i)/(d + 1/o_i)) + kappa s tanh(s/k)^2, with the odds o_i
    n >= 3     logit f = (1/n) sum_i h(l_i) + kappa s tanh(s/k)^2, with h as in `stretched_log_odds` and the numbers of `source_stretch`

    It rises with every report and f(1 - x) = 1 - f(x).
    """
    forecasts = np.empty(len(rows))
    for n, these, part in rows.by_answers():
        forecasts[these] = _common_source(part, n)
    return forecasts


def _common_source(rows: Rows, n: int) -> Floats:
    if n < 2:
        return mean(rows)
    if n == 2:
        slope, d, kappa, k = SOURCE_OF_TWO
        logits = logit(rows.reports)
        size, e = np.abs(logits), np.exp(-np.abs(logits))
        z = slope * rows.total(np.sign(logits) * (size + np.log1p(d * e) - np.log(d + e)))
    else:
        *numbers, kappa, k = source_stretch(n)
        z = _mean_stretched(rows, *numbers)
    if kappa:  # 0 times infinity is not 0
        s = log_odds(rows)
        z = z + kappa * s * np.tanh(s / k) ** 2
    return _not_certain(z)


def source_stretch(n: int) -> tuple[float, float, float, float, float]:
    """The numbers (a, threshold, c, kappa, k) of `common_source` for n answers, n >= 3.

    Those in `SOURCE_OF_MORE`, with a straight line between two n that are there; beyond, those of `stretch`, without the last term.
    """
    last = max(SOURCE_OF_MORE)
    if n > last:
        return *stretch(n), 0.0, 1.0
    table = sorted(SOURCE_OF_MORE.items())
    columns = zip(*(numbers for _, numbers in table), strict=True)
    a, threshold, c, kappa, k = (float(np.interp(n, [size for size, _ in table], column)) for column in columns)
    return a, threshold, c, kappa, k
