"""``jobs``, ``designs`` and ``certificates``: how a job stands, its events, its files; to pause, continue and cancel it."""

from __future__ import annotations

import json
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from ..errors import InputError
from .guard import SANDBOX_POLICY
from .openapi import answer
from .problems import RequestError
from .schemas import JOB, JOBS, REMOVED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from .jobs.manager import Jobs
    from .jobs.store import Job

router = APIRouter(tags=["jobs"])

SHOWN = ["design", "certificate"]
"""Kinds in the list of recent jobs, unless others are named."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
}

BLOCK = 2**16
"""Bytes of a file that are read at once."""

Answers = dict[int | str, dict[str, Any]]

_TEXT = {"schema": {"type": "string"}}
JOB_ANSWER: Answers = {200: answer("The job.", JOB)}
CANCEL_ANSWER: Answers = {200: answer("The job, or that it is removed.", {"anyOf": [JOB, REMOVED]})}
_EVENTS = {"schema": {"description": "The data of each event are the job, as JSON."}}
EVENTS_ANSWER: Answers = {200: {"description": "The events.", "content": {"text/event-stream": _EVENTS}}}
FILE_ANSWER: Answers = {
    200: {
        "description": "The file.",
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "object"}} if ending == ".json" else _TEXT
            for ending, kind in TYPES.items()
        },
    }
}

RETRY = 1000
"""Milliseconds after which a browser that lost the connection asks again."""


def described(jobs: Jobs, job: Job, base: str = "jobs") -> dict[str, Any]:
    """A job as clients see it."""
    return {
        "id": job.id,
        "kind": job.kind,
        "title": job.title,
        "state": job.state,
        "created": job.created,
        "seconds": round(job.seconds, 3),
        "took": f"{job.seconds:.0f} s",
        "waiting": jobs.place(job.id),
        "pausable": jobs.kinds[job.kind].pausable if job.kind in jobs.kinds else False,
        "progress": job.progress,
        "result": job.result,
        "error": job.error,
        "files": {name: f"/api/v1/{base}/{job.id}/files/{name}" for name in jobs.files(job.id)} if job.ended else {},
    }


@router.get("/jobs", responses={200: answer("The jobs.", JOBS)})
async def recent(request: Request, kind: Annotated[list[str], Query()] = SHOWN) -> dict[str, Any]:
    """The latest jobs of some kinds, designs and certificates if none is named; the newest first, without their results."""
    jobs: Jobs = request.app.state.jobs
    for each in kind:
        if each not in jobs.kinds:
            raise InputError(f"kind must be one of {', '.join(jobs.kinds)}; it is {each[:80]!r}.")
    return {"jobs": [described(jobs, job) for job in jobs.recent(*kind)]}


def _add_routes(base: str, kind: str | None) -> None:
    """The routes for jobs of a kind, or of any."""
    one = f"/{base}/{{id}}"

    @router.get(one, name=f"{base}: state", responses=JOB_ANSWER)
    async def state(request: Request, id: str) -> dict[str, Any]:
        """How a job stands; its result once it is done."""
        jobs: Jobs = request.app.state.jobs
        return described(jobs, jobs.get(id, kind), base)

    @router.get(f"{one}/events", name=f"{base}: events", response_class=StreamingResponse, responses=EVENTS_ANSWER)
    async def events(request: Request, id: str) -> Response:
        """The job now and after each change, as server-sent events; they end when the job ends."""
        jobs: Jobs = request.app.state.jobs
        jobs.get(id, kind)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(_stream(jobs, id, base), media_type="text/event-stream", headers=headers)

    @router.delete(one, name=f"{base}: cancel", responses=CANCEL_ANSWER)
    async def cancel(request: Request, id: str) -> dict[str, Any]:
        """Cancel a job that has not ended; remove one that has, with its files."""
        jobs: Jobs = request.app.state.jobs
        job = jobs.get(id, kind)
        if job.ended:
            await jobs.remove(id)
            return {"id": id, "state": "removed"}
        return described(jobs, await jobs.cancel(id), base)

    @router.post(f"{one}/pause", name=f"{base}: pause", responses=JOB_ANSWER)
    async def pause(request: Request, id: str) -> dict[str, Any]:
        """Stop a job at a checkpoint and free its worker."""
        jobs: Jobs = request.app.state.jobs
        jobs.get(id, kind)
        return described(jobs, await jobs.pause(id), base)

    @router.post(f"{one}/resume", name=f"{base}: resume", responses=JOB_ANSWER)
    async def resume(request: Request, id: str) -> dict[str, Any]:
        """Continue a job that was paused."""
        jobs: Jobs = request.app.state.jobs
        jobs.get(id, kind)
        return described(jobs, await jobs.resume(id), base)

    @router.get(f"{one}/files/{{name}}", name=f"{base}: file", response_class=Response, responses=FILE_ANSWER)
    async def file(request: Request, id: str, name: str) -> Response:
        """A file that the job left: the design, the report, the certificate."""
        jobs: Jobs = request.app.state.jobs
        jobs.get(id, kind)
        path = jobs.file(id, name)
        kind_of_file = TYPES.get(path.suffix, "application/octet-stream")
        if path.suffix == ".html":
            return _sent(path, {"Content-Type": kind_of_file, "Content-Security-Policy": SANDBOX_POLICY})
        return _sent(path, {"Content-Type": kind_of_file, "Content-Disposition": f'attachment; filename="{name}"'})


def _sent(path: Path, headers: dict[str, str]) -> Response:
    """A file, always as a whole. It is opened now: whoever removes the job while it is sent does no harm."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise RequestError(404, f"the file {path.name!r} was removed.") from None
    size = os.fstat(file.fileno()).st_size
    return StreamingResponse(_blocks(file), headers={**headers, "Content-Length": str(size)})


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while block := file.read(BLOCK):
            yield block


async def _stream(jobs: Jobs, id: str, base: str) -> AsyncIterator[str]:
    """Events as text; a comment is a sign of life."""
    yield f"retry: {RETRY}\n\n"
    async with aclosing(jobs.events(id)) as events:
        async for job in events:
            yield ": \n\n" if job is None else f"data: {json.dumps(described(jobs, job, base))}\n\n"


for _base, _kind in (("jobs", None), ("designs", "design"), ("certificates", "certificate")):
    _add_routes(_base, _kind)
