"""What every request passes first: the token, the host that it is for, its limits, and the headers of every answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from .metrics import Metrics
from .problems import problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .settings import Settings

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
NAMES = frozenset(name for name, _ in RAW)
SANDBOX_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For reports, which are whole pages with scripts of their own: the sandbox keeps them away from the API and its cookie."""
SANDBOX = (b"content-security-policy", SANDBOX_POLICY.encode())
SANDBOXED = [SANDBOX if pair[0] == SANDBOX[0] else pair for pair in RAW]
COOKIE = "robustpool-token"
LOCAL_NAMES = {b"127.0.0.1", b"localhost", b"[::1]"}
READING = {"GET", "HEAD", "OPTIONS"}
"""Methods that change nothing."""


class Guard:
    """Middleware without a framework around it, because every request pays for it."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics | None = None) -> None:
        self.app = app
        self.settings = settings
        self.metrics = metrics or Metrics()
        self._cookie = None if settings.token is None else cookie_of(settings.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what may not pass; else pass it on within its time, count it, and add the headers to its answer."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        metrics, start, status, late = self.metrics, perf_counter(), 0, False
        task: Any = asyncio.current_task()

        def give_up() -> None:
            nonlocal late
            late = True
            task.cancel()

        limit = asyncio.get_running_loop().call_later(self.settings.request_seconds, give_up)

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                limit.cancel()  # what has begun may last: the events of a job, a large file
                status = message["status"]
                ours = SANDBOXED if SANDBOX in message["headers"] else RAW
                message["headers"] = [*(pair for pair in message["headers"] if pair[0] not in NAMES), *ours]
            await send(message)

        metrics.in_flight += 1
        try:
            await (self._refusal(scope) or self.app)(scope, receive, send_guarded)
        except ClientDisconnect:
            pass
        except asyncio.CancelledError:
            if not late:  # the server stops
                raise
            task.uncancel()
            seconds = f"{self.settings.request_seconds:g} seconds"
            words = f"the answer took more than {seconds}, and was given up; send less at a time."
            await problem(413, words)(scope, receive, send_guarded)
        except Exception:
            if not status:
                await problem(500, OUR_ERROR)(scope, receive, send_guarded)
            raise  # to the log
        finally:
            limit.cancel()
            metrics.in_flight -= 1
            route = getattr(scope.get("route"), "path", "none").removeprefix("/api/v1")  # some versions have it there
            method = scope["method"] if scope["method"] in METHODS else "other"
            metrics.add(method, route, status or GONE, perf_counter() - start)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"")
        if self.settings.local and _name(host) not in LOCAL_NAMES:
            # a page elsewhere must not reach us under a name of its own (DNS rebinding)
            shown = _name(host).decode("latin-1")[:80]
            return problem(421, f"this server answers to 127.0.0.1 and localhost only; the request is for {shown!r}.")
        if self._cookie is not None and not self._has_token(headers):
            return self._entrance(scope)
        if scope["method"] not in READING and not _same_site(headers, host):
            words = "this request comes from a page of another site; only pages of this server may send it."
            return problem(403, words)
        if int(headers.get(b"content-length", b"0")) > self.settings.body_bytes:
            return problem(413, f"a body may have at most {self.settings.body_bytes:,} bytes here; this one has more.")
        return None

    def _has_token(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the token is in the header, or what stands for it in the cookie that the page got."""
        given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        if self._is_token(given):
            return True
        name = f"{COOKIE}=".encode()
        cookies = (cookie.strip() for cookie in headers.get(b"cookie", b"").split(b";"))
        values = (cookie.removeprefix(name) for cookie in cookies if cookie.startswith(name))
        return any(hmac.compare_digest(value, (self._cookie or "").encode()) for value in values)

    def _is_token(self, given: bytes) -> bool:
        return hmac.compare_digest(given, (self.settings.token or "").encode())

    def _entrance(self, scope: Scope) -> Response:
        """A page that is opened with ?token=... gets a cookie, and its address without the token; others get 401."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if scope["method"] != "GET" or not tokens or not self._is_token(tokens[0].encode("utf-8", "replace")):
            words = "this server needs its token: open the page with ?token=TOKEN, or send Authorization: Bearer TOKEN."
            return problem(401, words, {"WWW-Authenticate": "Bearer"})
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + scope["raw_path"].decode("ascii").lstrip("/\\")  # never //elsewhere
        cookie = f"{COOKIE}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
        where = f"{path}?{rest}" if rest else path
        return Response(status_code=303, headers={"Location": where, "Set-Cookie": cookie, "Cache-Control": "no-store"})


OUR_ERROR = "the request failed because of an error in the server; its log says more."

GONE = 499
"""What is counted for a client that left before its answer."""

METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}


def cookie_of(token: str) -> str:
    """What the cookie holds: it shows that the token was known, and has only characters that a cookie may have."""
    return hashlib.sha256(f"{COOKIE}:{token}".encode()).hexdigest()


def _name(host: bytes) -> bytes:
    """The name of a host without its port.

    >>> _name(b"localhost:8000"), _name(b"[::1]:8000"), _name(b"[::1]")
    (b'localhost', b'[::1]', b'[::1]')
    """
    name, colon, port = host.rpartition(b":")
    return (name if colon and port.isdigit() else host).lower()


def _same_site(headers: dict[bytes, bytes], host: bytes) -> bool:
    """Whether a request comes from a page of this server, or from no page at all."""
    if headers.get(b"sec-fetch-site", b"none") in (b"cross-site", b"same-site"):
        return False
    origin = headers.get(b"origin")
    return origin is None or origin.partition(b"://")[2] == host
