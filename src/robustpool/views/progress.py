"""How far a design or a proof is, in words: for the bar of a command, and for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wording import outward

if TYPE_CHECKING:
    from ..certificates.progress import Progress
    from ..solvers.solver import State

DIGITS = 7


def bounds_so_far(state: State, tolerance: float | None) -> dict[str, str]:
    """The bounds of a design after a round, rounded outward, and the gap that is left.

    >>> from robustpool.solvers.solver import State
    >>> bounds_so_far(State(round=2, lower=0.02, upper=0.0225424859), 1e-6)
    {'lower': '0.0200000', 'upper': '0.0225425', 'gap': '2.5e-03 (target 1e-06)'}
    """
    want = f" (target {tolerance:.0e})" if tolerance is not None else ""
    return {
        "lower": outward(state.lower, "ROUND_FLOOR", DIGITS),
        "upper": outward(state.upper, "ROUND_CEILING", DIGITS),
        "gap": f"{state.upper - state.lower:.1e}{want}",
    }


def proof_so_far(state: Progress) -> tuple[str, str]:
    """The bound of a proof as it falls, and how many intervals of priors are left."""
    proved = f"proved <= {state.upper:.9f}" if state.upper < 1 else "covering the priors" if state.left else "searched"
    return f"{proved}, found {state.lower:.9f}", f"{state.done:,} of {state.done + state.left:,} intervals of priors"
