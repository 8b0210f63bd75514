"""Look up every package of the lock file in the database of known vulnerabilities, by pip-audit.

Run by `make audit`. Where the database cannot be reached it says so; with CI set that is a failure. pip-audit itself would end with
status 0 then, having looked up nothing. Whatever else goes wrong is a failure.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parent.parent / "requirements" / "dev.lock"

CONNECTION = re.compile(r"ConnectionError|ConnectTimeout|ReadTimeout|Max retries exceeded|may be blocking this service")
"""What pip-audit says if it cannot reach the database."""


def verdict(packages: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """The exit status, and what to say of the packages that pip-audit lists.

    >>> verdict([{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}])
    (1, ['a 1 has X-1; fixed in 2.'])
    """
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    if len(skipped) == len(packages):
        return int("CI" in os.environ), [
            f"The database cannot be reached: none of {len(packages)} packages was looked up."
        ]
    lines = [
        f"{each['name']} {each['version']} has {fault['id']}; fixed in {', '.join(fault['fix_versions']) or 'no version'}."
        for each in packages
        for fault in each.get("vulns", ())
    ]
    if skipped:
        return 1, [*lines, f"{len(skipped)} of {len(packages)} packages were not looked up: {', '.join(skipped)}."]
    return (1, lines) if lines else (0, [f"None of {len(packages)} packages has a known vulnerability."])


def failure(status: int, words: str) -> tuple[int, list[str]]:
    """The exit status, and what to say if pip-audit gives no list.

    >>> failure(1, "No module named pip_audit")
    (1, ['pip-audit ended with status 1 and no list of packages (No module named pip_audit).'])
    """
    reason = (words.strip().splitlines() or ["it says nothing"])[-1]
    if CONNECTION.search(reason):
        return int("CI" in os.environ), [f"The database cannot be reached: {reason}"]
    return 1, [f"pip-audit ended with status {status} and no list of packages ({reason})."]


def main() -> int:
    """Ask pip-audit."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(LOCK), "--require-hashes", "--disable-pip"]
    done = subprocess.run(
        [*command, "--format", "json", "--progress-spinner", "off"], capture_output=True, text=True, check=False
    )
    try:
        status, lines = verdict(json.loads(done.stdout)["dependencies"])
    except ValueError:
        status, lines = failure(done.returncode, done.stderr)
    sys.stdout.write("\n".join(lines) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
