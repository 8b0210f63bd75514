"""An aggregator as a table on a uniform grid of reports, interpolated between them [Guo2024, lem:lipbestresponsecomp]."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks, html
from ..errors import InputError
from ..wording import counted
from .rows import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from ..typing import Floats, Integers

COMPILED_FROM = 1 << 15
"""Reports from which on compiled code pays for loading it, where numba is installed; the forecasts are the same."""

COMPILED_FROM_IF_LOADED = 1 << 8
"""The same where numba is loaded already, as in a search for worst cases, which asks for a few thousand again and again."""

SHOWN = 1 << 20  # values of a table whose Lipschitz constant is shown, at most


@dataclass(frozen=True, eq=False)
class GridAggregator:
    """f at the reports (k_1/N, ..., k_n/N), multilinear in between; two states.

    With alpha_i the place of x_i between its neighbours on the grid, f(x) is the mean of the 2^n corner values with the
    weights prod alpha_i or 1 - alpha_i. If neighbours on the grid differ by at most L/N, f is L-Lipschitz in the 1-norm.

    >>> f = GridAggregator(np.array([[0.0, 0.5], [0.5, 1.0]]))
    >>> f([[0.2, 0.4], [1.0, 0.0]])
    array([0.3, 0.5])
    """

    values: Floats  # (N + 1, ..., N + 1), an axis for each agent

    def __post_init__(self) -> None:
        """Copy and check the table."""
        values = checks.unit_array("values", self.values, of="forecast")
        if values.ndim == 0 or len(set(values.shape)) > 1 or values.shape[0] < 2:
            raise InputError(f"a grid needs the shape (N + 1, ..., N + 1) with N >= 1; the shape is {values.shape}.")
        object.__setattr__(self, "values", checks.frozen(values))

    @property
    def agents(self) -> int:
        """The number of agents."""
        return self.values.ndim

    @property
    def resolution(self) -> int:
        """N."""
        return self.values.shape[0] - 1

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant in the 1-norm: N times the largest step between neighbours."""
        return self.resolution * max(float(np.abs(np.diff(self.values, axis=a)).max()) for a in range(self.agents))

    def as_data(self) -> dict[str, Any]:
        """The table as it stands in a design file."""
        return {"kind": "grid", "interpolation": "multilinear", "values": self.values.tolist()}

    def __call__(self, reports: ArrayLike) -> Floats:
        """The forecasts for reports: (m, n) -> (m,); NaN for a row without answers."""
        x = np.asarray(reports, dtype=np.float64)
        if x.ndim == 2 and x.shape[1] != self.agents:
            raise InputError(f"this design is for {self.agents} agents; there are {x.shape[1]} reports.")
        if x.ndim != 2:
            raise InputError(f"reports must have the shape (m, {self.agents}); the shape is {x.shape}.")
        loaded = sys.modules.get("numba")
        if x.size >= (COMPILED_FROM_IF_LOADED if loaded else COMPILED_FROM) and (loaded or find_spec("numba")):
            from .interpolation import interpolate

            forecasts = np.empty(len(x))
            if interpolate(self.values, x, forecasts):
                return forecasts
        self._check(x)
        parts = [self._interpolate(x[block]) for block in blocks(x)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _check(self, x: Floats) -> None:
        """Refuse rows with some answers but not all, and what is no probability."""
        missing = np.isnan(x)
        partly = missing.any(axis=1) & ~missing.all(axis=1)
        if partly.any():
            row = int(np.argmax(partly))
            raise InputError(
                f"this design needs {self.agents} answers per row; row {row} has {self.agents - missing[row].sum()} "
                f"({partly.sum()} of {len(x)} rows have too few)."
            )
        bad = ~((x >= 0) & (x <= 1)) & ~missing
        if bad.any():
            where = np.argwhere(bad)[0]
            raise InputError(f"report must lie in [0, 1]; reports{checks.place(where)} is {x[tuple(where)]:g}.")

    def __repr__(self) -> str:
        """Its shape, in a line."""
        return f"GridAggregator({counted(self.agents, 'agent')}, reports in steps of 1/{self.resolution:,})"

    def _repr_html_(self) -> html.Html:
        """In a notebook: a heat map for two agents, else a line."""
        low, high, N = float(self.values.min()), float(self.values.max()), self.resolution
        agents = counted(self.agents, "agent")
        smooth = f", Lipschitz constant {self.lipschitz:.4g}" if self.values.size <= SHOWN else ""
        said = f"{agents}, reports in steps of 1/{N:,}, forecasts from {low:.4g} to {high:.4g}{smooth}"
        picture = [html.heatmap(self.values)] if self.agents == 2 else []
        return html.card("Aggregator on a grid", html.line(said), *picture)

    def _interpolate(self, x: Floats) -> Floats:
        total = np.zeros(len(x))
        for corner, weight in corners(np.nan_to_num(x), self.resolution):
            total += weight * self.values[tuple(corner.T)]
        return np.where(np.isnan(x[:, 0]), np.nan, np.clip(total, 0.0, 1.0))


def corners(x: Floats, resolution: int) -> Iterator[tuple[Integers, Floats]]:
    """The 2^n corners of the cell that each report profile (m, n) lies in: their places on the grid (m, n), their weights (m,)."""
    scaled = resolution * x
    cell = np.minimum(scaled.astype(np.int64), resolution - 1)
    alpha = scaled - cell
    for corner in product((0, 1), repeat=x.shape[1]):
        yield cell + np.array(corner), np.prod(np.where(corner, alpha, 1.0 - alpha), axis=1)
