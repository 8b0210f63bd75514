"""A worker process, as the server sees it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

LINE_BYTES = 64 * 2**20
"""The longest line that a worker may send, which is its result."""

GRACE = 1.0
"""Seconds between asking a process to end and ending it."""


class Worker:
    """One process; it does one job at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.jobs = 0
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    @classmethod
    async def start(cls, modules: Iterable[str]) -> Worker:
        """Start a process, which then imports the modules. It has a session of its own: Ctrl-C is for the server."""
        command = [sys.executable, "-m", "robustpool.web.jobs.worker", str(os.getpid()), *modules]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, start_new_session=True, limit=LINE_BYTES
        )
        return cls(process)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.returncode is None

    async def ready(self) -> bool:
        """Wait for its imports; False if it ends before."""
        return bool(await self._out.readline())

    async def work(self, job: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Give it a job, and pass on what it says until it is done or dead."""
        self.jobs += 1
        with suppress(OSError):  # it is dead, which the loop finds out
            self._in.write(json.dumps(job).encode() + b"\n")
            await self._in.drain()
        while line := await self._out.readline():
            message = json.loads(line)
            yield message
            if "progress" not in message:
                return

    def interrupt(self) -> None:
        """Ask it to stop at a checkpoint."""
        self._signal(signal.SIGINT)

    async def end(self, *, grace: float = GRACE) -> None:
        """End the process, whatever it does."""
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), grace)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self.process.wait()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # what it started, such as the referee's checker, ends with it

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
