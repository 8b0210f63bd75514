"""How costs grow with N, n, M and the tolerance, in seconds of processor time, and what a job would take on a cluster.

N is the number of steps of the grid of reports, n the number of agents, M that of priors. Each cost is the least of some runs, on one core; a power
law is fitted to it. It says how far the law is off at the worst point, and the least and the largest exponent between two
neighbouring sizes: where these differ much, no power law fits.

    python benchmarks/growth.py             the table of costs, and the simulation of cluster_model.py against real runs
    python benchmarks/growth.py --quick     the same with smaller sizes
    python benchmarks/growth.py --write costs check trimming six answer fine covers memory
                                            both, and the parts of large jobs, into benchmarks/growth.json
    python benchmarks/growth.py --page      the tables of docs/how-to/see-how-costs-grow.md, made from that file

Set OMP_NUM_THREADS and its like to 1, as `make bench` does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from functools import partial
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from cluster_model import Growth, Overhead, Round, least_of, recorded, simulated, work_of

import robustpool as rp
from robustpool.aggregators.multisets import multisets
from robustpool.aggregators.rules import get_rule
from robustpool.certificates.certifiable import describe, problem_of
from robustpool.certificates.certify import certify
from robustpool.certificates.dual import best_slopes
from robustpool.designs.any_aggregator import as_aggregator
from robustpool.execution import InProcess, mapped, using
from robustpool.execution.processes import Processes
from robustpool.families.grid_oracle import worst_any_prior, worst_by_prior
from robustpool.families.many_agents import (
    SymmetricTable,
    ascended,
    choices,
    enumerated,
    first_pairs,
    pairs_at,
    symmetric_table,
    work,
    worst_of,
)
from robustpool.families.worst_case import tabulated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FILE = Path(__file__).with_suffix(".json")
RUNS = 3
ENOUGH = 1.0
"""Seconds; what takes longer is run once."""


class Cost(NamedTuple):
    """A cost that grows with something: a job for each size."""

    what: str
    by: str  # N, M, n, or 1/tolerance
    sizes: tuple[float, ...]
    quick: int  # how many of them are measured with --quick
    make: Callable[[Any], Callable[[], Any]]
    geometric: bool = False  # whether a factor for each agent is fitted instead of a power

    @property
    def title(self) -> str:
        """What grows, with what."""
        return f"{self.what}, by {self.by}"

    def law(self, seconds: Sequence[float]) -> Growth:
        """Fitted to the sizes; or to e^size, so that the exponent is the logarithm of the factor for each step."""
        sizes = self.sizes[: len(seconds)]
        return Growth(tuple(float(np.exp(size)) if self.geometric else size for size in sizes), tuple(seconds))


def two_agents(N: int, M: int) -> Callable[[], Any]:
    """The worst structure of each prior, against the minimax rule."""
    x, priors = np.arange(N + 1) / N, np.linspace(0.01, 0.99, M)
    return partial(worst_by_prior, x, tabulated("minimax", x), priors)


def table_of(n: int, N: int) -> SymmetricTable:
    """The minimax rule of n agents on a grid."""
    x = np.arange(N + 1) / N
    return symmetric_table(x, n, get_rule("minimax")(x[multisets(N + 1, n)]))


def many_agents(n: int, N: int, M: int) -> Callable[[], Any]:
    """The same for n agents, by the exact enumeration after block ascent, for the priors up to 1/2."""
    return partial(worst_of, table_of(n, N), np.arange(1, M // 2 + 1) / M)


def design(n: int, N: int, M: int | None, *, tolerance: float = 1e-6, **options: Any) -> Callable[[], Any]:
    """A design, to a gap."""
    family = rp.ConditionallyIndependent(n, N, M, options.pop("prior_range", (0.0, 1.0)))
    return partial(rp.solve, family, tolerance=tolerance, **options)


def certificate(rule: str, n: int = 2, tolerance: float = 1e-9) -> Callable[[], Any]:
    """A proof for a rule."""
    return partial(certify, rule, rp.ConditionallyIndependent(n, None, None), tolerance=tolerance)


def one_programme(N: int) -> Callable[[], Any]:
    """The linear programme for the slopes of a design's certificate on one interval of priors, near the worst prior."""
    chosen = as_aggregator(design(2, N, None)())
    problem = problem_of(chosen, describe(chosen, 2))
    return partial(best_slopes, problem, problem.knots, (0.19, 0.2))


