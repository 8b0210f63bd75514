"""How work is mapped over priors or structures: in this process, unless another executor is in use.

Results come in the order of the items, and reductions are left folds in that order, so the executor and its number of
workers cannot change a bit. ``common`` is what every item needs; an executor sends it to a worker once. To run the work
elsewhere, write a class with ``map`` and call the library inside ``with using(executor)``.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS = min(4, os.cpu_count() or 1)


class Executor(Protocol):
    """Whoever maps a function over items."""

    def map(
        self, function: Callable[[Common, Item], Result], items: Sequence[Item], common: Common, *, compiled: bool
    ) -> Iterator[Result]:
        """``function(common, item)`` for each item, in their order; ``compiled`` functions release the GIL."""
        ...


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
    function: Callable[[Common, Item], Result], items: Sequence[Item], common: Common, *, compiled: bool = False
) -> Iterator[Result]:
    """``function(common, item)`` for each item, in their order, by the executor in use.

    >>> list(mapped(lambda common, item: common * item, [1, 2, 3], 10))
    [10, 20, 30]
    """
    return _executor.get().map(function, items, common, compiled=compiled)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="robustpool")
