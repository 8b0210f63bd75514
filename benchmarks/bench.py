"""Ratios measured side by side in one run: cutting planes, Algorithm 1, and one cvxpy programme with every structure.

All solve the same games to the same gap. Seconds are not printed, because they say more about the machine than about the
code; each figure is a time divided by that of cutting planes. `make bench` also draws the gap against time and the time
against N into out/bench.png, and prints the exponent of the fitted power law.
"""

from __future__ import annotations

import time
import warnings
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

    def __init__(self, family: Any, **options: Any) -> None:
        began = time.perf_counter()
        given_up = False

        def progress(_state: Any, _rounds: int) -> None:
            if time.perf_counter() - began > PATIENCE:
                raise KeyboardInterrupt

        self.solution = rp.solve(family, tolerance=GAPS[-1], progress=progress, **options)
        given_up = self.solution.stopped is not rp.Stopped.GAP
        setup = time.perf_counter() - began - self.solution.seconds
        self.seconds = np.array([point.seconds + setup for point in self.solution.trace])
        self.gaps = np.array([point.upper - point.lower for point in self.solution.trace])
        self.given_up = given_up

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
    print("\nTwo conditionally independent agents: time / time of cutting planes to the same gap")
    print(
        f"{'N':>4} {'M':>5} {'structures':>11}  "
        + "  ".join(f"Algorithm 1 to {gap:g}" for gap in GAPS)
        + "  cvxpy, all structures"
    )
    runs = []
    for N, M in SIZES:
        family = rp.ConditionallyIndependent(2, N, M)
        count = family.count(pruned=True)
        ours = Timed(family)
        theirs = Timed(family, method="multiplicative-weights", rounds=10**6) if count < 3_000_000 else None
        cells = [
            ratio(theirs.until(gap) if theirs else None, ours.until(gap)).rjust(len(f"Algorithm 1 to {gap:g}"))
            for gap in GAPS
        ]
        programme = "does not fit"
        if family.count(pruned=False) < 200_000:
            seconds, value = all_structures(family.enumerate(pruned=False).flat)
            apart = max(0.0, ours.solution.lower - value, value - ours.solution.upper)
            programme = f"{ratio(seconds, ours.until(GAPS[-1]))} (values {apart:.0e} apart)"
        print(f"{N:>4} {M:>5} {count:>11,}  " + "  ".join(cells) + f"  {programme}", flush=True)
        if theirs is not None:
            runs.append((N, ours, theirs))
    return runs


def finite_families() -> None:
    print("\nRandom finite families: time / time of cutting planes, to a gap of 1e-6")
    print("structures  profiles  rounds  Algorithm 1    cvxpy")
    for count in (1_000, 20_000, 200_000):
        family = rp.random_family(count, resolution=14, rng=count)
        ours = Timed(family)
        theirs = Timed(family, method="multiplicative-weights", rounds=10**6)
        seconds, value = all_structures(family)
        assert ours.solution.lower - 1e-6 <= value <= ours.solution.upper + 1e-6
        cells = [ratio(theirs.until(1e-6), ours.until(1e-6)), ratio(seconds, ours.until(1e-6))]
        line = f"{count:>10,}  {len(family.reports):>8,}  {ours.solution.rounds:>6}  {cells[0]:>11}  {cells[1]:>7}"
        print(line, flush=True)


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
    finite_families()
    draw(runs, Path("out/bench.png"))


if __name__ == "__main__":
    main()
