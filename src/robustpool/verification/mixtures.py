"""Lower bounds from a mixture of structures with rational parameters, in exact rational arithmetic.

n agents whose signals are independent given the state, two signals each: a prior mu and reports low <= mu <= high of
each agent. With q = (mu - low)/(high - low) the chance of the high report, 1 - q that of the low one,

    Pr[x, omega = 1] = mu prod_i q_i(x_i) x_i / mu        Pr[x, omega = 0] = (1 - mu) prod_i q_i(x_i) (1 - x_i)/(1 - mu)

All numbers here are fractions, and reports are the same report if and only if they are the same fraction. The formulas
are derived in docs/derivations/exact-bounds. Standard library only.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from .refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Profile = tuple[Fraction, ...]
Masses = tuple[Fraction, Fraction]
"""Pr[x, omega = 0] and Pr[x, omega = 1]."""

RATIONAL = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")
LARGEST = 10**300
"""Larger numbers are refused: they are no probabilities, and a sentence about them could not show them as floats."""

MOST_AGENTS = 12
"""A structure of n agents has 2^n profiles."""


class Structure(NamedTuple):
    """An entry of a mixture."""

    weight: Fraction
    prior: Fraction
    reports: tuple[tuple[Fraction, Fraction], ...]


# --- what is claimed --------------------------------------------------------------------------------------------------


def check_value(claim: Any, family: Any, where: str = "value") -> None:
    """Prove that no aggregator at all has a smaller worst case on the family than ``claim["bound"]``, or refuse."""
    agents, prior_range = read_family(family)
    bound, mixture = read_claim(claim, where)
    exact = value_bound(mixture, agents, prior_range, f"{where}.mixture")
    check_at_most(bound, exact, f"{where}.bound", "against this mixture some aggregator has an expected regret of")


def check_lower_grid(claim: Any, family: Any, aggregator: Any, where: str = "lower") -> None:
    """Prove that the worst case of a grid aggregator on the family is at least ``claim["bound"]``, or refuse."""
    agents, _ = read_family(family)
    values = field(aggregator, "values", "aggregator")
    check_lower(claim, family, grid_forecast(values, agents), where)


def check_lower(claim: Any, family: Any, forecast: Callable[[Profile], Fraction], where: str = "lower") -> None:
    """The same for any aggregator whose forecasts are rational and exactly known."""
    agents, prior_range = read_family(family)
    bound, mixture = read_claim(claim, where)
    exact = expected_regret(mixture, agents, prior_range, forecast, f"{where}.mixture")
    check_at_most(bound, exact, f"{where}.bound", "under this mixture the aggregator's expected regret is")


def check_at_most(bound: Fraction, exact: Fraction, where: str, what: str) -> None:
    """bound <= exact, or why not."""
    if not bound <= exact:
        raise Refused(f"{where} is {float(bound)!r}, but {what} {float(exact)!r}.")


# --- what is computed -------------------------------------------------------------------------------------------------


def value_bound(mixture: Any, agents: int, prior_range: Any = (0, 1), where: str = "mixture") -> Fraction:
    """inf over all aggregators f of the expected regret under a mixture (square loss, additive).

    The best response is the posterior, so with M(x, omega) = sum_theta w_theta Pr_theta[x, omega] it is

        sum_x { risk(M(x,.)) - sum_theta w_theta risk(Pr_theta[x,.]) },   risk(m) = m_0 m_1/(m_0 + m_1)

    >>> pair = [{"weight": "1/2", "prior": "1/5", "reports": [["0", "1/2"], ["0", "1/2"]]},
    ...         {"weight": "1/2", "prior": "4/5", "reports": [["1/2", "1"], ["1/2", "1"]]}]
    >>> value_bound(pair, agents=2)   # prior 1/5: Pr[h] = 1/4, posterior 4/5; at prior 4/5 it is 1/5
    Fraction(9, 400)
    """
    together: dict[Profile, list[Masses]] = defaultdict(list)
    for structure in read_mixture(mixture, agents, prior_range, where):
        for profile, (m0, m1) in masses(structure).items():
            together[profile].append((structure.weight * m0, structure.weight * m1))
    return exact_sum([confusion(parts) for parts in together.values()])


def confusion(parts: Sequence[Sequence[Fraction]]) -> Fraction:
    """What it costs not to know which structure a profile comes from: the risk of the sum less the sum of the risks.

    ``parts`` are the masses w_theta Pr_theta[x, .], one for each structure. A single one costs nothing.
    """
    if len(parts) == 1:
        return Fraction(0)
    total = [exact_sum(column) for column in zip(*parts, strict=True)]
    return risk(*total) - exact_sum([risk(*part) for part in parts])


def expected_regret(
    mixture: Any,
    agents: int,
    prior_range: Any,
    forecast: Callable[[Profile], Fraction],
    where: str = "mixture",
) -> Fraction:
    """sum_theta w_theta sum_x Pr_theta[x] (f(x) - g_theta(x))^2 with g = Pr[x,1]/Pr[x] (square loss, additive).

    >>> expected_regret([{"weight": 1, "prior": "1/2", "reports": [["0", "1"]]}], 1, (0, 1), lambda x: Fraction(1, 2))
    Fraction(1, 4)
    """
    terms = []
    for structure in read_mixture(mixture, agents, prior_range, where):
        for profile, (m0, m1) in masses(structure).items():
            total = m0 + m1
            terms.append(structure.weight * (forecast(profile) * total - m1) ** 2 / total)
    return exact_sum(terms)


def masses(structure: Structure) -> dict[Profile, Masses]:
    """Pr[x, omega] of the profiles x that can come.

    >>> half = Fraction(1, 2)
    >>> masses(Structure(Fraction(1), half, ((half, half), (Fraction(0), Fraction(1)))))[(half, Fraction(0))]
    (Fraction(1, 2), Fraction(0, 1))
    """
    mu = structure.prior
    found: dict[Profile, Masses] = {(): (1 - mu, mu)}
    for low, high in structure.reports:
        if low == high:  # = mu: this agent learns nothing, and her one report is as likely in both states
            given = {mu: (Fraction(1), Fraction(1))}
        else:
            chance = {low: (high - mu) / (high - low), high: (mu - low) / (high - low)}
            given = {x: (q * (1 - x) / (1 - mu), q * x / mu) for x, q in chance.items()}
        found = {
            (*profile, x): (m0 * p0, m1 * p1) for profile, (m0, m1) in found.items() for x, (p0, p1) in given.items()
        }
    return {profile: pair for profile, pair in found.items() if any(pair)}


def risk(m0: Fraction, m1: Fraction) -> Fraction:
    """min over y of m0 y^2 + m1 (1 - y)^2 = m0 m1/(m0 + m1), reached at y = m1/(m0 + m1).

    >>> risk(Fraction(1, 2), Fraction(1, 3))
    Fraction(1, 5)
    """
    above = m0.numerator * m1.numerator  # in whole numbers: one reduction instead of five, and these can be long
    return Fraction(above, m0.numerator * m1.denominator + m1.numerator * m0.denominator)


def exact_sum(terms: Sequence[Fraction]) -> Fraction:
    """The sum, by halves, so that the long denominators come late.

    >>> exact_sum([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    Fraction(1, 1)
    """
    parts = list(terms)
    while len(parts) > 1:
        odd = parts[len(parts) // 2 * 2 :]
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts[0] if parts else Fraction(0)


def grid_forecast(values: Any, agents: int | None = None) -> Callable[[Profile], Fraction]:
    """The multilinear interpolation of a table on the grid k/N, as an exact function.

    f(x) = sum over the corners of x's cell of prod_i (alpha_i or 1 - alpha_i) times the value there, alpha_i = N x_i - k_i.

    >>> grid_forecast([[0.0, 0.5], [0.5, 1.0]])((Fraction(1, 5), Fraction(2, 5)))
    Fraction(3, 10)
    """
    depth = agents or _depth(values)
    size = len(values) if isinstance(values, list) else 0
    if size < 2:
        raise Refused("aggregator.values must be a table with at least two entries an axis.")
    _check_table(values, depth, size, "aggregator.values")

    def forecast(profile: Profile) -> Fraction:
        cell = [min(math.floor((size - 1) * x), size - 2) for x in profile]
        alpha = [(size - 1) * x - k for x, k in zip(profile, cell, strict=True)]
        total = Fraction(0)
        for corner in product((0, 1), repeat=depth):
            weight = math.prod((a if up else 1 - a for a, up in zip(alpha, corner, strict=True)), start=Fraction(1))
            if weight:
                entry = values
                for k, up in zip(cell, corner, strict=True):
                    entry = entry[k + up]
                total += weight * Fraction(entry)
        return total

    return forecast


# --- what is read -----------------------------------------------------------------------------------------------------


def read_family(family: Any) -> tuple[int, tuple[Fraction, Fraction]]:
    """The number of agents and the range of the priors of a family of conditionally independent agents."""
    if field(family, "kind", "family") != "conditionally-independent":
        raise Refused(f"family.kind must be 'conditionally-independent'; it is {str(family['kind'])[:40]!r}.")
    agents = field(family, "agents", "family")
    return _agents(agents), _prior_range(field(family, "prior_range", "family"))


def read_claim(claim: Any, where: str) -> tuple[Fraction, Any]:
    """The bound and the mixture of a claim; a bound is a JSON number."""
    bound = field(claim, "bound", where)
    if isinstance(bound, str):
        raise Refused(f"{where}.bound must be a number; it is text.")
    return rational(bound, f"{where}.bound"), field(claim, "mixture", where)


def read_mixture(mixture: Any, agents: int, prior_range: Any = (0, 1), where: str = "mixture") -> list[Structure]:
    """The structures of a mixture, all checked: what is not a mixture over the family is refused."""
    low, high = _prior_range(prior_range)
    if not isinstance(mixture, list) or not mixture:
        raise Refused(f"{where} must be a list of at least one structure.")
    found = [_structure(entry, _agents(agents), f"{where}[{i}]") for i, entry in enumerate(mixture)]
    for i, structure in enumerate(found):
        if not low <= structure.prior <= high:
            raise Refused(
                f"{where}[{i}].prior must lie in the family's range from {float(low)!r} to {float(high)!r}; "
                f"it is {short(structure.prior)}."
            )
    check_weights([structure.weight for structure in found], where)
    return found


def check_weights(weights: Sequence[Fraction], where: str) -> None:
    """Positive, with the sum 1 exactly."""
    for i, weight in enumerate(weights):
        if not weight > 0:
            raise Refused(f"{where}[{i}].weight must be positive; it is {short(weight)}.")
    total = exact_sum(weights)
    if total != 1:
        raise Refused(f"the weights of {where} must sum to 1 exactly; they miss it by {float(total - 1):.3g}.")


def _structure(entry: Any, agents: int, where: str) -> Structure:
    weight = rational(field(entry, "weight", where), f"{where}.weight")
    prior = rational(field(entry, "prior", where), f"{where}.prior")
    reports = field(entry, "reports", where)
    if not 0 < prior < 1:
        raise Refused(f"{where}.prior must lie strictly between 0 and 1; it is {short(prior)}.")
    if not isinstance(reports, list) or len(reports) != agents:
        count = len(reports) if isinstance(reports, list) else "no list"
        raise Refused(f"{where}.reports must hold one pair for each of the {agents} agents; there are {count}.")
    return Structure(
        weight, prior, tuple(_pair(pair, prior, f"{where}.reports[{i}]") for i, pair in enumerate(reports))
    )


def _pair(pair: Any, prior: Fraction, where: str) -> tuple[Fraction, Fraction]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise Refused(f"{where} must be a pair [low, high].")
    low, high = (rational(x, f"{where}[{i}]") for i, x in enumerate(pair))
    if not 0 <= low <= prior <= high <= 1:
        raise Refused(
            f"{where} must have 0 <= low <= prior <= high <= 1; "
            f"it is [{short(low)}, {short(high)}] and the prior is {short(prior)}."
        )
    return low, high


def rational(value: Any, where: str) -> Fraction:
    """A JSON number as the exact fraction that this double is, or a text such as "1/3".

    >>> rational("2/6", "x"), rational(0.25, "x")
    (Fraction(1, 3), Fraction(1, 4))
    """
    if type(value) is str and RATIONAL.fullmatch(value):
        above, _, below = value.partition("/")
        if below and not int(below):
            raise Refused(f"{where} has the denominator 0.")
        value = Fraction(int(above), int(below or 1))
    if type(value) not in (int, float, Fraction) or not abs(value) <= LARGEST:  # NaN fails too
        raise Refused(f'{where} must be a finite number or a text such as "1/3"; it is {str(value)[:40]!r}.')
    return Fraction(value)


def field(data: Any, name: str, where: str) -> Any:
    """A field of a JSON object."""
    if not isinstance(data, dict) or name not in data:
        raise Refused(f"{where} must be an object with the field {name!r}.")
    return data[name]


def short(number: Fraction) -> str:
    """A fraction as it stands in a sentence: not longer than people read.

    >>> short(Fraction(1, 3)), short(Fraction(10**30 + 1, 10**31))
    ('1/3', 'about 0.1')
    """
    text = str(number)
    return text if len(text) <= 25 else f"about {float(number)!r}"


def _agents(agents: Any) -> int:
    if type(agents) is not int or not 1 <= agents <= MOST_AGENTS:
        raise Refused(f"agents must be a whole number from 1 to {MOST_AGENTS}; it is {str(agents)[:40]!r}.")
    return agents


def _prior_range(prior_range: Any) -> tuple[Fraction, Fraction]:
    if not isinstance(prior_range, (list, tuple)) or len(prior_range) != 2:
        raise Refused("prior_range must be a pair, from low to high.")
    low, high = (rational(end, f"prior_range[{i}]") for i, end in enumerate(prior_range))
    if not 0 <= low <= high <= 1:
        raise Refused(f"prior_range must be from low to high within [0, 1]; it is [{short(low)}, {short(high)}].")
    return low, high


def _depth(values: Any) -> int:
    return 1 + _depth(values[0]) if isinstance(values, list) and values else 0


def _check_table(values: Any, depth: int, size: int, where: str) -> None:
    """``depth`` levels of lists of ``size`` entries, and forecasts in them."""
    if depth == 0:
        if type(values) not in (int, float) or not 0 <= values <= 1:
            raise Refused(f"{where} must be a forecast in [0, 1]; it is {str(values)[:40]}.")
    elif not isinstance(values, list) or len(values) != size:
        raise Refused(
            f"{where} must be a list of {size} entries: the table needs an axis of that length for each agent."
        )
    else:
        for i, part in enumerate(values):
            _check_table(part, depth - 1, size, f"{where}[{i}]")
