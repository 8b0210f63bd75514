"""Tables of forecasts with everything that goes wrong in them: what is said, where, how often, and what is still used."""

from __future__ import annotations

import builtins
import codecs
import gzip
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from programs import PEAK
from refusals import input_error
from robustpool.errors import InputError
from robustpool.evaluation.comparison import compare
from robustpool.tables import csv_source
from robustpool.tables.pooling import aggregate_table
from robustpool.tables.reading import read_forecasts
from robustpool.tables.rejecting import RowsLeftOutWarning, summary_lines

if TYPE_CHECKING:
    from pathlib import Path

    from robustpool.tables.records import ForecastTable

LONG = "question_id,forecaster_id,probability\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write text or bytes to a file in a folder of its own."""

    def write(content: str | bytes, name: str = "forecasts.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def reasons(table: ForecastTable) -> list[str]:
    return [each.reason for each in table.rejected.first]


def summary(table: ForecastTable) -> list[str]:
    return summary_lines(table.rejected, table.tally)


# ------------------------------------------------------------------------------------------- one row is wrong, one is left


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("q2,ann,1.2", "probability must lie in [0, 1]; line 3 (question q2, forecaster ann) is 1.2"),
        ("q2,ann,1.0000001", "probability must lie in [0, 1]; line 3 (question q2, forecaster ann) is 1.0000001"),
        ("q2,ann,-0.1", "probability must lie in [0, 1]; line 3 (question q2, forecaster ann) is -0.1"),
        ("q2,ann,inf", "probability must lie in [0, 1]; line 3 (question q2, forecaster ann) is inf"),
        (
            "q2,ann,50",
            (
                "probability must lie in [0, 1]; line 3 (question q2, forecaster ann) is 50; "
                "if that is 50 %, write 0.5, or pass --percent (percent=True) if all are in per cent"
            ),
        ),
        ("q2,ann,0_1", "probability must be a number; line 3 (question q2, forecaster ann) is '0_1'"),
        ("q2,ann,high", "probability must be a number; line 3 (question q2, forecaster ann) is 'high'"),
        (
            "q2,ann,55%",
            (
                "probability must be a number; line 3 (question q2, forecaster ann) is '55%'; "
                "write 0.55, or pass --percent (percent=True) if all are in per cent"
            ),
        ),
        ("q2,ann,x%", "probability must be a number; line 3 (question q2, forecaster ann) is 'x%'"),
        ('q2,ann,"0,55"', "probability must be a number; line 3 (question q2, forecaster ann) is '0,55'; write 0.55"),
        (",ann,0.5", "question_id must not be empty; line 3 (question '', forecaster ann) is empty"),
        ("q2, ,0.5", "forecaster_id must not be empty; line 3 (question q2, forecaster '') is empty"),
        ("q2,ann", "a row must have 3 fields; line 3 has 2"),
        ("q2,ann,0.5,7", "a row must have 3 fields; line 3 has 4"),
        ('q2,"a\nnn",0.5,7', "a row must have 3 fields; line 3 has 4 with what is quoted up to line 4"),
    ],
)
def test_a_wrong_row_is_left_out_and_told(write: Any, row: str, reason: str) -> None:
    path = write(f"{LONG}q1,bob,0.6\n{row}\n")
    table = read_forecasts(path)
    assert reasons(table) == [reason]
    assert table.probability.tolist() == [0.6]
    with pytest.raises(InputError) as caught:
        read_forecasts(path, strict=True)
    lines = row.count("\n") + 1
    assert str(caught.value) == f"{reason} ({lines} of {lines + 1} rows cannot be used)."


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("weight", "0", "weight must be a positive number; line 3 (question q2, forecaster ann) is 0"),
        ("weight", "-1", "weight must be a positive number; line 3 (question q2, forecaster ann) is -1"),
        ("weight", "", "weight must be a positive number; line 3 (question q2, forecaster ann) is ''"),
        ("weight", "much", "weight must be a positive number; line 3 (question q2, forecaster ann) is 'much'"),
        ("weight", "inf", "weight must be a positive number; line 3 (question q2, forecaster ann) is inf"),
        ("timestamp", "soon", "timestamp must be ISO 8601 or seconds since 1970; line 3 (question q2, forecaster ann) is 'soon'"),
        ("timestamp", "31.12.2024", "timestamp must be ISO 8601 or seconds since 1970; line 3 (question q2, forecaster ann) is '31.12.2024'"),
        ("weight", "1_0", "weight must be a positive number; line 3 (question q2, forecaster ann) is '1_0'"),
        ("timestamp", "20240230", "timestamp must be ISO 8601 or seconds since 1970; line 3 (question q2, forecaster ann) is 20240230"),
        ("timestamp", "1_704_067_200", "timestamp must be ISO 8601 or seconds since 1970; line 3 (question q2, forecaster ann) is '1_704_067_200'"),
        ("timestamp", "1712121200000", "timestamp must be ISO 8601 or seconds since 1970; line 3 (question q2, forecaster ann) is 1712121200000"),
    ],
)  # fmt: skip
def test_the_other_columns_are_checked_too(write: Any, column: str, value: str, reason: str) -> None:
    table = read_forecasts(write(f"question_id,forecaster_id,probability,{column}\nq1,bob,0.6,1\nq2,ann,0.5,{value}\n"))
    assert reasons(table) == [reason]
    assert table.probability.tolist() == [0.6]


