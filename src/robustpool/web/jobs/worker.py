"""A worker process: it imports what the work needs, says that it is ready, and does one job after another.

Jobs come as lines of JSON on standard input; progress and results go out as lines on standard output. The process ends with
its server: when standard input closes and, on Linux, when the server dies in the middle of a long computation.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import sys
import traceback
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from ...errors import RobustpoolError
from ...files import finite
from ..problems import status_of
from .task import Paused, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NICE = 5
"""Work gives way to the server, which has to answer meanwhile."""

PR_SET_PDEATHSIG = 1
MB = 2**20


def main() -> None:
    """Import the modules that the arguments name, then work until standard input closes."""
    _die_with_parent(int(sys.argv[1]))
    os.nice(NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tell = _teller()
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    Thread(target=_listen, args=(jobs,), daemon=True).start()
    for module in sys.argv[2:]:
        getattr(import_module(module), "prepare", int)()
    tell({"ready": True})
    while True:
        tell(work(jobs.get(), tell))


def work(job: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Do a job; the answer says how it ended, and whether the process is fit for another one."""
    module, _, name = job["work"].partition(":")
    folder, seconds = Path(job["folder"]), job["checkpoint_seconds"]
    task = Task(job["options"], folder, lambda state: tell({"progress": finite(state)}), seconds)
    try:
        with _limited(job["memory"]), _interruptible():
            result = getattr(import_module(module), name)(task)
        return {"result": finite(result), "fit": True}
    except (Paused, KeyboardInterrupt):
        return {"paused": True}
    except RobustpoolError as error:
        return {"error": str(error), "status": status_of(error), "fit": True}
    except MemoryError:
        return {
            "error": f"the job needs more memory than it may have here ({job['memory'] // MB:,} MB).",
            "status": 422,
        }
    except Exception:  # noqa: BLE001  # the client learns nothing of it, the log everything
        traceback.print_exc()
        return {"error": "the job failed because of an error in the server; its log says more.", "status": 500}


@contextmanager
def _limited(memory: int) -> Iterator[None]:
    """Let the process have this much memory more than it has now."""
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # not on Linux: only the limit of time is left
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGINT, which asks for a pause, reach the work; at other times it means nothing."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _teller() -> Callable[[dict[str, Any]], None]:
    """What writes lines to the server; whatever else is printed goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(message: dict[str, Any]) -> None:
        try:
            out.write(json.dumps(message, allow_nan=False) + "\n")
            out.flush()
        except OSError:  # the server is gone
            os._exit(1)

    return tell


def _listen(jobs: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass on what the server asks for, and end with it."""
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)


def _die_with_parent(parent: int) -> None:
    """Let the system end this process when its parent ends, however that comes about."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(0)


if __name__ == "__main__":
    main()
