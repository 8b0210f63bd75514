"""Some processes on this machine, one core each: for work that holds Python's lock, so that threads would not help.

A worker that dies is replaced and its item done again; an item whose workers die again and again stops the run with a
sentence. Ctrl-C ends the workers at once, and so does the end of this process, however it comes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Self

from ..checks import whole
from ..errors import WorkersLostError
from . import Answer, InProcess, in_order
from .sending import CannotSendError, Kept, Message, Part, Refusals, Wrapping, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DEATHS = 3
"""Workers that may die over one item."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Processes:
    """Worker processes on this machine; they start with the first work that is sent to them, and end with ``close``.

    Compiled functions stay here, on as many threads: they release Python's lock, and nothing has to be copied. What cannot
    be sent (such as a function that stands in no module, without cloudpickle) is done here as well, with a warning.

    >>> from robustpool.execution import mapped, using
    >>> from operator import mul
    >>> with Processes(2) as two, using(two):
    ...     list(mapped(mul, [1, 2, 3], 10))
    [10, 20, 30]
    """

    least, grain = 0.05, 0.02

    def __init__(self, workers: int) -> None:
        """No process runs yet."""
        self.workers = whole("workers", workers, least=1)
        self.near = InProcess(self.workers)
        self._wrapping, self._refusals = Wrapping(), Refusals()
        self._processes: list[_Worker] = []
        self._answers: SimpleQueue[tuple[_Worker, tuple[bool, bytes] | None]] = SimpleQueue()
        self._in_use = Lock()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the workers."""
        self.close()

    def close(self) -> None:
        """End the workers, even in the middle of an item."""
        for worker in self._processes:
            worker.end()
        self._processes.clear()

    def map(
        self, function: Callable[[Any, Any], Any], items: Sequence[Any], common: Any, *, compiled: bool
    ) -> Iterator[Any]:
        """See Executor."""
        if compiled or len(items) < 2:
            return self.near.map(function, items, common, compiled=compiled)
        return in_order(self.each(function, items, common), len(items))

    def each(
        self, function: Callable[[Any, Any], Any], items: Sequence[Any], common: Any
    ) -> Iterator[tuple[int, Answer]]:
        """See Executor."""
        try:
            parts = [*self._wrapping.parts((function,)), *self._wrapping.parts(common)]
            contents = [packed(item) for item in items]
        except Exception as error:  # noqa: BLE001  # whatever pickling raises
            self._refusals.tell(function, error)
            parts = []
        left, here = set(range(len(items))), not parts or not self._in_use.acquire(blocking=False)
        if not here:
            try:
                for number, answer in self._answers_of(parts, contents, is_tuple=type(common) is tuple):
                    here = not answer.good and isinstance(answer.value, CannotSendError)
                    if here:
                        self._refusals.tell(function, answer.value)
                        break
                    left.remove(number)
                    yield number, answer
            finally:
                if left:
                    self.close()  # whoever is still at work is not needed any more
                self._in_use.release()
        for number in sorted(left):  # what cannot be sent; or work between two results, or by another thread
            yield number, Answer(good=True, value=function(common, items[number]))

    def _answers_of(self, parts: list[Part], items: list[bytes], *, is_tuple: bool) -> Iterator[tuple[int, Answer]]:
        """The number of each item with its answer, as they come."""
        waiting = deque(enumerate(items))
        deaths: dict[int, int] = {}
        at_work: dict[_Worker, tuple[int, bytes]] = {}
        while waiting or at_work:
            for worker in self._idle(at_work, len(waiting)):
                at_work[worker] = waiting.popleft()
                worker.send(parts, is_tuple, at_work[worker][1])
            worker, answer = self._answers.get()
            if answer is None:
                self._forget(worker)
            if worker not in at_work:
                continue  # it died while it was idle, or was ended before its answer was read
            number, item = at_work.pop(worker)
            if answer is not None:
                good, content = answer
                yield number, Answer(good, pickle.loads(content))
                continue
            deaths[number] = deaths.get(number, 0) + 1
            if deaths[number] == DEATHS:
                raise WorkersLostError(
                    f"{DEATHS} worker processes died over the same piece of work (the last with status {worker.status}); "
                    "is there enough memory? --workers 1 or fewer workers need less."
                )
            waiting.appendleft((number, item))

    def _forget(self, worker: _Worker) -> None:
        """Give up a process that is dead."""
        if worker in self._processes:
            self._processes.remove(worker)
        worker.end()

    def _idle(self, at_work: dict[_Worker, Any], wanted: int) -> list[_Worker]:
        """Workers without work, at most as many as are wanted; new ones if some are missing."""
        idle = [worker for worker in self._processes if worker not in at_work]
        while len(idle) < wanted and len(self._processes) < self.workers:
            self._processes.append(_Worker(self._answers))
            idle.append(self._processes[-1])
        return idle[:wanted]


class _Worker:
    """One process; a thread passes its answers on, and None when it is gone."""

    def __init__(self, answers: SimpleQueue[Any]) -> None:
        """Start it: out of reach of Ctrl-C, which this process passes on as the end."""
        environment = {
            **os.environ,
            **dict.fromkeys(ONE_THREAD, "1"),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "robustpool.execution.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self._kept = Kept()
        Thread(target=self._listen, args=(answers,), daemon=True).start()

    @property
    def status(self) -> int | None:
        """How it ended: minus the number of a signal, or its exit status."""
        return self._process.returncode

    def _listen(self, answers: SimpleQueue[Any]) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                answer = pickle.load(self._process.stdout)
            except Exception:  # noqa: BLE001  # it is gone, or its answer cannot be read: there is no memory for it, say
                answers.put((self, None))
                return
            answers.put((self, answer))

    def send(self, parts: list[Part], is_tuple: bool, item: bytes) -> None:
        """Send an item, with the parts that the process does not have; if it is dead, the listener tells."""
        new = set[int]()
        self._kept.use([part.digest for part in parts], new.add)
        sent = [part if place in new else Part(part.digest, b"") for place, part in enumerate(parts)]
        assert self._process.stdin is not None
        with suppress(OSError):
            pickle.dump(Message(sent, is_tuple, item), self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                pipe.close()  # type: ignore[union-attr]
