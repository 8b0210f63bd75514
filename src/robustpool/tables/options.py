"""Questions with more than two outcomes: which options each has, and the entries of one answer as a distribution over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .engine import among
from .entries import NOTHING, OPTION_NO, OPTION_YES, UNREADABLE

if TYPE_CHECKING:
    from ..typing import Booleans, Floats, Integers
    from .engine import Engine
    from .entries import Entries

TOLERANCE = 0.05
"""Probabilities of the options may miss the sum 1 by this much, and are divided by their sum."""

SUMS_TO_1 = f"the probabilities of the options must sum to 1 (within {TOLERANCE:g})"
ONE_OPTION = "outcome must be the name of an option, or empty"
ALL_TAKEN = "an answer is used only if all of its options can be"
ALL_ODDS = "all options must have odds"


class Options(NamedTuple):
    """The options of all questions in the engine."""

    most: int  # the largest number of them
    outcome: str  # in SQL: the number of the option that came true


def find_options(engine: Engine, entries: Entries) -> Options | None:
    """Number the options of each question in the order in which they came; None if there are only yes and no.

    A question of which only one option is named has its opposite as the other one.
    """
    if "option" not in entries.columns:
        return None
    forecast = f"coalesce(fault, {entries.sieves}) >= {entries.sieves} AND option_key <> ''"
    other = f"NOT {among('option_key', OPTION_YES | OPTION_NO)}"
    if not entries.distributions and not engine.rows(f"SELECT 1 FROM entries WHERE {forecast} AND {other} LIMIT 1"):
        return None
    engine.connection.execute(
        f"""CREATE TABLE options AS
            SELECT question, option_key, arg_min(option, rowid) AS option,
                   row_number() OVER (PARTITION BY question ORDER BY min(rowid)) - 1 AS k,
                   CASE WHEN {among("option_key", OPTION_YES)} THEN 1 WHEN {among("option_key", OPTION_NO)} THEN 0 END AS side
            FROM entries WHERE {forecast} GROUP BY question, option_key"""
    )
    engine.connection.execute(
        """INSERT INTO options SELECT question, 'not ' || any_value(option_key), 'not ' || any_value(option), 1, 1 - any_value(side)
           FROM options GROUP BY question HAVING count(*) = 1"""
    )
    ((most,),) = engine.rows("SELECT max(k) + 1 FROM options")
    return Options(int(most), _outcome(engine) if "outcome" in entries.columns else "")


def _outcome(engine: Engine) -> str:
    """How a row says which option came true: by its name, by yes or no, or with 1 in the row of the option itself."""
    by_row = f"""SELECT count(*) FILTER (outcome = {UNREADABLE}) = 0
                   AND (SELECT count(*) FROM options WHERE regexp_full_match(option_key, '[01](\\.0)?')) = 0
                   AND count(DISTINCT outcome) FILTER (outcome >= 0) = 2 FROM entries WHERE fault IS NULL"""
    ((own,),) = engine.rows(by_row)
    if own and engine.rows("SELECT 1 FROM options WHERE side IS NULL LIMIT 1"):
        return f"CASE WHEN outcome = 1 THEN options.k ELSE {NOTHING} END"
    named = "named.question = entries.question AND named.option_key = coalesce(lower(trim(outcome_text, ' ()')), '')"
    sided = "sided.question = entries.question AND sided.side = outcome"
    return (
        f"CASE WHEN outcome = {NOTHING} THEN {NOTHING} ELSE coalesce((SELECT k FROM options named WHERE {named}), "
        f"(SELECT any_value(k) FROM options sided WHERE {sided}), {UNREADABLE}) END"
    )


class Distributions(NamedTuple):
    """Answers that are distributions, and those that are none."""

    columns: dict[str, Any]  # of the answers; p has the shape (answers, most), NaN beyond the question's own options
    wrong: Integers  # the first entry of each answer that is no distribution,
    sums: Floats  # its sum (NaN where an option is rejected),
    given: Integers  # and how many options it names
    again: int  # entries that say the same as another one of their answer
    replaced: int  # entries that another one of their answer replaces


def distributions(rows: dict[str, Any], options: Options, *, odds: bool) -> Distributions:
    """Entries ordered by question, forecaster, time and option as answers: of the entries for one option the last counts.

    An option that is not named has the probability 0, or of two what is left; odds are divided by their sum, whatever it is.
    """
    starts = np.ones(len(rows["p"]), np.bool_)
    starts[1:] = _differs(rows, "question") | _differs(rows, "f") | (_differs(rows, "t") if "t" in rows else False)
    answer = np.cumsum(starts) - 1
    bad = np.zeros(int(answer[-1]) + 1 if len(answer) else 0, np.bool_)
    bad[answer[rows["bad"]]] = True
    repeated = ~starts[1:] & ~_differs(rows, "k") & ~rows["bad"][1:] & ~rows["bad"][:-1]
    again = int((repeated & ~_differs(rows, "p")).sum())
    number = len(bad)
    table = np.full((number, options.most), np.nan)
    table[answer, rows["k"]] = rows["p"]
    at = np.flatnonzero(starts)
    own = np.arange(options.most) < rows["size"][at][:, None]
    given = (~np.isnan(table)).sum(axis=1)
    total = np.nansum(table, axis=1)
    half = (rows["size"][at] == 2) & (given == 1) & ~np.bool_(odds)
    table = np.where(own & np.isnan(table), np.where(half, 1 - total, 0.0)[:, None], table)
    total = np.where(half, 1.0, total)
    right: Booleans = (given == rows["size"][at]) & (total > 0) if odds else np.abs(total - 1) <= TOLERANCE
    right &= ~bad
    last = at + np.bincount(answer, minlength=number) - 1
    columns = {name: column[last][right] for name, column in rows.items() if name != "p"}
    columns |= {
        "p": (table / np.where(right, total, 1.0)[:, None])[right],
        "n": given[right],
        "r": rows["r"][at][right],
    }
    return Distributions(
        columns,
        rows["r"][at][~right],
        np.where(bad, np.nan, total)[~right],
        given[~right],
        again,
        int(repeated.sum()) - again,
    )


def _differs(rows: dict[str, Any], name: str) -> Booleans:
    return np.asarray(rows[name][1:] != rows[name][:-1])
