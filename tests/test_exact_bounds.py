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
from robustpool.certificates.finite import finite_certificate
from robustpool.certificates.mixtures import (
    grid_claim,
    mirrored_pair,
    outward,
    rational_mixture,
    structure_entry,
    value_claim,
)
from robustpool.structures.random_families import random_joints
from robustpool.verification import finite
from robustpool.verification.mixtures import (
    check_lower_grid,
    check_value,
    expected_regret,
    grid_forecast,
    masses,
    read_mixture,
    value_bound,
)
from robustpool.verification.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    Mixture = list[dict[str, Any]]

HALF = Fraction(1, 2)
LB = {2: 0.02254248593, 3: 0.044477003, 4: 0.059023877, 5: 0.069044315}
"""Shared THEORY.md, section 2; rounded there to nine places."""

WEATHER = Path(__file__).parent.parent / "src/robustpool/structures/examples/weather-unknown.json"


def independent(agents: int = 2, prior_range: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    return {"kind": "conditionally-independent", "agents": agents, "prior_range": list(prior_range)}


def at_most_the_value_of_two_agents(bound: Fraction) -> bool:
    """bound <= (5 sqrt 5 - 11)/8, without a root: (8 bound + 11)^2 <= 125."""
    return (8 * bound + 11) ** 2 <= 125


def of_solution(solution: rp.Solution) -> tuple[Mixture, rp.ConditionallyIndependent]:
    """The mixture of a solver, as a certificate has it."""
    family, mixture = solution.family, solution.mixture
    assert isinstance(family, rp.ConditionallyIndependent)
    used = np.flatnonzero(mixture.weights)
    priors, reports = mixture.structures.parameters(used)  # type: ignore[union-attr]
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

    regret = expected_regret(mixture, agents, (0, 1), somehow)
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
    exact = expected_regret(mixture, agents, (0, 1), grid_forecast(table.tolist()))
    weights = np.array([float(Fraction(entry["weight"])) for entry in mixture])
    assert float(exact) == pytest.approx(weights @ regrets[2], abs=1e-12)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        (rp.ConditionallyIndependent(2, 20, 400), {"tolerance": 1e-9}),
        (rp.ConditionallyIndependent(2, 6, None), {}),
        (rp.ConditionallyIndependent(3, 6, 60), {}),
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
    assert float(bound) == pytest.approx(solution.lower, abs=1e-9)
    assert float(bound) >= solution.lower - 1e-12  # it may gain: structures with the prior 0 or 1 are left out
    assert float(bound) <= solution.upper + 1e-12
    if family.agents == 2:
        assert at_most_the_value_of_two_agents(bound)
    claim = json.loads(json.dumps(value_claim(mixture, family.agents, family.prior_range)))
    check_value(claim, independent(family.agents, family.prior_range))
    with pytest.raises(Refused, match=r"value\.bound is 0\.0.* expected regret of 0\.0"):
        check_value(
            {**claim, "bound": math.nextafter(claim["bound"], 1)}, independent(family.agents, family.prior_range)
        )


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
    bound = value_bound(mirrored_pair(2), 2)
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
    structures = read_mixture(made, 2, ends)
    for structure in structures:
        assert structure.weight == Fraction(1, 4)
        found = masses(structure)
        assert sum(m0 + m1 for m0, m1 in found.values()) == 1
        for agent in range(2):
            assert sum(x[agent] * sum(mass) for x, mass in found.items()) == structure.prior
    shown = {x for structure in structures for x in masses(structure)}
    assert (Fraction(low, 10), Fraction(2, 5)) in shown
    assert (Fraction(10 - low, 10), Fraction(3, 5)) in shown


def test_extreme_floats_stay_structures() -> None:
    for prior, reports in ((1e-20, [[1e-25, 0.5]]), (1 - 2**-53, [[0.1, 1.0]]), (1e-300, [[0.0, 1e-290]])):
        entry = structure_entry(prior, reports)
        (structure,) = read_mixture([entry], 1)
        assert float(structure.prior) == prior


def test_outward_rounding() -> None:
    for x in (Fraction(1, 3), Fraction(1, 10), Fraction(1, 4), Fraction(-1, 3), Fraction(1, 10**400)):
        down, up = outward(x, "down"), outward(x, "up")
        assert Fraction(down) <= x <= Fraction(up)
        assert down == up or math.nextafter(down, math.inf) == up
    with pytest.raises(rp.InputError, match="direction must be 'down' or 'up'; it is 'out'"):
        outward(Fraction(1), "out")  # type: ignore[arg-type]


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_the_exact_table_is_the_table(agents: int) -> None:
    rng = np.random.default_rng(agents)
    values, x = rng.random((6,) * agents), rng.random((50, agents))
    x[:10] = np.round(x[:10] * 5) / 5
    exact = grid_forecast(values.tolist())
    answers = [float(exact(tuple(Fraction(v) for v in row))) for row in x.tolist()]
    np.testing.assert_allclose(answers, rp.GridAggregator(values)(x), atol=1e-14)
    for corner in product((0, 1), repeat=agents):
        assert exact(tuple(map(Fraction, corner))) == Fraction(values[tuple(5 * k for k in corner)])


def test_a_lower_bound_for_one_table() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 10, 100))
    found = rp.worst_case(solution.aggregator, rp.ConditionallyIndependent(2, 10, 100))
    aggregator = {"kind": "grid", "values": solution.aggregator.values.tolist()}  # type: ignore[union-attr]
    assert isinstance(found.structure, rp.BinaryStructure)
    claim = grid_claim([structure_entry(found.structure.prior, found.structure.reports)], aggregator["values"], 2)
    assert claim["bound"] == pytest.approx(found.regret, abs=1e-12)
    check_lower_grid(claim, independent(), aggregator)
    with pytest.raises(
        Refused, match=r"lower\.bound is .*, but under this mixture the aggregator's expected regret is"
    ):
        check_lower_grid({**claim, "bound": claim["bound"] + 1e-15}, independent(), aggregator)


