"""Bounds for a finite family of structures and a table aggregator, in exact rational arithmetic.

The certificate holds the structures themselves, joint[omega][s_1]...[s_n] as fractions, and the table: rows of reports and
a forecast for each. The reports that every signal profile shows are computed here, from the joint, as fractions. The
table's numbers are the doubles that it was made with, so it is asked up to rounding, as people ask it:

- a number x is read as the *level* (a number among the table's reports) that is nearest to it, the larger one if two are;
  it has to lie within 2 (1e-9 min(r, 1 - r) + 1e-15) of that level r;
- the row is the one whose reports are those levels, and a profile without a row is refused.

That is a function of the reports. ``upper`` and ``lower`` are claims about it; ``value`` is a claim about all functions of
the levels: all aggregators that do not tell reports apart which the table reads as the same. Standard library only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from .mixtures import check_weights, exact_sum, field, rational, read_claim, short
from .refusal import Refused

Vector = tuple[Fraction, ...]
Point = tuple[int, Vector]
"""A signal profile that can come: the row of the table that its reports find, and Pr[s, omega] for each state."""

FORMATS = ("posterior", "higher-order", "decision")
PARADIGMS = ("additive", "absolute")
SAME_RELATIVE = Fraction(1, 10**9)
SAME_ABSOLUTE = Fraction(1, 10**15)


@dataclass(frozen=True)
class Game:
    """What a certificate on a finite family says, read and checked."""

    names: list[str]
    points: list[list[Point]]  # of each structure
    forecasts: list[Vector]  # of each row, a distribution over the states
    additive: bool


# --- what is claimed --------------------------------------------------------------------------------------------------


def check_finite(certificate: Any) -> None:
    """Prove every bound of a certificate on a finite family, or refuse."""
    game = read_game(certificate)
    if not any(name in certificate for name in ("upper", "lower", "value")):
        raise Refused("the certificate claims nothing: it has none of upper, lower and value.")
    if "upper" in certificate:
        check_upper(certificate["upper"], game)
    if "lower" in certificate:
        bound, mixture = read_claim(certificate["lower"], "lower")
        exact = expected_regret(game, read_weights(mixture, game, "lower.mixture"))
        if not bound <= exact:
            raise Refused(
                f"lower.bound is {float(bound)!r}, but the table's expected regret there is {float(exact)!r}."
            )
    if "value" in certificate:
        bound, mixture = read_claim(certificate["value"], "value")
        exact = value_bound(game, read_weights(mixture, game, "value.mixture"))
        if not bound <= exact:
            raise Refused(f"value.bound is {float(bound)!r}, but against this mixture some table has {float(exact)!r}.")


def check_upper(claim: Any, game: Game) -> None:
    """The regret of the table is at most the bound on each structure."""
    value = field(claim, "bound", "upper")
    if isinstance(value, str):
        raise Refused("upper.bound must be a number; it is text.")
    bound = rational(value, "upper.bound")
    for number, name in enumerate(game.names):
        exact = regret(game, number)
        if not exact <= bound:
            raise Refused(f"upper.bound is {float(bound)!r}, but the table's regret on {name!r} is {float(exact)!r}.")


# --- what is computed -------------------------------------------------------------------------------------------------


def regret(game: Game, structure: int) -> Fraction:
    """sum_s Pr[s] h |f - Pr[. | s]|^2, h = 1/2 for two states and 1 for more; under ``absolute`` with the risk added.

    >>> game = Game(["coin"], [[(0, (Fraction(1, 2), Fraction(1, 2)))]], [(Fraction(1), Fraction(0))], additive=True)
    >>> regret(game, 0)
    Fraction(1, 4)
    """
    terms = []
    for row, mass in game.points[structure]:
        total = exact_sum(mass)
        off = sum(((total * y - m) ** 2 for y, m in zip(game.forecasts[row], mass, strict=True)), Fraction(0))
        terms.append(_half(mass) * off / total)
        if not game.additive:
            terms.append(risk(mass))
    return exact_sum(terms)


def expected_regret(game: Game, weights: dict[int, Fraction]) -> Fraction:
    """The mean of the table's regrets under a mixture of the structures."""
    return exact_sum([weight * regret(game, number) for number, weight in weights.items()])


