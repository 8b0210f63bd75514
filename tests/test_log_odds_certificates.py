"""Rules that see only the sum of the log-odds: the reduction, the proofs, the slopes that carry them, the refusals."""

from __future__ import annotations

import copy
import json
from contextlib import nullcontext
from fractions import Fraction
from itertools import product
from math import inf, log, nextafter, prod, sqrt
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_series

import robustpool as rp
from quick import one_of, only, slowly
from robustpool.aggregators.rules import RULES, Rule, get_rule
from robustpool.certificates.log_odds import Proof, Side, _function, _sides, certify_phi, phi_of
from robustpool.verification.balls import STEPS_OF_A_BOX, ball, hull, logit, negative_on, precision, sigma
from robustpool.verification.log_odds import Inequality, Phi, _chord, check_upper, read_phi, read_witness, sides
from robustpool.verification.reading import Budget, OverBudget, Refused

Data = dict[str, Any]
Range = tuple[float, float]  # of priors
WHOLE = (0.0, 1.0)
LINEAR: dict[str, Any] = {"form": "linear", "alpha": 0.5168, "shift": 0.0}
TANH: dict[str, Any] = {"form": "tanh", "a": 0.5, "b": 0.09, "k": 4.0}


def finish(phi: Data, agents: int, prior_range: Range, tolerance: float) -> tuple[list[Proof], Data]:
    """All proofs, and the last of them with its aggregator, as a certificate holds it."""
    seen = list(certify_phi(phi, agents, prior_range, tolerance))
    last, aggregator = seen[-1], {"kind": "log-odds", "phi": phi}
    return seen, {"aggregator": aggregator, "bound": last.upper, "witness": last.witness, "found": last.found}


def of_rule(rule: Rule, family: rp.ConditionallyIndependent, tolerance: float) -> tuple[list[Proof], Data]:
    phi = phi_of(rule, family.agents)
    assert phi is not None
    return finish(phi, family.agents, family.prior_range, tolerance)


def proved(phi: Data, agents: int = 2, prior_range: Range = WHOLE, tolerance: float = 1e-6) -> Data:
    return finish(phi, agents, prior_range, tolerance)[1]


def check(
    result: Data, agents: int = 2, prior_range: Range = WHOLE, bound: float | None = None, steps: float = 15e6
) -> float:
    """Check a result as the verifier does, and say what it took."""
    phi, witness = read_phi(result["aggregator"]["phi"], "phi"), read_witness(result["witness"], "witness")
    exact, budget = (Fraction(prior_range[0]), Fraction(prior_range[1])), Budget(steps)
    check_upper(phi, agents, exact, witness, Fraction(result["bound"] if bound is None else bound), budget)
    return budget.spent


def read(phi: dict[str, Any]) -> Phi:
    return read_phi(phi, "phi")


def regret(phi: Phi, mu: Fraction, reports: list[tuple[Fraction, Fraction]]) -> arb:
    """A ball with the regret on a structure of two signals an agent: the sum over the profiles, from the definition."""
    signals = [
        ((low, (high - mu) / (high - low)), (high, (mu - low) / (high - low))) if low < high else ((mu, Fraction(1)),)
        for low, high in reports
    ]
    total = arb(0)
    for profile in product(*signals):
        yes = mu * prod((q * x / mu for x, q in profile), start=Fraction(1))
        no = (1 - mu) * prod((q * (1 - x) / (1 - mu) for x, q in profile), start=Fraction(1))
        if yes + no:
            f = phi.forecast(tuple(x for x, _ in profile))
            with precision():
                gap = (ball(f) if isinstance(f, Fraction) else f) - ball(yes / (yes + no))
                total += ball(yes + no) * gap * gap
    return total


@pytest.fixture(scope="module")
def log_odds() -> dict[str, Any]:
    return proved(LINEAR, tolerance=1e-9)


def forecasts(phi: dict[str, Any]) -> Any:
    """The rule as a function of reports."""
    function = _function(read(phi))

    def f(x: Any) -> Any:
        with np.errstate(all="ignore"):
            s = np.clip(np.log(x) - np.log1p(-x), -400, 400).sum(axis=1)
        return 1 / (1 + np.exp(-np.clip(function(s), -700, 700)))

    return f


