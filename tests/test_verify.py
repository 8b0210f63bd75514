"""The verifier against forgers: whatever is changed in a certificate, it never accepts a claim that is false."""

from __future__ import annotations

import copy
import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import oracle
import robustpool as rp
from forging import sign, small, stop_at_once
from programs import run_robustpool
from quick import slowly
from refusals import input_error
from robustpool.verification.verify import content_hash
from tampering import MAKERS, as_read, branches, changed, leaves, part_of, refusal, without

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module", params=list(MAKERS))
def original(request: pytest.FixtureRequest) -> dict[str, Any]:
    data = as_read(MAKERS[request.param]())
    verdict = rp.verify(data)
    assert verdict.verified, verdict.sentence
    assert verdict.lower == data["lower"]["bound"]
    for name in ("upper", "value", "unanimous"):
        assert getattr(verdict, name) == (data[name]["bound"] if name in data else None)
    assert list(verdict.claims) == data["claims"]
    return data


def accepted(data: dict[str, Any]) -> bool:
    """The verdict; what is accepted has to be true, and no forgery may make the verifier stumble."""
    verdict = rp.verify(data)
    if verdict.verified:
        assert oracle.falsehood(data) is None
    else:
        assert (verdict.upper, verdict.lower, verdict.value, verdict.claims) == (None, None, None, ())
    assert verdict.sentence.endswith(".")
    return verdict.verified


# ---------------------------------------------------------------------------------------------------------- one change


def test_the_claims_are_true(original: dict[str, Any]) -> None:
    assert accepted(sign(copy.deepcopy(original)))


def test_any_change_is_seen(original: dict[str, Any]) -> None:
    for at, value in leaves(original):
        other = f"{value}0" if isinstance(value, str) else float(np.nextafter(value, 2))
        verdict = rp.verify(changed(original, at, other, signed=False))
        assert not verdict.verified, at
    for at in branches(original):
        assert not rp.verify(without(original, at)).verified, at


def test_no_object_may_hold_more_than_is_checked(original: dict[str, Any]) -> None:
    """A field that nobody reads, in each object at each depth: a reader could take it for a part of what is proved."""
    for at in [(), *branches(original)]:
        place = part_of(original, at)
        if isinstance(place, dict):
            more = {"x": 1, "values": [[0.0]], "arithmetic": "exact", "\x1b[31m": None}
            for name in more.keys() - place.keys():
                sentence = refusal(changed(original, (*at, name), more[name]))
                assert "which is not checked" in sentence or "and no others" in sentence, at
                assert sentence.isprintable()


def test_bounds_that_say_more_are_refused(original: dict[str, Any]) -> None:
    lower = original["lower"]["bound"]
    assert not accepted(changed(original, ("lower", "bound"), lower + 1e-9))
    if "value" in original:
        value = original["value"]["bound"]
        assert not accepted(changed(original, ("value", "bound"), value + 1e-9))
    if "upper" in original:
        assert not accepted(changed(original, ("upper", "bound"), lower - 1e-9))
        assert not accepted(changed(original, ("lower", "bound"), original["upper"]["bound"] + 1e-9))
        assert accepted(changed(original, ("upper", "bound"), original["upper"]["bound"] + 0.01))
    assert accepted(changed(original, ("lower", "bound"), lower - 0.01))


def other_values(value: Any) -> list[Any]:
    if isinstance(value, str):
        smaller = [str(Fraction(value) * Fraction(9, 10))] if re.fullmatch(r"\d+/\d+", value) else []
        return ["7/5", "-1/9", "1/0", "", "nan", *smaller]
    return [other for other in (value * 0.5, value + 0.25, -value, 1e300) if other != value]


@pytest.mark.parametrize("most", [1, slowly(3)])
def test_what_is_changed_grossly_proves_nothing_false(original: dict[str, Any], most: int) -> None:
    """Every leaf, with a hash that fits: refused, or still true (a slope may have had room)."""
    rng = np.random.default_rng(5)
    for at, value in leaves(original):
        others = other_values(value)
        for number in rng.choice(len(others), size=1 if "slopes" in at else min(most, len(others)), replace=False):
            accepted(changed(original, at, others[number]))


@pytest.mark.slow
def test_whatever_is_changed_grossly_proves_nothing_false(original: dict[str, Any]) -> None:
    for at, value in leaves(original):
        for other in other_values(value):
            accepted(changed(original, at, other))


ODD: list[Any] = [None, True, False, np.nan, np.inf, -np.inf, 10**400, -1, "x", [], {}, [[]], [1, "2"]]


@pytest.mark.parametrize("several", [1, slowly(2)])
def test_oddities_are_refused_with_a_sentence(original: dict[str, Any], several: int) -> None:
    """In every place something that does not belong there: never an exception, never anything false."""
    rng = np.random.default_rng(4)
    for at in branches(original):
        for number in rng.choice(len(ODD), size=several, replace=False):
            accepted(changed(original, at, ODD[number]))


