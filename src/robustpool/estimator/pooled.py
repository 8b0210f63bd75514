"""What both estimators do with reports: count what is clipped, give each class its pooled probability, and choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, TransformerMixin

from ..errors import InputError
from ..forecasts import clip_for, outside, raised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Floats


class PooledClassifier(ClassifierMixin, TransformerMixin):  # type: ignore[misc]
    """A classifier that pools reports of shape (samples, agents), or with K > 2 classes (samples, agents, K).

    Its classes define ``_reports`` and ``_forecasts``, which go from X to the reports and to what the rule says of them, and
    ``_needed``, what a row must have to get a class.
    """

    clip: float | None
    aggregator_: Any
    pool_: Any  # a `FittedPool`, or None
    classes_: NDArray[Any]
    _reports: Any
    _forecasts: Any
    _needed: str

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class, and the first of them if several are: (samples, ...) -> (samples,)."""
        probabilities = self.predict_proba(X)
        none = np.isnan(probabilities[:, 0])
        if none.any():
            raise InputError(
                f"{self._needed} for its class to be predicted; "
                f"row {np.argmax(none)} has none ({none.sum()} of {none.size} rows)."
            )
        return self.classes_[np.argmax(probabilities, axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """The pooled probability of each class: (samples, ...) -> (samples, classes)."""
        forecasts: Floats = self._forecasts(X)
        return forecasts if forecasts.ndim == 2 else np.column_stack([1 - forecasts, forecasts])

    def clipped(self, X: Any) -> int:
        """How many of the probabilities (with K > 2 classes: of the distributions) are clipped before they are pooled."""
        reports = self._reports(X)
        touched = outside if reports.ndim == 2 else raised
        return touched(reports, clip_for(self.aggregator_, self.clip))
