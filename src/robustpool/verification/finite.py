"""Bounds for a finite family of structures and a table of forecasts, in exact rational arithmetic.

A structure is a list of points: the signal profiles that can occur, each with what the agents report there and with
Pr[s, omega]. Either the certificate holds joint[omega][s_1]...[s_n], and the reports are computed here, as fractions; or it
lists the points, and the claim says so. The table has a forecast for each profile of reports, and **reports are the same
if and only if they are the same fractions**. Three ways to compare, with L the expected loss and O that of the
omniscient aggregator, who sees the signals: additive L - O, absolute L, ratio L/O (0/0 = 1).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from .mixtures import check_at_most, check_weights, divergence, exact_sum, grouped, risk, scaled, text_key, vector_sum
from .reading import LATER, Budget, Refused, double, label, rational, read, word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .mixtures import Vector

Reports = tuple["Vector", ...]  # of each agent
Signals = tuple[int, ...]

COMPUTED = {
    "posterior": "posteriors",
    "higher-order": "posteriors, and those expected of the others",
    "decision": "the likeliest state, the first of equals",
}
FAMILY = {
    "kind": word("finite"),
    "states": [label],
    "agents": [label],
    "report": word(*COMPUTED, "listed"),
    "structures": [{"name": label, "joint?": LATER, "points?": LATER}],
}
POINTS = [{"reports": [[rational]], "mass": [rational]}]
TABLE = {"kind": word("table"), "reports": [[[rational]]], "forecasts": LATER}
WEIGHTS = [{"weight": rational, "structure": double}]
CLAIMS = {
    "upper?": {"bound": double},
    "lower?": {"bound": double, "mixture": WEIGHTS},
    "value?": {"bound": double, "mixture": WEIGHTS},
}
PARADIGMS = ("additive", "absolute", "ratio")
MOST_LISTED_AGENTS = 12  # a structure of n agents has 2^n profiles or more
STEPS_OF_A_NUMBER = 5  # of the budget, to write it in a key


class Structure(NamedTuple):
    """The points (x, Pr[s, .]) of a structure, and the omniscient aggregator's loss."""

    points: list[tuple[str, Vector]]  # the reports by their key
    omniscient: Fraction


class Game(NamedTuple):
    """What a certificate on a finite family says, read and checked."""

    structures: list[Structure]
    table: dict[str, Vector]
    paradigm: str
    budget: Budget


# --- what is claimed --------------------------------------------------------------------------------------------------


def check_finite(certificate: Mapping[str, Any], budget: Budget) -> None:
    """Prove every bound of a certificate on a finite family, or refuse."""
    game = read_game(certificate, budget)
    bounds = {name: certificate[name] for name in ("upper", "lower", "value", "unanimous") if name in certificate}
    claims = read(bounds, CLAIMS, "a certificate on a finite family")
    if not claims:
        raise Refused("the certificate claims nothing: it has none of upper, lower and value.")
    if "upper" in claims:
        bound = Fraction(claims["upper"]["bound"])
        for number in range(len(game.structures)):
            if not (exact := payoff(game, number)) <= bound:
                raise Refused(f"upper.bound is {float(bound)!r}, but structure {number} has {float(exact)!r}.")
    for name, least in (("lower", expected_payoff), ("value", value_bound)):
        if name in claims:
            weights = read_weights(claims[name]["mixture"], game, f"{name}.mixture")
            bound = Fraction(claims[name]["bound"])
            check_at_most(bound, least(game, weights), f"{name}.bound", "under its mixture it is at most")


# --- what is computed -------------------------------------------------------------------------------------------------


def payoff(game: Game, number: int) -> Fraction:
    """What nature gets from a structure: L - O, L or L/O, with L - O = sum_s Pr[s] h |f - Pr[. | s]|^2.

    >>> half, coin = Fraction(1, 2), "1/2"
    >>> game = Game([Structure([(coin, (half, half))], Fraction(1, 4))], {coin: (Fraction(1), Fraction(0))}, "ratio", Budget())
    >>> payoff(game, 0)
    Fraction(2, 1)
    """
    structure, budget = game.structures[number], game.budget
    excess = exact_sum([divergence(game.table[reports], mass, budget) for reports, mass in structure.points], budget)
    if game.paradigm == "additive":
        return excess
    if game.paradigm == "absolute":
        return structure.omniscient + excess
    if structure.omniscient > 0:
        return 1 + excess / structure.omniscient
    if excess > 0:
        raise Refused(
            f"the ratio of losses on structure {number} is infinite: the omniscient loss is 0, this one is not."
        )
    return Fraction(1)


