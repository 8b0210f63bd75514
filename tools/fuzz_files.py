"""Attack the readers of files: families, designs, certificates, fitted pools, checkpoints, settings, and tables.

    python tools/fuzz_files.py --minutes 10 --only design

A file must be read or refused in one printable sentence, within its time (a second for each kilobyte, and ten to begin with) and
its memory. Whole files are changed: bytes, and the parts that they are made of (JSON that is signed again; tables with odd types,
names and encodings; arrays of checkpoints; options of TOML files). A change that reaches new lines of robustpool is kept, and changed
again. What is claimed of a changed certificate, or continued from a changed checkpoint, must be true. Each file is read in a process
that is reused while it lives, so that a crash of the engine is found too. Run by `make fuzz`, and for a minute each by the slow tests.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import selectors
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from changes import TOKENS, change_place, check_size, damaged, places

import robustpool as rp
from robustpool.designs.design_file import content_hash, design_to_json
from robustpool.learning.pool_file import pool_to_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

KINDS = ("family", "design", "certificate", "pool", "checkpoint", "csv", "parquet", "toml")
SECONDS, SECONDS_PER_KILOBYTE = 10.0, 1.0
MEGABYTES, MEGABYTES_PER_KILOBYTE = 800, 0.5
"""What reading a file may take, in CPU time and in memory; a table of 1 GB may come from a file of 5 MB."""

CORPUS, SMALL = 200, 50_000
"""Files that are kept to be changed again, and the bytes that each may have."""


# ------------------------------------------------------------------------------------------------- reading, in a process


Read = tuple[str, "Callable[[], str | None]"]
"""Whether a file was read or refused, and what then says, out of the time, what is false of the result."""


def use_family(path: str) -> None:
    """What `worst-case` and `design` do first with a family."""
    family = rp.load_family(path)
    family.fingerprint()
    if len(family.states) == 2:
        rp.worst_case("mean", family)


def use_design(path: str) -> None:
    """What a notebook and `aggregate --rule` do with a design."""
    design = rp.load_design(path)
    _show(design)
    design_to_json(design)
    rp.aggregate([0.25] * min(design.agents, 12), rule=path)


def use_pool(path: str) -> None:
    """What a notebook and `aggregate --rule` do with a fitted pool."""
    pool = rp.load_pool(path)
    _show(pool)
    pool_to_json(pool)
    rp.aggregate([0.25, 0.75], rule=path)


def use_table(path: str) -> None:
    """What `aggregate` does with a table, and half of what `compare` does."""
    rp.aggregate_table(path)
    rp.read_forecasts(path)


def use_certificate(path: str) -> Read:
    """What `verify` does."""
    from fuzz_certificates import use_certificate

    return use_certificate(path)


def use_checkpoint(path: str) -> Read:
    """What `--resume` does."""
    from fuzz_checkpoints import use_checkpoint

    return use_checkpoint(path)


def use_settings(path: str) -> None:
    """What `sweep` does."""
    from fuzz_settings import use_settings

    use_settings(path)


def _show(thing: Any) -> None:
    repr(thing)
    thing._repr_html_()


USES: dict[str, Callable[[str], Read | None]] = {
    "family": use_family,
    "design": use_design,
    "certificate": use_certificate,
    "pool": use_pool,
    "checkpoint": use_checkpoint,
    "csv": use_table,
    "parquet": use_table,
    "toml": use_settings,
}


class Lines:
    """The lines of robustpool that were ever reached."""

    def __init__(self) -> None:
        """None yet."""
        self._folder = str(Path(rp.__file__).parent)
        self._ours: dict[CodeType, bool] = {}
        self._reached: set[tuple[CodeType, int]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002
        """Trace the functions of robustpool, and no others."""
        code = frame.f_code
        ours = self._ours.get(code)
        if ours is None:
            ours = self._ours[code] = code.co_filename.startswith(self._folder)
        if not ours:
            return None
        self._reached.add((code, frame.f_lineno))
        return self

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._reached)


def serve(kind: str) -> None:
    """Read the files whose names come on standard input, and say what became of each."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)  # of numbers that overflow; users would see it
    if kind == "checkpoint":
        import fuzz_checkpoints

        fuzz_checkpoints.prepare()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    lines = Lines()
    for line in sys.stdin:
        before, (began, memory) = lines.count, (time.process_time(), reset_peak())
        sys.settrace(lines)
        answer, falsehood = outcome(USES[kind], line.rstrip("\n"))
        sys.settrace(None)
        spent, used = time.process_time() - began, (peak() - memory) / 1e6
        if falsehood is not None:
            false, _ = outcome(lambda _, check=falsehood: (check() or "true", None), "")  # type: ignore[misc]
            answer = answer if false == "true" else f"FALSE, {false}"
        sys.stdout.write(json.dumps([answer, spent, used, lines.count > before]) + "\n")
        sys.stdout.flush()


