"""How wide the terminal is, and sentences that fit into it."""

from __future__ import annotations

import shutil
from textwrap import wrap


def terminal_width() -> int:
    """The columns of the terminal, or COLUMNS, or 80; between 40 and 120."""
    return min(max(shutil.get_terminal_size().columns, 40), 120)


def wrapped(line: str, width: int) -> list[str]:
    """A sentence over several lines; what is indented stays as it is."""
    if line.startswith(" ") or len(line) <= width:
        return [line]
    return wrap(line, width, break_long_words=False, break_on_hyphens=False)
