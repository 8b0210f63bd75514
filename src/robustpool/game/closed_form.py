"""The best response of an unrestricted aggregator under a proper loss: the posterior [Guo2024, Observation 4.5]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numerics import safe_divide
from .response import Response, cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tables import Tables

    Floats = NDArray[np.float64]


class ClosedForm:
    """The posterior Pr[omega | x] under the mixture; where the mixture never leads, the default."""

    arithmetic = "float64, closed form"
    cheap = True

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        tables = self.tables
        reached = (masses.sum(axis=1) > 0) & ~tables.pinned
        table = np.where(reached[:, None], posterior(masses), tables.default)
        pinned = tables.pinned.any()
        least = cost(masses, tables.loss.table(table)) if pinned else float(tables.loss.bayes_risk(masses).sum())
        return Response(table, least, least)


def posterior(masses: Floats) -> Floats:
    """M(x, omega) / M(x); uniform at profiles of probability 0, such as the reports (0, 1) of independent agents."""
    total = masses.sum(axis=1, keepdims=True)
    return np.where(total > 0, safe_divide(masses, total), 1 / masses.shape[1])
