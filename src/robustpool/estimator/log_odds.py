"""A classifier that scores samples by their log-odds, for a calibration that leaves calibrated members as they are.

scikit-learn's sigmoid calibration fits sigma(a + b s) to the score s of a classifier: its decision function, or, where there is
none, its probability p. As a function of p this is never the identity, so it distorts a member that needs no calibration. With
s = log p/(1 - p) it is the identity at a = 0 and b = 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from ..forecasts import CLIP
from ..numerics import logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Floats


class LogOdds(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision function is the log-odds of its probabilities, clipped to [0.01, 0.99].

    >>> from sklearn.naive_bayes import GaussianNB
    >>> scored = LogOdds(GaussianNB()).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> scored.decision_function([[1.6], [9.0]]).round(2)
    array([0.8, 4.6])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> LogOdds:
        """Fit the classifier."""
        own = parameters if sample_weight is None else {"sample_weight": sample_weight, **parameters}
        self.estimator_ = clone(self.estimator).fit(X, y, **own)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second class, (samples,); with K > 2 classes of each against the rest, (samples, K)."""
        log_odds = logit(np.clip(self.estimator_.predict_proba(X), CLIP, 1 - CLIP))
        return log_odds[:, 1] if log_odds.shape[1] == 2 else log_odds

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes that the classifier predicts."""
        return self.estimator_.predict(X)

    def __getattr__(self, name: str) -> Any:
        """What the fitted classifier knows: ``classes_``, ``n_features_in_`` and ``feature_names_in_``."""
        if name in ("classes_", "n_features_in_", "feature_names_in_") and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__} has no {name}.")

    def get_metadata_routing(self) -> Any:
        """The classifier gets all that it asks for."""
        return self.estimator.get_metadata_routing()

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)
