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
from damage import damaged
from forecasters import simulated
from odd_values import HEADERS, ODD, OPTIONS, RULES, VALUES, Tree, spoiled, spoiled_options, written
from robustpool.designs.design_file import content_hash, save_design
from robustpool.families.family_file import EXAMPLES
from robustpool.minimax.proofs import file_of
from wire import request

if TYPE_CHECKING:
    import random

API = "/api/v1"
JSON = "Content-Type: application/json"
CSV = "Content-Type: text/csv"
NPY = "Content-Type: application/x-npy"

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
        inside = [f"{self.canary.name}/{Path(file).name}" for file in files]
        steps = [f"{up * k}{file}" for file in inside for k in (1, 2, 3, 4) for up in ("../", "..\\", "....//")]
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
            *files * 5,
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
        bombs: list[Callable[[], bytes]] = [
            lambda: gzip_bomb(2**27),
            lambda: workbook_bomb(self.files["excel"], 2**25),
            sparse_workbook,
            lambda: parquet_bomb(10**7),
        ]
        path = rng.choice(["aggregate", "compare", "fit"])
        return request("POST", f"{API}/{path}", rng.choice(bombs)(), CSV)

    def huge(self, rng: random.Random) -> bytes:
        """Bodies beyond the limits, and just below them."""
        path = rng.choice(["aggregate", "explain", "verify", "compare", "designs"])
        bodies: list[Callable[[], bytes]] = [
            lambda: b"[" * 2**20,
            lambda: b" " * 3 * 2**20,
            lambda: b'{"a":"' + b"x" * 2**20,
            lambda: b'{"rule":"' + b"x" * 900_000 + b'"}',
            lambda: b'{"forecasts":[' + b"0.5," * 200_000 + b"0.5]}",
            lambda: b'{"questions":[' + b'{"forecasts":[0.5]},' * 40_000 + b'{"forecasts":[2]}]}',
        ]
        body = rng.choice(bodies)()
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
