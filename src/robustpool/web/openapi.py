"""What the OpenAPI document says of bodies and answers that FastAPI cannot see: those that are read as they come, and problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .problems import PROBLEM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

PROBLEM_SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "Why a request was not served (RFC 9457); ``detail`` is the sentence to show.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["about:blank"]},
        "title": {"type": "string", "examples": ["Unprocessable Content"]},
        "status": {"type": "integer", "examples": [422]},
        "detail": {"type": "string", "examples": ["probability must lie in [0, 1]; row 0, agent 1 is 1.2 (1 of 2)."]},
    },
}

SENTENCES = {
    "400": "The request cannot be understood.",
    "401": "The server was started with `--host`, and the token is missing or wrong.",
    "404": "There is nothing at this address.",
    "405": "This method is not possible here.",
    "409": "The job is in a state in which this is not possible.",
    "411": "The body needs a length.",
    "413": "The body is too large.",
    "415": "The body is of a type that is not read here.",
    "421": "The request is for another host.",
    "422": "The library refuses the input, and says why.",
    "429": "The server is busy; Retry-After says when to try again.",
    "503": "The work took longer than the server allows, or it is stopping.",
}
"""What each status of a problem means."""


def bodies(**types: Mapping[str, Any]) -> dict[str, Any]:
    """For ``openapi_extra``: a body that the route reads itself, by kind; with an example of each."""
    content = {MEDIA_TYPES[kind]: dict(about) for kind, about in types.items()}
    return {"requestBody": {"required": True, "content": content}}


MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "excel": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "any": "application/octet-stream",
}


def answer(description: str, schema: Mapping[str, Any] | None = None, **others: Any) -> dict[str, Any]:
    """For ``responses``: an answer in JSON that FastAPI cannot see, with an example if one is given."""
    content = {"schema": dict(schema or {"type": "object"}), **others}
    return {"description": description, "content": {"application/json": content}}


def describe_problems(app: FastAPI) -> None:
    """Let every call in the OpenAPI document name its problems: one schema, and `default` for what may always happen."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = made()
            document["components"] = {**document.get("components", {})}
            schemas = {**document["components"].get("schemas", {}), "Problem": PROBLEM_SCHEMA}
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            document["components"]["schemas"] = schemas
            for calls in document["paths"].values():
                for call in calls.values():
                    _name_problems(call)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _name_problems(call: dict[str, Any]) -> None:
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses = {status: about for status, about in call["responses"].items() if not _automatic(status, about)}
    named = {"422"} | {status for status in responses if status >= "400"}
    if "requestBody" in call:
        named |= {"413"}
    for status in named:
        words = responses.get(status, {}).get("description") or SENTENCES.get(status, "")
        responses[status] = {**responses.get(status, {}), "description": words, "content": content}
    responses["default"] = {"description": "Another problem, such as a missing token.", "content": content}
    call["responses"] = responses


def _automatic(status: str, about: dict[str, Any]) -> bool:
    """Whether it is what FastAPI adds for its own errors of validation, which are problems here, too."""
    return status == "422" and "HTTPValidationError" in str(about)
