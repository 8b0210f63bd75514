"""Exact rational bounds: from mixtures of independent agents, and on finite families; against other computations."""

from __future__ import annotations

import ast
import copy
import json
import math
import sys
from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import robustpool as rp
from quick import slowly
from refusals import input_error
from robustpool.certificates.finite import finite_certificate
from robustpool.certificates.mixtures import (
    lower_claim,
    mirrored_pair,
    outward,
    rational_mixture,
    structure_entry,
    structures_of,
    value_bound,
    value_claim,
)
from robustpool.families.random_families import random_joints
from robustpool.verification import finite, verify
from robustpool.verification.forecasts import read_aggregator
from robustpool.verification.mixtures import expected_regret, masses
from robustpool.verification.reading import Budget, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    Mixture = list[dict[str, Any]]

HALF = Fraction(1, 2)
LB = {2: 0.02254248593, 3: 0.044477003, 4: 0.059023877, 5: 0.069044315}
"""Shared THEORY.md, section 2; rounded there to nine places."""

WEATHER = Path(__file__).parent.parent / "src/robustpool/families/examples/weather-unknown.json"


def independent(agents: int = 2, prior_range: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    return {"kind": "conditionally-independent", "agents": agents, "prior_range": list(prior_range)}


def check_value(claim: dict[str, Any], family: Any) -> None:
    verify.check_value(claim, *verify.read_family(family), Budget())


def at_most_the_value_of_two_agents(bound: Fraction) -> bool:
    """bound <= (5 sqrt 5 - 11)/8, without a root: (8 bound + 11)^2 <= 125."""
    return (8 * bound + 11) ** 2 <= 125


def of_solution(solution: rp.Solution) -> tuple[Mixture, rp.ConditionallyIndependent]:
    """The mixture of a solver, as a certificate has it."""
    family, mixture = solution.family, solution.mixture
    assert isinstance(family, rp.ConditionallyIndependent)
    used = np.flatnonzero(mixture.weights)
    priors, reports = mixture.structures.parameters(used)  # type: ignore[attr-defined]
    made = rational_mixture(
        mixture.weights[used],
        priors,
        reports,
        mixture.symmetries,
        resolution=family.reports,
        prior_range=family.prior_range,
    )
    return made, family


def by_the_definition(mixture: Mixture, answer: Callable[[tuple[Fraction, ...]], Fraction] | None = None) -> Fraction:
    """E_w E[(f - g)^2] from Pr[omega] prod Pr[s_i | omega], signals one by one; f is ``answer`` or the posterior."""
    points = []
    together: dict[Any, list[Fraction]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
    for entry in mixture:
        weight, mu = Fraction(entry["weight"]), Fraction(entry["prior"])
        reports = [[Fraction(x) for x in pair] for pair in entry["reports"]]
        for signals in product((0, 1), repeat=len(reports)):
            mass = [1 - mu, mu]
            for (low, high), signal in zip(reports, signals, strict=True):
                chance = HALF if low == high else ((high - mu) if signal == 0 else (mu - low)) / (high - low)
                x = high if signal else low
                mass = [mass[0] * chance * (1 - x) / (1 - mu), mass[1] * chance * x / mu]
            profile = tuple(pair[signal] for pair, signal in zip(reports, signals, strict=True))
            for k in (0, 1):
                together[profile][k] += weight * mass[k]
            points.append((profile, weight, mass))
    total = Fraction(0)
    for profile, weight, mass in points:
        if sum(mass) > 0:
            y = together[profile][1] / sum(together[profile]) if answer is None else answer(profile)
            total += weight * sum(mass) * (y - mass[1] / sum(mass)) ** 2
    return total


@st.composite
def mixtures(draw: st.DrawFn, agents: int) -> Mixture:
    """Mixtures on a coarse grid, so that profiles meet."""
    parts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    entries = []
    for part in parts:
        mu = draw(st.integers(1, 11))
        pairs = [
            [Fraction(draw(st.integers(0, mu)), 12), Fraction(draw(st.integers(mu, 12)), 12)] for _ in range(agents)
        ]
        reports = [[str(low), str(high)] for low, high in pairs]
        entries.append({"weight": str(Fraction(part, sum(parts))), "prior": str(Fraction(mu, 12)), "reports": reports})
    return entries


# --- lower bounds from mixtures ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(data=st.data(), agents=st.integers(1, 4))
def test_the_bound_is_that_of_the_definition(data: st.DataObject, agents: int) -> None:
    mixture = data.draw(mixtures(agents))
    bound = value_bound(mixture, agents)
    assert bound == by_the_definition(mixture) >= 0

    def somehow(profile: tuple[Fraction, ...]) -> Fraction:
        return sum((x * x for x in profile), Fraction(0)) / (agents + 1)

    regret = expected_regret(structures_of(mixture, agents), somehow, Budget())
    assert regret == by_the_definition(mixture, somehow)
    assert bound <= regret


@settings(max_examples=40, deadline=None)
@given(data=st.data(), agents=st.integers(2, 3), seed=st.integers(0, 10**6))
def test_no_rule_has_a_worst_case_below_the_bound(data: st.DataObject, agents: int, seed: int) -> None:
    mixture = data.draw(mixtures(agents))
    table = np.random.default_rng(seed).random((4,) * agents)
    rules: list[Any] = ["geometric-odds", "mean", rp.GridAggregator(table)]
    structures = [
        rp.BinaryStructure(
            float(Fraction(entry["prior"])), [[float(Fraction(x)) for x in pair] for pair in entry["reports"]]
        ).to_information_structure()
        for entry in mixture
    ]
    regrets = [rp.regrets(rule, rp.FiniteFamily.from_structures(structures)) for rule in rules]
    assert float(value_bound(mixture, agents)) <= min(r.max() for r in regrets) + 1e-12
    if agents == 3:
        return
    rule = read_aggregator({"kind": "grid", "values": table.tolist()})
    exact = expected_regret(structures_of(mixture, agents), rule.forecast, Budget())
    weights = np.array([float(Fraction(entry["weight"])) for entry in mixture])
    assert float(exact) == pytest.approx(weights @ regrets[2], abs=1e-12)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        (rp.ConditionallyIndependent(2, 20, 400), {"tolerance": 1e-9}),
        (rp.ConditionallyIndependent(2, 6, None), {}),
        slowly((rp.ConditionallyIndependent(3, 6, 60), {})),
        (rp.ConditionallyIndependent(4, 4, 20), {}),
        (rp.ConditionallyIndependent(2, 6, 30, (0.1, 0.9)), {}),
        (rp.ConditionallyIndependent(2, 6, 30, (0.1, 0.6)), {"tolerance": 1e-4}),
        (rp.ConditionallyIndependent(2, 6, 30), {"method": "multiplicative-weights", "rounds": 50}),
    ],
    ids=str,
)
def test_a_solvers_mixture_loses_nothing(family: rp.ConditionallyIndependent, options: dict[str, Any]) -> None:
    solution = rp.solve(family, **options)
    mixture, _ = of_solution(solution)
    bound = value_bound(mixture, family.agents, family.prior_range)
    assert float(bound) == pytest.approx(solution.lower, abs=1e-8)
    assert float(bound) >= solution.lower - 1e-12  # it may gain: structures with the prior 0 or 1 are left out
    assert float(bound) <= solution.upper + 1e-12
    if family.agents == 2:
        assert at_most_the_value_of_two_agents(bound)
    claim = json.loads(json.dumps(value_claim(mixture, family.agents, family.prior_range)))
    check_value(claim, independent(family.agents, family.prior_range))
    more = {**claim, "bound": math.nextafter(claim["bound"], 1)}
    with pytest.raises(Refused, match=r"value\.bound is 0\.0.*, but against its mixture some aggregator has 0\.0"):
        check_value(more, independent(family.agents, family.prior_range))


