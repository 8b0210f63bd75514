"""Checkpoints: whole, of one job, one process at a time; what is damaged, foreign or forged is told and never lost."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from quick import slowly
from refusals import input_error
from robustpool import checkpoints
from robustpool.certificates import certify, cover, dual, independent, saved_proofs
from robustpool.certificates.certifiable import describe, problem_of
from robustpool.checkpoints import Checkpoint, CheckpointWarning
from robustpool.designs.any_aggregator import as_aggregator
from robustpool.errors import UnfitWorkersError
from robustpool.families.worlds import make_world
from robustpool.locks import HeldError, locked
from robustpool.losses import get_loss

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = rp.ConditionallyIndependent(2, 6, 20)
WAYS: dict[str, dict[str, Any]] = {
    "cutting planes": {"tolerance": 1e-12, "rounds": 4},
    "multiplicative weights": {"tolerance": 0.0, "rounds": 20, "method": "multiplicative-weights"},
}


def plain(path: Path, job: str = "job") -> Checkpoint[Any]:
    return Checkpoint(path, job, lambda data: data, seconds=0.0)


def saved(path: Path, *states: Any, job: str = "job") -> None:
    """A checkpoint with the last of these states, and the one before it."""
    with plain(path, job) as checkpoint:
        for state in states:
            checkpoint.offer(lambda state=state: state, now=True)  # type: ignore[misc]


def begun(path: Path, resume: Any = True, job: str = "job") -> Any:
    with plain(path, job) as checkpoint:
        return checkpoint.begin(resume)


def refusal(function: Any) -> Any:
    """The sentence of an error, or what comes back."""
    try:
        return function()
    except rp.InputError as error:
        return str(error)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ------------------------------------------------------------------------------------------------------------- the file


def test_what_is_saved_comes_back_bit_for_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    state: dict[str, Any] = {
        "numbers": [0.1, -0.0, float("inf"), 10**40, True, None, "text", []],
        "arrays": [rng.random((3, 2)), np.zeros((0, 4)), np.arange(5), np.array(["a"])],
        "nested": {"deep": [{"x": np.float64(1 / 3)}, (1, 2)]},
        "random": rng.bit_generator.state,
    }
    saved(tmp_path / "state.npz", state)
    back = begun(tmp_path / "state.npz")
    assert str(back["numbers"]) == str(state["numbers"])
    for one, other in zip(back["arrays"], state["arrays"], strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    assert back["nested"] == {"deep": [{"x": 1 / 3}, [1, 2]]}
    assert back["random"] == state["random"]


def test_the_one_before_is_kept_and_all_of_it_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    saved(path, "first", "second", "third")
    assert names(tmp_path) == ["state.npz", "state.npz.previous"]
    assert (begun(path), begun(tmp_path / "state.npz.previous")) == ("third", "second")
    path.unlink()  # killed between the two renames
    assert begun(path) == "second"
    checkpoints.remove_checkpoint(path)
    assert names(tmp_path) == []


def test_what_is_kept_for_some_work_is_held_until_its_end(tmp_path: Path) -> None:
    """Nobody can take it between two steps of the work; another worker has a file of its own."""
    path = tmp_path / "state.npz"
    with checkpoints.keeping(path) as here:
        assert here == path
        rp.solve(FAMILY, tolerance=1e-12, rounds=2, checkpoint=here, resume="auto")
        with pytest.raises(HeldError), locked(tmp_path / "state.npz.lock"):
            pass
        rp.solve(FAMILY, tolerance=1e-12, rounds=3, checkpoint=here, resume="auto")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_keeps_elsewhere, path).result()
    with locked(tmp_path / "state.npz.lock"):
        _keeps_elsewhere(path)
    with checkpoints.keeping(tmp_path / "nowhere" / "state.npz") as elsewhere:
        assert not elsewhere.is_relative_to(tmp_path)


def _keeps_elsewhere(path: Path) -> None:
    with checkpoints.keeping(path) as elsewhere:
        assert elsewhere != path
        saved(elsewhere, "state")


def test_a_checkpoint_from_elsewhere_replaces_only_a_checkpoint_that_is_free(tmp_path: Path) -> None:
    path, other = tmp_path / "state.npz", tmp_path / "other.npz"
    saved(other, "new")
    checkpoints.put_checkpoint(path, other.read_bytes())
    assert begun(path) == "new"
    saved(other, "newer")
    with plain(path):
        checkpoints.put_checkpoint(path, other.read_bytes())
    assert begun(path) == "new"
    checkpoints.put_checkpoint(path, other.read_bytes())
    assert begun(path) == "newer"
    path.write_text("mine")
    checkpoints.put_checkpoint(path, other.read_bytes())
    assert path.read_text() == "mine"


def test_any_damage_is_set_aside_and_the_one_before_is_used(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    saved(path, {"x": np.arange(50)}, {"x": np.arange(60)})
    whole, before = path.read_bytes(), (tmp_path / "state.npz.previous").read_bytes()
    rng = np.random.default_rng(0)
    kinds: list[bytes] = [b"", b"nonsense", whole[:20], whole[: len(whole) // 2], whole[:-1]]
    for _ in range(200):
        at = int(rng.integers(len(whole)))
        kinds.append(whole[:at] + bytes([whole[at] ^ int(rng.integers(1, 256))]) + whole[at + 1 :])
    harmless = 0
    for content in kinds:
        path.write_bytes(content)
        (tmp_path / "state.npz.previous").write_bytes(before)
        aside = tmp_path / "state.npz.damaged"
        back = refusal(lambda: begun(path))
        if isinstance(back, str):
            assert "belongs to another family, version" in back  # the damage is in the version
        elif aside.exists():
            np.testing.assert_array_equal(back["x"], np.arange(50))
            assert aside.read_bytes() == content
            aside.unlink()
        else:
            np.testing.assert_array_equal(back["x"], np.arange(60))
            harmless += 1
    assert harmless < 100


@pytest.fixture(autouse=True)
def _warnings_are_told(request: pytest.FixtureRequest) -> Any:
    """Warnings about checkpoints are looked at where a test is about them."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if "any_damage" in request.node.name else "error", CheckpointWarning)
        yield