def test_a_row_is_rejected_once_and_the_summary_is_one_sentence(write: Any) -> None:
    rows = "".join(f"q{i},ann,{i}.5\n" for i in range(30))
    table = read_forecasts(write(f"{LONG}{rows}q1,bob,x\nq1,eve,\n"))
    assert table.rejected.counts == {"probability must lie in [0, 1]": 29, "probability must be a number": 1}
    assert len(table.rejected.first) == 20
    assert table.rejected.first[-1].line == 32  # every rule has an example
    first, second = summary_lines(table.rejected, table.tally)
    number_rule, range_rule = sorted(table.rejected.counts)
    assert first.startswith(f"30 of 32 rows were left out: 29 because {range_rule} (line 3 (question q1,")
    assert first.endswith(f", ...); 1 because {number_rule} (line 32 (question q1, forecaster bob) is 'x').")
    assert second == "1 row has no probability."


def test_a_long_value_is_cut_in_the_message(write: Any) -> None:
    (reason,) = reasons(read_forecasts(write(f"{LONG}q1,bob,0.6\n{'q' * 99},ann,{'x' * 99}\n")))
    assert len(reason) < 200


@pytest.mark.parametrize(("outcome", "shown"), [("annulled", "'annulled'"), ("0.5", "0.5"), ("0_1", "'0_1'")])
def test_an_outcome_that_cannot_be_read_costs_not_the_answers(write: Any, outcome: str, shown: str) -> None:
    path = write(f"{LONG.strip()},outcome\nq1,bob,0.6,1\nq2,ann,0.5,{outcome}\nq2,bob,0.4,{outcome}\nq2,eve,0.3,1\n")
    table = read_forecasts(path)
    assert sorted(table.probability.tolist()) == [0.3, 0.4, 0.5, 0.6]
    np.testing.assert_array_equal(table.outcome, [1, np.nan])
    assert table.rejected.total == 0
    rule = "outcome must be 0 or 1, false or true, no or yes, or empty"
    said = f"line 3 (question q2, forecaster ann) is {shown}"
    assert summary(table) == [f"the outcome of 1 question was not used: 1 because {rule} ({said})."]
    with pytest.raises(InputError) as caught:
        read_forecasts(path, strict=True)
    assert str(caught.value) == f"{rule}; {said} (the outcomes of 1 of 2 questions cannot be used)."
    with pytest.warns(RowsLeftOutWarning, match=r"^the outcome of 1 question was not used: 1 because outcome must"):
        pooled = aggregate_table(path, "mean")
    assert pooled.forecasts == pytest.approx([0.6, 0.4])


def test_mixed_outcomes_cost_the_outcome_and_name_both_lines(write: Any) -> None:
    path = write("question_id,forecaster_id,probability,outcome\nq1,a,0.1,1\nq2,a,0.2,0\nq1,b,0.3,\nq1,c,0.4,no\n")
    table = read_forecasts(path)
    assert table.rejected.total == 0
    assert table.tally.outcomes.counts == {"a question must have one outcome": 1}
    reason = "a question must have one outcome; line 5 (question q1) differs from line 2"
    assert [each.reason for each in table.tally.outcomes.first] == [reason]
    assert table.answers.tolist() == [3, 1]
    np.testing.assert_array_equal(table.outcome, [np.nan, 0])
    with input_error(r"^a question must have one outcome; .* \(the outcomes of 1 of 2 questions cannot"):
        read_forecasts(path, strict=True)


def test_the_outcome_of_a_question_with_options_is_one_of_them(write: Any) -> None:
    rows = "1,5,0.25,a,c\n1,5,0.5,b,c\n1,5,0.25,c,c\n2,5,0.5,a,a\n3,5,0.5,a,d\n3,5,0.5,b,d\n4,5,0.9,c,\n4,5,0.9,b,\n"
    table = read_forecasts(write(f"question_id,user_id,probability,answer_option,outcome\n{rows}"))
    np.testing.assert_array_equal(table.outcome, [2, 0, np.nan, np.nan])
    assert [each.reason for each in table.tally.outcomes.first] == [
        "outcome must be the name of an option, or empty; line 6 (question 3, forecaster 5) is 'd'"
    ]
    assert reasons(table) == [
        "the probabilities of the options must sum to 1 (within 0.05); line 8 (question 4, forecaster 5) sums to 1.8"
    ]
    assert (table.rejected.total, table.answers.tolist()) == (2, [1, 1, 1, 0])


def test_mixed_clusters_reject_the_question(write: Any) -> None:
    path = write("question_id,forecaster_id,probability,cluster\nq1,a,0.1,x\nq2,a,0.2,x\nq1,b,0.3,y\nq3,a,0.5,\n")
    table = read_forecasts(path)
    assert table.rejected.counts == {"a question must have one cluster": 2}
    assert table.cluster is not None
    assert len(set(table.cluster.tolist())) == 2
    assert table.answers.tolist() == [0, 1, 1]


# ----------------------------------------------------------------------------------------------- what is not a rejection


@pytest.mark.parametrize("nothing", ["", " ", "NA", "nan", "NaN", "null", "None", "N/A"])
def test_a_missing_answer_is_counted_and_not_rejected(write: Any, nothing: str) -> None:
    table = read_forecasts(write(f"{LONG}q1,bob,0.6\nq1,ann,{nothing}\n"), strict=True)
    assert (table.rows, table.tally.missing, table.rejected.total) == (1, 1, 0)


