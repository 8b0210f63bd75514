"""Certificates for agents who neglect the base rate and rules that see only the sum of the log-odds.

Each agent says y with logit y = lambda m + r, where m = logit mu and r is the log-likelihood ratio of her signal. With n agents,
the omniscient posterior g and k = n lambda - 1, the sum of their log-odds is s = logit g + k m (docs/worlds/base-rate-neglect).

upper   the inequality of `log_odds` with k in place of n - 1; it needs k >= 0
lower   one agent learns something, and her posterior is low or high; the others know nothing: the posteriors are g = low, high
value   all agents say 0 or 1/2 with the prior mu, or 1/2 or 1 with 1 - mu: logit g = -k m where all say 1/2, so that every
        aggregator loses (mu / g) (g - 1/2)^2 on one of the two
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from . import log_odds
from .balls import ball, logit, precision, sigma
from .mixtures import check_at_most, lower_end
from .reading import LATER, MOST_AGENTS, Budget, Refused, double, quoted, rational, read, short, word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .log_odds import Phi

FAMILY = {"kind": word("neglect"), "agents": LATER, "prior_range": [rational], "neglect": rational}
UPPER = {"bound": double, "witness": log_odds.read_witness}
LOWER = {"bound": double, "prior": rational, "posteriors": [rational]}
VALUE = {"bound": double, "prior": rational}
HALF = Fraction(1, 2)
SMALLEST = Fraction(1, 10**30)  # of what a ball is made of here, so that no check takes long


def check_neglect(data: Mapping[str, Any], phi: Phi, budget: Budget) -> None:
    """Prove the bounds of a certificate, or raise `Refused`."""
    agents = read_agents(data["family"])
    read(data["loss"], word("square"), "the loss of agents who neglect the base rate")
    read(data["paradigm"], word("additive"), "paradigm")
    if "unanimous" in data:
        raise Refused("a bound for unanimous aggregators is not checked for agents who neglect the base rate.")
    budget.spend(100)
    lower = read(data.get("lower"), LOWER, "lower")
    exact = informed_regret(phi, agents, lower["prior"], lower["posteriors"])
    check_at_most(Fraction(lower["bound"]), exact, "lower.bound", "on its structure the aggregator has")
    if "value" in data:
        value = read(data["value"], VALUE, "value")
        exact = pair_bound(agents, value["prior"])
        check_at_most(Fraction(value["bound"]), exact, "value.bound", "against its two structures some aggregator has")
    if "upper" in data:
        upper = read(data["upper"], UPPER, "upper")
        if agents < 1:
            raise Refused(f"an upper bound is checked for agents times lambda from 1 on; it is {short(agents)}.")
        every = (Fraction(0), Fraction(1))
        log_odds.check_upper(phi, agents, every, upper["witness"], Fraction(upper["bound"]), budget)


def read_agents(family: Any) -> Fraction:
    """n lambda, the agents that count: so many who neglect nothing have the same sum of log-odds."""
    data = read(family, FAMILY, "family")
    agents, power = data["agents"], data["neglect"]
    if type(agents) is not int or not 1 <= agents <= MOST_AGENTS:
        raise Refused(f"family.agents must be a whole number from 1 to {MOST_AGENTS}; it is {quoted(agents)}.")
    if not 0 <= power <= 1:
        raise Refused(f"family.neglect must lie in [0, 1]; it is {float(power):.6g}.")
    if data["prior_range"] != [0, 1]:
        raise Refused("family.prior_range must be 0 and 1: base-rate neglect is checked for all priors.")
    return agents * power


def informed_regret(phi: Phi, agents: Fraction, prior: Fraction, posteriors: list[Fraction]) -> Fraction:
    """The lower end of the regret where one agent's posterior is low or high, with mean mu, and the others know nothing.

    sum of q (f - g)^2 over g = low, high with f = sigma(Phi(logit g + k m)); 0 where g is 0 or 1, since then f = g.
    """
    if len(posteriors) != 2 or not 0 <= posteriors[0] < prior < posteriors[1] <= 1 or prior < SMALLEST:
        raise Refused("lower.posteriors must be two numbers within [0, 1], with the prior strictly between them.")
    low, high = posteriors
    with precision():
        m, total = logit(ball(prior)), arb(0)
        for g, chance in ((low, (high - prior) / (high - low)), (high, (prior - low) / (high - low))):
            if 0 < g < 1:
                gap = sigma(phi(logit(ball(g)) + ball(agents - 1) * m)) - ball(g)
                total += ball(chance) * gap * gap
        return lower_end(total)


def pair_bound(agents: Fraction, prior: Fraction) -> Fraction:
    """The lower end of (mu / g) (g - 1/2)^2 with logit g = -k m."""
    if not SMALLEST <= prior < HALF:
        raise Refused(f"value.prior must lie between 0 and 1/2; it is {float(prior):.6g}.")
    with precision():
        g = sigma(-ball(agents - 1) * logit(ball(prior)))
        return lower_end(ball(prior) / g * (g - ball(HALF)) * (g - ball(HALF)))
