"""Standard output that is full or closed: a sentence and a status; a closed pipe: silence. Standard error may be anything."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from programs import PROGRAM, run_robustpool
from quick import one_of
from robustpool.families.family_file import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "a few numbers": "aggregate 0.7 0.6",
    "a few numbers by typer": "aggregate 0.7 0.6 --rule mean --clip 0",
    "JSON": "rules --json",
    "help": "design --help",
    "version": "--version",
    "a table": "aggregate forecasts.csv",
}


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", line.replace("robustpool", PROGRAM, 1)]
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"question {number},ann,0.7" for number in range(3000)]  # more than a pipe takes at once
    (tmp_path / "forecasts.csv").write_text("\n".join(["question_id,forecaster_id,probability", *rows]) + "\n")
    return tmp_path


@pytest.mark.parametrize("command", one_of(2, COMMANDS.values()), ids=COMMANDS)
def test_a_full_or_closed_standard_output_is_said(command: str, folder: Path) -> None:
    full, closed = "No space left on device", "Bad file descriptor"
    for where, why, way in ((">/dev/full", full, ""), (">/dev/full", full, "unbuffered"), (">&-", closed, "")):
        done = shell(f"robustpool {command} {where}", folder, PYTHONUNBUFFERED=way)
        assert done.stderr == f"robustpool: standard output cannot be written ({why}).\n"
        assert done.returncode == 2


@pytest.mark.parametrize("way", ["", "unbuffered"])
def test_output_that_is_cut_short_is_no_success(folder: Path, way: str) -> None:
    """A limit on the size of files is as good as a disk that is nearly full: the first part is written, the rest is not."""
    limited = "ulimit -f 32; trap '' XFSZ; robustpool rules --json >> o.json"
    (folder / "o.json").write_text(" " * 32_000)
    done = shell(limited, folder, PYTHONUNBUFFERED=way)
    assert done.stderr == "robustpool: standard output cannot be written (File too large).\n"
    assert done.returncode == 2
    assert (folder / "o.json").stat().st_size == 32 * 1024


@pytest.mark.parametrize("output", one_of(2, ["o.csv", "o.parquet"]))
def test_a_disk_that_is_full_leaves_the_old_table(folder: Path, output: str) -> None:
    (folder / output).write_text("old")
    done = shell(f"ulimit -f 4; trap '' XFSZ; robustpool aggregate forecasts.csv -o {output}", folder)
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr == f"robustpool: '{output}' cannot be written (File too large).\n"
    assert (folder / output).read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["forecasts.csv", output]
    done = shell("ulimit -f 4; trap '' XFSZ; robustpool aggregate forecasts.csv", folder)
    assert "forecasts as text need a temporary folder, set by TMPDIR; it cannot be used (File too large)" in done.stderr
    assert (done.stdout, done.returncode) == ("", 2)


@pytest.mark.parametrize("way", ["", "unbuffered"])
def test_a_closed_pipe_is_quiet(folder: Path, way: str) -> None:
    done = shell("robustpool aggregate forecasts.csv | head -1", folder, PYTHONUNBUFFERED=way)
    assert (done.stdout, done.stderr) == ("question_id,forecast,forecasters\n", "")
    assert run_robustpool("aggregate", "forecasts.csv", cwd=folder).stdout.count("\n") == 3001


@pytest.mark.parametrize("where", one_of(2, ["2>/dev/full", "2>&-"]))
def test_standard_error_never_stops_the_work(where: str, folder: Path) -> None:
    family = EXAMPLES / "weather-unknown.json"
    done = shell(f"robustpool design --family {family} --resume {where}", folder)
    assert (done.stdout, done.returncode) == ("", 2)  # the sentence is lost, and stands nowhere else
    done = shell(f"robustpool design --family {family} --json {where}", folder)
    assert done.returncode == 0
    assert done.stdout.startswith('{"')
