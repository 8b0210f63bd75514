"""Rules as scikit-learn estimators: `RobustPool` over columns of forecasts, `RobustVotingClassifier` over classifiers.

They need scikit-learn, which comes with the extra ``robustpool[sklearn]``.
"""

from __future__ import annotations

try:
    import sklearn.frozen as _since_1_6  # noqa: F401
except ImportError:
    raise ImportError(
        "RobustPool and RobustVotingClassifier need scikit-learn 1.6 or later; pip install 'robustpool[sklearn]'."
    ) from None

from .pool import RobustPool as RobustPool
from .voting import RobustVotingClassifier as RobustVotingClassifier

__all__ = ["RobustPool", "RobustVotingClassifier"]
