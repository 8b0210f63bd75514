"""How a server runs: where it listens, who may use it, where its files are, and what it refuses."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

LOCAL = "127.0.0.1"
MB = 2**20


def data_folder() -> Path:
    """Where jobs and their results are kept, unless the user says otherwise."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "robustpool"


@dataclass(frozen=True)
class Settings:
    """Everything that a server has to know; the numbers are limits."""

    host: str = LOCAL
    port: int = 8000
    token: str | None = None
    data: Path = field(default_factory=data_folder)
    workers: int = 2  # jobs that run at the same time, each in a process of its own
    queue: int = 20  # jobs that wait
    job_seconds: float = 3600.0
    job_memory: int = 4096 * MB
    checkpoint_seconds: float = 3.0  # that a design loses at most when its process, or the server, is killed
    kept_jobs: int = 200  # that have ended; the oldest are removed
    body_bytes: int = 64 * MB
    table_bytes: int = 512 * MB  # of an uploaded table once it is expanded
    json_bytes: int = 8 * MB  # of a body that is parsed in the server itself
    body_seconds: float = 30.0  # until a body has to be there
    header_seconds: float = 10.0  # until the headers have to be there
    request_seconds: float = 120.0  # until an answer has to begin
    waiting: int = 64  # requests that wait for the server at the same time; it answers one after the other
    connections: int = 1000

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in (LOCAL, "localhost", "::1")

    @property
    def machine(self) -> str:
        """Where the data of people stay, as pages call it."""
        return "this machine" if self.local else "the machine that runs this server"