@pytest.mark.parametrize("agents", [2, 3, 4, 5])
def test_the_mirrored_pair_attains_the_lower_bound(agents: int) -> None:
    pair = mirrored_pair(agents)
    assert pair is not None
    bound = value_bound(pair, agents)
    mu = np.linspace(0.1, 0.4, 300_001)
    g = 1 / (1 + (mu / (1 - mu)) ** (agents - 1))
    assert float(bound) == pytest.approx(float((mu / g * (g - 0.5) ** 2).max()), abs=1e-12)
    assert float(bound) == pytest.approx(LB[agents], abs=6e-10)
    check_value({"bound": math.floor(LB[agents] * 1e8) / 1e8, "mixture": pair}, independent(agents))


def test_the_mirrored_pair_of_two_agents_is_below_the_value_by_almost_nothing() -> None:
    pair = mirrored_pair(2)
    assert pair is not None
    bound = value_bound(pair, 2)
    assert at_most_the_value_of_two_agents(bound)
    assert not at_most_the_value_of_two_agents(bound + Fraction(1, 10**15))


def test_the_mirrored_pair_keeps_to_the_range_of_the_priors() -> None:
    assert mirrored_pair(1) is None
    assert mirrored_pair(2, (0.0, 0.5)) is None
    assert mirrored_pair(2, (0.5, 1.0)) is None
    assert mirrored_pair(2, (0.1, 1.0)) == mirrored_pair(2)
    for prior_range in ((0.3, 1.0), (0.0, 0.7), (0.25, 0.7)):
        pair = mirrored_pair(2, prior_range)
        assert pair is not None
        assert Fraction(pair[0]["prior"]) == max(Fraction(prior_range[0]), 1 - Fraction(prior_range[1]))
        bound = value_bound(pair, 2, prior_range)
        assert float(bound) == pytest.approx(0.3 / 0.7 * 0.2**2, rel=1e-9)


