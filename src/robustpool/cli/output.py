"""What a command says, as text. Without typer, so that it starts at once."""

from __future__ import annotations

import json
import math
import sys
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """One JSON object, the same as lines for people, and whether the exit status says yes."""

    data: dict[str, Any]
    lines: list[str]
    yes: bool = True

    def text(self, *, as_json: bool) -> str:
        """The object in a line, or the lines."""
        return json.dumps(_finite(self.data), allow_nan=False) if as_json else "\n".join(self.lines)


def say(line: str) -> None:
    """A line for people on standard error."""
    print(f"robustpool: {line}", file=sys.stderr)  # noqa: T201


def _finite(value: Any) -> Any:
    """The same data with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