def test_damage_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    saved(path, "first", "second")
    path.write_bytes(path.read_bytes()[:300])
    with pytest.warns(
        CheckpointWarning,
        match=r"state\.npz' is damaged \(BadZipFile\); the one before it is used; it was renamed to 'state\.npz\.damaged'\.",
    ):
        assert begun(path) == "first"
    (tmp_path / "state.npz.previous").unlink()
    saved(path, "third")
    path.write_bytes(path.read_bytes()[:300])
    with input_error(r"is not a checkpoint, or a damaged one \(BadZipFile\); it is left as it is"):
        begun(path)
    assert path.exists()
    with pytest.warns(CheckpointWarning, match=r"the work begins again; it was renamed to 'state\.npz\.damaged\.2'"):
        assert begun(path, resume="auto") is None


def test_a_foreign_file_is_never_overwritten_or_deleted(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    archive = io.BytesIO()
    np.savez(archive, mine=np.arange(3))
    for content in (b"my notes", archive.getvalue()):
        for name in ("state.npz", "state.npz.previous"):
            (tmp_path / name).write_bytes(content)
            for resume in (False, True, "auto"):
                with input_error(r"is not a checkpoint.* it is left as it is: move it away"):
                    begun(path, resume)
            assert (tmp_path / name).read_bytes() == content
            (tmp_path / name).unlink()
        saved(path, "mine")
        (tmp_path / "state.npz.previous").write_bytes(content)  # which the next one would replace
        for resume in (False, True, "auto"):
            with input_error(r"previous' is not a checkpoint; it is left as it is: move it away"):
                begun(path, resume)
        assert (tmp_path / "state.npz.previous").read_bytes() == content
        checkpoints.remove_checkpoint(path)
        (tmp_path / "state.npz.previous").unlink()
    (tmp_path / "state.npz.lock").write_text("mine")
    with input_error(r"state\.npz\.lock' is where a lock would be, but it is another file; move it away\."):
        begun(path)
    assert (tmp_path / "state.npz.lock").read_text() == "mine"
    (tmp_path / "state.npz.lock").unlink()
    os.mkfifo(tmp_path / "state.npz.lock")  # opening or reading it would wait for ever
    with input_error(r"state\.npz\.lock' is where a lock would be, but it is another file; move it away\."):
        begun(path)
    (tmp_path / "state.npz.lock").unlink()
    os.mkfifo(tmp_path / "state.npz.previous")
    with input_error("there is nothing to resume"):
        begun(path)


def test_an_unfinished_run_is_not_overwritten_and_that_of_another_job_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    saved(path, "first")
    with input_error(
        r"state\.npz' holds an unfinished run of this job; continue it with --resume .*, or delete the file to begin again\."
    ):
        begun(path, resume=False)
    with plain(path) as checkpoint:
        assert (
            checkpoint.begin(resume=False, finished=lambda state: state == "first") is None
        )  # it would be the same again
    with input_error(r"state\.npz' belongs to another family, version or settings, so it cannot be resumed\."):
        begun(path, job="another")
    with pytest.warns(
        CheckpointWarning,
        match=r"belongs to another family, version or settings; it was renamed to 'state\.npz\.other'\.",
    ):
        assert begun(path, resume=False, job="another") is None
    assert names(tmp_path) == ["state.npz.other"]
    with input_error(r"there is nothing to resume; .*state\.npz' does not exist\."):
        begun(path)
    assert begun(path, resume="auto") is None


def test_a_disk_that_is_full_does_not_end_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.npz"
    saved(path, "first")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with plain(path) as checkpoint:
        monkeypatch.setattr(np, "savez", full)
        with pytest.warns(
            CheckpointWarning,
            match=r"no checkpoint: .*state\.npz' cannot be written \(No space left on device\)\. The work goes on\.",
        ):
            checkpoint.offer(lambda: "second")
        checkpoint.offer(lambda: "third")  # told once
        monkeypatch.undo()
        checkpoint.offer(lambda: "fourth", now=True)
    assert begun(path) == "fourth"
    assert begun(tmp_path / "state.npz.previous") == "first"


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    saved(path, {"x": np.zeros(10)})
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files}
    np.savez_compressed(path, **{**content, "x": np.zeros(5_000_000)})
    assert path.stat().st_size < 100_000
    with input_error(r"damaged one \(its parts are larger than it\)"):
        begun(path)


