"""Losses l(y, omega) of a forecast y when the state is omega [Guo2024, Section 3].

Inside, a forecast is always a probability vector over the states, so a table of forecasts has shape (cells, states).
What an aggregator faces at a cell is a row of masses m(omega) (probabilities of the states together with the cell);
the expected loss there is sum_omega m(omega) l(y, omega). For two states the square loss is (y - omega)^2, which is
half of the sum over both states; with more states it is the sum over the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .. import checks
from ..errors import InputError, SolverError, UnsupportedError
from ..numerics import project_simplex, safe_divide

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


NO_MASS = 1e-100
"""Masses below this are 0 where they would be divided by."""


class Loss(Protocol):
    """A loss that is convex in the forecast."""

    @property
    def name(self) -> str:
        """The word for it in files."""
        ...

    def table(self, forecasts: Floats) -> Floats:
        """l(y, omega) for each forecast and state: (m, states) -> (m, states)."""
        ...

    def bayes_risk(self, masses: Floats) -> Floats:
        """min over y of sum_omega m(omega) l(y, omega), for each row of masses: (m, states) -> (m,)."""
        ...

    def bound(self, states: int) -> float:
        """The largest value of the loss; infinite if there is none. A convex loss has it at a vertex."""
        ...

    def expression(self, forecast: Any, state: int) -> Any:
        """The loss in one state as a cvxpy expression of the forecasts: (m,) for two states, else (m, states)."""
        ...


class ProperLoss(Loss, Protocol):
    """A loss whose best forecast is the posterior, with a closed form when it is tilted by a linear term."""

    def tilted_minimum(self, masses: Floats, tilt: Floats) -> Floats:
        """A lower bound on min over y of sum_omega m(omega) l(y, omega) + tilt . y, tight up to rounding."""
        ...


@dataclass(frozen=True)
class Square:
    """The Brier score: (y - omega)^2 for two states, sum_k (y_k - [omega = k])^2 for more."""

    name: str = "square"

    def table(self, forecasts: Floats) -> Floats:
        """Half or whole of (1 - y_omega)^2 + sum_{k != omega} y_k^2, where 1 - y_omega is the sum of the others."""
        return _halves(forecasts) * (_others(forecasts) ** 2 + _others(forecasts**2))

    def bayes_risk(self, masses: Floats) -> Floats:
        """sum_omega m (p - m)/p with p = sum_omega m; for two states m_0 m_1/p."""
        return _halves(masses) * safe_divide(np.sum(masses * _others(masses), axis=1), masses.sum(axis=1))

    def bound(self, states: int) -> float:
        """1 for two states, 2 for more."""
        return 1.0 if states == 2 else 2.0

    def expression(self, forecast: Any, state: int) -> Any:
        """See Loss."""
        import cvxpy as cp

        if forecast.ndim == 1:
            return cp.square(forecast - state)
        target = np.eye(forecast.shape[1])[state][None]
        return cp.sum(cp.square(forecast - np.repeat(target, forecast.shape[0], axis=0)), axis=1)

    def tilted_minimum(self, masses: Floats, tilt: Floats) -> Floats:
        """h (p |y|^2 - 2 m.y + p) + tilt.y at y = projection of (2 h m - tilt)/(2 h p); at a vertex where p = 0."""
        h = _halves(masses)
        total = masses.sum(axis=1, keepdims=True)
        vertex = (tilt == tilt.min(axis=1, keepdims=True)).astype(float)
        vertex /= vertex.sum(axis=1, keepdims=True)
        heavy = np.where(total > NO_MASS, total, 0.0)
        y = np.where(heavy > 0, project_simplex(safe_divide(2 * h * masses - tilt, 2 * h * heavy)), vertex)
        return np.sum(masses * self.table(y) + tilt * y, axis=1)


@dataclass(frozen=True)
class Log:
    """The logarithmic score -log y(omega)."""

    name: str = "log"

    def table(self, forecasts: Floats) -> Floats:
        """Infinite where a state is called impossible."""
        return -np.log(forecasts, out=np.full(forecasts.shape, -np.inf), where=forecasts > 0)

    def bayes_risk(self, masses: Floats) -> Floats:
        """-sum_omega m log(m/p)."""
        share = safe_divide(masses, masses.sum(axis=1, keepdims=True))
        return np.sum(masses * np.where(masses > 0, self.table(share), 0.0), axis=1)

    def bound(self, states: int) -> float:  # noqa: ARG002
        """There is none."""
        return np.inf

    def expression(self, forecast: Any, state: int) -> Any:
        """See Loss."""
        import cvxpy as cp

        if forecast.ndim == 1:
            return -cp.log(forecast) if state == 1 else -cp.log(1 - forecast)
        return -cp.log(forecast[:, state])

    def tilted_minimum(self, masses: Floats, tilt: Floats) -> Floats:
        """max over nu of sum_omega (m - m log(m/(tilt + nu))) - nu, at any nu with tilt + nu > 0 where m > 0 (>= 0 else).

        The dual of the constraint that y sums to 1: a lower bound for every nu. The best one solves
        sum_omega m/(tilt + nu) = 1 and is found by bisection.
        """
        total = masses.sum(axis=1)
        seen = masses > 0
        floor = -tilt.min(axis=1)  # nu >= -tilt everywhere keeps y >= 0 from sending the bound to -infinity
        low, high = floor, -np.min(np.where(seen, tilt, np.inf), axis=1, initial=np.inf)
        high = np.maximum(np.where(np.isfinite(high), high, floor), floor) + total
        for _ in range(100):
            middle = (low + high) / 2
            slope = np.sum(safe_divide(masses, np.maximum(tilt + middle[:, None], 0.0)), axis=1)
            blocked = np.any(seen & (tilt + middle[:, None] <= 0), axis=1)
            rises = blocked | (slope > 1)
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        shifted = tilt + high[:, None]
        share = np.where(seen & (shifted > 0), safe_divide(masses, shifted), 1.0)
        return np.sum(np.where(seen, masses - masses * np.log(share), 0.0), axis=1) - high


@dataclass(frozen=True)
class ConvexLoss:
    """Any convex loss, stated once in cvxpy: ``expression(forecast, state)``.

    For two states ``forecast`` is a vector of probabilities of the second state; for more it is a matrix with a row
    of probabilities for each forecast. The result is a vector, one loss for each forecast. State 0 is the first.

    >>> import cvxpy as cp
    >>> absolute = ConvexLoss(lambda y, state: cp.abs(y - state), name="absolute-error")
    >>> absolute.table(np.array([[0.25, 0.75]]))
    array([[0.75, 0.25]])
    """

    function: Callable[[Any, int], Any]
    name: str = "custom"

    def expression(self, forecast: Any, state: int) -> Any:
        """The user's expression, checked: convex, one loss for each forecast."""
        import cvxpy as cp

        try:
            result = cp.Expression.cast_to_const(self.function(forecast, state))
        except Exception as error:
            reason = str(error).split("\n")[0].rstrip(".")
            raise InputError(
                f"loss {self.name!r} must be a cvxpy expression; in state {state} it failed: {type(error).__name__}: {reason}."
            ) from error
        if result.shape != (forecast.shape[0],):
            raise InputError(
                f"loss {self.name!r} must return one loss for each forecast, shape ({forecast.shape[0]},); "
                f"for state {state} the shape is {result.shape}."
            )
        if not result.is_convex():
            raise UnsupportedError(
                f"loss {self.name!r} is not convex by cvxpy's rules in state {state}, so the game has no convex programme."
            )
        return result

    def table(self, forecasts: Floats) -> Floats:
        """See Loss: the expression at constants."""
        import cvxpy as cp

        states = forecasts.shape[1]
        shown = cp.Constant(forecasts[:, 1] if states == 2 else forecasts)
        with np.errstate(divide="ignore"):  # -log 0 is infinite, and that is meant
            columns = [np.asarray(self.expression(shown, state).value, float) for state in range(states)]
        values = np.stack(columns, axis=1)
        if np.isnan(values).any() or (values < -1e-12).any():
            raise InputError(
                f"loss {self.name!r} must be a number that is not negative; it takes {np.nanmin(values):g}."
            )
        return np.asarray(values)

    def bayes_risk(self, masses: Floats) -> Floats:
        """See Loss, to the accuracy of the convex solver: the value of the forecasts that it finds."""
        import cvxpy as cp

        total = masses.sum(axis=1)
        shares, index = np.unique(safe_divide(masses, total[:, None]).round(12), axis=0, return_inverse=True)
        best = np.min(shares @ self.table(np.eye(masses.shape[1])).T, axis=1)  # exact where a certain forecast is best
        for first in range(0, len(shares), 5000):
            part = shares[first : first + 5000]
            forecast, rules = forecast_variable(*part.shape)
            terms = [part[:, k] @ self.expression(forecast, k) for k in range(part.shape[1])]
            problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms))), rules)
            solve_convex(problem, f"the omniscient loss under {self.name!r}")
            found = np.sum(part * self.table(forecast_table(forecast.value)), axis=1)
            best[first : first + 5000] = np.minimum(best[first : first + 5000], found)
        return np.asarray(total * best[index.reshape(-1)])

    def bound(self, states: int) -> float:
        """See Loss."""
        return float(self.table(np.eye(states)).max())