def random_phi(rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() < 0.5:
        shift = float(rng.normal()) if rng.random() < 0.5 else 0.0
        return {"form": "linear", "alpha": float(rng.uniform(0.1, 1.5)), "shift": shift}
    a, b, k = rng.uniform((0.05, 0, 1), (1, 0.6, 6)).tolist()
    return {"form": "tanh", "a": a, "b": b, "k": k}


def random_regrets(phi: Data, agents: int, prior_range: Range, rng: np.random.Generator) -> float:
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


@pytest.mark.parametrize(
    ("phi", "agents"), one_of(5, product([LINEAR, TANH, {"form": "linear", "alpha": 1.0, "shift": -0.8}], [2, 3]))
)
def test_the_envelope_is_the_worst_case(phi: dict[str, Any], agents: int) -> None:
    """The two-dimensional check and the search over structures share no code, and agree, for any number of agents."""
    found = max(side.supremum()[0] for side in _sides(read(phi), agents, (Fraction(0), Fraction(1))).values())
    family = rp.ConditionallyIndependent(agents, None, None)
    assert rp.worst_case(forecasts(phi), family).regret == pytest.approx(found, abs=2e-8)


@pytest.mark.parametrize("agents", [1, 2, 3, 5])
def test_agents_who_know_nothing_make_every_distribution_of_posteriors(agents: int) -> None:
    """With the others silent, the regret is that of the chord between two posteriors."""
    mu, low, high = 0.3, 0.05, 0.8
    silent = [(Fraction(3, 10), Fraction(3, 10))] * (agents - 1)
    s = np.log([low / (1 - low), high / (1 - high)]) + (agents - 1) * log(mu / (1 - mu))
    gap = (1 / (1 + np.exp(-0.5168 * s)) - [low, high]) ** 2
    chord = ((high - mu) * gap[0] + (mu - low) * gap[1]) / (high - low)
    exact = regret(Phi(Fraction(0.5168)), Fraction(3, 10), [(Fraction(1, 20), Fraction(4, 5)), *silent])
    assert float(exact) == pytest.approx(chord, abs=1e-14)


# ------------------------------------------------------------------------------------------------------------ the proofs

BOUNDS = [
    ("minimax", 2, (5 * sqrt(5) - 11) / 8, 1e-15),
    ("robust", 2, (5 * sqrt(5) - 11) / 8, 1e-15),
    ("robust", 3, 0.0492546741, 1e-9),
    ("robust", 4, 0.0735601461, 1e-9),
    ("robust", 5, 0.0928305140, 1e-9),
    ("robust", 6, 0.1082353744, 1e-9),
    ("robust", 8, 0.1311468664, 1e-9),
    ("log-odds", 2, 0.0225986269, 1e-9),
    ("geometric-odds", 2, 0.0228962647, 1e-9),
    pytest.param("neyman-odds", 2, 0.0247954534, 1e-9, marks=pytest.mark.slow),
    pytest.param("extremized-odds", 2, 0.0494000510, 1e-9, marks=pytest.mark.slow),
    pytest.param("product", 2, 0.0381771980, 1e-9, marks=pytest.mark.slow),
    ("minimax:unanimous=0", 3, 0.0444770026, 1e-9),
    ("geometric-odds", 3, 0.0515668461, 1e-9),
]


@pytest.mark.parametrize(("name", "agents", "wanted", "tolerance"), one_of(2, BOUNDS))
def test_bounds_of_the_rules(name: str, agents: int, wanted: float, tolerance: float) -> None:
    family = rp.ConditionallyIndependent(agents, None, None)
    seen, result = of_rule(get_rule(name), family, 1e-9)
    check(result, agents)
    assert abs(result["found"] - wanted) < 2e-10
    assert 0 <= result["bound"] - result["found"] <= tolerance
    uppers = [progress.upper for progress in seen]
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[-1] == result["bound"]


def test_the_lower_bound_of_three_agents_is_what_is_proved() -> None:
    mu = np.linspace(0.25, 0.26, 100_001)
    g = (1 - mu) ** 2 / ((1 - mu) ** 2 + mu**2)
    assert ("minimax:unanimous=0", 3, 0.0444770026, 1e-9) in BOUNDS
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
        slowly(("minimax", (0.3, 0.6))),
        ("geometric-odds", (0.9, 1.0)),
        slowly(("log-odds", (0.3, 0.3))),
        ("bordley:prior=0.3", (0.2, 0.4)),
        slowly(("bordley:prior=0.3", (0.55, 0.7))),
    ],
)
def test_ranges_of_priors(name: str, prior_range: tuple[float, float]) -> None:
    family = rp.ConditionallyIndependent(2, None, None, prior_range)
    rule = get_rule(name)
    result = of_rule(rule, family, 1e-7)[1]
    check(result, 2, prior_range)
    searched = rp.worst_case(rule, family).regret
    assert searched <= result["bound"] <= searched + 1e-6


def test_a_mirrored_range_has_the_same_bound() -> None:
    low, high = proved(LINEAR, 2, (0.0, 0.125)), proved(LINEAR, 2, (0.875, 1.0))
    assert low["bound"] == high["bound"]
    check(low, 2, (0.875, 1.0))


def test_two_steps_of_the_progress_never_cross() -> None:
    """The regret that a search finds is rounded, the bound of the theorem is not."""
    for progress in rp.certification("minimax:b=0.1"):
        assert progress.lower <= progress.upper < 0.0225424859373686


