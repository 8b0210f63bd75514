"""Family files and design files: what is written can be read, and what is wrong is named."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import robustpool as rp
from refusals import input_error
from robustpool.cli.app import app
from robustpool.designs.design_file import content_hash, design_to_json
from robustpool.families.family_file import EXAMPLES, family_from_json
from robustpool.families.family_file import SCHEMA as SCHEMA_FILE
from robustpool.families.random_families import random_joints
from robustpool.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = json.loads(SCHEMA_FILE.read_text())
GOOD: dict[str, Any] = {
    "format": "robustpool-family/1",
    "states": ["dry", "rain"],
    "agents": ["ann", "bob"],
    "report": "posterior",
    "structures": [{"name": "monday", "joint": [[["1/4", 0.25], [0, "0.125"]], [[0, 0], ["1/8", 0.25]]]}],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**GOOD, **fields}


def with_joint(joint: Any, **extra: Any) -> dict[str, Any]:
    return changed(structures=[{"name": "monday", "joint": joint, **extra}])


BAD: list[tuple[Any, str, bool]] = [  # data, message, whether the schema can see it too
    ([1], r"a family must be a JSON object; it is a list\.", True),
    (changed(format="robustpool-family/2"), r"format must be 'robustpool-family/1'; it is 'robustpool-family/2'\.", True),
    (changed(colour="red"), r"the family has the unknown field 'colour'; the fields are format, states", True),
    ({k: v for k, v in GOOD.items() if k != "agents"}, r"the family must have the field 'agents'; it has 'format', 'states'", True),
    (changed(states=["rain"]), r"states must name at least 2; there is 1\.", True),
    (changed(states=["rain", "rain"]), r"states must be different names; they are \['rain', 'rain'\]\.", True),
    (changed(states="rain"), r"states must be a list of names; it is 'rain'\.", True),
    (changed(agents=[]), r"agents must name at least 1; there are 0\.", True),
    (changed(report="gut"), r"report must be one of posterior, higher-order, decision; it is 'gut'\.", True),
    (changed(structures=[]), r"structures must hold at least one structure; the list is empty\.", True),
    (changed(structures={}), r"structures must be a list; it is a object\.", True),
    (changed(structures=[7]), r"structures\[0\] must be an object with name and joint; it is a number\.", True),
    (changed(structures=[{"name": "x"}]), r"structures\[0\] must have the field 'joint'; it has 'name'\.", True),
    (changed(structures=[{"name": "x" * 9999, "joint": [[1]]}]), r"structures\[0\] \('x{90,100}[.]{3}x{90,100}'\)\.joint", False),
    (changed(structures=[{"joint": [], "weight": 1}]), r"structures\[0\] has the unknown field 'weight'; the fields are name, joint\.", True),
    (changed(structures=[{"name": 3, "joint": []}]), r"structures\[0\]\.name must be text; it is a number\.", True),
    (with_joint([[[0.5, 0.2], [0, 0]], [[0.1, 0], [0.1, 0]]]), r"probabilities must sum to 1; structures\[0\] \('monday'\)\.joint sums to 0\.9\.", False),
    (with_joint([[[1.2, -0.2], [0, 0]], [[0, 0], [0, 0]]]), r"must not be negative; structures\[0\] \('monday'\)\.joint\[0\]\[0\]\[1\] is -0\.2", True),
    (with_joint([[[float("nan"), 0.2], [0, 0]], [[0, 0], [0, 0]]]), r"\.joint must be finite; structures\[0\] \('monday'\)\.joint\[0\]\[0\]\[0\] is nan", False),
    (with_joint([[["a third", 0.2], [0, 0]], [[0, 0], [0, 0]]]), r"\.joint\[0\]\[0\]\[0\] must be a number or a fraction such as \"1/3\"; it is 'a third'\.", True),
    (with_joint([[["1/0", 0.2], [0, 0]], [[0, 0], [0, 0]]]), r"\.joint\[0\]\[0\]\[0\] must be a number or a fraction such as \"1/3\"; it is '1/0'\.", False),
    (with_joint([[[True, 0.0], [0, 0]], [[0, 0], [0, 0]]]), r"\.joint\[0\]\[0\]\[0\] must be a number; it is a truth value\.", True),
    (with_joint([[[None, 0.0], [0, 0]], [[0, 0], [0, 0]]]), r"\.joint\[0\]\[0\]\[0\] must be a number; it is a null\.", True),
    (with_joint([[0.5, 0.5], [0, 0]]), r"\.joint\[0\]\[0\] must have 1 more level of lists .*; it is a number\.", False),
    (with_joint([[[[0.5], [0.5]]], [[[0], [0]]]]), r"\.joint\[0\]\[0\]\[0\] must be a number; it is a list; there are more levels", False),
    (with_joint([[[0.5, 0.5], [0]], [[0, 0], [0, 0]]]), r"\.joint must be a full array: every list of signals of an agent needs the same length\.", False),
    (with_joint([[[0.5, 0.5]], []]), r"\.joint\[1\] must not be empty\.", True),
    (with_joint([[[0.5, 0.5]]]), r"\.joint must have one list for each of the 2 states; it has 1\.", False),
    (with_joint([[[0.0, 0.0], [0, 0]], [[0, 0], [0, True]]]), r"\.joint\[1\]\[1\]\[1\] must be a number; it is a truth value\.", True),
    (with_joint([[[1.0, 0.0], [0, 0]], [[0, 0], [0, None]]]), r"\.joint\[1\]\[1\]\[1\] must be a number; it is a null\.", True),
    (with_joint([[["1e1000000000", 0.2], [0, 0]], [[0, 0], [0, 0]]]), r"\.joint\[0\]\[0\]\[0\] must be a number or a fraction", True),
    (with_joint([[[10**400, 0.2], [0, 0]], [[0, 0], [0, 0]]]), r"\.joint\[0\]\[0\]\[0\] must be a finite number; it is 10000000000000000000\.", True),
    (with_joint(0.5), r"\.joint must have 3 more levels of lists .*; it is a number\.", True),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message", "in_schema"), BAD, ids=range(len(BAD)))
def test_bad_families_name_the_place_and_the_value(data: Any, message: str, in_schema: bool, tmp_path: Path) -> None:
    with input_error(message) as caught:
        family_from_json(data)
    assert "\n" not in str(caught.value)
    assert in_schema != jsonschema.Draft202012Validator(SCHEMA).is_valid(data)
    file = tmp_path / "family.json"
    file.write_text(json.dumps(data))
    with input_error(r"family\.json': "):
        rp.load_family(file)


def test_the_schema_takes_what_the_reader_takes() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    for data in (
        GOOD,
        {k: v for k, v in GOOD.items() if k != "report"},
        *map(json.loads, (f.read_text() for f in EXAMPLES.glob("*.json"))),
    ):
        validator.validate(data)
        family_from_json(data)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"is not JSON: Expecting property name enclosed in double quotes at line 1, column 2\."),
        (b"", r"is not JSON: Expecting value at line 1, column 1\."),
        (b"\xff\xfe\x00", r"cannot be read"),
        (b'{"format": ' + b"7" * 5000 + b"}", r"is not a family \(Exceeds the limit"),
        (b'{"format": "robustpool-design/1"}', r"this is a design, not a family"),
        (b"[" * 200_000, r"nested too deeply|is not JSON"),
    ],
)
def test_files_that_are_not_json(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "family.json"
    file.write_bytes(content)
    with input_error(message):
        rp.load_family(file)
    with input_error(r"the family file .*none\.json' does not exist\."):
        rp.load_family(tmp_path / "none.json")
    with input_error(r"cannot be read \("):
        rp.load_family(tmp_path)


def test_fractions_and_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "family.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    family = rp.load_family(file)
    assert family.names == ("monday",)
    assert family.states == ("dry", "rain")
    assert family.mass.sum() == pytest.approx(1)


def test_save_and_load_are_inverse(tmp_path: Path) -> None:
    drawn = random_joints(20, states=3, agents=2, rng=1)
    structures = [rp.InformationStructure(joint, name=f"s{i}") for i, joint in enumerate(drawn)]
    rp.save_family(structures, tmp_path / "family.json", report="higher-order")
    family = rp.load_family(tmp_path / "family.json")
    assert family.fingerprint() == rp.FiniteFamily.from_structures(structures, report="higher-order").fingerprint()
    assert family.names is not None
    assert family.names[3] == "s3"
    with input_error("a family must have at least one structure; it is empty"):
        rp.save_family([], tmp_path / "family.json")
    with input_error("save_family takes the list of structures; it got a FiniteFamily"):
        rp.save_family(family, tmp_path / "family.json")  # type: ignore[arg-type]


def test_designs_come_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "design.json"
    for states in (2, 3):
        solution: Any = rp.solve(rp.random_family(30, states=states, resolution=6, rng=1), tolerance=1e-5)
        rp.save_design(solution, file)
        design: Any = rp.load_design(file)
        np.testing.assert_array_equal(design.aggregator.forecasts, solution.aggregator.forecasts)
        profiles = solution.family.profiles
        np.testing.assert_array_equal(design(profiles), solution.aggregator(profiles))
        assert (design.lower, design.upper) == (solution.lower, solution.upper)
        assert design.bounds.proved is False
        assert sum(design.mixture.weight) == pytest.approx(1)
    assert [p.name for p in file.parent.iterdir()] == ["design.json"]


def test_a_design_that_was_changed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "design.json"
    rp.save_design(rp.solve(rp.random_family(5, rng=1)), file)
    data = json.loads(file.read_text())
    data["aggregator"]["forecasts"][0] += 1e-9
    file.write_text(json.dumps(data))
    with input_error("was changed after it was written: its content does not match its hash"):
        rp.load_design(file)
    file.write_text(json.dumps({**data, "format": "else"}))
    with input_error("is not a design: format must be 'robustpool-design/1'; it is 'else'"):
        rp.load_design(file)
    file.write_text("no")
    with input_error(r"the design file .* cannot be read"):
        rp.load_design(file)
    with input_error(r"the design file .* does not exist"):
        rp.load_design(tmp_path / "none.json")


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value stands in a tree of objects and lists: every key, and the first item of each list."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*at, key)
        yield from places(part, (*at, key))


def with_another(data: Any, place: tuple[Any, ...], *value: Any) -> Any:
    """A copy of a tree with another value at a place, or with nothing there."""
    (first, *rest), copy = place, data.copy()
    if rest:
        copy[first] = with_another(data[first], tuple(rest), *value)
    elif value:
        (copy[first],) = value
    else:
        del copy[first]
    return copy


def test_a_design_for_a_family_of_another_kind_answers(tmp_path: Path) -> None:
    file = tmp_path / "design.json"
    rp.save_design(rp.solve(rp.random_family(5, rng=1)), file)
    data = json.loads(file.read_text())
    del data["hash"]
    data["family"] = {"kind": "neighbours", "radius": 0.1}
    file.write_text(json.dumps({**data, "hash": content_hash(data)}))
    design = rp.load_design(file)
    assert design.made_for == "a family of the kind neighbours"
    assert not design.certifiable
    assert design(data["aggregator"]["reports"]).tolist() == data["aggregator"]["forecasts"]
    assert json.loads(json.dumps(design_to_json(design)))["family"] == data["family"]


@pytest.mark.parametrize("kind", ["finite", "independent"])
def test_a_design_that_is_not_whole_is_refused_in_a_sentence(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "design.json"
    if kind == "finite":
        rp.save_design(rp.solve(rp.load_family(EXAMPLES / "weather-unknown.json"), epsilon=0.5), file)
    else:
        rp.save_design(rp.solve(rp.ConditionallyIndependent(2, 2, 4)), file)
    data = json.loads(file.read_text())
    del data["hash"]
    later = "nature canonical canonical_applied upper_is off_grid exchanged prior_range interpolation guarantee"
    values: list[tuple[Any, ...]] = [(), (None,), ("x",), (-1,), (10**400,), ([],), ({},), (True,)]
    sentences = []
    for place in places(data):
        for value in values:
            changed = with_another(data, place, *value)
            file.write_text(json.dumps({**changed, "hash": content_hash(changed)}))
            try:
                design = rp.load_design(file)
            except rp.InputError as error:
                sentences.append(str(error))
            else:
                assert value or place[-1] in later.split() or isinstance(place[-1], int), place
                design._repr_html_()
                rp.explain([0.5, 0.5], design)
    assert len(sentences) > 300
    assert [text for text in sentences if not re.fullmatch(r"'.*' is not a (whole )?design: [^\n]+\.", text)] == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "mine.json"
    target.write_text("old")

    def half(partial: Path) -> None:
        partial.write_text("ne")
        assert target.read_text() == "old"  # nobody sees half of a file
        raise error

    with pytest.raises((rp.InputError, KeyboardInterrupt)) as caught:
        write_whole(target, half)
    if isinstance(error, OSError):
        assert str(caught.value) == f"{str(target)!r} cannot be written (No space left on device)."
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]  # and nothing is left behind
    write_whole(target, lambda partial: partial.write_text("new"))
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_links_are_followed_and_devices_left_alone(tmp_path: Path) -> None:
    solution = rp.solve(rp.random_family(5, rng=1))
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    rp.save_design(solution, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert rp.load_design(tmp_path / "real.json").upper == solution.upper
    with input_error("'/dev/null' cannot be written: it is not a regular file"):
        rp.save_design(solution, "/dev/null")


def test_the_hash_can_be_recomputed_by_anyone(tmp_path: Path) -> None:
    import hashlib

    file = tmp_path / "design.json"
    rp.save_design(rp.solve(rp.random_family(5, rng=1)), file)
    data = json.loads(file.read_text())
    claimed = data.pop("hash")
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    assert claimed == "sha256:" + hashlib.sha256(text.encode()).hexdigest() == content_hash(data)


def test_the_weather_example_of_the_paper() -> None:
    """Reports of 10 % and 50 % from a prior of 30 %: when both say 50 %, the answer is 70 % [Guo2024, Section 1]."""
    family = rp.load_family(EXAMPLES / "weather.json")
    solution = rp.solve(family)
    assert family.profiles.tolist() == pytest.approx(np.array([[0.1, 0.1], [0.1, 0.5], [0.5, 0.1], [0.5, 0.5]]))
    assert solution.aggregator([[0.5, 0.5]])[0] == pytest.approx(0.7)
    assert solution.upper == pytest.approx(0, abs=1e-15)
    assert rp.aggregate([0.5, 0.5], rule=solution.aggregator) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("certify minimax", "a certificate"),
        ("random-family --structures 2", "a family"),
        ("design --reports 4 --priors 8", "a design"),
    ],
)
def test_what_is_not_ours_is_not_overwritten(command: str, kind: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text('{"mine": true}')
    with input_error(rf"--out must be a new file or {kind}; .*mine\.json' is neither\."):
        CliRunner().invoke(app, [*command.split(), "--out", str(mine)], catch_exceptions=False)
    assert mine.read_text() == '{"mine": true}'
    mine.write_text("")  # an empty file is nobody's
    assert CliRunner().invoke(app, [*command.split(), "--out", str(mine)], catch_exceptions=False).exit_code == 0
    assert CliRunner().invoke(app, [*command.split(), "--out", str(mine)], catch_exceptions=False).exit_code == 0
