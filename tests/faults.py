"""Jobs that are killed at random moments and continued: the same result as if nothing had happened, and little lost.

The tests kill a few times, and `tools/soak.py` does it for as long as it is asked to.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from programs import PROGRAM

if TYPE_CHECKING:
    import random
    from pathlib import Path

ROWS = 400_000
QUICK = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


REPRODUCTION = """
import sys
from robustpool.reproduction.run import reproduce
from robustpool.reproduction.settings import Settings
settings = Settings(rules=("mean",), reports=8, priors=40, rounds=ROUNDS, knots=(6,), gap=1e-4, proof_gap=1e-4)
reproduce("table1", "out", settings=settings, resume="--resume" in sys.argv)
"""


SWEEP = """
kind = "design"
[settings]
reports = 12
priors = 100
method = "multiplicative-weights"
tolerance = 0.0
rounds = ROUNDS
[[grid]]
prior_range = [[0.0, 1.0], [0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]
[[cells]]
symmetric = true
"""


def modified(path: Path) -> float:
    """When a file was written; it may have been renamed or removed meanwhile."""
    with suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0


@dataclass(frozen=True)
class Job:
    """A command, its output, and what of this is the same in every run."""

    line: str
    output: str
    resumable: bool = True
    needs: tuple[str, ...] = ()  # files that `prepare` makes
    program: tuple[str, ...] = (PROGRAM,)
    saved: str | None = None  # a pattern of files, or of folders that change whenever something is saved in them
    times: tuple[str, ...] = ()  # columns of a table that differ in every run
    size: int = 1

    @property
    def command(self) -> list[str]:
        return [*self.program, *self.line.split()]

    @property
    def checkpoint(self) -> str:
        return self.saved or f"{self.output}.checkpoint.npz"

    def checkpoints(self, folder: Path) -> list[Path]:
        """What the job can go on from, the newest last."""
        if not self.resumable:
            return []
        patterns = [self.saved] if self.saved else [self.checkpoint, f"{self.checkpoint}.previous"]
        return sorted((path for pattern in patterns for path in folder.glob(pattern)), key=modified)

    def essence(self, folder: Path) -> Any:
        """The result without times."""
        path = folder / self.output
        if self.times:
            with path.open(newline="") as file:
                return [[(k, v) for k, v in row.items() if k not in self.times] for row in csv.DictReader(file)]
        if path.suffix != ".json":
            return path.read_bytes()
        data = json.loads(path.read_text())
        data.get("trace", {}).pop("seconds", None)
        return {name: value for name, value in data.items() if name not in ("seconds", "hash")}


def jobs(size: int = 1) -> dict[str, Job]:
    """A job of each kind; it is at work for longer if the ``size`` is larger."""
    rounds = f"--method multiplicative-weights --tolerance 0 --rounds {120 * size}"
    reproduction = sys.executable, "-c", REPRODUCTION.replace("ROUNDS", str(300 * size))
    made = {
        "design": Job(f"design --reports 14 --priors 200 {rounds} -o o.json", "o.json"),
        "cutting planes": Job(f"design --reports {40 * size} --priors continuous --tolerance 1e-7 -o o.json", "o.json"),
        "certificate": Job(
            f"certify average-prior --prior-range {0.2 / size:g} 0.5 --tolerance {2e-5 / size**2:g} -o c.json", "c.json"
        ),
        "certificate for three": Job(f"certify mean --agents 3 --tolerance {2e-3 / size:g} -o c.json", "c.json"),
        "reproduction": Job("", "out/table1.csv", program=reproduction, saved="out/checkpoints/parts.npz*"),
        "sweep": Job(
            "sweep sweep.toml -o out",
            "out/results.csv",
            needs=("sweep.toml",),
            saved="out/cells/**",
            times=("seconds",),
        ),
        "table": Job("aggregate table.csv -o o.csv", "o.csv", resumable=False, needs=("table.csv",)),
    }
    return {name: replace(job, size=size) for name, job in made.items()}


JOBS = jobs()


@dataclass
class Faults:
    """A folder in which jobs are run, killed and continued."""

    folder: Path
    rng: random.Random
    kills: int = 0
    early: int = 0  # kills before there was anything to continue from
    lost: list[float] = field(default_factory=list)  # seconds since the last checkpoint, at each kill

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "tmp").mkdir(exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | QUICK | {"TMPDIR": str(self.folder / "tmp")}

    def prepare(self, job: Job) -> None:
        """Make what a job reads."""
        if "sweep.toml" in job.needs:
            (self.folder / "sweep.toml").write_text(SWEEP.replace("ROUNDS", str(150 * job.size)))
        if "table.csv" in job.needs and not (self.folder / "table.csv").exists():
            rng = np.random.default_rng(1)
            rows = ROWS * job.size
            numbers = zip(rng.integers(0, 50_000, rows), rng.integers(0, 900, rows), rng.random(rows), strict=True)
            lines = (f"q{question},f{forecaster},{probability:.4f}\n" for question, forecaster, probability in numbers)
            with (self.folder / "table.csv").open("w") as file:
                file.write("question_id,forecaster_id,probability\n")
                file.writelines(lines)

    def start(self, job: Job, *more: str) -> subprocess.Popen[str]:
        command = [*job.command, *more]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def run(self, job: Job, *more: str) -> tuple[int, str]:
        """Let a job end by itself; its status and what it says on standard error."""
        process = self.start(job, *more)
        _, said = process.communicate()
        return process.returncode, said

    def undisturbed(self, job: Job) -> tuple[Any, float]:
        """The result of a job and the time that it takes."""
        self.prepare(job)
        began = time.monotonic()
        status, said = self.run(job)
        assert status in (0, 1), said  # 1: all rounds were played
        essence = job.essence(self.folder)
        self.clear(job)
        return essence, time.monotonic() - began

    def kill(self, job: Job, after: float, *more: str, saved: bool = False) -> bool:
        """Start a job and kill it after so many seconds, or so long after it ``saved`` something; whether it was still running."""
        before = self.saved(job)
        process = self.start(job, *more)
        while saved and self.saved(job) <= before and process.poll() is None:
            time.sleep(0.02)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=after)
        running = process.poll() is None
        if running:
            process.kill()
            self.kills += 1
        process.communicate()
        if running and job.resumable:
            if left := job.checkpoints(self.folder):
                self.lost.append(max(0.0, time.time() - modified(left[-1])))
            else:
                self.early += 1
        return running

    def saved(self, job: Job) -> float:
        """When a job last saved something to go on from; 0 if never."""
        return max(map(modified, job.checkpoints(self.folder)), default=0.0)

    def sized(self, name: str, seconds: float, most: int = 64) -> tuple[Job, Any, float]:
        """A job that takes so many seconds on this machine, its result, and its time."""
        size = 1
        while True:
            job = jobs(size)[name]
            essence, needed = self.undisturbed(job)
            if needed >= seconds or size >= most:
                return job, essence, needed
            self.forget(job)
            size *= 2

    def continue_(self, job: Job) -> None:
        """Run a job to its end, from its checkpoint if there is one."""
        status, said = self.run(job, *(["--resume"] if job.checkpoints(self.folder) else []))
        assert status in (0, 1), said
        assert "Traceback" not in said, said
        assert "is not a checkpoint" not in said, said

    def disturbed(self, job: Job, seconds: float, kills: int) -> Any:
        """The result of a job that is killed at random moments, at least once, and then continued to its end.

        Every other kill comes soon after something was saved: on a quick machine few others would.
        """
        self.prepare(job)
        while not self.kill(job, self.rng.uniform(0.3, 1.0) * seconds):  # it ended: this time the machine was quicker
            self.clear(job)
            seconds /= 2
        for _ in range(kills - 1):
            resume = ["--resume"] if job.checkpoints(self.folder) else []
            soon = job.resumable and self.rng.random() < 0.5
            if not self.kill(job, self.rng.uniform(0.3, 1.0) * (0.5 if soon else seconds), *resume, saved=soon):
                break
        self.continue_(job)
        essence = job.essence(self.folder)
        self.clear(job)
        left = [path.name for path in self.folder.iterdir() if path.name not in ("tmp", *job.needs)]
        assert left == [], left  # no part, lock or row file is left behind
        left = [path.name for path in (self.folder / "tmp").glob("robustpool-*")]
        assert not job.needs or left == [], left
        return essence

    def forget(self, job: Job) -> None:
        """Remove what a job reads: that of another size is different."""
        for name in job.needs:
            (self.folder / name).unlink()

    def clear(self, job: Job) -> None:
        """Remove the output and, where all rounds were played, the checkpoint that stays."""
        for path in (self.folder / job.output, *job.checkpoints(self.folder)):
            if path.is_file():
                path.unlink()
        shutil.rmtree(self.folder / "out", ignore_errors=True)
