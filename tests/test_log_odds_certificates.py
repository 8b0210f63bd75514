"""Rules that see only the sum of the log-odds: the reduction, the proofs, the slopes that carry them, the refusals."""

from __future__ import annotations

import copy
from fractions import Fraction
from math import log, nextafter, sqrt
from typing import Any

import numpy as np
import pytest
from flint import arb
from robustpool.verification.refusal import Refused

import robustpool as rp
from robustpool.aggregators.rules import RULES, Rule, get_rule
from robustpool.certificates.log_odds import (
    Progress,
    Side,
    _function,
    _sides,
    certify_log_odds,
    certify_phi,
    phi_of,
)
from robustpool.errors import UnsupportedError
from robustpool.verification.balls import Work, negative_on, precision, rational
from robustpool.verification.log_odds import Segment, check_upper, read_phi, regret_at

WHOLE = (0.0, 1.0)
LINEAR: dict[str, Any] = {"form": "linear", "alpha": 0.5168, "shift": 0.0}
TANH: dict[str, Any] = {"form": "tanh", "a": 0.5, "b": 0.09, "k": 4.0}


def finish(steps: Any) -> tuple[list[Progress], dict[str, Any]]:
    seen = []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            return seen, end.value


def proved(
    phi: dict[str, Any], agents: int = 2, prior_range: tuple[float, float] = WHOLE, tolerance: float = 1e-6
) -> dict[str, Any]:
    return finish(certify_phi({"kind": "log-odds", "name": "some", "phi": phi}, agents, prior_range, tolerance))[1]


def check(
    result: dict[str, Any], agents: int = 2, prior_range: tuple[float, float] = WHOLE, bound: float | None = None
) -> None:
    exact = (Fraction(prior_range[0]), Fraction(prior_range[1]))
    claimed = Fraction(result["bound"] if bound is None else bound)
    check_upper(result["aggregator"], agents, exact, result["witness"], claimed)


@pytest.fixture(scope="module")
def log_odds() -> dict[str, Any]:
    return proved(LINEAR, tolerance=1e-9)


def forecasts(phi: dict[str, Any]) -> Any:
    """The rule as a function of reports."""
    function = _function(phi, mirrored=False)

    def f(x: Any) -> Any:
        with np.errstate(all="ignore"):
            s = np.clip(np.log(x) - np.log1p(-x), -400, 400).sum(axis=1)
        return 1 / (1 + np.exp(-np.clip(function(s), -700, 700)))

    return f


