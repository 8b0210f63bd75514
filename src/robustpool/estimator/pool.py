"""Forecasters as columns, questions as rows, one forecast for each row: a rule where scikit-learn expects an estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import checks
from ..aggregators.distributions import check_distributions
from ..aggregators.learned_rule import LearnedRule
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..errors import InputError
from ..forecasts import ContradictionWarning, aggregate, clip_for, combine
from .learned import check_learnable, learn, with_learned
from .pooled import PooledClassifier

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..typing import Floats


NEARLY_CERTAIN = 2.0**-53
"""Log-odds, however large, stay so far from 0 and 1: the number next to 1 that is not 1, and its mirror image."""


class RobustPool(ClassNamePrefixFeaturesOutMixin, PooledClassifier, BaseEstimator):  # type: ignore[misc]
    """Pool columns of probabilities into one, by a rule.

    Each column is a forecaster, each row a question, each entry the forecaster's probability of the second class; NaN
    means that the forecaster did not answer. As a transformer it gives the pooled probability as a column, as a
    classifier it gives the probabilities of both classes. By default nothing is learned: `fit` checks its input, and
    remembers the aggregator and the names of the classes. With ``learn=True`` it learns how to pool from X and y.

    With K > 2 classes in y each forecaster has K columns next to each other, the probabilities of the classes in their order,
    as `RobustVotingClassifier.transform` gives them; the rule is one for more than two outcomes.

    Parameters
    ----------
    rule
        What `robustpool.aggregate` takes: the name of a rule, a design file, or a callable from reports (m, n) to
        forecasts (m,).
    weights
        How much each forecaster counts, one number for each of them; for rules that take weights.
    clip
        Bring the probabilities into [clip, 1 - clip] first, as in `robustpool.aggregate`: by default 0.01 for rules in
        which a certain report decides; 0 turns clipping off. There is no warning, because scikit-learn requires
        silence; `clipped` returns the count.
    input
        What the columns hold: "probabilities", or "log-odds", which may be any numbers, such as the decision function
        of a logistic model (with K > 2 classes: the logarithms of probabilities, up to a constant for each forecaster).
    learn
        Learn the pool from X and y with `robustpool.fit`, in place of ``rule`` and ``weights``: which rule, how much each
        forecaster counts, and how the result is recalibrated. The forecasts have to be made without knowing y; for
        classifiers that means samples that they were not fitted to. At least 20 rows are needed.

    Attributes
    ----------
    classes_
        The classes, (2,) or (K,). They are 0 and 1 if `fit` was not given y.
    aggregator_
        The rule as a function; a design file is read once, by `fit`. With ``learn`` what was learned.
    pool_
        With ``learn`` the `FittedPool`, which has the gain over the mean on rows that it had not seen, and its interval;
        otherwise None.
    n_features_in_, feature_names_in_
        How many forecasters there are, and their names if the columns had some.

    See Also
    --------
    RobustVotingClassifier : fits the forecasters, too.

    Examples
    --------
    >>> forecasts = [[0.9, 0.8], [0.0, 0.4], [0.6, np.nan]]
    >>> pool = RobustPool(clip=0).fit(forecasts, ["rain", "dry", "rain"])
    >>> pool.transform(forecasts).round(4)
    array([[0.8781],
           [0.    ],
           [0.6   ]])
    >>> pool.predict(forecasts)
    array(['rain', 'dry', 'rain'], dtype='<U4')

    Three forecasters who are too timid:

    >>> rng = np.random.default_rng(1)
    >>> truth = 2 * rng.standard_normal(400)
    >>> log_odds = truth[:, None] / 2 + 0.3 * rng.standard_normal((400, 3))
    >>> happened = rng.random(400) < expit(truth)
    >>> pool = RobustPool(input="log-odds", learn=True).fit(log_odds, happened)
    >>> pool.pool_.chosen, pool.pool_.better
    ('recalibrated', True)
    """

    _needed = "a question must have an answer"

    def __init__(
        self,
        rule: AnyAggregator = "robust",
        *,
        weights: ArrayLike | None = None,
        clip: float | None = None,
        input: str = "probabilities",
        learn: bool = False,
    ) -> None:
        self.rule = rule
        self.weights = weights
        self.clip = clip
        self.input = input
        self.learn = learn

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> RobustPool:
        """Check the forecasts, and remember the names of the classes; learn the pool, if asked.

        Parameters
        ----------
        X
            Forecasts, (questions, forecasters), or (questions, forecasters x K) for K > 2 classes.
        y
            Outcomes, (questions,). Without them the classes are 0 and 1, and nothing can be learned.
        """
        checks.choice("input", self.input, ("probabilities", "log-odds"))
        target = "no_validation" if y is None else y
        checked = validate_data(self, X, target, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_ = np.array([0, 1]) if y is None else _classes(*checked)
        if self.learn:
            check_learnable(None if y is None else checked[1], self.rule, self.weights)
        self.aggregator_ = as_aggregator(self.rule)
        self.pool_ = None
        reports = self._probabilities(checked if y is None else checked[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ContradictionWarning)  # `transform` warns
            self._pool(reports)
        if self.learn:
            reports = check_distributions(reports) if reports.ndim == 3 else reports
            self.pool_ = learn(reports, checked[1], self.classes_, self._forecasters(reports), self.clip)
            self.aggregator_ = self.pool_.aggregator
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """The pooled probability of the second class, (questions, 1); with K > 2 classes of all of them, (questions, K).

        A question that nobody answered gives NaN.
        """
        forecasts = self._forecasts(X)
        return forecasts if forecasts.ndim == 2 else forecasts[:, None]

    def _forecasts(self, X: ArrayLike) -> Floats:
        return self._pool(self._reports(X))

    def _reports(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False))

    def _probabilities(self, X: Floats) -> Floats:
        """What the columns say: (questions, forecasters), or with K > 2 classes (questions, forecasters, K)."""
        several = len(self.classes_) > 2
        reports = X.reshape(len(X), -1, len(self.classes_)) if several else X
        if self.input == "probabilities":
            return reports
        if not several:
            return np.clip(expit(X), NEARLY_CERTAIN, 1 - NEARLY_CERTAIN)
        e = np.maximum(np.exp(reports - reports.max(axis=2, keepdims=True)), NEARLY_CERTAIN)
        return np.asarray(e / e.sum(axis=2, keepdims=True))

    def _pool(self, reports: Floats) -> Floats:
        clip = clip_for(self.aggregator_, self.clip)
        if not isinstance(self.aggregator_, LearnedRule):
            return np.asarray(aggregate(reports, self.aggregator_, clip=clip, weights=self.weights))
        weights = with_learned(self.weights, self.aggregator_, self._forecasters(reports))
        reports = check_distributions(reports) if reports.ndim == 3 else reports
        return combine(reports, self.aggregator_, clip, weights).forecasts

    def _forecasters(self, reports: Floats) -> list[str]:
        """The names of the forecasters: those of their columns, if each has one with a name; else numbers."""
        if reports.ndim == 2 and hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"forecaster {place}" for place in range(reports.shape[1])]

    @property
    def _n_features_out(self) -> int:
        """How many columns there are, as the mixin asks: robustpool0, or one for each of K > 2 classes."""
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False  # of any number of columns, as the checks have them
        tags.classifier_tags.poor_score = True  # it learns nothing from what is not a forecast
        return tags


def _classes(X: Floats, y: NDArray[Any]) -> NDArray[Any]:
    """The classes in y, if the columns can be forecasts of them."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    classes = np.unique(y)
    if kind not in ("binary", "multiclass"):
        raise InputError(f"y must have classes; the type of the target is {kind}.")
    if kind == "multiclass" and X.shape[1] % len(classes):
        raise InputError(
            f"Only binary classification is supported with {X.shape[1]} columns; {len(classes)} classes need "
            f"{len(classes)} columns for each forecaster."
        )
    if len(classes) == 1:
        raise InputError(f"y must have two classes; it has 1 class, {classes.tolist()[0]!r}.")
    return classes
