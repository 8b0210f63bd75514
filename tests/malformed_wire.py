"""Conversations that are hardly HTTP: each is a list of parts that are sent one after the other on a connection of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from damage import damaged
from malformed import API, CSV, JSON, ONE
from odd_values import written
from wire import END, request

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from malformed import Arsenal


def framing(arsenal: Arsenal, rng: random.Random) -> list[bytes]:
    """Lengths that are wrong, given twice, or together with chunks: the forms in which requests are smuggled."""
    body = written(ONE)
    length = rng.choice(
        [
            str(len(body) + 50),
            str(len(body) - 20),
            "-1",
            "+5",
            "0x10",
            "1e2",
            "",
            " ",
            "5, 6",
            "5\r\nContent-Length: 6",
            "9" * 30,
            "9" * 5000,
            "\x0b5",
            "5 5",
        ]
    )
    coding = rng.choice(
        [
            "chunked",
            "chunked, chunked",
            "chunked, identity",
            "identity",
            "xchunked",
            "\tchunked",
            "gzip, chunked",
            "chunked\r\nTransfer-Encoding: x",
            "",
        ]
    )
    chunks = rng.choice(
        [
            b"5\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhel",
            b"-1\r\n",
            b"ffffffffffffffff\r\nx",
            b"5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
            b"zz\r\n",
            b"0\r\n\r\n",
            b"5\nhello\n0\n\n",
            b"0" * 5000,
            b"5\r\nhelloX\r\n0\r\n\r\n",
        ]
    )
    start = f"POST {API}/aggregate HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{JSON}\r\n"
    way = rng.randrange(4)
    if way == 0:
        data = f"{start}Content-Length: {length}\r\n\r\n".encode() + body
    elif way == 1:
        data = f"{start}Transfer-Encoding: {coding}\r\n\r\n".encode() + chunks
    elif way == 2:
        data = f"{start}Content-Length: {length}\r\nTransfer-Encoding: {coding}\r\n\r\n".encode() + chunks
    else:
        hidden = f"GET {API}/jobs/{arsenal.job} HTTP/1.1\r\nHost: evil.example\r\n\r\n".encode()
        data = f"{start}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + b"0\r\n\r\n" + hidden
    return [data, END] if rng.random() < 0.5 else [data]


def no_http(_: Arsenal, rng: random.Random) -> list[bytes]:
    """Lines that are no request, and bytes of other protocols."""
    line = rng.choice([
        b"", b"\r\n", b"GET", b"GET /", b"GET / HTTP/9.9", b"GET / HTTP/1.1 x", b"GET  /  HTTP/1.1", b"get / http/1.1", b"G\x00T / HTTP/1.1", b"\x16\x03\x01\x02", b"PRI * HTTP/2.0",
        b"GET /\xff HTTP/1.1", b"GET /a b HTTP/1.1", b"GET /\x00 HTTP/1.1", b"GET http://127.0.0.1 HTTP/1.1", b"GET ?x HTTP/1.1", b"GET //[ HTTP/1.1", b"CONNECT a:1 HTTP/1.1",
        b"CONNECT / HTTP/1.1", b"BREW / HTTP/1.1", b"GET / HTTP/1.0", b"GET / HTTP/0.9", b"A" * 70000, b"GET /" + b"a" * 70000 + b" HTTP/1.1", b"GET / ICE/1.0", b"SOURCE / HTTP/1.1",
    ])  # fmt: skip
    header = rng.choice([
        b"Host: 127.0.0.1", b"Host", b": x", b"Host 127.0.0.1", b"Host: a\r\n b", b" Host: x", b"Host: 127.0.0.1\r\nHost: evil.example", b"H\x00st: x", b"Host: \x00", b"Host: a\rb",
        b"Host : 127.0.0.1", b"X" * 70000 + b": y", b"\xff: \xff", b"Host: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade", b"Host: 127.0.0.1\r\nUpgrade: h2c\r\nConnection: Upgrade",
    ])  # fmt: skip
    ending = rng.choice([b"\r\nConnection: close\r\n\r\n", b"\n\n", b"\r\r", b"\r\n", b""])
    data = line + b"\r\n" + header + ending
    data = (
        rng.randbytes(rng.randrange(1, 400))
        if rng.random() < 0.1
        else damaged(data, rng)
        if rng.random() < 0.3
        else data
    )
    return [data, END]


def pipelines(arsenal: Arsenal, rng: random.Random) -> list[bytes]:
    """Many requests at once, of which the last one closes the connection or is broken."""
    many = [
        rng.choice([arsenal.aggregate, arsenal.ids, arsenal.questions, arsenal.explain])(rng)
        for _ in range(rng.choice([2, 5, 30]))
    ]
    last = rng.choice([request("GET", f"{API}/health", b"", "Connection: close"), b"x\r\n\r\n"])
    return [b"".join(each for each in many if not each.startswith(b"HEAD")) + last]


def floods(_: Arsenal, rng: random.Random) -> list[bytes]:
    """Headers without end."""
    header = rng.choice([b"X: y\r\n", b"X: " + b"y" * 9000 + b"\r\n", b"Cookie: a=b\r\n", b"y" * 1000])
    return [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", header * (200_000 // len(header)), END]


def broken_off(arsenal: Arsenal, rng: random.Random) -> list[bytes]:
    """A request of any kind that ends before its end."""
    whole = rng.choice(
        [arsenal.aggregate, arsenal.explain, arsenal.parts, arsenal.arrays, arsenal.paths, arsenal.headers]
    )(rng)
    return [whole[: rng.randrange(1, len(whole))], END]


def streams(_: Arsenal, rng: random.Random) -> list[bytes]:
    """A body in chunks that is longer than the limit, without a length that says so."""
    path = rng.choice(["aggregate", "verify", "compare", "explain"])
    head = f"POST {API}/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{rng.choice([JSON, CSV])}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return [head.encode(), *[b"40000\r\n" + b" " * 2**18 + b"\r\n"] * 12, b"0\r\n\r\n"]


def slow(_: Arsenal, rng: random.Random) -> list[bytes]:
    """A request whose headers or body come in drops, and never to an end."""
    start = f"POST {API}/{rng.choice(['aggregate', 'verify', 'compare'])} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode()
    return rng.choice(
        [
            [start, b"X", b"-", b"Y"],
            [start + b"Content-Length: 100\r\n\r\n", b"{", b" ", b" "],
            [b"P", b"O", b"S"],
            [start + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n", b" "],
        ]
    )


RAW: dict[Callable[[Arsenal, random.Random], list[bytes]], int] = {
    framing: 250,
    no_http: 150,
    pipelines: 30,
    floods: 10,
    broken_off: 80,
    streams: 10,
    slow: 20,
}
"""Bytes that may be anything, in parts: the server answers what it can and closes the connection."""