def random_phi(rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() < 0.5:
        shift = float(rng.normal()) if rng.random() < 0.5 else 0.0
        return {"form": "linear", "alpha": float(rng.uniform(0.1, 1.5)), "shift": shift}
    return {
        "form": "tanh",
        "a": float(rng.uniform(0.05, 1)),
        "b": float(rng.uniform(0, 0.6)),
        "k": float(rng.uniform(1, 6)),
    }


def random_regrets(
    phi: dict[str, Any], agents: int, prior_range: tuple[float, float], rng: np.random.Generator
) -> float:
    """The largest regret over many random structures with two to four signals an agent, from the definition."""
    worst = 0.0
    f = forecasts(phi)
    for _ in range(150):
        mu = float(np.clip(rng.uniform(*prior_range), 1e-6, 1 - 1e-6))
        signals = int(rng.integers(2, 5))
        given = rng.dirichlet(np.full(signals, 0.5), size=(2, agents))  # Pr[s_i | omega]
        joint = np.array([[1 - mu], [mu]])
        reports = np.zeros((1, 0))
        for agent in range(agents):
            x = mu * given[1, agent] / np.maximum(mu * given[1, agent] + (1 - mu) * given[0, agent], 1e-300)
            joint = (joint[:, :, None] * given[:, None, agent]).reshape(2, -1)
            reports = np.concatenate((np.repeat(reports, signals, axis=0), np.tile(x, len(reports))[:, None]), axis=1)
        mass = joint.sum(axis=0)
        g = joint[1] / np.maximum(mass, 1e-300)
        worst = max(worst, float(mass @ (f(np.clip(reports, 0, 1)) - g) ** 2))
    return worst


# --------------------------------------------------------------------------------------------------------- the reduction


@pytest.mark.parametrize("phi", [LINEAR, TANH, {"form": "linear", "alpha": 1.0, "shift": -0.8}])
def test_for_two_agents_the_envelope_is_the_worst_case(phi: dict[str, Any]) -> None:
    """The two-dimensional check and the search over structures share no code, and agree."""
    found = max(side.supremum() for side in _sides(phi, 2, WHOLE).values())
    assert rp.worst_case(forecasts(phi)).regret == pytest.approx(found, abs=2e-8)


def test_an_agent_who_knows_nothing_makes_every_distribution_of_posteriors() -> None:
    """With the other silent, the regret is that of the chord between two posteriors."""
    mu, low, high = 0.3, 0.05, 0.8
    structure = {"prior": "3/10", "reports": [["1/20", "4/5"], ["3/10", "3/10"]]}
    s = np.log([low / (1 - low), high / (1 - high)]) + log(mu / (1 - mu))
    gap = (1 / (1 + np.exp(-0.5168 * s)) - [low, high]) ** 2
    chord = ((high - mu) * gap[0] + (mu - low) * gap[1]) / (high - low)
    assert float(regret_at({"phi": LINEAR}, structure)) == pytest.approx(chord, abs=1e-14)


# ------------------------------------------------------------------------------------------------------------ the proofs

BOUNDS = [
    ("minimax", 2, (5 * sqrt(5) - 11) / 8, 1e-15),
    ("log-odds", 2, 0.0225986269, 1e-9),
    ("geometric-odds", 2, 0.0228962647, 1e-9),
    pytest.param("neyman-odds", 2, 0.0247954534, 1e-9, marks=pytest.mark.slow),
    pytest.param("extremized-odds", 2, 0.0494000510, 1e-9, marks=pytest.mark.slow),
    pytest.param("product", 2, 0.0381771980, 1e-9, marks=pytest.mark.slow),
    ("minimax", 3, 0.0444770026, 1e-9),
    ("geometric-odds", 3, 0.0515668461, 1e-9),
]


@pytest.mark.parametrize(("name", "agents", "wanted", "tolerance"), BOUNDS)
def test_bounds_of_the_rules(name: str, agents: int, wanted: float, tolerance: float) -> None:
    family = rp.ConditionallyIndependent(agents, None, None)
    seen, result = finish(certify_log_odds(get_rule(name), family, 1e-9))
    check(result, agents)
    assert abs(result["found"] - wanted) < 2e-10
    assert 0 <= result["bound"] - result["found"] <= tolerance
    uppers = [progress.upper for progress in seen]
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[-1] == result["bound"]


def test_the_lower_bound_of_three_agents_is_what_is_proved() -> None:
    mu = np.linspace(0.25, 0.26, 100_001)
    g = (1 - mu) ** 2 / ((1 - mu) ** 2 + mu**2)
    assert ("minimax", 3, 0.0444770026, 1e-9) in BOUNDS
    assert (mu / g * (g - 0.5) ** 2).max() == pytest.approx(0.0444770026, abs=1e-10)


def test_the_value_without_the_theorem() -> None:
    """The general slopes come within 1e-12 of V, too."""
    phi = {**TANH, "a": nextafter(0.5, 1)}  # one bit off the theorem
    result = proved(phi, tolerance=1e-12)
    check(result)
    assert result["witness"]["kind"] == "slopes"
    assert result["bound"] < (5 * sqrt(5) - 11) / 8 + 1.1e-12


@pytest.mark.parametrize(
    ("name", "prior_range"),
    [
        ("log-odds", (0.05, 0.2)),
        ("minimax", (0.3, 0.6)),
        ("geometric-odds", (0.9, 1.0)),
        ("log-odds", (0.3, 0.3)),
        ("bordley:prior=0.3", (0.2, 0.4)),
        ("bordley:prior=0.3", (0.55, 0.7)),
    ],
)
def test_ranges_of_priors(name: str, prior_range: tuple[float, float]) -> None:
    family = rp.ConditionallyIndependent(2, None, None, prior_range)
    rule = get_rule(name)
    result = finish(certify_log_odds(rule, family, 1e-7))[1]
    check(result, 2, prior_range)
    searched = rp.worst_case(rule, family).regret
    assert searched <= result["bound"] <= searched + 1e-6


def test_a_mirrored_range_has_the_same_bound() -> None:
    low, high = proved(LINEAR, 2, (0.0, 0.125)), proved(LINEAR, 2, (0.875, 1.0))
    assert low["bound"] == high["bound"]
    check(low, 2, (0.875, 1.0))


def test_steep_negative_slopes_are_halved_for_their_tails() -> None:
    """The corners of kappa, g and 1/mu are too pessimistic here on the whole of a piece."""
    check(proved({"form": "linear", "alpha": 0.325, "shift": -1.743}, 4, tolerance=1e-4), 4)


def test_slopes_for_one_range_do_not_serve_another() -> None:
    result = proved(LINEAR, 2, (0.05, 0.2))
    check(result, 2, (0.06, 0.19))
    for other, message in (((0.01, 0.2), "the slopes start at prior"), ((0.05, 0.3), "the slopes end at prior")):
        with pytest.raises(Refused, match=message):
            check(result, 2, other)
    with pytest.raises(Refused, match=r"at priors below 0\.05 kappa must lie between the prior and the bound"):
        check(result, 2, (0.0, 0.2))


@pytest.mark.parametrize("seed", range(6))
def test_no_structure_beats_a_proved_bound(seed: int) -> None:
    _no_structure_beats(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_no_structure_beats_a_proved_bound_many(seed: int) -> None:
    _no_structure_beats(seed)


def _no_structure_beats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi, agents = random_phi(rng), int(rng.integers(1, 5))
    prior_range = WHOLE if rng.random() < 0.5 else tuple(sorted(rng.random(2).tolist()))
    result = proved(phi, agents, prior_range, 1e-4)
    assert random_regrets(phi, agents, prior_range, rng) <= result["bound"]
    if agents == 2:
        searched = rp.worst_case(forecasts(phi), rp.ConditionallyIndependent(2, None, None, prior_range)).regret
        assert searched - 1e-12 <= result["bound"] <= searched + 1.5e-4


# ----------------------------------------------------------------------------------------------------------- forgeries


def test_a_bound_below_the_worst_case_is_refused(log_odds: dict[str, Any]) -> None:
    result = log_odds
    for below in (result["bound"] - 1.1e-9, result["bound"] - 1e-6, 0.0, -1.0):
        with pytest.raises(Refused):
            check(result, bound=below)
    check(result, bound=result["bound"] + 1e-9)


def test_slopes_matter(log_odds: dict[str, Any]) -> None:
    result = log_odds
    kappas = result["witness"]["below"]["kappas"]
    for i in range(0, len(kappas), 4):
        for change in (0.03, -0.03):
            forged = copy.deepcopy(result)
            forged["witness"]["below"]["kappas"][i] += change
            with pytest.raises(Refused):
                check(forged)


def test_a_witness_for_another_rule_is_refused(log_odds: dict[str, Any]) -> None:
    result = log_odds
    for alpha in (0.5, 0.53):
        forged = {**result, "aggregator": {"phi": {**LINEAR, "alpha": alpha}}}
        with pytest.raises(Refused, match=r"the inequality (fails|could not be shown) at prior \S+ and posterior \S+"):
            check(forged)
    with pytest.raises(Refused, match=r"the (inequality fails at prior|slopes above 1/2 must be two lists)"):
        check({**result, "aggregator": {"phi": {**LINEAR, "shift": 1e-3}}})
    with pytest.raises(Refused, match="the inequality"):
        check(result, agents=3)


def test_rules_with_a_shift_need_both_sides() -> None:
    result = proved({"form": "linear", "alpha": 1.0, "shift": -0.8})
    check(result)
    del result["witness"]["above"]
    with pytest.raises(Refused, match="the slopes above 1/2 must be two lists of equal length"):
        check(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logits": [-5.0, -6.0]}, "witness.below.logits must be doubles in increasing order"),
        ({"logits": ["-1/3", 0.0]}, "witness.below.logits must be doubles in increasing order"),
        ({"logits": [float("nan"), 0.0]}, "witness.below.logits must be a finite number or a fraction"),
        ({"kappas": [0.01]}, "the slopes below 1/2 must be two lists of equal length"),
        ({"kappas": [0.01, True]}, "witness.below.kappas must be a finite number or a fraction"),
        ({"kappas": [0.01, "1/0"]}, "witness.below.kappas must be a finite number or a fraction"),
    ],
)
def test_malformed_slopes(change: dict[str, Any], message: str) -> None:
    side = {"logits": [-6.0, 0.0], "kappas": [0.01, 0.0], **change}
    with pytest.raises(Refused, match=message):
        check_upper({"phi": LINEAR}, 2, (Fraction(0), Fraction(1)), {"kind": "slopes", "below": side}, Fraction(1, 4))


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (None, "phi must be linear with alpha and shift, or tanh with a, b and k"),
        ({"form": "cubic"}, "phi must be linear"),
        ({"form": "linear", "alpha": 1.0}, "phi must be linear"),
        ({**LINEAR, "alpha": 0.0}, "phi must increase without bound"),
        ({**TANH, "b": -0.1}, "phi must increase without bound"),
        ({**TANH, "k": 0}, "phi must increase without bound"),
        ({**TANH, "a": "x"}, "phi.a must be a finite number or a fraction 'p/q'; it is 'x'"),
        ({**TANH, "a": float("inf")}, "phi.a must be a finite number"),
    ],
)
def test_malformed_rules(phi: Any, message: str) -> None:
    with pytest.raises(Refused, match=message):
        read_phi({"phi": phi})


