"""A server under attack: it gets requests that no client should send, and everything it says and does is looked at.

Used by test_web_malformed.py, and by tools/fuzz_server.py for longer.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import struct
import sys
import threading
import time
from collections import Counter
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malformed import API, CSV, JSON, KINDS, TABLE, Arsenal
from malformed_wire import RAW, slow
from robustpool.web.guard import HEADERS
from servers import Server, serving
from wire import Answer, BrokenAnswerError, Client, all_answers, request, talk_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from malformed import Kind

LIMITS: dict[str, Any] = {
    "json_bytes": 2**20,
    "body_bytes": 2 * 2**20,
    "table_bytes": 8 * 2**20,
    "header_seconds": 1.5,
    "body_seconds": 1.5,
    "request_seconds": 50.0,
    "job_seconds": 30.0,
}
SECRET = "the-canary-sings"
MOST_MEMORY = 1500 * 2**10
"""Kilobytes that the server, or one of its workers, may have had at most."""

TOGETHER = 40
"""Raw conversations at the same time."""

OUR_ERROR = "because of an error in the server"
LONGEST = 1000
FORBIDDEN = (SECRET.encode(), b"root:x:", b"Traceback (most", b'File "/')


@dataclass
class Siege:
    """A server, what was sent to it, and what was wrong."""

    server: Server
    folder: Path
    arsenal: Arsenal
    log: list[str] = field(default_factory=list)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)  # that the server keeps, because a request asked for it

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server.url.rstrip("/").rpartition(":")[2])

    def attack(self, seed: int, kinds: Mapping[Kind, int] = KINDS, raw: Mapping[Kind, int] = RAW) -> int:
        """Send so many requests of each kind, in an order that the seed gives; how many there were."""
        rng = random.Random(seed)
        order = [kind for kind, count in kinds.items() for _ in range(count)]
        rng.shuffle(order)
        with Client(self.port) as client:
            for kind in order:
                self._single(client, kind, rng)
        for kind, count in raw.items():
            for sent in range(0, count, TOGETHER):
                self._together(kind, [kind(self.arsenal, rng) for _ in range(min(TOGETHER, count - sent))])
        return len(order) + sum(raw.values())

    def _single(self, client: Client, kind: Kind, rng: random.Random) -> None:
        data = kind(self.arsenal, rng)
        try:
            answer = client.ask(data)
        except (OSError, BrokenAnswerError) as error:
            client.close()
            self.note(kind.__name__, f"{type(error).__name__}: {error}", data)
            return
        self.judge(kind.__name__, answer, data)

    def _together(self, kind: Kind, conversations: list[list[bytes]]) -> None:
        pause = 0.2 if kind is slow else 0.0
        for parts, said in zip(conversations, talk_to(self.port, *conversations, pause=pause), strict=True):
            data = b"".join(parts)
            try:
                answers = all_answers(said)
            except BrokenAnswerError as error:
                self.note(kind.__name__, str(error), data)
                continue
            for answer in answers:
                self.judge(kind.__name__, answer, data)
            if not answers:
                self.statuses[kind.__name__, 0] += 1

    def judge(self, kind: str, answer: Answer, data: bytes) -> None:
        """Note what is wrong with an answer."""
        self.statuses[kind, answer.status] += 1
        place = answer.headers.get("location", "")
        if place.startswith(f"{API}/") and answer.status < 300:
            self.jobs.append(place)
        for wrong in wrongs(answer):
            self.note(kind, wrong, data)

    def note(self, kind: str, wrong: str, data: bytes) -> None:
        """Remember what was wrong, and with what."""
        self.findings.append(f"{kind}: {wrong}\n    after {data[:300]!r}{'...' if len(data) > 300 else ''}")


def wrongs(answer: Answer) -> Iterator[str]:
    """What is wrong with an answer, whatever was asked."""
    shown = f"{answer.status} {answer.body[:300]!r}"
    if answer.status >= 500 or answer.status == 429:
        yield shown
    if any(secret in answer.body for secret in FORBIDDEN):
        yield f"the answer tells what is none of the client's business: {shown}"
    if "content-security-policy" not in answer.headers or any(
        answer.headers.get(name) != value for name, value in HEADERS.items() if name != "content-security-policy"
    ):
        yield f"headers are missing: {answer.headers}"
    kind = answer.headers.get("content-type", "")
    if answer.status >= 400 and kind != "application/problem+json":
        yield f"the error is no problem but {kind!r}: {shown}"
    if answer.body and kind.endswith("json"):
        try:
            data = json.loads(answer.body, parse_constant=_no_constant)
        except ValueError as error:
            yield f"this is no JSON ({error!r}): {shown}"
            return
        if answer.status >= 400:
            yield from wrongs_of_problem(answer.status, data)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def wrongs_of_problem(status: int, data: Any) -> Iterator[str]:
    """What is wrong with the object of a problem: its detail must be one sentence."""
    if set(data) != {"type", "title", "status", "detail"} or data["status"] != status:
        yield f"this is no problem: {data}"
        return
    detail = data["detail"]
    if not detail.endswith((".", "?")) or "\n" in detail or not 10 < len(detail) <= LONGEST:
        yield f"this is no sentence: {detail!r}"


# ------------------------------------------------------------------------------------------------------------ the server


@contextmanager
def besieged(folder: Path) -> Iterator[Siege]:
    """A server in a folder of its own, beside files that it may not touch. What is wrong at the end is among the findings."""
    canary, data, work, scratch = (folder / name for name in ("canary", "data", "work", "scratch"))
    for each in (canary, data, work, scratch):
        each.mkdir()
    (canary / "pool.json").write_text(json.dumps({"format": "robustpool-pool/1", "label": SECRET}))
    (canary / "table.csv").write_text(f"question_id,ann,bob\n{SECRET},0.5,0.5\n")
    (canary / "robust").write_text(SECRET)
    before = contents(folder, "data")
    environment = {**os.environ}
    os.environ["TMPDIR"] = str(scratch)
    try:
        with chdir(work), serving(data, **LIMITS) as server:
            siege = Siege(server, folder, Arsenal(canary, _fit(server)))
            reader = threading.Thread(target=lambda: siege.log.extend(server.process.stderr or ()), daemon=True)
            reader.start()
            with opened(canary) as names:
                yield siege
                siege.findings += [f"the server opened {name!r}" for name in names()]
            siege.findings += aftermath(siege)
            siege.findings += ["the server's log says: " + "".join(siege.log)] if siege.log else []
    finally:
        os.environ.clear()
        os.environ.update(environment)
    after = contents(folder, "data")
    siege.findings += [f"{name!r} was changed" for name in {*before, *after} if before.get(name) != after.get(name)]


def _fit(server: Server) -> str:
    """The id of a job that is done and has files."""
    table = "question_id,ann,bob,outcome\n" + "".join(f"q{k},0.{k % 9 + 1},0.{k % 7 + 1},{k % 2}\n" for k in range(30))
    answer = server.call("POST", "fit?draws=100", content=table.encode(), headers={"Content-Type": "text/csv"})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def aftermath(siege: Siege) -> Iterator[str]:
    """What is wrong with a server when all is over: it has to be as it was."""
    deadline = time.monotonic() + 30
    with Client(siege.port) as client:
        health = client.ask(request("GET", f"{API}/health"))
        if health.status != 200:
            yield f"health is {health}"
        forecast = client.ask(request("POST", f"{API}/aggregate", b'{"forecasts":[0.25,0.75],"rule":"mean"}', JSON))
        if json.loads(forecast.body).get("forecast") != 0.5:
            yield f"the mean of 0.25 and 0.75 is {forecast}"
        table = client.ask(request("POST", f"{API}/aggregate?rule=mean", TABLE, CSV))
        if not table.body.startswith(b"question_id,forecast,forecasters,outcome\nrain,0.6499999999999999,2,1\n"):
            yield f"a table gives {table}"
        for answer in (health, forecast, table):
            yield from wrongs(answer)
        for place in siege.jobs:
            first, second = (client.ask(request("DELETE", place)) for _ in range(2))  # the first may only cancel it
            if b'"removed"' not in first.body + second.body:
                yield f"a job is not removed: {first}, {second}"
        state: dict[str, float] = {}
        while time.monotonic() < deadline:
            state = gauges(client)
            left = {each.name for each in (siege.folder / "data" / "jobs").iterdir()} - {siege.arsenal.job}
            idle = state["jobs_queued"] == state["jobs_running"] == 0 and state["spare_workers"] >= 1
            if idle and state["requests_in_flight"] == 1 and not left:  # this one
                break
            time.sleep(0.1)
        else:
            busy = {name: value for name, value in state.items() if name.startswith(("jobs", "spare", "requests_in"))}
            yield f"workers or requests are not free, or folders are left behind: {busy}, {left}"
    for process, memory in memories(siege.server.process.pid).items():
        if memory > MOST_MEMORY:
            yield f"process {process} took {memory // 1024} MB"


def gauges(client: Client) -> dict[str, float]:
    """What the server says of its jobs."""
    lines = client.ask(request("GET", f"{API}/metrics")).body.decode().splitlines()
    pairs = (line.removeprefix("robustpool_").rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name.replace('{state="', "_").replace('"}', ""): float(value) for name, value in pairs}


def memories(server: int) -> dict[int, int]:
    """The most memory that the server and its workers have had, in kilobytes; nothing where there is no /proc."""
    found = {}
    children = Path(f"/proc/{server}/task/{server}/children")
    for process in [server, *(map(int, children.read_text().split()) if children.exists() else ())]:
        status = Path(f"/proc/{process}/status")
        if status.exists():
            found[process] = int(status.read_text().partition("VmHWM:")[2].split()[0])
    return found


def contents(folder: Path, without: str) -> dict[str, bytes | None]:
    """Every file and folder below a folder, but for one."""
    paths = (path for path in folder.rglob("*") if path.relative_to(folder).parts[0] != without)
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    """A function that says which files of a folder were opened since; only Linux can tell, elsewhere it says none."""
    if sys.platform != "linux":
        yield list
        return
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert watch >= 0, os.strerror(ctypes.get_errno())
    assert libc.inotify_add_watch(watch, os.fsencode(folder), IN_OPEN) >= 0

    def names() -> list[str]:
        try:
            data = os.read(watch, 2**16)
        except BlockingIOError:
            return []
        found, place = [], 0
        while place < len(data):
            (length,) = struct.unpack_from("12xI", data, place)
            found.append(data[place + 16 : place + 16 + length].rstrip(b"\0").decode())
            place += 16 + length
        return list(filter(None, found))  # without the folder itself, which we list

    try:
        yield names
    finally:
        os.close(watch)


IN_OPEN = 0x20