def _halves(rows: Floats) -> float:
    return 0.5 if rows.shape[1] == 2 else 1.0


def _others(rows: Floats) -> Floats:
    """For each entry of a row the sum of the others, without the digits that subtracting it would lose."""
    if rows.shape[1] == 2:
        return rows[:, ::-1]
    return rows @ (1.0 - np.eye(rows.shape[1]))


def forecast_variable(cells: int, states: int) -> tuple[Any, list[Any]]:
    """A cvxpy variable for ``cells`` forecasts, and what makes it one: (cells,) for two states, else (cells, states)."""
    import cvxpy as cp

    if states == 2:
        scalar = cp.Variable(cells)
        return scalar, [scalar >= 0, scalar <= 1]
    vectors = cp.Variable((cells, states))
    return vectors, [vectors >= 0, cp.sum(vectors, axis=1) == 1]


def forecast_table(values: Floats) -> Floats:
    """What a solver returned, as exact forecasts of shape (cells, states)."""
    if values.ndim == 1:
        second = np.clip(values, 0.0, 1.0)
        return np.stack((1.0 - second, second), axis=1)
    return project_simplex(values)


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


LOSSES: dict[str, Square | Log] = {"square": Square(), "log": Log()}


def get_loss(loss: str | Loss) -> Loss:
    """The loss for a word, or the loss itself.

    >>> get_loss("log").name
    'log'
    """
    if isinstance(loss, (Square, Log, ConvexLoss)):
        return loss
    return LOSSES[checks.choice("loss", loss, LOSSES)]
