"""Which rows are left out and why: collected while a source is read, reported in a few sentences afterwards."""

from __future__ import annotations

import re
import shlex
import warnings
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InputError
from ..wording import counted, listed
from .entries import A_NUMBER, IN_RANGE, NO_FORECASTER, NO_OPTION, NO_QUESTION, READABLE, SIGNED, TOO_LONG
from .formats import KINDS
from .records import Rejection, RowsLeftOut
from .values import named, number, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..typing import Integers
    from .entries import Check
    from .records import Tally

IN_FULL = 20
"""Rejected rows that are told in full."""

SHOWN = 3
"""Examples of each rule in the summary."""


ASIDES = {
    "missing": ("has", "have", "no probability"),
    "duplicates": ("repeats", "repeat", "an answer that counts once"),
    "replaced": ("was", "were", "replaced by a later row of the source"),
    "superseded": ("is", "are", "superseded by a later answer"),
    "later": ("is", "are", "later than as_of"),
    "untimed": ("has", "have", "no timestamp, which as_of and half_life need"),
    "complements": ("is", "are", "the probability of no, beside that of yes"),
}
"""Sentences for entries that are neither answers nor errors, by their name in `Tally.aside`: verbs and the rest."""


class RowsLeftOutWarning(UserWarning):
    """Some rows of a table of forecasts could not be used."""


class RejectedError(InputError):
    """A source without a row that can be used, or with one that cannot while reading strictly."""

    def __init__(self, sentence: str, rejected: RowsLeftOut) -> None:
        """Keep the rows, so that they can be written."""
        super().__init__(sentence)
        self.rejected = rejected


class Failed(NamedTuple):
    """Entries that fail a check, by columns."""

    checks: Sequence[Check]
    fault: Integers
    first_line: Integers
    last_line: Integers
    question: Sequence[str]
    forecaster: Sequence[str]
    shown: Sequence[str | None]

    def rejection(self, i: int, place: str) -> Rejection:
        """The i-th of them, in a sentence."""
        rule, line, last = self.checks[int(self.fault[i])].rule, int(self.first_line[i]), int(self.last_line[i])
        if rule == TOO_LONG:
            quoted_lines = f" with what is quoted up to line {last}" if last > line else ""
            return Rejection(line, f"{rule}; {place} {line} has more{quoted_lines}")
        where = f"(question {named(self.question[i])}, forecaster {named(self.forecaster[i])})"
        shown = self.shown[i] or ""
        says = (
            f"{quoted(shown)}{_hint(rule, shown.strip())}"
            if rule not in (NO_QUESTION, NO_FORECASTER, NO_OPTION)
            else "empty"
        )
        return Rejection(line, f"{rule}; {place} {line} {where} is {says}")


class RejectionLog:
    """Collects rejections: how many for each rule, and all of them in full.

    >>> log = RejectionLog()
    >>> log.add("a row must have 3 fields", 17, "has 2")
    >>> log.done().first[0].reason
    'a row must have 3 fields; line 17 has 2'
    """

    def __init__(self, place: str = "line") -> None:
        """Nothing is rejected yet; rows are called lines, or rows of a data frame."""
        self.place = place
        self._counts: dict[str, int] = {}  # entries, by rule
        self._single: dict[str, list[Rejection]] = {}
        self._failed: Failed | None = None

    def add(self, rule: str, line: int, says: str, count: int = 1) -> None:
        """Reject an entry, or some of which one sentence tells."""
        self._counts[rule] = self._counts.get(rule, 0) + count
        self._single.setdefault(rule, []).append(Rejection(line, f"{rule}; {self.place} {line} {says}"))

    def fail(self, failed: Failed, width: int) -> None:
        """Reject the entries that failed a check; of one that is too long every line counts, and every cell of it."""
        self._failed = failed
        for fault, count in zip(*np.unique(failed.fault, return_counts=True), strict=True):
            rule, these = failed.checks[fault].rule, failed.fault == fault
            lines = (failed.last_line - failed.first_line)[these].sum() * width if rule == TOO_LONG else 0
            self._counts[rule] = self._counts.get(rule, 0) + int(count + lines)

    @property
    def total(self) -> int:
        """How many entries are rejected until now."""
        return sum(self._counts.values())

    def done(self) -> RowsLeftOut:
        """What was rejected: one of each rule at least, and the first of the rest, by line."""
        examples = {rule: sorted(found)[:IN_FULL] for rule, found in self._single.items()}
        if (failed := self._failed) is not None:
            for fault in np.unique(failed.fault):
                told = [failed.rejection(i, self.place) for i in np.flatnonzero(failed.fault == fault)[:IN_FULL]]
                rule = failed.checks[fault].rule
                examples[rule] = sorted([*examples.get(rule, []), *told])[:IN_FULL]
        return RowsLeftOut(dict(self._counts), first_of(examples), self._every if self._counts else None)

    def _every(self) -> Iterator[Rejection]:
        """Each of them, by line."""
        single = sorted(rejection for found in self._single.values() for rejection in found)
        failed, place = self._failed, self.place
        told = (failed.rejection(i, place) for i in range(len(failed.fault))) if failed is not None else ()
        return merge(single, told, key=itemgetter(0))


