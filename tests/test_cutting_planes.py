"""The exact solver: against enumeration, against Algorithm 1, and where a cone solver fails."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reference
import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.families.independent_nature import IndependentNature, independent_nature
from robustpool.families.nature import Answer
from robustpool.game.master_programme import MasterProgramme
from robustpool.game.responders import best_responder
from robustpool.losses import get_loss
from robustpool.solvers.cutting_planes import CuttingPlanes, with_head_start
from test_algorithm_1 import random_game

if TYPE_CHECKING:
    from pathlib import Path

V = (5 * np.sqrt(5) - 11) / 8
"""The lower bound of [Arieli2018] for two conditionally independent agents."""


@pytest.mark.parametrize("seed", range(32))
def test_value_agrees_with_an_independent_programme(seed: int) -> None:
    joints, family, how = random_game(seed)
    solution = rp.solve(family, tolerance=1e-8)
    value = reference.value(list(joints), how=how)
    assert solution.stopped is rp.Stopped.GAP
    assert solution.lower - 1e-7 <= value <= solution.upper + 1e-7


def test_ctrl_c_after_the_last_round_keeps_what_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solution is made twice: when Ctrl-C comes, and without what takes long."""
    stops = [KeyboardInterrupt(), None]
    outcome = rp.CuttingPlanes.outcome

    def stopped(*about: Any) -> Any:
        if (stop := stops.pop(0)) is not None:
            raise stop
        return outcome(*about)

    monkeypatch.setattr(rp.CuttingPlanes, "outcome", stopped)
    solution = rp.solve(rp.ConditionallyIndependent(2, 6, 20), tolerance=1e-6)
    assert (solution.stopped, solution.gap <= 1e-6) == (rp.Stopped.INTERRUPTED, True)
    stops.extend([KeyboardInterrupt(), KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        rp.solve(rp.ConditionallyIndependent(2, 6, 20), tolerance=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_value_agrees_with_an_independent_programme_on_200_families(seed: int) -> None:
    joints, family, how = random_game(1000 + seed)
    solution = rp.solve(family, tolerance=1e-8)
    assert solution.stopped is rp.Stopped.GAP
    assert solution.lower - 1e-7 <= reference.value(list(joints), how=how) <= solution.upper + 1e-7


def test_bounds_belong_to_what_is_returned() -> None:
    family = rp.random_family(300, resolution=8, rng=4)
    solution = rp.solve(family, tolerance=1e-8)
    assert rp.regrets(solution.aggregator, family).max() == pytest.approx(solution.upper, abs=1e-14)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = rp.TableAggregator(family.reports, rng.random(len(family.reports)))
        assert solution.mixture.weights @ rp.regrets(other, family) >= solution.lower - 1e-15


def test_the_bounds_of_every_round_belong_to_its_mixture_and_its_table() -> None:
    family = rp.ConditionallyIndependent(2, 12, 100, (0.2, 0.5))
    nature = independent_nature(family, get_loss("square"), "additive", ())
    lower, upper = -np.inf, np.inf
    for state in islice(CuttingPlanes().iterate(nature), 10):
        least = nature.least(nature.cuts(state.lower_label), state.lower_weights)
        assert state.lower == pytest.approx(least, abs=1e-9)
        assert state.upper == nature.answer(state.centre)[0]
        assert lower <= state.lower <= state.upper + 1e-12 <= upper + 1e-12
        lower, upper = state.lower, state.upper


def test_two_agents_on_the_grid_of_the_paper() -> None:
    """N = 20, M = 400: the value 0.022542 to a gap of 1e-7; the table's regret on that grid is what nature says."""
    family = rp.ConditionallyIndependent(2, 20, 400)
    solution = rp.solve(family, tolerance=1e-7)
    assert solution.lower == pytest.approx(0.022542, abs=5e-7)
    assert solution.gap <= 1e-7
    assert rp.worst_case(solution.aggregator, family).regret == pytest.approx(solution.upper, abs=1e-15)


def test_continuous_priors_give_the_known_lower_bound() -> None:
    """N = 20: nature's best pair of structures has its reports 0 and 1/2 on the grid, so the value is V itself."""
    solution = rp.solve(rp.ConditionallyIndependent(2, 20, None), tolerance=1e-7)
    assert solution.lower - 1e-8 <= V <= solution.upper + 1e-8
    assert solution.gap <= 1e-7


@pytest.mark.slow
def test_fifty_reports_and_continuous_priors() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 50, None), tolerance=1e-7)
    assert solution.lower - 1e-8 <= V <= solution.upper + 1e-8


@pytest.mark.slow
def test_a_hundred_reports() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 100, 1000), tolerance=1e-6)
    assert solution.gap <= 1e-6
    assert solution.lower <= V + 1e-8


