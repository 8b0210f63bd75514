"""The numbers behind the look-up of a finite family: each agent's reports by name, and the forecast of every profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..aggregators.table import TableAggregator

MOST_PROFILES = 20_000
"""Profiles that a page holds, about a megabyte; a longer table is for the command line."""

DIGITS = (6, 9, 12, 17)
"""Significant digits of a report: the fewest with which no two of an agent's reports look the same."""


def lookup(aggregator: TableAggregator, about: dict[str, Any]) -> dict[str, Any] | None:
    """The look-up's data, or None where there are too many profiles. ``about`` is the family of the design.

    Each agent has a list of the texts of her reports; a profile is a row of places in these lists.

    >>> from ..aggregators.table import TableAggregator
    >>> table = TableAggregator(np.array([[[0.1], [0.5]], [[0.5], [0.5]]]), np.array([0.2, 0.7]))
    >>> data = lookup(table, {"agents": ["ann", "bob"], "states": ["dry", "rain"], "report": "posterior"})
    >>> data["agents"]
    [{'name': 'ann', 'reports': ['0.1', '0.5']}, {'name': 'bob', 'reports': ['0.5']}]
    >>> data["profiles"], data["states"], data["forecasts"]
    ([[0, 0], [1, 0]], ['rain'], [['0.200000'], ['0.700000']])
    """
    if len(aggregator.reports) > MOST_PROFILES:
        return None
    states, several = about["states"], aggregator.forecasts.ndim == 2
    names = states if about["report"] == "decision" else []
    agents, places = [], []
    for name, reports in zip(about["agents"], np.swapaxes(aggregator.reports, 0, 1), strict=True):
        levels, place = np.unique(reports, axis=0, return_inverse=True)
        agents.append({"name": name, "reports": _labels(levels, names)})
        places.append(place.reshape(-1))
    forecasts = aggregator.forecasts.reshape(len(aggregator.forecasts), -1)
    return {
        "agents": agents,
        "states": states if several else states[1:],
        "profiles": np.stack(places, axis=1).tolist(),
        "forecasts": [[f"{value:.6f}" for value in forecast] for forecast in forecasts.tolist()],
    }


def _labels(reports: NDArray[np.float64], names: list[str]) -> list[str]:
    """An agent's reports as texts that differ, (reports, coordinates); a decision by the name of its state."""
    if names:
        chosen = reports[:, 0].astype(int) if reports.shape[1] == 1 else reports.argmax(axis=1)
        return [names[state] for state in chosen.tolist()]
    for digits in DIGITS:
        labels = [", ".join(f"{x + 0.0:.{digits}g}" for x in report) for report in reports.tolist()]
        if len(set(labels)) == len(labels):
            break
    return labels
