"""The dual inequality for n agents: its arithmetic against exact values, its witnesses against forgeries, its proofs against searches."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_series
from hypothesis import given, settings
from hypothesis import strategies as st

import robustpool as rp
from robustpool.aggregators.pools import stretch
from robustpool.certificates import many_agents as maker
from robustpool.verification import logistic
from robustpool.verification.balls import ball, precision
from robustpool.verification.intervals import Interval
from robustpool.verification.many_agents import (
    Boxes,
    Density,
    Slopes,
    check_tail,
    check_upper,
    elementary,
    multisets,
    needed,
    needed_in_tail,
    tail_bound,
    tail_boxes,
)
from robustpool.verification.mean_and_median import Mean
from robustpool.verification.reading import Budget, OverBudget, Refused
from robustpool.verification.stretched import Stretched, read_stretched
from robustpool.verification.verify import content_hash

UNLIMITED = Budget(np.inf)
U_3, U_4 = 0.04512241344346068, 0.061032045996841026  # the unanimity bound; tests/test_lower_bounds.py computes it


def rule_for(n: int, budget: Budget | None = None) -> Stretched:
    a, threshold, c = (Fraction(number) for number in stretch(n))
    return Stretched(n, a, threshold, c, budget)


def on_places(x: Any, bits: int = 40) -> Any:
    return np.round(np.asarray(x) * 2.0**bits) / 2.0**bits


# ------------------------------------------------------------------------------------------------------------- logistic


@given(st.floats(0, 700))
def test_exp_is_within_its_error(u: float) -> None:
    with precision(200):
        exact = (-arb(u)).exp()
        relative = abs(arb(float(logistic.exp_minus(np.array([u]))[0])) / exact - 1)
        assert relative < logistic.ERROR
        assert arb(float(logistic.exp_most(np.array([-u]))[0])) >= exact
        if u < 700:
            assert arb(float(logistic.exp_most(np.array([u]))[0])) >= 1 / exact


@given(st.floats(-1e4, 1e4))
def test_the_logistic_function_is_within_its_error(z: float) -> None:
    at = np.array([z])
    with precision(200):
        exact = 1 / (1 + (-arb(z)).exp())
        assert abs(arb(float(logistic.sigma_near(at)[0])) - exact) < logistic.ERROR
        within = logistic.sigma(Interval(at))
        assert arb(float(within.lo[0])) <= exact.upper()
        assert exact.lower() <= arb(float(within.hi[0]))


def test_the_logistic_function_at_its_ends() -> None:
    z = Interval(np.array([-np.inf, np.inf, np.nan, -np.inf]), np.array([-np.inf, np.inf, np.nan, np.inf]))
    f = logistic.sigma(z)
    assert f.lo[[0, 2, 3]].tolist() == [0.0, 0.0, 0.0]
    assert 1 - 2 * logistic.ERROR <= f.lo[1] <= 1.0
    assert f.hi.tolist()[1:] == [1.0, 1.0, 1.0]
    assert f.hi[0] <= logistic.ERROR
    assert logistic.exp_most(np.array([700.0, np.nan, np.inf])).tolist() == [np.inf] * 3
    assert logistic.exp_minus(np.array([np.inf]))[0] == 0.0


# ------------------------------------------------------------------------------------------------------- exact functions


def exact_rule(rule: Stretched, x: list[Any]) -> Any:
    """The forecast of balls or power series."""
    z: Any = arb(0)
    for report in x:
        at = report[0] if isinstance(report, arb_series) else report
        log_odds = (report / (1 - report)).log()
        low = at < arb(0.5)
        beyond = (-log_odds if low else log_odds) - ball(rule.threshold)
        bent = (
            ball(rule.c) * beyond * beyond if (beyond[0] if isinstance(beyond, arb_series) else beyond) > 0 else arb(0)
        )
        z = z + (ball(rule.a) * log_odds + (-bent if low else bent)) / rule.agents
    return 1 / (1 + (-z).exp())


def exact_density(rule: Stretched, x: list[Any], mu: Any) -> Any:
    """A = c (f - g)^2 of balls or power series."""
    n, p, q = rule.agents, arb(1), arb(1)
    for report in x:
        p, q = p * report, q * (1 - report)
    for _ in range(n - 1):
        p, q = p / mu, q / (1 - mu)
    gap = exact_rule(rule, x) - p / (p + q)
    return (p + q) * gap * gap


def exact_loss(rule: Stretched, x: list[Any]) -> Any:
    """Y f^2."""
    f, rest = exact_rule(rule, x), arb(1)
    for report in x:
        rest = rest * (1 - report)
    return rest * f * f


def tiny_box(x: Any, mu: float, width: float = 2.0**-36) -> Boxes:
    """A box around the reports, with slopes of 0."""
    reports = np.array(x)[None, :, None] + width * np.array([0.0, 1.0])
    n = reports.shape[1]
    none = np.zeros((1, *[2] * (n + 1)))
    return Boxes(reports, np.array([[mu, mu + width]]), none, none, 0.0)


reports_of = partial(st.lists, st.sampled_from(on_places(np.linspace(0.004, 0.996, 63)).tolist()))


@settings(max_examples=60)
@given(reports_of(min_size=2, max_size=4), st.sampled_from([0.0625, 0.21875, 0.375, 0.5]))
def test_bending_on_tiny_boxes_is_minus_the_second_derivative(x: list[float], mu: float) -> None:
    rule, boxes = rule_for(len(x)), tiny_box(x, mu)
    with precision(120), np.errstate(all="ignore"):
        over = rule.on(boxes.x)[1]
        density, in_tail = Density.over(boxes, over), Density.over(tiny_box(x, 0.0, 0.0), over)
        for i in range(len(x)):
            series = [arb_series([arb(r), int(j == i)], 3) for j, r in enumerate(x)]
            assert_close(density.bend_in_report(i), exact_density(rule, series, arb(mu)), x, mu)
            assert_close(in_tail.bend_of_no(i), exact_loss(rule, series), x, 1.0)
        by_prior = exact_density(rule, [arb(r) for r in x], arb_series([arb(mu), 1], 3))
        assert_close(density.bend_in_prior(), by_prior, x, mu * mu)


def assert_close(bend: Any, series: arb_series, x: list[float], mu: float) -> None:
    """At least minus the second derivative, and hardly more; h'' jumps at the threshold, where a tiny box may see both sides."""
    exact = -2 * float(series[2].mid())
    size = (1 + abs(exact)) / min(*x, 1 - max(x)) ** 3 / mu ** len(x)
    assert exact - 1e-9 * (1 + abs(exact)) <= bend[0] <= exact + 2.0**-30 * size


@settings(max_examples=40)
@given(reports_of(min_size=2, max_size=4), st.integers(0, 2**32 - 1))
def test_derivatives_on_wide_boxes_hold_those_inside(x: list[float], seed: int) -> None:
    """Boxes that reach to 0 or to 1 too, where the derivatives are bounded by those of one report alone."""
    rule, rng, n = rule_for(len(x)), np.random.default_rng(seed), len(x)
    ends = np.sort(on_places(np.stack((x, rng.random(n)), axis=1)), axis=1)
    ends[:, 1] += ends[:, 0] == ends[:, 1]
    touched = rng.random(n)
    ends[touched < 0.2, 0] = 0.0
    ends[touched > 0.8, 1] = 1.0
    with np.errstate(all="ignore"):
        _, over = rule.on(ends[None])
    with precision(120):
        for _ in range(4):
            inside = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * rng.random(n) ** rng.choice([1, 4, 12])
            inside = np.clip(inside, 1e-12, 1 - 1e-12)
            for i in range(n):
                f = exact_rule(rule, [arb_series([arb(r), int(j == i)], 3) for j, r in enumerate(inside.tolist())])
                for bounds, value in ((over.f[0], f[0]), (over.first[0, i], f[1]), (over.second[0, i], 2 * f[2])):
                    slack = 1e-12 * (1 + abs(float(value)))
                    assert bounds.lo - slack <= float(value) <= bounds.hi + slack


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("high", [2.0**-30, 0.004, 0.1, 0.5])
def test_what_the_forecast_outgrows_next_to_0(n: int, high: float) -> None:
    """e^t t', e^t t'^2 and e^t |t''| of one report: at most the bounds, and nearly that somewhere."""
    rule, seen = rule_for(n), np.zeros(3)
    with precision(120):
        for x in np.geomspace(1e-40, high, 400):
            f = exact_rule(Stretched(1, rule.a / n, rule.threshold, rule.c / n), [arb_series([arb(x), 1], 3)])
            z = (f / (1 - f)).log()
            e = z[0].exp()
            seen = np.maximum(seen, [float(e * z[1]), float(e * z[1] * z[1]), float(e * abs(2 * z[2]))])
    bounds = np.array(rule.next_to_0(high))
    assert (seen <= bounds * (1 + 1e-12)).all()
    assert (bounds[:2] <= 1.6 * seen[:2]).all()


def test_next_to_0_nothing_is_claimed_beyond_one_half_or_without_a_stretch() -> None:
    assert rule_for(3).next_to_0(0.51) == (np.inf, np.inf, np.inf)
    assert Stretched(3, Fraction(1), Fraction(1), Fraction(0)).next_to_0(0.1) == (np.inf, np.inf, np.inf)
    assert Stretched(3, Fraction(1), Fraction(1), Fraction(1, 1000)).next_to_0(0.1) == (np.inf, np.inf, np.inf)


# -------------------------------------------------------------------------------------------------------- the inequality


def random_slopes(n: int, rng: np.random.Generator, knots: Any = (0.0, 0.25, 0.625, 1.0)) -> Slopes:
    count = comb(len(knots) + n - 2, n - 1)
    return Slopes(n, (0.25, 0.28125), np.array(knots), rng.normal(0, 0.1, (2, count)))


def exact_line(slopes: Slopes, x: Any, mu: float) -> float:
    """sum_i alpha(x_-i, mu)(x_i - mu), by interpolation of the table of slopes, one report after the other."""
    size, n = len(slopes.knots), slopes.agents
    share = (mu - slopes.priors[0]) / (slopes.priors[1] - slopes.priors[0])
    flat = (1 - share) * slopes.values[0] + share * slopes.values[1]
    table = np.empty((size,) * (n - 1))
    for value, key in zip(flat, np.concatenate(list(multisets(size, n - 1))).tolist(), strict=True):
        for place in {
            tuple(np.array(key)[list(order)]) for order in np.ndindex(*[n - 1] * (n - 1)) if len({*order}) == n - 1
        }:
            table[place] = value
    total = 0.0
    for i in range(n):
        rest = table
        for report in np.delete(x, i):
            rest = np.array([np.interp(report, slopes.knots, column) for column in rest.reshape(size, -1).T]).reshape(
                rest.shape[1:]
            )
        total += float(rest) * (x[i] - mu)
    return total


@pytest.mark.parametrize("n", [2, 3, 4])
def test_corners_and_ranges_against_exact_values(n: int) -> None:
    rule, rng = rule_for(n), np.random.default_rng(n)
    slopes = random_slopes(n, rng)
    boxes = next(slopes.boxes())
    boxes = boxes.pick(rng.permutation(len(boxes))[:6])
    for _ in range(6):  # smaller and smaller parts
        with np.errstate(all="ignore"):
            corner, most, bends = needed(rule, boxes)
        for k in range(len(boxes)):
            for place in range(0, 2 ** (n + 1), 3):
                bits = [(place >> j) & 1 for j in range(n, -1, -1)]
                x, mu = boxes.x[k, range(n), bits[:n]], float(boxes.mu[k, bits[n]])
                assert corner[k, place] == pytest.approx(needed_at(rule, slopes, x, mu), abs=1e-9)
                assert corner[k, place] >= needed_at(rule, slopes, x, mu) - 1e-14
            for _ in range(4):
                x = boxes.x[k, :, 0] + rng.random(n) * np.ptp(boxes.x[k], axis=1)
                mu = float(boxes.mu[k, 0] + rng.random() * np.ptp(boxes.mu[k]))
                assert most[k] >= needed_at(rule, slopes, x, mu) - 1e-12
        halves = boxes.halved(rng.random(bends.shape))
        boxes = halves.pick(rng.permutation(len(halves))[:6])


@pytest.mark.parametrize("sign", [1, -1])
def test_slopes_that_change_with_the_prior_bend_in_it(sign: int) -> None:
    """A box that is tiny in the reports and wide in the prior: between its ends the slopes matter more than A."""
    slopes = Slopes(2, (0.25, 0.5), np.array([0.0, 1.0]), np.array([[-5.0, -5.0], [5.0, 5.0]]) * sign)
    boxes = next(slopes.boxes())
    for cut in range(24):  # to reports next to 1/2
        bends = np.zeros((1, 3))
        bends[:, cut % 2] = 1.0
        boxes = boxes.halved(bends).pick([int(cut < 2)])
    (_, most, _), middle = needed(rule_for(2), boxes), boxes.x[0, :, 1]
    exact = [needed_at(rule_for(2), slopes, middle, mu) for mu in np.linspace(0.25, 0.5, 41)]
    assert max(exact) <= most[0] <= max(exact) + 1.3


def needed_at(rule: Stretched, slopes: Slopes, x: Any, mu: float) -> float:
    density = float(maker.density(rule, np.array([x]), mu)[0])
    return density - exact_line(slopes, x, mu)


def test_the_tail_against_exact_values() -> None:
    n, rng = 3, np.random.default_rng(5)
    rule, constants = rule_for(n), [0.001, 0.002, 0.0, 3.0]
    boxes = next(tail_boxes(n, constants))
    boxes = boxes.pick(rng.permutation(len(boxes))[:20])
    for _ in range(5):
        with np.errstate(all="ignore"):
            corner, most, bends = needed_in_tail(rule, boxes)
        x = boxes.x[:, :, 0] + rng.random((len(boxes), n)) * np.ptp(boxes.x, axis=2)
        excess = (1 - x).prod(axis=1) * rule.near(x) ** 2 - elementary(x) @ np.array(constants)
        assert (most >= excess - 1e-12).all()
        low = boxes.x[:, :, 0]
        with np.errstate(invalid="ignore"):
            at_low = (1 - low).prod(axis=1) * rule.near(low) ** 2 - elementary(low) @ np.array(constants)
        assert corner[:, 0] == pytest.approx(at_low, abs=1e-9)
        halves = boxes.halved(bends)
        boxes = halves.pick(rng.permutation(len(halves))[:20])


def test_boxes_are_cut_where_they_bend_most_and_where_nothing_is_known() -> None:
    boxes = tiny_box([0.25, 0.5], 0.25, 0.25)
    bends = np.array([[0.1, 0.2, 0.05]])
    assert boxes.halved(bends).x[:, 1].tolist() == [[0.5, 0.625], [0.625, 0.75]]
    assert boxes.halved(np.array([[np.inf, 0.2, 0.05]])).x[:, 0].tolist() == [[0.25, 0.375], [0.375, 0.5]]
    assert boxes.halved(np.array([[0.1, 0.2, np.inf]])).mu.tolist() == [[0.25, 0.375], [0.375, 0.5]]
    tiny_box([0.25, 0.5], 0.25, 2.0**-49).halved(bends)
    for far in (2.0**-50, 37 * 2.0**-50):  # the middle would be a multiple of 2^-51
        with pytest.raises(Refused, match=r"could not be shown at the reports \[0.25, 0.5\] and the prior 0.25"):
            tiny_box([0.25, 0.5], 0.25, far).halved(bends)


# ----------------------------------------------------------------------------------------------------------- the witness


@pytest.fixture(scope="module")
def witness() -> dict[str, Any]:
    """A quick proof for three agents and priors from 0.21 to 0.24, among them the worst."""
    *_, last = maker.cover(rule_for(3), (0.21, 0.24), U_3, 1e-3, np.array([0.452]))
    assert last.witness is not None
    assert last.upper == pytest.approx(U_3 + 1e-3)
    return {"bound": last.upper, "witness": last.witness}


RANGE = (Fraction("0.21"), Fraction("0.24"))


def check(proof: dict[str, Any], prior_range: Any = RANGE, budget: Budget = UNLIMITED) -> None:
    check_upper(rule_for(3), prior_range, proof["witness"], proof["bound"], budget)


def test_the_witness_is_proved_again(witness: dict[str, Any]) -> None:
    check(witness)
    check(witness, (1 - RANGE[1], 1 - RANGE[0]))  # the mirror image


def forged(witness: dict[str, Any], change: Any) -> dict[str, Any]:
    proof = copy.deepcopy(witness)
    change(proof, proof["witness"]["intervals"])
    return proof


def lowered(proof: dict[str, Any], intervals: Any) -> None:
    del intervals
    proof["bound"] = U_3 - 1e-9


def bent(proof: dict[str, Any], intervals: Any) -> None:
    """The slopes at a contact are what the bound needs."""
    del proof
    knots = intervals[0]["knots"]
    keys = np.concatenate(list(multisets(len(knots), 2))).tolist()
    contact = min(range(len(knots)), key=lambda k: abs(knots[k] - 0.452))
    intervals[0]["slopes"][0][keys.index([contact, contact])] -= 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lowered, r"the inequality fails for priors between 0\.2"),
        (bent, r"the inequality fails for priors between 0\.21 and"),
        (lambda _, all_: all_.pop(0), r"must cover the priors from 0\.21 to 0\.24, in order"),
        (lambda _, all_: all_.pop(), r"must cover the priors from 0\.21 to 0\.24, in order"),
        (lambda _, all_: all_.pop(1), r"must cover the priors from 0\.21 to 0\.24, in order"),
        (lambda _, all_: all_.clear(), r"must cover the priors from 0\.21 to 0\.24, in order"),
        (lambda _, all_: all_[0]["priors"].reverse(), r"intervals\[0\].priors must be two multiples of 2\^-24"),
        (lambda _, all_: all_[0].update(priors=[0.2 + 2.0**-25, 0.22]), r"priors must be two multiples of 2\^-24"),
        (lambda _, all_: all_[0]["knots"].__setitem__(1, 0.1 / 3), r"knots must be multiples of 2\^-24 that increase"),
        (lambda _, all_: all_[0]["knots"].__setitem__(1, 0.0), r"knots must be multiples of 2\^-24 that increase"),
        (lambda _, all_: all_[0]["knots"].__setitem__(0, 2.0**-24), r"knots must be multiples of 2\^-24 that increase"),
        (lambda _, all_: all_[0]["slopes"][0].pop(), r"slopes must be two lists of \d+ numbers"),
        (lambda _, all_: all_[0]["slopes"][0].__setitem__(0, 1e7), r"slopes must not exceed 1e6 in size"),
        (lambda proof, _: proof["witness"].update(kind="dual"), r"kind must be 'symmetric-dual'"),
        (lambda proof, _: proof["witness"].update(more=1), r"has the field 'more', which is not checked"),
    ],
)
def test_forged_witnesses_are_refused(witness: dict[str, Any], change: Any, message: str) -> None:
    with pytest.raises(Refused, match=message):
        check(forged(witness, change))


def test_wider_ranges_of_priors_are_not_covered(witness: dict[str, Any]) -> None:
    wide = [
        ("0", "1"),
        ("0.2", "0.24"),
        ("0.21", "0.25"),
        ("0.75", "0.79"),
        ("0.76", "0.8"),
        ("0.24", "0.76"),
        ("0.5", "0.5"),
    ]
    for low, high in wide:
        with pytest.raises(Refused, match="must cover the priors from"):
            check(witness, (Fraction(low), Fraction(high)))


def test_a_proof_costs_its_budget(witness: dict[str, Any]) -> None:
    with pytest.raises(OverBudget, match="more than the budget of 1,000 steps"):
        check(witness, budget=Budget(1000))


def test_more_agents_than_a_box_has_room_for(witness: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="for 2 to 8 agents; there are 9"):
        check_upper(rule_for(9), RANGE, witness["witness"], 1.0, UNLIMITED)


def test_the_tail_is_proved_and_its_forgeries_are_refused() -> None:
    rule, goal = rule_for(3), U_3 + 1e-4
    tail = maker.find_tail(rule, goal)
    assert tail["prior"] >= 0.03
    check_tail(rule, tail, goal, UNLIMITED)
    exact = tail_bound(tail["prior"], tail["constants"], 3)
    assert exact <= Fraction(goal)
    short = float(exact) - 1e-12
    with pytest.raises(Refused, match="the tail proves"):
        check_tail(rule, tail, short, UNLIMITED)
    small = {**tail, "constants": [0.0, 0.0, 0.0, tail["constants"][3]]}
    with pytest.raises(Refused, match="the constants of the tail are too small"):
        check_tail(rule, small, goal, UNLIMITED)
    for broken in ({"constants": [0.1] * 3}, {"constants": [-1e-3, 0.0, 0.0, 5.0]}, {"prior": 1.0}, {"prior": 0.0}):
        with pytest.raises(Refused, match=r"must have a prior in \(0, 1\) and 4 constants from 0 to 1e6"):
            check_tail(rule, {**tail, **broken}, goal, UNLIMITED)


@given(st.floats(0.001, 0.5), st.lists(st.floats(0, 3), min_size=4, max_size=4))
def test_the_bound_of_a_tail_is_a_mean_over_structures(prior: float, constants: list[float]) -> None:
    """mu plus the mean of sum C_k e_k(x)/(1-mu)^(n-1) over three agents who report 0 or 1."""
    mean = sum(
        np.prod([prior if x else 1 - prior for x in reports]) * float(elementary(np.array([reports]))[0] @ constants)
        for reports in product((0.0, 1.0), repeat=3)
    )
    assert float(tail_bound(prior, constants, 3)) == pytest.approx(prior + mean / (1 - prior) ** 2)


def test_the_rule_of_a_certificate_is_read_exactly() -> None:
    a, threshold, c = stretch(3)
    about = {"kind": "stretched-log-odds", "a": a, "threshold": threshold, "c": c}
    rule = read_stretched(about, 3)
    reports = [[0.1, 0.35, 0.98], [0.5, 0.5, 0.5], [0.001, 0.2, 0.999]]
    for row in reports:
        exact = rule.forecast(tuple(Fraction(x) for x in row))
        assert float(exact) == pytest.approx(float(rp.aggregate([row], rule="minimax", clip=0)[0]), abs=1e-14)
    assert rule.forecast((Fraction(0), Fraction(1, 2), Fraction(9, 10))) == 0
    assert rule.forecast((Fraction(1), Fraction(1, 2), Fraction(1, 10))) == 1
    assert repr(threshold) in rule.formula
    for change in ({"a": 0.0}, {"a": 5.0}, {"c": -0.1}, {"c": 4.1}, {"threshold": -1.0}, {"threshold": 5.0}):
        with pytest.raises(Refused, match="aggregator must have 0 < a <= 4, and c and threshold from 0 to 4"):
            read_stretched({**about, **change}, 3)
    with pytest.raises(Refused, match="must be a number of at most 40 characters"):
        read_stretched({**about, "a": f"{10**25 + 1}/{10**25}"}, 3)


def test_an_impossible_goal_is_said_to_be_one() -> None:
    with pytest.raises(Refused, match=r"no slopes were found for a bound of 0\.03; they need 0\.04"):
        list(maker.cover(rule_for(3), (0.21, 0.24), 0.02, 0.01, np.array([0.452])))


# ------------------------------------------------------------------------------------------------------------ certificates

NARROW = rp.ConditionallyIndependent(3, None, None, (0.21, 0.24))


@pytest.fixture(scope="module")
def certificate() -> rp.Certificate:
    return rp.certify("minimax", NARROW, tolerance=2e-3)


def test_certify_minimax_and_verify_it(certificate: rp.Certificate) -> None:
    assert certificate.lower == pytest.approx(U_3, abs=1e-9)
    assert certificate.upper == pytest.approx(U_3 + 2e-3, abs=1e-9)
    assert "logit f = (1.0 s + 0.466666" in certificate.claims[0]
    assert "interval arithmetic" in certificate.arithmetic
    verdict = rp.verify(certificate)
    assert (verdict.verified, verdict.upper, verdict.lower) == (True, certificate.upper, certificate.lower)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["upper"].update(bound=U_3 - 1e-6), "the inequality fails for priors between"),
        (
            lambda data: data["lower"].update(bound=float(np.nextafter(data["lower"]["bound"] + 1e-12, 1))),
            "lower.bound is",
        ),
        (lambda data: data["aggregator"].update(c=0.45), "lower.bound is|the inequality fails|claims must be"),
        (
            lambda data: data["family"].update(agents=4),
            r"mixture\[0\].agents must sum to the 4 agents of the family; the sum is 3",
        ),
        (lambda data: data["aggregator"].update(kind="median"), "aggregator has the field 'a'"),
    ],
)
def test_forged_certificates_are_not_verified(certificate: rp.Certificate, change: Any, message: str) -> None:
    data = copy.deepcopy(dict(certificate.data))
    change(data)
    data["hash"] = content_hash(data)
    verdict = rp.verify(data)
    assert not verdict
    assert re.search(message, verdict.sentence), verdict.sentence


def test_the_mean_of_three_reports() -> None:
    """Its worst case is 1/9: one of three knows the state, and the others know nothing."""
    certificate = rp.certify("mean", replace(NARROW, prior_range=(0.45, 0.55)), tolerance=5e-3)
    assert certificate.lower == pytest.approx(1 / 9, abs=1e-9)
    assert certificate.upper == pytest.approx(1 / 9 + 5e-3, abs=1e-9)
    assert rp.verify(certificate).verified
    data = copy.deepcopy(dict(certificate.data))
    data["aggregator"] = {"kind": "median"}
    data["hash"] = content_hash(data)
    assert "an upper bound is not checked for an aggregator of the kind 'median'" in rp.verify(data).sentence


@settings(max_examples=30)
@given(reports_of(min_size=2, max_size=4))
def test_the_mean_on_boxes(x: list[float]) -> None:
    rule, boxes = Mean(len(x)), tiny_box(x, 0.25, 0.0)
    corners, over = rule.on(boxes.x)
    assert corners.ravel() == pytest.approx(np.mean(x), abs=2.0**-45)
    assert over.f.lo[0] <= float(sum(map(Fraction, x)) / len(x)) <= over.f.hi[0]
    assert (over.first.lo <= 1 / len(x)).all()
    assert (over.first.hi >= 1 / len(x)).all()
    assert not over.second.lo.any()
    assert rule.near(np.array([x]))[0] == pytest.approx(np.mean(x))


def test_six_agents_get_lower_bounds_only() -> None:
    certificate = rp.certify("minimax", rp.ConditionallyIndependent(6, None, None))
    assert certificate.upper is None
    assert certificate.lower == pytest.approx(0.0812004, abs=1e-6)
    assert certificate.unanimous == pytest.approx(0.0812004, abs=1e-7)
    assert rp.verify(certificate).verified


def test_an_interrupted_proof_keeps_what_it_has() -> None:
    """After the first stage its bound is kept; before, the lower bounds are."""
    seen: list[Any] = []

    def stop_after(stages: int) -> Any:
        def watch(progress: Any) -> None:
            seen.append(progress.upper)
            if len({upper for upper in seen if upper < np.inf}) >= stages:
                raise KeyboardInterrupt

        return watch

    none = rp.certify("minimax", NARROW, tolerance=4e-4, progress=stop_after(0))
    assert none.upper is None
    seen.clear()
    rough = rp.certify("minimax", NARROW, tolerance=4e-4, progress=stop_after(1))
    assert rough.upper == pytest.approx(U_3 + 20 * 4e-4, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("agents", "bound", "slack"), [(3, U_3, 1e-4), (4, U_4, 2e-3)])
def test_minimax_is_proved_near_the_unanimity_bound(agents: int, bound: float, slack: float) -> None:
    certificate = rp.certify("minimax", rp.ConditionallyIndependent(agents, None, None))
    assert certificate.upper is not None
    assert bound - 1e-8 <= certificate.lower <= certificate.upper <= bound + slack
    assert rp.verify(certificate).verified
