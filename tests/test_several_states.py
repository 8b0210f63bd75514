"""Questions with K outcomes: the search against two other methods, the lower bound against brute force, the rule by its formula."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.aggregators.distributions import DISTRIBUTION_RULES, combine_distributions
from robustpool.cli.app import app
from robustpool.families import states_search
from robustpool.families.several_states import SeveralStates
from robustpool.families.states_bound import bound_at, hard_structures, lower_bound_of_states

if TYPE_CHECKING:
    from pathlib import Path


THREE = np.array([[[0.6, 0.3, 0.1], [0.5, 0.2, 0.3]]])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of a second."""
    monkeypatch.setattr(states_search, "DRAWN", 400)
    monkeypatch.setattr(states_search, "IMPROVED", 12)
    monkeypatch.setattr(states_search, "POLISHED", 2)


def one_informed(rule: str, states: int, parts: int) -> float:
    """max over priors mu of the concave envelope at mu of |f(x, mu) - x|^2, by linear programmes on a grid of distributions."""
    grid = np.array([k for k in product(range(parts + 1), repeat=states) if sum(k) == parts]) / parts
    best = 0.0
    for prior in grid[(grid > 0).all(axis=1) & (np.diff(grid, axis=1) >= 0).all(axis=1)]:  # the rule is symmetric
        reports = np.stack((grid, np.broadcast_to(prior, grid.shape)), axis=1)
        losses = ((DISTRIBUTION_RULES[rule](reports) - grid) ** 2).sum(axis=1)
        programme: Any = linprog(-losses, A_eq=grid.T, b_eq=prior)
        best = max(best, -programme.fun)
    return best


# ------------------------------------------------------------------------------------------------------------- the search


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("rule", ["minimax", "mean"])
def test_two_states_are_the_independent_world(rule: str) -> None:
    worst = rp.worst_case(rule, SeveralStates(2, 2))
    assert worst.regret == pytest.approx(rp.worst_case(rule).regret, abs=1e-9)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("rule", ["minimax", "geometric-odds"])
def test_the_search_finds_what_one_informed_agent_can_do(rule: str) -> None:
    found = rp.worst_case(rule, SeveralStates(2, 3))
    envelope = one_informed(rule, 3, 14)
    assert envelope - 1e-9 <= found.regret <= 1.05 * envelope  # the grid has no better structures, but for its steps
    written_out: Any = found.structure
    assert rp.regret(rule, written_out.written_out()) == pytest.approx(found.regret, rel=1e-9)
    assert written_out.as_data()["prior"] == written_out.prior.tolist()


@pytest.mark.usefixtures("short")
def test_the_mean_of_three_outcomes_is_far_worse() -> None:
    worst = rp.worst_case("mean", SeveralStates(2, 3))
    assert 0.25 < worst.regret < 0.2553
    own = rp.worst_case(lambda x: x.mean(axis=1), SeveralStates(2, 3))
    assert own.regret == worst.regret


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agents", "states", "regret"), [(2, 3, 0.0763297), (2, 4, 0.1006574), (2, 5, 0.1211643), (3, 3, 0.1560)]
)
def test_found_worst_cases_of_minimax(agents: int, states: int, regret: float) -> None:
    worst = rp.worst_case("minimax", SeveralStates(agents, states))
    assert regret <= worst.regret <= regret + (1e-3 if agents == 3 else 1e-6)  # three agents: the search varies


def test_what_is_too_large_is_refused() -> None:
    with unsupported_error(r"at most 1,024 profiles of signals; 3 agents and 11 states have 1,331\.$"):
        rp.worst_case("minimax", SeveralStates(3, 11))
    with unsupported_error(
        r"^the world several-states has no design; use the rule minimax, or design for a finite family"
    ):
        rp.solve(SeveralStates())
    with input_error(r"^states must be a whole number, at least 2; it is 1\."):
        SeveralStates(states=1)


# -------------------------------------------------------------------------------------------------------- the lower bound


