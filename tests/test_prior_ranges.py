"""Ranges of base rates: the pair of structures that touch, the rule that they force, and proved bounds."""

from __future__ import annotations

from itertools import pairwise

import pytest

import robustpool as rp
from robustpool.certificates.mixtures import best_touch, mirrored_pair, touching_pair, value_bound
from robustpool.minimax.prior_ranges import _worst, prior_range_rule
from robustpool.minimax.rows import minimax_rows

RANGES = [(0.0, 0.1), (0.05, 0.2), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.0)]


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("agents", [2, 4])
def test_the_pair_shows_the_bound_of_its_formula(low: float, high: float, agents: int) -> None:
    pair = touching_pair(agents, (low, high))
    assert pair is not None
    assert float(value_bound(pair, agents, (low, high))) == pytest.approx(
        best_touch(agents, (low, high)).bound, rel=1e-6
    )


@pytest.mark.parametrize("agents", [2, 3, 6])
def test_for_all_priors_it_is_the_mirrored_pair(agents: int) -> None:
    pairs = [touching_pair(agents), mirrored_pair(agents)]
    bounds = [float(value_bound(pair, agents)) for pair in pairs if pair is not None]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-7)


@pytest.mark.parametrize("a", [0.2, 0.3])
def test_symmetric_ranges_have_a_formula(a: float) -> None:
    touch = best_touch(2, (a, 1 - a))
    assert touch.bound == pytest.approx(a * (0.5 - a) ** 2 / (1 - a), rel=1e-9)
    assert [touch.report, touch.forecast] == pytest.approx([0.5, 0.5], abs=1e-6)
    if a > 0.2:
        assert prior_range_rule(a, 1 - a).parameters["alpha"] == pytest.approx(a * (3 - 2 * a), abs=1e-5)


def test_mirrored_ranges_have_mirrored_rules() -> None:
    rule, mirrored = prior_range_rule(0.05, 0.2), prior_range_rule(0.8, 0.95)
    assert mirrored.parameters["alpha"] == pytest.approx(rule.parameters["alpha"], abs=2e-5)
    assert mirrored.parameters["shift"] == pytest.approx(-rule.parameters["shift"], abs=2e-5)
    assert _worst(rule, 0.05, 0.2) == pytest.approx(best_touch(2, (0.05, 0.2)).bound, rel=1e-5)  # x lies at b, not at a


def test_the_forced_slope_is_the_best() -> None:
    """The lines through the same point with other slopes are worse."""
    touch, rule = best_touch(2, (0.3, 0.7)), prior_range_rule(0.3, 0.7)
    alpha = rule.parameters["alpha"]
    assert _worst(rule, 0.3, 0.7) == pytest.approx(touch.bound, rel=1e-6)
    for other in (alpha - 0.05, alpha + 0.05):
        assert _worst(rp.get_rule(f"log-odds:alpha={other}"), 0.3, 0.7) > 1.002 * touch.bound


def test_a_grid_game_agrees() -> None:
    """A second method: the value of the game on grids lies below, and near."""
    solution = rp.solve(rp.ConditionallyIndependent(2, 20, 40, prior_range=(0.1, 0.3)), tolerance=1e-6)
    (bounds,) = rp.prior_range_curve([(0.1, 0.3)])
    assert bounds.lower <= bounds.upper <= 1.001 * bounds.lower
    assert 0.97 * bounds.upper <= solution.lower <= bounds.upper


def test_the_certificate_has_the_value_and_is_verified() -> None:
    rule = "log-odds:alpha=0.81526,shift=-0.94431"
    certificate = rp.certify(rule, rp.ConditionallyIndependent(2, None, None, (0.1, 0.3)))
    verdict = rp.verify(certificate)
    assert verdict.verified
    assert verdict.value == pytest.approx(best_touch(2, (0.1, 0.3)).bound, rel=1e-9)


def test_wider_ranges_have_larger_values() -> None:
    values = {row.name: (row.lower, row.upper) for row in minimax_rows("prior-range")}
    nested = [f"prior-range-{ends}" for ends in ("0.45-0.55", "0.4-0.6", "0.3-0.7", "0.25-0.75", "0.2-0.8", "0.1-0.9")]
    for narrow, wide in pairwise(nested):
        assert (values[narrow][1] or 1) < (values[wide][0] or 0)
    assert len(values) >= 12
    assert all(row.proved for row in minimax_rows("prior-range"))


def test_a_shift_is_subtracted() -> None:
    """The search uses the formula, the certificate its own copy: they find the same worst case."""
    assert rp.aggregate([0.5, 0.5], rule="log-odds:alpha=0.8,shift=1") == pytest.approx(0.26894, abs=1e-5)
    family = rp.ConditionallyIndependent(2, None, None, (0.1, 0.3))
    rule = "log-odds:alpha=0.8,shift=-1"
    certificate = rp.certify(rule, family, tolerance=1e-6)
    assert certificate.upper is not None
    assert 0 <= certificate.upper - rp.worst_case(rule, family).regret <= 2e-6


def test_there_is_no_pair_for_one_agent_or_one_prior() -> None:
    assert touching_pair(1) is None
    assert touching_pair(2, (0.3, 0.3)) is None


@pytest.mark.parametrize("ends", [(0.3, 0.3), (0.5, 0.2), (-0.1, 0.5), (float("nan"), 0.5)])
def test_a_range_that_is_none_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(rp.InputError, match=r"a range of base rates must have 0 <= low < high <= 1; it is from"):
        prior_range_rule(*ends)


def test_the_search_for_two_structures_that_touch_does_not_divide_by_zero_with_many_agents() -> None:
    assert 0.03 < best_touch(20, (0.0, 1.0)).bound < 0.25  # warnings are errors
