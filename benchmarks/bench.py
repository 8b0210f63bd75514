"""Ratios measured side by side in one run: Algorithm 1 against one cvxpy programme with all structures written out.

Both solve the same random finite families to the same gap; each time is the better of two. Seconds are not printed,
because they say more about the machine than about the code.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import cvxpy as cp
import numpy as np
from scipy import sparse

import robustpool as rp

if TYPE_CHECKING:
    from collections.abc import Callable

GAP = 1e-5


def all_structures(family: rp.FiniteFamily) -> float:
    """min t subject to the regret of every structure being at most t, vectorised as well as cvxpy allows."""
    owner, mass = family.structure_of_point, family.mass
    total = mass.sum(axis=1)
    omniscient = np.bincount(owner, weights=mass.prod(axis=1) / total)
    shape = (len(family), len(family.reports))
    by_state = [sparse.csr_matrix((mass[:, k], (owner, family.profile)), shape=shape) for k in range(2)]
    f, worst = cp.Variable(shape[1]), cp.Variable()
    regret = by_state[0] @ cp.square(f) + by_state[1] @ cp.square(1 - f) - omniscient
    problem = cp.Problem(cp.Minimize(worst), [regret <= worst, f >= 0, f <= 1])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def best_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """The better of two runs, and the result."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - began)
    return min(times), result


def main() -> None:
    rp.solve(rp.random_family(10))  # compile
    print("structures  profiles  cvxpy time / Algorithm 1 time  rounds  |difference of values|")  # noqa: T201
    for count in (100, 1_000, 5_000, 20_000):
        family = rp.random_family(count, resolution=12, rng=count)
        ours, solution = best_time(lambda family=family: rp.solve(family, tolerance=GAP))
        theirs, value = best_time(lambda family=family: all_structures(family))
        apart = max(0.0, solution.lower - value, value - solution.upper)
        print(f"{count:>10,}  {len(family.reports):>8,}  {theirs / ours:>29.1f}  {solution.rounds:>6}  {apart:.1e}")  # noqa: T201


if __name__ == "__main__":
    main()
