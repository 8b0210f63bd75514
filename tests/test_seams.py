"""What others plug in: losses, families, solvers and executors of their own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
import pytest

import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.execution import InProcess, mapped, using
from robustpool.losses import LOSSES, get_loss
from robustpool.losses.loss import Loss
from robustpool.losses.square import Square

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FAMILY = rp.ConditionallyIndependent(2, 8, 40, (0.1, 0.6))


class Power(rp.Loss):
    """The power score, proper and convex for 1 < b <= 2; at b = 2 it is the square loss, twice for two states."""

    def __init__(self, b: float = 1.5) -> None:
        self.b, self.name = b, f"power {b}"

    def table(self, forecasts: Any) -> Any:
        total = (forecasts**self.b).sum(axis=1, keepdims=True)
        return 1 - self.b * forecasts ** (self.b - 1) + (self.b - 1) * total

    def expression(self, forecast: Any, state: int) -> Any:
        right, wrong = (forecast, 1 - forecast) if state else (1 - forecast, forecast)
        total = cp.power(right, self.b) + cp.power(wrong, self.b)
        return 1 - self.b * cp.power(right, self.b - 1) + (self.b - 1) * total


@pytest.mark.parametrize("loss", [*LOSSES.values(), Power(1.5)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("states", [2, 3])
def test_closed_forms_are_the_defaults_and_no_forecast_beats_the_posterior(loss: Loss, states: int) -> None:
    rng = np.random.default_rng(states)
    posteriors, forecasts = rng.dirichlet(np.ones(states), (2, 200))
    masses = rng.random((200, 1)) * posteriors
    np.testing.assert_allclose(loss.bayes_risk(masses), Loss.bayes_risk(loss, masses), rtol=1e-12)
    divergence = loss.divergence(forecasts, posteriors)
    np.testing.assert_allclose(divergence, Loss.divergence(loss, forecasts, posteriors), atol=1e-12)
    assert (divergence > 0).all()


def test_a_loss_in_one_file_is_solved_by_both_solvers() -> None:
    family = rp.random_family(20, resolution=4, rng=1)
    planes = rp.solve(family, loss=Power(), tolerance=1e-4)
    weights = rp.solve(family, loss=Power(), tolerance=1e-2, method="multiplicative-weights")
    assert planes.stopped is weights.stopped is rp.Stopped.GAP
    assert max(planes.lower, weights.lower) <= min(planes.upper, weights.upper) + 1e-9
    twice = rp.solve(family, loss=Power(2.0), tolerance=1e-4)
    square = rp.solve(family, tolerance=1e-5)
    assert twice.upper == pytest.approx(2 * square.upper, abs=2e-4)
    found = rp.worst_case("mean", loss=Power(2.0))  # by searches from random starts: no compiled oracle knows it
    assert found.regret == pytest.approx(2 * 0.0625, abs=1e-5)
    with unsupported_error("is compiled for the square and the log loss, not for 'power 1.5'"):
        rp.weakness("mean", [0.0, 1.0], [0.5], loss=Power())


def test_the_compiled_oracle_switches_on_the_kernel_and_not_on_the_name() -> None:
    renamed, x, priors = Square("brier"), np.linspace(0, 1, 5), np.array([0.3, 0.5])
    assert (rp.weakness("mean", x, priors, loss=renamed) == rp.weakness("mean", x, priors)).all()
    assert rp.worst_case("mean", FAMILY, loss=renamed).regret == rp.worst_case("mean", FAMILY).regret


def test_a_word_or_a_loss() -> None:
    assert list(LOSSES) == ["square", "log"]
    assert get_loss("log").name == "log"
    with input_error("loss must be one of square, log; it is 'hinge'"):
        get_loss("hinge")


def test_rounds_are_those_of_solve() -> None:
    states = list(rp.rounds(FAMILY, tolerance=1e-7))
    solution = rp.solve(FAMILY, tolerance=1e-7)
    assert [state.round for state in states] == list(range(1, solution.rounds + 1))
    assert [(s.lower, s.upper) for s in states] == [(point.lower, point.upper) for point in solution.trace]
    assert all(a.lower <= b.lower <= b.upper <= a.upper for a, b in pairwise(states))
    assert next(rp.rounds(FAMILY, method="multiplicative-weights")).round == 1
    assert len(list(rp.rounds(FAMILY, tolerance=0, rounds=3))) == 3


@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        (rp.CuttingPlanes(tolerance=1e-5, rounds=50), {"tolerance": 1e-5, "rounds": 50}),
        (rp.CuttingPlanes(tolerance=1e-3, canonical="smooth"), {"tolerance": 1e-3, "canonical": "smooth"}),
        (rp.MultiplicativeWeights(rounds=20), {"method": "multiplicative-weights", "rounds": 20}),
        (rp.MultiplicativeWeights(epsilon=0.5), {"epsilon": 0.5}),
    ],
)
def test_a_solver_is_its_settings(solver: Any, settings: dict[str, Any]) -> None:
    one, other = rp.solve(FAMILY, solver=solver), rp.solve(FAMILY, **settings)
    assert (one.lower, one.upper, one.settings) == (other.lower, other.upper, other.settings)


def test_a_solver_and_its_settings_are_not_given_twice() -> None:
    message = "give a solver or its settings, not both; these were also given: method, tolerance"
    with input_error(message):
        rp.solve(FAMILY, solver=rp.CuttingPlanes(), method="cutting-planes", tolerance=1e-3)
    with input_error("rounds must be a whole number"):
        rp.CuttingPlanes(rounds=0)


@dataclass(frozen=True)
class Thermometers:
    """Two thermometers that agree with the weather with probability q, for some values of q."""

    strengths: tuple[float, ...] = (0.6, 0.75, 0.9)

    def fingerprint(self) -> str:
        return repr(self)

    def words(self, nature: str = "grid") -> str:
        return f"{len(self.strengths)} pairs of thermometers on a {nature}"

    def as_data(self) -> dict[str, Any]:
        return {"kind": "thermometers", "strengths": list(self.strengths)}

    def nature(self, loss: Any, paradigm: str, restrictions: Any, kind: str) -> Any:
        assert kind == "grid"
        agrees = [np.array([[q, 1 - q], [1 - q, q]]) for q in self.strengths]
        family = rp.FiniteFamily.from_joints(np.array([0.5 * a[:, :, None] * a[:, None, :] for a in agrees]))
        return family.nature(loss, paradigm, restrictions)


def test_a_family_of_ones_own_is_solved_saved_and_resumed(tmp_path: Path) -> None:
    design, checkpoint = tmp_path / "design.json", tmp_path / "state.npz"
    solution: Any = rp.solve(Thermometers(), checkpoint=checkpoint)
    assert solution.stopped is rp.Stopped.GAP
    again: Any = rp.solve(Thermometers(), checkpoint=checkpoint, resume=True)
    assert again.upper == solution.upper
    with input_error("belongs to another family"):
        rp.solve(Thermometers((0.6, 0.8)), checkpoint=checkpoint, resume=True)
    rp.save_design(solution, design)
    loaded = rp.load_design(design)
    assert loaded.family.as_data() == Thermometers().as_data()
    profiles = [[0.6, 0.6], [0.9, 0.1]]
    np.testing.assert_array_equal(loaded(profiles), solution.aggregator(profiles))
    with unsupported_error("Algorithm 1 needs structures that can be listed; those of 3 pairs"):
        rp.solve(Thermometers(), method="multiplicative-weights")
    with input_error("family must be a FiniteFamily, ConditionallyIndependent or a list"):
        rp.solve(object())  # type: ignore[arg-type]


class Backwards:
    """Does the last item first, in one thread, and still answers in order."""

    def map(self, function: Callable[..., Any], items: Any, common: Any, *, compiled: bool) -> Iterator[Any]:
        assert isinstance(compiled, bool)
        return reversed([function(common, item) for item in reversed(items)])


@pytest.mark.parametrize(
    "job",
    [
        lambda: rp.solve(rp.ConditionallyIndependent(2, 12, 200), tolerance=1e-5).upper,
        lambda: rp.solve(rp.random_family(6000, rng=1), method="multiplicative-weights", rounds=20).lower,
        lambda: rp.weakness("mean", np.linspace(0, 1, 9), np.arange(1, 16) / 16).sum(),
        lambda: rp.worst_case("mean").regret,
    ],
    ids=["priors", "structures", "weakness", "search"],
)
def test_results_do_not_depend_on_the_executor(job: Callable[[], float]) -> None:
    results = []
    for executor in (InProcess(1), InProcess(3), Backwards()):
        with using(executor):
            results.append(job())
    assert results[0] == results[1] == results[2]


def test_work_inside_work_does_not_wait_for_ever() -> None:
    def outer(common: int, item: int) -> int:
        return sum(mapped(lambda c, i: c + i, range(3), item, compiled=True)) + common

    with using(InProcess(2)):
        assert list(mapped(outer, range(8), 100, compiled=True)) == [103 + 3 * k for k in range(8)]
