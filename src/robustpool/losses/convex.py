"""Any convex loss, stated once in cvxpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import extra
from ..conic import solve_convex
from ..errors import InputError, UnsupportedError
from ..numerics import project_simplex, safe_divide
from .loss import Loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats


@dataclass(frozen=True)
class ConvexLoss(Loss):
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
    proper, symmetric = False, False

    def __post_init__(self) -> None:
        """Refuse what cannot be evaluated."""
        extra("a loss of your own", "cvxpy")

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


def forecast_variable(cells: int, states: int) -> tuple[Any, list[Any]]:
    """A cvxpy variable for ``cells`` forecasts, and what makes it one: (cells,) for two states, else (cells, states)."""
    import cvxpy as cp

    forecast = cp.Variable(cells if states == 2 else (cells, states))
    return forecast, [forecast >= 0, forecast <= 1 if states == 2 else cp.sum(forecast, axis=1) == 1]


def forecast_table(values: Floats) -> Floats:
    """What a solver returned, as exact forecasts of shape (cells, states)."""
    if values.ndim == 1:
        second = np.clip(values, 0.0, 1.0)
        return np.stack((1.0 - second, second), axis=1)
    return project_simplex(values)
