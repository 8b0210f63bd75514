"""Cone programmes: the only file that knows Clarabel.

One thread and our own tolerances. A programme in matrices is tried again after a failure, twice at most, each time with
stronger regularisation; one in cvxpy is tried once. Whatever comes back is a proposal: bounds are computed from it
elsewhere, never taken from the solver's word.
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
TOLERANCES = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
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
        for name in TOLERANCES:
            setattr(settings, name, tolerance)
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
            problem.solve(solver=cp.CLARABEL, warm_start=False, max_threads=1, **dict.fromkeys(TOLERANCES, TOLERANCE))
        except cp.error.DCPError:
            raise UnsupportedError(f"{what} is not a convex programme by cvxpy's rules.") from None
        except cp.error.SolverError as error:
            raise SolverError(f"the cone solver failed on {what} ({error}).") from None
    if problem.status in ("infeasible", "infeasible_inaccurate"):
        raise UnsupportedError(f"{what} has no solution: the constraints contradict each other.")
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise SolverError(f"the cone solver failed on {what} (status {problem.status}).")


def cone_form(problem: Any) -> list[Any]:
    """A cvxpy problem as A x + s = b with s in some cones: the same lists for the same problem, for a hash."""
    import cvxpy as cp

    data, _, _ = problem.get_problem_data(cp.CLARABEL)
    matrix = data["A"].tocoo()
    entries = sorted(zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True))
    return [entries, data["b"].tolist(), str(data["dims"])]
