"""Dates of resolution: when the outcome of each question became known, from whatever the table has."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from refusals import input_error
from robustpool.evaluation.panel import resolved
from robustpool.tables import answers
from robustpool.tables.formats import OURS
from robustpool.tables.pooling import aggregate_table
from robustpool.tables.reading import Reading, answers_of, moment, read_forecasts
from robustpool.tables.recency import weigh_by_age
from robustpool.tables.records import ForecastTable
from robustpool.tables.rejecting import summary_lines

NOON = 1704283200.0  # 2024-01-03T12:00Z
END = moment("2024-01-03")  # the last moment of that day
DAY = 86_400.0

LONG = "question_id,forecaster_id,probability,outcome,{}\n"
RULE = "the date of resolution must be ISO 8601 or seconds since 1970"


def dates(source: Any, **how: Any) -> dict[str, float | None]:
    """The date of each question, None for one that has none."""
    return by_question(read_forecasts(source, **how))


def by_question(table: ForecastTable) -> dict[str, float | None]:
    assert table.resolved is not None
    return {
        name: None if np.isnan(when) else when
        for name, when in zip(table.questions, table.resolved.tolist(), strict=True)
    }


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# ----------------------------------------------------------------------------------------------------- how dates are written


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        *((written, END) for written in ("2024-01-03", " 2024-01-03 ", "20240103", "20240103.0", "2024-1-3", "2024/01/03")),
        *((written, NOON) for written in ("2024-01-03T12:00Z", "2024-01-03 13:00+01:00", "2024-01-03 12", "1704283200")),
        ("1.7042832e9", NOON),  # three numbers, and no day
        ("2024-01-03T00:00", NOON - DAY / 2),  # a time is said
        *((written, None) for written in ("", "NA", "true", "False", "no", "0", "1")),  # yes and no do not say when
    ],
)  # fmt: skip
def test_dates_in_every_spelling(written: str, seconds: float | None) -> None:
    Path("f.csv").write_text(LONG.format("resolved") + f"q,ann,0.5,1,{written}\nr,ann,0.5,0,2024-05-05T12:00Z\n")
    table = read_forecasts("f.csv")
    assert by_question(table) == {"q": seconds, "r": 1714910400.0}
    assert summary_lines(table.rejected, table.tally) == []


@pytest.mark.parametrize(
    ("date_format", "written", "seconds"), [("d/m/Y", "3/1/2024", END), ("d/m/Y H:M", "3/1/2024 12:00", NOON)]
)
def test_dates_in_the_format_that_is_said(date_format: str, written: str, seconds: float) -> None:
    Path("f.csv").write_text(LONG.format("resolved") + f"q,ann,0.5,1,{written}\nr,ann,0.5,0,2024-01-03\n")
    table = read_forecasts("f.csv", date_format=date_format)
    assert by_question(table) == {"q": seconds, "r": None}
    rule = "the date of resolution must be written as %d/%m/%Y" + " %H:%M" * ("H" in date_format)
    assert table.tally.dates.counts == {rule: 1}


FRAMES: dict[str, Any] = {
    "pandas, text": lambda: pd.DataFrame({"resolved": ["2024-01-03", None]}),
    "pandas, times": lambda: pd.DataFrame({"resolved": pd.to_datetime(["2024-01-03", None])}),
    "pandas, days": lambda: pd.DataFrame({"resolved": [date(2024, 1, 3), None]}),
    "pandas, numbers": lambda: pd.DataFrame({"resolved": [20240103, np.nan]}),
    "polars, days": lambda: pl.DataFrame({"resolved": [date(2024, 1, 3), None]}),
    "polars, times": lambda: pl.DataFrame({"resolved": [datetime(2024, 1, 3), None]}),  # noqa: DTZ001
    "pyarrow, days": lambda: pa.table({"resolved": [date(2024, 1, 3), None]}),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_dates_of_data_frames(kind: str, layout: str) -> None:
    """In a column of times a day is midnight, since it cannot be written otherwise."""
    frame = FRAMES[kind]()
    beside: dict[str, Any] = {"question_id": ["q", "r"]}
    beside |= (
        {"ann": [0.5, 0.25], "bob": [0.5, 0.75]} if layout == "wide" else {"user": ["ann", "ann"], "p": [0.5, 0.25]}
    )
    if isinstance(frame, pd.DataFrame):
        frame = frame.assign(**beside)
    elif isinstance(frame, pl.DataFrame):
        frame = frame.with_columns(**{name: pl.Series(column) for name, column in beside.items()})
    else:
        frame = pa.table({**beside, "resolved": frame["resolved"]})
    table = read_forecasts(frame)
    assert by_question(table) == {"q": END, "r": None}
    assert table.forecasters == (["ann", "bob"] if layout == "wide" else ["ann"])
    if isinstance(frame, pl.DataFrame):
        frame.write_parquet("f.parquet")
        assert dates("f.parquet") == {"q": END, "r": None}


def test_a_time_of_a_data_frame_is_that_moment() -> None:
    frame = pd.DataFrame(
        {"question": ["q"], "user": ["ann"], "p": [0.5], "resolved": pd.to_datetime(["2024-01-03 12:00"])}
    )
    assert dates(frame) == {"q": NOON}


def test_a_day_in_a_workbook_means_its_end() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["question_id", "ann", "bob", "resolved"])
    book.active.append(["q", 0.5, 0.5, datetime(2024, 1, 3)])  # noqa: DTZ001
    book.active.append(["r", 0.5, 0.5, datetime(2024, 1, 3, 12)])  # noqa: DTZ001
    book.save("f.xlsx")
    assert dates("f.xlsx") == {"q": END, "r": NOON}


# ------------------------------------------------------------------------------------------------------ which column it is


@pytest.mark.parametrize("name", [*OURS.roles["resolved"], "Resolution Date"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_the_column_is_known_by_its_name(name: str, layout: str) -> None:
    if layout == "long":
        Path("f.csv").write_text(LONG.format(name) + "q,ann,0.5,1,2024-01-03\nr,ann,0.5,0,\n")
    else:
        Path("f.csv").write_text(f"question_id,ann,bob,{name},outcome\nq,0.5,0.25,20240103,1\nr,0.5,0.25,,0\n")
    table = read_forecasts("f.csv")
    assert by_question(table) == {"q": END, "r": None}
    assert table.outcome.tolist() == [1, 0]
    assert table.forecasters == (["ann"] if layout == "long" else ["ann", "bob"])
    assert (table.tally.times, table.tally.ignored, table.tally.outside) == ((), (), ())


def test_yes_and_no_in_that_column_are_no_forecaster() -> None:
    Path("f.csv").write_text("question_id,ann,bob,resolved\nq,0.5,0.25,1\nr,0.5,0.25,0\n")
    table = read_forecasts("f.csv")
    assert table.forecasters == ["ann", "bob"]
    assert by_question(table) == {"q": None, "r": None}


def test_resolution_remains_the_outcome() -> None:
    Path("f.csv").write_text("question,user,p,resolution,resolution_date\nq,ann,0.5,yes,2024-01-03\n")
    table = read_forecasts("f.csv")
    assert (table.outcome.tolist(), by_question(table)) == ([1], {"q": END})
    Path("f.csv").write_text("question,user,p,resolution\nq,ann,0.5,yes\n")
    assert read_forecasts("f.csv").resolved is None


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_a_column_that_the_user_names(layout: str) -> None:
    wide = "question_id,ann,bob,settled\nq,0.5,0.25,2024-01-03\n"
    Path("f.csv").write_text("question,user,p,settled\nq,ann,0.5,2024-01-03\n" if layout == "long" else wide)
    assert read_forecasts("f.csv").tally.times == ("settled",)
    table = read_forecasts("f.csv", columns={"resolved": "settled"})
    assert by_question(table) == {"q": END}
    assert (table.tally.times, table.tally.ignored) == ((), ())


def test_two_columns_that_may_be_it_are_an_error() -> None:
    Path("f.csv").write_text("question,user,p,resolved_at,resolve_date\nq,ann,0.5,2024-01-03,2024-01-04\n")
    with input_error(r"'resolved_at' and 'resolve_date' are possible: pass --column resolved=NAME"):
        read_forecasts("f.csv")
    assert dates("f.csv", columns={"resolved": "resolved_at"}) == {"q": END}


def test_the_command_takes_a_name_and_tells_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from robustpool.cli import main

    Path("f.csv").write_text(LONG.format("settled") + "q,ann,0.5,1,2024-01-03\nr,ann,0.25,0,soon\ns,ann,0.25,0,never\n")
    monkeypatch.setattr("sys.argv", ["robustpool", "aggregate", "f.csv", "--column", "resolved=settled"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    printed, said = capfd.readouterr()
    assert printed.splitlines()[1:] == ["q,0.5,1,1", "r,0.25,1,0", "s,0.25,1,0"]
    assert said == (
        f"robustpool: 2 dates of resolution were not used: 2 because {RULE} (line 3 (question r, forecaster ann) is 'soon', "
        "line 4 (question s, forecaster ann) is 'never').\n"
    )


# --------------------------------------------------------------------------------------------------- one date for a question


def test_of_several_dates_the_latest_counts() -> None:
    rows = [
        "q,ann,0.5,1,2024-01-01",
        "r,ann,0.5,0,",
        "q,bob,0.5,1,2024-01-03",
        "q,cid,0.5,1,",
        "q,dan,1.5,1,2024-01-09",
    ]
    text = LONG.format("resolved") + "\n".join(rows)
    Path("f.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    table = read_forecasts("f.csv.gz")
    assert by_question(table) == {"q": END, "r": None}  # dan's row is not used
    assert table.tally.dates.total == 0


def test_a_date_that_cannot_be_read_leaves_the_answers() -> None:
    rows = "q,ann,0.5,1,soon\nq,bob,0.5,1,2024-01-03\nq,cid,0.5,1,later\nr,ann,0.5,0,2024-01-03\n"
    Path("f.csv").write_text(LONG.format("resolved") + rows)
    table = read_forecasts("f.csv")
    assert (table.rows, table.outcome.tolist(), table.rejected.total) == (4, [1, 0], 0)
    assert by_question(table) == {"q": None, "r": END}
    assert [each.line for each in table.tally.dates] == [2]
    says = f"{RULE} (line 2 (question q, forecaster ann) is 'soon')"
    assert summary_lines(table.rejected, table.tally) == [
        f"the date of resolution of 1 question was not used: 1 because {says}."
    ]
    with input_error(r"is 'soon' \(the dates of resolution of 1 of 2 questions cannot be used\)\.$"):
        read_forecasts("f.csv", strict=True)
    aggregate_table("f.csv", "mean")  # warnings are errors: nothing is missing there


def test_in_a_wide_table_no_forecaster_is_blamed() -> None:
    Path("f.csv").write_text("question_id,ann,bob,resolved\nq,0.5,0.25,99999999999999\nr,0.5,0.25,2024-01-03\n")
    table = read_forecasts("f.csv")
    assert by_question(table) == {"q": None, "r": END}
    assert [each.reason for each in table.tally.dates] == [f"{RULE}; line 2 (question q) is 99999999999999"]


def test_a_question_that_is_refused_has_no_date() -> None:
    Path("f.csv").write_text(
        "question_id,forecaster_id,probability,cluster,resolved\n"
        "q,ann,0.5,x,soon\nq,bob,0.5,y,2024-01-03\nr,ann,0.5,x,2024-01-03\n"
        "s,ann,0.5,x,2024-01-03\ns,bob,0.5,y,2024-01-03\n"
    )
    table = read_forecasts("f.csv")
    assert by_question(table) == {"q": None, "r": END, "s": None}
    assert (table.rejected.total, table.tally.dates.total) == (4, 0)


def test_dates_of_questions_with_options() -> None:
    rows = [
        *("q,ann,0.5,home,x,2024-01-01", "q,ann,0.25,draw,x,2024-01-03", "q,ann,0.25,away,x,"),
        *("r,ann,0.5,home,home,", "r,ann,0.5,away,home,"),
        *("s,ann,0.5,home,home,soon", "s,ann,0.5,away,home,2024-01-03"),
    ]
    Path("f.csv").write_text("question_id,forecaster_id,probability,option,outcome,resolved\n" + "\n".join(rows))
    table = read_forecasts("f.csv")
    assert table.options == [("home", "draw", "away"), ("home", "away"), ("home", "away")]
    assert by_question(table) == {"q": END, "r": None, "s": None}
    assert (table.tally.outcomes.total, table.tally.dates.total) == (1, 1)
    Path("f.csv").write_text("match,a_x,a_y,a_z,b_x,b_y,b_z,outcome,resolved\nq,.5,.3,.2,.4,.3,.3,x,2024-01-03\n")
    table = read_forecasts("f.csv")
    assert (table.forecasters, table.options, by_question(table)) == (["a", "b"], [("x", "y", "z")], {"q": END})


def test_dates_stay_with_their_questions_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are dealt out by hash; in a part, they are not in the order of the file."""
    frame = pl.DataFrame({"question": [f"q{i}" for i in range(50)] * 2, "user": ["a"] * 50 + ["b"] * 50, "p": 0.5})
    frame = frame.with_columns(resolved=pl.Series([*range(100, 150), *range(1000, 950, -1)]))
    expected = {f"q{i}": 1000.0 - i for i in range(50)}
    assert dates(frame) == expected
    seen: dict[str, float] = {}
    monkeypatch.setattr(answers, "HELD", 20)
    with answers_of(frame, Reading()) as everything:
        for table, first in everything.parts(room=10):
            (names,) = everything.texts(first, "question")
            assert table.resolved is not None
            seen.update(zip(names, table.resolved.tolist(), strict=True))
    assert seen == expected