def test_a_changed_archive_does_not_match_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    saved(path, {"x": np.zeros(10)})
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files}
    np.savez(path, **{**content, "x": np.ones(10)})
    with input_error(r"damaged one \(its content does not match its hash\)"):
        begun(path)


# ------------------------------------------------------------------------------------------------------------- the lock

HOLDER = r"""
import os, sys, time
from pathlib import Path
from robustpool.locks import locked
with locked(Path(sys.argv[1])):
    if sys.argv[2] == "fork" and os.fork() == 0:
        os.write(1, b"%d\n" % os.getpid())
        time.sleep(60)
    os.write(1, b"held\n")
    time.sleep(60)
"""


def holder(path: Path, how: str = "") -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process


def test_two_processes_on_one_job_are_told_apart_by_the_number_of_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    process = holder(tmp_path / "state.npz.lock")
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with input_error(rf"process {process.pid} is working with the checkpoint .*state\.npz'"):
        begun(path, "auto")
    process.kill()
    process.wait()
    process.stdout.close()
    assert (tmp_path / "state.npz.lock").exists()  # its owner had no time to remove it
    assert begun(path, "auto") is None
    assert names(tmp_path) == []


def test_a_child_that_outlives_its_parent_has_no_part_in_the_lock(tmp_path: Path) -> None:
    process = holder(tmp_path / "lock", "fork")
    assert process.stdout is not None
    said = sorted(process.stdout.readline() for _ in range(2))
    process.kill()
    process.wait()
    with locked(tmp_path / "lock"):
        pass
    os.kill(int(said[0]), 9)
    process.stdout.close()