def value_bound(game: Game, weights: dict[int, Fraction]) -> Fraction:
    """The least expected regret of any function of the levels: the risk of the masses M(row, .), less what is known.

    M(row, omega) = sum over structures and signal profiles that show the row of w_theta Pr_theta[s, omega]; under
    ``additive`` the omniscient aggregator's sum of w_theta risk(Pr_theta[s, .]) is taken off.
    """
    together: dict[int, list[Vector]] = defaultdict(list)
    for number, weight in weights.items():
        for row, mass in game.points[number]:
            together[row].append(tuple(weight * m for m in mass))
    terms = []
    for parts in together.values():
        terms.append(risk(tuple(exact_sum(column) for column in zip(*parts, strict=True))))
        if game.additive:
            terms.append(-exact_sum([risk(part) for part in parts]))
    return exact_sum(terms)


def risk(mass: Vector) -> Fraction:
    """min over y of sum_omega m(omega) h |y - e_omega|^2 = h (p - |m|^2/p) with p the sum of m, reached at y = m/p.

    >>> risk((Fraction(1, 4), Fraction(3, 4)))
    Fraction(3, 16)
    """
    total = exact_sum(mass)
    return _half(mass) * (total - exact_sum([m * m for m in mass]) / total)


def _half(mass: Vector) -> Fraction:
    return Fraction(1, 2) if len(mass) == 2 else Fraction(1)


# --- what the agents report -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Joint:
    """A structure: Pr[s, omega] of the signal profiles s that can come."""

    mass: dict[tuple[int, ...], Vector]

    def posterior(self, agent: int, signal: int) -> Vector:
        """Pr[omega | s_i]."""
        together = [mass for signals, mass in self.mass.items() if signals[agent] == signal]
        by_state = [exact_sum(column) for column in zip(*together, strict=True)]
        return tuple(m / sum(by_state) for m in by_state)

    def reports(self, how: str) -> dict[tuple[int, int], Vector]:
        """x_i(s_i) for each agent and signal that can come."""
        seen = sorted({(agent, signal) for signals in self.mass for agent, signal in enumerate(signals)})
        own = {key: self.posterior(*key) for key in seen}
        if how == "decision":
            return {key: shown(likeliest(posterior)) for key, posterior in own.items()}
        said = {key: shown(posterior) for key, posterior in own.items()}
        if how == "posterior":
            return said
        agents = len(next(iter(self.mass)))
        return {
            (agent, signal): said[agent, signal]
            + tuple(x for other in range(agents) if other != agent for x in self._expects(agent, signal, other, said))
            for agent, signal in seen
        }

    def _expects(self, agent: int, signal: int, other: int, said: dict[tuple[int, int], Vector]) -> Vector:
        """E[x_j | s_i]."""
        terms = [(exact_sum(mass), said[other, s[other]]) for s, mass in self.mass.items() if s[agent] == signal]
        chance = exact_sum([p for p, _ in terms])
        width = len(terms[0][1])
        return tuple(exact_sum([p * x[k] for p, x in terms]) / chance for k in range(width))


def shown(distribution: Vector) -> Vector:
    """A distribution as it is reported: the second probability for two states, all of them for more."""
    return distribution[1:] if len(distribution) == 2 else distribution


def likeliest(posterior: Vector) -> Vector:
    """The unit vector of the likelier state; of states that are equally likely up to 1e-9, the earliest."""
    least = max(posterior) * (1 - SAME_RELATIVE)
    first = next(k for k, p in enumerate(posterior) if p >= least)
    return tuple(Fraction(int(k == first)) for k in range(len(posterior)))


