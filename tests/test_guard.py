"""What every request passes: the token, the host, the origin, the limits; and what every answer carries."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import Response

from robustpool.web.app import create_app
from robustpool.web.guard import COOKIE, HEADERS, cookie_of
from robustpool.web.settings import Settings
from servers import Inside, Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a token; with ünusual = characters"
ONE = {"forecasts": [0.7, 0.6]}


@pytest.fixture(scope="module")
def local() -> Inside:
    """An application for this machine only."""
    return Inside(create_app(Settings(body_bytes=1000)))


@pytest.fixture(scope="module")
def shared() -> Inside:
    """An application that others reach."""
    return Inside(create_app(Settings(host="0.0.0.0", token=TOKEN)))


def refused(answer: httpx.Response, status: int, sentence: str) -> None:
    """Check that a request was refused with a sentence."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json() | {"title": ""} == {"type": "about:blank", "title": "", "status": status, "detail": sentence}


# ------------------------------------------------------------------------------------------------- token and cookie

NO_TOKEN = "this server needs its token: open the page with ?token=TOKEN, or send Authorization: Bearer TOKEN."


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/api/v1/health", "/api/v1/metrics", "/nowhere"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Cookie": f"{COOKIE}=wrong"},
        {"Cookie": f"{COOKIE}="},
        {"Cookie": f"other={cookie_of(TOKEN)}"},
    ],
)
def test_nothing_is_to_be_had_without_the_token(shared: Inside, path: str, headers: dict[str, str]) -> None:
    answer = shared.call("GET", path, headers=headers)
    refused(answer, 401, NO_TOKEN)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_token_opens_by_header(shared: Inside) -> None:
    headers = {b"Authorization": b"Bearer " + TOKEN.encode()}
    assert shared.call("POST", "/api/v1/aggregate", headers=headers, json=ONE).status_code == 200


def test_a_page_that_is_opened_with_the_token_gets_a_cookie(shared: Inside) -> None:
    answer = shared.call("GET", "/compare", params={"token": TOKEN, "a": "b c"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare?a=b+c")
    cookie, *how = answer.headers["set-cookie"].split("; ")
    assert how == ["HttpOnly", "SameSite=Strict", "Path=/"]
    assert TOKEN not in cookie
    assert shared.call("GET", "/compare", headers={"Cookie": f"a=b;{cookie}; c=d"}).status_code == 200
    refused(shared.call("GET", "/compare", params={"token": "wrong"}), 401, NO_TOKEN)
    refused(shared.call("POST", "/api/v1/aggregate", params={"token": TOKEN}, json=ONE), 401, NO_TOKEN)


def test_the_way_back_never_leads_elsewhere(shared: Inside) -> None:
    for path in ("http://127.0.0.1//evil.example/", "http://127.0.0.1/\\evil.example"):
        answer = shared.call("GET", path, params={"token": TOKEN})
        assert answer.headers["location"] in ("/evil.example/", "/evil.example", "/%5Cevil.example")


# ---------------------------------------------------------------------------------------------------- host and origin


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8000", "[::1]:8000", "[::1]", "LOCALHOST"])
def test_a_local_server_answers_to_its_names(local: Inside, host: str) -> None:
    assert local.call("GET", "/api/v1/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost:x"])
def test_a_local_server_answers_to_no_other_name(local: Inside, host: str) -> None:
    shown = host.removesuffix(":8000")
    sentence = f"this server answers to 127.0.0.1 and localhost only; the request is for {shown!r}."
    refused(local.call("GET", "/", headers={"Host": host}), 421, sentence)


def test_a_server_that_others_reach_answers_to_any_name(shared: Inside) -> None:
    headers = {b"Authorization": b"Bearer " + TOKEN.encode(), b"Host": b"pool.example"}
    assert shared.call("GET", "/api/v1/health", headers=headers).status_code == 200


ELSEWHERE = "this request comes from a page of another site; only pages of this server may send it."


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1"},
    ],
)
def test_pages_of_other_sites_change_nothing(local: Inside, headers: dict[str, str]) -> None:
    refused(local.call("POST", "/api/v1/aggregate", headers=headers, json=ONE), 403, ELSEWHERE)
    refused(local.call("DELETE", "/api/v1/designs/1", headers=headers), 403, ELSEWHERE)
    assert local.call("GET", "/api/v1/health", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}, {"Origin": "https://127.0.0.1"}]
)
def test_pages_of_its_own_do(local: Inside, headers: dict[str, str]) -> None:
    assert local.call("POST", "/api/v1/aggregate", headers=headers, json=ONE).status_code == 200