def expected_payoff(game: Game, weights: dict[int, Fraction]) -> Fraction:
    """The mean under a mixture of the structures."""
    return exact_sum([weight * payoff(game, number) for number, weight in weights.items()], game.budget)


def value_bound(game: Game, weights: dict[int, Fraction]) -> Fraction:
    """The least expected payoff of any function of the reports: the risk of the masses M(x, .), less what is known.

    M(x, omega) = sum over structures and signal profiles that show x of w_theta Pr_theta[s, omega], where w_theta is
    divided by O_theta for the ratio; for the additive paradigm the sum of w_theta O_theta is taken off.
    """
    shown_masses, known = [], []
    for number, weight in weights.items():
        structure = game.structures[number]
        if game.paradigm == "additive":
            known.append(-weight * structure.omniscient)
        if game.paradigm == "ratio" and not structure.omniscient:
            raise Refused(f"structure {number} has no omniscient loss, so that a ratio to it bounds nothing.")
        scale = weight / structure.omniscient if game.paradigm == "ratio" else weight
        shown_masses += [(reports, scaled(scale, mass, game.budget)) for reports, mass in structure.points]
    risks = [risk(vector_sum(parts, game.budget), game.budget) for parts in grouped(shown_masses).values()]
    return exact_sum([*risks, *known], game.budget)


# --- what the agents report -------------------------------------------------------------------------------------------


def reported(mass: dict[Signals, Vector], how: str, budget: Budget) -> dict[tuple[int, int], Vector]:
    """x_i(s_i) for each agent i and signal s_i that can occur, given Pr[s, .] of the signal profiles."""
    by_signal = grouped((key, vector) for signals, vector in mass.items() for key in enumerate(signals))
    masses = {key: vector_sum(parts, budget) for key, parts in by_signal.items()}
    chance = {key: exact_sum(vector, budget) for key, vector in masses.items()}
    if how == "decision":
        return {key: shown(likeliest(vector)) for key, vector in masses.items()}
    own = {key: shown(scaled(1 / chance[key], vector, budget)) for key, vector in masses.items()}
    if how == "posterior":
        return own
    totals = {signals: exact_sum(vector, budget) for signals, vector in mass.items()}
    pairs = grouped(  # Pr[s] x_j, by (i, s_i, j)
        ((agent, signal, other), scaled(total, own[other, heard], budget))
        for signals, total in totals.items()
        for (agent, signal), (other, heard) in permutations(enumerate(signals), 2)
    )
    expects: dict[tuple[int, int], list[Fraction]] = {key: [] for key in own}
    for (agent, signal, _), parts in sorted(pairs.items()):
        expects[agent, signal] += scaled(1 / chance[agent, signal], vector_sum(parts, budget), budget)
    return {key: (*posterior, *expects[key]) for key, posterior in own.items()}


def shown(distribution: Vector) -> Vector:
    """A distribution as it is reported: the second probability for two states, all of them for more."""
    return distribution[1:] if len(distribution) == 2 else distribution


def likeliest(mass: Vector) -> Vector:
    """The unit vector of the likeliest state, the earliest of those that are equally likely."""
    first = mass.index(max(mass))
    return tuple(Fraction(int(k == first)) for k in range(len(mass)))


# --- what is read -----------------------------------------------------------------------------------------------------


def read_game(certificate: Mapping[str, Any], budget: Budget) -> Game:
    """The family, the table and the way they are compared."""
    paradigm = read(certificate.get("paradigm"), word(*PARADIGMS), "paradigm")
    family = read(certificate.get("family"), FAMILY, "family")
    states, agents = len(family["states"]), len(family["agents"])
    if states < 2 or not 1 <= agents <= MOST_LISTED_AGENTS or not family["structures"]:
        raise Refused(f"family must have two states or more, 1 to {MOST_LISTED_AGENTS} agents, and structures.")
    table = read_table(certificate.get("aggregator"), states, budget)
    structures = []
    for number, entry in enumerate(family["structures"]):
        where = f"family.structures[{number}]"
        listed = read_points(entry, states, agents, family["report"], where, budget)
        points = [(profile_key(reports, budget), mass) for reports, mass in listed]
        if not all(reports in table for reports, _ in points):
            raise Refused(f"the table has no row for some reports of {where}.")
        structures.append(Structure(points, exact_sum([risk(mass, budget) for _, mass in points], budget)))
    return Game(structures, table, paradigm, budget)


