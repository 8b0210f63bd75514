"""How work is mapped over priors, intervals or settings: in this process, on local processes or on a cluster.

Results come in the order of the items, and reductions are left folds in that order, so the executor and its number of
workers cannot change a bit. ``common`` is what every item needs; an executor sends it to a worker once. To run the work
elsewhere, write a class with ``map`` and call the library inside ``with using(executor)``.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS = min(4, os.cpu_count() or 1)


class Executor(Protocol):
    """Whoever maps a function over items.

    One that sends work away may also have ``near``, an executor for work that is too small for that: less than ``least``
    seconds of it. Then items share a message until they are about ``grain`` seconds of work. It may have ``each``, which
    yields the number of an item with its `Answer` as soon as it is there.
    """

    def map(
        self, function: Callable[[Common, Item], Result], items: Sequence[Item], common: Common, *, compiled: bool
    ) -> Iterator[Result]:
        """``function(common, item)`` for each item, in their order; ``compiled`` functions release the GIL."""
        ...


class Answer(NamedTuple):
    """What came of an item: a result, or the error that it ended with."""

    good: bool
    value: Any

    def result(self) -> Any:
        """The result, or the error is raised."""
        if not self.good:
            raise self.value
        return self.value


@dataclass(frozen=True)
class InProcess:
    """This process: compiled functions on some threads, others one after the other, each when its result is asked for."""

    threads: int = THREADS

    def map(
        self, function: Callable[[Common, Item], Result], items: Sequence[Item], common: Common, *, compiled: bool
    ) -> Iterator[Result]:
        """See Executor."""
        if not compiled or self.threads == 1 or len(items) == 1:
            return (function(common, item) for item in items)

        def alone(item: Item) -> Result:
            with using(InProcess(1)):  # work inside work stays on its thread: waiting for the pool could last for ever
                return function(common, item)

        return _pool(self.threads).map(alone, items)


_executor: ContextVar[Executor] = ContextVar("executor", default=InProcess())  # noqa: B039 - it is frozen


@contextmanager
def using(executor: Executor) -> Iterator[None]:
    """Let this executor do the work inside the block."""
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def mapped(
    function: Callable[[Common, Item], Result],
    items: Sequence[Item],
    common: Common,
    *,
    compiled: bool = False,
    seconds: float = math.inf,
) -> Iterator[Result]:
    """``function(common, item)`` for each item, in their order, by the executor in use.

    ``seconds`` is a guess of how long all items take on one core. It decides where the work is done and how many items
    share a message, never what comes out. Functions that do not stand in a module can be sent if cloudpickle is there.

    >>> list(mapped(lambda common, item: common * item, [1, 2, 3], 10))
    [10, 20, 30]
    """
    executor: Any = _executor.get()
    if not hasattr(executor, "near"):
        return executor.map(function, items, common, compiled=compiled)
    if len(items) < 2 or seconds < executor.least:
        return executor.near.map(function, items, common, compiled=compiled)
    size = 1 if math.isinf(seconds) else max(1, int(len(items) * executor.grain / seconds))
    if size == 1:
        return executor.map(function, items, common, compiled=compiled)
    groups = [items[k : k + size] for k in range(0, len(items), size)]
    answers = executor.map(partial(_each, function), groups, common, compiled=compiled)
    return (result for group in answers for result in group)


def is_remote() -> bool:
    """Whether the executor in use sends work away, so that many things are better done at once than one by one."""
    return hasattr(_executor.get(), "each")


def mapped_as_done(
    function: Callable[[Common, Item], Result], items: Sequence[Item], common: Common
) -> Iterator[tuple[int, Result]]:
    """The same as they come: the number of an item with its result, for those who keep each result at once.

    >>> dict(mapped_as_done(lambda common, item: common * item, [1, 2, 3], 10))
    {0: 10, 1: 20, 2: 30}
    """
    executor: Any = _executor.get()
    if hasattr(executor, "each"):
        return ((number, answer.result()) for number, answer in executor.each(function, items, common))
    return enumerate(mapped(function, items, common))


def in_order(answers: Iterator[tuple[int, Answer]], count: int) -> Iterator[Any]:
    """The results of so many items in their order, whatever the order in which they come."""
    waiting: dict[int, Answer] = {}
    try:
        for number in range(count):
            while number not in waiting:
                place, answer = next(answers)
                waiting[place] = answer
            yield waiting.pop(number).result()
    finally:
        answers.close()  # type: ignore[attr-defined]


def _each(function: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]) -> list[Result]:
    return [function(common, item) for item in items]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="robustpool")
