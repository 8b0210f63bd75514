"""Combine what people bring: probabilities in, forecasts out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from .aggregators.pools import FloatArray, answers, contradictory
from .aggregators.rules import get_rule
from .errors import InputError

Aggregator: TypeAlias = Callable[[FloatArray], npt.ArrayLike]
"""Any callable from reports of shape (m, n) to forecasts of shape (m,)."""


class ContradictionWarning(UserWarning):
    """One agent is certain that the answer is no, another that it is yes."""


@overload
def aggregate(probabilities: Sequence[float], rule: str | Aggregator = ..., *, clip: float | None = ...) -> float: ...
@overload
def aggregate(
    probabilities: Sequence[Sequence[float]], rule: str | Aggregator = ..., *, clip: float | None = ...
) -> FloatArray: ...
@overload
def aggregate(
    probabilities: npt.ArrayLike, rule: str | Aggregator = ..., *, clip: float | None = ...
) -> float | FloatArray: ...
def aggregate(
    probabilities: npt.ArrayLike, rule: str | Aggregator = "minimax", *, clip: float | None = None
) -> float | FloatArray:
    """Combine the agents' probabilities into one forecast for each question.

    Parameters
    ----------
    probabilities
        One question: a sequence of numbers, one for each agent. Many: an array of shape (questions, agents).
        NaN or None: the agent did not answer.
    rule
        The name of a rule (see `robustpool.aggregators.rules.RULES`), or any callable from reports (m, n) to forecasts (m,).
    clip
        Bring the probabilities into [clip, 1 - clip] first. By default certain ones are taken at their word.

    Returns
    -------
    A float for one question, an array of shape (questions,) for many. A question without answers gives NaN.
    A question with both a 0 and a 1 contradicts itself: it gives 0.5, and one `ContradictionWarning` counts them all.

    Raises
    ------
    InputError
        If a number lies outside [0, 1], the shape is another one, the rule is not known, or a callable answers with something else
        than m probabilities.

    >>> aggregate([0.7, 0.7], rule="product").__round__(4)
    0.8448
    >>> aggregate([[0.9, 0.8], [0.0, 0.4], [0.6, np.nan]]).round(4)
    array([0.8764, 0.    , 0.6   ])
    """
    values = _probabilities(probabilities)
    reports = np.atleast_2d(values if clip is None else _clipped(values, clip))
    at_odds = contradictory(reports)
    forecasts = _forecasts(_aggregator(rule)(reports), usual=(answers(reports) > 0) & ~at_odds)
    forecasts[at_odds] = 0.5
    if at_odds.any():
        warnings.warn(_contradictions(at_odds), ContradictionWarning, stacklevel=2)
    return float(forecasts[0]) if values.ndim == 1 else forecasts


def _aggregator(rule: object) -> Callable[..., Any]:
    """Turn what a user calls a rule into a callable from reports (m, n) to forecasts (m,)."""
    if isinstance(rule, str):
        return get_rule(rule)
    if callable(rule):
        return rule
    raise InputError(f"rule must be the name of a rule or a callable; it is {rule!r}.")


# ------------------------------------------------------------------------------------------------------ what comes in


def _probabilities(probabilities: npt.ArrayLike) -> FloatArray:
    """Check that these are numbers in [0, 1] or NaN, in one row or in a table."""
    values = _numbers(probabilities)
    if values.ndim not in (1, 2):
        raise InputError(
            f"probabilities must have the shape (agents,) or (questions, agents); the shape is {values.shape}."
        )
    if values.size == 0:
        raise InputError(f"probabilities must hold at least one number; the shape is {values.shape}.")
    wrong = ~((values >= 0) & (values <= 1) | np.isnan(values))
    if wrong.any():
        raise InputError(f"probability must lie in [0, 1]; {_first(values, wrong)} are out of range).")
    return values


def _numbers(probabilities: npt.ArrayLike) -> FloatArray:
    try:
        entries = np.asarray(probabilities)
    except ValueError:
        raise InputError(
            "probabilities must have rows of equal length; write NaN where an agent did not answer."
        ) from None
    if entries.dtype.kind in "fiub":
        return entries.astype(np.float64, copy=False)
    entries = np.asarray(
        probabilities, dtype=object
    )  # each entry as it was given: numpy makes text of numbers beside text
    wrong = np.array([not (entry is None or isinstance(entry, Real)) for entry in entries.flat]).reshape(entries.shape)
    if wrong.any():
        raise InputError(f"probability must be a number; {_first(entries, wrong)} are none).")
    return entries.astype(np.float64)


def _clipped(values: FloatArray, clip: float) -> FloatArray:
    if not (isinstance(clip, Real) and 0 <= clip < 0.5):
        raise InputError(f"clip must lie in [0, 0.5); it is {clip!r}.")
    return np.clip(values, clip, 1 - clip)


# ------------------------------------------------------------------------------------------------------ what goes out


def _forecasts(answer: npt.ArrayLike, usual: npt.NDArray[np.bool_]) -> FloatArray:
    """Check what an aggregator answers on the usual rows, those with an answer and no contradiction; NaN elsewhere."""
    try:
        forecasts = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the aggregator must answer with numbers; it answers {answer!r}.") from None
    if forecasts.shape != usual.shape:
        raise InputError(f"the aggregator must answer with the shape {usual.shape}; it answers with {forecasts.shape}.")
    wrong = usual & ~((forecasts >= 0) & (forecasts <= 1))
    if wrong.any():
        raise InputError(f"the aggregator must answer with numbers in [0, 1]; {_first(forecasts, wrong)} are not).")
    return np.where(usual, forecasts, np.nan)


def _first(entries: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> str:
    """Name the first wrong entry, its value and how many there are: ``row 17, column 2 is 1.2 (3 of 412``."""
    where = np.argwhere(wrong)[0]
    place = ", ".join(f"{axis} {index}" for axis, index in zip(("row", "column"), where, strict=False))
    return f"{place} is {entries[tuple(where)]!r} ({wrong.sum()} of {wrong.size}"


def _contradictions(at_odds: npt.NDArray[np.bool_]) -> str:
    return (
        "0 and 1 for the same question contradict each other, so that the forecast is 0.5; "
        f"row {np.argmax(at_odds)} does ({at_odds.sum()} of {at_odds.size} rows do)."
    )
