"""Partial information: the formulas against draws, both bounds against a second method, and what the files and commands say."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

import robustpool as rp
from programs import run_robustpool as run
from robustpool.aggregators.curve import CurveAggregator, pooled
from robustpool.families.gaussian_quadrature import expectations, laws
from robustpool.families.partial_information import PartialInformation
from robustpool.families.partial_nature import concentrated, curve_regrets, least_regret
from robustpool.families.partial_search import peaks, spaced, start_cube, zoomed
from robustpool.families.probit_estimates import estimate_partial_information
from robustpool.losses import get_loss
from robustpool.structures.gaussian_structure import GaussianStructure, breadth

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = CurveAggregator(1000, np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def stretched(k: float) -> CurveAggregator:
    """Phi(k mean z), on many knots."""
    knots = np.concatenate(([0.0], ndtr(np.linspace(-6, 6, 601)), [1.0]))
    return CurveAggregator(1000, knots, np.concatenate(([0.0], ndtr(k * np.linspace(-6, 6, 601)), [1.0])))


class Solutions(dict[int, rp.Solution]):
    """Designs by the number of agents, each made when it is first asked for."""

    def __missing__(self, n: int) -> rp.Solution:
        self[n] = rp.solve(PartialInformation(agents=n))
        return self[n]


@pytest.fixture(scope="module")
def solutions() -> dict[int, rp.Solution]:
    """Designs for the numbers of agents of the table."""
    return Solutions()


# ---------------------------------------------------------------------------------------------------------- one structure


@pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0])
def test_draws_have_the_moments_of_the_model(overlap: float) -> None:
    one = GaussianStructure(4, 0.3, 0.2, overlap)
    reports, posterior, outcome = one.draw(200_000, np.random.default_rng(1))
    z = ndtri(reports)
    covariance = np.cov(z.T)
    assert np.diag(covariance) == pytest.approx(np.full(4, 0.2 / 0.8), rel=0.02)
    assert covariance[0, 1] == pytest.approx(0.2 * overlap / 0.8, abs=3e-3)
    assert outcome.mean() == pytest.approx(0.3, abs=4e-3)
    inside = (reports[:, 0] > 0.3) & (reports[:, 0] < 0.32)
    assert outcome[inside].mean() == pytest.approx(0.31, abs=0.02)  # reports are posteriors
    inside = (posterior > 0.5) & (posterior < 0.55)
    assert outcome[inside].mean() == pytest.approx(0.525, abs=0.03)  # and so is the omniscient's


def test_the_posterior_of_all_agents_is_that_of_the_normal_law() -> None:
    delta, overlap, n = 0.15, 0.4, 5
    one = GaussianStructure(n, 0.2, delta, overlap)
    reports, posterior, _ = one.draw(3, np.random.default_rng(2))
    x = ndtri(reports) * np.sqrt(1 - delta) + one.threshold
    covariance = delta * (overlap * np.ones((n, n)) + (1 - overlap) * np.eye(n))
    weights = np.linalg.solve(covariance, np.full(n, delta))
    v = delta * weights.sum()
    assert v == pytest.approx(one.together)
    assert posterior == pytest.approx(ndtr((x @ weights - one.threshold) / np.sqrt(1 - v)))


def test_a_structure_says_what_is_wrong_with_it() -> None:
    with pytest.raises(rp.InputError, match=r"cannot know more than everything together; they would know 1.5"):
        GaussianStructure(3, 0.5, 0.5, 0.0)
    with pytest.raises(rp.InputError, match=r"overlap must be a finite number, at least 0 and at most 1; it is 1.2"):
        GaussianStructure(3, 0.5, 0.1, 1.2)


@pytest.mark.parametrize(("n", "delta", "overlap"), [(2, 0.54, 0.2), (20, 0.216, 0.2), (100, 0.3, 0.9), (5, 0.2, 0.0)])
def test_regrets_agree_with_simulation(n: int, delta: float, overlap: float) -> None:
    one = GaussianStructure(n, 0.3, delta, overlap)
    reports, posterior, _ = one.draw(400_000 // n, np.random.default_rng(3))
    label = np.array([[one.threshold, delta, overlap]])
    for rule in (PLAIN, stretched(1.5)):
        losses = (rule(reports) - posterior) ** 2
        error = losses.std() / np.sqrt(len(losses))
        assert curve_regrets(rule, label, n)[0] == pytest.approx(losses.mean(), abs=4 * error)


def test_with_everything_known_together_the_quadrature_sees_the_step() -> None:
    label = np.array([[0.4, 1 / breadth(20, 0.2), 0.2]])
    points = expectations(label, 20, np.zeros(0))
    assert set(np.unique(points.posterior[points.chance > 0])) <= {0.0, 1.0}
    assert np.sum(points.chance * points.posterior) == pytest.approx(ndtr(-0.4), abs=1e-9)


# ------------------------------------------------------------------------------------------------------------- the curve


def test_a_curve_pools_probits() -> None:
    assert pooled(np.array([[0.9, 0.6], [0.2, np.nan], [0.0, 0.5], [1.0, 1.0], [0.0, 1.0]])) == pytest.approx(
        [ndtr((ndtri(0.9) + ndtri(0.6)) / 2), 0.2, 0.0, 1.0, 0.5]
    )
    assert np.isnan(PLAIN([[np.nan, np.nan]])).all()


def test_without_scipy_probits_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from robustpool import numerics

    x = np.array([0.0, 1e-12, 0.3, 0.5, 1 - 1e-9, 1.0, np.nan])
    z = np.array([-np.inf, -20.0, 0.3, 2.0, np.inf, np.nan])
    fast = numerics.probit(x), numerics.normal_cdf(z)
    monkeypatch.setattr(numerics, "find_spec", dict[str, None]().get)
    np.testing.assert_allclose(numerics.probit(x), fast[0], rtol=1e-12)
    np.testing.assert_allclose(numerics.normal_cdf(z), fast[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("agents", "knots", "forecasts", "message"),
    [
        (2, [0.0, 0.5], [0.0, 1.0], r"knots of a curve must rise from 0 to 1; there are 2, from 0 to 0.5"),
        (2, [0.0, 0.6, 0.5, 1.0], [0.0, 0.1, 0.2, 1.0], r"knots of a curve must rise from 0 to 1; there are 4"),
        (2, [0.0, 1.0], [0.0, 0.5, 1.0], r"one forecast for each knot; the shapes are \(2,\) and \(3,\)"),
        (2, [0.0, 1.0], [0.0, 1.5], "forecast must lie in"),
        (0, [0.0, 1.0], [0.0, 1.0], "agents must be a whole number"),
    ],
)
def test_a_wrong_curve_is_refused(agents: int, knots: list[float], forecasts: list[float], message: str) -> None:
    with pytest.raises(rp.InputError, match=message):
        CurveAggregator(agents, np.array(knots), np.array(forecasts))


def test_a_curve_refuses_what_it_is_not_made_for() -> None:
    curve = replace(PLAIN, agents=2)
    with pytest.raises(rp.InputError, match=r"up to 2 answers per row; row 1 has 3 \(1 of 2 rows have more\)"):
        curve([[0.5, 0.5, np.nan], [0.1, 0.2, 0.3]])
    with pytest.raises(rp.InputError, match=r"report must lie in \[0, 1\]; reports\[0\]\[1\] is 1.2"):
        curve([[0.5, 1.2]])
    with pytest.raises(rp.InputError, match=r"the shape \(m, n\); the shape is \(2,\)"):
        curve([0.5, 0.5])


# ------------------------------------------------------------------------------------------------------------ the family


def test_a_family_says_what_is_wrong_with_it() -> None:
    with pytest.raises(rp.InputError, match="agents must be a whole number"):
        PartialInformation(agents=1)
    with pytest.raises(rp.InputError, match="knowable must be a finite number, greater than 0 and at most 1; it is 0"):
        PartialInformation(knowable=0)
    with pytest.raises(
        rp.InputError, match=r"information of at least 0.5 and overlap of at most 0.5 know 0.909.*, and knowable is 0.9"
    ):
        PartialInformation(agents=10, information=(0.5, 1), overlap=(0, 0.5))


def test_every_structure_of_the_cube_is_in_the_ranges() -> None:
    family = PartialInformation(agents=30, overlap=(0.05, 0.6), information=(0.1, 0.5), prior_range=(0.2, 0.7))
    t, delta, overlap = family.structures(np.random.default_rng(0).random((500, 3))).T
    assert (breadth(30, overlap) * delta <= 0.9 + 1e-12).all()
    assert ((delta >= 0.1 - 1e-12) & (delta <= 0.5)).all()
    assert ((overlap >= 0.05) & (overlap <= 0.6)).all()
    assert ((ndtr(-t) >= 0.2 - 1e-12) & (ndtr(-t) <= 0.7 + 1e-12)).all()
    corner = family.structure(family.structures(np.array([[0.5, 1.0, 0.0]]))[0])
    assert corner.together == pytest.approx(0.9)
    assert corner.information == pytest.approx(0.1)  # with less overlap they would know too much together


@pytest.mark.parametrize("n", [3, 7, 12])
def test_fewer_agents_are_like_more_agents_with_more_overlap(n: int) -> None:
    label = np.array([[0.4, 0.15, 0.3]])
    m = breadth(n, 0.3)
    more = np.array([[0.4, 0.15, (20 / m - 1) / 19]])
    for one, other in zip(laws(label, n), laws(more, 20), strict=True):
        assert one == pytest.approx(other)


def test_what_cannot_be_designed_is_said() -> None:
    family = PartialInformation(agents=3)
    with pytest.raises(rp.UnsupportedError, match="square loss and additive regret, not log and additive"):
        rp.solve(family, loss="log")
    with pytest.raises(rp.UnsupportedError, match="one nature, which searches all"):
        rp.solve(family, nature="continuous")
    with pytest.raises(rp.UnsupportedError, match=r"may be monotone, symmetric or mirrored; not Lipschitz"):
        rp.solve(family, lipschitz=2.0)
    with pytest.raises(rp.UnsupportedError, match="no bound can be proved for 3 agents with partial information"):
        rp.certify(rp.solve(family, tolerance=1e-3).design)


# ------------------------------------------------------------------------------------------------------------- the search


def test_the_zoom_climbs_to_the_top_of_a_hill() -> None:
    top = np.array([0.31, 1.0, 0.62])
    found, value = zoomed(lambda cube: -np.sum((cube - top) ** 2, axis=1), np.array([[0.3, 0.7, 0.5]]), 30)
    assert found[0] == pytest.approx(top, abs=1e-3)
    assert value[0] == pytest.approx(0, abs=1e-5)


def test_peaks_are_local_maxima_over_thresholds() -> None:
    values = np.array([[1.0, 0.0], [0.5, 0.2], [0.1, 3.0], [2.0, 2.5], [0.0, 0.0]])
    row, column = peaks(values, 5)
    assert list(zip(row.tolist(), column.tolist(), strict=True)) == [(2, 1), (0, 0)]


def test_starts_have_the_corner_that_binds_first() -> None:
    family = PartialInformation(agents=20)
    cube = start_cube(family, 0.2, mirrored=True)
    assert cube[:, 0, 1:].tolist() == [[1.0, 0.0]] * len(cube)
    assert (cube[:, 0, 0] >= 0.5).all()
    points = spaced(family, 11, 0.2, 5.0)
    assert (np.diff(points) > 0).all()
    assert points == pytest.approx(-points[::-1])


# ------------------------------------------------------------------------------------------------------------- the values


@pytest.mark.parametrize(
    ("n", "value"),
    [
        (2, 0.027067),
        pytest.param(5, 0.063715, marks=pytest.mark.slow),
        (20, 0.090272),
        pytest.param(100, 0.098713, marks=pytest.mark.slow),
    ],
)
def test_values(solutions: dict[int, rp.Solution], n: int, value: float) -> None:
    solution = solutions[n]
    assert solution.converged
    assert solution.lower <= solution.upper + 2e-7
    assert solution.lower == pytest.approx(value, abs=2e-6)
    assert "overlap 0.2, together 0.9" in solution.mixture.heaviest(1)[0][0]


def test_a_design_never_falls_as_the_reports_rise(solutions: dict[int, rp.Solution]) -> None:
    for solution in solutions.values():
        forecasts = solution.aggregator.forecasts  # type: ignore[union-attr]
        assert (np.diff(forecasts) >= 0).all()
        assert forecasts + forecasts[::-1] == pytest.approx(1, abs=1e-12)


def test_a_mirrored_curve_is_searched_on_both_sides_of_a_family_that_is_not() -> None:
    family = PartialInformation(agents=5, prior_range=(0.3, 0.9))
    free, mirrored = (rp.solve(family, restrictions=limits, tolerance=1e-4) for limits in ([], [rp.Mirrored()]))
    assert (np.diff(mirrored.aggregator.forecasts) >= 0).all()  # type: ignore[union-attr]
    assert mirrored.upper > free.lower
    assert mirrored.upper == pytest.approx(rp.worst_case(mirrored.aggregator, family).regret, abs=1e-5)


def second_method(n: int, dispersion: int) -> float:
    """The value of the game on cells of (mean z, variance of z among the agents), as one programme in cvxpy.

    Structures on a grid, chances of cells from the normal and the chi-squared law: nothing but the model is shared with the
    solver under test.
    """
    import cvxpy as cp

    spread = np.sqrt(0.9) / breadth(n, 0.2) / np.sqrt(1 - 0.9 / breadth(n, 0.2))  # of mean z where it binds
    z_ends = np.concatenate(([-np.inf], np.arange(-3.2, 3.2, spread / 12), [np.inf]))
    s_ends = np.concatenate(([0.0], np.linspace(0.1, 1.2, dispersion - 1), [np.inf])) if dispersion > 1 else [0, np.inf]
    thresholds = np.arange(0, 2.4, spread / 3)
    pairs = [(share * 0.9 / breadth(n, s), s) for s in (0.2, 0.5) for share in (0.5, 1.0)]
    labels = np.array([(sign * t, d, s) for d, s in pairs for t in thresholds for sign in (-1, 1)])
    u = np.linspace(-6, 6, 4001)
    chance = np.exp(-(u**2) / 2) / np.exp(-(u**2) / 2).sum()
    masses, chances, constants = [], [], []
    for t, d, s in labels:
        v = breadth(n, s) * d
        g = ndtr((np.sqrt(v) * u - t) / np.sqrt(1 - v))
        cell = np.searchsorted(z_ends, (np.sqrt(d / breadth(n, s)) * u - t) / np.sqrt(1 - d)) - 1
        part = np.diff(chi2.cdf(np.array(s_ends) * (n - 1) * (1 - d) / (d * (1 - s)), n - 1))
        masses.append(np.outer(np.bincount(cell, chance, len(z_ends) - 1), part).ravel())
        chances.append(np.outer(np.bincount(cell, chance * g, len(z_ends) - 1), part).ravel())
        constants.append(chance @ g**2)
    mass, hits, constant = np.array(masses), np.array(chances), np.array(constants)
    seen = mass.sum(axis=0) > 1e-9
    forecast, worst = cp.Variable(int(seen.sum())), cp.Variable()
    regrets = mass[:, seen] @ cp.square(forecast) - 2 * hits[:, seen] @ forecast + constant
    problem = cp.Problem(cp.Minimize(worst), [regrets <= worst])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": both bounds are computed here from what it returns
        problem.solve(solver=cp.CLARABEL)
    table = np.full(mass.shape[1], 0.5)
    table[seen] = np.clip(forecast.value, 0, 1)
    upper = float(np.max(mass @ table**2 - 2 * hits @ table + constant))
    weights = np.maximum(problem.constraints[0].dual_value, 0)
    weights /= weights.sum()
    total = weights @ mass
    best = np.divide(weights @ hits, total, out=np.full(len(total), 0.5), where=total > 0)
    lower = float(weights @ (mass @ best**2 - 2 * hits @ best + constant))
    assert lower <= upper <= lower + 2e-5
    return upper


def test_the_value_agrees_with_a_second_method(solutions: dict[int, rp.Solution]) -> None:
    assert second_method(2, 1) == pytest.approx(solutions[2].upper, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5, 20, 100])
@pytest.mark.parametrize("dispersion", [1, 6])
def test_the_value_agrees_with_one_and_two_dimensional_solves(
    solutions: dict[int, rp.Solution], n: int, dispersion: int
) -> None:
    assert second_method(n, dispersion) == pytest.approx(solutions[n].upper, abs=1e-4)


@pytest.mark.parametrize("n", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 20))])
def test_the_lower_bound_holds_for_all_rules_of_all_reports(solutions: dict[int, rp.Solution], n: int) -> None:
    """The Bayesian who sees every report and knows nature's mixture has the regret of the lower bound, by simulation."""
    mixture, rng = solutions[n].mixture, np.random.default_rng(5)
    labels, weights = mixture.structures.labels, mixture.weights  # type: ignore[attr-defined]
    regrets = []
    for k in rng.choice(len(weights), 25, p=weights):
        t, d, s = labels[k]
        reports, posterior, _ = GaussianStructure(n, float(ndtr(-t)), d, s).draw(600, rng)
        logs, posteriors = [], []
        for t, d, s in labels:
            covariance = d * (s * np.ones((n, n)) + (1 - s) * np.eye(n))
            x = ndtri(reports) * np.sqrt(1 - d) + t
            weight = np.linalg.solve(covariance, np.full(n, d))
            quadratic = np.einsum("ij,ij->i", x, np.linalg.solve(covariance, x.T).T)
            logs.append(-quadratic / 2 - np.linalg.slogdet(covariance)[1] / 2 + n / 2 * np.log(1 - d))
            posteriors.append(ndtr((x @ weight - t) / np.sqrt(1 - d * weight.sum())))
        chances = weights[:, None] * np.exp(np.array(logs) - np.max(logs, axis=0))
        best = np.sum(chances * np.array(posteriors), axis=0) / chances.sum(axis=0)
        regrets.append(np.mean((best - posterior) ** 2))
    error = np.std(regrets) / np.sqrt(len(regrets))
    assert np.mean(regrets) == pytest.approx(solutions[n].lower, abs=4 * error)