# --- what is read -----------------------------------------------------------------------------------------------------


def read_game(certificate: Any) -> Game:
    """The family, the table and the way they are compared."""
    family, aggregator = field(certificate, "family", "the certificate"), field(certificate, "aggregator", "it")
    if field(certificate, "loss", "the certificate") != "square":
        raise Refused("loss must be 'square': the other losses have no exact rational bounds.")
    paradigm = _one_of("paradigm", field(certificate, "paradigm", "the certificate"), PARADIGMS)
    _one_of("family.kind", field(family, "kind", "family"), ("finite",))
    how = _one_of("family.report", field(family, "report", "family"), FORMATS)
    states, agents = _count(family, "states", 2), _count(family, "agents", 1)
    table = Table.read(aggregator, states, agents)
    entries = field(family, "structures", "family")
    if not isinstance(entries, list) or not entries:
        raise Refused("family.structures must be a list of at least one structure.")
    names, points = [], []
    for number, entry in enumerate(entries):
        where = f"family.structures[{number}]"
        names.append(str(entry.get("name") or f"structure {number}") if isinstance(entry, dict) else "")
        joint = _joint(field(entry, "joint", where), states, agents, f"{where}.joint")
        points.append(_points(joint, how, table, where))
    return Game(names, points, table.forecasts, paradigm == "additive")


def _points(joint: Joint, how: str, table: Table, where: str) -> list[Point]:
    reports = joint.reports(how)
    level = {
        key: table.levels_of(report, f"{where}, agent {key[0]}, signal {key[1]}") for key, report in reports.items()
    }
    points = []
    for signals, mass in joint.mass.items():
        row = table.rows.get(tuple(level[agent, signal] for agent, signal in enumerate(signals)))
        if row is None:
            raise Refused(f"the table has no row for the reports after the signals {list(signals)} of {where}.")
        points.append((row, mass))
    return points


@dataclass(frozen=True)
class Table:
    """The table: levels, the row of each combination of levels, and the forecasts of the rows."""

    levels: list[Fraction]
    rows: dict[tuple[Vector, ...], int]
    forecasts: list[Vector]

    @classmethod
    def read(cls, aggregator: Any, states: int, agents: int) -> Table:
        """Read and check the table of a certificate."""
        _one_of("aggregator.kind", field(aggregator, "kind", "aggregator"), ("table",))
        reports, said = field(aggregator, "reports", "aggregator"), field(aggregator, "forecasts", "aggregator")
        if not isinstance(reports, list) or not isinstance(said, list) or len(reports) != len(said):
            raise Refused("aggregator.reports and aggregator.forecasts must be lists of the same length.")
        rows: dict[tuple[Vector, ...], int] = {}
        for number, profile in enumerate(reports):
            where = f"aggregator.reports[{number}]"
            if not isinstance(profile, list) or len(profile) != agents or not all(isinstance(x, list) for x in profile):
                raise Refused(f"{where} must be a list with a report, itself a list, for each of the {agents} agents.")
            key = tuple(tuple(rational(x, where) for x in report) for report in profile)
            if key in rows:
                raise Refused(f"{where} repeats the reports of row {rows[key]}.")
            rows[key] = number
        levels = sorted({x for key in rows for report in key for x in report})
        return cls(levels, rows, [_forecast(y, states, f"aggregator.forecasts[{i}]") for i, y in enumerate(said)])

    def levels_of(self, report: Vector, where: str) -> Vector:
        """The levels that a report is read as."""
        return tuple(self._level(x, where) for x in report)

    def _level(self, x: Fraction, where: str) -> Fraction:
        right = bisect_left(self.levels, x)
        near = self.levels[max(right - 1, 0) : right + 1]
        if near:
            level = min(reversed(near), key=lambda r: abs(r - x))
            if abs(level - x) <= 2 * (SAME_RELATIVE * min(abs(level), abs(1 - level)) + SAME_ABSOLUTE):
                return level
        raise Refused(f"the table does not know the report {short(x)} ({where}).")


