"""Forecasts of many people on many questions as plain columns, and the rows that were left out.

Whatever the source (CSV or Parquet, long or wide, pandas or polars), what comes of it is a `ForecastTable`: one row for
each answer, ordered by question, with the numbers of question and forecaster in place of their names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..checks import frozen
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

CELLS_AT_ONCE = 1 << 20
"""Answers that are laid out as a rectangle at a time."""


class Group(NamedTuple):
    """Questions with equally many answers."""

    questions: IntArray  # (m,), numbers of questions
    rows: IntArray  # (m, n), numbers of rows of the table
    reports: FloatArray  # (m, n)
    weights: FloatArray | None  # (m, n), if the table has weights


class Rejection(NamedTuple):
    """A row that was not taken, and why."""

    line: int  # of the file, the header being line 1; of a data frame: the row, from 0
    reason: str  # one sentence with the rule and the value


@dataclass(frozen=True)
class Rejections:
    """All rows that were not taken: how many for each kind of reason, and the first of them in full."""

    counts: dict[str, int] = field(default_factory=dict)  # kind of reason -> rows
    first: tuple[Rejection, ...] = ()

    @property
    def total(self) -> int:
        """How many rows were not taken."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Tally:
    """What became of the rows of a source that were not rejected, but are no answers of the table either."""

    entries: int = 0  # rows of a long source, cells of a wide one
    missing: int = 0  # without a probability
    duplicates: int = 0  # the same answer again
    replaced: int = 0  # another answer further down, and no time to tell which is later: the last one counts
    superseded: int = 0  # the forecaster answered again later
    later: int = 0  # after the time that was asked for
    complements: int = 0  # of formats with a row for each option: the probability of no
    ignored: tuple[str, ...] = ()  # columns that were not used

    @property
    def left_out(self) -> int:
        """How many entries are no answers of the table, without being rejected."""
        return self.missing + self.duplicates + self.replaced + self.superseded + self.later + self.complements


@dataclass(frozen=True, eq=False)
class ForecastTable:
    """Answers as columns. Rows are ordered by question; those of question q are ``offsets[q]`` to ``offsets[q + 1]``.

    >>> table = ForecastTable(
    ...     questions=["rain", "snow"],
    ...     forecasters=["ann", "bob"],
    ...     question=np.array([0, 0, 1]),
    ...     forecaster=np.array([0, 1, 0]),
    ...     probability=np.array([0.7, 0.6, 0.1]),
    ...     outcome=np.array([1.0, np.nan]),
    ... )
    >>> table.answers
    array([2, 1])
    >>> [group.reports.tolist() for group in table.groups()]
    [[[0.1]], [[0.7, 0.6]]]
    """

    questions: Sequence[str]  # names, in the order in which they came
    forecasters: Sequence[str]  # names, in the order in which they came
    question: IntArray  # (rows,), increasing
    forecaster: IntArray  # (rows,)
    probability: FloatArray  # (rows,), in [0, 1]
    outcome: FloatArray  # (questions,): 0, 1, or NaN where it is not known
    weight: FloatArray | None = None  # (rows,), positive
    timestamp: FloatArray | None = None  # (rows,), seconds since 1970, UTC
    cluster: IntArray | None = None  # (questions,): questions of one cluster are not independent of each other
    rejected: Rejections = field(default_factory=Rejections)
    tally: Tally = field(default_factory=Tally)
    offsets: IntArray = field(init=False, repr=False)  # (questions + 1,)

    def __post_init__(self) -> None:
        """Check that the columns fit together, and find where each question begins."""
        rows, questions = len(self.probability), len(self.questions)
        lengths = {"question": rows, "forecaster": rows, "weight": rows, "timestamp": rows}
        lengths |= {"outcome": questions, "cluster": questions}
        for name, length in lengths.items():
            column = getattr(self, name)
            if column is not None and len(column) != length:
                raise InputError(f"column {name} of a forecast table must have {length} entries; it has {len(column)}.")
        if np.any(np.diff(self.question) < 0):
            raise InputError("the rows of a forecast table must be ordered by question.")
        offsets = np.searchsorted(self.question, np.arange(questions + 1))
        object.__setattr__(self, "offsets", frozen(offsets))

    @property
    def rows(self) -> int:
        """How many answers there are."""
        return len(self.probability)

    @property
    def answers(self) -> IntArray:
        """How many answers each question has."""
        return np.diff(self.offsets)

    def groups(self) -> Iterator[Group]:
        """Questions with equally many answers, as rectangles of reports; by the number of answers, in bounded pieces.

        Within a question the answers keep their order. Questions without an answer are in no group.
        """
        answers = self.answers
        order = np.argsort(answers, kind="stable")
        sizes, starts = np.unique(answers[order], return_index=True)
        for n, start, end in zip(sizes.tolist(), starts, [*starts[1:], len(order)], strict=True):
            step = max(1, CELLS_AT_ONCE // max(n, 1))
            for first in range(start, end if n else start, step):
                questions = order[first : min(first + step, end)]
                rows = self.offsets[questions][:, None] + np.arange(n)
                weights = None if self.weight is None else self.weight[rows]
                yield Group(questions, rows, self.probability[rows], weights)