def test_knowing_the_base_rate_exactly_is_knowing_all() -> None:
    """With one prior the omniscient posterior is a function of the reports: Bordley's rule, value 0."""
    for priors in (10, None):
        solution = rp.solve(rp.ConditionallyIndependent(2, 6, priors, (0.3, 0.3)), tolerance=1e-7)
        assert solution.upper <= 1e-7
    three = rp.solve(rp.ConditionallyIndependent(3, 3, 10, (0.3, 0.3)), tolerance=1e-7)
    assert three.upper <= 1e-7


def test_a_narrower_range_of_priors_never_costs_more() -> None:
    ranges = [(0.0, 1.0), (0.0, 0.5), (0.05, 0.2), (0.1, 0.15)]
    values = [rp.solve(rp.ConditionallyIndependent(2, 8, 80, r), tolerance=1e-6) for r in ranges]
    assert all(wide.upper >= narrow.lower for wide, narrow in pairwise(values))
    assert values[0].lower > values[2].upper
    written = rp.ConditionallyIndependent(2, 8, 80, (0.05, 0.2)).enumerate(pruned=False).flat
    again = rp.solve(written, tolerance=1e-6)  # every structure written out, no symmetry used
    assert max(again.lower, values[2].lower) <= min(again.upper, values[2].upper) + 1e-9


@pytest.mark.parametrize("prior_range", [(0.4, 0.95), (0.6, 0.9)])
def test_a_mirrored_table_over_a_lopsided_range_of_priors(prior_range: tuple[float, float]) -> None:
    """The table is mirrored because the user says so; the priors are not, so all of them count."""
    family = rp.ConditionallyIndependent(2, 5, 20, prior_range)
    exact = rp.solve(family, restrictions=rp.Mirrored())
    written = rp.solve(family.enumerate(pruned=False).flat, restrictions=rp.Mirrored())
    assert max(exact.lower, written.lower) <= min(exact.upper, written.upper) + 1e-9


@pytest.mark.parametrize(("priors", "value"), [(None, 0.0130354920), (400, 0.0130352430)])
def test_a_lopsided_range_of_priors_needs_few_rounds(priors: int | None, value: float) -> None:
    """Few priors matter there, and one structure for each says too little: with those alone 60 rounds leave a gap of 1e-4 and more."""
    solution = rp.solve(rp.ConditionallyIndependent(2, 20, priors, (0.05, 0.4)), rounds=25)
    assert solution.converged
    assert solution.lower - 1e-9 <= value <= solution.upper + 1e-9


@pytest.mark.parametrize("priors", [None, 30])
def test_exchanged_agents_are_one_cut(priors: int | None) -> None:
    """And with continuous priors equal reports are."""
    family = rp.ConditionallyIndependent(2, 12, priors, (0.1, 0.6))
    nature = independent_nature(family, get_loss("square"), "additive", ())
    value, labels = nature.answer(nature.first_table())
    payoffs = nature.payoffs(labels, nature.first_table())
    assert payoffs[0] == pytest.approx(value, abs=1e-15)
    assert (np.diff(payoffs) <= 1e-15).all()
    cuts = {(None if priors is None else row[0], *sorted((tuple(row[1:3]), tuple(row[3:])))) for row in labels}
    assert len(cuts) == len(labels) > 20


@pytest.mark.parametrize("prior_range", [(0.0, 0.0), (1.0, 1.0), (0.0, 1e-10)])
@pytest.mark.parametrize("priors", [8, None])
def test_where_everything_is_certain_nothing_is_lost(prior_range: tuple[float, float], priors: int | None) -> None:
    assert rp.solve(rp.ConditionallyIndependent(2, 4, priors, prior_range)).upper <= 1e-6


