"""Structures with public evidence: what all agents saw, beside their private signals (docs/derivations/shared-evidence.md).

Every worst-case bound for conditionally independent agents also holds for the structures that are made here of
conditionally independent ones. Without this module a researcher has to write their joint distributions out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..errors import InputError
from .binary_structure import BinaryStructure
from .information_structure import InformationStructure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def with_public_evidence(
    structures: Sequence[InformationStructure | BinaryStructure], weights: ArrayLike
) -> InformationStructure:
    """The structure in which all agents see a label z, with probability ``weights[z]``, and then signals as in structure z.

    The signal of agent i is the pair (z, s_i), those of z = 0 first. So her report is her posterior in structure z, the
    omniscient aggregator sees z too, and the regret of a rule f is

        R(f) = sum_z weights[z] R(f, structures[z]).

    >>> dull, sharp = BinaryStructure(0.3, [[0.2, 0.5]] * 2), BinaryStructure(0.6, [[0.1, 0.9]] * 2)
    >>> both = with_public_evidence([dull, sharp], [0.75, 0.25])
    >>> both.posterior(agent=0)[:, 1].round(3)
    array([0.2, 0.5, 0.1, 0.9])
    >>> both.prior.round(3)
    array([0.625, 0.375])
    """
    joints = [_joint(structure) for structure in structures]
    chance = checks.distributions("weights", weights, stacked=False)
    if chance.shape != (len(joints),):
        raise InputError(
            f"weights must be one number for each of the {len(joints)} structures; the shape is {chance.shape}."
        )
    kinds = [(joint.shape[0], joint.ndim - 1) for joint in joints]
    for z, (states, agents) in enumerate(kinds):
        if (states, agents) != kinds[0]:
            raise InputError(
                "the structures must have the same numbers of states and agents; "
                f"structure 0 has {kinds[0][0]} and {kinds[0][1]}, structure {z} has {states} and {agents}."
            )
    signals = np.array([joint.shape[1:] for joint in joints])
    ends = signals.cumsum(axis=0)
    size = float(np.prod([kinds[0][0], *ends[-1].tolist()], dtype=float))
    checks.fits_in_memory("this structure", 8 * size)
    whole = np.zeros((kinds[0][0], *ends[-1]))
    for share, joint, count, end in zip(chance, joints, signals, ends, strict=True):
        whole[(slice(None), *map(slice, end - count, end))] = share * joint
    return InformationStructure(whole)


def copied_by_all(structure: InformationStructure | BinaryStructure, probability: float) -> InformationStructure:
    """The structure in which, with this probability, all agents see the signal of the first agent and nothing else.

    They know that they do. Otherwise the signals are those of ``structure``. A copied signal is public evidence, after
    which nobody learns more.

    >>> pair = BinaryStructure(0.3, [[0.2, 0.7], [0.0, 0.4]])
    >>> copied_by_all(pair, 0.25).posterior(agent=1)[:, 1].round(3)
    array([0. , 0.4, 0.2, 0.7])
    """
    share = checks.number("probability", probability, least=0, most=1)
    joint = _joint(structure)
    seen = joint.sum(axis=tuple(range(2, joint.ndim)))  # Pr[omega, s_1]
    chance = seen.sum(axis=0)
    alone = (-1, *(1,) * (joint.ndim - 1))
    copies = [InformationStructure((seen[:, s] / chance[s]).reshape(alone)) for s in np.flatnonzero(chance)]
    weights = [1 - share, *(share * chance[chance > 0])]
    return with_public_evidence([InformationStructure(joint), *copies], weights)


def _joint(structure: InformationStructure | BinaryStructure) -> np.ndarray:
    if not isinstance(structure, InformationStructure | BinaryStructure):
        raise InputError(
            f"structures must be InformationStructure or BinaryStructure; one is a {type(structure).__name__}."
        )
    whole = structure.to_information_structure() if isinstance(structure, BinaryStructure) else structure
    return whole.joint
