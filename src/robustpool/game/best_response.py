"""The aggregator's best response to a mixture [Guo2024, Observation 4.5 and Lemma 4.3].

Given the mass table M (cells, states) of a mixture, minimise sum_x sum_omega M(x, omega) l(f(x), omega) over the tables
f that the layout allows. Three ways, the first that applies: the posterior in closed form; a quadratic programme on a
cone solver, for the square loss with difference constraints; cvxpy for everything else that is convex. Each returns the
table and a *lower* bound on the minimum that does not rest on a solver's word where that can be had: with multipliers
lambda >= 0 of the difference constraints, weak duality gives

    min_f  >=  sum_x min_{y in simplex} { M(x,.) . l(y,.) + (G' lambda)(x,.) . y }  -  lambda . slack

(docs/derivations/dual-bound), computed here from the closed form of each tilted minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import SolverError, UnsupportedError
from ..numerics import safe_divide
from .losses import ConvexLoss, Log, Square, forecast_table, forecast_variable, solve_convex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .finite_game import FiniteGame

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Response:
    """A table, what it costs, and a lower bound on what any table of the family costs."""

    table: Floats
    cost: float
    least: float


class Responder(Protocol):
    """Best responses for one game."""

    @property
    def arithmetic(self) -> str:
        """What the lower bound rests on, in words."""
        ...

    @property
    def cheap(self) -> bool:
        """Whether a response costs less than a pass over the structures."""
        ...

    def __call__(self, masses: Floats) -> Response:
        """The best response to the mass table of a mixture."""
        ...


def best_responder(game: FiniteGame) -> Responder:
    """The first way that applies."""
    layout = game.layout
    if layout.constraints or isinstance(game.loss, ConvexLoss):
        return ConvexProgramme(game)
    if len(layout.differences) == 0:
        return ClosedForm(game)
    return QuadraticProgramme(game) if isinstance(game.loss, Square) else ConvexProgramme(game)


class ClosedForm:
    """The posterior Pr[omega | x] under the mixture; where the mixture never leads, that under the uniform one."""

    arithmetic = "float64, closed form"
    cheap = True

    def __init__(self, game: FiniteGame) -> None:
        self.game = game
        everywhere = game.masses(np.full(len(game.family), 1.0))
        self.elsewhere = np.where(game.pinned[:, None], game.pins, _shares(everywhere))

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        game = self.game
        reached = (masses.sum(axis=1) > 0) & ~game.pinned
        table = np.where(reached[:, None], _shares(masses), self.elsewhere)
        if game.pinned.any():
            cost = float(_cost(masses, game.loss.table(table)))
        else:
            cost = float(game.loss.bayes_risk(masses).sum())
        return Response(table, cost, cost)


class QuadraticProgramme:
    """Square loss under difference constraints, on Clarabel: min h (p |y|^2 - 2 m.y) with one y for each cell.

    For two states y is the probability of the second (h p |y|^2 becomes p y^2 - 2 m_1 y); for more it is the vector.
    """

    arithmetic = "float64, weak duality from the cone solver's multipliers"
    cheap = False

    def __init__(self, game: FiniteGame) -> None:
        import clarabel
        from scipy import sparse

        self.game = game
        columns = 1 if game.states == 2 else game.states
        cells = game.layout.cells
        bonds = game.layout.differences
        edge = np.arange(len(bonds))
        plus_minus = np.concatenate((np.ones(len(bonds)), -np.ones(len(bonds))))
        ends = (np.concatenate((edge, edge)), np.concatenate((bonds.upper, bonds.lower)))
        gradient = sparse.csc_matrix((plus_minus, ends), shape=(len(bonds), cells))
        unit = sparse.identity(columns * cells, format="csc")
        each = sparse.kron(sparse.identity(columns), gradient, format="csc")  # column by column
        pinned = np.tile(game.pinned, columns)
        shown = (game.pins[:, 1:] if columns == 1 else game.pins).T.ravel()
        equal, equal_side = unit[pinned], shown[pinned]
        bounds, bounds_side = -unit[~pinned], np.zeros(int((~pinned).sum()))
        if columns == 1:
            bounds, bounds_side = sparse.vstack((bounds, -bounds)), np.concatenate((bounds_side, bounds_side + 1))
        else:
            sums = sparse.hstack([sparse.identity(cells, format="csc")[~game.pinned]] * columns)
            equal, equal_side = sparse.vstack((equal, sums)), np.concatenate((equal_side, np.ones(sums.shape[0])))
        self.matrix = sparse.vstack((equal, each, bounds), format="csc")
        self.side = np.concatenate((equal_side, np.tile(bonds.slack, columns), bounds_side))
        equalities = len(equal_side)
        self.cones = [clarabel.ZeroConeT(equalities)] if equalities else []
        self.cones.append(clarabel.NonnegativeConeT(len(self.side) - equalities))
        self.columns = columns
        self.gradient = gradient
        self.multipliers = slice(equalities, equalities + columns * len(bonds))
        self.sparse = sparse
        self.clarabel = clarabel

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        game = self.game
        total = masses.sum(axis=1)
        size = total.max() or 1.0
        curvature = np.tile(2 * total / size, self.columns) + 1e-12  # where no mass is, anything goes: stay bounded
        linear = -2 * (masses[:, 1:] if self.columns == 1 else masses).T.ravel() / size
        solution = self._solve(self.sparse.diags(curvature, format="csc"), linear)
        y = np.array(solution.x).reshape(self.columns, -1).T
        table = forecast_table(y[:, 0] if self.columns == 1 else y)
        table = np.where(game.pinned[:, None], game.pins, table)
        table = game.layout.differences.repaired(table)
        multipliers = size * np.maximum(np.array(solution.z)[self.multipliers].reshape(self.columns, -1), 0.0)
        return Response(
            table, float(_cost(masses, game.loss.table(table))), dual_bound(game, masses, multipliers, self.gradient)
        )

    def _solve(self, quadratic: Any, linear: Floats) -> Any:
        """Clarabel, and once more with stronger regularisation if it stumbles."""
        for regularisation in (1e-8, 1e-6):
            settings = self.clarabel.DefaultSettings()
            settings.verbose = False
            settings.max_threads = 1
            settings.static_regularization_constant = regularisation
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
            solver = self.clarabel.DefaultSolver(quadratic, linear, self.matrix, self.side, self.cones, settings)
            solution = solver.solve()
            if "Infeasible" in str(solution.status):
                raise UnsupportedError(
                    "no aggregator of this family has a finite ratio: structures without omniscient loss force forecasts "
                    "that the restrictions forbid."
                )
            if np.isfinite(solution.x).all() and str(solution.status) in ("Solved", "AlmostSolved"):
                return solution
        raise SolverError(f"the cone solver failed on the best response (status {solution.status}).")


def dual_bound(game: FiniteGame, masses: Floats, multipliers: Floats, gradient: Any) -> float:
    """The lower bound of the module's head; ``multipliers`` has shape (states or 1, constraints)."""
    assert isinstance(game.loss, (Square, Log))
    tilt = np.zeros_like(masses)
    tilt[:, -len(multipliers) :] = (gradient.T @ multipliers.T).reshape(len(masses), -1)
    fixed = _by_cell(masses, game.loss.table(game.pins)) + np.sum(tilt * game.pins, axis=1)
    least = np.where(game.pinned, fixed, game.loss.tilted_minimum(masses, tilt))
    return float(least.sum() - np.sum(multipliers @ game.layout.differences.slack))


