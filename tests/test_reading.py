"""What a certificate may hold: exact fields, exact numbers, short labels, and work that is paid for before it is done."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

import robustpool as rp
from forging import sign, small
from robustpool.verification.reading import (
    DIGITS,
    LABEL,
    LARGEST,
    SHOWN,
    Budget,
    OverBudget,
    Refused,
    by_kind,
    double,
    exactly,
    label,
    quoted,
    rational,
    read,
    short,
    word,
)
from robustpool.verification.verify import content_hash
from tampering import as_read, changed

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"prior": rational, "name?": label, "parts": [{"at": double}]}


def test_a_schema_reads_what_it_names() -> None:
    data = {"prior": "1/3", "parts": [{"at": 1}, {"at": 0.5}]}
    assert read(data, SCHEMA, "it") == {"prior": Fraction(1, 3), "parts": [{"at": 1.0}, {"at": 0.5}]}
    assert read({**data, "name": "x"}, SCHEMA, "it")["name"] == "x"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "it must be an object with the fields prior, name, parts"),
        ({"prior": 1}, "it must have the field 'parts'"),
        ({"prior": 1, "parts": [], "more": 1}, "it has the field 'more', which is not checked"),
        ({"prior": 1, "parts": [], "name?": "x"}, "it has the field 'name\\?', which is not checked"),
        ({"prior": 1, "parts": {}}, "it.parts must be a list; it is an object of 0"),
        ({"prior": 1, "parts": "ab"}, "it.parts must be a list; it is 'ab'"),
        ({"prior": 1, "parts": ({"at": 1},)}, "it.parts must be a list"),
        ({"prior": 1, "parts": [{"at": 1}, {"at": None}]}, r"it.parts\[1\].at must be a finite number"),
        ({"prior": 1, "parts": [{"at": 1, "at2": 1}]}, r"it.parts\[0\] has the field 'at2'"),
    ],
)
def test_a_schema_refuses_the_rest(data: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        read(data, SCHEMA, "it")


def test_words_and_kinds() -> None:
    assert word("a", "b")("b", "it") == "b"
    kinds = by_kind(first_one={"kind": word("first-one"), "x": double}, other={"kind": word("other")})
    assert kinds({"kind": "first-one", "x": 1}, "it") == {"kind": "first-one", "x": 1.0}
    for value in ("c", ["a"], None, 1):
        with pytest.raises(Refused, match="it must be 'a' or 'b'; it is"):
            word("a", "b")(value, "it")
        with pytest.raises(Refused, match=r"it.kind must be 'first-one' or 'other'; it is"):
            kinds({"kind": value}, "it")
    with pytest.raises(Refused, match="it has the field 'x'"):
        kinds({"kind": "other", "x": 1}, "it")
    with pytest.raises(Refused, match=r"it.kind must be"):
        kinds("other", "it")


def test_numbers_are_what_they_are() -> None:
    assert rational(0.1, "x") == Fraction(0.1) != Fraction(1, 10)
    assert rational("1/10", "x") == Fraction(1, 10)
    assert rational("-3", "x") == rational(-3, "x") == -3
    assert rational(10**300, "x") == LARGEST
    assert rational("9" * 300, "x") == 10**300 - 1
    assert rational(f"1/{'9' * DIGITS}", "x") == Fraction(1, 10**DIGITS - 1)
    assert double(2**53, "x") == 2.0**53
    assert double(-0.5, "x") == -0.5


@pytest.mark.parametrize(
    "value",
    [
        *("", " 1", "1 ", "+1", "1.0", "1e3", "1/", "/2", "1/-2", "1//2", "0x1", "1_0", "½", "١", "nan", "inf"),
        *(f"1/{'9' * (DIGITS + 1)}", "9" * (DIGITS + 1), "9" * 301),
        *(math.nan, math.inf, -math.inf, 10**300 + 1, -(10**301), True, False, None, [], {}, 1j, b"1"),
    ],
)
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(Refused, match="x must be a finite number or a text such as"):
        rational(value, "x")


def test_denominators_and_doubles() -> None:
    for zero in ("1/0", "0/00"):
        with pytest.raises(Refused, match="x has the denominator 0"):
            rational(zero, "x")
    with pytest.raises(Refused, match="x must be a number; it is text"):
        double("1", "x")
    wide: Any
    for wide in (2**53 + 1, 10**300):
        with pytest.raises(Refused, match="x must be a double"):
            double(wide, "x")
    for wide in (math.nan, 1.1e300, -math.inf):
        with pytest.raises(Refused, match="x must be a finite number"):
            double(wide, "x")


def test_a_claim_shows_all_of_a_number() -> None:
    assert exactly(0.1 + 0.2, "x") == "0.30000000000000004"
    assert exactly("1/3", "x") == "1/3"
    assert exactly("1" * SHOWN, "x") == "1" * SHOWN
    with pytest.raises(Refused, match=f"at most {SHOWN} characters: the claim states it"):
        exactly("1" * (SHOWN + 1), "x")
    with pytest.raises(Refused, match="must be a finite number"):
        exactly("a lie", "x")


def test_labels_and_what_is_quoted() -> None:
    assert label("x" * LABEL, "it") == "x" * LABEL
    value: Any
    for value in ("x" * (LABEL + 1), "\n", "\x7f", "\u2028", "\ud800", 1, None, ["x"]):
        with pytest.raises(Refused, match=f"it must be a text of at most {LABEL} printable characters"):
            label(value, "it")
    for value in ("\x1b[31m", "\ud800", "é", [1] * 10**5, {"a": 1}, 10**400, "x" * 10**6, math.nan):
        shown = quoted(value)
        assert shown.isascii()
        assert shown.isprintable()
        assert len(shown) <= 43
    assert short(Fraction(0)) == "0"
    assert short(Fraction(7, 2)) == "7/2"
    assert short(Fraction(1, 2**90)).startswith("about ")


def test_a_budget_is_spent_before_the_work() -> None:
    budget = Budget(100)
    budget.spend(60)
    budget.spend(40)
    with pytest.raises(OverBudget, match=r"needs more than the budget of 100 steps; run with --budget 1000\."):
        budget.spend(0.5)
    assert issubclass(OverBudget, Refused)


# ---------------------------------------------------------------------------------------------------------------- a file


@pytest.fixture(scope="module")
def mean() -> dict[str, Any]:
    return as_read(small("mean", (0.3, 0.33)))


def test_a_small_budget_proves_nothing_and_refutes_nothing(mean: dict[str, Any], tmp_path: Path) -> None:
    verdict = rp.verify(mean, budget=3000)
    assert (verdict.verified, verdict.over_budget, verdict.upper, verdict.claims) == (False, True, None, ())
    assert "run with --budget 30000" in verdict.sentence
    assert rp.verify(mean, budget=10**6).verified
    assert not rp.verify(changed(mean, ("lower", "bound"), 0.5)).over_budget
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(mean))
    assert rp.verify(path, budget=10**6).verified
    path.write_text(json.dumps(mean) + " " * 10**6)  # a byte a step: a file is not read beyond the budget
    assert rp.verify(path, budget=10**6).over_budget
    assert rp.verify(path, budget=2 * 10**6).verified


def test_the_hash_is_over_all_but_itself(mean: dict[str, Any]) -> None:
    assert mean["hash"] == content_hash(mean) == content_hash({**mean, "hash": "other"})
    for name in mean:
        if name != "hash":
            assert content_hash({**mean, name: "other"}) != mean["hash"]
    verdict = rp.verify({**mean, "hash": content_hash({**mean, "label": "x"})})
    assert verdict.sentence == "the file was changed after it was written: its content does not match its hash."


def test_claims_are_compared_word_for_word(mean: dict[str, Any]) -> None:
    for claims in (mean["claims"][:-1], [*mean["claims"], "It is the best."], [], " ".join(mean["claims"]), None):
        forged = {**mean, "claims": claims}
        forged["hash"] = content_hash(forged)
        verdict = rp.verify(forged)
        assert not verdict.verified
        assert verdict.sentence == f"claims must be what was proved: {' '.join(mean['claims'])}"


def test_bounds_are_doubles(mean: dict[str, Any]) -> None:
    """Else a program could show another number than the one that was proved."""
    for part in ("upper", "lower"):
        for bound, why in (("1/2", "must be a number; it is text"), (10**17 + 1, "must be a double"), (None, "finite")):
            assert why in rp.verify(changed(mean, (part, "bound"), bound)).sentence
    assert rp.verify(changed(mean, ("upper", "bound"), 1)).upper == 1.0


def test_a_range_of_priors_is_a_range(mean: dict[str, Any]) -> None:
    for ends in ([0.33, 0.3], [0.3], [0.3, 0.31, 0.33], [-1e-300, 0.33], [0.3, math.nextafter(1, 2)], [1, 1], [0, 0]):
        sentence = rp.verify(sign({**mean, "family": {**mean["family"], "prior_range": ends}})).sentence
        assert sentence == "family.prior_range must be two numbers within [0, 1], the lower first."
    for agents in (0, 101, 2.0, "2", True):
        sentence = rp.verify(sign({**mean, "family": {**mean["family"], "agents": agents}})).sentence
        assert "family.agents must be a whole number from 1 to 100" in sentence
