"""How the pictures look: colours that colour-blind readers and black-and-white printers can tell apart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, dark enough to stand on white.
INK, BLUE, ORANGE, GREEN, PURPLE, SKY, GREY = (
    "#1a1a1a",
    "#0072b2",
    "#d55e00",
    "#00795a",
    "#aa4499",
    "#56b4e9",
    "#8c8c8c",
)
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
    ax.tick_params(labelsize=8)
    ax.xaxis.label.set_fontsize(9)
    ax.yaxis.label.set_fontsize(9)


def square(ax: Axes) -> None:
    """Axes for two reports."""
    ax.set_aspect("equal")
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="report $x_1$", ylabel="report $x_2$")
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.tick_params(labelsize=8)
    ax.xaxis.label.set_fontsize(9)
    ax.yaxis.label.set_fontsize(9)


def shade(
    values: Any,
    ax: Axes,
    colours: Any,
    scale: tuple[float, float] = (0.0, 1.0),
    *,
    norm: Any = None,
    between: str = "bilinear",
) -> Any:
    """Colour the square by values at the points i/(K-1), j/(K-1), shape (K, K), the first index along the horizontal axis."""
    edge = 0.5 / (len(values) - 1)
    limits = {"vmin": scale[0], "vmax": scale[1]} if norm is None else {"norm": norm}
    extent = (-edge, 1 + edge, -edge, 1 + edge)  # a value stands at the middle of its cell
    return ax.imshow(values.T, origin="lower", cmap=colours, extent=extent, interpolation=between, **limits)


def title(ax: Axes, text: str) -> None:
    """A small title above the axes."""
    ax.set_title(text, fontsize=10)


def colour_bar(image: Any, axes: Any, label: str, *, extend: str = "neither") -> Any:
    """A narrow colour bar beside the axes, or one for several axes that share a scale."""
    figure = image.axes.figure
    bar = figure.colorbar(image, ax=axes, shrink=0.85, pad=0.02, aspect=22, extend=extend)
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return bar
