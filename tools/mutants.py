"""Break the code on purpose, one small change at a time, and see whether a test fails: `make mutants`.

tests/mutants.toml lists the changes, called mutants: in a file the text `old` becomes `new`, and at least one of `tests` has to
fail. A mutant that no test notices has survived, and is shown. One that changes nothing that could be noticed says why in
`equivalent`; it is not run.

All this happens in copies of the tree, never in the tree itself. The tests have to pass before anything is broken, because
a test that fails anyway kills every mutant. A copy serves many mutants one after the other, so that what numba compiled
is there for the next; each version of a file has a time stamp of its own, so that nothing compiled from another version is used.

The status is 1 if a mutant survives, if `old` does not occur exactly once, or if the mutant cannot even be imported.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = "tests/mutants.toml"
KEYS = {"file", "old", "new", "tests", "equivalent"}
NOT_COPIED = (
    ".git",
    ".venv",
    "out",
    "build",
    "dist",
    "_build",
    "auto_gallery",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)
SECONDS = 300.0
"""A mutant that makes its tests run for longer counts as killed; the report says of which this is true."""

ENVIRONMENT = {
    "CI": "1",  # hypothesis draws the same examples each time, and a missing browser fails instead of skipping
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider")


class Fate(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TOO_SLOW = "killed by the time limit"
    SURVIVED = "SURVIVED"
    BROKEN = "ERROR"


@dataclass(frozen=True)
class Mutant:
    """A change of one file, and the tests of which one has to fail then."""

    area: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str | None = None

    def __str__(self) -> str:
        """The change in a line."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}: {old}  ->  {new}"

    def complaint(self, root: Path) -> str | None:
        """Why the entry does not apply to the tree, or None."""
        path = root / self.file
        if not path.is_file():
            return f"{self.file} does not exist."
        times = path.read_text(encoding="utf-8").count(self.old)
        if times != 1:
            return f"old must occur exactly once in {self.file}; {self.old!r} occurs {times} times."
        if self.old == self.new:
            return f"old and new are the same in {self.file}: {self.old!r}."
        if self.equivalent is None and not self.tests:
            return f"no tests for {self}."
        return next(filter(None, (_missing(root, test) for test in self.tests)), None)


def _missing(root: Path, test: str) -> str | None:
    """What is wrong with the name of a test, or None."""
    file, _, name = test.partition("::")
    if not (root / file).is_file():
        return f"the test file {file} does not exist."
    function = re.match(r"\w+", name)
    if function and f"def {function[0]}(" not in (root / file).read_text(encoding="utf-8"):
        return f"there is no test {name} in {file}."
    return None


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant, how long it took, and the test that noticed it."""

    mutant: Mutant
    fate: Fate
    seconds: float
    words: str = ""


# ------------------------------------------------------------------------------------------------------------- the list


def read_mutants(path: Path) -> list[Mutant]:
    """The mutants of a list, in its order; each table array is an area."""
    mutants = []
    for area, entries in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for entry in entries:
            unknown = set(entry) - KEYS
            if unknown or not {"file", "old", "new"} <= set(entry):
                raise SystemExit(
                    f"an entry of {area} needs file, old and new, and may have tests and equivalent: {entry}."
                )
            mutants.append(Mutant(area, **{**entry, "tests": tuple(entry.get("tests", ()))}))
    return mutants


def complaints(mutants: list[Mutant], root: Path) -> list[str]:
    """What is wrong with a list: entries that do not apply, and those that are there twice."""
    found = [complaint for mutant in mutants if (complaint := mutant.complaint(root))]
    changes = [(mutant.file, mutant.old, mutant.new) for mutant in mutants]
    return found + [f"{mutant} is there twice." for k, mutant in enumerate(mutants) if changes[k] in changes[:k]]


# ------------------------------------------------------------------------------------------------------------ the copies


@dataclass
class Copy:
    """A copy of the tree, in which one mutant after the other is tried."""

    folder: Path
    tried: int = field(default=0)

    def try_out(self, mutant: Mutant, seconds: float) -> Outcome:
        """Apply a mutant, run its tests, and restore the file."""
        path = self.folder / mutant.file
        text, stamp = path.read_text(encoding="utf-8"), path.stat().st_mtime_ns
        self.tried += 1
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        os.utime(path, ns=(stamp, stamp + self.tried * 10**9))  # whole seconds: compiled Python files know no others
        began = time.perf_counter()
        try:
            with tempfile.TemporaryDirectory(prefix="mutants-numba-") as fresh:
                # A compiled function holds those that it calls, so none may be left from before such a file changed.
                extra = {"NUMBA_CACHE_DIR": fresh} if "njit" in text else {}
                status, output = run([*PYTEST, *mutant.tests], self.folder, seconds, extra)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(stamp, stamp))
        return Outcome(mutant, *_fate(status, output, time.perf_counter() - began))


def _fate(status: int | None, output: str, seconds: float) -> tuple[Fate, float, str]:
    if status is None:
        return Fate.TOO_SLOW, seconds, ""
    if status == 0:
        return Fate.SURVIVED, seconds, ""
    culprit = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    if status == 1 and culprit:
        return Fate.KILLED, seconds, culprit[1]
    return Fate.BROKEN, seconds, f"pytest ended with status {status}:\n{tail(output)}"


def run(command: list[str], folder: Path, seconds: float, extra: dict[str, str]) -> tuple[int | None, str]:
    """The status and the output of a command; the status is None if it was stopped because it took too long."""
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(folder / "src"), **extra}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # a browser and other children, too
            return None, ""
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, output


def tail(output: str) -> str:
    """The last lines of an output, indented."""
    return "\n".join(f"    {line}" for line in output.splitlines()[-15:])


# --------------------------------------------------------------------------------------------------------------- the run


def passes(copy: Copy, mutants: list[Mutant], jobs: int) -> bool:
    """Run all tests of the mutants on the tree as it is."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    whole = [test for test in tests if test.partition("::")[0] not in tests or "::" not in test]
    spread = ["-n", str(jobs), "--dist", "loadfile"] if jobs > 1 else []
    began = time.perf_counter()
    status, output = run([*PYTEST, *spread, *whole], copy.folder, 3600.0, {})
    say(f"{len(whole)} tests and files of tests on the tree as it is: {time.perf_counter() - began:.0f} s")
    if status != 0:
        say(f"They must pass before anything is broken; pytest ended with status {status}:\n{tail(output)}")
    return status == 0