@pytest.mark.parametrize("prior_range", [(0.001, 0.002), (0.0, 0.001)])
def test_rare_events(prior_range: tuple[float, float]) -> None:
    """No more can be lost than the event is likely; small payoffs do not stall the proximal term."""
    solution = rp.solve(rp.ConditionallyIndependent(2, 10, None, prior_range), tolerance=1e-7)
    assert solution.stopped is rp.Stopped.GAP
    assert solution.upper <= prior_range[1]


def test_rare_events_against_continuous_nature() -> None:
    family = rp.ConditionallyIndependent(2, 4, None, (0.0, 1e-5))
    free = rp.solve(family, nature="continuous", tolerance=1e-7, rounds=40)
    assert free.lower <= 1e-5


def test_a_search_that_finds_more_at_the_end_is_not_called_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    from robustpool.families.continuous_nature import ContinuousNature

    monkeypatch.setattr(ContinuousNature, "settled", lambda _, table, *__: (table, 0.03))
    solution = rp.solve(rp.ConditionallyIndependent(2, 4, None), nature="continuous", tolerance=1e-3)
    assert solution.stopped is rp.Stopped.SEARCH
    assert solution.upper == 0.03


def test_found_upper_bounds_are_not_below_the_lower_ones() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 4, None, (0.2, 0.2)), nature="continuous", rounds=25)
    assert solution.lower <= solution.upper + 1e-12


@pytest.mark.parametrize("loss", ["square", "log"])
@pytest.mark.parametrize("paradigm", ["additive", "absolute"])
def test_the_exact_nature_agrees_with_structures_written_out(paradigm: str, loss: str) -> None:
    family = rp.ConditionallyIndependent(2, 5, 12)
    exact = rp.solve(family, paradigm=paradigm, loss=loss, tolerance=1e-6)
    written = rp.solve(family.enumerate(pruned=False).flat, paradigm=paradigm, loss=loss, tolerance=1e-6)
    assert exact.stopped is written.stopped is rp.Stopped.GAP
    assert max(exact.lower, written.lower) <= min(exact.upper, written.upper) + 1e-9


def test_the_ratio_is_solved_on_structures_written_out() -> None:
    family = rp.ConditionallyIndependent(2, 4, 8)
    ratio: Any = rp.solve(family, paradigm="ratio", tolerance=1e-5)
    full = rp.solve(family.enumerate(pruned=False).flat, paradigm="ratio", tolerance=1e-5)
    assert max(ratio.lower, full.lower) <= min(ratio.upper, full.upper) + 1e-7
    assert ratio.aggregator([[0.0, 0.5], [1.0, 0.25]]).tolist() == [0.0, 1.0]  # a certain agent pins the table


def test_cuts_have_the_payoff_of_their_structure() -> None:
    nature = independent_nature(rp.ConditionallyIndependent(2, 8, 40), get_loss("square"), "additive", ())
    table = nature.first_table()
    value, labels = nature.answer(table)
    cuts = nature.cuts(labels)
    losses = get_loss("square").table(table)[cuts.cell]
    payoffs = np.sum(cuts.mass * losses, axis=(1, 2)) - cuts.offset
    assert payoffs.max() == pytest.approx(value, abs=1e-14)
    aggregator = rp.GridAggregator(nature.forecasts(table))
    for label, payoff in zip(labels[:20], payoffs[:20], strict=True):
        if 0 < label[0] < 1:
            structure = rp.BinaryStructure(label[0], label[1:].reshape(2, 2)).to_information_structure()
            assert rp.regret(aggregator, structure) == pytest.approx(payoff, abs=1e-12)


