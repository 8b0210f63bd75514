"""Tables of others and times: which columns of an export are taken, and which of several answers counts."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from forecasters import as_answers
from robustpool.errors import InputError
from robustpool.tables import answers
from robustpool.tables.pooling import aggregate_table
from robustpool.tables.reading import read_forecasts
from robustpool.tables.recency import weigh_by_age
from robustpool.tables.rejecting import summary_lines

if TYPE_CHECKING:
    from pathlib import Path

# ---------------------------------------------------------------------------------------------------- the formats of others


def test_metaculus(tmp_path: Path) -> None:
    header = (
        "Question ID,Forecaster ID,Forecaster Username,Start Time,End Time,Forecaster Count,Probability Yes,"
        "Probability Yes Per Category,Continuous CDF\n"
    )
    (tmp_path / "forecast_data.csv").write_text(
        header + "1,7,ann,2024-01-01 00:00:00+00:00,,,0.5,,\n"
        "1,7,ann,2024-02-01 00:00:00+00:00,,,0.75,,\n"
        '2,7,ann,2024-01-01 00:00:00+00:00,,,,"[0.5, 0.5]",\n'
        "1,,recency_weighted,2024-01-01 00:00:00+00:00,,12,0.6,,\n"
    )
    table = read_forecasts(tmp_path / "forecast_data.csv")
    assert as_answers(table) == {("1", "7"): 0.75}
    assert table.tally.superseded == 1
    assert table.rejected.counts == {
        "a row must be the forecast of one forecaster, not an aggregate of so many": 1,
        "a forecast must be on a binary question": 1,
    }


def test_the_good_judgment_project(tmp_path: Path) -> None:
    rows = [
        "1001-0,5,a,0.25,2012-01-01,1,closed",
        "1001-0,5,b,0.75,2012-01-01,1,closed",
        "1002-0,5,a,0.2,2012-01-01,1,closed",
        "1002-0,5,b,0.3,2012-01-01,1,closed",
        "1002-0,5,c,0.5,2012-01-01,1,closed",
        "1003-2,5,a,0.5,2012-01-01,1,closed",
        "1001-0,6,a,0.5,2012-01-02,4,closed",
        "1004-0,6,a,0.5,2012-01-02,1,voided",
    ]
    text = "ifp_id,user_id,answer_option,value,fcast_date,fcast_type,q_status\n" + "\n".join(rows)
    (tmp_path / "survey_fcasts.yr1.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    table = read_forecasts(tmp_path / "survey_fcasts.yr1.csv.gz")
    assert as_answers(table) == {("1001-0", "5"): 0.25}
    assert table.tally.complements == 1
    assert table.rejected.counts == {
        "a question must not be conditional on another (its name ends in -1 to -5)": 1,
        "a forecast must not be withdrawn (fcast_type 4)": 1,
        "a question must not be voided": 1,
        "a question must have two options, named a and b, 1 and 0 or yes and no": 3,
    }
    assert table.rejected.total + sum(table.tally.aside.values()) + table.rows == 8


def test_a_forecaster_who_says_only_how_likely_no_is_counts(tmp_path: Path) -> None:
    rows = [
        "1001-0,5,b,0.75,2012-01-01",
        "1001-0,5,b,0.75,2012-01-01",
        "1001-0,6,a,0.5,2012-01-01",
        "1001-0,6,b,0.5,2012-01-01",
        "1001-0,6,b,0.25,2012-01-03",
        "1001-0,7,b,0.9,2012-01-01",
        "1001-0,7,b,0.4,2012-01-02",
        "1001-0,7,a,0.625,2012-01-02",
        "1001-0,8,b,,2012-01-02",
        "1001-0,9,b,2,2012-01-02",
    ]
    (tmp_path / "f.csv").write_text("ifp_id,user_id,answer_option,value,fcast_date\n" + "\n".join(rows))
    table = read_forecasts(tmp_path / "f.csv")
    assert as_answers(table) == {("1001-0", "5"): 0.25, ("1001-0", "6"): 0.75, ("1001-0", "7"): 0.625}
    aside = {name: count for name, count in table.tally.aside.items() if count}
    assert aside == {"missing": 1, "duplicates": 1, "superseded": 3, "complements": 1}
    assert table.rejected.counts == {"probability must lie in [0, 1]": 1}
    assert "1 row is the probability of no, beside that of yes." in summary_lines(table.rejected, table.tally)
    untimed = [row.rpartition(",")[0] for row in rows[2:5]]
    (tmp_path / "f.csv").write_text("ifp_id,user_id,answer_option,value\n" + "\n".join(untimed))
    assert as_answers(read_forecasts(tmp_path / "f.csv")) == {("1001-0", "6"): 0.5}


def test_iqisa(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(
        "question_id,user_id,team_id,probability,answer_option,timestamp,outcome,n_opts\n"
        "1,5,0,0.25,a,2012-01-01 10:00:00,b,2\n1,5,0,0.75,b,2012-01-01 10:00:00,b,2\n2,5,0,0.5,a,2012-01-01,a,2\n"
    )
    table = read_forecasts(tmp_path / "f.csv")
    assert as_answers(table) == {("1", "5"): 0.25, ("2", "5"): 0.5}
    assert table.outcome.tolist() == [0, 1]
    assert table.tally.ignored == ("team_id", "n_opts")


def test_hubverse() -> None:
    frame = pl.DataFrame(
        {
            "origin_date": ["2024-01-06"] * 5,
            "location": ["US", "US", "US", "CA", "CA"],
            "model_id": list("aabab"),
            "output_type": ["pmf", "pmf", "pmf", "quantile", "pmf"],
            "output_type_id": ["yes", "no", "yes", "0.5", "low"],
            "value": [0.25, 0.75, 0.5, 17.0, 0.2],
        }
    )
    table = read_forecasts(frame)
    assert as_answers(table) == {("2024-01-06 | US", "a"): 0.25, ("2024-01-06 | US", "b"): 0.5}
    assert table.rejected.counts == {
        "output_type must be pmf": 1,
        "a question must have two options, named a and b, 1 and 0 or yes and no": 1,
    }


# -------------------------------------------------------------------------------------------------------------- time


@pytest.fixture
def timed(tmp_path: Path) -> Path:
    path = tmp_path / "timed.csv"
    path.write_text(
        "question_id,forecaster_id,probability,timestamp,outcome\n"
        "q1,ann,0.2,2024-01-01,1\nq1,ann,0.4,2024-01-03,1\nq1,bob,0.8,2024-01-05,1\nq2,bob,0.5,2020-01-01,\n"
    )
    return path


def test_as_of_takes_the_answers_until_then(timed: Path) -> None:
    early = read_forecasts(timed, as_of="2024-01-02")
    assert as_answers(early) == {("q1", "ann"): 0.2, ("q2", "bob"): 0.5}
    assert early.tally.later == 2
    assert as_answers(read_forecasts(timed, as_of=datetime(2024, 1, 3, tzinfo=UTC)))["q1", "ann"] == 0.4


def test_answers_without_a_time_are_not_known_to_be_that_old(timed: Path, tmp_path: Path) -> None:
    timed.write_text(timed.read_text() + "q1,eve,0.9,,1\nq2,eve,0.9,NA,\n")
    early = read_forecasts(timed, as_of="2024-01-02")
    assert as_answers(early) == {("q1", "ann"): 0.2, ("q2", "bob"): 0.5}
    assert (early.tally.later, early.tally.untimed) == (2, 2)
    assert summary_lines(early.rejected, early.tally) == [
        "2 rows are later than the time that was asked for.",
        "2 rows have no timestamp, which as_of and half_life need.",
    ]
    assert ("q1", "eve") in as_answers(read_forecasts(timed))
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability,timestamp\nq1,ann,0.5,\n")
    with pytest.raises(InputError, match=r"one answer; no answer has a timestamp, which as_of needs \(1 row\)\.$"):
        read_forecasts(tmp_path / "f.csv", as_of="2024-01-02")


def test_older_answers_count_less(timed: Path) -> None:
    weighted = weigh_by_age(read_forecasts(timed), half_life=2)
    assert weighted.weight is not None
    assert weighted.weight.tolist() == [0.5, 1, 1]
    pooled = aggregate_table(timed, "mean", half_life=2)
    assert pooled.forecasts == pytest.approx([(0.5 * 0.4 + 0.8) / 1.5, 0.5])
    assert weigh_by_age(weighted, half_life=2).weight == pytest.approx([0.25, 1, 1])


def test_of_a_day_as_of_is_the_end(timed: Path) -> None:
    timed.write_text(timed.read_text() + "q2,eve,0.9,2024-01-02T23:59:59.9Z,\nq2,dan,0.9,2024-01-03T00:00:00Z,\n")
    for day in ("2024-01-02", " 20240102 ", "20240102.0", 20240102, "2024-W01-2", date(2024, 1, 2)):
        early = as_answers(read_forecasts(timed, as_of=day))  # type: ignore[arg-type]
        assert ("q2", "eve") in early, day
        assert ("q2", "dan") not in early, day
    for moment in ("2024-01-02T00:00:00", datetime(2024, 1, 2, tzinfo=UTC), 1704153600, "1704153600"):
        assert ("q2", "eve") not in as_answers(read_forecasts(timed, as_of=moment)), moment


@pytest.mark.parametrize("room", [answers.ROOM, 1])
def test_half_life_leaves_out_answers_without_a_time(timed: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ROOM", room)
    without = aggregate_table(timed, "mean", half_life=2).forecasts
    timed.write_text(timed.read_text() + "q1,eve,0.9,,1\nq3,eve,0.5,NA,\n")
    pooled = aggregate_table(timed, "mean", half_life=2)
    np.testing.assert_array_equal(pooled.forecasts, [*without, np.nan])
    assert (pooled.answers.tolist(), pooled.tally.untimed) == ([2, 1, 0], 2)
    table = read_forecasts(timed)
    assert weigh_by_age(table, half_life=2).tally.untimed == 2
    from_table = aggregate_table(table, "mean", half_life=2)
    np.testing.assert_array_equal(from_table.forecasts, pooled.forecasts)
    assert from_table.tally.untimed == 2
    timed.write_text("question_id,forecaster_id,probability,timestamp\nq1,ann,0.5,\n")
    with pytest.raises(InputError, match=r"one answer; no answer has a timestamp, which half_life needs \(1 row\)\.$"):
        aggregate_table(timed, half_life=2)
    with pytest.raises(InputError, match=r"^half_life needs timestamps; no answer has one \(1 answer\)\.$"):
        aggregate_table(read_forecasts(timed), half_life=2)


def test_half_life_needs_times(timed: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^half_life must be a finite number, greater than 0; it is 0\.$"):
        aggregate_table(timed, half_life=0)
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability\nq1,ann,0.5\n")
    with pytest.raises(InputError, match=r"^half_life needs a column timestamp; there is none\.$"):
        aggregate_table(tmp_path / "f.csv", half_life=1)
