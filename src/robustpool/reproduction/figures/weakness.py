"""Heatmaps of R(x_1, x_2), the worst regret over structures that can produce these reports [Guo2024, fig:allregrets]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...families.weakness import weakness
from ...plots import colour_bar, draw_weakness, new_figure, title
from ...plots.heatmaps import WEAKNESS as R
from .aggregators import NAMES, compared, words
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...typing import Floats
    from ..workbench import Workbench


def _compute(bench: Workbench) -> Numbers:
    x = np.arange(bench.settings.cells + 1) / bench.settings.cells
    priors = np.arange(1, bench.settings.priors) / bench.settings.priors
    numbers = {"x": x, "priors": priors, "N": np.array(bench.settings.reports)}
    every = compared(bench)
    for done, (name, aggregator) in enumerate(every.items()):
        bench.tell("the weak spots of each aggregator", done / len(every))
        numbers[name] = weakness(aggregator, x, priors)
    return numbers


def _draw(numbers: Numbers) -> Figure:
    """Above all on the paper's scale; below, where simple averaging would outshine the others, these on their own."""
    figure, axes = new_figure(3, 4)
    others = [name for name in NAMES if name != "mean"]
    scale = _scale(numbers, others)
    for name, ax in zip(NAMES, axes[:2].flat, strict=True):
        image = draw_weakness(numbers[name], ax, bar=False)
        title(ax, words(name, numbers))
    colour_bar(image, axes[:2], R)
    for name, ax in zip(others, axes[2:].flat, strict=False):
        image = draw_weakness(numbers[name], ax, scale=scale, bar=False)
        title(ax, f"{words(name, numbers)}, closer")
    axes.flat[-1].set_axis_off()
    colour_bar(image, axes[2:], R)
    return figure


def _scale(numbers: Numbers, names: list[str]) -> tuple[float, float]:
    every = np.concatenate([possible(numbers[name]) for name in names])
    return float(every.min()), float(every.max())


def possible(values: Floats) -> Floats:
    """R at the reports that can come: all but (0, 1) and (1, 0)."""
    keep = np.ones(values.shape, dtype=bool)
    keep[0, -1] = keep[-1, 0] = False
    return values[keep]


def _meaning(numbers: Numbers) -> str:
    spread = "; ".join(
        f"{words(name, numbers)} {possible(numbers[name]).min():.4f} to {possible(numbers[name]).max():.4f}"
        for name in NAMES
    )
    return (
        f"Bright is weak. R over all pairs of reports but (0, 1) and (1, 0), which never come: {spread}. (Found on "
        f"reports in steps of 1/{len(numbers['x']) - 1} and priors in steps of 1/{len(numbers['priors']) + 1}.)"
    )


WEAKNESS = PaperFigure(
    "weakness",
    "Where each aggregator is weak",
    "Six heatmaps of the worst regret over structures that can produce a pair of reports, on one colour scale from 0 "
    "to 0.065. Simple averaging is bright, most of all at the borders; the others are dark and much more even. Below, "
    "the others on a scale of their own.",
    _compute,
    _draw,
    _meaning,
)