def test_a_lock_is_held_once_and_can_be_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with locked(path):
            assert path.read_text() == f"robustpool {os.getpid()}\n"
            with pytest.raises(HeldError, match=f"process {os.getpid()}"), locked(path):
                pass
        assert not path.exists()


# --------------------------------------------------------------------------------------------------- what nobody can save


@pytest.mark.parametrize("way", WAYS)
def test_a_hand_made_state_is_refused_in_a_sentence(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the right hashes, so that only its content can tell."""
    path, made = tmp_path / "state.npz", list[Any]()
    original = checkpoints._save

    def save(path: Path, saved: Any) -> None:
        made.append(saved)
        original(path, saved)

    monkeypatch.setattr(checkpoints, "_save", save)
    rp.solve(FAMILY, checkpoint=path, **WAYS[way])
    good = made[-1].data
    more = {**WAYS[way], "rounds": WAYS[way]["rounds"] + 3, "checkpoint": path, "resume": True}
    wrong: list[Any] = [
        None,
        "text",
        -5,
        0,
        2.5,
        float("nan"),
        -np.inf,
        [],
        {},
        np.zeros(0),
        np.zeros((2, 3)),
        np.array(["a"]),
    ]
    sentences, accepted = list[Any](), list[Any]()
    for name, value in itertools.product(good, [*wrong, "gone", "twice", "negated", "int"]):
        original(path, made[-1]._replace(data=forged(good, name, value)))
        (tmp_path / "state.npz.previous").unlink(missing_ok=True)
        outcome = refusal(lambda: rp.solve(FAMILY, **more))
        (sentences if isinstance(outcome, str) else accepted).append((name, outcome))
    assert [text for _, text in sentences if "is not a checkpoint, or a damaged one (" not in text] == []
    # Numbers that only steer the search, and bounds that are computed anew.
    harmless = {"lower", "upper", "predicted", "expected", "offset", "offset_sum", "rate", "rho", "saved_weights"}
    assert {name for name, _ in accepted} <= harmless
    assert len(sentences) > 10 * len(accepted)
    original(path, made[-1]._replace(data={**good, "round": np.asarray(-5)}))
    (tmp_path / "state.npz.previous").unlink(missing_ok=True)
    assert "round cannot be what was saved" in refusal(lambda: rp.solve(FAMILY, **more))


def hand_made(path: Path, saved: Any) -> None:
    """A checkpoint with the right hash, and none before it."""
    checkpoints._save(path, saved)
    path.with_name(path.name + ".previous").unlink(missing_ok=True)


def stopped(path: Path, family: Any, **options: Any) -> Any:
    """What a design saves that is stopped after its first round."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    rp.solve(family, checkpoint=path, progress=stop, **options)
    return checkpoints._load(path)


LISTED = rp.FiniteFamily.from_joints([[[0.5, 0.0], [0.25, 0.25]], [[0.25, 0.25], [0.5, 0.0]]])
NATURES: dict[str, Any] = {
    "grid": rp.ConditionallyIndependent(2, 4, 6, (0.2, 0.7)),
    "any prior": rp.ConditionallyIndependent(2, 4, None, (0.2, 0.7)),
    "three agents": rp.ConditionallyIndependent(3, 3, 4),
    "continuous": rp.ConditionallyIndependent(2, 2, None),
    "listed": LISTED,
    "neglect": make_world("neglect", {"reports": 4, "priors": 10}),
    "identical": make_world("identical", {"reports": 4, "priors": 10}),
    "common-source": make_world("common-source", {"reports": 4}),
    "correlated": make_world("correlated", {"reports": 4}),
    "partial-information": make_world("partial-information", {}),
}


@pytest.mark.parametrize("name", [slowly(name) if name == "partial-information" else name for name in NATURES])
def test_structures_that_the_family_has_not_are_refused(name: str, tmp_path: Path) -> None:
    """A bound on what nature cannot choose is none. Those that she chose are known again, to the last bit."""
    path, family = tmp_path / "state.npz", NATURES[name]
    game: dict[str, Any] = {"nature": "continuous" if name == "continuous" else "grid", "rounds": 2}
    saved = stopped(path, family, tolerance=0.0, **game)
    whole = rp.solve(family, tolerance=0.0, **game)
    again = rp.solve(family, tolerance=0.0, checkpoint=path, resume=True, **game)
    assert (again.lower, again.upper) == (whole.lower, whole.upper)
    labels = saved.data["lower_label"]
    wrong = [labels + 0.1, labels - 1, labels * 1.01 + 0.001, labels + 99, labels[:, :-1], np.hstack((labels, labels))]
    if name not in ("listed", "common-source", "partial-information"):
        wrong.append(labels[:, ::-1])
    if name in ("grid", "any prior", "three agents"):  # structures, with reports beside the grid
        wrong.append(np.where(np.arange(labels.shape[1]) % 2, 0.9 * labels, 1 - 0.9 * (1 - labels)))
        wrong[-1][:, 0] = labels[:, 0]
    for each in wrong:
        hand_made(path, saved._replace(data={**saved.data, "lower_label": each}))
        with input_error(r"or a damaged one \((a structure cannot be what was saved|IndexError|ValueError)\)"):
            rp.solve(family, tolerance=0.0, checkpoint=path, resume=True, **game)


@pytest.mark.parametrize(
    ("name", "change", "options", "why"),
    [
        ("centre", np.ones_like, {}, "a table"),  # right in either state
        ("table", lambda table: table * 0.99, {}, "a table"),
        ("centre", np.round, {"lipschitz": 1.5}, "a table"),
        ("centre", lambda table: table[::-1], {"restrictions": [rp.Monotone()]}, "a table"),
        ("centre", np.round, {"restrictions": "cautious"}, "a table"),
        ("lower", lambda bound: np.asarray(bound + 1e-3), {}, "the lower bound"),
        ("upper", lambda bound: np.asarray(bound - 1e-3), {}, "the upper bound"),
    ],
)
def test_a_table_or_a_bound_that_the_game_cannot_have_is_refused(
    name: str, change: Any, options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    path, family = tmp_path / "state.npz", rp.ConditionallyIndependent(2, 3, 4, (0.2, 0.7))
    if options.get("restrictions") == "cautious":
        options = {"restrictions": [rp.Constrained(lambda table, _: [table >= 0.05, table <= 0.95], "cautious")]}
    options = {**options, "tolerance": 1e-6}
    saved = stopped(path, family, **{**options, "tolerance": 0.0})
    assert rp.solve(family, **options, checkpoint=path, resume=True).converged
    hand_made(path, saved._replace(data={**saved.data, name: change(saved.data[name])}))
    with input_error(rf"or a damaged one \({why} cannot be what was saved\)"):
        rp.solve(family, **options, checkpoint=path, resume=True)


def test_sums_of_rounds_that_nobody_played_promise_nothing(tmp_path: Path) -> None:
    """As if all rounds of the theorem had been played: what is consistent has no other fault than its gap."""
    path, family = tmp_path / "state.npz", rp.ConditionallyIndependent(2, 2, 3)
    how: dict[str, Any] = {"method": "multiplicative-weights"}
    saved = stopped(path, family, epsilon=0.005, **how)
    last = rp.MultiplicativeWeights(epsilon=0.005).theory_rounds(
        family.written_out(get_loss("square"), "additive", ()).game
    )
    for rounds, sentence in (
        (last, r"\(the bounds cannot be what was saved\)"),
        (last - 1, "after all rounds the theorem promises"),
    ):
        data, trace = dict(saved.data), saved.data["trace"].copy()
        trace[-1, 0] = rounds
        for name in ("weight_sum", "mass_sum", "table_sum", "offset_sum"):
            data[name] = np.asarray(data[name] * rounds)
        hand_made(path, saved._replace(data={**data, "round": np.asarray(rounds), "trace": trace}))
        with pytest.raises(rp.RobustpoolError, match=sentence):
            rp.solve(family, epsilon=0.005, **how, checkpoint=path, resume=True)
    for name in ("weight_sum", "mass_sum", "table_sum", "offset_sum", "masses", "offset", "rate"):
        hand_made(path, saved._replace(data={**saved.data, name: np.asarray(saved.data[name] + 0.01)}))
        with input_error(r"or a damaged one \((a table|mass_sum|weight_sum|masses|rate) cannot be what was saved\)"):
            rp.solve(family, epsilon=0.005, **how, checkpoint=path, resume=True)


def forged(good: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Saved data with another value."""
    data, array = dict(good), np.asarray(good[name])
    if isinstance(value, str) and value == "gone":
        del data[name]
        return data
    ways = {
        "twice": np.concatenate((array, array)) if array.ndim else np.stack((array, array)),
        "negated": -array - 1,
        "int": array.astype(np.int32 if array.ndim else np.complex128),
    }
    data[name] = (
        ways.get(value, value)
        if isinstance(value, str)
        else np.asarray(value)
        if isinstance(value, (int, float))
        else value
    )
    return data


# ------------------------------------------------------------------------------------------------------------ the clock


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the two clocks only the one that never jumps decides."""
    jumps = itertools.cycle([1e9, -1e9, 0.0])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    written: list[int] = []
    original = checkpoints._save

    def save(path: Path, saved: Any) -> None:
        written.append(1)
        original(path, saved)

    monkeypatch.setattr(checkpoints, "_save", save)
    solution = rp.solve(FAMILY, checkpoint=tmp_path / "state.npz", checkpoint_seconds=1000.0, **WAYS["cutting planes"])
    assert len(written) == 1  # at the end
    assert 0 < solution.seconds < 1000


# ----------------------------------------------------------------------------------------------------------- certificates


class Killed(BaseException):
    """As if the process had ended there."""


def stopped_and_continued(path: Path, stops: set[int], family: Any = None, tolerance: float = 1e-3) -> Any:
    """A certificate whose proof ends at some of its steps and goes on from its checkpoint."""
    steps = itertools.count(1)

    def progress(_: Any) -> None:
        if next(steps) in stops:
            raise Killed

    while True:
        try:
            return rp.certify(
                "mean",
                family,
                tolerance=tolerance,
                progress=progress,
                checkpoint=path,
                checkpoint_seconds=0,
                resume="auto",
            )
        except Killed:
            assert path.exists()


def test_a_proof_that_is_stopped_goes_on_to_the_same_certificate(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    whole = rp.certify("mean", tolerance=1e-3)
    again = stopped_and_continued(path, {1, 2, 9})
    assert again.data == whole.data
    assert rp.verify(again.data).verified
    assert rp.certify("mean", tolerance=1e-3, checkpoint=path, resume=True).data == whole.data  # nothing is left to do
    others: list[Any] = [
        {"tolerance": 2e-3},
        {"aggregator": "median"},
        {"family": rp.ConditionallyIndependent(2, None, None, (0.1, 0.9))},
    ]
    for other in others:
        about: Any = {"aggregator": "mean", "tolerance": 1e-3, **other}
        with input_error("belongs to another family, version or settings, so it cannot be resumed"):
            rp.certify(**about, checkpoint=path, resume=True)
    with input_error("resume needs a checkpoint file to continue from; checkpoint is None"):
        rp.certify("mean", resume=True)


def test_a_proof_goes_on_in_the_middle_of_what_is_halved_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From each of its states: with the goal that they were chosen for, and without a look for worse structures in between."""
    monkeypatch.setattr(cover, "edges", lambda low, high: [low, 0.1, 0.5, high])  # too wide
    mean = as_aggregator("mean")
    problem, looks = problem_of(mean, describe(mean, 2)), 0

    def polish(_: Any) -> float:
        nonlocal looks
        looks += 1
        return 0.0625 + 1e-9 * looks

    def steps(start: Any = None) -> Any:
        return cover.cover(problem, (0.01, 0.9), 0.0625, 1e-5, polish, start)

    states = [(state, looks) for state in steps()]
    assert [len(state.standing.halving) for state, _ in states] == [0, 0, 0, 2, 1, 0]
    whole = states[-1][0]
    for state, looks in states:  # noqa: B007
        saved(tmp_path / "state.npz", saved_proofs.cover_to_data(state.standing))
        *_, again = steps(saved_proofs.cover_from_data(begun(tmp_path / "state.npz")))
        assert (again.upper, again.found, again.witness()) == (whole.upper, whole.found, whole.witness())


def test_a_proof_for_three_agents_goes_on_to_the_same_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, tries = rp.ConditionallyIndependent(3, None, None, (0.4, 0.6)), list[int]()

    def read(data: Any, agents: int) -> Any:
        standing = saved_proofs.many_from_data(data, agents)
        tries.append(len(standing.tried))
        return standing

    monkeypatch.setattr(independent, "many_from_data", read)
    whole = rp.certify("mean", family, tolerance=2e-5)
    again = stopped_and_continued(tmp_path / "state.npz", {*range(1, 30, 4)}, family, 2e-5)
    assert again.data == whole.data
    assert max(tries) > 0  # some were tried before, and are tried again with more points


def test_ctrl_c_in_the_middle_of_a_step_loses_no_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval that was being halved is in the checkpoint as it was before."""
    monkeypatch.setattr(cover, "edges", lambda low, high: [low, 0.4, high])  # the first is too wide
    path, original = tmp_path / "state.npz", dual.prove_interval
    about: Any = {"family": rp.ConditionallyIndependent(2, None, None, (0.1, 0.45)), "tolerance": 1e-3}
    whole: Any = rp.certify("mean", **about)

    def halved(problem: Any, priors: Any, goal: float, slack: float, knots: Any = None) -> Any:
        if knots is not None:
            raise KeyboardInterrupt
        return original(problem, priors, goal, slack, knots)

    with monkeypatch.context() as patch:
        patch.setattr(cover, "prove_interval", halved)
        part: Any = rp.certify("mean", **about, checkpoint=path, checkpoint_seconds=1000.0)
    assert part.upper > whole.upper  # it was stopped
    assert rp.certify("mean", **about, checkpoint=path, resume=True).data == whole.data


def places(value: Any, at: tuple[Any, ...] = ()) -> Any:
    """Where a value stands in a tree: every key, and the first two items of each list."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*at, key)
        yield from places(part, (*at, key))


def with_another(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    (first, *rest), copy = place, data.copy()
    copy[first] = with_another(data[first], tuple(rest), value) if rest else value
    return copy


def test_a_hand_made_proof_is_refused_or_proves_nothing_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, made = tmp_path / "state.npz", list[Any]()
    original = checkpoints._save

    def save(path: Path, saved: Any) -> None:
        made.append(saved)
        original(path, saved)

    monkeypatch.setattr(checkpoints, "_save", save)
    steps = itertools.count(1)

    def stop(_: Any) -> None:
        if next(steps) == 3:
            raise Killed

    with pytest.raises(Killed):
        rp.certify("mean", tolerance=1e-3, checkpoint=path, checkpoint_seconds=0, progress=stop)
    good = made[-1]
    monkeypatch.undo()
    sentences, wrong = 0, list[Any]([None, "text", -1, float("nan"), [], {}, np.zeros((1, 2))])
    for place in places(good.data):
        for value in wrong:
            original(path, good._replace(data=with_another(good.data, place, value)))
            with Checkpoint(path, good.job, certify._saved) as saved:
                (tmp_path / "state.npz.previous").unlink(missing_ok=True)
                outcome = refusal(lambda saved=saved: saved.begin(True))
            sentences += isinstance(outcome, str) and "is not a checkpoint, or a damaged one (" in outcome
            assert isinstance(outcome, (str, dict))
    assert sentences > 150
    first, second = good.data["proof"]["cover"]["open"][:2]
    hole = with_another(good.data, ("proof", "cover", "open"), [first, {**second, "priors": [0.4, 0.5]}])
    original(path, good._replace(data=hole))
    (tmp_path / "state.npz.previous").unlink(missing_ok=True)
    with input_error("the intervals cannot be what was saved"):
        rp.certify("mean", tolerance=1e-3, checkpoint=path, resume=True)


def test_slopes_that_prove_nothing_end_in_no_certificate(tmp_path: Path) -> None:
    """The bound of an interval is taken from the file, and looked at again when the certificate is there."""
    path, family = tmp_path / "state.npz", rp.ConditionallyIndependent(2, None, None, (0.3, 0.33))
    about: dict[str, Any] = {"family": family, "tolerance": 1e-3}
    whole: Any = rp.certify("mean", **about, checkpoint=path)
    saved = checkpoints._load(path)
    opened = [
        {**each, "slopes": {**each["slopes"], "values": 0 * each["slopes"]["values"]}}
        for each in saved.data["proof"]["cover"]["open"]
    ]
    assert rp.certify("mean", **about, checkpoint=path, resume=True).data == whole.data
    hand_made(path, saved._replace(data=with_another(saved.data, ("proof", "cover", "open"), opened)))
    with input_error(
        r"state\.npz' is not what this proof saved, or was changed \(.*\); move it away, or give another output\."
    ):
        rp.certify("mean", **about, checkpoint=path, resume=True)
    for worst in ({"reports": np.full((4, 2), 0.31)}, {"regret": 1.0}, {"prior": 0.4}):
        other = {**saved.data["proof"]["worst"], **worst}
        hand_made(path, saved._replace(data=with_another(saved.data, ("proof", "worst"), other)))
        with input_error(
            r"(the worst (structure|regret) cannot be what was saved|or a damaged one \(the prior must lie)"
        ):
            rp.certify("mean", **about, checkpoint=path, resume=True)


def test_workers_that_cannot_do_the_work_say_nothing_of_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, family = tmp_path / "c.npz", rp.ConditionallyIndependent(2, None, None, (0.2, 0.4))
    steps = certify.certification("average-prior", family, tolerance=1e-4, checkpoint=path)
    next(steps)
    steps.close()

    def refuse(*_: Any, **__: Any) -> Any:
        raise UnfitWorkersError("numpy is 2.3 on a worker and 2.4 here.")

    with monkeypatch.context() as patch:
        patch.setattr(cover, "mapped", refuse)
        with pytest.raises(UnfitWorkersError, match=r"^numpy is 2\.3 on a worker and 2\.4 here\.$"):
            list(certify.certification("average-prior", family, tolerance=1e-4, checkpoint=path, resume=True))
    *_, last = certify.certification("average-prior", family, tolerance=1e-4, checkpoint=path, resume=True)
    assert last.left == 0
