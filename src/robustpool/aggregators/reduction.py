"""Compiled: which difference constraints follow from others. Imported only where it is used, for numba's sake."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def irreducible(slack):  # type: ignore[no-untyped-def]
    """Which finite constraints do not follow from two others: no k has slack[i, k] + slack[k, j] <= slack[i, j].

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
                most = slack[i, j] * (1 + 1e-12)
                for k in range(count):
                    if k not in (i, j) and slack[i, k] + slack[k, j] <= most:
                        keep[i, j] = False
                        break
    return keep