def try_all(first: Copy, mutants: list[Mutant], jobs: int, seconds: float) -> list[Outcome]:
    """Try the mutants out on as many copies as there are jobs; the first copy has compiled code, which the others take over."""
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    copies.put(first)
    for number in range(1, jobs):
        folder = first.folder.with_name(f"copy-{number}")
        copies.put(Copy(shutil.copytree(first.folder, folder, ignore=shutil.ignore_patterns("*.pyc"))))

    def try_one(mutant: Mutant) -> Outcome:
        copy = copies.get()
        try:
            return copy.try_out(mutant, seconds)
        finally:
            copies.put(copy)

    outcomes = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in as_completed([pool.submit(try_one, mutant) for mutant in mutants]):
                outcome = done.result()
                outcomes.append(outcome)
                by = f"  [{outcome.words}]" if outcome.fate is Fate.KILLED else ""
                say(
                    f"{len(outcomes):3}/{len(mutants)} {outcome.seconds:5.1f} s  {outcome.fate.value}: {outcome.mutant}{by}"
                )
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return outcomes


def report(outcomes: list[Outcome], spared: int, seconds: float) -> None:
    """How many were killed, and what is left to do."""
    count = {fate: sum(outcome.fate is fate for outcome in outcomes) for fate in Fate}
    say(
        f"\n{len(outcomes)} mutants in {seconds:.0f} s: {count[Fate.KILLED]} killed by a test, {count[Fate.TOO_SLOW]} by the time "
        f"limit, {count[Fate.SURVIVED]} survived, {count[Fate.BROKEN]} errors; {spared} more are equivalent."
    )
    for outcome in outcomes:
        if outcome.fate is not Fate.KILLED:
            say(f"{outcome.fate.value}: {outcome.mutant}\n    tests: {' '.join(outcome.mutant.tests)}")
        if outcome.fate is Fate.BROKEN:
            say(f"    {outcome.words}")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    """Read the list, try the mutants out, and report; the status."""
    parser = argparse.ArgumentParser(description="Break the code on purpose and see whether the tests notice.")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="only mutants with this text in area, file or change"
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=2, help="copies of the tree to work in (default: 2)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=SECONDS, help="for the tests of one mutant")
    parser.add_argument("--root", metavar="FOLDER", type=Path, default=ROOT, help="the tree (default: this one)")
    options: Any = parser.parse_args(arguments)
    began = time.perf_counter()
    everything = read_mutants(options.root / LIST)
    wrong = complaints(everything, options.root)
    for complaint in wrong:
        say(f"ERROR: {complaint}")
    chosen = [mutant for mutant in everything if options.only in f"{mutant.area} {mutant}"]
    mutants = [mutant for mutant in chosen if mutant.equivalent is None and mutant.complaint(options.root) is None]
    if not mutants:
        say("There is no mutant to try out.")
        return 1
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        first = Copy(Path(scratch) / "copy-0")
        shutil.copytree(options.root, first.folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        if not passes(first, mutants, options.jobs):
            return 1
        outcomes = try_all(first, mutants, options.jobs, options.timeout)
    spared = sum(mutant.equivalent is not None for mutant in chosen)
    report(outcomes, spared, time.perf_counter() - began)
    survived = any(outcome.fate in (Fate.SURVIVED, Fate.BROKEN) for outcome in outcomes)
    return int(survived or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