# --------------------------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/static/page.css", 200),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/api/v1/rules", 200),
        ("GET", "/api/v1/metrics", 200),
        ("GET", "/api/v1/openapi.json", 200),
        ("GET", "/api/v1/aggregate", 405),
        ("POST", "/api/v1/aggregate", 422),
        ("PROPFIND", "/", 405),
    ],
)
def test_every_answer_has_the_headers(local: Inside, method: str, path: str, status: int) -> None:
    answer = local.call(method, path)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["content-security-policy"]


# ---------------------------------------------------------------------------------------------------------- limits

TOO_LONG = "a body may have at most 1,000 bytes here; this one has more."


def test_a_body_that_says_that_it_is_too_long_is_not_read(local: Inside) -> None:
    refused(local.call("POST", "/api/v1/aggregate", content=b" " * 1001), 413, TOO_LONG)
    assert local.call("POST", "/api/v1/aggregate", content=b" " * 1000).status_code == 422


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    app = create_app(Settings(request_seconds=0.05))

    @app.get("/slow")
    async def slow() -> Response:
        await asyncio.sleep(20)
        return Response()

    sentence = "the answer took more than 0.05 seconds, and was given up; send less at a time."
    refused(Inside(app).call("GET", "/slow"), 413, sentence)
    assert app.state.metrics.in_flight == 0


def test_an_answer_that_has_begun_may_last() -> None:
    from starlette.responses import StreamingResponse

    app = create_app(Settings(request_seconds=0.05))

    async def events() -> Any:
        for _ in range(3):
            yield b"x"
            await asyncio.sleep(0.05)

    @app.get("/long")
    async def long() -> Response:
        return StreamingResponse(events())

    assert Inside(app).call("GET", "/long").content == b"xxx"


# -------------------------------------------------------------------------------- slow clients, and too many of them


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with narrow limits."""
    data = tmp_path_factory.mktemp("data")
    with running(Settings(data=data, header_seconds=0.5, body_seconds=0.7, connections=20, waiting=4)) as server:
        yield server


def talk(server: Running, *parts: bytes, pause: float = 0.0) -> bytes:
    """What the server says to these bytes until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        said = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while more := connection.recv(65536):
                said += more
        except ConnectionError:
            pass
        return said


