"""A server for tests: `robustpool serve` in a process of its own, on a free port, with its files in a scratch folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Server:
    """Where a server is, and its process."""

    url: str
    process: subprocess.Popen[str]

    def call(self, method: str, path: str, **how: object) -> httpx.Response:
        """A call of the API."""
        return httpx.request(method, f"{self.url}api/v1/{path}", timeout=60, **how)  # type: ignore[arg-type]

    def kill(self) -> None:
        """As a power failure would: the whole process group at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def serving(data: Path, *options: str) -> Iterator[Server]:
    """A server that is ready; it is stopped at the end."""
    command = [sys.executable, "-m", "robustpool", "serve", "--port", "0", "--data", str(data), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert "The page is at " in line, line + process.stderr.read()
            url = line.split("The page is at ", 1)[1].split()[0]
            yield Server(url.partition("?")[0], process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
