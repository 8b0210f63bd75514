"""The worst-case search against published numbers and against scipy's global optimiser."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import differential_evolution

import robustpool as rp
from quick import only, slowly
from refusals import input_error, unsupported_error
from robustpool.aggregators.rules import RULES
from robustpool.aggregators.worst_cases import WORST_CASES
from robustpool.families.worst_case import continuous_regrets, encode
from robustpool.losses import get_loss
from robustpool.losses.square import Square

# rule, agents, published worst-case regret, digits, source. The searches behind them bound the supremum from below.
PUBLISHED = [
    ("mean", 2, 0.0625, 4, "[Guo2024, Table 1]; 1/16 by hand"),
    ("average-prior", 2, 0.0260, 4, "[Guo2024, Table 1]"),
    ("arieli-tuned", 2, 0.0250, 4, "[Guo2024, Table 1]"),
    ("log-odds", 2, 0.022599, 6, "[arXiv2604.24517]"),
    ("minimax", 2, (5 * np.sqrt(5) - 11) / 8, 10, "[Arieli2018], the lower bound that the rule attains"),
    ("robust", 2, (5 * np.sqrt(5) - 11) / 8, 10, "the same rule as minimax"),
    ("mean", 3, 1 / 9, 6, "(n-1)^2/(4 n^2), one agent knows the state"),
    slowly(("mean", 4, 9 / 64, 6, "the same")),
    ("minimax", 3, 0.045122413, 9, "U_3 of docs/derivations/many-agents; found, not proved"),
    slowly(("minimax", 4, 0.061032046, 9, "U_4; found, not proved")),
    ("minimax:unanimous=0", 3, 0.044477003, 9, "the lower bound, docs/derivations/lower-bound; proved"),
    slowly(("minimax:unanimous=0", 4, 0.059023877, 9, "the lower bound for four agents; found, not proved")),
    slowly(("minimax:unanimous=0", 5, 0.070453, 6, "found")),
    slowly(("minimax:unanimous=0", 6, 0.079936, 6, "found")),
    slowly(("minimax", 7, 0.0885172, 7, "found")),
    slowly(("minimax:unanimous=0", 7, 0.0880435, 7, "found")),
    ("robust", 3, 0.049254674, 9, "proved: test_log_odds_certificates"),
    slowly(("robust", 4, 0.073560146, 9, "proved")),
    slowly(("robust", 5, 0.092830514, 9, "proved")),
    slowly(("robust", 6, 0.108235374, 9, "proved")),
    slowly(("robust", 8, 0.131146866, 9, "proved")),
    ("geometric-odds", 3, 0.05157, 5, "geometric-odds is worse than robust for each number of agents"),
    slowly(("geometric-odds", 4, 0.07536, 5, "the same")),
    slowly(("geometric-odds", 5, 0.09420, 5, "the same")),
    slowly(("geometric-odds", 6, 0.10929, 5, "the same")),
    slowly(("geometric-odds", 8, 0.13181, 5, "the same")),
]


@pytest.mark.parametrize(("rule", "agents", "value", "digits", "source"), PUBLISHED)
def test_published_worst_cases(rule: str, agents: int, value: float, digits: int, source: str) -> None:
    found = rp.worst_case(rp.get_rule(rule), rp.ConditionallyIndependent(agents, None, None))
    assert found.regret == pytest.approx(value, abs=0.51 * 10.0**-digits), source
    assert found.proved is False


def test_the_table_of_found_regrets_is_what_the_search_finds() -> None:
    """`robustpool rules` shows it; `make regrets` writes it anew."""
    table = json.loads(WORST_CASES.read_text())
    assert list(table) == list(RULES)
    assert [name for name, row in table.items() if row is None] == ["bordley"]
    for name, row in table.items():
        if row is not None:
            assert row["found"] == pytest.approx(rp.worst_case(name).regret, abs=1e-8), name
            structure = rp.BinaryStructure(row["prior"], row["reports"])
            assert rp.regret(name, structure.to_information_structure()) == pytest.approx(row["found"], abs=1e-9), name
            assert not row["proved"] or row["lower"] <= row["found"] + 1e-12 <= row["upper"] + 2e-12, name


@pytest.mark.parametrize("rule", ["mean", "average-prior", "minimax", "geometric-mean", "extremized-odds", "median"])
def test_the_structure_has_the_regret_that_is_claimed(rule: str) -> None:
    found: Any = rp.worst_case(rp.get_rule(rule))
    regret = rp.regret(rp.get_rule(rule), found.structure.to_information_structure())
    assert regret == pytest.approx(found.regret, abs=1e-9)
    assert found.regret >= rp.worst_case(rp.get_rule(rule), rp.ConditionallyIndependent(2, 12, 48)).regret - 1e-12


def evolved(aggregator: Any, budget: int, agents: int = 2) -> float:
    """The largest regret that scipy's differential evolution finds, started anew until it has tried that many structures."""
    bounds: Any = [(-21.0, 21.0)] + [(0.0, 1.0)] * (2 * agents)
    tried = 0

    def negative(points: Any) -> Any:
        nonlocal tried
        columns = np.atleast_2d(np.asarray(points).T)
        tried += len(columns)
        return -continuous_regrets(aggregator, np.ascontiguousarray(columns), Square())

    best, seed = 0.0, 0
    while tried < budget:
        result = differential_evolution(
            negative, bounds, popsize=40, maxiter=2000 if agents == 2 else 300, tol=0, atol=1e-13,
            rng=np.random.default_rng(seed), vectorized=True, updating="deferred", polish=False,
        )  # fmt: skip
        best, seed = max(best, float(-result.fun)), seed + 1
    return best