def outcome(use: Callable[[str], Any], path: str) -> tuple[str, Callable[[], str | None] | None]:
    """Read, refused in a sentence, or what is wrong; and what else to ask of a file that was read."""
    try:
        return use(path) or ("read", None)
    except rp.RobustpoolError as error:
        sentence = str(error)
        printable = sentence.isprintable() and len(sentence) < 2000
        return "refused" if printable else f"no sentence: {sentence[:500]!a}", None
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is a fault
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = "" if trace is None else f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        return f"{type(error).__name__}{where}: {str(error)[:300]!a}", None


def reset_peak() -> float:
    """The memory of this process in bytes, which is its peak from now on, where the system can say so."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> float:
    """The most memory that this process had, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1024.0 * float(status.partition("VmHWM:")[2].split()[0])


# ------------------------------------------------------------------------------------------------------------ JSON files


def json_seeds(kind: str) -> list[bytes]:
    """Whole files of each shape that there is."""
    if kind == "family":
        examples = Path(rp.__file__).parent / "families" / "examples"
        whole = [json.loads(path.read_text()) for path in sorted(examples.glob("*.json"))]
        three = [[[0.1, 0.2], [0.1, 0]], [[0.1, 0.1], [0, 0.1]], [[0.1, 0], [0.1, 0.1]]]
        structure = {"name": "one", "joint": three}
        more = {"states": ["a", "b", "c"], "agents": ["ann", "bob"], "structures": [structure]}
        whole += [{**whole[0], **more, "report": report} for report in ("posterior", "higher-order", "decision")]
    elif kind == "pool":
        whole = [pool_to_json(rp.fit(table, seed=0)) for table in _records()]
    else:
        whole = _designs()
    return [json.dumps(data).encode() for data in whole]


def _designs() -> list[dict[str, Any]]:
    from robustpool.families.family_file import EXAMPLES
    from robustpool.families.worlds import WORLDS, make_world

    short: dict[str, Any] = {"tolerance": 1e-2, "rounds": 3}
    grid = rp.ConditionallyIndependent(agents=2, reports=3, priors=4)
    designs = [
        rp.solve(rp.load_family(EXAMPLES / "weather.json"), **short),
        rp.solve(grid, **short),
        rp.solve(rp.ConditionallyIndependent(agents=3, reports=2, priors=3), **short),
        rp.solve(grid, epsilon=0.5, method="multiplicative-weights"),
        rp.solve(make_world("partial-information", {}), **short),
    ]
    whole = [design_to_json(solution.design) for solution in designs]
    worlds = [make_world(name, {}).as_data() for name in WORLDS]
    return whole + [{**whole[1], "family": json.loads(json.dumps(world))} for world in worlds]


def _records() -> list[Any]:
    """Track records of yes and no, with and without times, and of three options."""
    import pandas as pd

    rng = np.random.default_rng(0)
    outcome = rng.integers(0, 2, 60)
    rows = [(f"q{q}", f"f{f}", float(np.clip(outcome[q] * 0.4 + rng.random() * 0.6, 0.02, 0.98)), int(outcome[q]))
            for q in range(60) for f in range(3)]  # fmt: skip
    plain = pd.DataFrame(rows, columns=["question_id", "forecaster_id", "probability", "outcome"])
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(plain["question_id"].str[1:].astype(int), unit="D")
    timed = plain.assign(timestamp=days, resolved=days + pd.Timedelta(days=1))
    return [plain, timed]


