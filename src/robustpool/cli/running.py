"""The options that say who does the work, which long commands share."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .command import told_on_standard_error
from .output import say

if TYPE_CHECKING:
    from collections.abc import Iterator


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

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let them do the work inside the block; what they warn of is told on standard error."""
        from ..execution.choosing import executor_in_use

        if self.cluster is not None:
            logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say ourselves what goes wrong
        with told_on_standard_error(), executor_in_use(self.workers, self.cluster, say):
            yield
