"""What `robustpool serve` holds, beside a bare FastAPI endpoint that returns a constant, on this machine in one run; `make bench` runs it.

Both servers are uvicorn with httptools and uvloop, one process each; the load generator is a third process that speaks HTTP over plain
sockets. Measured in turns, so that whatever else the machine does hits both alike; each figure is the median of its turns.

    single       aggregations of two forecasts a second, as a share of what the bare endpoint holds       (wanted: 60 % or more)
    batches      questions a second over HTTP, as a share of `rp.aggregate` on the same array in memory    (wanted: 50 % or more)
    under load   the 99th percentile of the latency at 80 % of that rate, over the idle median             (wanted: below 10)
    overload     four times the rate: every request gets its forecast, or 429 with Retry-After             (wanted: none lost)
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import uvloop

import robustpool as rp

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY = b'{"forecasts":[0.7,0.6]}'
FORECAST = json.dumps(rp.aggregate([0.7, 0.6])).encode()

BARE = """
import socket, uvicorn
from fastapi import FastAPI
app = FastAPI()

@app.post("/api/v1/aggregate")
async def constant():
    return {"forecast": 0.65}

listener = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, http="httptools", loop="uvloop")
uvicorn.Server(config).run(sockets=[listener])
"""


def request(body: bytes, kind: str = "application/json", query: str = "") -> bytes:
    """A request as it goes over the wire."""
    head = f"POST /api/v1/aggregate{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


# ------------------------------------------------------------------------------------------------------------ servers


@dataclass(frozen=True)
class Server:
    """Where a server is, its process, and what its answers to `BODY` contain."""

    port: int
    process: int
    marker: bytes

    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(command: list[str], marker: bytes) -> Iterator[Server]:
    """A server that says where it is in its first line."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline().rsplit(":", 1)[1].strip(" /\n"))
            wait_for(port)
            yield Server(port, process.pid, marker)
        finally:
            process.terminate()


@contextmanager
def ours() -> Iterator[Server]:
    """`robustpool serve`."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "robustpool", "serve", "--port", "0", "--data", data]
        with started(command, FORECAST) as server:
            yield server


def bare() -> AbstractContextManager[Server]:
    """The endpoint that returns a constant."""
    return started([sys.executable, "-c", BARE], b"0.65")


def wait_for(port: int) -> None:
    """Until it answers."""
    for _ in range(200):
        if exchange(port, request(BODY))[0].startswith(b"HTTP/1.1 200"):
            return
        time.sleep(0.05)
    raise RuntimeError("a server does not answer")


def exchange(port: int, message: bytes) -> tuple[bytes, bytes]:
    """Head and body of the answer to one request over a plain socket."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(message)
        return received(connection)


