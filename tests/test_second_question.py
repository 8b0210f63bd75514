"""A second question: the second answers against their definition, the games against their neighbours, the bound by the verifier."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.families.conditionally_independent import ConditionallyIndependent
from robustpool.families.second_question import SecondQuestion, second_answers
from robustpool.structures.report_formats import HigherOrder

SMALL = (6, 12)


def written_out(prior: float, reports: Any) -> Any:
    return rp.BinaryStructure(prior, reports).joint().reshape(2, 2, 2)


def test_second_answers_are_those_of_the_report_format() -> None:
    rng = np.random.default_rng(0)
    prior = rng.uniform(0.1, 0.9, 30)
    reports = np.stack((prior[:, None] * rng.random((30, 2)), 1 - (1 - prior[:, None]) * rng.random((30, 2))), axis=2)
    joints = np.array([written_out(mu, x) for mu, x in zip(prior, reports, strict=True)])
    ours = second_answers(prior, reports)
    for agent in range(2):
        theirs = HigherOrder().reports(joints, agent, np.arange(30), None)
        np.testing.assert_allclose(theirs, np.stack((reports[:, agent], ours[:, agent]), axis=2), atol=1e-12)


def test_the_family_is_that_of_a_plain_loop() -> None:
    """Fine answers on a coarse grid are never rounded together, and then it is the finite family with higher-order reports."""
    listed = ConditionallyIndependent(2, 3, 4).enumerate(pruned=False)
    inner = [t for t in range(len(listed.priors)) if 0 < listed.priors[t] < 4]
    joints = [written_out(float(listed.priors[t] / 4), listed.pairs[t] / 3) for t in inner]
    exact = rp.solve(rp.FiniteFamily.from_joints(joints, report="higher-order"), tolerance=1e-7)
    fine = rp.solve(SecondQuestion(2, 3, 4, 10**6), tolerance=1e-7)
    assert fine.upper == pytest.approx(exact.upper, abs=2e-7)


def test_a_second_question_helps_and_finer_answers_help_more() -> None:
    first = rp.solve(ConditionallyIndependent(2, *SMALL), tolerance=1e-6)
    values = [
        rp.solve(SecondQuestion(2, *SMALL, steps), tolerance=1e-6) for steps in (2, 6, 18)
    ]  # each divides the next
    assert first.upper + 1e-6 >= values[0].upper
    assert values[0].lower > values[1].upper > values[1].lower > values[2].upper
    blunt = SecondQuestion(2, *SMALL, 2)  # a named rule does not hear the second answers
    posterior_only = rp.worst_case("minimax", ConditionallyIndependent(2, *SMALL))
    assert rp.worst_case("minimax", blunt).regret == pytest.approx(posterior_only.regret, abs=1e-12)
    table = values[0].aggregator
    assert rp.worst_case(table, blunt).regret == pytest.approx(values[0].upper, abs=1e-9)
    assert rp.worst_case(table, blunt).exhaustive


def test_exact_second_answers_leave_a_regret() -> None:
    world = SecondQuestion(2, None, None, None)
    known = world.hard_structures()
    assert known is not None
    hard = known["structures"]
    joints = [np.vectorize(lambda text: float(Fraction(text)))(np.array(entry["joint"])) for entry in hard]
    shared = [
        HigherOrder().reports(np.array(joints), agent, np.arange(2), None)[:, signal]
        for agent in range(2)
        for signal in range(2)
    ]
    same = [np.allclose(pair[0], pair[1], atol=1e-12) for pair in shared]
    assert sum(same) == 2  # of each agent one report, of which the structures agree
    certificate = rp.certify("minimax", world)
    assert certificate.value is not None
    assert 0.0015455 < certificate.value < 0.0015456
    assert rp.verify(certificate).verified
    solution = rp.solve(rp.FiniteFamily.from_joints(joints, report="higher-order"), tolerance=1e-8)
    assert solution.upper == pytest.approx(certificate.value, abs=1e-7)


def test_what_is_refused() -> None:
    with unsupported_error(r"^a second question is for two agents; there are 3\.$"):
        SecondQuestion(3)
    with input_error(
        r"^reports, priors and second_answers must be three numbers, or None for all; they are .*'priors': None"
    ):
        SecondQuestion(priors=None)
    with unsupported_error(
        r"^no bound can be proved for 2 conditionally independent agents, .*second answers in steps of 1/1,000"
    ):
        rp.certify("minimax", SecondQuestion(2, 6, 12, 1000))  # whose value is below that of exact answers off the grid
    with unsupported_error(
        r"^the structures of .*exact second answers cannot be listed; give numbers for its grids\.$"
    ):
        rp.solve(SecondQuestion(2, None, None, None))
    with input_error(r"^second_answers must be a whole number, at least 1; it is 0\.$"):
        SecondQuestion(second_answers=0)
    with unsupported_error(r"^the lower bound of this world is certified for the loss 'square' only; it is 'log'\.$"):
        rp.certify("minimax", SecondQuestion(2, None, None, None), loss="log")
    design = rp.solve(SecondQuestion(2, 3, 4), tolerance=1e-3).design
    sentence = (
        r"^a design for this world has no certificate; `certify RULE --world second-question` proves the lower bound\.$"
    )
    with unsupported_error(sentence):
        rp.certify(design, SecondQuestion(2, None, None, None))
    with unsupported_error(r"^continuous nature is for conditionally independent agents"):
        rp.solve(SecondQuestion(), nature="continuous")