def test_steep_negative_slopes_are_halved_for_their_tails() -> None:
    """The corners of kappa, g and 1/mu are too pessimistic here on the whole of a piece."""
    check(proved({"form": "linear", "alpha": 0.325, "shift": -1.743}, 4, tolerance=1e-4), 4)


def test_slopes_for_one_range_do_not_serve_another() -> None:
    result = proved(LINEAR, 2, (0.05, 0.2))
    check(result, 2, (0.06, 0.19))
    for other in ((0.01, 0.2), (0.05, 0.3)):
        with pytest.raises(Refused, match=r"the slopes are for priors from 0\.05 to 0\.2, not from"):
            check(result, 2, other)
    with pytest.raises(Refused, match=r"the slopes start at prior 0\.05, and kappa is too small for the priors below"):
        check(result, 2, (0.0, 0.2))


@pytest.mark.parametrize("seed", only([0, 2, 4], [*range(6), *range(100, 300)]))
def test_no_structure_beats_a_proved_bound(seed: int) -> None:
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
    for below in (log_odds["bound"] - 1.1e-9, log_odds["bound"] - 1e-6, 0.0, -1.0):
        with pytest.raises(Refused):
            check(log_odds, bound=below)
    check(log_odds, bound=log_odds["bound"] + 1e-9)


def test_slopes_matter(log_odds: dict[str, Any]) -> None:
    for i in range(0, len(log_odds["witness"]["below"]["kappas"]), 4):
        for change in (0.03, -0.03):
            forged = copy.deepcopy(log_odds)
            forged["witness"]["below"]["kappas"][i] += change
            with pytest.raises(Refused):
                check(forged)


def test_a_witness_for_another_rule_is_refused(log_odds: dict[str, Any]) -> None:
    result = log_odds
    for alpha in (0.5, 0.53):
        forged = {**result, "aggregator": {"phi": {**LINEAR, "alpha": alpha}}}
        with pytest.raises(Refused, match=r"the inequality (fails|could not be shown) at prior \S+ and posterior \S+"):
            check(forged)
    with pytest.raises(Refused, match="the witness must have slopes below and above the prior 1/2, and no others"):
        check({**result, "aggregator": {"phi": {**LINEAR, "shift": 1e-3}}})
    with pytest.raises(Refused, match="the inequality"):
        check(result, agents=3)


def test_rules_with_a_shift_need_both_sides() -> None:
    result = proved({"form": "linear", "alpha": 1.0, "shift": -0.8})
    check(result)
    for missing in ("below", "above"):
        forged = copy.deepcopy(result)
        del forged["witness"][missing]
        with pytest.raises(Refused, match="the witness must have slopes below and above the prior 1/2, and no others"):
            check(forged)
    forged = copy.deepcopy(result)
    forged["witness"]["below"], forged["witness"]["above"] = forged["witness"]["above"], forged["witness"]["below"]
    with pytest.raises(Refused, match="the inequality"):
        check(forged)


@pytest.mark.parametrize(
    ("shift", "prior_range", "names"),
    [
        (0.0, (0.0, 1.0), ["below"]),
        (0.0, (0.6, 0.9), ["below"]),
        (0.3, (0.0, 1.0), ["below", "above"]),
        (0.3, (0.2, 0.4), ["below"]),
        (0.3, (0.2, 0.5), ["below"]),
        (0.3, (0.5, 0.5), ["below"]),
        (0.3, (0.5, 0.7), ["above"]),
        (0.3, (0.6, 0.7), ["above"]),
    ],
)
def test_slopes_that_are_not_needed_are_refused(shift: float, prior_range: Range, names: list[str]) -> None:
    result = proved({"form": "linear", "alpha": 0.5, "shift": shift}, 2, prior_range, 1e-4)
    assert [name for name in result["witness"] if name != "kind"] == names
    check(result, 2, prior_range)
    for name in {"below", "above"} - set(names):
        forged = copy.deepcopy(result)
        forged["witness"][name] = forged["witness"][names[0]]
        needed = f"the witness must have slopes {names[0]} the prior 1/2, and no others"
        with pytest.raises(Refused, match=needed):
            check(forged, 2, prior_range)


def test_the_sides_are_the_priors_of_the_range() -> None:
    low, high = Fraction(1, 10), Fraction(7, 10)
    tilted = Phi(Fraction(1, 2), shift=Fraction(1, 3))
    mirrored = Phi(Fraction(1, 2), shift=Fraction(-1, 3))
    assert sides(tilted, low, high) == {
        "below": (tilted, low, Fraction(1, 2)),
        "above": (mirrored, Fraction(3, 10), Fraction(1, 2)),
    }
    assert sides(tilted, Fraction(3, 5), high) == {"above": (mirrored, Fraction(3, 10), Fraction(2, 5))}
    half = Fraction(1, 2)
    assert sides(tilted, low, half) == {"below": (tilted, low, half)}
    assert sides(tilted, half, half) == {"below": (tilted, half, half)}
    assert sides(tilted, half, high) == {"above": (mirrored, Fraction(3, 10), half)}
    straight = Phi(half)
    for ends, wanted in (((1, 7), (1, 5)), ((4, 9), (1, 5)), ((6, 9), (1, 4)), ((2, 3), (2, 3))):  # in tenths
        ((_, first, last),) = sides(straight, *(Fraction(x, 10) for x in ends)).values()
        assert (first, last) == tuple(Fraction(x, 10) for x in wanted)


