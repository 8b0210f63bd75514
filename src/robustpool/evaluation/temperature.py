"""Are distributions as sure as they are right? The power that they should be raised to.

Pr[y = k] = f_k^b / sum_j f_j^b. Power b = 1: taken at their word. b < 1: over-confident; b > 1: under-confident. It is
1/T of temperature scaling [Guo2017], and for two options the slope of the logistic regression without an intercept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .calibration import CLUSTERS_TO_FIT, MOST_STEPS, TINY, t_quantile
from .records import Interval

if TYPE_CHECKING:
    from ..typing import Floats, Integers


def best_power(logs: Floats, outcomes: Floats, weights: Floats, clusters: Integers) -> Interval | None:
    """The power b that fits best, with an interval that allows for answers of one cluster hanging together.

    Newton's steps on sum_i w_i (b z_iy - log sum_k exp(b z_ik)), which is concave in b; the variance is
    sum_g s_g^2 / A^2 G/(G - 1) with A the second derivative, s_g the first summed over cluster g, as in `calibration`.

    ``logs`` z has the shape (m, K), -inf beyond a question's own options; outcomes, weights and clusters (m,). None where
    no finite power fits best (the likeliest option always came true, or the least likely), or with fewer than three clusters.

    Three times out of four right, where odds of e^2 were given:

    >>> z = np.tile([[2.0, 0.0]], (40, 1))
    >>> y = np.tile([0.0, 0.0, 0.0, 1.0], 10)
    >>> round(best_power(z, y, np.ones(40), np.arange(40)).value, 4), round(float(np.log(3)) / 2, 4)
    (0.5493, 0.5493)
    """
    number = int(clusters.max()) + 1
    own = np.isfinite(logs)
    z = np.where(own, logs, 0.0)
    said = np.take_along_axis(z, outcomes.astype(np.int64)[:, None], axis=1)[:, 0]
    most, least = np.where(own, z, -np.inf).max(axis=1), np.where(own, z, np.inf).min(axis=1)
    if number < CLUSTERS_TO_FIT or not ((said < most).any() and (said > least).any()):
        return None

    def moments(b: float) -> tuple[float, Floats, Floats]:
        """The log likelihood, and for each row the mean and the variance of z under the distribution with power b."""
        scaled = np.where(own, b * z, -np.inf)
        top = scaled.max(axis=1)
        e = np.exp(scaled - top[:, None])
        total = e.sum(axis=1)
        p = e / total[:, None]
        mean = (p * z).sum(axis=1)
        variance = (p * (z - mean[:, None]) ** 2).sum(axis=1)
        return float(weights @ (b * said - top - np.log(total))), mean, variance

    b = 1.0
    value, mean, variance = moments(b)
    for _ in range(MOST_STEPS):
        step = float(weights @ (said - mean)) / (float(weights @ variance) + 1e-12)
        while True:
            new, mean, variance = moments(b + step)
            if new >= value or abs(step) < TINY:
                break
            step /= 2
        b, value = b + step, new
        if abs(step) < TINY:
            break
    scores = np.bincount(clusters, weights * (said - mean), minlength=number)
    error = np.sqrt(scores @ scores * number / (number - 1)) / float(weights @ variance)
    reach = t_quantile(0.975, number - 1) * float(error)
    return Interval(b, b - reach, b + reach)