Path_ = tuple[str | int, ...]
MUTATIONS: list[tuple[Path_, Any, str]] = [
    (("mixture", 0, "weight"), "-1/2", r"value.mixture\[0\].weight must be positive; it is -1/2"),
    (("mixture", 0, "weight"), 0, r"mixture\[0\].weight must be positive"),
    (("mixture", 0, "weight"), "1/3", "weights of value.mixture must sum to 1 exactly; they miss it by -0.167"),
    (("mixture", 0, "weight"), "1/0", r"mixture\[0\].weight has the denominator 0"),
    (("mixture", 0, "weight"), 10**400, "must be a finite number"),
    (("mixture", 0, "weight"), True, "must be a finite number or a text such as \"1/3\"; it is 'True'"),
    (("mixture", 0, "weight"), [], "must be a finite number"),
    (("mixture", 1, "prior"), "1/10", r"value.mixture\[1\].reports\[0\] must have 0 <= low <= prior <= high <= 1"),
    (("mixture", 0, "prior"), "3/5", r"reports\[0\] must have .* it is \[0, 1/2\] and the prior is 3/5"),
    (("mixture", 0, "prior"), 0, "prior must lie strictly between 0 and 1; it is 0"),
    (("mixture", 0, "prior"), 0.0625, r"value.mixture\[0\].prior must lie in the family's range from 0.125 to 0.875"),
    (("mixture", 0, "prior"), math.nan, "must be a finite number .* it is 'nan'"),
    (("mixture", 0, "prior"), math.inf, "must be a finite number"),
    (("mixture", 0, "prior"), "0.2", "must be a finite number or a text"),
    (("mixture", 0, "prior"), "２/9", "must be a finite number or a text"),  # a digit, but not of ours
    (("mixture", 0, "reports", 1), ["-1/9", "1/2"], r"reports\[1\] must have 0 <= low"),
    (("mixture", 0, "reports", 1), ["0", "10/9"], r"reports\[1\] must have 0 <= low"),
    (("mixture", 0, "reports", 1), ["1/2", "0"], r"reports\[1\] must have 0 <= low"),
    (("mixture", 0, "reports", 1), ["0"], r"reports\[1\] must be a pair"),
    (("mixture", 0, "reports", 1), None, r"reports\[1\] must be a pair"),
    (("mixture", 0, "reports"), [["0", "1/2"]], "must hold one pair for each of the 2 agents; there are 1"),
    (("mixture", 0, "reports"), "0", "must hold one pair for each of the 2 agents; there are no list"),
    (("mixture", 0), {"weight": "1/2"}, r"value.mixture\[0\] must be an object with the field 'prior'"),
    (("mixture", 0), "x", r"value.mixture\[0\] must be an object with the field 'weight'"),
    (("mixture",), [], "value.mixture must be a list of at least one structure"),
    (("mixture",), {}, "value.mixture must be a list of at least one structure"),
    (("bound",), math.nan, "value.bound must be a finite number"),
    (("bound",), "1/100", "value.bound must be a number; it is text"),
    (("bound",), None, "value.bound must be a finite number"),
    (("bound",), 0.0225424860, "value.bound is 0.022542486, but against this mixture some aggregator"),
    (("family", "agents"), 3, "must hold one pair for each of the 3 agents"),
    (("family", "agents"), 10**9, "agents must be a whole number from 1 to 12"),
    (("family", "agents"), 2.0, "agents must be a whole number"),
    (("family", "kind"), "finite", "family.kind must be 'conditionally-independent'; it is 'finite'"),
    (("family", "prior_range"), [0.9, 0.1], "prior_range must be from low to high"),
    (("family", "prior_range"), [0.1], "prior_range must be a pair"),
    (("family", "prior_range"), ["a", 1], r"prior_range\[0\] must be a finite number"),
    (("family",), None, "family must be an object with the field 'kind'"),
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
    honest = {**value_claim(pair, 2, ends), "family": independent(2, ends)}
    check_value(honest, honest["family"])
    forged = mutated(honest, path, value)
    with pytest.raises(Refused, match=sentence):
        check_value(forged, forged["family"])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[0.0, 0.5], [0.5, 1.5]], r"aggregator.values\[1\]\[1\] must be a forecast in \[0, 1\]; it is 1.5"),
        ([[0.0, 0.5], [0.5, math.nan]], r"values\[1\]\[1\] must be a forecast in \[0, 1\]; it is nan"),
        ([[0.0, 0.5], [0.5, "1/2"]], r"values\[1\]\[1\] must be a forecast"),
        ([[0.0, 0.5], [0.5]], r"values\[1\] must be a list of 2 entries"),
        ([[0.0, 0.5, 1.0], [0.5, 0.5, 0.5]], r"values\[0\] must be a list of 2 entries"),
        ([0.0, 0.5], r"values\[0\] must be a list of 2 entries"),
        ([[[0.0, 0.5], [0.5, 1.0]]] * 2, r"values\[0\]\[0\] must be a forecast"),
        ([[0.5]], "must be a table with at least two entries an axis"),
        (None, "must be a table with at least two entries an axis"),
    ],
)
def test_a_forged_table_is_refused(values: Any, sentence: str) -> None:
    claim = {"bound": 0.0, "mixture": mirrored_pair(2)}
    with pytest.raises(Refused, match=sentence):
        check_lower_grid(claim, independent(), {"kind": "grid", "values": values})


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
    with pytest.raises(rp.InputError, match=sentence):
        rational_mixture(*arguments, **options)


