"""What can go wrong, in one sentence that names the place and the value."""

from __future__ import annotations


class RobustpoolError(Exception):
    """The base of every error that robustpool raises on purpose."""


class InputError(RobustpoolError, ValueError):
    """The input or an option is wrong; the message names the rule, the place and the value."""


class TooLargeError(InputError):
    """The input is larger than is allowed here, or would become so once it is expanded."""


class UnsupportedError(RobustpoolError, ValueError):
    """The combination asked for is not a convex game, or no method here solves it; the message says why."""


class MissingExtraError(UnsupportedError, ImportError):
    """It needs packages that are not installed; the message names the extra that brings them."""


class SolverError(RobustpoolError, RuntimeError):
    """A numerical solver failed; the message says where."""


class UnfitWorkersError(InputError):
    """Workers of a cluster cannot do the work: they have other versions, or cannot read what they are sent."""


class WorkersLostError(SolverError):
    """The processes or the cluster that did the work are gone; the message says what happened."""
