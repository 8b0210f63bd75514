"""R(x_1, x_2) against plain enumeration, and the coupling of the covering proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustpool as rp
from refusals import input_error
from robustpool.families.regret import regrets
from robustpool.theory.coupling import LOCAL, REMOTE, couple
from robustpool.theory.coverings import em_covering_bound
from robustpool.theory.distances import earth_mover


@pytest.mark.parametrize("rule", ["mean", "average-prior", "minimax", "extremized-odds"])
@pytest.mark.parametrize(("N", "M"), [(4, 8), (5, 8), (6, 24)])
def test_weakness_is_the_worst_of_the_structures_that_bring_the_reports(rule: str, N: int, M: int) -> None:
    family = rp.ConditionallyIndependent(2, N, M)
    flat = family.enumerate(pruned=False).flat
    values = regrets(rule, flat)
    expected = np.zeros((N + 1) ** 2)
    comes = flat.mass.sum(axis=1) > 0
    np.maximum.at(expected, flat.profile[comes], values[flat.structure_of_point[comes]])
    found = rp.weakness(rule, family.report_grid, family.prior_grid[1:-1])
    assert found == pytest.approx(expected.reshape(N + 1, N + 1), abs=1e-13)


def test_weakness_of_a_lopsided_aggregator_is_lopsided() -> None:
    x, priors = np.linspace(0, 1, 6), np.arange(1, 20) / 20
    first = rp.weakness(lambda reports: reports[:, 0], x, priors)
    second = rp.weakness(lambda reports: reports[:, 1], x, priors)
    assert first == pytest.approx(second.T)
    assert np.abs(first - first.T).max() > 0.01


def test_weakness_never_exceeds_what_is_proved() -> None:
    found = rp.weakness("minimax", np.linspace(0, 1, 41), np.arange(1, 80) / 80)
    assert found.max() <= rp.certify("minimax").upper
    assert found[0, -1] == found[-1, 0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 0.5, 0.5], [0.5]), "reports must be a list of two or more numbers that rise"),
        (([0.5], [0.5]), "reports must be a list of two or more numbers that rise"),
        (([0.0, 1.2], [0.5]), r"reports must lie in \[0, 1\]"),
        (([0.0, 1.0], []), "priors must be a list of one or more numbers strictly between 0 and 1"),
        (([0.0, 1.0], [0.0, 0.5]), "priors must be a list of one or more numbers strictly between 0 and 1"),
    ],
)
def test_what_weakness_refuses(arguments: tuple[list[float], list[float]], message: str) -> None:
    with input_error(message):
        rp.weakness("mean", *arguments)
    with input_error("loss must be one of square, log; it is 'foo'"):
        rp.weakness("mean", [0.0, 1.0], [0.5], loss="foo")


def test_weakness_takes_lists_and_the_log_loss() -> None:
    values = rp.weakness("mean", [0.0, 0.5, 1.0], [0.5])
    assert values[0, 2] == values[2, 0] == 0
    assert values[0, 1] == pytest.approx(1 / 16)
    assert rp.weakness("minimax", [0.0, 0.5, 1.0], [0.25, 0.5], loss="log").max() > 0


unit = st.floats(0.02, 0.98)


@settings(deadline=None)  # the first example waits for SciPy
@given(unit, st.tuples(unit, unit), st.tuples(unit, unit), st.integers(2, 30))
def test_the_coupling_has_both_marginals_and_costs_what_the_lemma_allows(
    prior: float, lows: tuple[float, float], highs: tuple[float, float], N: int
) -> None:
    low, high = prior * np.array(lows), prior + (1 - prior) * np.array(highs)
    structure = rp.BinaryStructure(prior, np.stack([low, high], axis=1))
    near = rp.BinaryStructure(prior, np.stack([np.floor(low * N), np.ceil(high * N)], axis=1) / N)
    coupling = couple(structure, near)
    assert np.bincount(coupling.start, coupling.mass, 4) == pytest.approx(structure.probabilities(), abs=1e-12)
    assert np.bincount(coupling.end, coupling.mass, 4) == pytest.approx(near.probabilities(), abs=1e-12)
    assert (coupling.start[coupling.kind == LOCAL] == coupling.end[coupling.kind == LOCAL]).all()
    spread = near.reports[:, 1] - near.reports[:, 0]
    closer = 2 if spread[0] <= spread[1] else 1  # profiles are 2 i + j: the bit of the agent whose reports are closer
    assert (coupling.start ^ coupling.end == closer)[coupling.kind == REMOTE].all()
    assert earth_mover(structure, near) - 1e-9 <= coupling.cost <= em_covering_bound(N)


def test_who_cannot_be_coupled() -> None:
    one = rp.BinaryStructure(0.5, [[0.2, 0.7], [0.1, 0.9]])
    with input_error(r"the coupling is for two agents; a structure has 1\."):
        couple(one, rp.BinaryStructure(0.5, [[0.2, 0.7]]))
    with input_error(r"the structures must have one prior; they have 0\.5 and 0\.4\."):
        couple(one, rp.BinaryStructure(0.4, [[0.2, 0.7], [0.1, 0.9]]))
