"""`robustpool aggregate FILE`: what is printed, what is written, and what is said on standard error."""

from __future__ import annotations

import io
import json
import os
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from refusals import input_error
from robustpool.tables.reading import read_forecasts
from robustpool.tables.rejecting import ASIDES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def robustpool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """Run a command in a folder with a file; its exit status, what it prints, and what it says."""
    from robustpool.cli import main

    monkeypatch.chdir(tmp_path)
    rows = "q1,a,0.7,1\nq1,b,0.6,1\nq2,a,1.5,0\nq2,b,0.2,0\n"
    Path("f.csv").write_text(f"question_id,forecaster_id,probability,outcome\n{rows}")

    Path("folder").mkdir()

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["robustpool", *arguments])
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        return status, *capfd.readouterr()

    return run


def test_a_file_on_the_command_line(robustpool: Any) -> None:
    status, printed, said = robustpool("aggregate", "f.csv", "--rule", "mean")
    assert (status, printed) == (0, "question_id,forecast,forecasters,outcome\nq1,0.6499999999999999,2,1\nq2,0.2,1,0\n")
    assert said == (
        "robustpool: 1 of 4 rows was left out: 1 because probability must lie in [0, 1] "
        "(line 4 (question q2, forecaster a) is 1.5).\n"
    )
    status, printed, _ = robustpool("aggregate", "f.csv", "-o", "out.csv", "--json")
    data = json.loads(printed)
    counts = {name: data[name] for name in ("questions", "rows", "forecasters", "answers")}
    assert counts == {"questions": 2, "rows": 4, "forecasters": 2, "answers": 3}
    assert data["output"] == "out.csv"
    assert data["rejected"]["counts"] == {"probability must lie in [0, 1]": 1}
    assert data["rejected"]["first"][0]["line"] == 4
    assert Path("out.csv").read_text().startswith("question_id,forecast,forecasters,outcome\nq1,0.654")
    data = json.loads(robustpool("aggregate", "f.csv", "--json")[1])
    assert (data["contradictions"], data["unfit"], data["without_forecast"]) == (0, 0, 0)
    assert [each["question_id"] for each in data["forecasts"]] == ["q1", "q2"]
    assert robustpool("aggregate", "f.csv", "-o", "out.parquet")[1] == "2 questions: the forecasts are in out.parquet\n"


def test_the_counts_of_the_json_add_up_to_the_rows(robustpool: Any) -> None:
    rows = ["q1,a,0.5,2024-01-01", "q1,a,0.5,2024-01-01", "q1,b,0.25,2024-01-01", "q1,b,0.75,2024-01-01"]
    rows += ["q2,a,,2024-01-01", "q2,a,3,2024-01-01", "q2,a,0.5,2024-02-01", "q2,a,0.5,", "q3", "q2,a,0.5,2023-01-01"]
    rows += ["q2,a,0.75,2023-02-01"]
    Path("f.csv").write_text("question_id,forecaster_id,probability,timestamp\n" + "\n".join(rows))
    data = json.loads(robustpool("aggregate", "f.csv", "--as-of", "2024-01-31", "--json")[1])
    assert data["rejected"]["total"] == 2
    counts = {name: data[name] for name in ("answers", *ASIDES)}
    ones = dict.fromkeys(["missing", "duplicates", "replaced", "superseded", "later", "untimed"], 1)
    assert counts == {"answers": 3, **ones, "complements": 0}
    assert data["rows"] == len(rows) == sum(counts.values()) + data["rejected"]["total"]