# --- finite families --------------------------------------------------------------------------------------------------


def random_certificate(
    *,
    states: int = 2,
    agents: int = 2,
    report: str = "posterior",
    paradigm: str = "additive",
    resolution: int | None = 6,
) -> tuple[dict[str, Any], rp.Solution, Any]:
    joints = random_joints(12, states=states, agents=agents, signals=2, resolution=resolution, rng=7)
    solution = rp.solve(rp.FiniteFamily.from_joints(joints, report=report), tolerance=1e-8, paradigm=paradigm)
    structures = [rp.InformationStructure(joint) for joint in joints]
    parts = finite_certificate(
        solution.aggregator, structures, solution.mixture.weights, report=report, paradigm=paradigm
    )
    return json.loads(json.dumps(parts)), solution, joints


@pytest.mark.parametrize("resolution", [6, None])
@pytest.mark.parametrize("paradigm", ["additive", "absolute"])
@pytest.mark.parametrize(
    ("states", "agents", "report"),
    [(2, 2, "posterior"), (3, 2, "posterior"), (2, 3, "higher-order"), (3, 2, "higher-order"), (2, 2, "decision")],
)
def test_a_finite_family_is_certified(
    states: int, agents: int, report: str, paradigm: str, resolution: int | None
) -> None:
    certificate, solution, joints = random_certificate(
        states=states, agents=agents, report=report, paradigm=paradigm, resolution=resolution
    )
    finite.check_finite(certificate)
    assert certificate["value"]["bound"] == pytest.approx(solution.lower, abs=1e-12)
    assert certificate["upper"]["bound"] == pytest.approx(solution.upper, abs=1e-12)
    assert certificate["lower"]["bound"] <= certificate["upper"]["bound"]
    game = finite.read_game(certificate)
    regrets = rp.regrets(solution.aggregator, rp.FiniteFamily.from_joints(joints, report=report), paradigm=paradigm)
    exact = [float(finite.regret(game, t)) for t in range(len(joints))]
    np.testing.assert_allclose(exact, regrets, atol=1e-13)
    for part, sign in (("upper", -1), ("lower", 1), ("value", 1)):
        forged = mutated(certificate, (part, "bound"), certificate[part]["bound"] + sign * 1e-9)
        with pytest.raises(Refused, match=rf"{part}\.bound is"):
            finite.check_finite(forged)


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
    finite.check_finite(certificate)
    assert certificate["family"]["structures"][0]["joint"][0][0] == ["81/280", "9/56"]  # as it was written
    assert 0 <= certificate["upper"]["bound"] - certificate["value"]["bound"] <= 1e-10
    content["structures"].pop()
    with pytest.raises(rp.InputError, match="the design was made for another family"):
        finite_certificate(path, content)


