"""What every request passes first: the token, the host that it is for, and the headers that every answer carries."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

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
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
COOKIE = "robustpool-token"
LOCAL_NAMES = {"127.0.0.1", "localhost", "[::1]"}


class Guard:
    """Middleware without a framework around it, because every request pays for it."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what may not pass; else pass it on, and add the headers to its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in _RAW if pair[0] not in given)]
            await send(message)

        refusal = self._refusal(dict(scope["headers"]))
        if refusal is not None:
            await problem(*refusal)(scope, receive, send_guarded)
            return
        await self.app(scope, receive, send_guarded)

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[Any, ...] | None:
        """Status, sentence and headers, if the request may not pass."""
        if self.settings.local:  # a page elsewhere must not reach us under a name of its own (DNS rebinding)
            host = headers.get(b"host", b"").decode("latin-1").rsplit(":", 1)[0] if b"host" in headers else ""
            if host not in LOCAL_NAMES:
                return 421, f"this server answers to 127.0.0.1 and localhost only; the request is for {host!r}."
        token = self.settings.token
        if token is not None and not _has(token, headers):
            return 401, "this server needs its token: Authorization: Bearer TOKEN.", {"WWW-Authenticate": "Bearer"}
        return None


def _has(token: str, headers: dict[bytes, bytes]) -> bool:
    """Whether the token is in the header, or in the cookie that the page got."""
    given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
    cookies = headers.get(b"cookie", b"").split(b"; ")
    name = f"{COOKIE}=".encode()
    tokens = [given, *(cookie.removeprefix(name) for cookie in cookies if cookie.startswith(name))]
    return any(hmac.compare_digest(each, token.encode()) for each in tokens)