def test_a_cone_solver_that_fails_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third master fails at first, every sixth altogether: the bounds stay valid and the gap still closes."""
    import clarabel

    family = rp.random_family(300, resolution=8, rng=2)
    true = rp.solve(family, tolerance=1e-9)
    real, calls = clarabel.DefaultSolver, 0

    class Stumbling:
        def __init__(self, *arguments: Any) -> None:
            self.solver = real(*arguments)

        def solve(self) -> Any:
            nonlocal calls
            calls += 1
            solution = self.solver.solve()
            if calls % 3 == 1 or calls in (2, 3):

                class Broken:
                    x, z, status = np.full(len(solution.x), np.nan), np.full(len(solution.z), np.nan), "NumericalError"

                return Broken
            return solution

    monkeypatch.setattr(clarabel, "DefaultSolver", Stumbling)
    solution = rp.solve(family, tolerance=1e-7, rounds=60)
    assert solution.stopped is rp.Stopped.GAP
    assert calls > 4
    assert solution.lower <= true.upper
    assert solution.upper >= true.lower


def test_games_in_a_list_begin_with_few_cuts() -> None:
    family = rp.ConditionallyIndependent(2, 8, 20).enumerate(pruned=True).flat
    states = list(islice(CuttingPlanes().iterate(family.nature(get_loss("square"), "additive", [])), 3))
    assert len(states[0].label) == 8
    assert all(len(after.label) - len(before.label) <= 8 << before.round for before, after in pairwise(states))
    assert len(states[2].label) > 8 + 16


def test_the_mixture_of_the_master_is_a_mixture() -> None:
    nature = independent_nature(rp.ConditionallyIndependent(2, 6, 24), get_loss("square"), "additive", ())
    cuts = nature.cuts(nature.answer(nature.first_table())[1])
    proposal = MasterProgramme(nature.tables)(cuts, nature.first_table(), 1e-2)
    assert proposal.weights.sum() == pytest.approx(1)
    assert (proposal.weights >= 0).all()
    masses = cuts.masses(proposal.weights, nature.tables.cells)
    assert masses.sum() == pytest.approx(1)
    assert best_responder(nature.tables)(masses).least - proposal.weights @ cuts.offset <= V + 1e-9


def test_resume_gives_the_same_result_as_an_uninterrupted_run(tmp_path: Path) -> None:
    family, file = rp.ConditionallyIndependent(2, 12, 60, (0.1, 0.6)), tmp_path / "state.npz"
    whole: Any = rp.solve(family, tolerance=1e-8)
    assert whole.rounds > 3

    def stop_early(state: Any, _: int) -> None:
        if state.round == 2:
            raise KeyboardInterrupt

    part = rp.solve(family, tolerance=1e-8, checkpoint=file, progress=stop_early)
    assert part.stopped is rp.Stopped.INTERRUPTED
    again: Any = rp.solve(family, tolerance=1e-8, checkpoint=file, resume=True)
    assert (again.lower, again.upper, again.rounds) == (whole.lower, whole.upper, whole.rounds)
    np.testing.assert_array_equal(again.aggregator.values, whole.aggregator.values)
    with input_error("belongs to another family, version or settings"):
        rp.solve(family, checkpoint=file, resume=True, method="multiplicative-weights")


@pytest.mark.slow
def test_continuous_nature_against_the_interpolated_table() -> None:
    """The best bilinear table on 10 knots has about 0.02277; a table made for the grid alone is worse in between."""
    family = rp.ConditionallyIndependent(2, 10, None)
    free: Any = rp.solve(family, nature="continuous", tolerance=1e-5)
    assert free.stopped is rp.Stopped.GAP
    assert free.lower == pytest.approx(0.02277, abs=5e-6)
    assert rp.worst_case(free.aggregator, rng=3).regret <= free.upper + 1e-6
    assert rp.worst_case(rp.solve(family).aggregator).regret > free.upper + 1e-5
    structures: Any = free.mixture.structures
    priors, reports = structures.parameters(np.flatnonzero(free.mixture.weights))
    ours = sum(
        w * rp.regret(free.aggregator, rp.BinaryStructure(p, r).to_information_structure())
        for p, r, w in zip(priors, reports, free.mixture.weights, strict=True)
        if 0 < p < 1
    )
    assert free.mixture.symmetries == ("agents", "states")
    assert ours >= free.lower - 1e-9  # no table does better against the mixture, ours neither
    rng = np.random.default_rng(0)
    for _ in range(5):
        rough = free.aggregator.values + 0.05 * rng.normal(size=(11, 11))
        rough = rough + rough.T  # the mixture stands for its mirror images as well, so compare symmetric tables
        other = rp.GridAggregator(np.clip((rough + 2 - rough[::-1, ::-1]) / 4, 0, 1))
        regrets = [
            w * rp.regret(other, rp.BinaryStructure(p, r).to_information_structure())
            for p, r, w in zip(priors, reports, free.mixture.weights, strict=True)
            if 0 < p < 1
        ]
        assert sum(regrets) >= free.lower - 1e-9


def test_continuous_nature_with_a_lipschitz_table_and_a_range_of_priors() -> None:
    smooth: Any = rp.solve(rp.ConditionallyIndependent(2, 4, None), nature="continuous", lipschitz=1.5, tolerance=1e-3)
    assert smooth.gap <= 1e-3
    assert smooth.aggregator.lipschitz <= 1.5 + 1e-9
    known = rp.solve(rp.ConditionallyIndependent(2, 4, None, (0.2, 0.4)), nature="continuous", tolerance=1e-3)
    assert known.gap <= 1e-3
    assert known.mixture.symmetries == ("agents",)
    assert known.upper < smooth.lower


@pytest.mark.slow
@pytest.mark.parametrize(("N", "most"), [(20, 0.02262), (50, 0.022557), (100, 0.022548)])
def test_designs_against_continuous_nature(N: int, most: float) -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, N, None), nature="continuous", tolerance=1e-6)
    assert rp.worst_case(solution.aggregator, rng=5).regret <= most


def test_a_canonical_table_is_within_the_tolerance_and_does_not_depend_on_the_cuts() -> None:
    family = rp.ConditionallyIndependent(2, 8, 64)
    plain: Any = rp.solve(family, tolerance=1e-5)
    smooth: Any = rp.solve(family, tolerance=1e-5, canonical="smooth")
    near: Any = rp.solve(family, tolerance=1e-5, canonical="mean")
    assert smooth.settings.canonical == "smooth"
    assert smooth.settings.canonical_applied
    assert max(smooth.gap, near.gap) <= 1e-5
    assert rp.worst_case(smooth.aggregator, family).regret == pytest.approx(smooth.upper, abs=1e-15)
    assert rough(smooth.aggregator.values) < rough(plain.aggregator.values)
    grid = np.arange(9) / 8
    mean = (grid[:, None] + grid) / 2
    distances = [np.linalg.norm(s.aggregator.values - mean) for s in (near, plain, smooth)]
    assert distances[0] == min(distances)
    nature = independent_nature(family, get_loss("square"), "additive", ())
    _, labels = nature.answer(nature.first_table())
    rng = np.random.default_rng(0)
    tables: list[Any] = []
    for share in (1.0, 0.5, 0.2):
        chosen = labels[rng.permutation(len(labels))[: int(share * len(labels))]]
        tables.append(nature.canonical(chosen, plain.upper, 1e-5, "smooth"))
    assert max(np.abs(table - tables[0]).max() for table in tables) < 1e-3
    for slack in (1e-5, 1e-4, 1e-3):
        table: Any = nature.canonical(labels[:20], plain.upper, slack, "smooth")
        assert nature.answer(table)[0] <= plain.upper + slack  # whatever cuts it began with


def test_a_canonical_table_leaves_the_solver_half_of_the_tolerance() -> None:
    """A run that may stop at some round of another one, just within the tolerance, has to go on: the choice costs as well."""
    family = rp.ConditionallyIndependent(2, 12, 100, (0.2, 0.5))
    gaps = [point.upper - point.lower for point in rp.solve(family, tolerance=1e-6).trace]
    within = [gap for gap in gaps if 1e-5 < gap < 1e-2]
    assert len(within) >= 2
    for gap in within:
        solution = rp.solve(family, tolerance=1.001 * gap, canonical="smooth")
        assert solution.settings.canonical_applied
        assert solution.gap <= 1.001 * gap


def rough(values: Any) -> float:
    """The sum of squared second differences along both axes."""
    return float(sum(np.sum(np.diff(values, 2, axis=axis) ** 2) for axis in (0, 1)))


def test_a_canonical_table_that_cannot_be_had_leaves_the_best_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndependentNature, "canonical", lambda *_: None)
    solution = rp.solve(rp.ConditionallyIndependent(2, 6, 24), canonical="smooth", tolerance=1e-6)
    assert solution.gap <= 1e-6
    assert solution.settings.canonical_applied is False


def test_what_a_canonical_table_is_not_for() -> None:
    with input_error("rule must be one of"):
        rp.solve(rp.ConditionallyIndependent(2, 4, 8), canonical="magic")
    with input_error("canonical requires cutting planes and nature on the grid"):
        rp.solve(rp.random_family(3), canonical="smooth", method="multiplicative-weights")
    with unsupported_error("a canonical table is chosen for conditionally independent agents"):
        rp.solve(rp.random_family(3), canonical="smooth")


def test_a_coarse_grid_starts_a_fine_one() -> None:
    """Its table and its structures are on the fine grid too, so that fewer rounds are left to do."""
    family, options = rp.ConditionallyIndependent(2, 40, 200, (0.1, 0.6)), (get_loss("square"), "additive", ())
    without = independent_nature(family, *options)
    with_start: Any = with_head_start(without)
    assert len(with_start.labels) > 0
    values = [nature.answer(nature.first_table())[0] for nature in (with_start, without)]
    assert values[0] < values[1]
    index = with_start.labels[:, 1:] * 40
    np.testing.assert_allclose(index, np.rint(index), atol=1e-9)


@pytest.mark.parametrize(("loss", "value"), [("square", V), ("log", 0.0486797492)])
def test_a_fine_grid_starts_from_the_rule_where_the_coarse_one_does_not_improve_on_it(loss: str, value: float) -> None:
    """The minimax rule of the loss is optimal on every grid: no table between its values is, and no round is lost on one."""
    family = rp.ConditionallyIndependent(2, 64, None)
    nature: Any = independent_nature(family, get_loss(loss), "additive", ())
    started: Any = with_head_start(nature)
    np.testing.assert_array_equal(started.first_table(), nature.first_table())
    assert len(started.labels) > 0
    solution = rp.solve(family, loss=loss, tolerance=1e-6)
    assert solution.rounds <= 3
    assert solution.gap <= 1e-6
    assert solution.lower - 1e-9 <= value <= solution.upper + 1e-9


def test_a_structure_that_was_met_before_counts_in_the_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With continuous priors nature searches; what a search misses now it may have found rounds ago."""
    nature = independent_nature(rp.ConditionallyIndependent(2, 6, None), get_loss("square"), "additive", ())
    table = nature.first_table()
    value, labels = nature.answer(table)
    monkeypatch.setattr(type(nature), "answer", lambda *_: Answer(0.0, labels[-1:]))
    assert nature.settled(table, labels, 0.0)[1] == pytest.approx(value, abs=1e-14)


