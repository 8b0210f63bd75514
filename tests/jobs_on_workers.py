"""Functions that tests send to workers; they stand in a module of their own, which workers can import."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robustpool import execution
from robustpool.execution import mapped

if TYPE_CHECKING:
    from collections.abc import Callable


def scaled(common: int, item: int) -> int:
    return common * item


def pid(_common: Any, _item: Any) -> int:
    time.sleep(0.2)
    return os.getpid()


def identity(common: Any, _item: Any) -> tuple[int, int]:
    """The process, and which object is common there."""
    time.sleep(0.05)
    return os.getpid(), id(common[0])


def nested(common: int, item: int) -> int:
    """Work inside work, and whether it is done in this process."""
    inner = list(mapped(pid, range(2), None))
    assert set(inner) == {os.getpid()}
    return common + item


def entries(common: tuple[bytes, ...], _item: int) -> int:
    return sum(map(len, common))


def rests(common: int, item: int) -> int:
    return sum(k % common for k in range(item))


def divided(common: int, item: int) -> float:
    return common / item


def unsendable(common: int, item: int) -> Callable[[], int]:
    return lambda: common * item


def dies_once(folder: str, item: int) -> int:
    """Kills its process at item 3, if it is the first to come here."""
    if item == 3:
        try:
            (Path(folder) / "died").touch(exist_ok=False)
        except FileExistsError:
            return item
        os.kill(os.getpid(), 9)
    return item


def dies(folder: str | None, item: int) -> None:
    """Leaves a file with the process's number, if there is a folder."""
    if folder is not None:
        (Path(folder) / f"{item}-{os.getpid()}").touch()
    os._exit(3)


def second_waits(folder: str, item: int) -> int:
    """Item 1 waits until there is a file that says go on."""
    while item == 1 and not (Path(folder) / "go").exists():
        time.sleep(0.02)
    return os.getpid()


def cores(_common: None, _item: int) -> tuple[int, dict[str, str | None]]:
    """The threads that work inside this work would take, and what libraries are told of theirs."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return execution._executor.get().threads, {name: os.environ.get(name) for name in names}  # type: ignore[attr-defined]


def waits(folder: str, item: int) -> tuple[int, int]:
    """Leaves a file with the process's number, and waits until there is one that says go on."""
    place = Path(folder)
    (place / f"{item}-{os.getpid()}").touch()
    while not (place / "go").exists():
        time.sleep(0.05)
    return item, os.getpid()
