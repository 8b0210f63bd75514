"""Kinds of jobs for the tests of the job core: quick, and as bad as work can be."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from robustpool.errors import InputError
from robustpool.web.jobs.kinds import Kind
from robustpool.web.jobs.task import Paused

if TYPE_CHECKING:
    from robustpool.web.jobs.task import Task


def count(task: Task) -> dict[str, Any]:
    """Count on from the checkpoint; each step is saved, so nothing of it is lost."""
    file = task.folder / "checkpoint"
    start = int(file.read_text()) if file.exists() else 0
    try:
        for step in range(start, task.options["to"]):
            time.sleep(task.options.get("each", 0.02))
            file.write_text(str(step + 1))
            task.progress({"step": step + 1})
    except KeyboardInterrupt:
        raise Paused from None
    (task.results / "count.csv").write_text("=1+1\n")
    return {"count": task.options["to"], "from": start, "process": os.getpid()}


def stubborn(task: Task) -> dict[str, Any]:
    """Work that hears no signal but the last one."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task.progress({"process": os.getpid()})
    time.sleep(60)
    return {}


def hungry(task: Task) -> dict[str, Any]:
    """Work that takes more and more memory."""
    kept = []
    while True:
        kept.append(bytearray(2**24))
        task.progress({"blocks": len(kept)})


def dying(task: Task) -> dict[str, Any]:
    """Work that ends its process, as often as it was asked to."""
    file = task.folder / "deaths"
    deaths = int(file.read_text()) if file.exists() else 0
    if deaths < task.options["times"]:
        file.write_text(str(deaths + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return {"deaths": deaths}


def wrong(task: Task) -> dict[str, Any]:
    """Work that fails, with a sentence of the library or without."""
    print("a print is not the answer")
    if "sentence" in task.options:
        raise InputError(task.options["sentence"])
    raise RuntimeError("the secret of the server")


def upload(task: Task) -> dict[str, Any]:
    """Read what came with the job; answer infinity."""
    return {"text": (task.uploads / "data.csv").read_text(), "infinity": float("inf"), "process": os.getpid()}


KINDS = {
    "count": Kind("jobs_for_tests:count", pausable=True),
    "stubborn": Kind("jobs_for_tests:stubborn", pausable=True),
    "hungry": Kind("jobs_for_tests:hungry"),
    "dying": Kind("jobs_for_tests:dying"),
    "wrong": Kind("jobs_for_tests:wrong", short=True),
    "upload": Kind("jobs_for_tests:upload", short=True),
}
