"""Interval arithmetic on doubles: it contains the exact results, and little else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_series import holds, inside
from robustpool.verification.intervals import Interval, down, up

usual = st.floats(-1e120, 1e120)
any_size = st.one_of(st.floats(-10, 10), usual, st.floats(-1e-290, 1e-290), st.sampled_from([0.0, 5e-324, 1.0, -1.0]))
share = st.fractions(0, 1, max_denominator=1000)
Span = tuple[float, float]
spans = st.tuples(any_size, any_size).map(lambda pair: (min(pair), max(pair)))


@settings(max_examples=100, deadline=None)
@given(spans, spans, share, share)
def test_intervals_contain_the_exact_results(one: Span, two: Span, s: Fraction, t: Fraction) -> None:
    x, y, a, b = Interval(*one), Interval(*two), inside(one, s), inside(two, t)
    assert holds(x + y, a + b)
    assert holds(x - y, a - b)
    assert holds(x * y, a * b)
    assert holds(x.squared(), a * a)
    assert holds(x.scaled(3.0), 3 * a)
    assert float(x.squared().lo) >= 0
    assert holds(Interval.of(a), a)
    if one[0] > 1e-280 and max(map(abs, two)) < 1e300 * one[0]:  # what overflows is no bound: the test below
        assert holds(y / x, b / a)


def test_where_the_divisor_may_be_zero_nothing_is_known() -> None:
    for divisor in (Interval(0.0), Interval(-1.0, 1.0), Interval(0.0, 2.0), Interval(np.nan, 1.0)):
        quotient = Interval(1.0) / divisor
        assert (float(quotient.lo), float(quotient.hi)) == (-np.inf, np.inf)


def test_what_overflows_is_no_bound() -> None:
    with np.errstate(all="ignore"):
        for huge in (Interval(1e308) + Interval(1e308), Interval(1e200) * Interval(1e200), Interval(1e200).squared()):
            assert not float(huge.lo) >= 0  # not a number: it proves nothing
            assert huge.hi == np.inf


def test_rounding_moves_outward_by_a_few_units_in_the_last_place() -> None:
    for x in (1.0, -1.0, 0.1, 1e100, -3e-200):
        assert x - 5 * np.spacing(abs(x)) <= float(down(np.array(x))) < x < float(up(np.array(x)))
        assert float(up(np.array(x))) <= x + 5 * np.spacing(abs(x))
    assert float(down(np.array(0.0))) < 0 < float(up(np.array(0.0)))
    assert float(up(np.array(5e-324))) > 5e-324


def test_intervals_are_sharp() -> None:
    """On points the ends are within a few units in the last place of the exact value, whatever the signs."""
    for a in (3.0, -0.7, 1e-3):
        for b in (0.3, -5.0, 2.0):
            exact = Fraction(a), Fraction(b)
            x, y = Interval(a), Interval(b)
            results = [(x + y, exact[0] + exact[1]), (x - y, exact[0] - exact[1]), (x * y, exact[0] * exact[1])]
            results += [(x.squared(), exact[0] ** 2), (x.scaled(2.0), 2 * exact[0])]
            results += [(x / y, exact[0] / exact[1])] if b > 0 else []
            for found, value in results:
                assert Fraction(float(found.lo)) < value < Fraction(float(found.hi))
                assert float(found.hi) - float(found.lo) <= 4e-15 * max(abs(float(value)), abs(a), abs(b))
    assert float(Interval(-1.0, 2.0).squared().lo) == 0.0
    assert float(Interval(-1.0, 2.0).squared().hi) == pytest.approx(4)
    assert float(Interval(-3.0, -2.0).squared().lo) == pytest.approx(4)
    assert float(Interval(-0.5, 0.25).squared().lo) == 0.0
    assert (float(Interval.of(Fraction(0)).lo), float(Interval.of(Fraction(0)).hi)) == (0.0, 0.0)


def test_the_hull_and_what_is_left_of_an_interval() -> None:
    corners = Interval(np.array([[[0.1, 0.4], [0.2, 0.3]]]), np.array([[[0.5, 0.6], [0.9, 0.7]]]))
    assert (corners.hull().lo[0], corners.hull().hi[0]) == (0.1, 0.9)
    part = Interval(-0.5, 0.7).within(0.0, 1.0)
    assert (float(part.lo), float(part.hi)) == (0.0, 0.7)