def test_repeated_rows_count_once_and_the_last_of_different_ones_counts(write: Any) -> None:
    table = read_forecasts(write(f"{LONG}q1,a,0.1\nq1,a,0.1\nq1,b,0.5\nq1,b,0.7\nq2,a,0.3\n"))
    assert table.probability.tolist() == [0.1, 0.7, 0.3]
    assert (table.tally.duplicates, table.tally.replaced, table.tally.superseded) == (1, 1, 0)
    assert summary_lines(table.rejected, table.tally) == [
        "1 row repeats an answer that counts once.",
        "1 row was replaced by a later row of the source.",
    ]


def test_with_timestamps_the_last_in_time_counts(write: Any) -> None:
    rows = "q1,a,0.1,2024-03-01\nq1,a,0.2,2024-01-01\nq1,a,0.3,\nq1,b,0.4,2024-01-01\nq1,b,0.4,2024-01-01\n"
    table = read_forecasts(write(f"{LONG.strip()},timestamp\n{rows}"))
    assert table.probability.tolist() == [0.1, 0.4]
    assert (table.tally.duplicates, table.tally.replaced, table.tally.superseded) == (1, 0, 2)


# --------------------------------------------------------------------------------------------------- the file as a whole


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", r"must have a line with the names of the columns; it is empty\.$"),
        ("\n \n", r"must have a line with the names of the columns; it is empty\.$"),
        (LONG, r"^forecasts must have at least one row; there is none below the columns 'question_id', 'forecaster_id'"),
        (f"{LONG}q1;ann;0.5\n", r"^a row must have 3 fields; line 2 has 1 \(1 of 1 row cannot be used\)\.$"),
        ("q1,ann,0.7\nq2,ann,0.6\n", r"^the first line must name the columns; it is 'q1, ann, 0\.7'\.$"),
        ("1,2,1\n1,3,0\n", r"^the first line must name the columns; it is '1, 2, 1'\.$"),
        (
            "question_id,ann,bob,ann\nq1,0.5,0.5,0.5\n",
            r"^columns must have different names; 'ann' is the name of columns 2 and 4\.$",
        ),
        (
            f'{LONG}q1,ann,0.5\nq2,"ann,0.6\nq3,ann,0.6\n',
            r"^a quote must be closed; the one in line 3 of '.*forecasts\.csv' is not\.$",
        ),
        ('question_id,"forecaster_id,probability\nq1,ann,0.5\n', r"^a quote must be closed; the one in line 1 of"),
        (f"{LONG}q1,ann,\nq1,bob,NA\n", r"^forecasts must have at least one answer; every probability is missing \(2 rows\)\.$"),
        (
            f"{LONG}q1,ann,70\nq1,bob,60\n",
            r"line 2 \(question q1, forecaster ann\) is 70; if that is 70 %, .*\(2 of 2 rows cannot be used\)\.$",
        ),
        (
            f"{LONG}q1,ann,0.5\nq\xe9,ann,0.5\n".encode("latin-1"),
            r"must be text in UTF-8, or in UTF-16 with a byte order mark; line 3 has the byte 0xe9: save the table as UTF-8\.$",
        ),
        (f"{LONG}q1,ann,0.5\n".encode("utf-16-le"), r"byte order mark; line 1 has a zero byte\.$"),
        (b"PK\x03\x04rest", r"must be a CSV or Parquet file; it is a workbook or another zip archive: save the table as CSV\.$"),
        (gzip.compress(LONG.encode() * 99, mtime=0)[:-20], r"cannot be read to its end \(.*\)\.$"),
        (
            "id,answer\n1,0.5\n2,0.6\n",
            (r"^a long table needs the columns question_id, forecaster_id, probability, a wide one a column of numbers for "
            r"each forecaster; question_id, forecaster_id and probability cannot be identified among the columns 'id', 'answer': "
            r"name them as --column question_id=NAME"),
        ),
        ("question,name\nq1,ann\n", r"a wide one a column of numbers for each forecaster; the columns are 'question', 'name'\.$"),
        (
            "question_id,probability,outcome\nq1,0.5,1\n",
            r"forecaster_id cannot be identified among the columns 'question_id', 'probability', 'outcome'",
        ),
        (
            "question_id,user,prob,forecast\nq1,ann,0.5,0.6\n",
            r"^one column must be the probability; 'prob' and 'forecast' are possible: pass --column probability=NAME",
        ),
        (
            "question_id,forecaster_id,probability,Probability\nq1,ann,0.5,0.6\n",
            r"^one column must be the probability; 'probability' and 'Probability' are possible: pass --column probability=NAME",
        ),
        (
            "question_id,forecaster_id,probability,Outcome,outcome\nq1,ann,0.5,1,0\n",
            r"^one column must be the outcome; 'Outcome' and 'outcome' are possible: pass --column outcome=NAME",
        ),
        ("question,ann,bob,Outcome,outcome\nq1,0.5,0.5,1,0\n", r"^one column must be the outcome; 'Outcome' and 'outcome' are possible"),
        ("question,ann,bob,resolution,resolved_to\nq1,0.5,0.5,1,0\n", r"^one column must be the outcome; 'resolution' and 'resolved_to'"),
        (
            "ifp_id,user_id,answer_option,Answer Option,value\n1-0,5,a,b,0.5\n",
            r"^one column must be the answer_option; 'answer_option' and 'Answer Option' are possible: rename one of them\.$",
        ),
        ("resolution,ann,bob\n1,0.5,0.6\n0,0.1,0.2\n", r"must name the questions; 'resolution' is the outcome: add a column question_id\.$"),
        (f"{LONG}q1,ann,0.5\n".encode("utf-32"), r"with a byte order mark; it is in UTF-32: save the table as UTF-8\.$"),
        (codecs.BOM_UTF32_BE + LONG.encode("utf-32-be"), r"with a byte order mark; it is in UTF-32: save the table as UTF-8\.$"),
        ("ann,bob\n0.5,0.6\n0.1,0.2\n", r"must name the questions; 'ann' holds probabilities: add a column question_id\.$"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used(write: Any, content: str | bytes, sentence: str) -> None:
    with input_error(sentence):
        read_forecasts(write(content))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with input_error(r"^the file '.*none\.csv' does not exist\.$"):
        read_forecasts(tmp_path / "none.csv")
    with input_error(r"cannot be read: it is a folder\.$"):
        read_forecasts(tmp_path)


def test_a_frame_with_a_name_twice(tmp_path: Path) -> None:
    frame = pd.DataFrame([["q", "a", 0.5, 0.6]], columns=["question_id", "forecaster_id", "probability", "probability"])
    arrow = pa.table([pa.array([each]) for each in frame.iloc[0]], names=list(frame))
    parquet.write_table(arrow, tmp_path / "f.parquet")
    for source in (frame, arrow, tmp_path / "f.parquet"):
        with input_error(r"^columns must have different names; 'probability' is the name of columns 3 and 4\.$"):
            read_forecasts(source)


@pytest.mark.parametrize("source", [3, [0.5], None, {"probability": [1]}, pd.Series([0.5])])
def test_what_is_no_source(source: Any) -> None:
    with input_error(r"^forecasts must be a file, a data frame .*; they are of the type "):
        read_forecasts(source)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"layout": "tall"}, r"^layout must be one of auto, long, wide; it is 'tall'\.$"),
        ({"format": "excel"}, r"^format must be one of auto, metaculus, .*; it is 'excel'\.$"),
        ({"columns": {"chance": "p"}}, r"^a role in columns must be one of question_id, .*; it is 'chance'\.$"),
        ({"columns": {"probability": "p"}}, r"^column probability is given as 'p'; the columns are 'question_id'"),
        ({"as_of": "2024-01-01"}, r"^as_of needs a column timestamp; there is none\.$"),
    ],
)
def test_options_that_make_no_sense(write: Any, options: dict[str, Any], sentence: str) -> None:
    with input_error(sentence):
        read_forecasts(write(f"{LONG}q1,ann,0.5\n"), **options)


