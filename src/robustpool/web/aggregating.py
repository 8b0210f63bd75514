"""``POST aggregate`` and ``GET rules``: a few numbers, or many questions, combined."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic_core import to_json
from starlette.responses import Response

from ..errors import InputError
from . import schemas
from .bodies import as_object, parse_json, read_body
from .combining import combined, combined_array
from .openapi import answer as documented
from .queries import read_query
from .tables import ANSWERS, FORMS, POOL_DOCUMENTED, pooled_upload

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

router = APIRouter()

NPY = ("application/x-npy", "application/npy", "application/x-numpy")
ARRAY_OPTIONS: dict[str, type] = {"rule": str, "clip": float}
SMALL = 16_384
"""Bodies of up to so many bytes are answered at once; longer ones in a thread, so that others need not wait."""

threads = ThreadPoolExecutor(2, "robustpool-batch")


class PlainRoute(APIRoute):
    """A route that hands the request to its function and sends what this returns, with nothing in between."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The function itself; what it takes and returns is written down for the OpenAPI document only."""
        return self.endpoint


@router.get("/health", responses={200: documented("The server answers.", schemas.HEALTH)})
async def health() -> dict[str, Any]:
    """Whether the server answers, and its version."""
    from .. import __version__

    return {"status": "ok", "version": __version__}


@router.get("/rules", responses={200: documented("The rules.", schemas.RULES_LISTED)})
async def rules() -> dict[str, Any]:
    """As `robustpool rules --json`."""
    from ..views import results

    return results.rules()[0]


async def aggregate(request: Request) -> Response:
    """Combine the forecasts for one event, for many (`questions`, or an array), or in a table.

    Forecasts are probabilities, one for each forecaster; for more than two outcomes each is a list with a probability for each
    outcome. `null` is no answer.
    """
    settings = request.app.state.settings
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind in ("application/json", "") or kind.endswith("+json"):
        for name in request.query_params:
            raise InputError(f"with a body of JSON, options are fields of the body; the query has {name[:80]!r}.")
        body = await read_body(request, settings.json_bytes)
        content = answer(body) if len(body) <= SMALL else await _in_thread(answer, body)
        return Response(content, media_type="application/json")
    if kind in NPY:
        options = read_query(request.query_params, ARRAY_OPTIONS)
        body = await read_body(request, settings.body_bytes)
        array, clipped = await _in_thread(combined_array, body, options.get("rule", "robust"), options.get("clip"))
        return Response(array, media_type=NPY[0], headers={"Robustpool-Clipped": str(clipped)})
    return await pooled_upload(request)


def answer(body: bytes) -> bytes:
    """The JSON of the answer to a body of JSON."""
    return to_json(combined(as_object(parse_json(body))))


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(threads, function, *arguments)


# --------------------------------------------------------------------------------------------- for the OpenAPI document

_FORECASTS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [
            schemas.PROBABILITY,
            {"type": "array", "minItems": 2, "items": schemas.PROBABILITY},
            {"type": "null"},
        ]
    },
    "example": [0.7, 0.6],
}
_WEIGHTS = {"type": "array", "items": {"type": "number", "minimum": 0}}
_NAMES = {"type": "array", "items": {"type": "string"}}
_ONE = {
    "type": "object",
    "required": ["forecasts"],
    "additionalProperties": False,
    "properties": {
        "forecasts": _FORECASTS,
        "rule": schemas.RULE,
        "weights": _WEIGHTS,
        "clip": schemas.CLIP,
        "forecasters": _NAMES,
    },
}
_QUESTION = {
    "type": "object",
    "required": ["forecasts"],
    "additionalProperties": False,
    "properties": {"id": {}, "forecasts": _FORECASTS, "weights": _WEIGHTS, "forecasters": _NAMES},
}
_MANY = {
    "type": "object",
    "required": ["questions"],
    "additionalProperties": False,
    "properties": {"questions": {"type": "array", "items": _QUESTION}, "rule": schemas.RULE, "clip": schemas.CLIP},
}
_FORECAST = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}, {"type": "null"}]}
_ABOUT = {
    "rule": {"type": "string"},
    "clipped": {"type": "integer", "minimum": 0},
    "warnings": {"type": "array", "items": {"type": "string"}},
}
_ANSWERS = {
    "type": "array",
    "items": {"type": "object", "required": ["id", "forecast"], "properties": {"id": {}, "forecast": _FORECAST}},
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
router.add_api_route(
    "/aggregate",
    aggregate,
    methods=["POST"],
    route_class_override=PlainRoute,
    response_class=Response,
    openapi_extra={
        "parameters": POOL_DOCUMENTED["parameters"],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"anyOf": [_ONE, _MANY]}},
                NPY[0]: _BINARY,
                **POOL_DOCUMENTED["requestBody"]["content"],
            },
        },
    },
    responses={
        200: {
            "description": "The forecast, or one for each question; for an array an array, for a table CSV or what Accept asks for.",
            "content": {
                "application/json": {
                    "schema": {
                        "anyOf": [
                            {"required": ["forecast", "rule"], "properties": {"forecast": _FORECAST, **_ABOUT}},
                            {"required": ["forecasts", "rule"], "properties": {"forecasts": _ANSWERS, **_ABOUT}},
                        ]
                    }
                },
                NPY[0]: _BINARY,
                **FORMS,
            },
        },
        202: ANSWERS[202],
        415: {"description": "The type of the body is not known."},
    },
)
