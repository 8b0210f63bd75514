"""Compass search: climb from many points at once, by steps along axes. The searches for worst structures share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats


def climbed(
    values_of: Callable[[Floats], Floats],
    clipped: Callable[[Floats], Floats],
    points: Floats,
    rng: np.random.Generator,
    steps: int,
    keep: int | None = None,
) -> tuple[Floats, Floats]:
    """Values and points after climbing: try steps along random and coordinate axes; shrink where none helps.

    ``clipped`` brings points back into the box. After an eighth of the steps only the best ``keep`` points go on.

    >>> values, points = climbed(lambda x: -((x - 0.3) ** 2).sum(axis=1), lambda x: x, np.zeros((1, 2)), np.random.default_rng(0), 200)
    >>> points.round(6)
    array([[0.3, 0.3]])
    """
    count, size = points.shape
    step = np.full(count, 0.25)
    values = values_of(points)
    for turn in range(steps):
        axes = np.eye(size) if turn % 2 else np.linalg.qr(rng.normal(size=(size, size)))[0]
        moves = np.concatenate((axes, -axes))
        tries = clipped(points[:, None] + step[:, None, None] * moves[None])
        reached = values_of(tries.reshape(-1, size)).reshape(count, -1)
        best = reached.argmax(axis=1)
        better = reached[np.arange(count), best] > values
        points = np.where(better[:, None], tries[np.arange(count), best], points)
        values = np.where(better, reached[np.arange(count), best], values)
        step = np.where(better, np.minimum(1.6 * step, 2.0), 0.55 * step)
        if keep is not None and turn == steps // 8:  # go on from the best ones only
            best_ones = np.argsort(-values, kind="stable")[:keep]
            points, values, step, count = points[best_ones], values[best_ones], step[best_ones], len(best_ones)
        if (step < 1e-13).all():
            break
    return values, points
