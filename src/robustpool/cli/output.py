"""What is printed, as text."""

from __future__ import annotations

import json
import math
from typing import Any


def text(data: dict[str, Any], lines: list[str], *, as_json: bool) -> str:
    """One JSON object in a line, or the lines."""
    return json.dumps(_finite(data), allow_nan=False) if as_json else "\n".join(lines)


def _finite(value: Any) -> Any:
    """The same data with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
