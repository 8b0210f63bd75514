"""Multisets of grid points: the report profiles of agents who are treated alike, each in one order only.

A multiset of k numbers c_1 <= ... <= c_k from 0, ..., size - 1 has the rank sum_j C(c_j + j - 1, j), its place in the
colexicographic order. With n agents there are C(size + n - 1, n) of them instead of size^n profiles.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Integers


def multisets(size: int, count: int) -> Integers:
    """Every multiset of ``count`` numbers below ``size``, in the order of their ranks, shape (multisets, count).

    >>> multisets(3, 2).tolist()
    [[0, 0], [0, 1], [1, 1], [0, 2], [1, 2], [2, 2]]
    """
    rows = np.zeros((1, 0), dtype=np.int64)
    for k in range(1, count + 1):
        fewer = [
            comb(last + k - 1, k - 1) for last in range(size)
        ]  # how many of k - 1 numbers have none above ``last``
        heads = np.concatenate([rows[:number] for number in fewer])
        rows = np.column_stack((heads, np.repeat(np.arange(size), fewer)))
    return rows


def ranks(rows: NDArray[np.integer]) -> Integers:
    """The ranks of multisets (..., count), whose numbers may stand in any order.

    >>> ranks(np.array([[1, 0], [2, 2]])).tolist()
    [1, 5]
    """
    ordered, count = np.sort(rows, axis=-1), rows.shape[-1]
    largest = int(ordered.max(initial=0))
    table = np.array([[comb(c + j, j + 1) for c in range(largest + 1)] for j in range(count)], dtype=np.int64)
    return np.asarray(table.reshape(count, -1)[np.arange(count), ordered].sum(axis=-1))


class Additions(NamedTuple):
    """For each multiset y of fewer than n numbers and each number i, the rank of y with i added."""

    ranks: NDArray[np.int32]  # one level after the other: ranks[first[k] + rank(y) * size + i] for y of k numbers
    first: Integers  # (n,)
    counts: Integers  # (n + 1,): how many multisets there are of 0, 1, ..., n numbers


@lru_cache(maxsize=4)
def additions(size: int, agents: int) -> Additions:
    """The ranks of all multisets of up to ``agents`` numbers below ``size``, each by adding one number to a smaller one.

    >>> step = additions(3, 2)
    >>> step.ranks[step.first[1] + 3 * 1 + 0 : step.first[1] + 3 * 2].tolist()     # {1} with 0, 1 or 2 added
    [1, 2, 4]
    """
    counts = np.array([comb(size + k - 1, k) for k in range(agents + 1)])
    checks.fits_in_memory(f"the reports of {agents} agents on {size} points", 40.0 * agents * size * float(counts[-2]))
    levels = []
    for k in range(agents):
        smaller = np.repeat(multisets(size, k), size, axis=0)
        levels.append(ranks(np.column_stack((smaller, np.tile(np.arange(size), counts[k])))).astype(np.int32))
    first = np.concatenate(([0], np.cumsum(counts[:-1] * size)))[:agents]
    return Additions(checks.frozen(np.concatenate(levels)), checks.frozen(first), checks.frozen(counts))


def grid_ranks(size: int, agents: int) -> NDArray[np.int32]:
    """The rank of every profile of the full grid, shape (size, ..., size).

    >>> grid_ranks(2, 2).tolist()
    [[0, 1], [1, 2]]
    """
    checks.fits_in_memory(f"a table for {agents} agents with {size} reports each", 16.0 * float(size) ** agents)
    step = additions(size, agents)
    found = np.zeros((), dtype=np.int32)
    for k in range(agents):
        found = step.ranks[step.first[k] + found[..., None].astype(np.int64) * size + np.arange(size)]
    return found
