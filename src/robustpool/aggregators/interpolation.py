"""Multilinear interpolation on a uniform grid, compiled: for tables with millions of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from ..typing import Floats


CORNERS_FROM = 8
"""Rows for each value of the table from which on it pays to write out the corners of all cells."""


def interpolate(values: Floats, reports: Floats, forecasts: Floats) -> bool:
    """Fill in the forecasts for reports (m, n) in [0, 1]; False as soon as a report is something else, NaN included.

    ``values`` is the table (N + 1, ..., N + 1). The arithmetic is that of `GridAggregator`, step by step.
    """
    N = len(values) - 1
    if values.ndim == 2 and len(reports) >= CORNERS_FROM * values.size:
        return bool(_fill_pairs(_corners(values).ravel(), N, reports, forecasts))
    return bool(_fill(values.ravel(), N, reports, forecasts))


def _corners(values: Floats) -> Floats:
    """f_00, f_01, f_10 and f_11 of each cell side by side, and a last row and column of cells for the reports of 1."""
    padded = np.pad(values, (0, 1), mode="edge")
    return np.stack((padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]), axis=-1)


@njit(cache=True, nogil=True)
def _fill_pairs(corners, N, reports, forecasts):  # type: ignore[no-untyped-def]  # numba infers the types
    """f = (1-a)(1-b) f_00 + (1-a) b f_01 + a (1-b) f_10 + a b f_11."""
    for row in range(len(reports)):
        x, y = reports[row, 0], reports[row, 1]
        if not ((x >= 0.0) & (x <= 1.0) & (y >= 0.0) & (y <= 1.0)):
            return False
        i, j = np.int32(N * x), np.int32(N * y)
        a, b = N * x - i, N * y - j
        at = 4 * np.int64(i * (N + 1) + j)
        total = (1.0 - a) * (1.0 - b) * corners[at]
        total += (1.0 - a) * b * corners[at + 1]
        total += a * (1.0 - b) * corners[at + 2]
        total += a * b * corners[at + 3]
        forecasts[row] = min(total, 1.0)  # no term is negative
    return True


@njit(cache=True, nogil=True)
def _fill(values, N, reports, forecasts):  # type: ignore[no-untyped-def]  # numba infers the types
    """The mean of the 2^n corners of a cell; bit i of a corner's number is for agent n - i, so that the last changes fastest."""
    agents = reports.shape[1]
    for row in range(len(reports)):
        total = 0.0
        for corner in range(1 << agents):
            weight, at = 1.0, 0
            for agent in range(agents):
                x = reports[row, agent]
                if not 0.0 <= x <= 1.0:
                    return False
                cell = min(int(N * x), N - 1)
                alpha = N * x - cell
                upper = (corner >> (agents - 1 - agent)) & 1
                weight *= alpha if upper else 1.0 - alpha
                at = at * (N + 1) + cell + upper
            total += weight * values[at]
        forecasts[row] = min(total, 1.0)  # no term is negative
    return True