def test_a_table_that_was_read_is_not_read_again(write: Any) -> None:
    table = read_forecasts(write(f"{LONG}q1,ann,0.5\n"))
    options: Any = {"percent": True, "outcomes": pl.DataFrame({"question_id": ["q1"], "outcome": [1]})}
    for name, value in options.items():
        with input_error(rf"^{name} is for reading a file .*; a ForecastTable has already been read\.$"):
            read_forecasts(table, **{name: value})
    with input_error(r"^odds is for reading a file .*; a ForecastTable has already been read\.$"):
        compare(table, odds="decimal")
    with input_error(r"^as_of is for reading"):
        aggregate_table(table, as_of=0.5)


@pytest.mark.parametrize("as_of", ["soon", float("nan")])
def test_a_time_that_is_none(write: Any, as_of: Any) -> None:
    path = write(f"{LONG.strip()},timestamp\nq1,ann,0.5,2024-01-01\n")
    with input_error(r"^as_of must be ISO 8601 or seconds since 1970; it is"):
        read_forecasts(path, as_of=as_of)
    with input_error(r"no answer is that old \(1 row\)\.$"):
        read_forecasts(path, as_of="2023-01-01")


# --------------------------------------------------------------------------------------------------- long lines, blocks


def test_a_line_that_is_too_long_is_rejected_in_bounded_memory(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_source, "BLOCK", 64)
    held: list[int] = []
    path = write(f"{LONG}q1,ann,0.5\nq2,{'x' * 5000},0.5\nq3,ann,0.25\n{'y' * 65}\nq4,ann,0.125")
    table = read_forecasts(path, progress=lambda done, _: held.append(done))
    assert table.questions == ["q1", "q3", "q4"]
    assert reasons(table) == [
        "a line must have at most 64 characters; line 3 is longer",
        "a line must have at most 64 characters; line 5 is longer",
    ]
    assert held[-1] == 200


MEASURED = f"""
import sys
from robustpool.tables.reading import read_forecasts
table = read_forecasts(sys.argv[1])
print(table.questions, table.rejected.first[0].reason, {PEAK}, sep="|")
"""


@pytest.mark.slow
def test_a_line_of_two_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        file.write(f"{LONG}q1,ann,0.5\nq2,".encode() + b"x" * (2 << 20))
        file.seek(2 << 30)  # a hole: the file takes no room on the disk
        file.write(b",0.5\nq3,ann,0.25\n")
    done = subprocess.run([sys.executable, "-c", MEASURED, path], capture_output=True, text=True, check=True)
    questions, reason, kilobytes = done.stdout.split("|")
    assert questions == "['q1', 'q3']"
    assert reason == "a line must have at most 1,048,576 characters; line 3 is longer"
    assert int(kilobytes) < 300_000


def test_a_header_that_is_too_long(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_source, "BLOCK", 64)
    with input_error(r"^line 1 of '.*' must name the columns; it is too long\.$"):
        read_forecasts(write(f"question_id,{'x' * 99},probability\nq1,ann,0.5\n"))


