"""How far apart the reports of two structures are: total variation and earth mover's distance [Guo2024, Sections 5, 6]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import checks
from ..errors import SolverError
from ..families.finite import FiniteFamily
from ..structures.binary_structure import BinaryStructure
from ..structures.information_structure import InformationStructure

if TYPE_CHECKING:
    from ..typing import Floats

Structure: TypeAlias = BinaryStructure | InformationStructure

DUALITY_GAP = 1e-9
"""How far the cost of a transport plan may lie from the bound that its prices prove, per unit of mass."""


def total_variation(one: Structure, other: Structure) -> float:
    """d_TV = 1/2 sum_x |Pr_one[x] - Pr_other[x]| over the report profiles x [Guo2024, Definition 5.3].

    Reports that are equal up to rounding are the same report.

    >>> even, uneven = BinaryStructure(0.5, [[0.0, 1.0]]), BinaryStructure(0.25, [[0.0, 1.0]])
    >>> total_variation(even, uneven)
    0.25
    """
    _, difference = _difference(one, other)
    return float(np.abs(difference).sum() / 2)


def earth_mover(one: Structure, other: Structure) -> float:
    """d_EM = min over couplings of E |x - x'|_1, between the report profiles [Guo2024, Definition 6.2].

    What both have in common stays in place; a linear programme moves the rest, which is as much as the total variation.
    Its prices prove a lower bound by duality, and a plan that does not meet it raises.

    >>> even, uneven = BinaryStructure(0.5, [[0.0, 1.0]]), BinaryStructure(0.25, [[0.2, 1.0]])
    >>> round(earth_mover(even, uneven), 12)
    0.45
    """
    profiles, difference = _difference(one, other)
    source, sink = np.maximum(difference, 0), np.maximum(-difference, 0)
    moved = source.sum()
    if not (moved > 0 and sink.sum() > 0):
        return 0.0
    lengths = np.abs(profiles[source > 0][:, None] - profiles[sink > 0]).sum(axis=2)
    return float(moved * _transport(lengths, source[source > 0] / moved, sink[sink > 0] / sink.sum()))


def _difference(one: Structure, other: Structure) -> tuple[Floats, Floats]:
    """The report profiles of both as rows, shape (m, coordinates), and Pr_one[x] - Pr_other[x], shape (m,)."""
    joint = [s.to_information_structure() if isinstance(s, BinaryStructure) else s for s in (one, other)]
    family = FiniteFamily.from_structures(joint)
    sign = np.where(family.structure_of_point == 0, 1.0, -1.0)
    difference = np.bincount(family.profile, sign * family.mass.sum(axis=1))
    return family.reports.reshape(len(family.reports), -1), np.asarray(difference, dtype=np.float64)


def _transport(lengths: Floats, source: Floats, sink: Floats) -> float:
    """The least mean length of a plan with these marginals, by the linear programme of its prices.

    Prices u, v with u_i + v_j <= lengths_ij, as large as possible; the multiplier of an inequality is the mass moved.
    Whatever v is, sum_i source_i min_j (lengths_ij - v_j) + sum_j sink_j v_j bounds the cost of every plan from below.
    """
    checks.extra("the earth mover's distance", "solve")
    from scipy import sparse
    from scipy.optimize import linprog

    rows, columns = lengths.shape
    leaves = sparse.kron(sparse.eye_array(rows), np.ones((columns, 1)))
    arrives = sparse.kron(np.ones((rows, 1)), sparse.eye_array(columns))
    ways: Any = sparse.hstack([leaves, arrives])  # the stubs of linprog know no sparse arrays
    marginals = np.concatenate([source, sink])
    pinned = [(0, 0), *[(None, None)] * (rows + columns - 1)]
    exact: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer: Any = linprog(-marginals, ways, lengths.ravel(), bounds=pinned, method="highs", options=exact)
    if answer.x is None:
        raise SolverError(f"the earth mover's linear programme failed ({answer.message}).")
    plan, prices = -answer.ineqlin.marginals, answer.x[rows:]
    cost, lower = plan @ lengths.ravel(), source @ (lengths - prices).min(axis=1) + sink @ prices
    missed = np.abs(plan @ ways - marginals).sum()
    if not max(abs(cost - lower), missed) <= DUALITY_GAP:
        raise SolverError(
            f"the earth mover's plan must meet its bound; it costs {cost:.12g}, the bound is {lower:.12g}, "
            f"and its marginals miss by {missed:.2g}."
        )
    return float(cost)