def test_names_that_begin_like_numbers_are_files(robustpool: Any) -> None:
    Path("2024.csv").write_text("question_id;x;y\nq1;55;45\n")
    assert robustpool("aggregate", "2024.csv", "--percent")[0] == 0
    assert robustpool("aggregate", "./2024.csv", "--rule", "mean", "--percent")[1].splitlines()[1] == "q1,0.5,2"
    Path("table").write_text("question_id,who,chance\nq1,a,0.5\n")
    assert robustpool("aggregate", "table", "--column", "forecaster_id=who", "--column", "probability=chance")[0] == 0
    assert robustpool("aggregate", "0.7", "0.6")[1] == "0.654281\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("f.csv --strict", r"line 4 (question q2, forecaster a) is 1.5 (1 of 4 rows cannot be used)."),
        ("none.csv", "the file 'none.csv' does not exist."),
        ("f.csv 0.7", "aggregate takes numbers or one file; the arguments are 'f.csv 0.7'."),
        ("f.csv f.csv", "aggregate takes numbers or one file; the arguments are 'f.csv f.csv'."),
        ("f.csv --percnt", "there is no option '--percnt'"),
        ("f.csv -o f.csv", "--out must differ from the input file; both are 'f.csv'."),
        ("f.csv -o ./f.csv", "--out must differ from the input file; both are 'f.csv'."),
        ("f.csv -o f.csv/x", "cannot be written"),
        ("f.csv -o out.xlsx", "the output must end in .csv, .tsv or .parquet; it is 'out.xlsx'."),
        ("f.csv --clip 0.7", "clip must lie in [0, 0.5); it is 0.7."),
        ("f.csv --explain", "--explain is for the numbers of one event; 'f.csv' is a file."),
        ("f.csv --per-forecaster", "--per-forecaster needs --recalibrate, which is missing."),
        ("f.csv --recalibrate magic", "--recalibrate must be one of slope, platt, isotonic; it is 'magic'."),
        ("f.csv --column p", "--column must be written as role=name, such as probability=p; it is 'p'."),
        ("f.csv --half-life 3", "half_life needs a column timestamp; there is none."),
        ("f.csv --rule magic", "rule must be one of robust, minimax, minimax-log, mean,"),
        ("f.csv --layout tall", "layout must be one of auto, long, wide; it is 'tall'."),
        (".", "'.' cannot be read: it is a folder."),
        ("folder", "'folder' cannot be read: it is a folder."),
        ("./0.6", "the file '0.6' does not exist."),
        ("f.csv --odds fractional", "odds must be decimal; they are 'fractional'."),
        ("f.csv --odds decimal --percent", "values must be percentages or odds; percent and odds are both"),
        ("f.csv --decimal ;", "decimal must be a point or a comma; it is ';'."),
        ("f.csv --date-format dd/mm/yyyy", "with a year, or their letters as in d/m/Y; it is 'dd/mm/yyyy'."),
        ("f.csv --date-format %d/%m", "date_format must have codes of strptime such as %d/%m/%Y, with a year"),
        ("f.csv --date-format %Q/%Y", "date_format must have codes of strptime such as %d/%m/%Y, with a year"),
        ("f.csv --options H", "options must be at least two different names, such as H,D,A; they are 'H'."),
        ("f.csv --options H,,A", "options must be at least two different names, such as H,D,A; they are 'H,,A'."),
        ("f.csv --options H,D", "with the options H, D a forecaster must have a column that ends in each"),
        ("f.csv --options H,D --layout long", "options are the endings of column names in a wide table"),
        ("f.csv --column question_id=question_id,day", "column question_id is given as 'day'; the columns are"),
        ("f.csv --rejects f.csv", "--rejects must differ from the other files; 'f.csv' is one of them."),
        ("f.csv --rejects o.csv -o o.csv", "--rejects must differ from the other files; 'o.csv' is"),
        ("f.csv --rejects f.csv/x", "cannot be written"),
        ("f.csv --rejects r.parquet", "--rejects must name a CSV file; it is 'r.parquet'."),
        ("0.7 --odds decimal", "--odds needs a file; '0.7' is not a file."),
        ("0.7 --date-format d/m/Y", "--date-format needs a file; '0.7' is not a file."),
        ("0.7 --rejects r.csv", "--rejects needs a file; '0.7' is not a file."),
        ("none/f", "the file 'none/f' does not exist."),
        ("", "aggregate needs something to combine; give some probabilities, or one file: `robustpool aggregate 0.7"),
        ("0.5 0_1", "report 2 must be a number; it is '0_1'."),
        ("nan 0.5", "report 1 must be a number; it is 'nan'."),
        ("0.5 1_0/20", "report 2 must be a number; it is '1_0/20'."),
        ("0.7 0.6 --percent", "--percent needs a file; '0.7' is not a file."),
        ("0.7 0.6 -o out.csv", "--out needs a file; '0.7' is not a file."),
        ("0.7 --half-life 3", "--half-life needs a file; '0.7' is not a file."),
    ],
)
def test_wrong_commands(robustpool: Any, arguments: str, sentence: str) -> None:
    status, printed, said = robustpool("aggregate", *arguments.split())
    assert (status, printed) == (2, "")
    assert sentence in said
    assert said.count("\n") == 1