def test_reports_are_the_same_only_if_they_are_equal() -> None:
    pair = mirrored_pair(2)
    assert pair is not None
    pair[1]["reports"][0][0] = "5000000000000001/10000000000000000"
    assert value_bound(pair, 2) == 0


@pytest.mark.parametrize("low", [1, 3])  # the doubles 0.1 and 0.9 lie above 1/10 and 9/10, 0.3 and 0.7 below
def test_rounding_keeps_means_profiles_and_the_range(low: int) -> None:
    ends = (low / 10, 1 - low / 10)
    reports = [[[ends[0], ends[0]], [0, 0.4]]] * 2
    made = rational_mixture([1.0, 1e-30], [ends[0], 0.4], reports, ["states", "agents"], prior_range=ends)
    assert len(made) == 4
    structures = structures_of(made, 2, ends)
    for structure in structures:
        assert structure.weight == Fraction(1, 4)
        found = dict(masses(structure, Budget()))
        assert sum(m0 + m1 for m0, m1 in found.values()) == 1
        for agent in range(2):
            assert sum(x[agent] * sum(mass) for x, mass in found.items()) == structure.prior
    shown = {x for structure in structures for x, _ in masses(structure, Budget())}
    assert (Fraction(low, 10), Fraction(2, 5)) in shown
    assert (Fraction(10 - low, 10), Fraction(3, 5)) in shown


def test_extreme_floats_stay_structures() -> None:
    for prior, reports in ((1e-20, [[1e-25, 0.5]]), (1 - 2**-53, [[0.1, 1.0]]), (1e-300, [[0.0, 1e-290]])):
        entry = structure_entry(prior, reports)
        (structure,) = structures_of([entry], 1)
        assert float(structure.prior) == prior


def test_outward_rounding() -> None:
    for x in (Fraction(1, 3), Fraction(1, 10), Fraction(1, 4), Fraction(-1, 3), Fraction(1, 10**400)):
        down, up = outward(x, "down"), outward(x, "up")
        assert Fraction(down) <= x <= Fraction(up)
        assert down == up or math.nextafter(down, math.inf) == up
    with input_error("direction must be 'down' or 'up'; it is 'out'"):
        outward(Fraction(1), "out")  # type: ignore[arg-type]


