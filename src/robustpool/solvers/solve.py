"""``solve``: the game on a family of structures, to a measured gap; ``rounds``: the same, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import checks
from ..aggregators.restrictions import Lipschitz, Restriction
from ..checkpoints import SECONDS, Resume
from ..errors import InputError
from ..families.finite import FiniteFamily
from ..losses import get_loss
from ..structures.information_structure import InformationStructure
from .cutting_planes import CuttingPlanes
from .multiplicative_weights import MultiplicativeWeights
from .run import Run

if TYPE_CHECKING:
    from ..families.nature import Family
    from ..losses.loss import Loss
    from ..typing import FilePath
    from .solution import Solution
    from .solver import Solver, State

NATURES = ("grid", "continuous")
SOLVERS: dict[str, Any] = {solver.method: solver for solver in (CuttingPlanes, MultiplicativeWeights)}


def solve(
    family: Family | Sequence[InformationStructure],
    *,
    tolerance: float | None = None,
    loss: str | Loss = "square",
    paradigm: str = "additive",
    lipschitz: float | None = None,
    restrictions: Restriction | Sequence[Restriction] = (),
    solver: Solver | None = None,
    method: str | None = None,
    nature: str = "grid",
    canonical: str | None = None,
    epsilon: float | None = None,
    rounds: int | None = None,
    progress: Callable[[Any, int], None] | None = None,
    checkpoint: FilePath | None = None,
    checkpoint_seconds: float = SECONDS,
    resume: Resume = False,
) -> Solution:
    """The aggregator with the least worst-case regret over a family, and a mixture that shows it cannot be much better.

    Stops when upper - lower <= ``tolerance`` (1e-6), or after ``rounds``. The ``method`` is cutting planes, which needs
    few rounds, or multiplicative weights, the paper's Algorithm 1. With ``epsilon`` the latter runs in theory mode:
    exactly the rounds that [Guo2024, Theorem 4.2] asks for, whatever the gap. A ``solver`` is all of these settings in
    one record: ``CuttingPlanes(tolerance=1e-6)`` or ``MultiplicativeWeights(rounds=500)``.

    ``nature="continuous"`` lets nature choose any reports and priors against the interpolated table (the upper bound is
    then the worst that searches find). ``lipschitz=L`` is short for the restriction ``Lipschitz(L)``. ``canonical``
    chooses, among the tables within the tolerance of the best, the smoothest (``"smooth"``) or the one nearest to a rule
    (its name), for independent agents on a grid.

    ``progress`` is called after each round with the state and the round limit. Ctrl-C returns what was reached. With a
    ``checkpoint`` file the state is saved every ``checkpoint_seconds``, and ``resume=True`` continues from it to the same
    result as an uninterrupted run; ``resume="auto"`` does so if there is one. Without ``resume`` an unfinished run of the same
    game is not overwritten: that is an error.

    >>> from robustpool import FiniteFamily, solve
    >>> family = FiniteFamily.from_joints([[[0.5, 0.0], [0.25, 0.25]], [[0.25, 0.25], [0.5, 0.0]]])
    >>> solution = solve(family)   # the one signal tells the truth in one structure, lies in the other
    >>> solution.gap <= 1e-6
    True
    """
    checks.extra("a new design", "solve")
    if resume and checkpoint is None:
        raise InputError("resume needs a checkpoint file to continue from; checkpoint is None.")
    given = {"method": method, "tolerance": tolerance, "canonical": canonical, "epsilon": epsilon, "rounds": rounds}
    run = _run(family, loss, paradigm, lipschitz, restrictions, nature, _solver(solver, given))
    return run.solve(progress, checkpoint, resume=resume, seconds=checkpoint_seconds)


def rounds(
    family: Family | Sequence[InformationStructure],
    *,
    loss: str | Loss = "square",
    paradigm: str = "additive",
    lipschitz: float | None = None,
    restrictions: Restriction | Sequence[Restriction] = (),
    nature: str = "grid",
    solver: Solver | None = None,
    method: str | None = None,
    **settings: Any,
) -> Iterator[State]:
    """The same game, round by round, until ``solve`` would stop: states with ``round``, ``lower`` and ``upper``.

    Takes the settings of ``solve``: ``tolerance``, ``rounds``, ``epsilon``, ``canonical``.

    >>> from robustpool import FiniteFamily, rounds
    >>> family = FiniteFamily.from_joints([[[0.5, 0.0], [0.25, 0.25]], [[0.25, 0.25], [0.5, 0.0]]])
    >>> for state in rounds(family, tolerance=1e-6):
    ...     gap = state.upper - state.lower
    >>> gap <= 1e-6
    True
    """
    solver = _solver(solver, {"method": method, **settings})
    return _run(family, loss, paradigm, lipschitz, restrictions, nature, solver).states()


def _run(
    family: Any,
    loss: str | Loss,
    paradigm: str,
    lipschitz: float | None,
    restrictions: Restriction | Sequence[Restriction],
    nature: str,
    solver: Solver,
) -> Run:
    began = time.perf_counter()
    limits = list(restrictions) if isinstance(restrictions, Sequence) else [restrictions]
    if lipschitz is not None:
        limits.append(Lipschitz(lipschitz))
    kind = checks.choice("nature", nature, NATURES)
    family = _family(family)
    opponent = solver.nature(family, get_loss(loss), paradigm, limits, kind)
    return Run(family, opponent, solver, paradigm, kind, limits, began)


def _solver(solver: Solver | None, given: dict[str, Any]) -> Solver:
    """The solver, or the one that the settings describe."""
    settings = {name: value for name, value in given.items() if value is not None}
    if solver is not None:
        if settings:
            raise InputError(f"give a solver or its settings, not both; these were also given: {', '.join(settings)}.")
        return solver
    if {"rounds", "epsilon"} <= settings.keys():
        raise InputError(
            f"give rounds or epsilon, not both: epsilon = {settings['epsilon']!r} determines the number of rounds."
        )
    default = MultiplicativeWeights.method if "epsilon" in settings else CuttingPlanes.method
    method = checks.choice("method", settings.pop("method", None) or default, SOLVERS)
    if "epsilon" in settings and method != MultiplicativeWeights.method:
        raise InputError(f"epsilon belongs to the method multiplicative-weights; the method is {method!r}.")
    if "canonical" in settings and method != CuttingPlanes.method:
        raise InputError("canonical requires cutting planes and nature on the grid.")
    return SOLVERS[method](**settings)


def _family(family: Any) -> Family:
    """What users give as a family; a list of structures is one."""
    if isinstance(family, (list, tuple)) and all(isinstance(one, InformationStructure) for one in family):
        return FiniteFamily.from_structures(family)
    if not (hasattr(family, "nature") and hasattr(family, "fingerprint")):
        raise InputError(
            "family must be a FiniteFamily, ConditionallyIndependent or a list of structures; "
            f"it is {type(family).__name__}."
        )
    return family