OWN = [
    "mean", "median", "geometric-mean", "geometric-odds", "extremized-odds:d=1.5", "extremized-odds:d=3", "neyman-odds",
    "karmarkar:a=1.5", "karmarkar:a=3", "beta-pool:a=2", "product", "bordley:prior=0.2", "bordley:prior=0.5", "average-prior",
    "arieli-tuned", "log-odds:alpha=0.45", "log-odds:alpha=0.7", "minimax:b=0.08", "minimax:b=0.3", "minimax:b=0.5",
]  # fmt: skip


@pytest.mark.parametrize(
    "rule", only(["product"], [name for name in OWN if name in ("geometric-mean", "product", "log-odds:alpha=0.7")])
)
def test_search_is_not_beaten_by_differential_evolution(rule: str) -> None:
    aggregator = rp.get_rule(rule)
    assert rp.worst_case(aggregator).regret >= evolved(aggregator, 100_000) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("rule", OWN)
def test_search_is_not_beaten_by_differential_evolution_with_ten_times_its_budget(rule: str) -> None:
    aggregator = rp.get_rule(rule)
    calls = 0

    def counted(reports: Any) -> Any:
        nonlocal calls
        calls += len(reports)
        return aggregator(reports)

    began = time.perf_counter()
    found = rp.worst_case(counted).regret
    ours = time.perf_counter() - began
    began = time.perf_counter()
    assert found >= evolved(aggregator, 10 * calls // 4) - 1e-9  # four profiles a structure
    print(f"{rule}: {ours:.2f} s against {time.perf_counter() - began:.1f} s")


def test_careless_corners_are_not_searched_for_a_false_quarter() -> None:
    """The published formula says 0/0 at (0, 0); its limit is 0. Reports of 0 and 1 together never come."""

    def careless(x: Any) -> Any:
        with np.errstate(invalid="ignore", divide="ignore"):
            a, b = x.T
            m = (a + b) / 2
            f = a * b * (1 - m) / (a * b * (1 - m) + (1 - a) * (1 - b) * m)
        return np.where(np.isnan(f), (a == 1) * 1.0, f)

    assert rp.worst_case(careless).regret == pytest.approx(0.02599, abs=1e-5)
    assert rp.worst_case(rp.get_rule("average-prior")).regret == pytest.approx(0.02599, abs=1e-5)


def test_tiny_priors_are_searched() -> None:
    """A rule that is right but for priors below 1e-4, where it says the contrary."""

    def trap(x: Any) -> Any:
        good = rp.get_rule("minimax")(x)
        tiny = (x.max(axis=1) < 1e-4) & (x.max(axis=1) > 0)
        return np.where(tiny, 1.0, good)

    assert rp.worst_case(trap).regret > 0.9


@pytest.mark.parametrize(("reports", "priors"), [(None, None), (20, None), (20, 400)])
def test_only_priors_in_the_range_are_searched(reports: int | None, priors: int | None) -> None:
    family = rp.ConditionallyIndependent(2, reports, priors, (0.05, 0.2))
    found: Any = rp.worst_case("mean", family)
    assert 0.05 - 1e-12 <= found.structure.prior <= 0.2 + 1e-12
    assert found.structure.prior == pytest.approx(0.2)  # the mean is the worse the nearer the prior is to 1/2
    assert found.regret < 0.0625


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-10), (1 - 1e-10, 1.0)])
def test_ranges_next_to_certainty_are_searched(low: float, high: float) -> None:
    found: Any = rp.worst_case("mean", rp.ConditionallyIndependent(2, None, None, (low, high)))
    assert low <= found.structure.prior <= high
    assert found.regret == pytest.approx(1e-10, rel=0.01)


