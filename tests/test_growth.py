"""The simulation of a run on many workers, and the fits of benchmarks/growth.py."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from itertools import pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs_on_workers import pid, rests
from robustpool.execution import mapped, using
from robustpool.execution.processes import Processes

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
model: Any = import_module("cluster_model")
growth: Any = import_module("growth")
sys.path.pop(0)
Round, Overhead, Growth, simulated = model.Round, model.Overhead, model.Growth, model.simulated

law = settings(max_examples=60, deadline=None)
SECONDS = st.floats(0.01, 10)
JOBS = st.lists(st.tuples(st.floats(0, 5), st.lists(SECONDS, max_size=12)), min_size=1, max_size=4)


def rounds_of(job: list[tuple[float, list[float]]]) -> list[Any]:
    return [Round(serial, tuple(tasks)) for serial, tasks in job]


# --------------------------------------------------------------------------------------------------- by hand


def test_one_worker_does_all_work_one_after_the_other() -> None:
    run = simulated([Round(1.0, (2.0, 3.0)), Round(0.5, ()), Round(0.0, (4.0,))], 1)
    assert run == (10.5, 1.5, (9.0,))
    assert run.busiest == 10.5


def test_many_workers_wait_for_the_longest_task_of_each_round() -> None:
    assert simulated([Round(1.0, (2.0, 3.0, 1.0)), Round(0.5, (4.0, 4.0))], 100).seconds == 1.0 + 3.0 + 0.5 + 4.0


def test_two_workers_take_the_tasks_in_their_order() -> None:
    """In this order 7, although 3 + 3 and 2 + 2 + 2 would be done at 6."""
    run = simulated([Round(1.0, (3.0, 3.0, 2.0, 2.0, 2.0))], 2)
    assert run == (8.0, 1.0, (7.0, 5.0))
    assert run.busiest == 8.0
    assert simulated([Round(0.0, (1.0, 1.0, 1.0, 3.0))], 2) == (4.0, 0.0, (2.0, 4.0))
    assert simulated([Round(0.0, (3.0, 1.0, 1.0, 1.0))], 2).seconds == 3.0


def test_messages_cost_the_master_half_before_and_half_after_a_task() -> None:
    """Two workers, two tasks of 10 s, 2 s a message: sent at 1 and 2, done at 11 and 12, read at 12 and 13."""
    run = simulated([Round(0.0, (10.0, 10.0))], 2, Overhead(master=2.0))
    assert run == (13.0, 4.0, (10.0, 10.0))
    run = simulated([Round(0.0, (10.0, 10.0))], 2, Overhead(worker=1.0, wait=0.5))
    assert run == (11.5, 0.0, (11.0, 11.0))


def test_a_master_with_many_messages_is_what_workers_wait_for() -> None:
    """Sending takes longer than working: a hundred workers are no better than one."""
    tasks, cost = (0.001,) * 50, Overhead(master=2.0)
    assert simulated([Round(0.0, tasks)], 100, cost).seconds == pytest.approx(100.0, abs=0.01)


def test_what_is_common_goes_to_each_worker_once() -> None:
    """4 s for each worker that is used: the second starts at 8, the first then has another task."""
    each = Round(0.0, (1.0, 1.0, 1.0), common=4.0)
    assert simulated([each], 2, Overhead(byte=1.0)) == (9.0, 8.0, (2.0, 1.0))
    assert simulated([each], 1, Overhead(byte=1.0)).seconds == 7.0
    assert simulated([Round(0.0, (1.0,), message=4.0)], 1, Overhead(byte=1.0)).seconds == 5.0


def test_threads_need_no_messages() -> None:
    assert simulated([Round(0.0, (1.0, 1.0), 4.0, 4.0, sent=False)], 2, Overhead(1.0, 1.0, 1.0, 1.0)).seconds == 1.0


# ------------------------------------------------------------------------------------------------------- in general


@law
@given(JOBS, st.integers(1, 8))
def test_a_run_is_within_grahams_bounds(job: list[tuple[float, list[float]]], workers: int) -> None:
    """Each round takes at least max(longest, work/K), and at most work/K + (1 - 1/K) longest <= (2 - 1/K) of that."""
    rounds = rounds_of(job)
    least = most = 0.0
    for serial, tasks in job:
        longest, share = max(tasks, default=0.0), sum(tasks) / workers
        least += serial + max(longest, share)
        most += serial + share + (1 - 1 / workers) * longest
    run = simulated(rounds, workers)
    assert least - 1e-9 <= run.seconds <= most + 1e-9
    assert run.seconds <= (2 - 1 / workers) * least + 1e-9
    assert run.master == pytest.approx(sum(serial for serial, _ in job))
    assert sum(run.workers) == pytest.approx(sum(sum(tasks) for _, tasks in job))


@law
@given(JOBS)
def test_more_workers_are_never_slower_if_messages_cost_nothing(job: list[tuple[float, list[float]]]) -> None:
    times = [simulated(rounds_of(job), workers).seconds for workers in range(1, 10)]
    assert all(more <= fewer + 1e-9 for fewer, more in pairwise(times))


@law
@given(JOBS, st.integers(1, 8), SECONDS, SECONDS)
def test_messages_never_save_time(job: list[tuple[float, list[float]]], workers: int, one: float, other: float) -> None:
    free = simulated(rounds_of(job), workers).seconds
    assert simulated(rounds_of(job), workers, Overhead(master=one, worker=other, wait=one)).seconds >= free - 1e-9


def test_of_several_records_the_least_times_count() -> None:
    rounds = [Round(1.0, (2.0, 3.0), 10.0, 20.0)]
    assert model.work_of(rounds) == (1.0, 5.0)
    assert model.least_of([rounds, [Round(0.5, (4.0, 2.0), 10.0, 20.0)]]) == [Round(0.5, (2.0, 2.0), 10.0, 20.0)]


# --------------------------------------------------------------------------------------------------- what is recorded


def spin(seconds: float, item: int) -> int:
    """Use the processor for so long, times the item."""
    import time

    end = time.thread_time() + seconds * item
    while time.thread_time() < end:
        pass
    return item


def test_a_recorder_finds_the_parts_of_a_job() -> None:
    """A job of 30 ms alone, tasks of 10, 20 and 30 ms, and 20 ms alone; it gets its results in their order."""

    def job() -> None:
        spin(0.01, 3)
        assert list(mapped(spin, [1, 2, 3], 0.01)) == [1, 2, 3]
        spin(0.01, 2)

    first, last = model.recorded(job, Processes, threads=True)
    assert first.serial == pytest.approx(0.03, abs=0.01)
    assert first.tasks == pytest.approx((0.01, 0.02, 0.03), abs=0.01)
    assert first.common > 8
    assert first.name == "spin"
    assert first.message > 2
    assert last.serial == pytest.approx(0.02, abs=0.01)
    assert last.tasks == ()


def test_a_recorder_knows_what_would_be_sent() -> None:
    """Compiled work is on threads of the master with processes, and small work is the master's own."""
    recorder = model.Recorder(Processes, threads=True)
    with using(recorder):
        list(mapped(spin, [1, 1], 0.001, compiled=True))
        list(mapped(spin, [1, 1], 0.001, seconds=1e-6))
        list(mapped(spin, [1, 1], 0.001, seconds=1e-6, compiled=True))
        list(mapped(spin, [1] * 10, 0.001, seconds=0.1))
        list(mapped(spin, [1] * 10, 0.001, seconds=0.1))
    rounds = recorder.end()
    assert [(len(each.tasks), each.sent) for each in rounds[:-1]] == [(2, False), (2, False), (5, True), (5, True)]
    assert rounds[2].common > 0
    assert rounds[3].common == 0  # the workers have it
    assert rounds[1].serial >= 0.002  # the small work before
    cluster = model.Recorder(growth.EverythingSent, threads=False)
    with using(cluster):
        list(mapped(spin, [1, 1], 0.0, compiled=True, seconds=1e-6))
    assert [(len(each.tasks), each.sent) for each in cluster.end()[:-1]] == [(2, True)]


