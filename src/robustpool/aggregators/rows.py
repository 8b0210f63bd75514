"""Rows of reports: who answered, with what weight, and the sums over them that every formula is made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Booleans, Floats

CELLS_AT_ONCE = 1 << 15
"""Reports that are worked on at a time: their terms stay in the processor's cache, and the memory needed is bounded."""


SMALLEST = float(np.finfo(np.float64).tiny)


def answers(reports: Floats) -> npt.NDArray[np.intp]:
    """Count the agents who answered, row by row."""
    return np.asarray(np.count_nonzero(~np.isnan(reports), axis=1))


def contradictory(reports: Floats) -> Booleans:
    """Mark the rows in which one agent is certain of 0 and another is certain of 1."""
    return np.asarray(np.any(reports == 0, axis=1) & np.any(reports == 1, axis=1))


def blocks(reports: Floats) -> Iterator[slice]:
    """Slices of the rows, (m, n) or with options (m, n, k), with some `CELLS_AT_ONCE` numbers each."""
    step = max(1, CELLS_AT_ONCE // max(1, math.prod(reports.shape[1:])))
    for first in range(0, len(reports), step):
        yield slice(first, first + step)


@final
class Rows:
    """Reports of shape (m, n), NaN where an agent did not answer; every row has an answer.

    Weights, if there are any, are positive where there is an answer. Of each row they are scaled to sum to its number of
    answers, so that equal weights are the same as none.

    >>> rows = Rows(np.array([[0.9, 0.8, np.nan], [0.2, 0.4, 0.6]]))
    >>> rows.n
    array([2, 3])
    >>> rows.mean(rows.reports)
    array([0.85, 0.4 ])
    >>> Rows(np.array([[0.2, 0.8]]), np.array([[3.0, 1.0]])).mean(np.array([[0.2, 0.8]]))
    array([0.35])
    """

    def __init__(self, reports: Floats, weights: Floats | None = None, *, complete: bool = False) -> None:
        """Count the answers; ``complete`` says that nobody is missing, which is quicker."""
        self.reports = reports
        self.complete = complete or not np.isnan(reports).any()
        self.n = np.array([reports.shape[1]]) if self.complete else answers(reports)  # (1,) or (m,)
        self.weights = weights
        if weights is not None:
            given = np.where(np.isnan(reports), 0.0, weights)
            given = given / given.max(axis=1, keepdims=True)  # their sum neither overflows nor vanishes,
            given = np.where(np.isnan(reports), 0.0, np.maximum(given, SMALLEST))  # and no answer counts for nothing
            self.weights = given * (self.n / given.sum(axis=1))[:, None]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.reports)

    def total(self, terms: Floats) -> Floats:
        """sum_i w_i terms_i over the agents who answered; the terms have the shape of the reports."""
        weighted = terms if self.weights is None else self.weights * terms
        return np.asarray(weighted.sum(axis=1) if self.complete else np.nansum(weighted, axis=1))

    def mean(self, terms: Floats) -> Floats:
        """The (weighted) mean of the terms over the agents who answered."""
        return self.total(terms) / self.n

    def by_answers(self) -> Iterator[tuple[int, Booleans | slice, Rows]]:
        """Each number of answers that occurs, which rows have it, and these rows."""
        if self.complete:
            yield self.reports.shape[1], slice(None), self
            return
        for n in np.unique(self.n).tolist():
            these = self.n == n
            yield n, these, Rows(self.reports[these], None if self.weights is None else self.weights[these])
