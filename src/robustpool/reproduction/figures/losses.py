"""Losses on every structure under the three paradigms, sorted by the omniscient loss [Guo2024, fig:allimages]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...game.finite_game import finite_game
from ...game.losses import Square
from ...game.paradigms import PARADIGMS, omniscient_losses
from ...plots import draw_losses, new_figure, title
from ...plots.convergence import trace_columns
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..workbench import Workbench

GROUPS = 300
KEYS = ("share", "omniscient", "least", "most", "afforded", "worst")


def afforded(paradigm: str, omniscient: NDArray[np.float64], worst: float) -> NDArray[np.float64]:
    """The loss at which a structure is as bad as the worst one: c + V, V or V c for the omniscient loss c."""
    return {"additive": omniscient + worst, "absolute": np.full_like(omniscient, worst), "ratio": omniscient * worst}[
        paradigm
    ]


def _compute(bench: Workbench) -> Numbers:
    family = bench.family.enumerate().flat
    game = finite_game(family, Square(), "absolute", [])
    omniscient = omniscient_losses(family, Square())
    order = np.argsort(omniscient, kind="stable")
    numbers: dict[str, NDArray[np.float64]] = {"structures": np.array(len(order)), "M": np.array(bench.settings.priors)}
    for paradigm in PARADIGMS:
        solution = bench.algorithm_1(paradigm)
        said = solution.aggregator(family.reports[:, :, 0])
        losses = game.payoffs(np.stack([1 - said, said], axis=1))
        columns = bands(omniscient[order], losses[order], afforded(paradigm, omniscient[order], solution.upper))
        numbers.update({f"{paradigm}_{key}": column for key, column in columns.items()})
        payoffs = finite_game(family, Square(), paradigm, []).payoffs(np.stack([1 - said, said], axis=1))[order]
        worst = int(np.argmax(payoffs))
        numbers[f"{paradigm}_worst"] = np.array([worst / (len(order) - 1), losses[order][worst]])
        nearly = np.flatnonzero(payoffs >= 0.99 * payoffs.max()) / (len(order) - 1)
        numbers[f"{paradigm}_nearly_worst"] = np.array([nearly.min(), nearly.max(), len(nearly)])
        numbers[f"{paradigm}_value"] = np.array(solution.upper)
        uppers = trace_columns(solution.trace)["upper"]
        numbers[f"{paradigm}_best_round"] = np.array(solution.trace[int(np.argmin(uppers))].round)
        numbers[f"{paradigm}_mean"] = np.array(float(np.mean(losses - omniscient)))
        numbers[f"{paradigm}_largest_regret"] = np.array(float(np.max(losses - omniscient)))
    return numbers


def bands(
    omniscient: NDArray[np.float64], losses: NDArray[np.float64], afforded: NDArray[np.float64], groups: int = GROUPS
) -> dict[str, NDArray[np.float64]]:
    """Structures in order, in groups: the middle of the first and last column, the extremes of the losses."""
    edges = np.unique(np.linspace(0, len(losses), groups + 1).astype(int))
    middle = (edges[:-1] + edges[1:] - 1) // 2
    return {
        "share": middle / max(len(losses) - 1, 1),
        "omniscient": omniscient[middle],
        "least": np.minimum.reduceat(losses, edges[:-1]),
        "most": np.maximum.reduceat(losses, edges[:-1]),
        "afforded": afforded[middle],
    }


def _draw(numbers: Numbers) -> Figure:
    figure, axes = new_figure(3, 1, width=3.6)
    for paradigm, ax in zip(PARADIGMS, axes.flat, strict=True):
        draw_losses({key: numbers[f"{paradigm}_{key}"] for key in KEYS}, ax)
        title(ax, f"{paradigm}: {float(numbers[f'{paradigm}_value']):.4g}")
    return figure


def _meaning(numbers: Numbers) -> str:
    means = [float(numbers[f"{paradigm}_mean"]) for paradigm in PARADIGMS]
    worst = [float(numbers[f"{paradigm}_largest_regret"]) for paradigm in PARADIGMS]
    first, last, _ = numbers["additive_nearly_worst"]
    return (
        f"Over the {int(numbers['structures']):,} structures of the grid, the aggregators of the additive, absolute and ratio paradigms lose at most {worst[0]:.4f}, {worst[1]:.4f} and "
        f"{worst[2]:.4f} more than the omniscient, and on average {means[0]:.4f}, {means[1]:.4f} and {means[2]:.4f}. The worst case is where the band touches the dashed curve: for "
        f"additive regret nearly so (within 1 %) from {first:.0%} to {last:.0%} of the way, for absolute loss only where the omniscient is as lost as everyone, and for the ratio where she "
        f"loses almost nothing (its value grows with M, here {int(numbers['M'])}; without a grid it is infinite)."
    )


LOSSES = PaperFigure(
    "losses",
    "Losses under three paradigms",
    "Three panels, additive, absolute and ratio. In each the omniscient loss rises from left to right, the band of the aggregator's loss lies above it, "
    "and a dashed curve shows the loss that can be afforded; the band touches it along a wide range, at the right end, and at the left end.",
    _compute,
    _draw,
    _meaning,
)