def test_the_exact_table_is_the_table() -> None:
    rng = np.random.default_rng(2)
    values, x = rng.random((6, 6)), rng.random((50, 2))
    x[:10] = np.round(x[:10] * 5) / 5
    exact = read_aggregator({"kind": "grid", "values": values.tolist()}).forecast
    answers = [float(exact(tuple(Fraction(v) for v in row))) for row in x.tolist()]
    np.testing.assert_allclose(answers, rp.GridAggregator(values)(x), atol=1e-14)
    for i, j in product(range(6), repeat=2):
        assert exact((Fraction(i, 5), Fraction(j, 5))) == Fraction(values[i, j])


def test_a_lower_bound_for_one_table() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 10, 100))
    found = rp.worst_case(solution.aggregator, rp.ConditionallyIndependent(2, 10, 100))
    rule = read_aggregator({"kind": "grid", "values": solution.aggregator.values.tolist()})  # type: ignore[union-attr]
    assert isinstance(found.structure, rp.BinaryStructure)
    entry = structure_entry(found.structure.prior, found.structure.reports)
    claim = lower_claim([entry], rule.forecast, 2)
    assert claim["bound"] == pytest.approx(found.regret, abs=1e-12)
    exact = expected_regret(structures_of([entry], 2), rule.forecast, Budget())
    assert Fraction(claim["bound"]) <= exact < Fraction(math.nextafter(claim["bound"], 1))


Path_ = tuple[str | int, ...]
MUTATIONS: list[tuple[Path_, Any, str]] = [
    (("mixture", 0, "weight"), "-1/2", "weights of value.mixture must be positive"),
    (("mixture", 0, "weight"), 0, "weights of value.mixture must be positive"),
    (("mixture", 0, "weight"), "1/3", "weights of value.mixture must sum to 1 exactly; they miss it by -0.167"),
    (("mixture", 0, "weight"), "1/0", r"mixture\[0\].weight has the denominator 0"),
    (("mixture", 0, "weight"), 10**400, "must be a finite number"),
    (("mixture", 0, "weight"), True, 'must be a finite number or a text such as "1/3"; it is True'),
    (("mixture", 0, "weight"), [], "must be a finite number"),
    (
        ("mixture", 1, "prior"),
        "1/4",
        r"value.mixture\[1\].reports\[0\] must be a pair with 0 <= low <= prior <= high <= 1",
    ),
    (("mixture", 0, "prior"), "3/5", r"reports\[0\] must be a pair with 0 <= low"),
    (("mixture", 0, "prior"), 0, "prior must lie strictly between 0 and 1, .* it is 0"),
    (
        ("mixture", 0, "prior"),
        0.0625,
        r"value.mixture\[0\].prior must .* in the range of the family from 1/8 to 7/8; it is 1/16",
    ),
    (("mixture", 0, "prior"), math.nan, "must be a finite number .* it is nan"),
    (("mixture", 0, "prior"), math.inf, "must be a finite number"),
    (("mixture", 0, "prior"), "0.2", "must be a finite number or a text"),
    (("mixture", 0, "prior"), "２/9", "must be a finite number or a text"),  # a digit, but not of ours
    (("mixture", 0, "reports", 1), ["-1/9", "1/2"], r"reports\[1\] must be a pair with 0 <= low"),
    (("mixture", 0, "reports", 1), ["0", "10/9"], r"reports\[1\] must be a pair with 0 <= low"),
    (("mixture", 0, "reports", 1), ["1/2", "0"], r"reports\[1\] must be a pair with 0 <= low"),
    (("mixture", 0, "reports", 1), ["0"], r"reports\[1\] must be a pair"),
    (("mixture", 0, "reports", 1), None, r"reports\[1\] must be a list; it is None"),
    (("mixture", 0, "reports"), [["0", "1/2"]], "must hold one pair for each of the 2 agents; there are 1"),
    (("mixture", 0, "reports"), "0", "reports must be a list; it is '0'"),
    (("mixture", 0), {"weight": "1/2"}, r"value.mixture\[0\] must have the field 'prior'"),
    (("mixture", 0), "x", r"value.mixture\[0\] must be an object with the fields weight, prior, reports"),
    (("mixture",), [], "weights of value.mixture must sum to 1 exactly; they miss it by -1"),
    (("mixture",), {}, "value.mixture must be a list; it is an object of 0"),
    (("bound",), math.nan, "value.bound must be a finite number"),
    (("bound",), "1/100", "value.bound must be a number; it is text"),
    (("bound",), None, "value.bound must be a finite number"),
    (("bound",), 0.0225424860, "value.bound is 0.022542486, but against its mixture some aggregator has"),
    (("family", "agents"), 3, "must hold one pair for each of the 3 agents"),
    (("family", "agents"), 10**9, "agents must be a whole number from 1 to 100"),
    (("family", "agents"), 2.0, "agents must be a whole number"),
    (("family", "kind"), "finite", "family.kind must be 'conditionally-independent'; it is 'finite'"),
    (("family", "prior_range"), [0.9, 0.1], "family.prior_range must be two numbers within"),
    (("family", "prior_range"), [0.1], "family.prior_range must be two numbers within"),
    (("family", "prior_range"), ["a", 1], r"prior_range\[0\] must be a finite number"),
    (("family",), None, "family must be an object with the fields kind"),
]