def _forecast(value: Any, states: int, where: str) -> Vector:
    """A number in [0, 1] for two states; for more a list, divided by its sum, which rounding may have moved from 1."""
    parts = value if isinstance(value, list) else [value]
    if len(parts) != (1 if states == 2 else states) or isinstance(value, list) != (states > 2):
        raise Refused(f"{where} must be {'a number' if states == 2 else f'a list of {states} numbers'}.")
    numbers = tuple(rational(part, where) for part in parts)
    if not all(0 <= y <= 1 for y in numbers):
        raise Refused(f"{where} must lie in [0, 1]; it is {', '.join(map(short, numbers))}.")
    if states == 2:
        return (1 - numbers[0], numbers[0])
    total = sum(numbers, Fraction(0))
    if abs(total - 1) > SAME_RELATIVE:
        raise Refused(f"{where} must sum to 1; it sums to {float(total)!r}.")
    return tuple(y / total for y in numbers)


def _joint(value: Any, states: int, agents: int, where: str) -> Joint:
    shape = _shape(value)
    if len(shape) != agents + 1 or shape[0] != states or 0 in shape:
        raise Refused(
            f"{where} must be nested lists: {states} states, then the signals of each of the {agents} agents."
        )
    entries: dict[tuple[int, ...], Fraction] = {}
    _flatten(value, shape, (), entries, where)
    total = exact_sum(list(entries.values()))
    if total != 1:
        raise Refused(f"{where} must sum to 1 exactly; it misses it by {float(total - 1):.3g}.")
    profiles = product(*(range(length) for length in shape[1:]))
    mass = {signals: tuple(entries[k, *signals] for k in range(states)) for signals in profiles}
    return Joint({signals: row for signals, row in mass.items() if any(row)})


def _shape(value: Any) -> tuple[int, ...]:
    return (len(value), *(_shape(value[0]) if value else ())) if isinstance(value, list) else ()


def _flatten(
    value: Any, shape: tuple[int, ...], at: tuple[int, ...], out: dict[tuple[int, ...], Fraction], where: str
) -> None:
    if not shape:
        out[at] = rational(value, where)
        if not out[at] >= 0:
            raise Refused(f"{where} must not be negative; it is {short(out[at])}.")
    elif not isinstance(value, list) or len(value) != shape[0]:
        raise Refused(f"{where} must be a list of {shape[0]} entries.")
    else:
        for i, part in enumerate(value):
            _flatten(part, shape[1:], (*at, i), out, f"{where}[{i}]")


def read_weights(mixture: Any, game: Game, where: str) -> dict[int, Fraction]:
    """The weights of a mixture over the structures of the family, by their numbers."""
    if not isinstance(mixture, list) or not mixture:
        raise Refused(f"{where} must be a list of at least one structure.")
    weights: dict[int, Fraction] = {}
    for i, entry in enumerate(mixture):
        number = field(entry, "structure", f"{where}[{i}]")
        if type(number) is not int or not 0 <= number < len(game.points) or number in weights:
            raise Refused(
                f"{where}[{i}].structure must be the number of a structure, each at most once; it is {str(number)[:40]!r}."
            )
        weights[number] = rational(field(entry, "weight", f"{where}[{i}]"), f"{where}[{i}].weight")
    check_weights(list(weights.values()), where)
    return weights


def _count(family: Any, name: str, least: int) -> int:
    """How many names there are."""
    names = field(family, name, "family")
    if not isinstance(names, list) or len(names) < least:
        raise Refused(f"family.{name} must be a list of at least {least} names.")
    return len(names)


def _one_of(where: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise Refused(f"{where} must be {' or '.join(map(repr, allowed))}; it is {str(value)[:40]!r}.")
    return str(value)
