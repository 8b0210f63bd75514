"""What is known of each question, whichever row says it: its outcome, its cluster, and whether it is taken at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .codes import Codes
from .rejecting import RejectionLog
from .values import named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..aggregators.rows import BoolArray, FloatArray
    from .records import IntArray, Rejections


class Refusal(NamedTuple):
    """Why no row of a question is taken, or no outcome."""

    rule: str
    line: int
    says: str


class Fact:
    """A number that each question has at most one of; rows that say another one are found."""

    def __init__(self) -> None:
        """Nothing is known of any question."""
        self.values = np.full(1024, np.nan)
        self.lines = np.zeros(1024, dtype=np.int64)

    def learn(self, questions: IntArray, values: FloatArray, lines: IntArray) -> BoolArray:
        """Take in what rows say of their questions; mark the rows that contradict what an earlier row said."""
        self._make_room(int(questions.max(initial=-1)) + 1)
        new = (~np.isnan(values) & np.isnan(self.values[questions])).nonzero()[0][::-1]  # backwards: the first row wins
        self.values[questions[new]], self.lines[questions[new]] = values[new], lines[new]
        return ~np.isnan(values) & (values != self.values[questions])

    def of(self, questions: int) -> FloatArray:
        """The values of the first so many questions, NaN where nothing is known."""
        self._make_room(questions)
        return self.values[:questions]

    def _make_room(self, size: int) -> None:
        if size > len(self.values):
            more = max(size, 2 * len(self.values)) - len(self.values)
            self.values = np.concatenate([self.values, np.full(more, np.nan)])
            self.lines = np.concatenate([self.lines, np.zeros(more, dtype=np.int64)])


class Questions:
    """The names of the questions, and what is known of them."""

    def __init__(self) -> None:
        """No question yet."""
        self.codes = Codes()
        self.clusters = Codes()
        self.outcome, self.cluster = Fact(), Fact()
        self.refused: dict[int, Refusal] = {}
        self.doubtful: dict[int, Refusal] = {}  # why the outcome of a question is not taken, though its answers are

    def learn_outcomes(self, rule: str, questions: IntArray, values: FloatArray, lines: IntArray, place: str) -> None:
        """Take in the outcomes that rows say; where two of them differ, neither is taken."""
        self._learn(self.outcome, self.doubtful, rule, questions, values, lines, place)

    def learn_clusters(self, rule: str, questions: IntArray, values: FloatArray, lines: IntArray, place: str) -> None:
        """Take in the clusters that rows say; refuse the questions of which two rows say different ones."""
        self._learn(self.cluster, self.refused, rule, questions, values, lines, place)

    def doubt(self, questions: IntArray, rule: str, lines: IntArray, says: Callable[[int], str]) -> None:
        """Take no outcome of these questions; ``says(i)`` is what row i of them says."""
        _, first = np.unique(questions, return_index=True)
        for i in first.tolist():
            question, line = int(questions[i]), int(lines[i])
            self.doubtful.setdefault(question, Refusal(rule, line, says(i)))

    def unused_outcomes(self, place: str) -> Rejections:
        """Which questions are taken without the outcome that some row says, and why."""
        log = RejectionLog(place)
        for question, why in sorted(self.doubtful.items(), key=lambda item: item[1].line):
            if question not in self.refused:
                log.reject(why.rule, [why.line], lambda _, says=why.says: says)  # type: ignore[misc]
        return log.done()

    def _learn(
        self,
        fact: Fact,
        doubts: dict[int, Refusal],
        rule: str,
        questions: IntArray,
        values: FloatArray,
        lines: IntArray,
        place: str,
    ) -> None:
        odd = fact.learn(questions, values, lines)
        for question, line in _first_lines(questions[odd], lines[odd]):
            says = (
                f"(question {named(self.codes.names[question])}) says another thing than {place} {fact.lines[question]}"
            )
            doubts.setdefault(question, Refusal(rule, line, says))

    def refuse(self, questions: IntArray, rule: str, lines: IntArray, says: str) -> None:
        """Take no row of these questions."""
        for question, line in _first_lines(questions, lines):
            said = f"(question {named(self.codes.names[question])}) {says}"
            self.refused.setdefault(question, Refusal(rule, line, said))

    def cluster_numbers(self) -> IntArray | None:
        """The cluster of each question, if any has one; a question without is a cluster of its own."""
        if not self.clusters.names:
            return None
        known = self.cluster.of(len(self.codes.names))
        alone = len(self.clusters.names) + np.arange(len(known))
        return np.where(np.isnan(known), alone, known).astype(np.int64)


def _first_lines(questions: IntArray, lines: IntArray) -> Iterator[tuple[int, int]]:
    """Each question once, with its first line."""
    different, first = np.unique(questions, return_index=True)
    return zip(different.tolist(), lines[first].tolist(), strict=True)
