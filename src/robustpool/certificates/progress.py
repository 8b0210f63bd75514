"""How far a proof is; each step of `certify` is one of these."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .certificate import Certificate


@dataclass(frozen=True)
class Progress:
    """The state of a proof: the bounds so far, the intervals done and left, and the certificate once there is one."""

    upper: float  # proved; inf until all priors are covered, and where no upper bound can be proved
    lower: float  # found
    done: int  # intervals of priors, or stages
    left: int
    certificate: Callable[[], Certificate] | None = None
    obstacle: str | None = None  # why the proof ends before the tolerance is reached, if it is known
    standing: Callable[[], dict[str, Any]] | None = None  # what the proof can go on from, as plain data with arrays


class Slabs(NamedTuple):
    """How far the chances p_0 are covered, and by what."""

    reached: float
    entries: list[dict[str, Any]]
    finished: bool
    width: float  # of the next one


Steps = Generator[Progress, None, None]
