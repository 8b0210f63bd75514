"""Forecasts that somebody who knows the range of the priors could give.

Conditionally independent agents with a prior between lo and hi have an omniscient posterior between g_hi(x) and g_lo(x),
as it falls in the prior. A forecast outside is beaten on every structure by the nearer end of that interval, under any
proper loss; a solver may leave one in a table all the same, where the worst case does not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..structures.binary_structure import omniscient_posterior

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.restrictions import TableLayout
    from ..typing import Floats


def settled(
    nature: Any, table: Floats, slack: float, worst: Callable[[Floats], float], margins: Sequence[float] = (0.0,)
) -> tuple[Floats, float]:
    """The table, plausible if that costs at most ``slack``, and its worst payoff.

    The margins are tried in turn; a table under restrictions is left alone.
    """
    upper, layout, prior_range = worst(table), nature.tables.layout, nature.family.prior_range
    if prior_range == (0.0, 1.0) or len(layout.differences) or layout.constraints:
        return table, upper
    for margin in margins:
        within = plausible(table, layout, prior_range, margin)
        payoff = worst(within)
        if payoff <= upper + slack:
            return within, payoff
    return table, upper


def plausible(table: Floats, layout: TableLayout, prior_range: tuple[float, float], margin: float = 0.0) -> Floats:
    """The table, shape (cells, 2), with the forecasts brought into the interval of their reports.

    Those with a report nearer than ``margin`` to 0 or 1 are left alone: there the posterior is steep, and between the
    knots of a table what is right at a knot can be wrong.
    """
    upright = np.flatnonzero(~layout.flipped)
    cells, first = np.unique(layout.cell[upright], return_index=True)
    x = layout.reports[upright[first], :, 0]
    low, high = prior_range
    least = omniscient_posterior(high, x) if 0 < high < 1 else np.zeros(len(x))
    most = omniscient_posterior(low, x) if 0 < low < 1 else np.ones(len(x))
    within = table.copy()
    inside = ((x >= margin) & (x <= 1 - margin)).all(axis=1)
    clipped = np.clip(table[cells, 1], np.minimum(least, most), np.maximum(least, most))
    within[cells[inside], 1] = clipped[inside]
    within[:, 0] = 1.0 - within[:, 1]
    return within