@pytest.mark.parametrize("states", [3, 4])
def test_each_number_of_states_has_its_own_certificate_file(
    states: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--world", "several-states", "--states", str(states), "--json")
    done = CliRunner().invoke(app, ["certify", "minimax", *options])
    assert json.loads(done.stdout)["output"] == f"CERT-minimax-several-states-{states}-states.json"
    assert rp.verify(tmp_path / f"CERT-minimax-several-states-{states}-states.json").verified


def test_only_the_square_loss_of_rules_is_certified() -> None:
    with unsupported_error("^the lower bound of this world is certified for the loss 'square' only; it is 'log'"):
        rp.certify("minimax", SeveralStates(), loss="log")
    design = rp.solve(rp.ConditionallyIndependent(2, 4, 8), tolerance=1e-2).design
    with unsupported_error("^a design for this world has no certificate; `certify RULE --world several-states` proves"):
        rp.certify(design, SeveralStates())


@pytest.mark.parametrize(("states", "agents"), [(2, 2), (3, 2), (4, 2), (3, 3)])
def test_the_bound_is_the_value_of_its_structures(states: int, agents: int) -> None:
    exact = float(lower_bound_of_states(states, agents))
    family = rp.FiniteFamily.from_joints(
        [
            [_floats(entry) for entry in structure["joint"]]
            for structure in hard_structures(states, agents)["structures"]
        ]
    )
    solution = rp.solve(family, tolerance=1e-8)
    assert solution.lower - 1e-8 <= exact <= solution.upper + 1e-8
    certificate = rp.certify("minimax", SeveralStates(agents, states))
    assert certificate.upper is None
    assert certificate.value is not None
    assert 0 <= exact - certificate.value < 1e-15
    assert rp.verify(certificate).value == certificate.value


def _floats(part: Any) -> Any:
    return [_floats(inner) for inner in part] if isinstance(part, list) else float(Fraction(part))


def test_the_bound_is_the_best_of_its_kind() -> None:
    for states, agents in ((2, 2), (3, 2), (5, 3)):
        others = [bound_at(states, agents, Fraction(m, 1000)) for m in range(1, 500 // (states - 1) + 1)]
        assert max(others) <= lower_bound_of_states(states, agents) <= max(others) + Fraction(1, 10**5)
    assert float(lower_bound_of_states(2, 2)) == pytest.approx((5 * np.sqrt(5) - 11) / 8, abs=1e-9)
    assert f"{float(lower_bound_of_states(1000, 2)):.3f}" == "0.249"


def test_bounds_that_are_out_of_reach_say_so() -> None:
    with unsupported_error(r"at most 6 agents and 1,024 profiles of signals; 4 agents and 6 states have 1,296\.$"):
        rp.certify("minimax", SeveralStates(4, 6))
    with unsupported_error(r"^the lower bound is computed for at most 5,001 states; there are 6,000\.$"):
        lower_bound_of_states(6000)


# --------------------------------------------------------------------------------------------------------------- the rule


def test_minimax_is_its_formula() -> None:
    s = np.log(THREE[0]).sum(axis=0)
    top = np.sort(s)[::-1]
    f = np.exp(s * (0.4707 + 0.5381 * np.tanh((top[0] - top[1]) / 5.309) ** 2))
    np.testing.assert_allclose(rp.aggregate(THREE, "minimax"), [f / f.sum()], rtol=1e-13)


def test_with_three_answers_each_is_stretched_by_its_own_gap() -> None:
    reports = np.concatenate((THREE, [[[0.9, 0.06, 0.04]]]), axis=1)
    gaps = np.log([0.6 / 0.3, 0.5 / 0.3, 0.9 / 0.06])
    factors = 1 + (0.6 - 1.2 / 9) * np.maximum(gaps - 1.4, 0) ** 2 / gaps
    f = np.exp((factors[:, None] * np.log(reports[0])).mean(axis=0))
    np.testing.assert_allclose(rp.aggregate(reports, "minimax"), [f / f.sum()], rtol=1e-13)


@pytest.mark.parametrize("others", [1, 2, 5])
def test_certain_reports_decide(others: int) -> None:
    unsure = np.tile([0.2, 0.3, 0.5], (1, others, 1))
    certain = combine_distributions(np.concatenate((unsure, [[[1.0, 0.0, 0.0]]]), axis=1), "minimax")
    assert certain.forecasts.tolist() == [[1.0, 0.0, 0.0]]
    ruled_out = combine_distributions(np.concatenate((unsure, [[[0.5, 0.5, 0.0]]]), axis=1), "minimax").forecasts[0]
    assert ruled_out[2] == 0 < ruled_out[0] < ruled_out[1]
    nearly = np.concatenate((unsure, [[[1 - 2e-300, 1e-300, 1e-300]]]), axis=1)
    assert (combine_distributions(nearly, "minimax").forecasts > 0).all()


# ------------------------------------------------------------------------------------------------------- the command line


@pytest.mark.usefixtures("short")
def test_worst_case_and_certify_on_the_command_line(tmp_path: Path) -> None:
    world = ["--world", "several-states", "--states", "3"]
    found = json.loads(CliRunner().invoke(app, ["worst-case", "minimax", *world, "--json"]).stdout)
    assert 0.0762 < found["regret"] < 0.07633
    assert len(found["structure"]["prior"]) == 3
    file = str(tmp_path / "bound.json")
    proved = json.loads(CliRunner().invoke(app, ["certify", "minimax", *world, "--out", file, "--json"]).stdout)
    assert proved["value"] == pytest.approx(0.076278, abs=1e-6)
    assert rp.verify(file).verified
    refused = CliRunner().invoke(app, ["worst-case", "minimax", "--states", "3"])
    assert "--states is not an option of the world independent; it belongs to several-states." in str(refused.exception)
