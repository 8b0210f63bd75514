"""Changes of files for `fuzz_files.py`: of their bytes, and of the trees that they are made of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

DEEP = (60, 400, 900, 5000)
ODD: list[Any] = [None, True, False, "", "1/3", "1/0", "\ud800", "\x00", "a\nb", [], {}, [[]], 0, -1, 1, 2, 0.5, -0.0]
ODD += [1e-320, 1e299, 1e308, -1e308, 10**30, 10**400, 2**63, float("nan"), float("inf"), "grid", "é" * 300, [0.5, "x"]]
TOKENS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\\ud800",
    b"1e999",
    b"NaN",
    b"-",
    b"\x00",
    b"\xff",
    b"9" * 5000,
]


MOST = 1_000_000
"""Nodes of a tree that is changed again or written."""


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every object or list of a tree, with each of its keys."""
    check_size(data)
    found, stack = [], [data]
    while stack:
        node = stack.pop()
        if isinstance(node, (dict, list)):
            keys = list(node) if isinstance(node, dict) else range(len(node))
            found += [(node, key) for key in keys]
            stack += [node[key] for key in keys]
    return found


def check_size(data: Any) -> None:
    """Refuse a tree that became too large: a part that comes often may have parts that come often."""
    seen, stack = 0, [data]
    while stack:
        node = stack.pop()
        inner = node if isinstance(node, (dict, list)) else ()
        seen += 1 + len(inner) + (len(node) // 10 if isinstance(node, str) else 0)
        if seen > MOST:
            raise ValueError(f"a tree may have {MOST} nodes")
        stack += inner.values() if isinstance(inner, dict) else inner


def change_place(data: Any, where: Any, key: Any, rng: random.Random) -> None:
    """One change at a place of a tree."""
    value, way = where[key], rng.randrange(11)
    if way <= 2:
        where[key] = rng.choice(ODD)
    elif way == 3:
        del where[key]
    elif way == 4:
        other, inner = rng.choice(places(data))
        where[key] = json.loads(json.dumps(other[inner]))
    elif way == 5:
        levels = rng.choice(DEEP)
        where[key] = json.loads("[" * levels + json.dumps(value) + "]" * levels) if levels < 1000 else [value]
    elif way == 6:
        where[key] = [value] * rng.choice([0, 1, 2, 3, 70, 70, 70, 10_000, 100_000])
    elif way == 7 and isinstance(value, list):
        where[key] = value[: rng.randrange(len(value) + 1)] if rng.random() < 0.5 else value + value[:1]
    elif way == 8 and isinstance(value, (int, float)) and not isinstance(value, bool):
        whole = 7 if not abs(value) < 1e9 else int(abs(value))
        changes: list[Any] = [-value, value + 1, whole, str(value)]
        where[key] = rng.choice([*changes, value * 1e300, value / 3] if abs(value) < 1e300 else changes)
    elif way == 9 and isinstance(where, dict):
        where[rng.choice([*where, "", "é", "kind", "x" * 300])] = where.pop(key)
    elif isinstance(value, str):
        where[key] = rng.choice(
            [value + "\ud800", value * 1000, value.upper(), value[:1], value + "\n", "\u202e" + value]
        )
    elif isinstance(value, list) and len(value) > 1:
        rng.shuffle(value)


def damaged(content: bytes, rng: random.Random, tokens: list[bytes]) -> bytes:
    """Some bytes changed, cut out, doubled or put in."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if not changed:
            break
        place, way = rng.randrange(len(changed)), rng.randrange(5)
        if way == 0:
            changed[place] ^= 1 << rng.randrange(8)
        elif way == 1:
            changed[place : place + 1] = rng.choice(tokens)
        elif way == 2:
            del changed[place : place + rng.choice([1, 4, 100])]
        elif way == 3:
            changed[place:place] = changed[place : place + rng.choice([1, 4, 100])]
        else:
            changed[place:place] = rng.choice(tokens) * rng.choice([1, 1, 1, 1000])
    return bytes(changed)
