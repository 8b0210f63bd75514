"""Combine a Dask data frame, whose partitions may be on many machines, into one forecast per question.

A look at the first rows decides what the columns are, once for all partitions. All rows of a question go to one partition,
in their order, unless the index says that they are there already: it is the question, its divisions are known, and it holds
whole numbers, because spaces around a text are no part of a name. Each partition is then read and pooled by the same engine
as a table on one machine. What is odd or left out is added up, so that it is said once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import extra
from ..errors import UnsupportedError
from . import answers as all_answers
from .entries import joined_name
from .pooling import Notes, Pool
from .reading import LOOK, answers_of, check_left, left_out, look_at, moment
from .records import RowsLeftOut, Tally
from .rejecting import IN_FULL, first_of
from .sources import NumberedFrame, native, open_engine

if TYPE_CHECKING:
    from ..typing import Integers
    from .plans import Plan
    from .reading import Reading
    from .records import Rejection

ROW, PARTITION = "robustpool row", "robustpool partition"
"""Columns that are added: where a row stands in the whole table, and the partition that its question goes to."""

COUNTS = tuple(field.name for field in fields(Tally) if field.type == "int" and field.name != "options")


class Settings(NamedTuple):
    """What a partition is pooled with."""

    aggregator: Any
    clip: float | None
    half_life: float | None
    how: Reading

    def pool(self) -> Pool:
        """A pool without a table."""
        return Pool(self.aggregator, self.clip, self.half_life)


class Examples(NamedTuple):
    """Rows that were left out: how many for each rule, and the first of them in full."""

    counts: dict[str, int]
    first: dict[str, list[Rejection]]

    @classmethod
    def of(cls, rows: RowsLeftOut) -> Examples:
        """Those of a partition."""
        first: dict[str, list[Rejection]] = {rule: [] for rule in rows.counts}
        for rejection in rows:
            rule = max((rule for rule in first if rejection.reason.startswith(rule)), key=len)
            if len(first[rule]) < IN_FULL:
                first[rule].append(rejection)
        return cls(dict(rows.counts), first)

    def __add__(self, other: Examples) -> Examples:  # type: ignore[override]
        """Those of two partitions."""
        rules = list(dict.fromkeys([*self.counts, *other.counts]))
        first = {rule: sorted([*self.first.get(rule, []), *other.first.get(rule, [])])[:IN_FULL] for rule in rules}
        return Examples({rule: self.counts.get(rule, 0) + other.counts.get(rule, 0) for rule in rules}, first)

    def rows(self) -> RowsLeftOut:
        """The same as a table on one machine has them; only the first can be iterated over."""
        first = first_of(self.first)
        return RowsLeftOut(self.counts, first, (lambda: iter(first)) if self.counts else None)


@dataclass(frozen=True)
class Summary:
    """What is to be said of a partition."""

    notes: Notes
    tally: Tally
    left_out: tuple[Examples, Examples, Examples]  # rows, outcomes, dates of resolution
    forecasters: frozenset[str]  # if the pool has weights of some
    outcomes: bool  # whether any is known

    def __add__(self, other: Summary) -> Summary:
        """That of two partitions."""
        counts = {name: getattr(self.tally, name) + getattr(other.tally, name) for name in COUNTS}
        fraction = other.tally.fraction if self.tally.fraction is None else self.tally.fraction
        return Summary(
            self.notes + other.notes,
            replace(self.tally, **counts, fraction=fraction),
            tuple(map(add, self.left_out, other.left_out)),
            self.forecasters | other.forecasters,
            self.outcomes or other.outcomes,
        )


def aggregate_frame(frame: Any, settings: Settings, stacklevel: int) -> tuple[Any, RowsLeftOut, Tally]:
    """A Dask data frame with one forecast per question; the rows left out, and what became of others."""
    extra("a Dask data frame", "dask")
    import dask
    import dask.dataframe as dd

    pool, how = settings.pool(), settings.how
    if how.outcomes is not None:
        raise UnsupportedError(
            "outcomes in another file are joined on one machine; a Dask data frame needs a column outcome."
        )
    plain = frame.map_partitions(_plain, meta=_plain(frame._meta))
    names = list(map(str, plain.columns))
    with open_engine(plain.head(LOOK, npartitions=-1)) as (source, own):
        plan = look_at(source, own, how)
    if "option" in plan.roles or any(cell.option is not None for cell in plan.cells):
        raise UnsupportedError(
            "a Dask data frame can only hold questions with two outcomes; combine questions with options on one machine, for "
            "example after .compute()."
        )
    sorted_by_question = [source.names[place] for place in plan.question] == [frame.index.name]
    partitioned = sorted_by_question and frame.known_divisions and frame._meta.index.dtype.kind in "iu"
    lengths, signed = dask.compute(plain.map_partitions(len), _signed(plain, plan, how))
    starts = np.concatenate(([0], np.cumsum(np.asarray(lengths, dtype=np.int64))[:-1]))
    numbered = [
        dask.delayed(_numbered)(part, int(start), plan, len(starts))
        for part, start in zip(plain.to_delayed(), starts, strict=True)
    ]
    whole = dd.from_delayed(numbered, meta=_numbered(plain._meta, 0, plan, len(starts)))
    if not partitioned:
        whole = whole.set_index(PARTITION, divisions=[*range(len(starts) + 1)])
    settings = settings._replace(how=replace(how, plan=plan, signed=signed, progress=None))
    work = dask.delayed(_pooled, pure=False)
    parts = dask.persist(*[work(part, settings, names) for part in whole.to_delayed()])
    summary = reduce(add, dask.compute(*[part[1] for part in parts]))
    rejected, outcomes, dates = (each.rows() for each in summary.left_out)
    tally = replace(summary.tally, outcomes=outcomes, dates=dates)
    check_left(rejected, tally, names, how, summary.notes.questions, summary.notes.answered)
    pool.meet(sorted(summary.forecasters), stacklevel + 1)
    pool.warn(summary.notes, stacklevel + 1)
    columns = ["question_id", "forecast", "forecasters", *(["outcome"] if summary.outcomes else [])]
    frames = [part[0][columns] for part in parts]
    meta = _pooled(whole._meta, settings, names)[0][columns]
    return dd.from_delayed(frames, meta=meta), rejected, tally


def _plain(part: Any) -> Any:
    """A partition of pandas in which everything is a column, and rows have no names."""
    return native(part).reset_index(drop=True)


def _signed(frame: Any, plan: Plan, how: Reading) -> Any:
    """Whether any probability has a % sign, which matters where they are percentages."""
    places = [plan.roles["probability"]] if "probability" in plan.roles else [cell.place for cell in plan.cells]
    texts = [frame.columns[place] for place in places if how.percent and frame.dtypes.iloc[place].kind not in "iufb"]
    if not texts:
        return False
    signs = frame[texts].map_partitions(
        lambda part: part.astype(str).apply(lambda column: column.str.contains("%").any()).any()
    )
    return signs.any()


def _numbered(part: Any, start: int, plan: Plan, partitions: int) -> Any:
    """A partition with the places of its rows and the partitions that they go to."""
    target = np.zeros(0, np.int64)
    if len(part):
        with open_engine(part) as (source, own):
            query = f"SELECT {joined_name(source, plan.question)} AS name FROM {source.relation()}"
            names, rows = np.unique(own.arrays(query)["name"].astype(object), return_inverse=True)
        target = np.array([_partition(name, partitions) for name in names])[rows]
    return part.assign(**{ROW: start + np.arange(len(part)), PARTITION: target})


def _partition(question: str, partitions: int) -> int:
    """Which of so many partitions a question goes to, by a hash that is the same in all versions of all packages."""
    return int.from_bytes(hashlib.blake2b(question.encode(), digest_size=8).digest(), "big") % partitions


def _pooled(part: Any, settings: Settings, names: list[str]) -> tuple[Any, Summary]:
    """A partition that has all rows of its questions, pooled: a frame of pandas, and what is to be said of it."""
    import pandas as pd

    part = part.sort_values(ROW, kind="stable")
    rows: Integers = part[ROW].to_numpy()
    part = part.drop(columns=[ROW, PARTITION], errors="ignore").reset_index(drop=True)
    part.columns = names
    pool, how = settings.pool(), settings.how
    with answers_of(NumberedFrame(part, rows), how) as answers:
        forecasters = answers.forecaster_names() if pool.weighs else []
        pool.weigh(forecasters)
        for each in answers.parts(moment(how.as_of), room=all_answers.ROOM):
            pool.add(*each)
        answers.count(untimed=pool.untimed)
        rejected, tally = left_out(answers)

        def texts(entries: Integers) -> list[str]:
            return answers.texts(entries, "question")[0] if len(entries) else []

        width = answers.entries.width
        notes = pool.notes(texts, place=lambda entry: int(rows[entry // width]))
        pooled = replace(pool.pooled(texts), question_type=answers.question_type)
    left = tuple(Examples.of(each) for each in (rejected, tally.outcomes, tally.dates))
    tally = replace(tally, outcomes=RowsLeftOut(), dates=RowsLeftOut())
    arrays = pooled.arrays()
    frame = pd.DataFrame({"outcome": pooled.outcome} | arrays)
    if pooled.question_type is None:
        frame["question_id"] = frame["question_id"].astype("str")  # also where there are none
    known = "outcome" in arrays
    return frame, Summary(notes, tally, left, frozenset(forecasters), known)  # type: ignore[arg-type]
