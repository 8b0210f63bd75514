"""A short way for the request that there are most of: a few numbers in JSON to ``POST aggregate``.

It does what the route does, by the same functions, without the layers of the framework around it, which would cost more than the
forecast. Whatever is not such a request goes on, as if this were not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RobustpoolError
from .aggregating import SMALL, answer
from .problems import problem_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/api/v1/aggregate"
KIND = b"application/json"


class Route:
    """What metrics look for in a request that was routed."""

    path = PATH


ROUTE = Route()


class Quick:
    """Middleware that answers small bodies of JSON itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "POST" or not _is_plain(scope):
            await self.app(scope, receive, send)
            return
        first = await receive()
        body = first.get("body", b"")
        if first["type"] != "http.request" or first.get("more_body") or len(body) > SMALL:
            await self.app(scope, _again(first, receive), send)
            return
        scope["route"] = ROUTE
        try:
            content = answer(body)
        except RobustpoolError as error:
            await problem_of(error)(scope, receive, send)
            return
        headers = [(b"content-length", str(len(content)).encode()), (b"content-type", KIND)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _is_plain(scope: Scope) -> bool:
    """Whether this is JSON, and without a query."""
    if scope["query_string"]:
        return False
    for name, value in scope["headers"]:
        if name == b"content-type":
            return value == KIND  # others that mean the same take the long way
    return False


def _again(first: Message, receive: Receive) -> Receive:
    """What receives the same message again, and then those that follow."""
    waiting = [first]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again
