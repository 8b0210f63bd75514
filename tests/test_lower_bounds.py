"""Lower bounds for many agents: counted agents, unanimous aggregators, mixtures on record, certificates without an upper bound."""

from __future__ import annotations

import copy
import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustpool as rp
from forging import referee_accepts, sign
from programs import run_robustpool
from quick import one_of, only
from robustpool.certificates.mixtures import (
    LOWER_BOUNDS,
    lower_claim,
    mixture_on_record,
    outward,
    structures_of,
    unanimity_structure,
    unanimous_bound,
    value_bound,
)
from robustpool.families.few_types import Types, regrets_of_types
from robustpool.families.worst_case import continuous_regrets
from robustpool.losses.square import Square
from robustpool.verification.log_odds import read_phi
from robustpool.verification.mean_and_median import Mean, Median
from robustpool.verification.mixtures import expected_regret
from robustpool.verification.reading import Budget, Refused
from robustpool.views import results

if TYPE_CHECKING:
    from pathlib import Path

Mixture = list[dict[str, Any]]
HALF = Fraction(1, 2)
UNANIMITY = {3: 0.0451224, 4: 0.0610320, 5: 0.0725337, 6: 0.0812004}
KNOWN = {6: 0.0782795, 7: 0.0857951, 8: 0.0926168, 9: 0.0978090, 10: 0.1031570, 20: 0.1345}
"""Shared THEORY-2.md, sections 1 and 2: what an earlier search found."""


# -------------------------------------------------------------------------------------------------- the definition, slowly


def written_out(mixture: Mixture) -> list[tuple[Fraction, Fraction, tuple[Any, ...]]]:
    """Every entry with its agents in every order, in equal parts."""
    structures = []
    for entry in mixture:
        pairs = [tuple(map(Fraction, pair)) for pair in entry["reports"]]
        pairs = [pair for pair, count in zip(pairs, entry["agents"], strict=True) for _ in range(count)]
        orders = sorted(set(permutations(pairs)))
        weight = Fraction(entry["weight"]) / len(orders)
        structures += [(weight, Fraction(entry["prior"]), order) for order in orders]
    return structures


