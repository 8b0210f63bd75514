"""The theorem for two agents: its constants exactly, its steps against other arithmetic, what it claims and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, isqrt, log, nextafter, sqrt
from typing import Any

import numpy as np
import pytest
from flint import arb

import robustpool as rp
from robustpool.certificates.log_odds import smallest_bound
from robustpool.verification import theorem
from robustpool.verification.balls import STEPS_OF_A_BOX, precision, sigma
from robustpool.verification.log_odds import Inequality, Phi, check_upper
from robustpool.verification.reading import Budget, OverBudget, Refused

VALUE = (5 * sqrt(5) - 11) / 8
WHOLE = (Fraction(0), Fraction(1))
BOUND = Fraction(smallest_bound())


def prove(b: Fraction, steps: float = 15e6) -> float:
    """Prove the upper bound for one b, and say what it took."""
    budget = Budget(steps)
    theorem.check_claim(theorem.rule(b), 2, BOUND, budget)
    return budget.spent


def float_rule(b: Any, s: Any) -> Any:
    return 1 / (1 + np.exp(-s * (0.5 + b * np.tanh(s / 4) ** 2)))


# ------------------------------------------------------------------------------------- exact numbers p + q sqrt 5, for tests


@dataclass(frozen=True)
class Root5:
    """The number p + q sqrt(5), exactly."""

    p: Fraction
    q: Fraction = Fraction(0)

    def __add__(self, other: Root5) -> Root5:
        return Root5(self.p + other.p, self.q + other.q)

    def __sub__(self, other: Root5) -> Root5:
        return Root5(self.p - other.p, self.q - other.q)

    def __mul__(self, other: Root5) -> Root5:
        return Root5(self.p * other.p + 5 * self.q * other.q, self.p * other.q + self.q * other.p)

    def __truediv__(self, other: Root5) -> Root5:
        norm = other.p * other.p - 5 * other.q * other.q  # 1 / (p + q sqrt 5) = (p - q sqrt 5) / (p^2 - 5 q^2)
        return self * Root5(other.p / norm, -other.q / norm)

    def __float__(self) -> float:
        return float(self.p) + float(self.q) * sqrt(5)


ZERO, ONE, HALF, EIGHTH = (Root5(Fraction(x)) for x in ("0", "1", "1/2", "1/8"))
MU = Root5(Fraction(3, 4), Fraction(-1, 4))
V = Root5(Fraction(-11, 8), Fraction(5, 8))


def test_numbers_with_a_root() -> None:
    x, y = Root5(Fraction(1, 2), Fraction(3)), Root5(Fraction(-2), Fraction(1, 7))
    a, b = 0.5 + 3 * sqrt(5), -2 + sqrt(5) / 7
    assert [float(z) for z in (x + y, x - y, x * y, x / y)] == pytest.approx([a + b, a - b, a * b, a / b])
    assert x / y * y == x
    assert float(V) == pytest.approx(VALUE, abs=1e-15)


def test_the_contact_is_a_stationary_point_with_the_value_v_exactly() -> None:
    """s = 0, f = 1/2, f' = 1/8, g = 1 - mu and d = g - f; H = (mu/g) d^2."""
    g, d, two = ONE - MU, HALF - MU, ONE + ONE
    assert MU * Root5(Fraction(3, 2)) - Root5(Fraction(1, 4)) == MU * MU
    assert MU / g * d * d == V
    assert (ONE - MU) - two * EIGHTH / d == ZERO
    assert two * (g * (ONE - g) - EIGHTH) / d - (ONE - g) == ZERO


def mirrored_pair_value(mu: Root5) -> Root5:
    """The least expected regret of any aggregator against two structures, each with probability 1/2.

    In the first the prior is mu and both agents report 0 or 1/2, in the second it is 1 - mu and they report 1/2 or 1. At each
    profile the best forecast is the mean of the posteriors g_k with their masses w_k; it costs sum w_k g_k^2 - (sum w_k g_k)^2 / sum w_k.
    """
    masses: dict[tuple[Root5, ...], list[tuple[Root5, Root5]]] = {}
    for prior, low, high in ((mu, ZERO, HALF), (ONE - mu, HALF, ONE)):
        signals = ((low, (high - prior) / (high - low)), (high, (prior - low) / (high - low)))
        for (x, p), (y, q) in product(signals, repeat=2):
            yes, no = x * y / prior, (ONE - x) * (ONE - y) / (ONE - prior)
            masses.setdefault((x, y), []).append((HALF * p * q * (yes + no), yes / (yes + no)))
    total = ZERO
    for entries in masses.values():
        weight, first, second = ZERO, ZERO, ZERO
        for w, g in entries:
            weight, first, second = weight + w, first + w * g, second + w * g * g
        total = total + second - first * first / weight
    return total


