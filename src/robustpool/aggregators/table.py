"""An aggregator as a table: a forecast for each report profile that can come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks, html
from ..errors import InputError
from ..numerics import rounding, unique_rows
from ..wording import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..typing import Floats, Integers


SHOWN = 10
"""Profiles that a notebook shows; and for so many agents each has a column."""


@dataclass(frozen=True, eq=False)
class TableAggregator:
    """f(x) for the profiles x of a finite family; any other profile is refused, never guessed.

    >>> f = TableAggregator(np.array([[[0.1], [0.5]], [[0.5], [0.5]]]), np.array([0.2, 0.7]))
    >>> f([[0.5, 0.5]])
    array([0.7])
    """

    reports: Floats  # (profiles, agents, coordinates)
    forecasts: Floats  # (profiles,) for two states, else (profiles, states)
    _levels: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Copy, check and index the profiles."""
        reports = checks.real_array("reports", self.reports)
        forecasts = checks.real_array("forecasts", self.forecasts)
        if reports.ndim != 3 or forecasts.ndim not in (1, 2) or len(reports) != len(forecasts):
            raise InputError(
                "a table needs reports of shape (profiles, agents, coordinates) and a forecast for each profile; "
                f"the shapes are {reports.shape} and {forecasts.shape}."
            )
        if not ((forecasts >= 0) & (forecasts <= 1)).all():
            raise InputError(f"forecast must lie in [0, 1]; the table has {forecasts.min():g} and {forecasts.max():g}.")
        object.__setattr__(self, "reports", checks.frozen(reports))
        object.__setattr__(self, "forecasts", checks.frozen(forecasts))
        object.__setattr__(self, "_levels", np.unique(reports))

    @property
    def agents(self) -> int:
        """The number of agents."""
        return self.reports.shape[1]

    def as_data(self) -> dict[str, Any]:
        """The table as it stands in a design file."""
        return {"kind": "table", "reports": self.reports.tolist(), "forecasts": self.forecasts.tolist()}

    def __call__(self, reports: ArrayLike) -> Floats:
        """The forecasts for profiles: (m, agents) or (m, agents, coordinates) -> (m,) or (m, states)."""
        asked = np.asarray(reports, dtype=np.float64)
        asked = asked[:, :, None] if asked.ndim == 2 else asked
        agents, width = self.reports.shape[1:]
        if asked.ndim == 3 and asked.shape[1] != agents:
            raise InputError(f"this design is for {agents} agents; there are {asked.shape[1]} reports.")
        if asked.ndim != 3 or asked.shape[2] != width:
            shape = f"(m, {agents})" if width == 1 else f"(m, {agents}, {width})"
            raise InputError(f"reports must have the shape {shape}; the shape is {np.shape(reports)}.")
        missing = np.isnan(asked).any(axis=(1, 2))
        if missing.any():
            raise InputError(
                f"this design needs a report of every agent; row {int(np.argmax(missing))} lacks one "
                f"({missing.sum()} of {len(asked)} rows do)."
            )
        return self.forecasts[self._find(asked)]

    def __repr__(self) -> str:
        """Its shape, in a line."""
        profiles, agents, _ = self.reports.shape
        return f"TableAggregator({counted(agents, 'agent')}, {counted(profiles, 'report profile')})"

    def _repr_html_(self) -> html.Html:
        """In a notebook: the first profiles and what is said there."""
        count, agents, _ = self.reports.shape
        wide = agents <= SHOWN
        header = [*([f"x{i + 1}" for i in range(agents)] if wide else ["reports"]), "forecast"]
        rows = [
            [*(map(html.numbers, profile) if wide else [_text(profile[:SHOWN])]), html.numbers(np.atleast_1d(forecast))]
            for profile, forecast in zip(self.reports[:SHOWN], self.forecasts[:SHOWN], strict=True)
        ]
        more = "" if wide else f"; {SHOWN} agents are shown"
        size = html.line(f"{agents:,} agents, {count:,} report profiles{more}")
        return html.card("Aggregator as a table", size, html.table(header, rows, count - SHOWN, "profiles"))

    def _find(self, asked: Floats) -> Integers:
        """The row of each profile, reports compared up to rounding."""
        index, profiles = self._index(asked), len(self.reports)
        both, inverse = unique_rows(np.concatenate((self._index(self.reports), index)) + 1)
        row = np.full(len(both), -1)
        row[inverse[:profiles]] = np.arange(profiles)
        found = row[inverse[profiles:]]
        missing = (found < 0) | (index < 0).any(axis=1)
        if missing.any():
            at = int(np.flatnonzero(missing)[0])
            nearest = self.reports[np.argmin(np.abs(self.reports - asked[at]).sum(axis=(1, 2)))]
            raise InputError(
                f"reports must be a profile of the design's family; row {at} is {_text(asked[at])}, the nearest profile is "
                f"{_text(nearest)} ({missing.sum()} of {len(asked)} rows)."
            )
        return found

    def _index(self, reports: Floats) -> Integers:
        """Each report coordinate as the number of the level that it equals up to rounding; -1 where there is none."""
        right = np.clip(np.searchsorted(self._levels, reports), 0, len(self._levels) - 1)
        left = np.maximum(right - 1, 0)
        closer = np.abs(self._levels[left] - reports) < np.abs(self._levels[right] - reports)
        level = np.where(closer, left, right)
        same = np.abs(self._levels[level] - reports) <= 2 * rounding(self._levels[level])
        return np.where(same, level, -1).reshape(len(reports), -1)


def _text(profile: Floats) -> str:
    """A profile as people write it."""
    reports = [f"{agent[0]:.12g}" if len(agent) == 1 else ",".join(f"{x:.12g}" for x in agent) for agent in profile]
    return f"({', '.join(reports)})"
