"""Thousands of requests that no client should send leave a server that answers, and nothing that it should not have said or done."""

from __future__ import annotations

import json
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from malformed import API, CSV, KINDS, TABLE
from malformed_wire import RAW
from robustpool.errors import InputError
from robustpool.families.asked_world import AskedWorld
from robustpool.solvers.asked_design import asked_world
from robustpool.web.app import create_app
from robustpool.web.combining import npy_of
from robustpool.web.jobs.store import DONE, Job
from robustpool.web.settings import Settings
from servers import Inside
from siege import Siege, besieged, contents, opened, wrongs, wrongs_of_problem
from wire import Answer, BrokenAnswerError, all_answers, connected, request

if TYPE_CHECKING:
    from pathlib import Path

    import httpx


def attacked(folder: Path, share: int) -> int:
    """How many requests were sent of all kinds, one of so many of each; there must be nothing wrong with the answers."""
    kinds, raw = ({kind: -(-count // share) for kind, count in each.items()} for each in (KINDS, RAW))
    with besieged(folder) as siege:
        count = siege.attack(0, kinds, raw)
        for _ in range(20):
            leave(siege)
    assert not siege.findings, "\n".join(siege.findings)
    sent = Counter[str]()
    for (kind, _), answers in siege.statuses.items():
        sent[kind] += answers
    assert {kind.__name__ for kind in (*kinds, *raw)} == set(sent)
    assert all(sent[kind.__name__] == number for kind, number in kinds.items())
    return count


def test_a_thousand_malformed_requests(tmp_path: Path) -> None:
    assert attacked(tmp_path, 10) == 1002  # at least one of each kind


@pytest.mark.slow
def test_ten_thousand_malformed_requests(tmp_path: Path) -> None:
    assert attacked(tmp_path, 1) == 10_000


def leave(siege: Siege) -> None:
    """A client that goes away while a worker is busy with its table."""
    connection = connected(siege.port)
    connection.sendall(request("POST", f"{API}/compare?draws=100", TABLE, CSV))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


# ------------------------------------------------------------------------------------------------- what the attacks found

HUGE = "1" + "0" * 400


@pytest.fixture(scope="module")
def inside() -> Inside:
    return Inside(create_app(Settings()))


def refused(answer: httpx.Response) -> str:
    """The sentence of a refusal."""
    assert answer.status_code == 422, answer.text
    assert not list(wrongs_of_problem(422, answer.json()))
    return str(answer.json()["detail"])


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("aggregate", f'{{"forecasts": [0.5], "clip": {HUGE}}}', "clip must be a finite number"),
        ("explain", f'{{"forecasts": [0.5], "clip": {HUGE}}}', "clip must be a finite number"),
        ("explain", '{"forecasts": [0.5], "know": {"knows_all": 5}}', "know.knows_all must be a whole number, at least 0 and at most 0; it is 5."),
        ("aggregate?rule=mean", '{"forecasts": [0.5]}', "with a body of JSON, options are fields of the body; the query has 'rule'."),
        ("aggregate", json.dumps({"forecasts": [0.5], "rule": "x" * 10**5}), "rule must be one of"),
        ("aggregate", json.dumps({"questions": [{"id": ["x"] * 10**4, "forecasts": [2]}]}), "question ['x', 'x', "),
    ],
)  # fmt: skip
def test_a_request_that_ended_in_an_error_is_refused(inside: Inside, path: str, body: str, sentence: str) -> None:
    answer = inside.call("POST", f"{API}/{path}", content=body, headers={"Content-Type": "application/json"})
    assert refused(answer).startswith(sentence)


@pytest.mark.parametrize("query", ["clip=1e999", "clip=x", "nosuch=1", "rule=mean&rule=mean"])
def test_options_of_an_array(inside: Inside, query: str) -> None:
    headers = {"Content-Type": "application/x-npy"}
    body = npy_of(np.array([[0.5, 0.5]]))
    assert inside.call("POST", f"{API}/aggregate?rule=mean&clip=0", content=body, headers=headers).status_code == 200
    refused(inside.call("POST", f"{API}/aggregate?{query}", content=body, headers=headers))


def test_an_array_whose_header_has_too_many_brackets(inside: Inside) -> None:
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {'(' * 300}, }}".encode()
    body = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
    answer = inside.call("POST", f"{API}/aggregate", content=body, headers={"Content-Type": "application/x-npy"})
    assert refused(answer).startswith("the body must be a .npy file (")


