"""Compiled: which difference constraints follow from others. Imported only where it is used, for numba's sake."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def irreducible(slack):  # type: ignore[no-untyped-def]
    """Which finite constraints do not follow from two others, both clearly tighter: no k has slack[i, k] + slack[k, j]
    <= slack[i, j]. That both are tighter keeps two constraints from each being left out because of the other. Slacks of 0
    come from a partial order, where nothing can go round in a circle.

    >>> irreducible(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]))
    array([[False,  True, False],
           [ True, False,  True],
           [False,  True, False]])
    """
    count = len(slack)
    keep = np.isfinite(slack)
    for i in range(count):
        for j in range(count):
            if i == j:
                keep[i, j] = False
            elif keep[i, j]:
                most, less = slack[i, j] * (1 + 1e-12), slack[i, j] * (1 - 1e-9)
                for k in range(count):
                    if k in (i, j):
                        continue
                    tighter = slack[i, k] < less and slack[k, j] < less and slack[i, k] + slack[k, j] <= most
                    if tighter or (most == 0.0 and slack[i, k] == 0.0 and slack[k, j] == 0.0):
                        keep[i, j] = False
                        break
    return keep
