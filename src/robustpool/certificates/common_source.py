"""Certificates for two agents with a common source, by slabs: slopes for each interval of p_0, as `robustpool.verification.common_source` reads them.

A slab is tried with a width; if its slopes cannot be found it becomes narrower, and after a success the next one is wider.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators import pools
from ..aggregators.rules import Rule
from ..checkpoints import check
from ..errors import UnsupportedError
from ..families.conditionally_independent import ConditionallyIndependent
from ..families.worst_case import worst_case
from ..verification.common_source import Slab, SourceRule, close_to_1, read_source
from .certificate import label_of, write_certificate
from .cover import edges, find_tail, witness_of
from .dual import Piece, Problem, Proved, halves, prove_interval
from .independent import entry_of, value_claims
from .mixtures import lower_claim
from .progress import Progress, Slabs, Steps
from .saved_proofs import slabs_from_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..families.common_source import CommonSource
    from ..typing import Floats

TOLERANCE = 1.99e-3
STEP = 1.3  # between the ends of the first intervals of priors, as odds
FIRST, WIDEST, NARROWEST = 0.16, 4.0, 1e-3  # widths of slabs, in units of the bound
WIDER, NARROWER = 1.12, 0.65  # the next slab after a success and after a failure, which costs as much as a success
ROUNDS = 3  # of new knots, before an interval is halved
DEPTH = 3  # of halvings, before the slab is
SLACK = 0.03  # of the bound
KNOTS = np.unique(np.concatenate((np.linspace(0, 1, 17), 2.0 ** -np.arange(5, 8), 1 - 2.0 ** -np.arange(5, 11))))


def prove_common_source(
    chosen: Any,
    family: CommonSource,
    loss: str,
    tolerance: float | None,
    rng: int,  # noqa: ARG001
    saved: Any = None,
) -> Steps:
    """Two agents with a common source and the rule of that name: one slab of p_0 after the other.

    The lower bounds are those of conditionally independent agents, who are among them.
    """
    if (
        not isinstance(chosen, Rule)
        or chosen.name != "common-source"
        or family.agents != 2
        or family.prior_range != (0.0, 1.0)
        or loss != "square"
    ):
        raise UnsupportedError(
            "for agents with a common source, only the rule common-source is certified, for two agents, all priors and the square "
            "loss."
        )
    names = ("slope", "d", "kappa", "k")
    aggregator = {"kind": "common-source", **dict(zip(names, pools.SOURCE_OF_TWO, strict=True))}
    rule = read_source(aggregator)
    inner = ConditionallyIndependent(2, None, None)
    found, worst = worst_case(chosen, family).regret, worst_case(chosen, inner)
    bound = math.ceil((found + (tolerance or TOLERANCE)) * 1e5) / 1e5
    lower = lower_claim([entry_of(worst, None, inner)], rule.forecast, 2, inner.prior_range, loss)
    base = {
        "family": {"kind": "common-source", "agents": 2, "prior_range": [0.0, 1.0]},
        "loss": "square",
        "paradigm": "additive",
        "aggregator": aggregator,
        "lower": lower,
        "value": value_claims(chosen, inner, loss)["value"],
    }
    last = Progress(math.inf, found, 0, 1, partial(write_certificate, base, label_of(chosen)))
    yield last
    for state in cover_slabs(rule, chosen, bound, start=None if saved is None else slabs_from_data(saved)):
        done = round(100 * state.reached)
        last = replace(last, done=done, left=max(100 - done, 1), standing=state._asdict)
        if state.finished:
            upper = {"bound": bound, "witness": {"kind": "slabs", "slabs": state.entries}}
            write = partial(write_certificate, {**base, "upper": upper}, label_of(chosen))
            last = Progress(bound, found, len(state.entries), 0, write, standing=state._asdict)
        yield last
    if last.left:
        yield replace(last, obstacle=f"no slopes were found for the bound {bound:g}; give a larger tolerance")


def cover_slabs(
    rule: SourceRule,
    formula: Callable[[Floats], Floats],
    bound: float,
    reached: float = 0.0,
    start: Slabs | None = None,
) -> Iterator[Slabs]:
    """Cover all p_0, slab by slab, from where another proof stood; ``formula`` is the rule in floats."""
    entries: list[dict[str, Any]] = []
    width = FIRST * bound
    if start is not None:
        reached, entries, width = start.reached, list(start.entries), start.width
        check("the width", NARROWEST * 0.999 <= width / bound <= WIDEST * 1.001)
        yield start
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
        yield Slabs(reached, list(entries), close_to_1(rule, reached, bound), width)


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
