"""The proved worst cases that `robustpool rules` shows: proved again."""

from __future__ import annotations

import json
from typing import Any

import pytest

import robustpool as rp
from quick import only
from robustpool.aggregators.rules import RULES
from robustpool.aggregators.worst_cases import WORST_CASES

TABLE = json.loads(WORST_CASES.read_text())
QUICK = ("robust", "minimax", "log-odds", "neyman-odds")
PROVED = [name for name in RULES if TABLE[name] is not None and TABLE[name]["proved"]]


@pytest.mark.parametrize("name", only(QUICK, PROVED))
def test_a_certificate_shows_what_the_table_says(name: str) -> None:
    certificate: Any = rp.certify(name)
    assert rp.verify(certificate).verified
    assert certificate.upper == pytest.approx(TABLE[name]["upper"], abs=1e-9)
    assert certificate.lower == pytest.approx(TABLE[name]["lower"], abs=1e-9)


@pytest.mark.parametrize("name", ["mean", "average-prior", "arieli-tuned", "geometric-odds", "log-odds"])
def test_the_brackets_are_narrow(name: str) -> None:
    assert 0 <= TABLE[name]["upper"] - TABLE[name]["lower"] <= 1e-6


def test_minimax_is_the_value_of_the_game() -> None:
    """(5 sqrt 5 - 11)/8, between fractions: (8 v + 11)^2 - 125 changes its sign there."""
    from fractions import Fraction

    certificate: Any = rp.certify("minimax")
    assert (8 * Fraction(certificate.upper) + 11) ** 2 >= 125
    assert certificate.value is not None
    assert (8 * Fraction(certificate.value) + 11) ** 2 <= 125
    assert certificate.upper - certificate.value < 1e-15
    assert certificate.upper <= 0.0225424860
    assert certificate.lower >= 0.0225424859


@pytest.mark.parametrize("rule", ["minimax:b=0.08", "minimax:b=0.2", "minimax:b=0.89"])
def test_every_b_of_the_rule_is_proved(rule: str) -> None:
    assert rp.certify(rule).upper == rp.certify("minimax").upper
