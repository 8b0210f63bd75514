"""Work on local processes and on a Dask cluster: the same results to the last bit, whoever does it."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Barrier
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from clusters import cluster_of
from jobs_on_workers import (
    cores,
    dies,
    dies_once,
    divided,
    entries,
    identity,
    nested,
    pid,
    scaled,
    second_waits,
    unsendable,
)
from programs import run_python, run_robustpool
from refusals import input_error
from robustpool.certificates.certify import certify
from robustpool.errors import WorkersLostError
from robustpool.execution import Answer, InProcess, in_order, is_remote, mapped, mapped_as_done, using
from robustpool.execution.choosing import executor_in_use
from robustpool.execution.cluster import Cluster, check_versions
from robustpool.execution.processes import Processes, _Worker
from robustpool.execution.sending import KEPT, Kept, Message, NotSentWarning, Part, Wrapping, answered
from robustpool.reproduction.figures.lipschitz import LipschitzValues
from robustpool.reproduction.run import reproduce
from robustpool.reproduction.settings import Settings
from robustpool.reproduction.workbench import Workbench
from robustpool.sweeps.run import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TINY = Settings(
    rules=("mean",),
    reports=4,
    priors=10,
    rounds=5,
    knots=(2, 3),
    cells=4,
    slopes=(2,),
    drawn_slopes=(1,),
    gap=1e-3,
    proof_gap=2e-2,
)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers; all work is sent to them, however small it is."""
    with cluster_of(2, tmp_path_factory.mktemp("cluster")) as started, Cluster(started.address) as executor:
        executor.least, executor.grain = 0.0, 0.0
        yield executor