def least(mixture: Mixture, unanimous: bool) -> Fraction:
    """The expected regret of the best aggregator, over all 2^n profiles of all structures, one by one."""
    points = []
    together: dict[Any, list[Fraction]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
    for weight, mu, pairs in written_out(mixture):
        for signals in product((0, 1), repeat=len(pairs)):
            no, yes = weight * (1 - mu), weight * mu
            for (low, high), signal in zip(pairs, signals, strict=True):
                x = high if signal else low
                q = HALF if low == high else (mu - low if signal else high - mu) / (high - low)
                no, yes = no * q * (1 - x) / (1 - mu), yes * q * x / mu
            profile = tuple(pair[signal] for pair, signal in zip(pairs, signals, strict=True))
            together[profile][0] += no
            together[profile][1] += yes
            points.append((profile, no, yes))
    total = Fraction(0)
    for profile, no, yes in points:
        if no + yes == 0:
            continue
        f, p = together[profile][1] / sum(together[profile]), profile[0]
        if unanimous and set(profile) == {p}:
            f = max(f, p) if p > HALF else min(f, p) if p < HALF else f
        total += (no + yes) * (f - yes / (no + yes)) ** 2
    return total


@st.composite
def counted(draw: st.DrawFn, agents: int) -> Mixture:
    """Mixtures that count their agents, on a coarse grid, so that profiles meet."""
    parts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    mixture = []
    for part in parts:
        mu, first = draw(st.integers(1, 5)), draw(st.integers(1, agents))
        counts = [first, agents - first] if first < agents else [agents]
        pairs = [[f"{draw(st.integers(0, mu))}/6", f"{draw(st.integers(mu, 6))}/6"] for _ in counts]
        weight = str(Fraction(part, sum(parts)))
        mixture.append({"weight": weight, "prior": f"{mu}/6", "reports": pairs, "agents": counts})
    return mixture


@settings(max_examples=20, deadline=None)
@given(data=st.data(), agents=st.integers(2, 4))
def test_counting_agents_is_writing_them_out_in_every_order(data: st.DataObject, agents: int) -> None:
    mixture = data.draw(counted(agents))
    value, unanimous = value_bound(mixture, agents), unanimous_bound(mixture, agents)
    assert value == least(mixture, unanimous=False)
    assert unanimous == least(mixture, unanimous=True) >= value


@pytest.mark.parametrize("agents", [2, 3, 4, 5])
def test_counted_agents_with_uncertain_reports(agents: int) -> None:
    """Profiles that come in several ways and from both structures: binomial coefficients and orders matter."""
    first = {"weight": "2/5", "prior": "1/2", "reports": [["1/4", "3/4"]], "agents": [agents]}
    pairs = [["0", "3/4"], ["1/4", "3/4"]]
    second = {"weight": "3/5", "prior": "1/3", "reports": pairs, "agents": [1, agents - 1]}
    mixture: Mixture = [first, second]
    assert value_bound(mixture, agents) == least(mixture, unanimous=False) > Fraction(1, 1000)
    assert unanimous_bound(mixture, agents) == least(mixture, unanimous=True)


@pytest.mark.parametrize("agents", [3, 4])
def test_an_order_is_not_left_out(agents: int) -> None:
    """One agent reports 0 or 2/3, the others 0 or 1/3: if the aggregator knew which one, it would lose less."""
    entry: dict[str, Any] = {
        "weight": "1/2",
        "prior": "1/4",
        "reports": [["0", "2/3"], ["0", "1/3"]],
        "agents": [1, agents - 1],
    }
    other: dict[str, Any] = {
        "weight": "1/2",
        "prior": "1/3",
        "reports": [["1/3", "1/3"], ["0", "2/3"]],
        "agents": [agents - 1, 1],
    }
    mixture = [entry, other]
    ordered = [
        {
            "weight": e["weight"],
            "prior": e["prior"],
            "reports": [pair for pair, count in zip(e["reports"], e["agents"], strict=True) for _ in range(count)],
        }
        for e in mixture
    ]
    assert value_bound(ordered, agents) < value_bound(mixture, agents) == least(mixture, unanimous=False)


# -------------------------------------------------------------------------------------------------------- unanimous rules


@pytest.mark.parametrize("agents", UNANIMITY)
def test_the_unanimity_bound(agents: int) -> None:
    mixture = unanimity_structure(agents)
    assert mixture is not None
    bound = unanimous_bound(mixture, agents)
    assert value_bound(mixture, agents) == 0  # whoever knows the structure loses nothing
    assert bound == least(mixture, unanimous=True)
    assert float(bound) == pytest.approx(UNANIMITY[agents], abs=6e-8)
    mu, b = np.meshgrid(np.linspace(0.05, 0.5, 901), np.linspace(0.05, 0.4999, 901))
    g = 1 / (1 + ((1 - b) / b) ** agents * (mu / (1 - mu)) ** (agents - 1))
    assert float(np.where(mu < b, mu / g * (g - b) ** 2, 0).max()) == pytest.approx(float(bound), abs=1e-6)


def test_the_unanimity_structure_keeps_to_the_range_of_the_priors() -> None:
    assert unanimity_structure(2) is None
    assert unanimity_structure(3, (0.5, 0.5)) is None
    free = unanimity_structure(4)
    assert free is not None
    (mirror,) = unanimity_structure(4, (0.5, 1.0)) or []
    assert Fraction(mirror["prior"]) == 1 - Fraction(free[0]["prior"])
    assert unanimous_bound([mirror], 4, (0.5, 1.0)) == unanimous_bound(free, 4)
    for ends in ((0.4, 0.45), (0.42, 0.9), (0.55, 0.6)):
        mixture = unanimity_structure(4, ends)
        assert mixture is not None
        assert 0 < unanimous_bound(mixture, 4, ends) < unanimous_bound(free, 4)


def test_nothing_is_asked_of_a_unanimous_aggregator_at_one_half() -> None:
    """All report 1/2 with the posterior 4/5: an aggregator that says so is unanimous."""
    entry = {"weight": "1", "prior": "1/5", "reports": [["0", "1/2"]], "agents": [3]}
    assert unanimous_bound([entry], 3) == 0


# ---------------------------------------------------------------------------------------------------- mixtures on record


@pytest.mark.parametrize("agents", KNOWN)
def test_the_mixtures_on_record_prove_what_is_known(agents: int) -> None:
    mixture = mixture_on_record(agents)
    assert mixture is not None
    bound = value_bound(mixture, agents)
    assert KNOWN[agents] - 1e-7 <= float(bound) <= KNOWN[agents] + 1e-3
    reports = {x for entry in mixture for pair in entry["reports"] for x in pair}
    assert len(reports - {"0", "1"}) == 2  # a and 1 - a
    mirrored = {(1 - Fraction(e["prior"]), Fraction(e["weight"])) for e in mixture}
    assert mirrored == {(Fraction(e["prior"]), Fraction(e["weight"])) for e in mixture}
    if agents == 6:
        assert bound == least(mixture, unanimous=False)


def test_every_mixture_on_record_beats_the_mirrored_pair() -> None:
    from robustpool.certificates.mixtures import mirrored_pair

    for name, mixture in json.loads(LOWER_BOUNDS.read_text()).items():
        pair = mirrored_pair(int(name))
        assert pair is not None
        assert value_bound(mixture, int(name)) > value_bound(pair, int(name)) + Fraction(1, 1000)


def test_a_mixture_on_record_must_lie_in_the_range() -> None:
    assert mixture_on_record(6, (0.15, 0.9)) is not None
    assert mixture_on_record(6, (0.3, 0.7)) is None
    assert mixture_on_record(5) is None


# ------------------------------------------------------------------------------------------------------------ certificates


def run(*arguments: Any) -> str:
    """What a command prints."""
    done = run_robustpool(*map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done.stdout


def family(agents: int) -> rp.ConditionallyIndependent:
    return rp.ConditionallyIndependent(agents, None, None)


@pytest.mark.parametrize("agents", only([2, 12], [*range(2, 13), 20]))
def test_robust_is_proved_for_any_number_of_agents(agents: int, tmp_path: Path) -> None:
    certificate = rp.certify("robust", family(agents))
    assert certificate.upper is not None
    assert certificate.upper - certificate.lower < 1.1e-9
    certificate.save(tmp_path / "certificate.json")
    verdict = rp.verify(tmp_path / "certificate.json")
    assert verdict.verified, verdict.sentence
    assert (verdict.lower, verdict.upper) == (certificate.lower, certificate.upper)
    assert (verdict.value, verdict.unanimous) == (certificate.value, certificate.unanimous)
    assert referee_accepts(tmp_path / "certificate.json")
    (entry,) = certificate.data["lower"]["mixture"]
    mu = entry["prior"]
    assert [mu, mu] in entry["reports"] or agents == 2  # all agents but one know nothing


@pytest.mark.parametrize(("rule", "ends"), [("geometric-odds", (0.7, 0.9)), ("bordley:prior=0.4", (0.55, 0.8))])
def test_the_worst_structure_has_a_prior_in_the_range(rule: str, ends: tuple[float, float]) -> None:
    certificate = rp.certify(rule, rp.ConditionallyIndependent(3, None, None, ends), tolerance=1e-5)
    assert certificate.upper is not None
    assert certificate.upper - certificate.lower < 1.1e-5
    assert ends[0] <= Fraction(certificate.data["lower"]["mixture"][0]["prior"]) <= ends[1]
    assert rp.verify(certificate).verified


@pytest.fixture(scope="module")
def of_mean() -> dict[str, Any]:
    """A certificate without an upper bound, as read from its file."""
    return dict(json.loads(json.dumps(rp.certify("mean", family(6)).data)))


def test_a_rule_without_an_upper_bound(of_mean: dict[str, Any], tmp_path: Path) -> None:
    verdict = rp.verify(of_mean)
    assert verdict.verified, verdict.sentence
    assert verdict.upper is None
    assert verdict.lower == pytest.approx(25 / 144, abs=1e-9)  # (n-1)^2/(4 n^2): one agent knows the state
    assert verdict.value is not None
    assert verdict.unanimous is not None
    assert 0.0782 < verdict.value < 0.0812 < verdict.unanimous
    assert "of the rule f = the mean of the reports, is at least 0.1736" in verdict.claims[0]
    assert "whose forecast, or mean forecast if it is randomised, is at least p" in verdict.claims[2]
    path = tmp_path / "mean.json"
    data = json.loads(run("certify", "mean", "--agents", 6, "--out", path, "--json"))
    assert data["upper"] is None
    assert data["unanimous"] == verdict.unanimous
    _, lines = results.certificate("mean", rp.Certificate(of_mean), "mean.json", finished=True, seconds=1.0)
    assert "(proved); no upper bound is proved" in lines[1]
    assert "(proved), no unanimous one below 0.0812" in lines[2]
    assert referee_accepts(path)  # it checks the bounds for all aggregators, and says what it does not check


@pytest.mark.slow
def test_twenty_agents_of_a_rule_without_an_upper_bound(tmp_path: Path) -> None:
    certificate = rp.certify("mean", family(20))
    assert certificate.upper is None
    assert certificate.lower == pytest.approx(361 / 1600, abs=1e-9)
    assert rp.verify(certificate).verified
    certificate.save(tmp_path / "twenty.json")
    assert referee_accepts(tmp_path / "twenty.json")


def forged(data: dict[str, Any], *changes: tuple[tuple[Any, ...], Any]) -> dict[str, Any]:
    """A certificate with other content, signed again."""
    changed = copy.deepcopy(data)
    for (*path, last), value in changes:
        place = changed
        for key in path:
            place = place[key]
        place[last] = value
    return sign(changed)


@pytest.mark.parametrize("name", ["lower", "value", "unanimous"])
def test_one_unit_above_each_bound_is_refused(name: str, of_mean: dict[str, Any], tmp_path: Path) -> None:
    more = math.nextafter(of_mean[name]["bound"], 1)
    data = forged(of_mean, ((name, "bound"), more))
    assert f"{name}.bound is {more!r}, but " in rp.verify(data).sentence
    if name != "lower":
        (tmp_path / "forged.json").write_text(json.dumps(data))
        assert not referee_accepts(tmp_path / "forged.json")


def test_the_bound_for_unanimous_aggregators_is_not_one_for_all(of_mean: dict[str, Any]) -> None:
    data = forged(of_mean, (("value",), of_mean["unanimous"]))
    assert "value.bound is 0.0812" in rp.verify(data).sentence
    assert "against its mixture some aggregator has 0.0" in rp.verify(data).sentence


REFUSED: list[tuple[tuple[Any, ...], Any, str]] = [
    (("value", "mixture", 0, "agents"), [6, 0], r"value.mixture[0].agents must be a list of positive whole numbers"),
    (("value", "mixture", 0, "agents"), 6, "agents must be a list of positive whole numbers; it is 6"),
    (("value", "mixture", 0, "agents"), [6.0], "agents must be a list of positive whole numbers"),
    (("value", "mixture", 0, "agents"), [True] * 6, "agents must be a list of positive whole numbers"),
    (("value", "mixture", 0, "agents"), [7], "agents must be a list of positive whole numbers"),
    (("value", "mixture", 0, "agents"), [2, 3], "agents must sum to the 6 agents of the family; the sum is 5"),
    (("value", "mixture", 0, "agents"), [2, 2, 1, 1], "reports must hold one pair for each count of 6 agents"),
    (("upper",), {"bound": 0.25, "witness": {"kind": "theorem"}}, "upper.witness must have the field 'intervals'"),
    (("aggregator",), {"kind": "mean", "n": 6}, "aggregator has the field 'n', which is not checked"),
    (("aggregator",), {"kind": "karmarkar", "a": 2}, "an aggregator of this kind is checked for two agents"),
    (("unanimous", "mixture"), [], "the weights of unanimous.mixture must sum to 1"),
    (("family", "agents"), 101, "family.agents must be a whole number from 1 to 100; it is 101"),
]


@pytest.mark.parametrize(("path", "value", "sentence"), REFUSED, ids=lambda x: str(x)[:40])
def test_what_is_not_right_is_refused(
    path: tuple[Any, ...], value: Any, sentence: str, of_mean: dict[str, Any]
) -> None:
    verdict = rp.verify(forged(of_mean, (path, value)))
    assert not verdict.verified
    assert sentence in verdict.sentence


def test_all_entries_count_their_agents_or_none(of_mean: dict[str, Any], tmp_path: Path) -> None:
    data = copy.deepcopy(of_mean)
    entry = data["value"]["mixture"][0]
    entry["reports"] = [pair for pair, m in zip(entry["reports"], entry.pop("agents"), strict=True) for _ in range(m)]
    assert "value.mixture must count its agents in every entry or in none" in rp.verify(sign(data)).sentence
    (tmp_path / "forged.json").write_text(json.dumps(data))
    assert not referee_accepts(tmp_path / "forged.json")


def test_the_same_structures_in_one_order_only_are_refused(of_mean: dict[str, Any], tmp_path: Path) -> None:
    """What counted agents prove is not proved by the same structures in a fixed order."""
    data = copy.deepcopy(of_mean)
    for entry in data["value"]["mixture"]:
        counts = entry.pop("agents")
        entry["reports"] = [pair for pair, m in zip(entry["reports"], counts, strict=True) for _ in range(m)]
    verdict = rp.verify(sign(data))
    assert "but against its mixture some aggregator has 0.0" in verdict.sentence
    (tmp_path / "forged.json").write_text(json.dumps(data))
    assert not referee_accepts(tmp_path / "forged.json")


def test_counted_agents_need_a_symmetric_aggregator() -> None:
    table = rp.GridAggregator(np.array([[0.1, 0.3], [0.6, 0.9]]))
    data = json.loads(
        json.dumps(rp.certify(table, rp.ConditionallyIndependent(2, None, None, (0.3, 0.31)), tolerance=1e-2).data)
    )
    assert rp.verify(data).verified
    for entry in data["lower"]["mixture"]:
        entry["agents"] = [1, 1]
    assert (
        "lower.mixture counts its agents, but the aggregator depends on their order" in rp.verify(sign(data)).sentence
    )


def test_a_finite_family_has_no_unanimous_bound() -> None:
    from forging import original

    data = original("finite, posterior, additive")
    data["unanimous"] = data["value"]
    assert "has the field 'unanimous', which is not checked" in rp.verify(sign(data)).sentence


def test_structures_too_large_to_write_out_are_over_the_budget(of_mean: dict[str, Any]) -> None:
    data = copy.deepcopy(of_mean)
    data["family"]["agents"] = 40
    entry = {"weight": "1", "prior": "1/3", "reports": [["0", f"1/{2 + k % 2}"] for k in range(40)]}
    data["value"]["mixture"] = [entry]
    assert rp.verify(sign(data), budget=3_000_000).over_budget


# ------------------------------------------------------------------------------------------------------ exact forecasts


@pytest.mark.parametrize(("name", "exact"), [("mean", Mean(4).forecast), ("median", Median().forecast)])
def test_exact_means_and_medians_are_those_of_the_rules(name: str, exact: Any) -> None:
    rng = np.random.default_rng(4)
    for agents in (1, 3, 4, 7):
        x = rng.random((5, agents))
        answers = [float(exact(tuple(map(Fraction, row)))) for row in x.tolist()]
        np.testing.assert_allclose(answers, rp.get_rule(name)(x), atol=1e-15)


def test_the_regret_of_a_counted_structure_is_that_of_the_structure() -> None:
    phi = read_phi({"form": "linear", "alpha": "1/4", "shift": 0}, "phi")
    entry = {"weight": "1", "prior": "2/5", "reports": [["1/5", "3/5"], ["0", "1/2"]], "agents": [3, 1]}
    claim = lower_claim([entry], phi.forecast, 4)
    structure = rp.BinaryStructure(0.4, [[0.2, 0.6]] * 3 + [[0.0, 0.5]]).to_information_structure()
    assert claim["bound"] == pytest.approx(rp.regret("geometric-odds", structure), abs=1e-14)
    exact = expected_regret(structures_of([entry], 4), Mean(4).forecast, Budget())
    assert outward(exact, "down") == pytest.approx(rp.regret("mean", structure), abs=1e-14)


def test_the_search_among_few_types_evaluates_the_regret() -> None:
    rng = np.random.default_rng(5)
    points = rng.random((20, 5))
    points[:, 0] = rng.normal(size=20)
    points[:5, 1] = 0.0
    points[5:8, 3:] = 1.0
    place = [0, 0, 1, 1, 1]
    full = np.column_stack((points[:, 0], points[:, 1:].reshape(-1, 2, 2)[:, place].reshape(20, -1)))
    for name in ("mean", "geometric-odds"):
        rule = rp.get_rule(name)
        few = regrets_of_types(rule, Types.of((2, 3)), points, Square().divergence)
        np.testing.assert_allclose(few, continuous_regrets(rule, full, Square()), atol=1e-13)


@pytest.mark.parametrize(
    ("rule", "regret"), one_of(2, [("mean", 25 / 144), ("geometric-odds", 0.10929), ("robust", 0.108235374)])
)
def test_six_agents_are_searched_quickly(rule: str, regret: float) -> None:
    worst = rp.worst_case(rule, family(6))
    assert worst.regret == pytest.approx(regret, abs=6e-6)
    assert isinstance(worst.structure, rp.BinaryStructure)
    assert rp.regret(rule, worst.structure.to_information_structure()) == pytest.approx(worst.regret, abs=1e-12)


def test_refused_is_what_the_reader_raises() -> None:
    entry = {"weight": "1", "prior": "1/3", "reports": [["0", "1/2"]], "agents": [2]}
    with pytest.raises(Refused, match=r"mixture\[0\].agents must sum to the 3 agents of the family; the sum is 2"):
        structures_of([entry], 3)
