"""`robust` and `minimax` for any number of answers, and the least worst case that a unanimous rule can have."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

import robustpool as rp
from robustpool.aggregators.pools import stretch
from robustpool.aggregators.rules import get_rule
from robustpool.families.worst_case import Search, continuous_regrets
from robustpool.losses.square import Square
from test_worst_case import evolved

if TYPE_CHECKING:
    from robustpool.typing import Floats

EVERY_N = range(1, 101)
UNANIMOUS = ["robust", "minimax"]
ALL = [*UNANIMOUS, "minimax:unanimous=0"]
U = {2: 0.0225425, 3: 0.0451224, 4: 0.0610320, 5: 0.0725337, 6: 0.0812004}
FAR = [1e-300, 1e-30, 1e-9, 2.0**-40, 1 - 2.0**-40, 1 - 2.0**-53]
SIDES = np.concatenate((FAR, np.arange(1, 64) / 64))


def some_reports(n: int, rows: int = 12) -> Floats:
    """Reports k/1024, whose complements are exact; some rows are far out."""
    rng = np.random.default_rng(n)
    near, far = rng.integers(1, 1024, (rows, n)) / 1024, np.array([2.0**-40, 2.0**-20, 1 - 2.0**-20, 1 - 2.0**-40])
    return np.where(rng.random((rows, n)) < 0.2, rng.choice(far, (rows, n)), near)


def log_odds(x: Floats) -> Floats:
    return np.log(x) - np.log1p(-x)


# --------------------------------------------------------------------------------------------- laws for every n up to 100


@pytest.mark.parametrize("name", UNANIMOUS)
def test_unanimous_reports_are_kept_or_pushed_out(name: str) -> None:
    """f >= p for p > 1/2; f <= p for p < 1/2; 1/2 stays 1/2."""
    p = SIDES
    for n in EVERY_N:
        f = get_rule(name)(np.tile(p[:, None], n))
        assert (f[p >= 0.5] >= p[p >= 0.5] * (1 - 1e-13)).all(), n
        assert (f[p <= 0.5] <= p[p <= 0.5] * (1 + 1e-11)).all(), n


def test_minimax_keeps_unanimous_reports_of_up_to_seven_that_are_not_far_out() -> None:
    for n in range(3, 8):
        threshold = stretch(n)[1]
        kept = SIDES[np.abs(log_odds(SIDES)) <= threshold]
        pushed = SIDES[np.abs(log_odds(SIDES)) > threshold + 0.01]
        assert get_rule("minimax")(np.tile(kept[:, None], n)) == pytest.approx(kept, rel=1e-13)
        f = get_rule("minimax")(np.tile(pushed[:, None], n))
        assert (np.abs(f - 0.5) >= np.abs(pushed - 0.5)).all()
        assert (f[pushed < 0.5] < pushed[pushed < 0.5]).all()
    assert float(get_rule("minimax")([[0.6] * 8])[0]) > 0.6  # a > 1 from n = 8 on
    assert float(get_rule("minimax:unanimous=0")([[0.6] * 3])[0]) < 0.6


@pytest.mark.parametrize("name", ALL)
def test_the_forecast_rises_with_each_report(name: str) -> None:
    for n in EVERY_N:
        reports = some_reports(n)
        chosen = np.arange(len(reports)), np.arange(len(reports)) % n
        for step in (0.01, 1.0):  # in log-odds
            higher = reports.copy()
            higher[chosen] = 1 / (1 + np.exp(-log_odds(reports[chosen]) - step))
            low, high = get_rule(name)(reports), get_rule(name)(higher)
            assert (high >= low).all(), n
            inner = (low > 1e-6) & (low < 1 - 1e-6)
            assert (high > low)[inner].all(), n
            assert inner.any()


@pytest.mark.parametrize("name", ALL)
def test_the_mirror_image_and_any_order_of_the_reports(name: str) -> None:
    for n in EVERY_N:
        reports = some_reports(n)
        f = get_rule(name)(reports)
        assert get_rule(name)(1 - reports) == pytest.approx(1 - f, abs=1e-12), n
        shuffled = np.random.default_rng(n).permuted(reports, axis=1)
        assert get_rule(name)(shuffled) == pytest.approx(f, rel=1e-10), n


@pytest.mark.parametrize("n", [3, 4, 8])
def test_only_certain_reports_give_certain_forecasts(n: int) -> None:
    """Else the log loss of a forecast that was rounded to 1 would be infinite."""
    for x in (1e-12, 1e-5, 1 - 1e-5, 1 - 1e-12):
        assert 0 < rp.get_rule("minimax")(np.full((1, n), x))[0] < 1


def test_the_log_loss_of_minimax_is_finite() -> None:
    worst = rp.worst_case("minimax", rp.ConditionallyIndependent(3, None, None), loss="log")
    assert 0.1 < worst.regret < 0.2


@pytest.mark.parametrize("name", ALL)
def test_certain_reports_decide_and_contradictions_give_one_half(name: str) -> None:
    for n in EVERY_N:
        reports = np.tile(some_reports(n, rows=8), (3, 1))
        reports[:8, 0] = 0.0
        reports[8:16, -1] = 1.0
        expected = [0.0] * 8 + [1.0] * 8
        if n > 1:
            reports[16:, 0], reports[16:, -1] = 0.0, 1.0
            expected += [0.5] * 8
        assert get_rule(name)(reports[: len(expected)]).tolist() == expected, n
        weights = np.random.default_rng(n).uniform(0.1, 3, n)
        assert get_rule(name)(reports[: len(expected)], weights).tolist() == expected, n
        assert get_rule(name)([[0.0] * n, [1.0] * n]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", ALL)
def test_reports_next_to_0_and_1_are_near_the_limit_without_warnings(name: str) -> None:
    """log-odds of -745: their square is a double. Warnings are errors."""
    for n in EVERY_N:
        f = get_rule(name)([[x, *[0.5] * (n - 1)] for x in (5e-324, 1e-300, 1 - 2.0**-53)])
        assert 0 <= f[0] <= f[1] < 0.5 < f[2] <= 1, n
        assert np.isfinite(
            get_rule(name)([[5e-324] * n, [1 - 2.0**-53] * n, [5e-324, *[1 - 2.0**-53] * (n - 1)]])
        ).all()


@pytest.mark.parametrize("name", ALL)
def test_who_does_not_answer_makes_n_smaller(name: str) -> None:
    """One table with a row for each n."""
    table = np.full((100, 100), np.nan)
    for n in EVERY_N:
        table[n - 1, 100 - n :] = some_reports(n, rows=1)[0]
    alone = [float(get_rule(name)(some_reports(n, rows=1))[0]) for n in EVERY_N]
    assert get_rule(name)(table) == pytest.approx(alone, rel=1e-12)


def test_weights_repeat_the_reports_in_robust() -> None:
    for n in range(2, 101):
        reports, times = some_reports(n), np.random.default_rng(n).integers(1, 5, n)
        repeated = get_rule("robust")(np.repeat(reports, times, axis=1))
        assert get_rule("robust")(reports, times) == pytest.approx(repeated, rel=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_weights_leave_the_number_of_answers_as_it_is(name: str) -> None:
    """Two agents who say the same may share their weight in any way; weights of a common factor are no weights."""
    for n in range(3, 101):
        reports = some_reports(n)
        reports[:, 1] = reports[:, 0]
        weights = np.full(n, 2.5)
        assert get_rule(name)(reports, weights) == pytest.approx(get_rule(name)(reports), rel=1e-10)
        weights[:2] = 0.5, 4.5
        assert get_rule(name)(reports, weights) == pytest.approx(get_rule(name)(reports), rel=1e-10)


# ------------------------------------------------------------------------------------------------- the unanimity bound


class Unanimity(NamedTuple):
    """U_n, and where it is attained."""

    bound: float
    prior: float
    report: float


@cache
def unanimity(n: int) -> Unanimity:
    """U_n = max over mu < b <= 1/2 of (mu/g)(g - b)^2, logit g = n logit b - (n-1) logit mu."""

    def negative(point: Floats) -> float:
        b, ahead = point
        return -lost(n, sigma(b - ahead), sigma(b), sigma(b))

    tries = [
        minimize(
            negative, start, method="Nelder-Mead", bounds=[(-6.0, 0.0), (1e-6, 6.0)],
            options={"xatol": 1e-10, "fatol": 1e-16},
        )
        for start in ((-0.2, 1.0), (-0.3, 0.5), (-0.7, 0.1))
    ]  # fmt: skip
    best = min(tries, key=lambda one: float(one.fun))
    return Unanimity(-float(best.fun), sigma(best.x[0] - best.x[1]), sigma(best.x[0]))


def sigma(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def lost(n: int, mu: float, b: float, f: float) -> float:
    """(mu/g)(f - g)^2: what the forecast f costs where all report b, if each of n agents reports 0 or b at the prior mu."""
    g = sigma(n * math.log(b / (1 - b)) - (n - 1) * math.log(mu / (1 - mu)))
    return mu / g * (f - g) ** 2


@pytest.mark.parametrize("n", U)
def test_the_unanimity_bound(n: int) -> None:
    assert unanimity(n).bound == pytest.approx(U[n], abs=6e-8)


def test_the_unanimity_bound_of_two_is_that_of_every_rule_and_its_limit_is_4_27() -> None:
    assert unanimity(2).bound == pytest.approx((5 * math.sqrt(5) - 11) / 8, abs=1e-13)
    bounds = [unanimity(n).bound for n in (7, 10, 20, 50, 100, 1000)]
    assert bounds == sorted(bounds)
    assert 0.146 < bounds[-1] < 4 / 27


@pytest.mark.parametrize("n", range(3, 13))
@pytest.mark.parametrize("name", UNANIMOUS)
def test_unanimous_rules_lose_the_unanimity_bound_on_one_structure(name: str, n: int) -> None:
    """All report 0 or b. The regret is at least what is lost where all report b, and f <= b < g there."""
    at = unanimity(n)
    structure = rp.BinaryStructure(at.prior, [[0.0, at.report]] * n).to_information_structure()
    assert rp.regret(name, structure) >= at.bound - 1e-12
    assert rp.regret(name, structure) == pytest.approx(
        lost(n, at.prior, at.report, float(get_rule(name)([[at.report] * n])[0]))
    )


def climbed(n: int, starts: int, seed: int, steps: int) -> float:
    """The largest regret of `minimax` from random structures, all agents free; in a third of the starts low reports are 0."""
    rng = np.random.default_rng(seed)
    points = rng.random((starts, 1 + 2 * n))
    points[:, 0] = rng.normal(0.0, 2.0, starts)
    points[: starts // 3, 1::2] = 0.0
    search = Search(get_rule("minimax"), Square(), (0.0, 1.0))
    return float(continuous_regrets(search.aggregator, search.climb(points, rng, steps), search.loss).max())


@pytest.mark.parametrize(("n", "starts", "steps"), [(3, 36, 200), (4, 24, 160), (5, 9, 160), (6, 6, 120)])
def test_minimax_is_not_found_above_the_unanimity_bound(n: int, starts: int, steps: int) -> None:
    found, bound = climbed(n, starts, seed=n, steps=steps), unanimity(n).bound
    assert bound - 1e-4 < found < bound + 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_ten_thousand_starts_do_not_find_minimax_above_the_unanimity_bound(n: int) -> None:
    bound = unanimity(n).bound
    found = max(climbed(n, 500, seed, 160) for seed in range(20))
    assert bound - 1e-7 < found < bound + 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_differential_evolution_does_not_find_minimax_above_the_unanimity_bound(n: int) -> None:
    """With five agents it ends where one agent alone is informed, a local maximum that is 2 % lower."""
    found, bound = evolved(get_rule("minimax"), 300_000, n), unanimity(n).bound
    assert 0.95 * bound < found < bound + 1e-11
