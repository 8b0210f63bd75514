"""Kill jobs of every kind at random moments, continue them, and compare the result with that of an undisturbed run.

`make soak MINUTES=60` does so for an hour. It ends with status 1 at the first result that differs, and keeps its folder.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from faults import JOBS, Faults

SECONDS = 5.0
"""What a job takes at least when nothing happens, so that it saves something before it is killed."""


def say(line: str) -> None:
    """A line at once."""
    print(line, flush=True)  # noqa: T201


def soak(minutes: float, seed: int, folder: Path) -> bool:
    """Run for so many minutes; whether every result was the same."""
    rng, end = random.Random(seed), time.monotonic() + 60 * minutes
    faults = {name: Faults(folder / name.replace(" ", "-"), rng) for name in JOBS}
    known, runs = {}, dict.fromkeys(JOBS, 0)
    for name in JOBS:
        known[name] = job, _, seconds = faults[name].sized(name, SECONDS)
        say(f"{name}: {seconds:.1f} s undisturbed, size {job.size}")
    while time.monotonic() < end:
        name = rng.choice(list(JOBS))
        job, essence, seconds = known[name]
        try:
            wrong = None
            if faults[name].disturbed(job, 0.6 * seconds, kills=rng.randint(1, 4)) != essence:
                wrong = "the result differs"
        except AssertionError as error:
            wrong = str(error) or "something was left behind"
        if wrong is not None:
            say(f"{name}: {wrong}; seed {seed}, see {faults[name].folder}")
            return False
        runs[name] += 1
    for name, each in faults.items():
        line = f"{name}: {runs[name]} runs, {each.kills} kills, every result the same"
        if each.lost:
            most, middle = max(each.lost), statistics.median(each.lost)
            line += f"; {each.early} kills before the first checkpoint, else {middle:.1f} s lost (median), {most:.1f} s (most)"
        say(line)
    return True


def main() -> None:
    """Parse the options, and say how it went by the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--seed", type=int, default=int(time.time()))
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    sys.exit(0 if soak(given.minutes, given.seed, folder) else 1)


if __name__ == "__main__":
    main()
