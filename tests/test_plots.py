"""The drawing functions use exactly the axes that they are given, and draw what they are told."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from robustpool import plots
from robustpool.plots.convergence import trace_columns

if TYPE_CHECKING:
    from collections.abc import Callable

X = np.linspace(0, 1, 5)
TABLE = np.add.outer(X, X) / 2
TRACE: dict[str, list[float]] = {
    "round": [1, 2, 3],
    "lower": [0.1, 0.2, 0.21],
    "upper": [0.4, 0.25, 0.22],
    "seconds": [0.1, 0.2, 0.3],
}
BANDS = {
    "share": X, "omniscient": X, "least": X, "most": X + 0.1, "afforded": X + 0.2, "worst": np.array([0.5, 0.6]),
}  # fmt: skip
POINTS = np.array([[0.1, 0.2, 0.5], [0.8, 0.9, 0.5]])

DRAWINGS: dict[str, Callable[[Any], Any]] = {
    "aggregator": lambda ax: plots.draw_aggregator(TABLE, ax),
    "aggregator by name": lambda ax: plots.draw_aggregator("minimax", ax),
    "difference": lambda ax: plots.draw_difference("mean", "minimax", ax),
    "no difference": lambda ax: plots.draw_difference(TABLE, TABLE, ax),
    "weakness": lambda ax: plots.draw_weakness(TABLE, ax),
    "report distribution": lambda ax: plots.draw_report_distribution(TABLE / TABLE.sum(), ax),
    "convergence": lambda ax: plots.draw_convergence({"one": TRACE}, ax),
    "two of them": lambda ax: plots.draw_convergence({"one": TRACE, "other": TRACE}, ax, against="seconds"),
    "value": lambda ax: plots.draw_value_by_lipschitz({"L": [1, 2], "lower": [0.2, 0.1], "upper": [0.3, 0.1]}, ax),
    "ranges of base rates": lambda ax: plots.draw_prior_ranges(
        {"range": [(0, 0.1), (0, 1)], "upper": [0.003, 0.02]}, ax
    ),
    "losses": lambda ax: plots.draw_losses(BANDS, ax),
    "posterior by prior": lambda ax: plots.draw_posterior_by_prior(X, {"(0.2, 0.2)": 1 - X}, ax),
    "posterior by reports": lambda ax: plots.draw_posterior_by_reports(TABLE, ax, trimmed=TABLE > 0.6),
    "areas": lambda ax: plots.draw_areas((TABLE > 0.5).astype(int), {0: "A", 1: "E"}, ax),
    "coupling": lambda ax: plots.draw_coupling(POINTS, POINTS + 0.05, np.array([[0, 1, 0.3, 1], [0, 0, 0.2, 0]]), ax),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_draws_on_the_axes_given_and_on_no_others(name: str) -> None:
    figure, axes = plots.new_figure(2, 1)
    blank = plots.png(figure, 40)
    DRAWINGS[name](axes[0, 0])
    assert axes[0, 0].has_data()
    assert not axes[0, 1].has_data()
    assert axes[0, 0].get_xlabel()
    assert axes[0, 0].get_ylabel()
    assert plots.png(figure, 40) != blank
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_first_report_lies_along_the_horizontal_axis() -> None:
    figure, axes = plots.new_figure()
    image = plots.draw_aggregator(np.outer(X, np.ones(5)), axes[0, 0], bar=False)  # f = x_1
    values = image.get_array()
    assert values[0].tolist() == X.tolist()  # a row of the picture has one x_2
    assert len(figure.axes) == 1
    cells = plots.draw_report_distribution(np.outer(X, np.ones(5)), axes[0, 0], bar=False)
    assert cells.get_array()[0].filled(0).tolist() == X.tolist()


def test_the_weak_spots_have_the_papers_scale() -> None:
    _, axes = plots.new_figure()
    image = plots.draw_weakness(TABLE, axes[0, 0])
    assert image.get_clim() == (0.0, 0.065)  # [Guo2024, fig:allregrets]


def test_traces_of_solutions_and_of_design_files_are_the_same() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 4, 8), method="multiplicative-weights", rounds=5, tolerance=0)
    columns = trace_columns(solution.trace)
    assert columns["round"].tolist() == [1, 2, 3, 4, 5]
    assert columns["upper"][-1] == solution.trace[-1].upper
    again = trace_columns({key: column.tolist() for key, column in columns.items()})
    assert all((again[key] == columns[key]).all() for key in columns)


def test_matplotlib_is_not_imported_before_something_is_drawn() -> None:
    code = "import sys, robustpool.plots, robustpool.cli.app; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bounds_that_are_infinite_and_more_solvers_than_colours() -> None:
    _, axes = plots.new_figure()
    endless = {**TRACE, "upper": [np.inf, np.inf, np.inf]}
    lines = plots.draw_convergence({f"solver {k}": endless for k in range(6)}, axes[0, 0])
    assert len(lines) == 6
    assert np.isfinite(axes[0, 0].get_ylim()).all()
