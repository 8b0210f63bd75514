"""Where an aggregator is weak: R(x_1, x_2), the worst regret over structures that can produce these reports.

R(x_1, x_2) = max over theta with Pr_theta[x_1, x_2] > 0 of R(f, theta) [Guo2024, Section 7.1]. Here theta runs through
all structures of two conditionally independent agents with two signals each, reports on a grid and given priors: the
exact maximum over these, so a lower bound on the one over all structures. (0, 1) and (1, 0) never come, and get 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..errors import InputError
from ..execution import mapped
from .grid_oracle import PARTS, Grid, oracle_grid
from .worst_case import tabulated

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..designs.any_aggregator import AnyAggregator
    from ..losses.loss import Loss
    from ..typing import Floats


def weakness(
    aggregator: AnyAggregator, reports: ArrayLike, priors: ArrayLike, *, loss: str | Loss = "square"
) -> Floats:
    """R(x_1, x_2) on a grid of reports, shape (len(reports), len(reports)).

    The reports increase from 0 or more to 1 or less; the priors lie strictly between 0 and 1. The loss is square or log,
    or another one with a kernel.

    >>> x = np.linspace(0, 1, 5)
    >>> weakness("mean", x, np.arange(1, 8) / 8).round(4)[0]   # weak where one agent is certain
    array([0.0469, 0.0547, 0.0625, 0.0547, 0.    ])
    """
    checks.extra("the weakness of an aggregator", "solve")
    x, mu = checks.unit_array("reports", reports), checks.unit_array("priors", priors)
    if x.ndim != 1 or len(x) < 2 or not (np.diff(x) > 0).all():
        raise InputError("reports must be a list of two or more numbers that rise.")
    if mu.ndim != 1 or len(mu) == 0 or not ((mu > 0) & (mu < 1)).all():
        raise InputError("priors must be a list of one or more numbers strictly between 0 and 1.")
    grid = oracle_grid(x, tabulated(aggregator, x), loss=loss)
    parts = [mu[k::PARTS] for k in range(PARTS)]
    worst = np.max(list(mapped(_worst_by_reports, parts, grid, compiled=True)), axis=0)
    impossible = np.outer(x == 0, x == 1)
    return np.where(impossible | impossible.T, 0.0, worst)


def _worst_by_reports(grid: Grid, priors: Floats) -> Floats:
    from .envelopes import worst_by_reports

    worst = np.zeros_like(grid[1])
    for prior in priors:
        worst_by_reports(prior, *grid, worst)
    return worst
