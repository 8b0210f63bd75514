"""Lines for a terminal: how wide it is, sentences that fit into it, and tables."""

from __future__ import annotations

import shutil
from textwrap import TextWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


def terminal_width() -> int:
    """The columns of the terminal, or COLUMNS, or 80; between 40 and 120."""
    return min(max(shutil.get_terminal_size().columns, 40), 120)


def wrapped(lines: Iterable[str], width: int) -> list[str]:
    """Sentences over as many lines as they need; what is indented stays as it is."""
    paragraph = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    parts: list[str] = []
    for line in lines:
        parts += [line] if line.startswith(" ") or len(line) <= width else paragraph.wrap(line)
    return parts


def facts(pairs: Mapping[str, str | None], width: int) -> list[str]:
    """A name and a text in each line, the texts from one column on; without a text there is no line.

    >>> facts({"prior": "0.5", "reports": "0 or 1", "label": None}, 9)
    ['prior    0.5', 'reports  0 or 1']
    """
    return [f"{name:{width - 1}} {text}" for name, text in pairs.items() if text is not None]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = (), gap: int = 2) -> list[str]:
    """Rows below the heads of their columns, as wide as they need; the columns in ``right`` end below each other.

    >>> table(["rule", "Brier"], [["mean", "0.25"], ["median", "10.5"]], right=[1])
    ['rule    Brier', 'mean     0.25', 'median   10.5']
    """
    from rich.console import Console
    from rich.table import Column, Table

    columns = [Column(head, justify="right" if place in right else "left") for place, head in enumerate(heads)]
    grid = Table(*columns, box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for row in rows:
        grid.add_row(*row)
    console = Console(width=10_000, color_system=None, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(grid)
    return [line.rstrip() for line in capture.get().splitlines()]