# ------------------------------------------------------------------------------------------------------ a file of outcomes


FORECASTS = "question_id,forecaster_id,probability,resolved\nq,ann,0.5,2020-01-01\nr,ann,0.5,2020-01-01\ns,ann,0.5,\n"


def test_the_dates_of_the_outcomes_are_joined() -> None:
    Path("f.csv").write_text(FORECASTS)
    Path("o.csv").write_text("question_id,outcome,resolution_date\nq,1,2024-01-03\ns,0,2024-01-03T12:00Z\nt,0,soon\n")
    table = read_forecasts("f.csv", outcomes="o.csv")
    assert by_question(table) == {"q": END, "r": None, "s": NOON}  # none of those beside the forecasts
    assert (table.outcome[[0, 2]].tolist(), table.tally.dates.total) == ([1, 0], 0)
    Path("f.csv").write_text("question_id,forecaster_id,probability\nq,ann,0.5\n")
    assert dates("f.csv", outcomes="o.csv") == {"q": END}


def test_outcomes_without_dates_leave_those_beside_the_forecasts() -> None:
    Path("f.csv").write_text(FORECASTS)
    Path("o.csv").write_text("question_id,outcome\nq,1\n")
    early = moment("2020-01-01")
    assert dates("f.csv", outcomes="o.csv") == {"q": early, "r": early, "s": None}