COSTS = (
    Cost("nature's answer, 2 agents, 200 priors", "N", (50, 100, 200, 400, 800), 4, lambda N: two_agents(N, 200)),
    Cost("nature's answer, 2 agents, N = 100", "M", (100, 200, 400, 800, 1600), 5, lambda M: two_agents(100, M)),
    Cost("nature's exact answer, 3 agents, M = 50", "N", (10, 20, 30, 40), 3, lambda N: many_agents(3, N, 50)),
    Cost(
        "nature's exact answer, N = 10, M = 50",
        "n",
        (2, 3, 4, 5, 6),
        4,
        lambda n: many_agents(n, 10, 50),
        geometric=True,
    ),
    Cost("design, 2 agents, any prior", "N", (50, 100, 200, 400), 3, lambda N: design(2, N, None)),
    Cost(
        "design, 2 agents, priors from 0.05 to 0.4",
        "N",
        (25, 50, 100, 200),
        3,
        lambda N: design(2, N, None, prior_range=(0.05, 0.4)),
    ),
    Cost(
        "design, 2 agents, Lipschitz constant 1.2",
        "N",
        (25, 50, 100, 200),
        3,
        lambda N: design(2, N, None, lipschitz=1.2),
    ),
    Cost("design, 3 agents, M = 100", "N", (10, 20, 30, 40), 3, lambda N: design(3, N, 100)),
    Cost("design, 4 agents, M = 100", "N", (5, 8, 11, 14), 3, lambda N: design(4, N, 100)),
    Cost("design, N = 6, M = 100", "n", (2, 3, 4, 5, 6), 4, lambda n: design(n, 6, 100), geometric=True),
    Cost("design, 3 agents, N = 12", "M", (50, 100, 200, 400), 4, lambda M: design(3, 12, M)),
    Cost(
        "design, 2 agents, N = 20, M = 400, Lipschitz constant 1.2",
        "1/tolerance",
        (1e3, 1e4, 1e5, 1e6, 1e7),
        4,
        lambda digits: design(2, 20, 400, lipschitz=1.2, tolerance=1 / digits),
    ),
    Cost(
        "certificate of geometric-odds, to 1e-9",
        "n",
        (3, 6, 12, 25, 50, 100),
        4,
        lambda n: certificate("geometric-odds", n),
    ),
    Cost(
        "certificate of mean, to 0.02",
        "n",
        (2, 3, 4),
        2,
        lambda n: certificate("mean", n, 0.02),
        geometric=True,
    ),
    Cost(
        "certificate of geometric-odds, 3 agents",
        "1/tolerance",
        (1e5, 1e7, 1e9, 1e11),
        3,
        lambda digits: certificate("geometric-odds", 3, 1 / digits),
    ),
    Cost(
        "certificate of mean, 2 agents",
        "1/tolerance",
        (1e3, 1e4, 1e5, 1e6, 1e7),
        4,
        lambda digits: certificate("mean", 2, 1 / digits),
    ),
    Cost("programme of a design's certificate, one interval", "N", (20, 40, 80, 160), 3, one_programme),
)


def seconds_of(job: Callable[[], Any], runs: int = RUNS) -> float:
    """The least processor time of some runs on one core; of one, if that is long."""
    least = np.inf
    with using(InProcess(1)):
        for _ in range(runs):
            began = time.process_time()
            job()
            least = min(least, time.process_time() - began)
            if least > ENOUGH:
                break
    return least


def costs(*, quick: bool, only: str) -> dict[str, list[float]]:
    """Seconds for each cost and size; prints them, and the laws. Only those with a text in their title."""
    print("Processor seconds on one core, and the law that fits them")
    measured: dict[str, list[float]] = {}
    for cost in (cost for cost in COSTS if only in cost.title):
        sizes = cost.sizes[: cost.quick if quick else None]
        with using(InProcess(1)):
            cost.make(sizes[0])()  # compile
        measured[cost.title] = [seconds_of(cost.make(size)) for size in sizes]
        for line in lines_of(cost, measured[cost.title]):
            print(line, flush=True)
    return measured


