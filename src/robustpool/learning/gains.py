"""What a pool gains over the mean and over the default rule on questions that it had not seen, with honest intervals."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..evaluation.bootstrap import percentile_interval, resampled_sums, sums_by_cluster
from ..evaluation.records import Interval
from ..evaluation.scoring import CLUSTERS_FOR_A_VERDICT
from .candidates import FORMS
from .cross_fitting import recent
from .records import DEFAULT, REFERENCE, Tried

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Booleans, Floats
    from .cross_fitting import CrossFitted
    from .history import History

LUCK = 40
"""Clusters at which an interval has twice the variance that the bootstrap sees. Chosen by simulation: with 30 questions of the world
`independent` of tests/worlds.py the bootstrap alone held the true gain in 15 of 20 draws."""


class Gains(NamedTuple):
    """Scores on unseen questions."""

    brier: Interval
    over_mean: Interval
    over_default: Interval
    tried: tuple[Tried, ...]


def measure(history: History, fit: CrossFitted, *, draws: int, seed: int) -> Gains:
    """Score the pool and all forms on the questions that they had not seen; all intervals share their draws.

    A gain is the Brier score of another form minus that of the pool. The procedure as a whole, and the form that was chosen in
    the end, each have a gain with a bootstrap interval; the interval is the smallest that holds both. They differ only if
    the choice hangs in the balance. With times it also holds the intervals of the most recent third of the blocks: what
    comes is more like them if people change.

    Fits on other folds share most of their questions, so a lucky sample flatters all of them alike, and a bootstrap of the
    questions does not see this [NadeauBengio2003]. Their correction would widen every interval by about sqrt 2. Ours is
    sqrt(1 + 40/G) with G clusters (with times: in that third), as our simulations suggested: sqrt 2 at 40, and hardly more
    than 1 at a thousand. It applies if anything was learned, be it only which form to choose.
    """
    losses = {form.name: history.brier(fit.by_form[form.name]) for form in FORMS}
    own = history.brier(fit.forecasts)
    periods = [fit.scored]
    if fit.block is not None:
        last = recent(fit.scored, fit.block, 1 / 3)
        enough = len(np.unique(history.clusters[last])) >= CLUSTERS_FOR_A_VERDICT
        periods += [last] if enough else []
    wanted = [(own, fit.scored)]
    wanted += [(losses[REFERENCE] - losses[form.name], fit.scored) for form in FORMS]
    for other in (REFERENCE, DEFAULT):
        wanted += [(losses[other] - each, period) for period in periods for each in (own, losses[fit.chosen.name])]
    brier, *rest = _intervals(history, wanted, draws, seed)
    tried, rest = rest[: len(FORMS)], rest[len(FORMS) :]
    halves = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    wider = sqrt(1 + LUCK / len(np.unique(history.clusters[periods[-1]])))
    picked = {fit.chosen.name, *fit.choices}
    learned = len(picked) > 1 or fit.chosen.learns
    over_mean, over_default = (_hull(ends, wider if learned else 1.0) for ends in halves)
    forms = [
        Tried(form.name, float(losses[form.name][fit.scored].mean()), _hull([each], wider if form.learns else 1.0))
        for form, each in zip(FORMS, tried, strict=True)
    ]
    return Gains(brier, over_mean, over_default, tuple(forms))


def _hull(ends: Sequence[Interval], wider: float) -> Interval:
    """The smallest interval that holds all of these, made wider around the value of the first."""
    value, low, high = ends[0].value, min(each.low for each in ends), max(each.high for each in ends)
    return Interval(value, value - wider * (value - low), value + wider * (high - value))


def _intervals(history: History, wanted: Sequence[tuple[Floats, Booleans]], draws: int, seed: int) -> list[Interval]:
    """The mean of each column over some of the questions, with its bootstrap interval; clusters are drawn together."""
    columns = [
        column for values, which in wanted for column in (which.astype(np.float64), np.where(which, values, 0.0))
    ]
    sums = sums_by_cluster(columns, history.clusters)
    drawn = resampled_sums(sums, draws, seed)
    intervals = []
    for place, (values, which) in enumerate(wanted):
        count, total = drawn[:, 2 * place], drawn[:, 2 * place + 1]
        means = np.divide(total, count, out=np.full(draws, np.nan), where=count > 0)
        clusters = int(np.count_nonzero(sums[:, 2 * place]))
        intervals.append(percentile_interval(float(values[which].mean()), means[count > 0], clusters))
    return intervals
