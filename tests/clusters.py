"""Dask clusters for tests: a scheduler and workers in processes of their own, as somebody would start them on machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PATIENCE = 60.0


class TestCluster:
    """A scheduler and its workers, each of which can be killed or paused."""

    __test__ = False

    def __init__(
        self, folder: Path, *, ttl: str, prefixes: Sequence[Sequence[str]] = (), host: str = "127.0.0.1"
    ) -> None:
        """Start the scheduler; ``prefixes`` begin the command lines of the workers, such as those of a network namespace."""
        self.folder, self.prefixes, self.workers = folder, prefixes, list[subprocess.Popen[bytes]]()
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": ttl,
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "15s",
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
        }
        self.file = folder / "scheduler.json"
        self.scheduler = self._start(
            "distributed.cli.dask_scheduler",
            "--host",
            host,
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
            "--scheduler-file",
            str(self.file),
        )
        deadline = time.monotonic() + PATIENCE
        while not self.file.exists() or not self.file.read_text():
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        self.address = str(json.loads(self.file.read_text())["address"])

    def _start(self, module: str, *arguments: str, prefix: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            command = [*prefix, sys.executable, "-m", module, *arguments]
            return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self.folder)

    def add_worker(self) -> subprocess.Popen[bytes]:
        """One process with one thread, and nobody who starts it again."""
        prefix = self.prefixes[len(self.workers)] if self.prefixes else ()
        quiet = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder))
        self.workers.append(self._start("distributed.cli.dask_worker", self.address, *quiet, prefix=prefix))
        return self.workers[-1]

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


@contextmanager
def cluster_of(workers: int, folder: Path, *, ttl: str = "300s") -> Iterator[TestCluster]:
    """A cluster with so many workers, which is gone afterwards."""
    folder.mkdir(exist_ok=True)
    cluster = TestCluster(folder, ttl=ttl)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()
