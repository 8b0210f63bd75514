"""Recalibrate the individuals' answers before any rule, by a correction that is fitted on other questions.

For each of some folds of the questions (clusters stay together) the correction is fitted on the others. Folds are drawn
without looking at the outcomes, so a question's own outcome cannot influence its own answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..errors import InputError
from ..forecasts import CLIP
from ..numerics import sigma
from ..wording import counted
from .calibration import clipped_logit, fit_logistic
from .isotonic import fit_isotonic
from .scores import distinct

if TYPE_CHECKING:
    from ..tables.records import ForecastTable
    from ..typing import Booleans, Floats, Integers

METHODS = ("slope", "platt", "isotonic")

LEAST_QUESTIONS = 10
"""Resolved questions (or clusters) without which nothing is fitted: with fewer, a fold's fit rests on a handful."""

MANY_QUESTIONS = 1000
"""Resolved questions (or clusters) beyond which a few folds do: on a set with a hundred, the seed moved a Brier score by
0.016 with 5 folds and by 0.003 with 20."""

OWN_QUESTIONS = 20
"""Resolved questions that a forecaster needs for a correction of her own. Her slope then has a standard error of about
1/sqrt(20 x 0.2 x 1) = 1/2, as wide as people differ; with fewer it says more about luck than about her."""

POOLED_PULL = 1.0
"""Pull of the common fit towards no correction, worth about one answer: it keeps the slope finite on separated data."""

OWN_PULL = 4.0
"""Pull of a forecaster's own fit towards the common one: people's slopes differ by about 1/2, and 1/(1/2)^2 = 4."""

Correction = Callable[["Floats"], "Floats"]


def recalibrate(
    table: ForecastTable,
    method: str = "slope",
    *,
    per_forecaster: bool = False,
    clip: float = CLIP,
    folds: int | None = None,
    seed: int = 0,
) -> ForecastTable:
    """The same table with recalibrated probabilities, cross-fitted by question.

    Parameters
    ----------
    table
        Forecasts, some of them on questions with an outcome.
    method
        ``slope``: logit p' = b logit p. ``platt``: logit p' = a + b logit p [Platt1999]. ``isotonic``: the increasing
        function that fits best [ZadroznyElkan2002], linear between the forecasts that were seen, kept in [clip, 1 - clip].
    per_forecaster
        A correction for each forecaster who has answered at least 20 resolved questions with both outcomes (slope and
        platt: pulled towards the common one); the common one for the others.
    clip
        Probabilities are clipped to [clip, 1 - clip] first.
    folds
        The correction of a resolved question is fitted on the other folds; that of an unresolved one on all resolved ones. By
        default 20 folds; 5 beyond a thousand resolved questions (or clusters), where the luck of the draw does not show.

    Raises
    ------
    InputError
        If fewer than ten questions (or clusters) are resolved, or all have the same outcome.

    Examples
    --------
    Ann says 0.9 and 0.1, and is right three times out of four; each fold corrects her in its own way:

    >>> from robustpool.tables.records import ForecastTable
    >>> y = np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], 10)
    >>> ann = ForecastTable(
    ...     [str(q) for q in range(80)], ["ann"], np.arange(80), np.zeros(80, dtype=int), np.tile([0.9] * 4 + [0.1] * 4, 10), y
    ... )
    >>> recalibrate(ann).probability[:4].round(2)
    array([0.74, 0.74, 0.77, 0.75])
    """
    checks.choice("method", method, METHODS)
    if table.options is not None:
        raise InputError("recalibration is for questions with two outcomes; those of this table have options.")
    if folds is not None:
        checks.whole("folds", folds, least=2)
    low = checks.open_unit("clip", clip)
    known = np.isfinite(table.outcome) & (table.answers > 0)
    fold = _dealt(table, known, folds, seed)
    answers = _Answers(
        np.clip(table.probability, low, 1 - low), table.outcome[table.question], table.forecaster, method, low
    )
    corrected = np.empty(table.rows)
    fold_of_row = fold[table.question]
    for number in np.unique(fold).tolist():
        target = fold_of_row == number
        if target.any():
            training = (fold_of_row >= 0) & ~target
            corrected[target] = answers.corrected(training, target, per_forecaster)
    return replace(table, probability=corrected)


def _dealt(table: ForecastTable, known: Booleans, folds: int | None, seed: int) -> Integers:
    """The fold of each question, -1 where it is unresolved; clusters are dealt out at random."""
    clusters = np.arange(len(known)) if table.cluster is None else table.cluster
    names, number = np.unique(clusters[known], return_inverse=True)
    happened = table.outcome[known]
    if len(names) < LEAST_QUESTIONS:
        what = "resolved question" if table.cluster is None else "cluster"
        raise InputError(
            f"recalibration needs at least {LEAST_QUESTIONS} {what}s to learn from; there are {counted(len(names), what)}."
        )
    if happened.min() == happened.max():
        raise InputError(
            f"recalibration needs questions with both outcomes; all {len(happened)} resolved ones have {happened[0]:g}."
        )
    dealt = np.random.default_rng(seed).permutation(len(names)) % (folds or (20 if len(names) <= MANY_QUESTIONS else 5))
    fold = np.full(len(known), -1)
    fold[known] = dealt[number]
    return fold


@dataclass(frozen=True, eq=False)
class _Answers:
    """All answers as columns, and how to correct them."""

    probability: Floats  # clipped
    outcome: Floats  # NaN where it is not known
    forecaster: Integers
    method: str
    clip: float

    def corrected(self, training: Booleans, target: Booleans, per_forecaster: bool) -> Floats:
        """The probabilities of the target rows, corrected by what the training rows say."""
        rows = np.flatnonzero(training)
        common, start = self._fit(rows, (0.0, 1.0), POOLED_PULL)
        result = common(self.probability)
        if per_forecaster:
            for own in self._rows_of_forecasters():
                seen = own[training[own]]
                if len(seen) >= OWN_QUESTIONS and 0 < self.outcome[seen].mean() < 1:
                    correction, _ = self._fit(seen, start, OWN_PULL)
                    result[own] = correction(self.probability[own])
        return result[target]

    def _rows_of_forecasters(self) -> list[Integers]:
        """The rows of each forecaster."""
        ordered = np.argsort(self.forecaster, kind="stable")
        return np.split(ordered, np.flatnonzero(np.diff(self.forecaster[ordered])) + 1)

    def _fit(
        self, rows: Integers, towards: tuple[float, float], strength: float
    ) -> tuple[Correction, tuple[float, float]]:
        """The correction that the rows ask for, and its intercept and slope (as they were, if it has none)."""
        p, y, w = self.probability[rows], self.outcome[rows], np.ones(len(rows))
        if self.method == "isotonic":
            fit = fit_isotonic(distinct(p, y, w))
            return lambda values: np.clip(fit(values), self.clip, 1 - self.clip), towards
        pull = (np.inf if self.method == "slope" else strength, strength)
        a, b = fit_logistic(clipped_logit(p, self.clip), y, w, towards=towards, pull=pull).tolist()
        return lambda values: sigma(a + b * clipped_logit(values, self.clip)), (a, b)