@pytest.mark.parametrize("prior", [Fraction(1, 2), Fraction(3, 10), Fraction(1, 10**6)])
def test_slopes_that_end_one_unit_in_the_last_place_early_are_refused(prior: Fraction) -> None:
    """f = g for one agent and alpha = 1, so that kappa = 0 proves any bound, where there are slopes at all."""
    with precision(200):
        exact = logit(ball(prior))
        after = float(exact)
        while not arb(after) >= exact:
            after = nextafter(after, inf)
        while arb(nextafter(after, -inf)) >= exact:
            after = nextafter(after, -inf)
        before = after if arb(after) <= exact else nextafter(after, -inf)

    def prove(first: float, last: float, prior_range: tuple[Fraction, Fraction]) -> None:
        witness = {"kind": "slopes", "below": [(first, Fraction(0)), (last, Fraction(0))]}
        check_upper(Phi(Fraction(1)), 1, prior_range, witness, Fraction(1, 100), Budget())

    start = Fraction(1, 10**9)
    prove(-30.0, after, (start, prior))
    with pytest.raises(Refused, match="the slopes are for priors from"):
        prove(-30.0, nextafter(after, -inf), (start, prior))
    prove(before, 0.5, (prior, Fraction(1, 2)))
    with pytest.raises(Refused, match="the slopes are for priors from"):
        prove(nextafter(before, inf), 0.5, (prior, Fraction(1, 2)))


def test_small_priors_need_a_kappa_that_is_as_large() -> None:
    """The product rule has f = 0.5 and g = 0.73 at the prior 0.27, a gap of 0.06 at most, and nearly 1 at small priors."""
    witness = {"kind": "slopes", "below": [(-1.0, Fraction(0)), (0.0, Fraction(0))]}
    check_upper(Phi(Fraction(1)), 2, (Fraction(3, 10), Fraction(1, 2)), witness, Fraction(1, 16), Budget())
    too_small = r"the slopes start at prior 0\.268941, and kappa is too small for the priors below"
    with pytest.raises(Refused, match=too_small):
        check_upper(Phi(Fraction(1)), 2, (Fraction(0), Fraction(1, 2)), witness, Fraction(1, 16), Budget())
    with precision():
        prior = sigma(arb(-1.0))
    for sign in (-1, 1):
        kappa = Fraction(float(prior)) + sign * Fraction(1, 10**15)
        witness = {"kind": "slopes", "below": [(-1.0, kappa), (0.0, kappa)]}
        with nullcontext() if sign > 0 else pytest.raises(Refused, match="kappa is too small for the priors below"):
            check_upper(Phi(Fraction(1)), 1, (Fraction(0), Fraction(1, 2)), witness, Fraction(1, 2), Budget())


def test_smaller_priors_inherit_the_slope_of_a_larger_one() -> None:
    """The lemma of `Square.serves_smaller_priors`, in floats: if the line holds at a prior with kappa >= prior, it holds at all smaller ones."""
    rng = np.random.default_rng(6)
    t = np.concatenate((np.linspace(-40, 40, 1601), [-300.0, 300.0]))
    g, inherited = 1 / (1 + np.exp(-t)), 0
    for _ in range(400):
        phi, n = _function(read(random_phi(rng))), int(rng.integers(1, 5))
        m, kappa, bound = -rng.uniform(1, 6), rng.uniform(0, 0.2), rng.uniform(0, 0.2)

        def worst(m: float, phi: Any = phi, n: int = n, kappa: float = kappa, bound: float = bound) -> float:
            f = 1 / (1 + np.exp(-np.clip(phi(t + (n - 1) * m), -700, 700)))
            return float(((f - g) ** 2 - bound - kappa * (g * (1 + np.exp(-m)) - 1)).max())

        if kappa >= 1 / (1 + np.exp(-m)) and worst(m) <= 0:
            inherited += 1
            assert max(worst(m - step) for step in rng.exponential(2, 20)) <= 1e-12
    assert inherited > 30


def constant(kappa: Fraction, bound: Fraction, left: Fraction | None = None, right: Fraction | None = None) -> None:
    """One agent and f = g: F = -bound - kappa (g/mu - 1), on the priors with logits from -1 to 0."""
    nodes = [(-1.0, kappa if left is None else left), (-0.5, kappa), (0.0, kappa if right is None else right)]
    witness = {"kind": "slopes", "below": nodes}
    check_upper(Phi(Fraction(1)), 1, (Fraction(3, 10), Fraction(1, 2)), witness, bound, Budget())


