"""Tables over HTTP: every format gives what the commands give, and no upload harms the server or reads its files."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import httpx
import polars as pl
import pytest
from starlette.datastructures import QueryParams

import robustpool as rp
from bombs import gzip_bomb, parquet_bomb, sparse_workbook, workbook_bomb
from quick import one_of
from robustpool.cli import main
from robustpool.errors import InputError, TooLargeError
from robustpool.tables.reading import read_forecasts
from robustpool.tables.sources import NamedFile, open_engine
from robustpool.web.multipart import boundary, split_parts
from robustpool.web.queries import read_query
from robustpool.web.tables import COMPARE_OPTIONS
from sample_tables import as_csv, as_excel, as_parquet, rows
from servers import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from servers import Server

SCORED = "draws=100&rule=mean&rule=robust"
"""Little work."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running
        assert running.call("GET", "health").json()["status"] == "ok"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server with small limits."""
    return tmp_path_factory.mktemp("small")


@pytest.fixture(scope="module")
def small(folder: Path) -> Iterator[Server]:
    """A server with small limits."""
    with serving(folder, table_bytes=2**20, body_bytes=2**19) as running:
        yield running


FORMATS: dict[str, tuple[Callable[[], bytes], str]] = {
    "csv": (as_csv, "text/csv"),
    "csv.gz": (lambda: gzip.compress(as_csv()), "text/csv"),
    "utf16.csv": (lambda: as_csv().decode().encode("utf-16"), "text/csv"),
    "parquet": (as_parquet, "application/vnd.apache.parquet"),
    "xlsx": (as_excel, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "unnamed": (as_csv, "application/octet-stream"),
}


def post(server: Server, path: str, body: bytes, kind: str = "text/csv", **headers: str) -> httpx.Response:
    return server.call("POST", path, content=body, headers={"Content-Type": kind, **headers})


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["detail"]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command prints with --json."""
    monkeypatch.setattr(sys, "argv", ["robustpool", *words, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return json.loads(capsys.readouterr().out)


# --- the same as the commands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", one_of(5, FORMATS))
def test_compare_is_the_command(
    server: Server,
    ending: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made, kind = FORMATS[ending]
    body, name = made(), f"forecasts.{ending}"
    (tmp_path / name).write_bytes(body)
    monkeypatch.chdir(tmp_path)
    words = ("compare", name, "--draws", "100", "--rule", "mean", "--rule", "robust", "--pairs", "2", "--no-fit")
    printed = command(monkeypatch, capsys, *words)
    answer = post(server, f"compare?{SCORED}&pairs=2&fit=false&name={name}", body, kind)
    assert answer.status_code == 200
    assert answer.json() == printed
    assert printed["rejected"]["total"] == 2


def test_fit_is_the_command_and_its_pool_is_a_rule(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forecasts.csv").write_bytes(as_csv())
    words = ("forecasts.csv", "--out", "pool.json", "--draws", "200")
    printed = command(monkeypatch, capsys, "fit", *words)
    answer = post(server, "fit?draws=200", as_csv())
    data = answer.json()
    id = data.pop("id")
    assert data == printed
    assert answer.headers["location"] == f"/api/v1/jobs/{id}"
    pool = server.call("GET", f"jobs/{id}/files/pool.json")
    assert pool.json()["hash"] == json.loads((tmp_path / "pool.json").read_text())["hash"]

    pooled = command(monkeypatch, capsys, "aggregate", "forecasts.csv", "--rule", "pool.json")
    by_id = post(server, f"aggregate?rule={id}", as_csv(), Accept="application/json").json()
    parts = {"table": ("../../etc/passwd", as_csv()), "rule": ("pool.json", pool.content)}
    by_part = server.call("POST", "aggregate", files=parts, headers={"Accept": "application/json"}).json()
    assert by_id["forecasts"] == by_part["forecasts"] == pooled["forecasts"]
    plain = post(server, "aggregate", as_csv(), Accept="application/json").json()
    assert by_id["forecasts"] != plain["forecasts"]


@pytest.mark.parametrize("ending", one_of(2, FORMATS))
def test_aggregate_is_the_command(
    server: Server,
    ending: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made, kind = FORMATS[ending]
    body = made()
    (tmp_path / f"forecasts.{ending}").write_bytes(body)
    printed = command(monkeypatch, capsys, "aggregate", str(tmp_path / f"forecasts.{ending}"), "--rule", "mean")
    assert post(server, "aggregate?rule=mean", body, kind, Accept="application/json").json() == printed
    answer = post(server, "aggregate?rule=mean", body, kind)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["robustpool-rejected"] == "2"
    text = pl.read_csv(answer.content)
    assert text["forecast"].to_list() == [each["forecast"] for each in printed["forecasts"]]
    columns = post(server, "aggregate?rule=mean", body, kind, Accept="application/vnd.apache.parquet")
    assert pl.read_parquet(columns.content).equals(text)


def test_outcomes_come_as_a_part(server: Server) -> None:
    parts = {
        "table": ("a.csv", "question_id,forecaster_id,probability\nq1,ann,0.25\nq1,bob,0.75\n"),
        "outcomes": ("b.csv", "question_id,outcome\nq1,1\n"),
    }
    answer = server.call("POST", "aggregate?rule=mean", files=parts)
    assert answer.text == "question_id,forecast,forecasters,outcome\nq1,0.5,2,1\n"


def test_a_job_in_place_of_the_answer(server: Server) -> None:
    """Its files are those that the page offers; the name of the table is only text in them."""
    name = "%3Cscript%3Ealert(1)%3C"
    answer = post(server, f"compare?{SCORED}&files=true&report=true&name={name}", as_csv(), Prefer="respond-async")
    assert answer.status_code == 202
    id = answer.json()["id"]
    assert answer.headers["location"] == f"/api/v1/jobs/{id}"
    with httpx.stream("GET", f"{server.url}api/v1/jobs/{id}/events", timeout=60) as events:
        *_, last = (json.loads(line[5:]) for line in events.iter_lines() if line.startswith("data:"))
    assert last["state"] == "done", last
    assert set(last["files"]) == {"pool.json", "pooled.csv", "rejects.csv", "report.html", "view.html"}
    assert last["result"]["rejects"] == "rejects.csv"
    assert last["result"]["output"] == "report.html"
    rejects = server.call("GET", f"jobs/{id}/files/rejects.csv").text.splitlines()
    assert rejects[1] == '242,"probability must lie in [0, 1]; line 242 (question q1, forecaster eve) is 1.2"'
    view = server.call("GET", f"jobs/{id}/files/view.html").text
    assert "What was read" in view
    assert "style=" not in view
    report = server.call("GET", f"jobs/{id}/files/report.html")
    assert "<script>alert" not in report.text
    assert "Rules compared on &lt;script&gt;alert(1)&lt;" in report.text
    assert report.headers["content-security-policy"].startswith("sandbox")


def test_kept_tables_are_listed_by_kind(server: Server) -> None:
    id = post(server, "aggregate?files=true&name=listed.csv", as_csv()).headers["location"].rpartition("/")[2]
    newest, *_ = server.call("GET", "jobs?kind=aggregate-table&kind=compare").json()["jobs"]
    assert (newest["id"], newest["title"], newest["result"]) == (id, "listed.csv", None)
    assert newest["progress"] == {}  # of a list only what it needs
    job = server.call("GET", f"jobs/{id}").json()
    assert job["progress"]["read"] == "242 rows, 240 usable answers, 80 questions, 3 forecasters."
    assert job["progress"]["left_out"] == "2 of 242 rows could not be used."
    assert id not in {each["id"] for each in server.call("GET", "jobs").json()["jobs"]}
    status, sentence = problem(server.call("GET", "jobs?kind=nosuch"))
    assert status == 422
    assert sentence.startswith("kind must be one of design, ")


def test_what_is_not_asked_for_is_not_kept(small: Server, folder: Path) -> None:
    assert post(small, "compare?draws=100&rule=mean&fit=false", as_csv()).status_code == 200
    assert post(small, "aggregate", as_csv()).status_code == 200
    assert post(small, "compare", b"nothing").status_code == 422
    assert list((folder / "jobs").iterdir()) == []
    id = post(small, "fit?draws=100", as_csv()).json()["id"]
    assert [path.name for path in (folder / "jobs" / id).iterdir()] == ["results"]  # the upload is gone


# --- bad files --------------------------------------------------------------------------------------------------------

TRUNCATED = as_parquet()[:-30]
NOT_EXCEL = io.BytesIO()
with zipfile.ZipFile(NOT_EXCEL, "w") as _archive:
    _archive.writestr("xl/workbook.xml", "no XML")

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "'upload' must have a line with the names of the columns; it is empty."),
    "binary": (bytes(range(256)) * 4, "'upload' must be text in UTF-8, or in UTF-16 with a byte order mark; line 1 has a zero byte."),
    "PDF": (b"%PDF-1.7\n", "'upload' must be a CSV or Parquet file; it is a PDF: save the table as CSV."),
    "Latin 1": ("question_id,forecaster_id,probability\nKöln,ann,0.5\n".encode("latin-1"), "line 2 has"),
    "one column": (b"probability\n0.5\n", "'probability' holds probabilities: add a column question_id."),
    "wrong columns": (b"when,what\n1,a\n", "a long table needs the columns question_id, forecaster_id, probability, a wide one"),
    "duplicate header": (b"question_id,ann,ann\nq,0.1,0.2\n", "'ann'"),
    "no row": (b"question_id,forecaster_id,probability\n", "forecasts must have at least one row; there is none"),
    "no usable row": (b"question_id,forecaster_id,probability\nq1,ann,0.5%\n", "line 2 (question q1, forecaster ann) is '0.5%'; write 0.005, or pass --percent"),
    "half of it wrong": (b"question_id,forecaster_id,probability\nq,a,7\nq,b,8\nq,c,0.5\n", "there is no forecast, because more than half of the rows cannot be used: "),
    "a million columns": (",".join(f"f{i}" for i in range(10**6)).encode() + b"\n1\n", "line 1 of 'upload' must name the columns; it is too long."),
    "a truncated Parquet file": (TRUNCATED, "the Parquet file 'upload' cannot be read"),
    "four bytes of Parquet": (b"PAR1", "the Parquet file 'upload' cannot be read"),
    "no workbook": (NOT_EXCEL.getvalue(), "the workbook 'upload' cannot be read"),
    "a zip archive": (b"PK\x03\x04 and so on", "it is a workbook or another zip archive: save the table as CSV."),
    "a truncated gzip file": (gzip.compress(as_csv())[:-20], "'upload' cannot be read to its end"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_said_in_a_sentence(server: Server, case: str) -> None:
    body, sentence = BAD[case]
    status, detail = problem(post(server, "aggregate", body))
    assert status == 422
    assert sentence in detail
    assert detail.endswith((".", ","))
    assert "/tmp" not in detail
    assert "jobs" not in detail


def test_outcomes_are_needed(server: Server) -> None:
    table = b"question_id,ann,bob\n" + b"".join(b"q%d,0.1,0.2\n" % k for k in range(30))
    assert problem(post(server, "fit", table)) == (
        422,
        "a pool needs outcomes to learn from; none of 30 questions has one.",
    )


# --- bombs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bomb", "sentence"),
    [
        (lambda: gzip_bomb(2**26), "'upload' must not expand to more than 1,048,576 bytes."),
        (
            lambda: workbook_bomb(as_excel(), 2**26),
            "the workbook 'upload' must not expand to more than 1,048,576 bytes.",
        ),
        (lambda: parquet_bomb(200_000), "the Parquet file 'upload' must not expand to more than 1,048,576 bytes; "),
        (lambda: b"0" * 2**20, "a body may have at most 524,288 bytes here; this one has more."),
    ],
)
def test_bombs_stop_at_a_limit(small: Server, bomb: Callable[[], bytes], sentence: str) -> None:
    status, detail = problem(post(small, "compare", bomb()))
    assert status == 413
    assert detail.startswith(sentence)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: gzip_bomb(2**24), r"^'a.csv' must not expand to more than 1,000,000 bytes\.$"),
        (lambda: workbook_bomb(as_excel(), 2**21), r"^the workbook 'a.csv' must not expand to more than 1,000,000 bytes\.$"),
        (sparse_workbook, r"^the workbook 'a.csv' must not expand to more than 1,000,000 bytes\.$"),
        (
            lambda: parquet_bomb(200_000),
            r"^the Parquet file 'a.csv' must not expand to more than 1,000,000 bytes; it has 200,000 rows and about 1,600,\d+ bytes\.$",
        ),
        (
            lambda: ",".join(map(str, range(10_001))).encode() + b"\n1\n",
            r"^'a.csv' must have at most 10,000 columns; it has 10,001\.$",
        ),
    ],
)  # fmt: skip
def test_a_named_file_has_a_limit(made: Callable[[], bytes], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "stored").write_bytes(made())
    with pytest.raises(TooLargeError, match=sentence):
        read_forecasts(NamedFile(tmp_path / "stored", "a.csv", 1_000_000))


# --- names and paths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "/etc/passwd", "*.csv", "table.parquet", "<b>x</b>", "a\u202e\x00b", "-"]
)
def test_names_are_only_shown(server: Server, name: str) -> None:
    """Whatever a client calls its table, what is read is its content."""
    answer = server.call("POST", "aggregate?rule=mean", files={"table": (name, b"question_id,ann,bob\nq1,0.1,0.3\n")})
    assert answer.text == "question_id,forecast,forecasters\nq1,0.2,2\n"
    bad = server.call("POST", "compare", files={"table": (name, b"")})
    assert problem(bad)[0] == 422
    assert "must have a line with the names of the columns; it is empty." in problem(bad)[1]
    assert "etc" not in problem(bad)[1]


