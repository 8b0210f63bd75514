"""Answers by columns: in memory while they are few, in files by question once they are many.

Rows come in any order and go out ordered by question, one answer a forecaster. When more than ``room`` rows have come,
they are moved to one of `PARTS` files by the number of their question, modulo `PARTS`; what goes out then is one table
for each file. Only the names stay in memory.
"""

from __future__ import annotations

import tempfile
from collections import deque
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import frozen
from ..errors import InputError
from .codes import Codes
from .last_answers import last_answers
from .questions import Questions
from .records import ForecastTable, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from ..aggregators.rows import BoolArray, FloatArray
    from .records import IntArray
    from .rejecting import RejectionLog

ROOM = 8_000_000
"""Rows that are kept in memory."""

MOVED_AT_ONCE = 1 << 20
"""Rows that are moved to files at a time, once there are too many."""

PARTS = 64
"""Files to which the rows of a larger source are moved."""


class Part(NamedTuple):
    """A table with some of the questions: those with the numbers ``first``, ``first + step``, ..."""

    table: ForecastTable
    first: int
    step: int


class RowStore:
    """Takes rows, gives tables. A context, which removes its files."""

    def __init__(self, log: RejectionLog, *, room: int | None = None) -> None:
        """An empty store; without ``room`` everything stays in memory."""
        self.questions, self.forecasters = Questions(), Codes()
        self.log, self.tally = log, Tally()
        self.question_type: np.dtype[Any] | None = None  # of the names in the source, if they are whole numbers
        self._room, self._rows = room, 0
        self._batches: deque[NDArray[np.void]] = deque()
        self._folder: Path | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the files."""
        self._stack.close()

    def count(self, **more: int) -> None:
        """Add to the tally."""
        self.tally = replace(self.tally, **{name: getattr(self.tally, name) + int(n) for name, n in more.items()})

    def count_percentages(self, probability: FloatArray, *, percent: bool) -> None:
        """Count those that were given in per cent, and how many of them look as if they were not; NaN is none."""
        if not percent:
            return
        small = probability[probability <= 0.01]
        self.count(percentages=int(np.count_nonzero(~np.isnan(probability))), small=len(small))
        between = small[(small > 0) & (small < 0.01)]
        if self.tally.fraction is None and len(between):
            self.tally = replace(self.tally, fraction=100 * float(between[0]))

    def add(
        self,
        question: IntArray,
        forecaster: IntArray,
        probability: FloatArray,
        weight: FloatArray | None,
        timestamp: FloatArray | None,
        complement: BoolArray | None = None,
    ) -> None:
        """Take some rows; all batches have weights, or none has, and so with timestamps and complements.

        A complement is an answer that was given as the probability of no. It counts where that of yes is not given.
        """
        columns: dict[str, tuple[str, NDArray[np.generic] | None]] = {
            "question": ("i4", question),
            "forecaster": ("i4", forecaster),
            "probability": ("f8", probability),
            "weight": ("f8", weight),
            "timestamp": ("f8", timestamp),
            "complement": ("?", complement),
        }
        there = {name: (kind, column) for name, (kind, column) in columns.items() if column is not None}
        batch = np.empty(len(question), dtype=[(name, kind) for name, (kind, _) in there.items()])
        for name, (_, column) in there.items():
            batch[name] = column
        self._batches.append(batch)
        self._rows += len(batch)
        if self._room is not None and self._rows > self._room:
            self._try_to_move()

    def parts(self, as_of: float | None = None) -> Iterator[Part]:
        """The rows as tables, each with some of the questions; answers after ``as_of`` are left out."""
        if self._folder is None:
            yield Part(self._table(self._some_rows(self._rows), 0, 1, as_of), 0, 1)
            return
        self._try_to_move()
        for part in range(PARTS):
            path = self._folder / str(part)
            rows = np.fromfile(path, dtype=self._kind) if path.exists() else np.empty(0, dtype=self._kind)
            yield Part(self._table(rows, part, PARTS, as_of), part, PARTS)

    def _some_rows(self, number: int) -> NDArray[np.void]:
        """Take batches with about so many rows out of the memory."""
        taken = []
        while self._batches and number > 0:
            taken.append(self._batches.popleft())
            number -= len(taken[-1])
        return np.concatenate(taken) if taken else np.empty(0, dtype=_BARE)

    def _try_to_move(self) -> None:
        try:
            self._move_to_files()
        except OSError as error:
            why = error.strerror or error
            raise InputError(f"many rows need a temporary folder, set by TMPDIR; it cannot be used ({why}).") from None

    def _move_to_files(self) -> None:
        """Append what is in memory to the files of its questions."""
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="robustpool-rows-")))
            self._kind = self._batches[0].dtype
        while self._batches:
            rows = self._some_rows(MOVED_AT_ONCE)
            part = rows["question"] % PARTS
            order = np.argsort(part, kind="stable")
            ends = np.searchsorted(part[order], np.arange(PARTS + 1))
            for number, (start, end) in enumerate(pairwise(ends)):
                with (self._folder / str(number)).open("ab") as file:
                    rows[order[start:end]].tofile(file)
        self._rows, self._room = 0, MOVED_AT_ONCE

    def _table(self, rows: NDArray[np.void], first: int, step: int, as_of: float | None) -> ForecastTable:
        """One table: questions that were refused are dropped, and of each forecaster's answers the last one stays."""
        rows = self._without_refused(rows)
        if as_of is not None and "timestamp" in (rows.dtype.names or ()):
            early = rows["timestamp"] <= as_of
            untimed = np.isnan(rows["timestamp"])  # they may be later: nobody should look ahead
            self.count(untimed=untimed.sum(), later=(~early & ~untimed).sum())
            rows = rows[early]
        rows, dropped = last_answers(rows, len(self.forecasters.names))
        self.count(**dropped)
        names = self.questions.codes.names[first::step]
        outcome = self.questions.outcome.of(len(self.questions.codes.names))[first::step].copy()  # no view of them all
        without = self.questions.refused.keys() | self.questions.doubtful.keys()
        outcome[[number // step for number in without if number % step == first]] = np.nan
        clusters = self.questions.cluster_numbers()
        optional: dict[str, Any] = {
            name: frozen(rows[name].copy()) for name in ("weight", "timestamp") if name in (rows.dtype.names or ())
        }
        return ForecastTable(
            questions=names,
            forecasters=self.forecasters.names,
            question=frozen((rows["question"] // step).astype(np.int64)),
            forecaster=frozen(rows["forecaster"].astype(np.int64)),
            probability=frozen(rows["probability"].copy()),
            outcome=frozen(outcome),
            cluster=None if clusters is None else frozen(clusters[first::step].copy()),
            rejected=self.log.done(),
            tally=self.tally,
            question_type=self.question_type,
            **optional,
        )

    def _without_refused(self, rows: NDArray[np.void]) -> NDArray[np.void]:
        if not self.questions.refused:
            return rows
        wrong = np.isin(rows["question"], np.fromiter(self.questions.refused, np.int64))
        for question, count in zip(*np.unique(rows["question"][wrong], return_counts=True), strict=True):
            refusal = self.questions.refused[int(question)]
            self.log.reject(refusal.rule, [refusal.line], lambda _, says=refusal.says: says, count=int(count))  # type: ignore[misc]
        return rows[~wrong]


_BARE = np.dtype([("question", "i4"), ("forecaster", "i4"), ("probability", "f8")])
