"""Values that are odd in one way or another, and trees of JSON into which they are put."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from damage import damaged, places

if TYPE_CHECKING:
    import random

Tree = Any
"""JSON whose leaves may be bytes, which stand for themselves: so a tree can be what no JSON is."""

ODD: tuple[bytes, ...] = (
    b"null", b"true", b"false", b'""', b'"0.5"', b'"x"', b"[]", b"{}", b"[[]]", b"[{}]", b"[null]", b"-1", b"0", b"2", b"-0.0",
    b"NaN", b"Infinity", b"-Infinity", b"nan", b"1e999", b"-1e999", b"1e308", b"1.7976931348623157e308", b"5e-324", b"1e-999",
    b"9007199254740993", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"1" + b"0" * 400,
    b"-1" + b"0" * 4000, b"9" * 5000, b"0." + b"3" * 3000, b"01", b"+1", b".5", b"1.", b"0x10", b"1_0", b"1/3", b'"1/3"', b'"70 %"',
    b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\u0000"', b'"a\\r\\nSet-Cookie: a=b"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"' + b"\xe2\x80\xae" + b'"',
    b"[" * 150 + b"]" * 150, b"[" * 20000, b'{"a":' * 300 + b"1" + b"}" * 300, b'"' + b"a" * 20000 + b'"', b"'x'", b"", b"[0.5,]", b"undefined",
    b'{"__proto__": 1}', b'{"__class__": "x"}', b'"{0.__class__}"', b'"%s%n"', b'"<script>"', b'"robust"', b"[0.2, 0.8]", b"[0.2, 0.9]", b"[[0.2, 0.8]]",
)  # fmt: skip
HEADERS: tuple[str, ...] = (
    "Accept: application/json", "Accept: */*;q=nan", "Accept: " + "a/b," * 500, "Accept: \x00", "Prefer: respond-async, handling=lenient",
    "Prefer: handling=lenient", "Prefer: wait=-1", "Range: bytes=0-0", "Range: bytes=5-1", "Range: bytes=" + "0-1," * 500, "Range: x",
    'If-None-Match: "x"', "If-None-Match: *", "If-Modified-Since: x", "Last-Event-ID: -1", "Last-Event-ID: ../../x", "Expect: 100-continue",
    "Expect: x", "Content-Encoding: gzip", "Accept-Encoding: gzip;q=0", "Authorization: Bearer x", "Authorization: Basic \xff", "Cookie: \xff=\xfe; ;;=",
    "X-Forwarded-Host: evil.example", "X-Forwarded-For: 1.2.3.4", "X-HTTP-Method-Override: DELETE", "Origin: http://127.0.0.1", "Origin: null",
    "Sec-Fetch-Site: cross-site", "Referer: x", "Upgrade: websocket", "Connection: keep-alive, x", "Content-Type: x", "Content-Type: text/csv; charset=\xff",
)  # fmt: skip
RULES = (
    "mean", "robust", "extremized-odds", "extremized-odds:d=0", "extremized-odds:d=1e308", "extremized-odds:d=nan", "extremized-odds:d=-1",
    "log-odds:alpha=1e300", "karmarkar:a=1e-300", "trimmed-mean:share=0.5", "bordley:prior=1e-320", "mean:", "mean:d=1", "mean:d", ":", "=", "a=b:c=d,e=f",
    "ROBUST", " robust", "robust\n", "robust\x00", "r" * 5000, "", "\u202e", "beta-pool:a=1e308", "average-prior:mu=2", "neyman-odds:n=0", "minimax-log",
)  # fmt: skip
OPTIONS = ("rule", "clip", "name", "layout", "format", "column", "odds", "options", "decimal", "date-format", "reference", "recalibrate", "cluster",
    "as-of", "half-life", "draws", "seed", "pairs", "fit", "rolling", "percent", "strict", "files", "report", "per-forecaster", "outcomes", "rejects", "out", "x")  # fmt: skip
VALUES = ("", "nan", "inf", "-1", "1e999", "1" * 30, "0x1", "true", "x", "1.5", "[1]", "{}", "\x00", "\r\nA: b", "\ud7ff", "%00", "%", "%zz", "%ff%fe", "a" * 1001,
    "a" * 9000, "../..", "=", "&", "question_id=x", "probability=outcome", "0", "1", "2020-13-45", "%Y", "9999999999", "0.5", "decimal", "platt", "mean")  # fmt: skip


def written(tree: Tree) -> bytes:
    """A tree as JSON, but for its odd leaves."""
    if isinstance(tree, bytes):
        return tree
    if isinstance(tree, dict):
        return b"{" + b",".join(json.dumps(key).encode() + b":" + written(value) for key, value in tree.items()) + b"}"
    if isinstance(tree, list):
        return b"[" + b",".join(map(written, tree)) + b"]"
    return json.dumps(tree).encode()


def spoiled(tree: Tree, rng: random.Random, odd: tuple[bytes, ...] = ODD) -> bytes:
    """A tree with some wrong places, as bytes; sometimes the bytes are wrong, too."""
    tree = json.loads(json.dumps(tree))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        found = places(tree)
        if not found or rng.random() < 0.05:
            tree = rng.choice(odd)
            break
        inside, key = rng.choice(found)
        way = rng.randrange(5)
        if way == 0:
            del inside[key]
        elif way == 1 and isinstance(inside, dict):
            inside[rng.choice(["", "x", "rule ", "Forecasts", "\x00", "__proto__", "a" * 500])] = rng.choice(odd)
        elif way == 1:
            inside.append(rng.choice(odd))
        else:
            inside[key] = rng.choice(odd)
    body = written(tree)
    way = rng.randrange(12)
    if way == 0:
        return damaged(body, rng)
    if way == 1 and body.startswith(b"{"):
        return b"{" + body[1:-1] + b"," + body[1:]  # every field twice
    return body


def spoiled_options(tree: Tree, rng: random.Random) -> bytes:
    """An object whose values may be bytes already; one more of them is odd."""
    tree = {**tree, rng.choice([*tree, "x", ""]): rng.choice(ODD)} if rng.random() < 0.8 else tree
    return written(tree)