def test_a_rule_on_a_finite_family_has_its_exact_worst_case() -> None:
    content = json.loads(WEATHER.read_text())
    certificate = finite_certificate("mean", content)
    finite.check_finite(certificate)
    assert "value" not in certificate
    worst = rp.regrets("mean", rp.load_family(WEATHER)).max()
    assert certificate["upper"]["bound"] == pytest.approx(worst, abs=1e-15)
    assert certificate["upper"]["bound"] - certificate["lower"]["bound"] <= math.ulp(worst)


FINITE_MUTATIONS: list[tuple[Path_, Any, str]] = [
    (("loss",), "log", "loss must be 'square'"),
    (("paradigm",), "ratio", "paradigm must be 'additive' or 'absolute'; it is 'ratio'"),
    (("family", "kind"), "infinite", "family.kind must be 'finite'"),
    (("family", "report"), "custom:f", "family.report must be 'posterior' or 'higher-order' or 'decision'"),
    (("family", "states"), ["rain"], "family.states must be a list of at least 2 names"),
    (("family", "structures"), [], "family.structures must be a list of at least one"),
    (("family", "structures", 0), 3, r"family.structures\[0\] must be an object with the field 'joint'"),
    (("family", "structures", 0, "joint"), [["1/2", "1/2"]], r"structures\[0\].joint must be nested lists: 2 states"),
    (("family", "structures", 0, "joint", 0, 0, 0), "82/280", r"joint must sum to 1 exactly; it misses it by 0.00357"),
    (("family", "structures", 0, "joint", 0, 0, 0), "-1/9", r"joint\[0\]\[0\]\[0\] must not be negative"),
    (("family", "structures", 0, "joint", 0, 0), ["1/2"], r"joint\[0\]\[1\] must be a list of 1 entries"),
    (("aggregator", "kind"), "grid", "aggregator.kind must be 'table'"),
    (("aggregator", "forecasts", 0), 1.5, r"aggregator.forecasts\[0\] must lie in \[0, 1\]; it is 3/2"),
    (("aggregator", "forecasts", 0), [0.5], r"aggregator.forecasts\[0\] must be a number"),
    (("aggregator", "forecasts"), [0.5], "must be lists of the same length"),
    (("aggregator", "reports", 0), [[0.1]], r"aggregator.reports\[0\] must be a list with a report"),
    (("aggregator", "reports", 0, 0, 0), 0.1000001, "the table has no row for the reports after the signals"),
    (("aggregator", "reports"), [[[0.9], [0.9]]] * 4, r"aggregator.reports\[1\] repeats the reports of row 0"),
    (("upper", "bound"), 0.004, "upper.bound is 0.004, but the table's regret on 'independent bulletins' is 0.0042"),
    (("upper", "bound"), "1", "upper.bound must be a number; it is text"),
    (("upper", "bound"), math.nan, "upper.bound must be a finite number"),
    (("lower", "bound"), 0.0043, "lower.bound is 0.0043, but the table's expected regret there is 0.0042"),
    (("value", "bound"), 0.0043, "value.bound is 0.0043, but against this mixture some table has 0.0042"),
    (("value", "mixture"), [], "value.mixture must be a list of at least one"),
    (("value", "mixture", 0, "weight"), "1/3", "weights of value.mixture must sum to 1 exactly"),
    (("value", "mixture", 0, "structure"), 2, r"value.mixture\[0\].structure must be the number of a structure"),
    (("value", "mixture", 0, "structure"), 1, r"value.mixture\[1\].structure must be .* each at most once"),
    (("value", "mixture", 0, "structure"), True, r"value.mixture\[0\].structure must be the number"),
]