def test_the_tail_of_small_posteriors() -> None:
    """At g = 0 the inequality is kappa < bound; a bit more than that shows only for g/mu below 1e-16."""
    bound, bit = Fraction(1, 4), Fraction(1, 2**54)
    constant(bound - bit, bound)
    flat = [(kappa, ends) for kappa in (bound, bound + bit) for ends in ({}, {"left": bound / 2}, {"right": bound / 2})]
    for kappa, ends in (*flat, (bound / 2, {"left": bound + bit}), (bound / 2, {"right": bound + bit})):
        with pytest.raises(Refused, match="the inequality could not be shown near prior"):
            constant(kappa, bound, **ends)


def test_the_tail_of_large_posteriors() -> None:
    """At g = 1 it is -kappa < bound mu/(1 - mu), which is least at the first prior; a bit less shows for 1 - g below 1e-9 only."""
    bound, odds = Fraction(1, 4), Fraction(np.exp(-1))
    constant(-bound * odds * (1 - Fraction(1, 10**6)), bound)
    more = -bound * (1 + Fraction(1, 10**9))
    for kappa, ends in ((more * odds, {}), (Fraction(0), {"left": more * odds}), (Fraction(0), {"right": more})):
        with pytest.raises(Refused, match="the inequality could not be shown near prior"):
            constant(kappa, bound, **ends)


@pytest.mark.parametrize("seed", range(4))
def test_tails_are_never_claimed_where_the_inequality_fails(seed: int) -> None:
    """F in floats, on both ends of the priors and between, for all posteriors beyond."""
    rng = np.random.default_rng(seed)
    claimed = 0
    for _ in range(60):
        phi, n, bound = read(random_phi(rng)), int(rng.integers(1, 5)), float(rng.uniform(0.002, 0.05))
        left = float(rng.uniform(-4, -0.5))
        right, kappa = left + float(rng.uniform(0, 0.5)), float(rng.uniform(-0.1, 1) * bound)
        m = np.linspace(left, right, 9)[:, None]
        beyond = np.concatenate((np.linspace(0, 1, 60), np.linspace(1, 40, 60)))
        with precision():
            lines = Inequality(phi, n, arb(bound), lambda _, k=kappa: (arb(k), arb(0)))  # type: ignore[misc]
            for t in np.linspace(0.25, 12, 48):
                for sign in (-1, 1):
                    if lines.negative_beyond(hull(arb(left), arb(right)), float(sign * t), Budget()):
                        claimed += 1
                        at = sign * (t + beyond)[None, :]
                        g = 1 / (1 + np.exp(-at))
                        f = 1 / (1 + np.exp(-np.clip(_function(phi)(at + (n - 1) * m), -700, 700)))
                        assert ((f - g) ** 2 - bound - kappa * (g * (1 + np.exp(-m)) - 1)).max() <= 1e-15
    assert claimed > 500


def test_a_tail_may_open_beyond_where_it_begins() -> None:
    """A steep rule that is at half of g there, and next to 0 soon after: the gap grows from 0.13 to 0.22 before it falls."""
    with precision():
        for sign in (-1, 1):
            phi = Phi(Fraction(20), shift=Fraction(sign * 18138, 1000))
            for bound, holds in ((0.15**2, False), (0.28**2, True)):
                lines = Inequality(phi, 1, arb(bound), lambda _: (arb(0), arb(0)))
                assert lines.negative_beyond(arb(-1), float(sign), Budget()) == holds
                with pytest.raises(OverBudget):
                    lines.negative_beyond(arb(-1), float(sign), Budget(STEPS_OF_A_BOX - 1))