def lines_of(cost: Cost, seconds: Sequence[float]) -> list[str]:
    """A cost in words."""
    points = ", ".join(f"{size:g}: {second:.3g}" for size, second in zip(cost.sizes, seconds, strict=False))
    return [f"{cost.title}: {points}", f"    {law_in_words(cost, seconds)}"]


def law_in_words(cost: Cost, seconds: Sequence[float]) -> str:
    """The fitted law, how far it is off, and how much its exponent varies."""
    law = cost.law(seconds)
    low, high = law.exponents
    if cost.geometric:
        fitted = f"{np.exp(law.exponent):.1f} times for each agent ({np.exp(low):.1f} to {np.exp(high):.1f})"
    else:
        fitted = f"{cost.by}^{law.exponent:.2f} ({low:.2f} to {high:.2f})"
    return f"{fitted}, off by at most {law.off - 1:.0%}"


# --------------------------------------------------------------------------------------------- the simulation, and runs


def same(_common: None, item: int) -> int:
    """No work."""
    return item


def size_of(common: bytes, _item: int) -> int:
    """Hardly any, with data that all items share."""
    return len(common)


def overhead_of(executor: Any, workers: list[int], *, items: int, megabytes: int = 32) -> Overhead:
    """What a message and a byte cost, measured on items without work."""
    from scaling import cpu

    def spent(function: Any, numbers: range, common: Any) -> tuple[float, float, float]:
        there, here, began = sum(map(cpu, workers)), time.process_time(), time.perf_counter()
        with using(executor):
            assert len(list(mapped(function, numbers, common))) == len(numbers)
        return time.process_time() - here, sum(map(cpu, workers)) - there, time.perf_counter() - began

    spent(same, range(10), None)
    runs = [spent(same, range(items), None) for _ in range(RUNS)]
    master, worker = (min(run[k] for run in runs) / items for k in (0, 1))
    rng, two, large = np.random.default_rng(0), range(len(workers)), megabytes * 2**20
    byte = min(spent(size_of, two, rng.bytes(large))[0] for _ in range(RUNS)) / len(workers) / large
    wait = min(spent(same, two, None)[2] for _ in range(20)) - 1.5 * master - worker
    return Overhead(master, worker, byte, max(wait, 0.0))


def check(*, quick: bool, only: str = "") -> dict[str, Any]:
    """Each job of scaling.py with two workers: what the simulation says from measured parts, and what runs take."""
    from scaling import JOBS, Measured, executors

    from robustpool.execution.cluster import Cluster

    print(
        "\nTwo workers, predicted from parts measured on one core / measured, both in seconds: of work (that of the master and"
    )
    print("of the busiest worker) and on the wall, which is longer on a machine that has other things to do")
    found: dict[str, Any] = {"overheads": {}, "jobs": {}}
    with executors() as several:
        executor_of = {name: pair for name, pair in several.items() if name != "one core"}
        for name, (executor, workers) in executor_of.items():
            items = 2000 if name == "two processes" else 300
            overhead = found["overheads"][name] = overhead_of(executor, workers, items=items)
            print(f"{name}: {overhead}", flush=True)
        for title, make in ((title, make) for title, make in JOBS.items() if only in title):
            job = make(quick=quick)
            for name, (executor, workers) in executor_of.items():
                threads = name == "two processes"
                real, records = [], []
                for _ in range(RUNS):  # in turns; the first of each compiles
                    real.append(Measured(job, executor, workers))
                    records.append(recorded(job, Processes if threads else Cluster, threads=threads))
                run = simulated(least_of(records[1:]), 2, found["overheads"][name])
                longest, wall = min(each.longest for each in real), min(each.wall for each in real)
                print(f"{title}, {name}: work {run.busiest:.2f}/{longest:.2f} = {run.busiest / longest:.2f}, ", end="")
                print(f"wall {run.seconds:.2f}/{wall:.2f} = {run.seconds / wall:.2f}", flush=True)
                found["jobs"][f"{title}; {name}"] = [run.busiest, longest, run.seconds, wall]
    return found


