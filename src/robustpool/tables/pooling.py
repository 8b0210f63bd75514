"""Combine a table of forecasts into one forecast a question."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.design import AnyAggregator, agents_of, as_aggregator
from ..aggregators.distributions import combine_distributions, distribution_rule
from ..aggregators.rules import Rule
from ..checks import number
from ..errors import InputError
from ..forecasts import ClippedWarning, ContradictionWarning, clip_for, clipped_words, combine, raised_words
from ..wording import counted
from . import row_store
from .pooled import PooledTable
from .reading import Reading, check_unread, closing, filled_store, moment
from .recency import weigh_by_age
from .records import ForecastTable
from .rejecting import RowsLeftOutWarning, summary_lines
from .row_store import Part
from .sources import is_path, native_frame

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from .records import Rejections, Tally
    from .text_blocks import Progress


def aggregate_table(
    source: str | os.PathLike[str] | ForecastTable | Any,
    rule: AnyAggregator = "robust",
    *,
    clip: float | None = None,
    half_life: float | None = None,
    layout: str = "auto",
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    percent: bool = False,
    strict: bool = False,
    as_of: float | str | datetime | None = None,
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
    layout, format, columns, percent, strict, as_of, progress
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
    how = Reading(layout, format, columns, percent, strict, as_of, progress)
    if isinstance(source, ForecastTable):
        check_unread(how)
        pool.add(Part(source, 0, 1))
        if pool.untimed and not pool.answered:
            raise InputError(f"half_life needs timestamps; no answer has one ({counted(source.rows, 'answer')}).")
        tally = replace(source.tally, untimed=source.tally.untimed + pool.untimed)
        return pool.done(source.rejected, tally, stacklevel=3)
    frame = None if is_path(source) else native_frame(source)
    with filled_store(source if frame is None else frame, how, room=row_store.ROOM) as store:
        for part in store.parts(moment(as_of)):
            pool.add(part)
        store.count(untimed=pool.untimed)
        rejected, tally = closing(store, how, answers=pool.answered)
    result = pool.done(rejected, tally, stacklevel=3)
    for line in summary_lines(rejected, tally)[: (rejected.total > 0) + (tally.outcomes.total > 0)]:
        warnings.warn(line, RowsLeftOutWarning, stacklevel=2)
    return result if frame is None else result.frame(frame.implementation)


class Pool:
    """Combines tables that have some of the questions each."""

    def __init__(self, aggregator: Callable[[Any], Any], clip: float | None, half_life: float | None) -> None:
        """No table yet; what cannot work is said before anything is read."""
        self._half_life = None if half_life is None else number("half_life", half_life, above=0)
        self._aggregator, self._clip = aggregator, clip_for(aggregator, clip)
        self._by_default = clip is None
        self._agents = agents_of(aggregator)
        self._takes_weights = isinstance(aggregator, Rule) and aggregator.takes_weights
        if self._half_life is not None and not self._takes_weights:
            raise InputError("half_life makes weights, and this rule takes none.")
        self._unweighted = False
        self._parts: list[tuple[slice, PooledTable]] = []  # with the places of its questions among all
        self._at_odds: list[str] = []  # questions with both a 0 and a 1
        self._unfit: list[tuple[str, int]] = []  # questions with a number of answers that the rule is not made for
        self._question_type: np.dtype[Any] | None = None
        self.answered = self.untimed = self.clipped = 0

    def add(self, part: Part) -> None:
        """Combine the answers of a table."""
        table = part.table if self._half_life is None else weigh_by_age(part.table, self._half_life)
        self.untimed += part.table.rows - table.rows
        self._question_type = table.question_type
        if table.options is not None:
            self._parts.append((slice(part.first, None, part.step), self._distributions(table)))
            return
        forecasts = np.full(len(table.questions), np.nan)
        for group in table.groups():
            count = group.reports.shape[1]
            self.answered += group.reports.size
            if self._agents not in (None, count):
                self._unfit += [(table.questions[each], count) for each in group.questions.tolist()]
                continue
            weights = group.weights if self._takes_weights else None
            self._unweighted |= weights is not group.weights
            said = combine(group.reports, self._aggregator, self._clip, weights)
            forecasts[group.questions] = said.forecasts
            self.clipped += said.clipped
            self._at_odds += [table.questions[each] for each in group.questions[said.at_odds].tolist()]
        pooled = PooledTable(table.questions, forecasts, table.answers, table.outcome, len(table.forecasters))
        self._parts.append((slice(part.first, None, part.step), pooled))

    def _distributions(self, table: ForecastTable) -> PooledTable:
        """Combine the answers of a table whose questions have options."""
        rule = distribution_rule(self._aggregator)
        forecasts = np.full((len(table.questions), table.probability.shape[1]), np.nan)
        for questions, reports, weights in table.groups():
            self.answered += reports.shape[0] * reports.shape[1]
            said = combine_distributions(reports, rule, self._clip, weights)
            forecasts[questions, : reports.shape[2]] = said.forecasts
            self.clipped += said.clipped
            self._at_odds += [table.questions[each] for each in questions[said.at_odds].tolist()]
        return PooledTable(
            table.questions, forecasts, table.answers, table.outcome, len(table.forecasters), options=table.options
        )

    def done(self, rejected: Rejections, tally: Tally, stacklevel: int) -> PooledTable:
        """One table of all of them, with a warning for what is odd."""
        questions = sum(len(part.questions) for _, part in self._parts)
        names: list[str] = [""] * questions
        options: list[tuple[str, ...]] | None = None
        if any(part.options is not None for _, part in self._parts):
            options = [()] * questions
        wide = () if options is None else (max(part.forecasts.shape[1] for _, part in self._parts),)
        forecasts, outcome = np.full((questions, *wide), np.nan), np.full(questions, np.nan)
        answers = np.zeros(questions, dtype=np.int64)
        for places, part in self._parts:
            names[places] = part.questions
            answers[places], outcome[places] = part.answers, part.outcome
            if options is None or part.options is None:
                forecasts[places] = part.forecasts
            else:
                options[places] = part.options
                forecasts[places, : part.forecasts.shape[1]] = part.forecasts
        self._warn(questions, int(np.count_nonzero(answers)), stacklevel + 1)
        forecasters = self._parts[0][1].forecasters
        odd, unfit = len(self._at_odds), len(self._unfit)
        kind = self._question_type
        return PooledTable(
            names, forecasts, answers, outcome, forecasters, rejected, tally, odd, unfit, kind, self.clipped, options
        )

    def _warn(self, questions: int, answered: int, stacklevel: int) -> None:
        if self._unfit:
            name, count = self._unfit[0]
            rule = f"the rule is made for {self._agents} answers a question; question {name} has {count}"
            if len(self._unfit) == answered:
                raise InputError(f"{rule} (and none has {self._agents}).")
            without = f"{len(self._unfit):,} of {counted(questions, 'question')} have no forecast"
            warnings.warn(f"{rule} ({without}).", UserWarning, stacklevel=stacklevel)
        if self._unweighted:
            warnings.warn(
                "the weights of the table were not used: this rule takes none.", UserWarning, stacklevel=stacklevel
            )
        if self.clipped and self._by_default:
            words = clipped_words(self.clipped, self.answered, "clip=0", "answer")
            if self._parts[0][1].options is not None:
                words = raised_words(self.clipped, self.answered)
            warnings.warn(words, ClippedWarning, stacklevel=stacklevel)
        if self._at_odds:
            what = (
                "0 and 1 for the same question contradict each other, so that the forecast is 0.5; question {} has both"
            )
            if self._parts[0][1].options is not None:
                what = (
                    "somebody rules out each of the options, so that all of them get the same forecast; question {} is such "
                    "a contradiction"
                )
            warnings.warn(
                f"{what.format(self._at_odds[0])} ({len(self._at_odds):,} of {counted(questions, 'question')}).",
                ContradictionWarning,
                stacklevel=stacklevel,
            )