# ------------------------------------------------------------------------------------------------------------- forgeries


@pytest.fixture
def mean() -> dict[str, Any]:
    return as_read(small("mean", (0.3, 0.33)))


LIE = "The worst-case regret of the mean lies between 0.0 and 0.001."
KNOWS_NOTHING = [{"weight": "1", "prior": "1/2", "reports": [["1/2", "1/2"], ["1/2", "1/2"]]}]


def test_a_single_prior_is_not_covered_by_nothing(mean: dict[str, Any]) -> None:
    """This one passed once: where a range is a single prior, no interval was asked for."""
    mean["family"]["prior_range"] = [0.5, 0.5]
    mean["lower"] = {"bound": 0, "mixture": KNOWS_NOTHING}
    mean["upper"] = {"bound": 0.0, "witness": {"kind": "dual", "tails": {}, "intervals": []}}
    mean.pop("value", None)
    assert "priors from 0.5 to 0.5 are not covered" in refusal(mean)


@pytest.mark.parametrize("prior_range", [[0.29, 0.33], [0.3, 0.34], [0, 0.33], [0.3, 1], ["1/4", "1/3"], [0.36, 0.7]])
def test_priors_that_are_not_covered(mean: dict[str, Any], prior_range: list[Any]) -> None:
    mean["family"]["prior_range"] = prior_range
    mean["lower"]["mixture"] = [{"weight": 1, "prior": 0.32, "reports": [[0.32, 0.32], [0.32, 0.32]]}]
    mean["lower"]["bound"] = 0.0
    mean.pop("value", None)
    if prior_range == [0.36, 0.7]:
        mean["lower"]["mixture"] = KNOWS_NOTHING
    assert "are not covered" in refusal(mean)


def test_a_gap_between_two_intervals(mean: dict[str, Any]) -> None:
    (entry,) = mean["upper"]["witness"]["intervals"]
    left, right = copy.deepcopy(entry), copy.deepcopy(entry)
    left["priors"][1], right["priors"][0] = 0.319, 0.321
    mean["upper"]["witness"]["intervals"] = [left, right]
    assert "0.319 to 0.33 are not covered" in refusal(mean)
    right["priors"][0] = 0.31  # they may overlap; but the slopes are then others than those that were found
    mean["upper"]["bound"] = 0.2
    assert rp.verify(sign(mean)).verified
    mean["upper"]["witness"]["intervals"] = [right, left]
    assert "not in order" in refusal(mean)


MALFORMED: dict[str, list[Any]] = {
    "priors": [[0.33, 0.3], [0.3, 0.3], [0.0, 0.33], [0.3, 1.0], [0.3, 0.32, 0.33], ["0.3", 0.33], [True, 0.33]],
    "knots": [
        *([0.0, 1.0, 0.5], [0.0, 0.5], [0.5, 1.0], [0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 1.0, 2.0]),
        *([0.0, np.nan, 1.0], [[0.0, 1.0]], 3),
    ],
    "slopes": [[[0.0, 0.0]], [[0.0, 0.0], [0.0]], [[0.0, 0.0], ["0.0", 0.0]], [[np.inf, 0.0], [0.0, 0.0]], None],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in MALFORMED.items() for value in values])
def test_intervals_that_are_not_well_formed(mean: dict[str, Any], key: str, value: Any) -> None:
    mean["upper"]["witness"]["intervals"][0][key] = value
    mean["upper"]["bound"] = 0.9
    assert f"upper.witness.intervals[0].{key}" in refusal(mean)


@pytest.mark.parametrize(
    "tail",
    [
        {"prior": 0.02, "constants": [0.0, float("nan"), 0.1]},
        {"prior": 0.02, "constants": [0.0, 0.1, -0.1]},
        {"prior": 0.02, "constants": [0.0, 0.1]},
        {"prior": 0.0, "constants": [0.0, 0.1, 0.1]},
        {"prior": 1.0, "constants": [0.0, 0.1, 0.1]},
        {"prior": "1/50", "constants": [0.0, 0.1, 0.1]},
        {"prior": 0.02},
        "0.02",
    ],
)
def test_tails_that_are_not_well_formed(mean: dict[str, Any], tail: Any) -> None:
    mean["upper"]["witness"]["tails"]["low"] = tail
    mean["upper"]["bound"] = 0.9
    assert "upper.witness.tails.low" in refusal(mean)


def test_a_tail_too_far_or_too_flat() -> None:
    data = as_read(small("mean", (0.0, 0.016)))
    tail = data["upper"]["witness"]["tails"]["low"]
    good = copy.deepcopy(tail)
    tail["prior"] = 0.2
    assert "does not prove the bound at its prior 0.2" in refusal(data)
    tail.update(prior=good["prior"], constants=[0.0, 0.0, 0.0])
    assert "do not hold for all reports" in refusal(data)
    data["upper"]["witness"]["tails"] = {"middle": good}
    assert "upper.witness.tails has the field 'middle'" in refusal(data)


