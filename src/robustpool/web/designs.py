"""``POST designs`` and ``POST certificates``: the options of the commands, checked before there is a job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from ..errors import InputError
from .bodies import json_object
from .job_routes import described
from .openapi import answer
from .schemas import JOB

if TYPE_CHECKING:
    from .jobs.manager import Jobs

router = APIRouter(tags=["jobs"])


@router.post("/designs", status_code=202, responses={202: answer("The job that does it.", JOB)})
async def design(request: Request) -> JSONResponse:
    """Start a design. The body has the options of `robustpool design`, the family as an object in place of its file."""
    return await _started(request, "design", await json_object(request))


@router.post("/certificates", status_code=202, responses={202: answer("The job that does it.", JOB)})
async def certificate(request: Request) -> JSONResponse:
    """Start a proof. The body has a ``rule``, or a ``design`` (its content or the id of its job), and the options of `robustpool certify`."""
    options = await json_object(request)
    if isinstance(options.get("design"), str):
        options = _with_design(request.app.state.jobs, options)
    return await _started(request, "certificate", options)


async def _started(request: Request, kind: str, options: dict[str, Any]) -> JSONResponse:
    """Check the options in a worker, whose limits hold for that as well; then start the job."""
    jobs: Jobs = request.app.state.jobs
    checked = await jobs.ask(f"{kind}-check", options)
    id = jobs.submit(kind, options, title=checked["title"])
    place = f"/api/v1/{kind}s/{id}"
    return JSONResponse(described(jobs, jobs.get(id), f"{kind}s"), 202, {"Location": place})


def _with_design(jobs: Jobs, options: dict[str, Any]) -> dict[str, Any]:
    """The design of a job in place of its id; with the family that it was made for, if that was given then."""
    job = jobs.get(options["design"], "design")
    if job.state != "done":
        raise InputError(f"design must be the id of a design that is done; {job.id!r} is {job.state}.")
    content = json.loads(jobs.file(job.id, "design.json").read_text(encoding="utf-8"))
    own = {name: job.options[name] for name in ("family",) if name in job.options}
    return own | options | {"design": content}
