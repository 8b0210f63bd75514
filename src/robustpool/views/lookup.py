"""The numbers behind the look-up of a finite family: each agent's reports by name, and the forecast of every profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..aggregators.table import TableAggregator
    from ..designs.records import FiniteRecord
    from ..typing import Floats

MOST_PROFILES = 20_000
"""Profiles that a page holds, about a megabyte; a longer table is for the command line."""

DIGITS = (6, 9, 12, 17)
"""Significant digits of a report: the fewest with which no two of an agent's reports look the same."""


def lookup(aggregator: TableAggregator, family: FiniteRecord) -> dict[str, Any] | None:
    """The look-up's data, or None where there are too many profiles.

    Each agent has a list of the texts of her reports; a profile is a row of places in these lists.

    >>> from robustpool.aggregators.table import TableAggregator
    >>> from robustpool.designs.records import FiniteRecord
    >>> table = TableAggregator(np.array([[[0.1], [0.5]], [[0.5], [0.5]]]), np.array([0.2, 0.7]))
    >>> agents, states = ("ann", "bob"), ("dry", "rain")
    >>> family = FiniteRecord(states=states, agents=agents, report="posterior", structures=1, fingerprint="")
    >>> data = lookup(table, family)
    >>> data["agents"]
    [{'name': 'ann', 'reports': ['0.1', '0.5']}, {'name': 'bob', 'reports': ['0.5']}]
    >>> data["profiles"], data["states"], data["forecasts"]
    ([[0, 0], [1, 0]], ['rain'], [['0.200000'], ['0.700000']])
    """
    if len(aggregator.reports) > MOST_PROFILES:
        return None
    states, several = family.states, aggregator.forecasts.ndim == 2
    names = states if family.report == "decision" else ()
    agents, places = [], []
    for name, reports in zip(family.agents, np.swapaxes(aggregator.reports, 0, 1), strict=True):
        levels, place = np.unique(reports, axis=0, return_inverse=True)
        agents.append({"name": name, "reports": _labels(levels, names)})
        places.append(place.reshape(-1))
    forecasts = aggregator.forecasts.reshape(len(aggregator.forecasts), -1)
    return {
        "agents": agents,
        "states": list(states if several else states[1:]),
        "profiles": np.stack(places, axis=1).tolist(),
        "forecasts": [[f"{value:.6f}" for value in forecast] for forecast in forecasts.tolist()],
    }


def _labels(reports: Floats, names: tuple[str, ...]) -> list[str]:
    """An agent's reports as texts that differ, (reports, coordinates); a decision by the name of its state."""
    if names:
        chosen = reports[:, 0].astype(int) if reports.shape[1] == 1 else reports.argmax(axis=1)
        return [names[state] for state in chosen.tolist()]
    for digits in DIGITS:
        labels = [", ".join(f"{x + 0.0:.{digits}g}" for x in report) for report in reports.tolist()]
        if len(set(labels)) == len(labels):
            break
    return labels
