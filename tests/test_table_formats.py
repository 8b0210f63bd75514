"""Tables of others and times: which columns of an export are taken, and which of several answers counts."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from forecasters import as_answers
from refusals import input_error
from robustpool.errors import MissingExtraError
from robustpool.tables import answers
from robustpool.tables.engine import engine
from robustpool.tables.pooling import aggregate_table
from robustpool.tables.reading import Reading, look_at, read_forecasts
from robustpool.tables.recency import weigh_by_age
from robustpool.tables.records import RowsLeftOut
from robustpool.tables.rejecting import RowsLeftOutWarning, summary_lines
from robustpool.tables.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from robustpool.tables.plans import Plan

# ---------------------------------------------------------------------------------------------------- the formats of others


METACULUS = "Question ID,Forecaster ID,Forecaster Username,Start Time,End Time,Forecaster Count,Probability Yes,"
METACULUS += "Probability Yes Per Category,Continuous CDF\n"


def test_metaculus(tmp_path: Path) -> None:
    (tmp_path / "forecast_data.csv").write_text(
        METACULUS + "1,7,ann,2024-01-01 00:00:00+00:00,,,0.5,,\n"
        "1,7,ann,2024-02-01 00:00:00+00:00,,,0.75,,\n"
        '2,7,ann,2024-01-01 00:00:00+00:00,,,,"[0.5, 0.5]",\n'
        "1,,recency_weighted,2024-01-01 00:00:00+00:00,,12,0.6,,\n"
    )
    table = read_forecasts(tmp_path / "forecast_data.csv")
    assert as_answers(table) == {("1", "7"): 0.75}
    assert table.tally.superseded == 1
    assert table.rejected.counts == {
        "a row must be the forecast of one forecaster, not an aggregate of several": 1,
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
    assert table.options == [("a", "b"), ("a", "b", "c")]
    np.testing.assert_allclose(table.probability, [[0.25, 0.75, np.nan], [0.2, 0.3, 0.5]])
    assert table.tally.complements == 3
    assert table.rejected.counts == {
        "a question must not be conditional on another (its name ends in -1 to -5)": 1,
        "a forecast must not be withdrawn (fcast_type 4)": 1,
        "a question must not be voided": 1,
    }
    assert table.rejected.total + sum(table.tally.aside.values()) + table.rows == 8
    binary = [row for row in rows if not row.startswith("1002")]
    (tmp_path / "f.csv").write_text("\n".join([text.partition("\n")[0], *binary]))
    assert as_answers(read_forecasts(tmp_path / "f.csv")) == {("1001-0", "5"): 0.25}


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
    assert dict(zip(table.questions, table.options or [], strict=True)) == {
        "2024-01-06 | US": ("yes", "no"),
        "2024-01-06 | CA": ("low", "not low"),
    }
    assert table.probability.tolist() == [[0.25, 0.75], [0.5, 0.5], [0.2, 0.8]]
    assert table.rejected.counts == {"output_type must be pmf": 1}


def test_metaculus_with_the_newest_row_first(tmp_path: Path) -> None:
    header = "question_id,question_title,type,forecaster,is_bot,probability_yes,forecast_timestamp,resolution,question_weight\n"
    (tmp_path / "f.csv").write_text(
        header + "1,Rain?,binary,ann,False,0.9,2024-03-01T00:00:00Z,yes,1.0\n"
        "1,Rain?,binary,bob,True,0.6,2024-02-02T00:00:00Z,yes,1.0\n"
        "1,Rain?,binary,ann,False,0.2,2024-01-01T00:00:00Z,yes,1.0\n"
        "2,Snow?,binary,ann,False,0.3,2024-01-01T00:00:00Z,no,0.5\n"
        "3,Hail?,binary,ann,False,0.3,2024-01-01T00:00:00Z,annulled,1.0\n"
        "4,How much?,numeric,ann,False,0.3,2024-01-01T00:00:00Z,7,1.0\n"
        "1,Rain?,binary,recency_weighted,False,0.7,2024-03-01T00:00:00Z,yes,1.0\n"
    )
    table = read_forecasts(tmp_path / "f.csv")
    assert as_answers(table) == {("1", "ann"): 0.9, ("1", "bob"): 0.6, ("2", "ann"): 0.3, ("3", "ann"): 0.3}
    np.testing.assert_array_equal(table.outcome, [1, 0, np.nan])
    assert table.tally.superseded == 1
    assert table.tally.ignored == ("question_title", "is_bot", "question_weight")
    assert table.rejected.counts == {
        "a forecast must be on a binary question": 1,
        "a row must be the forecast of one forecaster, not an aggregate of several": 1,
    }
    early = read_forecasts(tmp_path / "f.csv", as_of="2024-01-31")
    assert as_answers(early)["1", "ann"] == 0.2


def test_metaculus_forecasts_that_are_withdrawn_and_aggregates_without_a_count(tmp_path: Path) -> None:
    (tmp_path / "forecast_data.csv").write_text(
        METACULUS + "1,7,ann,2024-02-01 00:00:00+00:00,2024-03-01 00:00:00+00:00,,0.75,,\n"
        "1,7,ann,2024-01-01 00:00:00+00:00,2024-02-01 00:00:00+00:00,,0.5,,\n"
        "1,8,recency_weighted,2024-01-01 00:00:00+00:00,,,0.25,,\n"
        "1,,recency_weighted,2024-01-01 00:00:00+00:00,,,0.6,,\n"
    )
    table = read_forecasts(tmp_path / "forecast_data.csv")
    assert as_answers(table) == {("1", "8"): 0.25}  # somebody may be called so
    assert table.rejected.counts == {
        "a row must be the forecast of one forecaster, not an aggregate of several": 1,
        "a forecast must not be withdrawn (its end time)": 1,
    }
    early = read_forecasts(tmp_path / "forecast_data.csv", as_of="2024-02-15")
    assert as_answers(early) == {("1", "7"): 0.75, ("1", "8"): 0.25}


def test_the_good_judgment_project_with_all_its_columns_and_outcomes(tmp_path: Path) -> None:
    header = "ifp_id,ctt,cond,training,team,user_id,forecast_id,fcast_type,answer_option,value,fcast_date,expertise,"
    header += "q_status,viewtime,year,timestamp,outcome\n"
    rows = [
        "1001-0,1,1,a,,5,900,1,a,0.3,2012-01-03,3,closed,,1,2012-01-03 10:00:00,b",
        "1001-0,1,1,a,,5,900,1,b,0.7,2012-01-03,3,closed,,1,2012-01-03 10:00:00,b",
        "1001-0,1,1,a,,5,899,0,a,0.9,2012-01-01,3,closed,,1,2012-01-01 10:00:00,b",
        "1001-0,1,1,a,,5,899,0,b,0.1,2012-01-01,3,closed,,1,2012-01-01 10:00:00,b",
    ]
    (tmp_path / "f.csv").write_text(header + "\n".join(rows))
    table = read_forecasts(tmp_path / "f.csv")
    assert as_answers(table) == {("1001-0", "5"): 0.3}
    assert table.outcome.tolist() == [0]
    assert "cond" in table.tally.ignored
    three = [
        f"1002-0,1,1,a,,5,901,1,{option},0.{k},2012-01-03,3,closed,,1,2012-01-03,c"
        for option, k in zip("abc", "253", strict=True)
    ]
    (tmp_path / "f.csv").write_text(header + "\n".join(three))
    table = read_forecasts(tmp_path / "f.csv")
    assert table.probability.tolist() == [[0.2, 0.5, 0.3]]
    assert table.outcome.tolist() == [2]


HUB = "model_id,reference_date,target,horizon,location,target_end_date,output_type,output_type_id,value\n"


def test_of_a_hub_the_rows_with_probabilities_are_used(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(
        HUB + "A,2024-01-06,peak,1,US,2024-01-13,pmf,yes,0.3\nA,2024-01-06,peak,1,US,2024-01-13,pmf,no,0.7\n"
        "A,2024-01-06,inc hosp,1,US,2024-01-13,quantile,0.5,1200\nA,2024-01-06,inc hosp,1,US,2024-01-13,mean,NA,1250\n"
    )
    table = read_forecasts(tmp_path / "f.csv")
    assert as_answers(table) == {("2024-01-06 | peak | 1 | US | 2024-01-13", "A"): 0.3}
    assert table.rejected.counts == {"output_type must be pmf": 2}
    assert summary_lines(table.rejected, table.tally)[0].startswith("2 of 4 rows were left out: 2 because output_type")
    levels = "".join(
        f"A,2024-01-06,activity,1,US,2024-01-13,pmf,{level},{p}\n"
        for level, p in (("low", 0.5), ("moderate", 0.25), ("high", 0.25))
    )
    (tmp_path / "f.csv").write_text(HUB + levels)
    assert read_forecasts(tmp_path / "f.csv").probability.tolist() == [[0.5, 0.25, 0.25]]


# ------------------------------------------------------------------------------------------------------ options and odds

MATCHES = (
    "Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,HTHG,HTAG,HTR,HS,AS,B365H,B365D,B365A,BWH,BWD,BWA,B365AHH,B365AHA,"
    "MaxH,MaxD,MaxA,BbAvH,BbAvD,BbAvA,B365CH,B365CD,B365CA\n"
    "E0,13/08/2022,15:00,Arsenal,Leicester,4,2,H,2,0,H,19,7,1.36,5,8,1.4,4.8,7.5,1.9,1.9,1.42,5.2,9,1.38,5,8,1.4,5,8\n"
    "E0,13/08/2022,15:00,Villa,Everton,2,1,H,1,0,H,15,9,1.9,3.5,4,,,,1.9,1.9,2,3.6,4.2,1.92,3.5,4,1.9,3.5,4\n"
)


def planned(path: Path, text: str, **options: Any) -> Plan:
    """What the columns of a file are taken for."""
    path.write_text(text)
    how = Reading(**options)
    with engine() as own:
        return look_at(open_source(path, own), own, how)


def grouped(plan: Plan) -> dict[str, list[str | None]]:
    """The options of each forecaster."""
    groups: dict[str, list[str | None]] = {}
    for cell in plan.cells:
        groups.setdefault(cell.forecaster, []).append(cell.option)
    return groups


def test_outcomes_of_a_file_of_their_own(tmp_path: Path) -> None:
    forecasts, outcomes = tmp_path / "f.csv", tmp_path / "o.csv"
    forecasts.write_text("question_id,forecaster_id,probability,outcome\n1,a,0.5,0\n2,a,0.5,\n3,a,0.5,1\n")
    outcomes.write_text("question_id,resolution,closed\n1,yes,x\n2,No,x\n2,No,y\n3,,x\n9,1,x\n")
    table = read_forecasts(forecasts, outcomes=outcomes)
    np.testing.assert_array_equal(table.outcome, [1, 0, np.nan])  # those beside the forecasts do not count
    outcomes.write_text("question_id,outcome\n1,yes\n1,no\n")
    with input_error(r"^a question must have one outcome; question 1 of '.*o\.csv' has 'no' and 'yes'\.$"):
        read_forecasts(forecasts, outcomes=outcomes)
    outcomes.write_text("question_id,outcome\n8,yes\n")
    with input_error(r"must have outcomes for the questions of the forecasts; it has none\.$"):
        read_forecasts(forecasts, outcomes=outcomes)
    outcomes.write_text("title,when\n8,yes\n")
    with input_error(r"has none for the question and the outcome: its columns are 'title', 'when'\.$"):
        read_forecasts(forecasts, outcomes=outcomes)
    task = {"location": ["US", "US", "US"], "output_type": ["pmf"] * 3, "output_type_id": ["low", "mid", "high"]}
    hub = pl.DataFrame({"model_id": "m", "reference_date": "2024-01-06", **task, "value": [0.2, 0.3, 0.5]})
    oracle = pl.DataFrame({**task, "oracle_value": [0, 1, 0]})
    found = read_forecasts(hub, outcomes=oracle)
    assert (found.options, found.outcome.tolist()) == ([("low", "mid", "high")], [1.0])


def test_bookmakers(tmp_path: Path) -> None:
    plan = planned(tmp_path / "E0.csv", MATCHES)
    assert (plan.format.name, plan.odds) == ("bookmakers", True)
    assert grouped(plan) == {"B365": ["H", "D", "A"], "BW": ["H", "D", "A"]}  # no aggregates, handicaps, closing odds
    header = MATCHES.partition("\n")[0].split(",")
    assert [header[place] for place in plan.question] == ["Date", "HomeTeam", "AwayTeam"]
    assert header[plan.roles["outcome"]] == "FTR"
    assert plan.times == ()
    as_probabilities = "Date,HomeTeam,AwayTeam,annH,annD,annA\n1/1/20,a,b,0.5,0.3,0.2\n"
    plan = planned(tmp_path / "E0.csv", as_probabilities)
    assert (grouped(plan), plan.odds) == ({"ann": ["H", "D", "A"]}, False)
    home_wins = planned(tmp_path / "E0.csv", "Date,HomeTeam,AwayTeam,ann,bob\n1/1/20,a,b,0.5,0.3\n")
    assert (home_wins.format.name, home_wins.forecasters) == ("robustpool", ("ann", "bob"))


def test_odds_of_bookmakers_become_distributions(tmp_path: Path) -> None:
    (tmp_path / "E0.csv").write_text(MATCHES)
    table = read_forecasts(tmp_path / "E0.csv")
    assert table.questions == ["13/08/2022 | Arsenal | Leicester", "13/08/2022 | Villa | Everton"]
    inverse = 1 / np.array([[1.36, 5, 8], [1.4, 4.8, 7.5], [1.9, 3.5, 4]])
    np.testing.assert_allclose(table.probability, inverse / inverse.sum(axis=1, keepdims=True), rtol=1e-14)
    assert table.outcome.tolist() == [0, 0]  # the first option came true
    assert (table.rejected.total, table.tally.missing) == (0, 3)
    pooled = aggregate_table(tmp_path / "E0.csv", "mean")
    np.testing.assert_allclose(np.nansum(pooled.forecasts, axis=1), 1, rtol=1e-14)


def test_bookmakers_of_any_kind(tmp_path: Path) -> None:
    text = MATCHES.replace("HomeTeam", "Home").replace("AwayTeam", "Away").replace("FTR", "Res")
    columns = {"question_id": "Date,Home,Away", "outcome": "Res"}
    plan = planned(tmp_path / "f.csv", text, odds="decimal", options="H,D,A", columns=columns)
    assert grouped(plan) == {"B365": ["H", "D", "A"], "BW": ["H", "D", "A"]}
    assert (plan.odds, len(plan.question)) == (True, 3)
    told = planned(tmp_path / "f.csv", text, odds="decimal", columns={"question_id": "Date,Home,Away"})
    assert grouped(told) == grouped(plan)
    named = planned(tmp_path / "f.csv", "q,x-home,x-away,y home,y away,zhome\n1,2,2,2,2,9\n", options=["home", "away"])
    assert grouped(named) == {"x": ["home", "away"], "y": ["home", "away"]}
    assert named.ignored == ("zhome",)


@pytest.mark.parametrize(
    ("header", "rows", "options"),
    [
        ("q,x_win,x_draw,x_loss,y_win,y_draw,y_loss", ["1,.5,.3,.2,.4,.4,.2"], {"x": 3, "y": 3}),
        ("q,x.1,x.2,x.3", ["1,.5,.3,.2", "2,.2,.4,.4", "3,.1,.1,.8"], {"x": 3}),
        ("q,x:yes,x:no", ["1,.5,.5"], {"x": 2}),
        ("q,x - a,x - b,x - c,y - a,y - b,y - c", ["1,.5,.3,.2,.4,.4,.2"], {"x": 3, "y": 3}),
        ("q,xH,xD,xA,yH,yD,yA", ["1,.5,.3,.2,.4,.4,.2"], {"x": 3, "y": 3}),
        ("q,x_win,x_loss,outcome", ["1,.5,.9,win", "2,.5,.5,"], {"x": 2}),
        ("q,xH,xD,xA,shots,outcome", ["1,2.5,3.2,2.9,7,D"], {"x": 3}),
        # by accident
        ("q,x_win,x_loss,outcome", ["1,.5,.9,1", "2,.5,.5,0"], None),
        ("q,x_0,x_1,outcome", ["1,.5,.9,1", "2,.5,.5,0"], None),
        ("q,team_a,team_b,team_c", ["1,.5,.3,.2"], None),
        ("q,team_a,team_b,team_c", ["1,.5,.3,.2", "2,.5,.5,.6", "3,.1,.1,.8"], None),
        ("q,x_win,x_loss,y_win,y_loss", ["1,.5,.5,.4,.6"], None),
        ("q,x_a,x_b,x_c,y_a,y_b", ["1,.5,.3,.2,.4,.6"] * 3, None),
        ("q,x_yes,x_no", ["1,.5,.9"], None),
        ("q,annH,annD,annA", ["1,.5,.9,.9"] * 3, None),
        ("q,x_a,x_b,x_c,ann,bob,cid,dan", ["1,.5,.3,.2,.4,.6,.5,.5"] * 3, None),
    ],
)
def test_options_are_told_by_their_names_and_sums(
    tmp_path: Path, header: str, rows: list[str], options: dict[str, int] | None
) -> None:
    plan = planned(tmp_path / "f.csv", "\n".join([header, *rows]))
    if options is None:
        assert {cell.option for cell in plan.cells} == {None}
    else:
        assert {who: len(names) for who, names in grouped(plan).items()} == options


def test_a_long_table_with_options(tmp_path: Path) -> None:
    text = "question_id,forecaster_id,probability,{}\nq1,ann,0.5,x\nq1,ann,0.3,y\nq1,ann,0.2,z\n"
    for name in ("option", "answer_option", "category", "choice"):
        assert planned(tmp_path / "f.csv", text.format(name)).roles["option"] == 3, name
    assert planned(tmp_path / "f.csv", text.format("pick"), columns={"option": "pick"}).roles["option"] == 3
    topics = "question_id,forecaster_id,probability,category\nq1,ann,0.5,x\nq2,ann,0.3,y\nq1,bob,0.2,x\n"
    assert "option" not in planned(tmp_path / "f.csv", topics).roles
    half_wide = planned(tmp_path / "f.csv", "question_id,option,ann,bob\nq1,x,0.5,0.5\nq1,y,0.5,0.5\n")
    assert (half_wide.roles["option"], half_wide.forecasters) == (1, ("ann", "bob"))


def test_decimal_odds_of_one_side_are_not_normalised(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("question_id;ann;bob;votes\nq1;2,5;4;1200\nq2;1;2;8000\nq3;0,8;-3;4000\n")
    table = read_forecasts(tmp_path / "f.csv", odds="decimal", decimal=",")
    assert as_answers(table) == {("q1", "ann"): 0.4, ("q1", "bob"): 0.25, ("q2", "ann"): 1.0, ("q2", "bob"): 0.5}
    assert table.rejected.counts == {"decimal odds must be at least 1": 2}
    assert table.tally.outside == ("votes",)
    assert "outside [1, 1000]: votes" in summary_lines(table.rejected, table.tally)[1]


def test_a_decimal_comma_is_only_read_where_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("question_id;forecaster_id;probability;weight\nq1;ann;0,75;1,5\nq1;bob;0.5;1\n")
    table = read_forecasts(tmp_path / "f.csv", decimal=",")
    assert as_answers(table) == {("q1", "ann"): 0.75, ("q1", "bob"): 0.5}
    assert table.weight is not None
    assert table.weight.tolist() == [1.5, 1]
    assert read_forecasts(tmp_path / "f.csv").rejected.total == 1


def test_what_is_wrong_with_a_decimal_comma_is_told_too(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("question_id;forecaster_id;probability\nq1;ann;75,5\nq1;bob;0,5\nq1;cid;7%\n")
    first, second = read_forecasts(tmp_path / "f.csv", decimal=",").rejected.first
    assert first.reason.endswith(
        "is '75,5'; if that is 75.5 %, write 0.755, or pass --percent (percent=True) if all are in per cent"
    )
    assert second.reason.startswith("probability must be a number; line 4")
    (rejected,) = read_forecasts(tmp_path / "f.csv", decimal=",", percent=True).rejected.first
    assert rejected.reason.endswith("is '0,5': is it 0,5 % or 50 %?")


@pytest.mark.parametrize("date_format", ["d/m/Y", "%d/%m/%Y"])
def test_dates_in_another_form(tmp_path: Path, date_format: str) -> None:
    rows = "q1,ann,0.5,13/02/2024\nq1,ann,0.75,1/3/2024\nq1,bob,0.25,2024-01-01\nq1,cid,0.25,1/3/24\nq1,dan,0.5,\n"
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability,date\n" + rows)
    table = read_forecasts(tmp_path / "f.csv", date_format=date_format)
    assert as_answers(table) == {("q1", "ann"): 0.75, ("q1", "dan"): 0.5}
    assert table.rejected.counts == {"timestamp must be written as %d/%m/%Y": 2}  # a year of two digits is not 24
    short = read_forecasts(tmp_path / "f.csv", date_format="d/m/y")
    assert ("q1", "cid") in as_answers(short)


def test_several_columns_name_a_question_together() -> None:
    frame = pl.DataFrame({"day": [1, 1], "place": ["x", "y"], "ann": [0.5, 0.25], "bob": [0.5, 0.75]})
    for named in (["day", "place"], "day,place"):
        assert read_forecasts(frame, columns={"question_id": named}).questions == ["1 | x", "1 | y"]
    long = pl.DataFrame({"a,b": ["x"], "date": ["2024-01-01"], "user": ["ann"], "p": [0.5]})
    assert read_forecasts(long, columns={"question_id": "a,b"}).questions == ["x"]
    table = read_forecasts(long, columns={"question_id": ["a,b", "date"]})
    assert (table.questions, table.timestamp) == (["x | 2024-01-01"], None)
    nothing = pl.DataFrame({"day": ["1", ""], "place": ["x", ""], "user": ["ann"] * 2, "p": [0.5] * 2})
    table = read_forecasts(nothing, columns={"question_id": "day,place"})
    assert table.rejected.counts == {"question_id must not be empty": 1}


def test_a_time_that_is_not_used_is_said() -> None:
    frame = pl.DataFrame({"question_id": ["q"], "user": ["ann"], "p": [0.5], "Made on": ["2024-01-01"]})
    table = read_forecasts(frame)
    assert summary_lines(table.rejected, table.tally) == [
        "the column 'Made on' looks like a time and was not used; to use a time column, pass --column 'timestamp=Made on'."
    ]
    for dates in (["2024-03-01", "2024-02-01"], ["1.3.24", "NA"], ["01/03/2024", ""], ["2024-03-01T10:00:00Z"] * 2):
        newest_first = pl.DataFrame({"question": "q", "user": "ann", "p": [0.9, 0.2], "when": dates})
        sentence = r"^the column 'when' looks like a time and was not used; to use a time column, pass --column "
        with pytest.warns(RowsLeftOutWarning, match=sentence):
            aggregate_table(newest_first)
    for words in (["a", "b"], ["", "NA"], ["2024-03-01", "soon"], ["0.5", "1.5"]):
        assert read_forecasts(newest_first.with_columns(when=pl.Series(words))).tally.times == ()
    used = read_forecasts(frame, columns={"timestamp": "Made on"})
    assert (used.tally.times, used.tally.ignored) == ((), ())
    timed = frame.with_columns(pl.lit("2024-01-02").alias("submitted_at"))
    assert read_forecasts(timed).tally.times == ()  # one is used, and the other may be anything
    wide = pl.DataFrame({"question_id": "q", "asked_at": [20240102, 20240101], "ann": [0.5, 0.75], "b": [0.5, 0.5]})
    assert read_forecasts(wide).tally.times == ("asked_at",)
    assert read_forecasts(wide, columns={"timestamp": "asked_at"}).probability.tolist() == [0.5, 0.5]
    two = frame.with_columns(pl.lit("x").alias("close_date"))
    assert summary_lines(RowsLeftOut(), read_forecasts(two).tally) == [
        "the columns 'Made on' and 'close_date' look like times and were not used; to use a time column, pass --column 'timestamp=Made on'."
    ]


# ----------------------------------------------------------------------------------------------------------------- Excel


def test_excel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    rows: list[list[Any]] = [["question_id", "forecaster_id", "probability", "date", "outcome"]]
    rows += [["q1", "ann", 0.75, datetime(2024, 1, 2), True], [None] * 5, [2, "bob", 0.5, date(2024, 1, 1), 1]]  # noqa: DTZ001
    rows += [["q1", "ann", 0.25, datetime(2024, 1, 1), True], ["q2", "ann", 1.5, None, None]]  # noqa: DTZ001
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "f.xlsx")
    table = read_forecasts(tmp_path / "f.xlsx")
    assert as_answers(table) == {("q1", "ann"): 0.75, ("2", "bob"): 0.5}
    assert table.outcome.tolist()[:2] == [1, 1]
    assert [each.reason for each in table.rejected] == [
        "probability must lie in [0, 1]; row 6 (question q2, forecaster ann) is 1.5"
    ]
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    sentence = r'^an Excel file needs the package of the extra "excel" \(openpyxl\); install robustpool\[excel\]\.$'
    with pytest.raises(MissingExtraError, match=sentence):
        read_forecasts(tmp_path / "f.xlsx")


def test_sheets_that_are_not_read_are_told(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["question_id", "forecaster_id", "probability"], ["q1", "ann", 0.5]):
        book.active.append(row)
    book.create_sheet("empty")
    book.create_sheet("more").append(["q2", "ann", 0.5])
    book.save(tmp_path / "f.xlsx")
    table = read_forecasts(tmp_path / "f.xlsx")
    (line,) = summary_lines(table.rejected, table.tally)
    assert line == "sheets that were not read (only the first sheet is read): more."


def test_what_is_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "f.xlsx"
    path.write_bytes(b"PK\x03\x04 and more")
    with input_error(r"must be a CSV or Parquet file; it is a workbook or another zip archive"):
        read_forecasts(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<broken")
    with input_error(r"^the workbook '.*f\.xlsx' cannot be read \("):
        read_forecasts(path)
    path.write_text("question_id,forecaster_id,probability\nq1,ann,0.5\n")
    assert read_forecasts(path).rows == 1


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
        "2 rows are later than as_of.",
        "2 rows have no timestamp, which as_of and half_life need.",
    ]
    assert ("q1", "eve") in as_answers(read_forecasts(timed))
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability,timestamp\nq1,ann,0.5,\n")
    with input_error(r"one answer; no answer has a timestamp, which as_of needs \(1 row\)\.$"):
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
    with input_error(r"one answer; no answer has a timestamp, which half_life needs \(1 row\)\.$"):
        aggregate_table(timed, half_life=2)
    with input_error(r"^half_life needs timestamps; no answer has one \(1 answer\)\.$"):
        aggregate_table(read_forecasts(timed), half_life=2)


def test_half_life_needs_times(timed: Path, tmp_path: Path) -> None:
    with input_error(r"^half_life must be a finite number, greater than 0; it is 0\.$"):
        aggregate_table(timed, half_life=0)
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability\nq1,ann,0.5\n")
    with input_error(r"^half_life needs a column timestamp; there is none\.$"):
        aggregate_table(tmp_path / "f.csv", half_life=1)


# ------------------------------------------------------------------------------- what goes wrong in another file or a copy


def test_lines_of_a_file_of_outcomes_that_are_no_rows_are_told(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability\nq1,ann,0.5\nq2,ann,0.25\n")
    (tmp_path / "o.csv").write_text("question_id,outcome\nq1,1\nq2,0,7\n")
    table = read_forecasts(tmp_path / "f.csv", outcomes=tmp_path / "o.csv")
    assert table.outcome[0] == 1
    (line,) = summary_lines(table.rejected, table.tally)
    assert line.startswith("the outcome of 1 question was not used: 1 because a row must have 2 fields (line 3 of '")
    assert [each.line for each in table.tally.outcomes] == [3]
    with input_error(r"^a row must have 2 fields; line 3 of '.*o\.csv' has 3 \(the outcomes of 1 of 2 q"):
        read_forecasts(tmp_path / "f.csv", outcomes=tmp_path / "o.csv", strict=True)


def test_a_damaged_file_of_outcomes_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability\nq1,ann,0.5\n")
    path = tmp_path / "o.parquet"
    pl.DataFrame({"question_id": ["q1", "q2"] * 3000, "outcome": ["1", "0"] * 3000}).write_parquet(path)
    data = path.read_bytes()
    path.write_bytes(data[:20] + b"\xff" * 80 + data[100:])
    with input_error(r"^the Parquet file '.*o\.parquet' cannot be read \("):
        read_forecasts(tmp_path / "f.csv", outcomes=path)


def test_an_error_names_the_workbook_and_not_our_copy(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "f.xlsx")
    with input_error(r"f\.xlsx' must have a line with the names of the columns; it is empty\.$"):
        read_forecasts(tmp_path / "f.xlsx")


def test_an_error_names_standard_input_and_not_our_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"question_id,forecaster_id,probability\nq1,ann,0.5\nq\xff,bob,0.5\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    with input_error(r"^'-' must be text in UTF-8, .*; line 3 has the byte 0xff"):
        read_forecasts("-")


@pytest.mark.slow
def test_rows_behind_an_open_quote_are_not_lost_in_silence(tmp_path: Path) -> None:
    """The engine parts a large file into pieces, and finds its way again in the next piece."""
    path = tmp_path / "f.csv"
    path.write_text('question_id,forecaster_id,probability\nq1,ann,0.5\nq1,"bob,0.5\n' + "q1,cid,0.5\n" * 4_000_000)
    with input_error(r"has 2 rows below its header, and [\d,]+ were found: is the quote in line 3 closed\?$"):
        read_forecasts(path)