def test_several_and_unreadable_dates_of_outcomes() -> None:
    Path("f.csv").write_text(FORECASTS)
    rows = "q,1,2024-01-03\nq,1,2024-01-02\nr,0,2024-01-03\nr,0,soon\ns,0,NA\ns,,2024-01-03\n"
    Path("o.csv").write_text("question_id,outcome,resolved\n" + rows)
    table = read_forecasts("f.csv", outcomes="o.csv")
    assert by_question(table) == {"q": END, "r": None, "s": None}  # a row without an outcome says nothing
    assert [each.reason for each in table.tally.dates] == [f"{RULE}; line 3 (question r, forecaster ann) is 'soon'"]
    frame = pl.DataFrame({"question_id": ["q", "r"], "outcome": [1, 0], "resolved": [date(2024, 1, 3), None]})
    assert dates("f.csv", outcomes=frame) == {"q": END, "r": None, "s": None}


def test_the_good_judgment_project_closes_its_questions_month_first() -> None:
    """As in its ``ifps.csv``, beside forecasts whose times are ISO 8601."""
    header = "ifp_id,user_id,answer_option,value,timestamp\n"
    rows = [f"100{i}-0,5,{option},0.5,2011-12-01 10:00:00\n" for i in (1, 2, 3) for option in "ab"]
    Path("fcasts.csv").write_text(header + "".join(rows))
    Path("ifps.csv").write_text("ifp_id,outcome,date_closed\n1001-0,b,1/2/12\n1002-0,a,12/16/11\n1003-0,,NA\n")
    table = read_forecasts("fcasts.csv", outcomes="ifps.csv")
    assert by_question(table) == {"1001-0": moment("2012-01-02"), "1002-0": moment("2011-12-16"), "1003-0": None}
    assert (table.rejected.total, table.tally.dates.total) == (0, 0)
    Path("ifps.csv").write_text("ifp_id,outcome,date_closed\n1001-0,b,2012-01-02\n1002-0,a,16.12.11\n")
    table = read_forecasts("fcasts.csv", outcomes="ifps.csv")
    assert by_question(table) == {"1001-0": moment("2012-01-02"), "1002-0": None, "1003-0": None}
    assert table.tally.dates.counts == {RULE: 1}


