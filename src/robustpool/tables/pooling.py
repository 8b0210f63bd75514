"""Combine a table of forecasts into one forecast per question."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..aggregators.learned_rule import LearnedRule
from ..aggregators.rules import Rule
from ..checks import number
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..errors import InputError
from ..forecasts import (
    ALL_RULED_OUT,
    CONTRADICTION,
    ClippedWarning,
    ContradictionWarning,
    clip_for,
    clipped_words,
    combine,
    few_answers,
    few_words,
)
from ..wording import counted
from . import answers as all_answers
from .pooled import PooledTable
from .reading import Reading, answers_of, check_unread, closing, moment
from .recency import weigh_by_age
from .records import ForecastTable, Group
from .rejecting import RowsLeftOutWarning, unused_times, warn_left_out
from .sources import is_path, native_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from ..typing import FilePath, Floats, Integers
    from .engine import Progress
    from .records import RowsLeftOut, Tally


def aggregate_table(
    source: FilePath | ForecastTable | Any,
    rule: AnyAggregator = "robust",
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
    """Combine a table of forecasts into one forecast per question.

    Parameters
    ----------
    source
        A file, a data frame or a table, as in `read_forecasts`. Files may be larger than the memory: what does not
        fit goes to a temporary folder. Or a data frame of Dask, which may be spread over many machines (extra ``dask``).
    rule, clip
        As in `aggregate`. Weights of the table go to rules that accept them; for others there is a warning.
    half_life
        Older answers count less: 2^(-age / half_life), the age in days before the newest answer to the question.
        Answers without a timestamp are left out.
    layout, format, columns, percent, strict, as_of, odds, options, decimal, date_format, outcomes, progress
        How the source is read, as in `read_forecasts`.

    Returns
    -------
    For a data frame one of the same library, with the columns question_id, forecast, forecasters (how many answers
    there were) and outcome, if any is known; that of Dask has the questions in another order. Otherwise a `PooledTable`, which can be written and made into a frame.
    A question without an answer, or with a number of answers that the rule is not made for, has no forecast.

    Raises
    ------
    InputError
        If the source cannot be read, the rule is unknown, or it fits no question.

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
        pool.meet(source.forecasters, stacklevel=3)
        pool.add(source, np.arange(len(source.questions)))
        if pool.untimed and not pool.answered:
            raise InputError(f"half_life needs timestamps; no answer has one ({counted(source.rows, 'answer')}).")
        tally = replace(source.tally, untimed=source.tally.untimed + pool.untimed)
        pooled = pool.done(lambda numbers: [source.questions[each] for each in numbers.tolist()], stacklevel=3)
        kept: dict[str, Any] = {"rejected": source.rejected, "tally": tally, "question_type": source.question_type}
        return replace(pooled, forecasters=len(source.forecasters), **kept)
    library = None if is_path(source) else native_frame(source)
    if library == "dask":
        from .dask_tables import Settings, aggregate_frame

        settings = Settings(as_aggregator(rule), clip, half_life, how)
        result, rejected, tally = aggregate_frame(source, settings, stacklevel=3)
        _warn_left_out(rejected, tally, stacklevel=3)
        return result
    with answers_of(source, how) as answers:
        pool.meet(answers.forecaster_names() if pool.weighs else (), stacklevel=3)
        number = answers.number_of_parts(all_answers.ROOM)
        for done, part in enumerate(answers.parts(moment(as_of), room=all_answers.ROOM), start=1):
            pool.add(*part)
            if progress is not None:
                progress(number + done, 2 * number)
        answers.count(untimed=pool.untimed)
        rejected, tally = closing(answers, how, pool.questions, pool.answered)
        pooled = pool.done(lambda entries: answers.texts(entries, "question")[0], stacklevel=3)
    kept = {"rejected": rejected, "tally": tally, "question_type": answers.question_type}
    pooled = replace(pooled, forecasters=answers.forecasters, **kept)
    _warn_left_out(rejected, tally, stacklevel=3)
    return pooled if library is None else pooled.frame(library)


def _warn_left_out(rejected: RowsLeftOut, tally: Tally, stacklevel: int) -> None:
    warn_left_out(rejected, tally, stacklevel=stacklevel)
    if tally.times and tally.replaced:
        warnings.warn(unused_times(tally), RowsLeftOutWarning, stacklevel=stacklevel)


def weighed(table: ForecastTable, by_forecaster: Floats | None) -> ForecastTable:
    """The same table with the weights of its answers multiplied by those of their forecasters, if there are any."""
    if by_forecaster is None:
        return table
    weights = by_forecaster[table.forecaster]
    return replace(table, weight=weights if table.weight is None else table.weight * weights)


class ForecastersWarning(UserWarning):
    """A pool that weights forecasters by their track record meets new ones, or misses some."""


class Pooled(NamedTuple):
    """What was pooled of a table with some of the questions."""

    first: Integers  # (questions,), by which they are ordered and named
    forecasts: Floats
    answers: Integers
    outcome: Floats


