"""The verifier against forgers: whatever is changed in a certificate and signed again, what is accepted is true."""

from __future__ import annotations

import contextlib
import json
import math
import random
from typing import TYPE_CHECKING

import pytest

import forging
import oracle
from quick import one_of

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE = 50  # forgeries in a test
LOG_ODDS = ("theorem", "slopes", "slopes for three", "slopes on both sides")
needs_the_referee = pytest.mark.skipif(not forging.REFEREE, reason="there is no second checker")


# ------------------------------------------------------------------------------------------------- the tests themselves


@pytest.mark.parametrize("kind", forging.KINDS)
def test_an_honest_certificate_is_verified_and_true(kind: str) -> None:
    data = forging.original(kind)
    assert forging.sign(forging.original(kind)) == data
    assert forging.verdict(data).verified


@pytest.mark.parametrize("kind", forging.KINDS)
def test_the_oracle_sees_a_false_upper_bound(kind: str) -> None:
    """The search attains what the certificate's own mixture shows; on finite families the maximum is exact."""
    data = forging.original(kind)
    attained = float(oracle.worst_case(data)) if kind in forging.FINITE else data["lower"]["bound"]
    data = {part: data[part] for part in ("family", "aggregator", "paradigm", "lower")}
    data["upper"], data["lower"]["bound"] = {"bound": attained - 1e-11}, -1.0
    assert "a structure costs" in str(oracle.falsehood(data))


@pytest.mark.parametrize("name", ["lower", "value"])
@pytest.mark.parametrize("kind", forging.KINDS)
def test_the_oracle_sees_a_false_lower_bound(kind: str, name: str) -> None:
    data = forging.original(kind)
    mixture = data[name if name in data else "lower"]["mixture"]
    truth = {"lower": oracle.expected, "value": oracle.least}[name](data, mixture)
    data = {part: data[part] for part in ("family", "aggregator", "paradigm")}
    data[name] = {"bound": math.nextafter(forging.rounded(truth, math.inf) + oracle.slack(data), 2), "mixture": mixture}
    assert f"{name} is" in str(oracle.falsehood(data))


def test_the_oracle_sees_a_gap() -> None:
    data = forging.original("mean")
    (entry,) = data["upper"]["witness"]["intervals"]
    assert oracle.uncovered(data) is None
    other = {**entry, "priors": [0.315, entry["priors"][1]]}
    entry["priors"] = [entry["priors"][0], math.nextafter(0.315, 0)]
    data["upper"]["witness"]["intervals"].append(other)
    gap = oracle.uncovered(data)
    assert gap is not None
    assert math.nextafter(0.315, 0) < gap < 0.315


@pytest.mark.parametrize("way", forging.FORGERIES)
def test_every_way_to_forge_changes_some_certificate(way: str) -> None:
    rng = random.Random(5)
    for kind in rng.sample(forging.KINDS, len(forging.KINDS)):
        data = forging.original(kind)
        with contextlib.suppress(*forging.STUMBLES):
            forging.FORGERIES[way](data, rng)
        if data != forging.original(kind):
            return
    pytest.fail("nothing was changed")


# -------------------------------------------------------------------------------------------------------- the forgeries


def accepted(seed: int) -> int:
    """How many forgeries are accepted; `forging.verdict` fails if one of them is false."""
    rng, count = random.Random(seed), 0
    for _ in range(AT_ONCE):
        name, data = forging.forge(rng)
        try:
            count += forging.verdict(data).verified
        except AssertionError as error:
            error.add_note(f"{name}\n{json.dumps(data)}")
            raise
    return count


@pytest.mark.parametrize("seed", one_of(2, range(6)))
def test_no_forgery_proves_anything_false(seed: int) -> None:
    assert 0 < accepted(seed) < AT_ONCE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_no_forgery_of_thousands_proves_anything_false(seed: int) -> None:
    assert 0 < accepted(seed) < AT_ONCE


# ------------------------------------------------------------------------------------------------------ the other checker


@needs_the_referee
@pytest.mark.parametrize("kind", forging.INDEPENDENT)
def test_the_referee_accepts_honest_certificates(kind: str, tmp_path: Path) -> None:
    data = forging.original(kind)
    if kind in LOG_ODDS or "value" in data:
        (tmp_path / "certificate.json").write_text(json.dumps(data))
        assert forging.referee_accepts(tmp_path / "certificate.json")


def check_the_referee(seed: int, count: int, folder: Path) -> None:
    """What it accepts is true: all of it for rules of the summed log-odds, else the value."""
    rng = random.Random(seed)
    for _ in range(count):
        name, data = forging.forge(rng, LOG_ODDS)
        file = folder / "certificate.json"
        file.write_text(json.dumps(data))
        if forging.referee_accepts(file):
            if data["aggregator"]["kind"] != "log-odds":
                data = {part: data[part] for part in ("family", "aggregator", "value", "paradigm")}
            assert oracle.falsehood(data) is None, (name, oracle.falsehood(data), json.dumps(data))


@needs_the_referee
def test_no_forgery_deceives_the_referee(tmp_path: Path) -> None:
    check_the_referee(1, 15, tmp_path)


@needs_the_referee
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 220))
def test_no_forgery_of_hundreds_deceives_the_referee(seed: int, tmp_path: Path) -> None:
    check_the_referee(seed, 15, tmp_path)