def test_no_work_is_left_out_when_the_budget_is_spent(log_odds: dict[str, Any]) -> None:
    spent = check(log_odds)
    assert check(log_odds, steps=spent) == spent
    assert spent > STEPS_OF_A_BOX * len(log_odds["witness"]["below"]["logits"])
    for less in (spent - 1, spent / 2, 100 * STEPS_OF_A_BOX, STEPS_OF_A_BOX, 1):
        with pytest.raises(OverBudget, match="this needs more than the budget of"):
            check(log_odds, steps=less)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logits": [-5.0, -6.0]}, r"w\.below must have at least two logits, in increasing order, and as many kappas"),
        ({"logits": [-5.0, -5.0]}, r"w\.below must have at least two logits, in increasing order"),
        ({"logits": [-5.0], "kappas": [0.01]}, r"w\.below must have at least two logits"),
        ({"kappas": [0.01]}, r"w\.below must have at least two logits, in increasing order, and as many kappas"),
        ({"logits": ["-1/3", 0.0]}, r"w\.below\.logits\[0\] must be a number; it is text"),
        ({"logits": [2**53 + 1, 0.0]}, r"w\.below\.logits\[0\] must be a double; it is 9007199254740993"),
        ({"logits": [float("nan"), 0.0]}, r"w\.below\.logits\[0\] must be a finite number"),
        ({"kappas": [0.01, True]}, r"w\.below\.kappas\[1\] must be a finite number"),
        ({"kappas": [0.01, "1/0"]}, r"w\.below\.kappas\[1\] has the denominator 0"),
        ({"note": "x" * 10**6}, r"w\.below has the field 'note', which is not checked"),
    ],
)
def test_malformed_slopes(change: dict[str, Any], message: str) -> None:
    side = {"logits": [-6.0, 0.0], "kappas": [0.01, "0"], **change}
    with pytest.raises(Refused, match=message) as refused:
        read_witness({"kind": "slopes", "below": side}, "w")
    assert len(str(refused.value)) < 200


def test_malformed_witnesses() -> None:
    for witness, message in (
        ({"kind": "trust me"}, "w.kind must be 'theorem' or 'slopes'; it is 'trust me'"),
        ({"kind": "theorem", "b": 0.1}, "w has the field 'b', which is not checked"),
        ({"kind": "slopes", "beside": {}}, "w has the field 'beside', which is not checked"),
        ("theorem", "w.kind must be 'theorem' or 'slopes'; it is None"),
    ):
        with pytest.raises(Refused, match=message):
            read_witness(witness, "w")
    assert read_witness({"kind": "theorem"}, "w") == {"kind": "theorem"}
    side = {"logits": [-6.0, 0.0], "kappas": [0.01, "1/3"]}
    read_back = read_witness(json.loads(json.dumps({"kind": "slopes", "above": side})), "w")
    assert read_back == {"kind": "slopes", "above": [(-6.0, Fraction(0.01)), (0.0, Fraction(1, 3))]}


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (None, "phi.form must be 'linear' or 'tanh' or 'saturating'; it is None"),
        ({"form": "cubic"}, "phi.form must be 'linear' or 'tanh' or 'saturating'; it is 'cubic'"),
        ({"form": ["linear"]}, "phi.form must be 'linear' or 'tanh' or 'saturating'; it is a list of 1"),
        ({"form": "linear", "alpha": 1.0}, "phi must have the field 'shift'"),
        ({**LINEAR, "k": 1.0}, "phi has the field 'k', which is not checked"),
        ({**LINEAR, "alpha": 0.0}, "phi must increase without bound"),
        ({**LINEAR, "alpha": -0.5}, "phi must increase without bound"),
        ({**TANH, "a": -0.1}, "phi must increase without bound"),
        ({**TANH, "b": -0.1}, "phi must increase without bound"),
        ({**TANH, "a": 0, "b": 0}, "phi must increase without bound"),
        ({**TANH, "k": 0}, "phi must increase without bound"),
        ({**TANH, "a": "x"}, "phi.a must be a finite number"),
        ({**TANH, "a": float("inf")}, "phi.a must be a finite number"),
        ({**TANH, "b": f"{10**20}/{10**20 + 1}"}, "a parameter of phi takes more than 40 characters to write down"),
        ({**LINEAR, "shift": f"1/{10**500 + 1}"}, "a parameter of phi takes more than 40 characters to write down"),
    ],
)
def test_malformed_rules(phi: Any, message: str) -> None:
    with pytest.raises(Refused, match=message) as refused:
        read_phi(phi, "phi")
    assert len(str(refused.value)) < 200


# --------------------------------------------------------------------------------------------------------- the formula


@pytest.mark.parametrize(
    ("phi", "rule"),
    [
        ({"form": "linear", "alpha": "1/3", "shift": 0}, "(1/3) s"),
        ({"form": "linear", "alpha": "2/6", "shift": 0.2}, "(1/3) s - 0.2"),
        ({"form": "linear", "alpha": 1, "shift": -0.4054651081081644}, "1.0 s + 0.4054651081081644"),
        ({"form": "linear", "alpha": 0.1, "shift": "-1/10"}, "0.1 s + (1/10)"),
        ({"form": "tanh", "a": 0.5, "b": 0.1, "k": 4.0}, "s (0.5 + 0.1 tanh(s/4.0)^2)"),
        ({"form": "tanh", "a": 0, "b": "1/3", "k": "10/3"}, "s (0.0 + (1/3) tanh(s/(10/3))^2)"),
        ({"form": "tanh", "a": 0.5, "b": 0, "k": 4.0}, "0.5 s"),
    ],
)
def test_the_formula_says_the_rule_exactly(phi: dict[str, Any], rule: str) -> None:
    formula = read(phi).formula
    assert formula == f"logit f = {rule}, where s is the sum of the log-odds of the reports"


