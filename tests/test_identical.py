"""Identical agents: against structures written out one by one, and against agents who need not be identical."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.cli.worlds import WorldOptions
from robustpool.families.identical import Identical, regrets_of_experiments
from robustpool.losses import get_loss

V = (5 * 5**0.5 - 11) / 8


def by_hand(rule: Any, chances: Any, reports: Any, agents: int) -> float:
    """The regret for n draws, profile by profile in every order."""
    mu = float(np.dot(chances, reports))
    regret = 0.0
    for draw in product(range(len(chances)), repeat=agents):
        one, other = mu, 1 - mu
        for k in draw:
            one *= chances[k] * reports[k] / mu
            other *= chances[k] * (1 - reports[k]) / (1 - mu)
        if one + other > 0:
            f = float(rule(np.array([[reports[k] for k in draw]]))[0])
            regret += (one + other) * (f - one / (one + other)) ** 2
    return regret


@pytest.mark.parametrize("agents", [1, 2, 3])
@pytest.mark.parametrize("signals", [2, 4])
def test_the_regret_is_that_of_a_plain_loop(agents: int, signals: int) -> None:
    rng = np.random.default_rng(agents)
    chances, reports = rng.dirichlet(np.ones(signals), 5), rng.random((5, signals))
    reports[0, 0] = 0.0
    rule = rp.get_rule("average-prior")
    regrets = regrets_of_experiments(rule, chances, reports, agents, get_loss("square"))
    np.testing.assert_allclose(
        regrets, [by_hand(rule, q, r, agents) for q, r in zip(chances, reports, strict=True)], atol=1e-12
    )


def test_two_signals_are_a_binary_structure() -> None:
    found: Any = rp.worst_case("mean", Identical(2, None, None, signals=2))
    data = found.structure.as_data()
    structure = rp.BinaryStructure(data["prior"], data["reports"]).to_information_structure()  # a pair for each agent
    assert found.regret == pytest.approx(rp.regret("mean", structure), abs=1e-9)
    assert 0.04698 < found.regret < rp.worst_case("mean").regret


def test_each_agent_has_a_list_of_reports_with_their_chances() -> None:
    found: Any = rp.worst_case("mean", Identical(3, None, None))
    data = found.structure.as_data()
    assert [len(data["reports"]), len(data["chances"])] == [3, 3]
    for reports, chances in zip(data["reports"], data["chances"], strict=True):
        assert reports == sorted(reports)
        assert np.dot(reports, chances) == pytest.approx(data["prior"], abs=1e-12)
    regret = by_hand(rp.get_rule("mean"), data["chances"][0], data["reports"][0], 3)
    assert regret == pytest.approx(found.regret, abs=1e-9)


def test_nature_finds_the_worst_of_all_pairs() -> None:
    family = Identical(3, 4, 8)
    nature = family.nature(get_loss("square"), "additive", [], "grid")
    rng = np.random.default_rng(2)
    table = nature.tables.feasible(rng.random((nature.tables.cells, 1)) @ [[-1.0, 1.0]] + [[1.0, 0.0]])
    rule = nature.aggregator(table)
    best = float(rule([[0.0, 0.0, 0.0]])[0]) ** 2  # where the prior is 0
    for number in range(1, 8):
        mu = number / 8
        for low, high in rp.ConditionallyIndependent(3, 4, 8).pairs(number) / 4:
            share = (mu - low) / (high - low) if high > low else 0.0
            best = max(best, by_hand(rule, (1 - share, share), (low, high), 3))
    assert nature.answer(table).value == pytest.approx(best, abs=1e-12)


def test_all_priors_are_there() -> None:
    labels = Identical(2, 4, 8).nature(get_loss("square"), "additive", [], "grid").labels  # type: ignore[attr-defined]
    pairs = {prior: rp.ConditionallyIndependent(2, 4, 8).pairs(prior) for prior in range(5)}
    assert len(labels) == sum(map(len, pairs.values()))
    assert labels[:, 0].max() == 0.5


def test_identical_agents_are_as_hard_as_others() -> None:
    identical, others = rp.solve(Identical(2, 10, 60)), rp.solve(rp.ConditionallyIndependent(2, 10, 60))
    assert identical.upper == pytest.approx(others.upper, abs=1e-6)
    assert identical.stopped is rp.Stopped.GAP


def test_average_prior_attains_the_bound_with_identical_agents() -> None:
    found = rp.worst_case("average-prior", Identical(2, None, None, signals=2))
    assert found.regret == pytest.approx(V, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["mean", "geometric-odds", "minimax", "product", "average-prior"])
def test_more_signals_find_nothing_worse(rule: str) -> None:
    two, four = (rp.worst_case(rule, Identical(3, None, None, signals=k)).regret for k in (2, 4))
    assert four == pytest.approx(two, abs=1e-8)


def test_what_is_refused() -> None:
    with input_error("signals must be a whole number, at least 2 and at most 6; it is 1"):
        Identical(signals=1)
    with unsupported_error("whose forecast does not change with their order"):
        rp.worst_case(lambda x: x[:, 0], Identical(2, None, None))
    with unsupported_error("a design for identical agents needs a number of reports and of priors"):
        rp.solve(Identical(2, 10, None))


def test_on_the_command_line() -> None:
    family = WorldOptions(world="identical", agents=3, signals=2).of("geometric-odds")
    assert family == Identical(3, None, None, signals=2)
