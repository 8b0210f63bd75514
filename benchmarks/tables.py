"""`robustpool aggregate FILE` on ten million rows against bare DuckDB, on the same file and cores, in turns; `make bench` runs it.

Two bare pipelines: one reads, casts, averages the log-odds of each question and writes; the other also keeps only the last answer
of each forecaster to each question, as `aggregate` does. Neither checks a row, says what it left out, or knows another rule.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = 3
AT_ONCE = 200_000

BARE = """
import duckdb, sys
source, target, last = sys.argv[1:]
answers = f"SELECT question_id, probability::DOUBLE AS p FROM read_csv('{source}', all_varchar = true)"
if last == "last":
    answers = f"SELECT question_id, arg_max(probability::DOUBLE, n) AS p FROM (SELECT *, row_number() OVER () AS n FROM " \\
              f"read_csv('{source}', all_varchar = true)) GROUP BY question_id, forecaster_id"
duckdb.connect(config={"threads": 2}).execute(
    f"COPY (SELECT question_id, 1 / (1 + exp(-avg(ln(x / (1 - x))))) AS forecast, count(*) AS forecasters "
    f"FROM (SELECT question_id, least(greatest(p, 0.01), 0.99) AS x FROM ({answers})) GROUP BY question_id) TO '{target}'")
"""


def write_rows(path: Path, rows: int) -> None:
    """Random answers of 5,000 forecasters, about ten to a question."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write("question_id,forecaster_id,probability\n")
        for _ in range(0, rows, AT_ONCE):
            columns = (rng.integers(0, high, AT_ONCE).tolist() for high in (rows // 10, 5000, 1001))
            file.writelines(f"q{q},f{f},{p / 1000}\n" for q, f, p in zip(*columns, strict=True))


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and megabytes of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[0]} ended with {status}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    rows = int(parser.parse_args().rows)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "forecasts.csv", Path(folder) / "pooled.csv"
        write_rows(source, rows)
        ours = [str(Path(sys.executable).with_name("robustpool")), "aggregate", str(source), "--rule", "geometric-odds"]
        commands = {
            "robustpool aggregate": [*ours, "-o", str(target)],
            "bare DuckDB": [sys.executable, "-c", BARE, str(source), str(target), "all"],
            "bare DuckDB, last answers": [sys.executable, "-c", BARE, str(source), str(target), "last"],
        }
        print(f"\n{rows:,} rows ({source.stat().st_size / 1e6:.0f} MB), best of {ROUNDS} in turns")
        runs = [{name: measured(command) for name, command in commands.items()} for _ in range(ROUNDS)]
        best = {name: min(run[name][0] for run in runs) for name in commands}
        for name, seconds in best.items():
            memory = max(run[name][1] for run in runs)
            ratio = best["robustpool aggregate"] / seconds
            print(
                f"  {name:<26} {seconds:6.2f} s  {memory:5.0f} MB   robustpool takes {ratio:.2f} times as long",
                flush=True,
            )


if __name__ == "__main__":
    main()
