"""Of several answers of a forecaster to a question, which one counts, and what became of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .records import IntArray


def last_answers(rows: NDArray[np.void], forecasters: int) -> tuple[NDArray[np.void], dict[str, int]]:
    """One row for each question and forecaster, in this order, and how many others there were, by their names in a `Tally`.

    The last in time stays, and of those at one time (or without times) the last in the source. A complement, which was
    given as the probability of no, stays only where there is no probability of yes at its time.

    >>> columns = [("question", "i4"), ("forecaster", "i4"), ("probability", "f8")]
    >>> kept, dropped = last_answers(np.array([(1, 0, 0.5), (0, 0, 0.25), (1, 0, 0.75)], dtype=columns), forecasters=1)
    >>> kept.tolist(), dropped
    ([(0, 0, 0.25), (1, 0, 0.75)], {'complements': 0, 'duplicates': 0, 'replaced': 1, 'superseded': 0})
    """
    pair = rows["question"].astype(np.int64) * max(1, forecasters) + rows["forecaster"]
    order = np.argsort(pair, kind="stable")
    pair = pair[order]
    last = np.ones(len(pair), np.bool_)
    last[:-1] = pair[1:] != pair[:-1]
    if last.all():
        return rows[order], {}
    many = ~last  # only those who answered more than once need to be put in the order of time
    many[1:] |= ~last[:-1]
    order[many] = order[many][np.lexsort((*_ranks(rows[order[many]]), pair[many]))]
    kept = rows[order[last]]
    number: IntArray = np.cumsum(last) - last  # of the answer that is kept
    return kept, _counts(rows[order[~last]], kept[number[~last]])


def _ranks(rows: NDArray[np.void]) -> list[NDArray[Any]]:
    """By what the answers of a forecaster to a question are ordered; the last key counts most."""
    ranks: list[NDArray[Any]] = []
    if "complement" in _names(rows):
        ranks.append(~rows["complement"])
    if "timestamp" in _names(rows):
        ranks.append(np.nan_to_num(rows["timestamp"], nan=-np.inf))
    return ranks


def _counts(dropped: NDArray[np.void], kept: NDArray[np.void]) -> dict[str, int]:
    """What became of rows in place of each of which another one is kept."""
    same_time = np.ones(len(dropped), np.bool_)
    if "timestamp" in _names(kept):
        same_time = (dropped["timestamp"] == kept["timestamp"]) | (
            np.isnan(dropped["timestamp"]) & np.isnan(kept["timestamp"])
        )
    beside = np.zeros(len(dropped), np.bool_)
    if "complement" in _names(kept):
        beside = same_time & dropped["complement"] & ~kept["complement"]
    same = same_time & ~beside & (dropped["probability"] == kept["probability"])
    if "weight" in _names(kept):
        same &= dropped["weight"] == kept["weight"]
    return {
        "complements": int(beside.sum()),
        "duplicates": int(same.sum()),
        "replaced": int((same_time & ~beside & ~same).sum()),
        "superseded": int((~same_time).sum()),
    }


def _names(rows: NDArray[np.void]) -> tuple[str, ...]:
    return rows.dtype.names or ()
