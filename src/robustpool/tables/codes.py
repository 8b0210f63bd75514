"""Names as numbers, in the order in which they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .records import IntArray

NO_NAME = -1
"""The number of a name that is empty."""


class Codes(dict[str, int]):
    """Numbers for names; spaces around a name do not matter.

    >>> codes = Codes()
    >>> codes.numbers(["ann", "bob", " ann", ""])
    array([ 0,  1,  0, -1])
    >>> codes.names
    ['ann', 'bob']
    """

    def __init__(self) -> None:
        """No names yet."""
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, text: str) -> int:
        """Number a text that was not met before."""
        name = text.strip()
        if not name:
            number = NO_NAME
        elif name != text:
            number = self[name]
        else:
            number = len(self.names)
            self.names.append(name)
        self[text] = number
        return number

    def numbers(self, texts: Sequence[str]) -> IntArray:
        """The numbers of these names; `NO_NAME` for empty ones."""
        return np.fromiter(map(self.__getitem__, texts), np.int64, len(texts))