def mutated(data: Any, path: Path_, value: Any) -> Any:
    changed = copy.deepcopy(data)
    *way, last = path
    at = changed
    for step in way:
        at = at[step]
    at[last] = value
    return changed


@pytest.mark.parametrize(("path", "value", "sentence"), MUTATIONS)
def test_a_forged_mixture_is_refused(path: Path_, value: Any, sentence: str) -> None:
    ends = (0.125, 0.875)
    pair = mirrored_pair(2, ends)
    assert pair is not None
    honest = {"value": value_claim(pair, 2, ends), "family": independent(2, ends)}
    check_value(honest["value"], honest["family"])
    forged = mutated(honest, path if path[0] == "family" else ("value", *path), value)
    with pytest.raises(Refused, match=sentence):
        check_value(forged["value"], forged["family"])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[0.0, 0.5], [0.5, 1.5]], r"aggregator.values must be forecasts in \[0, 1\]"),
        ([[0.0, 0.5], [0.5, math.nextafter(1, 2)]], r"aggregator.values must be forecasts in \[0, 1\]"),
        ([[0.0, 0.5], [0.5, -5e-324]], r"aggregator.values must be forecasts in \[0, 1\]"),
        ([[0.0, 0.5], [0.5, math.nan]], r"values\[1\]\[1\] must be a finite number"),
        ([[0.0, 0.5], [0.5, "1/2"]], r"values\[1\]\[1\] must be a number; it is text"),
        ([[0.0, 0.5], [0.5]], "values must be square, two by two at least"),
        ([[0.0, 0.5, 1.0], [0.5, 0.5, 0.5]], "values must be square"),
        ([0.0, 0.5], r"values\[0\] must be a list"),
        ([[[0.0, 0.5], [0.5, 1.0]]] * 2, r"values\[0\]\[0\] must be a finite number"),
        ([[0.5]], "values must be square, two by two at least"),
        (None, "values must be a list; it is None"),
    ],
)
def test_a_forged_table_is_refused(values: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        read_aggregator({"kind": "grid", "values": values})


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([1.0], [0.5], [[0.0, 1.0]]), {}, "weights .m,., priors .m,. and reports .m, agents, 2."),
        (([-1.0], [0.5], [[[0.0, 1.0]]]), {}, "weights must not be negative"),
        (([1.0], [0.0], [[[0.0, 1.0]]]), {}, "a positive weight and a prior strictly between 0 and 1"),
        (([1.0], [0.5], [[[0.0, 1.0]]]), {"symmetries": ["signals"]}, "among agents and states; there is 'signals'"),
        (([1.0], [0.5], [[[0.0, 1.0]]]), {"prior_range": (0.0, 0.4)}, "family's range from 0.0 to 0.4; one is 0.5"),
    ],
)
def test_what_is_no_mixture_is_not_made_one(arguments: Any, options: Any, sentence: str) -> None:
    with input_error(sentence):
        rational_mixture(*arguments, **options)


# --- finite families --------------------------------------------------------------------------------------------------