SWEEP = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from scaling import settings
settings(quick=True)()
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_minflt / 1e6, used.ru_utime, used.ru_stime)
"""


def trimming(*, quick: bool, only: str = "") -> dict[str, Any]:  # noqa: ARG001
    """The sweep of scaling.py in a process of its own, with Dask's setting for memory and without: million page faults, seconds."""
    found = {}
    for name, setting in {"without": {}, "with": {"MALLOC_TRIM_THRESHOLD_": "65536"}}.items():
        runs = []
        for _ in range(1 if quick else RUNS):
            command = [sys.executable, "-c", SWEEP, str(FILE.parent)]
            done = subprocess.run(command, env=os.environ | setting, capture_output=True, text=True, check=True)
            runs.append([float(number) for number in done.stdout.split()])
        found[name] = min(runs, key=lambda run: sum(run[1:]))
        print(
            f"a sweep {name} MALLOC_TRIM_THRESHOLD_: million page faults, user and system seconds: {found[name]}",
            flush=True,
        )
    return found


# ------------------------------------------------------------------------------------------------------------ the parts


class EverythingSent:
    """Every task is a message of its own, however small."""

    least, grain = 0.0, 0.0


def peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


SIX, SIX_N, SIX_M, SIX_ROUNDS = 6, 20, 100, 12
SOME_PRIORS = (0.05, 0.15, 0.25, 0.35, 0.45)


def six(*, quick: bool, only: str = "") -> dict[str, Any]:  # noqa: ARG001
    """A design for six agents on N = 20, M = 100: its first rounds, and the exact answer at some priors."""
    design(SIX, 4, SIX_M)()  # compile
    N = 8 if quick else SIX_N
    rounds = recorded(design(SIX, N, SIX_M, rounds=SIX_ROUNDS), EverythingSent, threads=False)
    print(f"\nsix agents, N = {N}: seconds of the master and of the tasks in each round")
    print(", ".join(f"{each.serial:.2f} + {sum(each.tasks):.2f}" for each in rounds), flush=True)
    master = peak()
    table, exact = table_of(SIX, N), []
    for prior in SOME_PRIORS:
        one = np.array([prior])
        known = ascended(table, one)
        exact.append([prior, seconds_of(partial(enumerated, table, one, known), 1), work(table.x, SIX, one)])
        print(
            f"the exact answer at the prior {prior:g}: {exact[-1][1]:.3g} s for {exact[-1][2]:.3g} numbers", flush=True
        )
    return {"N": N, "rounds": rounds, "exact": exact, "peak": master}


FINE = 1000


def answer(*, quick: bool, only: str = "") -> dict[str, Any]:  # noqa: ARG001
    """Nature's answer over all priors on a fine grid of two agents."""
    N = 200 if quick else FINE
    x = np.arange(N + 1) / N
    rounds = recorded(partial(worst_any_prior, x, tabulated("minimax", x)), EverythingSent, threads=False)
    print(f"\nnature's answer over all priors, N = {N}: seconds of the master and of the tasks in each round")
    print(", ".join(f"{each.serial:.2f} + {sum(each.tasks):.2f}" for each in rounds), flush=True)
    return {"N": N, "rounds": rounds}


def fine(*, quick: bool, only: str = "") -> dict[str, Any]:  # noqa: ARG001
    """Designs of two agents with any prior to 1e-9: the work of the master and of all tasks."""
    found = []
    print("\ndesigns, 2 agents, any prior, to 1e-9: N, rounds, gap, seconds of the master, of the tasks")
    for N in (25, 50, 100) if quick else (25, 50, 100, 200):
        solutions: list[rp.Solution] = []
        job = partial(lambda keep, make: keep.append(make()), solutions, design(2, N, None, tolerance=1e-9, rounds=20))
        parts = recorded(job, EverythingSent, threads=False)
        found.append([N, solutions[0].rounds, solutions[0].gap, *work_of(parts)])
        print(*found[-1], flush=True)
    return {"designs": found}


def memory(*, quick: bool, only: str = "") -> dict[str, Any]:  # noqa: ARG001
    """What the linear programme of a certificate needs for each of its entries."""
    N = 80 if quick else 160
    job, before = one_programme(N), peak()
    job()
    return {"N": N, "bytes": (peak() - before) * 1e9 / entries(N)}


def entries(N: int) -> int:
    """Of the linear programme: five for each pair of knots and each of five priors."""
    return 25 * comb(N + 2, 2)