def test_more_priors_than_there_are_floats() -> None:
    with pytest.raises(
        InputError, match=r"^--priors must be a whole number, at least 0 and at most 1000000000; it is 1000"
    ):
        asked_world(AskedWorld(), 3, HUGE, "grid")


def test_a_file_is_sent_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, id = create_app(Settings(data=tmp_path)), "a" * 16
    jobs = app.state.jobs
    jobs.open()
    jobs.store.save(Job(id, "fit", {}, 0.0, state=DONE, result={}))
    file = jobs.folder(id) / "results" / "rejects.csv"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"a,b\n" * 50_000)
    for value in ("bytes=0-0", "bytes=5-1", "bytes=900000-", "x", "bytes=" + "0-1," * 1000):
        answer = Inside(app).call("GET", f"{API}/jobs/{id}/files/rejects.csv", headers={"Range": value})
        assert (answer.status_code, answer.content) == (200, file.read_bytes())
        assert answer.headers["content-disposition"] == 'attachment; filename="rejects.csv"'
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    monkeypatch.setattr(jobs, "file", lambda *_: tmp_path / "rejects.csv")  # as if it was removed just now
    gone = Inside(app).call("GET", f"{API}/jobs/{id}/files/rejects.csv")
    assert (gone.status_code, gone.json()["detail"]) == (404, "the file 'rejects.csv' was removed.")
    jobs.store.close()


# --------------------------------------------------------------------------------------- what looks at the server can see


GOOD = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def problem(status: int, detail: str, **others: object) -> Answer:
    data = {"type": "about:blank", "title": "x", "status": status, "detail": detail, **others}
    return Answer(status, {**GOOD, "content-type": "application/problem+json"}, json.dumps(data).encode())


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (problem(500, "the server made an error."), "500 b"),
        (problem(429, "there is too much to do."), "429 b"),
        (problem(422, "rule must be one of"), "this is no sentence"),
        (problem(422, "rule must be\none of them."), "this is no sentence"),
        (problem(422, "x" * 2000 + "."), "this is no sentence"),
        (problem(422, "rule must be a name.", more=1), "this is no problem"),
        (problem(422, "rule must be a name.")._replace(status=404), "this is no problem"),
        (problem(422, "it is the-canary-sings in line 1."), "none of the client's business"),
        (Answer(404, {**GOOD, "content-type": "text/plain"}, b"x"), "the error is no problem"),
        (Answer(200, {**GOOD, "content-type": "application/json"}, b'{"a": NaN}'), "this is no JSON"),
        (Answer(200, {**GOOD, "content-type": "application/json"}, b'{"a": 1'), "this is no JSON"),
        (Answer(200, {"content-type": "text/plain"}, b"x"), "headers are missing"),
    ],
)
def test_what_is_wrong_with_an_answer_is_found(answer: Answer, sentence: str) -> None:
    (wrong,) = wrongs(answer)
    assert sentence in wrong


def test_a_good_answer_is_good() -> None:
    assert not list(wrongs(problem(422, "rule must be a name.")))
    assert not list(wrongs(Answer(200, {**GOOD, "content-type": "application/json"}, b"{}")))


def test_who_opens_a_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with opened(tmp_path) as names:
        assert names() == []
        before = contents(tmp_path, "data")
        assert names() == ["a"]
        (tmp_path / "b").mkdir()
        assert contents(tmp_path, "data") == {**before, "b": None}


def test_answers_are_divided() -> None:
    first = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    second = b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    assert [(each.status, each.body) for each in all_answers(first + second)] == [(200, b"ab"), (404, b"abc")]
    for broken in (first[:-1], first + b"x", second[:-3], b"HTTP/1.1 200 OK\r\n\r\n"):
        with pytest.raises(BrokenAnswerError, match="an answer"):
            all_answers(broken)
