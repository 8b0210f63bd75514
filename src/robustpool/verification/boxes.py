"""Whether a function is at most a bound on boxes: halve each box until its corners and its bending tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from .intervals import Floats, up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from .reading import Budget

AT_ONCE = 4096  # boxes, so that the arrays stay in the cache
STEPS, STEPS_A_BOX = 5000, 14  # of a budget: for each call, and for each box in it; as many microseconds were measured


class Divisible(Protocol):
    """Boxes of any kind."""

    @property
    def steps(self) -> float:
        """What it takes to look at one of them, of a budget."""

    def __len__(self) -> int: ...

    def pick(self, which: Any) -> Self:
        """Some of them."""

    def halved(self, bends: Floats) -> Self:
        """Both halves of each."""


Some = TypeVar("Some", bound=Divisible)


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

    @property
    def steps(self) -> float:
        """What it takes to look at one of them, of a budget."""
        return STEPS_A_BOX

    @classmethod
    def between(cls, knots: Floats, k1: NDArray[np.int64], k2: NDArray[np.int64], priors: tuple[float, float]) -> Boxes:
        """The boxes of the cells k1 and k2 between knots, with all the priors."""
        ends = np.stack((knots[:-1], knots[1:]), axis=1)
        return cls(ends[k1], ends[k2], np.tile(np.array(priors), (len(k1), 1)), k1, k2)

    def __len__(self) -> int:
        return len(self.k1)

    def pick(self, which: slice | NDArray[np.bool_]) -> Boxes:
        """Some of them."""
        return Boxes(self.y1[which], self.y2[which], self.mu[which], self.k1[which], self.k2[which])

    def halved(self, bends: Floats) -> Boxes:
        """Both halves of each box, cut where bending adds most, or where it is widest if that is of no use."""
        sides = np.stack((self.y1, self.y2, self.mu), axis=1)  # (boxes, directions, ends)
        widest = np.ptp(sides, axis=2).argmax(axis=1)
        cut = np.where(bends.sum(axis=1) < 1, bends.argmax(axis=1), widest)
        rows = np.arange(len(self))
        lower, upper = sides.copy(), sides.copy()
        lower[rows, cut, 1] = upper[rows, cut, 0] = sides[rows, cut].mean(axis=1)
        y1, y2, mu = np.moveaxis(np.concatenate((lower, upper)), 1, 0)
        return Boxes(y1, y2, mu, np.tile(self.k1, 2), np.tile(self.k2, 2))


def pairs(cells: int, *, symmetric: bool) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """All pairs of cells, some at a time; those with k1 <= k2 if the agents may be exchanged."""
    rows = max(1, AT_ONCE // cells)
    for first in range(0, cells, rows):
        k1, k2 = (k.ravel() for k in np.indices((min(rows, cells - first), cells)))
        keep = k2 >= k1 + first if symmetric else slice(None)
        yield k1[keep] + first, k2[keep]


def bending(bend: Floats, ends: Floats, scale: float) -> Floats:
    """w^2/8 max(0, K) for the width w of the ends (boxes, 2), which are measured in units of 1/scale."""
    width = up(up(ends[:, 1] - ends[:, 0]) / scale)
    return up(up(width * width) * np.maximum(np.where(np.isnan(bend), np.inf, bend), 0.0)) / 8


def batches(
    measure: Callable[[Some], Measured], start: Iterator[Some], budget: Budget
) -> Iterator[tuple[Some, Measured, list[Some]]]:
    """All boxes, `AT_ONCE` at most, with what is measured on them, and the list of those that wait.

    Who takes them halves the boxes where the function is not settled, and adds the halves to the list.
    """
    for first in start:
        waiting = [first]
        while waiting:
            boxes = waiting.pop()
            if len(boxes) > AT_ONCE:
                waiting.append(boxes.pick(slice(AT_ONCE, None)))
                boxes = boxes.pick(slice(0, AT_ONCE))
            budget.spend(STEPS + boxes.steps * len(boxes))
            with np.errstate(all="ignore"):  # what overflows is infinite or not a number, and neither satisfies a bound
                measured = measure(boxes)
            yield boxes, measured, waiting


def all_at_most(measure: Callable[[Some], Measured], start: Iterator[Some], bound: float, budget: Budget) -> bool:
    """Whether a function is at most ``bound`` on boxes: True only if it is, False once a corner may exceed it."""
    for boxes, (corner, most, bends), waiting in batches(measure, start, budget):
        if not (corner <= bound).all():
            return False
        unsettled = ~(most <= bound)
        if unsettled.any():
            waiting.append(boxes.pick(unsettled).halved(bends[unsettled]))
    return True
