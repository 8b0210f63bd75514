"""``robustpool serve``: the web page and the HTTP API."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # typer looks at the types
from typing import Annotated

from typer import Option

from .command import command
from .output import Answer, say


@command
def serve(
    *,
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    host: Annotated[
        str | None, Option(help="Let others reach it at this address; every request then needs the token.")
    ] = None,
    token: Annotated[str | None, Option(help="With --host: the token.", show_default="a new one")] = None,
    data: Annotated[Path | None, Option(metavar="DIR", help="Where jobs and their results are kept.")] = None,
    workers: Annotated[int, Option(min=1, help="Designs and proofs that run at the same time.")] = 2,
    queue: Annotated[int, Option(min=0, help="Jobs that may wait for a worker.")] = 20,
    job_seconds: Annotated[float, Option(min=0.0, help="How long a job may work.")] = 3600,
    job_memory: Annotated[int, Option(min=1, metavar="MB", help="How much memory a job may have.")] = 4096,
) -> Answer:
    """Serve the web page and the HTTP API under /api/v1, on this machine only unless --host is given.

    The page combines a few forecasts, compares rules on a table, designs rules and shows the certified table. Ctrl-C stops the
    server; jobs that run then continue when it starts again.

    \b
    Examples:
      robustpool serve
      robustpool serve --port 9000
      robustpool serve --host 0.0.0.0 --token SECRET
    """
    from ..web.serve import serve as start
    from ..web.settings import MB

    limits = {"workers": workers, "queue": queue, "job_seconds": job_seconds, "job_memory": job_memory * MB}
    start(port, host=host, token=token, data=data, say=say, **limits)
    return Answer({}, [])
