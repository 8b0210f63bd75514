"""A pool that an estimator learns from reports whose outcomes it knows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..aggregators.learned_rule import LearnedRule
from ..errors import InputError
from ..learning.cross_fitting import LEAST_TO_LEARN
from ..learning.fitting import fit
from ..tables.records import ForecastTable
from ..wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from ..learning.records import FittedPool
    from ..typing import Floats

CHOSEN = "robust"
"""The rule of an estimator that learns: `robustpool.fit` chooses another one if that is better."""

UNKNOWN = "the pool weights forecasters by their track record, but knows none of these ({}), so all count the same."


def check_learnable(y: NDArray[Any] | None, rule: object, weights: object) -> None:
    """Refuse samples that are too few, and settings that learning would overrule."""
    for name, value, default in (("rule", rule, CHOSEN), ("weights", weights, None)):
        if not (value is None if default is None else isinstance(value, str) and value == default):
            raise InputError(f"{name} must be {default!r}, as it is by default, if learn is True; it is {value!r}.")
    if y is None:
        raise InputError("learn=True requires y to be passed, but the target y is None.")
    classes = np.unique(y)
    if len(classes) == 1:
        raise InputError(f"y must have two classes; it has 1 class, {classes.tolist()[0]!r}.")
    if len(y) < LEAST_TO_LEARN:
        raise InputError(
            f"learn=True needs at least {LEAST_TO_LEARN} samples; y has {counted(len(y), 'sample')}, so use learn=False."
        )


def learn(
    reports: Floats, y: NDArray[Any], classes: NDArray[Any], forecasters: Sequence[str], clip: float | None
) -> FittedPool:
    """What `robustpool.fit` learns from reports, (samples, forecasters) or with K > 2 classes (samples, forecasters, K)."""
    outcome = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    strange = classes[outcome] != y
    if strange.any():
        raise InputError(
            f"y must have only classes that the members know; row {np.argmax(strange)} is "
            f"{y[strange].tolist()[0]!r} ({strange.sum()} of {len(y)} rows)."
        )
    return fit(table_of(reports, outcome, forecasters), clip=clip)


def table_of(reports: Floats, outcome: NDArray[np.intp], forecasters: Sequence[str]) -> ForecastTable:
    """Reports with outcomes as a table; NaN is no answer.

    >>> table_of(np.array([[0.7, np.nan], [0.2, 0.4]]), np.array([1, 0]), ["ann", "bob"])
    ForecastTable(2 questions, 2 forecasters, 3 answers)
    """
    several = reports.ndim == 3
    answered = ~(np.isnan(reports).all(axis=2) if several else np.isnan(reports))
    question, forecaster = np.nonzero(answered)
    options = tuple(map(str, range(reports.shape[2]))) if several else ()
    return ForecastTable(
        questions=[str(row) for row in range(len(reports))],
        forecasters=list(forecasters),
        question=question,
        forecaster=forecaster,
        probability=reports[answered],
        outcome=outcome.astype(np.float64),
        options=[options] * len(reports) if several else None,
    )


def with_learned(weights: ArrayLike | None, aggregator: object, forecasters: Sequence[str]) -> Any:
    """The weights that were given, times those of a fitted pool for these forecasters."""
    if not isinstance(aggregator, LearnedRule) or aggregator.weights is None:
        return weights
    if aggregator.strangers(forecasters)[0] == len(forecasters):
        warnings.warn(UNKNOWN.format(", ".join(forecasters)), UserWarning, stacklevel=6)
    learned: Any = aggregator.weights_of(forecasters)
    return learned if weights is None else checks.real_array("weights", weights) * learned
