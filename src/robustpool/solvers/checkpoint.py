"""A state of a solver in a file, so that a run goes on where it stopped. NumPy arrays, no pickles."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..designs.records import TracePoint
from ..errors import InputError
from ..files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import DataclassInstance

    from ..typing import FilePath

S = TypeVar("S", bound="DataclassInstance")

FORMAT = "robustpool-checkpoint/1"


def save_checkpoint(path: FilePath, state: DataclassInstance, trace: Sequence[TracePoint], problem: str) -> None:
    """Write a state whole or not at all; ``problem`` is the hash of the game and the settings that it belongs to."""
    arrays: dict[str, Any] = {f.name: getattr(state, f.name) for f in fields(state)}
    history = np.array([tuple(asdict(point).values()) for point in trace], dtype=float).reshape(-1, 4)

    def write(partial: Path) -> None:
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, format=FORMAT, problem=problem, trace=history, **arrays)

    write_whole(path, write)


def load_checkpoint(path: FilePath, kind: type[S], problem: str) -> tuple[S, list[TracePoint]]:
    """The state of a kind and the trace that were saved for the same game and settings."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as data:
            saved = {key: data[key] for key in data.files}
        saved_for = str(saved["format"]), str(saved["problem"])
        trace = [TracePoint(int(row[0]), *(float(value) for value in row[1:])) for row in saved["trace"]]
        values = {f.name: saved[f.name] for f in fields(kind)}
        state = kind(**{key: value if value.ndim else value.item() for key, value in values.items()})
    except FileNotFoundError:
        raise InputError(f"there is nothing to resume; {name!r} does not exist.") from None
    except Exception as error:  # noqa: BLE001 - whatever NumPy makes of a damaged file
        raise InputError(f"{name!r} is not a checkpoint, or a damaged one ({type(error).__name__}).") from None
    if saved_for != (FORMAT, problem):
        raise InputError(f"{name!r} belongs to another family, version or settings, so it cannot be resumed.")
    return state, trace


def problem_hash(*parts: Any) -> str:
    """A hash of what a checkpoint belongs to."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()
