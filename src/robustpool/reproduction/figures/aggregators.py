"""The aggregators: what they say, how they differ from ours, and where they are weak [Guo2024, fig:allaggregators, fig:allregrets]."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...families.worst_case import tabulated, weakness
from ...plots import draw_aggregator, draw_difference, draw_weakness
from ...plots.style import draw_panels
from ..table_1 import RULES
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from ...typing import Floats
    from ..workbench import Workbench

NAMES = {
    **RULES,
    "algorithm-1": "the paper's: Algorithm 1, N = {N}",
    "continuous": "ours: N = {N}, any reports",
    "minimax": "ours: minimax",
}


def compared(bench: Workbench) -> dict[str, Any]:
    """The aggregators that the figures of Section 7 compare."""
    tables = {
        "algorithm-1": bench.algorithm_1().aggregator,
        "continuous": bench.against_continuous_nature(bench.settings.reports).aggregator,
    }
    return {name: tables.get(name, name) for name in NAMES}


def titled(numbers: Numbers, without: str = "", ending: str = "") -> dict[str, Floats]:
    """The numbers of each aggregator but one, by what to write above a panel."""
    return {words.format(N=numbers["N"]) + ending: numbers[name] for name, words in NAMES.items() if name != without}


class Aggregators(PaperFigure):
    """Heatmaps of the aggregators."""

    name = "aggregators"
    title = "What each aggregator says"
    alt = (
        "Six heatmaps of the forecast over the two reports. Simple averaging has straight diagonal contours; the other "
        "five bend towards the corners and agree in the centre."
    )
    columns, rows = 3, 2

    def numbers(self, bench: Workbench) -> Numbers:
        x = np.linspace(0, 1, 101)
        values = {name: tabulated(aggregator, x) for name, aggregator in compared(bench).items()}
        return {"x": x, "N": bench.settings.reports, **values}

    def paint(self, numbers: Numbers, axes: Any) -> None:
        draw_panels(draw_aggregator, titled(numbers), axes)

    def meaning(self, numbers: Numbers) -> str:
        low = ", ".join(f"{words} {table[10, 10]:.3f}" for words, table in titled(numbers).items())
        return (
            "A report of 0 or 1 decides for every aggregator except simple averaging (and the tables next to (0, 1) "
            f"and (1, 0), which never occur). When both report 0.1 they say: {low}."
        )


class Differences(PaperFigure):
    """Heatmaps of how the aggregators differ from ours."""

    name = "differences"
    title = "How they differ from ours"
    alt = (
        "Five heatmaps of the forecast minus that of minimax. Simple averaging differs strongly along the borders, the "
        "others weakly between the corners and the centre."
    )
    columns, rows = 3, 2

    def numbers(self, bench: Workbench) -> Numbers:
        numbers = dict(Aggregators().numbers(bench))
        ours = numbers.pop("minimax")
        return {name: values - ours if name in NAMES else values for name, values in numbers.items()}

    def paint(self, numbers: Numbers, axes: Any) -> None:
        draw = lambda difference, ax, bar: draw_difference(difference, 0 * difference, ax, limit=0.15, bar=bar)
        draw_panels(draw, titled(numbers, "minimax", "\nminus minimax"), axes, extend="both")

    def meaning(self, numbers: Numbers) -> str:
        x = numbers["x"]
        away = np.abs(np.subtract.outer(x, x)) < 0.95  # at (0, 1) and (1, 0), which never come, tables are arbitrary
        panels = titled(numbers, "minimax")
        far = ", ".join(f"{words} {np.abs(difference)[away].max():.2f}" for words, difference in panels.items())
        return (
            f"The largest differences to minimax where the reports do not contradict each other: {far}. The tables differ "
            "from it and are nearly as good: the optimum is flat, so compare worst cases, not single points."
        )


class Weakness(PaperFigure):
    """Heatmaps of R(x_1, x_2), the worst regret over structures that can produce these reports."""

    name = "weakness"
    title = "Where each aggregator is weak"
    alt = (
        "Six heatmaps of the worst regret over structures that can produce a pair of reports, on one colour scale from 0 "
        "to 0.065. Simple averaging is bright, most of all at the borders; the others are dark and much more even. Below, "
        "the others on their own scale."
    )
    columns, rows = 3, 4

    def numbers(self, bench: Workbench) -> Numbers:
        x = np.arange(bench.settings.cells + 1) / bench.settings.cells
        priors = np.arange(1, bench.settings.priors) / bench.settings.priors
        numbers = {"x": x, "priors": priors, "N": bench.settings.reports}
        for done, (name, aggregator) in enumerate(compared(bench).items()):
            bench.tell("the weak spots of each aggregator", done / len(NAMES))
            numbers[name] = weakness(aggregator, x, priors)
        return numbers

    def paint(self, numbers: Numbers, axes: Any) -> None:
        """Above all on the paper's scale; below, where simple averaging would outshine the others, these on their own."""
        others = titled(numbers, "mean", ", closer")
        every = np.concatenate([possible(regrets) for regrets in others.values()])
        draw_panels(draw_weakness, titled(numbers), axes[:2])
        draw_panels(partial(draw_weakness, scale=(every.min(), every.max())), others, axes[2:])

    def meaning(self, numbers: Numbers) -> str:
        panels = {words: possible(regrets) for words, regrets in titled(numbers).items()}
        spread = "; ".join(f"{words} {regrets.min():.4f} to {regrets.max():.4f}" for words, regrets in panels.items())
        return (
            f"Bright is weak. R over all pairs of reports except (0, 1) and (1, 0), which never occur: {spread}. (Found on "
            f"reports in steps of 1/{len(numbers['x']) - 1} and priors in steps of 1/{len(numbers['priors']) + 1}.)"
        )


def possible(values: Floats) -> Floats:
    """R at the possible reports: all but (0, 1) and (1, 0)."""
    keep = np.ones(values.shape, dtype=bool)
    keep[0, -1] = keep[-1, 0] = False
    return values[keep]