class Pool:
    """Combines tables that have some of the questions each."""

    def __init__(self, aggregator: Callable[[Any], Any], clip: float | None, half_life: float | None) -> None:
        """No table yet; what cannot work is said before anything is read."""
        self._half_life = None if half_life is None else number("half_life", half_life, above=0)
        self._aggregator, self._clip = aggregator, clip_for(aggregator, clip)
        self._by_default = clip is None
        self._agents = getattr(aggregator, "agents", None)  # None: any number, or nobody knows
        self._fewer = getattr(aggregator, "fewer", False)  # whether it takes fewer answers as well
        self._takes_weights = isinstance(aggregator, LearnedRule) or (
            isinstance(aggregator, Rule) and aggregator.takes_weights
        )
        self._by_forecaster: Floats | None = None
        if self._half_life is not None and not self._takes_weights:
            raise InputError("half_life needs weights, which this rule does not accept.")
        self._unweighted = False
        self._parts: list[Pooled] = []
        self._options: list[tuple[str, ...]] | None = None
        self._at_odds: list[int] = []  # questions that contradict themselves
        self._few: list[tuple[int, int]] = []  # questions with fewer than half of the answers that it is for
        self._unfit: list[tuple[int, int]] = []  # questions with a number of answers that the rule is not made for
        self.answered = self.untimed = self.questions = self.clipped = 0

    @property
    def weighs(self) -> bool:
        """Whether the aggregator has learned weights of forecasters."""
        return isinstance(self._aggregator, LearnedRule) and self._aggregator.weights is not None

    def weigh(self, forecasters: Sequence[str]) -> None:
        """Take the weights of these forecasters from a pool that has learned some."""
        if self.weighs:
            assert isinstance(self._aggregator, LearnedRule)
            self._by_forecaster = self._aggregator.weights_of(forecasters)

    def meet(self, forecasters: Sequence[str], stacklevel: int) -> None:
        """The same; say who is new, and who is missing."""
        self.weigh(forecasters)
        if not self.weighs:
            return
        assert isinstance(self._aggregator, LearnedRule)
        new, absent = self._aggregator.strangers(forecasters)
        if new == len(forecasters):
            words = f"none of {counted(new, 'forecaster')} has a track record in the pool, so all count the same; is it the right pool?"
            warnings.warn(words, ForecastersWarning, stacklevel=stacklevel)
        elif new:
            of_all = f"{new:,} of {counted(len(forecasters), 'forecaster')}"
            as_one = (
                "has no track record in the pool, and counts"
                if new == 1
                else "have no track record in the pool, and each counts"
            )
            warnings.warn(f"{of_all} {as_one} as an average one.", ForecastersWarning, stacklevel=stacklevel)
        if absent:
            of_all = f"{absent:,} of the pool's {counted(len(self._aggregator.weights or ()), 'forecaster')}"
            warnings.warn(f"{of_all} gave no answer here.", ForecastersWarning, stacklevel=stacklevel)

    def add(self, given: ForecastTable, first: Integers) -> None:
        """Combine the answers of a table; ``first`` says which of all questions its questions are."""
        table = given if self._half_life is None else weigh_by_age(given, self._half_life)
        table = weighed(table, self._by_forecaster)
        self.untimed += given.rows - table.rows
        self.questions += len(first)
        self.answered += table.rows
        if table.options is not None:
            self._options = [*(self._options or []), *table.options]
        forecasts = np.full((len(first), *table.probability.shape[1:]), np.nan)
        for group in table.groups():
            if table.options is None:
                self._pool(group, first, forecasts)
            else:
                said = combine(group.reports, self._aggregator, self._clip, group.weights)
                forecasts[group.questions, : group.reports.shape[2]] = said.forecasts
                self._note(said.clipped, first[group.questions[said.at_odds]])
        self._parts.append(Pooled(first, forecasts, table.answers, table.outcome))

    def _pool(self, group: Group, first: Integers, forecasts: Floats) -> None:
        count = group.reports.shape[1]
        if self._agents not in (None, count) and not (self._fewer and count <= self._agents):
            self._unfit += [(each, count) for each in first[group.questions].tolist()]
            return
        if few_answers(self._aggregator, count):
            self._few += [(each, count) for each in first[group.questions].tolist()]
        weights = group.weights if self._takes_weights else None
        self._unweighted |= weights is not group.weights
        said = combine(group.reports, self._aggregator, self._clip, weights)
        forecasts[group.questions] = said.forecasts
        self._note(said.clipped, first[group.questions[said.at_odds]])

    def _note(self, clipped: int, at_odds: Integers) -> None:
        self.clipped += clipped
        self._at_odds += at_odds.tolist()

    def done(self, names: Callable[[Integers], list[str]], stacklevel: int) -> PooledTable:
        """One table of all of them, with a warning for what is odd; ``names`` tells how questions are called."""
        notes = self.notes(names)
        pooled = self.pooled(names)
        self.warn(notes, stacklevel + 1)
        return pooled

    def pooled(self, names: Callable[[Integers], list[str]]) -> PooledTable:
        """One table of all of them, in the order of the questions."""
        pieces = [list(column) for column in zip(*self._parts, strict=True)]
        self._parts.clear()
        order = np.argsort(np.concatenate(pieces[0]))
        first, forecasts, answers, outcome = (_joined(column, order) for column in pieces)
        return PooledTable(
            names(first),
            forecasts,
            answers,
            outcome,
            forecasters=0,
            contradictions=len(self._at_odds),
            unfit=len(self._unfit),
            clipped=self.clipped,
            options=None if self._options is None else [self._options[each] for each in order.tolist()],
        )

    def notes(self, names: Callable[[Integers], list[str]], place: Callable[[int], int] = int) -> Notes:
        """What is odd; ``place`` says where in the whole table a question comes first."""

        def odd(found: list[tuple[int, int]], entry: tuple[int, int] | None) -> Odd | None:
            return None if entry is None else Odd(place(entry[0]), names(np.array([entry[0]]))[0], entry[1], len(found))

        at_odds = [(entry, 0) for entry in self._at_odds]
        return Notes(
            questions=self.questions,
            with_answers=sum(int(np.count_nonzero(part.answers)) for part in self._parts),
            answered=self.answered,
            clipped=self.clipped,
            unweighted=self._unweighted,
            options=self._options is not None,
            unfit=odd(self._unfit, self._unfit[0] if self._unfit else None),
            few=odd(self._few, min(self._few, default=None)),
            at_odds=odd(at_odds, min(at_odds, default=None)),
        )

    def warn(self, notes: Notes, stacklevel: int) -> None:
        """Say what is odd."""
        if notes.unfit is not None:
            wanted = f"up to {self._agents}" if self._fewer else f"{self._agents}"
            rule = (
                f"the rule is for {wanted} answers per question; question {notes.unfit.name} has {notes.unfit.answers}"
            )
            if notes.unfit.questions == notes.with_answers:
                raise InputError(f"{rule} (no question has {wanted}).")
            without = f"{notes.unfit.questions:,} of {counted(notes.questions, 'question')} have no forecast"
            warnings.warn(f"{rule} ({without}).", UserWarning, stacklevel=stacklevel)
        if notes.few is not None:
            size = f"{notes.few.questions:,} of {counted(notes.questions, 'question')}"
            words = few_words(self._aggregator, f"question {notes.few.name}", notes.few.answers, size)
            warnings.warn(words, UserWarning, stacklevel=stacklevel)
        if notes.unweighted:
            warnings.warn(
                "the weights of the table were not used: this rule accepts none.", UserWarning, stacklevel=stacklevel
            )
        if notes.clipped and self._by_default:
            words = clipped_words(notes.clipped, notes.answered, "clip=0", "answer", options=notes.options)
            warnings.warn(words, ClippedWarning, stacklevel=stacklevel)
        if notes.at_odds is not None:
            what = ALL_RULED_OUT if notes.options else CONTRADICTION
            warnings.warn(
                f"{what.format(f'question {notes.at_odds.name}')} "
                f"({notes.at_odds.questions:,} of {counted(notes.questions, 'question')}).",
                ContradictionWarning,
                stacklevel=stacklevel,
            )


