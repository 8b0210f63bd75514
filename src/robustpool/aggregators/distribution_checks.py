"""Reports on questions with options, checked at the door: each agent's numbers are a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..checks import SUM_ROUNDING
from ..errors import InputError

if TYPE_CHECKING:
    from ..typing import Booleans, Floats

SUM_TOLERANCE = 1e-6
"""The numbers of an answer may miss 1 by this much (single precision does), then they are divided by their sum."""


def check_distributions(values: Floats) -> Floats:
    """Answers of shape (questions, agents, options) as distributions; all NaN: the agent did not answer.

    >>> check_distributions(np.array([[[0.2, 0.3, 0.5], [np.nan, np.nan, np.nan]]]))
    array([[[0.2, 0.3, 0.5],
            [nan, nan, nan]]])
    """
    if values.shape[1] == 0 or values.shape[2] < 2:
        raise InputError(
            f"questions with options must have at least one agent and two options; the shape is {values.shape}."
        )
    missing = np.isnan(values)
    absent = missing.all(axis=2)
    partly = np.asarray(missing.any(axis=2) & ~absent)
    if partly.any():
        raise InputError(
            "an answer must have a number for every option, or for none; "
            f"{_first(partly)} has NaN for {missing[partly][0].sum()} of {values.shape[2]} options {_count(partly)}."
        )
    wrong = ~((values >= 0) & (values <= 1) | missing)
    if wrong.any():
        row, agent, option = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"probability must lie in [0, 1]; row {row}, agent {agent}, option {option} is "
            f"{values[row, agent, option]:g} ({wrong.sum()} of {wrong.size} are out of range)."
        )
    totals = values.sum(axis=2)
    off = ~(np.abs(totals - 1) <= SUM_TOLERANCE) & ~absent
    if off.any():
        raise InputError(
            f"the probabilities of an answer must sum to 1 (within {SUM_TOLERANCE:g}); "
            f"{_first(off)} sums to {totals[off][0]:.10g} {_count(off)}."
        )
    return np.asarray(values / np.where(np.abs(totals - 1) <= SUM_ROUNDING, 1.0, totals)[:, :, None])


def _first(wrong: Booleans) -> str:
    row, agent = np.argwhere(wrong)[0].tolist()
    return f"row {row}, agent {agent}"


def _count(wrong: Booleans) -> str:
    return f"({wrong.sum()} of {wrong.size} answers)"
