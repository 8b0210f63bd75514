"""What a worker gets to do its work: the options, a folder, and a way to say how far it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003  # a field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY = 0.2
"""Seconds between two words about progress; what comes sooner is dropped."""


class Paused(Exception):  # noqa: N818  # nothing went wrong
    """The work stopped at a checkpoint because it was asked to."""


@dataclass
class Task:
    """One job, as the function that does it sees it."""

    options: dict[str, Any]
    folder: Path
    tell: Callable[[dict[str, Any]], None]
    checkpoint_seconds: float = 5.0
    _told: float = field(default=float("-inf"), init=False)
    _state: dict[str, Any] = field(default_factory=dict, init=False)
    _noted: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def results(self) -> Path:
        """The folder for the files that clients may fetch."""
        folder = self.folder / "results"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def uploads(self) -> Path:
        """The folder with the files that came with the job."""
        return self.folder / "uploads"

    def progress(self, state: dict[str, Any]) -> None:
        """Say how far the work is; it may be called often."""
        self._state = self._noted | state
        now = time.monotonic()
        if now - self._told >= EVERY:
            self._told = now
            self.tell(self._state)

    def note(self, **facts: Any) -> None:
        """Say what holds until the end of the job, beside whatever `progress` says; it is never dropped."""
        self._noted |= facts
        self._state |= facts
        self.tell(self._state)
