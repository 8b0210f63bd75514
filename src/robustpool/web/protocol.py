"""How the server speaks HTTP: as uvicorn does, with limits on what is slow, large, or too much at once.

These limits stand here and not in the application, because they are about requests that are not there yet, or that should cost as
little as possible: a client that sends its headers byte by byte, headers without end, more requests than can be answered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .guard import RAW
from .metrics import Metrics
from .problems import PROBLEM, problem_object
from .settings import Settings

if TYPE_CHECKING:
    import asyncio

HEADER_BYTES = 64 * 1024
ALWAYS = "/api/v1/health"
"""What is answered however much there is to do."""


@dataclass
class Load:
    """What all connections of a server share."""

    settings: Settings = field(default_factory=Settings)
    metrics: Metrics = field(default_factory=Metrics)
    waiting: int = 0  # requests that are there and whose answer was not begun

    def begin(self) -> None:
        """One of them waits no longer."""
        self.waiting -= 1


def refusal(status: int, sentence: str, *headers: str, close: bool = True) -> bytes:
    """A problem as it goes over the wire."""
    body = json.dumps(problem_object(status, sentence)).encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        *(f"{name.decode()}: {value.decode()}" for name, value in RAW),
        f"content-type: {PROBLEM}",
        f"content-length: {len(body)}",
        *headers,
        *(["connection: close"] if close else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


TOO_MUCH = "the server has more to do than it can; ask again in a second."
BUSY = refusal(429, TOO_MUCH, "retry-after: 1", close=False)
BUSY_CLOSING = refusal(429, TOO_MUCH, "retry-after: 1")
CROWDED = refusal(429, "too many connections are open; ask again in a second.", "retry-after: 1")
BROKEN = refusal(400, "this is not HTTP.")
LONG_HEADERS = refusal(431, f"the headers may have at most {HEADER_BYTES:,} bytes together; these have more.")


class Protocol(HttpToolsProtocol):
    """One connection."""

    load: Load
    _timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _answering: Any = None  # the cycle of the request that is being answered

    # ---------------------------------------------------------------------------------------------- time and connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse a connection beyond the limit; give any other some seconds for its first request."""
        super().connection_made(transport)
        if len(self.connections) > self.load.settings.connections:
            self.load.metrics.refused += 1
            transport.write(CROWDED)
            transport.close()
            return
        self._within(self.load.settings.header_seconds, "headers")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time limit, and tell the answer that is under way, which in a pipeline is not that of the last request."""
        self._relax()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins; its headers have some seconds."""
        super().on_message_begin()
        self._header_bytes = 0
        if self._timer is None:
            self._within(self.load.settings.header_seconds, "headers")

    def on_headers_complete(self) -> None:
        """The headers are there; the body has some seconds."""
        self._within(self.load.settings.body_seconds, "body")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there as a whole."""
        self._relax()
        super().on_message_complete()

    def _within(self, seconds: float, part: str) -> None:
        self._relax()
        self._timer = self.loop.call_later(seconds, self._too_slow, seconds, part)

    def _relax(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self, seconds: float, part: str) -> None:
        """Close a connection whose request does not come; say so, unless there is none or its answer was begun."""
        if self.transport.is_closing():
            return
        begun = self.headers is not None if part == "headers" else not self.cycle.response_started
        if begun:
            self.transport.write(refusal(408, f"the {part} of a request must be there within {seconds:g} seconds."))
        self.transport.close()

    # ------------------------------------------------------------------------------------------------- size and syntax

    def data_received(self, data: bytes) -> None:
        """Bytes, which may come after the connection was refused."""
        if not self.transport.is_closing():
            super().data_received(data)

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        self._count(len(name) + len(value) + 4)  # a colon, a space and the end of the line
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > HEADER_BYTES:
            raise HeadersTooLongError

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # ours is a problem
        """Say that this is no HTTP, or that the headers are too long."""
        self.transport.write(LONG_HEADERS if self._header_bytes > HEADER_BYTES else BROKEN)
        self.transport.close()

    # -------------------------------------------------------------------------------------------------------- too much

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Begin an answer, or refuse the request if too many that came at the same time wait for theirs."""
        load = self.load
        if load.waiting >= load.settings.waiting and cycle.scope["path"] != ALWAYS:
            load.metrics.refused += 1
            cycle.response_started = cycle.response_complete = True
            words = BUSY if cycle.keep_alive else BUSY_CLOSING
            self.transport.write(words[: words.index(b"{")] if cycle.scope["method"] == "HEAD" else words)
            if not cycle.keep_alive:
                self.transport.close()
            self.loop.call_soon(self.on_response_complete)
            return
        self._answering = cycle
        load.waiting += 1
        self.loop.call_soon(load.begin)  # runs just before the task that is made now
        super()._start_asgi_task(cycle, app)


class HeadersTooLongError(Exception):
    """The headers of a request go beyond the limit."""


def protocol(load: Load) -> type[Protocol]:
    """The protocol of a server, whose connections share their load."""
    return type("ServerProtocol", (Protocol,), {"load": load})
