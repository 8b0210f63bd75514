"""Arbitrary correlation, and a fraction of it: the linear programme once more, and the bits that reveal the state."""

from __future__ import annotations

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.aggregators.multisets import multisets
from robustpool.cli.worlds import WorldOptions
from robustpool.families.contaminated import Contaminated
from robustpool.families.correlated import Correlated, worst_law
from robustpool.losses import get_loss

V = (5 * 5**0.5 - 11) / 8


def in_every_order(rule: Any, steps: int, agents: int) -> float:
    """The same programme over all profiles in every order, with constraints for each agent, by another solver."""
    x = np.arange(steps + 1) / steps
    profiles = np.array(list(product(x, repeat=agents)))
    f = np.asarray(rule(profiles))
    P = cp.Variable((len(profiles), 2), nonneg=True)
    limits = [cp.sum(P) == 1]
    for agent, r in product(range(agents), x):
        at = (profiles[:, agent] == r).astype(float)
        limits.append(at @ P[:, 1] * (1 - r) == at @ P[:, 0] * r)
    problem = cp.Problem(cp.Maximize(((1 - f) ** 2) @ P[:, 1] + (f**2) @ P[:, 0]), limits)
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize(("rule", "steps", "agents"), [("extremized-odds", 8, 2), ("product", 6, 3), ("mean", 4, 3)])
def test_another_programme_agrees(rule: str, steps: int, agents: int) -> None:
    found = rp.worst_case(rule, Correlated(agents, steps))
    assert found.exhaustive
    assert found.regret == pytest.approx(in_every_order(rp.get_rule(rule), steps, agents), abs=1e-7)
    law: Any = found.structure
    assert found.regret <= law.at_most <= found.regret + 1e-9


def test_the_bound_holds_whatever_the_solver_did(monkeypatch: pytest.MonkeyPatch) -> None:
    import scipy.optimize

    solve = scipy.optimize.linprog

    def careless(*arguments: Any, **options: Any) -> Any:
        solution = solve(*arguments, **options)
        solution.eqlin.marginals = 0.9 * solution.eqlin.marginals
        return solution

    x = np.arange(9) / 8
    f = rp.get_rule("extremized-odds")(x[multisets(9, 2)])
    losses = np.stack((f**2, (1 - f) ** 2), axis=1)
    best = worst_law(x, 2, losses)
    monkeypatch.setattr(scipy.optimize, "linprog", careless)
    assert worst_law(x, 2, losses).at_most > best.at_most + 1e-3