def test_the_upper_bound_is_what_simulation_sees(solutions: dict[int, rp.Solution]) -> None:
    worst = rp.worst_case(solutions[20].aggregator, PartialInformation(agents=20))
    assert worst.regret == pytest.approx(solutions[20].upper, abs=2e-7)
    assert worst.error is None
    reports, posterior, _ = worst.structure.draw(100_000, np.random.default_rng(6))  # type: ignore[union-attr]
    losses = (solutions[20].aggregator(reports) - posterior) ** 2
    assert losses.mean() == pytest.approx(worst.regret, abs=4 * losses.std() / np.sqrt(len(losses)))


def test_agents_who_all_know_the_same_leave_nothing_to_regret() -> None:
    solution = rp.solve(PartialInformation(agents=20, overlap=(1.0, 1.0)))
    assert solution.upper < 1e-15
    assert solution.aggregator([[0.83] * 20]) == pytest.approx([0.83])


def test_a_thousand_agents() -> None:
    solution = rp.solve(PartialInformation(agents=1000), tolerance=1e-5)
    assert solution.converged
    assert solution.lower == pytest.approx(0.10071, abs=2e-5)


def test_more_structures_never_lower_the_value() -> None:
    narrow = rp.solve(PartialInformation(agents=5, knowable=0.8, prior_range=(0.3, 0.7)), tolerance=1e-5)
    wide = rp.solve(PartialInformation(agents=5, knowable=0.9, prior_range=(0.2, 0.7)), tolerance=1e-5)
    assert narrow.lower < wide.upper
    assert narrow.upper < wide.lower  # by much