def profile_key(reports: Sequence[Sequence[Fraction]], budget: Budget) -> str:
    """A text that is the same only for the same reports of all agents."""
    budget.spend(STEPS_OF_A_NUMBER * sum(map(len, reports)))
    return "; ".join(map(text_key, reports))


def read_points(
    entry: dict[str, Any], states: int, agents: int, how: str, where: str, budget: Budget
) -> list[tuple[Reports, Vector]]:
    """The points of a structure, from its joint distribution or as they are listed."""
    name = "points" if how == "listed" else "joint"
    if set(entry) != {"name", name}:
        raise Refused(f"{where} must have the fields name and {name}, and no others.")
    where = f"{where}.{name}"
    if how == "listed":
        listed = read(entry[name], POINTS, where)
        points = [(tuple(map(tuple, point["reports"])), tuple(point["mass"])) for point in listed]
        if any(len(reports) != agents or len(mass) != states for reports, mass in points):
            raise Refused(f"{where} must give {agents} reports and {states} probabilities each.")
        check_distribution([mass for _, mass in points], where, budget)
    else:
        joint = read_joint(entry[name], states, agents, where, budget)
        check_distribution(list(joint.values()), where, budget)
        reports = reported(joint, how, budget)
        points = [(tuple(reports[key] for key in enumerate(signals)), mass) for signals, mass in joint.items()]
    return points


def check_distribution(masses: Sequence[Vector], where: str, budget: Budget) -> None:
    """Probabilities that are not negative, of points that can occur, and sum to 1 exactly."""
    if not all(min(mass) >= 0 and any(mass) for mass in masses):
        raise Refused(f"{where} must have probabilities that are not negative, and points that can occur.")
    total = exact_sum([m for mass in masses for m in mass], budget)
    if total != 1:
        raise Refused(f"{where} must sum to 1 exactly; it misses it by {float(total - 1):.3g}.")


def read_joint(value: Any, states: int, agents: int, where: str, budget: Budget) -> dict[Signals, Vector]:
    """Pr[s, .] of the signal profiles s that can occur, from joint[omega][s_1]...[s_n]."""
    entries: list[dict[Signals, Fraction]] = [{} for _ in range(states)]

    def flatten(part: Any, at: Signals) -> None:
        budget.spend(1)
        if len(at) == agents + 1:
            budget.spend(5)
            entries[at[0]][at[1:]] = rational(part, where)
        elif not isinstance(part, list) or not (at or len(part) == states):
            raise Refused(f"{where} must be nested lists: {states} states, then the signals of the {agents} agents.")
        else:
            for i, inner in enumerate(part):
                flatten(inner, (*at, i))

    flatten(value, ())
    if any(set(state) != set(entries[0]) for state in entries):
        raise Refused(f"{where} must have the same signals in each state.")
    masses = {signals: tuple(state[signals] for state in entries) for signals in entries[0]}
    return {signals: mass for signals, mass in masses.items() if any(mass)}


def read_table(value: Any, states: int, budget: Budget) -> dict[str, Vector]:
    """The forecasts by the reports; for two states a forecast is the probability of the second one."""
    table = read(value, TABLE, "aggregator")
    forecasts = read(table["forecasts"], [rational] if states == 2 else [[rational]], "aggregator.forecasts")
    if len(forecasts) != len(table["reports"]):
        raise Refused("aggregator.reports and aggregator.forecasts must be lists of the same length.")
    rows: dict[str, Vector] = {}
    for number, (profile, forecast) in enumerate(zip(table["reports"], forecasts, strict=True)):
        row = rows[profile_key(profile, budget)] = (1 - forecast, forecast) if states == 2 else tuple(forecast)
        if len(rows) <= number:
            raise Refused(f"aggregator.reports[{number}] repeats the reports of an earlier row.")
        if len(row) != states or min(row) < 0 or exact_sum(row, budget) != 1:
            raise Refused(f"aggregator.forecasts[{number}] must be a distribution over the {states} states.")
    return rows


def read_weights(mixture: Any, game: Game, where: str) -> dict[int, Fraction]:
    """The weights of a mixture over the structures of the family, by their numbers."""
    weights = {entry["structure"]: entry["weight"] for entry in mixture}
    if len(weights) < len(mixture) or not set(weights) <= set(range(len(game.structures))):
        raise Refused(f"{where} must name structures by their numbers, each at most once.")
    check_weights(list(weights.values()), where, game.budget)
    return {int(number): weight for number, weight in weights.items()}
