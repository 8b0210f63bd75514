"""How the pictures look: colours that colour-blind readers and black-and-white printers can tell apart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, dark enough to stand on white.
INK = "#1a1a1a"
BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#00795a"
PURPLE = "#aa4499"
GREY = "#8c8c8c"
LINES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (PURPLE, ":"))
"""Colour and dash together, so that neither alone has to tell the lines apart."""

SEQUENTIAL, DIVERGING = "viridis", "PuOr_r"
DPI = 150


def new_figure(columns: int = 1, rows: int = 1, *, width: float = 3.4, height: float = 3.0) -> tuple[Figure, Any]:
    """A figure with a grid of axes of ``width`` x ``height`` inches each; the axes as an array (rows, columns)."""
    extra("a picture", "plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def png(figure: Figure, dpi: int = DPI) -> bytes:
    """The picture as a PNG; the same numbers give the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def plain(ax: Axes) -> None:
    """Axes without the frame's upper right half, and with small text."""
    ax.spines[["top", "right"]].set_visible(False)
    _small_text(ax)


def square(ax: Axes) -> None:
    """Axes for two reports."""
    ticks = np.linspace(0, 1, 6)
    ax.set(aspect="equal", xticks=ticks, yticks=ticks, xlim=(0, 1), ylim=(0, 1))
    ax.set(xlabel="report $x_1$", ylabel="report $x_2$")
    _small_text(ax)


def _small_text(ax: Axes) -> None:
    ax.tick_params(labelsize=8)
    ax.xaxis.label.set_fontsize(9)
    ax.yaxis.label.set_fontsize(9)


def heatmap(values: Any, ax: Axes, label: str = "", *, bar: bool = False, **options: Any) -> Any:
    """Colour the square by values at the points i/(K-1), j/(K-1), shape (K, K), the first index along the horizontal axis.

    The image keeps its label, for the colour bar of this square or of several. The options are those of ``imshow``.
    """
    edge = 0.5 / (len(values) - 1)
    extent = (-edge, 1 + edge, -edge, 1 + edge)  # a value stands at the middle of its cell
    look = {"cmap": SEQUENTIAL, "interpolation": "bilinear", **options}
    image = ax.imshow(values.T, origin="lower", extent=extent, label=label, **look)
    square(ax)
    if bar:
        colour_bar(image, ax, label)
    return image


def title(ax: Axes, text: str) -> None:
    """A small title above the axes."""
    ax.set_title(text, fontsize=10)


def colour_bar(image: Any, axes: Any, label: str, *, extend: str = "neither") -> Any:
    """A narrow colour bar beside the axes, or one for several axes that share a scale."""
    bar = image.axes.figure.colorbar(image, ax=axes, shrink=0.85, pad=0.02, aspect=22, extend=extend)
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return bar


def draw_panels(draw: Callable[..., Any], panels: Mapping[str, Any], axes: Any, *, extend: str = "neither") -> None:
    """Heatmaps under their titles, with one colour bar; axes that are left over stay empty."""
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for (words, values), ax in zip(panels.items(), axes.flat, strict=False):
        image = draw(values, ax, bar=False)
        title(ax, words)
    colour_bar(image, axes, image.get_label(), extend=extend)
