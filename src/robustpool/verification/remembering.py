"""Values that are costly to compute are remembered; without this, a rule that remembers could not be sent to another process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Remembering(ABC):
    """An object that remembers values of its methods, and forgets them where it is sent to."""

    @abstractmethod
    def remember(self) -> None:
        """Begin to remember: attributes that are methods with an ``lru_cache``."""

    def __getstate__(self) -> dict[str, Any]:
        """All but what is remembered."""
        return {name: value for name, value in vars(self).items() if not hasattr(value, "cache_info")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same object, which has nothing to remember yet."""
        vars(self).update(state)
        self.remember()
