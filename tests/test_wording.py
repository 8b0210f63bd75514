"""Numbers as people read them: a printed bound is never on the wrong side of the number that it stands for."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from robustpool.wording import at_most, between, interval_end, listed, outward

NUMBERS = [0.0225424859, 0.1, 1 / 3, 0.999999999999, 5e-324, 1e-12, 1.0, 0.0, 2.5, -0.1, -1e-12, 1e16 + 2, 1.7e308]


@pytest.mark.parametrize("digits", [0, 1, 6, 12])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_bound_is_rounded_away_from_what_it_bounds(number: float, digits: int) -> None:
    low, high = (Decimal(outward(number, way, digits)) for way in ("ROUND_FLOOR", "ROUND_CEILING"))
    assert low <= Decimal(number) <= high
    assert high - low <= Decimal(10) ** -digits  # and no further than to the next number with so many digits
    assert between(number, number, digits) == f"between {low:f} and {high:f}"


def test_what_is_infinite_stays_so() -> None:
    assert (outward(math.inf, "ROUND_CEILING"), outward(-math.inf, "ROUND_FLOOR")) == ("inf", "-inf")


@pytest.mark.parametrize("gap", [9.2301e-7, 1.01e-9, 0.1, 0.12, 0.1201, 3e-17, 123456.0])
def test_a_gap_is_rounded_up_to_two_digits(gap: float) -> None:
    assert Decimal(gap) <= Decimal(at_most(gap)) <= Decimal(gap) * Decimal("1.1")


@pytest.mark.parametrize("posterior", [0.9330001, 0.9689999, 0.00012345, 0.9999949, 1e-9, 1 - 1e-9])
def test_the_ends_of_an_interval_enclose_it(posterior: float) -> None:
    low, high = (float(interval_end(posterior, way)) for way in ("ROUND_FLOOR", "ROUND_CEILING"))
    assert low <= posterior <= high
    assert high - low <= np.clip(posterior, 1e-6, 1e-3) * (1 + 1e-9)


def test_names_beyond_the_most_are_counted() -> None:
    assert listed(list("abcde")) == "a, b, c, d and e"
    assert listed(list("abcdef")) == "a, b, c, d and 2 more"
