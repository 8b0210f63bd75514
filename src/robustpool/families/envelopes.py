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
def cost_matrix(mu, x, f, kind, out):  # type: ignore[no-untyped-def]
    """out[i, j] = c times the penalty of f given g at the reports x[i], x[j]; 0 at (0, 1), which never comes."""
    for i in range(len(x)):
        for j in range(len(x)):
            p = x[i] * x[j] / mu
            q = (1.0 - x[i]) * (1.0 - x[j]) / (1.0 - mu)
            out[i, j] = (p + q) * penalty(kind, f[i, j], p / (p + q)) if p + q > 0.0 else 0.0


@njit(nogil=True, cache=True)
def envelope(mu, x, left, right, y):  # type: ignore[no-untyped-def]
    """The concave envelope of the points (x, y) at mu, and the two points that hold it up.

    x[:left] < mu < x[right:], and if right > left, x[left] = mu. The envelope is min over slopes of the highest point
    above the line through (mu, .) with that slope: a convex function of the slope, minimised by Newton steps through
    the highest points on both sides, which end after finitely many.
    """
    best, low, high = -np.inf, left, left
    if right > left:
        best = y[left]
    if left == 0 or right == len(x):
        return best, low, high
    i, j = left - 1, right
    slope = (y[j] - y[i]) / (x[j] - x[i])
    for _ in range(4 * len(x)):
        top_i, top_j = i, j
        for k in range(left):
            if y[k] - slope * x[k] > y[top_i] - slope * x[top_i]:
                top_i = k
        for k in range(right, len(x)):
            if y[k] - slope * x[k] > y[top_j] - slope * x[top_j]:
                top_j = k
        if top_i == i and top_j == j:
            break
        i, j = top_i, top_j
        slope = (y[j] - y[i]) / (x[j] - x[i])
    value = y[i] + slope * (mu - x[i])
    if value > best:
        best, low, high = value, i, j
    return best, low, high


@njit(nogil=True, cache=True)
def around(mu, x):  # type: ignore[no-untyped-def]
    """How many reports are below mu, and how many are not above (numba takes a second to compile searchsorted)."""
    left, right = 0, 0
    for report in x:
        left += report < mu
        right += report <= mu
    return left, right


@njit(nogil=True, cache=True)
def best_pairs(mu, x, costs, found):  # type: ignore[no-untyped-def]
    """The largest q_1' costs q_2 at a prior strictly between 0 and 1; its reports go to found = low, high, low, high."""
    left, right = around(mu, x)
    best, slope = -np.inf, 0.0
    y = np.empty(len(x))
    for i in range(left):
        for j in range(right, len(x)):
            share = (mu - x[i]) / (x[j] - x[i])
            top = -np.inf  # no envelope at mu is higher than the highest point above a line of any slope
            for k in range(len(x)):
                y[k] = (1.0 - share) * costs[i, k] + share * costs[j, k]
                top = max(top, y[k] - slope * (x[k] - mu))
            if top <= best:
                continue
            value, low, high = envelope(mu, x, left, right, y)
            slope = (y[high] - y[low]) / (x[high] - x[low]) if high > low else 0.0
            if value > best:
                best = value
                found[0], found[1], found[2], found[3] = i, j, low, high
    if right > left:
        value, low, high = envelope(mu, x, left, right, costs[left])
        if value > best:
            best = value
            found[0], found[1], found[2], found[3] = left, left, low, high
    return best


@njit(nogil=True, cache=True)
def worst_by_prior(priors, x, f, kind, values, found):  # type: ignore[no-untyped-def]
    """The worst structure for each of the priors, all strictly between 0 and 1."""
    costs = np.empty((len(x), len(x)))
    for t in range(len(priors)):
        cost_matrix(priors[t], x, f, kind, costs)
        values[t] = best_pairs(priors[t], x, costs, found[t])


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
            values[count], low, high = envelope(mu, x, left, right, y)
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
