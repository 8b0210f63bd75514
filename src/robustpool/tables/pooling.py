"""Combine a table of forecasts into one forecast a question."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..aggregators.design import AnyAggregator, agents_of, as_aggregator
from ..aggregators.rules import Rule
from ..checks import number
from ..errors import InputError
from ..forecasts import ContradictionWarning, combine, low_end
from ..wording import counted
from . import answers as all_answers
from .pooled import PooledTable
from .reading import Reading, answers_of, check_unread, closing, moment
from .recency import weigh_by_age
from .records import ForecastTable
from .rejecting import RowsLeftOutWarning, summary_lines
from .sources import is_path, native_frame

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from ..aggregators.rows import FloatArray
    from .engine import Progress
    from .records import IntArray


def aggregate_table(
    source: str | os.PathLike[str] | ForecastTable | Any,
    rule: AnyAggregator = "minimax",
    *,
    clip: float | None = None,
    half_life: float | None = None,
    layout: str = "auto",
    format: str = "auto",
    columns: Mapping[str, str | Sequence[str]] | None = None,
    percent: bool = False,
    strict: bool = False,
    as_of: float | str | datetime | None = None,
    odds: str | None = None,
    options: Sequence[str] | None = None,
    decimal: str = ".",
    date_format: str | None = None,
    outcomes: Any = None,
    progress: Progress | None = None,
) -> Any:
    """Combine a table of forecasts into one forecast a question.

    Parameters
    ----------
    source
        A file, a data frame or a table, as in `read_forecasts`. Files may be larger than the memory: many rows are
        sorted by question in a temporary folder first.
    rule, clip
        As in `aggregate`. Weights of the table go to rules that take them; for others there is a warning.
    half_life
        Older answers count less: 2^(-age / half_life), the age in days before the newest answer to the question.
        Answers without a timestamp are left out.
    layout, format, columns, percent, strict, as_of, odds, options, decimal, date_format, outcomes, progress
        How the source is read, as in `read_forecasts`.

    Returns
    -------
    For a data frame one of the same library, with the columns question_id, forecast, forecasters (how many answers
    there were) and outcome, if any is known. Otherwise a `PooledTable`, which can be written and made into a frame.
    A question without an answer, or with another number of answers than the rule is made for, has no forecast.

    Raises
    ------
    InputError
        If the source cannot be read, the rule is not known or fits no question.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame(
    ...     {"question_id": ["rain", "rain", "snow"], "forecaster_id": ["ann", "bob", "ann"], "probability": [0.7, 0.6, 0.1]}
    ... )
    >>> aggregate_table(frame, "mean")
      question_id  forecast  forecasters
    0        rain      0.65            2
    1        snow      0.10            1
    """
    pool = Pool(as_aggregator(rule), clip, half_life)
    how = Reading(
        layout, format, columns, percent, strict, as_of, odds, options, decimal, date_format, outcomes, progress
    )
    if isinstance(source, ForecastTable):
        check_unread(how)
        pool.add(source, np.arange(len(source.questions)))
        if pool.untimed and not pool.answered:
            raise InputError(f"half_life needs timestamps; no answer has one ({counted(source.rows, 'answer')}).")
        tally = replace(source.tally, untimed=source.tally.untimed + pool.untimed)
        pooled = pool.done(lambda numbers: [source.questions[each] for each in numbers.tolist()], stacklevel=3)
        kept = {"rejected": source.rejected, "tally": tally, "question_type": source.question_type}
        return replace(pooled, forecasters=len(source.forecasters), **kept)
    library = None if is_path(source) else native_frame(source)
    with answers_of(source, how) as answers:
        for table, first in answers.parts(moment(as_of), room=all_answers.ROOM):
            pool.add(table, first)
        answers.count(untimed=pool.untimed)
        rejected, tally = closing(answers, how, pool.questions, pool.answered)
        pooled = pool.done(lambda entries: answers.texts(entries, "question")[0], stacklevel=3)
    kept = {"rejected": rejected, "tally": tally, "question_type": answers.question_type}
    pooled = replace(pooled, forecasters=answers.forecasters, **kept)
    for line in summary_lines(rejected, tally)[: (rejected.total > 0) + (tally.outcomes.total > 0)]:
        warnings.warn(line, RowsLeftOutWarning, stacklevel=2)
    return pooled if library is None else pooled.frame(library)


class Pooled(NamedTuple):
    """What was pooled of a table with some of the questions."""

    first: IntArray  # (questions,), by which they are ordered and named
    forecasts: FloatArray
    answers: IntArray
    outcome: FloatArray


class Pool:
    """Combines tables that have some of the questions each."""

    def __init__(self, aggregator: Callable[[Any], Any], clip: float | None, half_life: float | None) -> None:
        """No table yet; what cannot work is said before anything is read."""
        self._half_life = None if half_life is None else number("half_life", half_life, above=0)
        self._aggregator, self._clip = aggregator, low_end(clip)
        self._agents = agents_of(aggregator)
        self._takes_weights = isinstance(aggregator, Rule) and aggregator.takes_weights
        if self._half_life is not None and not self._takes_weights:
            raise InputError("half_life makes weights, and this rule takes none.")
        self._unweighted = False
        self._parts: list[Pooled] = []
        self._at_odds: list[int] = []  # questions with both a 0 and a 1
        self._unfit: list[tuple[int, int]] = []  # questions with a number of answers that the rule is not made for
        self.answered = self.untimed = self.questions = 0

    def add(self, given: ForecastTable, first: IntArray) -> None:
        """Combine the answers of a table; ``first`` says which of all questions its questions are."""
        table = given if self._half_life is None else weigh_by_age(given, self._half_life)
        self.untimed += given.rows - table.rows
        self.questions += len(first)
        forecasts = np.full(len(first), np.nan)
        for group in table.groups():
            count = group.reports.shape[1]
            self.answered += group.reports.size
            if self._agents not in (None, count):
                self._unfit += [(each, count) for each in first[group.questions].tolist()]
                continue
            weights = group.weights if self._takes_weights else None
            self._unweighted |= weights is not group.weights
            said, at_odds = combine(group.reports, self._aggregator, self._clip, weights)
            forecasts[group.questions] = said
            self._at_odds += first[group.questions[at_odds]].tolist()
        self._parts.append(Pooled(first, forecasts, table.answers, table.outcome))

    def done(self, names: Callable[[IntArray], list[str]], stacklevel: int) -> PooledTable:
        """One table of all of them, with a warning for what is odd; ``names`` tells how questions are called."""
        first, *columns = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(first)
        forecasts, answers, outcome = (column[order] for column in columns)
        self._warn(names, int(np.count_nonzero(answers)), stacklevel + 1)
        odd, unfit = len(self._at_odds), len(self._unfit)
        return PooledTable(
            names(first[order]), forecasts, answers, outcome, forecasters=0, contradictions=odd, unfit=unfit
        )

    def _warn(self, names: Callable[[IntArray], list[str]], answered: int, stacklevel: int) -> None:
        if self._unfit:
            entry, count = self._unfit[0]
            (name,) = names(np.array([entry]))
            rule = f"the rule is made for {self._agents} answers a question; question {name} has {count}"
            if len(self._unfit) == answered:
                raise InputError(f"{rule} (and none has {self._agents}).")
            without = f"{len(self._unfit):,} of {counted(self.questions, 'question')} have no forecast"
            warnings.warn(f"{rule} ({without}).", UserWarning, stacklevel=stacklevel)
        if self._unweighted:
            warnings.warn(
                "the weights of the table were not used: this rule takes none.", UserWarning, stacklevel=stacklevel
            )
        if self._at_odds:
            (name,) = names(np.array([min(self._at_odds)]))
            warnings.warn(
                "0 and 1 for the same question contradict each other, so that the forecast is 0.5; question "
                f"{name} has both ({len(self._at_odds):,} of {counted(self.questions, 'question')}).",
                ContradictionWarning,
                stacklevel=stacklevel,
            )
