"""Who does the work: this process, some processes on this machine, or a cluster. The one place that decides it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..checks import whole
from ..errors import InputError
from . import InProcess, using

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def executor_in_use(
    workers: int | None = None, cluster: str | None = None, tell: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Let so many ``workers`` on this machine, or those of a ``cluster``, do the work inside the block.

    ``tell`` is told what the user waits for.

    >>> with executor_in_use(workers=2, cluster="tcp://10.0.0.1:8786"):
    ...     pass
    Traceback (most recent call last):
    robustpool.errors.InputError: give --workers or --cluster, not both.
    """
    if workers is not None and cluster is not None:
        raise InputError("give --workers or --cluster, not both.")
    if cluster is not None:
        from .cluster import Cluster

        with Cluster(cluster, tell=tell) as executor, using(executor):
            yield
    elif workers is None:
        yield
    elif whole("--workers", workers, least=1) == 1:
        with using(InProcess(1)):
            yield
    else:
        from .processes import Processes

        with Processes(workers) as processes, using(processes):
            yield