# ----------------------------------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_a_power_law_is_found(power: float) -> None:
    x = (2.0, 4.0, 8.0, 20.0)
    law = Growth(x, tuple(0.3 * each**power for each in x))
    assert law.exponent == pytest.approx(power)
    assert law.at(100) == pytest.approx(0.3 * 100**power)
    assert law.off == pytest.approx(1.0)
    assert law.exponents == pytest.approx((power, power))
    assert law.ahead(100) == pytest.approx((0.3 * 100**power,) * 3)


def test_what_is_no_power_law_shows() -> None:
    """10^x: the exponents rise; and x^2 with one point that is twice too large."""
    x = (1.0, 2.0, 3.0, 4.0)
    law = Growth(x, tuple(10.0**each for each in x))
    assert law.off == pytest.approx(1.93, abs=0.01)
    assert law.exponents == pytest.approx((1 / np.log10(2), 1 / np.log10(4 / 3)))
    expected, low, high = law.ahead(6)
    assert low < expected < high
    assert high >= 1e4 * 1.5 ** (1 / np.log10(4 / 3))
    one_off = Growth(x, (1.0, 4.0, 18.0, 16.0))
    assert 1.3 < one_off.off < 2
    assert one_off.ahead(8)[1] < 64 < one_off.ahead(8)[2]


