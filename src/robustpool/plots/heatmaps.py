"""Heatmaps over pairs of reports: aggregators, their differences, their weak spots, and where nature puts the reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..families.worst_case import tabulated
from .style import DIVERGING, heatmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..designs.any_aggregator import AnyAggregator
    from ..typing import Floats

    Values = AnyAggregator | Floats

CELLS = 101
"""Reports along an axis where an aggregator is drawn: every percent."""

WEAKNESS_SCALE = (0.0, 0.065)
"""The colour scale of R(x_1, x_2) [Guo2024, fig:allregrets]."""


def draw_aggregator(aggregator: Values, ax: Axes, *, bar: bool = True) -> Any:
    """f(x_1, x_2) from 0 to 1: of any aggregator, or of its values on a uniform grid, shape (K, K)."""
    return heatmap(_values(aggregator), ax, "forecast $f(x_1, x_2)$", bar=bar, vmin=0, vmax=1)


def draw_difference(one: Values, other: Values, ax: Axes, *, limit: float | None = None, bar: bool = True) -> Any:
    """one - other: of aggregators, or of their values on the same grid; white where they agree, full colour from ``limit`` on."""
    difference = _values(one) - _values(other)
    most = float(np.abs(difference).max()) or 1.0 if limit is None else limit
    return heatmap(difference, ax, "difference of forecasts", bar=bar, cmap=DIVERGING, vmin=-most, vmax=most)


def draw_weakness(values: Floats, ax: Axes, *, scale: tuple[float, float] = WEAKNESS_SCALE, bar: bool = True) -> Any:
    """R(x_1, x_2) from `robustpool.weakness` on a uniform grid, by default on the paper's colour scale."""
    return heatmap(values, ax, "worst regret $R(x_1, x_2)$", bar=bar, vmin=scale[0], vmax=scale[1])


def draw_report_distribution(chances: Floats, ax: Axes, *, least: float = 1e-8, bar: bool = True) -> Any:
    """Pr[x_1, x_2] on a uniform grid of reports, as large cells on a logarithmic scale; grey where it is below ``least``."""
    from matplotlib.colors import LogNorm

    likely, look = np.ma.masked_less(chances, least), {"norm": LogNorm(least, 1.0), "interpolation": "nearest"}
    image = heatmap(likely, ax, "probability of the reports", bar=bar, **look)
    edge = 0.5 / (len(chances) - 1)
    ax.set(xlim=(-edge, 1 + edge), ylim=(-edge, 1 + edge), facecolor="#d9d9d9")
    return image


def _values(aggregator: Values) -> Floats:
    if isinstance(aggregator, np.ndarray):
        return aggregator
    return tabulated(aggregator, np.linspace(0, 1, CELLS))
