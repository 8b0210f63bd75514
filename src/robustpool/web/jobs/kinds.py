"""The kinds of jobs: which function does the work, and how it is treated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """``work`` is module:function. Short kinds have a worker that long ones cannot take; pausable ones continue where they stopped."""

    work: str
    short: bool = False
    pausable: bool = False


_WORK = "robustpool.web.work"

KINDS = {
    "design": Kind(f"{_WORK}.design:run", pausable=True),
    "design-check": Kind(f"{_WORK}.design:check", short=True),
    "certificate": Kind(f"{_WORK}.certificate:run"),
    "certificate-check": Kind(f"{_WORK}.certificate:check", short=True),
    "compare": Kind(f"{_WORK}.compare:run", short=True),
    "fit": Kind(f"{_WORK}.fit:run", short=True),
    "aggregate-table": Kind(f"{_WORK}.pool:run", short=True),
    "verify": Kind(f"{_WORK}.verify:run", short=True),
}
"""By name. The checks are for requests: they refuse wrong options before there is a job."""
