"""Ball arithmetic for the verifier: exact numbers as balls, the logistic function, and negativity on a box.

A ball (`flint.arb`) is a midpoint and a radius; every operation returns a ball that contains all values that the
operation can take, rounding included. A comparison is True only if it holds for all numbers of both balls.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import flint
from flint import arb, arb_series

from .reading import Budget, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction

Number = TypeVar("Number", arb, arb_series)

PRECISION = 80  # bits; a double has 53
STEPS_OF_A_BOX = 50  # of the budget; 28 to 48 microseconds were measured


@contextmanager
def precision(bits: int = PRECISION) -> Iterator[None]:
    """Set the working precision of flint, and restore it."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def ball(value: Fraction) -> arb:
    """The ball around a fraction: of radius 0 if it fits, else of the last bit."""
    return arb(flint.fmpq(value.numerator, value.denominator))


def hull(low: arb, high: arb) -> arb:
    """A ball that contains both and all between."""
    return low.union(high)


def sigma(z: Number) -> Number:
    """1 / (1 + exp(-z)), of a ball or of a power series with balls as coefficients."""
    return 1 / (1 + (-z).exp())


def logit(p: arb) -> arb:
    """log(p / (1 - p))."""
    return (p / (1 - p)).log()


def negative_on(
    box: tuple[tuple[float, float], ...],
    value: Callable[..., arb],
    gradient: Callable[..., Sequence[arb]],
    describe: Callable[[Sequence[float]], str],
    budget: Budget,
) -> None:
    """Prove that a differentiable function is negative on a box, or raise `Refused`.

    Mean-value theorem: for x in a box X with centre c, F(x) is in F(c) + sum_i F_i(X) (X_i - c_i). Where that is not
    negative the box is halved, in the direction that adds most to it.
    """
    stack = [box]
    while stack:
        budget.spend(STEPS_OF_A_BOX)
        ends = stack.pop()
        centre = [low + 0.5 * (high - low) for low, high in ends]
        at = [arb(c) for c in centre]
        sides = [hull(arb(low), arb(high)) for low, high in ends]
        here = value(*at)
        if here > 0:
            raise Refused(f"the inequality fails at {describe(centre)}, by {float(here.mid()):.3g}.")
        terms = [slope * (side - c) for slope, side, c in zip(gradient(*sides), sides, at, strict=True)]
        if here + sum(terms) < 0:
            continue
        widths = [high - low for low, high in ends]
        size = [float(x.abs_upper()) if x.is_finite() else w for x, w in zip(terms, widths, strict=True)]
        i = size.index(max(size))
        (low, high), middle = ends[i], centre[i]
        if not low < middle < high:
            raise Refused(f"the inequality could not be shown at {describe(centre)}, on a box as small as doubles are.")
        stack += [(*ends[:i], half, *ends[i + 1 :]) for half in ((low, middle), (middle, high))]
