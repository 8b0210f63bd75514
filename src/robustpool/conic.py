"""Cone programmes: the only file that knows Clarabel.

One thread, our own tolerances, and after a failure once more with stronger regularisation. Whatever comes back is a
proposal: bounds are computed from it elsewhere, never taken from the solver's word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import SolverError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .typing import Floats

TOLERANCE = 1e-10
REGULARISATIONS = (1e-8, 1e-6, 1e-4)


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """The point x, the multipliers z of the rows, and how the last attempt ended."""

    x: Floats
    z: Floats
    status: str
    attempts: int
    accepted: bool = False

    @property
    def stumbled(self) -> bool:
        """Whether the first attempt failed."""
        return self.attempts > 1 or not self.accepted

    @property
    def solved(self) -> bool:
        """Whether the point is finite and the solver is content with it."""
        return self.status in ("Solved", "AlmostSolved") and bool(np.isfinite(self.x).all())


def solve_cones(
    quadratic: Any,
    linear: Floats,
    matrix: Any,
    side: Floats,
    cones: Sequence[tuple[str, int]],
    *,
    accept: Callable[[ConeSolution], bool] = lambda solution: solution.solved,
    tolerance: float = TOLERANCE,
) -> ConeSolution:
    """Minimise 1/2 x' quadratic x + linear . x subject to matrix @ x + s = side, s in the cones, one after the other.

    A cone is its kind (zero, nonnegative, second-order, exponential) and its size.
    """
    import clarabel

    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second-order": clarabel.SecondOrderConeT,
        "exponential": lambda _: clarabel.ExponentialConeT(),
    }
    parts = [kinds[kind](size) for kind, size in cones if size]
    for attempt, regularisation in enumerate(REGULARISATIONS, 1):
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.static_regularization_constant = regularisation
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        result = clarabel.DefaultSolver(quadratic, linear, matrix, side, parts, settings).solve()
        solution = ConeSolution(np.array(result.x), np.array(result.z), str(result.status), attempt)
        if accept(solution):
            return replace(solution, accepted=True)
    return solution


def stacked(blocks: Sequence[Any], width: int) -> Any:
    """Sparse matrices below each other, with empty columns up to the width, in one step: scipy's own is slow if they are small."""
    from scipy import sparse

    parts = [block.tocoo() for block in blocks]
    starts = np.cumsum([0, *(part.shape[0] for part in parts)])
    rows = np.concatenate([part.row + start for part, start in zip(parts, starts, strict=False)])
    columns, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("col", "data"))
    return sparse.csc_matrix((values, (rows, columns)), shape=(int(starts[-1]), width))


def diagonal(values: Floats) -> Any:
    """A sparse diagonal matrix."""
    from scipy import sparse

    size = len(values)
    return sparse.csc_matrix((values, np.arange(size), np.arange(size + 1)), shape=(size, size))


def solve_convex(problem: Any, what: str) -> None:
    """Solve a cvxpy problem to high accuracy, or say what failed."""
    import warnings

    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "solution may be inaccurate": we compute our own values from it
        try:
            # no warm start: the solution must not depend on what was solved before, or a resumed run would differ
            problem.solve(solver=cp.CLARABEL, warm_start=False, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        except cp.error.DCPError:
            raise UnsupportedError(f"{what} is not a convex programme by cvxpy's rules.") from None
        except cp.error.SolverError as error:
            raise SolverError(f"the cone solver failed on {what} ({error}).") from None
    if problem.status in ("infeasible", "infeasible_inaccurate"):
        raise UnsupportedError(f"{what} has no solution: the constraints contradict each other.")
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise SolverError(f"the cone solver failed on {what} (status {problem.status}).")
