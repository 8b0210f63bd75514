"""How the omniscient posterior g_mu(x) moves with the prior and with the reports [Guo2024, Sections 5.1 and 6.1]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plots import colour_bar, draw_posterior_by_prior, draw_posterior_by_reports, new_figure, title
from ...plots.posterior import POSTERIOR
from ...structures.binary_structure import omniscient_posterior
from ...theory.smoothing import smoothed_posterior, trim
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..workbench import Workbench

REPORTS = {"low": 0.2, "high": 0.7}
PRIORS = (0.1, 0.4)
EPSILON = 0.2
"""eps_1 = eps_2 of the trimmed area; the proofs take them much smaller."""


def _compute(_bench: Workbench) -> Numbers:
    prior = np.linspace(0.001, 0.999, 999)
    curves = {
        name: np.array([omniscient_posterior(mu, [[x, x]])[0] for mu in prior.tolist()]) for name, x in REPORTS.items()
    }
    return {"prior": prior, **curves}


def _draw(numbers: Numbers) -> Figure:
    figure, axes = new_figure(width=4.6, height=3.3)
    draw_posterior_by_prior(
        numbers["prior"], {f"reports ({x:g}, {x:g})": numbers[name] for name, x in REPORTS.items()}, axes[0, 0]
    )
    return figure


def _meaning(numbers: Numbers) -> str:
    low, high = (np.abs(np.gradient(numbers[name], numbers["prior"])) for name in REPORTS)
    return (
        "The higher the prior, the lower the posterior after the same reports: against a high prior, a report of 0.7 "
        "is bad news. It is most sensitive where the prior is nearly certain: for (0.2, 0.2) its slope grows to "
        f"{low.max():.1f} as the prior goes to {numbers['prior'][np.argmax(low)]:.3f}, for (0.7, 0.7) to "
        f"{high.max():.1f} as it goes to {numbers['prior'][np.argmax(high)]:.3f}."
    )


def grid_of_reports(points: int = 201) -> np.ndarray:
    """All pairs of reports of a uniform grid as rows."""
    x = np.linspace(0, 1, points)
    return np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)


def _compute_reports(_bench: Workbench) -> Numbers:
    reports = grid_of_reports()
    side = round(len(reports) ** 0.5)
    numbers: dict[str, np.ndarray] = {"epsilon": np.array(EPSILON)}
    for mu in PRIORS:
        moved = (trim(mu, reports, EPSILON, EPSILON) != reports).any(axis=1)
        numbers[f"posterior_{mu:g}"] = omniscient_posterior(mu, reports).reshape(side, side)
        numbers[f"extended_{mu:g}"] = smoothed_posterior(mu, reports, EPSILON, EPSILON).reshape(side, side)
        numbers[f"trimmed_{mu:g}"] = moved.reshape(side, side)
    return numbers


def _draw_reports(numbers: Numbers) -> Figure:
    figure, axes = new_figure(2, 2, width=3.8)
    for mu, row in zip(PRIORS, axes, strict=True):
        draw_posterior_by_reports(numbers[f"posterior_{mu:g}"], row[0], trimmed=numbers[f"trimmed_{mu:g}"], bar=False)
        title(row[0], f"$\\mu = {mu:g}$, trimmed area hatched")
        image = draw_posterior_by_reports(numbers[f"extended_{mu:g}"], row[1], bar=False)
        title(row[1], f"$\\mu = {mu:g}$, extended")
    colour_bar(image, axes, POSTERIOR)
    return figure


def _reports_mean(numbers: Numbers) -> str:
    cut = [float(numbers[f"trimmed_{mu:g}"].mean()) for mu in PRIORS]
    return (
        "Left: the posterior as a function of the reports, with the area hatched where it is too steep for the proof "
        f"because the reports contradict each other or lie far from the prior ({cut[0]:.0%} of the square for mu = 0.1 "
        f"and {cut[1]:.0%} for mu = 0.4, with both epsilons {EPSILON:g}). Right: the Lipschitz function that the proof "
        "puts in its place. The smaller the epsilons, the more rarely a trimmed pair of reports comes."
    )


SENSITIVITY_TO_PRIOR = PaperFigure(
    "sensitivity-to-prior",
    "The posterior falls as the prior rises",
    "Two falling curves of the omniscient posterior against the prior, for reports (0.2, 0.2) and (0.7, 0.7); the "
    "first drops steeply near 0, the second near 1.",
    _compute,
    _draw,
    _meaning,
)
SENSITIVITY_TO_REPORTS = PaperFigure(
    "sensitivity-to-reports",
    "Where the posterior is steep, and what the proof puts there",
    "Four heatmaps of the omniscient posterior over the two reports, for priors 0.1 and 0.4: as it is with the trimmed "
    "area hatched, and extended.",
    _compute_reports,
    _draw_reports,
    _reports_mean,
)
