"""A server for tests: `robustpool serve` in a process of its own, on a free port, with its files in a scratch folder."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from robustpool.web.serve import server_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import uvicorn
    from fastapi import FastAPI

    from robustpool.web.protocol import Load
    from robustpool.web.settings import Settings


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


@dataclass
class Inside:
    """An application without a server around it: requests go straight to it."""

    app: FastAPI

    def call(self, method: str, path: str, **how: object) -> httpx.Response:
        """A request; the path is that of the whole address."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **how)  # type: ignore[arg-type]

        return asyncio.run(send())


@dataclass
class Running:
    """A server in a thread of this process, so that a test can look inside."""

    port: int
    server: uvicorn.Server

    @property
    def load(self) -> Load:
        """Its limits and counts."""
        return self.server.config.http.load  # type: ignore[union-attr]

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self.server.server_state.connections)

    def get(self, path: str) -> httpx.Response:
        """A simple request."""
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=20)

    def stall(self, seconds: float) -> None:
        """Let the server do nothing for a while."""
        self.server.servers[0].get_loop().call_soon_threadsafe(time.sleep, seconds)


@contextmanager
def running(settings: Settings) -> Iterator[Running]:
    """A server that is ready; it is stopped at the end."""
    server = server_of(settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
            assert thread.is_alive()
        try:
            yield Running(listener.getsockname()[1], server)
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def serving(data: Path, *options: str, port: int = 0, **limits: object) -> Iterator[Server]:
    """A server that is ready; it is stopped at the end. Limits are those that the command has no option for."""
    command = [sys.executable, "-m", "robustpool", "serve", "--port", str(port), "--data", str(data), *options]
    if limits:
        start = f"rp.serve({port}, data={str(data)!r}, say=lambda line: print(line, file=sys.stderr), **{limits!r})"
        command = [sys.executable, "-c", f"import sys, robustpool as rp; {start}"]
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
