"""Are forecasts calibrated? Slope and intercept of the outcome on the forecast's log-odds.

logit Pr[y = 1] = a + b logit p. Slope b = 1 and intercept a = 0: calibrated. b < 1: over-confident, the truth is
nearer to the base rate than they say; b > 1: under-confident [Cox1958]. docs/theory/scores has the formulas.

Of distributions over options, the power that they should be raised to: Pr[y = k] = f_k^b / sum_j f_j^b. It is 1/T of
temperature scaling [Guo2017], and for two options the slope of the logistic regression without an intercept.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..forecasts import CLIP  # 0 and 1 have no log-odds
from ..numerics import logit, sigma
from .records import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats, Integers

MOST_STEPS = 100
TINY = 1e-7  # after such a step of Newton the error is about its square
CLUSTERS_TO_FIT = 3  # two parameters are fitted, so that two clusters leave nothing to measure their spread by


class Calibration(NamedTuple):
    """Slope and intercept with their 95 % intervals."""

    slope: Interval
    intercept: Interval


def clipped_logit(probabilities: Floats, clip: float = CLIP) -> Floats:
    """logit of the probability clipped to [clip, 1 - clip]."""
    return logit(np.clip(probabilities, clip, 1 - clip))


def fit_logistic(
    x: Floats,
    outcomes: Floats,
    weights: Floats,
    *,
    towards: tuple[float, float] = (0.0, 1.0),
    pull: tuple[float, float] = (0.0, 0.0),
) -> Floats:
    """Maximise sum_i w_i log Pr[y_i] - sum_k pull_k (beta_k - towards_k)^2 / 2 with Pr[y = 1] = sigma(beta_0 + beta_1 x).

    The problem is concave. Without a pull a maximum exists only if the outcomes overlap (see `overlap`). An infinite pull
    keeps a parameter where it is.

    >>> x = np.array([-2.0, -1.0, 1.0, 2.0, 0.5])
    >>> fit_logistic(x, np.array([0.0, 1.0, 0.0, 1.0, 1.0]), np.ones(5)).round(3)
    array([0.402, 0.52 ])
    """
    target, strength = np.array(towards, dtype=np.float64), np.array(pull)
    free = np.isfinite(strength)
    design = np.stack([np.ones_like(x), x])  # (2, m)
    fixed = target[~free] @ design[~free]
    design, start, strength = design[free], target[free], strength[free]

    def objective(beta: Floats) -> tuple[float, Floats, Floats]:
        z, away = fixed + beta @ design, beta - start
        p = sigma(z)
        value = weights @ (outcomes * z - np.logaddexp(0, z)) - strength @ away**2 / 2
        gradient = design @ (weights * (outcomes - p)) - strength * away
        return float(value), gradient, _information(design, weights * p * (1 - p)) + np.diag(strength)

    target[free] = climb(objective, start)
    return target


def climb(objective: Callable[[Floats], tuple[float, Floats, Floats]], start: Floats) -> Floats:
    """Where a concave function of (k,) is largest, given its value, its gradient and its second derivatives times -1.

    Newton's steps, halved while they lead downhill.
    """
    at = start
    value, gradient, curvature = objective(at)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(curvature + 1e-12 * np.eye(len(at)), gradient)
        while True:
            new, gradient, curvature = objective(at + step)
            if not new < value or np.abs(step).max() < TINY:  # NaN ends it
                break
            step = step / 2
        at, value = at + step, new
        if np.abs(step).max() < TINY:
            break
    return at


def overlap(x: Floats, outcomes: Floats) -> bool:
    """Whether the fit exists: both outcomes occur, and no threshold parts them (not even with ties at it).

    >>> overlap(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    False
    """
    yes, no = x[outcomes == 1], x[outcomes == 0]
    return bool(len(yes) and len(no) and yes.min() < no.max() and no.min() < yes.max())


def calibration(
    forecasts: Floats, outcomes: Floats, weights: Floats, clusters: Integers, clip: float = CLIP
) -> Calibration | None:
    """Slope and intercept, with intervals that allow for dependent forecasts within a cluster.

    The variance is the sandwich A^-1 B A^-1 G/(G - 1), A = sum_i w_i p_i (1 - p_i) x_i x_i^T, B = sum_g s_g s_g^T with s_g the
    score summed over cluster g, and G the number of clusters; the quantile is that of t with G - 1 degrees of freedom
    [CameronMiller2015]. None where the fit does not exist, or with fewer than three clusters.

    ``clusters`` are numbers from 0; all arrays have the shape (m,).

    >>> p = np.array([0.1, 0.2, 0.4, 0.7, 0.8, 0.9] * 10)
    >>> y = np.array([0, 0, 1, 0, 1, 1] * 9 + [1, 0, 0, 1, 0, 1], dtype=float)
    >>> found = calibration(p, y, np.ones(60), np.arange(60))
    >>> round(found.slope.value, 2), round(found.slope.low, 2), round(found.slope.high, 2)
    (0.96, 0.57, 1.35)
    """
    x = clipped_logit(forecasts, clip)
    number = int(clusters.max()) + 1
    if number < CLUSTERS_TO_FIT or not overlap(x, outcomes):
        return None
    beta = fit_logistic(x, outcomes, weights)
    design = np.stack([np.ones_like(x), x])
    p = sigma(beta @ design)
    gradients, information = design * (weights * (outcomes - p)), _information(design, weights * p * (1 - p))
    intercept, slope = intervals(beta, gradients, information, clusters)
    return Calibration(slope, intercept)


def best_power(logs: Floats, outcomes: Floats, weights: Floats, clusters: Integers) -> Interval | None:
    """The power b that fits best, with an interval that allows for dependent answers within a cluster.

    The largest sum_i w_i (b z_iy - log sum_k exp(b z_ik)), which is concave in b; the variance is
    sum_g s_g^2 / A^2 G/(G - 1) with A the second derivative, s_g the first summed over cluster g, as in `calibration`.

    ``logs`` z has the shape (m, K), -inf beyond a question's own options; outcomes, weights and clusters (m,). None where
    no finite power fits best (the likeliest option always came true, or the least likely), or with fewer than three clusters.

    Three times out of four right, where odds of e^2 were given:

    >>> z = np.tile([[2.0, 0.0]], (40, 1))
    >>> y = np.tile([0.0, 0.0, 0.0, 1.0], 10)
    >>> round(best_power(z, y, np.ones(40), np.arange(40)).value, 4), round(float(np.log(3)) / 2, 4)
    (0.5493, 0.5493)
    """
    own = np.isfinite(logs)
    z = np.where(own, logs, 0.0)
    happened = np.take_along_axis(z, outcomes.astype(np.int64)[:, None], axis=1)[:, 0]
    most, least = np.where(own, z, -np.inf).max(axis=1), np.where(own, z, np.inf).min(axis=1)
    if int(clusters.max()) + 1 < CLUSTERS_TO_FIT or not ((happened < most).any() and (happened > least).any()):
        return None
    b = fit_power(logs, outcomes, weights)
    _, mean, variance = _power_moments(logs, happened, weights, b)
    gradients = (weights * (happened - mean))[None]
    return intervals(np.array([b]), gradients, np.array([[weights @ variance]]), clusters)[0]


def fit_power(logs: Floats, outcomes: Floats, weights: Floats, *, pull: float = 0.0) -> float:
    """The power b with the largest sum_i w_i (b z_iy - log sum_k exp(b z_ik)) - pull (b - 1)^2 / 2.

    >>> z = np.tile([[2.0, 0.0]], (40, 1))
    >>> y = np.tile([0.0, 0.0, 0.0, 1.0], 10)
    >>> round(fit_power(z, y, np.ones(40), pull=1e9), 4)
    1.0
    """
    happened = np.take_along_axis(logs, outcomes.astype(np.int64)[:, None], axis=1)[:, 0]

    def objective(b: Floats) -> tuple[float, Floats, Floats]:
        value, mean, variance = _power_moments(logs, happened, weights, float(b[0]))
        away = b - 1
        gradient = weights @ (happened - mean) - pull * away
        return value - pull * float(away[0]) ** 2 / 2, gradient, np.array([[weights @ variance + pull]])

    return float(climb(objective, np.ones(1))[0])


def _power_moments(logs: Floats, happened: Floats, weights: Floats, b: float) -> tuple[float, Floats, Floats]:
    """The log likelihood, and for each row the mean and the variance of z under the distribution with power b."""
    own = np.isfinite(logs)
    z = np.where(own, logs, 0.0)
    scaled = np.where(own, b * z, -np.inf)
    log_total = np.logaddexp.reduce(scaled, axis=1)
    p = np.exp(scaled - log_total[:, None])
    mean = (p * z).sum(axis=1)
    return float(weights @ (b * happened - log_total)), mean, (p * (z - mean[:, None]) ** 2).sum(axis=1)


def intervals(beta: Floats, gradients: Floats, information: Floats, clusters: Integers) -> list[Interval]:
    """The fitted parameters (k,), each with the interval that its sandwich variance gives; each row's gradient is in (k, m)."""
    number = int(clusters.max()) + 1
    scores = np.stack([np.bincount(clusters, row, minlength=number) for row in gradients])
    bread = np.linalg.inv(information)
    variance = np.diag(bread @ scores @ scores.T @ bread) * number / (number - 1)
    reach = t_quantile(0.975, number - 1) * np.sqrt(variance)
    return [Interval(*ends) for ends in np.stack([beta, beta - reach, beta + reach], axis=1).tolist()]


@cache
def t_quantile(level: float, degrees: int) -> float:
    """The quantile of Student's t, for a level above 1/2.

    Newton's method on Pr[T > t] = I_x(m/2, 1/2) / 2 with m degrees of freedom and x = m/(m + t^2). It starts at the normal
    quantile, which is smaller; above 0 that probability is convex, so that no step goes too far.

    >>> round(t_quantile(0.975, 24), 3)
    2.064
    """
    from flint import arb, ctx

    with ctx.workprec(128):
        m, t, step = arb(degrees), arb(NormalDist().inv_cdf(level)), arb(1)
        density_at_0 = ((m + 1) / 2).gamma() / ((m / 2).gamma() * (m * arb.pi()).sqrt())
        while step > 1e-14 * t:
            x = m / (m + t * t)
            above = x.beta_lower(m / 2, 0.5, regularized=1) / 2
            step = ((above - (1 - arb(level))) / (density_at_0 * x ** ((m + 1) / 2))).mid()
            t = (t + step).mid()
    return float(t)


def _information(design: Floats, weights: Floats) -> Floats:
    return (design * weights) @ design.T