def covers(*, quick: bool, only: str = "") -> dict[str, Any]:  # noqa: ARG001
    """Whole certificates of a design with N = 20: their rounds."""
    chosen = as_aggregator(design(2, 20, None, tolerance=1e-9)())
    found = []
    print(
        "\ncertificates of a design, 2 agents, N = 20: tolerance, seconds of the master and of the tasks, tasks, rounds"
    )
    for tolerance in (1e-3, 1e-4) if quick else (1e-3, 1e-4, 1e-5, 1e-6):
        job = partial(certify, chosen, tolerance=tolerance)
        rounds = recorded(job, EverythingSent, threads=False)
        found.append([tolerance, proofs(rounds)])
        print(tolerance, *work_of(rounds), sum(len(each.tasks) for each in rounds), len(rounds), flush=True)
    return {"certificates": found}


# ------------------------------------------------------------------------------------------------------------- the page

CORES = (1, 2, 10, 100)
ROUNDS = (
    50,
    200,
)  # of a design for six agents: a guess of the fewest, and the most that solve makes unless you say more
PROGRAMMES = (1, 8)  # linear programmes for an interval of a certificate: one if its knots are enough, and dual.ROUNDS
MESSAGE = 8.0 * 1001**2  # bytes of a table with N = 1,000


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def in_words(seconds: float) -> str:
    """Seconds, minutes, hours or days, with two digits.

    >>> in_words(0.0123), in_words(99), in_words(1000), in_words(1e5)
    ('0.012 s', '99 s', '17 min', '28 h')
    """
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 72), ("days", 86400, np.inf)):
        if seconds < most * size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return "for ever"


def a_range(low: float, high: float) -> str:
    """From one to another."""
    one, other = in_words(low), in_words(high)
    return one if one == other else f"{one} to {other}"


def cost_table(data: dict[str, Any]) -> str:
    """What was measured, and the laws."""
    rows = []
    for cost in COSTS:
        seconds = data["costs"][cost.title]
        sizes = f"{cost.by} = {cost.sizes[0]:g} to {cost.sizes[len(seconds) - 1]:g}"
        times = f"{in_words(seconds[0])} to {in_words(seconds[-1])}"
        rows.append((cost.what, sizes, times, *law_in_words(cost, seconds).split(", ")))
    return table(("cost", "sizes", "one core", "grows like", "the law is"), rows)


def check_table(data: dict[str, Any]) -> str:
    """The simulation against runs with two workers."""
    rows = [
        (*title.split("; "), f"{busiest:.2f} s", f"{longest:.2f} s", f"{busiest / longest:.2f}")
        for title, (busiest, longest, _, _) in data["check"]["jobs"].items()
    ]
    return table(("job", "workers", "predicted", "measured", "ratio"), rows)


def overhead_table(data: dict[str, Any]) -> str:
    """What a message costs."""
    rows = []
    for name, numbers in data["check"]["overheads"].items():
        cost = Overhead(*numbers)
        ms = [f"{1e3 * part:.2f} ms" for part in (cost.master, cost.worker, cost.wait)]
        rows.append((name, *ms, f"{2**20 * 1e3 * cost.byte:.2f} ms"))
    return table(("workers", "master, a message", "worker, a message", "on its way", "master, a megabyte"), rows)


class Forecast(NamedTuple):
    """A job on some cores, by fewer and by more work than seems likely."""

    low: list[Round]
    high: list[Round]

    def row(self, name: str, overhead: Overhead) -> tuple[str, ...]:
        """The times on 1, 2, 10 and 100 cores, and how much faster 100 cores are than one."""
        times = [
            [simulated(job, cores, overhead if cores > 1 else Overhead()).seconds for job in self] for cores in CORES
        ]
        gains = sorted(first / last for first, last in zip(times[0], times[-1], strict=True))
        return name, *(a_range(*sorted(pair)) for pair in times), f"{gains[0]:.2g} to {gains[1]:.2g}"


