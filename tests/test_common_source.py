"""The world common source: its regrets against brute force, its rule, and the proof for two agents."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from quick import slowly
from refusals import input_error, unsupported_error
from robustpool.certificates.common_source import cover_slabs, slab_problem
from robustpool.certificates.dual import prove_interval
from robustpool.certificates.saved_proofs import slabs_from_data
from robustpool.families.common_source import CommonSource, of_source, structure_at
from robustpool.families.worst_case import continuous_regrets
from robustpool.losses.square import Square
from robustpool.structures.common_source_structure import CommonSourceStructure
from robustpool.verification.common_source import Slab, check_upper, close_to_1, read_source
from robustpool.verification.dual import proved
from robustpool.verification.intervals import Interval
from robustpool.verification.reading import Budget, Refused
from robustpool.views import results

if TYPE_CHECKING:
    from robustpool.typing import Floats

RULE = rp.get_rule("common-source")
NUMBERS = {"kind": "common-source", "slope": 0.3222, "d": 0.1908, "kappa": 0.1661, "k": 1.4104}
CRUDE = 0.45  # a bound that a few slabs prove


def regret_by_definition(rule: Any, structure: CommonSourceStructure) -> float:
    """Sum over y, both signals and both outcomes, with the likelihoods of the signals given y."""
    low, high = structure.chances
    y1 = (structure.prior - low) / (high - low)
    total = 0.0
    for signals in product((0, 1), repeat=structure.agents):
        joint = {}
        for y, prior in ((0, 1 - y1), (1, y1)):
            chance = prior
            for (a, b), s in zip(structure.reports, signals, strict=True):
                q = (structure.prior - a) / (b - a)
                belief = ((a, b)[s] - low) / (high - low)
                chance *= (1 - q, q)[s] * (belief / y1 if y else (1 - belief) / (1 - y1))
            joint[y] = chance
        mass = joint[0] + joint[1]
        if mass > 0:
            g = (joint[0] * low + joint[1] * high) / mass
            reports = [pair[s] for pair, s in zip(structure.reports, signals, strict=True)]
            total += mass * (float(rule([reports])[0]) - g) ** 2
    return total


def random_points(count: int, agents: int) -> Floats:
    rng = np.random.default_rng(4)
    points = rng.random((count, 3 + 2 * agents))
    points[:, 0] = rng.normal(0, 1, count)
    return points


@pytest.mark.parametrize("agents", [2, 3])
def test_the_regret_is_that_of_the_definition(agents: int) -> None:
    points = random_points(20, agents)
    beliefs, chances = of_source(points)
    regrets = continuous_regrets(RULE, beliefs, Square(), chances)
    for point, value in zip(points, regrets, strict=True):
        structure = structure_at(point)
        assert value == pytest.approx(regret_by_definition(RULE, structure), abs=1e-12)
        assert value == pytest.approx(rp.regret(RULE, structure.to_information_structure()), abs=1e-12)


def test_chances_0_and_1_are_independent_agents() -> None:
    points = random_points(30, 2)
    points[:, 1:3] = 0.0
    beliefs, chances = of_source(points)
    own = continuous_regrets(RULE, beliefs, Square(), chances)
    np.testing.assert_allclose(own, continuous_regrets(RULE, beliefs, Square()), atol=1e-13)


def test_the_search_finds_no_less_than_a_grid() -> None:
    best = 0.0
    for m in range(1, 5):
        for i, j in product(range(m), range(m + 1, 6)):
            pairs = list(product(range(i, m), range(m + 1, j + 1)))
            for one, two in combinations_with_replacement(pairs, 2):
                structure = CommonSourceStructure(m / 5, [i / 5, j / 5], np.array([one, two]) / 5)
                best = max(best, regret_by_definition(RULE, structure))
    assert 0.02 < best <= rp.worst_case(RULE, CommonSource()).regret + 1e-12


@pytest.mark.parametrize(
    ("agents", "least", "most"), [(2, 0.0234988, 0.02351), (3, 0.0457, 0.0458), slowly((4, 0.0613, 0.0614))]
)
def test_the_worst_cases_of_the_rule(agents: int, least: float, most: float) -> None:
    found: Any = rp.worst_case(RULE, CommonSource(agents))
    assert least <= found.regret <= most
    assert found.regret == pytest.approx(regret_by_definition(RULE, found.structure), abs=1e-12)


@pytest.mark.slow
def test_six_agents() -> None:
    assert rp.worst_case(RULE, CommonSource(6)).regret <= 0.0818


def test_a_range_of_priors_is_about_the_event() -> None:
    found: Any = rp.worst_case(RULE, CommonSource(2, prior_range=(0.3, 0.4)))
    assert 0.3 <= found.structure.prior <= 0.4 + 1e-12
    assert found.regret < 0.0235


def test_a_design_attains_the_published_lower_bound() -> None:
    solution = rp.solve(CommonSource(2, 12), tolerance=1e-5)
    assert solution.lower == pytest.approx(0.023379, abs=1e-6)  # [arXiv2604.24517], unknown state values
    assert solution.upper <= solution.lower + 1e-5


def test_wrong_numbers_are_refused() -> None:
    with input_error(
        r"^chances must be two numbers with the prior 0\.5 strictly between them; they are \[0\.5, 0\.8\]\.$"
    ):
        CommonSourceStructure(0.5, [0.5, 0.8], [[0.5, 0.8], [0.5, 0.8]])
    with input_error(
        r"^reports must lie between the chances \[0\.2, 0\.8\] of the event; they are \[\[0\.1, 0\.6\]\]\.$"
    ):
        CommonSourceStructure(0.5, [0.2, 0.8], [[0.1, 0.6]])
    with input_error(r"^prior_range must hold a multiple of 1/12 between 0 and 1; it is \(0\.01, 0\.02\)\.$"):
        CommonSource(2, prior_range=(0.01, 0.02)).circumstances()
    with unsupported_error(r"^a design for agents with a common source needs a number of reports\.$"):
        CommonSource(2, None).nature(Square(), "additive", [])
    with unsupported_error(r"^a worst case is searched for at most 100 agents; there are 101\.$"):
        rp.worst_case(RULE, CommonSource(101))
    with unsupported_error(
        r"only the rule common-source is certified, for two agents, all priors and the square loss\.$"
    ):
        rp.certify("mean", CommonSource())


# ------------------------------------------------------------------------------------------------------------- the proof


def test_a_certificate_names_the_world() -> None:
    family = {"kind": "common-source", "agents": 2, "prior_range": [0.0, 1.0]}
    certificate = rp.Certificate(
        {"family": family, "loss": "square", "paradigm": "additive", "lower": {"bound": 0.02}, "claims": []}
    )
    _, lines = results.certificate(RULE.name, certificate, "CERT.json", finished=True, seconds=1.0, obstacle=None)
    assert any("2 agents with a common source, any reports, any prior" in line for line in lines)


def test_the_verifier_has_the_same_rule() -> None:
    rule, x = read_source(NUMBERS), np.random.default_rng(0).random((200, 2))
    box = rule.between(Interval(x[:, 0]), Interval(x[:, 1]))
    f = RULE(x)
    assert ((box.lo - 1e-14 <= f) & (f <= box.hi + 1e-14)).all()
    assert (box.hi - box.lo < 1e-12).all()
    for row in x[:20]:
        exact = float(rule.forecast((Fraction(row[0]), Fraction(row[1]))))
        assert exact == pytest.approx(float(RULE(row[None])[0]), abs=1e-14)


def test_the_derivatives_on_boxes_hold_those_at_points() -> None:
    rule, rng, h = read_source(NUMBERS), np.random.default_rng(1), 1e-4
    low = rng.random((300, 2)) * 0.8 + 0.05
    high = low + 0.1 * rng.random((300, 2))
    x = low + rng.random((300, 2)) * (high - low)
    one, two = Interval(low[:, 0], high[:, 0]), Interval(low[:, 1], high[:, 1])
    for agent, (first, second) in enumerate(rule.derivatives(one, two, rule.between(one, two))):
        step = h * np.eye(2)[agent]
        up, here, down = RULE(x + step), RULE(x), RULE(x - step)
        slope, bend = (up - down) / (2 * h), (up - 2 * here + down) / h**2
        assert ((first.lo - 1e-4 <= slope) & (slope <= first.hi + 1e-4)).all()
        assert ((second.lo - 1e-2 <= bend) & (bend <= second.hi + 1e-2)).all()
        assert np.median(first.hi - first.lo) < 1  # they say something


def test_a_slab_holds_the_scaled_rule_for_all_its_chances() -> None:
    slab, rng = Slab(read_source(NUMBERS), 0.2, 0.23), np.random.default_rng(2)
    pi = rng.random((400, 2))
    box = slab.at(pi[:, 0], pi[:, 1], np.zeros((400, 2), dtype=np.int64))
    for p in (0.2, 0.21, 0.215, 0.23):
        scaled = (RULE(p + (1 - p) * pi) - p) / (1 - p)
        assert ((box.lo - 1e-13 <= scaled) & (scaled <= box.hi + 1e-13)).all()
    assert np.max(box.hi - box.lo) < 0.06
    assert slab.least < -0.05  # where both report p, f < p
    assert slab.bound(0.02) <= 0.02 / 0.8**2


def test_slopes_prove_the_bound_on_a_slab_and_no_smaller_one() -> None:
    slab = Slab(read_source(NUMBERS), 0.2, 0.21)
    goal = slab.bound(0.02549)
    problem = slab_problem(slab, RULE)
    proof: Any = prove_interval(problem, (0.5, 0.55), goal, 0.03 * goal)
    assert proof.bound <= goal
    assert proved(slab, proof.slopes, goal, Budget(), symmetric=True)
    assert not proved(slab, proof.slopes, 0.92 * goal, Budget(), symmetric=True)  # 0.0235, what is found


@pytest.fixture(scope="module")
def witness() -> dict[str, Any]:
    *_, last = cover_slabs(read_source(NUMBERS), RULE, CRUDE)
    assert last.finished
    return {"kind": "slabs", "slabs": last.entries}


@pytest.mark.slow
def test_a_proof_goes_on_from_any_of_its_slabs(witness: dict[str, Any]) -> None:
    rule = read_source(NUMBERS)
    first, second, *_ = cover_slabs(rule, RULE, CRUDE)
    saved = slabs_from_data(json.loads(json.dumps(second._asdict())))
    *_, last = cover_slabs(rule, RULE, CRUDE, start=saved)
    assert last.entries == witness["slabs"]
    with input_error("the slabs cannot be what was saved"):
        slabs_from_data({**second._asdict(), "entries": first.entries})


@pytest.mark.slow
def test_a_crude_bound_is_proved_and_a_forged_one_refused(witness: dict[str, Any]) -> None:
    rule = read_source(NUMBERS)
    check_upper(rule, witness, CRUDE, Budget())
    with pytest.raises(Refused, match=r"do(es)? not prove the bound"):
        check_upper(rule, witness, 0.01, Budget())
    for slabs, sentence in (
        (witness["slabs"][:-1], r"^the chances from [0-9.]+ on are not covered\.$"),
        (witness["slabs"][1:], r"^the chances from 0 to [0-9.]+ are not covered, or not in order\.$"),
    ):
        with pytest.raises(Refused, match=sentence):
            check_upper(rule, {**witness, "slabs": slabs}, CRUDE, Budget())


def test_from_some_chance_on_forecast_and_truth_are_close() -> None:
    rule = read_source(NUMBERS)
    assert close_to_1(rule, 0.85, 0.0255)
    assert not close_to_1(rule, 0.83, 0.0255)
    assert not close_to_1(rule, 0.45, 0.3024)  # there f(p, p) < p


def test_the_numbers_of_the_rule_have_ranges() -> None:
    with pytest.raises(Refused, match=r"^aggregator must have 0 < slope <= 4, 0 < d <= 1"):
        read_source({**NUMBERS, "d": 2.0})