# ------------------------------------------------------------------------------------------------------------- the record


def made(**changes: Any) -> ForecastTable:
    return ForecastTable(
        **{
            "questions": ["rain", "snow", "hail"],
            "forecasters": ["ann", "bob"],
            "question": np.array([0, 0, 1, 2]),
            "forecaster": np.array([0, 1, 0, 1]),
            "probability": np.array([0.7, 0.6, 0.1, 0.2]),
            "outcome": np.array([1.0, np.nan, 0.0]),
            "timestamp": np.array([1.0, 2.0, 3.0, np.nan]),
            "resolved": np.array([5.0, np.nan, 7.0]),
            **changes,
        }
    )


def test_dates_are_checked_and_read_only() -> None:
    given = np.array([5.0, np.nan, 7.0])
    table = made(resolved=given)
    assert table.resolved is not None
    assert not table.resolved.flags.writeable
    assert not np.shares_memory(table.resolved, given)
    with input_error(r"^column resolved of a forecast table must have 3 entries; it has 4\.$"):
        made(resolved=np.zeros(4))
    with input_error(r"^resolved must be finite or NaN; that of question snow is inf \(2 of 3 questions\)\.$"):
        made(resolved=np.array([0, np.inf, -np.inf]))


def test_a_table_made_of_another_keeps_the_dates() -> None:
    table = resolved(made(), 1)
    assert (table.questions, by_question(table)) == (["rain", "hail"], {"rain": 5.0, "hail": 7.0})
    np.testing.assert_array_equal(np.asarray(table.timestamp), [1.0, 2.0, np.nan])
    bare = resolved(replace(made(), timestamp=None, resolved=None), 1)
    assert (bare.timestamp, bare.resolved) == (None, None)
    assert by_question(weigh_by_age(made(), 1.0)) == {"rain": 5.0, "snow": None, "hail": 7.0}
