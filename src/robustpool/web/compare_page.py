"""What the Compare page has to know before a table is there: the rules, the limits, and where the data stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..aggregators.rules import RULES
from ..tables.formats import FORMATS
from .settings import MB

if TYPE_CHECKING:
    from .settings import Settings

HEAD = 8192
"""Bytes of a body that are no part of a file: what divides the parts, and their names."""


def values(settings: Settings) -> dict[str, Any]:
    """What the template needs."""
    return {
        "rules": [name for name, rule in RULES.items() if all(p.default is not None for p in rule.parameters.values())],
        "formats": list(FORMATS),
        "most": settings.body_bytes - HEAD,
        "most_text": size_text(settings.body_bytes),
        "kept": f"{settings.kept_jobs:,}",
    }


def size_text(size: int) -> str:
    """A size as people read it, never more than it is.

    >>> size_text(64 * 2**20), size_text(3 * 2**19), size_text(2**19)
    ('64 MB', '1 MB', '512 kB')
    """
    return f"{size // MB:,} MB" if size >= MB else f"{size // 2**10:,} kB"
