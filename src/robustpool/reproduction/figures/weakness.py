"""Heatmaps of R(x_1, x_2), the worst regret over structures that can produce these reports [Guo2024, fig:allregrets]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...game.weakness import weakness
from ...plots import colour_bar, draw_weakness, new_figure, title
from ...plots.heatmaps import WEAKNESS as R
from .aggregators import NAMES, compared, words
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

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
    figure, axes = new_figure(3, 2)
    for name, ax in zip(NAMES, axes.flat, strict=True):
        image = draw_weakness(numbers[name], ax, bar=False)
        title(ax, words(name, numbers))
    colour_bar(image, axes, R)
    return figure


def possible(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """R at the reports that can come: all but (0, 1) and (1, 0)."""
    keep = np.ones(values.shape, dtype=bool)
    keep[0, -1] = keep[-1, 0] = False
    return values[keep]


def _meaning(numbers: Numbers) -> str:
    low, high = (float(end(possible(numbers["minimax"]))) for end in (np.min, np.max))
    mean, prior = (float(numbers[name].max()) for name in ("mean", "average-prior"))
    return (
        f"Bright is weak. Simple averaging costs up to {mean:.4f} where one report is certain and the average prior up to {prior:.4f}, "
        f"while for minimax R lies between {low:.4f} and {high:.4f}: no pair of reports is much worse than another. "
        f"(Found on reports in steps of 1/{len(numbers['x']) - 1} and priors in steps of 1/{len(numbers['priors']) + 1}; "
        "R at (0, 1) and (1, 0), which never come, is set to 0.)"
    )


WEAKNESS = PaperFigure(
    "weakness",
    "Where each aggregator is weak",
    "Six heatmaps of the worst regret over structures that can produce a pair of reports, on one colour scale from 0 to 0.065. Simple "
    "averaging is bright, most of all at the borders; the average prior and the state of the art are a little brighter at the borders; "
    "ours are uniform.",
    _compute,
    _draw,
    _meaning,
)
