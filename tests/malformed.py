"""Requests that no client should send, of every kind that we could think of; chance is an argument, so that they can be sent again."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import duckdb
import numpy as np
import openpyxl

import hostile
import robustpool as rp
from bombs import gzip_bomb, parquet_bomb, sparse_workbook, workbook_bomb
from damage import damaged, places
from forecasters import simulated
from robustpool.designs.design_file import content_hash, save_design
from robustpool.families.family_file import EXAMPLES
from robustpool.minimax.proofs import file_of
from wire import END, request

if TYPE_CHECKING:
    import random

API = "/api/v1"
JSON = "Content-Type: application/json"
CSV = "Content-Type: text/csv"
NPY = "Content-Type: application/x-npy"

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
        inside, key = rng.choice(places(tree) or [(None, None)])
        way = rng.randrange(6)
        if inside is None or way == 0:
            tree = tree if isinstance(tree, bytes) or inside is not None else rng.choice(odd)
        elif way == 1:
            del inside[key]
        elif way == 2 and isinstance(inside, dict):
            inside[rng.choice(["", "x", "rule ", "Forecasts", "\x00", "__proto__", "a" * 500])] = rng.choice(odd)
        elif way == 2:
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


# ------------------------------------------------------------------------------------------------------------ what there is

ONE: Tree = {"forecasts": [0.7, 0.6], "rule": "robust", "weights": [1, 2], "clip": 0.01, "forecasters": ["ann", "bob"]}
SEVERAL: Tree = {"forecasts": [[0.2, 0.3, 0.5], None, [0.1, 0.1, 0.8]], "rule": "mean"}
MANY: Tree = {
    "questions": [
        {"id": "rain", "forecasts": [0.2, 0.8], "weights": [1, 2]},
        {"id": 7, "forecasts": [0.1, None, 0.4], "forecasters": ["a", "b", "c"]},
        {"forecasts": [[0.2, 0.8], [0.5, 0.5]]},
        {"id": None, "forecasts": [1, 0]},
    ],
    "rule": "extremized-odds:d=2.5",
    "clip": 0.05,
}
EXPLAINED: Tree = {
    "forecasts": ["70 %", 0.6, "1/3"],
    "names": ["ann", "bob", "eve"],
    "rule": "robust",
    "weights": [1, 2, 1],
    "clip": 0.01,
    "know": {"base_rate": [0.1, 0.12], "public": True, "knows_all": "unknown", "slope": 0.5, "outcomes": 2},
}
DESIGN: Tree = {
    "world": "independent", "agents": 2, "prior_range": [0.1, 0.9], "reports": 3, "priors": 5, "nature": "grid", "lipschitz": 3.0, "loss": "square",
    "paradigm": "additive", "method": "cutting-planes", "tolerance": 0.01, "rounds": 3, "symmetric": True, "monotone": False, "states": 2,
}  # fmt: skip
PROOF: Tree = {
    "rule": "mean",
    "agents": 2,
    "prior_range": [0.3, 0.33],
    "loss": "square",
    "paradigm": "additive",
    "tolerance": 0.1,
}
TABLE = b"question_id,ann,bob,outcome\nrain,0.7,0.6,1\nsnow,0.1,0.05,0\nhail,0.3,,0\n"
RULES = (
    "mean", "robust", "extremized-odds", "extremized-odds:d=0", "extremized-odds:d=1e308", "extremized-odds:d=nan", "extremized-odds:d=-1",
    "log-odds:alpha=1e300", "karmarkar:a=1e-300", "trimmed-mean:share=0.5", "bordley:prior=1e-320", "mean:", "mean:d=1", "mean:d", ":", "=", "a=b:c=d,e=f",
    "ROBUST", " robust", "robust\n", "robust\x00", "r" * 5000, "", "\u202e", "beta-pool:a=1e308", "average-prior:mu=2", "neyman-odds:n=0", "minimax-log",
)  # fmt: skip
OPTIONS = ("rule", "clip", "name", "layout", "format", "column", "odds", "options", "decimal", "date-format", "reference", "recalibrate", "cluster",
    "as-of", "half-life", "draws", "seed", "pairs", "fit", "rolling", "percent", "strict", "files", "report", "per-forecaster", "outcomes", "rejects", "out", "x")  # fmt: skip
VALUES = ("", "nan", "inf", "-1", "1e999", "1" * 30, "0x1", "true", "x", "1.5", "[1]", "{}", "\x00", "\r\nA: b", "\ud7ff", "%00", "%", "%zz", "%ff%fe", "a" * 1001,
    "a" * 9000, "../..", "=", "&", "question_id=x", "probability=outcome", "0", "1", "2020-13-45", "%Y", "9999999999", "0.5", "decimal", "platt", "mean")  # fmt: skip
ROUTES = ("jobs", "designs", "certificates")


@dataclass(frozen=True)
class Arsenal:
    """What the requests are made from. Each kind of request is a method, and its place in `KINDS` or `RAW` says how many there are."""

    canary: Path  # a folder with files that nobody may open
    job: str  # a job that is done, and has a file pool.json

    @cached_property
    def escapes(self) -> tuple[str, ...]:
        """Names that lead out of the folder of the server, if anybody takes them for paths."""
        files = [str(each) for each in sorted(self.canary.iterdir())]
        steps = [
            f"{up * k}{Path(file).name}" for file in files for k in (1, 2, 3, 4) for up in ("../", "..\\", "....//")
        ]
        odd = [
            "/etc/passwd",
            "../" * 12 + "etc/passwd",
            "/proc/self/environ",
            "C:\\boot.ini",
            "~/.bashrc",
            "\\\\host\\share",
            ".",
            "..",
            "/",
            "//",
            "-",
        ]
        shell = [
            "|id",
            "$(id)",
            "`id`",
            "'; DROP TABLE jobs;--",
            '"; --',
            "*",
            "?",
            "{jobs}",
            "%s",
            "\x00",
            "a\x00.csv",
            "\n",
            "CON",
            "jobs.sqlite",
            "lock",
        ]
        parts = [
            f"{self.job}/../{self.job}",
            f"../jobs/{self.job}",
            f"{self.job}\x00",
            self.job.upper(),
            "pool.json/",
            "./pool.json",
            "POOL.JSON",
        ]
        return (
            *files,
            *(f"file://{file}" for file in files),
            *(f"{file}\x00.png" for file in files),
            *steps,
            *odd,
            *shell,
            *parts,
        )

    @cached_property
    def design(self) -> Tree:
        """A small design."""
        solution = rp.solve(rp.ConditionallyIndependent(agents=2, reports=3, priors=5), rounds=3)
        return _saved(lambda path: save_design(solution, path))

    @cached_property
    def pool(self) -> Tree:
        """A small fitted pool."""
        return _saved(rp.fit(simulated(60, 3), draws=100).save)

    @cached_property
    def certificate(self) -> Tree:
        """The certificate of the minimax rule."""
        return json.loads(gzip.decompress(file_of("certify minimax").read_bytes()))

    @cached_property
    def family(self) -> Tree:
        """A finite family."""
        return json.loads((EXAMPLES / "weather-unknown.json").read_text())

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Whole tables of several formats."""
        book, excel = openpyxl.Workbook(), io.BytesIO()
        for line in TABLE.decode().splitlines():
            book.active.append(line.split(","))
        book.save(excel)
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "a.csv", Path(folder) / "a.parquet"
            source.write_bytes(TABLE)
            duckdb.execute(f"COPY (SELECT * FROM read_csv('{source}')) TO '{target}' (FORMAT parquet)")
            parquet = target.read_bytes()
        utf16 = TABLE.decode().encode("utf-16")
        return {
            "csv": TABLE,
            "gzip": gzip.compress(TABLE),
            "utf-16": utf16,
            "excel": excel.getvalue(),
            "parquet": parquet,
        }

    # --------------------------------------------------------------------------------------------- forecasts in JSON

    def aggregate(self, rng: random.Random) -> bytes:
        """Forecasts for one question, spoiled."""
        return request("POST", f"{API}/aggregate", spoiled(rng.choice([ONE, ONE, SEVERAL]), rng), JSON)

    def questions(self, rng: random.Random) -> bytes:
        """Forecasts for many questions, spoiled."""
        return request("POST", f"{API}/aggregate", spoiled(MANY, rng), JSON)

    def rules(self, rng: random.Random) -> bytes:
        """Strange rules, and names of files in place of rules."""
        rule = rng.choice([*RULES, *self.escapes])
        path = rng.choice(["aggregate", "aggregate", "explain"])
        return request("POST", f"{API}/{path}", json.dumps({"forecasts": [0.7, 0.6], "rule": rule}).encode(), JSON)

    def forged_rules(self, rng: random.Random) -> bytes:
        """Designs and pools that were changed; half of them have a hash that fits."""
        body = spoiled(rng.choice([self.design, self.pool]), rng, ODD[:40])
        if rng.random() < 0.5:
            body = _sealed(body)
        return request("POST", f"{API}/aggregate", b'{"forecasts":[0.5,0.5],"rule":' + body + b"}", JSON)

    def explain(self, rng: random.Random) -> bytes:
        """A question with what is known, spoiled."""
        path = rng.choice(["explain", "explain", "explain", "explain/page"])
        lenient = ["Prefer: handling=lenient"] if rng.random() < 0.3 else []
        return request("POST", f"{API}/{path}", spoiled(EXPLAINED, rng), JSON, *lenient)

    def kinds_of_bodies(self, rng: random.Random) -> bytes:
        """A body that is not what its header says, or has no header."""
        body = rng.choice(
            [
                b"",
                b" ",
                written(ONE),
                written(ONE).decode().encode("utf-16"),
                b"\xef\xbb\xbf" + written(ONE),
                b"\x00" * 50,
                b"\xff" * 50,
                TABLE,
            ]
        )
        kind = rng.choice(["", "application/json; charset=utf-16", "application/json;", "APPLICATION/JSON", "application/x+json", "application/json, text/csv",
                           "application/x-npy", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=",
                           "multipart/form-data; boundary=\xff", "multipart/mixed; boundary=x", "a" * 3000])  # fmt: skip
        path = rng.choice(["aggregate", "explain", "verify", "designs", "certificates"])
        return request("POST", f"{API}/{path}", body, *([f"Content-Type: {kind}"] if kind else []))

    # ------------------------------------------------------------------------------------------ names, addresses, headers

    def paths(self, rng: random.Random) -> bytes:
        """Names of files wherever an address has a name."""
        name = rng.choice(self.escapes)
        encoded = rng.choice(
            [
                quote(name, safe=""),
                quote(name),
                quote(quote(name, safe=""), safe=""),
                name.replace("/", "%2f").replace("\\", "%5c"),
            ]
        )
        base = f"{API}/{rng.choice(ROUTES)}"
        target = rng.choice([
            f"{base}/{encoded}", f"{base}/{self.job}/files/{encoded}", f"{base}/{self.job}/{encoded}", f"{base}/{encoded}/files/pool.json",
            f"{base}/{encoded}/events", f"/static/{encoded}", f"{API}/table/{encoded}/certificate", f"{API}/table?setting={encoded}",
            f"/{encoded}", f"{API}/{encoded}", f"{API}/jobs/{self.job}/files/pool.json?{encoded}", f"/static/..%2f{encoded}", f"//{encoded}",
        ])  # fmt: skip
        clean = "".join(letter if " " < letter < "\x7f" else quote(letter) for letter in target)
        return request(rng.choice(["GET", "GET", "GET", "HEAD", "OPTIONS", "PUT"]), clean)

    def ids(self, rng: random.Random) -> bytes:
        """Jobs that there are not, with every call that takes one."""
        id = rng.choice(
            [
                "0" * 16,
                "f" * 16,
                "0",
                "%00",
                "a" * 3000,
                "%F0%9F%92%A9",
                "%ff",
                "1e3",
                "None",
                "null",
                "%2e%2e",
                "..;",
                "%0d%0aX:y",
                quote("' OR 1=1 --"),
            ]
        )
        method, end = rng.choice(
            [
                ("GET", ""),
                ("DELETE", ""),
                ("GET", "/events"),
                ("POST", "/pause"),
                ("POST", "/resume"),
                ("GET", "/files/x"),
                ("PATCH", ""),
            ]
        )
        return request(method, f"{API}/{rng.choice(ROUTES)}/{id}{end}", b"")

    def headers(self, rng: random.Random) -> bytes:
        """Strange headers, some of them twice, on calls that work."""
        chosen = [each.replace("\x00", "") for each in rng.choices(HEADERS, k=rng.randrange(1, 5))]
        method, target, body = rng.choice([
            ("GET", f"{API}/health", b""), ("GET", "/", b""), ("GET", f"{API}/rules", b""), ("GET", "/static/page.css", b""), ("GET", f"{API}/metrics", b""),
            ("POST", f"{API}/aggregate", written(ONE)), ("GET", f"{API}/jobs/{self.job}", b""), ("GET", f"{API}/jobs/{self.job}/files/pool.json", b""),
            ("GET", f"{API}/jobs/{self.job}/events", b""), ("HEAD", f"{API}/health", b""), ("GET", f"{API}/table/independent-2/certificate?bound=x", b""),
        ])  # fmt: skip
        return request(
            method, target, body, *([] if any("Content-Type" in each for each in chosen) else [JSON]), *chosen
        )

    def hosts(self, rng: random.Random) -> bytes:
        """Other hosts, methods and addresses."""
        host = rng.choice(["", "evil.example", "127.0.0.1:99999999", "127.0.0.1:", "[::1", "[", "]", "a b", "127.0.0.1@evil.example", "localhost:80:80", "\xff", "127.0.0.1/x", "::1", "[::1]"])  # fmt: skip
        method = rng.choice(
            [
                "GET",
                "HEAD",
                "OPTIONS",
                "TRACE",
                "PUT",
                "PATCH",
                "DELETE",
                "PROPFIND",
                "LOCK",
                "PURGE",
                "REPORT",
                "SEARCH",
                "POST",
            ]
        )
        target = rng.choice(["/", f"{API}/health", f"{API}/health/", "/compare/", "*", "http://evil.example/", "/?" + "a=b&" * 3000, "/" + "a" * 9000,
                             "/#x", "/%", "/?%", f"{API}/table?setting=%ff", f"{API}/openapi.json?x", f"{API}/docs"])  # fmt: skip
        return request(method, target, b"", host=rng.choice([host, "127.0.0.1"]))

    def options(self, rng: random.Random) -> bytes:
        """Options with values that they cannot have. The body is no table: whatever passes does little work."""
        pairs = [
            f"{rng.choice(OPTIONS)}={quote(rng.choice(VALUES), safe='%')}" for _ in range(rng.choice([1, 1, 2, 3, 50]))
        ]
        wrong = rng.choice(
            ["clip=x", "draws=-1", "strict=2", "seed=1&seed=2", "nosuch=1"]
        )  # so that most end before there is a job
        pairs += [wrong] if rng.random() < 0.9 else []
        return request("POST", f"{API}/{rng.choice(['aggregate', 'compare', 'fit'])}?{'&'.join(pairs)}", b"x", CSV)

    # ------------------------------------------------------------------------------------------------- arrays and tables

    def arrays(self, rng: random.Random) -> bytes:
        """Arrays with headers that lie, of all types, damaged."""
        values = rng.choice([
            np.array([[0.2, 0.4]]), np.full((2, 2, 2), 0.5), np.array([[np.nan, 0.5]]), np.array([[np.inf, 2.0]]), np.zeros((0, 3)), np.zeros((3, 0)), np.array(0.5),
            np.array([0.5]), np.array([["a"]]), np.array([[1, 0]]), np.array([[0.5 + 1j]]), np.full((1, 1, 1, 1), 0.5), np.array([[0.5]], ">f8"), np.array([[0.5]], "f2"),
            np.array([[True]]), np.array([["2020-01-01"]], "M8[D]"), np.zeros((1, 2), [("a", "f8")]), np.array([[0.5]], np.longdouble),
        ])  # fmt: skip
        file = io.BytesIO()
        np.save(file, values, allow_pickle=False)
        body = file.getvalue()
        lies = [
            "(2, -1)",
            "(99999999999, 99999999999)",
            "(1e9,)",
            "(" * 300,
            "(1,)" * 500,
            "__import__('os')",
            "(True, True)",
            "(None,)",
            "()",
            "(-1, -2)",
        ]
        way = rng.randrange(5)
        if way == 0:
            body = damaged(body, rng)
        elif way == 1:
            text = f"{{'descr': '<f8', 'fortran_order': {rng.choice(['False', 'True', '1', 'None'])}, 'shape': {rng.choice(lies)}, }}".encode()
            body = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(16)
        elif way == 2:
            descr = rng.choice(
                ["|O", "<f8'", "<U1000000000", "|V8", "<f16", "x", "('<f8', (3,))", "<m8[ns]", ",".join(["f8"] * 50)]
            )
            text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, 2), }}".encode()
            body = (
                b"\x93NUMPY"
                + rng.choice([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\xff\x00"])
                + struct.pack("<H", rng.choice([len(text), 65535, 0]))
                + text
            )
        query = rng.choice(
            [
                "",
                "",
                "?clip=nan",
                "?clip=1e999",
                "?clip=x",
                "?clip=0",
                f"?rule={quote(rng.choice([*RULES, *self.escapes])[:300])}",
            ]
        )
        return request("POST", f"{API}/aggregate{query}", body, NPY)

    def parts(self, rng: random.Random) -> bytes:
        """Several parts, badly divided, with names of files that lead elsewhere."""
        names = [
            rng.choice(["table", "outcomes", "rule", "", "x", "table\x00", "../table", *self.escapes[:8]])
            for _ in range(rng.choice([1, 1, 2, 11, 200]))
        ]
        content = rng.choice([b"x", b"", b"--x--", b"\r\n--x\r\n", b"\xff"])
        pieces = [
            b'--x\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n%s\r\n'
            % (name.encode(), rng.choice(self.escapes).encode(), content)
            for name in names
        ]
        body = b"".join(pieces) + rng.choice([b"--x--\r\n", b"--x--", b"--x", b"", b"--y--"])
        body = damaged(body, rng) if rng.random() < 0.5 else body
        divider = rng.choice(["x", "x", "x", '"x"', "", "y", "x" * 300, "\xff", '"'])
        path = rng.choice(["aggregate", "compare", "fit"])
        return request("POST", f"{API}/{path}", body, f"Content-Type: multipart/form-data; boundary={divider}")

    def tables(self, rng: random.Random) -> bytes:
        """Damaged tables of every format, and whole ones with strange options: each is work for a process."""
        body = self.files[rng.choice(sorted(self.files))]
        path = rng.choice(["aggregate", "aggregate", "compare?draws=100&rule=mean&fit=false", "fit?draws=100"])
        if rng.random() < 0.8:
            body = damaged(body, rng)
        else:
            pair = f"{rng.choice(OPTIONS)}={quote(rng.choice([*VALUES, *self.escapes])[:500])}"
            path += ("&" if "?" in path else "?") + pair
        accept = rng.choice(["", "application/json", "application/vnd.apache.parquet", "text/html"])
        return request("POST", f"{API}/{path}", body, CSV, f"Accept: {accept}")

    def bombs(self, rng: random.Random) -> bytes:
        """Small files that expand."""
        bomb = rng.choice(
            [
                lambda: gzip_bomb(2**27),
                lambda: workbook_bomb(self.files["excel"], 2**25),
                sparse_workbook,
                lambda: parquet_bomb(10**7),
            ]
        )
        return request("POST", f"{API}/{rng.choice(['aggregate', 'compare', 'fit'])}", bomb(), CSV)

    def huge(self, rng: random.Random) -> bytes:
        """Bodies beyond the limits, and just below them."""
        path = rng.choice(["aggregate", "explain", "verify", "compare", "designs"])
        body = rng.choice([
            lambda: b"[" * 2**20, lambda: b'{"forecasts":[' + b"0.5," * 200_000 + b"0.5]}", lambda: b" " * 3 * 2**20, lambda: b'{"a":"' + b"x" * 2**20,
            lambda: b'{"questions":[' + b'{"forecasts":[0.5]},' * 40_000 + b'{"forecasts":[2]}]}', lambda: b'{"rule":"' + b"x" * 900_000 + b'"}',
        ])()  # fmt: skip
        return request("POST", f"{API}/{path}", body, rng.choice([JSON, JSON, CSV]))

    # ----------------------------------------------------------------------------------------- designs, proofs, certificates

    def designs(self, rng: random.Random) -> bytes:
        """Options of a design, spoiled: most are refused, the others are small."""
        tree = {**DESIGN, "family": self.family} if rng.random() < 0.3 else DESIGN
        kept = {name: tree[name] for name in rng.sample(sorted(tree), rng.randrange(1, len(tree)))}
        kept |= {"rounds": rng.choice([b"-1", b"0", b"1e9", b"1.5", b'"x"', b"[]"])}  # so that none is work
        return request("POST", f"{API}/designs", spoiled_options(kept, rng), JSON)

    def proofs(self, rng: random.Random) -> bytes:
        """Options of a proof, spoiled, with names of files and forged designs in place of the design."""
        tree: Tree = dict(PROOF)
        if rng.random() < 0.5:
            del tree["rule"]
            forged = _sealed(spoiled(self.design, rng, ODD[:40]))
            tree["design"] = rng.choice(
                [forged, json.dumps(rng.choice(self.escapes)).encode(), f'"{self.job}"'.encode()]
            )
        tree["tolerance"] = rng.choice(
            [b"-1", b"0", b"NaN", b'"x"', b"1e999", b"1" + b"0" * 400]
        )  # so that none is work
        return request("POST", f"{API}/certificates", spoiled_options(tree, rng), JSON)

    def certificates(self, rng: random.Random) -> bytes:
        """Certificates, changed; some with a hash that fits, and some that are made to be slow."""
        way = rng.randrange(4)
        if way == 0:
            make, _ = hostile.ATTACKS[rng.choice(sorted(hostile.ATTACKS))]
            body = json.dumps(make(4)).encode()
        else:
            body = spoiled(self.certificate, rng)
            body = _sealed(body) if way == 1 else body
        referee = rng.choice(["", "", "", "?referee=x"])
        return request("POST", f"{API}/verify{referee}", body, JSON)

    # ------------------------------------------------------------------------------------------------------------ raw bytes

    def framing(self, rng: random.Random) -> list[bytes]:
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
            hidden = f"GET {API}/jobs/{self.job} HTTP/1.1\r\nHost: evil.example\r\n\r\n".encode()
            data = f"{start}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + b"0\r\n\r\n" + hidden
        return [data, END] if rng.random() < 0.5 else [data]

    def no_http(self, rng: random.Random) -> list[bytes]:
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

    def pipelines(self, rng: random.Random) -> list[bytes]:
        """Many requests at once, of which the last one closes the connection or is broken."""
        many = [
            rng.choice([self.aggregate, self.ids, self.questions, self.explain])(rng)
            for _ in range(rng.choice([2, 5, 30]))
        ]
        last = rng.choice([request("GET", f"{API}/health", b"", "Connection: close"), b"x\r\n\r\n"])
        return [b"".join(each for each in many if not each.startswith(b"HEAD")) + last]

    def floods(self, rng: random.Random) -> list[bytes]:
        """Headers without end."""
        header = rng.choice([b"X: y\r\n", b"X: " + b"y" * 9000 + b"\r\n", b"Cookie: a=b\r\n", b"y" * 1000])
        return [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", header * (200_000 // len(header)), END]

    def broken_off(self, rng: random.Random) -> list[bytes]:
        """A request of any kind that ends before its end."""
        whole = rng.choice([self.aggregate, self.explain, self.parts, self.arrays, self.paths, self.headers])(rng)
        return [whole[: rng.randrange(1, len(whole))], END]

    def streams(self, rng: random.Random) -> list[bytes]:
        """A body in chunks that is longer than the limit, without a length that says so."""
        path = rng.choice(["aggregate", "verify", "compare", "explain"])
        head = f"POST {API}/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{rng.choice([JSON, CSV])}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        return [head.encode(), *[b"40000\r\n" + b" " * 2**18 + b"\r\n"] * 12, b"0\r\n\r\n"]

    def slow(self, rng: random.Random) -> list[bytes]:
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


Kind = Callable[[Arsenal, "random.Random"], Any]

KINDS: dict[Kind, int] = {
    Arsenal.aggregate: 3332,
    Arsenal.questions: 1000,
    Arsenal.rules: 350,
    Arsenal.forged_rules: 250,
    Arsenal.explain: 700,
    Arsenal.kinds_of_bodies: 100,
    Arsenal.paths: 1150,
    Arsenal.ids: 350,
    Arsenal.headers: 600,
    Arsenal.hosts: 350,
    Arsenal.options: 350,
    Arsenal.arrays: 400,
    Arsenal.parts: 250,
    Arsenal.tables: 30,
    Arsenal.bombs: 4,
    Arsenal.huge: 14,
    Arsenal.designs: 80,
    Arsenal.proofs: 60,
    Arsenal.certificates: 80,
}
"""Requests that are well divided, and so many of them: each has one answer."""

RAW: dict[Kind, int] = {
    Arsenal.framing: 250,
    Arsenal.no_http: 150,
    Arsenal.pipelines: 30,
    Arsenal.floods: 10,
    Arsenal.broken_off: 80,
    Arsenal.streams: 10,
    Arsenal.slow: 20,
}
"""Bytes that may be anything, in parts: the server answers what it can and closes the connection."""


def spoiled_options(tree: Tree, rng: random.Random) -> bytes:
    """An object whose values may be bytes already; one more of them is odd."""
    tree = {**tree, rng.choice([*tree, "x", ""]): rng.choice(ODD)} if rng.random() < 0.8 else tree
    return written(tree)


def _sealed(body: bytes) -> bytes:
    """The same with a hash that fits, if it is JSON."""
    try:
        data = json.loads(body)
        return json.dumps({**data, "hash": content_hash(data)}).encode()
    except (ValueError, TypeError, RecursionError):
        return body


def _saved(save: Callable[[Path], object]) -> Tree:
    """What is in a file that was just saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.json"
        save(path)
        return json.loads(path.read_text())