class Odd(NamedTuple):
    """Questions with something odd: where the first of them stands, its name and its answers, and how many they are."""

    place: int
    name: str
    answers: int
    questions: int

    def __add__(self, other: Odd | None) -> Odd:  # type: ignore[override]
        """The questions of two parts of a table."""
        return self if other is None else min(self, other)._replace(questions=self.questions + other.questions)


@dataclass(frozen=True)
class Notes:
    """What is odd about a table, or a part of it, that was pooled."""

    questions: int = 0
    with_answers: int = 0  # questions
    answered: int = 0  # answers
    clipped: int = 0
    unweighted: bool = False
    options: bool = False
    unfit: Odd | None = None  # questions with a number of answers that the rule is not made for
    few: Odd | None = None  # questions with fewer than half of the answers that it is for
    at_odds: Odd | None = None  # questions that contradict themselves

    def __add__(self, other: Notes) -> Notes:
        """Those of two parts."""
        odd = {}
        for name in ("unfit", "few", "at_odds"):
            one, two = getattr(self, name), getattr(other, name)
            odd[name] = two if one is None else one + two
        counts = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("questions", "with_answers", "answered", "clipped")
        }
        flags = {name: getattr(self, name) or getattr(other, name) for name in ("unweighted", "options")}
        return Notes(**counts, **flags, **odd)


def _joined(pieces: list[NDArray[Any]], order: Integers) -> NDArray[Any]:
    """A column in this order; its pieces are given up, so that large tables are not held twice."""
    whole = np.concatenate(pieces)
    pieces.clear()
    return whole[order]
