"""Bounds that close: over the rounds of a solver, and over the Lipschitz constants of the aggregators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from .style import BLUE, GREY, LINES, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..designs.records import TracePoint
    from ..typing import Floats

    Trace = Mapping[str, Sequence[float]] | Sequence[TracePoint]

AGAINST = {"rounds": "round", "seconds": "seconds"}
COLUMNS = ("round", "lower", "upper", "seconds")
CURVES = (
    ("L", "upper", "o", 3.5, "value on the grid, with its bounds"),
    ("L", "interpolated", "s", 3.5, "the same tables between the grid points, found"),
    ("continuous_L", "continuous_upper", "^", 4, "best table between the grid points, found"),
)
"""Of the regret against L: both columns, the marker and its size, and what it is."""


def trace_columns(trace: Trace) -> dict[str, Floats]:
    """The rounds, bounds and seconds of a trace as arrays."""
    if isinstance(trace, Mapping):
        return {key: np.asarray(trace[key], dtype=float) for key in COLUMNS}
    return {key: np.array([getattr(point, key) for point in trace], dtype=float) for key in COLUMNS}


def draw_convergence(traces: Mapping[str, Trace], ax: Axes, *, against: str = "rounds") -> list[Any]:
    """Lower and upper bounds of one or more solvers, against their rounds or seconds on a logarithmic axis.

    A trace is that of a solution, or has the lists ``round``, ``lower``, ``upper`` and ``seconds``, as that of a design
    file has. The lower and the upper bound of a solver are lines of one kind, with the gap between them shaded.
    """
    checks.choice("against", against, tuple(AGAINST))
    columns = {name: trace_columns(trace) for name, trace in traces.items()}
    ends = [float(trace[bound][-1]) for trace in columns.values() for bound in ("lower", "upper")]
    finite = [end for end in ends if np.isfinite(end)] or [0.0]  # an upper bound can be infinite at first
    low, high = min(finite), max(finite)
    drawn = []
    for (name, trace), (colour, dash) in zip(columns.items(), cycle(LINES), strict=False):
        where, lower, upper = trace[AGAINST[against]], trace["lower"], trace["upper"]
        ax.fill_between(where, lower, upper, color=colour, alpha=0.12, linewidth=0)
        drawn += ax.plot(where, upper, color=colour, linestyle=dash, label=name, linewidth=1.4)
        ax.plot(where, lower, color=colour, linestyle=dash, linewidth=1.4)
        ax.plot(where[-1:], [(lower[-1] + upper[-1]) / 2], "o", color=colour, markersize=3.5)
    if all(trace[AGAINST[against]].min() > 0 for trace in columns.values()):
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
    spread = max(high - low, 0.1 * abs(high), 1e-12)
    ax.set(ylim=(low - 2.5 * spread, high + 2.5 * spread), xlabel=against, ylabel="bounds on the value")
    plain(ax)
    if len(traces) > 1:
        ax.legend(frameon=False, fontsize=8)
    return drawn


def draw_value_by_lipschitz(curve: Mapping[str, Sequence[float]], ax: Axes) -> list[Any]:
    """The value of the game against L with its bounds, and what the tables cost between the grid points.

    ``curve`` has the lists ``L``, ``lower`` and ``upper``, and, if they are to be shown: ``interpolated``, the worst
    regret found of each table on the continuum; ``continuous_L`` and ``continuous_upper``, that of tables made for the
    continuum; ``unrestricted``, the value without a bound on the slope.
    """
    L = np.asarray(curve["L"], dtype=float)
    ax.fill_between(L, curve["lower"], curve["upper"], color=BLUE, alpha=0.25, linewidth=0)
    drawn: list[Any] = []
    for (slopes, regrets, marker, size, label), (colour, dash) in zip(CURVES, LINES, strict=False):
        if regrets in curve:
            look: Any = {"color": colour, "marker": marker, "markersize": size, "label": label}
            drawn += ax.plot(curve[slopes], curve[regrets], dash, **look)
    if "unrestricted" in curve:
        floor = float(np.max(curve["unrestricted"]))
        drawn.append(ax.axhline(floor, color=GREY, linestyle=":", linewidth=1.2, label="value for any slope"))
    ax.set_xscale("log")
    ax.set_xticks(L, [f"{value:g}" for value in L])
    ax.minorticks_off()
    ax.set(xlabel="Lipschitz constant $L$", ylabel="worst regret")
    plain(ax)
    ax.legend(frameon=False, fontsize=8)
    return drawn
