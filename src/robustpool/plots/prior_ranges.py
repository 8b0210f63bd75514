"""The value against the range of base rates: each range as a bar at the height of its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes


def draw_prior_ranges(values: Mapping[str, Sequence[Any]], ax: Axes) -> list[Any]:
    """Bars from the lowest to the highest base rate of each range, at the height of its worst-case regret.

    ``values`` has ``range``, a pair of base rates each, and ``upper``, the worst-case regrets.
    """
    ends, heights = np.asarray(values["range"], dtype=float), np.asarray(values["upper"], dtype=float)
    drawn: list[Any] = []
    for (low, high), height in zip(ends, heights, strict=True):
        drawn += ax.plot([low, high], [height, height], "|-", color=BLUE, linewidth=1.6, markersize=7)
    ax.set(xlim=(-0.02, 1.02), ylim=(0, 1.08 * heights.max()), xlabel="base rates", ylabel="smallest worst-case regret")
    plain(ax)
    return drawn
