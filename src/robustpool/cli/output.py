"""What a command says, as text. Without typer, so that it starts at once."""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

from ..files import finite


class Answer(NamedTuple):
    """One JSON object, the same as lines for people, and whether the exit status says yes."""

    data: dict[str, Any]
    lines: list[str]
    yes: bool = True

    def text(self, *, as_json: bool) -> str:
        """The object in a line, or the lines."""
        return json.dumps(finite(self.data), allow_nan=False) if as_json else "\n".join(self.lines)


def say(line: str) -> None:
    """A line for people on standard error."""
    print(f"robustpool: {line}", file=sys.stderr)  # noqa: T201
