"""No file hurts: any bytes get a sentence, and the verifier counts all work before it is done."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forging
import robustpool as rp
from hostile import ATTACKS, MEAN, certificate, nested_splits, nodes
from programs import run_python
from quick import one_of
from robustpool.designs.design_file import content_hash as sealing
from robustpool.families.family_file import EXAMPLES
from robustpool.verification.reading import Budget, Refused
from robustpool.verification.verify import check, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BUDGET = 200_000
ANY_TIME = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
SMALL = ("mean", "slopes on both sides", "geometric mean", "finite, posterior, ratio", "finite, listed")


def answer(path: Path | str, budget: int = BUDGET) -> str:
    """The sentence about a file that proves nothing: one line that can be printed, and no stumbling."""
    try:
        verdict = rp.verify(path, budget=budget)
    except rp.InputError as error:
        sentence = str(error)
    else:
        assert not verdict.verified
        assert verdict.claims == ()
        sentence = verdict.sentence
        assert "could not be read" not in sentence, sentence
    assert sentence.isprintable()
    assert sentence.endswith(".")
    return sentence


def written(path: Path, content: bytes | str) -> Path:
    """A file with this content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


# ------------------------------------------------------------------------------------------------------------- any bytes


@ANY_TIME
@given(content=st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes(content: bytes, tmp_path: Path) -> None:
    answer(written(tmp_path / "file.json", content))


ODD_NUMBERS = [0, 1, 0.5, "1/3", "-1/3", "1/0", 10**400, -(10**300), 1e299, 1e308]
NUMBERS = st.integers() | st.floats() | st.sampled_from(ODD_NUMBERS)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(["\ud800", "\x00", "additive"])
NAMES = st.text(max_size=4)
TREES = st.recursive(LEAVES, lambda part: st.lists(part, max_size=4) | st.dictionaries(NAMES, part, max_size=4))


@ANY_TIME
@given(tree=TREES)
def test_any_json(tree: Any, tmp_path: Path) -> None:
    answer(written(tmp_path / "file.json", json.dumps(tree)))


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every object or list of a tree, with each of its keys."""
    if not isinstance(data, (dict, list)):
        return []
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    return [place for key in keys for place in ((data, key), *places(data[key]))]


@ANY_TIME
@given(data=st.data(), tree=TREES)
@pytest.mark.parametrize("kind", SMALL)
def test_any_tree_in_any_place(kind: str, data: st.DataObject, tree: Any, tmp_path: Path) -> None:
    """Signed again, so that the tree is read; what is accepted nonetheless is true."""
    forged = forging.original(kind)
    where, key = data.draw(st.sampled_from(places(forged)), label="place")
    if data.draw(st.booleans(), label="another key") and isinstance(where, dict):
        key = data.draw(st.text(max_size=6), label="key")
    where[key] = tree
    forging.sign(forged)
    file = written(tmp_path / "file.json", json.dumps(forged))
    if not (isinstance(json.loads(file.read_text()), dict) and forging.verdict(forged).verified):
        answer(file)


@ANY_TIME
@given(data=st.data())
@pytest.mark.parametrize("kind", SMALL)
def test_any_change_of_bytes(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    """A bit, a cut, a part twice, a part elsewhere, some bytes: the hash or the reader sees it."""
    content = json.dumps(forging.original(kind)).encode()
    start, end = sorted(data.draw(st.integers(0, len(content) - 1), label="place") for _ in range(2))
    way = data.draw(st.sampled_from(["bit", "cut", "twice", "without", "insert"]))
    flipped = bytes([content[start] ^ (1 << data.draw(st.integers(0, 7)))])
    changed = {
        "bit": content[:start] + flipped + content[start + 1 :],
        "cut": content[:start],
        "twice": content[:end] + content[start:],
        "without": content[:start] + content[end:],
        "insert": content[:start] + data.draw(st.binary(max_size=8)) + content[start:],
    }[way]
    try:
        same = json.loads(changed) == json.loads(content)  # a space, or nothing at all
    except ValueError:
        same = False
    if not same:
        answer(written(tmp_path / "file.json", changed))


# ---------------------------------------------------------------------------------------------------------- special files


def honest(**parts: Any) -> str:
    return json.dumps(forging.original("mean") | parts)


def nested(levels: int) -> str:
    return honest().replace('"claims": [', '"claims": [' + "[" * levels + "]" * levels + ", ", 1)


# Made by the test that wants it: no worker should prove anything before it has collected the tests.
SPECIAL: dict[str, Callable[[], bytes | str]] = {
    "empty": lambda: b"",
    "NUL": lambda: b"\x00",
    "a byte order mark": lambda: b"\xef\xbb\xbf" + honest().encode(),
    "UTF-16": lambda: honest().encode("utf-16"),
    "UTF-32": lambda: honest().encode("utf-32"),
    "no UTF-8": lambda: honest().encode()[:-2] + b"\xff}",
    "nested lists": lambda: "[" * 100_000,
    "nested lists that end": lambda: "[" * 100_000 + "]" * 100_000,
    "nested objects": lambda: '{"a":' * 100_000 + "0" + "}" * 100_000,
    "nested within a certificate": lambda: nested(100_000),
    "nested a little within a certificate": lambda: nested(700),
    "a list": lambda: "[1, 2]",
    "a number": lambda: "1e999",
    "not a number": lambda: "NaN",
    "an integer of 5000 digits": lambda: honest().replace('"agents": 2', '"agents": ' + "2" * 5000),
    "an exponent": lambda: honest().replace('"agents": 2', '"agents": 2e999999999'),
    "an infinite bound": lambda: honest(lower={"bound": math.inf}),
    "a name twice": lambda: honest().replace('"loss"', '"paradigm": "additive", "loss"'),
    "a lone surrogate": lambda: honest(label="\ud800"),
    "a lone surrogate in a name": lambda: honest(**{"\ud800": 1}),
    "a format that is a list": lambda: honest(format=["robustpool-certificate/2"]),
    "a newer format": lambda: honest(format="robustpool-certificate/3\n"),
    "the older format": lambda: honest(format="robustpool-certificate/1"),
    "five megabytes of a string": lambda: '"' + "a" * 5_000_000 + '"',
    "five megabytes of a label": lambda: honest(label="a" * 5_000_000),
    "five megabytes of digits": lambda: "1" * 5_000_000,
    "five megabytes of brackets": lambda: "[" * 5_000_000,
    "five megabytes of spaces": lambda: " " * 5_000_000,
}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_file(name: str, tmp_path: Path) -> None:
    answer(written(tmp_path / "file.json", SPECIAL[name]()), 6_000_000)


@pytest.mark.parametrize(
    "name", ["UTF-16", "nested within a certificate", "a lone surrogate", "an integer of 5000 digits", "a newer format"]
)
def test_a_special_file_on_the_command_line(name: str, tmp_path: Path) -> None:
    file = written(tmp_path / "file.json", SPECIAL[name]())
    done = run_python("-m", "robustpool", "verify", str(file))
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_a_place_without_a_file(tmp_path: Path) -> None:
    assert "does not exist" in answer(tmp_path / "none.json")
    assert "cannot be read" in answer(tmp_path)
    assert "cannot be read" in answer("\x00")
    (tmp_path / "loop.json").symlink_to("loop.json")
    assert "cannot be read" in answer(tmp_path / "loop.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_an_endless_file_is_left_after_the_budget(tmp_path: Path) -> None:
    """The writer is stopped when the reader leaves; it would have gone on for ten times as much."""
    pipe = tmp_path / "pipe"
    sent: list[int] = []
    os.mkfifo(pipe)

    def write() -> None:
        try:
            with pipe.open("wb", buffering=0) as file:
                sent.extend(file.write(b" " * 1000) for _ in range(10 * BUDGET // 1000))
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    assert "needs more than the budget" in answer(pipe)
    writer.join()
    assert sum(sent) < 3 * BUDGET


# ------------------------------------------------------------------------------------------------------------ the budget


def spent(data: dict[str, Any]) -> float:
    """All the work that a check counts, whatever it says in the end."""
    budget = Budget(1e9)
    with contextlib.suppress(Refused):
        check(data, budget)
    return budget.spent


@pytest.mark.parametrize("name", one_of(3, ATTACKS))
def test_work_beyond_the_budget_is_not_done(name: str) -> None:
    make, size = ATTACKS[name]
    data = make(size)
    verdict = rp.verify(data, budget=BUDGET)
    assert verdict.over_budget, verdict.sentence
    assert verdict.sentence == "this needs more than the budget of 200,000 steps; run with --budget 2000000."
    assert not verdict.verified


@pytest.mark.parametrize("name", one_of(3, reversed(ATTACKS)))
def test_work_is_counted_as_it_grows(name: str) -> None:
    """Twice the size is nearly twice the work, at least."""
    make, size = ATTACKS[name]
    few, many = (spent(make(size // part)) for part in (4, 2))
    assert 1.6 * few < many


def test_the_budget_is_not_for_nothing() -> None:
    """An honest certificate takes a small part of the default budget, and all of what it takes is needed."""
    data = forging.original("design")
    steps = spent(data)
    assert rp.verify(data, budget=math.ceil(steps)).verified
    assert rp.verify(data, budget=math.floor(steps) - 1).over_budget


@pytest.mark.parametrize("levels", [200, 900, 5000])
def test_deep_splits_get_a_sentence(levels: int) -> None:
    entry = {"knots": [0, 1], "slopes": [[[0] * 2] * 2] * 2}
    for _ in range(levels):
        entry = {"end": "low", "at": 0.5, "parts": [entry]}
    upper = {"bound": 0.99, "witness": {"kind": "dual", "tails": {}, "intervals": [{"priors": [0.3, 0.7], **entry}]}}
    data = copy.copy(certificate(MEAN, priors=[0.3, 0.7]))
    data["upper"] = upper
    try:
        data["hash"] = content_hash(data)
    except RecursionError:
        data["hash"] = "sha256:0"
    verdict = rp.verify(data, budget=BUDGET)
    assert not verdict.verified
    assert verdict.sentence.isprintable()


@pytest.mark.parametrize(
    "data",
    [
        nodes(20, ends=(-1e299, 1e299)),
        nodes(20, ends=(-1e299, 0.0), agents=12),
        nodes(20, form="linear", alpha=1e299, shift=-1e299),
        nodes(20, form="linear", alpha=1e-300, shift=0),
        nodes(20, form="tanh", a=1e-300, b=1e299, k=1e-300),
        nodes(20, form="tanh", a=0, b=1e-300, k=1e299),
        nodes(20, kappa=1e299),
        nodes(20, kappa=f"1/{10**999}"),
        nested_splits(3),
    ],
)
def test_extreme_numbers_get_a_sentence(data: dict[str, Any]) -> None:
    forging.verdict(data)


# --------------------------------------------------------------------------------- families, designs and fitted pools

FAMILY = json.loads((EXAMPLES / "weather.json").read_text())
POOL = {"format": "robustpool-pool/1", "aggregator": {"rule": "mean"}}
DESIGN = {"format": "robustpool-design/1", "settings": {"method": "cutting-planes"}}
LOADERS: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "family": (rp.load_family, FAMILY),
    "design": (rp.load_design, DESIGN),
    "fitted pool": (rp.load_pool, POOL),
    "rule": (lambda path: rp.aggregate([0.5, 0.5], rule=path), POOL),
}


def refusal(kind: str, text: str, tmp_path: Path) -> str:
    """The sentence about a file that is not whole."""
    with pytest.raises(rp.InputError) as caught:
        LOADERS[kind][0](written(tmp_path / "file.json", text))
    sentence = str(caught.value)
    assert sentence.isprintable()
    assert len(sentence) < 1000
    return sentence


def deep(levels: int) -> Any:
    value: Any = 0.5
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [90, 120, 900])
@pytest.mark.parametrize("kind", LOADERS)
def test_brackets_within_brackets(kind: str, levels: int, tmp_path: Path) -> None:
    """In each place of the file; json reads 900 levels, but nobody could show or sign them."""
    data = LOADERS[kind][1]
    for where, key in places(data):
        if where is data:
            text = json.dumps(data | {key: 0}).replace(f'"{key}": 0', f'"{key}": {"[" * levels}0{"]" * levels}')
            assert levels < 100 or "its brackets are nested too deeply" in refusal(kind, text, tmp_path)
            refusal(kind, text, tmp_path)


def test_a_joint_nested_deeply(tmp_path: Path) -> None:
    data = copy.deepcopy(FAMILY)
    data["structures"][0]["joint"] = deep(900)
    assert "nested too deeply" in refusal("family", json.dumps(data), tmp_path)


@pytest.mark.parametrize("kind", LOADERS)
def test_a_name_twice(kind: str, tmp_path: Path) -> None:
    text = json.dumps(LOADERS[kind][1])
    assert "an object in it has the name 'format' twice" in refusal(kind, '{"format": 1, ' + text[1:], tmp_path)


@pytest.mark.parametrize("value", ["x" * 10**6, [["x"] * 10**5], {"x" * 10**6: 1}, "\ud800" * 1000, "a\nb"])
@pytest.mark.parametrize("kind", LOADERS)
def test_what_is_wrong_is_shown_in_short(kind: str, value: Any, tmp_path: Path) -> None:
    for key in LOADERS[kind][1]:
        data = LOADERS[kind][1] | {key: value}
        refusal(kind, json.dumps(data | {"hash": sealing(data)} if kind != "family" else data), tmp_path)
