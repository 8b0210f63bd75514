"""Attack the reading of tables: damaged Parquet and CSV files must be read or refused in a sentence, never end in a traceback.

    python tools/fuzz_tables.py --minutes 5

Each file is read in a process that is reused while it lives; a crash of the engine itself is a finding too.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import duckdb

from damage import damaged

READER = """
import sys, warnings
from robustpool.errors import InputError
from robustpool.tables.pooling import aggregate_table
warnings.simplefilter("ignore")
for line in sys.stdin:
    try:
        aggregate_table(line.strip())
        print("read", flush=True)
    except InputError as error:
        print("refused" if len(str(error).splitlines()) == 1 else "many lines: " + repr(str(error)), flush=True)
    except BaseException as error:
        print("FAILED " + repr(error).replace(chr(10), " "), flush=True)
"""


def seeds() -> dict[str, bytes]:
    """Whole files of several kinds."""
    rows = [(f"q{i % 40}", f"f{i % 7}", (i * 37 % 101) / 100, f"2024-01-{i % 28 + 1:02d}", i % 2) for i in range(400)]
    text = "question_id,forecaster_id,probability,timestamp,outcome\n" + "".join(
        f'"{q}",{f},{p},{t},{o}\n' for q, f, p, t, o in rows
    )
    files = {"plain.csv": text.encode(), "wide.csv": b"question_id,ann,bob\n" + b"q1,0.5,0.25\n" * 50}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "f.csv"
        source.write_text(text)
        for codec in ("snappy", "zstd", "uncompressed"):
            target = Path(folder) / f"{codec}.parquet"
            duckdb.execute(
                f"COPY (SELECT * FROM read_csv('{source}')) TO '{target}' (FORMAT parquet, CODEC '{codec}', ROW_GROUP_SIZE 128)"
            )
            files[target.name] = target.read_bytes()
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, files, counts = random.Random(arguments.seed), seeds(), dict.fromkeys(["read", "refused"], 0)
    findings = []
    end = time.monotonic() + 60 * arguments.minutes
    process = None
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            if process is None or process.poll() is not None:
                process = subprocess.Popen(
                    [sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            name = rng.choice(sorted(files))
            path = Path(folder) / name
            path.write_bytes(damaged(files[name], rng))
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            answer = process.stdout.readline().strip() or f"CRASHED {process.wait()}"
            if answer in counts:
                counts[answer] += 1
            else:
                kept = Path(tempfile.gettempdir()) / f"finding-{len(findings)}-{name}"
                kept.write_bytes(path.read_bytes())
                findings.append(f"{kept}: {answer}")
                print(findings[-1], flush=True)  # noqa: T201
    print(  # noqa: T201
        f"{counts['read']} read, {counts['refused']} refused, {len(findings)} findings"
    )
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
