"""Compiled: the exact worst structure of n agents against a symmetric table, one prior at a time (called by ``many_agents``).

For a fixed prior mu the regret is multilinear in the agents' report distributions q_i, which have mean mu:
sum_x A(x) prod_i q_i(x_i), A = c times the penalty of f given g. A is symmetric, so it is a function of multisets of
reports, and it is enough to go through the multisets of pairs of n - 1 agents; the last agent's best answer is a concave
envelope (docs/derivations/envelopes). Each pair turns a function of m reports into one of m - 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .envelopes import around, envelope, penalty

SWEEPS = 40
"""Of a block ascent, over all agents, at most."""

LARGEST = 1e100
"""Stands for an infinite penalty, so that differences are numbers."""


@njit(nogil=True, cache=True)
def cost_of_multisets(mu, x, rows, f, kind, out):  # type: ignore[no-untyped-def]
    """out[r] = c times the penalty of f[r] given g at the reports x[rows[r]]; 0 where a 0 meets a 1, which never comes."""
    for r in range(len(rows)):
        p, q = mu, 1.0 - mu
        for i in rows[r]:
            p *= x[i] / mu
            q *= (1.0 - x[i]) / (1.0 - mu)
        out[r] = min((p + q) * penalty(kind, f[r], p / (p + q)), LARGEST) if p + q > 0.0 else 0.0


@njit(nogil=True, cache=True)
def pairs_around(mu, x, left, right):  # type: ignore[no-untyped-def]
    """The pairs low < mu < high, and the agent who learns nothing if mu is a report; and the chance of each high report."""
    extra = 1 if right > left else 0
    pairs = np.empty((left * (len(x) - right) + extra, 2), dtype=np.int64)
    shares = np.zeros(len(pairs))
    count = 0
    for i in range(left):
        for j in range(right, len(x)):
            pairs[count, 0], pairs[count, 1] = i, j
            shares[count] = (mu - x[i]) / (x[j] - x[i])
            count += 1
    if extra:
        pairs[count, 0], pairs[count, 1] = left, left
    return pairs, shares


@njit(nogil=True, cache=True)
def highest(y, away, slope):  # type: ignore[no-untyped-def]
    """max over multisets of y - slope * sum of (x_i - mu): no structure makes more of y, whatever the slope."""
    top = -np.inf
    for r in range(len(y)):
        top = max(top, y[r] - slope * away[r])
    return top


@njit(nogil=True, cache=True)
def worst_structure(mu, x, agents, added, first, counts, costs, begin, end, best, found):  # type: ignore[no-untyped-def]
    """The largest payoff at a prior strictly between 0 and 1 if it is more than ``best``; its pairs go to ``found``.

    Depth first over p_1 <= p_2 <= ... <= p_(n-1), with p_1 from ``begin`` to before ``end``: at depth d, d agents have
    their pairs and ``values`` has the payoff as a function of the reports of the other n - d. A branch that cannot exceed
    the best is left out (``highest``).
    """
    size = len(x)
    left, right = around(mu, x)
    if agents == 1:
        value, low, high, _ = envelope(mu, x, left, right, costs)
        if value > best:
            best = value
            found[0, 0], found[0, 1] = low, high
        return best
    pairs, shares = pairs_around(mu, x, left, right)
    start = np.zeros(agents + 1, dtype=np.int64)  # where the values of a depth begin, and the distances of a level
    for depth in range(1, agents):
        start[depth + 1] = start[depth] + counts[agents - depth]
    values, away = np.empty(start[agents]), np.empty(start[agents])
    for depth in range(agents - 1, 0, -1):  # the sums of x_i - mu, from one report on
        level = agents - depth
        for r in range(counts[level - 1]):
            base = away[start[depth + 1] + r] if level > 1 else 0.0
            for i in range(size):
                away[start[depth] + added[first[level - 1] + r * size + i]] = base + x[i] - mu
    choice = np.zeros(agents, dtype=np.int64)
    depth, slope = 1, 0.0
    choice[1] = begin
    while depth > 0:
        if choice[depth] == (end if depth == 1 else len(pairs)):
            depth -= 1
            choice[depth] += 1
            continue
        low, high, share = pairs[choice[depth], 0], pairs[choice[depth], 1], shares[choice[depth]]
        level = agents - depth
        above = costs if depth == 1 else values[start[depth - 1] : start[depth]]
        y = values[start[depth] : start[depth + 1]]
        for r in range(counts[level]):
            at = first[level] + r * size
            y[r] = (1.0 - share) * above[added[at + low]] + share * above[added[at + high]]
        if highest(y, away[start[depth] : start[depth + 1]], slope) <= best:
            choice[depth] += 1
        elif level > 1:
            depth += 1
            choice[depth] = choice[depth - 1]
        else:
            value, i, j, _ = envelope(mu, x, left, right, y)
            slope = (y[j] - y[i]) / (x[j] - x[i]) if j > i else 0.0
            if value > best:
                best = value
                for agent in range(agents - 1):
                    found[agent, 0], found[agent, 1] = pairs[choice[agent + 1], 0], pairs[choice[agent + 1], 1]
                found[agents - 1, 0], found[agents - 1, 1] = i, j
            choice[depth] += 1
    return best


@njit(nogil=True, cache=True)
def ascend(mu, x, agents, added, first, costs, structure):  # type: ignore[no-untyped-def]
    """Let one agent after the other answer the others by her envelope, until none gains; returns the payoff reached."""
    size = len(x)
    left, right = around(mu, x)
    y, place, weight = np.empty(size), np.empty(1 << agents, dtype=np.int64), np.empty(1 << agents)
    best, idle = -np.inf, 0
    for turn in range(SWEEPS * agents):
        agent = turn % agents
        count = 1
        place[0], weight[0] = 0, 1.0
        level = 0
        for other in range(agents):  # what the others say: its rank and its chance
            if other == agent:
                continue
            low, high = structure[other, 0], structure[other, 1]
            share = (mu - x[low]) / (x[high] - x[low]) if high > low else 0.0
            for c in range(count):
                at = first[level] + place[c] * size
                place[count + c], weight[count + c] = added[at + high], weight[c] * share
                place[c], weight[c] = added[at + low], weight[c] * (1.0 - share)
            count = 2 * count if share > 0.0 else count
            level += 1
        y[:] = 0.0
        for c in range(count):
            at = first[level] + place[c] * size
            for i in range(size):
                y[i] += weight[c] * costs[added[at + i]]
        value, low, high, _ = envelope(mu, x, left, right, y)
        idle = 0 if value > best + 1e-15 * abs(best) else idle + 1
        if value > best:
            best = value
            structure[agent, 0], structure[agent, 1] = low, high
        if idle >= agents:
            break
    return best


@njit(nogil=True, cache=True)
def ascend_all(mu, x, agents, added, first, costs, structures, values):  # type: ignore[no-untyped-def]
    """Block ascent from each of the structures, which become those that were reached."""
    for t in range(len(structures)):
        values[t] = ascend(mu, x, agents, added, first, costs, structures[t])
