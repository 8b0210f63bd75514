"""A worker process: takes items from standard input, answers on standard output, and ends when its master does.

``python -m robustpool.execution.worker``; started by `Processes` only. Whatever the work prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from robustpool.execution.sending import Kept, Message, answered


def main() -> None:
    """Work until the master is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.showwarning = _show  # type: ignore[assignment]
    tasks: SimpleQueue[Message] = SimpleQueue()
    Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    kept = Kept()
    while True:
        pickle.dump(answered(tasks.get(), kept), answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _show(message: Warning | str, *_: object) -> None:
    """A warning as a line of the master's standard error."""
    sys.stderr.write(f"robustpool: {message}\n")


def _listen(stream: BinaryIO, tasks: SimpleQueue[Any]) -> None:
    """Pass messages on. At the end of the stream the master is gone, and so are we, even in the middle of an item."""
    while True:
        try:
            tasks.put(pickle.load(stream))
        except (EOFError, OSError):
            os._exit(0)
        except BaseException:  # noqa: BLE001  # a message that is too large for the memory, say: the master counts deaths
            os._exit(1)


if __name__ == "__main__":
    main()
