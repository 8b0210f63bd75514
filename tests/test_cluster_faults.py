"""What happens to work on a Dask cluster when its workers or its scheduler die, stop or are cut off."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import robustpool as rp
from clusters import TestCluster, cluster_of
from jobs_on_workers import dies, pid, waits
from robustpool.errors import WorkersLostError
from robustpool.execution import Answer, mapped, using
from robustpool.execution.cluster import Cluster
from robustpool.execution.sending import Wrapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 120.0


class Waiting:
    """Items that wait on workers, mapped in a thread, so that a test can do harm meanwhile."""

    def __init__(self, address: str, folder: Path, *, patience: float = 60.0) -> None:
        folder.mkdir()
        self.folder, self.address, self.patience = folder, address, patience
        self.results: list[tuple[int, int]] = []
        self.error: BaseException | None = None
        self.thread = Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            with Cluster(self.address) as executor, using(executor):
                executor.patience = self.patience  # from now on: workers may take longer to start
                self.results = list(mapped(waits, range(4), str(self.folder)))
        except BaseException as error:  # noqa: BLE001  # the test looks at it
            self.error = error

    def processes(self, count: int) -> set[int]:
        """The processes that have items, once they are so many."""
        return until(lambda: {int(path.name.partition("-")[2]) for path in self.folder.glob("*-*")}, count)

    def end(self) -> list[int]:
        """Let the items go on; their results, or the error is raised."""
        (self.folder / "go").touch()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the work hangs"
        if self.error is not None:
            raise self.error
        return [item for item, _ in self.results]


def until(found: Callable[[], set[int]], count: int) -> set[int]:
    deadline = time.monotonic() + PATIENCE
    while len(these := found()) < count:
        assert time.monotonic() < deadline, these
        time.sleep(0.05)
    return these


def test_the_work_of_a_worker_that_is_killed_is_done_by_another(tmp_path: Path) -> None:
    with cluster_of(2, tmp_path / "cluster") as cluster:
        work = Waiting(cluster.address, tmp_path / "work")
        work.processes(2)
        cluster.workers[0].kill()
        assert work.end() == [0, 1, 2, 3]
        assert {process for _, process in work.results} == {cluster.workers[1].pid}


def test_a_worker_that_is_paused_is_given_up_and_replaced(tmp_path: Path) -> None:
    with cluster_of(1, tmp_path / "cluster", ttl="3s") as cluster:
        work = Waiting(cluster.address, tmp_path / "work")
        work.processes(1)
        cluster.workers[0].send_signal(signal.SIGSTOP)
        other = cluster.add_worker()
        assert work.end() == [0, 1, 2, 3]
        assert {process for _, process in work.results} == {other.pid}


def test_work_that_kills_every_worker_ends_with_a_sentence(tmp_path: Path) -> None:
    with cluster_of(1, tmp_path) as cluster, Cluster(cluster.address) as executor, using(executor):
        executor.patience = 3  # from now on: workers may take longer to start
        with pytest.raises(WorkersLostError, match="has had no workers for 3 seconds"):
            list(mapped(dies, range(2), None))


def test_work_that_kills_too_many_workers_ends_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with cluster_of(1, tmp_path) as cluster, Cluster(cluster.address) as executor, using(executor):
        sentence = (
            r"workers of the cluster at tcp://.* died again and again over the same piece of work \(the last was tcp://"
        )
        with pytest.raises(WorkersLostError, match=sentence):
            list(mapped(dies, range(2), None))


@pytest.mark.slow  # two workers start one after the other
def test_results_of_a_worker_that_is_paused_are_made_again(tmp_path: Path) -> None:
    with cluster_of(1, tmp_path, ttl="3s") as cluster, Cluster(cluster.address) as executor, using(executor):
        executor.patience = 1  # from now on: workers may take longer to start
        results = mapped(pid, range(3), None)
        assert next(results) == cluster.workers[0].pid
        other = cluster.add_worker()
        executor._client.wait_for_workers(2, timeout=PATIENCE)
        time.sleep(1.0)  # all items are done
        cluster.workers[0].send_signal(signal.SIGSTOP)
        assert list(results) == [other.pid, other.pid]


class Silent:
    """A future that is done, whose worker does not give the result at first."""

    key = "silent"

    def __init__(self) -> None:
        self.asked: list[float] = []

    def add_done_callback(self, callback: Callable[[Silent], object]) -> None:
        callback(self)

    def result(self, timeout: float) -> tuple[bool, bytes]:
        self.asked.append(timeout)
        if len(self.asked) < 3:
            raise TimeoutError
        return True, pickle.dumps(5)


def test_a_result_is_asked_for_again_with_more_patience() -> None:
    executor, future = object.__new__(Cluster), Silent()
    executor.patience, executor._wrapping = 1.0, Wrapping()
    executor._client = SimpleNamespace(status="running", cancel=lambda *_, **__: None)
    executor._submitted = lambda *_, **__: [future]  # type: ignore[method-assign]
    assert list(executor.each(pid, [0], None)) == [(0, Answer(good=True, value=5))]
    assert future.asked == [1.0, 2.0, 4.0]
    executor._client.status, executor.address = "closed", "tcp://10.0.0.1:8786"
    future.asked.clear()
    with pytest.raises(WorkersLostError, match=r"the scheduler at tcp://10\.0\.0\.1:8786 was lost"):
        list(executor.each(pid, [0], None))


def test_a_scheduler_that_is_killed_ends_the_work_with_a_sentence(tmp_path: Path) -> None:
    with cluster_of(1, tmp_path / "cluster") as cluster:
        work = Waiting(cluster.address, tmp_path / "work", patience=5)
        work.processes(1)
        cluster.scheduler.kill()
        work.thread.join(PATIENCE)
        with pytest.raises(
            WorkersLostError, match=f"the scheduler at {cluster.address} was lost in the middle of the work"
        ):
            work.end()


def test_a_design_keeps_its_checkpoint_when_the_scheduler_is_lost(tmp_path: Path) -> None:
    family, checkpoint, rounds = rp.CommonSource(2, reports=8), tmp_path / "checkpoint.npz", []
    with cluster_of(1, tmp_path / "cluster") as cluster, Cluster(cluster.address) as executor:
        executor.patience = 5
        executor.least = executor.grain = 0.0

        def progress(state: Any, _: int) -> None:
            rounds.append(state.round)
            if state.round == 2:
                cluster.scheduler.kill()

        with using(executor), pytest.raises(WorkersLostError, match=r"the scheduler at .* was lost"):
            rp.solve(family, tolerance=1e-9, progress=progress, checkpoint=checkpoint)
    assert rounds[-1] == 2
    resumed = rp.solve(family, tolerance=1e-9, checkpoint=checkpoint, resume=True)
    whole = rp.solve(family, tolerance=1e-9)
    assert (resumed.lower, resumed.upper, resumed.rounds) == (whole.lower, whole.upper, whole.rounds)


# --------------------------------------------------------------------------------------------------- two hosts, one cable


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def two_hosts_can_be_made() -> bool:
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    try:
        ip("netns", "add", "rp-probe")
        ip("netns", "delete", "rp-probe")
    except subprocess.CalledProcessError:
        return False
    return True


@contextmanager
def another_host(name: str) -> Iterator[tuple[str, str]]:
    """A network namespace with a cable to this one; the address of this side, and the name of its end of the cable."""
    here, there = f"{name}h", f"{name}t"
    ip("netns", "add", name)
    try:
        ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        ip("addr", "add", "10.213.7.1/24", "dev", here)
        ip("link", "set", here, "up")
        ip("-n", name, "addr", "add", "10.213.7.2/24", "dev", there)
        ip("-n", name, "link", "set", there, "up")
        ip("-n", name, "link", "set", "lo", "up")
        yield "10.213.7.1", here
    finally:
        ip("netns", "delete", name)


@pytest.mark.slow
@pytest.mark.skipif(not two_hosts_can_be_made(), reason="network namespaces need root, and ip")
def test_the_work_of_a_host_that_is_cut_off_is_done_by_another(tmp_path: Path) -> None:
    with another_host(f"rp{os.getpid() % 10**6}") as (address, cable):
        name = f"rp{os.getpid() % 10**6}"
        (tmp_path / "cluster").mkdir()
        cluster = TestCluster(
            tmp_path / "cluster", ttl="5s", host=address, prefixes=[["ip", "netns", "exec", name], []]
        )
        try:
            far, work = cluster.add_worker(), Waiting(cluster.address, tmp_path / "work")
            work.processes(1)
            ip("link", "set", cable, "down")
            near = cluster.add_worker()
            until(
                lambda: {1} if any(path.name.endswith(f"-{near.pid}") for path in work.folder.iterdir()) else set(), 1
            )
            assert far.poll() is None  # it still works, and nobody hears of it
            assert work.end() == [0, 1, 2, 3]
            assert {process for _, process in work.results} == {near.pid}
        finally:
            cluster.close()


@pytest.mark.slow
@pytest.mark.skipif(not two_hosts_can_be_made(), reason="network namespaces need root, and ip")
def test_a_run_that_is_cut_off_from_its_scheduler_stops_with_a_sentence(tmp_path: Path) -> None:
    name = f"rq{os.getpid() % 10**6}"
    with another_host(name) as (address, cable):
        (tmp_path / "cluster").mkdir()
        cluster = TestCluster(tmp_path / "cluster", ttl="60s", host=address)
        try:
            cluster.add_worker()
            program = (
                "import sys\nfrom jobs_on_workers import waits\nfrom robustpool.execution import mapped, using\n"
                "from robustpool.execution.cluster import Cluster\n"
                f"with Cluster({cluster.address!r}, patience=10) as there, using(there):\n"
                f"    list(mapped(waits, range(2), {str(tmp_path / 'work')!r}))\n"
            )
            (tmp_path / "work").mkdir()
            command = ["ip", "netns", "exec", name, sys.executable, "-c", program]
            client = subprocess.Popen(command, env=cluster.environment, stderr=subprocess.PIPE, text=True)
            until(lambda: {1} if any((tmp_path / "work").iterdir()) else set(), 1)
            ip("link", "set", cable, "down")
            _, said = client.communicate(timeout=PATIENCE)
            assert client.returncode == 1
            assert "WorkersLostError" in said
        finally:
            cluster.close()
