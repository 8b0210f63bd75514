"""`robustpool fit FILE` against `robustpool aggregate FILE` on the same file, in turns; `make bench` runs it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from tables import measured

ROUNDS = 2
ANSWERS = 10


def write_rows(path: Path, rows: int, *, dated: bool) -> None:
    """Answers of 2,000 forecasters of differing skill, ten to a question, with outcomes and perhaps with dates."""
    rng = np.random.default_rng(0)
    questions = rows // ANSWERS
    truth, noise = 1.2 * rng.standard_normal(questions), rng.uniform(0.3, 2, 2000)
    outcome = (rng.random(questions) < 1 / (1 + np.exp(-truth))).astype(int)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"question_id,forecaster_id,probability,outcome{',timestamp' if dated else ''}\n")
        for question in range(questions):
            people = rng.choice(2000, ANSWERS, replace=False)
            answers = 1 / (1 + np.exp(-(truth[question] + noise[people] * rng.standard_normal(ANSWERS))))
            time = f",{1_600_000_000 + 600 * question}" if dated else ""
            file.writelines(
                f"q{question},f{who},{p:.3f},{outcome[question]}{time}\n"
                for who, p in zip(people.tolist(), answers.tolist(), strict=True)
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    rows = int(parser.parse_args().rows)
    program = str(Path(sys.executable).with_name("robustpool"))
    with tempfile.TemporaryDirectory() as folder:
        source, pool, pooled = (str(Path(folder) / name) for name in ("forecasts.csv", "pool.json", "pooled.csv"))
        commands = {
            "aggregate": [program, "aggregate", source, "-o", pooled],
            "fit": [program, "fit", source, "--out", pool],
        }
        for dated in (False, True):
            write_rows(Path(source), rows, dated=dated)
            runs = {name: [measured(command) for _ in range(ROUNDS)] for name, command in commands.items()}
            best = {name: min(run) for name, run in runs.items()}
            print(f"{rows:,} answers to {rows // ANSWERS:,} questions{', with times' if dated else ''}")
            for name, (seconds, megabytes) in best.items():
                print(f"  {name:10} {seconds:6.2f} s  {megabytes:6.0f} MB  {seconds / best['aggregate'][0]:5.1f} times")


if __name__ == "__main__":
    main()