def random_certificate(
    states: int = 2, agents: int = 2, report: str = "posterior", paradigm: str = "additive", resolution: int | None = 6
) -> tuple[dict[str, Any], rp.Solution, Any]:
    joints = random_joints(12, states=states, agents=agents, signals=2, resolution=resolution, rng=7)
    solution = rp.solve(rp.FiniteFamily.from_joints(joints, report=report), tolerance=1e-8, paradigm=paradigm)
    structures = [rp.InformationStructure(joint) for joint in joints]
    weights = solution.mixture.weights
    parts = finite_certificate(solution.aggregator, structures, weights, report=report, paradigm=paradigm)
    return json.loads(json.dumps(parts)), solution, joints


@pytest.mark.parametrize("resolution", [6, slowly(None)])
@pytest.mark.parametrize("paradigm", ["additive", "absolute", "ratio"])
@pytest.mark.parametrize(
    ("states", "agents", "report"),
    [(2, 2, "posterior"), (3, 2, "posterior"), (2, 3, "higher-order"), (3, 2, "higher-order"), (2, 2, "decision")],
)
def test_a_finite_family_is_certified(
    states: int, agents: int, report: str, paradigm: str, resolution: int | None
) -> None:
    if (report, paradigm) == ("decision", "ratio"):
        resolution = None  # else some structures have no omniscient loss, and ask for contradictory forecasts
    certificate, solution, joints = random_certificate(
        states=states, agents=agents, report=report, paradigm=paradigm, resolution=resolution
    )
    finite.check_finite(certificate, Budget())
    assert certificate["value"]["bound"] == pytest.approx(solution.lower, rel=1e-9, abs=1e-12)
    assert certificate["upper"]["bound"] == pytest.approx(solution.upper, rel=1e-12, abs=1e-12)
    assert certificate["lower"]["bound"] <= certificate["upper"]["bound"]
    game = finite.read_game(certificate, Budget())
    regrets = rp.regrets(solution.aggregator, rp.FiniteFamily.from_joints(joints, report=report), paradigm=paradigm)
    exact = [float(finite.payoff(game, t)) for t in range(len(joints))]
    np.testing.assert_allclose(exact, regrets, rtol=1e-12, atol=1e-13)
    for part, sign in (("upper", -1), ("lower", 1), ("value", 1)):
        beyond = math.nextafter(certificate[part]["bound"], sign * math.inf)  # by one ulp
        with pytest.raises(Refused, match=rf"{part}\.bound is"):
            finite.check_finite(mutated(certificate, (part, "bound"), beyond), Budget())


@pytest.mark.parametrize(("states", "report"), [(2, "posterior"), (3, "posterior"), (2, "higher-order")])
def test_the_bounds_enclose_the_value_of_an_independent_programme(states: int, report: str) -> None:
    certificate, _, joints = random_certificate(states=states, report=report)
    value = reference.value(list(joints), how=report)
    assert certificate["value"]["bound"] - 1e-7 <= value <= certificate["upper"]["bound"] + 1e-7


def test_the_weather_from_its_design_file(tmp_path: Path) -> None:
    family, path = rp.load_family(WEATHER), tmp_path / "design.json"
    rp.save_design(rp.solve(family, tolerance=1e-10), path)
    content = json.loads(WEATHER.read_text())
    certificate = finite_certificate(path, content)
    finite.check_finite(certificate, Budget())
    assert certificate["family"]["structures"][0]["joint"][0][0] == ["81/280", "9/56"]  # as it was written
    assert 0 <= certificate["upper"]["bound"] - certificate["value"]["bound"] <= 1e-10
    content["structures"].pop()
    with input_error("the design was made for another family"):
        finite_certificate(path, content)


def test_a_rule_on_a_finite_family_has_its_exact_worst_case() -> None:
    content = json.loads(WEATHER.read_text())
    certificate = finite_certificate("mean", content)
    finite.check_finite(certificate, Budget())
    assert "value" not in certificate
    worst = rp.regrets("mean", rp.load_family(WEATHER)).max()
    assert certificate["upper"]["bound"] == pytest.approx(worst, abs=1e-15)
    assert certificate["upper"]["bound"] - certificate["lower"]["bound"] <= math.ulp(worst)


