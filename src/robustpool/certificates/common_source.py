"""Slabs for two agents with a common source: slopes for each interval of p_0, as `robustpool.verification.common_source` reads them.

A slab is tried with a width; if its slopes cannot be found it becomes narrower, and after a success the next one is wider.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..verification.common_source import Slab, SourceRule, close_to_1
from .cover import edges, find_tail, witness_of
from .dual import Piece, Problem, Proved, halves, prove_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Floats

STEP = 1.3  # between the ends of the first intervals of priors, as odds
FIRST, WIDEST, NARROWEST = 0.16, 4.0, 1e-3  # widths of slabs, in units of the bound
WIDER, NARROWER = 1.12, 0.65  # the next slab after a success and after a failure, which costs as much as a success
ROUNDS = 3  # of new knots, before an interval is halved
DEPTH = 3  # of halvings, before the slab is
SLACK = 0.03  # of the bound
KNOTS = np.unique(np.concatenate((np.linspace(0, 1, 17), 2.0 ** -np.arange(5, 8), 1 - 2.0 ** -np.arange(5, 11))))


class Slabs(NamedTuple):
    """How far the chances p_0 are covered, and by what."""

    reached: float
    entries: list[dict[str, Any]]
    finished: bool


def cover_slabs(
    rule: SourceRule, formula: Callable[[Floats], Floats], bound: float, reached: float = 0.0
) -> Iterator[Slabs]:
    """Cover all p_0, slab by slab; ``formula`` is the rule in floats."""
    entries: list[dict[str, Any]] = []
    width = FIRST * bound
    while not close_to_1(rule, reached, bound):
        high = min(reached + width, 0.999)
        cover = _slab(Slab(rule, reached, high), formula, bound)
        if cover is None:
            width *= NARROWER
            if width < NARROWEST * bound:
                return
            continue
        entries.append({"chances": [reached, high], "cover": cover})
        reached, width = high, min(WIDER * width, WIDEST * bound)
        yield Slabs(reached, list(entries), close_to_1(rule, reached, bound))


def _slab(slab: Slab, formula: Callable[[Floats], Floats], bound: float) -> dict[str, Any] | None:
    """The tails and the slopes of a slab; None if they are not found."""
    goal, problem = slab.bound(bound), slab_problem(slab, formula)
    tails = {end: find_tail(problem, goal, mirrored=end == "high") for end in ("low", "high")}
    if max(tail.bound for tail in tails.values()) > goal:
        return None
    low, high = tails["low"].prior, float(np.nextafter(1 - tails["high"].prior, 1.0))
    proofs: list[Proved] = []
    waiting = [(priors, 0) for priors in pairwise(edges(low, high, STEP))]
    while waiting:
        priors, depth = waiting.pop(len(waiting) // 2)  # the middle ones are the hard ones
        proof = prove_interval(problem, priors, goal, SLACK * goal, rounds=ROUNDS)
        parts = halves(priors)
        if proof.bound <= goal:
            proofs.append(proof)
        elif depth < DEPTH and parts is not None:
            waiting += [(part, depth + 1) for part in parts]
        else:
            return None
    return witness_of(tails, proofs, problem)


def slab_problem(slab: Slab, formula: Callable[[Floats], Floats]) -> Problem:
    """F = (f - p)/(1-p) as the search for slopes takes it, in floats at the middle p of the slab."""
    middle = float(slab.p.lo + slab.p.hi) / 2

    def scaled(pi1: Floats, pi2: Floats) -> Floats:
        x = middle + (1 - middle) * np.stack((pi1, pi2), axis=1)
        return np.asarray((formula(x) - middle) / (1 - middle))

    return Problem((Piece(scaled, slab),), KNOTS, symmetric=True, mirrored=False)
