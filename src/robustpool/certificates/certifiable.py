"""What kinds of aggregators can be certified, and how each is written down."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators import pools
from ..aggregators.grid import GridAggregator
from ..aggregators.learned_rule import LearnedRule
from ..aggregators.rules import Rule
from ..designs.design import Design
from ..errors import UnsupportedError
from ..verification.common_source import SourceRule, read_source
from ..verification.forecasts import Aggregator, PriorEstimate, read_aggregator
from ..verification.functions_of_the_mean import MEAN_SCHEMAS
from ..verification.log_odds import Phi, read_phi
from ..verification.mean_and_median import AVERAGES, Mean, Median, read_average
from ..verification.reading import Refused
from ..verification.stretched import Stretched, read_stretched
from .dual import Piece, Problem
from .log_odds import linear, phi_of
from .many_agents import TOLERANCES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats

MEANS = ("mean", "median", "trimmed-mean")  # the same for two reports
PRIOR_ESTIMATES = {
    "average-prior": [{"kappa": "1/2", "delta": "0", "side": "everywhere"}],
    "arieli-tuned": [
        {"kappa": "49/100", "delta": "0", "side": "below"},
        {"kappa": "49/100", "delta": "1/50", "side": "above"},
    ],
}
BY_CENTRES = ("stretched-log-odds", "mean")
"""The rules for which slopes of n - 1 reports are looked for, with as many agents as `TOLERANCES` has."""

CUSTOM = (
    "a function that is known only by its values, or that jumps, cannot be certified. worst_case searches for its worst "
    "case; a table of its values on a grid (GridAggregator) can be certified."
)


def can_be_certified(chosen: Any, agents: int, loss: str = "square") -> bool:
    """Whether an aggregator is of a kind for which upper bounds can be proved for so many agents."""
    try:
        return has_upper_bound(describe(chosen, agents), agents, loss)
    except UnsupportedError:
        return False


def has_upper_bound(aggregator: dict[str, Any], agents: int, loss: str = "square") -> bool:
    """Whether there is a method to prove upper bounds for an aggregator, as a certificate names it."""
    centres = aggregator["kind"] in BY_CENTRES and agents in TOLERANCES
    return aggregator["kind"] == "log-odds" or (loss == "square" and (agents == 2 or centres))


def describe(chosen: Any, agents: int) -> dict[str, Any]:
    """The aggregator as a certificate names it; an error if it cannot be certified."""
    table = chosen.aggregator if isinstance(chosen, Design) else chosen
    if isinstance(table, GridAggregator) and table.agents == agents == 2:
        return {"kind": "grid", "values": table.values.tolist()}
    if isinstance(table, GridAggregator):
        raise UnsupportedError(
            f"only tables for two agents can be certified; this one is for {table.agents}, and the family has {agents}."
        )
    if isinstance(chosen, LearnedRule):
        return _learned(chosen, agents)
    if not isinstance(chosen, Rule):
        raise UnsupportedError(f"this aggregator has no known formula; {CUSTOM}")
    return _named(chosen, agents)


def _named(chosen: Rule, agents: int) -> dict[str, Any]:
    """A rule of the catalogue."""
    stem = chosen.name.partition(":")[0]
    phi = phi_of(chosen, agents)
    if phi is not None:
        return {"kind": "log-odds", "phi": phi}
    if stem == "minimax" and (chosen.parameters["unanimous"] or agents not in pools.NOT_UNANIMOUS):
        return {"kind": "stretched-log-odds", **dict(zip(("a", "threshold", "c"), pools.stretch(agents), strict=True))}
    if stem == "minimax-log" and agents > 2 and not pools.log_stretch(agents)[3]:  # nothing but stretched log-odds
        numbers = dict(zip(("a", "threshold", "c"), pools.log_stretch(agents)[:3], strict=True))
        return {"kind": "stretched-log-odds", **numbers}
    if stem in (MEANS if agents == 2 else AVERAGES):
        return {"kind": "grid", "values": [[0.0, 0.5], [0.5, 1.0]]} if agents == 2 else {"kind": stem}
    if agents == 2 and stem in PRIOR_ESTIMATES:
        return {"kind": "prior-estimate", "pieces": PRIOR_ESTIMATES[stem]}
    if agents == 2 and stem in MEAN_SCHEMAS:
        about = {"kind": stem, **chosen.parameters}
        try:
            read_aggregator(about)
        except Refused as refused:
            raise UnsupportedError(f"{chosen.name} cannot be certified: {refused}") from None
        return about
    search = f"`robustpool worst-case {chosen.name} --agents {agents}` searches for its worst case"
    if stem == "minimax-log":
        search = f"`robustpool certify minimax-log:summed=1 --loss log --agents {agents}` certifies another rule for this loss"
    raise UnsupportedError(f"the rule {chosen.name} cannot be certified for {agents} agents; {search}.")


def _learned(chosen: LearnedRule, agents: int) -> dict[str, Any]:
    """A fitted pool: one that learned nothing is its rule, and logit f = a + b s/n is a rule of the summed log-odds."""
    if chosen.weights is not None or chosen.options:
        what = "has learned weights of forecasters" if chosen.weights is not None else "is for more than two outcomes"
        raise UnsupportedError(
            f"a fitted pool can be certified if it is a function of the summed log-odds; this one {what}."
        )
    if not chosen.recalibrates:
        return describe(chosen.base, agents)
    return {"kind": "log-odds", "phi": linear(Fraction(chosen.slope) / agents, -chosen.intercept)}


def rule_of(aggregator: dict[str, Any], agents: int) -> Phi | Aggregator | Mean | Median | SourceRule | Stretched:
    """The aggregator of a certificate on independent agents, as the verifier reads it: a formula and exact forecasts."""
    if aggregator["kind"] == "stretched-log-odds":
        return read_stretched(aggregator, agents)
    if aggregator["kind"] in AVERAGES:
        return read_average(aggregator, agents)
    if aggregator["kind"] == "common-source":
        return read_source(aggregator)
    if aggregator["kind"] == "log-odds":
        return read_phi(aggregator["phi"], "aggregator.phi")
    return read_aggregator(aggregator)


def problem_of(chosen: Any, aggregator: dict[str, Any]) -> Problem:
    """The aggregator of two reports as the search for slopes takes it: the first knots are sixteen steps at least."""
    about, given_rule = read_aggregator(aggregator), partial(_forecasts, chosen)
    pieces = tuple(
        Piece(_estimating(piece) if isinstance(piece, PriorEstimate) else given_rule, piece) for piece in about.pieces
    )
    n = about.resolution
    return Problem(pieces, np.linspace(0, n, n * max(1, -(-16 // n)) + 1), about.exchangeable, about.mirrored)


def _forecasts(chosen: Any, x1: Floats, x2: Floats) -> Floats:
    return np.asarray(chosen(np.stack((x1, x2), axis=1)))


def _estimating(piece: PriorEstimate) -> Callable[[Floats, Floats], Floats]:
    return partial(_estimate, float(piece.kappa.hi), float(piece.delta.hi))


def _estimate(kappa: float, delta: float, x1: Floats, x2: Floats) -> Floats:
    """f = X (1-m)/(X (1-m) + Y m), m = kappa (x_1 + x_2) + delta; 0 and 1 by its limits."""
    m = kappa * (x1 + x2) + delta
    yes, no = x1 * x2 * (1 - m), (1 - x1) * (1 - x2) * m
    limit = np.where(x1 + x2 < 1, 0.0, np.where(x1 + x2 > 1, 1.0, 0.5))
    return np.divide(yes, yes + no, out=limit, where=yes + no > 0)