FINITE_MUTATIONS: list[tuple[Path_, Any, str]] = [
    (("paradigm",), "worst", "paradigm must be 'additive' or 'absolute' or 'ratio'; it is 'worst'"),
    (("family", "kind"), "infinite", "family.kind must be 'finite'"),
    (("family", "report"), "custom:f", "family.report must be 'posterior' or 'higher-order' or 'decision' or 'listed'"),
    (("family", "report"), "listed", r"structures\[0\] must have the fields name and points, and no others"),
    (("family", "states"), ["rain"], "family must have two states or more"),
    (("family", "agents"), [], "family must have two states or more, 1 to 12 agents"),
    (("family", "agents"), ["a"] * 13, "family must have two states or more, 1 to 12 agents"),
    (("family", "structures"), [], "family must have .* and structures"),
    (("family", "structures", 0), 3, r"family.structures\[0\] must be an object with the fields name"),
    (("family", "structures", 0, "points"), [], r"structures\[0\] must have the fields name and joint, and no others"),
    (("family", "structures", 0, "joint"), [["1/2", "1/2"]], r"structures\[0\].joint must be nested lists: 2 states"),
    (("family", "structures", 0, "joint", 0, 0, 0), "82/280", r"joint must sum to 1 exactly; it misses it by 0.00357"),
    (("family", "structures", 0, "joint", 0, 0, 0), "-1/9", "joint must have probabilities that are not negative"),
    (("family", "structures", 0, "joint", 0, 0), ["1/2"], "joint must have the same signals in each state"),
    (("family", "structures", 0, "joint", 0, 0, 0), ["1/2"], "joint must be a finite number"),
    (("aggregator", "kind"), "grid", "aggregator.kind must be 'table'"),
    (("aggregator", "forecasts", 0), 1.5, r"aggregator.forecasts\[0\] must be a distribution over the 2 states"),
    (("aggregator", "forecasts", 0), [0.5], r"aggregator.forecasts\[0\] must be a finite number"),
    (("aggregator", "forecasts"), [0.5], "must be lists of the same length"),
    (("aggregator", "reports", 0), [[0.1]], r"the table has no row for some reports of family.structures\[0\]"),
    (("aggregator", "reports", 0, 0, 0), 0.1, r"the table has no row for some reports of family.structures\[0\]"),
    (("aggregator", "reports"), [[["9/10"], ["9/10"]]] * 4, r"reports\[1\] repeats the reports of an earlier row"),
    (("aggregator", "values"), [[0.5]], "aggregator has the field 'values', which is not checked"),
    (("upper", "bound"), 0.004, "upper.bound is 0.004, but structure 0 has 0.0042"),
    (("upper", "bound"), "1", "upper.bound must be a number; it is text"),
    (("upper", "bound"), math.nan, "upper.bound must be a finite number"),
    (("upper", "witness"), {}, "upper has the field 'witness', which is not checked"),
    (("lower", "bound"), 0.0043, "lower.bound is 0.0043, but under its mixture it is at most 0.0042"),
    (("value", "bound"), 0.0043, "value.bound is 0.0043, but under its mixture it is at most 0.0042"),
    (("value", "mixture"), [], "weights of value.mixture must sum to 1 exactly; they miss it by -1"),
    (("value", "mixture", 0, "weight"), "1/3", "weights of value.mixture must sum to 1 exactly"),
    (("value", "mixture", 0, "structure"), 2, "value.mixture must name structures by their numbers, each at most once"),
    (("value", "mixture", 0, "structure"), 1, "value.mixture must name structures by their numbers, each at most once"),
    (("value", "mixture", 0, "structure"), 0.5, "value.mixture must name structures by their numbers"),
    (("value", "mixture", 0, "structure"), True, r"value.mixture\[0\].structure must be a finite number"),
]


@pytest.fixture(scope="module")
def weather() -> dict[str, Any]:
    solution = rp.solve(rp.load_family(WEATHER), tolerance=1e-10)
    content = json.loads(WEATHER.read_text())
    return finite_certificate(solution.aggregator, content, solution.mixture.weights)


