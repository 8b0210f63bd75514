"""A state of a solver as a checkpoint keeps it, and back; what nobody can have saved is refused."""

from __future__ import annotations

import math
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..checkpoints import check
from ..designs.records import TracePoint
from ..numerics import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .solver import State

S = TypeVar("S", bound="State")

MAY_BE_INFINITE = ("lower", "upper", "predicted", "expected")


def state_to_data(state: State, trace: Sequence[TracePoint]) -> dict[str, Any]:
    """A state and how it came about, as arrays by name."""
    points = np.array([astuple(point) for point in trace], dtype=float).reshape(-1, 4)
    return {"trace": points, **{each.name: np.asarray(getattr(state, each.name)) for each in fields(state)}}


def state_from_data(data: Any, first: S) -> tuple[S, list[TracePoint]]:
    """The same from saved data; ``first`` is the state in which the game begins."""
    names = {"trace", *(each.name for each in fields(first))}
    check(
        "the data",
        isinstance(data, dict) and data.keys() == names and all(isinstance(v, np.ndarray) for v in data.values()),
    )
    values = {name: value if value.ndim else value.item() for name, value in data.items()}
    trace = values.pop("trace")
    for name, value in values.items():
        check(name, _is_like(name, value, getattr(first, name)))
    state = type(first)(**values)
    check("round", state.round >= 1)
    check("the bounds", state.lower <= state.upper + ROUNDING)
    check(
        "the trace", isinstance(trace, np.ndarray) and trace.dtype == float and trace.ndim == 2 and trace.shape[1] == 4
    )
    number, *_, seconds = trace.T
    check("the trace", not np.isnan(trace).any() and bool((np.diff(number) > 0).all() and (seconds >= 0).all()))
    check("the trace", len(trace) > 0 and int(number[-1]) == state.round and math.isfinite(seconds[-1]))
    return state, [TracePoint(int(row[0]), *row[1:]) for row in trace.tolist()]


def _is_like(name: str, value: Any, first: Any) -> bool:
    """Whether a value is of the type of the first one, with as many axes, and finite."""
    if isinstance(first, np.ndarray):
        alike = isinstance(value, np.ndarray) and (value.dtype, value.ndim) == (first.dtype, first.ndim)
        return alike and bool(np.isfinite(value).all())
    if isinstance(first, float):
        return isinstance(value, float) and not math.isnan(value) and (math.isfinite(value) or name in MAY_BE_INFINITE)
    return type(value) is type(first)


def is_mixture(weights: Any) -> bool:
    """Whether weights are those of a mixture."""
    return bool((weights >= 0).all() and abs(weights.sum() - 1) <= ROUNDING)
