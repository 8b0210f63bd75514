"""Coarse solutions start fine ones: half the reports first, then the table interpolated and the structures kept.

A structure of the coarse grid is one of the fine grid as well, if the fine one halves its steps; so the cuts that mattered
on the coarse grid are there from the first round, and the table is nearly right everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..aggregators.grid import GridAggregator
from ..game.best_response import best_responder
from .cutting_planes import CuttingPlanes
from .natures import IndependentNature, independent_nature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..aggregators.restrictions import Restriction
    from ..game.losses import Loss
    from ..structures.conditionally_independent import ConditionallyIndependent

FEW_REPORTS = 32
COARSE_GAP = 1e-5
COARSE_ROUNDS = 20


def with_head_start(
    family: ConditionallyIndependent, loss: Loss, paradigm: str, limits: Sequence[Restriction]
) -> IndependentNature:
    """Nature on a grid; if it is fine and even, with what the grid of half as many reports found."""
    nature = independent_nature(family, loss, paradigm, limits)
    N = family.reports
    if N is None or N < FEW_REPORTS or N % 2:
        return nature
    coarse = with_head_start(replace(family, reports=N // 2), loss, paradigm, limits)
    responder = best_responder(coarse.tables)
    for state in CuttingPlanes(COARSE_GAP).iterate(coarse, responder):
        if state.upper - state.lower <= COARSE_GAP or state.round >= COARSE_ROUNDS:
            break
    start = nature.on_cells(GridAggregator(coarse.forecasts(state.centre)))
    return replace(nature, tables=replace(nature.tables, default=start), labels=state.label)
