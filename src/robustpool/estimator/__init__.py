"""Rules as scikit-learn estimators: `RobustPool` over columns of forecasts, `RobustVotingClassifier` over classifiers.

They need scikit-learn, which comes with the extra ``robustpool[sklearn]``.
"""

from __future__ import annotations

from ..checks import extra

extra("an estimator", "sklearn")

from .pool import RobustPool as RobustPool
from .voting import RobustVotingClassifier as RobustVotingClassifier

__all__ = ["RobustPool", "RobustVotingClassifier"]
