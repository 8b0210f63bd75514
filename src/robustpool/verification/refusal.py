"""Kept until the last import moves to `reading`."""

from .reading import Refused as Refused