@pytest.mark.parametrize("path", ["/etc/passwd", "pool.json", "/etc/hostname.json", "../../pool.json"])
def test_a_rule_is_no_path(server: Server, path: str) -> None:
    status, detail = problem(post(server, f"aggregate?rule={path}", as_csv()))
    assert status == 422
    assert detail.startswith(
        ("there is no rule", "rule must be the name of a rule;", "unknown rule", "rule must be one of")
    ), detail
    for option in ("rule", "reference"):
        assert problem(post(server, f"compare?{option}={path}", as_csv()))[0] == 422


def test_content_that_names_files_is_only_text(server: Server) -> None:
    body = b"question_id,ann,bob\n/etc/passwd,0.1,0.3\n*.csv,0.2,0.4\n\"read_csv('/etc/passwd')\",0.2,0.4\n"
    text = post(server, "aggregate?rule=mean", body).text
    assert [line.rsplit(",", 2)[0] for line in text.splitlines()[1:]] == [
        "/etc/passwd",
        "*.csv",
        "read_csv('/etc/passwd')",
    ]


def test_the_engine_reads_nothing_but_the_upload(tmp_path: Path) -> None:
    (tmp_path / "stored").write_bytes(as_csv())
    (tmp_path / "other.csv").write_bytes(b"secret\n")
    import duckdb

    with open_engine(NamedFile(tmp_path / "stored", "a.csv")) as (source, engine):
        ((read,),) = engine.rows(f"SELECT count(*) FROM {source.relation(first=True)}")
        assert read == len(rows())
        for query in (
            f"FROM read_csv('{tmp_path}/other.csv')",
            "FROM read_text('/etc/passwd')",
            f"COPY (SELECT 1) TO '{tmp_path}/new'",
        ):
            with pytest.raises(duckdb.PermissionException, match="file system operations are disabled"):
                engine.rows(query)


