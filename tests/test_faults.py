"""Real faults: kill -9 at random moments, SIGTERM, Ctrl-C twice, two processes, a full disk, a folder that cannot be written to."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from faults import JOBS, Faults, Job
from robustpool.designs.design_file import load_design

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["certificate", "table"])
def test_a_job_that_is_killed_and_continued_gives_the_same_result(name: str, tmp_path: Path) -> None:
    faults = Faults(tmp_path / "here", random.Random(name))
    job, essence, seconds = faults.sized(name, 0.4)
    assert faults.disturbed(job, 0.6 * seconds, kills=1) == essence


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_twenty_kills_at_random_moments(name: str, tmp_path: Path) -> None:
    faults = Faults(tmp_path / "here", random.Random(name))
    job, essence, seconds = faults.sized(name, 5.0)
    while faults.kills < 20:
        assert faults.disturbed(job, 0.6 * seconds, kills=4) == essence
    assert not job.resumable or len(faults.lost) > faults.early  # most left something to continue from


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def unbounded(faults: Faults) -> tuple[Job, subprocess.Popen[str]]:
    """A design with so many rounds that it is at work until somebody stops it, once it has saved its first checkpoint."""
    job = replace(JOBS["design"], line=f"{JOBS['design'].line} --rounds 1000000")
    process = faults.start(job)
    wait_for(faults.folder / job.checkpoint, process)
    return job, process


def check_goes_on(faults: Faults, rounds: int) -> None:
    """So many rounds are the same whether the design goes on or begins anew."""
    job = replace(JOBS["design"], line=f"{JOBS['design'].line} --rounds {rounds}")
    faults.continue_(job)
    essence = job.essence(faults.folder)
    faults.clear(job)
    faults.continue_(job)
    assert job.essence(faults.folder) == essence


def test_a_design_that_is_killed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    faults = Faults(tmp_path / "here", random.Random(1))
    job, process = unbounded(faults)
    process.kill()
    process.communicate()
    with np.load(faults.folder / job.checkpoint) as saved:
        reached = int(saved["round"])
    check_goes_on(faults, reached + 50)


def test_sigterm_saves_a_checkpoint_and_the_best_design(tmp_path: Path) -> None:
    faults = Faults(tmp_path / "here", random.Random(1))
    job, process = unbounded(faults)
    checkpoint = faults.folder / job.checkpoint
    before = checkpoint.stat().st_mtime_ns
    process.terminate()
    said = process.communicate()[1]
    assert process.returncode == 128 + signal.SIGTERM, said
    assert "Traceback" not in said
    assert checkpoint.stat().st_mtime_ns > before
    design = load_design(faults.folder / job.output)
    assert design.stopped.reason == "interrupted"
    refused, said = faults.run(job)
    assert refused == 2
    assert "holds an unfinished run of this job; continue it with --resume" in said
    check_goes_on(faults, design.rounds + 20)


def test_ctrl_c_twice_ends_a_design_at_once(tmp_path: Path) -> None:
    """The second one comes while the first is being obeyed."""
    faults = Faults(tmp_path / "here", random.Random(1))
    job, process = unbounded(faults)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    said = process.communicate()[1]
    assert process.returncode in (-signal.SIGINT, 1, 130), (
        said
    )  # killed, or done with what the first had asked for, with a result or without
    assert "Traceback" not in said
    status, said = faults.run(job, "--resume", "--rounds", "1")  # so many were played long ago
    assert status == 1, said


def test_two_processes_on_one_design(tmp_path: Path) -> None:
    faults = Faults(tmp_path / "here", random.Random(1))
    job, first = unbounded(faults)
    status, said = faults.run(job, "--resume")
    assert status == 2
    assert f"process {first.pid} is working with the checkpoint 'o.json.checkpoint.npz'" in said
    first.kill()
    first.communicate()
    status, said = faults.run(job, "--resume", "--rounds", "1")  # so many were played long ago
    assert status == 1, said


def test_a_disk_that_fills_up_during_a_design(tmp_path: Path) -> None:
    """A limit on the size of files stands for it: the checkpoints are too large, the design is not written, the old one stays."""
    job, faults = JOBS["design"], Faults(tmp_path / "here", random.Random(1))
    old = '{"format": "robustpool-design/1", "mine": true}'
    (faults.folder / job.output).write_text(old)
    limited = ["bash", "-c", 'ulimit -f 4; trap "" XFSZ; exec "$@"', "-", *job.command]
    done = subprocess.run(
        limited, cwd=faults.folder, env=faults.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no checkpoint: 'o.json.checkpoint.npz' cannot be written (File too large). The work goes on." in done.stderr
    assert re.fullmatch(
        r"robustpool: 'o\.json' cannot be written \(File too large\)\. "
        r"The design was made: the value of the game is between 0\.022\d+ and 0\.022\d+\.",
        done.stderr.splitlines()[-1],
    )
    assert "Traceback" not in done.stderr
    assert (faults.folder / job.output).read_text() == old
    assert sorted(path.name for path in faults.folder.iterdir()) == ["o.json", "tmp"]


def test_a_folder_in_the_way_is_told_before_the_work(tmp_path: Path) -> None:
    job, faults = JOBS["certificate"], Faults(tmp_path / "here", random.Random(1))
    for name in (job.checkpoint, job.output):
        (faults.folder / name).mkdir()
        status, said = faults.run(job)
        assert status == 2
        assert said == f"robustpool: '{name}' cannot be written: it is not a regular file.\n"
        (faults.folder / name).rmdir()
    faults.folder.chmod(0o500)
    status, said = faults.run(job)
    faults.folder.chmod(0o700)
    if os.getuid():  # the superuser may write everywhere
        assert (status, said) == (
            2,
            f"robustpool: '{job.output}' cannot be written: 'here' is not a folder that can be written to.\n",
        )