WIDE = "question_id,index,ann,bob,volume\nq1,0,0.7,0.6,30\nq2,1,0.2,0.1,500\n"


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "fifo"])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_what_can_be_read_only_once(robustpool: Any, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    frame = pd.DataFrame({"question_id": ["q1", "q1"], "forecaster_id": ["a", "b"], "probability": [0.7, 0.6]})
    if kind == "parquet":
        frame.to_parquet("piped")
    else:
        frame.to_csv("piped", index=False, compression="gzip" if kind.endswith("gz") else None)
    monkeypatch.setattr(tempfile, "tempdir", "folder")
    with piped(Path("piped").read_bytes(), name):
        status, printed, said = robustpool("aggregate", name, "--rule", "mean", "-o", "-")
    assert (status, said) == (0, "")
    assert printed == "question_id,forecast,forecasters\nq1,0.6499999999999999,2\n"
    assert not list(Path("folder").iterdir())
    with piped(b"PK\x03\x04", name):
        status, printed, said = robustpool("compare", name)
    assert (status, printed) == (2, "")
    assert said.startswith(f"robustpool: '{name}' must be a CSV or Parquet file; it is a workbook")


@contextmanager
def piped(content: bytes, name: str) -> Iterator[None]:
    """What can be read once under this name: standard input, or a pipe of its own."""
    if name == "fifo":
        if not Path(name).exists():
            os.mkfifo(name)
        writer = threading.Thread(target=lambda: Path(name).write_bytes(content))
        writer.start()
        yield
        writer.join()
        return
    kept = os.dup(0)
    end, start = os.pipe()
    os.write(start, content)
    os.close(start)
    os.dup2(end, 0)
    os.close(end)
    try:
        with pytest.MonkeyPatch.context() as patch, open(0, "rb", closefd=False) as stream:
            patch.setattr("sys.stdin", io.TextIOWrapper(stream))
            yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_a_temporary_folder_for_input_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with input_error(r"^'-' needs a temporary folder, set by TMPDIR; it cannot be used \(No such file"):
        read_forecasts("-")


def test_a_number_is_a_number_and_a_path_is_a_file(robustpool: Any) -> None:
    Path("0.7").write_text("question_id,forecaster_id,probability\nq1,a,0.5\n")
    assert robustpool("aggregate", "0.7", "0.6")[1] == "0.654281\n"
    assert robustpool("aggregate", ".7", ".6")[1] == "0.654281\n"
    assert robustpool("aggregate", "./0.7")[1] == "question_id,forecast,forecasters\nq1,0.5,1\n"
    assert robustpool("aggregate", str(Path("0.7").absolute()))[0] == 0


def test_of_a_wide_table_the_forecasters_are_told(robustpool: Any) -> None:
    Path("wide.csv").write_text(WIDE)
    status, printed, said = robustpool("aggregate", "wide.csv", "--rule", "mean", "-o", "-")
    assert (status, printed.splitlines()[1]) == (0, "q1,0.6499999999999999,2")
    assert said.splitlines() == [
        "robustpool: columns that were not used: index.",
        "robustpool: columns that were not used, because most of their values lie outside [0, 1]: volume.",
        "robustpool: forecasters: ann and bob.",
    ]
    header, row = ",".join(f"f{i}" for i in range(7)), ",".join(["0.5"] * 7)
    Path("wide.csv").write_text(f"question_id,{header}\nq1,{row}\n")
    assert robustpool("aggregate", "wide.csv")[2] == "robustpool: forecasters: f0, f1, f2, f3 and 3 more.\n"


def test_an_outcome_that_is_not_used_is_told_and_compare_leaves_the_question_out(robustpool: Any) -> None:
    rows = [f"q{i},{who},0.{i % 8 + 1},{i % 2}" for i in range(40) for who in "ab"]
    rows += ["q40,a,0.5,annulled", "q41,a,0.5,0", "q41,b,0.5,1"]
    Path("f.csv").write_text("question_id,forecaster_id,probability,outcome\n" + "\n".join(rows))
    status, printed, said = robustpool("aggregate", "f.csv", "--rule", "mean", "--json")
    assert status == 0
    assert "robustpool: 2 outcomes were not used: 1 because outcome must be" in said
    data = json.loads(printed)
    assert (data["outcomes_not_used"]["total"], data["rejected"]["total"], data["answers"]) == (2, 0, 83)
    assert [(each["forecast"], each["outcome"]) for each in data["forecasts"][40:]] == [(0.5, None), (0.5, None)]
    _, printed, said = robustpool("compare", "f.csv", "--json", "--rule", "mean", "--draws", "100")
    assert json.loads(printed)["left_out"] == 2
    assert "2 outcomes were not used" in said


HALF = "question_id,forecaster_id,probability,outcome\nq1,a,0.5,1\nq1,b,1.5,1\nq1,c,2,1\n"


@pytest.mark.parametrize("command", ["aggregate", "compare"])
def test_more_than_half_rejected_is_no_answer(robustpool: Any, command: str) -> None:
    Path("half.csv").write_text(HALF)
    status, printed, said = robustpool(command, "half.csv", "--rejects", "rejects.csv")
    assert (status, printed) == (1, "")
    assert said.startswith(
        "robustpool: there is no forecast, because more than half of the rows cannot be used: 2 of 3 rows were left out: "
        "2 because probability must lie in [0, 1] (line 3"
    )
    assert [line.partition(",")[0] for line in Path("rejects.csv").read_text().splitlines()] == ["line", "3", "4"]
    status, printed, _ = robustpool(command, "half.csv", "--json")
    data = json.loads(printed)
    assert (status, data["rejected"]["total"], data["output"]) == (1, 2, None)
    assert "forecasts" not in data
    assert "rules" not in data
    Path("half.csv").write_text(HALF + "q2,b,,0\nq2,c,,0\n")  # what is missing is not right, either
    assert robustpool(command, "half.csv")[0] == 1
    Path("half.csv").write_text(HALF + "q2,a,0.5,0\nq2,b,,0\nq2,c,,0\n")  # half of what was given, and no more
    assert robustpool(command, "half.csv")[0] == 0


def test_odds_that_are_not_said_to_be_odds(robustpool: Any) -> None:
    rows = "".join(f"m{i},2.{i},3.4,2.9,7,{'HDA'[i % 3]}\n" for i in range(1, 9))
    Path("odds.csv").write_text("match,xH,xD,xA,shots,outcome\n" + rows)
    status, _, said = robustpool("aggregate", "odds.csv")
    assert status == 1  # not one is a probability
    assert "(24 of 24 answers cannot be used)" in said
    Path("odds.csv").write_text("match,xH,xD,xA,shots,outcome\nm0,0.5,0.3,0.2,7,H\n" + rows)
    status, printed, said = robustpool("aggregate", "odds.csv")
    assert (status, printed) == (1, "")
    assert said.splitlines()[0].endswith(" If they are decimal odds, pass --odds decimal.")
    status, printed, said = robustpool("aggregate", "odds.csv", "--odds", "decimal", "--json")
    assert status == 0, said
    assert json.loads(printed)["forecasters"] == 1


@pytest.mark.parametrize("command", ["aggregate", "compare"])
def test_outcomes_in_a_file_of_their_own(robustpool: Any, command: str) -> None:
    header = "ifp_id,ctt,cond,training,team,user_id,forecast_id,fcast_type,answer_option,value,fcast_date,q_status,timestamp\n"
    rows = [
        f"10{i:02d}-0,1,1,a,,{who},9{i},1,{option},0.{k},2012-01-03,closed,2012-01-03 10:00:00"
        for i in range(10)
        for who in (5, 6)
        for option, k in zip("abc", (2, 5, 3) if who == 5 else (1, 6, 3), strict=True)
    ]
    Path("fcasts.csv").write_text(header + "\n".join(rows))
    outcomes = "".join(f"10{i:02d}-0,{'abc'[i % 3]},1/2/12,3,(a) x (b) y (c) z\n" for i in range(10))
    Path("ifps.csv").write_text("ifp_id,outcome,date_closed,n_opts,options\n" + outcomes)
    more = ["--draws", "100"] if command == "compare" else []
    status, printed, said = robustpool(command, "fcasts.csv", "--outcomes", "ifps.csv", "--json", *more)
    assert status == 0, said
    data = json.loads(printed)
    assert (data["questions"], data["forecasters"]) == (10, 2)
    if command == "compare":
        assert "robustpool aggregate fcasts.csv --outcomes ifps.csv" in data["advice"]
    else:
        assert [each["outcome"] for each in data["forecasts"][:6]] == [1, 0, 0, 0, 1, 0]
    status, printed, said = robustpool(command, "fcasts.csv", "--outcomes", "none.csv")
    assert (status, printed, said) == (2, "", "robustpool: the file 'none.csv' does not exist.\n")
    status, printed, said = robustpool(command, "fcasts.csv", "--outcomes", "ifps.csv", "--rejects", "ifps.csv")
    assert (status, printed) == (2, "")
    assert said == "robustpool: --rejects must differ from the other files; 'ifps.csv' is one of them.\n"


def test_no_answer_is_not_written(robustpool: Any) -> None:
    Path("half.csv").write_text(HALF)
    assert robustpool("aggregate", "half.csv", "-o", "out.csv")[0] == 1
    assert not Path("out.csv").exists()
    assert robustpool("compare", "half.csv", "--report", "page.html")[0] == 1
    assert not Path("page.html").exists()


def test_all_rejected_rows_are_written_even_if_nothing_else_is(robustpool: Any) -> None:
    rows = "".join(f"q{i},a,{i}\n" for i in range(2, 102))
    Path("bad.csv").write_text("question_id,forecaster_id,probability\n" + rows)
    status, _, said = robustpool("aggregate", "bad.csv", "--rejects", "rejects.csv")
    assert status == 1
    assert said.endswith("(100 of 100 rows cannot be used).\n")
    assert len(Path("rejects.csv").read_text().splitlines()) == 101
    data = json.loads(robustpool("aggregate", "f.csv", "--json", "--rejects", "rejects.csv")[1])
    assert (data["rejects"], data["rejected"]["total"]) == ("rejects.csv", 1)
    assert len(Path("rejects.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ("0,37;2024-01-01", "If commas are decimal points, pass --decimal ,"),
        ("0.37;1/2/2024", "If dates have another format, pass --date-format, such as d/m/Y."),
        ("2.5;2024-01-01", "If they are decimal odds, pass --odds decimal."),
        ("x;2024-01-01", "(3 of 3 rows cannot be used)."),
    ],
)
@pytest.mark.parametrize("good", ["", "q;e;0.5;2024-01-01\n"])
def test_what_would_help_is_said(robustpool: Any, row: str, remedy: str, good: str) -> None:
    rows = "".join(f"q;{who};{row}\n" for who in "abc") + good
    Path("f.csv").write_text(f"question_id;forecaster_id;probability;timestamp\n{rows}")
    status, printed, said = robustpool("aggregate", "f.csv")
    assert (status, printed) == (1, "")
    assert said.splitlines()[0].endswith(remedy) or (bool(good) and "(3 of" in remedy)


def test_rows_of_another_kind_are_no_mistakes(robustpool: Any) -> None:
    rows = "".join(f"2024-01-06,US,a,quantile,0.{i},{i}\n" for i in range(1, 9))
    header = "reference_date,location,model_id,output_type,output_type_id,value"
    Path("hub.csv").write_text(f"{header}\n2024-01-06,US,a,pmf,yes,0.5\n{rows}")
    status, _, said = robustpool("aggregate", "hub.csv")
    assert status == 0
    assert "8 of 9 rows were left out: 8 because output_type must be pmf" in said


@pytest.mark.parametrize("command", ["aggregate", "compare"])
def test_a_column_that_names_few_questions_is_told(robustpool: Any, command: str) -> None:
    rows = "".join(f"E0,{i}/1/2024,0.{i},0.{i + 1},{i % 2}\n" for i in range(1, 8))
    Path("wide.csv").write_text("league,match_day,ann,bob,outcome\n" + rows)
    status, printed, said = robustpool(command, "wide.csv")
    assert (status, printed) == (1, "")
    assert said.startswith(
        "robustpool: there is no forecast, because 12 of 14 answers were replaced by later rows: the column 'league' identifies "
        "only 1 question; name others, such as --column question_id=NAME or NAME,NAME.\n"
    )
    unused = "robustpool: the column 'match_day' looks like a time and was not used; "
    assert f"{unused}to use a time column, pass --column timestamp=match_day.\n" in said
    status, printed, _ = robustpool(command, "wide.csv", "--column", "question_id=league,match_day", "--json")
    assert (status, json.loads(printed)["questions"]) == (0, 7)


def test_questions_without_answers_are_not_left_out(robustpool: Any) -> None:
    rows = [f"q{i},{who},0.{i % 8 + 1},{i % 2}" for i in range(20) for who in "ab"]
    rows += ["q20,a,,", "q21,a,,1", "q22,a,0.5,", "q23,a,7,"]
    Path("f.csv").write_text("question_id,forecaster_id,probability,outcome\n" + "\n".join(rows))
    _, printed, _ = robustpool("compare", "f.csv", "--json", "--rule", "mean", "--draws", "100")
    assert json.loads(printed)["left_out"] == 1


def test_the_advice_of_a_comparison_repeats_how_the_file_is_read(robustpool: Any) -> None:
    cells = [(i, who, i % 7 % 2) for i in range(80) for who in "ab"]
    rows = "".join(f"{i};1/2/2024;{who};0,{i % 3 + 1 + 6 * came};{came}\n" for i, who, came in cells)
    Path("f.csv").write_text("item;date;user;p;outcome\n" + rows)
    options = ["--column", "question_id=item,date", "--decimal", ",", "--date-format", "d/m/Y"]
    status, printed, said = robustpool("compare", "f.csv", *options, "--draws", "100", "--json")
    assert status == 0, said
    command = "robustpool fit f.csv --column question_id=item,date --decimal , --date-format d/m/Y"
    assert command in json.loads(printed)["advice"]


def test_progress_is_told_by_the_bytes_that_were_read(robustpool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, float]] = []

    @contextmanager
    def bar() -> Iterator[Callable[[str, float], None]]:
        yield lambda what, share: told.append((what, share))

    monkeypatch.setattr("robustpool.cli.aggregate_file.share_bar", bar)
    assert robustpool("aggregate", "f.csv")[0] == 0
    assert told[-1] == ("reading f.csv", 1.0)
    assert [share for _, share in told] == sorted(share for _, share in told)


def test_answers_can_be_recalibrated_first(robustpool: Any) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for question in range(200):
        chance = rng.uniform(0.1, 0.9)
        outcome = "" if question % 5 == 0 else int(rng.random() < chance)
        rows += [f"q{question},{who},{chance * 0.2 + 0.4},{outcome}" for who in "ab"]  # far too close to one half
    Path("shy.csv").write_text("question_id,forecaster_id,probability,outcome\n" + "\n".join(rows))

    def spread(*options: str) -> float:
        status, printed, said = robustpool("aggregate", "shy.csv", "--rule", "mean", "--json", *options)
        assert status == 0, said
        return float(np.std([each["forecast"] for each in json.loads(printed)["forecasts"]]))

    assert spread("--recalibrate", "slope") > 2 * spread()
    assert spread("--recalibrate", "platt", "--per-forecaster") > 2 * spread()