@pytest.mark.parametrize("seed", range(3))
def test_the_formula_determines_the_rule(seed: int) -> None:
    """Read as Python reads it, decimals as doubles, it gives the same parameters."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        phi = read(random_phi(rng))
        text = phi.formula.removeprefix("logit f = ").partition(",")[0]
        names = {"s": 0.7, "tanh": np.tanh}
        python = text.replace(" s", " * s").replace("s (", "s * (").replace(" tanh", " * tanh").replace("^", "**")
        assert eval(python, names) == pytest.approx(_function(phi)(np.array(0.7)), rel=1e-15)


# -------------------------------------------------------------------------------------------------- the verifier's parts


def series_value(phi: Phi, n: int, bound: arb, kappa: arb, slope: arb, m: Any, t: Any) -> Any:
    """F by another way: tanh and the logistic function from exponentials, and kappa linear around m = -1."""

    def tanh(z: Any) -> Any:
        return ((2 * z).exp() - 1) / ((2 * z).exp() + 1)

    s = t + (n - 1) * m
    a, b, k, shift = (arb(x.numerator) / x.denominator for x in (phi.a, phi.b, phi.k, phi.shift))
    z = s * (a + b * tanh(s / k) * tanh(s / k)) - shift
    f, g, mu = z.exp() / (1 + z.exp()), t.exp() / (1 + t.exp()), m.exp() / (1 + m.exp())
    return (f - g) * (f - g) - bound - (kappa + slope * (m + 1)) * (g / mu - 1)


def test_value_and_gradient_enclose_the_exact_ones_on_tiny_boxes() -> None:
    """The exact ones from power series at 300 bits; the boxes are so small that a factor or a sign would show."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        phi, n = read(random_phi(rng)), int(rng.integers(1, 5))
        m, t = arb(float(rng.uniform(-3, 0))), arb(float(rng.uniform(-6, 6)))
        with precision(300):
            given = (phi, n, arb(0.02), arb(0.01), arb(0.003))
            by_m = series_value(*given, arb_series([m, 1], 2), arb_series([t, 0], 2))
            by_t = series_value(*given, arb_series([m, 0], 2), arb_series([t, 1], 2))
            exact = (by_m[0], by_m[1], by_t[1])
        with precision():
            lines = Inequality(phi, n, arb(0.02), lambda m: (arb(0.01) + arb(0.003) * (m + 1), arb(0.003)))
            tiny = arb(0, 1e-13)
            for box in ((m, t), (m + tiny, t + tiny)):
                for inside, wanted in zip((lines.value(*box), *lines.gradient(*box)), exact, strict=True):
                    assert inside.contains(wanted)
                    assert inside.rad() < 1e-10


def test_slopes_between_two_nodes_are_on_the_straight_line() -> None:
    with precision():
        kappa = _chord((-2.0, Fraction(1, 3)), (-0.5, Fraction(1, 12)))
        for m, wanted in ((-2.0, Fraction(1, 3)), (-1.25, Fraction(5, 24)), (-0.5, Fraction(1, 12))):
            height, slope = kappa(arb(m))
            assert height.contains(ball(wanted))
            assert slope.contains(ball(Fraction(-1, 6)))
            assert max(height.rad(), slope.rad()) < 1e-22


def test_boxes_prove_what_holds_and_only_that() -> None:
    def shows(constant: float, steps: float = 1e6) -> None:
        negative_on(
            ((-1.0, 1.0), (-1.0, 1.0)),
            lambda x, y: arb(constant) - x * x - y * y + x * y,
            lambda x, y: (y - 2 * x, x - 2 * y),
            lambda at: f"x = {at[0]:.3f}",
            Budget(steps),
        )

    shows(-1e-9)
    with pytest.raises(Refused, match=r"the inequality fails at x = 0.000, by 1e-09"):
        shows(1e-9)
    with pytest.raises(Refused, match="on a box as small as doubles are"):
        negative_on(((0.0, 1.0),), lambda x: x - 1, lambda _: (arb(1),), lambda at: f"x = {at[0]:.3f}", Budget())
    with pytest.raises(OverBudget, match=r"this needs more than the budget of 1,000 steps"):
        shows(-1e-9, steps=1000)


def test_boxes_see_a_peak_that_no_centre_hits() -> None:
    """A bump of width 1e-4 on an otherwise negative function, with its exact gradient."""

    def value(x: arb) -> arb:
        return 2 * (-(((x - arb("0.1234567")) * 10_000) ** 2)).exp() - 1

    def gradient(x: arb) -> tuple[arb]:
        z = (x - arb("0.1234567")) * 10_000
        return (-40_000 * z * (-z * z).exp(),)

    with precision(), pytest.raises(Refused, match=r"the inequality fails at x = 0\.12"):
        negative_on(((0.0, 1.0),), value, gradient, lambda at: f"x = {at[0]:.2f}", Budget())


