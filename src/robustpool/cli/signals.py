"""Ctrl-C and SIGTERM: the first lets a command keep what it has, the second ends it at once, even in compiled code."""

from __future__ import annotations

import signal
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM)

_received: list[int] = []


def end_in_order() -> None:
    """Let the first of these signals end the work as Ctrl-C does; one that is ignored, as under nohup, stays so."""
    for number in ENDING:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _stop)


def _stop(number: int, _frame: object) -> NoReturn:
    _received.append(number)
    for each in ENDING:
        if signal.getsignal(each) is _stop:
            signal.signal(each, signal.SIG_DFL)
    raise KeyboardInterrupt


def terminated() -> bool:
    """Whether SIGTERM came: whoever sent it does not wait for long."""
    return signal.SIGTERM in _received


def status_of_stop() -> int:
    """The exit status of a command that was stopped, as shells have it: 128 and the number of the signal."""
    return 128 + (_received[0] if _received else signal.SIGINT)
