"""Whose a temporary file or folder is: its name holds the machine and the number of the process that made it.

What a killed process left behind is thus known, and whoever comes next removes it. Processes of another machine that share the
folder, or of a container with numbers of its own, have another name and are left alone.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import tempfile
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "robustpool-"


@cache
def _machine() -> str:
    """The machine and, on Linux, the namespace in which numbers of processes count."""
    host = re.sub(r"[^A-Za-z0-9]", "", platform.node())[:40]
    with suppress(OSError):
        return host + "-" + re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink()))
    return f"{host}-0"


def own_prefix() -> str:
    """How the temporary names of this process begin."""
    return f"{PREFIX}{_machine()}-{os.getpid()}-"


def own_name() -> str:
    """A new name that nobody else uses, or can guess."""
    return own_prefix() + secrets.token_hex(8)


def left_behind(name: str) -> bool:
    """Whether a process of this machine that runs no more made a temporary file or folder of this name."""
    ours = re.fullmatch(rf"{PREFIX}{_machine()}-([0-9]+)-\w+", name)
    return ours is not None and not runs(int(ours[1]))


@contextmanager
def own_folder() -> Iterator[Path]:
    """A temporary folder that is removed at the end; if this process is killed, the next one removes it."""
    remove_folders_left_behind()
    with tempfile.TemporaryDirectory(prefix=own_prefix()) as folder:
        yield Path(folder)


def remove_folders_left_behind() -> None:
    """Remove the temporary folders of processes that were killed, as far as they are ours."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if left_behind(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


def runs(process: int) -> bool:
    """Whether there is a process of this number; always true on Windows, where asking would be a Ctrl-C."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it runs, but is somebody else's
        pass
    return True
