"""Why a forecast is what it is."""

from .front_door import explain
from .records import Explanation, KnownRange, Saying

__all__ = ["Explanation", "KnownRange", "Saying", "explain"]
