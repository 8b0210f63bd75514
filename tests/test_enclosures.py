"""Enclosures on boxes, against exact values and exact second derivatives: of the dual inequality, and of the tails."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from exact_series import KINDS, Series, density, holds, inside, random_aggregator, random_box, random_slopes, right_side
from robustpool.certificates.dual import highest
from robustpool.verification import cover as tails
from robustpool.verification import dual
from robustpool.verification.boxes import Boxes
from robustpool.verification.cover import constants_hold, tail_bound
from robustpool.verification.dual import Density, Reports, needed
from robustpool.verification.forecasts import PriorEstimate, read_aggregator
from robustpool.verification.functions_of_the_mean import GeometricMean
from robustpool.verification.intervals import Interval
from robustpool.verification.mixtures import Structure, expected_regret
from robustpool.verification.reading import Budget


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_needed_on_a_box_is_enough_at_its_points(kind: str) -> None:
    """Corners, values anywhere and bending against exact values and exact second derivatives, at random points."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        forecast, formula_in = random_aggregator(kind, rng)
        n = forecast.resolution
        slopes = random_slopes(n, rng)
        k = tuple(int(rng.integers(len(slopes.knots) - 1)) for _ in range(2))
        spans = [*((float(slopes.knots[i]), float(slopes.knots[i + 1])) for i in k), slopes.priors]
        box = [random_box(span, rng) for span in spans]
        boxes = Boxes(*(np.array([side]) for side in box), *(np.array([i]) for i in k))
        with np.errstate(all="ignore"):
            measured = needed(forecast, slopes, boxes)
        formula = formula_in(tuple(int(slopes.knots[i]) for i in k))

        def excess(
            x1: Any, x2: Any, mu: Any, formula: Any = formula, slopes: Any = slopes, k: Any = k, n: Any = n
        ) -> Any:
            return density(formula, x1, x2, mu) - right_side(slopes, k, n, x1, x2, mu)

        scale = [n, n, 1]
        for corner in product((0, 1), repeat=3):
            at = [Fraction(side[end]) / s for side, end, s in zip(box, corner, scale, strict=True)]
            if all(0 < x < 1 for x in at):
                assert Fraction(float(measured.corner[0][corner])) >= excess(*at)
        widths = [(Fraction(side[1]) - Fraction(side[0])) / s for side, s in zip(box, scale, strict=True)]
        for _ in range(6):
            share = [Fraction(float(rng.choice([0.001, 0.999, rng.uniform(0, 1)]))) for _ in range(3)]
            parts = zip(box, scale, share, widths, strict=True)
            at = [Fraction(side[0]) / s + t * width for side, s, t, width in parts]
            if not (0 < at[0] < 1 and 0 < at[1] < 1):
                continue
            if np.isfinite(measured.most[0]):
                assert Fraction(float(measured.most[0])) >= excess(*at)
            for direction in range(3):
                if np.isfinite(measured.bends[0, direction]):
                    moved: list[Any] = [Series(x, int(i == direction)) for i, x in enumerate(at)]
                    bend = -2 * excess(*moved).c * widths[direction] ** 2 / 8
                    assert Fraction(float(measured.bends[0, direction])) >= bend


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_enclosed(kind: str) -> None:
    """f, f_1, f_2, f_11 and f_22 at random points of random boxes, exactly; and tightly on small boxes."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        forecast, formula_in = random_aggregator(kind, rng)
        n = forecast.resolution
        cell = tuple(int(rng.integers(n)) for _ in range(2))
        box = [random_box((float(i), float(i + 1)), rng) for i in cell]
        y1, y2 = (Interval(np.array([low]), np.array([high])) for low, high in box)
        corners = forecast.at(np.array(box[:1])[:, :, None], np.array(box[1:])[:, None, :], np.array([cell]))
        with np.errstate(all="ignore"):
            given = forecast.over(y1, y2, np.array([cell]), corners.within(0.0, 1.0))
        assert given.first is not None
        for _ in range(6):
            at = [inside(side, Fraction(float(rng.uniform(0.001, 0.999)))) / n for side in box]
            for direction in range(2):
                f = formula_in(cell)(*(Series(x, int(i == direction)) for i, x in enumerate(at)))
                seconds = given.second or (Interval(np.zeros(1)), Interval(np.zeros(1)))
                enclosures = (given.f, f.a), (given.first[direction], f.b), (seconds[direction], 2 * f.c)
                for enclosure, exact in enclosures:
                    assert holds(Interval(enclosure.lo[0], enclosure.hi[0]), exact)
        if max(high - low for low, high in box) < 1e-5 and 0.01 < box[0][0] < n - 0.01 and 0.01 < box[1][0] < n - 0.01:
            assert given.first[0].hi[0] - given.first[0].lo[0] < 1.0


def test_the_limits_of_an_estimated_prior() -> None:
    """At (0, 0) and (1, 1) there are no derivatives, and f is still known near by."""
    piece = PriorEstimate(Fraction(1, 2), Fraction(0), "everywhere")
    cell = np.zeros((1, 2), dtype=np.int64)
    small = Interval(np.array([0.0]), np.array([1e-3]))
    large = Interval(np.array([1 - 1e-3]), np.array([1.0]))
    corners = Interval(np.zeros((1, 2, 2)), np.ones((1, 2, 2)))
    with np.errstate(all="ignore"):
        assert piece.over(small, small, cell, corners).f.hi[0] < 1.01e-3
        assert piece.over(large, large, cell, corners).f.lo[0] > 1 - 1.01e-3
    ends = np.array([[[0.0], [1.0]]])
    at = piece.at(ends, ends.reshape(1, 1, 2), cell)
    assert (at.lo[0, 0, 0], at.hi[0, 0, 0], at.lo[0, 1, 1], at.hi[0, 1, 1]) == (0, 0, 1, 1)
    assert (at.lo[0, 0, 1], at.hi[0, 0, 1]) == (0, 1)  # 0 meets 1: anything, and it never happens


# --------------------------------------------------------------------------------------------------------------- tails


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_constant_of_a_tail_holds_at_all_points(kind: str, *, mirrored: bool) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        forecast, formula_in = random_aggregator(kind, rng)
        n, growth = forecast.resolution, (float(rng.uniform(0, 0.3)), float(rng.uniform(0, 1)))
        with np.errstate(all="ignore"):
            measure = partial(tails.needed, forecast, growth, mirrored=mirrored)
            constant = highest(measure, tails.cells(forecast), 0.0, 1e-3)
        largest = Fraction(-1)
        for x1, x2 in [*product((Fraction(1, 1000), Fraction(1, 3), Fraction(999, 1000)), repeat=2)] + [
            tuple(map(Fraction, rng.uniform(0, 1, size=2).tolist())) for _ in range(60)
        ]:
            cell = tuple(min(int(n * x), n - 1) for x in (x1, x2))
            f, a, b = formula_in(cell)(x1, x2), x1, x2
            if mirrored:
                f, a, b = 1 - f, 1 - a, 1 - b
            c2, c1 = map(Fraction, growth)
            largest = max(largest, (1 - a) * (1 - b) * f * f - c2 * (a + b) - c1 * a * b)
        assert Fraction(constant) >= largest


@pytest.mark.parametrize("mirrored", [False, True])
def test_bending_in_a_tail(*, mirrored: bool) -> None:
    """-G_11 and -G_22 against exact second derivatives."""
    rng = np.random.default_rng(8)
    for kind in KINDS * 6:
        forecast, formula_in = random_aggregator(kind, rng)
        n = forecast.resolution
        cell = tuple(int(rng.integers(n)) for _ in range(2))
        box = [random_box((float(i), float(i + 1)), rng) for i in cell]
        sides, cells = [np.array([side]) for side in (*box, (0.0, 0.0))], [np.array([i], dtype=np.int64) for i in cell]
        boxes = Boxes(*sides, *cells)
        with np.errstate(all="ignore"):
            measured = tails.needed(forecast, (0.25, 0.5), boxes, mirrored=mirrored)
        for _ in range(6):
            at = [inside(side, Fraction(float(rng.uniform(0.001, 0.999)))) / n for side in box]
            for direction, side in enumerate(box):
                x1, x2 = (Series(x, int(i == direction)) for i, x in enumerate(at))
                f, a, b = formula_in(cell)(x1, x2), x1, x2
                if mirrored:
                    f, a, b = 1 - f, 1 - a, 1 - b
                excess = (1 - a) * (1 - b) * f * f - (a + b) * Fraction(1, 4) - a * b * Fraction(1, 2)
                width = (Fraction(side[1]) - Fraction(side[0])) / n
                if np.isfinite(measured.bends[0, direction]):
                    assert Fraction(float(measured.bends[0, direction])) >= -2 * excess.c * width**2 / 8
                if np.isfinite(measured.most[0]):
                    assert Fraction(float(measured.most[0])) >= excess.a


# A table whose worst case next to the prior 0 is almost what its tail says: at the prior mu both agents report 0 or 1/2.
# Where one of them says 1/2 it says 1, and is wrong, with the chance 4 mu; where both do it says 0, and is wrong too.
CRUEL = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
HALF_INFORMED = ((Fraction(0), Fraction(1, 2)),) * 2


def in_mirror(values: list[list[float]]) -> list[list[float]]:
    return [[1 - x for x in row[::-1]] for row in values[::-1]]


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_tail_bounds_the_regret_of_all_small_priors(*, mirrored: bool) -> None:
    """C_0 = 1e-7, C_2 = 1, C_1 = 0: the bound is about 3 mu, and a structure has 3 mu but for terms in mu^2."""
    rule = read_aggregator({"kind": "grid", "values": in_mirror(CRUEL) if mirrored else CRUEL})
    constants = (1e-7, 1.0, 0.0)
    (piece,) = rule.pieces
    assert constants_hold(piece, constants, Budget(), mirrored=mirrored)
    assert not constants_hold(piece, (1e-7, 0.999, 0.0), Budget(), mirrored=mirrored)
    assert not constants_hold(piece, constants, Budget(), mirrored=not mirrored)

    def regret(prior: Fraction, reports: tuple[tuple[Fraction, Fraction], ...]) -> Fraction:
        if mirrored:
            prior, reports = 1 - prior, tuple((1 - high, 1 - low) for low, high in reports)
        return expected_regret([Structure(Fraction(1), prior, reports)], rule.forecast, Budget())

    for small in (0.001, 0.01, 0.05):
        assert regret(Fraction(small), HALF_INFORMED) <= tail_bound(small, constants)
    assert regret(Fraction(0.001), HALF_INFORMED) >= Fraction(99, 100) * tail_bound(0.001, constants)
    rng = np.random.default_rng(9)
    for _ in range(50):
        prior = Fraction(float(rng.uniform(1e-4, 0.05)))
        reports = tuple((prior * int(rng.integers(2)), inside((float(prior), 1.0), Fraction(1, 2))) for _ in range(2))
        assert regret(prior, reports) <= tail_bound(float(prior), constants) <= tail_bound(0.05, constants)


def test_the_bound_of_a_tail_is_the_mean_of_its_terms() -> None:
    """x_1 x_2/mu + (C_0 + C_2 (x_1 + x_2) + C_1 x_1 x_2)/(1 - mu) over independent reports with the mean mu, exactly."""
    rng = np.random.default_rng(10)
    for _ in range(20):
        mu, *constants = (Fraction(float(x)) for x in rng.uniform(0.01, 0.3, size=4))
        c0, c2, c1 = constants
        low, high = mu * Fraction(1, 3), mu + (1 - mu) * Fraction(2, 5)
        chances = ((low, (high - mu) / (high - low)), (high, (mu - low) / (high - low)))
        mean = sum(
            (
                p * q * (x * y / mu + (c0 + c2 * (x + y) + c1 * x * y) / (1 - mu))
                for x, p in chances
                for y, q in chances
            ),
            Fraction(0),
        )
        assert tail_bound(float(mu), [float(c) for c in constants]) == mean


# ---------------------------------------------------------------------------------------- tiny boxes: sharp, not only right

TINY = 1e-7  # the width of a box, in cells


def geometric_mean(x1: Any, x2: Any) -> Any:
    return (x1 * x2).sqrt()


def tiny_case(kind: str, rng: np.random.Generator) -> tuple[Any, Any, tuple[int, int], list[tuple[float, float]]]:
    """A piece, its formula, a cell and a tiny box in it, away from the border."""
    if kind == "geometric-mean":
        low = [float(rng.integers(20, 110)) / 128 for _ in range(2)]
        return GeometricMean(), geometric_mean, (0, 0), [(x * x, x * x + TINY) for x in low]
    forecast, formula_in = random_aggregator(kind, rng)
    cell = (int(rng.integers(forecast.resolution)), int(rng.integers(forecast.resolution)))
    low = [k + float(rng.uniform(0.1, 0.9)) for k in cell]
    return forecast, formula_in(cell), cell, [(x, x + TINY) for x in low]


def enclosed_at(forecast: Any, cell: tuple[int, int], box: list[tuple[float, float]]) -> dual.Enclosure:
    y1, y2 = (Interval(np.array([low]), np.array([high])) for low, high in box)
    ends = [np.array([side]) for side in box]
    corners = forecast.at(ends[0][:, :, None], ends[1][:, None, :], np.array([cell]))
    return forecast.over(y1, y2, np.array([cell]), corners)


def near(found: Any, exact: Fraction, *, rough: float = 1e-3) -> bool:
    """At least the exact value, and above it by no more than 1 %; ``rough`` allows for what cancels."""
    return exact <= Fraction(float(found)) <= exact + Fraction(abs(float(exact)) / 100 + rough)


@pytest.mark.parametrize("kind", KINDS)
def test_tiny_derivatives(kind: str) -> None:
    """f, f_1, f_2, f_11 and f_22: enclosed, and no wider than 1 %."""
    rng = np.random.default_rng(11)
    for _ in range(25):
        forecast, formula, cell, box = tiny_case(kind, rng)
        given, n = enclosed_at(forecast, cell, box), forecast.resolution
        assert given.first is not None
        for direction in range(2):
            f = formula(*(Series(Fraction(low) / n, int(i == direction)) for i, (low, _) in enumerate(box)))
            pairs = [(given.f, f.a), (given.first[direction], f.b)]
            if given.second is not None:
                pairs.append((given.second[direction], 2 * f.c))
            else:
                assert f.c == 0
            for enclosure, exact in pairs:
                assert near(enclosure.hi[0], exact)
                assert near(-enclosure.lo[0], -exact)


@pytest.mark.parametrize("kind", [*KINDS, "geometric-mean"])
def test_tiny_densities(kind: str) -> None:
    """A, -A_11, -A_22 and -A_mumu: bounded from above, and not by more than 1 %."""
    rng = np.random.default_rng(12)
    for _ in range(25):
        forecast, formula, cell, box = tiny_case(kind, rng)
        given, n = enclosed_at(forecast, cell, box), forecast.resolution
        mu = float(rng.uniform(0.1, 0.9))
        one, two = (Reports.of(Interval(np.array([low]), np.array([high])), n) for low, high in box)
        prior = Interval(np.array([mu]), np.array([mu + TINY]))
        made = Density.of(one, two, prior, given.f.within(0.0, 1.0))
        at = [Fraction(box[0][0]) / n, Fraction(box[1][0]) / n, Fraction(mu)]

        def bend(direction: int, at: Any = at, formula: Any = formula) -> Fraction:
            """-A_kk."""
            return -2 * density(formula, *(Series(x, int(i == direction)) for i, x in enumerate(at))).c

        assert near(made.most()[0], density(formula, *map(Series, at)).a, rough=1e-5)
        assert near(made.bend_in_report(two, given, 0)[0], bend(0))
        assert near(made.bend_in_report(one, given, 1)[0], bend(1))
        assert near(made.bend_in_prior()[0], bend(2))


@pytest.mark.parametrize("kind", [*KINDS, "geometric-mean"])
def test_tiny_boxes_of_the_inequality(kind: str) -> None:
    """What (*) needs at the eight corners, anywhere, and by bending: with slopes that bend in the prior as well."""
    rng = np.random.default_rng(13)
    bent = 0
    for _ in range(25):
        forecast, formula, _, box = tiny_case(kind, rng)
        n = forecast.resolution
        slopes = random_slopes(n, rng)
        slopes.values[:, 1] = slopes.values[:, 0] + rng.normal(size=(2, 1))  # growth is bounded cell by cell
        k = tuple(int(np.searchsorted(slopes.knots, low, side="right")) - 1 for low, _ in box)
        if any(high > slopes.knots[i + 1] for i, (_, high) in zip(k, box, strict=True)):
            continue
        mu = inside(slopes.priors, Fraction(float(rng.uniform(0.1, 0.8))))
        box = [*box, (float(mu), float(mu) + TINY)]
        boxes = Boxes(*(np.array([side]) for side in box), *(np.array([i]) for i in k))
        measured = needed(forecast, slopes, boxes)
        scale = [n, n, 1]

        def excess(*at: Any, formula: Any = formula, slopes: Any = slopes, k: Any = k, n: Any = n) -> Any:
            return density(formula, *at) - right_side(slopes, k, n, *at)

        if kind != "geometric-mean":  # whose root is a fraction at one corner only
            for corner in product((0, 1), repeat=3):
                at = [Series(Fraction(side[i]) / s) for side, i, s in zip(box, corner, scale, strict=True)]
                assert near(measured.corner[0][corner], excess(*at).a, rough=1e-9)
        first = [Series(Fraction(side[0]) / s) for side, s in zip(box, scale, strict=True)]
        assert near(measured.corner[0, 0, 0, 0], excess(*first).a, rough=1e-9)
        assert near(measured.most[0], excess(*first).a, rough=1e-4)
        for direction in range(3):
            moved = [Series(x.a, int(i == direction)) for i, x in enumerate(first)]
            square = ((Fraction(box[direction][1]) - Fraction(box[direction][0])) / scale[direction]) ** 2
            exact = max(-2 * excess(*moved).c, Fraction(0))
            assert near(Fraction(float(measured.bends[0, direction])) * 8 / square, exact)
            bent += exact > Fraction(1, 10)
    assert bent >= 15


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, "geometric-mean"])
def test_tiny_boxes_of_a_tail(kind: str, *, mirrored: bool) -> None:
    """The same for (1-x_1)(1-x_2) f^2 - C_2 (x_1 + x_2) - C_1 x_1 x_2, where f_11 is not 0 as well."""
    rng = np.random.default_rng(14)
    bent = 0
    for _ in range(25):
        forecast, formula, cell, box = tiny_case(kind, rng)
        n, growth = forecast.resolution, (0.25, 0.5)
        boxes = Boxes(*(np.array([side]) for side in (*box, (0.0, 0.0))), *(np.array([i]) for i in cell))
        measured = tails.needed(forecast, growth, boxes, mirrored=mirrored)

        def excess(x1: Series, x2: Series, formula: Any = formula) -> Any:
            f, a, b = (1 - formula(x1, x2), 1 - x1, 1 - x2) if mirrored else (formula(x1, x2), x1, x2)
            return (1 - a) * (1 - b) * f * f - (a + b) * Fraction(1, 4) - a * b * Fraction(1, 2)

        first = [Series(Fraction(low) / n) for low, _ in box]
        assert near(measured.corner[0, 0, 0], excess(*first).a, rough=1e-9)
        assert near(measured.most[0], excess(*first).a, rough=1e-4)
        assert (measured.corner <= measured.most[0]).all()
        for direction in range(2):
            x1, x2 = (Series(x.a, int(i == direction)) for i, x in enumerate(first))
            square = ((Fraction(box[direction][1]) - Fraction(box[direction][0])) / n) ** 2
            exact = max(-2 * excess(x1, x2).c, Fraction(0))
            assert near(Fraction(float(measured.bends[0, direction])) * 8 / square, exact)
            bent += exact > Fraction(1, 10)
        assert measured.bends[0, 2] < 1e-290  # tails have no priors to bend in
    assert bent >= 10


def test_a_piece_counts_where_it_holds_its_border_included() -> None:
    """Below, above and on x_1 + x_2 = 1; elsewhere nothing is needed."""
    corner_values = {}
    for side in ("below", "above", "everywhere"):
        piece = PriorEstimate(Fraction(1, 5), Fraction(3, 10), side)
        low, middle, high = ((0.25, 0.25), (0.25, 0.75), (0.75, 0.75 + 2**-30))
        for name, (x1, x2) in (("low", low), ("middle", middle), ("high", high)):
            point = Interval(np.array([[x1]])), Interval(np.array([[x2]]))
            corner_values[side, name] = bool(piece.holds(*point)[0, 0])
    assert [corner_values["below", name] for name in ("low", "middle", "high")] == [True, True, False]
    assert [corner_values["above", name] for name in ("low", "middle", "high")] == [False, True, True]
    assert all(corner_values["everywhere", name] for name in ("low", "middle", "high"))
    flat = dual.Slopes((0.3, 0.4), np.array([0.0, 0.5, 1.0]), np.zeros((2, 2, 3)))
    above = PriorEstimate(Fraction(1, 5), Fraction(3, 10), "above")
    boxes = Boxes.between(flat.knots, np.array([0, 0, 1]), np.array([0, 1, 1]), flat.priors)
    with np.errstate(all="ignore"):
        measured, in_tail = needed(above, flat, boxes), tails.needed(above, (0.0, 0.0), boxes, mirrored=False)
    assert np.isfinite(measured.most).all()  # the first box touches the border at its corner (1/2, 1/2)
    assert np.isfinite(measured.corner[0]).sum() == 2  # there, at both ends of the priors
    assert np.isfinite(in_tail.corner[0]).sum() == 1


def test_the_density_is_bounded_at_all_priors_of_a_box() -> None:
    """f = 0 at x_1 = x_2 = 1/2: A = X/mu - XY/d is largest at the lowest prior, and there XY/d must not be too large."""
    half = Reports.of(Interval(np.array([0.5])), 1)
    made = Density.of(half, half, Interval(np.array([0.2]), np.array([0.8])), Interval(np.zeros(1)))
    exact = density(lambda *_: Fraction(0), Fraction(1, 2), Fraction(1, 2), Fraction(0.2))
    assert exact <= Fraction(float(made.most()[0])) < exact + 1
