"""How long a job would take on K workers: its parts are measured on one core, and a simulation deals them out.

A job is a list of rounds: work of the master alone, then tasks that the master sends to whoever is idle, in their order
(list scheduling), and whose answers it waits for. `Recorder` is an executor that does a job here and writes down its rounds.
`simulated` plays them on K workers. Every message costs the master some time, because it sends and reads one after the other;
what all tasks of a round share goes to each worker once. `python benchmarks/growth.py --check` compares the simulation with runs.
"""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robustpool.execution import InProcess, using
from robustpool.execution.sending import Kept, Wrapping, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Round(NamedTuple):
    """Work of the master alone, then tasks in the order in which they are sent."""

    serial: float  # seconds
    tasks: tuple[float, ...]  # seconds of each
    common: float = 0.0  # bytes that each worker needs before its first task
    message: float = 0.0  # bytes of a task and its answer, on average
    sent: bool = True  # False for threads of the master's process, which need no messages
    name: str = ""  # of the function


class Overhead(NamedTuple):
    """What it costs that a task is done elsewhere."""

    master: float = 0.0  # seconds of the master for a message: half before the task, half after it
    worker: float = 0.0  # seconds of the worker beside the task
    byte: float = 0.0  # seconds of the master for a byte
    wait: float = 0.0  # seconds in which a message is on its way and nobody works


class Run(NamedTuple):
    """What a simulated run took."""

    seconds: float
    master: float  # seconds of work
    workers: tuple[float, ...]  # of each

    @property
    def busiest(self) -> float:
        """The work of the master and of the busiest worker: what ``Measured.longest`` of scaling.py is for a real run."""
        return self.master + max(self.workers)


def simulated(rounds: Sequence[Round], workers: int, overhead: Overhead = Overhead()) -> Run:  # noqa: B008  # a constant
    """Play the rounds on so many workers.

    >>> simulated([Round(1.0, (3.0, 2.0, 2.0))], 2)
    Run(seconds=5.0, master=1.0, workers=(3.0, 4.0))
    """
    now, master, busy = 0.0, 0.0, [0.0] * workers
    for each in rounds:
        now, master = now + each.serial, master + each.serial
        cost = overhead if each.sent else Overhead()
        half, used = (cost.master + cost.byte * each.message) / 2, min(workers, len(each.tasks))
        idle, at_work = list(range(used))[::-1], list[tuple[float, int]]()
        supplied, left = set[int](), list(each.tasks)[::-1]
        while left or at_work:
            if left and idle:
                worker = idle.pop()
                spent = half + (0.0 if worker in supplied else cost.byte * each.common)
                supplied.add(worker)
                now, master = now + spent, master + spent
                seconds = cost.worker + left.pop()
                busy[worker] += seconds
                heappush(at_work, (now + cost.wait + seconds, worker))
            else:
                ready, worker = heappop(at_work)
                now, master = max(now, ready) + half, master + half
                idle.append(worker)
    return Run(now, master, tuple(busy))


