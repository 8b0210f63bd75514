"""Build the wheel twice, from copies of the tree in different folders, and keep it if both are the same byte for byte.

    python tools/wheel.py dist

Run by `make wheel`. The times in the wheel are that of the last commit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("src", "pyproject.toml", "README.md", "LICENSE")
"""What a wheel is made from."""


def commit_time() -> str:
    """Seconds since 1970 of the last commit, or what SOURCE_DATE_EPOCH says already."""
    if seconds := os.environ.get("SOURCE_DATE_EPOCH"):
        return seconds
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def build(folder: Path, time: str) -> Path:
    """The wheel of a copy of the tree in this folder."""
    for part in PARTS:
        source, target = ROOT / part, folder / "tree" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "*.nb[ci]"))
        else:
            shutil.copy(source, target)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(
        command,
        cwd=folder / "tree",
        env={**os.environ, "SOURCE_DATE_EPOCH": time},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def main() -> int:
    """Build, compare, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    output: Path = parser.parse_args().output
    time = commit_time()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        wheels = [build(Path(folder), time) for folder in (first, second)]
        contents = [wheel.read_bytes() for wheel in wheels]
        if contents[0] != contents[1]:
            sys.stderr.write("Two wheels of the same tree differ.\n")
            return 1
        output.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheels[0], output)
        sys.stdout.write(f"{output / wheels[0].name}, built twice: sha256 {hashlib.sha256(contents[0]).hexdigest()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
