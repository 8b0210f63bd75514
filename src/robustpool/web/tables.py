"""``POST compare``, ``POST fit`` and ``POST aggregate`` with a table: an upload, options in the query, work in a worker process.

An upload is stored under a name of the server's own. Its kind is told from its content, and its name is only shown.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from ..errors import InputError
from ..practice.comparing import ScoringOptions
from ..practice.fitting import FitOptions
from ..practice.pooling import PoolingOptions
from ..practice.reading import ReadingOptions
from .bodies import parse_json, read_body
from .job_routes import described as described_job
from .multipart import Part, boundary, split_parts
from .openapi import answer
from .problems import RequestError
from .queries import described, kinds, read_query
from .schemas import JOB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .jobs.manager import Jobs

router = APIRouter(tags=["tables"])

CSV, PARQUET, JSON = "text/csv", "application/vnd.apache.parquet", "application/json"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
NO_NAME = "upload"
PATIENCE = 0.9
"""The share of the time of a request after which the answer is the job, if that is not done."""

PARTS = ("table", "outcomes", "rule")

READING = kinds(ReadingOptions, without=("outcomes",))
SCORING = {("rule" if name == "rules" else name): kind for name, kind in kinds(ScoringOptions).items()}
FITTING, POOLING = kinds(FitOptions), kinds(PoolingOptions)
OURS: dict[str, type] = {"name": str, "files": bool}
COMPARE_OPTIONS = {**SCORING, "cluster": str, **READING, **OURS, "report": bool}
FIT_OPTIONS = {**FITTING, "cluster": str, **READING, **OURS, "report": bool}
POOL_OPTIONS = {"rule": str, "clip": float, **POOLING, **READING, **OURS}

BINARY = {"schema": {"type": "string", "format": "binary"}}
FORMS: dict[str, Any] = {CSV: {"schema": {"type": "string"}}, PARQUET: BINARY}
"""Answers to a table, beside JSON."""


def _documented(options: Mapping[str, type], command: str, *parts: str) -> dict[str, Any]:
    """Parameters and body for the OpenAPI document."""
    form = {"schema": {"type": "object", "required": ["table"], "properties": dict.fromkeys(parts, BINARY["schema"])}}
    kinds_of_body = {CSV: BINARY, PARQUET: BINARY, EXCEL: BINARY, "multipart/form-data": form}
    return {
        "parameters": described(options, command),
        "requestBody": {"required": True, "content": kinds_of_body},
    }


ANSWERS: dict[int | str, dict[str, Any]] = {
    200: answer("As the command with --json."),
    202: answer("The job that does it.", JOB),
}


@router.post(
    "/compare",
    response_class=Response,
    responses=ANSWERS,
    openapi_extra=_documented(COMPARE_OPTIONS, "compare", "table", "outcomes"),
)
async def compare(request: Request) -> Response:
    """Score every rule on a table of forecasts with outcomes. The answer is that of `robustpool compare --json`.

    With `Prefer: respond-async` the answer is the job that does it.
    """
    upload = await _uploaded(request, COMPARE_OPTIONS, "table", "outcomes")
    scoring = upload.taken(SCORING)
    rules = scoring.pop("rule", None)
    for rule in [*(rules or ()), scoring.get("reference", "")]:
        _refuse_file("rule", rule)
    options = upload.options(cluster=upload.given.get("cluster"), scoring=scoring | ({"rules": rules} if rules else {}))
    return await _answered(request, "compare", options, upload, keep=options["files"] or options["report"])


@router.post(
    "/fit",
    response_class=Response,
    responses=ANSWERS,
    openapi_extra=_documented(FIT_OPTIONS, "fit", "table", "outcomes"),
)
async def fit(request: Request) -> Response:
    """Learn a pool from a table of forecasts with outcomes. The answer is that of `robustpool fit --json`, and the id of its job.

    The pool is the file pool.json of the job. `POST aggregate?rule=ID` uses it for a table; with JSON, `rule` is the pool itself. With `Prefer: respond-async` the answer is the job.
    """
    upload = await _uploaded(request, FIT_OPTIONS, "table", "outcomes")
    options = upload.options(cluster=upload.given.get("cluster"), fitting=upload.taken(FITTING))
    return await _answered(request, "fit", options, upload, keep=True)


async def pooled_upload(request: Request) -> Response:
    """Combine a table into one forecast per question: as CSV, or as `Accept` asks, as Parquet or JSON."""
    upload = await _uploaded(request, POOL_OPTIONS, *PARTS)
    jobs: Jobs = request.app.state.jobs
    rule = upload.given.get("rule", "robust")
    if "rule" in upload.parts:
        if "rule" in upload.given:
            raise InputError("the rule must be given once; it is an option and a part of the body.")
        if len(upload.parts["rule"]) > request.app.state.settings.json_bytes:
            raise RequestError(413, f"a rule may have at most {request.app.state.settings.json_bytes:,} bytes here.")
        parse_json(upload.parts["rule"])
        rule = "the part 'rule'"
    else:
        _refuse_file("rule", rule)
        made = _made_by_job(jobs, rule)
        if made is not None:
            upload.parts["rule"] = made
    form = _form(request.headers.get("accept", ""))
    options = upload.options(rule=rule, clip=upload.given.get("clip"), pooling=upload.taken(POOLING), form=form)
    return await _answered(request, "aggregate-table", options, upload, keep=options["files"])


POOL_DOCUMENTED = _documented(POOL_OPTIONS, "aggregate", *PARTS)
"""What `POST aggregate` takes beside JSON."""


# --- the upload -------------------------------------------------------------------------------------------------------


@dataclass
class Upload:
    """What came: the options of the query, and the parts of the body by the names that we have for them."""

    given: dict[str, Any]
    parts: dict[str, bytes]
    name: str
    most: int

    def taken(self, options: Mapping[str, type]) -> dict[str, Any]:
        """Those of some options that were given."""
        return {name: self.given[name] for name in options if name in self.given}

    def options(self, **others: Any) -> dict[str, Any]:
        """The options of the job."""
        wanted = {name: self.given.get(name, False) for name in ("files", "report")}
        return {"reading": self.taken(READING), "name": self.name, "most": self.most, **wanted, **others}

    def files(self) -> dict[str, bytes]:
        """The files of the job, by the names that its work knows."""
        names = {"table": "table", "outcomes": "outcomes", "rule": "rule.json"}
        return {names[part]: content for part, content in self.parts.items()}


async def _uploaded(request: Request, options: Mapping[str, type], *parts: str) -> Upload:
    """Read the request; the query comes first, so that a wrong option is said at once."""
    settings = request.app.state.settings
    given = read_query(request.query_params, options)
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() in (JSON, "application/x-www-form-urlencoded"):
        hint = " JSON needs the header Content-Type: application/json." if "form" in kind else ""
        raise RequestError(415, f"the body must be a table: CSV, Parquet or Excel; its type is {kind[:80]!r}.{hint}")
    divider = boundary(kind)
    body = await read_body(request, settings.body_bytes)
    found = {"table": Part(body, None)} if divider is None else split_parts(body, divider)
    for name in found:
        if name not in parts:
            raise InputError(f"there is no part {name[:80]!r}; the parts are {', '.join(parts)}.")
    if "table" not in found:
        raise InputError("the body must have a part 'table'; it is missing.")
    shown = given.get("name") or found["table"].filename or NO_NAME
    contents = {name: part.content for name, part in found.items()}
    return Upload(given, contents, _shown(shown), settings.table_bytes)


def _shown(name: str) -> str:
    """A name for messages: its last part, in one line, and not too long.

    >>> _shown("../../etc/passwd"), _shown("a" * 200) == "a" * 100, _shown("/")
    ('passwd', True, 'upload')
    """
    last = re.split(r"[/\\]", re.sub(r"[\x00-\x1f\x7f]", "", name))[-1].strip()
    return last[:100] or NO_NAME


def _refuse_file(name: str, rule: str) -> None:
    """A rule is a name here: what a client sends never becomes a path."""
    if rule.endswith(".json"):
        raise InputError(
            f"{name} must be the name of a rule; {rule[:80]!r} is a file, which goes with the request as its part 'rule'."
        )


def _made_by_job(jobs: Jobs, id: str) -> bytes | None:
    """The pool or the design of a job that is done; None if this is no id."""
    if not re.fullmatch("[0-9a-f]{16}", id):
        return None
    job = jobs.get(id)
    made = {"fit": "pool.json", "compare": "pool.json", "design": "design.json"}.get(job.kind)
    if made is None or job.state != "done":
        raise InputError(
            f"rule must be the id of a fit or a design that is done; {id!r} is a {job.kind} that is {job.state}."
        )
    return jobs.file(id, made).read_bytes()


def _form(accept: str) -> str:
    """The form of the answer that the client likes best: csv, parquet or json."""
    forms = {CSV: "csv", PARQUET: "parquet", "application/x-parquet": "parquet", JSON: "json"}
    wanted = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    return next((forms[each] for each in wanted if each in forms), "csv")


# --- the answer -------------------------------------------------------------------------------------------------------


async def _answered(request: Request, kind: str, options: dict[str, Any], upload: Upload, *, keep: bool) -> Response:
    """Start the job and wait for it, unless the client prefers not to; what is not to be kept is removed."""
    jobs: Jobs = request.app.state.jobs
    id = jobs.submit(kind, options, upload.files(), title=upload.name)
    place = {"Location": f"/api/v1/jobs/{id}"}
    if "respond-async" in request.headers.get("prefer", "").lower():
        return JSONResponse(described_job(jobs, jobs.get(id)), 202, place)
    keeping = False
    try:
        job = await jobs.finished(id, PATIENCE * request.app.state.settings.request_seconds)
        if not job.ended:  # it goes on, and the client can ask for it
            keeping = True
            return JSONResponse(described_job(jobs, job), 202, place)
        result = jobs.result(job)
        keeping = keep
        headers = dict(place) if keep else {}
        if kind != "aggregate-table":
            return JSONResponse(result | ({"id": id} if keep else {}), headers=headers)
        content = await asyncio.to_thread(jobs.file(id, result["output"]).read_bytes)
        headers["Content-Disposition"] = f'attachment; filename="{result["output"]}"'
        headers["Robustpool-Rejected"] = str(result["rejected"]["total"])
        return Response(
            content, media_type={"csv": CSV, "parquet": PARQUET, "json": JSON}[options["form"]], headers=headers
        )
    finally:
        if not keeping:
            await jobs.remove(id)
