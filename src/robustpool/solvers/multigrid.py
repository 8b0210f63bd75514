"""Coarse solutions start fine ones: nature of a coarser game is solved roughly first, if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cutting_planes import CuttingPlanes

if TYPE_CHECKING:
    from ..families.nature import Nature

COARSE_GAP = 1e-5
COARSE_ROUNDS = 20


def with_head_start(nature: Nature) -> Nature:
    """Nature with the table and the structures of the coarser game to start from."""
    coarse = nature.coarser()
    if coarse is None:
        return nature
    coarse = with_head_start(coarse)
    for state in CuttingPlanes(2 * COARSE_GAP).iterate(coarse):
        if state.upper - state.lower <= COARSE_GAP or state.round >= COARSE_ROUNDS:
            break
    return nature.started(coarse.aggregator(state.centre), state.label)