def test_functions_of_balls_contain_the_values_at_their_points() -> None:
    rng = np.random.default_rng(2)
    with precision():
        for x in rng.uniform(-20, 20, 50):
            wide = hull(arb(x), arb(x + 0.5))
            for point in (arb(x), arb(x + 0.25), arb(x + 0.5)):
                assert wide.contains(point)
                assert sigma(wide).contains(1 / (1 + (-point).exp()))
                assert abs(logit(sigma(point)) - point) < 1e-12
        third = ball(Fraction(1, 3))
        assert (3 * third).contains(1)
        assert 0 < third.rad() < 1e-23
        assert ball(Fraction(0.1)).is_exact()


# ------------------------------------------------------------------------------------------------------------- forecasts


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_the_regret_on_one_structure(agents: int) -> None:
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
        exact = regret(read(phi), Fraction(mu), [(Fraction(x), Fraction(y)) for x, y in reports.tolist()])
        assert float(exact) == pytest.approx(mass @ (f - g) ** 2, abs=1e-12)
        assert float(exact.rad()) < 1e-18


def test_forecasts_contain_the_exact_ones() -> None:
    """The product rule is rational: f = x y / (x y + (1-x)(1-y))."""
    product_rule = Phi(Fraction(1))
    for x, y in (
        (Fraction(1, 3), Fraction(1, 7)),
        (Fraction(1, 10**40), Fraction(1, 2)),
        (1 - Fraction(1, 10**40), Fraction(1, 3)),
    ):
        f = product_rule.forecast((x, y))
        assert isinstance(f, arb)
        exact = x * y / (x * y + (1 - x) * (1 - y))
        with precision(300):
            assert f.contains(ball(exact))
        assert f.rad() < 1e-20


def test_forecasts_are_exact_where_a_report_is_certain() -> None:
    phi = read({"form": "linear", "alpha": "1/3", "shift": 5})
    assert phi.forecast((Fraction(0), Fraction(1, 2))) == Fraction(0)
    assert phi.forecast((Fraction(1, 2), Fraction(1))) == Fraction(1)
    assert isinstance(phi.forecast((Fraction(0), Fraction(1, 2))), Fraction)


def test_forecasts_are_at_the_precision_of_the_module() -> None:
    import flint

    before = flint.ctx.prec
    flint.ctx.prec = 20
    try:
        f = Phi(Fraction(1, 3), Fraction(1, 7), Fraction(3)).forecast((Fraction(1, 3), Fraction(1, 5)))
        assert flint.ctx.prec == 20
    finally:
        flint.ctx.prec = before
    assert isinstance(f, arb)
    assert f.rad() < 1e-22


# ------------------------------------------------------------------------------------------------------------ the rules


def with_defaults(name: str) -> Rule:
    return get_rule("bordley:prior=0.3" if name == "bordley" else name)


@pytest.mark.parametrize("name", [*RULES, "minimax:unanimous=0"])
@pytest.mark.parametrize("agents", [2, 3])
def test_phi_is_the_rule(name: str, agents: int) -> None:
    rule = with_defaults(name)
    phi = phi_of(rule, agents)
    if phi is None:
        of_log_odds = "robust minimax:unanimous=0 geometric-odds extremized-odds neyman-odds log-odds product bordley"
        assert name not in of_log_odds.split()
        assert (name, agents) != ("minimax", 2)
        return
    x = np.random.default_rng(0).random((200, agents))
    assert forecasts(phi)(x) == pytest.approx(rule(x), abs=1e-12)


def test_rules_of_another_kind_are_told_so() -> None:
    assert phi_of(get_rule("mean"), 2) is None
    for agents in range(3, 13):
        assert phi_of(get_rule("minimax"), agents) is None
    assert phi_of(get_rule("minimax:unanimous=0"), 4) is None


@pytest.mark.parametrize("agents", [1, 2, 4, 7])
def test_robust_is_written_without_rounding(agents: int) -> None:
    said = phi_of(get_rule("robust"), agents)
    assert said is not None
    phi = read(said)
    if agents == 1:
        assert phi == Phi(Fraction(1))
    else:
        assert (phi.a, phi.b, phi.k) == (Fraction(1, agents), Fraction(1, 5 * agents), Fraction(2 * agents))


def test_the_tube_holds_the_slopes_that_prove_the_bound() -> None:
    side = Side(read(TANH), 2, 0.0, 0.5)
    m = log(0.1 / 0.9)
    low, high = side.tube(m, 0.0226)
    t = np.linspace(-40, 40, 200_001)
    for kappa, holds in ((low - 1e-6, False), (low + 1e-6, True), (high - 1e-6, True), (high + 1e-6, False)):
        assert bool(np.all(side.gap(m, t) <= 0.0226 + kappa * side.lever(m, t))) == holds
