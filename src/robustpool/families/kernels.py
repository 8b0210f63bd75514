"""Compiled passes over the support points of a finite family. Imported only where it is used, for numba's sake.

Each works on the structures first..last and releases the GIL, so that threads can share a family; the chunks are fixed
by the family's size and their sums are added in order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import math

from numba import njit


@njit(nogil=True, cache=True)
def add_mass(t, start, cell, mass, factor, out):  # type: ignore[no-untyped-def]
    """out[x, omega] += factor * Pr[s, omega] for the points of a structure at x."""
    if factor > 0.0:
        for point in range(start[t], start[t + 1]):
            for state in range(mass.shape[1]):
                out[cell[point], state] += factor * mass[point, state]


@njit(nogil=True, cache=True)
def expected_losses(first, last, start, cell, mass, losses, out):  # type: ignore[no-untyped-def]
    """out[t - first] = the sum over the points of structure t and the states of Pr[s, omega] * losses[x(s), omega]."""
    for t in range(first, last):
        total = 0.0
        for point in range(start[t], start[t + 1]):
            for state in range(mass.shape[1]):
                if mass[point, state] > 0.0:  # an infinite loss of an impossible state costs nothing
                    total += mass[point, state] * losses[cell[point], state]
        out[t - first] = total


@njit(nogil=True, cache=True)
def add_masses(first, last, start, cell, mass, factor, out):  # type: ignore[no-untyped-def]
    """out[x, omega] += sum over structures t and their points at x of factor[t] * Pr_t[s, omega]."""
    for t in range(first, last):
        add_mass(t, start, cell, mass, factor[t], out)


@njit(nogil=True, cache=True)
def play_round(  # type: ignore[no-untyped-def]
    first, last, start, cell, mass, scale, offset, losses, mean_losses,
    log_weights, rate, expected, most, new_log_weights, new_masses, summary,
):  # fmt: skip
    """One round of multiplicative weights in one pass: payoffs, new weights, and the mass table that they give.

    payoff u = scale * loss - offset;  log w' = log w + min(rate * (u - expected), most);  masses' += w' scale Pr.
    summary = largest payoff against ``losses`` and against ``mean_losses``, sum of w', sum of w' offset, largest log w'.
    """
    for t in range(first, last):
        loss = 0.0
        mean_loss = 0.0
        for point in range(start[t], start[t + 1]):
            for state in range(mass.shape[1]):
                chance = mass[point, state]
                if chance > 0.0:
                    loss += chance * losses[cell[point], state]
                    mean_loss += chance * mean_losses[cell[point], state]
        payoff = scale[t] * loss - offset[t] if scale[t] > 0.0 else -offset[t]
        mean_payoff = scale[t] * mean_loss - offset[t] if scale[t] > 0.0 else -offset[t]
        summary[0] = max(summary[0], payoff)
        summary[1] = max(summary[1], mean_payoff)
        log_weight = log_weights[t] + min(rate * (payoff - expected), most)
        weight = math.exp(log_weight)
        new_log_weights[t - first] = log_weight
        summary[2] += weight
        summary[3] += weight * offset[t]
        summary[4] = max(summary[4], log_weight)
        add_mass(t, start, cell, mass, weight * scale[t], new_masses)
