"""Ratios measured side by side in one run: cutting planes, Algorithm 1, and one cvxpy programme with every structure.

All solve the same games to the same gap. Seconds are not printed, because they say more about the machine than about the
code; each figure is a time divided by that of cutting planes. `make bench` also draws the gap against time and the time
against N into out/bench.png, and prints the exponent of the fitted power law.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from math import comb
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

import robustpool as rp

GAPS = (1e-3, 2e-4, 1e-6)
SIZES = ((8, 64), (12, 144), (20, 400), (40, 800))
PATIENCE = 90.0
"""Seconds after which a slower method is given up, and reported as at least so many times slower."""


class Timed:
    """A solution's trace as gap against seconds, including what it took to set up the game."""

    def __init__(self, family: Any, tolerance: float = GAPS[-1], **options: Any) -> None:
        began = time.perf_counter()

        def progress(_state: Any, _rounds: int) -> None:
            if time.perf_counter() - began > PATIENCE:
                raise KeyboardInterrupt

        self.solution = rp.solve(family, tolerance=tolerance, progress=progress, **options)
        setup = time.perf_counter() - began - self.solution.seconds
        self.seconds = np.array([point.seconds + setup for point in self.solution.trace])
        self.gaps = np.array([point.upper - point.lower for point in self.solution.trace])

    def until(self, gap: float) -> float | None:
        """Seconds until the gap is at most that, or None."""
        reached = np.flatnonzero(self.gaps <= gap)
        return float(self.seconds[reached[0]]) if len(reached) else None


def all_structures(family: rp.FiniteFamily) -> tuple[float, float]:
    """min t subject to the regret of every structure being at most t, vectorised as well as cvxpy allows."""
    began = time.perf_counter()
    owner, mass = family.structure_of_point, family.mass
    total = mass.sum(axis=1)
    risk = np.divide(mass.prod(axis=1), total, out=np.zeros_like(total), where=total > 0)
    omniscient = np.bincount(owner, weights=risk)
    shape = (len(family), len(family.reports))
    by_state = [sparse.csr_matrix((mass[:, k], (owner, family.profile)), shape=shape) for k in range(2)]
    f, worst = cp.Variable(shape[1]), cp.Variable()
    regret = by_state[0] @ cp.square(f) + by_state[1] @ cp.square(1 - f) - omniscient
    problem = cp.Problem(cp.Minimize(worst), [regret <= worst, f >= 0, f <= 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL)
    return time.perf_counter() - began, float(problem.value)


def ratio(theirs: float | None, ours: float | None) -> str:
    """Their time divided by ours; where they were given up, at least how much."""
    if ours is None:
        return "-"
    return f"{theirs / ours:.1f}" if theirs is not None else f"> {PATIENCE / ours:.0f}"


def independent_agents() -> list[tuple[int, Timed, Timed]]:
    """Cutting planes, Algorithm 1 where its structures fit into memory, and one programme where that does."""
    heads = [*(f"Algorithm 1 to {gap:g}" for gap in GAPS), "to 2e-4 / ours to 1e-7"]
    print("\nTwo conditionally independent agents: time / time of cutting planes to the same gap")
    print(f"{'N':>4} {'M':>5} {'structures':>11}  " + "  ".join(heads) + "  cvxpy, all structures")
    runs = []
    for N, M in SIZES:
        family = rp.ConditionallyIndependent(2, N, M)
        count = family.count(pruned=True)
        ours = Timed(family, tolerance=1e-7)
        cells = ["not run"] * len(heads)
        if count < 3_000_000:
            theirs = Timed(family, method="multiplicative-weights", rounds=10**6)
            cells = [ratio(theirs.until(gap), ours.until(gap)) for gap in GAPS]
            cells.append(ratio(theirs.until(2e-4), ours.until(1e-7)))
            runs.append((N, ours, theirs))
        programme = "not run"
        if family.count(pruned=False) < 200_000:
            seconds, value = all_structures(family.enumerate(pruned=False).flat)
            apart = max(0.0, ours.solution.lower - value, value - ours.solution.upper)
            programme = f"{ratio(seconds, ours.until(GAPS[-1]))} (values {apart:.0e} apart)"
        line = "  ".join(cell.rjust(len(head)) for cell, head in zip(cells, heads, strict=True))
        print(f"{N:>4} {M:>5} {count:>11,}  {line}  {programme}", flush=True)
    return runs


def finite_families() -> None:
    print("\nRandom finite families: time / time of cutting planes, to a gap of 1e-6, best of five")
    print("structures  profiles  rounds  Algorithm 1    cvxpy")
    sizes = (100, 1_000, 20_000, 200_000)
    times: dict[str, list[float]] = {"cutting planes": [], "Algorithm 1": [], "cvxpy": []}
    for count in sizes:
        family = rp.random_family(count, resolution=14, rng=count)
        runs = 5 if count < 200_000 else 1
        ours = min((Timed(family) for _ in range(runs)), key=lambda timed: timed.until(1e-6) or PATIENCE)
        theirs = min(
            (Timed(family, method="multiplicative-weights", rounds=10**6) for _ in range(runs)),
            key=lambda timed: timed.until(1e-6) or PATIENCE,
        )
        seconds, value = min(all_structures(family) for _ in range(runs if count < 20_000 else 1))
        assert ours.solution.lower - 1e-6 <= value <= ours.solution.upper + 1e-6
        cells = [ratio(theirs.until(1e-6), ours.until(1e-6)), ratio(seconds, ours.until(1e-6))]
        line = f"{count:>10,}  {len(family.reports):>8,}  {ours.solution.rounds:>6}  {cells[0]:>11}  {cells[1]:>7}"
        print(line, flush=True)
        for name, time_ in zip(times, (ours.until(1e-6), theirs.until(1e-6), seconds), strict=True):
            times[name].append(time_ or np.nan)
    for name, row in times.items():
        known = np.isfinite(row)
        exponent = np.polyfit(np.log(sizes)[known], np.log(row)[known], 1)[0]
        print(f"{name}: the time grows like structures^{exponent:.2f}")


MEASURE = """
import sys
sys.path.insert(0, "benchmarks")
import bench, robustpool as rp
rp.solve(rp.random_family(10)), bench.all_structures(rp.random_family(10))
family = rp.random_family(200_000, resolution=14, rng=1)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak counts from here on
def kilobytes(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what))
before = kilobytes("VmRSS")
{work}
print(kilobytes("VmHWM") - before)
"""


def memory() -> None:
    """How much the peak grows beyond the family itself, each in a process of its own."""
    works = {"cutting planes": "rp.solve(family)", "cvxpy": "bench.all_structures(family)"}
    grown = {}
    for name, work in works.items():
        code = MEASURE.format(work=work)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        grown[name] = max(1, int(done.stdout))
    print(f"\nMemory for 200,000 structures: cvxpy needs {grown['cvxpy'] / grown['cutting planes']:.1f} times as much.")


MANY = ((2, 20), (3, 20), (4, 20), (5, 10), (6, 6), (7, 5), (8, 4))
"""Numbers of agents and of reports; the priors are multiples of 1/100."""

OURS = """
rp.solve(small)  # compile
began = time.perf_counter()
solution = rp.solve(family, tolerance=1e-6)
"""

LISTED = """
from robustpool.losses import get_loss
from robustpool.solvers.cutting_planes import CuttingPlanes
def all_of(family):
    nature = family.written_out(get_loss("square"), "additive", ())
    return next(state for state in CuttingPlanes(1e-6).iterate(nature) if state.upper - state.lower <= 1e-6 or state.round > 99)
all_of(small)  # compile
began = time.perf_counter()
solution = all_of(family)
"""

MEASURED = """
import json, resource, time
import robustpool as rp
family, small = (rp.ConditionallyIndependent({agents}, *size) for size in (({N}, 100), (2, 4)))
{work}
seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps([seconds, peak, solution.lower, solution.upper]))
"""


def many_agents() -> None:
    """Two to eight agents, each design in a process of its own; beside it the same game with every structure in a list."""
    print("\nConditionally independent agents, M = 100, to a gap of 1e-6: time / time of two agents")
    print("agents   N  multisets    time  peak GB        gap  written out / ours  its peak GB")
    first = 1.0
    for agents, N in MANY:
        seconds, peak, lower, upper = _measured(OURS, agents, N) or (np.nan, np.nan, np.nan, np.nan)
        first = seconds if agents == 2 else first
        listed = _measured(LISTED, agents, N) if agents > 2 else None
        theirs = ("-", "-") if agents == 2 else (f"> {4 * PATIENCE / seconds:.0f}", "given up")
        if listed is not None:
            assert max(lower, listed[2]) <= min(upper, listed[3]) + 1e-9
            theirs = f"{listed[0] / seconds:.1f}", f"{listed[1]:.2f}"
        count = comb(N + agents, agents)
        cells = f"{agents:>6} {N:>3} {count:>10,} {seconds / first:>7.1f} {peak:>8.2f} {upper - lower:>10.0e}"
        print(f"{cells}  {theirs[0]:>18}  {theirs[1]:>11}", flush=True)


def _measured(work: str, agents: int, N: int) -> tuple[float, float, float, float] | None:
    """Seconds, peak memory in GB and the bounds; None if it takes too long or does not fit into memory."""
    code = MEASURED.format(work=work, agents=agents, N=N)
    limited = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, (8 * 10**9, 8 * 10**9))\n{code}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", limited], capture_output=True, text=True, check=True, timeout=4 * PATIENCE
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return tuple(json.loads(done.stdout))