def first_of(examples: dict[str, list[Rejection]]) -> tuple[Rejection, ...]:
    """Of the first rejections of each rule: one of each rule at least, and the first of the rest, by line."""
    heads = [found[0] for found in examples.values() if found]
    others = sorted(rejection for found in examples.values() for rejection in found[1:])
    return tuple(sorted(heads + others[: max(0, IN_FULL - len(heads))]))


def _hint(rule: str, text: str) -> str:
    """What somebody probably meant; with a decimal comma, if that is how it is written.

    >>> _hint(A_NUMBER, "70%"), _hint(A_NUMBER, "0,7"), _hint(SIGNED, "0.6")
    ('; write 0.7, or pass --percent (percent=True) if all are in per cent', '; write 0.7', ': is it 0.6 % or 60 %?')
    """
    try:
        value = number(text.removesuffix("%").replace(",", "."))
    except ValueError:
        return ""
    percent = f"write {value / 100:g}, or pass --percent (percent=True) if all are in per cent"
    if rule == A_NUMBER:
        return f"; {percent}" if text.endswith("%") else f"; write {value:g}"
    if rule == SIGNED:
        return f": is it {text} % or {100 * value:g} %?"
    return f"; if that is {value:g} %, {percent}" if rule == IN_RANGE and 2 <= value <= 100 else ""


def warn_left_out(rejected: RowsLeftOut, tally: Tally, stacklevel: int) -> None:
    """A warning if rows could not be used, and one if outcomes could not be."""
    for line in summary_lines(rejected, tally)[: (rejected.total > 0) + (tally.outcomes.total > 0)]:
        warnings.warn(line, RowsLeftOutWarning, stacklevel=stacklevel + 1)


def summary_lines(rejected: RowsLeftOut, tally: Tally) -> list[str]:
    """Sentences about all entries that did not become answers; empty if there are none.

    >>> from robustpool.tables.records import RowsLeftOut, Tally
    >>> first = (Rejection(17, "probability must lie in [0, 1]; line 17 is 1.2"),)
    >>> summary_lines(RowsLeftOut({"probability must lie in [0, 1]": 7}, first), Tally(entries=5000, missing=2))
    ['7 of 5,000 rows were left out: 7 because probability must lie in [0, 1] (line 17 is 1.2, ...).',
     '2 rows have no probability.']
    """
    lines = []
    if rejected.total:
        which = f"{rejected.total:,} of {counted(tally.entries, tally.entry)} {_was(rejected.total)}"
        lines.append(f"{which} left out: {_reasons(rejected)}.")
    if doubtful := tally.outcomes.total:
        which = "the outcome of 1 question" if doubtful == 1 else f"{doubtful:,} outcomes"
        lines.append(f"{which} {_was(doubtful)} not used: {_reasons(tally.outcomes)}.")
    if undated := tally.dates.total:
        which = "the date of resolution of 1 question" if undated == 1 else f"{undated:,} dates of resolution"
        lines.append(f"{which} {_was(undated)} not used: {_reasons(tally.dates)}.")
    if tally.fraction is not None and 2 * tally.small > tally.percentages:
        share = 100 * tally.small // tally.percentages
        lines.append(
            f"warning: with --percent (percent=True) {tally.fraction:g} is the probability {tally.fraction / 100:g}; "
            f"{share} % of the values are at most 1: are they fractions?"
        )
    for name, count in tally.aside.items():
        if count and not (tally.options and name == "complements"):  # those are in the answers
            one, many, what = ASIDES[name]
            lines.append(f"{counted(count, tally.entry)} {one if count == 1 else many} {what}.")
    if tally.times:
        lines.append(unused_times(tally))
    other = [name for name in tally.ignored if name not in (*tally.outside, *tally.times)]
    if other:
        lines.append(f"columns that were not used: {', '.join(other)}.")
    if tally.outside:
        outside = f"most of their values lie outside {list(tally.interval)}"
        lines.append(f"columns that were not used, because {outside}: {', '.join(tally.outside)}.")
    if tally.unread:
        lines.append(f"sheets that were not read (only the first sheet is read): {', '.join(tally.unread)}.")
    if tally.forecasters:
        lines.append(f"forecasters: {listed(list(map(named, tally.forecasters)))}.")
    return lines