@pytest.fixture(scope="module")
def weather() -> dict[str, Any]:
    solution = rp.solve(rp.load_family(WEATHER), tolerance=1e-10)
    content = json.loads(WEATHER.read_text())
    return finite_certificate(solution.aggregator, content, solution.mixture.weights)


@pytest.mark.parametrize(("path", "value", "sentence"), FINITE_MUTATIONS)
def test_a_forged_finite_certificate_is_refused(
    weather: dict[str, Any], path: Path_, value: Any, sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        finite.check_finite(mutated(weather, path, value))


def test_every_forecast_counts(weather: dict[str, Any]) -> None:
    finite.check_finite(weather)
    for row, said in enumerate(weather["aggregator"]["forecasts"]):
        for other in (0.0, 1.0):
            if abs(other - said) > 0.01:
                with pytest.raises(Refused, match=r"(upper|lower)\.bound is"):
                    finite.check_finite(mutated(weather, ("aggregator", "forecasts", row), other))


def test_reports_are_compared_up_to_rounding_and_no_further(weather: dict[str, Any]) -> None:
    for factor, same in ((1 + 1e-10, True), (1 - 1e-10, True), (1 + 1e-8, False)):
        reports = [[[x * factor for x in report] for report in row] for row in weather["aggregator"]["reports"]]
        moved = mutated(weather, ("aggregator", "reports"), reports)
        if same:
            finite.check_finite(moved)
        else:
            with pytest.raises(Refused, match=r"does not know the report 1/10 \(family.structures"):
                finite.check_finite(moved)


def test_nothing_claimed_is_nothing_proved(weather: dict[str, Any]) -> None:
    bare = {key: part for key, part in weather.items() if key not in ("upper", "lower", "value")}
    with pytest.raises(Refused, match="the certificate claims nothing"):
        finite.check_finite(bare)


def test_what_cannot_be_certified_is_told() -> None:
    content, family = json.loads(WEATHER.read_text()), rp.load_family(WEATHER)
    with pytest.raises(rp.InputError, match="a FiniteFamily does not keep the signals"):
        finite_certificate("mean", family)  # type: ignore[arg-type]
    with pytest.raises(rp.UnsupportedError, match="additive and the absolute paradigm; the paradigm is 'ratio'"):
        finite_certificate("mean", content, paradigm="ratio")
    with pytest.raises(rp.InputError, match="one number for each of the 2 structures"):
        finite_certificate("mean", content, [1.0])
    structures = [rp.InformationStructure([[0.5, 0.0], [0.25, 0.25]])]
    with pytest.raises(rp.UnsupportedError, match="reports of your own function cannot be computed again"):
        finite_certificate("mean", structures, report=lambda *_: 0.5)  # type: ignore[arg-type]
    other = rp.TableAggregator(np.array([[[0.2], [0.4]]]), np.array([0.3]))
    with pytest.raises(rp.InputError, match="does not answer every report of the family: the table does not know"):
        finite_certificate(other, content)


# --- the verifier stands alone ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mixtures", "finite"])
def test_the_verifier_needs_the_standard_library_only(name: str) -> None:
    source = (Path(finite.__file__).parent / f"{name}.py").read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            ours = node.level == 1 and node.module in ("refusal", "mixtures")
            assert ours or (node.level == 0 and node.module.split(".")[0] in sys.stdlib_module_names)
