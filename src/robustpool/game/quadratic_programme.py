"""The best response under the square loss and difference constraints: a quadratic programme [Guo2024, lem:lipbestresponsecomp]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..conic import diagonal, solve_cones
from ..errors import SolverError, UnsupportedError
from .response import WEAK_DUALITY, Response, cost, dual_bound

if TYPE_CHECKING:
    from ..typing import Floats
    from .feasible import FeasibleTables

PULL = 1e-9


class QuadraticProgramme:
    """Square loss under difference constraints: min h (p |y|^2 - 2 m.y) with one y for each cell.

    For two states y is the probability of the second (h p |y|^2 becomes p y^2 - 2 m_1 y); for more it is the vector.
    """

    arithmetic = WEAK_DUALITY
    cheap = False

    def __init__(self, tables: FeasibleTables) -> None:
        self.tables = tables

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        tables, polyhedron = self.tables, self.tables.polyhedron
        total = masses.sum(axis=1)
        size = total.max() or 1.0
        default = tables.feasible(tables.default)  # where no mass is, anything goes: stay near it
        curvature = diagonal(np.tile(2 * total / size, polyhedron.columns) + PULL)
        linear = -2 * polyhedron.flat(masses) / size - PULL * polyhedron.flat(default)
        solution, bonds = polyhedron.lazily(
            lambda part: solve_cones(curvature, linear, part.matrix, part.side, part.cones), default
        )
        if "Infeasible" in solution.status:
            raise UnsupportedError(
                "no aggregator of this family has a finite ratio: structures without omniscient loss force forecasts "
                "that the restrictions forbid."
            )
        if not solution.accepted:
            raise SolverError(f"the cone solver failed on the best response (status {solution.status}).")
        table = tables.feasible(polyhedron.table(solution.x))
        least = dual_bound(tables, masses, size * polyhedron.multipliers(solution.z, bonds))
        return Response(table, cost(masses, tables.loss.table(table)), least)
