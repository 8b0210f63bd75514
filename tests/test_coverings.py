"""Distances between structures, and how close the grid Theta^bci_{N,M} comes to all of them [Guo2024, Sections 5, 6]."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import input_error
from robustpool.errors import SolverError
from robustpool.structures.binary_structure import BinaryStructure
from robustpool.structures.information_structure import InformationStructure
from robustpool.theory import coverings
from robustpool.theory.coverings import nearest_on_grid
from robustpool.theory.distances import Structure, earth_mover, total_variation
from test_binary_structure import TINY, priors, structures

SLACK = 1e-8  # of the linear programme
law = settings(max_examples=60, deadline=None)

pairs_of_agents = structures(least=2, most=2)
epsilons = st.floats(1e-6, 0.999)


@st.composite
def grids(draw: st.DrawFn) -> tuple[int, int]:
    """N and M > N, often with N no divisor of M."""
    N = draw(st.integers(1, 40))
    return N, N + draw(st.integers(1, 120))


@st.composite
def discrete(draw: st.DrawFn, N: int, agents: int) -> BinaryStructure:
    """A structure with reports in [1/N] and any prior; one that is itself in [1/N] half of the time, if N > 1."""
    on_grid = N > 1 and draw(st.booleans())
    mu = draw(st.integers(1, N - 1)) / N if on_grid else draw(priors)
    below, above = (round(N * mu),) * 2 if on_grid else (math.floor(N * mu), math.ceil(N * mu))
    low = [min(draw(st.integers(0, below)) / N, mu) for _ in range(agents)]
    high = [max(draw(st.integers(above, N)) / N, mu) for _ in range(agents)]
    return BinaryStructure(mu, np.stack([low, high], axis=1))


def assert_member(structure: BinaryStructure, N: int, M: int) -> None:
    """Prior in [1/M], reports in [1/N], to the last digit."""
    assert structure.prior == round(M * structure.prior) / M
    assert np.array_equal(structure.reports, np.rint(N * structure.reports) / N)


# ----------------------------------------------------------------------------------------------------------- distances


@law
@given(pairs_of_agents, pairs_of_agents, pairs_of_agents)
def test_both_are_metrics(one: BinaryStructure, two: BinaryStructure, three: BinaryStructure) -> None:
    for distance, largest in ((total_variation, 1), (earth_mover, 2)):
        direct = distance(one, three)
        assert distance(one, one) == 0
        assert 0 <= direct <= largest + SLACK
        assert direct == pytest.approx(distance(three, one), abs=SLACK)
        assert direct <= distance(one, two) + distance(two, three) + SLACK
    assert earth_mover(one, two) <= 2 * total_variation(one, two) + SLACK  # [Guo2024, Proposition 6.8], the proof


@law
@given(pairs_of_agents, pairs_of_agents)
def test_priors_are_no_further_apart_than_reports(one: BinaryStructure, two: BinaryStructure) -> None:
    """[Guo2024, Lemma 5.7]."""
    apart = abs(one.prior - two.prior)
    assert apart <= total_variation(one, two) + SLACK
    assert apart <= earth_mover(one, two) + SLACK


def many_signals(rng: np.random.Generator, agents: int, signals: int) -> InformationStructure:
    """Conditionally independent agents with many signals; some signals rule a state out."""
    mu = rng.choice([TINY, rng.uniform(), 1 - TINY])
    joint = np.array([[1 - mu], [mu]])
    for _ in range(agents):
        likelihoods = rng.dirichlet(np.full(signals, 0.3), size=2)
        likelihoods[rng.integers(2), rng.integers(signals)] = 0
        likelihoods /= likelihoods.sum(axis=1, keepdims=True)
        joint = (joint[:, :, None] * likelihoods[:, None]).reshape(2, -1)
    return InformationStructure(joint.reshape(2, *(signals,) * agents))


def report_distribution(structure: Structure) -> dict[tuple[float, ...], float]:
    """Probability of each report profile, by plain loops; reports rounded to 12 digits."""
    whole = structure.to_information_structure() if isinstance(structure, BinaryStructure) else structure
    said = [whole.posterior(agent)[:, 1].round(12) for agent in range(whole.agents)]
    chances: dict[tuple[float, ...], float] = {}
    for signals in np.ndindex(*whole.joint.shape[1:]):
        profile = tuple(float(said[agent][signal]) for agent, signal in enumerate(signals))
        chances[profile] = chances.get(profile, 0.0) + float(whole.joint[(slice(None), *signals)].sum())
    return chances


def reference_distances(one: Structure, two: Structure) -> tuple[float, float]:
    """Total variation by its definition; earth mover by its own, the 1-Lipschitz function that tells them apart best."""
    P, Q = report_distribution(one), report_distribution(two)
    profiles = sorted(P.keys() | Q.keys())
    difference = np.array([P.get(x, 0.0) - Q.get(x, 0.0) for x in profiles])
    lengths = np.abs(np.array(profiles)[:, None] - np.array(profiles)).sum(axis=2)
    h = cp.Variable(len(profiles))
    steep = [h[i] - h[j] <= lengths[i, j] for i, j in np.ndindex(*lengths.shape) if i != j]
    problem = cp.Problem(cp.Maximize(difference @ h), [h[0] == 0, *steep])
    problem.solve(solver=cp.CLARABEL)
    return float(np.abs(difference).sum() / 2), float(problem.value)


@pytest.mark.parametrize("seed", range(12))
def test_distances_agree_with_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agents = 1 + seed % 2
    one, two = many_signals(rng, agents, 3), many_signals(rng, agents, 2 + seed % 3)
    variation, earth = reference_distances(one, two)
    assert total_variation(one, two) == pytest.approx(variation, abs=1e-9)
    assert earth_mover(one, two) == pytest.approx(earth, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(pairs_of_agents, pairs_of_agents)
def test_distances_of_binary_structures_are_as_defined(one: BinaryStructure, two: BinaryStructure) -> None:
    variation, earth = reference_distances(one, two)
    assert total_variation(one, two) == pytest.approx(variation, abs=1e-9)
    assert earth_mover(one, two) == pytest.approx(earth, abs=1e-6)


def test_reports_that_differ_by_rounding_are_the_same() -> None:
    one, two = BinaryStructure(0.5, [[0.1 + 0.2, 0.9]]), BinaryStructure(0.5, [[0.3, 1 - 0.1]])
    assert total_variation(one, two) == pytest.approx(0, abs=1e-15)
    assert total_variation(one, BinaryStructure(0.5, [[0.3001, 0.9]])) > 0.6


def test_small_distances_keep_their_digits() -> None:
    one, two = BinaryStructure(0.5, [[0, 1]]), BinaryStructure(0.5 + 1e-12, [[0, 1]])
    assert earth_mover(one, two) == pytest.approx(1e-12, rel=1e-3)


def test_agents_who_learn_nothing_differ_by_their_priors() -> None:
    one, two = BinaryStructure(0.2, [[0.2, 0.2]] * 2), BinaryStructure(0.5, [[0.5, 0.5]] * 2)
    assert total_variation(one, two) == pytest.approx(1)
    assert earth_mover(one, two) == pytest.approx(0.6)


def test_structures_with_other_agents_have_no_distance() -> None:
    with input_error(r"^structures of a family must have the same states and agents; structure 1 has"):
        total_variation(BinaryStructure(0.5, [[0, 1]]), BinaryStructure(0.5, [[0, 1]] * 2))


@pytest.mark.parametrize(
    ("prices", "plan", "sentence"),
    [
        ([0, 0, 0], [0.5, 0.5], None),
        ([0, 0, 1.9e-9], [0.5, 0.5], None),  # the bound is missed by half of that
        ([0, 0, 2.1e-9], [0.5, 0.5], r"must meet its bound; it costs 0\.5, the bound is 0\.499999998"),
        ([0, 0, 0], [0.5, 0.5 + 0.45e-9], None),  # both marginals are missed by it
        ([0, 0, 0], [0.5, 0.5 + 0.55e-9], r"must meet its bound; it costs 0\.500000000\d+, the bound is 0\.5,"),
        ([0, 0, 1], [0.5, 0.5], r"must meet its bound; it costs 0\.5, the bound is 0, and its marginals miss by 0\.$"),
        ([0, 0, 0], [0.5, 0.2], r"must meet its bound; it costs 0\.35, the bound is 0\.5, and .* miss by 0\.6\.$"),
        ([0, 0, 0], [1.0, 0.0], r"^the earth mover's plan must meet its bound; it costs 0\.5, .* miss by 1\.$"),
        (None, [0.5, 0.5], r"^the earth mover's linear programme failed \(time limit\)\.$"),
    ],
)
def test_a_wrong_plan_is_found_out(
    monkeypatch: pytest.MonkeyPatch, prices: list[float] | None, plan: list[float], sentence: str | None
) -> None:
    """From one source, 1/2, to the sinks 0 and 1; the first forgery is the truth."""
    result = SimpleNamespace(
        x=None if prices is None else np.array(prices),
        ineqlin=SimpleNamespace(marginals=-np.array(plan)),
        message="time limit",
    )
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: result)
    nothing, everything = BinaryStructure(0.5, [[0.5, 0.5]]), BinaryStructure(0.5, [[0, 1]])
    if sentence is None:
        assert earth_mover(nothing, everything) == pytest.approx(0.5, abs=1e-9)
    else:
        with pytest.raises(SolverError, match=sentence):
            earth_mover(nothing, everything)


# ------------------------------------------------------------------------------------------------------- concentration


@law
@given(pairs_of_agents, epsilons)
def test_reports_far_from_the_prior_are_rare(structure: BinaryStructure, epsilon: float) -> None:
    """[Guo2024, Lemma 5.6]."""
    for q, x in zip(structure.signal_probabilities, structure.reports, strict=True):
        assert q[x <= epsilon].sum() <= (1 - structure.prior) / (1 - epsilon) + 1e-12
        assert q[x >= 1 - epsilon].sum() <= structure.prior / (1 - epsilon) + 1e-12


@law
@given(pairs_of_agents, epsilons)
def test_reports_that_contradict_each_other_are_rare(structure: BinaryStructure, epsilon: float) -> None:
    """[Guo2024, Lemma 6.4]."""
    apart = np.abs(np.diff(structure.profiles(), axis=1)[:, 0])
    assert structure.probabilities()[apart >= 1 - epsilon].sum() <= 2 * epsilon / (1 - epsilon) + 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_concentration_with_many_signals(seed: int) -> None:
    """[Guo2024, Lemmas 5.6, 6.4], where an agent has six signals."""
    rng = np.random.default_rng(seed)
    structure = many_signals(rng, 2, 6)
    chances = report_distribution(structure)
    mu = structure.prior[1]
    for epsilon in rng.uniform(size=20):
        first_low = sum(p for (x, _), p in chances.items() if x <= epsilon)
        contradict = sum(p for (x, y), p in chances.items() if abs(x - y) >= 1 - epsilon)
        assert first_low <= (1 - mu) / (1 - epsilon) + 1e-9
        assert contradict <= 2 * epsilon / (1 - epsilon) + 1e-9


# ----------------------------------------------------------------------------------------------------------- coverings


@law
@given(st.data(), grids(), st.integers(1, 3))
def test_the_grid_covers_structures_with_discrete_reports(data: st.DataObject, grid: tuple[int, int], n: int) -> None:
    """[Guo2024, Lemma 5.9], and the sharper nN/M."""
    N, M = grid
    structure = data.draw(discrete(N, n))
    near = nearest_on_grid(structure, N, M)
    assert_member(near, N, M)
    assert abs(near.prior - structure.prior) <= 1 / M + 1e-15
    apart = total_variation(structure, near)
    assert apart <= coverings.sharper_tv_bound(N, M, agents=n) + 1e-12
    assert n > 2 or apart <= coverings.tv_covering_bound(N, M)


@law
@given(pairs_of_agents, grids())
def test_the_grid_covers_all_structures(structure: BinaryStructure, grid: tuple[int, int]) -> None:
    """[Guo2024, Proposition 6.8], and the sharper 4/N + 2/M."""
    N, M = grid
    near = nearest_on_grid(structure, N, M)
    assert_member(near, N, M)
    apart = earth_mover(structure, near)
    assert apart <= coverings.lipschitz_covering_bound(N, M)
    assert apart <= coverings.sharper_em_bound(N, M) + SLACK
    if abs(N * structure.prior - round(N * structure.prior)) > 1e-6:  # else an agent may learn nothing
        outward = (structure.reports - near.reports) * [1, -1]
        assert np.all((outward >= -SLACK) & (outward <= 1 / N + SLACK))


@settings(max_examples=30, deadline=None)
@given(structures(least=3, most=3), grids())
def test_the_grid_covers_three_agents(structure: BinaryStructure, grid: tuple[int, int]) -> None:
    near = nearest_on_grid(structure, *grid)
    assert_member(near, *grid)
    assert earth_mover(structure, near) <= coverings.sharper_em_bound(*grid, agents=3) + SLACK


@law
@given(pairs_of_agents, st.integers(1, 60))
def test_rounding_the_reports_outward(structure: BinaryStructure, N: int) -> None:
    """[Guo2024, Lemma 6.9], and the sharper 4/N; the prior is kept."""
    low, high = structure.reports.T
    reports = np.stack([np.minimum(np.floor(N * low) / N, low), np.maximum(np.ceil(N * high) / N, high)], axis=1)
    apart = earth_mover(structure, BinaryStructure(structure.prior, np.minimum(reports, 1)))
    assert apart <= coverings.em_covering_bound(N)
    assert apart <= 4 / N + SLACK


@law
@given(st.lists(st.tuples(st.floats(0, 0.4), st.floats(0.6, 1)), min_size=1, max_size=3), st.data())
def test_moving_the_prior_costs_its_way_for_each_agent(reports: list[tuple[float, float]], data: st.DataObject) -> None:
    """With the reports kept, d_EM = n |mu - mu'| exactly: every report moves up, or none does."""
    low, high = max(a for a, _ in reports), min(b for _, b in reports)
    one, two = (BinaryStructure(data.draw(st.floats(max(low, 0.01), min(high, 0.99))), reports) for _ in range(2))
    moved = abs(one.prior - two.prior)
    assert earth_mover(one, two) == pytest.approx(len(reports) * moved, abs=SLACK)
    assert total_variation(one, two) <= sum(moved / (b - a) for a, b in reports) + 1e-12