def said(answer: bytes) -> tuple[int, str, dict[str, str]]:
    """Status, sentence and headers of an answer that is a problem."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert headers["content-type"] == "application/problem+json"
    return int(status.split()[1]), json.loads(body)["detail"], headers


HEAD = b"POST /api/v1/aggregate HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def test_slow_headers(tight: Running) -> None:
    answer = talk(tight, *(HEAD[k : k + 1] for k in range(5)), pause=0.05)
    assert said(answer)[:2] == (408, "the headers of a request must be there within 0.5 seconds.")


def test_a_connection_on_which_nothing_comes_is_closed_without_a_word(tight: Running) -> None:
    assert talk(tight) == b""


def test_a_slow_body(tight: Running) -> None:
    answer = talk(tight, HEAD + b"Content-Length: 100\r\n\r\n", *(b" " for _ in range(5)), pause=0.05)
    assert said(answer)[:2] == (408, "the body of a request must be there within 0.7 seconds.")


def test_what_is_no_http(tight: Running) -> None:
    assert said(talk(tight, b"\x16\x03\x01 hello\r\n\r\n"))[:2] == (400, "this is not HTTP.")


@pytest.mark.parametrize("flood", [b"X-%d: " + b"a" * 8000 + b"\r\n", b"X-%d: b\r\n"])
def test_headers_without_end(tight: Running, flood: bytes) -> None:
    answer = talk(tight, HEAD, *(flood.replace(b"%d", str(k).encode()) * 200 for k in range(50)))
    if answer:  # else the connection was reset before we could read
        assert said(answer)[:2] == (431, "the headers may have at most 65,536 bytes together; these have more.")
    assert tight.get("/api/v1/health").status_code == 200


def test_connections_beyond_the_limit(tight: Running) -> None:
    held = [socket.create_connection(("127.0.0.1", tight.port), timeout=20) for _ in range(20)]
    try:
        time.sleep(0.1)
        status, sentence, headers = said(talk(tight))
        assert (status, sentence) == (429, "too many connections are open; ask again in a second.")
        assert headers["retry-after"] == "1"
    finally:
        for each in held:
            each.close()
    deadline = time.monotonic() + 10
    while tight.connections and time.monotonic() < deadline:
        time.sleep(0.02)
    assert tight.get("/api/v1/health").status_code == 200


def test_what_comes_at_once_beyond_the_limit_gets_429_and_health_never(tight: Running) -> None:
    many, body = 16, json.dumps(ONE).encode()
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    health = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    sockets = [socket.create_connection(("127.0.0.1", tight.port), timeout=20) for _ in range(many)]
    before = tight.load.metrics.refused
    while tight.connections < many:
        time.sleep(0.01)
    tight.stall(0.3)
    time.sleep(0.1)  # it does nothing now, and all requests arrive meanwhile
    for each in sockets[:-1]:
        each.sendall(request)
    sockets[-1].sendall(health)
    answers = [each.recv(65536) for each in sockets]
    for each in sockets:
        each.close()
    assert answers[-1].startswith(b"HTTP/1.1 200 ")
    accepted = [answer for answer in answers[:-1] if answer.startswith(b"HTTP/1.1 200 ")]
    others = [answer for answer in answers[:-1] if answer not in accepted]
    assert 1 <= len(accepted) <= 8
    assert tight.load.metrics.refused - before == len(others) >= 7
    for answer in others:
        status, sentence, headers = said(answer)
        assert (status, sentence) == (429, "the server has more to do than it can; ask again in a second.")
        assert headers["retry-after"] == "1"
        assert "connection" not in headers


def test_what_was_refused_may_be_asked_again_on_the_same_connection(tight: Running) -> None:
    body = json.dumps(ONE).encode()
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    tight.load.waiting += 4
    try:
        with socket.create_connection(("127.0.0.1", tight.port), timeout=20) as connection:
            connection.sendall(request * 3)  # a pipeline
            time.sleep(0.1)
            assert connection.recv(65536).count(b"HTTP/1.1 429 ") == 3
            tight.load.waiting -= 4
            connection.sendall(request)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    finally:
        tight.load.waiting = 0


def test_a_refused_head_has_no_body(tight: Running) -> None:
    tight.load.waiting += 4
    try:
        with socket.create_connection(("127.0.0.1", tight.port), timeout=20) as connection:
            connection.sendall(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            answer = connection.recv(65536) + connection.recv(65536)
    finally:
        tight.load.waiting = 0
    assert answer.startswith(b"HTTP/1.1 429 ")
    assert answer.endswith(b"\r\n\r\n")


def test_a_pipeline_that_breaks_does_not_disturb_the_answer_under_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(Settings(data=tmp_path)) as server:
        app = server.server.config.app
        assert isinstance(app, FastAPI)
        ended = threading.Event()

        @app.get("/slow")
        async def slow() -> Response:
            await asyncio.sleep(0.3)
            asyncio.get_running_loop().call_later(0.1, ended.set)
            return Response("late")

        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        try:
            slowly = b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            health = slowly.replace(b"/slow", b"/api/v1/health")
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.sendall(slowly + health + b"no HTTP\r\n\r\n")
                assert said(connection.recv(65536))[:2] == (400, "this is not HTTP.")
            assert ended.wait(20)
        finally:
            logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert not [record.message for record in caplog.records if record.levelno >= logging.ERROR]


# -------------------------------------------------------------------------------------------------- errors of our own


def test_an_error_of_our_own_is_a_problem_and_its_reason_stays_here() -> None:
    app = create_app(Settings())

    @app.get("/broken")
    async def broken() -> Response:
        raise RuntimeError("the secret of the server")

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get("/broken")

    answer = asyncio.run(send())
    refused(answer, 500, "the request failed because of an error in the server; its log says more.")
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    with pytest.raises(RuntimeError, match="the secret of the server"):  # which the server writes to its log
        Inside(app).call("GET", "/broken")


# --------------------------------------------------------------------------------------------------------- metrics


def test_metrics_count_what_happened() -> None:
    inside = Inside(create_app(Settings()))
    for body in (ONE, ONE, {"forecasts": [2]}):
        inside.call("POST", "/api/v1/aggregate", json=body)
    inside.call("GET", '/nowhere"')
    answer = inside.call("GET", "/api/v1/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert 'robustpool_requests_total{method="POST",route="/aggregate",status="200"} 2' in lines
    assert 'robustpool_requests_total{method="POST",route="/aggregate",status="422"} 1' in lines
    assert 'robustpool_requests_total{method="GET",route="none",status="404"} 1' in lines
    assert 'robustpool_request_seconds_bucket{route="/aggregate",le="+Inf"} 3' in lines
    assert 'robustpool_request_seconds_count{route="/aggregate"} 3' in lines
    assert "robustpool_requests_in_flight 1" in lines
    assert "robustpool_requests_refused_total 0" in lines
    assert 'robustpool_jobs{state="queued"} 0' in lines
    assert "robustpool_spare_workers 0" in lines
    for line in lines:
        assert line.startswith("# ") or float(line.rsplit(" ", 1)[1]) >= 0