def test_a_field_that_is_too_long_for_the_csv_module(write: Any) -> None:
    table = read_forecasts(write(f'{LONG}"q1",ann,0.5\n"{"x" * 140_000}",ann,0.5\nq3,ann,0.5\n'))
    assert reasons(table) == ["a field must have at most 131,072 characters; line 3 has more"]
    assert table.questions == ["q1", "q3"]


def test_a_long_field_with_line_ends_is_too_long_and_not_open(write: Any) -> None:
    note = 'it is long\nand quotes ""x""\n' * 20_000
    path = write(f'{LONG}"q1",ann,0.5\n"q2 {note}",ann,0.5\nq3,ann,0.25\n')
    table = read_forecasts(path)
    assert table.questions == ["q1", "q3"]
    (reason,) = reasons(table)
    assert (
        reason == "a field must have at most 131,072 characters; line 3 has more with what is quoted up to line 40003"
    )
    assert table.tally.entries == 2 + 40_001


def test_the_other_way_of_writing_a_name_may_be_chosen(write: Any) -> None:
    path = write("question_id,forecaster_id,probability,Probability\nq1,ann,0.5,0.6\n")
    assert read_forecasts(path, columns={"probability": "Probability"}).probability.tolist() == [0.6]
    assert read_forecasts(write("question_id,ann,Ann,\xe9,\xfc\nq1,0.5,0.6,0.7,0.8\n")).rows == 4  # four people


def test_lines_of_spaces_before_the_header_are_skipped(write: Any) -> None:
    table = read_forecasts(write(f" \n\t \n\n{LONG}q1,ann,0.5\nq2,ann,2\n"))
    assert table.questions == ["q1", "q2"]
    assert [each.line for each in table.rejected.first] == [6]
    assert read_forecasts(write("\n \n  question_id ,ann,bob\nq1,0.5,0.6\n")).forecasters == ["ann", "bob"]


def test_a_quote_that_never_ends_does_not_fill_the_memory(write: Any) -> None:
    with input_error(r"the one in line 2 of"):
        read_forecasts(write(f'{LONG}q1,"ann,0.5\n' + "q2,bob,0.5\n" * 50_000))


