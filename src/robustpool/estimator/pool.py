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
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..errors import InputError
from ..forecasts import ContradictionWarning, aggregate, clip_for
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
    classifier it gives the probabilities of both classes. Nothing is learnt: `fit` checks its input, and remembers the
    aggregator and the names of the classes.

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

    Attributes
    ----------
    classes_
        The classes, (2,) or (K,). They are 0 and 1 if `fit` was not given y.
    aggregator_
        The rule as a function; a design file is read once, by `fit`.
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
    """

    def __init__(
        self,
        rule: AnyAggregator = "robust",
        *,
        weights: ArrayLike | None = None,
        clip: float | None = None,
        input: str = "probabilities",
    ) -> None:
        self.rule = rule
        self.weights = weights
        self.clip = clip
        self.input = input

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> RobustPool:
        """Check the forecasts, and remember the names of the classes.

        Parameters
        ----------
        X
            Forecasts, (questions, forecasters), or (questions, forecasters x K) for K > 2 classes.
        y
            Outcomes, (questions,). Without them the classes are 0 and 1.
        """
        checks.choice("input", self.input, ("probabilities", "log-odds"))
        target = "no_validation" if y is None else y
        checked = validate_data(self, X, target, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_ = np.array([0, 1]) if y is None else _classes(*checked)
        self.aggregator_ = as_aggregator(self.rule)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ContradictionWarning)  # `transform` warns
            self._pool(self._probabilities(checked if y is None else checked[0]))
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """The pooled probability of the second class, (questions, 1); with K > 2 classes of all of them, (questions, K).

        A question that nobody answered gives NaN.
        """
        forecasts = self._forecasts(X)
        return forecasts if forecasts.ndim == 2 else forecasts[:, None]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class, and the first of them if several are: (questions, columns) -> (questions,)."""
        probabilities = self.predict_proba(X)
        none = np.isnan(probabilities[:, 0])
        if none.any():
            raise InputError(
                "a question must have an answer for its class to be predicted; "
                f"row {np.argmax(none)} has none ({none.sum()} of {none.size} rows)."
            )
        return self.classes_[np.argmax(probabilities, axis=1)]

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
        return np.asarray(aggregate(reports, self.aggregator_, clip=clip, weights=self.weights))

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
