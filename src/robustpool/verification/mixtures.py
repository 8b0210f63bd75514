"""Mixtures of structures of conditionally independent agents: what any aggregator loses to one, and what this one does.

n agents whose signals are independent given the state, two signals each: a prior mu and reports low <= mu <= high of
each agent. With q = (mu - low)/(high - low) the chance of the high report, 1 - q that of the low one,

    Pr[x, omega = 1] = mu prod_i q_i(x_i) x_i / mu        Pr[x, omega = 0] = (1 - mu) prod_i q_i(x_i) (1 - x_i)/(1 - mu)

All numbers here are fractions, and reports are the same report if and only if they are the same fraction. An entry that
counts its agents stands, in equal parts, for all structures in which they have changed places. Then only the multiset of
the reports matters, for the aggregator and for the posterior, and the profiles here are multisets with their chances,
written as sorted tuples. The formulas are derived in docs/derivations/exact-bounds.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from flint import arb

from .balls import STEPS_OF_A_BOX, ball, precision
from .reading import LATER, Budget, Refused, quoted, rational, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Key = TypeVar("Key")
Profile = tuple[Fraction, ...]
Vector = tuple[Fraction, ...]
"""Pr[x, omega], for each state."""

MIXTURE = [{"weight": rational, "prior": rational, "reports": [[rational]], "agents?": LATER}]
BITS = 400_000  # bits times bits of two fractions that are added or multiplied in a microsecond


HALF = Fraction(1, 2)


class Structure(NamedTuple):
    """An entry of a mixture: a pair of reports for each agent, or for as many agents as ``agents`` says."""

    weight: Fraction
    prior: Fraction
    reports: tuple[tuple[Fraction, Fraction], ...]
    agents: tuple[int, ...] | None = None


# --- what is claimed --------------------------------------------------------------------------------------------------


def check_at_most(bound: Fraction, exact: Fraction, where: str, what: str) -> None:
    """bound <= exact, or why not."""
    if not bound <= exact:
        raise Refused(f"{where} is {float(bound)!r}, but {what} {float(exact)!r}.")


def value_bound(mixture: Sequence[Structure], budget: Budget, loss: str = "square") -> Fraction:
    """inf over all aggregators f of the expected regret under a mixture (additive); under the log loss its lower end in balls.

    The best response is the posterior, so with M(x, omega) = sum_theta w_theta Pr_theta[x, omega] it is

        sum_x { risk(M(x,.)) - sum_theta w_theta risk(Pr_theta[x,.]) }

    A profile that a single structure shows costs nothing.

    >>> half = Fraction(1, 2)
    >>> first = Structure(half, Fraction(1, 5), ((Fraction(0), half),) * 2)
    >>> second = Structure(half, Fraction(4, 5), ((half, Fraction(1)),) * 2)
    >>> value_bound([first, second], Budget())   # prior 1/5: Pr[h] = 1/4, posterior 4/5; at prior 4/5 it is 1/5
    Fraction(9, 400)
    """
    if loss == "log":
        return _value_under_log(mixture, budget)
    return exact_sum([cost for _, parts in by_profile(mixture, budget) for cost in hidden(parts, budget)], budget)


def _value_under_log(mixture: Sequence[Structure], budget: Budget) -> Fraction:
    """The same with the risk p log p - sum_omega m log m of the mass m, p its sum, in balls; rounded down."""
    with precision():
        total = arb(0)
        for _, parts in by_profile(mixture, budget):
            if len(parts) > 1:
                masses = (vector_sum(parts, budget), *parts)
                budget.spend(STEPS_OF_A_BOX * len(masses))
                together, *apart = (_entropy(mass, budget) for mass in masses)
                total += together - sum(apart, arb(0))
        return lower_end(total)


def _entropy(mass: Vector, budget: Budget) -> arb:
    """min over y of -sum_omega m(omega) log y(omega) = p log p - sum_omega m log m, p the sum of m; 0 log 0 = 0."""
    p, *parts = (ball(x) for x in (chance_of(mass, budget), *mass) if x)
    return p * p.log() - sum((m * m.log() for m in parts), arb(0))


def hidden(parts: Sequence[Vector], budget: Budget) -> list[Fraction]:
    """The terms of what it costs at a profile not to know the structure."""
    terms = []
    if len(parts) > 1:
        terms.append(risk(vector_sum(parts, budget), budget))
        terms += [-risk(part, budget) for part in parts]
    return terms


def unanimous_bound(mixture: Sequence[Structure], budget: Budget) -> Fraction:
    """The same over aggregators f that are unanimous: f(p, ..., p) >= p for p > 1/2, and f(p, ..., p) <= p for p < 1/2.

    Where all report p and the posterior y = M(x, 1)/M(x) is not allowed, the nearest forecast that is allowed is p. It
    costs M(x) (p - y)^2 more.

    >>> entry = Structure(Fraction(1), Fraction(1, 4), ((Fraction(0), Fraction(2, 5)),), (2,))
    >>> unanimous_bound([entry], Budget())    # (mu/g) (g - b)^2 with g = 4/7
    Fraction(9, 700)
    """
    terms = []
    for profile, parts in by_profile(mixture, budget):
        terms += hidden(parts, budget)
        p = profile[0]
        if p != HALF and all(x == p for x in profile):
            mass = vector_sum(parts, budget)
            total = chance_of(mass, budget)
            off = p - mass[1] / total
            if off * (p - HALF) > 0:
                spend_on(off, off, budget)
                terms.append(total * off * off)
    return exact_sum(terms, budget)


def expected_regret(
    mixture: Sequence[Structure], forecast: Callable[[Profile], Fraction | arb], budget: Budget, loss: str = "square"
) -> Fraction:
    """sum_theta w_theta sum_x Pr_theta[x] D(f(x), g_theta(x)) with g = Pr[x,1]/Pr[x] (additive).

    D is (f - g)^2 under the square loss and KL(g || f) under the log loss. Exactly, where the forecasts are fractions; where they are balls, the lower end of the ball that contains it.

    >>> expected_regret([Structure(Fraction(1), Fraction(1, 2), ((Fraction(0), Fraction(1)),))], lambda x: 1 - x[0], Budget())
    Fraction(1, 1)
    """
    exact: list[Fraction] = []
    with precision():
        rounded = arb(0)
        for structure in mixture:
            for profile, mass in masses(structure, budget):
                spend_on_forecast(profile, budget)
                f = forecast(profile)
                total = chance_of(mass, budget)
                g, weight = mass[1] / total, structure.weight * total
                if loss == "log":
                    budget.spend(STEPS_OF_A_BOX)
                    rounded += ball(weight) * _kl(g, f)
                elif isinstance(f, Fraction):
                    spend_on(f, g, budget)
                    gap = f - g
                    spend_on(gap, gap, budget)
                    spend_on(gap, weight, budget)
                    exact.append(weight * gap * gap)
                else:
                    distance = f - ball(g)
                    rounded += ball(weight) * distance * distance
        return exact_sum([*exact, lower_end(rounded)], budget)


def _kl(g: Fraction, f: Fraction | arb) -> arb:
    """KL(g || f) of the posterior g and the forecast f."""
    if isinstance(f, Fraction):
        if f in (0, 1) and f != g:
            raise Refused(
                "under the mixture a forecast is certain where the posterior is not: the log loss is infinite."
            )
        f = ball(f)
    chances = ((g, f), (1 - g, 1 - f))
    return sum((ball(chance) * (ball(chance) / share).log() for chance, share in chances if chance), arb(0))


# --- what is computed -------------------------------------------------------------------------------------------------


def masses(structure: Structure, budget: Budget) -> list[tuple[Profile, Vector]]:
    """Pr[x, omega] of the profiles x that can occur; of the multisets x, if the structure counts its agents.

    k of the m agents with the same pair of reports have the high one in comb(m, k) ways.

    >>> half = Fraction(1, 2)
    >>> dict(masses(Structure(Fraction(1), half, ((half, half), (Fraction(0), Fraction(1)))), Budget()))[half, Fraction(0)]
    (Fraction(1, 2), Fraction(0, 1))
    >>> dict(masses(Structure(Fraction(1), half, ((Fraction(1, 4), Fraction(3, 4)),), (2,)), Budget()))[half / 2, 3 * half / 2]
    (Fraction(3, 16), Fraction(3, 16))
    """
    mu, counts = structure.prior, structure.agents or (1,) * len(structure.reports)
    several = prod(m + 1 for m, (low, high) in zip(counts, structure.reports, strict=True) if low < high)
    budget.spend(3 * sum(counts) * several)  # each is handed on from agent to agent, and looked up
    points: list[tuple[Profile, Vector]] = [((), (1 - mu, mu))]
    for (low, high), m in zip(structure.reports, counts, strict=True):
        for x in (low, high):
            spend_on(x, mu, budget, times=6)
        given = [((mu,) * m, Fraction(1), Fraction(1))]  # the reports with their chances in both states
        if low < high:  # else both are mu: these agents learn nothing, and their one report is as likely in both states
            chances = ((low, (high - mu) / (high - low)), (high, (mu - low) / (high - low)))
            (l0, l1), (h0, h1) = ((q * (1 - x) / (1 - mu), q * x / mu) for x, q in chances)
            given = []
            for k in range(m + 1):
                for one, other in ((l0, h0), (l1, h1)):
                    budget.spend((m - k) * size(one) * k * size(other) / BITS)
                ways = ((low,) * (m - k) + (high,) * k, comb(m, k) * l0 ** (m - k) * h0**k)
                given.append((*ways, comb(m, k) * l1 ** (m - k) * h1**k))
        longer = []
        for (profile, (m0, m1)), (said, p0, p1) in product(points, given):
            spend_on(m0, p0, budget)
            spend_on(m1, p1, budget)
            longer.append(((*profile, *said), (m0 * p0, m1 * p1)))
        points = [(profile, mass) for profile, mass in longer if any(mass)]
    if structure.agents is None:
        return points
    return [(tuple(sorted(profile)), mass) for profile, mass in points]


def by_profile(mixture: Sequence[Structure], budget: Budget) -> list[tuple[Profile, list[Vector]]]:
    """The profiles that can occur, each with w Pr[x, omega] of the structures that show it.

    A structure that counts its agents may show a multiset in several ways. Its posterior is the same in all of them, so
    that it does not matter whether they are added up.
    """
    profiles: dict[str, Profile] = {}
    together: dict[str, list[Vector]] = defaultdict(list)
    for structure in mixture:
        for profile, mass in masses(structure, budget):
            key = text_key(profile)
            profiles[key] = profile
            together[key].append(scaled(structure.weight, mass, budget))
    return [(profiles[key], parts) for key, parts in together.items()]


def grouped(pairs: Iterable[tuple[Key, Vector]]) -> dict[Key, list[Vector]]:
    """The vectors that have the same key."""
    groups: dict[Key, list[Vector]] = defaultdict(list)
    for key, vector in pairs:
        groups[key].append(vector)
    return groups


def text_key(numbers: Sequence[Fraction]) -> str:
    """A text that is the same only for the same fractions, to look them up by: nobody can foresee the hash of a text.

    >>> text_key((Fraction(1, 3), Fraction(10)))
    '1/3 a/1'
    """
    return " ".join(f"{x.numerator:x}/{x.denominator:x}" for x in numbers)


def risk(mass: Vector, budget: Budget) -> Fraction:
    """min over y of sum_omega m(omega) h |y - e_omega|^2 = h (p - |m|^2/p), p the sum of m, reached at y = m/p.

    h is 1/2 for two states, so that the loss is (y - omega)^2, and 1 for more.

    >>> risk((Fraction(1, 4), Fraction(3, 4)), Budget())
    Fraction(3, 16)
    """
    total = chance_of(mass, budget)
    return halved(mass) * (total - exact_sum([m * m for m in mass], budget) / total)


def divergence(forecast: Vector, mass: Vector, budget: Budget) -> Fraction:
    """p h |y - m/p|^2, p the sum of m: by how much the loss of the forecast y is above `risk`."""
    total = chance_of(mass, budget)
    off = [(y - m) ** 2 for y, m in zip(scaled(total, forecast, budget), mass, strict=True)]
    return halved(mass) * exact_sum(off, budget) / total


def chance_of(mass: Vector, budget: Budget) -> Fraction:
    """Pr[x], the sum over the states, by which something is then divided."""
    total = exact_sum(mass, budget)
    spend_on(total, total, budget)
    return total


def halved(mass: Sequence[Fraction]) -> Fraction:
    """h."""
    return Fraction(1, 2) if len(mass) == 2 else Fraction(1)


def vector_sum(parts: Sequence[Vector], budget: Budget) -> Vector:
    """The sum, state by state."""
    return tuple(exact_sum(column, budget) for column in zip(*parts, strict=True))


def scaled(factor: Fraction, vector: Vector, budget: Budget) -> Vector:
    """A number of times a vector."""
    for x in vector:
        spend_on(factor, x, budget)
    return tuple(factor * x for x in vector)


def exact_sum(terms: Sequence[Fraction], budget: Budget) -> Fraction:
    """The sum, by halves, so that the long denominators come late.

    >>> exact_sum([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], Budget())
    Fraction(1, 1)
    """
    parts = list(terms)
    while len(parts) > 1:
        for a, b in zip(parts[::2], parts[1::2], strict=False):
            spend_on(a, b, budget)
        odd = parts[len(parts) // 2 * 2 :]
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts[0] if parts else Fraction(0)


def spend_on(a: Fraction, b: Fraction, budget: Budget, times: int = 1) -> None:
    """What it takes to add or to multiply two fractions, once or some times."""
    budget.spend(times * (8 + size(a) * size(b) / BITS))


def spend_on_forecast(profile: Profile, budget: Budget) -> None:
    """What it takes to evaluate an aggregator: some products of the reports, or a logarithm of each."""
    bits = sum(size(x) for x in profile)
    budget.spend(20 + 20 * len(profile) + 4 * bits * bits / BITS)


def size(x: Fraction) -> int:
    """The bits of a fraction."""
    return x.numerator.bit_length() + x.denominator.bit_length()


def lower_end(x: arb) -> Fraction:
    """The lower end of a ball, exactly."""
    if not x.is_finite():
        raise Refused("a forecast under the mixture could not be computed.")
    mantissa, exponent = (int(part) for part in x.lower().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


# --- what is read -----------------------------------------------------------------------------------------------------


def read_mixture(
    entries: Any, agents: int, prior_range: tuple[Fraction, Fraction], where: str, budget: Budget
) -> list[Structure]:
    """The structures of a mixture, all checked: what is not a mixture over the family is refused."""
    low, high = prior_range
    mixture = []
    for i, entry in enumerate(entries):
        at, prior, pairs = f"{where}[{i}]", entry["prior"], entry["reports"]
        if not (0 < prior < 1 and low <= prior <= high):
            raise Refused(
                f"{at}.prior must lie strictly between 0 and 1, and in the range of the family from {short(low)} to "
                f"{short(high)}; it is {short(prior)}."
            )
        counts = read_counts(entry["agents"], agents, at) if "agents" in entry else None
        if len(pairs) != (agents if counts is None else len(counts)):
            each = "each of the" if counts is None else "each count of"
            raise Refused(f"{at}.reports must hold one pair for {each} {agents} agents; there are {len(pairs)}.")
        for j, pair in enumerate(pairs):
            if len(pair) != 2 or not 0 <= pair[0] <= prior <= pair[1] <= 1:
                raise Refused(f"{at}.reports[{j}] must be a pair with 0 <= low <= prior <= high <= 1.")
        mixture.append(Structure(entry["weight"], prior, tuple((low, high) for low, high in pairs), counts))
    if len({structure.agents is None for structure in mixture}) > 1:
        raise Refused(f"{where} must count its agents in every entry or in none.")
    check_weights([structure.weight for structure in mixture], where, budget)
    return mixture


def read_counts(value: Any, agents: int, at: str) -> tuple[int, ...]:
    """How many agents have each pair of reports."""
    if not isinstance(value, list) or not all(type(count) is int and 0 < count <= agents for count in value):
        raise Refused(f"{at}.agents must be a list of positive whole numbers; it is {quoted(value)}.")
    if sum(value) != agents:
        raise Refused(f"{at}.agents must sum to the {agents} agents of the family; the sum is {sum(value)}.")
    return tuple(value)


def check_weights(weights: Sequence[Fraction], where: str, budget: Budget) -> None:
    """Positive, with the sum 1 exactly."""
    if not all(weight > 0 for weight in weights):
        raise Refused(f"the weights of {where} must be positive.")
    total = exact_sum(weights, budget)
    if total != 1:
        raise Refused(f"the weights of {where} must sum to 1 exactly; they miss it by {float(total - 1):.3g}.")