@pytest.fixture(params=["processes", "cluster"])
def executor(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


# ------------------------------------------------------------------------------------------------------- the same bits


def design_of(family: Any, **options: Any) -> bytes:
    solution: Any = rp.solve(family, **options)
    assert solution.converged
    return pickle.dumps((solution.lower, solution.upper, solution.rounds, solution.aggregator.values.tobytes()))


def regret_of(rule: str, family: Any) -> bytes:
    worst = rp.worst_case(rule, family)
    assert worst.regret > 0
    return json.dumps([worst.regret, worst.structure.as_data()]).encode()  # type: ignore[union-attr]


def certificate_of(rule: Any, *family: Any, tolerance: float) -> bytes:
    certificate = certify(rule, *family, tolerance=tolerance)
    assert certificate.upper is not None
    return json.dumps([certificate.data[part] for part in ("upper", "lower")]).encode()


def sweep_of(folder: Path, agents: str) -> bytes:
    settings = folder / "settings.toml"
    settings.write_text(f'kind = "design"\n[settings]\nreports = 6\npriors = 12\n[grid]\nagents = {agents}\n')
    result = sweep(settings, folder / f"out-{time.monotonic_ns()}")
    assert result.finished
    assert result.failed == 0
    return json.dumps([{**row, "seconds": None} for row in result.rows()]).encode()


def figure_of(folder: Path) -> bytes:
    bench = Workbench(TINY, folder / f"out-{time.monotonic_ns()}")
    bench.solve_elsewhere(table=False, figures=True)
    assert bool(bench.solutions) == is_remote()
    return pickle.dumps({name: np.asarray(value).tobytes() for name, value in LipschitzValues().compute(bench).items()})


def table_of(folder: Path) -> bytes:
    out = folder / f"out-{time.monotonic_ns()}"
    assert reproduce("table1", out, settings=TINY).finished
    proofs = [json.loads(path.read_text())["upper"] for path in sorted((out / "certificates").glob("*.json"))]
    return (out / "table1.csv").read_bytes() + json.dumps(proofs).encode()


QUICK: dict[str, Callable[[Path], bytes]] = {
    "design on a grid": lambda _: (
        design_of(rp.ConditionallyIndependent(2, 10, 40)) + design_of(rp.CommonSource(2, reports=6), tolerance=1e-3)
    ),
    "design with continuous priors": lambda _: design_of(rp.ConditionallyIndependent(2, 6, None), tolerance=1e-3),
    "worst case": lambda _: regret_of("mean", rp.ConditionallyIndependent(7, None, None)),
    "certificate": lambda _: certificate_of(
        "average-prior", rp.ConditionallyIndependent(2, None, None, (0.1, 0.4)), tolerance=1e-3
    ),
    "sweep": lambda folder: sweep_of(folder, "[1, 2, 3]"),
    "reproduction": figure_of,
}
FULL: dict[str, Callable[[Path], bytes]] = {
    "design on a grid": lambda _: design_of(rp.ConditionallyIndependent(3, 20, 100)),
    "design with continuous priors": lambda _: design_of(rp.ConditionallyIndependent(2, 40, None)),
    "worst case": lambda _: (
        regret_of("average-prior", rp.ConditionallyIndependent(4, None, None))
        + regret_of("mean", rp.SeveralStates(2, 3))
    ),
    "certificate": lambda _: (
        certificate_of("arieli-tuned", tolerance=1e-5)
        + certificate_of("mean", rp.ConditionallyIndependent(3, None, None), tolerance=2e-3)
    ),
    "sweep": lambda folder: sweep_of(folder, "[1, 2, 3, 4, 5]"),
    "reproduction": table_of,
}


def the_same(job: Callable[[Path], bytes], folder: Path, *executors: Any) -> None:
    results = []
    for executor in (InProcess(1), *executors):
        with using(executor):
            results.append(job(folder))
    assert [hashlib.sha256(result).hexdigest() for result in results] == [hashlib.sha256(results[0]).hexdigest()] * 3


@pytest.mark.parametrize("name", QUICK)
def test_results_are_the_same_to_the_last_bit(
    name: str, tmp_path: Path, processes: Processes, cluster: Cluster
) -> None:
    the_same(QUICK[name], tmp_path, processes, cluster)


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_results_of_larger_jobs_are_the_same_to_the_last_bit(
    name: str, tmp_path: Path, processes: Processes, cluster: Cluster
) -> None:
    the_same(FULL[name], tmp_path, processes, cluster)


BLAS = """
import hashlib, json, numpy as np
from robustpool.certificates.many_agents import cover
from robustpool.certificates.certify import certify
from robustpool.execution import InProcess, using
from robustpool.execution.processes import Processes
from robustpool.verification.stretched import read_stretched
from robustpool.aggregators import pools
import robustpool as rp

def proof():
    family = rp.ConditionallyIndependent(2, None, None, (0.2, 0.3))
    rule = read_stretched({"kind": "stretched-log-odds", **dict(zip(("a", "threshold", "c"), pools.stretch(3)))}, 3)
    *_, last = cover(rule, (0.21, 0.24), 0.0452, 4e-4, np.array([0.452]))
    return json.dumps([last.witness, certify("average-prior", family, tolerance=1e-3).data["upper"]])

with using(InProcess(1)):
    here = proof()
with Processes(2) as two, using(two):
    print(here == proof())
"""


@pytest.mark.slow  # libraries that fight for busy cores are slow
def test_a_library_that_computes_on_all_cores_here_and_on_one_in_workers_changes_nothing() -> None:
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    free = {name: value for name, value in os.environ.items() if name not in limits}
    run = run_python("-c", BLAS, env=free | {"OPENBLAS_NUM_THREADS": "2"})
    assert run.stdout == "True\n", run.stderr


# ------------------------------------------------------------------------------------------------------------ the seam


def test_results_come_in_order_from_other_processes(executor: Any) -> None:
    with using(executor):
        assert list(mapped(scaled, range(20), 3)) == [3 * k for k in range(20)]
        assert dict(mapped_as_done(scaled, range(20), 3)) == {k: 3 * k for k in range(20)}
        workers = set(mapped(pid, range(8), None))
    assert os.getpid() not in workers
    assert len(workers) == 2


def test_what_is_common_is_read_once_by_each_worker(executor: Any) -> None:
    large = np.arange(1e6)
    with using(executor):
        seen = [*mapped(identity, range(8), (large, 1)), *mapped(identity, range(8), (large, 2))]
    assert len(set(seen)) == len({process for process, _ in seen})  # on a busy machine one may have done all


def test_work_inside_work_stays_in_the_worker(executor: Any) -> None:
    with using(executor):
        assert list(mapped(nested, range(3), 10)) == [10, 11, 12]


def test_an_error_of_the_work_is_raised_here_and_the_next_work_is_done(executor: Any) -> None:
    with using(executor):
        with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
            list(mapped(divided, [2, 1, 0, 4], 1))
        assert "in divided" in caught.value.__notes__[0]
        assert list(mapped(divided, [2, 4], 1)) == [0.5, 0.25]


def test_an_iterator_that_nobody_wants_any_more_does_not_block_the_next(executor: Any) -> None:
    with using(executor):
        results = mapped(pid, range(6), None)
        next(results)
        results.close()  # type: ignore[attr-defined]
        assert list(mapped(scaled, range(4), 2)) == [0, 2, 4, 6]


def test_results_are_put_in_order() -> None:
    answers = ((number, Answer(good=True, value=10 * number)) for number in (2, 0, 3, 1))
    assert list(in_order(answers, 4)) == [0, 10, 20, 30]


def test_each_item_is_answered_once(processes: Processes) -> None:
    numbers = [number for number, _ in processes.each(scaled, range(6), 2)]
    assert sorted(numbers) == list(range(6))


def test_work_between_two_results_is_done(processes: Processes) -> None:
    with using(processes):
        outer = mapped(scaled, range(4), 2)
        assert next(outer) == 0
        assert list(mapped(scaled, range(4), 5)) == [0, 5, 10, 15]
        assert list(outer) == [2, 4, 6]


def test_functions_that_stand_in_no_module_can_be_sent_or_are_done_here(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with using(executor):
        assert set(mapped(lambda _common, _item: os.getpid(), range(4), None)).isdisjoint({os.getpid()})
        monkeypatch.setitem(sys.modules, "cloudpickle", None)
        with pytest.warns(
            NotSentWarning, match=r"the work '<lambda>' is done in this process, because .*Can't pickle local"
        ):
            assert set(mapped(lambda _common, _item: os.getpid(), range(4), None)) == {os.getpid()}
        assert list(mapped(scaled, range(4), 2)) == [0, 2, 4, 6]


class Unreadable:
    """Can be sent, and not be read in another process."""

    def __reduce__(self) -> Any:
        return eval, (f"1 / (__import__('os').getpid() == {os.getpid()})",)


def test_what_a_worker_cannot_read_is_done_here() -> None:
    told = pytest.warns(NotSentWarning, match=r"another one \(cannot read what it is sent \(ZeroDivisionError")
    with Processes(2) as two, using(two), told:
        assert list(mapped(lambda _common, item: item, range(4), Unreadable())) == [0, 1, 2, 3]


def test_a_result_that_cannot_be_sent_is_made_here_or_that_is_said(processes: Processes, cluster: Cluster) -> None:
    told = pytest.warns(NotSentWarning, match=r"another one \(cannot send its result .*lambda")
    with using(processes), told:
        assert [call() for call in mapped(unsendable, range(4), 2)] == [0, 2, 4, 6]
    with using(cluster), input_error("a worker of the cluster at tcp://.* cannot send its result .*lambda"):
        list(mapped(unsendable, range(4), 2))


def test_what_a_worker_of_a_cluster_cannot_read_is_said(cluster: Cluster) -> None:
    with (
        using(cluster),
        input_error("a worker of the cluster at tcp://.* cannot read what it is sent .ZeroDivisionError"),
    ):
        list(mapped(pid, range(4), Unreadable()))


def test_small_work_stays_here_and_small_items_share_a_message() -> None:
    sizes: list[int] = []

    class Recording(Processes):
        def map(self, function: Any, items: Any, common: Any, *, compiled: bool) -> Any:
            sizes.append(len(items))
            return InProcess(1).map(function, items, common, compiled=compiled)

    with using(Recording(2)):
        assert list(mapped(scaled, range(100), 2, seconds=0.01)) == [2 * k for k in range(100)]
        assert list(mapped(scaled, range(100), 2, seconds=0.2)) == [2 * k for k in range(100)]
        assert list(mapped(scaled, range(100), 2)) == [2 * k for k in range(100)]
    assert sizes == [10, 100]  # 0.2 s of work are ten messages of 0.02 s


def test_parts_are_hashed_once_and_the_oldest_are_forgotten() -> None:
    wrapping, family = Wrapping(), rp.ConditionallyIndependent(2, 6, 20)
    first, again = wrapping.parts((family, 1)), wrapping.parts((family, 2))
    assert first[0] is again[0]
    assert first[1].digest != again[1].digest
    kept = Kept()
    for number in range(KEPT + 1):
        assert kept.use([str(number)], lambda _, number=number: number) == [number]  # type: ignore[misc]
    assert "0" not in kept
    assert kept.use(["1"], lambda _: -1) == [1]


@dataclass(frozen=True)
class Theirs:
    """A frozen record of a user, with an array that can change."""

    values: Any


def test_records_with_what_users_can_change_are_hashed_each_time() -> None:
    wrapping, values = Wrapping(), np.zeros(3)
    for record in (Theirs(values), replace(rp.get_rule("mean"), parameters={"theirs": Theirs(values)})):  # type: ignore[dict-item]
        (before,) = wrapping.parts(record)
        values += 1.0
        (after,) = wrapping.parts(record)
        assert before.digest != after.digest


class Pipe(io.BytesIO):
    """What is written to a worker."""

    def flush(self) -> None:
        """Keep it."""


def answers_to(messages: list[list[Part]]) -> list[Any]:
    """What a worker answers to messages that a master sends."""
    master, kept, answers = object.__new__(_Worker), Kept(), []
    master._kept = Kept()
    for parts in messages:
        pipe = Pipe()
        master._process = SimpleNamespace(stdin=pipe)  # type: ignore[assignment]
        master.send(parts, True, pickle.dumps(None))
        good, content = answered(pickle.loads(pipe.getvalue()), kept)
        answers.append(pickle.loads(content) if good else content)
    assert list(master._kept) == list(kept)
    return answers


def first(common: tuple[Any, ...], _item: None) -> Any:
    return common


def test_master_and_worker_forget_the_same_parts() -> None:
    """Also where the limit cuts through a message, and where a message alone has more parts."""
    wrapping, rng = Wrapping(), np.random.default_rng(0)
    for number in range(KEPT - 3, KEPT + 3):
        commons = [("g", "t"), *((each,) for each in range(number)), ("g", "t")]
        commons += [tuple(rng.permutation(24)[: rng.integers(1, KEPT + 5)].tolist()) for _ in range(200)]
        messages = [[*wrapping.parts((first,)), *wrapping.parts(common)] for common in commons]
        assert answers_to(messages) == commons


def test_threads_of_a_worker_can_share_what_is_kept() -> None:
    wrapping, kept = Wrapping(), Kept()
    message = [[*wrapping.parts((first,)), *wrapping.parts(tuple(range(k, k + 8)))] for k in range(40)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            numbers = [7 * k % 40 for k in range(2000)]
            work = lambda k: answered(Message(message[k], True, pickle.dumps(None)), kept)
            answers = list(pool.map(work, numbers))
    finally:
        sys.setswitchinterval(before)
    assert [pickle.loads(content) for _, content in answers] == [tuple(range(k, k + 8)) for k in numbers]


# ----------------------------------------------------------------------------------------------------- local processes


def test_a_process_that_is_killed_is_replaced_and_its_work_done_again(processes: Processes, tmp_path: Path) -> None:
    with using(processes):
        assert list(mapped(dies_once, range(8), str(tmp_path))) == list(range(8))
    assert (tmp_path / "died").exists()


def test_a_process_that_dies_while_it_is_idle_is_replaced(tmp_path: Path) -> None:
    with Processes(2) as two, using(two):
        results = mapped(second_waits, range(2), str(tmp_path))
        idle = next(results)
        os.kill(idle, signal.SIGKILL)
        until(lambda: [] if runs(idle) else [idle], 1)
        (tmp_path / "go").touch()
        (other,) = results
        assert other != idle
        assert list(mapped(scaled, range(6), 2)) == [0, 2, 4, 6, 8, 10]
        assert idle not in set(mapped(pid, range(6), None))
        unfinished = mapped(pid, range(4), None)
        next(unfinished)
        two.close()  # whoever goes on after it has new processes
        assert len(list(unfinished)) == 3


class Huge:
    """Too large for the memory of whoever reads it."""

    def __reduce__(self) -> Any:
        return eval, ("(_ for _ in ()).throw(MemoryError())",)


def test_a_process_that_cannot_read_a_message_ends() -> None:
    answers: SimpleQueue[Any] = SimpleQueue()
    worker = _Worker(answers)
    assert worker._process.stdin is not None
    pickle.dump(Huge(), worker._process.stdin)
    worker._process.stdin.flush()
    assert answers.get(timeout=60) == (worker, None)
    worker.end()
    assert worker.status == 1


def test_a_worker_has_one_core(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    with Processes(2) as two, using(two):
        for threads, limits in mapped(cores, range(4), None):
            assert threads == 1
            assert set(limits.values()) == {"1"}
    with using(cluster):
        assert [threads for threads, _ in mapped(cores, range(4), None)] == [1] * 4


def test_compiled_work_is_done_here_by_as_many_threads() -> None:
    together = Barrier(2)  # one thread would wait for ever
    with Processes(2) as two, using(two):
        meet = lambda barrier, _item: barrier.wait(timeout=60)
        assert sorted(mapped(meet, range(2), together, compiled=True)) == [0, 1]


def test_what_a_worker_has_is_not_sent_again() -> None:
    master = object.__new__(_Worker)
    master._kept, pipe = Kept(), Pipe()
    master._process = SimpleNamespace(stdin=pipe)  # type: ignore[assignment]
    parts, sizes = Wrapping().parts((np.arange(1e5), 1)), [0]
    for _ in range(2):
        master.send(parts, True, pickle.dumps(None))
        sizes.append(len(pipe.getvalue()))
    assert sizes[1] > 8e5
    assert sizes[2] - sizes[1] < 1000


def test_a_cluster_forgets_what_was_delivered(cluster: Cluster) -> None:
    with using(cluster):
        results = mapped(scaled, range(10), 3)
        assert [next(results) for _ in range(6)] == [0, 3, 6, 9, 12, 15]

        def kept() -> list[str]:
            names = cluster._client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
            return [name for name in names if "robustpool_scaled" in str(name)]

        until(lambda: [0] * (10 - len(kept())), 6)
        assert list(results) == [18, 21, 24, 27]


def states_of(cluster: Cluster, name: str) -> dict[str, str]:
    """The tasks of this name that the scheduler has, and their states."""
    tasks = cluster._client.run_on_scheduler(
        lambda dask_scheduler: {str(key): task.state for key, task in dask_scheduler.tasks.items()}
    )
    return {key: state for key, state in tasks.items() if name in key}


def test_items_wait_at_the_scheduler_until_a_worker_is_idle(cluster: Cluster) -> None:
    """Otherwise a worker with the longer ones would keep the rest waiting; also after much else was shared."""
    with using(cluster):
        for number in range(6):
            list(mapped(identity, range(2), (np.full(1000, number), 1)))
        results = mapped(pid, range(12), (np.zeros(1000), 1))
        next(results)
        assert Counter(states_of(cluster, "robustpool_pid").values())["queued"] >= 4
        assert len(set(results)) == 2


def test_little_things_travel_with_the_items_and_large_ones_once(cluster: Cluster) -> None:
    with using(cluster):
        before = states_of(cluster, "robustpool_shared")
        assert list(mapped(scaled, range(3), 7)) == [0, 7, 14]
        assert states_of(cluster, "robustpool_shared") == before
        list(mapped(identity, range(3), (np.full(1000, 0.5), 1)))
        assert len(states_of(cluster, "robustpool_shared").keys() - before.keys()) == 1


def test_no_items_and_many_parts(cluster: Cluster, processes: Processes) -> None:
    """Dask would give arguments of more than 100 kB a key that all calls share."""
    many = tuple(bytes([k % 256]) * 900 for k in range(300))
    for executor in (cluster, processes):
        with using(executor):
            assert list(mapped_as_done(scaled, [], 3)) == []
            assert list(mapped(entries, range(3), many)) == [270_000] * 3
    names = cluster._client.run_on_scheduler(lambda dask_scheduler: list(map(str, dask_scheduler.tasks)))
    assert all("robustpool" in name for name in names)


def test_work_that_kills_every_process_ends_with_a_sentence(processes: Processes, tmp_path: Path) -> None:
    with using(processes):
        with pytest.raises(
            WorkersLostError, match=r"3 worker processes died over the same piece of work \(the last with status 3"
        ):
            list(mapped(dies, range(3), str(tmp_path)))
        assert max(Counter(path.name.partition("-")[0] for path in tmp_path.iterdir()).values()) == 3
        assert list(mapped(scaled, range(4), 2)) == [0, 2, 4, 6]


def test_the_end_of_a_program_is_the_end_of_its_workers(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom jobs_on_workers import waits\nfrom robustpool.execution import mapped, using\n"
        "from robustpool.execution.processes import Processes\n"
        "with Processes(2) as two, using(two):\n    list(mapped(waits, range(2), sys.argv[1]))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for end in (signal.SIGKILL, signal.SIGINT):
        folder = tmp_path / end.name
        folder.mkdir()
        master = subprocess.Popen(
            [sys.executable, "-c", program, str(folder)], env=environment, stderr=subprocess.DEVNULL
        )
        workers = [int(path.name.partition("-")[2]) for path in until(lambda folder=folder: [*folder.iterdir()], 2)]  # type: ignore[misc]
        master.send_signal(end)
        master.wait(timeout=60)
        until(lambda workers=workers: [each for each in workers if not runs(each)], 2)  # type: ignore[misc]


def until(found: Callable[[], list[Any]], count: int) -> list[Any]:
    """What is found once there is so much of it."""
    deadline = time.monotonic() + 60
    while len(these := found()) < count:
        assert time.monotonic() < deadline, these
        time.sleep(0.05)
    return these


def runs(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


# ------------------------------------------------------------------------------------------------- options and refusals


def test_one_of_two_options_says_who_does_the_work() -> None:
    with executor_in_use(workers=1):
        assert list(mapped(scaled, range(3), 2)) == [0, 2, 4]
    with executor_in_use(workers=2):
        assert os.getpid() not in set(mapped(pid, range(2), None))
    with input_error("--workers must be a whole number, at least 1; it is 0"), executor_in_use(workers=0):
        pass
    with input_error("give --workers or --cluster, not both"), executor_in_use(workers=2, cluster="tcp://127.0.0.1:1"):
        pass


@pytest.mark.parametrize(
    "line", ["design --reports 4", "worst-case mean", "certify mean", "reproduce table1", "sweep x.toml"]
)
def test_every_long_command_says_that_a_scheduler_cannot_be_reached(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_robustpool(*line.split(), "--cluster", "nonsense://x")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(
        "robustpool: a cluster is an address such as tcp://10.0.0.1:8786; 'nonsense://x' is none"
    )
    assert not [*tmp_path.iterdir()]


def test_a_scheduler_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.execution.cluster.CONNECT", 0.5)
    with input_error("no scheduler answers at 'tcp://127.0.0.1:9' within 0.5 seconds; is it running"):
        Cluster("tcp://127.0.0.1:9")


def test_who_takes_a_connection_and_does_not_answer_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.execution.cluster.CONNECT", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with input_error(f"no scheduler answers at '{address}' within 1 seconds; is it running, and is this its port"):
            Cluster(address)


def test_whoever_waits_for_workers_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.execution.cluster.LOOK", 0.2)
    told: list[str] = []
    with cluster_of(0, tmp_path) as empty:

        def tell(line: str) -> None:
            told.append(line)
            empty.add_worker()

        with Cluster(empty.address, tell=tell) as executor, using(executor):
            assert list(mapped(scaled, range(3), 2)) == [0, 2, 4]
        assert told == [f"the cluster at {empty.address} has no workers yet; waiting for the first."]


def test_a_cluster_without_workers_is_said(tmp_path: Path) -> None:
    with cluster_of(0, tmp_path) as empty, pytest.raises(WorkersLostError, match="has had no workers for 1 seconds"):
        Cluster(empty.address, patience=1)


def test_other_versions_are_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with input_error("scipy is missing on a worker and 1.17 here"):
        check_versions({"scipy": "1.17"}, {})
    monkeypatch.setattr("robustpool.execution.cluster.own_versions", lambda: {"numpy": "1.0"})
    with (
        using(cluster),
        input_error("every worker of a cluster needs the client's versions; numpy is 2.* on a worker and 1.0 here"),
    ):
        list(mapped(scaled, range(3), 2))


def test_a_command_on_a_cluster_answers_as_it_does_here(cluster: Cluster) -> None:
    line = ("worst-case", "mean", "--agents", "7", "--json")
    there, here = run_robustpool(*line, "--cluster", cluster.address), run_robustpool(*line)
    assert (there.returncode, there.stderr) == (0, "") or "searching" in there.stderr
    assert there.stdout == here.stdout


def test_the_log_of_dask_is_as_it_was(tmp_path: Path) -> None:
    """While we are connected it says nothing, because we say ourselves what it lost."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    with cluster_of(1, tmp_path / "cluster") as started, Cluster(started.address):
        assert [logger.level for logger in loggers] == [logging.CRITICAL] * 2
    assert [logger.level for logger in loggers] == before
