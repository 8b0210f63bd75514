"""The omniscient posterior g_mu(x): how it moves with the prior and with the reports, and where the proofs trim it."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import extra
from .style import GREY, INK, LINES, heatmap, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ..typing import Booleans, Floats, Integers


def draw_posterior_by_prior(prior: Floats, curves: Mapping[str, Floats], ax: Axes) -> None:
    """g_mu(x) against mu for some fixed reports, each under its name [Guo2024, fig:sensitive prior]."""
    for (name, posterior), (colour, dash) in zip(curves.items(), cycle(LINES), strict=False):
        ax.plot(prior, posterior, dash, color=colour, linewidth=1.6, label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="prior $\\mu$", ylabel="omniscient posterior $g_\\mu(x)$")
    plain(ax)
    ax.legend(frameon=False, fontsize=8)


def draw_posterior_by_reports(values: Floats, ax: Axes, *, trimmed: Booleans | None = None, bar: bool = True) -> Any:
    """g_mu(x_1, x_2) on a uniform grid; the trimmed area is hatched [Guo2024, fig:sensitive_prediction]."""
    x = np.linspace(0, 1, len(values))
    image = heatmap(values, ax, "posterior $g_\\mu(x_1, x_2)$", bar=bar, vmin=0, vmax=1)
    if trimmed is not None and trimmed.any():
        area = trimmed.T.astype(float)
        ax.contourf(x, x, area, levels=[0.5, 1.5], colors="none", hatches=["////"])
        ax.contour(x, x, area, levels=[0.5], colors="white", linewidths=1.2)
    return image


def draw_areas(areas: Integers, names: Mapping[int, str], ax: Axes) -> None:
    """The division of the square into areas, numbered on a uniform grid, each named at its centre [Guo2024, fig:area]."""
    from matplotlib.colors import ListedColormap

    x = np.linspace(0, 1, len(areas))
    shades = ListedColormap(["#ffffff", "#cfe3f3", "#f3dcc4", "#d5d5d5", "#eceff1"][: max(names) + 1])
    heatmap(areas, ax, cmap=shades, vmin=-0.5, vmax=max(names) + 0.5, interpolation="nearest")
    for number, name in names.items():
        inside = areas == number
        ax.contour(x, x, inside.T.astype(float), levels=[0.5], colors=GREY, linewidths=0.8)
        for column, row in _centres(inside):
            ax.text(x[column], x[row], name, ha="center", va="center", fontsize=10, color=INK)


def _centres(inside: Booleans) -> list[tuple[int, int]]:
    """The middle of each connected part of an area, as indices into the grid."""
    extra("a picture of areas", "solve")
    from scipy import ndimage

    parts, count = ndimage.label(inside)
    depth = ndimage.distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    places = []
    for part in range(1, count + 1):
        inner = np.where(parts == part, depth, 0.0)
        if inner.max() > 2:
            column, row = np.unravel_index(int(np.argmax(inner)), inner.shape)
            places.append((int(column), int(row)))
    return places