@law
@given(grids(), st.data())
def test_a_member_is_its_own_neighbour(grid: tuple[int, int], data: st.DataObject) -> None:
    N, M = grid
    k = data.draw(st.integers(1, M - 1))
    low = [data.draw(st.integers(0, N * k // M)) / N for _ in range(2)]
    high = [data.draw(st.integers(-(-N * k // M), N)) / N for _ in range(2)]
    member = BinaryStructure(k / M, np.stack([low, high], axis=1))
    assert total_variation(member, nearest_on_grid(member, N, M)) <= 1e-12


@pytest.mark.parametrize(("N", "M"), [(2, 3), (10, 25), (3, 100)])
def test_an_agent_who_learns_nothing_need_not_be_on_the_grid(N: int, M: int) -> None:
    """The proof of Lemma 5.9 says that she is a member already; 1/N is a multiple of 1/M only if N divides M."""
    mu = 1 / N
    assert (Fraction(1, N) * M).denominator > 1
    structure = BinaryStructure(mu, [[mu, mu], [0.0, 1.0]])
    near = nearest_on_grid(structure, N, M)
    assert_member(near, N, M)
    assert near.reports[0, 0] < near.prior < near.reports[0, 1]
    assert mu in near.reports[0]
    assert 0 < total_variation(structure, near) <= coverings.sharper_tv_bound(N, M)


def test_prior_and_report_that_agree_up_to_rounding() -> None:
    """Here 0.3 and the next smaller float are one report: both agents learn nothing, though neither pair is equal."""
    mu = math.nextafter(0.3, 0)
    near = nearest_on_grid(BinaryStructure(mu, [[0.1, 0.3], [math.nextafter(mu, 0), 0.5]]), N=10, M=25)
    assert near.prior == 7 / 25
    assert near.reports.tolist() == [[0.2, 0.3], [0.2, 0.3]]


@pytest.mark.parametrize("mu", [TINY, 1 - TINY])
def test_the_nearest_prior_is_never_certain(mu: float) -> None:
    near = nearest_on_grid(BinaryStructure(mu, [[0.0, 1.0], [mu, mu]]), N=5, M=7)
    assert near.prior in (1 / 7, 6 / 7)


def test_bounds_are_the_papers() -> None:
    assert coverings.tv_covering_bound(20, 400) == pytest.approx(6 * 20 / 400)
    assert coverings.em_covering_bound(25) == pytest.approx(8 / 5 + 4 / 25)
    assert coverings.lipschitz_covering_bound(25, 125) == pytest.approx(12 * 25 / 125 + 8 / 5 + 4 / 25)
    for N in (4, 100, 10**6):  # M = N^(3/2) gives 24/sqrt(N), as the proof of Theorem 6.1 says
        assert coverings.lipschitz_covering_bound(N, round(N**1.5)) <= 24 / N**0.5


@pytest.mark.parametrize(
    ("N", "M", "sentence"),
    [
        (0, 5, r"^N must be a whole number, at least 1; it is 0\.$"),
        (2.5, 5, r"^N must be a whole number, at least 1; it is 2\.5\.$"),
        (5, True, r"^M must be a whole number, at least 1; it is True\.$"),
        (5, 5, r"^M must be greater than N; M is 5 and N is 5\.$"),
        (5, 4, r"^M must be greater than N; M is 4 and N is 5\.$"),
    ],
)
def test_what_is_no_grid(N: int, M: int, sentence: str) -> None:
    structure = BinaryStructure(0.4, [[0.2, 0.6]])
    for refuses in (
        lambda: nearest_on_grid(structure, N, M),
        lambda: coverings.tv_covering_bound(N, M),
        lambda: coverings.lipschitz_covering_bound(N, M),
        lambda: coverings.sharper_tv_bound(N, M),
        lambda: coverings.sharper_em_bound(N, M),
    ):
        with input_error(sentence):
            refuses()


def test_what_else_is_refused() -> None:
    with input_error(r"^N must be a whole number, at least 1; it is 0\.$"):
        coverings.em_covering_bound(0)
    for bound in (coverings.sharper_tv_bound, coverings.sharper_em_bound):
        with input_error(r"^agents must be a whole number, at least 1; it is 0\.$"):
            bound(2, 3, agents=0)
