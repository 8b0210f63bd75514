"""The OpenAPI document as a page for people: it is made here, and loads nothing from other hosts."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from . import pages
from .openapi import API, TAGS, calls

router = APIRouter(include_in_schema=False)

EXAMPLES = {"row": "independent-2", "id": "ID", "name": "design.json"}
"""What stands for the parameters of a path in an example."""

MOST_VALUES = 10
"""Values that are listed; of more the number is said."""

ADDRESS = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Shown:
    """A call as texts."""

    tag: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[tuple[str, str, str], ...]  # the name, what it is, and a description
    bodies: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]  # the media type, and its fields
    answers: tuple[tuple[str, str, str], ...]  # the status, the media types, and what it means
    example: str

    @property
    def key(self) -> str:
        """The name as an identifier."""
        return re.sub(r"[^a-z]+", "-", f"{self.method}{self.path}".lower()).strip("-")


def shown_calls(document: dict[str, Any], address: str = ADDRESS) -> list[Shown]:
    """Every call of an OpenAPI document, in the order of the headings."""
    found = [
        _shown(method.upper(), path, entry, address)
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    ]
    return sorted(found, key=lambda call: TAGS.index(call.tag) if call.tag in TAGS else len(TAGS))


def _shown(method: str, path: str, entry: dict[str, Any], address: str) -> Shown:
    content = entry.get("requestBody", {}).get("content", {})
    return Shown(
        entry.get("tags", ["Others"])[0],
        method,
        path,
        entry.get("summary", ""),
        _unwrapped(entry.get("description", "")),
        tuple(_parameter(each) for each in entry.get("parameters", ())),
        tuple((kind, _fields(about.get("schema", {}))) for kind, about in content.items()),
        tuple(
            (status, ", ".join(about.get("content", {})), about.get("description", ""))
            for status, about in entry["responses"].items()
        ),
        _curl(method, path, address),
    )


def _unwrapped(text: str) -> str:
    """Paragraphs without the breaks of lines, and with code between single backticks."""
    return "\n\n".join(" ".join(part.split()) for part in text.replace("``", "`").split("\n\n"))


def _parameter(about: dict[str, Any]) -> tuple[str, str, str]:
    schema = about.get("schema", {})
    return about["name"], _kind(schema), about.get("description") or schema.get("description", "")


def _fields(schema: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """The fields of a body; of several kinds of bodies those of all, each once."""
    found: dict[str, tuple[str, str, str]] = {}
    for one in schema.get("anyOf", [schema]):
        for name, about in one.get("properties", {}).items():
            found.setdefault(name, (name, _kind(about), about.get("description", "")))
    return tuple(found.values())


def _kind(schema: dict[str, Any]) -> str:
    """What a value is, in a few words.

    >>> _kind({"type": ["integer", "null"]}), _kind({"anyOf": [{"type": "string"}, {"type": "object"}]}), _kind({})
    ('integer', 'string or object', 'any')
    >>> _kind({"anyOf": [{"$ref": "#/components/schemas/Family"}, {"enum": ["a", 1, None]}, {"enum": list(range(99))}]})
    'Family or a or 1 or one of 99 names'
    """
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        values = [str(value) for value in schema.get("enum", [schema.get("const")]) if value is not None]
        return " or ".join(values) if len(values) <= MOST_VALUES else f"one of {len(values)} names"
    kinds = schema.get("type", [])
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    names += [_kind(each) for each in schema.get("anyOf", ())]
    return " or ".join(dict.fromkeys(name for name in names if name != "null")) or "any"


def _curl(method: str, path: str, address: str) -> str:
    """How a terminal makes the call."""
    call = calls().get(f"{method} {path.removeprefix(API)}")
    names = EXAMPLES | ({"name": "certificate.json"} if "/certificates/" in path else {})
    place = re.sub(r"{(\w+)}", lambda name: names.get(name[1], name[1].upper()), path) + (call.query if call else "")
    parts = ["curl", *(["-N"] if path.endswith("/events") else []), *(["-X", method] if method == "DELETE" else [])]
    if call is not None and call.example is not None:
        kind, body = call.example
        text = body if isinstance(body, str) else json.dumps(body)
        parts += ["-H", f"Content-Type: {kind}", "--data-binary", text]
    elif method == "POST":
        parts += ["-X", method]
    return shlex.join([*parts, address + place])


@router.get(f"{API}/docs")
async def documentation(request: Request) -> Response:
    """The page."""
    address = f"{request.url.scheme}://{request.url.netloc}"
    found = shown_calls(request.app.openapi(), address)
    tags = list(dict.fromkeys(call.tag for call in found))
    return Response(pages.render("api/v1/docs", calls=found, tags=tags, api=API), media_type="text/html")