class Recorder:
    """An executor that does all work here, one task after the other, and writes down the rounds of a job.

    ``like`` is the executor that a run would use, `Processes` or `Cluster`: it says which work is too small to be sent and how
    many items share a message. Processes do compiled work on ``threads``. Times are processor time of this thread.
    """

    def __init__(self, like: Any, *, threads: bool) -> None:
        self.least, self.grain, self.threads = like.least, like.grain, threads
        self.near = _Near(self) if threads else InProcess(1)
        self.rounds: list[Round] = []
        self._wrapping, self._kept, self._last = Wrapping(), Kept(), time.thread_time()

    def map(
        self, function: Callable[[Any, Any], Any], items: Sequence[Any], common: Any, *, compiled: bool
    ) -> Iterator[Any]:
        """See Executor."""
        sent = not (compiled and self.threads)
        if len(items) < 2:
            return InProcess(1).map(function, items, common, compiled=compiled)
        serial = time.thread_time() - self._last
        results, tasks = [], []
        with using(InProcess(1)):
            for item in items:
                began = time.thread_time()
                results.append(function(common, item))
                tasks.append(time.thread_time() - began)
        bytes_ = self._bytes(function, items, common, results) if sent else (0.0, 0.0)
        whole = getattr(function, "args", (function,))[0]  # of what a partial is about
        self.rounds.append(Round(serial, tuple(tasks), *bytes_, sent, getattr(whole, "__name__", "")))
        self._last = time.thread_time()
        return iter(results)

    def end(self) -> list[Round]:
        """The rounds, the last of them what the master did after all tasks."""
        return [*self.rounds, Round(time.thread_time() - self._last, ())]

    def _bytes(self, function: Any, items: Sequence[Any], common: Any, results: Sequence[Any]) -> tuple[float, float]:
        """The bytes of what is new and common, and of a message; some messages stand for all."""
        parts, places = [*self._wrapping.parts((function,)), *self._wrapping.parts(common)], set[int]()
        self._kept.use([part.digest for part in parts], places.add)
        new = sum(len(parts[place].content) for place in places)
        some = range(0, len(items), -(-len(items) // 8))
        there = [len(packed(items[k])) + len(pickle.dumps(results[k])) for k in some]
        return float(new), float(np.mean(there))


@dataclass(frozen=True)
class _Near:
    """Where processes do small work: on threads, if it is compiled."""

    recorder: Recorder

    def map(self, function: Any, items: Sequence[Any], common: Any, *, compiled: bool) -> Iterator[Any]:
        """See Executor."""
        executor: Any = self.recorder if compiled else InProcess(1)
        return executor.map(function, items, common, compiled=compiled)


def recorded(job: Callable[[], Any], like: Any, *, threads: bool) -> list[Round]:
    """The rounds of a job."""
    recorder = Recorder(like, threads=threads)
    with using(recorder):
        job()
    return recorder.end()


def least_of(runs: Sequence[Sequence[Round]]) -> list[Round]:
    """The least times of several records of one job: what other programs on the machine add is left out."""
    return [
        one[0]._replace(
            serial=min(each.serial for each in one),
            tasks=tuple(map(min, zip(*(each.tasks for each in one), strict=True))),
        )
        for one in zip(*runs, strict=True)
    ]


def work_of(rounds: Sequence[Round]) -> tuple[float, float]:
    """Seconds of the master alone, and of all tasks."""
    return sum(each.serial for each in rounds), sum(sum(each.tasks) for each in rounds)


# ------------------------------------------------------------------------------------------------------- how costs grow


@dataclass(frozen=True)
class Growth:
    """Measured costs y at sizes x, and the power law y = c x^p that fits best: a line in the logarithms."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    exponent: float = field(init=False)
    level: float = field(init=False)  # log c

    def __post_init__(self) -> None:
        """Fit."""
        exponent, level = np.polyfit(np.log(self.x), np.log(self.y), 1)
        object.__setattr__(self, "exponent", float(exponent))
        object.__setattr__(self, "level", float(level))

    def at(self, x: float) -> float:
        """What the fitted law says, for sizes like those measured."""
        return float(np.exp(self.level + self.exponent * np.log(x)))

    @property
    def off(self) -> float:
        """The factor by which the law is off at the worst of the points."""
        fitted = np.array([self.at(x) for x in self.x])
        return float(np.exp(np.abs(np.log(np.array(self.y) / fitted)).max()))

    @property
    def exponents(self) -> tuple[float, float]:
        """The least and the largest exponent between neighbours: far apart where no power law fits."""
        slopes = np.diff(np.log(self.y)) / np.diff(np.log(self.x))
        return float(slopes.min()), float(slopes.max())

    def ahead(self, x: float) -> tuple[float, float, float]:
        """An extrapolation by the fitted exponent from the last point on, and a range.

        The range holds what the least and the largest exponent between neighbours give, and the 90 % prediction interval of the fit.
        """
        from scipy.special import stdtrit

        logs, free = np.log(self.x), len(self.x) - 2
        spread = np.sqrt(sum(np.log(y / self.at(one)) ** 2 for one, y in zip(self.x, self.y, strict=True)) / free)
        away = np.sqrt(1 + 1 / len(logs) + (np.log(x) - logs.mean()) ** 2 / ((logs - logs.mean()) ** 2).sum())
        factor = float(np.exp(stdtrit(free, 0.95) * spread * away))
        powers = (self.exponent, *self.exponents)
        expected, *ends = (self.y[-1] * (x / self.x[-1]) ** power for power in powers)
        return expected, min(*ends, self.at(x) / factor), max(*ends, self.at(x) * factor)
