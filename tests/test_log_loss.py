"""Certificates under the log loss: KL(g || f) in balls, tails, small priors, forgeries, lower bounds and the rule minimax-log."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import robustpool as rp
from forging import referee_accepts, sign
from programs import run_python
from quick import slowly
from robustpool import referee
from robustpool.aggregators import pools
from robustpool.certificates.certifiable import can_be_certified, describe, rule_of
from robustpool.certificates.mixtures import mirrored_pair, mixture_on_record, value_bound
from robustpool.verification.balls import precision
from robustpool.verification.divergences import DIVERGENCES, SQUARE
from robustpool.verification.log_odds import Phi, read_phi

if TYPE_CHECKING:
    from pathlib import Path

LOG = DIVERGENCES["log"]
VALUE = 0.0486797492043434  # max over mu of (mu/g) KL(g || 1/2), g = 1 - mu
LOWER = {2: 0.0486797492, 3: 0.1027233430, 4: 0.1419634906, 5: 0.1704642630}
RULE = Phi(Fraction(1), k=Fraction(3.5055679254), c=Fraction(3, 2))
RULES = [
    RULE,
    Phi(Fraction(1, 3)),
    Phi(Fraction(1, 2), Fraction(0.35), Fraction(4)),
    Phi(Fraction(5, 4), shift=Fraction(1)),
]


def exact_kl(f: arb, g: arb) -> arb:
    """g log(g/f) + (1-g) log((1-g)/(1-f)), as it is defined, with 400 bits."""
    return g * (g / f).log() + (1 - g) * ((1 - g) / (1 - f)).log()


def logistic(x: Any) -> arb:
    return 1 / (1 + (-arb(x)).exp())


def family(agents: int, low: float = 0.0, high: float = 1.0) -> rp.ConditionallyIndependent:
    return rp.ConditionallyIndependent(agents, None, None, (low, high))


@cache
def made(
    rule: str = "minimax-log", agents: int = 2, priors: tuple[float, float] = (0.0, 1.0), tolerance: float = 1e-9
) -> str:
    return json.dumps(rp.certify(rule, family(agents, *priors), loss="log", tolerance=tolerance).data)


def certificate(*case: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(made(*case))
    return data


# ------------------------------------------------------------------------------------------------------------ enclosures


@pytest.mark.parametrize("seed", range(3))
def test_the_divergence_and_its_slopes_on_tiny_boxes(seed: int) -> None:
    """Against the definition of KL with 400 bits, and against its differences."""
    rng = np.random.default_rng(seed)
    for z, t in rng.normal(0, 6, (40, 2)).tolist():
        with precision():
            z_box, t_box = arb(z, 1e-9), arb(t, 1e-9)
            by_s, by_t = LOG.slopes(z_box, t_box, arb(2))
            value, point = LOG.value(z_box, t_box), LOG.value(arb(z), arb(t))
        with precision(400):
            step = arb(2) ** -120
            here, right = (exact_kl(logistic(arb(z) + d), logistic(t)) for d in (0, step))
            above = exact_kl(logistic(z), logistic(arb(t) + step))
            assert value.contains(here.mid())
            assert abs(point - here) < 1e-20
            along_z, along_t = (right - here) / step, (above - here) / step
            assert by_s.contains((2 * along_z).mid())
            assert by_t.contains((2 * along_z + along_t).mid())
            assert by_t.rad() < 1e-6


@pytest.mark.parametrize("phi", RULES)
@pytest.mark.parametrize("loss", [LOG, SQUARE])
def test_no_posterior_of_a_tail_is_above_its_bound(phi: Phi, loss: Any) -> None:
    with precision():
        for agents, m in ((2, -3.0), (2, 0.0), (4, -1.5), (9, -7.0)):
            for edge in (-64.0, -8.0, -2.0, 2.0, 8.0, 64.0):
                most = loss.beyond(phi, edge, (agents - 1) * arb(m)).upper()
                for more in (0.0, 0.1, 0.7, 3.0, 20.0, 200.0):
                    t = arb(edge + math.copysign(more, edge))
                    assert loss.value(phi(t + (agents - 1) * arb(m)), t).lower() <= most
        assert not LOG.beyond(RULE, 0.5, arb(0)).is_finite()  # where x exp(-x) still rises


@pytest.mark.parametrize("phi", RULES)
@pytest.mark.parametrize("agents", [1, 2, 5])
def test_the_first_slope_serves_smaller_priors(phi: Phi, agents: int) -> None:
    """Where the argument says so, D <= bound + kappa (g/nu - 1) at smaller priors nu, if it holds at the first."""
    served = 0
    for m in (-2.0, -4.0, -6.0, -9.0):
        for kappa in (0.002, 0.02, 0.04, 0.049, 0.3):
            with precision():
                bound = arb(0.05) if kappa < 0.05 else arb(0.301)
                if not LOG.serves_smaller_priors(phi, agents, arb(m), arb(kappa), bound):
                    continue
                served += 1
                for nu in (m, m - 0.3, m - 2, m - 10, m - 60):
                    for t in (-200, -60, -20, -9, -5, -2, -1, 0, 1, 3, 6, 10, 30, 100):
                        z = phi(arb(t) + (agents - 1) * arb(nu))
                        if z < t:  # f' < g, where nothing is inherited
                            line = bound + arb(kappa) * (logistic(t) * (1 + (-arb(nu)).exp()) - 1)
                            assert LOG.value(z, arb(t)) <= line
    assert served


def test_what_does_not_serve_smaller_priors() -> None:
    """Each of the conditions is needed by the argument."""
    with precision():
        assert LOG.serves_smaller_priors(RULE, 2, arb(-5), arb(0.04), arb(0.05))
        assert not LOG.serves_smaller_priors(RULE, 2, arb(-3), arb(0.06), arb(0.07))  # P < 0
        assert not LOG.serves_smaller_priors(RULE, 2, arb(-5), arb(0.0001), arb(0.05))
        assert not LOG.serves_smaller_priors(RULE, 2, arb(0.5), arb(9), arb(9.1))  # not below 1/2
        assert not LOG.serves_smaller_priors(RULE, 100, arb(-0.5), arb(30), arb(31))  # kappa < (n-1) exp(m)
        steep = Phi(Fraction(5, 2))
        assert LOG.serves_smaller_priors(steep, 2, arb(-7), arb(0.1), arb(0.1001))
        assert not LOG.serves_smaller_priors(steep, 2, arb(-7), arb(0.1), arb(0.1))


def test_the_referee_agrees_on_smaller_priors() -> None:
    """Its own lines for the same lemma, on many numbers."""
    rng, answers = np.random.default_rng(5), []
    with precision():
        for m, share, slack, agents, which in zip(
            rng.uniform(-9, 0.5, 400),
            rng.random(400),
            rng.random(400),
            rng.integers(1, 30, 400),
            range(400),
            strict=True,
        ):
            phi, kappa = RULES[which % 4], arb(10 * share**3)
            given = (int(agents), arb(m), kappa, kappa + arb(0.01 * slack))
            numbers = [fmpq(x.numerator, x.denominator) for x in (phi.a, phi.b, phi.k, phi.shift, phi.c)]
            answers.append(LOG.serves_smaller_priors(phi, *given))
            assert referee.smaller((*numbers,), *given) == answers[-1]
    assert 50 < sum(answers) < 350


def test_the_saturating_form_increases() -> None:
    assert RULE.formula.startswith("logit f = 1.0 s - 1.5 tanh(s/3.5055679254), where s")
    with precision():
        for s in (-30.0, -2.0, -0.1, 0.0, 0.3, 5.0):
            exact = arb(s) - arb(1.5) * (arb(s) / arb(3.5055679254)).tanh()
            assert abs(RULE(arb(s)) - exact) < 1e-20
            step = arb(2) ** -30
            assert abs((RULE(arb(s) + step) - RULE(arb(s))) / step - RULE.slope(arb(s))) < 1e-8
            assert RULE.slope(arb(s)) >= 0.57
    for c in (-0.1, 4.0):
        with pytest.raises(Exception, match="phi must increase: 0 <= c <= a k"):
            read_phi({"form": "saturating", "c": c, "k": 3.5}, "phi")


# ----------------------------------------------------------------------------------------------------------- two agents


def test_two_agents_are_settled_to_nine_digits(tmp_path: Path) -> None:
    data = certificate()
    verdict: Any = rp.verify(data)
    assert verdict.verified, verdict.sentence
    assert verdict.upper <= 0.0486798
    assert min(verdict.lower, verdict.value) >= 0.0486797
    assert verdict.upper - verdict.value < 1e-9
    assert VALUE - 1e-15 < verdict.value <= VALUE
    assert all(claim.startswith("Log loss, two states") and "public evidence" in claim for claim in verdict.claims)
    path = tmp_path / "two.json"
    path.write_text(json.dumps(data))
    assert referee_accepts(path)


def test_the_search_finds_what_is_proved() -> None:
    found = rp.worst_case("minimax-log", loss="log").regret
    assert certificate()["upper"]["bound"] - 2e-9 < found <= certificate()["upper"]["bound"]


def test_the_game_on_a_grid_has_no_larger_value() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 10, 20), loss="log", tolerance=1e-4)
    assert 0.04 < solution.lower <= certificate()["upper"]["bound"]


def test_the_lower_bound_is_the_formula() -> None:
    """max over mu of (mu/g) KL(g || 1/2), logit g = (n-1) logit(1 - mu), on a fine grid; for more agents as well."""
    mu = np.linspace(0.1, 0.45, 350_001)
    for agents, bound in LOWER.items():
        g = 1 / (1 + (mu / (1 - mu)) ** (agents - 1))
        grid = (mu / g * (np.log(2) + g * np.log(g) + (1 - g) * np.log1p(-g))).max()
        exact = float(value_bound(mirrored_pair(agents, loss="log") or [], agents, loss="log"))
        assert grid <= exact + 1e-12
        assert exact == pytest.approx(grid, abs=1e-10)
        assert math.floor(exact * 1e10) / 1e10 == bound


def test_the_mixture_on_record_for_six_is_compared() -> None:
    """It was found for the square loss; under the log loss whichever of the two mixtures says more is taken."""
    record = mixture_on_record(6)
    assert record is not None
    bounds = [float(value_bound(mixture, 6, loss="log")) for mixture in (record, mirrored_pair(6, loss="log") or [])]
    data = rp.certify("geometric-odds", family(6), loss="log", tolerance=1e-2).data
    assert data["value"]["bound"] == pytest.approx(max(bounds), abs=1e-15)
    assert max(bounds) >= 0.1918


# ------------------------------------------------------------------------------------------------------------- forgeries


def refused(data: dict[str, Any], tmp_path: Path) -> str:
    """Why the verifier refuses a certificate that is signed again; the referee refuses it too."""
    signed = sign(data)
    (tmp_path / "forged.json").write_text(json.dumps(signed))
    assert not referee_accepts(tmp_path / "forged.json")
    verdict = rp.verify(signed)
    assert not verdict.verified
    return verdict.sentence


@pytest.mark.parametrize(
    ("name", "why"), [("upper", "the inequality"), ("lower", "lower.bound is"), ("value", "value.bound is")]
)
def test_an_ulp_beyond_the_truth_is_refused(name: str, why: str, tmp_path: Path) -> None:
    data = certificate()
    data[name]["bound"] = math.nextafter(*((VALUE, 0) if name == "upper" else (data[name]["bound"], 1)))
    assert why in refused(data, tmp_path)


def test_another_loss_is_refused(tmp_path: Path) -> None:
    data = certificate()
    data["loss"] = "square"  # the upper bound would be true, the lower ones are not
    assert "bound is" in refused(data, tmp_path)
    data = rp.certify("minimax-log", family(2, 0.1, 0.2), tolerance=1e-6).data
    data = {**data, "loss": "log"}
    assert "the inequality" in refused(data, tmp_path)
    data = {**json.loads(json.dumps(rp.certify("minimax").data)), "loss": "log"}
    assert refused(data, tmp_path) == "the theorem is about the square loss only."


@pytest.mark.parametrize("factor", [slowly(0.99), 1.01])
def test_another_slope_is_refused(factor: float, tmp_path: Path) -> None:
    """alpha = 1 - c/k is forced by the lower bound: a little more or less, and the bound does not hold.

    The worst case grows with the square of the change, as Phi(0) = 0 at the contact whatever alpha is.
    """
    data = certificate()
    data["aggregator"]["phi"]["k"] *= factor
    del data["value"]
    data["lower"]["bound"] = 0.04
    assert "the inequality" in refused(data, tmp_path)


def test_slopes_that_start_too_late_are_refused(tmp_path: Path) -> None:
    data = certificate()
    nodes = data["upper"]["witness"]["below"]
    keep = next(i for i, m in enumerate(nodes["logits"]) if m > -4)
    data["upper"]["witness"]["below"] = {key: values[keep:] for key, values in nodes.items()}
    assert "kappa is too small for the priors below" in refused(data, tmp_path)


def test_what_is_for_the_square_loss_only(tmp_path: Path) -> None:
    data = certificate()
    data["unanimous"] = data["value"]
    assert "the loss of a bound for unanimous aggregators must be 'square'" in refused(data, tmp_path)
    mean: dict[str, Any] = rp.certify("mean", family(2, 0.3, 0.31), tolerance=1e-2).data
    sentence = rp.verify(sign({**mean, "loss": "log"})).sentence
    assert "no function of the summed log-odds must be 'square'; it is 'log'" in sentence or "lower.bound" in sentence


# ----------------------------------------------------------------------------------------------------- other rules, more agents

SEARCHED = (
    "geometric-odds",
    "minimax:b=0.35",
)  # of the others f rounds to 1 in doubles, where the log loss is infinite
CASES: list[Any] = [
    ("geometric-odds", 2, (0.0, 1.0)),
    pytest.param(("minimax:b=0.35", 2, (0.0, 1.0)), marks=pytest.mark.slow),
    ("extremized-odds", 2, (0.0, 1.0)),
    ("bordley:prior=0.4", 2, (0.2, 0.7)),
    pytest.param(("product", 3, (0.0, 1.0)), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("case", CASES)
def test_functions_of_the_sum_are_proved(case: tuple[str, int, tuple[float, float]], tmp_path: Path) -> None:
    data = certificate(*case, 1e-4)
    verdict: Any = rp.verify(data)
    assert verdict.verified, verdict.sentence
    assert verdict.upper <= verdict.lower + 2e-4
    if case[0] in SEARCHED:
        found = rp.worst_case(case[0], family(case[1], *case[2]), loss="log").regret
        assert verdict.lower - 1e-9 <= found <= verdict.upper
    (tmp_path / "certificate.json").write_text(json.dumps(data))
    assert referee_accepts(tmp_path / "certificate.json")


SUMMED = {3: 0.1043437, 4: 0.1569628, 5: 0.2001583, 6: 0.2365555}


@pytest.mark.slow
@pytest.mark.parametrize("agents", [3, 4, 5, 6])
def test_functions_of_the_sum_for_more_agents(agents: int, tmp_path: Path) -> None:
    data = certificate("minimax-log:summed=1", agents, (0.0, 1.0), 1e-8)
    assert rp.verify(data).verified
    assert data["upper"]["bound"] <= SUMMED[agents]
    assert data["value"]["bound"] >= LOWER.get(agents, 0.1918)
    (tmp_path / "certificate.json").write_text(json.dumps(data))
    assert referee_accepts(tmp_path / "certificate.json")


def test_other_rules_have_lower_bounds_only() -> None:
    proof = rp.certify("mean", family(3), loss="log")
    assert proof.upper is None
    assert rp.verify(proof).verified
    assert proof.lower == pytest.approx(math.log(1.5), abs=1e-6)  # one knows the state, the others pull to 2/3
    assert proof.arithmetic == "ball arithmetic (Arb)"


@pytest.mark.slow
@pytest.mark.parametrize(("agents", "most"), [(3, 0.102729), (4, 0.142915)])
def test_what_the_search_finds_for_more_agents(agents: int, most: float) -> None:
    assert LOWER[agents] <= rp.worst_case("minimax-log", family(agents), loss="log").regret <= most


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(rp.InputError, match="certificates are for the losses square and log; the loss is 'convex'"):
        rp.certify("minimax", loss="convex")
    finite = rp.FiniteFamily.from_joints([[[0.5, 0.0], [0.25, 0.25]]])
    with pytest.raises(
        rp.UnsupportedError, match="a finite family is certified for the loss 'square' only; it is 'log'"
    ):
        rp.certify("mean", finite, loss="log")
    design = str(tmp_path / "design.json")
    rp.save_design(rp.solve(rp.ConditionallyIndependent(2, 4, 8), tolerance=1e-2), design)
    with pytest.raises(rp.UnsupportedError, match="a design is certified for the loss 'square' only; it is 'log'"):
        rp.certify(design, loss="log")


def test_the_command(tmp_path: Path) -> None:
    priors = ("--prior-range", "0.3", "0.35", "--tolerance", "1e-3")
    run = run_python("-m", "robustpool", "certify", "minimax-log", "--loss", "log", *priors, "--json", cwd=tmp_path)
    data = json.loads(run.stdout)
    assert data["output"] == "CERT-minimax-log-0.3-to-0.35-log-loss.json"
    assert data["loss"] == "log"
    assert rp.verify(tmp_path / data["output"]).verified


# --------------------------------------------------------------------------------------------------------------- the rule


@pytest.mark.parametrize("name", ["minimax-log", "minimax-log:summed=1"])
@pytest.mark.parametrize("agents", [1, 2, 3, 4, 5, 6, 9, 30])
def test_the_rule_rises_and_is_mirrored_and_symmetric(name: str, agents: int) -> None:
    rule, rng = rp.get_rule(name), np.random.default_rng(agents)
    x = rng.random((200, agents))
    more = np.clip(x + 1e-3 * (np.arange(agents) == 0), 0, 1)
    assert (rule(more) > rule(x)).all()
    assert rule(1 - x) == pytest.approx(1 - rule(x), abs=1e-12)
    assert rule(x[:, ::-1]) == pytest.approx(rule(x), abs=1e-12)
    certain = np.concatenate((np.zeros((1, 1)), np.full((1, agents - 1), 0.9)), axis=1)
    assert rule(certain) == [0.0]
    assert rule(1 - certain) == [1.0]
    near = np.full((1, agents), 1 - 1e-16)
    assert 0.99 < rule(near)[0] < 1  # else the log loss could be infinite


def test_two_agents_follow_the_formula() -> None:
    s = math.log(0.9 / 0.1) + math.log(0.6 / 0.4)
    z = s - 1.5 * math.tanh(s / 3.5055679254)
    assert rp.get_rule("minimax-log")([[0.9, 0.6]])[0] == pytest.approx(1 / (1 + math.exp(-z)), abs=1e-15)
    g = 0.821375948691  # the posterior of the extremal structure, which forces the slope at s = 0
    alpha = -(1 - g) * math.log(2 * (1 - g)) / (g - 0.5)
    c, k = pools.SATURATING[2]
    assert 1 - c / k == pytest.approx(alpha, abs=1e-10)


def test_precision_is_restored() -> None:
    before = ctx.prec
    value_bound(mirrored_pair(2, loss="log") or [], 2, loss="log")
    assert ctx.prec == before


def test_with_six_agents_or_more_the_rule_is_a_mean_of_stretched_log_odds_and_has_proved_lower_bounds() -> None:
    """Its formula for the verifier is the rule that people use, and the certificate has no upper bound."""
    rule, reports = rp.get_rule("minimax-log"), (0.02, 0.3, 0.5, 0.6, 0.7, 0.96, 0.4)
    for n in (6, 7):
        about = describe(rule, n)
        assert about["kind"] == "stretched-log-odds"
        exact = rule_of(about, n).forecast(tuple(map(Fraction, reports[:n])))
        assert float(rule([reports[:n]])[0]) == pytest.approx(float(exact), rel=1e-12)
        assert not can_be_certified(rule, n, "log")
    assert [describe(rule, n)["kind"] for n in (1, 2)] == ["log-odds", "log-odds"]


@pytest.mark.slow
def test_the_lower_bounds_for_six_agents_are_verified() -> None:
    certificate = rp.certify("minimax-log", family(6), loss="log")
    assert certificate.upper is None
    assert certificate.value is not None
    assert 0.2066 < certificate.lower < 0.2067
    assert rp.verify(certificate.data).verified
