"""Agents who neglect the base rate: against plain loops, the ordinary setting and the two-dimensional check."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.certificates.log_odds import Side
from robustpool.cli.worlds import WorldOptions
from robustpool.families.neglect import Neglect, mirrored_pair, neglected, recovered
from robustpool.losses import get_loss
from robustpool.verification.claims import claims
from robustpool.verification.divergences import DIVERGENCES
from robustpool.verification.log_odds import Phi, check_upper, read_phi, read_witness
from robustpool.verification.reading import Budget, Refused
from robustpool.verification.verify import content_hash

V = (5 * 5**0.5 - 11) / 8


def known(power: float, agents: int = 2, **others: Any) -> Neglect:
    return Neglect(agents, None, None, neglect=(power, power), **others)


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def test_what_they_say_has_the_evidence_and_a_part_of_the_prior() -> None:
    rng = np.random.default_rng(0)
    x, mu, power = rng.random((3, 50))
    for said, own, prior, part in zip(neglected(x, mu, power), x, mu, power, strict=True):
        assert logit(said) == pytest.approx(logit(own) - logit(prior) + part * logit(prior), abs=1e-9)
    np.testing.assert_allclose(recovered(neglected(x, mu, power), mu, power), x, rtol=1e-9)
    np.testing.assert_array_equal(neglected(np.array([0.0, 1.0]), np.array([0.2, 0.2]), np.array([0.5, 0.5])), [0, 1])


def by_hand(rule: Any, mu: float, power: float, pairs: Any) -> float:
    """The regret of a rule for two agents whose reports are these pairs, by likelihoods and plain loops."""
    likelihoods = []
    for pair in pairs:
        ratio = [np.exp(logit(y) - power * logit(mu)) if 0 < y < 1 else (0.0 if y == 0 else np.inf) for y in pair]
        # Pr[high | 1] = ratio_high Pr[high | 0] and both sum to 1 over the signals
        low, high = ratio
        if low == high:
            likelihoods.append([[1.0, 0.0], [1.0, 0.0]])
            continue
        if high == np.inf:
            given = [1.0, 0.0]
        else:
            share = (1 - low) / (high - low)
            given = [1 - share, share]
        one = [low * given[0], 1 - low * given[0]]
        likelihoods.append([given, one])
    regret = 0.0
    for i, j in product((0, 1), repeat=2):
        mass = [
            chance * likelihoods[0][state][i] * likelihoods[1][state][j] for state, chance in enumerate((1 - mu, mu))
        ]
        if sum(mass) > 0:
            g = mass[1] / sum(mass)
            regret += sum(mass) * (rule(pairs[0][i], pairs[1][j]) - g) ** 2
    return regret


def test_nature_finds_the_worst_of_all_structures_written_out() -> None:
    family = Neglect(2, 4, 8, neglect=(0.4, 0.8))
    nature = family.nature(get_loss("square"), "additive", [], "grid")
    rng = np.random.default_rng(1)
    table = nature.tables.feasible(rng.random((nature.tables.cells, 1)) @ [[-1.0, 1.0]] + [[1.0, 0.0]])
    forecasts = nature.aggregator(table).values
    best = 0.0
    for mu, power in product(np.arange(1, 8) / 8, np.linspace(0.4, 0.8, 5)):
        middle = 1 / (1 + np.exp(-power * logit(mu)))
        low, high = [y for y in range(5) if y / 4 <= middle], [y for y in range(5) if y / 4 >= middle]
        pairs = [(a / 4, b / 4) for a in low for b in high]
        for one, other in product(pairs, repeat=2):
            value = by_hand(lambda a, b: forecasts[round(4 * a), round(4 * b)], mu, power, (one, other))
            best = max(best, value)
    certain = forecasts[0, 0] ** 2
    assert nature.answer(table).value == pytest.approx(max(best, certain), abs=1e-12)


def test_a_cut_has_the_payoff_that_the_answer_says() -> None:
    family = Neglect(2, 6, 12, neglect=(0.3, 0.9))
    nature = family.nature(get_loss("square"), "additive", [], "grid")
    table = nature.first_table()
    value, labels = nature.answer(table)
    assert nature.cuts(labels).payoffs(nature.tables.loss.table(table)).max() == pytest.approx(value, abs=1e-12)


def test_at_one_half_the_sum_of_log_odds_has_no_regret() -> None:
    assert rp.worst_case("product", known(0.5)).regret < 1e-15
    assert known(0.5).lower() == 0.0
    solution = rp.solve(Neglect(2, 10, 40, neglect=(0.5, 0.5)))
    assert solution.upper < 1e-6


def test_without_neglect_it_is_the_ordinary_setting() -> None:
    ordinary = rp.ConditionallyIndependent(2, None, None)
    for rule in ("product", "average-prior"):
        assert rp.worst_case(rule, known(1.0)).regret == pytest.approx(rp.worst_case(rule, ordinary).regret, abs=1e-9)
    upper = rp.solve(Neglect(2, 8, 40, neglect=(1.0, 1.0))).upper
    assert upper == pytest.approx(rp.solve(rp.ConditionallyIndependent(2, 8, 40)).upper, abs=1e-6)
    assert known(1.0).lower() == pytest.approx(V, abs=1e-12)


def test_three_agents_on_a_grid_without_neglect() -> None:
    upper = rp.solve(Neglect(3, 4, 12, neglect=(1.0, 1.0))).upper
    assert upper == pytest.approx(rp.solve(rp.ConditionallyIndependent(3, 4, 12)).upper, abs=1e-6)


@pytest.mark.parametrize("power", [0.2, 0.75, 0.9])
def test_the_rule_attains_the_lower_bound(power: float) -> None:
    family = known(power)
    found: Any = rp.worst_case(family.rule(), family)
    assert found.regret == pytest.approx(family.lower(), abs=1e-8)
    assert found.structure.as_data()["neglect"] == pytest.approx(power)


@pytest.mark.parametrize(("agents", "power"), [(2, 0.75), (3, 0.1)])
def test_functions_of_the_sum_have_the_regret_of_n_lambda_agents(agents: int, power: float) -> None:
    side: Any = Side(Phi(Fraction(1)), 2, 0.0, 0.5)
    k = agents * power - 1
    pair = mirrored_pair(k)
    side.n1, side.phi = k, lambda s: s - 1.3 * k * np.tanh((1 - pair.slope) * s / (1.3 * k))
    assert side.supremum()[0] == pytest.approx(pair.bound, abs=1e-8)


def test_the_mirrored_pair_has_its_bound_by_hand() -> None:
    pair = mirrored_pair(2 * 0.75 - 1)
    mu = 1 / (1 + np.exp(-pair.logit_prior))

    def halfway(*reports: float) -> float:
        return 0.0 if 0.0 in reports else 0.5

    assert by_hand(halfway, mu, 0.75, ((0.0, 0.5), (0.0, 0.5))) == pytest.approx(pair.bound, abs=1e-12)
    nearby = [by_hand(halfway, mu + step, 0.75, ((0.0, 0.5), (0.0, 0.5))) for step in (-0.01, 0.01)]
    assert max(nearby) < pair.bound


def test_an_unknown_power_from_one_half_on_costs_nothing() -> None:
    found: Any = rp.worst_case("minimax", Neglect(2, None, None))
    assert found.regret == pytest.approx(V, abs=1e-9)
    assert found.structure.as_data()["neglect"] == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("agents", [3, 4])
def test_three_and_four_agents(agents: int) -> None:
    alone = known(1 / agents, agents)
    assert rp.worst_case("product", alone).regret < 1e-12
    as_two = known(2 / agents, agents)
    assert as_two.lower() == pytest.approx(V, abs=1e-12)
    assert rp.worst_case(as_two.rule(), as_two).regret == pytest.approx(V, abs=1e-8)


@pytest.fixture(scope="module")
def proof() -> rp.Certificate:
    family = known(0.75)
    return rp.certify(f"log-odds:alpha={family.slope()!r}", family, tolerance=1e-7)


def changed(data: Any, **parts: Any) -> dict[str, Any]:
    """A certificate with other parts, and with the claims and the hash that would belong to them."""
    new = {**data, **parts}
    new["claims"] = claims(new, read_phi(new["aggregator"]["phi"], "phi").formula)
    return {**new, "hash": content_hash(new)}


def test_the_linear_rule_is_proved_to_attain_the_lower_bound(proof: rp.Certificate) -> None:
    assert proof.upper is not None
    assert proof.value is not None
    assert proof.upper - 1e-7 <= proof.value <= known(0.75).lower() + 1e-15
    assert proof.lower <= proof.upper
    verdict = rp.verify(proof)
    assert verdict.verified, verdict.sentence
    assert "prior odds to the power 0.75, and any prior: the worst-case regret" in verdict.claims[0]


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("upper", {"bound": 0.00888}, "the inequality (fails at|could not be shown near) prior"),
        ("lower", {"bound": 0.00889}, "lower.bound is 0.00889, but on its structure the aggregator has"),
        ("value", {"bound": 0.00889}, "value.bound is 0.00889, but against its two structures some aggregator has"),
        ("value", {"prior": 0.5}, "value.prior must lie between 0 and 1/2; it is 0.5"),
        ("lower", {"posteriors": [0.5, 0.4]}, "with the prior strictly between them"),
        ("family", {"neglect": 0.4}, "agents times lambda from 1 on; it is 0.8"),
        ("family", {"neglect": 0.8}, "lower.bound is|the inequality fails"),
        ("family", {"neglect": 1.5}, r"family.neglect must lie in \[0, 1\]; it is 1.5"),
        ("family", {"agents": 0}, "family.agents must be a whole number from 1 to"),
        ("family", {"prior_range": [0.0, 0.5]}, "base-rate neglect is checked for all priors"),
    ],
)
def test_forged_claims_are_refused(proof: rp.Certificate, name: str, change: dict[str, Any], sentence: str) -> None:
    bounds = {part: {**proof.data[part], "bound": 0.0} for part in ("lower", "value") if name == "family"}
    forged = changed(proof.data, **bounds | {name: {**proof.data[name], **change}})
    verdict = rp.verify(forged)
    assert not verdict.verified
    assert re.search(sentence, verdict.sentence), verdict.sentence


def test_other_claims_are_not_made(proof: rp.Certificate) -> None:
    for part, sentence in (({"loss": "log"}, "the loss of agents who neglect"), ({"unanimous": {}}, "unanimous")):
        verdict = rp.verify({**proof.data, **part, "hash": content_hash({**proof.data, **part})})
        assert not verdict.verified
        assert sentence in verdict.sentence


def test_a_fraction_of_an_agent_is_for_the_square_loss(proof: rp.Certificate) -> None:
    phi, witness = (proof.data["aggregator"]["phi"], proof.data["upper"]["witness"])
    given = (read_phi(phi, "phi"), Fraction(3, 2), (Fraction(0), Fraction(1)), read_witness(witness, "witness"))
    with pytest.raises(Refused, match="a fraction of an agent is for the square loss only"):
        check_upper(*given, Fraction(1), Budget(), DIVERGENCES["log"])


def test_what_cannot_be_certified() -> None:
    for rule, family in (("mean", known(0.75)), ("product", Neglect(2, None, None)), ("product", known(0.4))):
        with unsupported_error("bounds are proved for functions of the summed log-odds, one lambda, n lambda from 1"):
            rp.certify(rule, family)
    design = rp.solve(Neglect(2, 4, 10, neglect=(0.75, 0.75))).design
    with unsupported_error("bounds are proved for functions of the summed log-odds"):
        rp.certify(design)
    with unsupported_error("base-rate neglect is certified for the loss 'square' only; it is 'log'"):
        rp.certify("product", known(0.75), loss="log")


def test_the_lower_bound_of_a_rule_is_that_of_the_search() -> None:
    certificate = rp.certify("product", known(0.75), tolerance=1e-4)
    assert certificate.lower == pytest.approx(rp.worst_case("product", known(0.75)).regret, abs=1e-9)
    nothing = rp.certify("product", known(0.5), tolerance=1e-4)
    assert rp.verify(nothing).verified
    assert nothing.lower == 0.0


def test_what_is_refused() -> None:
    with input_error("neglect must be a finite number, at least 0 and at most 1; it is 1.5"):
        Neglect(neglect=(0.5, 1.5))
    with input_error(r"the rule is for one lambda; neglect is \(0.5, 1.0\)"):
        Neglect().rule()
    with input_error(r"the lower bound is for all priors; prior_range is \(0.1, 0.5\)"):
        known(0.5, prior_range=(0.1, 0.5)).lower()
    with unsupported_error("needs a number of reports and of priors, the square or the log loss"):
        rp.solve(Neglect(2, 10, None))
    with unsupported_error("base-rate neglect is searched for at most 6 agents; there are 7"):
        rp.worst_case("mean", known(0.5, 7))


def test_a_design_is_saved_and_read_and_the_command_line_knows_the_option(tmp_path: Any) -> None:
    solution = rp.solve(Neglect(2, 8, 40, neglect=(0.75, 0.75)))
    rp.save_design(solution, str(tmp_path / "design.json"))
    design = rp.load_design(str(tmp_path / "design.json"))
    assert design.family == Neglect(2, 8, 40, neglect=(0.75, 0.75))
    assert 0.008 < design.upper < 0.0089
    assert "to the power 0.75" in solution.mixture.heaviest(1)[0][0]
    family = WorldOptions(world="neglect", neglect=(0.6, 0.7)).of("mean")
    assert family == Neglect(2, None, None, neglect=(0.6, 0.7))
    with input_error("--neglect is not an option of the world independent; it belongs to neglect"):
        WorldOptions(neglect=(0.5, 1.0)).of("mean")


def test_a_design_takes_the_options_of_its_own_world(tmp_path: Any) -> None:
    path = str(tmp_path / "design.json")
    rp.save_design(rp.solve(Neglect(2, 4, 8, neglect=(0.75, 0.75)), tolerance=1e-3), path)
    assert WorldOptions(neglect=(0.3, 0.5)).of(path) == Neglect(2, None, None, neglect=(0.3, 0.5))
    assert WorldOptions(prior_range=(0.1, 0.5)).of(path) == known(0.75, prior_range=(0.1, 0.5))
    assert WorldOptions(world="independent").of(path) == rp.ConditionallyIndependent(2, None, None)
    with input_error("^--fraction is not an option of the world neglect; it belongs to contaminated"):
        WorldOptions(fraction=0.1).of(path)
    with input_error("^--neglect is not an option of the world independent; it belongs to neglect"):
        WorldOptions(world="independent", neglect=(0.3, 0.5)).of(path)


def test_a_third_that_is_rounded_down_is_less_than_one_agent() -> None:
    with unsupported_error("n lambda from 1 on"):
        rp.certify("product", rp.Neglect(3, None, None, neglect=(1 / 3, 1 / 3)))
    with pytest.raises(Refused, match=r"at least one agent; about 5\.55.*e-17 of one is missing"):
        check_upper(
            Phi(Fraction(1)), 3 * Fraction(1 / 3), (Fraction(0), Fraction(1)), {"kind": "slopes"}, Fraction(1), Budget()
        )
