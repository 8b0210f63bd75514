"""Conditionally independent agents with two signals: the bijection, the report distribution and the posterior, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import input_error
from robustpool.checks import open_unit, unit_array
from robustpool.structures.binary_structure import BinaryStructure, omniscient_posterior

if TYPE_CHECKING:
    from collections.abc import Sequence

TINY = 1e-9
law = settings(max_examples=150, deadline=None)

priors = st.one_of(st.floats(TINY, 1 - TINY), st.sampled_from([TINY, 0.1, 0.5, 1 - TINY]))
shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))


@st.composite
def structures(draw: st.DrawFn, least: int = 1, most: int = 4) -> BinaryStructure:
    """Any binary structure with so many agents: priors down to 1e-9, reports 0 and 1, agents who learn nothing."""
    mu = draw(priors)
    pairs = draw(st.lists(st.tuples(shares, shares), min_size=least, max_size=most))
    return BinaryStructure(mu, [[min(u * mu, mu), min(mu + v * (1 - mu), 1)] for u, v in pairs])


# ------------------------------------------------------------------------------- the same, by fractions and plain loops


def exact_signals(structure: BinaryStructure) -> list[list[tuple[Fraction, Fraction]]]:
    """(probability, report) of the two signals of each agent."""
    mu, agents = Fraction(structure.prior), []
    for pair in structure.reports.tolist():
        low, high = map(Fraction, pair)
        q = (mu - low) / (high - low) if low < high else Fraction(1, 2)
        agents.append([(1 - q, low), (q, high)])
    return agents


def exact_distribution(structure: BinaryStructure) -> list[tuple[tuple[Fraction, ...], Fraction, Fraction | None]]:
    """(profile, probability, posterior or None) of each signal profile, straight from Bayes' rule."""
    mu = Fraction(structure.prior)
    rows = []
    for signals in product(*exact_signals(structure)):
        with_1 = mu * prod(q * x / mu for q, x in signals)
        with_0 = (1 - mu) * prod(q * (1 - x) / (1 - mu) for q, x in signals)
        total = with_0 + with_1
        rows.append((tuple(x for _, x in signals), total, with_1 / total if total else None))
    return rows


def close(got: float, exact: Fraction, rel: float = 1e-11) -> bool:
    return abs(Fraction(got) - exact) <= Fraction(rel) * abs(exact) + Fraction(1, 10**300)


@law
@given(structures())
def test_report_distribution_and_posterior_are_those_of_bayes_rule(structure: BinaryStructure) -> None:
    rows = exact_distribution(structure)
    shown, chances, posteriors = structure.profiles(), structure.probabilities(), structure.posteriors()
    assert shown.shape == (2**structure.agents, structure.agents)
    for row, (profile, probability, posterior) in enumerate(rows):
        assert [Fraction(x) for x in shown[row].tolist()] == list(profile)
        assert close(chances[row], probability)
        assert posterior is None or close(posteriors[row], posterior)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert np.all((posteriors >= 0) & (posteriors <= 1))


@law
@given(structures())
def test_the_closed_form_of_the_report_distribution(structure: BinaryStructure) -> None:
    """[Guo2024, Lemma 3.3], for n agents."""
    mu, n = Fraction(structure.prior), structure.agents
    for signals, got in zip(product(*exact_signals(structure)), structure.probabilities(), strict=True):
        chance = prod(q for q, _ in signals)
        with_1, with_0 = prod(x for _, x in signals), prod(1 - x for _, x in signals)
        assert close(got, chance * (with_1 / mu ** (n - 1) + with_0 / (1 - mu) ** (n - 1)))


@law
@given(structures())
def test_the_information_structure_shows_the_same_reports(structure: BinaryStructure) -> None:
    """Brute force on the joint distribution: every agent's posterior, and everybody's together."""
    joint = structure.to_information_structure().joint
    assert joint.shape == (2,) * (structure.agents + 1)
    exact = {(state, *s): Fraction(float(joint[(state, *s)])) for state, *s in np.ndindex(*joint.shape)}
    shown, posteriors = structure.profiles(), structure.posteriors()
    for row, signals in enumerate(np.ndindex(*joint.shape[1:])):
        both = [exact[0, *signals], exact[1, *signals]]
        if sum(both) < Fraction(1, 10**250):
            continue  # it never comes, or its digits are lost in the smallest floats
        assert close(posteriors[row], both[1] / sum(both))
        for agent, signal in enumerate(signals):
            seen = [p for key, p in exact.items() if key[agent + 1] == signal]
            yes = [p for key, p in exact.items() if key[agent + 1] == signal and key[0] == 1]
            assert close(shown[row, agent], Fraction(sum(yes)) / sum(seen))