def test_the_bound_of_two_pairs_is_that_of_somebody_who_is_told_the_pair() -> None:
    one, other = np.array([[0.5, 0.2, 0.2], [-0.5, 0.2, 0.2]]), np.array([[0.5, 0.3, 0.4], [-0.5, 0.3, 0.4]])
    nature = PartialInformation(agents=5, prior_range=(0.2, 0.9)).nature(get_loss("square"), "additive", [])
    both = np.concatenate((one, other))
    weights = np.array([0.1, 0.3, 0.2, 0.4])
    apart = least_regret(one, weights[:2], 5) + least_regret(other, weights[2:], 5)
    assert nature.least(nature.cuts(both), weights) == pytest.approx(apart)
    assert least_regret(one, weights[:2], 5) > 1e-3
    assert least_regret(np.array([[0.5, 0.0, 0.2]]), np.ones(1), 5) == 0.0
    kept = concentrated(both, np.array([0.6, 0.3995, 0.0005, 0.0]))
    assert kept == pytest.approx([0.6 / 0.9995, 0.3995 / 0.9995, 0, 0])
    assert concentrated(both, weights) is weights


def test_the_cut_is_exact_at_the_centre() -> None:
    nature = PartialInformation(agents=5).nature(get_loss("square"), "additive", [])
    table, labels = nature.first_table(), nature.first_labels()[::5]
    cuts = nature.cuts(labels)
    rise = np.diff(nature.aggregator(table).forecasts)
    split = cuts.payoffs(nature.tables.loss.table(table)) - cuts.excess @ rise**2
    assert split == pytest.approx(curve_regrets(nature.aggregator(table), labels, 5), abs=1e-12)


