"""Attack the verifier for some minutes: bytes, trees of JSON, and forgeries that are signed again.

Run by `make fuzz`. It stops with status 1 at the first traceback, at the first sentence that is not one printable line, at the
first verdict that takes more than 30 seconds of CPU time, and at the first acceptance that is false. What it tried last is kept
in a file then. The second checker, `robustpool.referee`, gets the same files if there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import forging
import oracle
import robustpool as rp
from damage import places
from hostile import ATTACKS

MOST_SECONDS = 30.0
ODD: list[Any] = [None, True, "", "1/3", "1/0", "\ud800", [], {}, [[]], 0, -1, 0.5, 1e299, 1e308, 10**400, float("nan")]
TOKENS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\\ud800",
    b"1e999",
    b"NaN",
    b"-",
    b"\x00",
    b"\xff",
    b"9" * 5000,
]


def random_tree(rng: random.Random, depth: int = 4) -> Any:
    """Any JSON."""
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(ODD)
    if rng.random() < 0.5:
        return [random_tree(rng, depth - 1) for _ in range(rng.randrange(4))]
    names = ["kind", "agents", "bound", "mixture", "weight", "joint", "x", ""]
    return {rng.choice(names): random_tree(rng, depth - 1) for _ in range(rng.randrange(4))}


def changed_bytes(rng: random.Random) -> bytes:
    """The bytes of an honest certificate, or any, with some changes."""
    content = bytearray(json.dumps(forging.original(rng.choice(forging.KINDS))).encode())
    if rng.random() < 0.1:
        content = bytearray(rng.randbytes(rng.randrange(300)))
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        way = rng.randrange(6)
        if way == 0 and start < len(content):
            content[start] ^= 1 << rng.randrange(8)
        elif way == 1:
            content[start:start] = rng.choice(TOKENS)
        elif way == 2:
            content[start:start] = content[start:end]
        elif way == 3 and end - start < 200:
            del content[start:end]
        elif way == 4:
            content[start:start] = rng.choice([b"[", b'{"a":']) * rng.choice([10, 1000, 100_000])
        else:
            content[start:] = b"" if rng.random() < 0.3 else content[start:]
    return bytes(content)


def grafted(rng: random.Random) -> bytes:
    """An honest certificate with other trees in some places, signed again."""
    data = forging.original(rng.choice(forging.KINDS))
    for _ in range(rng.choice([1, 1, 2, 3])):
        where, key = rng.choice(places(data))
        other, inner = rng.choice(places(data))
        where[key] = random_tree(rng) if rng.random() < 0.7 else json.loads(json.dumps(other[inner]))
    return json.dumps(forging.sign(data)).encode()


def forged(rng: random.Random) -> bytes:
    """A forgery that only mathematics can see."""
    return json.dumps(forging.forge(rng)[1]).encode()


def costly(rng: random.Random) -> bytes:
    """A file that takes as much work as it can, up to 5 MB."""
    make, size = ATTACKS[rng.choice(list(ATTACKS))]
    return json.dumps(make(int(size * rng.choice([0.3, 1, 3]))), separators=(",", ":")).encode()[:5_000_000]


WAYS = {"bytes": changed_bytes, "trees": grafted, "forgeries": forged, "costly files": costly}
CHANCES = (40, 30, 29, 1)


def verdict(path: Path, rng: random.Random, *, judged: bool) -> str:
    """What became of a file; a fault of the verifier is an AssertionError, or whatever it raises.

    ``judged``: what is accepted is compared with the truth, which takes long for costly files, whose claims leave much room.
    """
    began = time.process_time()
    try:
        result = rp.verify(path)
    except rp.InputError as error:
        kind, sentence = "no certificate", str(error)
    else:
        kind = "accepted" if result.verified else "over the budget" if result.over_budget else "refused"
        sentence = result.sentence
    seconds = time.process_time() - began
    assert seconds < MOST_SECONDS, f"the verdict took {seconds:.0f} s"
    assert sentence.isprintable(), ascii(sentence)
    assert "could not be read (" not in sentence or "cannot be read" in sentence, sentence
    if kind == "accepted" and judged:
        data = json.loads(path.read_bytes())
        assert (false := oracle.falsehood(data)) is None, false
        forging.check_sentences(data, result.claims)
    if forging.REFEREE and judged and rng.random() < 0.05 and forging.referee_accepts(path):
        data = json.loads(path.read_bytes())
        parts = data if data["aggregator"]["kind"] == "log-odds" else {**data, "upper": None, "lower": None}
        parts = {name: part for name, part in parts.items() if part is not None}
        assert (false := oracle.falsehood(parts)) is None, f"the referee accepts: {false}"
        kind += ", also by the referee" if kind == "accepted" else ", but accepted by the referee"
    return kind


def main() -> None:
    """Attack until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, counts, slowest = random.Random(options.seed), Counter[str](), 0.0
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        while time.monotonic() < end:
            (way,) = rng.choices(list(WAYS), CHANCES)
            path.write_bytes(WAYS[way](rng))
            began = time.process_time()
            try:
                counts[f"{way}: {verdict(path, rng, judged=way != 'costly files')}"] += 1
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is a fault
                kept = Path(f"fault-{options.seed}-{sum(counts.values())}.json")
                kept.write_bytes(path.read_bytes())
                sys.stdout.write(f"FAULT, {way}: {type(error).__name__}: {error}\nthe file is {kept}\n")
                sys.exit(1)
            slowest = max(slowest, time.process_time() - began)
    for name, count in sorted(counts.items()):
        sys.stdout.write(f"{count:7d}  {name}\n")
    sys.stdout.write(
        f"{sum(counts.values()):7d}  files in all, the slowest in {slowest:.1f} s of CPU time; no fault.\n"
    )


if __name__ == "__main__":
    main()