def test_under_the_log_loss() -> None:
    found: Any = rp.worst_case(rp.get_rule("minimax"), loss="log")
    exact = rp.regret(rp.get_rule("minimax"), found.structure.to_information_structure(), loss="log")
    assert found.regret == pytest.approx(exact, abs=1e-9)
    assert rp.worst_case(rp.get_rule("mean"), loss="log").regret > 0.1


def test_on_finite_families_and_grids() -> None:
    family = rp.random_family(50, rng=1)
    found: Any = rp.worst_case(lambda x: x.mean(axis=1), family)
    assert found.regret == rp.regrets(lambda x: x.mean(axis=1), family)[found.structure]
    free = rp.worst_case(rp.get_rule("average-prior"), rp.ConditionallyIndependent(2, 20, None))
    grid = rp.worst_case(rp.get_rule("average-prior"), rp.ConditionallyIndependent(2, 20, 400))
    assert grid.regret <= free.regret + 1e-15 <= 0.026


@pytest.mark.parametrize(("agents", "N", "M"), [(1, 6, 10), (3, 5, 10), slowly((4, 3, 8))])
def test_any_number_of_agents_on_a_grid(agents: int, N: int, M: int) -> None:
    """The worst of all structures, written out; with any prior or any reports it is at least that."""
    family = rp.ConditionallyIndependent(agents, N, M, (0.2, 0.7))
    every = rp.regrets("mean", family.enumerate(pruned=False).flat).max()
    grid = rp.worst_case("mean", family)
    assert grid.exhaustive
    assert grid.regret == pytest.approx(every, abs=1e-13)
    some = rp.worst_case("mean", replace(family, priors=None))
    assert not some.exhaustive
    assert (
        grid.regret - 1e-13
        <= some.regret
        <= rp.worst_case("mean", replace(family, reports=None, priors=None)).regret + 1e-9
    )


def test_a_grid_that_is_too_large_is_searched_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    family = rp.ConditionallyIndependent(3, 4, 8)
    every = rp.worst_case("mean", family)
    monkeypatch.setattr("robustpool.families.worst_case.MOST_WORK", 10.0)
    monkeypatch.setattr("robustpool.families.many_agents.MOST_WORK", 10.0)
    found = rp.worst_case("mean", family)
    assert every.exhaustive
    assert not found.exhaustive
    assert found.regret <= every.regret


def test_agents_who_are_told_apart_are_not_enumerated() -> None:
    with unsupported_error("forecast does not change when two agents swap reports"):
        rp.worst_case(lambda x: x[:, 0], rp.ConditionallyIndependent(3, 4, 8))
    free = rp.worst_case(lambda x: x[:, 0], rp.ConditionallyIndependent(3, None, None))
    assert free.regret > 0.2


