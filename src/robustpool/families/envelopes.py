"""Compiled: nature's exact best response to a table of two agents, one prior at a time (called by ``grid_oracle``).

For a fixed prior mu the regret is q_1' A q_2 with A(x_1, x_2) = c (f - g)^2 and c = x_1 x_2 / mu + (1-x_1)(1-x_2) /
(1-mu): bilinear in the marginal report distributions, which have mean mu. For a pair of reports of agent 1, the best
answer of agent 2 is the concave envelope, at mu, of y(x_2) = q_low A(low, x_2) + q_high A(high, x_2). Going through all
pairs of agent 1 is exact.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from .grid_oracle import GOLDEN

DAMPING = 0.7
"""How far the numbers behind the bounds of ``best_pairs`` move to what would be best for each report alone."""

SECTIONS = 60
"""Golden sections of an interval of priors: it shrinks by a factor of 3e12, so that a peak at its end is met too."""


@njit(nogil=True, cache=True)
def penalty(kind, f, g):  # type: ignore[no-untyped-def]
    """What forecasting f costs given the posterior g: more than forecasting g (kinds 0 and 1), or in all (2 and 3).

    The kind is ``Loss.kernel`` (0 the square loss, 1 the log loss), and 2 more for the cost in all. A loss with another
    number needs its own case here.
    """
    if kind == 0:
        return (f - g) * (f - g)
    if kind == 2:
        return g * (1.0 - f) * (1.0 - f) + (1.0 - g) * f * f
    total = 0.0
    if g > 0.0:
        total += g * ((math.log(g) if kind == 1 else 0.0) - math.log(f)) if f > 0.0 else np.inf
    if g < 1.0:
        total += (1.0 - g) * ((math.log1p(-g) if kind == 1 else 0.0) - math.log1p(-f)) if f < 1.0 else np.inf
    return total


@njit(nogil=True, cache=True)
def cost(mu, one, other, forecast, kind):  # type: ignore[no-untyped-def]
    """c times the penalty of the forecast given g at two reports; 0 at (0, 1), which never comes."""
    p = one * other / mu
    q = (1.0 - one) * (1.0 - other) / (1.0 - mu)
    return (p + q) * penalty(kind, forecast, p / (p + q)) if p + q > 0.0 else 0.0


@njit(nogil=True, cache=True)
def cost_matrix(mu, x, f, kind, out):  # type: ignore[no-untyped-def]
    """out[i, j] is the cost at the reports x[i], x[j]."""
    for i in range(len(x)):
        for j in range(len(x)):
            out[i, j] = cost(mu, x[i], x[j], f[i, j], kind)


@njit(nogil=True, cache=True)
def envelope(mu, x, left, right, y, slope=0.0, enough=-np.inf):  # type: ignore[no-untyped-def]
    """The concave envelope of the points (x, y) at mu, the two points that hold it up, and its slope.

    x[:left] < mu < x[right:], and if right > left, x[left] = mu. The envelope is min over slopes of the highest point
    above the line through (mu, .) with that slope: a convex function of the slope, minimised by Newton steps through
    the highest points on both sides, which end after finitely many. The first slope can be given; and as soon as a slope
    shows that the envelope is at most ``enough``, that bound and that slope are returned instead.
    """
    middle = y[left] if right > left else -np.inf
    if left == 0 or right == len(x):
        return middle, left, left, slope
    i, j = -1, -1
    for _ in range(4 * len(x)):
        low, high = max(i, 0), max(j, right)
        below, above = y[low] - slope * x[low], y[high] - slope * x[high]
        for k in range(left):
            if y[k] - slope * x[k] > below:
                low, below = k, y[k] - slope * x[k]
        for k in range(right, len(x)):
            if y[k] - slope * x[k] > above:
                high, above = k, y[k] - slope * x[k]
        if max(y[low], y[high]) == np.inf:
            return np.inf, low, high, slope
        if low == i and high == j:
            break
        bound = max(max(below, above) + slope * mu, middle)
        if bound <= enough:
            return bound, low, high, slope
        i, j = low, high
        slope = (y[j] - y[i]) / (x[j] - x[i])
    value = y[i] + slope * (mu - x[i])
    if value > middle:
        return value, i, j, slope
    return middle, left, left, slope


@njit(nogil=True, cache=True)
def around(mu, x):  # type: ignore[no-untyped-def]
    """How many reports are below mu, and how many are not above (numba takes a second to compile searchsorted)."""
    left, right = 0, 0
    for report in x:
        left += report < mu
        right += report <= mu
    return left, right


@njit(nogil=True, cache=True)
def split(mu, x, low, high):  # type: ignore[no-untyped-def]
    """How often a report is x[high], where its mean is mu and it is x[low] or x[high]."""
    return (mu - x[low]) / (x[high] - x[low]) if high > low else 0.0


@njit(nogil=True, cache=True)
def ascend(mu, x, left, right, costs, found, y):  # type: ignore[no-untyped-def]
    """From the pair of agent 1 in ``found``, each agent answers the other by her envelope until neither gains.

    Returns the payoff, and the slope of the envelope over the reports of agent 1.
    """
    best, slope = -np.inf, 0.0
    while True:
        for agent in range(2):
            low, high = found[2 * agent], found[2 * agent + 1]
            share = split(mu, x, low, high)
            for k in range(len(x)):
                one, other = (costs[low, k], costs[high, k]) if agent == 0 else (costs[k, low], costs[k, high])
                y[k] = (1.0 - share) * one + share * other if high > low else one
            value, low, high, tilt = envelope(mu, x, left, right, y)
            slope = tilt if agent else slope
            if not value > best:
                return best, slope
            best = value
            found[2 - 2 * agent], found[3 - 2 * agent] = low, high


@njit(nogil=True, cache=True)
def best_pairs(mu, x, costs, found):  # type: ignore[no-untyped-def]
    """The largest q_1' costs q_2 at a prior strictly between 0 and 1; its reports go to found = low, high, low, high.

    For any numbers lean[k] and slopes[i], no pair of agent 1 makes more than the mean of its two
    bounds[i] = max_k costs[i, k] - lean[k] (x_i - mu) - slopes[i] (x_k - mu), as both terms have mean 0. Few pairs are left
    after that (docs/derivations/envelopes). What comes in ``found`` and ``lean`` is a guess: of a prior nearby, say; what
    goes out is one for the next prior.
    """
    left, right = around(mu, x)
    if left == 0 or right == len(x):
        found[:] = min(left, len(x) - 1)
        return costs[left, left] if right > left else -np.inf
    y, bounds = np.empty(len(x)), np.full(len(x), np.inf)
    found[0], found[1] = min(found[0], left - 1), max(found[1], right)
    best, slope = ascend(mu, x, left, right, costs, found, y)
    if best == np.inf:
        return best
    curve = (best + slope * (1.0 - 2.0 * mu)) / (mu * (1.0 - mu)) / 2.0
    lean = slope + curve * (x - mu)
    slopes = lean.copy()
    remaining, price = left * (len(x) - right), 2 * len(x)  # a sweep costs about as much as looking at so many pairs
    spared = price
    while min(remaining, spared) >= price:
        for i in range(len(x)):
            for k in range(len(x)):
                y[k] = costs[i, k] - lean[k] * (x[i] - mu)
            bounds[i], _, _, slopes[i] = envelope(mu, x, left, right, y, slopes[i], best)
        lean += DAMPING * (slopes - lean)
        spared = remaining
        remaining = 0
        for i in range(left):
            for j in range(right, len(x)):
                remaining += bounds[i] * (x[j] - mu) + bounds[j] * (mu - x[i]) > best * (x[j] - x[i])
        spared -= remaining
    for i in range(left + 1 if right > left else left):
        for j in range(right, len(x)) if i < left else range(left, left + 1):
            share = split(mu, x, i, j)
            if max(bounds[i], bounds[j]) <= best or (1.0 - share) * bounds[i] + share * bounds[j] <= best:
                continue
            for k in range(len(x)):
                y[k] = (1.0 - share) * costs[i, k] + share * costs[j, k] if j > i else costs[i, k]
            slope = (1.0 - share) * slopes[i] + share * slopes[j]
            value, low, high, _ = envelope(mu, x, left, right, y, slope, best)
            if value > best:
                best = value
                found[0], found[1], found[2], found[3] = i, j, low, high
    return best


@njit(nogil=True, cache=True)
def worst_by_prior(priors, x, f, kind, values, found):  # type: ignore[no-untyped-def]
    """The worst structure for each of the priors, all strictly between 0 and 1; quicker where they are near each other."""
    costs = np.empty((len(x), len(x)))
    for t in range(len(priors)):
        cost_matrix(priors[t], x, f, kind, costs)
        found[t] = found[max(t - 1, 0)]
        values[t] = best_pairs(priors[t], x, costs, found[t])


@njit(nogil=True, cache=True)
def payoff(mu, x, f, kind, pairs):  # type: ignore[no-untyped-def]
    """The payoff of the structure with the reports pairs = low, high, low, high."""
    one, other, total = split(mu, x, pairs[0], pairs[1]), split(mu, x, pairs[2], pairs[3]), 0.0
    for i, share in ((pairs[0], 1.0 - one), (pairs[1], one)):
        for k, chance in ((pairs[2], share * (1.0 - other)), (pairs[3], share * other)):
            if chance > 0.0:
                total += chance * cost(mu, x[i], x[k], f[i, k], kind)
    return total


@njit(nogil=True, cache=True)
def best_priors(low, high, x, f, kind, pairs, priors, values):  # type: ignore[no-untyped-def]
    """For each structure the prior between low and high with the largest payoff, by golden sections, and that payoff."""
    for t in range(len(pairs)):
        start, end = low[t], high[t]
        for _ in range(SECTIONS):
            one, other = end - GOLDEN * (end - start), start + GOLDEN * (end - start)
            if payoff(one, x, f, kind, pairs[t]) >= payoff(other, x, f, kind, pairs[t]):
                end = other
            else:
                start = one
        priors[t] = (start + end) / 2.0
        values[t] = payoff(priors[t], x, f, kind, pairs[t])


@njit(nogil=True, cache=True)
def worst_by_pair(mu, x, f, kind, values, found):  # type: ignore[no-untyped-def]
    """At one prior, the best answer of agent 2 to every pair of agent 1; returns how many pairs there are."""
    costs = np.empty((len(x), len(x)))
    cost_matrix(mu, x, f, kind, costs)
    left, right = around(mu, x)
    count = 0
    y = np.empty(len(x))
    for i in range(left + 1 if right > left else left):
        for j in range(right, len(x)) if i < left else range(left, left + 1):
            share = (mu - x[i]) / (x[j] - x[i]) if j > i else 0.0
            for k in range(len(x)):
                y[k] = (1.0 - share) * costs[i, k] + share * costs[j, k]
            values[count], low, high, _ = envelope(mu, x, left, right, y)
            found[count, 0], found[count, 1], found[count, 2], found[count, 3] = i, j, low, high
            count += 1
    return count


@njit(nogil=True, cache=True)
def worst_by_reports(mu, x, f, kind, worst):  # type: ignore[no-untyped-def]
    """At one prior, raise worst[i, k] to the regret of each structure that can produce the reports x[i], x[k].

    All pairs of both agents: for a pair of agent 1, the regret is linear along the chord between two reports of agent 2.
    """
    costs = np.empty((len(x), len(x)))
    cost_matrix(mu, x, f, kind, costs)
    left, right = around(mu, x)
    y, best = np.empty(len(x)), np.empty(len(x))
    for i in range(left + 1 if right > left else left):
        for j in range(right, len(x)) if i < left else range(left, left + 1):
            share = (mu - x[i]) / (x[j] - x[i]) if j > i else 0.0
            for k in range(len(x)):
                y[k] = (1.0 - share) * costs[i, k] + share * costs[j, k]
                best[k] = y[k] if left <= k < right else -np.inf  # who says the prior may learn nothing
            for low in range(left):
                for high in range(right, len(x)):
                    value = y[low] + (y[high] - y[low]) * (mu - x[low]) / (x[high] - x[low])
                    best[low], best[high] = max(best[low], value), max(best[high], value)
            for k in range(len(x)):
                worst[i, k], worst[j, k] = max(worst[i, k], best[k]), max(worst[j, k], best[k])
