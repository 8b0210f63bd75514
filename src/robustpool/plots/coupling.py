"""The coupling of the covering proof, as arrows between the reports of two structures [Guo2024, fig:coupling]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .style import BLUE, GREEN, GREY, INK, ORANGE, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..typing import Floats

KINDS = {0: ("local", GREEN, "-", 0.0), 1: ("remote", ORANGE, "--", 0.6), 2: ("the rest", GREY, ":", 0.3)}
"""Name, colour, dash and bend: longer ways are drawn in wider arcs, so that they do not cover each other."""


def draw_coupling(structure: Floats, near: Floats, flows: Floats, ax: Axes) -> None:
    """Two structures as discs at their report pairs, as large as these are likely, and the mass that moves as arrows.

    ``structure`` and ``near`` have the rows x_1, x_2, probability; ``flows`` the rows from (number in ``structure``),
    to (number in ``near``), mass, kind (0 local, 1 remote, 2 the rest).
    """
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    for points, colour, hollow in ((structure, INK, False), (near, BLUE, True)):
        ax.scatter(
            points[:, 0], points[:, 1], s=20 + 500 * points[:, 2], linewidths=1.4,
            facecolors="none" if hollow else colour, edgecolors=colour, alpha=1.0 if hollow else 0.35,
        )  # fmt: skip
    for start, end, mass, kind in flows:
        _, colour, dash, bend = KINDS[int(kind)]
        way = _arc(structure[int(start), :2], near[int(end), :2], bend)
        ax.add_patch(
            FancyArrowPatch(
                path=Path(way, [Path.MOVETO, Path.CURVE3, Path.CURVE3]), arrowstyle="->", mutation_scale=10,
                color=colour, linestyle=dash, linewidth=0.9 + 4 * mass,
            )
        )  # fmt: skip
        middle = way.T @ [0.25, 0.5, 0.25]  # of the arc
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
        ax.text(middle[0], middle[1], f"{mass:.3f}", ha="center", va="center", fontsize=8, color=colour, bbox=box)
    ax.plot([], [], "o", color=INK, alpha=0.35, label="a structure")
    ax.plot([], [], "o", color=BLUE, markerfacecolor="none", label="its neighbour on the grid")
    for kind in sorted(set(flows[:, 3].astype(int).tolist())):
        name, colour, dash, _ = KINDS[kind]
        ax.plot([], [], dash, color=colour, label=f"mass moved: {name}")
    ax.set(xlabel="report $x_1$", ylabel="report $x_2$")
    ax.margins(0.18)
    plain(ax)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _arc(here: Floats, there: Floats, bend: float) -> Floats:
    """The control points of a curve that leaves the straight line to its right by ``bend`` times its length."""
    along = there - here
    return np.stack((here, (here + there) / 2 + bend * np.array([along[1], -along[0]]), there))
