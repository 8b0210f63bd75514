"""An upper bound on a function over boxes: halve each box until its corners and its bending tell enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .intervals import up

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .intervals import Floats, Interval

AT_ONCE = 4096  # boxes, so that the arrays stay in the cache
MOST_BOXES = 20_000_000


class Measured(NamedTuple):
    """What is known of a function on boxes."""

    corner: Floats  # at least its values at the corners (boxes, ...)
    most: Floats  # at least its values anywhere (boxes,)
    bends: Floats  # what bending in each direction adds to the corners (boxes, directions)


@dataclass
class Boxes:
    """Boxes of reports and priors (boxes, low and high), each within one cell of the knots."""

    y1: Floats
    y2: Floats
    mu: Floats
    k1: NDArray[np.int64]
    k2: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.k1)

    def pick(self, which: slice | NDArray[np.bool_]) -> Boxes:
        """Some of them."""
        return Boxes(self.y1[which], self.y2[which], self.mu[which], self.k1[which], self.k2[which])

    def join(self, other: Boxes) -> Boxes:
        """These and those."""
        return Boxes(
            np.concatenate((self.y1, other.y1)),
            np.concatenate((self.y2, other.y2)),
            np.concatenate((self.mu, other.mu)),
            np.concatenate((self.k1, other.k1)),
            np.concatenate((self.k2, other.k2)),
        )

    def halved(self, direction: NDArray[np.int64]) -> Boxes:
        """Both halves of each box, cut in its direction 0, 1 or 2."""
        lower = Boxes(self.y1.copy(), self.y2.copy(), self.mu.copy(), self.k1, self.k2)
        upper = Boxes(self.y1.copy(), self.y2.copy(), self.mu.copy(), self.k1, self.k2)
        for number, (low, high) in enumerate(((lower.y1, upper.y1), (lower.y2, upper.y2), (lower.mu, upper.mu))):
            cut = direction == number
            middle = low[cut].mean(axis=1)
            low[cut, 1] = middle
            high[cut, 0] = middle
        return lower.join(upper)


def bending(bend: Floats, z: Interval, scale: Interval) -> Floats:
    """w^2/8 max(0, K) for the width w = (z.hi - z.lo)/scale."""
    width = up(up(z.hi - z.lo) / scale.lo)
    return up(up(width * width) * np.maximum(np.where(np.isnan(bend), np.inf, bend), 0.0)) / 8


def halve_until(
    measure: Callable[[Boxes], Measured],
    boxes: Boxes,
    enough: float,
    slack: float = 0.0,
    blamed: list[tuple[Floats, Floats]] | None = None,
) -> float:
    """At least the largest value of a function on boxes; at most ``enough``, if that can be shown.

    Boxes are halved until none may exceed ``enough``. Once a corner is seen to exceed it, nothing can show it; with a ``slack``
    the search then goes on to what the corners need plus the slack, and without one it ends with inf. The reports y_1, y_2
    of such corners are added to ``blamed``.
    """
    proved, goal, seen = -np.inf, enough, 0
    waiting = [boxes]
    while waiting:
        boxes = waiting.pop()
        if len(boxes) > AT_ONCE:
            waiting.append(boxes.pick(slice(AT_ONCE, None)))
            boxes = boxes.pick(slice(0, AT_ONCE))
        seen += len(boxes)
        with np.errstate(all="ignore"):  # what overflows is infinite or not a number, and neither satisfies a bound
            corner, most, bends = measure(boxes)
        if blamed is not None and (corner > enough).any():
            box, i, j = np.nonzero(corner > enough)[:3]
            blamed.append((boxes.y1[box, i], boxes.y2[box, j]))
        if not (corner <= goal).all():
            if not slack or np.isnan(corner).any():
                return np.inf
            goal = max(goal, float(corner.max()) + slack)
        unsettled = ~(most <= goal)
        proved = max(proved, float(most[~unsettled].max(initial=-np.inf)))
        if unsettled.any():
            if seen > MOST_BOXES:
                return np.inf
            left = boxes.pick(unsettled)
            waiting.append(left.halved(_direction(bends[unsettled], left)))
    return proved


def _direction(bends: Floats, boxes: Boxes) -> NDArray[np.int64]:
    """The direction in which to halve: where bending adds most, or the widest where that is of no use."""
    unknown = ~(bends.sum(axis=1) < 1)
    widths = np.stack([np.ptp(side, axis=1) for side in (boxes.y1, boxes.y2, boxes.mu)], axis=1)
    return np.where(unknown, widths.argmax(axis=1), bends.argmax(axis=1))
