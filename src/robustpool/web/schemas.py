"""Schemas for the OpenAPI document: what rules, families and knowledge look like in a request, and jobs in an answer."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from ..aggregators.rules import RULES
from ..families.family_file import SCHEMA
from .jobs.store import CANCELLED, DONE, FAILED, PAUSED, QUEUED, RUNNING

Schema = dict[str, Any]

ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{16}$"}

# ------------------------------------------------------------------------------------------------------------- requests

RULE_NAME: Schema = {
    "anyOf": [
        {"enum": list(RULES)},
        {"type": "string", "pattern": f"^({'|'.join(map(re.escape, RULES))}):[a-z]+=[0-9.]+$", "maxLength": 100},
    ]
}
"""A rule, with its parameters or without."""

RULE: Schema = {
    "anyOf": [*RULE_NAME["anyOf"], {"type": "object", "required": ["format", "hash"]}],
    "default": "robust",
    "description": "The name of a rule, with parameters as in extremized-odds:d=2.5, or the content of a design or of a fitted pool.",
}
CLIP: Schema = {"type": "number", "minimum": 0, "exclusiveMaximum": 0.5}
PROBABILITY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
TYPED: Schema = {
    "anyOf": [PROBABILITY, {"type": "string", "pattern": "^ *[0-9]+([.,/][0-9]+)? *%? *$", "maxLength": 20}]
}
"""A probability as a number, or as people type it."""


def optional(schema: Schema) -> Schema:
    """The same, or null."""
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


KNOWLEDGE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "base_rate": optional({"type": "array", "items": TYPED, "minItems": 2, "maxItems": 2}),
        "public": {"type": ["boolean", "null"]},
        "knows_all": {"anyOf": [{"type": ["integer", "null"], "minimum": 0}, {"const": "unknown"}]},
        "slope": optional({"anyOf": [{"type": "number", "minimum": 0.1, "maximum": 1}, {"type": "string"}]}),
        "outcomes": {"type": ["integer", "null"], "minimum": 2, "maximum": 20},
    },
}
EXPLAIN: Schema = {
    "type": "object",
    "required": ["forecasts"],
    "additionalProperties": False,
    "properties": {
        "forecasts": {
            "type": "array",
            "minItems": 1,
            "maxItems": 100,
            "items": {"anyOf": [TYPED, {"type": "array", "items": TYPED, "minItems": 2, "maxItems": 20}]},
        },
        "names": optional({"type": "array", "items": {"type": "string", "maxLength": 80}}),
        "rule": optional(RULE_NAME),
        "weights": optional({"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}),
        "clip": optional(CLIP),
        "know": optional(KNOWLEDGE),
    },
}


@cache
def family() -> Schema:
    """The schema of a family's file, as a part of another document."""
    text = SCHEMA.read_text(encoding="utf-8").replace("#/$defs/", "#/components/schemas/Family/$defs/")
    schema = json.loads(text)
    del schema["$schema"]
    return dict(schema)


# -------------------------------------------------------------------------------------------------------------- answers

JOB: Schema = {
    "type": "object",
    "required": ["id", "kind", "title", "state", "created", "seconds", "waiting", "pausable", "progress", "result", "error", "files"],
    "properties": {
        "id": ID,
        "kind": {"type": "string"},
        "title": {"type": "string"},
        "state": {"enum": [QUEUED, RUNNING, PAUSED, DONE, FAILED, CANCELLED]},
        "created": {"type": "number", "description": "seconds since 1970"},
        "seconds": {"type": "number", "minimum": 0, "description": "of work so far"},
        "took": {"type": "string"},
        "waiting": {"type": ["integer", "null"], "description": "how many jobs are before it in the queue"},
        "pausable": {"type": "boolean"},
        "progress": {"type": "object"},
        "result": {"type": ["object", "null"]},
        "error": {"type": ["string", "null"], "description": "why it failed"},
        "files": {"type": "object", "additionalProperties": {"type": "string"}, "description": "addresses by name"},
    },
}  # fmt: skip
REMOVED: Schema = {
    "type": "object",
    "required": ["id", "state"],
    "properties": {"id": ID, "state": {"const": "removed"}},
}
JOBS: Schema = {"type": "object", "required": ["jobs"], "properties": {"jobs": {"type": "array", "items": JOB}}}
HEALTH: Schema = {
    "type": "object",
    "required": ["status", "version"],
    "properties": {"status": {"const": "ok"}, "version": {"type": "string"}},
}
RULES_LISTED: Schema = {
    "type": "object",
    "required": ["rules"],
    "properties": {
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "formula", "source", "regret", "proved"],
                "properties": {
                    "name": {"enum": list(RULES)},
                    "formula": {"type": "string"},
                    "source": {"type": "string"},
                    "regret": {"type": ["number", "null"]},
                    "proved": {"type": "boolean"},
                },
            },
        }
    },
}
EXPLAINED: Schema = {
    "anyOf": [
        {"required": ["problems", "forecast", "text", "rule", "reason"], "properties": {"problems": {"maxItems": 0}}},
        {"required": ["problems"], "properties": {"problems": {"minItems": 1, "items": {"required": ["detail"]}}}},
    ]
}
