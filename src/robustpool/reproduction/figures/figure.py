"""What a reproduced figure is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

Numbers = Mapping[str, Any]
"""Arrays by name: all that a figure is drawn from, and all that is saved beside it."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure: ``compute`` its numbers, ``draw`` them, and say in two sentences what they mean."""

    name: str
    title: str
    alt: str
    compute: Callable[[Workbench], Numbers]
    draw: Callable[[Numbers], Figure]
    meaning: Callable[[Numbers], str]
