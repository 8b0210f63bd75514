"""Two conditionally independent agents: the family, symmetry, nature's exact response, Algorithms 1 and 2."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator
from scipy.spatial import cKDTree

import reference
import robustpool as rp
from quick import only
from refusals import input_error, unsupported_error
from robustpool.aggregators.grid import COMPILED_FROM
from robustpool.families.finite_game import finite_game
from robustpool.families.grid_oracle import worst_any_prior, worst_by_pair, worst_by_prior
from robustpool.game.responders import best_responder
from robustpool.losses import get_loss
from robustpool.structures.binary_structure import omniscient_posterior


def enumerated_regrets(N: int, M: int, f: Any) -> list[tuple[float, float]]:
    """(mu, regret) of every structure, by plain loops over fractions."""
    found = []
    for mu, points in reference.independent_structures(N, M):
        total = 0.0
        for x, z, with_0, with_1 in points:
            chance = float(with_0 + with_1)
            if chance > 0:
                total += chance * (f[int(x * N), int(z * N)] - float(with_1 / (with_0 + with_1))) ** 2
        found.append((float(mu), total))
    return found


# --- the family ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("N", "M"), [(1, 2), (2, 2), (3, 7), (4, 8), (5, 10), (6, 4)])
def test_every_structure_is_there_once(N: int, M: int) -> None:
    family = rp.ConditionallyIndependent(2, N, M)
    enumerated = family.enumerate(pruned=False)
    f = np.random.default_rng(N).random((N + 1, N + 1))
    table = rp.TableAggregator(enumerated.flat.reports, f.ravel())
    ours = sorted(zip(enumerated.priors / M, rp.regrets(table, enumerated.flat), strict=True))
    plain = sorted(enumerated_regrets(N, M, f))
    assert len(ours) == len(plain) == family.count(pruned=False)
    np.testing.assert_allclose(np.array(ours), np.array(plain), atol=1e-14)


@pytest.mark.parametrize(("N", "M"), [(2, 2), (3, 6), (4, 7), (4, 8)])
def test_pruning_keeps_a_structure_of_each_kind(N: int, M: int) -> None:
    """Against a table that is symmetric in agents and states the same regrets occur, at the priors of the lower half."""
    family = rp.ConditionallyIndependent(2, N, M)
    f = np.random.default_rng(N).random((N + 1, N + 1))
    f = f + f.T
    f = (f + 2 - f[::-1, ::-1]) / 4

    def kinds(*, pruned: bool) -> np.ndarray[Any, Any]:
        """Prior, mirrored into the lower half, and regret of each structure, as points of the plane."""
        enumerated = family.enumerate(pruned=pruned)
        regrets = rp.regrets(rp.TableAggregator(enumerated.flat.reports, f.ravel()), enumerated.flat)
        return np.stack((np.minimum(enumerated.priors, M - enumerated.priors), regrets), axis=1)

    for one, other in ((kinds(pruned=True), kinds(pruned=False)), (kinds(pruned=False), kinds(pruned=True))):
        assert np.max(cKDTree(one).query(other)[0]) < 1e-12


def test_pruning_leaves_about_a_sixteenth_of_the_labelled_structures() -> None:
    family = rp.ConditionallyIndependent(2, 20, 400)
    labelled = 4 * family.count(pruned=False)  # both agents' signals may be renamed
    assert 15 < labelled / family.count(pruned=True) < 16
    assert len(family.enumerate().flat) == family.count(pruned=True)


@pytest.mark.parametrize("lipschitz", [None, 0.8])
@pytest.mark.parametrize(("N", "M"), [(3, 6), (4, 8), (5, 7)])
def test_the_pruned_and_the_full_game_have_the_same_value(N: int, M: int, lipschitz: float | None) -> None:
    family = rp.ConditionallyIndependent(2, N, M)
    full = rp.solve(family.enumerate(pruned=False).flat, tolerance=1e-7, lipschitz=lipschitz)
    for method, tolerance in (("multiplicative-weights", 1e-5), ("cutting-planes", 1e-7)):
        pruned = rp.solve(family, tolerance=tolerance, lipschitz=lipschitz, method=method)
        assert pruned.stopped is full.stopped is rp.Stopped.GAP
        assert max(pruned.lower, full.lower) <= min(pruned.upper, full.upper) + 1e-9


def test_the_table_of_the_pruned_game_is_symmetric_and_has_its_regret_on_the_full_family() -> None:
    family = rp.ConditionallyIndependent(2, 6, 12)
    solution: Any = rp.solve(family, tolerance=1e-4)
    f = solution.aggregator.values
    np.testing.assert_array_equal(f, f.T)
    np.testing.assert_allclose(f, 1 - f[::-1, ::-1], atol=1e-15)
    regrets = rp.regrets(solution.aggregator, family.enumerate(pruned=False).flat)
    assert regrets.max() == pytest.approx(solution.upper, abs=1e-14)


@pytest.mark.parametrize("method", ["cutting-planes", "multiplicative-weights"])
def test_the_lower_bound_belongs_to_the_mixture_as_it_is_saved(method: str) -> None:
    """Symmetrise the mixture on the full family by hand: no aggregator at all does better against it."""
    family = rp.ConditionallyIndependent(2, 5, 10)
    solution = rp.solve(family, tolerance=1e-4, method=method)
    structures: Any = solution.mixture.structures
    priors, reports = structures.parameters(np.flatnonzero(solution.mixture.weights))
    joints: list[Any] = []
    weights: list[float] = []
    positive = solution.mixture.weights[solution.mixture.weights > 0]
    for prior, pairs, weight in zip(priors, reports, positive, strict=True):
        if not 0 < prior < 1:
            continue
        one = rp.BinaryStructure(prior, pairs)
        swapped = rp.BinaryStructure(one.prior, one.reports[::-1])
        for image in (one, swapped, one.mirrored(), swapped.mirrored()):
            joints.append(image.to_information_structure().joint)
            weights.append(weight / 4)
    game = finite_game(rp.FiniteFamily.from_joints(np.array(joints)), get_loss("square"), "additive", ())
    share = np.array(weights) / sum(weights)
    value = best_responder(game.tables)(game.masses(share)).least - share @ game.offset
    assert value >= solution.lower - 1e-12  # without the certain structures, which add nothing, it can only be more


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reports": 0}, r"reports must be a whole number, at least 1; it is 0"),
        ({"priors": 1}, r"priors must be a whole number, at least 2; it is 1"),
        ({"agents": 0}, r"agents must be a whole number, at least 1; it is 0"),
        ({"reports": 2.5}, r"reports must be a whole number, at least 1; it is 2\.5"),
    ],
)
def test_bad_families_get_one_sentence(arguments: dict[str, Any], message: str) -> None:
    with input_error(message):
        rp.ConditionallyIndependent(**arguments)


def test_a_range_of_priors_is_mirrored_up_to_rounding() -> None:
    assert rp.ConditionallyIndependent(2, 10, None, (0.3, 0.7)).mirrored
    assert not rp.ConditionallyIndependent(2, 10, None, (0.3, 0.6)).mirrored
    for sign in (-1, 1):
        assert rp.ConditionallyIndependent(2, 10, None, (0.3, 0.7 + sign * 0.9e-12)).mirrored
        assert not rp.ConditionallyIndependent(2, 10, None, (0.3, 0.7 + sign * 1.1e-12)).mirrored


def test_the_ends_of_a_range_of_priors_belong_to_it_up_to_rounding() -> None:
    """0.07 * 100 is 7.000000000000001, and 0.29 * 100 is 28.999999999999996."""

    def numbers(low: float, high: float) -> list[int]:
        return rp.ConditionallyIndependent(2, 10, 100, (low, high)).prior_numbers.tolist()

    assert numbers(0.07, 0.29) == list(range(7, 30))
    assert numbers(0.07 + 0.9e-9, 0.29 - 0.9e-9) == list(range(7, 30))
    assert numbers(0.07 + 1.1e-9, 0.29 - 1.1e-9) == list(range(8, 29))


def test_what_cannot_be_written_out_says_so() -> None:
    with unsupported_error("a family with continuous priors cannot be listed; give a number of priors"):
        rp.solve(rp.ConditionallyIndependent(2, 20, None), method="multiplicative-weights")
    with unsupported_error("a family with continuous reports cannot be listed"):
        rp.solve(rp.ConditionallyIndependent(2, None, 20))
    with input_error(r"structures of 2 agents would need about [\d,]+ GB of memory"):
        rp.solve(rp.ConditionallyIndependent(2, 200, 4000), method="multiplicative-weights")


# --- nature's exact best response -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("N", only([1, 2, 3, 6], range(1, 9)))
def test_nature_agrees_with_brute_force(N: int) -> None:
    """Over every prior and pair of reports, for rough tables, rules and tables of zeros and ones."""
    rng = np.random.default_rng(N)
    x = np.arange(N + 1) / N
    for M in (2 * N + 1, 2 * N):
        for f in (rng.random((N + 1, N + 1)), (x[:, None] + x) / 2, rng.integers(0, 2, (N + 1, N + 1)).astype(float)):
            worst: dict[float, float] = {}
            for mu, regret in enumerated_regrets(N, max(M, 2), f):
                worst[mu] = max(regret, worst.get(mu, 0.0))
            priors = np.arange(1, max(M, 2)) / max(M, 2)
            response = worst_by_prior(x, f, priors)
            for prior, value in zip(priors, response.values, strict=True):
                assert value == pytest.approx(worst[prior], abs=1e-13)
            structure = response.structure()
            table = rp.GridAggregator(f)
            assert rp.regret(table, structure.to_information_structure()) == pytest.approx(response.value, abs=1e-12)


def test_nature_under_the_log_loss_agrees_with_brute_force() -> None:
    rng = np.random.default_rng(5)
    family = rp.ConditionallyIndependent(2, 5, 10)
    f = 0.05 + 0.9 * rng.random((6, 6))
    enumerated = family.enumerate(pruned=False)
    values = rp.regrets(rp.TableAggregator(enumerated.flat.reports, f.ravel()), enumerated.flat, loss="log")
    inner = (enumerated.priors > 0) & (enumerated.priors < 10)
    response = worst_by_prior(family.report_grid, f, family.prior_grid[1:-1], loss="log")
    assert response.value == pytest.approx(values[inner].max(), abs=1e-12)


@pytest.mark.parametrize("game", [{}, {"loss": "log"}, {"paradigm": "absolute"}])
def test_the_pairs_that_bounds_rule_out_do_not_matter(game: dict[str, str]) -> None:
    """The same as the envelopes of all pairs one by one, for rules, rough tables and one that tells the agents apart."""
    rng = np.random.default_rng(8)
    x = np.arange(41) / 40
    pairs = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    minimax = 0.01 + 0.98 * rp.get_rule("minimax")(pairs).reshape(41, 41)
    rough = np.clip(minimax + 0.01 * rng.standard_normal((41, 41)), 0.01, 0.99)
    for f in (minimax, (rough + rough.T) / 2, rough, 0.05 + 0.9 * rng.random((41, 41))):
        for priors in (np.array([0.011, 0.1, 0.33, 0.5, 0.7]), rng.random(3)):
            one_by_one = [worst_by_pair(x, f, np.array([prior]), **game).value for prior in priors]
            np.testing.assert_allclose(worst_by_prior(x, f, priors, **game).values, one_by_one, rtol=0, atol=1e-15)


def test_a_forecast_that_can_be_infinitely_wrong_is_found_at_every_prior() -> None:
    x = np.arange(4) / 3
    for i, k in ((1, 2), (0, 0), (2, 2)):
        f = np.full((4, 4), 0.5)
        f[i, k] = 1.0  # the first state has a chance at these reports
        assert np.isinf(worst_by_prior(x, f, np.array([0.2, 0.5, 0.8]), loss="log").values).all()


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_more_than_two_signals_do_not_help_nature(seed: int) -> None:
    """[Guo2024, Lemma 3.5]: whatever marginals with mean mu, binary ones are at least as bad."""
    rng = np.random.default_rng(seed)
    N = int(rng.integers(2, 9))
    x = np.arange(N + 1) / N
    mu = float(rng.uniform(0.05, 0.95))
    f = rng.random((N + 1, N + 1))
    marginals = []
    for _ in range(2):
        q = rng.dirichlet(np.full(N + 1, 0.5))
        mean = q @ x  # bring the mean to mu by mixing with a report of 0 or of 1
        end, share = (N, (mu - mean) / (1 - mean)) if mean < mu else (0, (mean - mu) / mean)
        q = (1 - share) * q
        q[end] += share
        marginals.append(q)
    c = np.outer(x, x) / mu + np.outer(1 - x, 1 - x) / (1 - mu)
    g = np.divide(np.outer(x, x) / mu, c, out=np.zeros_like(c), where=c > 0)
    many = marginals[0] @ (c * (f - g) ** 2) @ marginals[1]
    assert many <= worst_by_prior(x, f, np.array([mu])).value + 1e-13


def test_continuous_priors_beat_every_grid_of_priors() -> None:
    rng = np.random.default_rng(3)
    x = np.arange(9) / 8
    pairs = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    between = [rp.get_rule(name)(pairs).reshape(9, 9) for name in ("product", "extremized-odds")]  # the coarse priors
    for f in ((x[:, None] + x) / 2, rng.random((9, 9)), *between):
        free = worst_any_prior(x, f)
        dense = worst_by_prior(x, f, np.arange(1, 20_000) / 20_000)
        assert free.value >= dense.value - 1e-12
        assert free.value <= dense.value + 1e-3


def test_with_continuous_priors_each_structure_comes_once_and_at_its_best_prior() -> None:
    """Few and deep cuts: no other prior near it pays more with the same reports."""
    x = np.arange(13) / 12
    pairs = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    f = rp.get_rule("geometric-odds")(pairs).reshape(13, 13)
    table, response = rp.GridAggregator(f), worst_any_prior(x, f, prior_range=(0.1, 0.6))

    def regret(prior: float, reports: Any) -> float:
        return rp.regret(table, rp.BinaryStructure(prior, reports.reshape(2, 2)).to_information_structure())

    assert len(np.unique(response.labels[:, 1:], axis=0)) == len(response.labels) < 200
    for value, (prior, *reports) in zip(response.values[:30], response.labels[:30], strict=True):
        low, high = max(0.1, reports[0], reports[2]), min(0.6, reports[1], reports[3])
        assert value == pytest.approx(regret(prior, np.array(reports)), abs=1e-13)
        for other in np.clip((prior - 1e-3, prior + 1e-3), low, high):
            assert value >= regret(float(other), np.array(reports)) - 1e-12


# --- Algorithm 1 and Algorithm 2 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("N", [4, 5, 6, pytest.param(8, marks=pytest.mark.slow)])
def test_value_on_small_grids_agrees_with_an_independent_enumeration(N: int) -> None:
    value = reference.independent_value(N, 2 * N)
    for method, tolerance in (("multiplicative-weights", 1e-5), ("cutting-planes", 1e-8)):
        solution = rp.solve(rp.ConditionallyIndependent(2, N, 2 * N), tolerance=tolerance, method=method)
        assert solution.stopped is rp.Stopped.GAP
        assert solution.lower - 1e-7 <= value <= solution.upper + 1e-7


@pytest.mark.parametrize("L", [0.5, 1.0, 3.0])
def test_lipschitz_value_agrees_with_an_independent_enumeration(L: float) -> None:
    value = reference.independent_value(5, 10, lipschitz=L)
    for method, tolerance in (("multiplicative-weights", 1e-5), ("cutting-planes", 1e-8)):
        options: Any = {"lipschitz": L, "tolerance": tolerance, "method": method}
        solution: Any = rp.solve(rp.ConditionallyIndependent(2, 5, 10), **options)
        assert solution.lower - 1e-7 <= value <= solution.upper + 1e-7
        assert solution.aggregator.lipschitz <= L + 1e-9


def test_half_lipschitz_is_the_average() -> None:
    """With L = 1/2 the plain average attains the value 1/16."""
    solution = rp.solve(rp.ConditionallyIndependent(2, 8, 40), lipschitz=0.5, tolerance=1e-5)
    assert solution.lower <= 1 / 16 <= solution.upper + 1e-12


def test_the_value_falls_as_the_constant_grows_until_the_grid_no_longer_feels_it() -> None:
    family = rp.ConditionallyIndependent(2, 6, 24)
    values = [rp.solve(family, lipschitz=L, tolerance=1e-4) for L in (0.5, 1, 2, 4, 6)]
    assert all(tight.upper >= loose.lower for tight, loose in pairwise(values))
    free = rp.solve(family, tolerance=1e-4)
    assert (values[-1].lower, values[-1].upper) == (free.lower, free.upper)  # N <= L: the constraint is empty


def test_three_agents_on_a_small_grid() -> None:
    """The lower bound for n = 3 from mirrored pairs of structures, 0.0444770 over all priors, is nearly met on a grid."""
    solution: Any = rp.solve(rp.ConditionallyIndependent(3, 4, 16), tolerance=1e-3)
    assert solution.aggregator.agents == 3
    assert solution.upper == pytest.approx(0.0445, abs=0.002)
    f = solution.aggregator.values
    np.testing.assert_allclose(f, np.transpose(f, (1, 2, 0)), atol=1e-15)
    assert rp.solve(rp.ConditionallyIndependent(1, 4, 16)).upper == pytest.approx(0, abs=1e-6)


def test_a_custom_loss_and_other_restrictions_work_here_too() -> None:
    import cvxpy as cp

    family = rp.ConditionallyIndependent(2, 3, 6)
    square = rp.solve(family, tolerance=1e-3)
    own = rp.solve(family, tolerance=1e-3, loss=rp.ConvexLoss(lambda y, state: cp.square(y - state)))
    assert max(own.lower, square.lower) <= min(own.upper, square.upper) + 1e-7
    monotone = rp.solve(family, tolerance=1e-3, restrictions=[rp.Monotone()])
    assert monotone.upper >= square.lower
    biased = rp.solve(family, tolerance=1e-3, restrictions=[rp.Constrained(lambda table, _: [table >= 0.3])])
    assert biased.lower > square.upper


@pytest.mark.slow
def test_algorithm_1_at_the_size_of_the_paper() -> None:
    """N = 20, M = 400: within 2e-4 after at most 1,000 rounds, around the value 0.022542."""
    options: Any = {"tolerance": 2e-4, "rounds": 1000, "method": "multiplicative-weights"}
    solution = rp.solve(rp.ConditionallyIndependent(2, 20, 400), **options)
    assert solution.stopped is rp.Stopped.GAP
    assert solution.lower <= 0.022542 <= solution.upper + 1e-6


# --- the interpolated table ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_interpolation_agrees_with_scipy(agents: int) -> None:
    rng = np.random.default_rng(agents)
    values = rng.random((6,) * agents)
    reports = np.concatenate((rng.random((500, agents)), rng.integers(0, 6, (50, agents)) / 5))
    expected = RegularGridInterpolator([np.arange(6) / 5] * agents, values)(reports)
    np.testing.assert_allclose(rp.GridAggregator(values)(reports), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("agents", "N"), [(1, 5), (2, 5), (2, 100), (3, 5)]
)  # for N = 100 the corners are not written out
def test_the_compiled_interpolation_is_the_same(agents: int, N: int) -> None:
    rng = np.random.default_rng(agents)
    f = rp.GridAggregator(rng.random((N + 1,) * agents))
    reports = rng.random((COMPILED_FROM, agents))
    reports[:50] = rng.integers(0, 6, (50, agents)) / 5
    reports[50:60] = rng.integers(0, 2, (10, agents))
    in_parts = np.concatenate([f(reports[first : first + 100]) for first in range(0, len(reports), 100)])
    np.testing.assert_array_equal(f(reports), in_parts)
    reports[-1] = np.nan
    assert np.flatnonzero(np.isnan(f(reports))).tolist() == [len(reports) - 1]
    reports[77, -1] = 1.5
    with input_error(rf"report must lie in \[0, 1\]; reports\[77\]\[{agents - 1}\] is 1\.5"):
        f(reports)


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_the_interpolated_table_has_its_lipschitz_constant(agents: int) -> None:
    """No two reports are steeper than the constant, and two knots are as steep."""
    rng = np.random.default_rng(agents)
    for _ in range(5):
        f = rp.GridAggregator(rng.random((5,) * agents))
        knots = np.stack(np.meshgrid(*[np.arange(5) / 4] * agents, indexing="ij"), axis=-1).reshape(-1, agents)
        assert f.lipschitz == pytest.approx(steepest(f, knots, knots))
        assert steepest(f, rng.random((50, agents)), rng.random((50, agents))) <= f.lipschitz * (1 + 1e-9)


def steepest(f: rp.GridAggregator, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    """The largest |f(x) - f(y)| / |x - y|_1."""
    rise, run = np.abs(f(x)[:, None] - f(y)), np.abs(x[:, None] - y).sum(axis=2)
    return float(np.max(rise[run > 0] / run[run > 0]))


def test_every_agent_counts_for_the_lipschitz_constant() -> None:
    knots = np.arange(5) / 4
    for values in (0.1 * knots[:, None] + 0.8 * knots, 0.8 * knots[:, None] + 0.1 * knots):
        assert rp.GridAggregator(values).lipschitz == pytest.approx(0.8)


def test_bad_grids_and_reports_get_one_sentence() -> None:
    f = rp.GridAggregator(np.array([[0.0, 0.5], [0.5, 1.0]]))
    assert np.isnan(f([[np.nan, np.nan]])).all()
    with input_error(r"this design needs 2 answers per row; row 1 has 1 \(1 of 2 rows have too few\)"):
        f([[0.5, 0.5], [0.5, np.nan]])
    with input_error(r"report must lie in \[0, 1\]; reports\[0\]\[1\] is 1\.5"):
        f([[0.5, 1.5]])
    with input_error(r"this design is for 2 agents; there are 3 reports"):
        f([[0.5, 0.5, 0.5]])
    with input_error(r"a grid needs the shape \(N \+ 1, \.\.\., N \+ 1\) with N >= 1; the shape is \(2, 3\)"):
        rp.GridAggregator(np.zeros((2, 3)))
    with input_error(r"forecast must lie in \[0, 1\]; values\[0\]\[1\] is 2 \(1 of 4 entries\)"):
        rp.GridAggregator(np.array([[0.0, 2.0], [0.0, 0.0]]))


def test_mirrored_needs_two_states_and_posteriors() -> None:
    with unsupported_error("mirrored needs two states and posterior reports; there are 3 states"):
        rp.solve(rp.random_family(3, states=3), restrictions=[rp.Mirrored()])
    with unsupported_error(
        "mirrored can be combined with Lipschitz or monotone only if the profiles are a full grid",
    ):
        rp.solve(rp.random_family(30, resolution=7, rng=1), restrictions=[rp.Mirrored(), rp.Lipschitz(0.1)])


@pytest.mark.parametrize(
    ("options", "agents"),
    [({}, 2), ({"loss": "log"}, 2), ({"method": "multiplicative-weights", "rounds": 50}, 2), ({}, 3)],
)  # fmt: skip
def test_a_known_range_of_priors_bounds_the_forecasts(options: dict[str, Any], agents: int) -> None:
    family = rp.ConditionallyIndependent(agents, 4, 40, (0.1, 0.3))
    solution = rp.solve(family, tolerance=1e-3, **options)
    x = np.stack(np.meshgrid(*[family.report_grid] * agents, indexing="ij"), axis=-1).reshape(-1, agents)
    possible = ~((x == 0).any(axis=1) & (x == 1).any(axis=1))
    low, high = (omniscient_posterior(prior, x[possible]) for prior in (0.3, 0.1))
    said = solution.aggregator(x[possible])
    assert (said >= low - 1e-9).all()
    assert (said <= high + 1e-9).all()
    assert solution.upper >= solution.lower - 1e-9