def changed_json(content: bytes, rng: random.Random) -> bytes:
    """Some bytes, or some parts of the tree, which is signed again."""
    if rng.random() < 0.15:
        return damaged(content, rng, TOKENS)
    try:
        data = json.loads(content)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if found := places(data):
                change_place(data, *rng.choice(found), rng)
        check_size(data)
        if isinstance(data, dict) and "hash" in data:
            data["hash"] = content_hash(data)
        text = json.dumps(data).encode()
    except (ValueError, RecursionError):  # kept for what it was, and now changed as bytes
        return damaged(content, rng, TOKENS)
    return text if len(text) < 3_000_000 else damaged(content, rng, TOKENS)


# --------------------------------------------------------------------------------------------------------------- tables

MARKS = [b"\x00", b"\xff", b",", b'"', b"\n", b"\r", b";", b"%", b"\t", b"\xef\xbb\xbf", b"1e999", b"nan", b"-"]
NAMES = [
    "question_id",
    "forecaster_id",
    "probability",
    "outcome",
    "timestamp",
    "weight",
    "option",
    "cluster",
    "resolved",
]


def csv_seeds() -> list[bytes]:
    """Long, wide, with options, semicolons, zipped and in UTF-16."""
    import gzip

    rows = [(f"q{i % 40}", f"f{i % 7}", (i * 37 % 101) / 100, f"2024-01-{i % 28 + 1:02d}", i % 2) for i in range(200)]
    long = "question_id,forecaster_id,probability,timestamp,outcome\n" + "".join(
        f'"{q}",{f},{p},{t},{o}\n' for q, f, p, t, o in rows
    )
    options = "question_id,forecaster_id,option,probability\n" + "".join(
        f"{q},{f},{o},0.25\n" for q, f, *_ in rows[:40] for o in "abcd"
    )
    wide = "question_id,ann,bob\n" + "q1,0.5,0.25\n" * 50
    texts = [long, wide, options, long.replace(",", ";")]
    return [text.encode() for text in texts] + [gzip.compress(long.encode()), long.encode("utf-16")]


def parquet_seeds() -> list[bytes]:
    """The same rows with several codecs, written by the engine and by pyarrow."""
    import duckdb
    import pyarrow.csv as pc

    whole = []
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "f.csv", Path(folder) / "f.parquet"
        for text in csv_seeds()[:3]:
            source.write_bytes(text)
            for codec in ("snappy", "zstd", "uncompressed"):
                rows = f"SELECT * FROM read_csv('{source}')"
                duckdb.execute(f"COPY ({rows}) TO '{target}' (FORMAT parquet, CODEC '{codec}', ROW_GROUP_SIZE 128)")
                whole.append(target.read_bytes())
            whole.append(_parquet(pc.read_csv(source), random.Random(0)))
    return whole


def _parquet(table: Any, rng: random.Random) -> bytes:
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(
        table,
        file,
        compression=rng.choice(["none", "snappy", "zstd", "gzip"]),
        use_dictionary=rng.random() < 0.7,
        version=rng.choice(["1.0", "2.6"]),
        data_page_version=rng.choice(["1.0", "2.0"]),
        row_group_size=rng.choice([1, 7, 1000, 1 << 20]) if table.num_rows < 1000 else 1 << 20,
        write_statistics=rng.random() < 0.7,
    )
    return file.getvalue()


def changed_parquet(content: bytes, rng: random.Random) -> bytes:
    """Some bytes of a file, or a file of its own with odd columns."""
    return damaged(content, rng, MARKS) if rng.random() < 0.5 else odd_table(rng)


def odd_table(rng: random.Random) -> bytes:
    """A table as no person writes one: odd types, names, sizes and encodings."""
    import pyarrow as pa

    rows = rng.choice([0, 1, 3, 50, 50, 50, 5000])
    if rng.random() < 0.03:
        return bomb(rng)
    names = rng.sample(NAMES, rng.randrange(2, 6)) if rng.random() < 0.5 else NAMES[: rng.randrange(3, 6)]
    names += rng.choice([[], [], ["ann", "bob"], ["ann", "Ann"], ["", "\x00", "a\nb"], ["é" * 500], ['"', "'", "*"]])
    names = [] if rng.random() < 0.05 else [*names, names[0]] if rng.random() < 0.1 else names
    try:
        columns = [odd_column(name, rows, rng) for name in names]
        return _parquet(pa.Table.from_arrays(columns, names=names), rng)
    except (pa.ArrowException, ValueError, TypeError, OSError):  # not every type can be written
        return b"PAR1"


