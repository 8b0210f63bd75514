"""Programs that tests run as a user does, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "robustpool")


def run_program(*command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The status of a command, what it prints, and what it says on standard error."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def run_robustpool(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_program(PROGRAM, *arguments, timeout=120, **options)


def run_python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_program(sys.executable, *arguments, **options)


PEAK = 'int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])'
"""In Python, the most memory that a process had, in kilobytes; what getrusage says includes that of the process that started it."""
