"""The coupling by which the covering proof bounds the earth mover's distance [Guo2024, Lemma 6.9].

A structure with reports (a_i', b_j') and its neighbour with (a_i, b_j), i and j each low or high: as much mass as
possible stays at its own corner (*local*, at most 2/N away), then as much of the rest as possible moves to the other
report of the agent whose reports are closer together (*remote*), and what is left goes wherever there is room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from ..structures.binary_structure import BinaryStructure
    from ..typing import Floats, Integers

LOCAL, REMOTE, REST = range(3)


@dataclass(frozen=True, eq=False)
class Coupling:
    """Masses that move from the profiles of one structure to those of another, in the order of ``profiles()``."""

    start: Integers  # (flows,)
    end: Integers  # (flows,)
    mass: Floats  # (flows,)
    kind: Integers  # (flows,): local 0, remote 1, the rest 2
    cost: float  # the mean of |x - x'|_1: no less than the earth mover's distance


def couple(structure: BinaryStructure, near: BinaryStructure) -> Coupling:
    """The coupling of the proof between two structures of two agents with the same prior.

    >>> from robustpool import BinaryStructure
    >>> coupling = couple(BinaryStructure(0.5, [[0.3, 0.6], [0.1, 0.8]]), BinaryStructure(0.5, [[0.2, 0.7], [0, 1]]))
    >>> round(float(coupling.mass.sum()), 12), round(coupling.cost, 4)
    (1.0, 0.32)
    """
    for one in (structure, near):
        if one.agents != 2:
            raise InputError(f"the coupling is for two agents; a structure has {one.agents}.")
    if structure.prior != near.prior:
        raise InputError(f"the structures must have one prior; they have {structure.prior:g} and {near.prior:g}.")
    left, room = structure.probabilities().copy(), near.probabilities().copy()
    spread = near.reports[:, 1] - near.reports[:, 0]
    flip = 2 if spread[0] <= spread[1] else 1  # profiles are numbered 2 i + j
    ways = [(LOCAL, k, k) for k in range(4)] + [(REMOTE, k, k ^ flip) for k in range(4)]
    ways += [(REST, k, other) for k in range(4) for other in range(4)]
    flows = []
    for kind, start, end in ways:
        mass = min(left[start], room[end])
        if mass > 1e-15:
            flows.append((start, end, mass, kind))
            left[start], room[end] = left[start] - mass, room[end] - mass
    starts, ends, masses, kinds = (np.array(column) for column in zip(*flows, strict=True))
    length = np.abs(structure.profiles()[starts] - near.profiles()[ends]).sum(axis=1)
    return Coupling(starts, ends, masses, kinds, float(masses @ length))