def test_the_regret_between_the_points_of_a_grid_is_found() -> None:
    """It is at least the regret of every structure drawn at random, and more than on the grid."""
    solution: Any = rp.solve(rp.ConditionallyIndependent(3, 4, 8), tolerance=1e-4).with_off_grid()
    assert solution.off_grid > solution.upper + 0.01
    rng = np.random.default_rng(0)
    prior = rng.uniform(0.05, 0.95, 3000)
    share = rng.random((3000, 3, 2))
    reports = np.stack((prior[:, None] * share[..., 0], 1 - (1 - prior[:, None]) * share[..., 1]), axis=2)
    regrets = continuous_regrets(solution.aggregator, encode(prior, reports), get_loss("square"))
    assert solution.off_grid >= regrets.max()
    free = rp.solve(rp.ConditionallyIndependent(2, 2, None), nature="continuous", tolerance=0.05, rounds=1)
    assert free.with_off_grid().off_grid is None  # its upper bound is about any reports already


def broken(_: Any) -> Any:
    raise KeyError("x")


def test_bad_aggregators_get_one_sentence() -> None:
    with input_error(r"forecast must lie in \[0, 1\]; aggregator '<lambda>' says"):
        rp.worst_case(lambda x: x.sum(axis=1))
    with input_error(r"aggregator '<lambda>' must return the shape"):
        rp.worst_case(lambda x: x)
    with input_error(r"aggregator 'broken' failed on \d+ profiles: KeyError: 'x'"):
        rp.worst_case(broken)
    with unsupported_error(
        "the worst case on a grid needs a loss with a compiled kernel and, for more than two agents"
    ):
        rp.worst_case(rp.get_rule("mean"), rp.ConditionallyIndependent(3, None, 10))
    with unsupported_error("an aggregator whose forecast does not change when two agents swap reports"):
        rp.worst_case(lambda x: x[:, 0], rp.ConditionallyIndependent(3, 4, 10))
    with unsupported_error("a worst case is searched for at most 100 agents; there are 101"):
        rp.worst_case("mean", rp.ConditionallyIndependent(101, None, None))
    with unsupported_error(r"the worst case needs a prior strictly between 0 and 1; the priors are \[0.0\]"):
        rp.worst_case("mean", rp.ConditionallyIndependent(3, 4, 2, (0.0, 0.4)))
    with unsupported_error("the worst case is searched under proper losses, not under 'custom'"):
        rp.worst_case(rp.get_rule("mean"), loss=rp.ConvexLoss(lambda y, state: y - state))


def test_the_default_grids_are_left_out_where_there_is_no_oracle() -> None:
    """An aggregator that tells three agents apart, and a loss without a compiled kernel."""
    family = rp.ConditionallyIndependent(3)
    apart = rp.worst_case(lambda x: 0.6 * x[:, 0] + 0.2 * x[:, 1] + 0.2 * x[:, 2], family)
    assert apart.regret > 0.1
    assert not apart.exhaustive


@pytest.mark.parametrize("agents", [2, 3])
def test_a_grid_with_certain_priors_is_exhausted_only_if_these_are_no_worse(agents: int) -> None:
    """At the prior 0 all report 0. Who says 1 there has the regret 1, which no inner prior has."""
    family = rp.ConditionallyIndependent(agents, 4, 10)
    assert rp.worst_case("mean", family).exhaustive
    wrong = rp.worst_case(lambda x: np.where((x == 0).all(axis=1), 1.0, x.mean(axis=1)), family)
    assert wrong.regret < 1
    assert not wrong.exhaustive


@pytest.mark.parametrize("agents", [1, 3])
def test_designs_for_other_numbers_of_agents_are_searched(agents: int) -> None:
    solution = rp.solve(rp.ConditionallyIndependent(agents, 4, 8), tolerance=1e-3)
    table = solution.aggregator
    found = rp.worst_case(table, rp.ConditionallyIndependent(agents, None, None))
    assert isinstance(found.structure, rp.BinaryStructure)
    assert found.structure.agents == agents
    assert found.regret == pytest.approx(rp.regret(table, found.structure.to_information_structure()), abs=1e-12)
    assert found.regret >= solution.lower - 1e-3