@pytest.mark.parametrize("block", [16, 33, 1 << 20])
def test_quotes_and_lines_do_not_depend_on_blocks(write: Any, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    path = write('\nquestion,user,p\r\n"q ""1""","a,\nb",0.5\r\n\r\n q2 ,ann,2\r\nq2,"ann",0.25')
    monkeypatch.setattr(csv_source, "BLOCK", max(block, 20))
    table = read_forecasts(path)
    assert table.questions == ['q "1"', "q2"]
    assert table.forecasters == ["a,\nb", "ann"]
    assert [each.line for each in table.rejected.first] == [6]


@pytest.mark.parametrize(
    "encoded",
    [
        codecs.BOM_UTF8 + f"{LONG}q\xe9,ann,0.5\n".encode(),
        f"{LONG}q\xe9,ann,0.5\n".encode("utf-16"),
        codecs.BOM_UTF16_BE + f"{LONG}q\xe9,ann,0.5\n".encode("utf-16-be"),
        f"{LONG}q\xe9,ann,0.5".replace("\n", "\r").encode(),
        f"{LONG}q\xe9,ann,0.5\n".replace(",", ";").encode(),
        f"{LONG}q\xe9,ann,0.5\n".replace(",", "\t").encode(),
        gzip.compress(f"{LONG}q\xe9,ann,0.5\n".encode(), mtime=0),
    ],
    ids=["utf-8 with mark", "utf-16", "utf-16 big", "old line ends", "semicolons", "tabs", "gzipped"],
)
def test_text_of_every_kind(write: Any, encoded: bytes) -> None:
    assert read_forecasts(write(encoded)).questions == ["q\xe9"]


def test_utf_16_that_breaks(write: Any) -> None:
    broken = f"{LONG}q1,ann,0.5\n".encode("utf-16") + b"\x00\xd8\x20\x00"
    with input_error(r"line 3 has the byte 0x"):
        read_forecasts(write(broken))


# ----------------------------------------------------------------------------------------------------- percent, frames


def test_percentages_only_when_they_are_said_to_be(write: Any) -> None:
    table = read_forecasts(write(f"{LONG}q1,a,55\nq1,b,0.5\nq1,c,70%\nq1,d,120\n"), percent=True)
    assert table.probability.tolist() == [0.55, 0.7]
    assert reasons(table) == [
        (
            "a value below 1 must have a % sign if other values have one; line 3 (question q1, forecaster b) is 0.5: "
            "is it 0.5 % or 50 %?"
        ),
        "probability must lie in [0, 100] per cent; line 5 (question q1, forecaster d) is 120",
    ]


def test_signs_of_percentages_may_stand_apart(write: Any) -> None:
    table = read_forecasts(write(f"{LONG}q1,a,55 %\nq1,b, 0.5%\nq1,c,0\nq1,d,1\nq1,e,%\n"), percent=True)
    assert table.probability.tolist() == [0.55, 0.005, 0, 0.01]
    assert reasons(table) == ["probability must be a number; line 6 (question q1, forecaster e) is '%'"]
    wide = read_forecasts(write("question_id,ann,bob\nq1,70%,0.6\nq2,5%,40\n"), percent=True)
    assert wide.probability.tolist() == [0.7, 0.05, 0.4]
    assert reasons(wide)[0].endswith("line 2 (question q1, forecaster bob) is 0.6: is it 0.6 % or 60 %?")
    unsigned = read_forecasts(write(f"{LONG}q1,a,55\nq1,b,0.5\n"), percent=True)
    assert unsigned.probability.tolist() == [0.55, 0.005]


def test_fractions_that_are_said_to_be_percentages_are_asked_about(write: Any) -> None:
    def lines(*values: str) -> list[str]:
        rows = "".join(f"q{i},a,{value}\n" for i, value in enumerate(values))
        return summary(read_forecasts(write(LONG + rows), percent=True))

    assert lines("1", "0.52", "0.3", "55", "") == [
        (
            "warning: with --percent (percent=True) 0.52 is the probability 0.0052; "
            "75 % of the values are at most 1: are they fractions?"
        ),
        "1 row has no probability.",
    ]
    assert lines("0.52", "0.3", "55", "70") == []
    assert lines("0", "1", "0", "55") == []  # certain, or rare
    wide = read_forecasts(write("question_id,ann,bob\nq1,0.5,0.25\n"), percent=True)
    assert summary_lines(wide.rejected, wide.tally)[0].startswith("warning: with --percent (percent=True) 0.5 is")


def test_a_wide_table_names_the_cell_and_a_bad_outcome_costs_the_outcome(write: Any) -> None:
    table = read_forecasts(write("event,ann,bob,outcome,comment\nq1,0.5,x,1,fine\nq2,1.5,0.25,2,\nq3,,0.5,0,\n"))
    assert reasons(table) == [
        "probability must be a number; line 2 (question q1, forecaster bob) is 'x'",
        "probability must lie in [0, 1]; line 3 (question q2, forecaster ann) is 1.5",
    ]
    assert [each.reason for each in table.tally.outcomes.first] == [
        "outcome must be 0 or 1, false or true, no or yes, or empty; line 3 (question q2) is 2"
    ]
    assert (table.rejected.total, table.tally.entries, table.tally.missing) == (2, 6, 1)
    assert table.tally.ignored == ("comment",)
    assert table.probability.tolist() == [0.5, 0.25, 0.5]
    np.testing.assert_array_equal(table.outcome, [1, np.nan, 0])


@pytest.mark.parametrize("column", ["index", "level_0", "Unnamed: 0", "forecast", "forecasters"])
def test_columns_that_count_rows_or_are_our_own_output_are_no_forecasters(write: Any, column: str) -> None:
    table = read_forecasts(write(f"question_id,{column},ann,bob\nq1,0,0.5,0.25\nq2,1,0.75,0.5\n"))
    assert (table.forecasters, table.tally.ignored) == (["ann", "bob"], (column,))
    assert summary(table) == [f"columns that were not used: {column}.", "forecasters: ann and bob."]
    named = read_forecasts(write(f"{column},ann,bob\n7,0.5,0.25\n"))  # the first column names the questions
    assert (named.questions, named.forecasters) == (["7"], ["ann", "bob"])


def test_our_own_output_has_no_forecasters(write: Any) -> None:
    with input_error(r"the columns are 'question_id', 'forecast', 'forecasters', 'outcome'\.$"):
        read_forecasts(write("question_id,forecast,forecasters,outcome\nq1,0.5,1,1\n"))


def test_an_index_of_pandas_that_became_a_column_is_no_forecaster() -> None:
    frame = pd.DataFrame({"question_id": ["x", "y"], "ann": [0.5, 0.25], "bob": [0.75, 0.5]})
    assert read_forecasts(frame.reset_index()).forecasters == ["ann", "bob"]
    assert read_forecasts(frame.reset_index().reset_index()).forecasters == ["ann", "bob"]


def test_a_column_most_of_whose_values_are_no_probabilities_is_no_forecaster(write: Any) -> None:
    header, rows = "question_id,ann,volume,bob\n", "q1,0.5,1,0.25\nq2,1.5,120,0.5\nq3,0.5,-3,0.5\n"
    table = read_forecasts(write(header + rows))
    assert (table.forecasters, table.tally.ignored, table.tally.outside) == (["ann", "bob"], ("volume",), ("volume",))
    assert summary_lines(table.rejected, table.tally)[1:] == [
        "columns that were not used, because most of their values lie outside [0, 1]: volume.",
        "forecasters: ann and bob.",
    ]
    assert table.rejected.counts == {"probability must lie in [0, 1]": 1}  # of ann
    assert read_forecasts(write(header + "q1,50,99,25\nq2,5,100,7\n"), percent=True).forecasters[1] == "volume"
    assert read_forecasts(write(header + "q1,50,990,25\nq2,5,101,7\n"), percent=True).tally.outside == ("volume",)
    with input_error(r"forecaster ann\) is 50; if that is 50 %, .* \(3 of 3 answers cannot be used\)"):
        read_forecasts(write(header + "q1,50,990,25\n"))  # which would leave none
    lone = read_forecasts(write("question_id,ann,volume\nq1,0.5,100\n"))
    assert (lone.forecasters, lone.tally.outside) == (["ann"], ("volume",))


@pytest.mark.parametrize(
    ("column", "outcome", "clusters", "ignored"),
    [
        ("resolution", 1, 0, ()),
        ("Resolved to", 1, 0, ()),
        ("cluster_id", None, 2, ()),
        ("time", None, 0, ("time",)),
        ("date", None, 0, ("date",)),
        ("created_at", None, 0, ("created_at",)),
        ("weight", None, 0, ("weight",)),
        ("event", None, 0, ("event",)),
    ],
)
def test_columns_of_a_wide_table_that_are_no_forecasters(
    write: Any, column: str, outcome: int | None, clusters: int, ignored: tuple[str, ...]
) -> None:
    table = read_forecasts(write(f"question_id,{column},ann,bob\nq1,1,0.5,0.25\nq2,0,0.75,0.5\n"))
    assert table.forecasters == ["ann", "bob"]
    assert table.outcome.tolist()[0] == outcome or (outcome is None and np.isnan(table.outcome).all())
    assert (0 if table.cluster is None else len(set(table.cluster.tolist()))) == clusters
    assert table.tally.ignored == ignored
    assert any(column in line for line in summary_lines(table.rejected, table.tally)) == bool(ignored)


def test_columns_of_a_wide_table_in_any_order_and_with_two_times(write: Any) -> None:
    table = read_forecasts(write("date,time,Question,bob,ann\n1,2,q1,0.5,0.25\n"))
    assert (table.questions, table.forecasters) == (["q1"], ["bob", "ann"])
    assert read_forecasts(write("date,bob,ann\n20240101,0.5,0.25\n")).questions == ["20240101"]
    when = read_forecasts(write("question,when,bob,ann\nq1,7,0.5,0.25\n"), columns={"timestamp": "when"})
    assert (when.forecasters, when.tally.ignored) == (["bob", "ann"], ())
    assert when.timestamp is not None
    assert when.timestamp.tolist() == [7, 7]


def test_of_a_wide_table_answers_are_counted_and_not_rows(write: Any) -> None:
    path = write("question_id,ann,bob\nq1,0.5,\nq2,1.5,0.25\nq3,0.5\n")
    table = read_forecasts(path)
    lines = summary(table)
    left_out = "3 of 6 answers were left out: 2 because a row must have 3 fields (line 4 has 2, ...); 1 because"
    assert lines[0].startswith(left_out)
    assert lines[1:] == ["1 answer has no probability.", "forecasters: ann and bob."]
    assert table.rows + table.rejected.total + table.tally.missing == table.tally.entries == 6
    with input_error(r"\(3 of 6 answers cannot be used\)\.$"):
        read_forecasts(path, strict=True)
    with input_error(r"every probability is missing \(2 answers\)\.$"):
        read_forecasts(write("question_id,ann,bob\nq1,,\n"))


def test_a_probability_that_is_no_number_of_any_kind() -> None:
    frame = pl.DataFrame({"question_id": ["q1", "q2"], "forecaster_id": "a", "probability": [[0.5], [0.25, 0.5]]})
    with input_error(r"probability must be a number; row 0 \(question q1, forecaster a\) is \[0\.5\]"):
        read_forecasts(frame)


@pytest.mark.parametrize("library", [pd, pl])
def test_rows_of_a_frame_are_counted_from_0_and_a_warning_tells_them(library: Any) -> None:
    frame = library.DataFrame({"question": [1, 2, 2], "user": ["a", "a", None], "p": [0.5, 1.5, 0.5]})
    left_out = r"^2 of 3 rows were left out: .*row 1 \(question 2, forecaster a\) is 1\.5"
    with pytest.warns(RowsLeftOutWarning, match=left_out):
        pooled = aggregate_table(frame)
    assert type(pooled) is type(frame)
    assert list(pooled["question_id"]) == [1, 2]
    assert list(pooled["forecasters"]) == [1, 0]


@pytest.mark.parametrize("content", [b"", b"PARQ", f"{LONG}q1,ann,0.5\n".encode()])
def test_a_parquet_file_that_is_none(write: Any, content: bytes) -> None:
    with input_error(r"\.parquet' must be a Parquet file, as its name says; it does not begin as one: "):
        read_forecasts(write(content, "forecasts.parquet"))


def test_parquet_without_other_libraries(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with input_error(r"^the Parquet file '.*' cannot be read \("):
        read_forecasts(write(b"PAR1", "forecasts.parquet"))
    frame = pl.DataFrame({"question": ["q1", "q1"], "user": ["a", "b"], "p": [0.5, 0.25]})
    real = builtins.__import__

    def hidden(name: str, *rest: Any) -> Any:
        if name.split(".", maxsplit=1)[0] in ("pyarrow", "pandas"):
            raise ImportError(name)
        return real(name, *rest)

    for name in [name for name in sys.modules if name.split(".", maxsplit=1)[0] in ("pyarrow", "pandas")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", hidden)
    path = write(b"", "pooled.parquet")
    pooled = aggregate_table(read_forecasts(frame), "mean")
    pooled.write(path)
    assert pl.read_parquet(path).rows() == [("q1", 0.375, 2)]
    again = read_forecasts(path, columns={"forecaster_id": "forecasters", "probability": "forecast"})
    assert again.probability.tolist() == [0.375]


def test_lines_that_are_no_rows_do_not_move_the_lines_of_others(write: Any) -> None:
    rows = ["q1,ann", "q1,bob,1.2", "q2,bob", "q2", "q2,eve,1.3", "q3,ann,0.5", "q3,bob,1.4"]
    table = read_forecasts(write(LONG + "\n".join(rows)))
    assert [(each.line, each.reason[-2:]) for each in table.rejected] == [
        (2, " 2"), (3, ".2"), (4, " 2"), (5, " 1"), (6, ".3"), (8, ".4"),
    ]  # fmt: skip
    blank = read_forecasts(write(LONG + "\n\n".join(rows)))
    assert [each.line for each in blank.rejected] == [2, 4, 6, 8, 10, 14]


def test_of_an_answer_with_a_wrong_option_nothing_is_taken(write: Any) -> None:
    rows = "q,ann,A,0.6\nq,ann,B,0.38\nq,ann,C,x\nq,bob,A,0.2\nq,bob,B,0.3\nq,bob,C,0.5\nq,eve,,1\n"
    table = read_forecasts(write(f"question_id,forecaster_id,option,probability\n{rows}"))
    assert reasons(table) == [
        "an answer is used only if all of its options can be; line 2 (question q, forecaster ann) has one that cannot",
        "probability must be a number; line 4 (question q, forecaster ann) is 'x'",
        "option must not be empty; line 8 (question q, forecaster eve) is empty",
    ]
    assert (table.options, table.probability.tolist()) == ([("A", "B", "C")], [[0.2, 0.3, 0.5]])
    assert table.rows + table.rejected.total + sum(table.tally.aside.values()) == table.tally.entries == 7
    timed = "q,ann,A,0.6,2025-01-01\nq,ann,B,x,2025-01-01\nq,bob,A,0.5,2024-01-01\nq,bob,B,0.5,2024-01-01\nq,bob,C,,2024-01-01\n"
    path = write(f"question_id,forecaster_id,option,probability,timestamp\n{timed}")
    early = read_forecasts(path, as_of="2024-06-01")
    assert (early.tally.later, early.rejected.total, early.rows) == (1, 1, 1)
    assert early.rows + early.rejected.total + sum(early.tally.aside.values()) == early.tally.entries == 5


@pytest.mark.parametrize("written", ["5/1/12", "5-1-12", "1/2/2012", "12.1.5", "0012-01-05"])
def test_days_with_short_years_are_no_times_of_the_first_century(write: Any, written: str) -> None:
    table = read_forecasts(write(f"{LONG.strip()},timestamp\nq,ann,0.1,{written}\nq,bob,0.5,2024-01-01\n"))
    assert [each.line for each in table.rejected] == [2]


def test_spaces_at_the_end_of_a_file_and_lines_of_spaces(write: Any) -> None:
    path = write("question_id,probability,forecaster_id\nq1,0.5,ann\nq2,0.5,ann ")
    assert read_forecasts(path).forecasters == ["ann"]
    table = read_forecasts(write(f"{LONG}q1,ann,0.5\n   \nq1,bob,1.7\n"))
    assert [each.line for each in table.rejected] == [4]


def test_a_wide_table_with_very_many_forecasters(write: Any) -> None:
    header, row = ",".join(f"f{i}" for i in range(2000)), ",".join(["0.5"] * 2000)
    rows = "".join(f"q{i},{row}\n" for i in range(60))
    assert read_forecasts(write(f"question_id,{header}\n{rows}")).rows == 120_000


def test_names_that_differ_in_capital_letters_only(tmp_path: Path) -> None:
    frame = pl.DataFrame({"question_id": ["q"], "Ann": [0.5], "ann": [0.25], "ANN_1": [0.75]})
    frame.write_parquet(tmp_path / "f.parquet")
    for source in (frame, frame.to_arrow(), tmp_path / "f.parquet"):
        table = read_forecasts(source)
        assert (table.forecasters, table.probability.tolist()) == (["Ann", "ann", "ANN_1"], [0.5, 0.25, 0.75])


def test_a_small_file_that_swells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.tables.sources.MANY_ROWS", 1000)
    monkeypatch.setattr("robustpool.tables.csv_source.LARGE", 1000)
    rows = 100_000
    frame = pa.table({"question": ["q"] * rows, "user": ["a"] * rows, "p": [0.5] * rows})
    parquet.write_table(frame, tmp_path / "f.parquet", compression="zstd")
    with input_error(
        r"^the Parquet file '.*' expands too much; it has 100,000 rows, 300,000 values and [\d,]+ bytes in"
    ):
        read_forecasts(tmp_path / "f.parquet")
    (tmp_path / "f.csv.gz").write_bytes(gzip.compress(f"{LONG}{'q1,ann,0.5' * 99}\n".encode() * 1000))
    with input_error(r"^'.*gz' must not expand to 200 times its size or more\.$"):
        read_forecasts(tmp_path / "f.csv.gz")
    few = pa.table({"question": ["q"] * 900, "user": ["a"] * 900, "p": [0.5] * 900})
    parquet.write_table(few, tmp_path / "f.parquet", compression="zstd")
    monkeypatch.setattr("robustpool.tables.sources.LARGE", 10_000)
    assert read_forecasts(tmp_path / "f.parquet").rows == 1


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_parquet_file_is_one_sentence(tmp_path: Path, seed: int) -> None:
    path, rng = tmp_path / "f.parquet", np.random.default_rng(seed)
    rows = [f"q{i % 20}" for i in range(200)]
    parquet.write_table(pa.table({"question": rows, "user": rows[::-1], "p": [i % 2 / 3 for i in range(200)]}), path)
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    data[rng.integers(4, len(data), 3)] = rng.integers(0, 256, 3)
    path.write_bytes(data[: len(data) - int(rng.integers(0, 2)) * 9].tobytes())
    said = ""
    try:
        read_forecasts(path)
    except InputError as error:
        said = str(error)
    assert "\n" not in said
