"""``serve``: start the server and say where it is."""

from __future__ import annotations

import secrets
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .. import checks
from ..errors import InputError
from .settings import LOCAL, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn

    from ..typing import FilePath

STOP_SECONDS = 5
"""Requests that are being answered when the server stops have so long."""


def serve(
    port: int = 8000,
    *,
    host: str | None = None,
    token: str | None = None,
    data: FilePath | None = None,
    say: Callable[[str], None] = print,
    **limits: Any,
) -> None:
    """Serve the page and the HTTP API under /api/v1 until Ctrl-C; on 127.0.0.1, unless a ``host`` is given.

    With a host, every request needs the ``token``; if none is given, one is made. Jobs and their results are in the folder ``data``.
    ``limits`` are the other fields of `robustpool.web.settings.Settings`.
    """
    checks.extra("the server", "serve")
    settings = _settings(port, host, token, data, limits)
    with _listening(settings) as listener:
        server = server_of(settings)
        host, port = listener.getsockname()[:2]
        query = "" if settings.token is None else f"?token={quote(settings.token)}"
        say(f"The page is at http://{f'[{host}]' if ':' in host else host}:{port}/{query}")
        server.run(sockets=[listener])


def server_of(settings: Settings) -> uvicorn.Server:
    """The server, ready to run; its limits and counts are in the ``load`` of its protocol."""
    import uvicorn

    from .app import create_app
    from .protocol import Load, protocol

    app = create_app(settings)
    app.state.jobs.open()
    config = uvicorn.Config(
        app,
        http=protocol(Load(settings, app.state.metrics)),
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.jobs.close_streams()  # a stream of events would keep the server waiting
            await super().shutdown(sockets)

    return Server(config)


def _listening(settings: Settings) -> socket.socket:
    """The socket, open before anything else starts, so that a port in use is said in one sentence."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(2048)  # who comes before the server is up waits for it
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise InputError(f"the server cannot listen at {settings.host}:{settings.port} ({why}).") from None
    return listener


def _settings(
    port: int, host: str | None, token: str | None, data: FilePath | None, limits: dict[str, Any]
) -> Settings:
    from pathlib import Path

    if token is not None and host is None:
        raise InputError("a token is for a server that others reach; give a host, too.")
    given: dict[str, Any] = {} if data is None else {"data": Path(data)}
    settings = Settings(host=host or LOCAL, port=checks.whole("port", port, least=0, most=65535), **given, **limits)
    return settings if host is None else replace(settings, token=token or secrets.token_urlsafe(24))