REMEDIES = {
    rf"{re.escape(IN_RANGE)}.*\) is [1-9]\d*\.\d": " If they are decimal odds, pass --odds decimal.",
    rf"{A_NUMBER}.* is '\d+,\d+'; write": " If commas are decimal points, pass --decimal ,",
    rf"{READABLE}.* is '\d+[./]\d+[./]\d+": " If dates have another format, pass --date-format, such as d/m/Y.",
}
"""What to try if most rejected rows have reasons such as these."""


def remedy(rejected: RowsLeftOut) -> str:
    """What to try, if most of the rejected rows that are told in full call for it."""
    for pattern, words in REMEDIES.items():
        if 2 * sum(re.match(pattern, each.reason) is not None for each in rejected.first) > len(rejected.first):
            return words
    return ""


def why_no_answer(rejected: RowsLeftOut, tally: Tally, questions: int) -> str | None:
    """Why a table should not be answered: most of it is wrong, or most answers of a wide one are lost to later rows.

    Rows of another kind, such as aggregates, are not wrong, and those without a probability are not counted.
    """
    wrong = sum(count for rule, count in rejected.counts.items() if rule not in KINDS)
    given = tally.entries - tally.missing - (rejected.total - wrong)
    if 2 * wrong > given:
        why = f"there is no forecast, because more than half of the {tally.entry}s cannot be used"
        return f"{why}: {summary_lines(rejected, tally)[0]}{remedy(rejected)}"
    lost = tally.replaced + tally.duplicates
    if tally.entry == "answer" and 2 * lost > given:
        one = len(tally.named_by) == 1
        columns = f"column {tally.named_by[0]!r} identifies" if one else f"columns {listed(tally.named_by)} identify"
        return (
            f"there is no forecast, because {lost:,} of {counted(given, 'answer')} were replaced by later rows: the "
            f"{columns} only {counted(questions, 'question')}; name others, such as --column question_id=NAME or NAME,NAME."
        )
    return None


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def unused_times(tally: Tally) -> str:
    """A sentence on columns that look like times, where none is used."""
    looks = "column {} looks like a time" if len(tally.times) == 1 else "columns {} look like times"
    which = looks.format(listed([repr(name) for name in tally.times]))
    remedy = f"--column {shlex.quote(f'timestamp={tally.times[0]}')}"
    return f"the {which} and {_was(len(tally.times))} not used; to use a time column, pass {remedy}."


def _reasons(rejected: RowsLeftOut) -> str:
    """How many for each rule, the largest number first, with some examples."""
    reasons = []
    for rule, count in sorted(rejected.counts.items(), key=lambda item: -item[1]):
        told = [each.reason for each in rejected.first if each.reason.startswith(f"{rule}; ")][:SHOWN]
        shown = [reason.removeprefix(f"{rule}; ") for reason in told] + ["..."] * (count > len(told))
        reasons.append(f"{count:,} because {rule} ({', '.join(shown)})")
    return "; ".join(reasons)
