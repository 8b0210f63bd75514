"""Errors over HTTP: `application/problem+json` (RFC 9457) with the library's sentence as ``detail``."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from ..errors import RobustpoolError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from starlette.requests import Request

PROBLEM = "application/problem+json"

LONGEST = 1000
"""Characters of a sentence."""


class RequestError(RobustpoolError):
    """A request that HTTP itself has a status for: too large, too many, not there, not allowed."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers or {})


def status_of(error: RobustpoolError) -> int:
    """The status that an error of the library has over HTTP."""
    return 413 if isinstance(error, TooLargeError) else 422


def problem(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a request that cannot be served."""
    return Response(json.dumps(problem_object(status, sentence)), status, dict(headers or {}), PROBLEM)


def problem_object(status: int, sentence: str) -> dict[str, Any]:
    """The JSON object of a problem."""
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": shortened(sentence)}


def shortened(sentence: str) -> str:
    """A sentence in one line, without the middle of what is too long: a value from a body may be as long as the body.

    >>> shortened("rule must be a name;\\nit is 'x'."), len(shortened("9" * 10**6)) == LONGEST
    ("rule must be a name; it is 'x'.", True)
    """
    line = " ".join(sentence.split("\n"))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 205]} ... {line[-200:]}"


def problem_of(error: RobustpoolError) -> Response:
    """The answer to a request that the library, or HTTP, refuses."""
    if isinstance(error, RequestError):
        return problem(error.status, str(error), error.headers)
    return problem(status_of(error), str(error))


def answer_problems(app: FastAPI) -> None:
    """Let every error of the library, and of HTTP, become a problem."""
    from fastapi.exceptions import RequestValidationError

    @app.exception_handler(RobustpoolError)
    async def ours(_: Request, error: RobustpoolError) -> Response:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def parameters(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return problem(422, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> Response:
        sentence = {
            404: f"there is nothing at {request.url.path!r}; /api/v1/docs lists what there is.",
            405: f"{request.method} is not possible at {request.url.path!r}.",
        }.get(error.status_code, str(error.detail))
        return problem(error.status_code, sentence, error.headers)
