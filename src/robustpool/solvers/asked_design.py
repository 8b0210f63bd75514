"""A design as somebody asks for it: the grids of a world or a family, and what the aggregator has to respect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import checks
from ..aggregators.restrictions import Monotone, Symmetric
from ..errors import InputError
from ..families.worlds import INDEPENDENT, options_of, world_class

if TYPE_CHECKING:
    from ..aggregators.restrictions import Restriction
    from ..families.asked_world import AskedWorld
    from ..families.world import World

MOST_STEPS = 10**9
"""Beyond that, priors are continuous."""


def asked_world(world: AskedWorld, reports: int | None, priors: str | None, nature: str) -> World:
    """The world with its grids; with continuous nature, or priors, the priors have none.

    >>> from robustpool.families.asked_world import AskedWorld
    >>> asked_world(AskedWorld(agents=3), 10, "continuous", "grid").words()
    '3 conditionally independent agents, reports in steps of 1/10, any prior'
    """
    if nature == "continuous" and priors not in (None, "continuous"):
        raise InputError(f"--nature continuous means any prior; --priors is {priors!r}.")
    grids: dict[str, Any] = {} if reports is None else {"reports": reports}
    open_priors = nature == "continuous" and "priors" in options_of(world_class(world.world or INDEPENDENT))
    if open_priors or priors == "continuous":
        return world.make(**grids, priors=None)
    return world.make(**grids | ({} if priors is None else {"priors": _steps(priors)}))


def _steps(priors: str) -> int:
    try:
        steps = int(priors)
    except ValueError:
        raise InputError(f"--priors must be a whole number or continuous; it is {priors!r}.") from None
    return checks.whole("--priors", steps, least=0, most=MOST_STEPS)


def asked_restrictions(*, symmetric: bool, monotone: bool) -> list[Restriction]:
    """What the aggregator has to respect, besides a Lipschitz constant."""
    restrictions: list[Restriction] = [Symmetric()] if symmetric else []
    return restrictions + ([Monotone()] if monotone else [])
