"""What the verifier says when it does not agree."""

from .reading import Refused

__all__ = ["Refused"]