def test_a_symmetry_that_is_not_there(mean: dict[str, Any]) -> None:
    """Whether agents can be exchanged, or the mirror shows the same, is seen in the table, not claimed."""
    mean["aggregator"]["values"] = [[0.0, 0.5], [0.5000000000000001, 1.0]]
    mean["lower"]["bound"] = 0.0
    assert "slopes[0][0] must be a list" in refusal(mean)  # slopes of each agent
    whole = as_read(rp.certify("mean", tolerance=1e-2, progress=stop_at_once))
    assert whole["upper"]["witness"]["intervals"][-1]["priors"][1] == 0.5
    whole["aggregator"]["values"] = [[0.0, 0.5], [0.5, 0.9999999999999999]]
    whole["lower"]["bound"] = 0.0
    assert "priors from 0.5 to 1 are not covered" in refusal(whole)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        *(({"claims": lies}, "claims must be what was proved") for lies in ([LIE], [])),
        ({"claim": "It is the best rule."}, "has the field 'claim', which is not checked"),
        ({"also": {"bound": 0.0}}, "has the field 'also', which is not checked"),
        ({"format": "robustpool-certificate/1"}, "was made by an earlier version, whose claims could say too much"),
        ({"format": "robustpool-certificate/3"}, "format must be 'robustpool-certificate/2'"),
        ({"loss": "log"}, "summed log-odds must be 'square'; it is 'log'"),
        ({"loss": "convex"}, "loss must be 'square' or 'log'; it is 'convex'"),
        ({"paradigm": "ratio"}, "paradigm must be 'additive'"),
        ({"family": []}, "family must be an object with the fields kind"),
        ({"aggregator": {"kind": "python"}}, "aggregator.kind must be 'grid' or .*; it is 'python'"),
        ({"aggregator": {"kind": "grid", "values": [["0", 0.5], [0.5, 1]]}}, r"values\[0\]\[0\] must be a number"),
        ({"aggregator": {"kind": "grid", "values": [[False, 0.5], [0.5, True]]}}, "must be a finite number"),
        ({"aggregator": {"kind": "grid", "values": [[0, 0.5], [0.5, 1.1]]}}, r"must be forecasts in \[0, 1\]"),
    ],
)
def test_other_claims(mean: dict[str, Any], change: dict[str, Any], expected: str) -> None:
    mean.update(change)
    mean["hash"] = content_hash(mean)
    verdict = rp.verify(mean)
    assert not verdict.verified
    assert re.search(expected, verdict.sentence)


def test_a_family_says_nothing_that_is_not_checked(mean: dict[str, Any]) -> None:
    mean["family"]["signals"] = 2
    assert "family has the field 'signals', which is not checked" in refusal(mean)
    mean["family"] = {"kind": "conditionally-independent", "agents": 3, "prior_range": [0.3, 0.33]}
    mean.pop("value", None)
    assert "must hold one pair for each of the 3 agents" in refusal(mean)
    mean["lower"]["mixture"][0]["reports"] = [["3/10", "3/10"]] * 3
    mean["lower"]["mixture"][0]["prior"] = "3/10"
    mean["family"]["prior_range"] = [0.25, 0.33]
    assert "is checked for two agents; there are 3" in refusal(mean)


# ------------------------------------------------------------------------------------------------------ the command line


def test_certify_and_verify_at_the_command_line(tmp_path: Path) -> None:
    options = "--prior-range 0.45 0.5 --tolerance 1e-2 --out mean.json --json"
    done = run_robustpool("certify", "mean", *options.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert {"upper", "lower", "arithmetic", "seconds", "output"} <= set(made)
    assert made["lower"] <= 0.0625 <= made["upper"] <= 0.0726
    assert made["output"] == "mean.json"
    assert "interval arithmetic" in made["arithmetic"]

    done = run_robustpool("verify", "mean.json", "--json", cwd=tmp_path)
    verdict = json.loads(done.stdout)
    assert done.returncode == 0
    assert (verdict["verified"], verdict["upper"], verdict["lower"]) == (True, made["upper"], made["lower"])

    data = json.loads((tmp_path / "mean.json").read_text())
    data["upper"]["bound"] = 0.0625 - 1e-9
    (tmp_path / "forged.json").write_text(json.dumps(sign(data)))
    done = run_robustpool("verify", "forged.json", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["verified"]) == (1, False)
    assert "do not prove the bound" in json.loads(done.stdout)["sentence"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no JSON", "cannot be read"),
        ("[1, 2]", "must be a JSON object"),
        ('{"upper": {"bound": 0.1, "bound": 0.2}}', "has a name twice"),
    ],
)
def test_a_file_that_is_no_certificate(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "file.json").write_text(text)
    with input_error(sentence):
        rp.verify(tmp_path / "file.json")


def test_the_command_line_says_what_is_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text("no JSON")
    done = run_robustpool("verify", "file.json", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert "the certificate 'file.json' cannot be read" in done.stderr