def draw(runs: list[tuple[int, Timed, Timed]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for (_, ours, theirs), colour in zip(runs, ("#0072b2", "#e69f00", "#009e73", "#cc79a7"), strict=False):
        N = ours.solution.aggregator.values.shape[0] - 1  # type: ignore[union-attr]
        left.loglog(
            ours.seconds, np.maximum(ours.gaps, 1e-12), "o-", color=colour, ms=4, label=f"cutting planes, N = {N}"
        )
        left.loglog(theirs.seconds, theirs.gaps, "--", color=colour, label=f"Algorithm 1, N = {N}")
    left.set(xlabel="seconds", ylabel="gap")
    left.legend(fontsize=7)
    for name, marker, index in (("cutting planes", "o-", 1), ("Algorithm 1", "s--", 2)):
        points = [(run[0], run[index].until(2e-4)) for run in runs]
        sizes, seconds = zip(*((N, s) for N, s in points if s is not None), strict=True)
        right.loglog(sizes, seconds, marker, label=name)
        if len(sizes) > 1:
            exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
            print(f"{name}: time to a gap of 2e-4 grows like N^{exponent:.1f}")
    right.set(xlabel="N", ylabel="seconds to a gap of 2e-4")
    right.legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"The plot is in {path}.")


def main() -> None:
    rp.solve(rp.ConditionallyIndependent(2, 4, 8))  # compile, all of it
    rp.solve(rp.random_family(10))
    rp.solve(rp.ConditionallyIndependent(2, 4, 8), method="multiplicative-weights", rounds=3)
    runs = independent_agents()
    many_agents()
    finite_families()
    memory()
    draw(runs, Path("out/bench.png"))


if __name__ == "__main__":
    main()
