"""Forecasts of many people on many questions as plain columns, and the rows that were left out.

Whatever the source (CSV or Parquet, long or wide, pandas or polars), what comes of it is a `ForecastTable`: one row for
each answer, ordered by question, with the numbers of question and forecaster in place of their names.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import frozen
from ..errors import InputError
from ..files import write_whole
from ..wording import counted
from .column_checks import distributions, numbers_of, own, refuse, sizes, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ..typing import FilePath, Floats, Integers


ANSWERS_AT_ONCE = 1 << 20
"""Answers that are laid out as a rectangle at a time."""


FORMULA = re.compile(r"[=+\-@\x00-\x1f]")
"""How a cell begins that a spreadsheet would run, or that is no text."""


def neutral(text: str) -> str:
    """A text that no spreadsheet takes for a formula: with an apostrophe before it, if it begins as one.

    >>> neutral("=1+1"), neutral("q1")
    ("'=1+1", 'q1')
    """
    return f"'{text}" if FORMULA.match(text) else text


class Group(NamedTuple):
    """Questions with equally many answers and, if they have options, equally many of those."""

    questions: Integers  # (m,), numbers of questions
    reports: Floats  # (m, n), or with options (m, n, k)
    weights: Floats | None  # (m, n), if the table has weights


class Rejection(NamedTuple):
    """A row that was not taken, and why."""

    line: int  # of the file, the header being line 1; of a data frame: the row, from 0
    reason: str  # one sentence with the rule and the value


@dataclass(frozen=True)
class RowsLeftOut:
    """All rows that were not taken: how many for each kind of reason, and the first of them in full; iterate for every one.

    >>> left_out = RowsLeftOut({"a row must have 3 fields": 1}, (Rejection(17, "a row must have 3 fields; line 17 has 2"),))
    >>> left_out.total, [rejection.line for rejection in left_out]
    (1, [17])
    """

    counts: dict[str, int] = field(default_factory=dict)  # kind of reason -> rows
    first: tuple[Rejection, ...] = ()
    every: Callable[[], Iterator[Rejection]] | None = field(default=None, repr=False, compare=False)

    @property
    def total(self) -> int:
        """How many rows were not taken."""
        return sum(self.counts.values())

    def __repr__(self) -> str:
        """How many rows and why, in a line."""
        return f"RowsLeftOut({counted(self.total, 'row')}, {counted(len(self.counts), 'reason')})"

    def __iter__(self) -> Iterator[Rejection]:
        """Each of them with its line and its reason, by line."""
        return iter(self.first) if self.every is None else self.every()

    def write(self, path: FilePath) -> None:
        """Write all of them as CSV, with the columns line and reason."""

        def write_text(partial: Path) -> None:
            with partial.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(Rejection._fields)
                writer.writerows((each.line, neutral(each.reason)) for each in self)

        write_whole(path, write_text)


def both(one: RowsLeftOut, other: RowsLeftOut) -> RowsLeftOut:
    """The rows of two sources that were not taken, for different reasons."""
    return RowsLeftOut(one.counts | other.counts, one.first + other.first, lambda: chain(one, other))


@dataclass(frozen=True)
class Tally:
    """What became of the rows of a source that were not rejected, but are no answers of the table either."""

    entries: int = 0  # rows of a long source, cells of a wide one
    entry: str = "row"  # what an entry is called: a row, or (wide) an answer
    missing: int = 0  # without a probability
    duplicates: int = 0  # the same answer again
    replaced: int = 0  # another answer further down, and no time to tell which is later: the last one counts
    superseded: int = 0  # the forecaster answered again later
    later: int = 0  # after the time that was asked for
    untimed: int = 0  # without a timestamp, where answers until some time were asked for
    complements: int = 0  # of formats with a row for each option: those beside the first of an answer
    options: int = 0  # the largest number of options; 0 where there are only yes and no
    ignored: tuple[str, ...] = ()  # columns that were not used
    outside: tuple[str, ...] = ()  # those of them (wide) that have numbers, most of which are no probabilities
    forecasters: tuple[str, ...] = ()  # of a wide source: the columns that were taken as forecasters
    interval: tuple[int, int] = (0, 1)  # outside of which their values lie
    times: tuple[str, ...] = ()  # columns that were not used and look like times, where no time is used
    named_by: tuple[str, ...] = ()  # the columns that name the questions
    roles: tuple[tuple[str, str], ...] = ()  # the other roles that there are, each with its column
    unread: tuple[str, ...] = ()  # sheets of a workbook beside the one that was read
    percentages: int = 0  # probabilities that were given in per cent
    small: int = 0  # those of them that are at most 1 per cent
    fraction: float | None = None  # the first of them that is between 0 and 1, as it was given
    outcomes: RowsLeftOut = field(default_factory=RowsLeftOut)  # why questions have no outcome that seem to have one
    dates: RowsLeftOut = field(default_factory=RowsLeftOut)  # why they have no date of resolution

    @property
    def aside(self) -> dict[str, int]:
        """How many entries are no answers of the table without being rejected, by what became of them."""
        counts = ("missing", "duplicates", "replaced", "superseded", "later", "untimed", "complements")
        return {name: getattr(self, name) for name in counts}


@dataclass(frozen=True, eq=False)
class ForecastTable:
    """Answers as columns. Rows are ordered by question; those of question q are ``offsets[q]`` to ``offsets[q + 1]``.

    The columns are checked, and read-only; arrays that can be written to are copied, so that the caller's stay as they are.

    Questions may have more than two outcomes. Then ``options`` names those of each question, an answer is a distribution over
    them, and the outcome is the number of the option that came true.

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
    question: Integers  # (rows,), increasing
    forecaster: Integers  # (rows,)
    probability: Floats  # (rows,), in [0, 1]; with options (rows, K) for at most K of them, NaN beyond one's own
    outcome: Floats  # (questions,): 0, 1 (with options: the number of one, from 0), or NaN where it is not known
    weight: Floats | None = None  # (rows,), positive
    timestamp: Floats | None = None  # (rows,), seconds since 1970, UTC
    cluster: Integers | None = None  # (questions,): questions of one cluster are not independent of each other
    rejected: RowsLeftOut = field(default_factory=RowsLeftOut)
    tally: Tally = field(default_factory=Tally)
    question_type: np.dtype[Any] | None = None  # of the names in the source, if they were whole numbers there
    options: Sequence[tuple[str, ...]] | None = None  # (questions,): the names of each one's options; None: yes and no
    resolved: Floats | None = None  # (questions,), seconds since 1970 when the outcome became known, or NaN
    offsets: Integers = field(init=False, repr=False)  # (questions + 1,)

    def __repr__(self) -> str:
        """How many there are of everything, in a line."""
        return (
            f"ForecastTable({counted(len(self.questions), 'question')}, {counted(len(self.forecasters), 'forecaster')}, "
            f"{counted(len(self.probability), 'answer')})"
        )

    def __post_init__(self) -> None:
        """Check the columns, make them read-only, and find where each question begins."""
        rows, questions = len(self.probability), len(self.questions)
        lengths = {"question": rows, "forecaster": rows, "weight": rows, "timestamp": rows}
        lengths |= {"outcome": questions, "cluster": questions, "resolved": questions}
        for name, length in lengths.items():
            column = getattr(self, name)
            if column is not None and len(column) != length:
                raise InputError(f"column {name} of a forecast table must have {length} entries; it has {len(column)}.")
        self._keep("question", numbers_of("question", self.question, self.questions))
        self._keep("forecaster", numbers_of("forecaster", self.forecaster, self.forecasters))
        if self.cluster is not None:
            self._keep("cluster", whole("cluster", self.cluster))
        for name in ("probability", "outcome", "weight", "timestamp", "resolved"):
            if getattr(self, name) is not None:
                self._keep(name, own(getattr(self, name), np.float64))
        self._check_values()
        self._keep("offsets", frozen(np.searchsorted(self.question, np.arange(questions + 1))))

    def _check_values(self) -> None:
        def row(i: int) -> str:
            names = self.questions[self.question[i]], self.forecasters[self.forecaster[i]]
            return "row {} (question {}, forecaster {})".format(i, *names)

        def value(column: Floats) -> Callable[[int], str]:
            return lambda i: f"{row(i)} is {column[i]:g}"

        question, outcome = self.question, self.outcome
        refuse(
            "the rows of a forecast table must be ordered by question",
            np.diff(question, prepend=question[:1]) < 0,
            lambda i: f"row {i} is of question {question[i]}, row {i - 1} of question {question[i - 1]}",
        )
        if self.options is None:
            p = self.probability
            refuse("probability must lie in [0, 1]", ~((p >= 0) & (p <= 1)), value(p))
            count, rule = np.full(len(outcome), 2), "outcome must be 0, 1 or NaN"
        else:
            count = sizes(self.options, self.questions)
            self._keep("probability", frozen(distributions(self.probability, count[question], row)))
            rule = "outcome must be the number of an option, from 0, or NaN"
        wrong = ~(((outcome >= 0) & (outcome < count) & (outcome == np.floor(outcome))) | np.isnan(outcome))
        has = "" if self.options is None else ", which has {} options,"
        refuse(
            rule,
            wrong,
            lambda i: f"that of question {self.questions[i]}{has.format(count[i])} is {outcome[i]:g}",
            "questions",
        )
        if self.weight is not None:
            w = self.weight
            refuse("weight must be positive and finite", ~((w > 0) & (w < np.inf)), value(w))
        if self.timestamp is not None:
            refuse("timestamp must be finite or NaN", np.isinf(self.timestamp), value(self.timestamp))
        if (dates := self.resolved) is not None:
            says = "that of question {} is {:g}".format
            wrong = np.isinf(dates)
            refuse("resolved must be finite or NaN", wrong, lambda i: says(self.questions[i], dates[i]), "questions")

    def _keep(self, name: str, column: NDArray[Any]) -> None:
        object.__setattr__(self, name, column)

    @property
    def rows(self) -> int:
        """How many answers there are."""
        return len(self.probability)

    @property
    def answers(self) -> Integers:
        """How many answers each question has."""
        return np.diff(self.offsets)

    @property
    def option_counts(self) -> Integers:
        """How many options each question has; 2 for yes and no."""
        if self.options is None:
            return np.full(len(self.questions), 2)
        return np.fromiter(map(len, self.options), np.int64, len(self.options))

    def groups(self) -> Iterator[Group]:
        """Questions with equally many answers (and options), as blocks of reports; by the number of answers, in bounded pieces.

        Within a question the answers keep their order. Questions without an answer are in no group.
        """
        answers, options = self.answers, self.option_counts
        key = answers * (int(options.max(initial=0)) + 1) + options
        order = np.argsort(key, kind="stable")
        _, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
        for start, end in zip(starts, starts + counts, strict=True):
            n, k = int(answers[order[start]]), int(options[order[start]])
            step = max(1, ANSWERS_AT_ONCE // max(n if self.options is None else n * k, 1))
            for first in range(start, end if n else start, step):
                questions = order[first : min(first + step, end)]
                rows = self.offsets[questions][:, None] + np.arange(n)
                weights = None if self.weight is None else self.weight[rows]
                reports = self.probability[rows]
                yield Group(questions, reports if self.options is None else reports[:, :, :k], weights)