@pytest.mark.parametrize(("path", "value", "sentence"), FINITE_MUTATIONS)
def test_a_forged_certificate_is_refused(weather: dict[str, Any], path: Path_, value: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        finite.check_finite(mutated(weather, path, value), Budget())


def test_every_forecast_counts(weather: dict[str, Any]) -> None:
    finite.check_finite(weather, Budget())
    for row, said in enumerate(weather["aggregator"]["forecasts"]):
        for other in (0.0, 1.0):
            if abs(other - said) > 0.01:
                with pytest.raises(Refused, match=r"(upper|lower)\.bound is"):
                    finite.check_finite(mutated(weather, ("aggregator", "forecasts", row), other), Budget())


def mirrored_family(shift: Fraction) -> dict[str, Any]:
    """Two mirrored structures, the second with its lower report moved from 1/2 to 1/2 + shift."""
    structures = []
    for mu, low, high in ((Fraction(19, 100), Fraction(0), HALF), (Fraction(81, 100), HALF + shift, Fraction(1))):
        q = (mu - low) / (high - low)  # of the high report
        given = [[(1 - q) * (1 - low) / (1 - mu), q * (1 - high) / (1 - mu)], [(1 - q) * low / mu, q * high / mu]]
        priors = (1 - mu, mu)
        joint = [[[str(priors[k] * p * r) for r in given[k]] for p in given[k]] for k in (0, 1)]
        structures.append({"name": f"prior {mu}", "joint": joint})
    return {
        "format": "robustpool-family/1",
        "states": ["no", "yes"],
        "agents": ["ann", "bob"],
        "report": "posterior",
        "structures": structures,
    }


def test_reports_that_rounding_merges_are_told_apart() -> None:
    """Reports that differ by 5e-10 are one to a table of doubles; a function of the reports can tell them apart."""
    same, near = mirrored_family(Fraction(0)), mirrored_family(Fraction(5, 10**10))
    solution = rp.solve(rp.FiniteFamily.from_structures(_structures(near)), tolerance=1e-9)
    for family, value in ((same, 0.0225), (near, 0.0)):
        parts = finite_certificate(solution.aggregator, family, [0.5, 0.5])
        finite.check_finite(parts, Budget())
        assert parts["value"]["bound"] == pytest.approx(value, abs=1e-4)
    for bound in (5e-324, 0.022):
        with pytest.raises(Refused, match=r"value\.bound is .* but under its mixture it is at most 0\.0"):
            finite.check_finite(mutated(parts, ("value", "bound"), bound), Budget())


def _structures(family: dict[str, Any]) -> list[rp.InformationStructure]:
    exact = [[[[float(Fraction(x)) for x in r] for r in s] for s in entry["joint"]] for entry in family["structures"]]
    return [rp.InformationStructure(joint) for joint in exact]


def test_nothing_claimed_is_nothing_proved(weather: dict[str, Any]) -> None:
    bare = {key: part for key, part in weather.items() if key not in ("upper", "lower", "value")}
    with pytest.raises(Refused, match="the certificate claims nothing"):
        finite.check_finite(bare, Budget())


def test_what_cannot_be_certified_is_told() -> None:
    content = json.loads(WEATHER.read_text())
    with input_error("paradigm must be one of additive, absolute, ratio; it is 'worst'"):
        finite_certificate("mean", content, paradigm="worst")
    with input_error("one number for each of the 2 structures"):
        finite_certificate("mean", content, [1.0])
    with input_error("a family file, a FiniteFamily or a list of structures"):
        finite_certificate("mean", [1, 2])  # type: ignore[list-item]
    other = rp.TableAggregator(np.array([[[0.2], [0.4]]]), np.array([0.3]))
    with input_error("reports must be a profile"):
        finite_certificate(other, content)


# --- the verifier stands alone ----------------------------------------------------------------------------------------


def test_exact_arithmetic_needs_the_standard_library_only() -> None:
    source = Path(finite.__file__).read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            ours = node.level == 1 and node.module in ("reading", "mixtures")
            assert ours or (node.level == 0 and node.module.split(".")[0] in sys.stdlib_module_names)
