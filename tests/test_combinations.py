"""Three paradigms, the losses, five families of aggregators and what they combine to: each works or says why not."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import reference
import robustpool as rp
from quick import one_of
from refusals import input_error, unsupported_error
from robustpool.families.random_families import random_joints
from robustpool.game import feasible
from robustpool.game.paradigms import payoff_terms
from robustpool.game.responders import best_responder
from robustpool.losses import get_loss

PARADIGMS = ("additive", "absolute", "ratio")
LOSSES = ("square", "log")
TOGETHER = [rp.Symmetric(), rp.Monotone(), rp.Lipschitz(1.5)]
FAMILIES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "all": ([], {}),
    "lipschitz": ([rp.Lipschitz(1.0)], {"lipschitz": 1.0}),
    "symmetric": ([rp.Symmetric()], {"symmetric": True}),
    "monotone": ([rp.Monotone()], {"monotone": True}),
    "convex": ([rp.Constrained(lambda table, _: [table >= 0.2, table <= 0.85])], {"box": (0.2, 0.85)}),
    "together": (TOGETHER, {"symmetric": True, "monotone": True, "lipschitz": 1.5}),
}
TOLERANCE = 1e-4


@cache
def joints(states: int) -> Any:
    """Ten structures, all with positive omniscient loss, that share report profiles."""
    drawn = random_joints(200, states=states, resolution=8, rng=3)
    return np.array([j for j in drawn if np.min(j.max(axis=0) / np.maximum(j.sum(axis=0), 1e-9)) < 0.9][:10])


@pytest.mark.parametrize(("paradigm", "loss", "name"), one_of(5, product(PARADIGMS, LOSSES, FAMILIES)))
def test_every_convex_combination_agrees_with_an_independent_programme(paradigm: str, loss: str, name: str) -> None:
    check_against_programme(2, paradigm, loss, name, (TOLERANCE, 1e-7))


@pytest.mark.parametrize(
    ("name", "paradigm", "loss"), one_of(5, product(["all", "lipschitz", "symmetric"], PARADIGMS, LOSSES))
)
def test_three_states(name: str, paradigm: str, loss: str) -> None:
    check_against_programme(3, paradigm, loss, name, (1e-3, 1e-6))


def check_against_programme(states: int, paradigm: str, loss: str, name: str, tolerances: tuple[float, float]) -> None:
    """Both methods meet their tolerance around the value, and the regrets of the table lie below the upper bound."""
    restrictions, stated = FAMILIES[name]
    family = rp.FiniteFamily.from_joints(joints(states))
    value = reference.value(list(joints(states)), paradigm=paradigm, loss=loss, **stated)
    for method, tolerance in (("multiplicative-weights", tolerances[0]), ("cutting-planes", tolerances[1])):
        how: Any = {"paradigm": paradigm, "loss": loss, "restrictions": restrictions, "method": method}
        solution = rp.solve(family, **how, tolerance=tolerance)
        assert solution.stopped is rp.Stopped.GAP
        assert solution.lower - 1e-6 <= value <= solution.upper + 1e-6
    worst = rp.regrets(solution.aggregator, family, loss=loss, paradigm=paradigm).max()
    assert worst == pytest.approx(solution.upper, abs=1e-12)


@pytest.mark.parametrize("lipschitz", [0.2, 0.4])
def test_constraints_added_when_needed_lead_where_all_lead(monkeypatch: pytest.MonkeyPatch, lipschitz: float) -> None:
    family = rp.random_family(12, states=3, agents=3, resolution=8, rng=1)  # 61 profiles, all neighbours
    few: Any = rp.solve(family, lipschitz=lipschitz, tolerance=1e-7)
    forecasts = few.aggregator.forecasts
    slack = lipschitz * np.abs(family.reports[:, None] - family.reports).sum((2, 3))
    assert np.all(np.abs(forecasts[:, None] - forecasts).max(axis=2) <= slack + 1e-12)
    masses = np.random.default_rng(0).random(forecasts.shape) * (np.arange(len(forecasts)) % 3 == 0)[:, None]
    tables = family.nature(get_loss("square"), "additive", [rp.Lipschitz(lipschitz)], "grid").tables
    assert tables.polyhedron.bonds > feasible.MANY * forecasts.size
    response = best_responder(tables)(masses)
    monkeypatch.setattr(feasible, "MANY", 10**9)
    all_of_them = rp.solve(family, lipschitz=lipschitz, tolerance=1e-7)
    assert few.lower <= all_of_them.upper + 1e-12 <= few.upper + 1e-7
    assert response.least == pytest.approx(best_responder(tables)(masses).cost, abs=1e-6)
    assert response.least <= response.cost


@pytest.mark.parametrize("paradigm", PARADIGMS)
def test_a_custom_loss_that_is_the_square_loss_has_its_value(paradigm: str) -> None:
    family = rp.FiniteFamily.from_joints(joints(2))
    own = rp.ConvexLoss(lambda y, state: cp.square(y - state), name="brier")
    custom = rp.solve(family, loss=own, paradigm=paradigm, tolerance=TOLERANCE)
    square = rp.solve(family, paradigm=paradigm, tolerance=TOLERANCE)
    assert max(custom.lower, square.lower) <= min(custom.upper, square.upper) + 1e-7
    arithmetic = "float64, the convex solver's value less 1e-8; omniscient losses to its accuracy"
    assert custom.settings.arithmetic == arithmetic


def test_a_custom_loss_of_three_states() -> None:
    family = rp.FiniteFamily.from_joints(joints(3))
    own = rp.ConvexLoss(lambda y, state: cp.sum(cp.square(y - np.eye(3)[[state] * y.shape[0]]), axis=1))
    custom, square = rp.solve(family, loss=own, tolerance=1e-3), rp.solve(family, tolerance=1e-3)
    assert max(custom.lower, square.lower) <= min(custom.upper, square.upper) + 1e-7


@pytest.mark.parametrize(("name", "states"), [("lipschitz", 2), ("together", 2), ("lipschitz", 3)])
@pytest.mark.parametrize("loss", LOSSES)
def test_returned_tables_meet_their_restrictions(name: str, states: int, loss: str) -> None:
    restrictions, stated = FAMILIES[name]
    family = rp.FiniteFamily.from_joints(joints(states))
    solution: Any = rp.solve(family, restrictions=restrictions, loss=loss, tolerance=1e-2)
    reports = solution.aggregator.reports.reshape(len(solution.aggregator.reports), -1)
    forecasts = solution.aggregator.forecasts.reshape(len(reports), -1)
    distance = np.abs(reports[:, None] - reports[None]).sum(axis=2)
    jump = np.abs(forecasts[:, None] - forecasts[None]).max(axis=2)
    assert (jump <= stated["lipschitz"] * distance + 1e-9).all()
    if "monotone" in stated:
        below = (reports[:, None] <= reports[None]).all(axis=2)
        assert (forecasts[:, None, 0] - forecasts[None, :, 0])[below].max() <= 1e-9
    if "symmetric" in stated:
        swapped = solution.aggregator(solution.aggregator.reports[:, ::-1, 0])
        np.testing.assert_array_equal(swapped, solution.aggregator.forecasts)


def test_restrictions_never_lower_the_value_and_a_smaller_constant_never_helps() -> None:
    family = rp.FiniteFamily.from_joints(joints(2))
    free = rp.solve(family, tolerance=TOLERANCE)
    values = [rp.solve(family, lipschitz=L, tolerance=TOLERANCE) for L in (0.25, 0.5, 1, 2, 50)]
    assert all(tight.upper >= loose.lower for tight, loose in pairwise(values))
    assert values[0].lower > values[3].upper  # and here it costs something
    assert values[-1].upper >= free.lower


def test_more_structures_never_lower_the_value() -> None:
    drawn = random_joints(40, resolution=6, rng=0)
    values = [rp.solve(rp.FiniteFamily.from_joints(drawn[:n]), tolerance=1e-7) for n in (2, 5, 10, 20, 40)]
    assert all(few.lower <= many.upper for few, many in pairwise(values))


# --- what cannot be done says so in one sentence -----------------------------------------------------------------------


def test_monotone_needs_two_states() -> None:
    with unsupported_error(r"^monotone needs two states, or the state to order by, such as Monotone\(state=0\): "):
        rp.solve(rp.FiniteFamily.from_joints(joints(3)), restrictions=[rp.Monotone()])
    with input_error(r"^state must be a whole number, at least 0 and at most 2; it is 3\.$"):
        rp.solve(rp.FiniteFamily.from_joints(joints(3)), restrictions=[rp.Monotone(state=3)])
    family = rp.FiniteFamily.from_joints(joints(3), report="higher-order")
    with unsupported_error(r"posteriors or decisions; they are higher-order\.$"):
        rp.solve(family, restrictions=[rp.Monotone(state=0)])


@pytest.mark.parametrize("state", range(3))
def test_monotone_in_one_of_three_states(state: int) -> None:
    family = rp.FiniteFamily.from_joints(joints(3))
    free = rp.solve(family, tolerance=TOLERANCE)
    solution: Any = rp.solve(family, restrictions=rp.Monotone(state=state), tolerance=TOLERANCE)
    assert solution.gap <= TOLERANCE
    assert solution.upper >= free.lower
    for x, f in zip(solution.aggregator.reports, solution.aggregator.forecasts, strict=True):
        for z, g in zip(solution.aggregator.reports, solution.aggregator.forecasts, strict=True):
            if (z[:, state] >= x[:, state]).all() and (np.delete(z - x, state, axis=1) <= 0).all():
                assert f[state] <= g[state] + 1e-8


def test_a_loss_that_is_not_convex() -> None:
    bent = rp.ConvexLoss(lambda y, state: cp.sqrt(cp.abs(y - state)), name="root")
    with unsupported_error("loss 'root' is not convex by cvxpy's rules in state 0"):
        rp.solve(rp.FiniteFamily.from_joints(joints(2)), loss=bent)


def test_a_loss_of_the_wrong_shape() -> None:
    summed = rp.ConvexLoss(lambda y, state: cp.sum(cp.square(y - state)))
    with input_error(r"loss 'custom' must return one loss for each forecast, shape \(\d+,\)"):
        rp.solve(rp.FiniteFamily.from_joints(joints(2)), loss=summed)


def test_a_loss_that_is_negative() -> None:
    with input_error(r"loss 'custom' must be a number that is not negative; it takes -1"):
        rp.ConvexLoss(lambda y, state: y - 1 + 0 * state).table(np.array([[1.0, 0.0]]))


def test_constraints_that_are_no_constraints() -> None:
    family = rp.FiniteFamily.from_joints(joints(2))
    with input_error("odd must return a list of cvxpy constraints; it returned 3"):
        rp.solve(family, restrictions=[rp.Constrained(lambda _table, _reports: 3, name="odd")])  # type: ignore[arg-type,return-value]
    with unsupported_error("odd states a set that is not convex by cvxpy's rules"):
        rp.solve(family, restrictions=[rp.Constrained(lambda table, _: [cp.square(table) >= 0.25], name="odd")])
    with unsupported_error(r"(best response|first table) has no solution: the constraints contradict each other"):
        rp.solve(family, restrictions=[rp.Constrained(lambda table, _: [table >= 0.6, table <= 0.4])])


@pytest.mark.parametrize("most", [0.1, 0.4])
def test_a_run_never_starts_from_a_table_that_breaks_a_constraint(most: float) -> None:
    """The default would be better than all that is allowed: its payoff is no upper bound."""
    low = rp.Constrained(lambda table, _: [table <= most], "low")
    for family in (rp.FiniteFamily.from_joints(joints(2)), rp.ConditionallyIndependent(2, 3, 4, (0.2, 0.7))):
        for rounds in (1, 50):
            solution = rp.solve(family, restrictions=[low], rounds=rounds)
            forecasts = np.asarray(
                getattr(solution.aggregator, "values", getattr(solution.aggregator, "forecasts", None))
            )
            assert forecasts.max() <= most + 1e-6
            assert solution.lower <= solution.upper + 1e-9
        assert solution.converged


def certain(state_of_signal: list[int]) -> rp.InformationStructure:
    """One agent; each signal gives the state away."""
    joint = np.zeros((2, len(state_of_signal)))
    joint[state_of_signal, range(len(state_of_signal))] = 1 / len(state_of_signal)
    return rp.InformationStructure(joint)


def test_ratio_pins_the_table_where_the_omniscient_has_no_loss() -> None:
    fuzzy = rp.InformationStructure([[0.4, 0.1], [0.1, 0.4]])
    for loss in LOSSES:
        solution = rp.solve(rp.FiniteFamily.from_structures([certain([0, 1]), fuzzy]), paradigm="ratio", loss=loss)
        assert solution.aggregator([[0.0], [1.0]]).tolist() == [0.0, 1.0]
        assert solution.upper == pytest.approx(1, abs=1e-6)  # 0/0 = 1
        alone = rp.solve([certain([0, 1])], paradigm="ratio", loss=loss)
        assert (alone.lower, alone.upper) == (1, 1)


def test_the_ratio_to_no_loss_is_one_or_infinite() -> None:
    sure = certain([0, 1])
    for loss in LOSSES:
        assert rp.regret(lambda x: x[:, 0], sure, paradigm="ratio", loss=loss) == 1
        assert rp.regret(lambda x: 0.01 + 0.98 * x[:, 0], sure, paradigm="ratio", loss=loss) == np.inf


def test_rounding_counts_as_no_loss() -> None:
    scale, offset, pins = payoff_terms("ratio", np.array([0.0, 0.9e-15, 1.1e-15, 0.2]))
    assert pins.tolist() == [True, True, False, False]
    assert scale == pytest.approx([0, 0, 1 / 1.1e-15, 5])
    assert offset.tolist() == [-1, -1, 0, 0]


def blind_and_sure() -> tuple[rp.InformationStructure, rp.InformationStructure]:
    """Two agents who both say 1/2: in one structure the state is the sum of their signals, in the other it is noise."""
    sure = rp.InformationStructure([[[0.25, 0], [0, 0.25]], [[0, 0.25], [0.25, 0]]], name="parity")
    noise = rp.InformationStructure([[[0.125, 0.125]] * 2, [[0.125, 0.125]] * 2], name="noise")
    return sure, noise


def test_ratio_is_infinite_where_reports_hide_what_signals_tell() -> None:
    sure, _ = blind_and_sure()
    family = rp.FiniteFamily.from_structures([sure])
    with unsupported_error(r"no aggregator has a finite ratio: structures without omniscient loss \('parity'\)"):
        rp.solve(family, paradigm="ratio")
    assert rp.regrets(lambda x: x.mean(axis=1), family, paradigm="ratio").tolist() == [np.inf]


def test_ratio_with_the_log_loss_can_be_infinite() -> None:
    """A sure structure pins a report at 1; another structure shows the same report and is not sure."""
    sure = rp.InformationStructure([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]])
    how = lambda agent, signal, structure: float(signal)  # noqa: ARG005
    fuzzy = rp.InformationStructure([[0.3, 0.2, 0.0], [0.2, 0.3, 0.0]])
    family = rp.FiniteFamily.from_structures([sure, fuzzy], report=how)
    with unsupported_error("no aggregator has a finite ratio payoff under the log loss"):
        rp.solve(family, paradigm="ratio", loss="log")
    assert rp.solve(family, paradigm="ratio").upper == pytest.approx(0.4 / 0.24)  # the square loss only pays for it


def test_ratio_of_a_restricted_table_can_be_infinite() -> None:
    family = rp.FiniteFamily.from_structures([certain([0, 1])])
    with unsupported_error("no aggregator of this family has a finite ratio"):
        rp.solve(family, paradigm="ratio", lipschitz=0.5)


def test_ratio_of_a_custom_loss_needs_omniscient_loss() -> None:
    family = rp.FiniteFamily.from_structures([certain([0, 1])])
    with unsupported_error("the ratio of a custom loss needs a positive omniscient loss in every structure"):
        rp.solve(family, paradigm="ratio", loss=rp.ConvexLoss(lambda y, state: cp.square(y - state)))


# --- bounds are bounds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [1e-3, 1e-8, 1e-12, 1e-14])
def test_the_ratio_of_an_uninformed_structure_is_one(prior: float) -> None:
    """Nothing is lost to cancellation, however small the prior; lower never exceeds the true value."""
    for states in (2, 3):
        joint = np.zeros((states, 1))
        joint[:, 0] = [1 - (states - 1) * prior, *[prior] * (states - 1)]
        solution = rp.solve([rp.InformationStructure(joint)], paradigm="ratio")
        assert solution.lower == pytest.approx(1, abs=1e-12)
        assert solution.upper == pytest.approx(1, abs=1e-12)


def close_reports() -> list[rp.InformationStructure]:
    """Structures of two agents, of whom the first reports 0, 1e-13, 0.2 or their like, and the second nothing new."""

    def two(low: float, high: float, prior: float) -> rp.InformationStructure:
        q = (prior - low) / (high - low)
        return rp.InformationStructure([[[(1 - q) * (1 - low)], [q * (1 - high)]], [[(1 - q) * low], [q * high]]])

    return [two(0, 1, 0.5), two(1e-13, 1 - 1e-13, 0.5), two(2e-13, 1, 0.5), two(0.2, 0.9, 0.4)]


@pytest.mark.parametrize("name", ["lipschitz", "monotone", "together"])
def test_profiles_that_nearly_coincide_keep_their_constraints(name: str) -> None:
    restrictions, stated = FAMILIES[name]
    for limit in (rp.Lipschitz(0.3), *restrictions):
        few = rp.solve([close_reports()[0], close_reports()[3]], restrictions=limit, tolerance=1e-6)
        solution: Any = rp.solve(close_reports(), restrictions=limit, tolerance=1e-6)
        assert solution.upper >= few.lower  # more structures never lower the value
        reports, f = solution.aggregator.reports[:, :, 0], solution.aggregator.forecasts
        distance = np.abs(reports[:, None] - reports[None]).sum(axis=2)
        if isinstance(limit, rp.Lipschitz):
            assert (np.abs(f[:, None] - f[None]) <= limit.constant * distance + 1e-15).all()
        if isinstance(limit, rp.Monotone):
            below = (reports[:, None] <= reports[None]).all(axis=2)
            assert (f[:, None] - f[None])[below].max() <= 1e-15
    assert stated


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["lipschitz", "monotone"])
def test_pins_and_restrictions_together(name: str, loss: str) -> None:
    restrictions, stated = FAMILIES[name]
    structures = [
        [[0.5, 0.0], [0.0, 0.5]],  # certain: pins the reports 0 and 1
        [[0.4, 0.1], [0.1, 0.4]],
        [[0.3, 0.25], [0.1, 0.35]],
    ]
    family = rp.FiniteFamily.from_structures([rp.InformationStructure(joint) for joint in structures])
    solution = rp.solve(family, paradigm="ratio", loss=loss, restrictions=restrictions, tolerance=1e-5)
    value = reference.value([np.array(joint) for joint in structures], paradigm="ratio", loss=loss, **stated)
    assert solution.lower - 1e-6 <= value <= solution.upper + 1e-6
    assert solution.lower <= value + 2e-7
    assert rp.regrets(solution.aggregator, family, paradigm="ratio", loss=loss).max() == pytest.approx(solution.upper)


def test_lower_bounds_of_the_convex_programme_lie_below_a_value_known_by_hand() -> None:
    """Two structures, one report of 1/2, states that are 0.2 and 0.8 likely given reports no one sees: f = 1/2.

    A custom report hides everything, so that the value is max over both of the variance explained, 0.09.
    """
    joints = [[[0.8], [0.2]], [[0.2], [0.8]]]
    family = rp.FiniteFamily.from_joints(joints, report=lambda *_: 0.5)
    box = rp.Constrained(lambda table, _: [table >= 0, table <= 1])
    for options in ({"restrictions": box}, {"loss": rp.ConvexLoss(lambda y, state: cp.square(y - state))}):
        solution = rp.solve(family, tolerance=1e-6, **options)
        assert solution.lower <= 0.09 <= solution.upper + 1e-12
        assert solution.gap <= 1e-6


@pytest.mark.parametrize("states", [2, 3])
@pytest.mark.parametrize("name", ["square", "log"])
def test_the_tilted_minimum_is_a_tight_lower_bound(name: str, states: int) -> None:
    """min over y of sum_omega m(omega) l(y, omega) + tilt . y, against a convex programme; no forecast is below."""
    loss: Any = get_loss(name)
    rng = np.random.default_rng(states)
    y = cp.Variable(states, nonneg=True)
    shown = y[1:] if states == 2 else cp.reshape(y, (1, states), order="C")
    for scale in (0.01, 0.3, 3.0):
        for _ in range(3):
            masses, tilt = rng.random(states), scale * rng.normal(size=states)
            expected = sum(masses[k] * loss.expression(shown, k)[0] for k in range(states)) + tilt @ y
            least = cp.Problem(cp.Minimize(expected), [cp.sum(y) == 1]).solve(solver=cp.CLARABEL)
            bound = float(loss.tilted_minimum(masses[None], tilt[None])[0])
            assert bound == pytest.approx(least, abs=1e-6)
            tried = rng.dirichlet(np.ones(states), size=1000)
            assert bound <= float(np.min(loss.table(tried) @ masses + tried @ tilt))


def test_repair_takes_out_every_violation_and_leaves_pins() -> None:
    from robustpool.aggregators.restrictions import Differences

    rng = np.random.default_rng(1)
    line = np.arange(20)
    bonds = Differences(np.concatenate((line[:-1], line[1:])), np.concatenate((line[1:], line[:-1])), np.full(38, 0.06))
    pinned = np.zeros(20, dtype=bool)
    pinned[[0, 19]] = True
    second = np.linspace(0, 1, 20) + 1e-7 * rng.normal(size=20)
    second[[0, 19]] = 0, 1
    table = np.stack((1 - second, second), axis=1)
    repaired = bonds.repaired(table, pinned)
    assert np.abs(np.diff(repaired[:, 1])).max() <= 0.06 + 1e-15
    assert repaired[[0, 19], 1].tolist() == [0, 1]
    assert np.abs(repaired - table).max() < 1e-5
    three = rng.dirichlet(np.ones(3), size=20)
    assert np.abs(np.diff(bonds.repaired(three, np.zeros(20, dtype=bool)), axis=0)).max() <= 0.06 + 1e-15


# --- the omniscient sees the signals -------------------------------------------------------------------------------------


def test_one_structure_costs_what_the_reports_hide() -> None:
    sure, noise = blind_and_sure()
    assert rp.solve(rp.FiniteFamily.from_structures([noise])).upper == pytest.approx(0, abs=1e-15)
    parity = rp.solve(rp.FiniteFamily.from_structures([sure]))
    assert (parity.lower, parity.upper) == pytest.approx((0.25, 0.25))  # she knows the state, the reports say 1/2
    assert parity.aggregator([[0.5, 0.5]]).tolist() == [0.5]


def test_one_structure_whose_reports_reveal_all_has_value_zero() -> None:
    for seed in range(20):
        family = rp.random_family(1, resolution=None, states=2 + seed % 3, rng=seed)
        assert rp.solve(family).upper == pytest.approx(0, abs=1e-12)