def test_malformed_claims() -> None:
    for agents, ends, kind, message in (
        (0, (0, 1), "slopes", "the number of agents must be a whole number"),
        ("2", (0, 1), "slopes", "the number of agents must be a whole number"),
        (2, (1, 1), "slopes", r"prior_range must lie in \[0, 1\]"),
        (2, ("3/5", "2/5"), "slopes", r"prior_range must lie in \[0, 1\]"),
        (2, (0, 1), "trust me", "the witness must be of the kind slopes or theorem; it is 'trust me'"),
    ):
        with pytest.raises(Refused, match=message):
            check_upper({"phi": LINEAR}, agents, (Fraction(ends[0]), Fraction(ends[1])), {"kind": kind}, Fraction(1, 4))


# --------------------------------------------------------------------------------------------------- the verifier's parts


def test_the_gradient_against_differences() -> None:
    rng, h = np.random.default_rng(1), 1e-6
    for _ in range(40):
        phi, n = random_phi(rng), int(rng.integers(1, 5))
        m, t = float(rng.uniform(-3, 0)), float(rng.uniform(-6, 6))
        with precision():
            segment = Segment(read_phi({"phi": phi}), n, arb(0.02), (-3.0, arb(0.01)), (0.0, arb(0.03)))
            by_m, by_t = (float(x) for x in segment.gradient(arb(m), arb(t)))

            def value(m: float, t: float, F: Segment = segment) -> float:
                return float(F.value(arb(m), arb(t)))

            assert by_m == pytest.approx((value(m + h, t) - value(m - h, t)) / (2 * h), abs=1e-7)
            assert by_t == pytest.approx((value(m, t + h) - value(m, t - h)) / (2 * h), abs=1e-7)
        f = 1 / (1 + np.exp(-_function(phi, mirrored=False)(np.array(t + (n - 1) * m))))
        g, kappa = 1 / (1 + np.exp(-t)), 0.01 + 0.02 * (m + 3) / 3
        assert value(m, t) == pytest.approx((f - g) ** 2 - 0.02 - kappa * (g * (1 + np.exp(-m)) - 1), abs=1e-12)