def test_the_mirrored_pair_gives_the_value_exactly() -> None:
    assert mirrored_pair_value(MU) == V
    assert mirrored_pair_value(Root5(Fraction(1, 5))) == Root5(Fraction(9, 400))  # another prior gives less


def test_the_value_is_compared_exactly() -> None:
    digits = 10**80
    below = Fraction(5 * isqrt(5 * digits**2) - 11 * digits, 8 * digits)  # less than 1e-79 below V
    assert not theorem.at_least_value(below)
    assert theorem.at_least_value(below + Fraction(1, digits))
    assert not theorem.at_least_value(Fraction(-1000))
    with precision(300):
        assert abs(theorem.value() - arb(below.numerator) / below.denominator) < 1e-78


# ---------------------------------------------------------------------------------------------------------- upper bound


@pytest.mark.parametrize("b", [*theorem.RANGE, Fraction(1, 10), Fraction(7, 20), Fraction(1, 2)])
def test_the_proof_passes(b: Fraction) -> None:
    assert 50_000 < prove(b) < 300_000


def test_the_range() -> None:
    assert (Fraction(2, 25), Fraction(9, 10)) == theorem.RANGE
    tiny = Fraction(1, 10**12)
    for b in (Fraction(2, 25) - tiny, Fraction(9, 10) + tiny, Fraction(0), Fraction(2)):
        with pytest.raises(Refused, match=r"the theorem is for b from 2/25 to 9/10; it is"):
            prove(b)


@pytest.mark.parametrize("b", [Fraction(3, 100), Fraction(95, 100)])
def test_where_the_worst_case_is_larger_nothing_is_proved(b: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorem, "RANGE", (Fraction(0), Fraction(1)))
    monkeypatch.setattr(theorem, "FAR", (-40.0, 8.0))
    with pytest.raises(Refused, match="the inequality fails at prior"):
        prove(b)


def test_no_work_is_left_out_when_the_budget_is_spent() -> None:
    spent = prove(Fraction(1, 10))
    assert prove(Fraction(1, 10), spent) == spent
    for less in (spent - 1, spent - STEPS_OF_A_BOX, spent / 2, 1000, 1):
        with pytest.raises(OverBudget, match="this needs more than the budget of"):
            prove(Fraction(1, 10), less)


def test_every_prior_and_posterior_is_in_some_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """The boxes, the square and the tails leave no gap, and the slopes on the boxes are those of the page."""
    boxes: list[tuple[Inequality, tuple[float, float], tuple[float, float]]] = []
    monkeypatch.setattr(Inequality, "check_box", lambda self, m, t, _: boxes.append((self, m, t)))
    prove(Fraction(1, 10))
    inner, outer = theorem.CONTACT
    regions = [(m, t) for _, m, t in boxes] + [((-outer, -inner), (inner, outer))]
    rng = np.random.default_rng(0)
    edges = sorted({end for m, _ in regions for end in m})
    priors = [*rng.uniform(theorem.START, 0, 2000), *edges, *(nextafter(x, -9) for x in edges[1:])]
    posteriors = [*rng.uniform(-4, 4, 2000), *rng.uniform(*theorem.FAR, 2000)]
    for m, t in zip(rng.choice(priors, 9000), rng.choice(posteriors, 9000), strict=True):
        far = m >= theorem.CUT and not -4 < t < 4  # where the tails reach depends on the prior there
        assert far or any(m0 <= m <= m1 and t0 <= t <= t1 for (m0, m1), (t0, t1) in regions), (m, t)
    assert min(edges) == theorem.START
    assert max(edges) == 0.0
    for lines, ends, _ in boxes:
        for m in ends:
            mu = 1 / (1 + exp(-m))
            wanted = VALUE if ends[1] <= theorem.CUT else 0.175 * mu * (1 - 2 * mu)
            with precision():
                assert float(lines.kappa(arb(m))[0]) == pytest.approx(wanted, abs=1e-15)


def test_the_slopes_change_at_a_quarter() -> None:
    assert 0.249 < 1 / (1 + exp(-theorem.CUT)) < 0.25
    with precision():
        kappa = float(theorem.other_kappa(arb(-log(3)))[0])
    assert kappa == pytest.approx(7 / 320)


def test_the_derivative_of_the_slopes() -> None:
    with precision(300):
        h = arb("1e-40")
        for x in (-1.1, -0.7, -0.2, 0.0):
            m = arb(x)
            difference = (theorem.other_kappa(m + h)[0] - theorem.other_kappa(m - h)[0]) / (2 * h)
            assert abs(theorem.other_kappa(m)[1] - difference) < 1e-35


