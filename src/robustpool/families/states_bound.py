"""Structures with K states on which every aggregator has regret: the lower bound LB_{K,n} (docs/derivations/several-states.md).

One state is likely, M = 1 - (K-1) m, and each of the others has m <= 1/(2(K-1)). Each agent hears the state if it is unlikely; if it
is the likely one, she hears any of the others with probability m/M each, and the likely one with the rest. So she reports
1/2 on an unlikely state and 1/2 on the likely one, or the likely one for certain. If all n hear the unlikely state j,
then Pr[j] = g = 1/(1 + (m/M)^(n-1)); but the reports are the same where j is the likely state, and then Pr[j] = 1 - g:

    LB_{K,n} = max over m of 2 (K-1) (m/g) (g - 1/2)^2          (for K = 2 the loss is half of that)
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from .. import checks
from ..errors import UnsupportedError
from .family_file import FORMAT

PARTS = 10_000
"""The probability m of an unlikely state is a multiple of 1/PARTS, so that all masses are short fractions."""

MOST_PROFILES, MOST_AGENTS = 1024, 6


def bound_at(states: int, agents: int, m: Fraction) -> Fraction:
    """The regret that every aggregator has on one of the structures with this m, exactly.

    >>> float(bound_at(3, 2, Fraction(1478, 10_000)))
    0.076278...
    """
    g = 1 / (1 + (m / (1 - (states - 1) * m)) ** (agents - 1))
    both = 2 * (states - 1) * (m / g) * (g - Fraction(1, 2)) ** 2
    return both / 2 if states == 2 else both


def best_m(states: int, agents: int) -> Fraction:
    """The multiple of 1/PARTS with the largest bound, up to rounding: every multiple gives a bound."""
    m = np.arange(1, PARTS // (2 * (states - 1)) + 1) / PARTS
    if not len(m):
        raise UnsupportedError(
            f"the lower bound is computed for at most {PARTS // 2 + 1:,} states; there are {states:,}."
        )
    g = 1 / (1 + (m / (1 - (states - 1) * m)) ** (agents - 1))
    return Fraction(int(np.argmax(m / g * (g - 0.5) ** 2)) + 1, PARTS)


def lower_bound_of_states(states: int, agents: int = 2) -> Fraction:
    """LB_{K,n}: no aggregator of n conditionally independent reports on K states has a smaller worst case under the square loss.

    >>> from robustpool.wording import outward
    >>> [outward(float(lower_bound_of_states(states)), "ROUND_FLOOR", 6) for states in (2, 3, 4, 5)]
    ['0.022542', '0.076278', '0.100088', '0.119273']
    """
    checks.whole("states", states, least=2)
    checks.whole("agents", agents, least=1)
    return bound_at(states, agents, best_m(states, agents))


def hard_structures(states: int, agents: int) -> dict[str, Any]:
    """The K structures, one for each state that may be the likely one, in fractions, as a family file has them.

    The uniform mixture of them proves the bound: a certificate of this finite family has it as its ``value``.
    """
    if states**agents > MOST_PROFILES or agents > MOST_AGENTS:
        raise UnsupportedError(
            f"the lower bound is certified for at most {MOST_AGENTS} agents and {MOST_PROFILES:,} profiles of signals; "
            f"{agents} agents and {states} states have {states**agents:,}."
        )
    m = best_m(states, agents)
    entries = [
        {"name": f"state {likely} is likely", "joint": _joint(states, agents, m, likely)} for likely in range(states)
    ]
    return {
        "format": FORMAT,
        "states": [f"state {k}" for k in range(states)],
        "agents": [f"agent {i}" for i in range(agents)],
        "report": "posterior",
        "structures": entries,
    }


def _joint(states: int, agents: int, m: Fraction, likely: int) -> list[Any]:
    """Pr[omega, s_1, ..., s_n] as nested lists of texts; an agent hears the name of a state."""
    rest = 1 - (states - 1) * m

    def hears(signal: int, state: int) -> Fraction:
        if state != likely:
            return Fraction(int(signal == state))
        return m / rest if signal != likely else 1 - (states - 1) * m / rest

    def mass(state: int, signals: tuple[int, ...]) -> str:
        chance = rest if state == likely else m
        for signal in signals:
            chance *= hears(signal, state)
        return str(chance)

    joint = np.array([[mass(k, s) for s in product(range(states), repeat=agents)] for k in range(states)], dtype=object)
    nested: list[Any] = joint.reshape((states,) * (agents + 1)).tolist()
    return nested
