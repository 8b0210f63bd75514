"""A Dask cluster: the workers of a scheduler, on this machine or on many.

What all items share is a task of its own, so that Dask can make it again when the worker that has it dies, and workers pass
it on to each other. Dask gives the items of a dead worker to others. A worker that does not answer (paused, or cut off) is
given up after the cluster's own time to live (``distributed.scheduler.worker-ttl``, five minutes unless it is set).
A cluster without workers and a lost scheduler stop the run with a sentence, after ``patience`` seconds at most.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import time
import uuid
import warnings
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from .. import __version__
from ..checks import extra
from ..errors import InputError, UnfitWorkersError, WorkersLostError
from . import Answer, InProcess, in_order
from .sending import CannotSendError, Kept, Message, Part, Refusals, Wrapping, answered, name_of, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PATIENCE = 60.0
"""Seconds that a cluster may be without workers, or its scheduler out of reach."""

CONNECT = 10.0
"""Seconds in which a scheduler must answer at first."""

LOOK = 2.0
"""Seconds between two looks at whether the cluster is still there."""

LITTLE = 1000
"""Bytes; what is common and not larger travels with each item: a task of its own would take longer."""

MOST_PARTS = 50
"""Entries of a tuple that are sent one by one. Dask gives arguments of more than 100 kB a key that all calls share, so that they mix."""

PACKAGES = ("numpy", "scipy", "numba", "clarabel", "python-flint", "dask", "distributed", "cloudpickle")
"""What must have the same version everywhere: another one could change a bit, or not read what is sent."""


class Cluster:
    """The workers of the scheduler at an address such as ``tcp://10.0.0.1:8786``.

    Every worker needs the same versions of Python, robustpool and the packages that it computes with. Small work stays
    here.
    """

    least, grain = 0.5, 0.1

    def __init__(
        self, address: str, *, patience: float = PATIENCE, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """Connect, and wait for the first worker; ``tell`` is told if that takes long."""
        extra("a cluster", "dask")
        self.address, self.patience, self.near = address, patience, InProcess()
        self._wrapping, self._refusals, self._shared = Wrapping(), Refusals(), Kept()
        with ExitStack() as opened:
            opened.enter_context(_silent())  # until it is closed: Dask may notice at any time that a connection is lost
            self._client = _connected(address)
            opened.callback(self._leave)
            try:
                self._client.wait_for_workers(1, timeout=min(LOOK, patience))
            except TimeoutError:
                tell(f"the cluster at {address} has no workers yet; waiting for the first.")
                try:
                    self._client.wait_for_workers(1, timeout=patience)
                except TimeoutError:
                    raise self._without_workers() from None
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster."""
        self.close()

    def close(self) -> None:
        """Leave the cluster, which goes on without us."""
        self._opened.close()

    def _leave(self) -> None:
        self._shared.clear()
        with suppress(Exception):
            self._client.close(timeout=2)

    def map(
        self,
        function: Callable[[Any, Any], Any],
        items: Sequence[Any],
        common: Any,
        *,
        compiled: bool,  # noqa: ARG002  # a worker has a process to itself
    ) -> Iterator[Any]:
        """See Executor."""
        return in_order(self.each(function, items, common), len(items))

    def each(
        self, function: Callable[[Any, Any], Any], items: Sequence[Any], common: Any
    ) -> Iterator[tuple[int, Answer]]:
        """See Executor."""
        if not items:
            return
        is_tuple = type(common) is tuple and len(common) <= MOST_PARTS
        try:
            parts = [*self._wrapping.parts((function,)), *self._wrapping.parts(common if is_tuple else (common,))]
            contents = [packed(item) for item in items]
        except Exception as error:  # noqa: BLE001  # what cannot be sent is done here
            self._refusals.tell(function, error)
            for number, item in enumerate(items):
                yield number, Answer(good=True, value=function(common, item))
            return
        done: SimpleQueue[Any] = SimpleQueue()
        left: dict[str, tuple[int, Any]] = {}
        try:
            futures = self._submitted(name_of(function), parts, contents, is_tuple=is_tuple)
            left = {future.key: (number, future) for number, future in enumerate(futures)}
            for future in futures:
                future.add_done_callback(done.put)
            del future, futures, contents  # what is delivered is kept by nobody, and not made again
            timeout = self.patience
            while left:
                future = self._next(done)
                try:
                    answer = self._answer(future, timeout)
                except TimeoutError:  # its worker is silent: once Dask gives it up, another does the item again
                    timeout *= 2
                    future.add_done_callback(done.put)
                    continue
                number, _ = left.pop(future.key)
                del future, _  # the cluster may forget it
                yield number, answer
        finally:
            with suppress(Exception):
                self._client.cancel([future for _, future in left.values()], force=True)

    def _contents(self, parts: list[Part]) -> list[Any]:
        """What holds the content of each part: itself if it is little, else a future."""
        large = [part for part in parts if len(part.content) > LITTLE]
        futures = self._shared.use([part.digest for part in large], lambda place: self._share(large[place]))
        shared = iter(futures)
        return [next(shared) if len(part.content) > LITTLE else part.content for part in parts]

    def _share(self, part: Part) -> Any:
        """A future of what all items share; as long as we keep it, workers keep it too."""
        return self._client.submit(_held, part.content, key=(f"robustpool_shared-{part.digest}", 0))

    def _submitted(self, name: str, parts: list[Part], items: list[bytes], *, is_tuple: bool) -> list[Any]:
        """A future for each item, in their order.

        Keys are pairs, so that each call is a group to Dask that depends on few others. The items of such a group wait at the
        scheduler if there are more than two for each worker, but for one that waits at each worker
        (``distributed.scheduler.worker-saturation``). Others are dealt out at once, and those behind a long one wait for it.
        """
        run, digests, versions = uuid.uuid4().hex, [part.digest for part in parts], own_versions()
        with self._telling(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            contents = self._contents(parts)
            options = {"versions": versions, "digests": digests, "is_tuple": is_tuple, "contents": contents}
            keys = [(f"robustpool_{name}-{run}", number) for number in range(len(items))]  # Dask times them by name
            return list(self._client.map(_answered, items, key=keys, pure=False, **options))

    def _next(self, done: SimpleQueue[Any]) -> Any:
        """The next future that is done; looks now and then whether the cluster is still there."""
        last_seen = time.monotonic()
        while True:
            try:
                return done.get(timeout=LOOK)
            except Empty:
                if self._workers():
                    last_seen = time.monotonic()
            if self._client.status not in ("running", "connecting"):
                raise self._lost()
            if time.monotonic() - last_seen > self.patience:
                raise self._without_workers() if self._client.status == "running" else self._lost()

    def _answer(self, future: Any, timeout: float) -> Answer:
        with self._telling():
            good, content = future.result(timeout=timeout)
        value = pickle.loads(content)
        if isinstance(value, CannotSendError):
            raise UnfitWorkersError(f"a worker of the cluster at {self.address} {value}.")
        return Answer(good, value)

    def _workers(self) -> int:
        """How many there are; none if the scheduler does not say."""
        with suppress(Exception):
            return len(self._client.sync(self._client.scheduler.ncores, callback_timeout=LOOK))
        return 0

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Say in a sentence what Dask says in errors of its own."""
        from distributed import KilledWorker
        from distributed.client import CancelledError
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise WorkersLostError(
                f"workers of the cluster at {self.address} died again and again over the same piece of work (the last was "
                f"{error.last_worker.address}); do they have enough memory?"
            ) from None
        except (CancelledError, CommClosedError, OSError, RuntimeError) as error:
            if self._client.status == "running" and not isinstance(error, CancelledError):
                raise
            raise self._lost() from None
        except (ImportError, AttributeError, TypeError) as error:
            raise UnfitWorkersError(
                f"a worker of the cluster at {self.address} cannot do the work ({error}); it needs the same robustpool."
            ) from None

    def _lost(self) -> WorkersLostError:
        return WorkersLostError(f"the scheduler at {self.address} was lost in the middle of the work.")

    def _without_workers(self) -> WorkersLostError:
        return WorkersLostError(
            f"the cluster at {self.address} has had no workers for {self.patience:g} seconds; start some with "
            f"`dask worker {self.address} --nthreads 1`."
        )


def _connected(address: str) -> Any:
    """A client of the scheduler at an address."""
    from distributed import Client
    from distributed.comm import resolve_address

    try:
        resolve_address(address)
        asyncio.run(asyncio.wait_for(_identity(address), CONNECT))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on versions that differ: we say it ourselves
            return Client(address, timeout=CONNECT, set_as_default=False)
    except ValueError as error:
        raise InputError(
            f"a cluster is an address such as tcp://10.0.0.1:8786; {address!r} is none ({error})."
        ) from None
    except (OSError, TimeoutError):
        raise InputError(
            f"no scheduler answers at {address!r} within {CONNECT:g} seconds; is it running, and is this its port, not that of its "
            "dashboard?"
        ) from None


async def _identity(address: str) -> Any:
    """What a scheduler says of itself. Others may take the connection and never answer, which a client would not notice."""
    from distributed import Security
    from distributed.core import connect, send_recv

    comm = await connect(address, timeout=CONNECT, **Security().get_connection_args("client"))
    try:
        return await send_recv(comm, op="identity")
    finally:
        comm.abort()


@cache
def own_versions() -> dict[str, str]:
    """The versions of Python and of the packages that must be the same everywhere."""
    versions = {"Python": ".".join(map(str, sys.version_info[:2])), "robustpool": __version__}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def check_versions(expected: dict[str, str], here: dict[str, str]) -> None:
    """Refuse to work where a package has another version than the client's.

    >>> check_versions({"numpy": "2.4.0", "scipy": "1.17"}, {"numpy": "2.3.0", "scipy": "1.17"})
    Traceback (most recent call last):
    robustpool.errors.UnfitWorkersError: every worker of a cluster needs the client's versions; numpy is 2.3.0 on a worker and 2.4.0 here.
    """
    for name, wanted in expected.items():
        if here.get(name) != wanted:
            raise UnfitWorkersError(
                "every worker of a cluster needs the client's versions; "
                f"{name} is {here.get(name, 'missing')} on a worker and {wanted} here."
            )


def _held(content: bytes) -> bytes:
    """What all items share, on a worker."""
    return content


_kept = Kept()

TRIM_FROM, MAP_FROM = 128 * 2**20, 32 * 2**20


@cache
def keep_memory() -> bool:
    """Let this worker keep memory that it will soon need again; whether that could be asked for.

    Dask's nanny sets MALLOC_TRIM_THRESHOLD_ to 64 kB, and then every larger array is fetched from the system anew: searches
    took 1.7 times as long.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):  # the C library is not GNU's
        change = ctypes.CDLL(None).mallopt
        return bool(change(-1, TRIM_FROM) and change(-3, MAP_FROM))  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
    return False


def _answered(
    item: bytes, *, versions: dict[str, str], digests: list[str], is_tuple: bool, contents: list[bytes]
) -> tuple[bool, bytes]:
    """The answer of a worker."""
    keep_memory()
    try:
        check_versions(versions, own_versions())
    except InputError as error:
        return False, pickle.dumps(error)
    return answered(Message(list(map(Part, digests, contents)), is_tuple, item), _kept)


@contextmanager
def _silent() -> Iterator[None]:
    """Without what Dask logs about connections that it loses: we say it ourselves."""
    import distributed  # noqa: F401  # which sets levels for both

    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
