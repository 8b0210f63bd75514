"""Forgeries of mixtures and of finite families one unit beyond what is true, and the exact sums that see them."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from flint import arb

import robustpool as rp
from robustpool.certificates.finite import finite_certificate
from robustpool.certificates.mixtures import mirrored_pair, structure_entry, structures_of, value_bound
from robustpool.families.family_file import EXAMPLES
from robustpool.verification import finite
from robustpool.verification.balls import ball, precision
from robustpool.verification.mixtures import (
    Structure,
    check_at_most,
    check_weights,
    exact_sum,
    expected_regret,
    lower_end,
    masses,
    read_mixture,
    risk,
)
from robustpool.verification.reading import Budget, OverBudget, Refused

HALF = Fraction(1, 2)
TINY = Fraction(1, 10**18)
KNOWS = ((Fraction(0), Fraction(1)),)


# -------------------------------------------------------------------------------------------------------------- mixtures


@pytest.mark.parametrize("off", [TINY, -TINY, Fraction(1, 10**300)])
def test_weights_that_sum_to_almost_one(off: Fraction) -> None:
    check_weights([HALF, HALF], "it", Budget())
    with pytest.raises(Refused, match="weights of it must sum to 1 exactly; they miss it by"):
        check_weights([HALF, HALF + off], "it", Budget())
    with pytest.raises(Refused, match="weights of it must be positive"):
        check_weights([1 + TINY, -TINY], "it", Budget())
    with pytest.raises(Refused, match="weights of it must be positive"):
        check_weights([Fraction(1), Fraction(0)], "it", Budget())


def entry(prior: Any, low: Any, high: Any) -> dict[str, Any]:
    return {"weight": Fraction(1), "prior": Fraction(prior), "reports": [[Fraction(low), Fraction(high)]]}


def read_one(prior: Any, low: Any = 0, high: Any = 1, ends: tuple[Any, Any] = (0, 1)) -> None:
    read_mixture([entry(prior, low, high)], 1, (Fraction(ends[0]), Fraction(ends[1])), "it", Budget())


def test_priors_one_ulp_outside_the_range() -> None:
    ends = (0.3, 0.7)
    for inside in ends:
        read_one(inside, ends=ends)
    for prior in (math.nextafter(0.3, 0), math.nextafter(0.7, 1), Fraction(0.3) - Fraction(1, 10**30)):
        with pytest.raises(Refused, match=r"it\[0\].prior must lie strictly between 0 and 1, and in the range"):
            read_one(prior, ends=ends)
    for prior in (0, 1):
        with pytest.raises(Refused, match=r"it\[0\].prior must lie strictly between 0 and 1"):
            read_one(prior)


def test_reports_on_the_wrong_side_of_the_prior() -> None:
    read_one("1/3", "1/3", "1/3")
    for low, high in (("1/3", Fraction(1, 3) - TINY), (Fraction(1, 3) + TINY, 1), (-TINY, 1), (0, 1 + TINY)):
        with pytest.raises(Refused, match=r"it\[0\].reports\[0\] must be a pair with 0 <= low <= prior <= high <= 1"):
            read_one("1/3", low, high)


def test_chances_of_reports() -> None:
    """Means are mu, posteriors are the reports, and states have their priors."""
    mu, low, high = Fraction(1, 3), Fraction(1, 5), Fraction(3, 4)
    found = dict(masses(Structure(Fraction(1), mu, ((low, high), KNOWS[0])), Budget()))
    assert sum(m1 for _, m1 in found.values()) == mu
    assert sum(m0 + m1 for m0, m1 in found.values()) == 1
    for x in (low, high):
        m0, m1 = (sum(mass[k] for profile, mass in found.items() if profile[0] == x) for k in (0, 1))
        assert m1 / (m0 + m1) == x
    for profile, (m0, m1) in found.items():
        assert m1 / (m0 + m1) == profile[1]  # who knows the state says it


def always(forecast: Fraction, _: tuple[Fraction, ...]) -> Fraction:
    return forecast


def test_the_expected_regret_by_balls_is_a_lower_end() -> None:
    """At the forecast of a ball around f, what is proved is at most the exact regret, and next to it."""
    structure = Structure(Fraction(1), HALF, ((Fraction(1, 5), Fraction(4, 5)),))
    exact = expected_regret([structure], lambda _: Fraction(1, 3), Budget())
    assert exact == HALF * (Fraction(1, 3) - Fraction(1, 5)) ** 2 + HALF * (Fraction(1, 3) - Fraction(4, 5)) ** 2
    with precision():
        third, wide = ball(Fraction(1, 3)), arb(0.33, 0.01)
    found = expected_regret([structure], lambda _: third, Budget())
    assert exact - Fraction(1, 10**20) < found < exact
    at_ends = [expected_regret([structure], partial(always, Fraction(x, 100)), Budget()) for x in (32, 34)]
    assert expected_regret([structure], lambda _: wide, Budget()) <= min(at_ends)
    with pytest.raises(Refused, match="could not be computed"):
        expected_regret([structure], lambda _: arb("nan"), Budget())


def test_the_lower_end_of_a_ball() -> None:
    with precision():
        third = ball(Fraction(1, 3))
        assert Fraction(1, 3) - Fraction(1, 2**70) < lower_end(third) < Fraction(1, 3)
        assert lower_end(arb(0.25)) == Fraction(1, 4)
        assert lower_end(arb(-3) * 2**100) == -3 * 2**100
    for bad in (arb("inf"), arb("nan"), arb(0, "inf")):
        with pytest.raises(Refused, match="could not be computed"):
            lower_end(bad)


def test_a_bound_one_ulp_above_is_refused() -> None:
    third = Fraction(1, 3)
    check_at_most(Fraction(1 / 3), third, "it", "it has")
    check_at_most(third, third, "it", "it has")
    with pytest.raises(Refused, match=r"it is 0\.33333333333333337, but it has 0\.3333333333333333"):
        check_at_most(Fraction(math.nextafter(1 / 3, 1)), third, "it", "it has")


def test_risk_and_sums() -> None:
    assert risk((Fraction(1, 4), Fraction(3, 4)), Budget()) == Fraction(3, 16)  # mu (1 - mu)
    assert risk((Fraction(1, 3),) * 3, Budget()) == Fraction(2, 3)  # of three states without the half
    assert risk((HALF, Fraction(0)), Budget()) == 0
    for count in range(8):
        terms = [Fraction(1, k + 2) for k in range(count)]
        assert exact_sum(terms, Budget()) == sum(terms, Fraction(0))
    with pytest.raises(OverBudget):
        exact_sum([Fraction(1, 3**k) for k in range(1000)], Budget(1000))


def test_the_value_of_a_mixture_needs_profiles_that_meet() -> None:
    pair = mirrored_pair(2)
    assert pair is not None
    assert value_bound(pair, 2) > Fraction(2254, 10**5)
    apart = copy.deepcopy(pair)
    apart[1]["reports"] = [[str(HALF + TINY), "1"], ["1/2", "1"]]
    assert value_bound(apart, 2) == 0
    assert [structure.weight for structure in structures_of(pair, 2)] == [HALF, HALF]


# -------------------------------------------------------------------------------------------------------- finite families


@pytest.fixture(scope="module")
def weather() -> dict[str, Any]:
    family = EXAMPLES / "weather-unknown.json"
    solution = rp.solve(rp.load_family(family), tolerance=1e-10)
    parts = finite_certificate(solution.aggregator, json.loads(family.read_text()), solution.mixture.weights)
    return dict(json.loads(json.dumps(parts)))


def forge(weather: dict[str, Any], change: Any) -> str:
    forged = copy.deepcopy(weather)
    change(forged)
    with pytest.raises(Refused) as refused:
        finite.check_finite(forged, Budget())
    return str(refused.value)


def test_sums_that_miss_by_almost_nothing(weather: dict[str, Any]) -> None:
    def joint(data: dict[str, Any]) -> None:
        data["family"]["structures"][0]["joint"][0][0][0] = str(Fraction(81, 280) + TINY)

    def weights(data: dict[str, Any]) -> None:
        data["value"]["mixture"][0]["weight"] = str(Fraction(data["value"]["mixture"][0]["weight"]) + TINY)

    assert "joint must sum to 1 exactly; it misses it by 1e-18" in forge(weather, joint)
    assert "weights of value.mixture must sum to 1 exactly; they miss it by 1e-18" in forge(weather, weights)


def test_bounds_one_ulp_beyond(weather: dict[str, Any]) -> None:
    finite.check_finite(weather, Budget())
    for part, towards in (("upper", 0.0), ("lower", 1.0), ("value", 1.0)):
        beyond = {"bound": math.nextafter(weather[part]["bound"], towards)}
        assert f"{part}.bound is" in forge(weather, lambda data, part=part, beyond=beyond: data[part].update(beyond))


def test_reports_of_the_table_are_the_same_fractions(weather: dict[str, Any]) -> None:
    def moved(data: dict[str, Any]) -> None:
        report = data["aggregator"]["reports"][0][0]
        report[0] = str(Fraction(report[0]) + Fraction(1, 10**30))

    assert "the table has no row for some reports" in forge(weather, moved)


def test_forecasts_are_distributions(weather: dict[str, Any]) -> None:
    for forecast in (str(-TINY), str(1 + TINY), math.nextafter(1, 2), -5e-324):
        sentence = forge(weather, lambda data, x=forecast: data["aggregator"]["forecasts"].__setitem__(0, x))
        assert "aggregator.forecasts[0] must be a distribution over the 2 states" in sentence


def three_states(
    forecast: list[str], joint: list[list[str]], report: str = "posterior", said: Any = None
) -> dict[str, Any]:
    family = {
        "kind": "finite",
        "states": ["a", "b", "c"],
        "agents": ["ann"],
        "report": report,
        "structures": [{"name": "one", "joint": joint}],
    }
    table = {"kind": "table", "reports": [[said or [row[0] for row in joint]]], "forecasts": [forecast]}
    return {"family": family, "paradigm": "absolute", "aggregator": table}


def test_three_states_have_the_whole_square() -> None:
    """One signal, prior (1/2, 1/4, 1/4), forecast e_1: the loss is 1/2 * 0 + 1/2 * 2 = 1; the best one has 5/8."""
    data = three_states(["1", "0", "0"], [["1/2"], ["1/4"], ["1/4"]])
    game = finite.read_game(data, Budget())
    assert finite.payoff(game, 0) == 1
    assert finite.value_bound(game, {0: Fraction(1)}) == Fraction(5, 8)
    with pytest.raises(Refused, match="must be a distribution over the 3 states"):
        finite.read_game(three_states(["1", "0", str(TINY)], [["1/2"], ["1/4"], ["1/4"]]), Budget())


def test_ties_go_to_the_earliest_state() -> None:
    thirds = (Fraction(1, 4), Fraction(3, 8), Fraction(3, 8))
    for mass, first in ((thirds, 1), ((HALF, HALF), 0), ((HALF, HALF + TINY), 1)):
        assert [int(x) for x in finite.likeliest(mass)] == [int(k == first) for k in range(len(mass))]
    tie = three_states(["1/3", "1/3", "1/3"], [["1/4"], ["3/8"], ["3/8"]], "decision", ["0", "1", "0"])
    finite.read_game(tie, Budget())
    for said in (["0", "0", "1"], ["1", "0", "0"]):
        tie["aggregator"]["reports"] = [[said]]
        with pytest.raises(Refused, match="no row for some reports"):
            finite.read_game(tie, Budget())


def test_payoffs_by_hand() -> None:
    """One agent who is right 3 times out of 4 with the prior 1/2, and a table that says 0 or 1."""
    joint = [["3/8", "1/8"], ["1/8", "3/8"]]
    family = {"kind": "finite", "states": ["no", "yes"], "agents": ["ann"], "report": "posterior"}
    table = {"kind": "table", "reports": [[["1/4"]], [["3/4"]]], "forecasts": [0, 1]}
    parts = {"family": {**family, "structures": [{"name": "x", "joint": joint}]}, "aggregator": table}
    for paradigm, expected, value in (
        ("additive", Fraction(1, 16), 0),
        ("absolute", Fraction(1, 4), Fraction(3, 16)),
        ("ratio", Fraction(4, 3), 1),
    ):
        game = finite.read_game({**parts, "paradigm": paradigm}, Budget())
        assert finite.payoff(game, 0) == expected
        assert finite.expected_payoff(game, {0: Fraction(1)}) == expected
        assert finite.value_bound(game, {0: Fraction(1)}) == value


def test_a_mixture_names_each_structure_once(weather: dict[str, Any]) -> None:
    def twice(data: dict[str, Any]) -> None:
        data["value"]["mixture"] = [{"weight": "1/2", "structure": 0}] * 2

    for change in (twice, lambda data: data["lower"]["mixture"][0].update(structure=2)):
        assert "must name structures by their numbers, each at most once" in forge(weather, change)
    assert "must name structures" in forge(weather, lambda data: data["lower"]["mixture"][0].update(structure=-1))


def test_listed_points_are_checked() -> None:
    point = {"reports": [["1/2"]], "mass": ["1/2", "1/2"]}
    family = {"kind": "finite", "states": ["no", "yes"], "agents": ["ann"], "report": "listed"}
    table = {"kind": "table", "reports": [[["1/2"]]], "forecasts": ["1/2"]}

    def game(*points: dict[str, Any]) -> finite.Game:
        structures = [{"name": "x", "points": list(points)}]
        data = {"family": {**family, "structures": structures}, "aggregator": table, "paradigm": "absolute"}
        return finite.read_game(data, Budget())

    assert finite.payoff(game(point), 0) == Fraction(1, 4)
    halves = {"reports": [["1/2"]], "mass": ["1/2", 0]}, {"reports": [["1/2"]], "mass": [0, "1/2"]}
    assert game(*halves).structures[0].omniscient == 0  # two signals, one report
    for bad, why in (
        ({**point, "reports": [["1/2"], ["1/2"]]}, "must give 1 reports and 2 probabilities each"),
        ({**point, "mass": ["1"]}, "must give 1 reports and 2 probabilities each"),
        ({**point, "mass": ["3/2", "-1/2"]}, "probabilities that are not negative"),
        ({**point, "mass": ["1/2", str(HALF + TINY)]}, "must sum to 1 exactly; it misses it by 1e-18"),
        ({**point, "reports": [["1/3"]]}, "the table has no row for some reports"),
        ({**point, "signal": 1}, "has the field 'signal'"),
    ):
        with pytest.raises(Refused, match=why):
            game(bad)
    with pytest.raises(Refused, match="points that can occur"):
        game(point, {**point, "mass": [0, 0]})


def test_a_ratio_to_nothing_bounds_nothing() -> None:
    """A structure in which the omniscient aggregator has no loss is of no use for the value of the ratio."""
    knows = rp.InformationStructure([[0.5, 0.0], [0.0, 0.5]])
    parts = finite_certificate(lambda x: x[:, 0], [knows], paradigm="ratio")
    finite.check_finite(parts, Budget())
    parts["value"] = {"bound": 1.0, "mixture": [{"weight": "1", "structure": 0}]}
    with pytest.raises(Refused, match="structure 0 has no omniscient loss, so that a ratio to it bounds nothing"):
        finite.check_finite(parts, Budget())


def test_reports_off_the_grid_stay_where_they_are() -> None:
    made = structure_entry(0.25, [[0.03, 0.5], [0.0, 0.75 + 1e-15]], resolution=4)
    assert made["reports"] == [["3/100", "1/2"], ["0", "3/4"]]