class ConvexProgramme:
    """Any convex loss and any convex family of tables, by cvxpy: the paper's convex-optimisation oracle."""

    cheap = False

    def __init__(self, game: FiniteGame) -> None:
        import cvxpy as cp
        from scipy import sparse

        self.game = game
        layout, bonds = game.layout, game.layout.differences
        if game.pinned.any() and isinstance(game.loss, ConvexLoss):
            raise UnsupportedError(
                "the ratio of a custom loss needs a positive omniscient loss in every structure; "
                f"structure {self._lossless()!r} has none."
            )
        self.forecast, rules = forecast_variable(layout.cells, game.states)
        self.masses = cp.Parameter((layout.cells, game.states), nonneg=True)
        terms = [
            cp.multiply(self.masses[:, state], game.loss.expression(self.forecast, state))
            for state in range(game.states)
        ]
        shown = game.pins[:, 1] if game.states == 2 else game.pins
        if game.pinned.any():
            rules.append(self.forecast[game.pinned] == shown[game.pinned])
        self.bonds = None
        self.gradient = sparse.csc_matrix((0, layout.cells))
        if len(bonds):
            edge = np.arange(len(bonds))
            shape = (len(bonds), layout.cells)
            self.gradient = sparse.csc_matrix((np.ones(len(bonds)), (edge, bonds.upper)), shape=shape)
            self.gradient -= sparse.csc_matrix((np.ones(len(bonds)), (edge, bonds.lower)), shape=shape)
            slack = bonds.slack if game.states == 2 else np.repeat(bonds.slack[:, None], game.states, axis=1)
            self.bonds = self.gradient @ self.forecast <= slack
            rules.append(self.bonds)
        rules.extend(layout.user_constraints(self.forecast))
        self.problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms))), rules)

    @property
    def exact(self) -> bool:
        """Whether the dual bound is our own."""
        return isinstance(self.game.loss, (Square, Log)) and not self.game.layout.constraints

    @property
    def arithmetic(self) -> str:
        """See Responder."""
        return QuadraticProgramme.arithmetic if self.exact else "float64, the convex solver's value less its tolerance"

    def __call__(self, masses: Floats) -> Response:
        """See Responder."""
        game = self.game
        size = float(masses.sum(axis=1).max()) or 1.0
        self.masses.value = masses / size
        solve_convex(self.problem, "the best response")
        table = forecast_table(np.asarray(self.forecast.value))
        table = np.where(game.pinned[:, None], game.pins, table)
        table = game.layout.differences.repaired(table)
        cost = float(_cost(masses, game.loss.table(table)))
        if self.exact:
            dual = (
                np.zeros((1 if game.states == 2 else game.states, 0)) if self.bonds is None else self.bonds.dual_value
            )
            multipliers = size * np.maximum(np.atleast_2d(np.asarray(dual).T), 0.0)
            least = dual_bound(game, masses, multipliers, self.gradient)
        else:
            found = size * float(self.problem.value)
            least = min(found, cost) - 1e-8 * max(1.0, abs(found))
        return Response(table, cost, least)

    def _lossless(self) -> str:
        return self.game.family.name(int(np.argmax(self.game.scale == 0)))


def _shares(masses: Floats) -> Floats:
    return safe_divide(masses, masses.sum(axis=1, keepdims=True))


def _by_cell(masses: Floats, losses: Floats) -> Floats:
    """sum_omega M(x, omega) l(f(x), omega) for each cell; an impossible state costs nothing."""
    return np.where(masses > 0, masses * np.where(masses > 0, losses, 0.0), 0.0).sum(axis=1)


def _cost(masses: Floats, losses: Floats) -> float:
    return float(_by_cell(masses, losses).sum())
