"""The options that say who does the work, which long commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


@dataclass(frozen=True)
class RunningOptions:
    """This process unless one of these is given; results are the same to the last bit."""

    workers: Annotated[
        int | None, Option(metavar="K", help="Share the work between K processes on this machine, one core each.")
    ] = None
    cluster: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Share the work between the workers of a Dask scheduler, such as tcp://10.0.0.1:8786.",
        ),
    ] = None

    def in_use(self) -> AbstractContextManager[None]:
        """Let them do the work inside the block."""
        from ..execution.choosing import executor_in_use

        return executor_in_use(self.workers, self.cluster)
