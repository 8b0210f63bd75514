"""``GET table``, its certificates, and ``POST verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from ..minimax.proofs import Proof, proofs
from ..minimax.rows import Row, minimax_rows
from ..views import minimax_table as view
from .bodies import read_body
from .job_routes import described
from .openapi import answer
from .problems import RequestError
from .schemas import JOB
from .work import verify as work

if TYPE_CHECKING:
    from .jobs.manager import Jobs

router = APIRouter()

ROW_SCHEMA = {
    "type": "object",
    "required": ["rows", "proved"],
    "properties": {
        "proved": {"type": "integer", "description": "rows whose two bounds are proved"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "setting", "agents", "loss", "lower", "upper", "proved", "rule", "certificates"],
                "properties": {
                    "name": {"type": "string"},
                    "lower": {"type": ["number", "null"], "description": "no rule has a smaller worst-case regret"},
                    "upper": {"type": ["number", "null"], "description": "the worst-case regret of the rule"},
                    "proved": {"type": "boolean"},
                    "formula": {"type": "string"},
                    "certificates": {"type": "array", "items": {"type": "object"}},
                },
            },
        },
    },
}
VERDICT_SCHEMA = {
    "type": "object",
    "required": ["verified", "sentence", "claims", "upper", "lower", "value", "over_budget", "seconds"],
    "properties": {
        "verified": {"type": "boolean"},
        "sentence": {"type": "string", "description": "which claim does not hold, or that all do"},
        "claims": {"type": "array", "items": {"type": "string"}, "description": "what was proved again, in words"},
        "upper": {"type": ["number", "null"]},
        "lower": {"type": ["number", "null"]},
        "value": {"type": ["number", "null"], "description": "no aggregator at all has a smaller worst case"},
        "unanimous": {"type": ["number", "null"]},
        "label": {"type": ["string", "null"], "description": "what its maker calls it; nothing is proved of that"},
        "over_budget": {"type": "boolean", "description": "neither proved nor refuted: the check takes too much work"},
        "seconds": {"type": "number"},
        "referee": {
            "type": "object",
            "description": "what the referee's checker says; `agrees` is null where it checks nothing",
            "required": ["agrees", "sentences", "seconds"],
            "properties": {
                "agrees": {"type": ["boolean", "null"]},
                "sentences": {"type": "array", "items": {"type": "string"}},
                "seconds": {"type": "number"},
            },
        },
    },
}
Side = Literal["lower", "upper"]


@router.get("/table", responses={200: answer("The rows.", ROW_SCHEMA)})
async def table(
    setting: Annotated[str | None, Query(description="only the rows of one setting, such as prior-range")] = None,
) -> dict[str, Any]:
    """As `robustpool table --json`; each row also has its formula and where its certificates are."""
    rows = minimax_rows(setting)
    data = view.as_data(rows)
    for entry, row in zip(data["rows"], rows, strict=True):
        entry |= {"formula": view.formula(row), "certificates": [_place(row, proof) for proof in proofs(row)]}
    return data


def _place(row: Row, proof: Proof) -> dict[str, Any]:
    url = None if proof.file is None else f"/api/v1/{view.place(row.name, proof)}"
    return {"proves": list(proof.bounds), "command": f"robustpool {proof.command}", "name": proof.name, "url": url}


@router.get(
    "/table/{row}/certificate",
    response_class=Response,
    responses={200: answer("The certificate, a file."), 404: {"description": "There is no such row or certificate."}},
)
async def certificate(
    row: str,
    bound: Annotated[Side | None, Query(description="which bound it proves, if there is a choice")] = None,
) -> Response:
    """The certificate of a bound; without a choice that of the upper bound, if there is one."""
    found = [each for each in minimax_rows() if each.name == row]
    if not found:
        raise RequestError(404, f"the table has no row {row!r}; /api/v1/table lists the rows.")
    there = {side: proof for proof in proofs(found[0]) for side in proof.bounds if proof.file is not None}
    proof = there.get(bound or ("upper" if "upper" in there else "lower"))
    if proof is None:
        which = "bounds" if bound is None else f"{bound} bound"
        raise RequestError(404, f"there is no certificate for the {which} of {row!r}: {view.how(found[0])}")
    headers = {"Content-Disposition": f'attachment; filename="{proof.name}"'}
    return Response(proof.content(), media_type="application/json", headers=headers)


@router.post(
    "/verify",
    responses={
        200: answer("The verdict; a certificate that is wrong is not `verified`.", VERDICT_SCHEMA),
        202: answer("The job, if the request prefers that.", JOB),
    },
)
async def verify(
    request: Request,
    referee: Annotated[bool, Query(description="let the referee's checker look at it, too")] = False,
) -> JSONResponse:
    """As `robustpool verify --json`: every claim is proved again from the file alone, within the same budget of work.

    A certificate with a wrong claim gets 200 with `verified` false and the reason. A file that is no certificate gets 422.
    With `Prefer: respond-async` the answer is 202 and the job that does it.
    """
    content = await read_body(request, request.app.state.settings.body_bytes)
    jobs: Jobs = request.app.state.jobs
    options, files = {"referee": referee}, {work.FILE: content}
    if "respond-async" in request.headers.get("prefer", "").lower():
        id = jobs.submit("verify", options, files)
        return JSONResponse(described(jobs, jobs.get(id)), 202, {"Location": f"/api/v1/jobs/{id}"})
    return JSONResponse(await jobs.ask("verify", options, files))
