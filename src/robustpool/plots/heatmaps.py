"""Heatmaps over pairs of reports: aggregators, their differences, their weak spots, and where nature puts the reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..families.worst_case import tabulated
from .style import DIVERGING, SEQUENTIAL, colour_bar, shade, square

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..designs.any_aggregator import AnyAggregator
    from ..typing import Floats

    Values = AnyAggregator | Floats

CELLS = 101
"""Reports along an axis where an aggregator is drawn: every percent."""

WEAKNESS_SCALE = (0.0, 0.065)
"""The colour scale of R(x_1, x_2) [Guo2024, fig:allregrets]."""

FORECAST, DIFFERENCE, WEAKNESS, CHANCE = (
    "forecast $f(x_1, x_2)$",
    "difference of forecasts",
    "worst regret $R(x_1, x_2)$",
    "probability of the reports",
)


def draw_aggregator(aggregator: Values, ax: Axes, *, bar: bool = True) -> Any:
    """f(x_1, x_2) from 0 to 1: of any aggregator, or of its values on a uniform grid, shape (K, K)."""
    return _heatmap(_values(aggregator), ax, bar and FORECAST, SEQUENTIAL, (0.0, 1.0))


def draw_difference(one: Values, other: Values, ax: Axes, *, limit: float | None = None, bar: bool = True) -> Any:
    """one - other: of aggregators, or of their values on the same grid; white where they agree, full colour from ``limit`` on."""
    difference = _values(one) - _values(other)
    most = float(np.abs(difference).max()) or 1.0 if limit is None else limit
    return _heatmap(difference, ax, bar and DIFFERENCE, DIVERGING, (-most, most))


def draw_weakness(values: Floats, ax: Axes, *, scale: tuple[float, float] = WEAKNESS_SCALE, bar: bool = True) -> Any:
    """R(x_1, x_2) from `robustpool.weakness` on a uniform grid, on the paper's colour scale unless told otherwise."""
    return _heatmap(values, ax, bar and WEAKNESS, SEQUENTIAL, scale)


def draw_report_distribution(chances: Floats, ax: Axes, *, least: float = 1e-8, bar: bool = True) -> Any:
    """Pr[x_1, x_2] on a uniform grid of reports, as large cells on a logarithmic scale; grey where it is below ``least``."""
    from matplotlib.colors import LogNorm

    edge = 0.5 / (len(chances) - 1)
    image = shade(np.ma.masked_less(chances, least), ax, SEQUENTIAL, norm=LogNorm(least, 1.0), between="nearest")
    square(ax)
    ax.set(xlim=(-edge, 1 + edge), ylim=(-edge, 1 + edge), facecolor="#d9d9d9")
    if bar:
        colour_bar(image, ax, CHANCE)
    return image


def _values(aggregator: Values) -> Floats:
    if isinstance(aggregator, np.ndarray):
        return aggregator
    return tabulated(aggregator, np.linspace(0, 1, CELLS))


def _heatmap(values: Floats, ax: Axes, label: str | bool, colours: str, scale: tuple[float, float]) -> Any:
    image = shade(values, ax, colours, scale)
    square(ax)
    if label:
        colour_bar(image, ax, str(label))
    return image
