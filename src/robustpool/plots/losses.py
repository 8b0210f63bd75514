"""The loss of an aggregator on every structure of a family, next to the omniscient loss [Guo2024, fig:allimages]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .style import GREEN, INK, ORANGE, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ..typing import Floats


def draw_losses(bands: Mapping[str, Floats], ax: Axes) -> None:
    """Structures sorted by the omniscient loss: her loss, the band of the aggregator's loss, and the limit set by the worst case.

    ``bands`` has, for consecutive groups of structures, ``share`` (where the group stands, from 0 to 1),
    ``omniscient``, ``least`` and ``most`` (the aggregator's loss in the group) and ``afforded``: the loss at which a
    structure would be as bad as the worst one. The worst case is where the band touches that curve: ``worst`` is the
    place and the loss of the worst structure.
    """
    share = bands["share"]
    ax.fill_between(share, bands["least"], bands["most"], color=GREEN, alpha=0.35, linewidth=0, label="the aggregator")
    ax.plot(share, bands["afforded"], "--", color=ORANGE, linewidth=1.4, label="can be afforded")
    ax.plot(share, bands["omniscient"], "-", color=INK, linewidth=1.4, label="the omniscient")
    ax.plot(*bands["worst"], "o", color=ORANGE, markersize=5, label="the worst structure", clip_on=False)
    top = float(max(bands["most"].max(), bands["omniscient"].max()))
    ax.set(xlim=(0, 1), ylim=(0, 1.15 * top), xlabel="structures, by omniscient loss", ylabel="expected loss")
    plain(ax)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
