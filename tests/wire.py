"""HTTP as bytes: a client for tests that sends whatever it is given, and reads every answer that comes back."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

SECONDS = 60.0
"""A server that says nothing for so long hangs."""


END = b""
"""A part of a conversation that says that no more will come, though we still listen."""


class Answer(NamedTuple):
    """What a server said."""

    status: int
    headers: dict[str, str]
    body: bytes


class BrokenAnswerError(AssertionError):
    """What came back is no HTTP."""


def request(method: str, target: str, body: bytes = b"", *headers: str, host: str = "127.0.0.1") -> bytes:
    """A request; only its parts may be strange."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def first_answer(data: bytes, *, bodiless: bool = False) -> tuple[Answer, int] | None:
    """The first answer and where it ends; None if it is not there as a whole."""
    head, blank, _ = data.partition(b"\r\n\r\n")
    if not blank:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, status = first.partition(" ")
    if version != "HTTP/1.1" or not status[:3].isdigit():
        raise BrokenAnswerError(f"an answer begins with {first[:80]!r}")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    start, code = len(head) + 4, int(status[:3])
    if code < 200 or code in (204, 304) or bodiless:
        return Answer(code, headers, b""), start
    if headers.get("transfer-encoding") == "chunked":
        return _chunked(code, headers, data, start)
    if "content-length" not in headers:
        raise BrokenAnswerError(f"an answer has no length: {head[:200]!r}")
    end = start + int(headers["content-length"])
    return (Answer(code, headers, data[start:end]), end) if len(data) >= end else None


def _chunked(status: int, headers: dict[str, str], data: bytes, start: int) -> tuple[Answer, int] | None:
    body = b""
    while (end := data.find(b"\r\n", start)) >= 0:
        size = int(data[start:end], 16)
        start = end + 2 + size + 2
        if len(data) < start:
            return None
        body += data[end + 2 : end + 2 + size]
        if size == 0:
            return Answer(status, headers, body), start
    return None


def all_answers(data: bytes) -> list[Answer]:
    """The answers that came before a connection was closed; the last may break off if the server closed it."""
    answers = []
    while data:
        found = first_answer(data)
        if found is None:
            raise BrokenAnswerError(f"an answer breaks off: {data[:300]!r}")
        answer, end = found
        answers.append(answer)
        data = data[end:]
    return answers


class Client:
    """A connection that is used again as long as the server keeps it open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.opened = 0
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, data: bytes) -> Answer:
        """The answer to a request. A connection that the server closed before is opened again."""
        try:
            return self._ask(data)
        except ConnectionError:
            self.close()
            return self._ask(data)

    def _ask(self, data: bytes) -> Answer:
        if self._socket is None:
            self._socket = connected(self.port)
            self.opened += 1
        self._socket.sendall(data)
        said, bodiless = b"", data.startswith(b"HEAD ")
        while True:
            more = self._socket.recv(2**18)
            if not more:
                raise ConnectionResetError(f"the server closed the connection after {said[:200]!r}")
            said += more
            while (found := first_answer(said, bodiless=bodiless)) is not None:
                answer, end = found
                said = said[end:]
                if answer.status < 200:  # continue
                    continue
                if said:
                    raise BrokenAnswerError(f"an answer is followed by {said[:200]!r}")
                if answer.headers.get("connection") == "close":
                    self.close()
                return answer


def connected(port: int) -> socket.socket:
    """A connection to a server on this machine."""
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


def talk_to(port: int, *conversations: Iterable[bytes], pause: float = 0.0) -> list[bytes]:
    """What the server says to each of these until it closes the connection; all at the same time, with pauses between the parts."""
    sockets = [connected(port) for _ in conversations]
    parts = [list(each) for each in conversations]
    said = [b""] * len(sockets)
    try:
        for step in range(max(map(len, parts), default=0)):
            for each, part in zip(sockets, parts, strict=True):
                if step < len(part):
                    _send(each, part[step])
            time.sleep(pause)
        for place, each in enumerate(sockets):
            said[place] = _rest(each)
    finally:
        for each in sockets:
            each.close()
    return said


def _send(connection: socket.socket, data: bytes) -> None:
    with suppress(OSError):  # the server may have refused it already
        if data == END:
            connection.shutdown(socket.SHUT_WR)
        else:
            connection.sendall(data)


def _rest(connection: socket.socket) -> bytes:
    said = b""
    with suppress(ConnectionError):  # a reset, because we sent more than the server read
        while more := connection.recv(2**18):
            said += more
    return said
