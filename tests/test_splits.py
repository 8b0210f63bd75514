"""Where one set of slopes cannot prove the worst case, the first agent's reports are split."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import robustpool as rp
from robustpool.certificates.certifiable import describe, problem_of
from robustpool.certificates.dual import best_slopes
from robustpool.verification.verify import content_hash

FAMILY = rp.ConditionallyIndependent(2, None, None, (0.3, 0.35))


@pytest.fixture(scope="module")
def rough() -> rp.GridAggregator:
    """A table without any order, for which the dual inequality alone has a gap."""
    values = np.round(np.random.default_rng(12).random((4, 4)) * 64) / 64
    return rp.GridAggregator((values + values.T) / 2)


@pytest.fixture(scope="module")
def certificate(rough: rp.GridAggregator) -> rp.Certificate:
    return rp.certify(rough, FAMILY, tolerance=1e-4)


def splits(data: Any) -> list[dict[str, Any]]:
    """All splits in a witness."""
    if isinstance(data, list):
        return [split for item in data for split in splits(item)]
    if not isinstance(data, dict):
        return []
    return [*([data] if "parts" in data else []), *(split for item in data.values() for split in splits(item))]


def signed(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "hash": content_hash(data)}


@pytest.mark.slow
def test_the_bracket_is_narrow_despite_the_gap(rough: rp.GridAggregator, certificate: Any) -> None:
    problem = problem_of(rough, describe(rough, 2))
    relaxed = max(best_slopes(problem, np.linspace(0, 3, 61), (mu, mu * (1 + 1e-9)))[1] for mu in (0.3, 0.325, 0.35))
    assert relaxed > certificate.upper + 1e-4  # what one set of slopes needs, at a single prior
    assert splits(certificate.data)
    assert 0 <= certificate.upper - certificate.lower <= 1.1e-4
    assert rp.verify(certificate)


def test_a_split_needs_both_its_parts(certificate: rp.Certificate) -> None:
    data = copy.deepcopy(certificate.data)
    splits(data)[0]["parts"].pop()
    verdict = rp.verify(signed(data))
    assert not verdict
    assert "must split the low or the high reports at a number, into two parts" in verdict.sentence


@pytest.mark.parametrize(("name", "value"), [("end", "middle"), ("at", "1/2"), ("at", None), ("at", 0.123)])
def test_a_split_that_was_changed_is_refused(certificate: rp.Certificate, name: str, value: Any) -> None:
    data = copy.deepcopy(certificate.data)
    splits(data)[0][name] = value
    assert not rp.verify(signed(data))


def test_one_part_does_not_do_for_the_other(certificate: rp.Certificate) -> None:
    """Slopes that hold for some ranges of reports are not taken for others."""
    data = copy.deepcopy(certificate.data)
    for split in splits(data):
        split["parts"].reverse()
    assert not rp.verify(signed(data))
