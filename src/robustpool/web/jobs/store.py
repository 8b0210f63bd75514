"""What is known about jobs, in SQLite: it is there again after the server, or the machine, went down."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...locks import HeldError, free_lock, take_lock

if TYPE_CHECKING:
    from pathlib import Path

QUEUED, RUNNING, PAUSED, DONE, FAILED, CANCELLED = "queued", "running", "paused", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)


@dataclass(frozen=True)
class Job:
    """A job, as it stands."""

    id: str
    kind: str
    options: dict[str, Any]
    created: float  # seconds since 1970
    title: str = ""  # what it is about, for people
    state: str = QUEUED
    seconds: float = 0.0  # of work so far
    progress: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] | None = None
    error: str | None = None  # why it failed
    status: int | None = None  # the same as a status of HTTP
    deaths: int = 0  # of its worker, for no reason that we know

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ENDED


COLUMNS = tuple(each.name for each in fields(Job))
JSON_COLUMNS = {"options", "progress", "result"}


class Store:
    """The table of jobs. One server at a time has it; a second one is told so."""

    def __init__(self, folder: Path) -> None:
        self._lock = _lock(folder)
        file = folder / "jobs.sqlite"
        try:
            self._database = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            columns = ", ".join(f"{name} {'PRIMARY KEY' if name == 'id' else ''}" for name in COLUMNS)
            self._database.execute(f"CREATE TABLE IF NOT EXISTS jobs ({columns})")
            self._database.execute(f"SELECT {', '.join(COLUMNS)} FROM jobs LIMIT 1")
        except sqlite3.Error as error:
            free_lock(self._lock)
            raise InputError(f"the jobs in {str(file)!r} cannot be read ({error}); give another folder.") from None

    def close(self) -> None:
        """Let another server have it."""
        self._database.close()
        free_lock(self._lock)

    def save(self, job: Job) -> None:
        """Add a job, or replace what is known about it."""
        marks = ", ".join("?" * len(COLUMNS))
        values = [_stored(name, getattr(job, name)) for name in COLUMNS]
        self._database.execute(f"REPLACE INTO jobs ({', '.join(COLUMNS)}) VALUES ({marks})", values)

    def remove(self, id: str) -> None:
        """Forget a job."""
        self._database.execute("DELETE FROM jobs WHERE id = ?", [id])

    def get(self, id: str) -> Job | None:
        """A job, or None."""
        found = self._select("WHERE id = ?", id)
        return found[0] if found else None

    def ids(self, *states: str) -> list[str]:
        """The ids of the jobs in these states, the oldest first."""
        where = f"WHERE state IN ({', '.join('?' * len(states))}) ORDER BY created"
        return [id for (id,) in self._database.execute(f"SELECT id FROM jobs {where}", states)]

    def all(self, *states: str) -> list[Job]:
        """The jobs in these states, the oldest first."""
        return self._select(f"WHERE state IN ({', '.join('?' * len(states))}) ORDER BY created", *states)

    def recent(self, kinds: tuple[str, ...], most: int) -> list[Job]:
        """The latest jobs of some kinds, the newest first; without what may be long."""
        slim = ["NULL" if name == "result" else "'{}'" if name in ("progress", "options") else name for name in COLUMNS]
        marks = ", ".join("?" * len(kinds))
        where = f"WHERE kind IN ({marks}) ORDER BY created DESC LIMIT ?"
        return self._select(where, *kinds, most, columns=slim)

    def _select(self, where: str, *values: Any, columns: Any = COLUMNS) -> list[Job]:
        rows = self._database.execute(f"SELECT {', '.join(columns)} FROM jobs {where}", values)
        return [Job(**{name: _read(name, value) for name, value in zip(COLUMNS, row, strict=True)}) for row in rows]


def _stored(name: str, value: Any) -> Any:
    return json.dumps(value) if name in JSON_COLUMNS and value is not None else value


def _read(name: str, value: Any) -> Any:
    return json.loads(value) if name in JSON_COLUMNS and value is not None else value


def _lock(folder: Path) -> int | None:
    """Take the folder; the system gives it free when the process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return take_lock(folder / "lock")
    except HeldError:
        raise InputError(
            f"another server keeps its jobs in {str(folder)!r}; stop it, or give another folder."
        ) from None
    except OSError as error:
        raise InputError(f"jobs cannot be kept in {str(folder)!r} ({error.strerror}); give another folder.") from None