def test_what_continuous_nature_is_not_for() -> None:
    for family, options in (
        (rp.random_family(3), {}),
        (rp.ConditionallyIndependent(3, 4, None), {"loss": "log"}),
        (rp.ConditionallyIndependent(2, 4, None), {"loss": "log"}),
        (rp.ConditionallyIndependent(2, 4, None), {"method": "multiplicative-weights"}),
    ):
        with unsupported_error("continuous nature is for conditionally independent agents"):
            rp.solve(family, nature="continuous", **options)  # type: ignore[arg-type]
    with input_error("nature must be one of grid, continuous; it is 'wild'"):
        rp.solve(rp.random_family(3), nature="wild")


def test_large_families_need_few_rounds() -> None:
    solution = rp.solve(rp.random_family(200_000, resolution=14, rng=1), tolerance=1e-6)
    assert solution.stopped is rp.Stopped.GAP
    assert solution.rounds <= 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prior_range": (0.6, 0.4)}, r"prior_range must be from low to high; it is \(0\.6, 0\.4\)"),
        ({"prior_range": (0.1, 0.2, 0.3)}, r"prior_range must be a pair, from low to high; it is \(0\.1, 0\.2, 0\.3\)"),
        ({"prior_range": 0.5}, r"prior_range must be a pair, from low to high; it is 0\.5"),
        ({"prior_range": (-0.1, 0.4)}, r"prior_range must be a finite number, at least 0 and at most 1; it is -0\.1"),
        ({"prior_range": (0.301, 0.302)}, r"prior_range must hold a multiple of 1/400; it is \(0\.301, 0\.302\)"),
    ],
)
def test_bad_ranges_get_one_sentence(arguments: dict[str, Any], message: str) -> None:
    with input_error(message):
        rp.ConditionallyIndependent(**arguments)


def test_options_that_belong_to_the_other_method() -> None:
    with input_error("epsilon belongs to the method multiplicative-weights; the method is 'cutting-planes'"):
        rp.solve(rp.random_family(3), method="cutting-planes", epsilon=0.1)
    with input_error("method must be one of cutting-planes, multiplicative-weights; it is 'magic'"):
        rp.solve(rp.random_family(3), method="magic")
