"""Outcomes that stand in a file of their own: joined to the forecasts by the name of the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..wording import listed
from .engine import among
from .entries import NOTHING, Cell
from .formats import GJP_CLOSED, GJP_DATES, OURS, plain
from .rejecting import RejectionLog
from .sources import is_path, open_engine
from .values import MISSING, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .engine import Engine
    from .entries import Entries, Reading
    from .records import RowsLeftOut

OUTCOME = (*OURS.roles["outcome"], "answer", "result", "correct_option")
ORACLE = "oracle_value"
"""The column of a forecasting hub that is 1 in the row of the option that came true."""


class Outcomes(NamedTuple):
    """What came true, by question; several columns of the forecasts may name a question together."""

    columns: tuple[int, ...]  # those of the forecasts that name the question here as well
    question: list[str]
    outcome: list[str]
    resolved: list[float] | None  # when it became known, minus infinity for nothing; None without such a column
    unread: list[str]  # what stands there instead, or the empty text
    lost: RowsLeftOut  # lines that are no rows


def read_outcomes(source: Any, names: Sequence[str], question: tuple[int, ...], values: Reading) -> Outcomes:
    """The outcomes of a file or a data frame; ``question`` are the places of the forecasts' columns that name the question."""
    with open_engine(source) as (opened, own):
        places = {plain(name): i for i, name in reversed(list(enumerate(opened.names)))}
        value = next((places[name] for name in (ORACLE, *OUTCOME) if name in places), None)
        shared = tuple(place for place in question if plain(names[place]) in places)
        keys = [places[plain(names[place])] for place in shared]
        if not keys and len(question) == 1:
            shared, keys = question, [places[name] for name in OURS.roles["question_id"] if name in places][:1]
        if value is None or not keys:
            lacking = [*(["the question"] if not keys else []), *(["the outcome"] if value is None else [])]
            raise InputError(
                f"a file of outcomes must have columns for the question and the outcome; {_shown(source)} has none for "
                f"{listed(lacking)}: its columns are {', '.join(map(repr, opened.names))}."
            )
        cells = [Cell(f"c{i}", opened.types[i]) for i in range(len(opened.names))]
        key = " || ' | ' || ".join(cells[place].name for place in keys)
        said, taken = cells[value].name, f"NOT {among(f'lower({cells[value].name})', MISSING)}"
        if ORACLE in places and "output_type_id" in places:
            said, taken = cells[places["output_type_id"]].name, f"{cells[value].number()} = 1"
            if "output_type" in places:
                taken += f" AND {cells[places['output_type']].key} = 'pmf'"
        date = next((name for name in (*OURS.roles["resolved"], GJP_CLOSED) if name in places), None)
        time, text = ("NULL::DOUBLE", "NULL") if date is None else _date(cells[places[date]], date, values)
        own.run(
            f"CREATE TABLE said AS SELECT {key} AS question, {said} AS outcome, {taken} AS taken, {time} AS resolved, "
            f"{text} AS resolved_text FROM {opened.relation()}"
        )
        found = own.rows(
            """SELECT question, min(outcome), max(outcome), coalesce(max(resolved), '-inf'::DOUBLE),
                      coalesce(arg_min(resolved_text, rowid) FILTER (isnan(resolved)), '')
               FROM said WHERE taken GROUP BY question"""
        )
        log = RejectionLog(opened.place)
        for each in opened.lost(own.rows("SELECT count(*) FROM said")[0][0]):
            log.add(each.rule, each.line, f"of {_shown(source)} {each.says}")
    for name, one, other, *_ in found:
        if one.lower().removesuffix(".0") != other.lower().removesuffix(".0"):
            raise InputError(
                f"a question must have one outcome; question {named(name)} of {_shown(source)} has {one!r} and {other!r}."
            )
    questions, outcome, _, resolved, unread = [list(column) for column in zip(*found, strict=True)] or [[]] * 5
    return Outcomes(shared, questions, outcome, None if date is None else resolved, unread, log.done())


def _date(cell: Cell, name: str, values: Reading) -> tuple[str, str]:
    """When an outcome became known, and the text, in SQL; the Good Judgment Project has its own way to write days."""
    time = cell.resolved(values.date_format)
    if name == GJP_CLOSED and values.date_format is None:
        time = f"CASE WHEN isnan({time}) THEN {cell.resolved(GJP_DATES)} ELSE {time} END"
    return time, cell.text


def join_outcomes(own: Engine, entries: Entries, outcomes: Outcomes, source: Any) -> Entries:
    """Give each entry the outcome of its question and its date, in place of those that stand beside the forecasts."""
    joined = {"key": np.array(outcomes.question, dtype=object), "said": np.array(outcomes.outcome, dtype=object)}
    read = Cell("said", "VARCHAR").outcome(options="option" in entries.columns)
    columns = {"outcome": ("TINYINT", read), "outcome_text": ("VARCHAR", "said")}
    if outcomes.resolved is not None:
        joined |= {"moment": np.array(outcomes.resolved), "unread": np.array(outcomes.unread, dtype=object)}
        time = "CASE WHEN unread <> '' THEN 'nan'::DOUBLE ELSE moment END"
        columns |= {"resolved": ("DOUBLE", time), "resolved_text": ("VARCHAR", "unread")}
    own.connection.register("joined", joined)
    if not own.rows("SELECT 1 FROM entries JOIN joined ON entries.outcome_key = key LIMIT 1"):
        raise InputError(f"{_shown(source)} must have outcomes for the questions of the forecasts; it has none.")
    for column, (kind, _) in columns.items():
        own.connection.execute(f"ALTER TABLE entries DROP COLUMN IF EXISTS {column}")
        own.connection.execute(f"ALTER TABLE entries ADD COLUMN {column} {kind}")
    told = ", ".join(f"{column} = {sql}" for column, (_, sql) in columns.items())
    own.connection.execute(f"UPDATE entries SET {told} FROM joined WHERE outcome_key = key")
    own.connection.execute(f"UPDATE entries SET outcome = {NOTHING} WHERE outcome IS NULL")
    return entries._replace(columns=entries.columns | columns.keys())


def _shown(source: Any) -> str:
    return repr(str(source)) if is_path(source) else "the table of outcomes"