@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)])
def test_the_factor_of_the_slopes_matters(factor: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = theorem.other_kappa
    scale = arb(factor.numerator) / factor.denominator
    monkeypatch.setattr(theorem, "other_kappa", lambda m: tuple(scale * x for x in exact(m)))
    with pytest.raises(Refused, match="the inequality"):
        prove(theorem.RANGE[1 if factor < 1 else 0])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("START", -3.79, "the smallest priors or the tails"),  # exp(-3.79) > V
        ("FAR", (-6.0, 8.0), "the smallest priors or the tails"),
        ("FAR", (-8.0, 1.0), "the smallest priors or the tails"),
        ("CUT", -1.05, "the smallest priors or the tails"),
        ("CUT", -1.3, "the inequality"),
        ("CONTACT", (1.453125, 1.484375), "the contact lies outside its square"),
        ("CONTACT", (1.40625, 1.4375), "the contact lies outside its square"),
        ("CONTACT", (1.0, 2.0), "log H could not be shown to be concave"),
        ("CONTACT", (-4.0, 4.0), "log H could not be shown to be concave"),  # f reaches g there
        ("CELLS", 1, "log H could not be shown to be concave"),
    ],
)
def test_every_constant_is_checked(name: str, value: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("CONTACT", "CELLS"):  # not the boxes around the square, which come first
        monkeypatch.setattr(theorem, "check_low_priors", lambda *_: None)
    monkeypatch.setattr(theorem, name, value)
    with pytest.raises(Refused, match=message):
        prove(theorem.RANGE[0])


def test_the_lower_tail_is_needed_for_small_b() -> None:
    """For b = 0, H tends to mu^2/(1 - mu) > V as g tends to 0."""
    with precision(), pytest.raises(Refused, match="the smallest priors or the tails"):
        theorem.check_low_priors(Phi(Fraction(1, 2), Fraction(1, 10**6), Fraction(4)), Budget())


def test_small_priors_by_hand() -> None:
    """Where mu / (1 - mu) <= V, H <= V for every b >= 0; the bounds of the three cases."""
    rng = np.random.default_rng(4)
    b, m, t = rng.exponential(1, 100_000), -rng.uniform(-log(VALUE), 12, 100_000), rng.uniform(-30, 30, 100_000)
    mu, g, s = 1 / (1 + np.exp(-m)), 1 / (1 + np.exp(-t)), m + t
    f = float_rule(b, s)
    h = mu / g * (f - g) ** 2
    below, low, high = f <= g, (f > g) & (s <= 0), (f > g) & (s > 0)
    assert min(below.sum(), low.sum(), high.sum()) > 100
    assert np.all(h[below] <= mu[below])
    assert np.all(h[low] <= mu[low] / (1 - mu[low]) * (1 + 1e-12))
    assert np.all(h[high] <= mu[high] ** 3 / (1 - mu[high]))
    assert h.max() <= VALUE


def test_second_derivatives_against_differences() -> None:
    """By differences of the closed form, to 30 digits."""

    def log_h(b: arb, m: arb, t: arb) -> arb:
        s, mu, g = m + t, sigma(m), sigma(t)
        f = sigma(s * (arb(1) / 2 + b * (s / 4).tanh() ** 2))
        return (mu / g * (f - g) ** 2).log()

    rng = np.random.default_rng(0)
    with precision(600):
        h = arb("1e-50")
        for _ in range(10):
            b, m, t = (arb(x) for x in (rng.uniform(0.08, 0.9), -rng.uniform(1.41, 1.48), rng.uniform(1.41, 1.48)))
            at = {(i, j): log_h(b, m + i * h, t + j * h) for i in (-1, 0, 1) for j in (-1, 0, 1)}
            mm = (at[1, 0] - 2 * at[0, 0] + at[-1, 0]) / h**2
            tt = (at[0, 1] - 2 * at[0, 0] + at[0, -1]) / h**2
            mt = (at[1, 1] - at[1, -1] - at[-1, 1] + at[-1, -1]) / (4 * h**2)
            exact = theorem.log_hessian(theorem.rule(Fraction(float(b))), m, t)
            for x, y in zip(exact, (mm, mt, tt), strict=True):
                assert abs(x - y) < 1e-30
            with precision():
                tiny = arb(0, 1e-12)
                enclosed = theorem.log_hessian(theorem.rule(Fraction(float(b))), m + tiny, t + tiny)
                for x, y in zip(enclosed, exact, strict=True):
                    assert x.contains(y)
                    assert x.rad() < 1e-8


@pytest.mark.parametrize(
    ("hessian", "concave"),
    [
        ((-1, 0, -1), True),
        ((-1, 0.9, -1), True),
        ((1, 0, 1), False),
        ((-1, 1, -1), False),
        ((-1, 2, -1), False),
        ((-1, 0, 1), False),
    ],
)
def test_concave_means_negative_definite(
    hessian: tuple[float, ...], concave: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theorem, "log_hessian", lambda *_: tuple(arb(x) for x in hessian))
    if concave:
        theorem.check_contact(theorem.rule(Fraction(1, 10)), Budget())
    else:
        with pytest.raises(Refused, match="log H could not be shown to be concave"):
            theorem.check_contact(theorem.rule(Fraction(1, 10)), Budget())


def test_the_cells_cover_the_square(monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[tuple[arb, arb]] = []
    exact = theorem.log_hessian

    def remembered(phi: Phi, m: arb, t: arb) -> tuple[arb, arb, arb]:
        cells.append((m, t))
        return exact(phi, m, t)

    monkeypatch.setattr(theorem, "log_hessian", remembered)
    budget = Budget()
    theorem.check_contact(theorem.rule(Fraction(1, 10)), budget)
    assert budget.spent == len(cells) * theorem.STEPS_OF_A_CELL
    rng, (inner, outer) = np.random.default_rng(5), theorem.CONTACT
    points = [*rng.uniform(inner, outer, (500, 2)), *product(theorem.CONTACT, repeat=2)]
    assert all(any((-m).contains(x) and t.contains(y) for m, t in cells) for x, y in points)


def test_no_structure_beats_the_value() -> None:
    """Whatever the search finds for rules in the tube of the theorem, it is not above V, and it comes near to it."""
    for b in ("0.08", "0.1", "0.5"):
        assert VALUE - 1e-7 < rp.worst_case(f"minimax:b={b}").regret < VALUE + 1e-12


def test_rules_between_the_ends_of_the_range_are_minimax_too() -> None:
    """f may even depend on more than s: here on which agent is the more extreme."""

    def between(x: Any) -> Any:
        with np.errstate(all="ignore"):
            s = np.clip(np.log(x) - np.log1p(-x), -200, 200).sum(axis=1)
        return float_rule(np.where(x[:, 0] < x[:, 1], 0.08, 0.9), s)

    rng = np.random.default_rng(3)
    for _ in range(300):
        mu = rng.uniform(0.01, 0.99)
        reports = np.stack([mu * rng.random(2) * rng.integers(0, 2, 2), 1 - (1 - mu) * rng.random(2)], axis=1)
        structure = rp.BinaryStructure(mu, reports).to_information_structure()
        assert rp.regret(between, structure) <= VALUE + 1e-12


# --------------------------------------------------------------------------------------------------------------- claims


def test_the_smallest_double_is_claimed_and_nothing_below() -> None:
    bound, rule, witness = smallest_bound(), theorem.rule(Fraction(0.1)), {"kind": "theorem"}
    check_upper(rule, 2, WHOLE, witness, Fraction(bound), Budget())
    for below in (nextafter(bound, 0), bound - 1e-9, 0.0):
        with pytest.raises(Refused, match=r"is below \(5 sqrt 5 - 11\)/8, which no aggregator can reach"):
            check_upper(rule, 2, WHOLE, witness, Fraction(below), Budget())
    assert 0.0225424859 < bound < 0.0225424860


@pytest.mark.parametrize(
    ("phi", "agents"),
    [
        (Phi(Fraction(1, 2), Fraction(1, 10), Fraction(4)), 3),
        (Phi(Fraction(1, 2), Fraction(1, 10), Fraction(4)), 1),
        (Phi(Fraction(nextafter(0.5, 1)), Fraction(1, 10), Fraction(4)), 2),
        (Phi(Fraction(1, 2), Fraction(1, 10), Fraction(3)), 2),
        (Phi(Fraction(1, 2), Fraction(1, 10), Fraction(4), Fraction(1, 10**9)), 2),
        (Phi(Fraction(1, 2)), 2),
    ],
)
def test_other_rules_cannot_use_the_theorem(phi: Phi, agents: int) -> None:
    with pytest.raises(Refused, match="the theorem is about two agents and logit f"):
        check_upper(phi, agents, WHOLE, {"kind": "theorem"}, Fraction(1, 4), Budget())


def test_the_precision_is_restored() -> None:
    import flint

    before = flint.ctx.prec
    with pytest.raises(OverBudget):
        prove(Fraction(1, 10), 1000)
    prove(Fraction(1, 10))
    assert flint.ctx.prec == before