def test_two_bits_reveal_the_state_and_change_no_report() -> None:
    found = rp.worst_case("extremized-odds", Correlated(2, 6))
    law: Any = found.structure
    x = np.arange(7) / 6
    joint = np.zeros((2, 14, 14))  # state, (report, bit) of each agent
    for profile, masses in zip(law.profiles, law.masses, strict=True):
        one, two = (round(6 * report) for report in profile)
        for (i, j), omega, bit in product({(one, two), (two, one)}, (0, 1), (0, 1)):
            orders = 1 if one == two else 2
            joint[omega, 2 * i + bit, 2 * j + (bit ^ omega)] += masses[omega] / orders / 2
    used = [np.flatnonzero(joint.sum(axis=tuple(a for a in range(3) if a != axis)) > 1e-12) for axis in (1, 2)]
    structure = rp.InformationStructure(joint[:, used[0]][:, :, used[1]] / joint.sum())
    posteriors = joint[1].sum(axis=1)[used[0]] / joint.sum(axis=0).sum(axis=1)[used[0]]
    np.testing.assert_allclose(posteriors, x[used[0] // 2], atol=1e-9)
    assert rp.regret("extremized-odds", structure) == pytest.approx(found.regret, abs=1e-9)


@pytest.mark.parametrize("agents", [2, 3])
def test_named_rules(agents: int) -> None:
    for rule in ("mean", "geometric-odds", "minimax"):
        law: Any = rp.worst_case(rule, Correlated(agents, 20)).structure
        assert law.loss == pytest.approx(0.25, abs=1e-9)
        assert law.at_most == pytest.approx(0.25, abs=1e-9)


def test_rules_that_are_worse_than_one_quarter() -> None:
    assert 0.2606 < rp.worst_case("extremized-odds", Correlated(2, None)).regret < 0.2607
    assert 0.2828 < rp.worst_case("product", Correlated(3, None)).regret < 0.2829


def test_no_rule_is_below_one_quarter() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        table = np.sort(rng.random((5, 5)), axis=0)
        rule = rp.GridAggregator((table + table.T) / 2)
        assert rp.worst_case(rule, Correlated(2, 4)).regret >= 0.25 - 1e-9
    assert rp.worst_case(lambda x: np.full(len(x), 0.5), Correlated(2, 4)).regret == pytest.approx(0.25)


@pytest.mark.parametrize(("loss", "value"), [("square", 0.25), ("log", np.log(2))])
def test_the_value_of_the_game(loss: str, value: float) -> None:
    for reports in (6, 7):  # with 7 nobody can say 1/2
        solution = rp.solve(Correlated(2, reports), loss=loss)
        assert solution.lower <= solution.upper
        assert solution.upper == pytest.approx(value, abs=1e-6) if reports == 6 else solution.upper < value


def test_a_mirrored_table_has_a_mirrored_law() -> None:
    nature = Correlated(3, 6).nature(get_loss("square"), "additive", [], "grid")
    value, labels = nature.answer(nature.first_table())
    payoff = nature.cuts(labels).payoffs(nature.tables.loss.table(nature.first_table()))
    assert payoff[0] == pytest.approx(value, abs=1e-9)


def test_a_fraction_of_arbitrary_questions() -> None:
    fraction = 0.1
    found: Any = rp.worst_case("minimax", Contaminated(fraction=fraction))
    assert found.regret == pytest.approx((1 - fraction) * V + fraction / 4, abs=1e-9)
    assert found.structure.as_data()["arbitrary"]["prior"] == pytest.approx(0.5)


def test_the_range_of_priors_does_not_bind_arbitrary_questions() -> None:
    family = Contaminated(prior_range=(0.05, 0.2), fraction=0.1)
    assert family.words().endswith(
        "any prior from 0.05 to 0.2, but any correlation and any prior in a fraction 0.1 of the questions"
    )
    worst: Any = rp.worst_case("mean", family).structure
    found = worst.as_data()
    assert 0.05 <= found["prior"] <= 0.2
    assert found["arbitrary"]["prior"] == pytest.approx(0.5)


def test_what_is_refused() -> None:
    with input_error("agents must be a whole number, at least 2 and at most 8; it is 1"):
        Correlated(1)
    with input_error("fraction must be a finite number, at least 0 and at most 1; it is 1.5"):
        Contaminated(fraction=1.5)
    with unsupported_error("whose forecast does not change with the agents' order"):
        rp.worst_case(lambda x: x[:, 0], Correlated(2, 4))
    with unsupported_error("needs a rule with a finite loss"):
        rp.worst_case(lambda x: np.round(x.mean(axis=1)), Correlated(2, 4), loss="log")
    with unsupported_error("a design for arbitrary correlation needs a number of reports"):
        rp.solve(Correlated(2, None))
    sentence = (
        "^there is no design for a fraction of arbitrary questions; for two agents a search finds that `minimax` attains the "
        r"lower bound\.$"
    )
    with unsupported_error(sentence):
        rp.solve(Contaminated())


def test_on_the_command_line() -> None:
    assert WorldOptions(world="correlated", agents=3).of("product") == Correlated(3, None)
    assert WorldOptions(world="contaminated", fraction=0.1).of("minimax") == Contaminated(fraction=0.1)
    law: Any = rp.worst_case("product", Correlated(3, 6)).structure
    assert law.words()["reports"].startswith("0.333333, 0.333333, 0.333333 with probability")
