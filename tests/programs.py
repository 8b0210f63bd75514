"""Programs that tests run as a user does: robustpool in this process, others each in a process of their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import sysconfig
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from robustpool.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "robustpool")


def run_program(*command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The status of a command, what it prints, and what it says on standard error."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def run_robustpool(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same for a command of robustpool, in this process: a new one would first import for a second what is here.

    A warning is an error here, and an exception that the command does not expect reaches the test.
    """
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with (
        chdir(cwd or Path.cwd()),
        patch.dict(os.environ, env or {}),
        patch.multiple(sys, argv=[PROGRAM, *arguments], stdout=streams[0], stderr=streams[1]),
        patch.object(sys.modules["__main__"], "__package__", None),  # else the help is that of "python -m pytest"
    ):
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in streams)
    return subprocess.CompletedProcess([PROGRAM, *arguments], status, stdout, stderr)


def run_python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_program(sys.executable, *arguments, **options)


PEAK = 'int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])'
"""In Python, the most memory that a process had, in kilobytes; what getrusage says includes that of the process that started it."""
