"""Compass search: climb from many points at once, by steps along axes. The searches for worst structures share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..execution import mapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Floats

    Climbers = tuple[Floats, Floats, Floats]  # points, their values, and the size of their next steps
    Landscape = tuple[Callable[[Floats], Floats], Callable[[Floats], Floats], list[Floats]]

PART_WORK, MOST_PARTS = 50_000, 4
"""Numbers that a part of the points looks at in a turn, at least, and parts; they depend on the search alone, not on who does it."""

A_NUMBER = 2e-8
"""Seconds, roughly."""


def climbed(
    values_of: Callable[[Floats], Floats],
    clipped: Callable[[Floats], Floats],
    points: Floats,
    rng: np.random.Generator,
    steps: int,
    keep: int | None = None,
    work: int = 1,
) -> tuple[Floats, Floats]:
    """Values and points after climbing: try steps along random and coordinate axes; shrink where none helps.

    ``clipped`` brings points back into the box. After an eighth of the steps only the best ``keep`` points go on. ``work``
    is how many numbers the value of a point takes: where there are many, parts of the points climb on their own.

    >>> values, points = climbed(lambda x: -((x - 0.3) ** 2).sum(axis=1), lambda x: x, np.zeros((1, 2)), np.random.default_rng(0), 200)
    >>> points.round(6)
    array([[0.3, 0.3]])
    """
    size = points.shape[1]
    axes = [np.eye(size) if turn % 2 else np.linalg.qr(rng.normal(size=(size, size)))[0] for turn in range(steps)]
    climbers = points, values_of(points), np.full(len(points), 0.25)
    if keep is not None:
        first = 1 + steps // 8
        points, values, step = _in_parts((values_of, clipped, axes[:first]), climbers, work)
        best = np.argsort(-values, kind="stable")[:keep]  # go on from the best ones only
        climbers, axes = (points[best], values[best], step[best]), axes[first:]
    points, values, _ = _in_parts((values_of, clipped, axes), climbers, work)
    return values, points


def _in_parts(landscape: Landscape, climbers: Climbers, work: int) -> Climbers:
    """The climbers after turns along the axes of a landscape."""
    count, size = climbers[0].shape
    a_turn = count * 2 * size * work
    parts = int(np.clip(a_turn // PART_WORK, 1, min(MOST_PARTS, count)))
    shared = list(zip(*(np.array_split(each, parts) for each in climbers), strict=True))
    reached = mapped(_climb, shared, landscape, seconds=A_NUMBER * a_turn * len(landscape[2]))
    points, values, step = zip(*reached, strict=True)
    return np.concatenate(points), np.concatenate(values), np.concatenate(step)


def _climb(landscape: Landscape, climbers: Climbers) -> Climbers:
    (values_of, clipped, all_axes), (points, values, step) = landscape, climbers
    count, size = points.shape
    for axes in all_axes:
        moves = np.concatenate((axes, -axes))
        tries = clipped(points[:, None] + step[:, None, None] * moves[None])
        reached = values_of(tries.reshape(-1, size)).reshape(count, -1)
        best = reached.argmax(axis=1)
        better = reached[np.arange(count), best] > values
        points = np.where(better[:, None], tries[np.arange(count), best], points)
        values = np.where(better, reached[np.arange(count), best], values)
        step = np.where(better, np.minimum(1.6 * step, 2.0), 0.55 * step)
        if (step < 1e-13).all():
            break
    return points, values, step
