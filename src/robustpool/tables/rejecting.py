"""Which rows are left out and why: collected while a source is read, told in a few sentences after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..wording import counted, listed
from .records import Rejection, Rejections
from .values import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aggregators.rows import BoolArray
    from .records import IntArray, Tally

IN_FULL = 20
"""Rejected rows that are told in full."""

SHOWN = 3
"""Examples of each rule in the summary."""


ASIDES = {
    "missing": ("has", "have", "no probability"),
    "duplicates": ("repeats", "repeat", "an answer that counts once"),
    "replaced": ("was", "were", "replaced by a later row of the source"),
    "superseded": ("is", "are", "superseded by a later answer"),
    "later": ("is", "are", "later than the time that was asked for"),
    "untimed": ("has", "have", "no timestamp, which as_of and half_life need"),
    "complements": ("is", "are", "the probability of no, beside that of yes"),
}
"""Sentences on what is no answer of the table without being wrong, by its name in `Tally.aside`: verbs and the rest."""


class RowsLeftOutWarning(UserWarning):
    """Some rows of a table of forecasts could not be used."""


class RejectionLog:
    """Collects rejections: how many for each rule, and the first ones in full.

    >>> log = RejectionLog()
    >>> log.reject("probability must lie in [0, 1]", [17, 18], lambda i: f"is {[1.2, -3][i]}")
    >>> log.done().first[0].reason
    'probability must lie in [0, 1]; line 17 is 1.2'
    """

    def __init__(self, place: str = "line") -> None:
        """Nothing is rejected yet; rows are called lines, or rows of a data frame."""
        self.place = place
        self.width = 1  # entries of a line: more than one in a wide table
        self._counts: dict[str, int] = {}  # entries, by rule
        self._lost: dict[str, int] = {}  # lines that never became rows, by rule
        self._first: dict[str, list[Rejection]] = {}

    @property
    def lost(self) -> int:
        """How many entries stood in lines that never became rows."""
        return self.width * sum(self._lost.values())

    def reject(
        self, rule: str, lines: Sequence[int] | IntArray, says: Callable[[int], str], count: int | None = None
    ) -> None:
        """Reject the rows at these lines; ``says(i)`` is what the i-th of them is. ``count`` if a line is many entries."""
        number = len(lines) if count is None else count
        if number == 0:
            return
        self._counts[rule] = self._counts.get(rule, 0) + number
        self._tell(rule, lines, says)

    def reject_line(self, rule: str, line: int, says: str, count: int = 1) -> None:
        """Reject a line, or some, that cannot be parted into columns."""
        self._lost[rule] = self._lost.get(rule, 0) + count
        self._tell(rule, [line], lambda _: says)

    def done(self) -> Rejections:
        """What was rejected until now: one of each rule at least, and the first of the rest, by line."""
        heads = [found[0] for found in self._first.values()]
        others = sorted(rejection for found in self._first.values() for rejection in found[1:])
        counts = self._counts | {rule: self.width * number for rule, number in self._lost.items()}
        return Rejections(counts, tuple(sorted(heads + others[: max(0, IN_FULL - len(heads))])))

    def _tell(self, rule: str, lines: Sequence[int] | IntArray, says: Callable[[int], str]) -> None:
        first = self._first.setdefault(rule, [])
        for i in range(min(len(lines), IN_FULL - len(first))):
            first.append(Rejection(int(lines[i]), f"{rule}; {self.place} {lines[i]} {says(i)}"))


class Checked:
    """The rows of a batch that are still good; each row is rejected for one reason, the first that is found."""

    def __init__(self, log: RejectionLog, lines: IntArray, where: Callable[[int], str]) -> None:
        """All rows are good; ``where(i)`` says whose answer to which question row i is."""
        self._log, self.where = log, where
        self.lines = lines
        self.good = np.ones(len(lines), np.bool_)

    def reject(self, rule: str, wrong: BoolArray, says: Callable[[int], str], entries: int = 1) -> None:
        """Reject the good rows among those that are marked; ``says(i)`` is what is wrong with row i."""
        rows = np.flatnonzero(wrong & self.good)
        if len(rows):
            self.good[rows] = False
            self._log.reject(
                rule, self.lines[rows], lambda i: f"{self.where(rows[i])}{says(rows[i])}", count=entries * len(rows)
            )


def summary_lines(rejected: Rejections, tally: Tally) -> list[str]:
    """Sentences on everything that was read and is no answer of the table; none if there is nothing to say.

    >>> from robustpool.tables.records import Rejections, Tally
    >>> first = (Rejection(17, "probability must lie in [0, 1]; line 17 is 1.2"),)
    >>> summary_lines(Rejections({"probability must lie in [0, 1]": 7}, first), Tally(entries=5000, missing=2))
    ['7 of 5,000 rows were left out: 7 because probability must lie in [0, 1] (line 17 is 1.2, ...).',
     '2 rows have no probability.']
    """
    lines = []
    if rejected.total:
        was = "was" if rejected.total == 1 else "were"
        lines.append(
            f"{rejected.total:,} of {counted(tally.entries, tally.entry)} {was} left out: {_reasons(rejected)}."
        )
    if tally.outcomes.total:
        which = (
            "the outcome of 1 question was" if tally.outcomes.total == 1 else f"{tally.outcomes.total:,} outcomes were"
        )
        lines.append(f"{which} not used: {_reasons(tally.outcomes)}.")
    if tally.fraction is not None and 2 * tally.small > tally.percentages:
        share = 100 * tally.small // tally.percentages
        lines.append(
            f"warning: with --percent (percent=True) {tally.fraction:g} is the probability {tally.fraction / 100:g}; "
            f"{share} % of the values are at most 1: are they fractions?"
        )
    for name, number in tally.aside.items():
        if number:
            one, many, what = ASIDES[name]
            lines.append(f"{counted(number, tally.entry)} {one if number == 1 else many} {what}.")
    other = [name for name in tally.ignored if name not in tally.outside]
    if other:
        lines.append(f"columns that were not used: {', '.join(other)}.")
    if tally.outside:
        interval = "[0, 100]" if tally.percentages else "[0, 1]"
        lines.append(
            f"columns that were not used, because most of their values lie outside {interval}: {', '.join(tally.outside)}."
        )
    if tally.forecasters:
        lines.append(f"forecasters: {listed(list(map(named, tally.forecasters)))}.")
    return lines


def _reasons(rejected: Rejections) -> str:
    by_size = sorted(rejected.counts.items(), key=lambda item: -item[1])
    return "; ".join(_because(rule, count, rejected) for rule, count in by_size)


def _because(rule: str, count: int, rejected: Rejections) -> str:
    examples = [each.reason.removeprefix(f"{rule}; ") for each in rejected.first if each.reason.startswith(f"{rule}; ")]
    shown = examples[:SHOWN] + (["..."] if count > min(len(examples), SHOWN) else [])
    return f"{count:,} because {rule} ({', '.join(shown)})"
