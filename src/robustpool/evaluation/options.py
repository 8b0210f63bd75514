"""Questions with options: what is defined for two outcomes (reliability, AUC, dependence) is taken one option against the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..aggregators.distributions import clipped
from ..forecasts import CLIP
from ..tables.records import ForecastTable
from .calibration import best_power, calibration
from .scores import Distinct, distinct

if TYPE_CHECKING:
    from ..typing import Booleans, Floats, Integers
    from .panel import Panel
    from .records import Interval


# ---------------------------------------------------------------------------------------------- one option against the rest


class OneAgainstRest(NamedTuple):
    """Each option of each question as a binary question of its own."""

    forecasts: Floats  # (l,)
    outcomes: Floats  # (l,): whether the option came true
    weights: Floats  # (l,)
    option: Integers  # (l,): its number where all questions have the same options, else 0

    def parts(self) -> list[Distinct]:
        """The forecasts of each option, or all together where options differ from question to question."""
        return [self._at(self.option == number) for number in np.unique(self.option).tolist()]

    def together(self) -> Distinct:
        """The forecasts of all options."""
        return self._at(slice(None))

    def _at(self, these: Booleans | slice) -> Distinct:
        return distinct(self.forecasts[these], self.outcomes[these], self.weights[these])


def one_against_rest(forecasts: Floats, outcomes: Floats, weights: Floats, *, same: bool) -> OneAgainstRest:
    """Take the options apart: forecasts (m, K), outcomes and weights (m,); forecasts (m,) of two outcomes stay as they are.

    >>> parts = one_against_rest(np.array([[0.2, 0.8, np.nan]]), np.array([1.0]), np.ones(1), same=False)
    >>> parts.forecasts, parts.outcomes
    (array([0.2, 0.8]), array([0., 1.]))
    """
    if forecasts.ndim == 1:
        return OneAgainstRest(forecasts, outcomes, weights, np.zeros(len(forecasts), dtype=np.int64))
    row, option = np.nonzero(~np.isnan(forecasts))
    happened = (outcomes[row] == option).astype(np.float64)
    return OneAgainstRest(forecasts[row, option], happened, weights[row], option if same else np.zeros_like(option))


def confidence(
    forecasts: Floats, outcomes: Floats, weights: Floats, clusters: Integers
) -> tuple[Interval | None, Interval | None]:
    """Slope and intercept of forecasts (m,); of distributions (m, K) the power, without an intercept."""
    if forecasts.ndim == 1:
        return calibration(forecasts, outcomes, weights, clusters) or (None, None)
    return best_power(_logs(forecasts), outcomes, weights, clusters), None


def _logs(distributions: Floats) -> Floats:
    """log f of each distribution, clipped; -inf beyond its options, where f is NaN."""
    logs = np.full(distributions.shape, -np.inf)
    sizes = np.isfinite(distributions).sum(axis=1)
    for k in np.unique(sizes).tolist():
        these = sizes == k
        logs[these, :k] = np.log(clipped(distributions[these, :k], CLIP)[0])
    return logs


def mean_logs(panel: Panel) -> Floats:
    """The mean log probabilities of the answers of each profile, clipped, by their weights; -inf beyond the options.

    Two outcomes are the options no and yes.
    """
    logs = np.full((len(panel.question), panel.table.option_counts.max()), -np.inf)
    for places, reports, weights in panel.profiles():
        distributions = reports if reports.ndim == 3 else np.stack([1 - reports, reports], axis=2)
        each = np.log(clipped(distributions, CLIP)[0])
        by_agent = np.ones(reports.shape[:2]) if weights is None else weights / weights.max(axis=1, keepdims=True)
        mean = (each * by_agent[:, :, None]).sum(axis=1) / by_agent.sum(axis=1)[:, None]
        logs[places, : each.shape[2]] = mean
    return logs


def as_binary_table(table: ForecastTable, clusters: Integers) -> tuple[ForecastTable, Integers]:
    """Each option of each question as a question with yes and no, and the cluster of each."""
    sizes = table.option_counts
    start = np.cumsum(sizes) - sizes
    row, option = np.nonzero(~np.isnan(table.probability))
    question = start[table.question[row]] + option
    order = np.argsort(question, kind="stable")
    owner = np.repeat(np.arange(len(sizes)), sizes)
    number = np.arange(len(owner)) - start[owner]
    names = [f"{q} {name}" for q, options in zip(table.questions, table.options or (), strict=True) for name in options]
    binary = ForecastTable(
        names,
        table.forecasters,
        question[order],
        table.forecaster[row][order],
        table.probability[row, option][order],
        (table.outcome[owner] == number).astype(np.float64),
    )
    return binary, clusters[owner]
