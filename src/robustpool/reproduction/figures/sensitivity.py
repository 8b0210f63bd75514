"""How the omniscient posterior g_mu(x) moves, and where the proofs trim it [Guo2024, Sections 5.1 and 6.1, fig:area]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plots import colour_bar, draw_areas, draw_posterior_by_prior, draw_posterior_by_reports, title
from ...structures.binary_structure import omniscient_posterior
from ...theory.smoothing import smoothed_posterior, trim
from .figure import Numbers, PaperFigure

if TYPE_CHECKING:
    from ...typing import Floats
    from ..workbench import Workbench

REPORTS = {"low": 0.2, "high": 0.7}
PRIORS = (0.1, 0.4)
EPSILON = 0.2
"""eps_1 = eps_2 of the trimmed area; the proofs take them much smaller."""


def grid_of_reports(points: int) -> Floats:
    """All pairs of reports of a uniform grid as rows."""
    x = np.linspace(0, 1, points)
    return np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)


class SensitivityToPrior(PaperFigure):
    """Curves of the posterior against the prior."""

    name = "sensitivity-to-prior"
    title = "The posterior falls as the prior rises"
    alt = (
        "Two falling curves of the omniscient posterior against the prior, for reports (0.2, 0.2) and (0.7, 0.7); the "
        "first drops steeply near 0, the second near 1."
    )
    width, height = 4.6, 3.3

    def numbers(self, _bench: Workbench) -> Numbers:
        prior = np.linspace(0.001, 0.999, 999)
        posterior = {name: [omniscient_posterior(mu, [[x, x]])[0] for mu in prior] for name, x in REPORTS.items()}
        return {"prior": prior, **posterior}

    def paint(self, numbers: Numbers, axes: Any) -> None:
        curves = {f"reports ({x:g}, {x:g})": numbers[name] for name, x in REPORTS.items()}
        draw_posterior_by_prior(numbers["prior"], curves, axes[0, 0])

    def meaning(self, numbers: Numbers) -> str:
        prior = numbers["prior"]
        low, high = (np.abs(np.gradient(numbers[name], prior)) for name in REPORTS)
        return (
            "The higher the prior, the lower the posterior after the same reports: if the prior is high, a report of 0.7 "
            "is evidence against the event. It is most sensitive where the prior is nearly certain: for (0.2, 0.2) its "
            f"slope grows to {low.max():.1f} as the prior goes to {prior[np.argmax(low)]:.3f}, for (0.7, 0.7) to {high.max():.1f} as it "
            f"goes to {prior[np.argmax(high)]:.3f}."
        )


class SensitivityToReports(PaperFigure):
    """Heatmaps of the posterior over the reports, as it is and extended."""

    name = "sensitivity-to-reports"
    title = "Where the posterior is steep, and what the proof puts there"
    alt = (
        "Four heatmaps of the omniscient posterior over the two reports, for priors 0.1 and 0.4: as it is with the trimmed "
        "area hatched, and extended."
    )
    columns, rows, width = 2, 2, 3.8

    def numbers(self, _bench: Workbench) -> Numbers:
        reports, square = grid_of_reports(201), (201, 201)
        numbers: dict[str, Any] = {"epsilon": EPSILON}
        for mu in PRIORS:
            moved = (trim(mu, reports, EPSILON, EPSILON) != reports).any(axis=1)
            numbers[f"posterior_{mu:g}"] = omniscient_posterior(mu, reports).reshape(square)
            numbers[f"extended_{mu:g}"] = smoothed_posterior(mu, reports, EPSILON, EPSILON).reshape(square)
            numbers[f"trimmed_{mu:g}"] = moved.reshape(square)
        return numbers

    def paint(self, numbers: Numbers, axes: Any) -> None:
        for mu, (left, right) in zip(PRIORS, axes, strict=True):
            draw_posterior_by_reports(numbers[f"posterior_{mu:g}"], left, trimmed=numbers[f"trimmed_{mu:g}"], bar=False)
            title(left, f"$\\mu = {mu:g}$, trimmed area hatched")
            image = draw_posterior_by_reports(numbers[f"extended_{mu:g}"], right, bar=False)
            title(right, f"$\\mu = {mu:g}$, extended")
        colour_bar(image, axes, image.get_label())

    def meaning(self, numbers: Numbers) -> str:
        cut = [numbers[f"trimmed_{mu:g}"].mean() for mu in PRIORS]
        return (
            "Left: the posterior as a function of the reports, with the area hatched where it is too steep for the proof "
            f"because the reports contradict each other or lie far from the prior ({cut[0]:.0%} of the square for mu = 0.1 "
            f"and {cut[1]:.0%} for mu = 0.4, with both epsilons {EPSILON:g}). Right: the Lipschitz function that the proof "
            "puts in its place. The smaller the epsilons, the more rarely a trimmed pair of reports occurs."
        )


class Areas(PaperFigure):
    """The division of the square of reports into A, D_1, D_2 and E."""

    name = "areas"
    title = "The division of areas in the proof"
    alt = "The square of reports divided into A in the lower left, D 1 to its right, D 2 above it, and E in the upper right."
    width, height = 4.0, 3.8

    def numbers(self, _bench: Workbench) -> Numbers:
        reports, constants = grid_of_reports(401), {"prior": 0.3, "epsilon_1": 0.4, "epsilon_2": 0.4}
        moved = trim(reports=reports, **constants) != reports
        return {"areas": (moved[:, 0] + 2 * moved[:, 1]).reshape(401, 401), **constants}

    def paint(self, numbers: Numbers, axes: Any) -> None:
        draw_areas(numbers["areas"], {0: "$A_\\mu$", 1: "$D_1$", 2: "$D_2$", 3: "$E$"}, axes[0, 0])

    def meaning(self, numbers: Numbers) -> str:
        mu, epsilon_1, epsilon_2 = (float(numbers[name]) for name in ("prior", "epsilon_1", "epsilon_2"))
        return (
            f"An example with mu = {mu:g}, eps_1 = {epsilon_1:g} and eps_2 = {epsilon_2:g}: on A, where no report is "
            f"above {min(1.0, mu / epsilon_2):g} and the two are at most {1 - epsilon_1:g} apart, the posterior is unchanged. "
            "On D_1 the first report is moved left to the border of A, on D_2 the second one down, and on E both."
        )
