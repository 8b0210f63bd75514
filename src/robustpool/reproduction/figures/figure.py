"""What a reproduced figure is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plots import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

Numbers = Mapping[str, Any]
"""Arrays by name: all that a figure is drawn from, and all that is saved beside it."""


class PaperFigure(ABC):
    """A figure: its numbers, a drawing of them, and two sentences on what they mean."""

    name: str
    title: str
    alt: str
    columns, rows = 1, 1
    width, height = 3.4, 3.0  # of a panel, in inches

    @abstractmethod
    def numbers(self, bench: Workbench) -> Numbers:
        """The numbers, as arrays or as what becomes one."""

    @abstractmethod
    def paint(self, numbers: Numbers, axes: Any) -> None:
        """Draw the numbers on axes of shape (rows, columns)."""

    @abstractmethod
    def meaning(self, numbers: Numbers) -> str:
        """What the numbers mean."""

    def compute(self, bench: Workbench) -> Numbers:
        """The numbers as arrays."""
        return {name: np.asarray(values) for name, values in self.numbers(bench).items()}

    def panels(self, _numbers: Numbers) -> tuple[int, int]:
        """Columns and rows of panels."""
        return self.columns, self.rows

    def draw(self, numbers: Numbers) -> Figure:
        """A new figure with these numbers."""
        figure, axes = new_figure(*self.panels(numbers), width=self.width, height=self.height)
        self.paint(numbers, axes)
        return figure