def odd_column(name: str, rows: int, rng: random.Random) -> Any:
    """Mostly what the name says, sometimes anything."""
    import pyarrow as pa

    whole = np.arange(rows)
    usual: dict[str, Any] = {
        "question_id": [f"q{i % 9}" for i in whole],
        "forecaster_id": [f"f{i % 4}" for i in whole],
        "outcome": (whole % 9 % 2).tolist(),
        "timestamp": [f"2024-01-{i % 28 + 1:02d}" for i in whole],
        "resolved": [f"2024-02-{i % 28 + 1:02d}" for i in whole],
        "option": ["ab"[i % 2] for i in whole],
    }
    if rng.random() < 0.6:
        return pa.array(usual.get(name, ((whole % 11) / 11).tolist()))
    numbers = pa.array(((whole * 7919) % 2000 - 3).tolist(), type=pa.int64())
    with_gaps = pa.array([None if i % 3 else int(i) for i in whole], type=pa.int64())
    makers: list[Callable[[], Any]] = [
        lambda: numbers.cast(pa.decimal128(rng.choice([22, 38]), rng.choice([0, 3]))),
        lambda: pa.array([[0.5, None]] * rows, type=pa.list_(pa.float64())),
        lambda: pa.array([[[["x"]]]] * rows, type=pa.list_(pa.list_(pa.list_(pa.string())))),
        lambda: pa.array([{"a": 1, "b": "x"}] * rows, type=pa.struct([("a", pa.int8()), ("b", pa.string())])),
        lambda: pa.array([[("k", 1)]] * rows, type=pa.map_(pa.string(), pa.int32())),
        lambda: pa.DictionaryArray.from_arrays(pa.array((whole % 2).tolist(), pa.int8()), pa.array(["q", "r"])),
        lambda: numbers.cast(
            pa.timestamp(rng.choice(["s", "ms", "us", "ns"]), rng.choice([None, "UTC", "Asia/Tokyo"]))
        ),
        lambda: pa.array([2**62 - 1] * rows, pa.int64()).cast(pa.timestamp(rng.choice(["us", "ns"]))),
        lambda: pa.array((whole % 86400).tolist(), pa.int32()).cast(pa.time32("s")),
        lambda: pa.array((whole % 3_000_000 - 800_000).tolist(), pa.int32()).cast(pa.date32()),
        lambda: pa.array([2**31 - 1] * rows, pa.int32()).cast(pa.date32()),
        lambda: pa.array([None] * rows, type=pa.null()),
        lambda: pa.array([rng.randbytes(5) for _ in whole], type=pa.binary()),
        lambda: pa.array([b"\xff\xfe12"] * rows, type=pa.binary(4)),
        lambda: pa.array([bool(i % 2) for i in whole]),
        lambda: pa.array([rng.choice(["", "nan", "-", "1e999", "x\x00y", "é\u202e", "0_1", "50%"]) for _ in whole]),
        lambda: pa.array([rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0, 0.5]) for _ in whole]),
        lambda: pa.array(np.full(rows, 0.5, np.float16)),
        lambda: pa.array([2**64 - 1] * rows, type=pa.uint64()),
        lambda: with_gaps.cast(pa.duration("us")),
        lambda: with_gaps,
        lambda: pa.array(["x" * rng.choice([1000, 140_000])] * min(rows, 50) + ["y"] * max(0, rows - 50)),
    ]
    return rng.choice(makers)()


def bomb(rng: random.Random) -> bytes:
    """A small file of many rows, many columns, or few texts that come often and are long."""
    import pyarrow as pa

    rows = rng.choice([10_000, 100_000, 2_000_000])

    def same(text: str) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))

    way = rng.randrange(4)
    columns = {"question_id": same("q"), "forecaster_id": same("f"), "probability": pa.array(np.full(rows, 0.5))}
    if way == 0:
        columns[rng.choice(list(columns))] = same("x" * rng.choice([10_000, 1_000_000]))
    elif way == 1:
        columns = {"question_id": columns["question_id"][:10_000]}
        columns |= {f"f{i}": pa.array(np.full(10_000, 0.5)) for i in range(rng.choice([50, 300]))}
    elif way == 2:
        columns["probability"] = pa.array(np.full(rows, np.nan))
        columns["comment"] = same("x" * 1_000_000)
    else:
        columns["outcome"] = pa.array([[0.5] * 1000] * min(rows, 10_000), type=pa.list_(pa.float64()))
        columns = {name: column[:10_000] for name, column in columns.items()}
    file = pa.table(columns)
    return _parquet(file, random.Random(1))


