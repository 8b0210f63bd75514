"""What learning costs in the worst case: proved bounds on the worst-case regret of a fitted pool and of the default rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .. import checks
from ..aggregators.learned_rule import LearnedRule
from ..errors import UnsupportedError
from .records import DEFAULT

if TYPE_CHECKING:
    from .records import FittedPool

FEWEST_AGENTS, MOST_AGENTS = 2, 8
"""Numbers of forecasters for which the worst case of a pool is proved."""


class WorstCaseBounds(NamedTuple):
    """Proved upper bounds on the worst-case regret for so many conditionally independent agents."""

    agents: int
    pool: float
    robust: float

    @property
    def difference(self) -> float:
        """By how much the bound of the pool is larger."""
        return self.pool - self.robust


@dataclass(frozen=True)
class PoolWorstCase:
    """What is proved about the worst case of a pool, and why nothing more is."""

    bounds: tuple[WorstCaseBounds, ...]  # by number of agents; empty if nothing can be proved
    refusals: tuple[str, ...]  # why no bound is proved for some number of agents


def worst_case(pool: FittedPool, agents: int | None = None) -> PoolWorstCase:
    """Prove upper bounds on the worst-case regret of a pool and of `robust`, for two agents and for ``agents``.

    By default ``agents`` is the typical number of answers to a question, but at least 2 and at most 8. It takes a few seconds.
    """
    if agents is None:
        agents = min(max(pool.learned.typical_answers, FEWEST_AGENTS), MOST_AGENTS)
    checks.whole("agents", agents, least=FEWEST_AGENTS, most=MOST_AGENTS)
    bounds, refusals = [], []
    for number in sorted({FEWEST_AGENTS, agents}):
        try:
            own = _proved(pool.aggregator, number)
            bounds.append(WorstCaseBounds(number, own, _proved(LearnedRule(rule=DEFAULT), number)))
        except UnsupportedError as error:
            refusals.append(str(error))
    return PoolWorstCase(tuple(bounds), tuple(dict.fromkeys(refusals)))


def _proved(aggregator: LearnedRule, agents: int) -> float:
    """The upper bound that `certify` proves; of a function of the summed log-odds without the lower bounds."""
    from ..certificates.certifiable import describe, has_upper_bound
    from ..certificates.certify import certify
    from ..certificates.log_odds import certify_phi
    from ..families.conditionally_independent import ConditionallyIndependent
    from ..verification.reading import Refused

    family = ConditionallyIndependent(agents, None, None)
    written = describe(aggregator, agents)
    checks.extra("a bound on the worst case", "solve")
    if not has_upper_bound(written, agents):
        raise UnsupportedError(f"no upper bound can be proved for the rule {aggregator.rule} and {agents} agents.")
    if written["kind"] != "log-odds":
        upper = certify(aggregator, family).upper
        assert upper is not None
        return upper
    try:
        *_, proof = certify_phi(written["phi"], agents, family.prior_range)
    except Refused as refused:
        raise UnsupportedError(f"no bound could be proved for this pool: {refused}") from None
    return proof.upper