def parts_of_six(N: int) -> list[float]:
    """The numbers that each part of the enumeration looks at, in the order in which they are sent."""
    x, numbers = np.arange(N + 1) / N, []
    for prior in np.arange(1, SIX_M // 2 + 1) / SIX_M:
        pairs = pairs_at(x, prior)
        for begin, end in first_pairs(x, SIX, prior):
            numbers.append(float(len(x) * (choices(pairs - begin, SIX) - choices(pairs - end, SIX))))
    return numbers


def six_forecasts(data: dict[str, Any]) -> dict[str, Forecast]:
    """A design for six agents: rounds like the last ones that were measured; the exact answer by the enumeration's work."""
    six = data["six"]
    every = [Round(*each) for each in six["rounds"]]
    *_, last, _, _ = every  # after it the last table is looked at once more
    late = [each.serial for each in every[-4:-1]]
    numbers = parts_of_six(six["N"])
    rates = sorted(seconds / many for _, seconds, many in six["exact"] if seconds > 0.5)
    found = {}
    for name, rate in {"block ascent": (0.0, 0.0), "enumeration": (rates[0], rates[-1])}.items():
        jobs = []
        for rounds, master, a_number in zip(ROUNDS, (min(late), 2 * max(late)), rate, strict=True):
            tasks = tuple(a_number * many for many in numbers) if a_number else ()
            jobs.append([last._replace(serial=master), Round(0.0, tasks)] * rounds)
        found[name] = Forecast(*jobs)
    return found


def six_table(data: dict[str, Any]) -> str:
    """On 1, 2, 10 and 100 cores."""
    overhead = Overhead(*data["check"]["overheads"]["two Dask workers"])
    head = ("nature's answer", *(f"{cores} core{'s' * (cores > 1)}" for cores in CORES), "100 cores gain")
    return table(head, [job.row(name, overhead) for name, job in six_forecasts(data).items()])


def proofs(rounds: Sequence[Sequence[Any]]) -> list[Round]:
    """The rounds of a certificate in which intervals are proved."""
    return [each for each in (Round(*one) for one in rounds) if each.name == "_proved"]


def fine_forecasts(data: dict[str, Any]) -> dict[str, Forecast]:
    """A design for N = 1,000 to 1e-9, and its certificate to 1e-9: many intervals at first, then two at a time."""
    answered = [Round(*each) for each in data["answer"]["rounds"]]
    designs = data["fine"]["designs"]
    N, rounds, _, master, _ = zip(*designs, strict=True)
    _, *ends = Growth(N, tuple(np.divide(master, rounds))).ahead(FINE)
    design_ = [
        [*answered, Round(serial, ())] * count for serial, count in zip(ends, (min(rounds), max(rounds)), strict=True)
    ]
    programme_ = next(cost for cost in COSTS if cost.make is one_programme)
    _, *longer = programme_.law(data["costs"][programme_.title]).ahead(FINE)
    digits, certificates = zip(*data["covers"]["certificates"], strict=True)
    intervals = tuple(float(sum(len(each.tasks) for each in proofs(one))) for one in certificates)
    first = len(proofs(certificates[-1])[0].tasks)
    _, *many = Growth(tuple(1 / each for each in digits), intervals).ahead(1e9)
    certificate_ = []
    for count, programme, programmes in zip(many, longer, PROGRAMMES, strict=True):
        task = programme * programmes
        pairs = [Round(0.0, (task, task), message=MESSAGE)] * max(0, round((count - first) / 2))
        certificate_.append([Round(0.0, (task,) * first, MESSAGE, MESSAGE), *pairs])
    return {"design": Forecast(*design_), "certificate": Forecast(*certificate_)}


def fine_table(data: dict[str, Any]) -> str:
    """On 1, 2, 10 and 100 cores."""
    overhead = Overhead(*data["check"]["overheads"]["two Dask workers"])
    head = ("N = 1,000, to 1e-9", *(f"{cores} core{'s' * (cores > 1)}" for cores in CORES), "100 cores gain")
    return table(head, [job.row(name, overhead) for name, job in fine_forecasts(data).items()])


def trimming_facts(data: dict[str, Any]) -> str:
    """What the model does not know about Dask workers."""
    (least, *one), (most, *other) = data["trimming"]["without"], data["trimming"]["with"]
    return (
        f"Measured with this setting, the sweep on one core has {most:.1f} million page faults and takes {sum(other):.1f} s, "
        f"{other[1]:.1f} s of it in the system; without it, {least:.1f} million and {sum(one):.1f} s, {one[1]:.1f} s in the system."
    )


def six_facts(data: dict[str, Any]) -> str:
    """What the forecasts for six agents rest on."""
    six = data["six"]
    rounds = [Round(*each) for each in six["rounds"]][:-2]
    x, priors = np.arange(six["N"] + 1) / six["N"], np.arange(1, SIX_M // 2 + 1) / SIX_M
    rates = sorted(seconds / many for _, seconds, many in six["exact"] if seconds > 0.5)
    total = work(x, SIX, priors)
    return (
        f"Measured in {len(rounds)} rounds: the master took from {in_words(rounds[1].serial)} in the second to "
        f"{in_words(rounds[-1].serial)} in the last, all block ascents of a round {in_words(sum(rounds[-1].tasks))}, "
        f"and the process {six['peak']:.2f} GB at most. Measured at some priors, the enumeration takes "
        f"{1e9 * rates[0]:.1f} to {1e9 * rates[-1]:.0f} ns a number, so {a_range(total * rates[0], total * rates[-1])} "
        f"an answer. Each worker gets the table, {rounds[-1].common / 1e6:.1f} MB a round."
    )


def fine_facts(data: dict[str, Any]) -> str:
    """What the forecasts for N = 1,000 rest on."""
    designs = data["fine"]["designs"]
    took = ", ".join(f"{rounds} (N = {N}, gap {gap:.0e})" for N, rounds, gap, _, _ in designs)
    counts = ", ".join(
        f"{sum(len(each.tasks) for each in proofs(rounds))} ({tolerance:.0e})"
        for tolerance, rounds in data["covers"]["certificates"]
    )
    one = next(cost for cost in COSTS if cost.make is one_programme)
    law = one.law(data["costs"][one.title])
    _, low, high = law.ahead(FINE)
    answered = sum(sum(each[1]) for each in data["answer"]["rounds"])
    return (
        f"Measured: nature's answer for N = {data['answer']['N']:,} takes {in_words(answered)} on one core. Designs to 1e-9, "
        f"or for 20 rounds, took these rounds: {took}. "
        f"Certificates of a design with N = 20 proved so many intervals, by the tolerance: {counts}. One linear programme takes "
        f"{in_words(law.y[-1])} for N = {law.x[-1]:g}. Extrapolated: {a_range(low, high)} for N = {FINE:,}, and "
        f"{data['memory']['bytes'] * entries(FINE) / 1e9:.1f} GB in each worker. An interval needs one to eight programmes."
    )


def tables(data: dict[str, Any]) -> dict[str, str]:
    """All that the page has from what was measured."""
    makers = (cost_table, check_table, trimming_facts, overhead_table, six_table, six_facts, fine_table, fine_facts)
    return {make.__name__: make(data) for make in makers}


# ---------------------------------------------------------------------------------------------------------- the command


def write(name: str, measured: dict[str, Any]) -> None:
    """Put what was measured into the file, beside what was there."""
    data = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    data = merged(data, {"machine": machine(), name: short(measured)})
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(data.items()))
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old entries with the new ones; where both have objects, these are merged as well."""
    both = {key: merged(old[key], new[key]) for key in old if isinstance(old[key], dict) and key in new}
    return old | new | both


def short(data: Any) -> Any:
    """Numbers with four digits."""
    if isinstance(data, dict):
        return {key: short(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [short(value) for value in data]
    return float(f"{data:.4g}") if isinstance(data, (float, np.floating)) else data


def machine() -> str:
    """The processor and the versions."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    name = models[0].partition(": ")[2] if models else platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}, robustpool {rp.__version__}"


MEASURES = {
    "costs": costs,
    "check": check,
    "trimming": trimming,
    "six": six,
    "answer": answer,
    "fine": fine,
    "covers": covers,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="only the costs and jobs with this text")
    parser.add_argument("--write", nargs="*", choices=tuple(MEASURES))
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        print("\n\n".join(tables(json.loads(FILE.read_text(encoding="utf-8"))).values()))
        return
    wanted = options.write or ("costs", "check")
    for name, measure in MEASURES.items():
        if name in wanted:
            measured = measure(quick=options.quick, only=options.only)
            if options.write is not None:
                write(name, measured)


if __name__ == "__main__":
    main()
