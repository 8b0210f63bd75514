"""Losses on every structure under the three paradigms, sorted by the omniscient loss [Guo2024, fig:allimages]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.finite_game import omniscient_losses
from ...families.regret import regrets
from ...game.paradigms import PARADIGMS, payoff_terms
from ...losses.square import Square
from ...plots import draw_losses, new_figure, title
from ...plots.convergence import trace_columns
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...typing import Floats
    from ..workbench import Workbench

GROUPS = 300
KEYS = ("share", "omniscient", "least", "most", "afforded", "worst")


def afforded(paradigm: str, omniscient: Floats, worst: float) -> Floats:
    """The loss at which a structure is as bad as the worst one: c + V, V or V c for the omniscient loss c."""
    return {"additive": omniscient + worst, "absolute": np.full_like(omniscient, worst), "ratio": omniscient * worst}[
        paradigm
    ]


def _compute(bench: Workbench) -> Numbers:
    family = bench.family.enumerate().flat
    omniscient = omniscient_losses(family, Square())
    numbers: dict[str, Any] = {"structures": np.array(len(omniscient)), "M": np.array(bench.settings.priors)}
    for paradigm in PARADIGMS:
        solution = bench.algorithm_1(paradigm)
        losses = regrets(solution.aggregator, family, paradigm="absolute")
        numbers.update({f"{paradigm}_{key}": column for key, column in bands(paradigm, omniscient, losses).items()})
        uppers = trace_columns(solution.trace)["upper"]
        numbers[f"{paradigm}_best_round"] = np.array(solution.trace[int(np.argmin(uppers))].round)
        numbers[f"{paradigm}_mean"] = np.array(float(np.mean(losses - omniscient)))
        numbers[f"{paradigm}_largest_regret"] = np.array(float(np.max(losses - omniscient)))
    return numbers


def bands(paradigm: str, omniscient: Floats, losses: Floats, groups: int = GROUPS) -> dict[str, Floats]:
    """What ``draw_losses`` draws, from the losses of the omniscient and of an aggregator on each structure.

    Beside it ``value``, the worst payoff, and ``nearly_worst``: from where to where payoffs within 1 % of it stand.
    """
    order = np.argsort(omniscient, kind="stable")
    omniscient, losses = omniscient[order], losses[order]
    scale, offset, _ = payoff_terms(paradigm, omniscient)
    payoffs = scale * losses - offset
    worst, last = int(np.argmax(payoffs)), max(len(losses) - 1, 1)
    nearly = np.flatnonzero(payoffs >= 0.99 * payoffs[worst]) / last
    edges = np.unique(np.linspace(0, len(losses), groups + 1).astype(int))
    middle = (edges[:-1] + edges[1:] - 1) // 2
    return {
        "share": middle / last,
        "omniscient": omniscient[middle],
        "least": np.minimum.reduceat(losses, edges[:-1]),
        "most": np.maximum.reduceat(losses, edges[:-1]),
        "afforded": afforded(paradigm, omniscient[middle], float(payoffs[worst])),
        "worst": np.array([worst / last, losses[worst]]),
        "value": np.array(payoffs[worst]),
        "nearly_worst": np.array([nearly.min(), nearly.max()]),
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
    first, last = numbers["additive_nearly_worst"]
    return (
        f"Over the {int(numbers['structures']):,} structures of the grid, up to symmetry, the aggregators of the "
        f"additive, absolute and ratio paradigms lose at most {worst[0]:.4f}, {worst[1]:.4f} and {worst[2]:.4f} more "
        f"than the omniscient, and on average {means[0]:.4f}, {means[1]:.4f} and {means[2]:.4f}. The worst case is "
        f"where the band touches the dashed curve: for additive regret nearly so (within 1 %) from {first:.0%} to "
        f"{last:.0%} of the way, for absolute loss only where the omniscient is as lost as everyone, and for the ratio "
        f"where she loses almost nothing (its value grows with M, here {int(numbers['M'])}; without a grid it is "
        "infinite)."
    )


LOSSES = PaperFigure(
    "losses",
    "Losses under three paradigms",
    "Three panels, additive, absolute and ratio. In each the omniscient loss rises from left to right, the band of the "
    "aggregator's loss lies above it, and a dashed curve shows the loss that can be afforded; a dot marks where the "
    "band touches it.",
    _compute,
    _draw,
    _meaning,
)
