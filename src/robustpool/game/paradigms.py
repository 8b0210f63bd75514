"""What is compared with the omniscient aggregator, and how [Guo2024, Section 7.2].

Each paradigm is affine in the aggregator's loss: payoff = scale * loss - offset, where c is the omniscient loss.

    additive   loss - c     scale 1     offset c
    absolute   loss         scale 1     offset 0
    ratio      loss / c     scale 1/c   offset 0

Convention for c = 0 in the ratio: 0/0 = 1 and a positive loss over 0 is infinite. A structure without omniscient loss
therefore *pins* the aggregator to the true state at each of its reports, at no further cost: scale 0, offset -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import checks
from ..numerics import safe_divide

if TYPE_CHECKING:
    from ..typing import Booleans, Floats

PARADIGMS = ("additive", "absolute", "ratio")

NO_LOSS = 1e-15
"""An omniscient loss up to this counts as 0 in the ratio: it is the rounding of probabilities that should be 0."""


def payoff_terms(paradigm: str, omniscient: Floats) -> tuple[Floats, Floats, Booleans]:
    """Scale and offset for each structure, and which structures pin the aggregator.

    >>> payoff_terms("ratio", np.array([0.0, 0.2]))
    (array([0., 5.]), array([-1.,  0.]), array([ True, False]))
    """
    checks.choice("paradigm", paradigm, PARADIGMS)
    ones, none = np.ones_like(omniscient), np.zeros(omniscient.shape, dtype=bool)
    if paradigm == "additive":
        return ones, omniscient, none
    if paradigm == "absolute":
        return ones, np.zeros_like(omniscient), none
    pins = omniscient <= NO_LOSS
    return safe_divide(ones, np.where(pins, 0.0, omniscient)), np.where(pins, -1.0, 0.0), pins