# -------------------------------------------------------------------------------------------------- worst cases of rules


@pytest.mark.parametrize("n", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_any_rule_is_integrated_as_a_curve_is(n: int) -> None:
    family, curve = PartialInformation(agents=n), stretched(1.5)
    exact, simulated = rp.worst_case(curve, family), rp.worst_case(lambda x: ndtr(1.5 * ndtri(x).mean(axis=1)), family)
    assert simulated.regret == pytest.approx(exact.regret, abs=2e-5)
    assert (simulated.error is None) == (n == 2)


def test_the_worst_case_of_the_mean_comes_with_its_error() -> None:
    worst = rp.worst_case("mean", PartialInformation(agents=20))
    assert worst.error is not None
    assert worst.error == pytest.approx(6e-5, rel=0.5)
    assert worst.regret == pytest.approx(0.11717, abs=5 * worst.error)
    reports, posterior, _ = worst.structure.draw(100_000, np.random.default_rng(7))  # type: ignore[union-attr]
    losses = (reports.mean(axis=1) - posterior) ** 2
    assert losses.mean() == pytest.approx(worst.regret, abs=4 * losses.std() / np.sqrt(len(losses)))
    assert "simulated, standard error" in worst._repr_html_()


# ------------------------------------------------------------------------------------------------- estimates from a table


@pytest.mark.parametrize(("delta", "overlap", "prior"), [(0.3, 0.5, 0.4), (0.6, 0.9, 0.5), (0.2, 0.2, 0.7)])
def test_estimates_recover_the_structure(delta: float, overlap: float, prior: float) -> None:
    rng = np.random.default_rng(8)
    reports, _, _ = GaussianStructure(9, prior, delta, overlap).draw(3000, rng)
    answered = rng.random(reports.shape) < 0.6  # people miss questions
    question = np.nonzero(answered)[0]
    found = estimate_partial_information(question, reports[answered], clip=1e-9)
    for value, estimate in ((overlap, found.overlap), (delta, found.information), (prior, found.prior)):
        assert estimate.value == pytest.approx(value, abs=0.03)
        assert estimate.low - 0.01 < value < estimate.high + 0.01
        assert estimate.low < estimate.value < estimate.high
    family = found.family(knowable=0.95)
    assert family.overlap == (found.overlap.low, 1.0)
    assert family.knowable == 0.95


def test_estimates_need_questions() -> None:
    question = np.repeat(np.arange(20), np.where(np.arange(20) < 19, 2, 1))
    with pytest.raises(rp.InputError, match="at least 20 questions with two answers or more; there are 19"):
        estimate_partial_information(question, np.linspace(0.2, 0.8, 39))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (np.full(40, 0.3), np.full(40, 0.3), "the forecasts do not vary, so nothing can be estimated; all 80 are 0.3"),
        (
            np.tile([0.0, 1.0], 20),
            np.tile([0.0, 0.5], 20),
            "need forecasts that are not certain; 60 of 80 are at most 0.01",
        ),
        (np.linspace(0.1, 0.9, 40), np.linspace(0.9, 0.1, 40), r"negative covariance.*; it is -0\.\d+ \(-.* to -.*\)"),
    ],
)
def test_forecasts_that_say_nothing_or_contradict_the_model_are_refused(
    first: np.ndarray, second: np.ndarray, message: str
) -> None:
    with pytest.raises(rp.InputError, match=message):
        estimate_partial_information(np.repeat(np.arange(40), 2), np.stack((first, second), axis=1).ravel())


