"""What two workers are worth: the same job with one core, two local processes and two Dask workers, in turns.

Two figures for each job. *Measured* is the time of one core divided by that of two workers. On a machine that is busy with other
things, or that shares its cores with others, it says more about these. *Possible* is what two free cores would give: the parts of
the job are timed on one core, `cluster_model` deals them to two workers, and the result is divided by what the executor adds to
the processor time. The overhead of Dask is that of its processor time (client and workers) over that of local processes.
`--quick` takes smaller jobs, and `--long` two that take more than a minute, once each: what Dask costs beside local processes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from cluster_model import recorded, simulated

from robustpool.certificates.certify import certify
from robustpool.execution import InProcess, mapped, using
from robustpool.execution.processes import Processes
from robustpool.families.conditionally_independent import ConditionallyIndependent
from robustpool.families.grid_oracle import worst_by_prior
from robustpool.families.worst_case import tabulated
from robustpool.sweeps.run import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 3
SWEEP = (
    'kind = "worst-case"\n[grid]\nagents = [3]\nrule = ["mean", "geometric-odds", "average-prior"]\nseed = [{seeds}]\n'
)


SEEDS = 120
"""Of the long sweep."""


def certification(*, quick: bool) -> Callable[[], Any]:
    """A proof for a rule of two agents over intervals of priors, or of three agents over boxes as well."""
    return lambda: certify("average-prior") if quick else certify("minimax", ConditionallyIndependent(3, None, None))


def settings(*, quick: bool) -> Callable[[], Any]:
    """A sweep over worst cases."""
    return searches(2 if quick else 12)


def searches(seeds: int) -> Callable[[], Any]:
    """A sweep over the worst cases of three rules, from so many seeds each."""
    text = SWEEP.format(seeds=", ".join(map(str, range(seeds))))

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "settings.toml"
            path.write_text(text)
            assert sweep(path, Path(folder) / "out").finished

    return run


def nature(*, quick: bool) -> Callable[[], Any]:
    """Nature's answer to a table with N = 200 at many priors: compiled, on threads here and on the workers of a cluster."""
    x = np.arange(201) / 200
    table, priors = tabulated("minimax", x), np.linspace(0.01, 0.99, 400 if quick else 20_000)
    return lambda: worst_by_prior(x, table, priors)


def for_four_agents() -> Any:
    """A proof over boxes of five dimensions."""
    return certify("minimax", ConditionallyIndependent(4, None, None))


LONG = {"certification for four agents": for_four_agents, f"sweep of {3 * SEEDS} cells": searches(SEEDS)}
JOBS = {"certification": certification, "sweep": settings, "nature's answer, N = 200": nature}


def cpu(process: int) -> float:
    """Seconds of processor time that a process has used, its threads included."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads() -> dict[str, float]:
    """The same of each thread of this process."""
    return {
        task.name: sum(map(int, (task / "stat").read_text().rpartition(")")[2].split()[11:13]))
        / os.sysconf("SC_CLK_TCK")
        for task in Path("/proc/self/task").iterdir()
    }


def whoami(_common: None, _item: int) -> int:
    time.sleep(0.3)
    return os.getpid()


def workers_of(executor: Any) -> list[int]:
    """The numbers of its processes."""
    with using(executor):
        return sorted(set(mapped(whoami, range(8), None)))


class Measured:
    """Seconds on the wall, and processor seconds of the main thread and of each worker, be it a thread or a process."""

    def __init__(self, job: Callable[[], Any], executor: Any, workers: list[int]) -> None:
        here, there = threads(), [cpu(worker) for worker in workers]
        own, began = time.thread_time(), time.perf_counter()
        with using(executor):
            job()
        self.wall, self.main = time.perf_counter() - began, time.thread_time() - own
        others = [used - here.get(name, 0.0) for name, used in threads().items() if name != str(os.getpid())]
        self.workers = [cpu(worker) - before for worker, before in zip(workers, there, strict=True)] + others

    @property
    def total(self) -> float:
        return self.main + sum(self.workers)

    @property
    def longest(self) -> float:
        """Of the main thread and the busiest worker."""
        return self.main + max(self.workers, default=0.0)


@contextmanager
def executors() -> Iterator[dict[str, tuple[Any, list[int]]]]:
    """One core, two local processes and two Dask workers, each with the numbers of its processes."""
    from distributed import LocalCluster

    from robustpool.execution.cluster import Cluster

    found: dict[str, tuple[Any, list[int]]] = {"one core": (InProcess(1), [])}
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with Processes(2) as processes:  # started first: Dask sets MALLOC_TRIM_THRESHOLD_ for all that starts after it
        found["two processes"] = processes, workers_of(processes)
        with LocalCluster(**options) as local, Cluster(local.scheduler_address) as cluster:
            found["two Dask workers"] = cluster, workers_of(cluster)
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    with executors() as several:
        if options.long:
            compare_long(several)
        else:
            compare(several, quick=options.quick)


def compare_long(several: dict[str, tuple[Any, list[int]]]) -> None:
    """What Dask costs beside local processes in long jobs: on the wall, and in processor time."""
    for name, job in LONG.items():
        runs = {}
        for each in ("two processes", "two Dask workers"):
            executor, workers = several[each]
            with using(executor):
                JOBS["sweep"](quick=True)()  # compile, start and import before anything is measured
            runs[each] = Measured(job, executor, workers)
        local, dask = runs.values()
        print(f"\n{name}: {local.wall:.0f} s on two processes, {dask.wall:.0f} s on two Dask workers")
        print(
            f"  Dask over local processes: {dask.wall / local.wall - 1:+.0%} of time, {dask.total / local.total - 1:+.0%} of processor time"
        )


def compare(several: dict[str, tuple[Any, list[int]]], *, quick: bool) -> None:
    """Each job by each executor, in turns."""
    for name, make in JOBS.items():
        job = make(quick=quick)
        for executor, _ in several.values():  # compile, start and import before anything is measured
            with using(executor):
                job() if quick else make(quick=True)()
        runs: dict[str, list[Measured]] = {each: [] for each in several}
        for _ in range(ROUNDS):
            for each, (executor, workers) in several.items():
                runs[each].append(Measured(job, executor, workers))
        one = median(run.total for run in runs["one core"])
        print(f"\n{name}: {one:.1f} s of processor time on one core")
        parts = recorded(job, Processes, threads=True)
        dealt = simulated(parts, 1).seconds / simulated(parts, 2).seconds
        print(f"  {'':18} {'measured':>9} {'possible':>9} {'processor time':>15}")
        for each, those in runs.items():
            wall = median(run.wall for run in runs["one core"]) / median(run.wall for run in those)
            work = median(run.total for run in those) / one
            possible = 1.0 if each == "one core" else dealt / work
            print(f"  {each:18} {wall:9.2f} {possible:9.2f} {work:15.2f}")
        ratio = median(run.total for run in runs["two Dask workers"]) / median(
            run.total for run in runs["two processes"]
        )
        print(f"  Dask over local processes: {ratio - 1:+.0%} of processor time")


if __name__ == "__main__":
    main()