def test_a_pattern_is_a_name_to_the_engine(tmp_path: Path) -> None:
    (tmp_path / "[a]*").mkdir()
    (tmp_path / "[a]*" / "stored").write_bytes(as_csv())
    assert len(read_forecasts(NamedFile(tmp_path / "[a]*" / "stored", "a.csv")).questions) == 80


# --- cells that begin like formulas -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0"])
def test_cells_that_begin_like_formulas_are_escaped(server: Server, cell: str) -> None:
    quoted = '"' + cell.replace('"', '""') + '"'
    body = f"question_id,forecaster_id,probability\n{quoted},ann,0.25\n{quoted},bob,0.75\nq,ann,0.5\n".encode()
    text = pl.read_csv(post(server, "aggregate?rule=mean", body).content)
    assert text["question_id"].to_list() == [f"'{cell.strip()}", "q"]
    assert text["forecast"].to_list() == [0.5, 0.5]  # numbers stay numbers


def test_rejected_rows_are_escaped(server: Server) -> None:
    body = b"question_id,=2+3,bob,eve\nq1,0.5,x,0.5\nq2,0.5,0.5,0.5\n"
    id = post(server, "aggregate?files=true", body).headers["location"].rpartition("/")[2]
    lines = server.call("GET", f"jobs/{id}/files/rejects.csv").text.splitlines()
    assert lines[0] == "line,reason"
    assert all(reason[0] not in "=+-@" for _, _, reason in (line.partition(",") for line in lines[1:]))


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("nosuch=1", "there is no option 'nosuch'; the options are clip, cluster, column, date-format, "),
        ("outcomes=/etc/passwd", "there is no option 'outcomes'; the options are"),
        ("rejects=/tmp/x", "there is no option 'rejects'; the options are"),
        ("percent=maybe", "percent must be true or false; it is 'maybe'."),
        ("pairs=-1", "pairs must be a whole number from 0 to 1,000,000,000; it is '-1'."),
        ("pairs=1e3", "pairs must be a whole number from 0 to 1,000,000,000; it is '1e3'."),
        ("clip=nan", "clip must be a number; it is 'nan'."),
        ("seed=1&seed=2", "an option must be given once; 'seed' is given 2 times."),
        ("date_format=d&date-format=m", "an option must be given once; 'date-format' is given 2 times."),
        ("layout=" + "x" * 1001, "layout must have at most 1,000 characters; it has 1,001."),
    ],
)
def test_options_are_those_of_the_command(query: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        read_query(QueryParams(query), COMPARE_OPTIONS)
    assert str(error.value).startswith(sentence)


def test_options_are_read_as_what_they_are() -> None:
    query = QueryParams(
        "percent=&strict=false&pairs=20&clip=0.05&rule=mean&rule=robust&column=outcome%3Do&date-format=d/m/Y"
    )
    assert read_query(query, COMPARE_OPTIONS) == {
        "percent": True,
        "strict": False,
        "pairs": 20,
        "clip": 0.05,
        "rule": ["mean", "robust"],
        "column": ["outcome=o"],
        "date_format": "d/m/Y",
    }


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("compare?clip=7", 422, "clip must lie in [0, 0.5)"),
        ("compare?draws=1", 422, "draws must be"),
        ("compare?pairs=0", 422, "pairs must be"),
        ("compare?reference=nosuch", 422, "nosuch"),
        ("aggregate?rule=0123456789abcdef", 404, "there is no job '0123456789abcdef'."),
        ("aggregate?per-forecaster=true", 422, "--per-forecaster needs --recalibrate, which is missing."),
        ("compare?column=x", 422, "--column must be written as role=name, such as probability=p; it is 'x'."),
    ],
)
def test_wrong_values_are_said_by_the_library(server: Server, path: str, status: int, sentence: str) -> None:
    answer = problem(post(server, path, as_csv()))
    assert answer[0] == status
    assert sentence in answer[1]


