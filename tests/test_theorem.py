"""The theorem for two agents: its constants, its steps against floats, what it claims and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from math import nextafter, sqrt
from typing import Any

import numpy as np
import pytest
from flint import arb
from robustpool.verification.refusal import Refused

import robustpool as rp
from robustpool.certificates.log_odds import smallest_bound
from robustpool.verification import theorem
from robustpool.verification.balls import ball, precision
from robustpool.verification.log_odds import Phi, check_upper

VALUE = (5 * sqrt(5) - 11) / 8
WHOLE = (Fraction(0), Fraction(1))
MINIMAX: dict[str, Any] = {
    "kind": "log-odds",
    "name": "minimax",
    "phi": {"form": "tanh", "a": 0.5, "b": 0.09, "k": 4.0},
}


def float_rule(b: float, s: float) -> float:
    return float(1 / (1 + np.exp(-s * (0.5 + b * np.tanh(s / 4) ** 2))))


def float_log_h(b: float, m: float, t: float) -> float:
    mu, g = 1 / (1 + np.exp(-m)), 1 / (1 + np.exp(-t))
    return float(np.log(mu / g * (float_rule(b, m + t) - g) ** 2))


# ---------------------------------------------------------------------------------------------------------- upper bound


@pytest.mark.parametrize("b", [*theorem.RANGE, Fraction(2, 25), Fraction(9, 100), Fraction(7, 20), Fraction(1, 2)])
def test_the_proof_passes(b: Fraction) -> None:
    proof = theorem.prove_minimax(b)
    assert proof.b == b
    assert min(proof.outer_boxes, proof.middle_boxes, proof.contact_boxes) > 0


def test_both_ends_prove_the_whole_range() -> None:
    assert [proof.b for proof in theorem.prove_range()] == list(theorem.RANGE)


def test_the_regions_meet() -> None:
    assert theorem.BEFORE[-1][0] == theorem.MIDDLE[0]
    assert theorem.AFTER[0][0] == theorem.MIDDLE[1]
    assert theorem.AFTER[-1][0] == 0.0


@pytest.mark.parametrize("b", ["3/100", "1", "-1/10"])
def test_other_b_are_refused(b: str) -> None:
    with pytest.raises(Refused, match=r"the theorem is for b from 1/25 to 9/10; it is"):
        theorem.prove_minimax(Fraction(b))


@pytest.mark.parametrize("b", [Fraction(3, 100), Fraction(95, 100)])
def test_where_the_worst_case_is_larger_the_computer_does_not_prove_it(
    b: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theorem, "RANGE", (Fraction(0), Fraction(1)))
    with pytest.raises(Refused, match=r"the inequality (fails|could not be shown) at prior"):
        theorem.prove_minimax(b)


@pytest.mark.parametrize(("table", "row"), [("BEFORE", i) for i in range(6)] + [("AFTER", i) for i in range(10)])
def test_every_slope_is_needed(table: str, row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = list(getattr(theorem, table))
    nodes[row] = (nodes[row][0], str(Fraction(nodes[row][1]) + Fraction(6, 10)))
    monkeypatch.setattr(theorem, table, tuple(nodes))
    with pytest.raises(Refused):
        theorem.prove_minimax(theorem.RANGE[0])


def test_a_contact_point_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorem, "MU", theorem.Root5(Fraction(19, 100)))
    with pytest.raises(Refused, match="the contact point is not a stationary point with the value V"):
        theorem.prove_minimax(Fraction(9, 100))


def test_a_box_without_the_contact_point_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorem, "CONTACT", (1.5, 1.5625))
    with pytest.raises(Refused):
        theorem.prove_minimax(Fraction(9, 100))


def test_second_derivatives_against_differences() -> None:
    rng, h = np.random.default_rng(0), 1e-4
    for _ in range(20):
        b, m, t = rng.uniform(0.04, 0.9), rng.uniform(*theorem.MIDDLE), rng.uniform(*theorem.CONTACT)
        at = {(i, j): float_log_h(b, m + i * h, t + j * h) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        mm = (at[1, 0] - 2 * at[0, 0] + at[-1, 0]) / h**2
        tt = (at[0, 1] - 2 * at[0, 0] + at[0, -1]) / h**2
        mt = (at[1, 1] - at[1, -1] - at[-1, 1] + at[-1, -1]) / (4 * h**2)
        with precision():
            exact = theorem._log_hessian(Phi(arb(0.5), arb(b), arb(4), arb(0)), arb(m), arb(t))
        assert [float(x) for x in exact] == pytest.approx([mm, mt, tt], abs=2e-6)


def test_no_structure_beats_the_value() -> None:
    """Whatever the search finds for rules in the tube of the theorem, it is not above V, and it comes near to it."""
    for b in ("0.08", "0.35", "0.5"):
        assert VALUE - 1e-7 < rp.worst_case(f"minimax:b={b}").regret < VALUE + 1e-12


def test_rules_between_the_ends_of_the_range_are_minimax_too() -> None:
    """f may even depend on more than s: here on which agent is the more extreme."""

    def between(x: Any) -> Any:
        with np.errstate(all="ignore"):
            s = np.clip(np.log(x) - np.log1p(-x), -200, 200).sum(axis=1)
        b = np.where(x[:, 0] < x[:, 1], 0.04, 0.9)
        return 1 / (1 + np.exp(-s * (0.5 + b * np.tanh(s / 4) ** 2)))

    rng = np.random.default_rng(3)
    for _ in range(300):
        mu = rng.uniform(0.01, 0.99)
        reports = np.stack([mu * rng.random(2) * rng.integers(0, 2, 2), 1 - (1 - mu) * rng.random(2)], axis=1)
        structure = rp.BinaryStructure(mu, reports).to_information_structure()
        assert rp.regret(between, structure) <= VALUE + 1e-12


# ---------------------------------------------------------------------------------------------------------- lower bound


def test_the_mirrored_pair_gives_the_value_exactly() -> None:
    assert theorem.mirrored_pair_value() == theorem.V
    assert float(theorem.V.ball()) == pytest.approx(VALUE, abs=1e-15)


def test_another_prior_gives_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorem, "MU", theorem.Root5(Fraction(1, 5)))
    assert theorem.mirrored_pair_value() == theorem.Root5(Fraction(9, 400))
    assert Fraction(9, 400) < Fraction(VALUE)


def test_numbers_with_a_root() -> None:
    x, y = theorem.Root5(Fraction(1, 2), Fraction(3)), theorem.Root5(Fraction(-2), Fraction(1, 7))
    for exact, wanted in ((x + y, 0), (x - y, 1), (x * y, 2), (x / y, 3)):
        a, b = 0.5 + 3 * sqrt(5), -2 + sqrt(5) / 7
        assert float(exact.ball()) == pytest.approx([a + b, a - b, a * b, a / b][wanted])
    assert x / y * y == x


# --------------------------------------------------------------------------------------------------------------- claims


def test_the_smallest_double_is_claimed_and_nothing_below() -> None:
    bound = smallest_bound()
    check_upper(MINIMAX, 2, WHOLE, {"kind": "theorem"}, Fraction(bound))
    for below in (nextafter(bound, 0), bound - 1e-9, 0.0):
        with pytest.raises(Refused, match=r"is below \(5 sqrt 5 - 11\)/8, which no aggregator can reach"):
            check_upper(MINIMAX, 2, WHOLE, {"kind": "theorem"}, Fraction(below))
    assert 0.0225424859 < bound < 0.0225424860


@pytest.mark.parametrize("change", [{"a": 0.51}, {"k": 3.0}, {"agents": 3}, {"form": "linear"}])
def test_other_rules_cannot_use_the_theorem(change: dict[str, Any]) -> None:
    agents = change.pop("agents", 2)
    phi = {"form": "linear", "alpha": 0.5, "shift": 0} if change.get("form") else {**MINIMAX["phi"], **change}
    with pytest.raises(Refused, match="the theorem is about two agents and logit f"):
        check_upper({"phi": phi}, agents, WHOLE, {"kind": "theorem"}, Fraction(1, 4))


def test_the_precision_is_restored() -> None:
    import flint

    before = flint.ctx.prec
    with pytest.raises(Refused):
        theorem.prove_minimax(Fraction(2))
    theorem.prove_minimax(Fraction(1, 10))
    assert flint.ctx.prec == before
    assert ball(Fraction(1, 3)).contains(arb(1) / 3)