# ---------------------------------------------------------------------------------------------------------- bijection


@law
@given(structures())
def test_signals_have_the_prior_as_mean_report(structure: BinaryStructure) -> None:
    q = structure.signal_probabilities
    assert q.sum(axis=1) == pytest.approx(np.ones(structure.agents))
    assert (q * structure.reports).sum(axis=1) == pytest.approx(np.full(structure.agents, structure.prior), rel=1e-12)


@law
@given(structures())
def test_probabilities_are_those_of_the_mended_lemma(structure: BinaryStructure) -> None:
    """[Guo2024, Lemma 3.6] prints Pr[s = low | omega] where it says Pr[s = 1 | omega]."""
    p0, p1 = structure.probability_parametrisation()
    mu = Fraction(structure.prior)
    for agent, (low, high) in enumerate(structure.reports.tolist()):
        a0, a1 = Fraction(low), Fraction(high)
        if a0 == a1:
            assert (p0[agent], p1[agent]) == (0.5, 0.5)
            continue
        printed_1 = a0 * (a1 - mu) / (mu * (a1 - a0))
        printed_0 = (1 - a0) * (a1 - mu) / ((1 - mu) * (a1 - a0))
        assert close(p1[agent], 1 - printed_1)
        assert close(p0[agent], 1 - printed_0)
        low_0, low_1 = structure.likelihoods[:, agent, 0]
        assert close(low_1, printed_1)
        assert close(low_0, printed_0)


sixteenths = st.integers(0, 16).map(lambda k: k / 16)


@law
@given(st.integers(1, 15).map(lambda k: k / 16), st.lists(st.tuples(sixteenths, sixteenths), min_size=1, max_size=4))
def test_reports_to_probabilities_and_back(mu: float, pairs: list[tuple[float, float]]) -> None:
    reports = [[min(pair), max(pair)] for pair in pairs if min(pair) < mu < max(pair)] + [[mu, mu]]
    structure = BinaryStructure(mu, reports)
    again = BinaryStructure.from_probabilities(mu, *structure.probability_parametrisation())
    assert again.reports == pytest.approx(structure.reports, abs=1e-14)
    assert again.prior == mu


@law
@given(priors, st.lists(st.tuples(sixteenths, sixteenths), min_size=1, max_size=4))
def test_probabilities_to_reports_and_back(mu: float, pairs: list[tuple[float, float]]) -> None:
    p0, p1 = np.array(pairs).T
    structure = BinaryStructure.from_probabilities(mu, p0, p1)
    again_0, again_1 = structure.probability_parametrisation()
    same, swapped = p0 == p1, p0 > p1
    assert np.all(again_0[same] == 0.5)
    assert np.all(structure.reports[same] == mu)
    for got, given_p in ((again_0, p0), (again_1, p1)):
        wanted = np.where(swapped, 1 - given_p, given_p)
        assert got[~same] == pytest.approx(wanted[~same], rel=1e-6, abs=1e-6)  # digits go where mu is 1 - 1e-9
    exact = Fraction(mu)
    for agent, (a, b) in enumerate(pairs):
        if a != b:
            odds = [(exact * Fraction(one), (1 - exact) * Fraction(zero)) for zero, one in ((a, b), (1 - a, 1 - b))]
            wanted_reports = sorted(yes / (yes + no) for yes, no in odds)
            assert all(close(x, w) for x, w in zip(structure.reports[agent], wanted_reports, strict=True))


