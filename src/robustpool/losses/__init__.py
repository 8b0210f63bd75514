"""Losses, one file each, with all of their mathematics. A file with ``LOSS`` is a loss that has a word."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from .. import checks
from .loss import Loss

_FILES = [import_module(f".{file.name}", __name__) for file in iter_modules(__path__)]
_WORDS = [file.LOSS for file in _FILES if hasattr(file, "LOSS")]
LOSSES: dict[str, Loss] = {loss.name: loss for loss in sorted(_WORDS, key=lambda loss: loss.name != "square")}
"""By their words, the default first."""


def get_loss(loss: str | Loss) -> Loss:
    """The loss for a word, or the loss itself.

    >>> get_loss("log").name
    'log'
    """
    return loss if isinstance(loss, Loss) else LOSSES[checks.choice("loss", loss, LOSSES)]
