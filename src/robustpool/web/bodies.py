"""Bodies of requests: read within a limit of size, and parsed as JSON with an error that names the place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .problems import RequestError

if TYPE_CHECKING:
    from starlette.requests import Request


async def read_body(request: Request, limit: int) -> bytes:
    """The body, or an error as soon as it is longer than the limit."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise RequestError(413, f"a body may have at most {limit:,} bytes here; this one has more.")
        parts.append(part)
    return b"".join(parts)


def parse_json(body: bytes) -> Any:
    """The body as JSON. Numbers that JSON does not have (NaN, Infinity) are refused."""
    from pydantic_core import from_json

    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InputError(f"the body must be JSON ({error}).") from None


def as_object(data: Any) -> dict[str, Any]:
    """The same value, if it is a JSON object."""
    if not isinstance(data, dict):
        raise InputError(f"the body must be a JSON object; it is {type(data).__name__}.")
    return data


async def json_object(request: Request) -> dict[str, Any]:
    """The body as a JSON object."""
    return as_object(parse_json(await read_body(request, request.app.state.settings.json_bytes)))