# --------------------------------------------------------------------------------------------------------------- attack


@dataclass
class Reader:
    """A process that reads files of one kind."""

    kind: str
    process: subprocess.Popen[bytes] | None = None

    def read(self, path: Path) -> tuple[str, float, float, bool]:
        """What became of a file, the seconds and megabytes that it took, and whether it reached new lines."""
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, __file__, "--serve", self.kind]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self.process.stdout is not None
            self.process.stdout.readline()  # it is ready
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n".encode())
        self.process.stdin.flush()
        limit = 6 * (SECONDS + SECONDS_PER_KILOBYTE * path.stat().st_size / 1000)  # of time, not of CPU time
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(limit):
                self.stop()
                return "HANGS", limit, 0.0, False
        line = self.process.stdout.readline()
        if not line:
            return f"CRASHED with {self.process.wait()}", 0.0, 0.0, False
        answer, seconds, megabytes, new = json.loads(line)
        return answer, seconds, megabytes, new

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def _attack_on(kind: str) -> tuple[list[bytes], Callable[[bytes, random.Random], bytes], str]:
    """Whole files of a kind, how they are changed, and how their names end."""
    if kind == "certificate":
        import fuzz_certificates

        return fuzz_certificates.seeds().copy(), fuzz_certificates.changed, "json"
    if kind == "checkpoint":
        import fuzz_checkpoints

        return fuzz_checkpoints.seeds(), fuzz_checkpoints.changed, "npz"
    if kind == "toml":
        import fuzz_settings

        return fuzz_settings.seeds(), fuzz_settings.changed, "toml"
    if kind == "csv":
        return csv_seeds(), lambda content, rng: damaged(content, rng, MARKS), "csv"
    if kind == "parquet":
        return parquet_seeds(), changed_parquet, "parquet"
    return json_seeds(kind), changed_json, "json"


def attack(kind: str, minutes: float, seed: int, kept: Path) -> tuple[Counter[str], dict[str, str]]:
    """Change and read files until the time is over: how many of each outcome, and the faults with a file for each."""
    rng = random.Random(f"{kind} {seed}")
    corpus, change, ending = _attack_on(kind)
    counts, faults, reader = Counter[str](), dict[str, str](), Reader(kind)
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"f.{ending}"
        path.write_bytes(corpus[0])
        while time.monotonic() < end:
            content = change(rng.choice(corpus), rng)
            path.write_bytes(content)
            answer, seconds, megabytes, new = reader.read(path)
            kilobytes = len(content) / 1000
            if seconds > SECONDS + SECONDS_PER_KILOBYTE * kilobytes and answer != "HANGS":
                answer = f"TOO SLOW, {answer}"
            if megabytes > MEGABYTES + MEGABYTES_PER_KILOBYTE * kilobytes:
                answer = f"TOO LARGE, {answer}"
            counts[answer] += 1
            if answer not in ("read", "refused") and answer not in faults:
                file = kept / f"fault-{kind}-{seed}-{len(faults)}{path.suffix}"
                file.write_bytes(content)
                faults[answer] = f"{file} ({seconds:.1f} s, {megabytes:.0f} MB, {kilobytes:.1f} kB)"
            if new and len(corpus) < CORPUS and len(content) < SMALL and answer in ("read", "refused"):
                corpus.append(content)
    reader.stop()
    counts["kept to be changed again"] = len(corpus)
    return counts, faults


def main() -> int:
    """Attack each kind of file in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each kind of file")
    parser.add_argument("--only", choices=KINDS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path(), metavar="FOLDER", help="where files that fail are kept")
    parser.add_argument("--serve", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
        return 0
    failed = False
    for kind in options.only or KINDS:
        counts, faults = attack(kind, options.minutes, options.seed, options.keep)
        failed |= bool(faults)
        sys.stdout.write(f"{kind}: {counts['read']} read, {counts['refused']} refused, {len(faults)} kinds of fault, ")
        sys.stdout.write(f"{counts['kept to be changed again']} files that reached new lines.\n")
        for fault, file in faults.items():
            sys.stdout.write(f"  {counts[fault]:5d}  {fault}\n         {file}\n")
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
