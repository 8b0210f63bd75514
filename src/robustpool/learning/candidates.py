"""The few forms that a fitted pool can take, from the simplest on, and how each is fitted to some of the questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .skill import skill

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..typing import Booleans, Floats
    from .history import History


@dataclass(frozen=True)
class Form:
    """A form of a pool."""

    name: str
    rule: str  # pools the answers
    weighted: bool  # by track record
    recalibrated: bool

    @property
    def learns(self) -> bool:
        """Whether it depends on the outcomes of other questions."""
        return self.weighted or self.recalibrated


FORMS = (
    Form("mean", "mean", weighted=False, recalibrated=False),
    Form("robust", "robust", weighted=False, recalibrated=False),
    Form("recalibrated", "geometric-odds", weighted=False, recalibrated=True),
    Form("weighted", "robust", weighted=True, recalibrated=False),
    Form("weighted-recalibrated", "geometric-odds", weighted=True, recalibrated=True),
)
"""From the simplest on: no numbers, two numbers, a number for each forecaster, and both."""

PULL = 8.0
"""Pull of the slope towards 1: a slope of 1 give or take 1/sqrt(8) = 0.35 is expected before any outcome is seen, and an intercept
of 0 give or take 1/2."""

ENOUGH = 100
"""Questions (or clusters) below which the pull grows: on small sets a fit that is pulled less does worse than the mean too often."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A form with its numbers."""

    form: Form
    weights: Floats | None  # (forecasters,)
    intercept: float = 0.0
    slope: float = 1.0

    def forecasts(self, history: History) -> Floats:
        """What it says of each question."""
        if self.form.rule == "mean":
            return history.mean(self.weights)
        log_odds = history.log_odds(self.weights)
        if self.form.recalibrated:
            return history.recalibrated(log_odds, self.intercept, self.slope)
        return history.pushed(log_odds)


def fit_form(form: Form, history: History, training: Booleans) -> Fitted:
    """Fit a form to the questions in ``training``, (questions,)."""
    return fit_forms([form], history, training)[form.name]


def fit_forms(forms: Iterable[Form], history: History, training: Booleans) -> dict[str, Fitted]:
    """Fit some forms to the same questions; the weights of forecasters are computed once."""
    learned: Floats | None = None
    fitted = {}
    for form in forms:
        if form.weighted and learned is None:
            learned = skill(history, training).weights
        weights = learned if form.weighted else None
        fitted[form.name] = (
            _recalibrated(form, weights, history, training) if form.recalibrated else Fitted(form, weights)
        )
    return fitted


def _recalibrated(form: Form, weights: Floats | None, history: History, training: Booleans) -> Fitted:
    intercept, slope = history.platt(history.log_odds(weights), training, pulls(history, training))
    if slope <= 0:  # the answers point the wrong way: no increasing correction helps
        return Fitted(form, weights)
    return Fitted(form, weights, intercept, slope)


def pulls(history: History, training: Booleans) -> tuple[float, float]:
    """How strongly intercept and slope are pulled towards 0 and 1.

    8 for the slope and half of that for the intercept; more below a hundred clusters, in proportion; and as many times more as
    there are questions in a cluster, because these count as one.
    """
    questions, clusters = int(training.sum()), len(np.unique(history.clusters[training]))
    strength = PULL * max(1.0, ENOUGH / max(clusters, 1)) * questions / max(clusters, 1)
    return strength / 2, strength
