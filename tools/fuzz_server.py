"""Attack a running server for some minutes with requests that no client should send.

    python tools/fuzz_server.py --minutes 5

Run by `make fuzz`. Each round has another seed, and a server of its own; the test test_web_malformed.py is the round with seed 0. What is
wrong with an answer, the log, the files, the memory or the workers of the server is printed, and the status is 1 then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from malformed import KINDS
from malformed_wire import RAW
from siege import besieged

SHARE = 10
"""A round is so much shorter than the test, so that few minutes see several servers."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    kinds, raw = ({kind: -(-count // SHARE) for kind, count in each.items()} for each in (KINDS, RAW))
    end, seed, requests, findings = time.monotonic() + 60 * arguments.minutes, arguments.seed, 0, 0
    while True:
        with tempfile.TemporaryDirectory() as folder:
            with besieged(Path(folder)) as siege:
                requests += siege.attack(seed, kinds, raw)
            for finding in siege.findings:
                print(f"seed {seed}: {finding}", flush=True)  # noqa: T201
        findings += len(siege.findings)
        seed += 1
        if time.monotonic() > end:
            break
    print(f"{requests} requests, {findings} findings")  # noqa: T201
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
