"""Which rows are left out and why: collected while a source is read, told in a few sentences after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wording import counted
from .records import Rejection, Rejections

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .records import Tally

IN_FULL = 20
"""Rejected rows that are told in full."""

SHOWN = 3
"""Examples of each rule in the summary."""


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
        self._counts: dict[str, int] = {}
        self._first: dict[str, list[Rejection]] = {}
        self.lost = 0  # lines that never became rows

    def reject(
        self, rule: str, lines: Sequence[int] | NDArray[np.int64], says: Callable[[int], str], count: int | None = None
    ) -> None:
        """Reject the rows at these lines; ``says(i)`` is what the i-th of them is. ``count`` if a line is many entries."""
        number = len(lines) if count is None else count
        if number == 0:
            return
        self._counts[rule] = self._counts.get(rule, 0) + number
        first = self._first.setdefault(rule, [])
        for i in range(min(len(lines), IN_FULL - len(first))):
            first.append(Rejection(int(lines[i]), f"{rule}; {self.place} {lines[i]} {says(i)}"))

    def reject_line(self, rule: str, line: int, says: str, count: int = 1) -> None:
        """Reject a line, or some, that cannot be parted into columns."""
        self.reject(rule, [line], lambda _: says, count)
        self.lost += count

    def done(self) -> Rejections:
        """What was rejected until now: one of each rule at least, and the first of the rest, by line."""
        heads = [found[0] for found in self._first.values()]
        others = sorted(rejection for found in self._first.values() for rejection in found[1:])
        return Rejections(dict(self._counts), tuple(sorted(heads + others[: max(0, IN_FULL - len(heads))])))


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
        by_size = sorted(rejected.counts.items(), key=lambda item: -item[1])
        reasons = "; ".join(_because(rule, count, rejected) for rule, count in by_size)
        lines.append(f"{rejected.total:,} of {counted(tally.entries, 'row')} {was} left out: {reasons}.")
    asides = {
        "no probability": ("has", "have", tally.missing),
        "an answer that counts once": ("repeats", "repeat", tally.duplicates),
        "replaced by a later row of the source": ("was", "were", tally.replaced),
        "superseded by a later answer": ("is", "are", tally.superseded),
        "later than the time that was asked for": ("is", "are", tally.later),
        "the probability of no, which is not needed": ("is", "are", tally.complements),
    }
    for what, (one, many, number) in asides.items():
        if number:
            lines.append(f"{counted(number, 'row')} {one if number == 1 else many} {what}.")
    if tally.ignored:
        lines.append(f"columns that were not used: {', '.join(tally.ignored)}.")
    return lines


def _because(rule: str, count: int, rejected: Rejections) -> str:
    examples = [each.reason.removeprefix(f"{rule}; ") for each in rejected.first if each.reason.startswith(f"{rule}; ")]
    shown = examples[:SHOWN] + (["..."] if count > min(len(examples), SHOWN) else [])
    return f"{count:,} because {rule} ({', '.join(shown)})"
