"""Progress on standard error: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 1.5
"""Seconds before progress is worth showing."""

BAR_EVERY, LINE_EVERY = 0.1, 10.0
"""Seconds between two updates of a bar, and between two lines where there is no terminal."""


@contextmanager
def progress_bar(
    *texts: str, remaining: bool = False, patience: float = PATIENCE, doing: str = "setting up", **shown: Any
) -> Iterator[Callable[..., None]]:
    """A bar after the first of the texts, once ``patience`` is over; ``shown`` is what they show before anything is told.

    What it yields is called with a line for those without a terminal, and with what the texts show: if the last time is long
    enough ago or this is ``news``, that is shown. At the end stands the time that it took, or the time that is
    ``remaining``. Work that tells nothing for a while shows what it is ``doing`` all the same.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(file=sys.stderr)
    before, *after = map(TextColumn, texts or [""])
    clock = TimeRemainingColumn() if remaining else TimeElapsedColumn()
    bar = Progress(before, BarColumn(bar_width=None), *after, clock, console=console, transient=True)
    task = bar.add_task("", **{"total": None, **shown})
    began = last = time.perf_counter()

    def sign_of_life() -> None:
        if console.is_terminal:
            bar.start()
        else:
            console.print(doing, highlight=False, soft_wrap=True)

    quiet = Timer(max(patience, PATIENCE) * (1 if console.is_terminal else 3), sign_of_life)  # a log can wait
    quiet.daemon = True
    quiet.start()

    def tell(line: str, *, news: bool = False, **now_shown: Any) -> None:
        nonlocal last
        quiet.cancel()
        now = time.perf_counter()
        soon = now - last < (BAR_EVERY if console.is_terminal else LINE_EVERY)
        if now - began < patience or (soon and not news):
            return
        last = now
        if console.is_terminal:
            bar.start()
            bar.update(task, **now_shown)
        else:
            console.print(line, highlight=False, soft_wrap=True)

    try:
        yield tell
    finally:
        quiet.cancel()
        if bar.live.is_started:  # stopping a bar that never showed would print an empty line
            bar.stop()


@contextmanager
def share_bar(patience: float = PATIENCE) -> Iterator[Callable[[str, float], None]]:
    """What is being done, and how far it is, from 0 to 1."""
    with progress_bar("{task.description}", patience=patience, total=1.0) as show_bar:
        doing = ""

        def tell(what: str, share: float) -> None:
            nonlocal doing
            news, doing = what != doing, what
            show_bar(what if news else f"{what}: {share:.0%}", news=news, description=what, completed=share)

        yield tell
