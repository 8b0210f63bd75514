"""A state of a solver in a file, so that a run goes on where it stopped. NumPy arrays, no pickles."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .multiplicative_weights import State
from .solution import TracePoint

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = "robustpool-checkpoint/1"


def save_checkpoint(path: str | os.PathLike[str], state: State, trace: Sequence[TracePoint], problem: str) -> None:
    """Write a state whole or not at all; ``problem`` is the hash of the game and the settings that it belongs to."""
    target = Path(path)
    arrays: dict[str, Any] = {f.name: getattr(state, f.name) for f in fields(State)}
    history = np.array([tuple(asdict(point).values()) for point in trace], dtype=float).reshape(-1, 4)
    partial = target.with_name(target.name + ".part")
    with partial.open("wb") as file:
        np.savez(file, allow_pickle=False, format=FORMAT, problem=problem, trace=history, **arrays)
    partial.replace(target)


def load_checkpoint(path: str | os.PathLike[str], problem: str) -> tuple[State, list[TracePoint]]:
    """The state and the trace that were saved for the same game and settings."""
    try:
        with np.load(path, allow_pickle=False) as data:
            saved = {name: data[name] for name in data.files}
    except FileNotFoundError:
        raise InputError(f"there is nothing to resume; {os.fspath(path)!r} does not exist.") from None
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{os.fspath(path)!r} is not a checkpoint ({error}).") from None
    if str(saved.get("format")) != FORMAT:
        raise InputError(f"{os.fspath(path)!r} is not a checkpoint of the format {FORMAT}.")
    if str(saved["problem"]) != problem:
        raise InputError(
            f"{os.fspath(path)!r} belongs to another family or to other settings, so it cannot be resumed."
        )
    trace = [TracePoint(int(row[0]), *(float(value) for value in row[1:])) for row in saved["trace"]]
    values = {f.name: saved[f.name] for f in fields(State)}
    return State(**{name: value if value.ndim else value.item() for name, value in values.items()}), trace


def problem_hash(*parts: Any) -> str:
    """A hash of what a checkpoint belongs to."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()