def test_noise_is_within_the_range() -> None:
    """A tenth of noise at each point, and twice the largest size: the truth is in the range, nearly always."""
    rng, inside = np.random.default_rng(0), 0
    x = (5.0, 10.0, 20.0, 40.0)
    for _ in range(200):
        _, low, high = Growth(x, tuple(each**2 * np.exp(0.1 * rng.standard_normal()) for each in x)).ahead(80)
        inside += low <= 6400 <= high
    assert inside > 180


# ------------------------------------------------------------------------------------------------------------- the page


def test_the_page_has_what_was_measured() -> None:
    page = (ROOT / "docs" / "how-to" / "see-how-costs-grow.md").read_text(encoding="utf-8")
    data = json.loads(growth.FILE.read_text(encoding="utf-8"))
    for name, text in growth.tables(data).items():
        assert f"\n\n{text}\n\n" in page, name


def test_what_the_page_says_in_words() -> None:
    """Choices, numbers of the enumeration, and which jobs have no use for more than 24 cores."""
    data = json.loads(growth.FILE.read_text(encoding="utf-8"))
    x, priors = np.arange(21) / 20, np.arange(1, 51) / 100
    assert comb(26, 6) == 230_230
    assert comb(105, 5) == 96_560_646
    assert growth.work(x, 6, priors[-1:]) == 21 * comb(105, 5)
    assert f"{growth.work(x, 6, priors):.1e}" == "5.7e+10"
    six, fine = growth.six_forecasts(data), growth.fine_forecasts(data)
    for rounds in (*six["block ascent"], *fine["design"], *fine["certificate"]):
        assert simulated(rounds, 100).seconds == pytest.approx(simulated(rounds, 24).seconds, rel=0.01)
    for rounds in six["enumeration"]:
        assert len(rounds[1].tasks) == 297
        assert 1.3 < simulated(rounds, 50).seconds / simulated(rounds, 100).seconds < 2
    for rounds in (*six["block ascent"], *six["enumeration"], *fine["design"], *fine["certificate"]):
        assert simulated(rounds, 1).seconds == pytest.approx(sum(model.work_of(rounds)))
    assert data["six"]["N"] == 20
    assert data["answer"]["N"] == 1000
    assert all(len(each[1]) <= 16 for each in data["answer"]["rounds"])
    assert len(growth.proofs(data["covers"]["certificates"][-1][1])[0].tasks) == 24


def test_times_in_words() -> None:
    assert [growth.in_words(seconds) for seconds in (0.0123, 1.0, 119, 130, 7300, 1e6)] == [
        "0.012 s",
        "1 s",
        "120 s",
        "2.2 min",
        "2 h",
        "12 days",
    ]
    assert growth.a_range(1.001, 1.002) == "1 s"
    assert growth.a_range(1, 100) == "1 s to 100 s"


def test_what_is_measured_of_a_run() -> None:
    """As `make bench` prints it: the main thread alone, or with the busiest of two processes."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    scaling: Any = import_module("scaling")
    sys.path.pop(0)

    def job() -> None:
        assert sum(mapped(rests, [2_000_000] * 4, 7)) > 0

    alone = scaling.Measured(job, scaling.InProcess(1), [])
    assert alone.main <= alone.longest <= alone.total
    with Processes(2) as two:
        with using(two):
            workers = sorted(set(mapped(pid, range(8), None)))
        shared = scaling.Measured(job, two, workers)
    assert shared.main < shared.longest <= shared.total


def test_small_measurements_work() -> None:
    """The parts of the benchmark run, on sizes that take no time; laws are fitted to them."""
    assert growth.seconds_of(growth.two_agents(10, 5)) > 0
    assert growth.many_agents(3, 4, 10)().value > 0
    assert growth.design(2, 4, 8)().gap <= 1e-6
    cost = growth.Cost("x", "n", (1, 2, 3), 2, lambda _: None, geometric=True)
    assert growth.law_in_words(cost, [1.0, 3.0, 9.0]) == "3.0 times for each agent (3.0 to 3.0), off by at most 0%"
    cost = growth.Cost("x", "N", (1, 2, 4), 2, lambda _: None)
    assert growth.law_in_words(cost, [1.0, 4.0, 64.0]) == "N^3.00 (2.00 to 4.00), off by at most 59%"
