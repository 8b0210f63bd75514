"""Random pairs of answers: what two forecasters would have been worth, on every question that has two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..typing import Integers


def numbered_pair(number: Integers) -> tuple[Integers, Integers]:
    """The pairs i < j in the order (0,1), (0,2), (1,2), (0,3), ...: number = j (j - 1)/2 + i.

    >>> [(int(i), int(j)) for i, j in zip(*numbered_pair(np.arange(4)))]
    [(0, 1), (0, 2), (1, 2), (0, 3)]
    """
    j = ((1 + np.sqrt(8.0 * number + 1)) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > number  # a root that was rounded up
    return number - j * (j - 1) // 2, j


def sample_pairs(answers: Integers, most: int, seed: int) -> tuple[Integers, Integers, Integers]:
    """Up to ``most`` different pairs of answers of each question, all of them if there are no more.

    ``answers`` says how many each question has. Returned are the question of each pair, in order, and the places of the two
    answers within the question.

    >>> question, first, second = sample_pairs(np.array([3, 1, 2]), most=10, seed=0)
    >>> question, first, second
    (array([0, 0, 0, 2]), array([0, 0, 1, 0]), array([1, 2, 2, 1]))
    """
    rng = np.random.default_rng(seed)
    available = answers * (answers - 1) // 2
    taken = np.minimum(available, most)
    question = np.repeat(np.arange(len(answers)), taken)
    starts = np.cumsum(taken) - taken
    number = np.arange(len(question)) - np.repeat(starts, taken)
    for q in np.flatnonzero(available > most).tolist():
        number[starts[q] : starts[q] + most] = rng.choice(available[q], size=most, replace=False, shuffle=False)
    return question, *numbered_pair(number)