def received(connection: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of one answer."""
    got = b""
    while b"\r\n\r\n" not in got:
        part = connection.recv(1 << 20)
        if not part:
            return b"", b""
        got += part
    head, _, first = got.partition(b"\r\n\r\n")
    size = length(head)
    body = bytearray(size)
    body[: len(first)] = first
    view, filled = memoryview(body), len(first)
    while filled < size:
        filled += connection.recv_into(view[filled:])
    return head, bytes(body)


def length(head: bytes) -> int:
    """The length of the body that a head announces."""
    lower = head.lower()
    at = lower.index(b"content-length: ") + 16
    return int(lower[at:].split(b"\r", 1)[0])


# ----------------------------------------------------------------------------------------------------- load generator


@dataclass
class Tally:
    """What a run of the generator saw."""

    seconds: float = 0.0
    sent: int = 0
    accepted: list[float] = field(default_factory=list)  # latencies
    refused: int = 0  # with 429 and Retry-After
    wrong: int = 0  # any other answer
    lost: int = 0  # no answer
    cpu: float = 0.0  # seconds of processor time that the server used

    @property
    def rate(self) -> float:
        """Accepted requests a second."""
        return len(self.accepted) / self.seconds


class Connection(asyncio.Protocol):
    """One connection of the generator, with at most one request under way."""

    def __init__(self, load: Load) -> None:
        self.load, self.due, self.buffer = load, 0.0, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.load.free.append(self)

    def send(self, due: float) -> None:
        self.due = due
        self.load.tally.sent += 1
        self.transport.write(self.load.message)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0 or len(self.buffer) < end + 4 + self.load.length(self.buffer, end):
            return
        answer, self.buffer = self.buffer, b""
        self.load.answered(self, answer)

    def connection_lost(self, _: Exception | None) -> None:
        self.load.gone(self)


class Load:
    """Requests at a rate, or as fast as the answers come, for some seconds."""

    def __init__(self, port: int, connections: int, seconds: float, rate: float | None, marker: bytes) -> None:
        self.port, self.connections, self.seconds, self.rate = port, connections, seconds, rate
        self.marker = marker  # what an accepted answer contains
        self.message = request(BODY)
        self.tally, self.free = Tally(), list[Connection]()
        self._lengths: dict[bytes, int] = {}
        self.stop = False

    def length(self, buffer: bytes, end: int) -> int:
        """The length of the body; looked up by status, since all answers of a status are alike."""
        status = buffer[9:12]
        if status not in self._lengths:
            self._lengths[status] = length(buffer[:end])
        return self._lengths[status]

    def answered(self, connection: Connection, answer: bytes) -> None:
        now = time.perf_counter()
        if answer.startswith(b"HTTP/1.1 200 ") and self.marker in answer:
            self.tally.accepted.append(now - connection.due)
        elif answer.startswith(b"HTTP/1.1 429 ") and b"retry-after: " in answer:
            self.tally.refused += 1
        else:
            self.tally.wrong += 1
        if self.rate is None and not self.stop:
            connection.send(now)
        else:
            self.free.append(connection)

    def gone(self, connection: Connection) -> None:
        if connection not in self.free and not self.stop:
            self.tally.lost += 1

    async def run(self) -> Tally:
        loop = asyncio.get_running_loop()
        for _ in range(self.connections):
            await loop.create_connection(lambda: Connection(self), "127.0.0.1", self.port)
        everyone = list(self.free)
        start = time.perf_counter()
        if self.rate is None:
            self.free.clear()
            for each in everyone:
                each.send(time.perf_counter())
            await asyncio.sleep(self.seconds)
        else:
            await self._at_rate(start)
        self.tally.seconds = time.perf_counter() - start
        self.stop = True
        for _ in range(500):  # until the last answer is there
            if len(self.free) == len(everyone):
                break
            await asyncio.sleep(0.01)
        self.tally.lost += len(everyone) - len(self.free)
        for each in everyone:
            each.transport.close()
        return self.tally

    async def _at_rate(self, start: float) -> None:
        """Send what is due; what finds no free connection waits, and its latency counts from when it was due."""
        assert self.rate is not None
        done = 0
        while (now := time.perf_counter()) < start + self.seconds:
            while done < (now - start) * self.rate and self.free:
                self.free.pop().send(start + done / self.rate)
                done += 1
            await asyncio.sleep(0.0005 if self.free else 0)


def generate(arguments: tuple[Any, ...]) -> Tally:
    """A run of the generator, in its own process."""
    return uvloop.run(Load(*arguments).run())


# -------------------------------------------------------------------------------------------------------------- batches


def over_http(port: int, message: bytes) -> tuple[float, bytes]:
    """Seconds and body of a request over a connection that is open."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request(BODY))
        received(connection)
        start = time.perf_counter()
        connection.sendall(message)
        head, body = received(connection)
        seconds = time.perf_counter() - start
    assert head.startswith(b"HTTP/1.1 200"), (head, body[:200])
    return seconds, body


def in_memory(reports: np.ndarray) -> float:
    """Seconds of `rp.aggregate` on an array."""
    start = time.perf_counter()
    rp.aggregate(reports)
    return time.perf_counter() - start


def npy(array: np.ndarray) -> bytes:
    """The array as numpy saves it."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def batches(port: int, turns: int) -> None:
    """Batches of several shapes, as arrays and as JSON, beside the same call in memory."""
    rng = np.random.default_rng(0)
    for questions, agents, kind in (
        (1_000_000, 2, "npy"),
        (200_000, 10, "npy"),
        (20_000, 2, "npy"),
        (50_000, 2, "JSON"),
    ):
        reports = rng.uniform(0.02, 0.98, (questions, agents)).round(4)
        if kind == "npy":
            message = request(npy(reports), "application/x-npy")
        else:
            body = {"questions": [{"id": k, "forecasts": row} for k, row in enumerate(reports.tolist())]}
            message = request(json.dumps(body, separators=(",", ":")).encode())
        ratios, rates = [], []
        for _ in range(turns):
            quick = in_memory(reports)
            seconds, answer = over_http(port, message)
            ratios.append(quick / seconds)
            rates.append(questions / seconds)
        if kind == "npy":
            forecasts = np.load(io.BytesIO(answer))
        else:
            forecasts = np.array([each["forecast"] for each in json.loads(answer)["forecasts"]])
        same = bool((forecasts == rp.aggregate(reports)).all())
        say(
            f"batch of {questions:,} x {agents}, {kind}",
            f"{statistics.median(rates):,.0f} questions/s, {statistics.median(ratios):.0%} of rp.aggregate; equal: {same}",
        )


# ---------------------------------------------------------------------------------------------------------------- report


def say(what: str, numbers: str) -> None:
    print(f"{what:36s} {numbers}", flush=True)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn")
    options = parser.parse_args()
    turns, seconds = options.turns, options.seconds
    with ours() as server, bare() as constant, multiprocessing.get_context("spawn").Pool(1) as pool:

        def load(where: Server, connections: int, rate: float | None = None, time: float = seconds) -> Tally:
            before = where.cpu()
            tally = pool.apply(generate, ((where.port, connections, time, rate, where.marker),))
            return replace(tally, cpu=where.cpu() - before)

        for each in (server, constant):
            load(each, 8, time=0.5)  # warm
        for connections in (1, 16):
            pairs = [(load(server, connections), load(constant, connections)) for _ in range(turns)]
            mine, theirs = (statistics.median(pair[k].rate for pair in pairs) for k in (0, 1))
            ratio = statistics.median(pair[0].rate / pair[1].rate for pair in pairs)
            work = [sum(pair[k].cpu for pair in pairs) / sum(len(pair[k].accepted) for pair in pairs) for k in (0, 1)]
            say(
                f"single, {connections} at a time",
                f"{mine:,.0f}/s beside {theirs:,.0f}/s of the bare endpoint: {ratio:.0%}; "
                f"processor time {work[0] * 1e6:.0f} us beside {work[1] * 1e6:.0f} us: {work[1] / work[0]:.0%}",
            )
        held = mine

        idle = statistics.median(statistics.median(load(server, 1, 200, 1.0).accepted) for _ in range(3))
        say("idle", f"median {idle * 1e3:.2f} ms")
        loads = [load(server, 64, 0.8 * held) for _ in range(turns)]
        p99 = statistics.median(percentile(each.accepted, 0.99) for each in loads)
        bad = sum(each.wrong + each.lost for each in loads)
        refused = sum(each.refused for each in loads) / sum(each.sent for each in loads)
        say(
            "under load, 80 % of the rate",
            f"p99 {p99 * 1e3:.2f} ms, {p99 / idle:.1f} times the idle median; {refused:.1%} refused, {bad} lost",
        )

        overloads = [load(server, 256, 4 * held) for _ in range(turns)]
        sent, accepted = sum(each.sent for each in overloads), sum(len(each.accepted) for each in overloads)
        refused, bad = sum(each.refused for each in overloads), sum(each.wrong + each.lost for each in overloads)
        offered = statistics.median(each.sent / each.seconds for each in overloads)
        p99 = statistics.median(percentile(each.accepted, 0.99) for each in overloads)
        say(
            "overload, four times the rate",
            f"{offered:,.0f}/s sent of {4 * held:,.0f}/s: {accepted / sent:.0%} answered, {refused / sent:.0%} got 429 with Retry-After, {bad} lost; "
            f"p99 of the answered {p99 * 1e3:.1f} ms",
        )
        batches(server.port, turns)


if __name__ == "__main__":
    main()