def test_a_job_that_is_no_rule(server: Server) -> None:
    id = post(server, "aggregate?files=true", as_csv()).headers["location"].rpartition("/")[2]
    sentence = f"rule must be the id of a fit or a design that is done; {id!r} is a aggregate-table that is done."
    assert problem(post(server, f"aggregate?rule={id}", as_csv())) == (422, sentence)


def test_bodies_that_are_no_tables(server: Server) -> None:
    wrong = server.call("POST", "compare", json={"forecasts": [0.5]})
    assert problem(wrong) == (415, "the body must be a table: CSV, Parquet or Excel; its type is 'application/json'.")
    twice = {"table": ("a", as_csv()), "rule": ("b", b"{}")}
    assert problem(server.call("POST", "aggregate?rule=mean", files=twice)) == (
        422,
        "the rule must be given once; it is an option and a part of the body.",
    )
    assert problem(server.call("POST", "aggregate", files={"table": ("a", as_csv()), "rule": ("b", b"{")}))[
        1
    ].startswith("the body must be JSON (")
    forged = {"table": ("a", as_csv()), "rule": ("b", b'{"format": "robustpool-pool/1"}')}
    assert problem(server.call("POST", "aggregate", files=forged))[0] == 422
    assert problem(server.call("POST", "compare", files={"x": ("a", b"b")})) == (
        422,
        "there is no part 'x'; the parts are table, outcomes.",
    )
    assert problem(server.call("POST", "compare", files={"outcomes": ("a", b"b")})) == (
        422,
        "the body must have a part 'table'; it is missing.",
    )


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body must be multipart/form-data that ends with its boundary."),
        (b"--x\r\nname", "the body must be multipart/form-data that ends with its boundary."),
        (b"--x\r\nname\r\n--x--", "a part of multipart/form-data must have a header with its name and a blank line."),
        (b"--x\r\n\r\n\r\n--x--", "a part of multipart/form-data must have a header with its name and a blank line."),
        (b'--x\r\nA: name="a"\r\n\r\n1\r\n' * 2 + b"--x--", "a part must be there once; 'a' is there twice."),
        (b'--x\r\nA: name="a"\r\n\r\n1\r\n' * 12 + b"--x--", "of at most 10 parts that ends with its boundary."),
    ],
)  # fmt: skip
def test_parts_that_are_none(body: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        split_parts(body, b"x")
    assert str(error.value).endswith(sentence)


def test_parts_keep_every_byte() -> None:
    content = bytes(range(256)) + b"\r\n--y\r\n\n\r"
    body = b'--x\r\nContent-Disposition: form-data; name="table"\r\n\r\n' + content + b"\r\n--x--\r\n"
    assert split_parts(body, b"x")["table"].content == content
    assert boundary('multipart/form-data; boundary="x"') == b"x"
    assert boundary("text/csv") is None
    with pytest.raises(InputError, match=r"^multipart/form-data needs a boundary; the header Content-Type has none\.$"):
        boundary("multipart/form-data")


def test_a_pool_from_the_server_is_a_pool(server: Server, tmp_path: Path) -> None:
    id = post(server, "fit?draws=100&files=true", as_csv()).json()["id"]
    files = server.call("GET", f"jobs/{id}").json()["files"]
    assert set(files) == {"pool.json", "pooled.csv", "rejects.csv", "view.html"}
    (tmp_path / "pool.json").write_bytes(server.call("GET", f"jobs/{id}/files/pool.json").content)
    assert 0 < rp.load_pool(tmp_path / "pool.json").aggregate([0.6, 0.7]) < 1
