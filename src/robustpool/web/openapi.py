"""The OpenAPI document: FastAPI makes it from the routes, and here stands what it cannot see.

That is a summary and an example for each call, the bodies that routes read as they come, and the problems.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from . import options, schemas
from .problems import PROBLEM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fastapi import FastAPI

    Schema = dict[str, Any]

API = "/api/v1"
JSON, CSV = "application/json", "text/csv"


@dataclass(frozen=True)
class Call:
    """What the document says of a call: under which heading, in how many words, with which body, and an example of it."""

    tag: str
    summary: str
    bodies: Mapping[str, Schema] = field(default_factory=dict)  # by media type, if the route does not say it itself
    example: tuple[str, Any] | None = None  # the media type of a body, and the body
    query: str = ""  # of the example
    statuses: Mapping[str, str] = field(default_factory=dict)  # of problems, with what they mean here


COMBINE, TABLES, JOBS, PROOFS, SERVER = "Combine", "Tables", "Jobs", "Certified table", "Server"
TAGS = (COMBINE, TABLES, JOBS, PROOFS, SERVER)
NO_JOB = {"404": "There is no such job."}
NO_FILE = {"404": "There is no such job, or it has no such file."}
NO_RULE = {"404": "There is no job with the id that stands for the rule or the design."}
NOT_NOW = {"409": "The job is in a state in which this is not possible."}
BUSY = {"429": "There is too much to do; Retry-After says when to ask again."}
FORECASTS = "question_id,ann,bob,outcome\nrain,0.7,0.6,1\nsnow,0.1,0.05,0\n"

CERTIFICATE: Schema = {
    "type": "object",
    "required": ["format"],
    "properties": {"format": {"type": "string", "pattern": "^robustpool-certificate/"}},
    "description": "Whatever else is missing or wrong is said in the verdict.",
}


def schema_of(readers: Mapping[str, Callable[[str, Any], Any]]) -> Schema:
    """The schema of a body with options.

    >>> schema_of({"agents": options.whole})["properties"]
    {'agents': {'type': ['integer', 'null'], 'minimum': 0, 'maximum': 1000000000}}
    """
    kinds: dict[Callable[[str, Any], Any], Schema] = {
        options.whole: {"type": ["integer", "null"], "minimum": 0, "maximum": 10**9},
        options.number: {"type": ["number", "null"]},
        options.pair: {"type": ["array", "null"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        options.text: {"type": ["string", "null"]},
        options.word: {"type": ["string", "null"]},
        options.flag: {"type": ["boolean", "null"]},
        options.content: {"type": ["object", "null"]},
        options.steps: {"type": ["integer", "string", "null"]},
    }
    properties = {name: own_schemas().get(name) or dict(kinds[reader]) for name, reader in readers.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


@cache
def own_schemas() -> Mapping[str, Schema]:
    """Options that are more than their kind says: one of a few words, a rule, a family."""
    from ..families.worlds import WORLDS
    from ..game.paradigms import PARADIGMS
    from ..losses import LOSSES
    from ..solvers.solve import NATURES, SOLVERS

    words: dict[str, Iterable[str]] = {
        "world": WORLDS,
        "loss": LOSSES,
        "paradigm": PARADIGMS,
        "nature": NATURES,
        "method": SOLVERS,
    }
    return {
        **{name: {"type": ["string", "null"], "enum": [*each, None]} for name, each in words.items()},
        "rule": schemas.optional(schemas.RULE_NAME),
        "canonical": schemas.optional(schemas.RULE_NAME),
        "family": schemas.optional({"$ref": "#/components/schemas/Family"}),
        "prior_range": {"type": ["array", "null"], "items": schemas.PROBABILITY, "minItems": 2, "maxItems": 2},
    }


@cache
def calls() -> Mapping[str, Call]:
    """Every call, by its method and its path below /api/v1."""
    from .work import certificate, design

    certifying = schema_of(certificate.OPTIONS)
    certifying["properties"]["design"] = {
        "anyOf": [{"type": "object", "required": ["format", "hash"]}, schemas.ID, {"type": "null"}],
        "description": "its content, or the id of its job",
    }
    table = (CSV, FORECASTS)
    found = {
        "POST /aggregate": Call(
            COMBINE, "Combine forecasts", example=(JSON, {"forecasts": [0.7, 0.6]}), statuses=BUSY | NO_RULE
        ),
        "POST /explain": Call(
            COMBINE,
            "Combine a few forecasts, with reasons",
            {JSON: schemas.EXPLAIN},
            (JSON, {"forecasts": ["70 %", 0.6], "know": {"base_rate": [0.1, 0.3]}}),
            statuses=BUSY,
        ),
        "POST /explain/page": Call(
            COMBINE, "The reasons as a page", {JSON: schemas.EXPLAIN}, (JSON, {"forecasts": [0.7, 0.6]}), statuses=BUSY
        ),
        "GET /rules": Call(COMBINE, "List the rules"),
        "POST /compare": Call(TABLES, "Score the rules on a table", example=table, statuses=BUSY),
        "POST /fit": Call(TABLES, "Learn a pool from a table", example=(CSV, "@forecasts.csv"), statuses=BUSY),
        "POST /designs": Call(
            JOBS,
            "Start a design",
            {JSON: schema_of(design.OPTIONS)},
            (JSON, {"agents": 2, "reports": 6, "priors": 12}),
            statuses=BUSY,
        ),
        "POST /certificates": Call(
            JOBS, "Start a proof", {JSON: certifying}, (JSON, {"rule": "minimax"}), statuses=BUSY | NO_RULE
        ),
        "GET /jobs": Call(JOBS, "List the latest jobs"),
        "GET /table": Call(PROOFS, "The certified table", query="?setting=independent"),
        "GET /table/{row}/certificate": Call(PROOFS, "The certificate of a row"),
        "POST /verify": Call(
            PROOFS,
            "Check a certificate again",
            {JSON: CERTIFICATE},
            (JSON, "@minimax.json"),
            "?referee=true",
            BUSY,
        ),
        "GET /health": Call(SERVER, "Whether the server answers"),
        "GET /metrics": Call(SERVER, "Counts for Prometheus"),
    }
    for base, one in (("jobs", "a job"), ("designs", "a design"), ("certificates", "a proof")):
        found |= {
            f"GET /{base}/{{id}}": Call(JOBS, f"How {one} stands", statuses=NO_JOB),
            f"DELETE /{base}/{{id}}": Call(JOBS, f"Cancel {one}, or remove it", statuses=NO_JOB),
            f"GET /{base}/{{id}}/events": Call(JOBS, f"The progress of {one}, as it happens", statuses=NO_JOB),
            f"POST /{base}/{{id}}/pause": Call(JOBS, f"Pause {one}", statuses=NO_JOB | NOT_NOW),
            f"POST /{base}/{{id}}/resume": Call(JOBS, f"Continue {one}", statuses=NO_JOB | NOT_NOW),
            f"GET /{base}/{{id}}/files/{{name}}": Call(JOBS, f"A file of {one}", statuses=NO_FILE),
        }
    return found


def answer(description: str, schema: Mapping[str, Any] | None = None) -> Schema:
    """For the ``responses`` of a route: an answer in JSON that FastAPI cannot see."""
    return {"description": description, "content": {JSON: {"schema": dict(schema or {"type": "object"})}}}


PROBLEM_SCHEMA: Schema = {
    "title": "Problem",
    "description": "Why a request was not served (RFC 9457); `detail` is the sentence to show.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
    },
}
PREFER: Schema = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "With `respond-async` the answer is 202 and the job; other preferences mean nothing here.",
}
OWN_ERRORS = ("HTTPValidationError", "ValidationError")
"""Schemas that FastAPI adds for errors which are problems here, too."""

ALWAYS = {
    "401": "The server was started with `--host`, and the token is missing or wrong.",
    "422": "The library refuses the input, and says why.",
}
WITH_BODY = {"413": "The body is too large.", "415": "The type of the body is not read here."}


def document_calls(app: FastAPI) -> None:
    """Let the OpenAPI document of an application say what stands here."""
    made = app.openapi

    def openapi() -> Schema:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(made())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _completed(document: Schema) -> Schema:
    made = document.get("components", {})
    found = {name: schema for name, schema in made.get("schemas", {}).items() if name not in OWN_ERRORS}
    document["components"] = {
        **made,
        "schemas": {**found, "Problem": PROBLEM_SCHEMA, "Family": schemas.family()},
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    document["security"] = [{}, {"token": []}]  # a server on this machine needs none
    document["tags"] = [{"name": tag} for tag in TAGS]
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            call = calls().get(f"{method.upper()} {path.removeprefix(API)}")
            if call is not None:
                _describe(entry, call)
            _name_problems(entry, call.statuses if call else {})
            _name_ids(entry)
            if "202" in entry["responses"] and "200" in entry["responses"]:
                entry.setdefault("parameters", []).append(PREFER)
    return document


def _describe(entry: Schema, call: Call) -> None:
    entry["summary"], entry["tags"] = call.summary, [call.tag]
    if call.bodies and "requestBody" not in entry:
        content = {kind: {"schema": schema} for kind, schema in call.bodies.items()}
        entry["requestBody"] = {"required": True, "content": content}
    if call.example is not None and not str(call.example[1]).startswith("@"):
        kind, example = call.example
        content = entry.setdefault("requestBody", {}).setdefault("content", {})
        content[kind] = {**content.get(kind, {}), "example": example}


def _name_ids(entry: Schema) -> None:
    """Say what an id looks like; a request with anything else gets 404."""
    for parameter in entry.get("parameters", ()):
        if (parameter["in"], parameter["name"]) == ("path", "id"):
            parameter["schema"] = schemas.ID


def _name_problems(entry: Schema, own: Mapping[str, str]) -> None:
    """Say which problems there may be: one schema for all."""
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    named = {**ALWAYS, **(WITH_BODY if "requestBody" in entry else {})}
    for status, about in entry["responses"].items():
        if status >= "400" and "HTTPValidationError" not in str(about):
            named[status] = about.get("description", "")
    named |= own
    problems = {status: {"description": words, "content": content} for status, words in named.items()}
    answers = {status: about for status, about in entry["responses"].items() if status < "400"}
    another = {"description": "Another problem.", "content": content}
    entry["responses"] = answers | dict(sorted(problems.items())) | {"default": another}
