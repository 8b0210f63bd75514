"""Older answers count less: a weight that halves with each half-life."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..checks import frozen, number
from ..errors import InputError

if TYPE_CHECKING:
    from ..typing import Booleans
    from .records import ForecastTable

DAY = 86_400.0
"""Seconds."""

SMALLEST = float(np.finfo(np.float64).tiny)
"""A weight is positive, however old the answer is."""


def weigh_by_age(table: ForecastTable, half_life: float) -> ForecastTable:
    """Multiply the weight of each answer by 2^(-age / half_life), the age in days before the question's newest answer.

    Answers without a timestamp are left out, and counted as `Tally.untimed`.

    >>> from robustpool.tables.records import ForecastTable
    >>> table = ForecastTable(
    ...     questions=["rain"], forecasters=["ann", "bob"], question=np.array([0, 0]), forecaster=np.array([0, 1]),
    ...     probability=np.array([0.7, 0.6]), outcome=np.array([1.0]), timestamp=np.array([0.0, 3 * 86400.0]),
    ... )
    >>> weigh_by_age(table, half_life=1.5).weight
    array([0.25, 1.  ])
    """
    days = number("half_life", half_life, above=0)
    if table.timestamp is None:
        raise InputError("half_life needs a column timestamp; there is none.")
    table = _timed(table, ~np.isnan(table.timestamp))
    newest = np.full(len(table.questions), -np.inf)
    time = np.asarray(table.timestamp)
    np.maximum.at(newest, table.question, time)
    age = (newest[table.question] - time) / DAY
    weight = np.exp2(-age / days)
    if table.weight is not None:
        weight *= table.weight
    return replace(table, weight=frozen(np.maximum(weight, SMALLEST, out=weight)))


def _timed(table: ForecastTable, there: Booleans) -> ForecastTable:
    """The answers that have a timestamp."""
    if there.all():
        return table
    untimed = table.tally.untimed + int(np.count_nonzero(~there))
    columns = ("question", "forecaster", "probability", "weight", "timestamp")
    kept = {name: column[there] for name in columns if (column := getattr(table, name)) is not None}
    return replace(table, tally=replace(table.tally, untimed=untimed), **kept)
