"""An aggregator as a curve: the forecast is a function of the mean probit of the reports.

The reports are pooled to x = Phi(mean of Phi^-1(x_i)), and the forecast is linear in x between the knots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import checks, html
from ..errors import InputError
from ..numerics import normal_cdf, probit
from ..wording import counted
from .rows import Rows, answers, contradictory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..typing import Floats

SHOWN = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Pooled reports whose forecasts a notebook shows."""


@dataclass(frozen=True, eq=False)
class CurveAggregator:
    """f(Phi(mean z)) with z_i = Phi^-1(x_i), for up to ``agents`` reports; two states.

    ``knots`` are pooled reports that rise from 0 to 1. A report of 0 or 1 decides; if both come, the forecast is 1/2. A
    single report is the forecast: whoever is calibrated needs no correction.

    >>> f = CurveAggregator(2, np.array([0.0, 0.5, 0.8, 1.0]), np.array([0.0, 0.5, 0.95, 1.0]))
    >>> f([[0.8, 0.8], [0.8, np.nan], [0.0, 0.7]]).round(4)
    array([0.95, 0.8 , 0.  ])
    """

    agents: int
    knots: Floats  # (knots,)
    forecasts: Floats  # (knots,)

    fewer: ClassVar[bool] = True
    """Whether it takes fewer answers than ``agents`` as well."""

    decided_by_one: ClassVar[bool] = True
    """Whether a certain report decides."""

    def __post_init__(self) -> None:
        """Copy and check the curve."""
        checks.whole("agents", self.agents, least=1)
        knots = checks.unit_array("knots", self.knots)
        forecasts = checks.unit_array("forecasts", self.forecasts, of="forecast")
        if knots.ndim != 1 or knots.shape != forecasts.shape:
            raise InputError(
                f"a curve needs one forecast for each knot; the shapes are {knots.shape} and {forecasts.shape}."
            )
        if len(knots) < 2 or knots[0] != 0 or knots[-1] != 1 or not (np.diff(knots) > 0).all():
            raise InputError(
                f"the knots of a curve must rise from 0 to 1; there are {len(knots)}, from {knots[0]:g} to {knots[-1]:g}."
            )
        object.__setattr__(self, "knots", checks.frozen(knots))
        object.__setattr__(self, "forecasts", checks.frozen(forecasts))

    def as_data(self) -> dict[str, Any]:
        """The curve as it stands in a design file."""
        return {
            "kind": "curve",
            "agents": self.agents,
            "interpolation": "linear in Phi(mean probit)",
            "knots": self.knots.tolist(),
            "forecasts": self.forecasts.tolist(),
        }

    def __call__(self, reports: ArrayLike) -> Floats:
        """The forecasts for reports: (m, n) -> (m,); NaN for a row without answers."""
        x = np.asarray(reports, dtype=np.float64)
        if x.ndim != 2:
            raise InputError(f"reports must have the shape (m, n); the shape is {x.shape}.")
        bad = ~((x >= 0) & (x <= 1)) & ~np.isnan(x)
        if bad.any():
            where = np.argwhere(bad)[0]
            raise InputError(f"report must lie in [0, 1]; reports{checks.place(where)} is {x[tuple(where)]:g}.")
        count = answers(x)
        if (count > self.agents).any():
            row = int(np.argmax(count > self.agents))
            raise InputError(
                f"this design is for up to {self.agents} answers per row; row {row} has {count[row]} "
                f"({np.count_nonzero(count > self.agents)} of {len(x)} rows have more)."
            )
        forecasts = np.full(len(x), np.nan)
        several, alone = count > 1, count == 1
        forecasts[several] = self.at(pooled(x[several]))
        forecasts[alone] = np.nansum(x[alone], axis=1)
        return forecasts

    def at(self, x: Floats) -> Floats:
        """The forecasts for pooled reports."""
        return np.asarray(np.interp(x, self.knots, self.forecasts))

    def __repr__(self) -> str:
        """Its shape, in a line."""
        return f"CurveAggregator(up to {counted(self.agents, 'agent')}, {len(self.knots)} knots)"

    def _repr_html_(self) -> html.Html:
        """In a notebook: some pooled reports and their forecasts."""
        rows = [[f"{x:g}", f"{y:.4f}"] for x, y in zip(SHOWN, self.at(np.array(SHOWN)), strict=True)]
        size = html.line(f"up to {counted(self.agents, 'agent')}, {len(self.knots)} knots, linear in between")
        header = ["all say, or Phi(mean probit)", "forecast"]
        return html.card("Aggregator as a curve of the mean probit", size, html.table(header, rows, 0, "knots"))


def pooled(reports: Floats) -> Floats:
    """Phi(mean of the probits) of each row with an answer; 1/2 where one agent is certain of 0 and another of 1."""
    torn = contradictory(reports)
    return np.where(
        torn,
        0.5,
        normal_cdf(Rows(np.where(torn[:, None], 0.5, reports)).mean(probit(np.where(torn[:, None], 0.5, reports)))),
    )
