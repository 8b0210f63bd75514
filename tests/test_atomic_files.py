"""A file is written whole or not at all, whoever else writes, whatever stands beside it, and whenever the process is killed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusals import input_error
from robustpool.files import write_whole
from robustpool.processes import left_behind, own_name, own_prefix
from robustpool.tables.pooled import PooledTable

WRITER = """
import sys
from robustpool.files import write_whole
path, letter = sys.argv[1:]
def write(partial):
    with partial.open("w") as file:
        for _ in range(20):
            file.write(letter * 50_000)
            file.flush()
for _ in range(40):
    write_whole(path, write)
"""


def write(text: str) -> Any:
    return lambda partial: partial.write_text(text)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def of_a_dead_process() -> str:
    """A temporary name of a process that runs no more."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    return own_name().replace(f"-{os.getpid()}-", f"-{ended.pid}-")


def test_two_processes_with_one_output_never_mix_it(tmp_path: Path) -> None:
    target = tmp_path / "o.csv"
    both = [subprocess.Popen([sys.executable, "-c", WRITER, str(target), letter]) for letter in "ab"]
    seen = set()
    while any(process.poll() is None for process in both):
        if target.exists():
            text = target.read_text()
            assert len(text) == 1_000_000
            assert text == text[0] * 1_000_000
            seen.add(text[0])
    assert [process.returncode for process in both] == [0, 0]
    assert seen == {"a", "b"}  # each of them was there
    assert names_in(tmp_path) == ["o.csv"]


def test_files_that_stand_beside_an_output_are_left_alone(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "o.csv.part").symlink_to(victim)
    (tmp_path / "p.csv.part").write_text("mine too")
    for name in ("o.csv", "p.csv"):
        write_whole(tmp_path / name, write("new"))
    assert victim.read_text() == "mine"
    assert (tmp_path / "o.csv.part").is_symlink()
    assert (tmp_path / "p.csv.part").read_text() == "mine too"


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if somebody guessed the temporary name."""
    victim, name = tmp_path / "victim", own_name()
    victim.write_text("mine")
    monkeypatch.setattr("robustpool.files.own_name", lambda: name)
    (tmp_path / f".{name}.part").symlink_to(victim)
    with input_error(r"o\.csv' cannot be written \(File exists\)"):
        write_whole(tmp_path / "o.csv", write("new"))
    assert victim.read_text() == "mine"
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_the_mask(tmp_path: Path, mode: int) -> None:
    target, seen = tmp_path / "o.csv", []
    target.write_text("old")
    target.chmod(mode)

    def look(partial: Path) -> None:
        seen.append(stat.S_IMODE(partial.stat().st_mode))
        partial.write_text("new")

    write_whole(target, look)
    assert target.read_text() == "new"
    assert seen == [mode]  # nobody can read it before it is in place either
    assert stat.S_IMODE(target.stat().st_mode) == mode
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new.csv", write("new"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640


def test_tables_keep_the_mode_too(tmp_path: Path) -> None:
    """The table engine likes to write to a temporary file of its own and move that."""
    for name in ("o.csv", "o.parquet"):
        target = tmp_path / name
        target.write_text("old")
        target.chmod(0o600)
        PooledTable(["rain"], np.array([0.75]), np.array([2]), np.array([np.nan]), forecasters=2).write(target)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert target.read_bytes() != b"old"
    assert names_in(tmp_path) == ["o.csv", "o.parquet"]


def test_what_was_written_is_on_the_disk_before_it_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, settled = tmp_path / "o.csv", []
    target.write_text("old")

    def fsync(number: int) -> None:
        settled.append((Path(f"/proc/self/fd/{number}").readlink(), target.read_text()))

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(target, write("new"))
    (partial, before), (folder, after) = settled
    assert partial.name.endswith(".part")
    assert (before, folder, after) == ("old", tmp_path, "new")


def test_what_a_killed_process_left_behind_is_removed(tmp_path: Path) -> None:
    dead = of_a_dead_process()
    assert left_behind(dead)
    names = [f".{dead}.part", f".{own_name()}.part", f"{dead}.part", ".robustpool-1-2-3.part", ".robustpool-notes.part"]
    for name in names:
        (tmp_path / name).write_text("half")
    write_whole(tmp_path / "o.csv", write("new"))
    assert names_in(tmp_path) == sorted([*names[1:], "o.csv"])


@pytest.mark.parametrize(
    "name",
    ["robustpool-", "notes", "", f"x{own_prefix()}abc", f"{own_prefix()}", own_name()],
    ids=[
        "prefix",
        "notes",
        "nothing",
        "longer",
        "no number",
        "own",
    ],  # not the names: workers would collect different tests
)
def test_other_names_are_nobodys_leftovers(name: str) -> None:
    assert not left_behind(name)
