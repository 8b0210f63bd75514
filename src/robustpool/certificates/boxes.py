"""What bound some slopes or constants would prove: the verifier's enclosures, searched with a goal that may move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..verification.boxes import next_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Floats
    from ..verification.boxes import Boxes, Measured


MOST_BOXES = 20_000_000


def highest(
    measure: Callable[[Boxes], Measured],
    start: Iterator[Boxes],
    enough: float,
    slack: float,
    blamed: list[tuple[Floats, Floats]] | None = None,
) -> float:
    """At least the largest value of a function on boxes; at most ``enough``, if that can be shown, inf if nothing can.

    Boxes are halved until none may exceed ``enough``. Once a corner is seen to exceed it, nothing can show it; the search
    then goes on to what the corners need plus the slack. The reports y_1, y_2 of such corners are added to ``blamed``.
    """
    proved, goal, seen = -np.inf, enough, 0
    for first in start:
        waiting = [first]
        while waiting:
            boxes = next_batch(waiting)
            seen += len(boxes)
            with np.errstate(all="ignore"):  # what overflows is infinite or not a number, and neither satisfies a bound
                corner, most, bends = measure(boxes)
            if blamed is not None and (corner > enough).any():
                box, i, j = np.nonzero(corner > enough)[:3]
                blamed.append((boxes.y1[box, i], boxes.y2[box, j]))
            if not (corner <= goal).all():
                if np.isnan(corner).any():
                    return np.inf
                goal = max(goal, float(corner.max()) + slack)
            unsettled = ~(most <= goal)
            proved = max(proved, float(most[~unsettled].max(initial=-np.inf)))
            if unsettled.any():
                if seen > MOST_BOXES:
                    return np.inf
                waiting.append(boxes.pick(unsettled).halved(bends[unsettled]))
    return proved