def test_boxes_prove_what_holds_and_only_that() -> None:
    def shows(constant: float, most: int = 10_000) -> None:
        negative_on(
            ((-1.0, 1.0), (-1.0, 1.0)),
            lambda x, y: arb(constant) - x * x - y * y + x * y,
            lambda x, y: (y - 2 * x, x - 2 * y),
            lambda at: f"x = {at[0]:.3f}",
            Work(most),
        )

    shows(-1e-9)
    with pytest.raises(Refused, match=r"the inequality fails at x = 0.000, by 1e-09"):
        shows(1e-9)
    with pytest.raises(Refused, match="the boxes are as small as doubles"):
        negative_on(((0.0, 1.0),), lambda x: x - 1, lambda _: (arb(1),), lambda at: f"x = {at[0]:.3f}", Work())
    with pytest.raises(Refused, match=r"could not be shown within 20 boxes; the last was at x ="):
        shows(-1e-9, most=20)


def test_numbers_are_read_exactly() -> None:
    assert rational("x", 0.1) == Fraction(0.1) != Fraction(1, 10)
    assert rational("x", "1/10") == Fraction(1, 10)


# ------------------------------------------------------------------------------------------------ regret on one structure


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_regret_at_one_structure(agents: int) -> None:
    rng = np.random.default_rng(agents)
    for _ in range(8):
        phi = random_phi(rng)
        mu = float(rng.uniform(0.05, 0.95))
        low = mu * rng.random(agents) * rng.integers(0, 2, agents)
        reports = np.stack([low, 1 - (1 - mu) * rng.random(agents) * rng.integers(0, 2, agents)], axis=1)
        if agents > 1:
            reports[0] = mu
        structure = rp.BinaryStructure(mu, reports)
        mass, g, f = structure.probabilities(), structure.posteriors(), forecasts(phi)(structure.profiles())
        exact = regret_at({"phi": phi}, {"prior": mu, "reports": reports.tolist()})
        assert float(exact) == pytest.approx(mass @ (f - g) ** 2, abs=1e-12)
        assert float(exact.rad()) < 1e-18