def test_a_hair_of_information_does_not_break_the_order() -> None:
    """Signals that differ by rounding give reports that rounding would put on the wrong side of the prior."""
    for mu in np.random.default_rng(0).uniform(size=1000):
        structure = BinaryStructure.from_probabilities(mu, [0.1 + 0.2, 0.3, 0.8, 0.9], [0.3, 0.1 + 0.2, 0.9 - 0.1, 0.9])
        assert structure.reports == pytest.approx(np.full((4, 2), mu))


# ------------------------------------------------------------------------------------------------------------- corners


def test_an_agent_who_learns_nothing_changes_nothing() -> None:
    alone = BinaryStructure(0.3, [[0.1, 0.8]])
    together = BinaryStructure(0.3, [[0.1, 0.8], [0.3, 0.3]])
    assert together.probabilities().reshape(2, 2).sum(axis=1) == pytest.approx(alone.probabilities())
    assert together.posteriors().reshape(2, 2) == pytest.approx(np.repeat(alone.posteriors()[:, None], 2, axis=1))


def test_a_signal_that_never_comes() -> None:
    structure = BinaryStructure(0.3, [[0.3, 0.8], [0.1, 0.3]])
    assert structure.signal_probabilities.tolist() == [[1, 0], [0, 1]]
    assert structure.probabilities().tolist() == pytest.approx([0, 1, 0, 0])


@pytest.mark.parametrize("mu", [TINY, 0.5, 1 - TINY])
def test_agents_who_know(mu: float) -> None:
    structure = BinaryStructure(mu, [[0, 1], [0, 1]])
    assert structure.probabilities() == pytest.approx([1 - mu, 0, 0, mu], rel=1e-12, abs=0)
    assert structure.posteriors().tolist() == [0, 0.5, 0.5, 1]


def test_tiny_priors_keep_their_digits() -> None:
    """logit g = logit x_1 + logit x_2 - logit mu: at x_1 = x_2 = mu = 1e-9 it is mu, not 0 and not 0/0."""
    assert omniscient_posterior(TINY, [[TINY, TINY]])[0] == pytest.approx(TINY, rel=1e-12)
    assert omniscient_posterior(1e-300, [[1e-300, 0.5]])[0] == pytest.approx(0.5)
    assert omniscient_posterior(TINY, [[0, 0.3, 0.4], [1, 0.3, 0.4], [1, 0, 0.5]]).tolist() == [0, 1, 0.5]


def test_many_agents_neither_underflow_nor_overflow() -> None:
    structure = BinaryStructure(TINY, [[TINY / 2, 0.5]] * 12)
    assert structure.probabilities().sum() == pytest.approx(1)
    assert np.isfinite(structure.posteriors()).all()
    assert omniscient_posterior(TINY, np.full((1, 1000), TINY))[0] == pytest.approx(TINY, rel=1e-9)


@law
@given(st.integers(1, 15).map(lambda k: k / 16), st.lists(st.tuples(sixteenths, sixteenths), min_size=1, max_size=4))
def test_the_mirror_flips_reports_and_posteriors(mu: float, pairs: list[tuple[float, float]]) -> None:
    structure = BinaryStructure(mu, [[min(a, mu), max(b, mu)] for a, b in pairs])
    mirror = structure.mirrored()
    assert np.array_equal(mirror.profiles(), 1 - structure.profiles()[::-1])
    assert mirror.probabilities() == pytest.approx(structure.probabilities()[::-1])
    assert mirror.posteriors() == pytest.approx(1 - structure.posteriors()[::-1])
    assert np.array_equal(mirror.mirrored().reports, structure.reports)


def test_the_mirror_of_a_tiny_prior() -> None:
    structure = BinaryStructure(TINY, [[0, 0.25], [TINY, TINY]])
    mirror = structure.mirrored()
    assert mirror.prior == 1 - TINY
    assert mirror.probabilities() == pytest.approx(structure.probabilities()[::-1], rel=1e-6)


def test_data_are_read_only_copies() -> None:
    reports = np.array([[0.1, 0.9]])
    structure = BinaryStructure(0.5, reports)
    reports[0, 0] = 0.7
    assert structure.reports.tolist() == [[0.1, 0.9]]
    with pytest.raises(ValueError, match="read-only"):
        structure.reports[0, 0] = 0.2


# ------------------------------------------------------------------------------------------------- what is not accepted

