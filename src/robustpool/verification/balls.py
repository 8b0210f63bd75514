"""Ball arithmetic for the verifier: exact numbers as balls, the logistic function, and negativity on a box.

A ball (`flint.arb`) is a midpoint and a radius; every operation returns a ball that contains all values that the
operation can take, rounding included. A comparison is True only if it holds for all numbers of both balls.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import flint
from flint import arb

from .mixtures import RATIONAL
from .refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Box: TypeAlias = tuple[tuple[float, float], ...]  # (low, high) for each coordinate; doubles, exact

PRECISION = 80  # bits; a double has 53
MOST_BOXES = 600_000


@contextmanager
def precision(bits: int = PRECISION) -> Iterator[None]:
    """Set the working precision of flint, and restore it."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def rational(name: str, value: Any) -> Fraction:
    """A number of a certificate: a double stands for itself exactly, a text "p/q" for that fraction.

    >>> rational("alpha", 0.5), rational("alpha", "1/3")
    (Fraction(1, 2), Fraction(1, 3))
    """
    plain = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
    if plain or (isinstance(value, str) and RATIONAL.fullmatch(value)):  # not "1e999999999"
        with suppress(ValueError, OverflowError, ZeroDivisionError):
            return Fraction(value)
    raise Refused(f"{name} must be a finite number or a fraction 'p/q'; it is {value!r}.")


def ball(value: Fraction) -> arb:
    """The ball around a fraction: of radius 0 if it fits, else of the last bit."""
    return arb(flint.fmpq(value.numerator, value.denominator))


def hull(low: arb, high: arb) -> arb:
    """A ball that contains both and all between."""
    return low.union(high)


def sigma(z: arb) -> arb:
    """1 / (1 + exp(-z))."""
    return 1 / (1 + (-z).exp())


def logit(p: arb) -> arb:
    """log(p / (1 - p))."""
    return (p / (1 - p)).log()


class Work:
    """How many boxes were looked at, and how many there may be."""

    def __init__(self, most: int = MOST_BOXES) -> None:
        """Start at zero."""
        self.boxes, self.most = 0, most

    def spend(self) -> bool:
        """Count one box more, and say whether that is still allowed."""
        self.boxes += 1
        return self.boxes <= self.most


def negative_on(
    box: Box,
    value: Callable[..., arb],
    gradient: Callable[..., Sequence[arb]],
    describe: Callable[[Sequence[float]], str],
    work: Work,
) -> None:
    """Prove that a differentiable function is negative on a box, or raise `Refused`.

    Mean-value theorem: for x in a box X with centre c, F(x) is in F(c) + sum_i F_i(X) (X_i - c_i). Where that is not
    negative the box is halved, in the direction that adds most to it.
    """
    stack = [box]
    while stack:
        ends = stack.pop()
        centre = [low + 0.5 * (high - low) for low, high in ends]
        if not work.spend():
            raise Refused(
                f"the inequality could not be shown within {work.most} boxes; the last was at {describe(centre)}."
            )
        at = [arb(c) for c in centre]
        sides = [hull(arb(low), arb(high)) for low, high in ends]
        here = value(*at)
        if here > 0:
            raise Refused(f"the inequality fails at {describe(centre)}, by {float(here.mid()):.3g}.")
        terms = [slope * (side - c) for slope, side, c in zip(gradient(*sides), sides, at, strict=True)]
        if here + sum(terms) < 0:
            continue
        size = [
            float(term.abs_upper()) if term.is_finite() else high - low
            for term, (low, high) in zip(terms, ends, strict=True)
        ]
        i = size.index(max(size))
        (low, high), middle = ends[i], centre[i]
        if not low < middle < high:
            raise Refused(
                f"the inequality could not be shown at {describe(centre)}; the boxes are as small as doubles."
            )
        stack += [(*ends[:i], half, *ends[i + 1 :]) for half in ((low, middle), (middle, high))]
