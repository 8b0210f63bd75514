"""More than two conditionally independent agents: multisets, nature's exact answer, block ascent, designs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from robustpool.aggregators.multisets import additions, grid_ranks, multisets, ranks
from robustpool.families.grid_oracle import WorstStructures
from robustpool.families.independent_nature import written_out
from robustpool.families.many_agents import (
    ascended,
    enumerated,
    first_pairs,
    pairs_at,
    symmetric_table,
    work,
    worst_any_prior_of,
)
from robustpool.families.worst_case import off_grid_regret
from robustpool.losses import get_loss
from robustpool.solvers.cutting_planes import CuttingPlanes
from robustpool.views import results
from robustpool.views.design_page import design_page
from robustpool.wording import between_points

if TYPE_CHECKING:
    from pathlib import Path


def random_game(seed: int) -> tuple[rp.ConditionallyIndependent, str, str]:
    """Three to five agents on a small grid, with a range of priors, a loss and a paradigm."""
    rng = np.random.default_rng(seed)
    agents = int(rng.integers(3, 6))
    N, M = int(rng.integers(1, (6, 4, 3)[agents - 3])), int(rng.integers(3, 8))
    ends = ((0.0, 1.0), (0.2, 0.8), (0.0, 0.6), (0.3, 1.0))[int(rng.integers(4))]
    loss, paradigm = (("square", "additive"), ("log", "additive"), ("square", "absolute"))[int(rng.integers(3))]
    return rp.ConditionallyIndependent(agents, N, M, ends), loss, paradigm


def nothing(agents: int) -> WorstStructures:
    return WorstStructures(np.zeros(0), np.zeros((0, 1 + 2 * agents)))


@pytest.mark.parametrize(("size", "agents"), [(1, 3), (2, 5), (4, 3), (6, 2), (5, 1)])
def test_multisets_are_there_once_in_the_order_of_their_ranks(size: int, agents: int) -> None:
    rows = multisets(size, agents)
    assert {tuple(row) for row in rows} == {tuple(sorted(p)) for p in np.ndindex(*[size] * agents)}
    assert len({tuple(row) for row in rows}) == len(rows) == additions(size, agents).counts[-1]
    np.testing.assert_array_equal(ranks(rows[:, ::-1]), np.arange(len(rows)))
    every = np.indices((size,) * agents).reshape(agents, -1).T
    np.testing.assert_array_equal(grid_ranks(size, agents).ravel(), ranks(every))


@pytest.mark.parametrize("seed", range(12))
def test_nature_agrees_with_brute_force_and_block_ascent_never_finds_more(seed: int) -> None:
    """For every prior, over all structures written out, against a rough table."""
    family, loss, paradigm = random_game(seed)
    rng, x, agents = np.random.default_rng(seed), family.report_grid, family.agents
    f = 0.01 + 0.98 * rng.random(len(multisets(len(x), agents)))
    every = family.enumerate(pruned=False)
    table = rp.TableAggregator(every.flat.reports, f[grid_ranks(len(x), agents)].ravel())
    values = rp.regrets(table, every.flat, loss=loss, paradigm=paradigm)
    priors = family.prior_grid[(family.prior_grid > 0) & (family.prior_grid < 1)]
    oracle = symmetric_table(x, agents, f, loss=loss, paradigm=paradigm)
    found = ascended(oracle, priors)
    alone, helped = enumerated(oracle, priors, nothing(agents)), enumerated(oracle, priors, found)
    brute = np.array([values[np.isclose(every.priors / every.M, prior)].max() for prior in priors])
    np.testing.assert_allclose(alone.values, brute, atol=1e-12)
    np.testing.assert_allclose(helped.values, brute, atol=1e-12)
    for prior, value in zip(priors, brute, strict=True):
        assert found.values[found.labels[:, 0] == prior].max() <= value + 1e-12
    for response in (alone, helped, found):  # a label is the structure that has the value
        cost = rp.regret(
            rp.GridAggregator(f[grid_ranks(len(x), agents)]),
            response.structure().to_information_structure(),
            loss=loss,
            paradigm=paradigm,
        )
        assert cost == pytest.approx(response.value, abs=1e-12)


def test_enumeration_finds_what_block_ascent_misses() -> None:
    """A rule whose worst structures are nearly equal has many local maxima; at some priors the ascent stays in one."""
    x, priors = np.arange(21) / 20, np.arange(1, 51) / 100
    inside = np.clip(x[multisets(21, 3)], 1e-12, 1 - 1e-12)
    s = np.log(inside / (1 - inside)).sum(axis=1)
    oracle = symmetric_table(x, 3, 1 / (1 + np.exp(-s * (0.2938321819 + 0.2 * np.tanh(s / 3) ** 2))))
    found = ascended(oracle, priors, most=1)
    assert (enumerated(oracle, priors, found).values > found.values + 1e-9).any()


@pytest.mark.parametrize("seed", range(6))
def test_the_pairs_of_the_first_agent_are_dealt_out_and_nothing_is_missed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, loss, paradigm = random_game(seed)
    rng, x, agents = np.random.default_rng(seed), family.report_grid, family.agents
    f = 0.01 + 0.98 * rng.random(len(multisets(len(x), agents)))
    priors = family.prior_grid[(family.prior_grid > 0) & (family.prior_grid < 1)]
    oracle = symmetric_table(x, agents, f, loss=loss, paradigm=paradigm)
    whole = enumerated(oracle, priors, nothing(agents))
    monkeypatch.setattr("robustpool.families.many_agents.A_PART", 10.0)
    for prior in priors:
        ends = first_pairs(x, agents, prior)
        assert [0, *(end for _, end in ends)] == [*(begin for begin, _ in ends), pairs_at(x, prior)]
    for known in (nothing(agents), ascended(oracle, priors)):
        np.testing.assert_allclose(enumerated(oracle, priors, known).values, whole.values, atol=1e-14)


def test_parts_of_the_first_pairs_are_about_as_much_work() -> None:
    """Three agents at 1/2: of 101 pairs, 101 choices of the second have the first one first, and one has the last."""
    x = np.arange(21) / 20
    assert first_pairs(x, 3, 0.5) == [(0, 101)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robustpool.families.many_agents.A_PART", work(x, 3, np.array([0.5])) / 4)
        parts = first_pairs(x, 3, 0.5)
    choices = [sum(101 - first for first in range(*part)) for part in parts]
    assert len(choices) == 4
    assert sum(choices) == 101 * 102 // 2
    assert max(choices) <= sum(choices) / 4 + 101


def test_the_work_is_the_number_of_choices_of_all_agents_but_one() -> None:
    """At 1/2 there are 2 * 2 pairs and the agent who learns nothing: 15 multisets of two of these five, 5 reports each."""
    assert work(np.arange(5) / 4, 3, np.array([0.5])) == 15 * 5
    assert work(np.arange(5) / 4, 3, np.array([0.3])) == 5 * (6 * 7 // 2)


def test_three_agents_agree_with_all_structures_written_out() -> None:
    family, square = rp.ConditionallyIndependent(3, 4, 8), get_loss("square")
    ours = rp.solve(family, tolerance=1e-8)
    listed = rp.solve(family.enumerate(pruned=False).flat, tolerance=1e-8)
    assert max(ours.gap, listed.gap) <= 1e-8
    assert ours.upper == pytest.approx(listed.upper, abs=2e-8)
    nature = written_out(family, square, "additive", ())
    assert nature.game.payoffs(nature.tables.layout.table_of(ours.aggregator)).max() == pytest.approx(
        ours.upper, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_games_agree_with_structures_written_out(seed: int) -> None:
    family, loss, paradigm = random_game(100 + seed)
    ours = rp.solve(family, loss=loss, paradigm=paradigm, tolerance=5e-8)
    nature = written_out(family, get_loss(loss), paradigm, ())
    for state in CuttingPlanes(5e-8).iterate(nature):
        if state.upper - state.lower <= 5e-8 or state.round == 60:
            break
    assert ours.gap <= 5e-8
    assert state.upper - state.lower <= 5e-8
    assert max(ours.lower, state.lower) <= min(ours.upper, state.upper) + 1e-9
    assert ours.upper == pytest.approx(state.upper, abs=1e-7)


@pytest.mark.parametrize("restrictions", [[rp.Lipschitz(0.7)], [rp.Monotone()]])
def test_restricted_tables_of_three_agents(restrictions: list[Any]) -> None:
    family = rp.ConditionallyIndependent(3, 3, 6)
    ours: Any = rp.solve(family, restrictions=restrictions, tolerance=1e-7)
    listed = rp.solve(family.enumerate(pruned=False).flat, restrictions=restrictions, tolerance=1e-7)
    assert max(ours.lower, listed.lower) <= min(ours.upper, listed.upper) + 1e-8
    assert ours.mixture.symmetries == ("agents",)
    f = ours.aggregator.values
    np.testing.assert_array_equal(f, np.swapaxes(f, 0, 2))
    steps = np.diff(f, axis=0)
    assert np.abs(steps).max() <= 0.7 / 3 + 1e-9 if restrictions[0] != rp.Monotone() else steps.min() >= -1e-12


def test_continuous_priors_beat_every_grid_of_priors() -> None:
    x = np.arange(5) / 4
    oracle = symmetric_table(x, 3, rp.get_rule("minimax")(x[multisets(5, 3)]))
    priors = np.arange(1, 100) / 100
    grid = enumerated(oracle, priors, ascended(oracle, priors))
    free = worst_any_prior_of(oracle, (0.0, 1.0))
    assert free.value >= grid.value - 1e-15
    solution = rp.solve(rp.ConditionallyIndependent(3, 4, None), tolerance=1e-5)
    assert solution.searched
    assert solution.gap <= 1e-5
    assert solution.upper >= rp.solve(rp.ConditionallyIndependent(3, 4, 40), tolerance=1e-5).lower


@pytest.mark.parametrize("agents", [1, 3])
def test_a_canonical_table_for_other_numbers_of_agents(agents: int) -> None:
    family = rp.ConditionallyIndependent(agents, 6, 24)
    plain: Any = rp.solve(family, tolerance=1e-4)
    smooth: Any = rp.solve(family, tolerance=1e-4, canonical="smooth")
    assert smooth.settings.canonical_applied
    assert smooth.gap <= 1e-4
    assert roughness(smooth.aggregator.values) <= roughness(plain.aggregator.values) + 1e-9


def roughness(values: Any) -> float:
    """The sum of squared second differences along all axes."""
    return float(sum(np.sum(np.diff(values, 2, axis=axis) ** 2) for axis in range(values.ndim)))


@pytest.mark.slow
@pytest.mark.parametrize(("agents", "N"), [(3, 20), (4, 20), (5, 10), (8, 4)])
def test_designs_for_three_to_eight_agents_reach_their_gap(agents: int, N: int) -> None:
    solution = rp.solve(rp.ConditionallyIndependent(agents, N, 100), tolerance=1e-6)
    assert solution.stopped is rp.Stopped.GAP
    assert not solution.searched


def test_continuous_nature_against_three_agents() -> None:
    """The best table on three knots has a larger regret than on the grid, and a search finds no worse structure."""
    free: Any = rp.solve(rp.ConditionallyIndependent(3, 2, None), nature="continuous", tolerance=2e-2)
    assert free.gap <= 2e-2
    assert free.searched
    assert free.lower > rp.solve(rp.ConditionallyIndependent(3, 2, 20), tolerance=1e-3).upper
    assert off_grid_regret(free.aggregator, (0.0, 1.0)) <= free.upper + 1e-12


def test_a_design_says_what_it_costs_between_the_grid_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.families.worst_case.SHORT_SEARCH", 1e7)
    solution = rp.solve(rp.ConditionallyIndependent(3, 2, 4), tolerance=1e-3).with_off_grid()
    assert solution.off_grid is not None
    data, lines = results.design(solution, "design.json", None, "checkpoint")
    said = between_points(solution.off_grid)
    assert data["off_grid"] == solution.off_grid
    assert f"off the grid        regret {said}" in lines
    rp.save_design(solution, tmp_path / "design.json")
    loaded = rp.load_design(tmp_path / "design.json")
    assert loaded.bounds.off_grid == solution.off_grid
    assert said in str(loaded._repr_html_())
    assert said in str(solution._repr_html_())
    assert "regret between the grid points" in str(design_page(loaded))