def test_regret_at_is_exact_where_the_forecasts_are_rational() -> None:
    """The product rule is rational: f = x y / (x y + (1-x)(1-y))."""
    structure = {"prior": "1/5", "reports": [["0", "1/2"], ["1/10", "1"]]}
    total = Fraction(0)
    for x, p in ((Fraction(0), Fraction(3, 5)), (Fraction(1, 2), Fraction(2, 5))):
        for y, q in ((Fraction(1, 10), Fraction(8, 9)), (Fraction(1), Fraction(1, 9))):
            yes, no = p * q * x * y * 5, p * q * (1 - x) * (1 - y) * 5 / 4
            if yes + no:
                f = x * y / (x * y + (1 - x) * (1 - y))
                total += (yes + no) * (f - yes / (yes + no)) ** 2
    exact = regret_at({"phi": {"form": "linear", "alpha": 1, "shift": 0}}, structure)
    assert abs(exact - arb(total.numerator) / total.denominator) < 1e-15
    assert float(exact) == pytest.approx(float(total), abs=1e-15)


def test_too_many_agents() -> None:
    with pytest.raises(Refused, match="a structure may have at most 16 agents; it has 17"):
        regret_at({"phi": LINEAR}, {"prior": "1/2", "reports": [[0, 1]] * 17})


@pytest.mark.parametrize(
    "structure",
    [
        {"prior": "1/5", "reports": [["1/4", "1/2"]]},
        {"prior": "1", "reports": [["0", "1"]]},
        {"prior": "1/5", "reports": []},
        {"prior": "1/5", "reports": [["0", "3/2"]]},
    ],
)
def test_what_is_no_structure(structure: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="a structure needs pairs of reports with 0 <= low <= prior <= high <= 1"):
        regret_at({"phi": LINEAR}, structure)


# ------------------------------------------------------------------------------------------------------------ the rules


def with_defaults(name: str) -> Rule:
    return get_rule("bordley:prior=0.3" if name == "bordley" else name)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("agents", [2, 3])
def test_phi_is_the_rule(name: str, agents: int) -> None:
    rule = with_defaults(name)
    phi = phi_of(rule, agents)
    if phi is None:
        assert name not in {
            "minimax",
            "geometric-odds",
            "extremized-odds",
            "neyman-odds",
            "log-odds",
            "product",
            "bordley",
        }
        return
    x = np.random.default_rng(0).random((200, agents))
    assert forecasts(phi)(x) == pytest.approx(rule(x), abs=1e-12)


def test_rules_of_another_kind_are_told_so() -> None:
    with pytest.raises(UnsupportedError, match="rule mean is not a function of the sum of the log-odds for 2 agents"):
        next(certify_log_odds(get_rule("mean"), rp.ConditionallyIndependent(2, None, None)))
    assert phi_of(get_rule("minimax"), 4) is None


def test_the_tube_holds_the_slopes_that_prove_the_bound() -> None:
    side = Side(_function(TANH, mirrored=False), 2, 0.0, 0.5, 0.5)
    m = log(0.1 / 0.9)
    low, high = side.tube(m, 0.0226)
    t = np.linspace(-40, 40, 200_001)
    for kappa, holds in ((low - 1e-6, False), (low + 1e-6, True), (high - 1e-6, True), (high + 1e-6, False)):
        assert bool(np.all(side.gap(m, t) <= 0.0226 + kappa * side.lever(m, t))) == holds
