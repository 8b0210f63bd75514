"""Losses on every structure under the three paradigms, sorted by the omniscient loss [Guo2024, fig:allimages]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.finite_game import omniscient_losses
from ...families.regret import regrets
from ...game.paradigms import PARADIGMS, payoff_terms
from ...losses.square import Square
from ...plots import draw_losses, title
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from ...typing import Floats
    from ..workbench import Workbench

KEYS = ("share", "omniscient", "least", "most", "afforded", "worst")


def afforded(paradigm: str, omniscient: Floats, worst: float) -> Floats:
    """The loss at which a structure is as bad as the worst one: c + V, V or V c for the omniscient loss c."""
    if paradigm == "additive":
        return omniscient + worst
    return omniscient * worst if paradigm == "ratio" else np.full_like(omniscient, worst)


def bands(paradigm: str, omniscient: Floats, losses: Floats, groups: int = 300) -> dict[str, Floats]:
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


class Losses(PaperFigure):
    """A panel with the losses for each paradigm."""

    name = "losses"
    title = "Losses under three paradigms"
    alt = (
        "Three panels, additive, absolute and ratio. In each the omniscient loss rises from left to right, the band of the "
        "aggregator's loss lies above it, and a dashed curve shows the loss that can be afforded; a dot marks where the "
        "band touches it."
    )
    columns, width = 3, 3.6

    def numbers(self, bench: Workbench) -> Numbers:
        family = bench.family.enumerate().flat
        omniscient = omniscient_losses(family, Square())
        numbers: dict[str, Any] = {"structures": len(omniscient), "M": bench.settings.priors}
        for paradigm in PARADIGMS:
            solution = bench.algorithm_1(paradigm)
            losses = regrets(solution.aggregator, family, paradigm="absolute")
            columns = {
                **bands(paradigm, omniscient, losses),
                "best_round": min(solution.trace, key=lambda point: point.upper).round,
                "mean": np.mean(losses - omniscient),
                "largest_regret": np.max(losses - omniscient),
            }
            numbers.update({f"{paradigm}_{key}": column for key, column in columns.items()})
        return numbers

    def paint(self, numbers: Numbers, axes: Any) -> None:
        for paradigm, ax in zip(PARADIGMS, axes.flat, strict=True):
            draw_losses({key: numbers[f"{paradigm}_{key}"] for key in KEYS}, ax)
            title(ax, f"{paradigm}: {numbers[f'{paradigm}_value']:.4g}")

    def meaning(self, numbers: Numbers) -> str:
        means, worst = ([numbers[f"{paradigm}_{key}"] for paradigm in PARADIGMS] for key in ("mean", "largest_regret"))
        first, last = numbers["additive_nearly_worst"]
        return (
            f"Over the {numbers['structures']:,} structures of the grid, up to symmetry, the aggregators of the "
            f"additive, absolute and ratio paradigms lose at most {worst[0]:.4f}, {worst[1]:.4f} and {worst[2]:.4f} more "
            f"than the omniscient, and on average {means[0]:.4f}, {means[1]:.4f} and {means[2]:.4f}. The worst case is "
            f"where the band touches the dashed curve: for additive regret nearly so (within 1 %) from {first:.0%} to "
            f"{last:.0%} of the way, for absolute loss only where the omniscient loses as much as everyone else, and for "
            f"the ratio where she loses almost nothing (its value grows with M, here {numbers['M']}; without a grid it is infinite)."
        )