INSIDE = r"^the prior must lie between an agent's low and high report; "


@pytest.mark.parametrize(
    ("prior", "reports", "sentence"),
    [
        (0.0, [[0, 1]], r"^prior must lie strictly between 0 and 1; it is 0\.0\.$"),
        (1, [[0, 1]], r"^prior must lie strictly between 0 and 1; it is 1\.0\.$"),
        (-0.1, [[0, 1]], r"^prior must lie strictly between 0 and 1; it is -0\.1\.$"),
        (float("nan"), [[0, 1]], r"^prior must be a finite number; it is nan\.$"),
        ("half", [[0, 1]], r"^prior must be a number; it is 'half'\.$"),
        (0.5, [[0.2, 1.2]], r"^reports must lie in \[0, 1\]; reports\[0\]\[1\] is 1\.2 \(1 of 2 entries\)\.$"),
        (0.5, [[-0.1, 1.2]], r"^reports must lie in \[0, 1\]; reports\[0\]\[0\] is -0\.1 \(2 of 2 entries\)\.$"),
        (0.5, [[0.2, float("nan")]], r"^reports must be finite; reports\[0\]\[1\] is nan \(1 of 2 entries\)\.$"),
        (0.5, [[0.2], [0.1, 0.3]], r"^reports must be a full array of numbers"),
        (0.5, [0.2, 0.8], r"^reports must be one pair \[low, high\] for each agent; their shape is \(2,\)\.$"),
        (0.5, [[0.2, 0.5, 0.8]], r"for each agent; their shape is \(1, 3\)\.$"),
        (0.5, np.empty((0, 2)), r"for each agent; their shape is \(0, 2\)\.$"),
        (
            0.5,
            [[0, 1], [0.6, 0.8]],
            INSIDE + r"agent 1 reports \[0\.6, 0\.8\] and the prior is 0\.5 \(1 of 2 agents\)\.$",
        ),
        (0.5, [[0.4, 0.4]], INSIDE + r"agent 0 reports \[0\.4, 0\.4\] and the prior is 0\.5 \(1 of 1 agents\)\.$"),
        (0.5, [[0.8, 0.2]], INSIDE + r"agent 0 reports \[0\.8, 0\.2\]"),
    ],
)
def test_what_is_no_structure(prior: float, reports: Sequence[Sequence[float]], sentence: str) -> None:
    with input_error(sentence):
        BinaryStructure(prior, reports)


@pytest.mark.parametrize(
    ("p0", "p1", "sentence"),
    [
        (
            [0.1],
            [0.2, 0.3],
            r"^high_given_0 and high_given_1 must have one probability for each agent; .* \(1,\) and \(2,\)\.$",
        ),
        ([], [], r"for each agent; their shapes are \(0,\) and \(0,\)\.$"),
        (0.1, 0.2, r"for each agent; their shapes are \(\) and \(\)\.$"),
        ([1.5], [0.2], r"^high_given_0 must lie in \[0, 1\]; high_given_0\[0\] is 1\.5 \(1 of 1 entries\)\.$"),
        ([0.5], [-1], r"^high_given_1 must lie in \[0, 1\]; high_given_1\[0\] is -1 \(1 of 1 entries\)\.$"),
    ],
)
def test_what_are_no_probabilities(p0: list[float], p1: list[float], sentence: str) -> None:
    with input_error(sentence):
        BinaryStructure.from_probabilities(0.5, p0, p1)


def test_what_the_posterior_refuses() -> None:
    with input_error(r"^reports must have the shape \(profiles, agents\); the shape is \(2,\)\.$"):
        omniscient_posterior(0.5, [0.2, 0.3])
    with input_error(r"^reports must be finite; reports\[0\]\[0\] is nan"):
        omniscient_posterior(0.5, [[float("nan"), 0.3]])
    with input_error(r"^prior must lie strictly between 0 and 1; it is 1\.0\.$"):
        omniscient_posterior(1.0, [[0.2, 0.3]])


def test_checks_return_clean_copies() -> None:
    assert open_unit("prior", np.float64(0.25)) == 0.25
    values = np.array([0, 1])
    assert unit_array("p", values) is not values