def test_one_forecaster_cannot_know_more_than_all_of_them() -> None:
    reports, _, _ = GaussianStructure(3, 0.4, 0.7, 0.9).draw(300, np.random.default_rng(10))
    found = estimate_partial_information(np.repeat(np.arange(300), 3), reports.ravel(), clip=1e-9)
    with pytest.raises(rp.InputError, match=r"which is estimated as 0\.\d+; knowable is 0.5. They may exaggerate"):
        found.family(knowable=0.5)
    assert found.family(knowable=0.5, information=(0.1, 0.4)).information == (0.1, 0.4)
    given = found.family(overlap=(0.5, 0.6), prior_range=(0.2, 0.4))
    assert set(found.reasons(given)) == {"information"}


# ------------------------------------------------------------------------------------------------------ files and commands


def test_a_design_is_saved_and_loaded(solutions: dict[int, rp.Solution], tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    rp.save_design(solutions[20], path)
    design = rp.load_design(path)
    assert design.family == PartialInformation(agents=20)
    assert json.loads(path.read_text())["family"]["knowable"] == 0.9
    x = np.random.default_rng(0).random((50, 20))
    np.testing.assert_array_equal(design(x), solutions[20].aggregator(x))
    assert design.fewer
    assert "curve of the mean probit" in design._repr_html_()
    assert rp.explain([0.7, 0.6], rule=path).forecast == pytest.approx(design([[0.7, 0.6]])[0])
    half = [0.7, 0.6] * 5
    assert rp.aggregate(half, rule=path) == pytest.approx(design([half])[0])


def test_a_design_like_a_file(tmp_path: Path) -> None:
    reports, _, _ = GaussianStructure(4, 0.4, 0.3, 0.5).draw(300, np.random.default_rng(9))
    lines = [f"q{k}," + ",".join(f"{x:.6f}" for x in row) for k, row in enumerate(reports)]
    (tmp_path / "wide.csv").write_text("\n".join(["question_id,ann,bob,cat,dan", *lines]))
    arguments = ("--world", "partial-information", "--like", "wide.csv", "--knowable", "0.8", "--report", "page.html")
    done = run("design", *arguments, "--out", "d.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "estimated from the file, with 95 % intervals"
    assert any(
        line.startswith("overlap") and "too high if the base rates of the questions differ" in line for line in said
    )
    assert any(
        line.startswith("knowable") and "0.8: an assumption, not estimated; together they know at most 80 %" in line
        for line in said
    )
    assert any(line.startswith("overlap") and "to 1; from the low end of the estimate" in line for line in said)
    assert any(line.startswith("prior") and "any; the estimate is not used" in line for line in said)
    design = rp.load_design(tmp_path / "d.json")
    assert (design.family.agents, design.family.knowable) == (4, 0.8)  # type: ignore[union-attr]
    low, high = design.family.overlap  # type: ignore[union-attr]
    assert 0.3 < low < 0.5
    assert high == 1
    page = (tmp_path / "page.html").read_text()
    assert "A robust aggregator for 4 agents with partial information: overlap" in page
    assert "Forecasts by the pooled report" in page
    pooled_table = rp.aggregate_table(tmp_path / "wide.csv", rule=tmp_path / "d.json", clip=0)
    assert pooled_table.forecasts == pytest.approx(design(np.round(reports, 6)))
    found = run("worst-case", "d.json", "--json", cwd=tmp_path)
    assert json.loads(found.stdout)["regret"] == pytest.approx(design.upper, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--like", "x.csv"), "--like is for --world partial-information; the world is independent."),
        (("--percent",), "--percent is for the file of --like, which is missing."),
        (
            ("--knowable", "0.5"),
            "--knowable is not an option of the world independent; it belongs to partial-information.",
        ),
    ],
)
def test_options_of_another_world_are_refused(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run("design", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"robustpool: {message}\n")


def test_a_table_with_too_many_answers(tmp_path: Path, solutions: dict[int, rp.Solution]) -> None:
    rp.save_design(solutions[2], tmp_path / "d.json")
    (tmp_path / "wide.csv").write_text("question_id,ann,bob,cat\nq1,0.2,0.3,0.4\nq2,0.2,0.3,\nq3,0.2,,\n")
    with pytest.warns(UserWarning, match="the rule is for up to 2 answers per question; question q1 has 3"):
        table = rp.aggregate_table(tmp_path / "wide.csv", rule=tmp_path / "d.json")
    assert np.isnan(table.forecasts).tolist() == [True, False, False]


def test_the_rows_that_like_does_not_use_are_told(tmp_path: Path) -> None:
    reports, _, _ = GaussianStructure(3, 0.4, 0.3, 0.5).draw(40, np.random.default_rng(11))
    lines = [f"q{k}," + ",".join(f"{x:.6f}" for x in np.clip(row, 0.02, 0.98)) for k, row in enumerate(reports)]
    (tmp_path / "wide.csv").write_text("\n".join(["question_id,ann,bob,cat", *lines, "q40,1,0.7,abc"]))
    arguments = ("--world", "partial-information", "--like", "wide.csv", "--tolerance", "1e-3", "--json")
    done = run("design", *arguments, "--rejects", "bad.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 of 123 answers was left out: 1 because probability must be a number" in done.stderr
    assert "1 of 122 answers was clipped to [0.01, 0.99] before the estimates were made." in done.stderr
    told = json.loads(done.stdout)
    assert (told["rejected"]["total"], told["clipped"], told["estimates"]["questions"]) == (1, 1, 41)
    assert "abc" in (tmp_path / "bad.csv").read_text()
    (tmp_path / "bad.csv").write_text("question_id,forecaster_id,probability\nq1,ann,0.5\nq2,ann,1.4\nq3,ann,no\n")
    done = run("design", "--world", "partial-information", "--like", "bad.csv", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["rejected"]["total"]) == (1, 2)
    assert "more than half of the rows cannot be used" in done.stderr


def test_far_fewer_answers_than_the_design_is_for(tmp_path: Path, solutions: dict[int, rp.Solution]) -> None:
    rp.save_design(solutions[20], tmp_path / "d.json")
    (tmp_path / "wide.csv").write_text(
        "question_id," + ",".join(f"p{k}" for k in range(10)) + "\nq1,0.9" + "," * 9 + "\nq2" + ",0.6" * 10 + "\n"
    )
    words = r"the design is for 20 answers, .*; question q1 has 1 \(1 of 2 questions\)"
    with pytest.warns(UserWarning, match=words):
        table = rp.aggregate_table(tmp_path / "wide.csv", rule=tmp_path / "d.json")
    assert table.forecasts[0] == 0.9
    with pytest.warns(UserWarning, match=r"row 1 has 9 \(1 of 2 rows\)"):
        rp.aggregate(np.array([[0.6] * 10, [0.6] * 9 + [np.nan]]), rule=tmp_path / "d.json")
    assert rp.aggregate([0.6] * 10, rule=tmp_path / "d.json") > 0.6


def test_certain_reports_are_clipped_in_practice_and_decide_in_theory(tmp_path: Path) -> None:
    curve = CurveAggregator(3, np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.5, 1.0]))
    solution = replace(rp.solve(PartialInformation(agents=3), tolerance=1e-2), aggregator=curve)
    rp.save_design(solution, file := tmp_path / "design.json")
    clipped = pooled(np.array([[0.01, 0.6]]))[0]
    with pytest.warns(rp.ClippedWarning):
        assert rp.aggregate([0.0, 0.6], rule=file) == pytest.approx(clipped)
    assert rp.aggregate([0.0, 0.6], rule=file, clip=0) == 0.0
    assert rp.explain([0.0, 0.6], rule=file).forecast == pytest.approx(clipped)
    assert rp.explain([0.0, 0.6], rule=file, clip=0).forecast == 0.0
