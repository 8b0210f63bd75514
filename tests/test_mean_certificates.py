"""Proved worst cases of functions of the mean and of the geometric mean, and the enclosures that they need.

The references are the definitions themselves, in balls of 1500 bits; derivatives are differences of those.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
import pytest
from flint import arb

import robustpool as rp
from forging import sign
from quick import one_of
from refusals import unsupported_error
from robustpool.verification import cover as tails
from robustpool.verification import dual, functions_of_the_mean
from robustpool.verification.balls import precision
from robustpool.verification.boxes import Boxes
from robustpool.verification.intervals import Interval
from robustpool.verification.reading import Refused, read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DEFAULTS = ("karmarkar", "beta-pool", "geometric-mean")
ALL = rp.ConditionallyIndependent(2, None, None)
CELL = np.zeros((1, 2), dtype=np.int64)
OF_MEAN = [
    *(("karmarkar", a) for a in ("1/20", "7/10", "1", "3/2", "2", "5/2", "200")),
    *(("beta-pool", a) for a in ("1/20", "7/10", "1", "3/2", "2", "23/10", "200")),
]
BITS = 1500
NEAR_0 = (1e-12, 1e-6, 0.001)
NEAR_HALF = (0.5 - 2**-52, 0.5 - 2**-30, 0.499)
MEANS = [*NEAR_0, 0.03, 0.2, 0.37, *NEAR_HALF]


def rule_of(kind: str, a: Any = None) -> Any:
    """A rule as a certificate gives it."""
    data = {"kind": kind} if a is None else {"kind": kind, "a": a}
    return functions_of_the_mean.read_mean_forecast(read(data, functions_of_the_mean.MEAN_SCHEMAS[kind], "aggregator"))


def ball(x: Fraction) -> arb:
    """A fraction at the precision of the tests."""
    return arb(flint.fmpq(x.numerator, x.denominator))


def definition(kind: str, a: str, p: arb) -> arb:
    """h(p) as the rules define it."""
    b, r = ball(Fraction(a)), 1 - p
    return p**b / (p**b + r**b) if kind == "karmarkar" else p.beta_lower(b, b, regularized=1)


def derivatives(kind: str, a: str, p: arb) -> tuple[arb, arb, arb]:
    """h, h' and h'' by differences: of steps of 2^-80 of p (1-p), so that they are right to some forty digits."""
    step = p * (1 - p) * arb(2) ** -80
    below, here, above = (definition(kind, a, p + k * step) for k in (-1, 0, 1))
    return here, (above - below) / (2 * step), (above - 2 * here + below) / (step * step)


def encloses(lo: float, hi: float, exact: arb, slack: float = 0.0) -> bool:
    """Whether a ball of high precision is sure to lie in an interval, or within a slack of it."""
    return bool(arb(lo) - slack <= exact) and bool(exact <= arb(hi) + slack)


# --- rounding ---------------------------------------------------------------------------------------------------------


def test_the_smaller_part_is_enclosed_by_few_ulps() -> None:
    rng = np.random.default_rng(0)
    ends = [0.0, 1.0, 0.5, 2.0**-1074, 1e-300, 2.0**-60, 1 - 2.0**-53, 0.5 + 2.0**-53, 0.5 - 2.0**-54, 1 / 3, 2 / 3]
    x1, x2 = (z.ravel() for z in np.meshgrid(ends, [*ends, *rng.random(300)]))
    m = functions_of_the_mean.smaller(Interval(x1), Interval(x2))
    for z1, z2, lo, hi in zip(x1.tolist(), x2.tolist(), m.lo.tolist(), m.hi.tolist(), strict=True):
        p = (Fraction(z1) + Fraction(z2)) / 2
        exact = min(p, 1 - p)
        assert 0 <= Fraction(lo) <= exact <= Fraction(hi) <= Fraction(1, 2)
        assert hi - lo <= 2e-15 * exact + 1e-299


def test_the_smaller_part_on_boxes() -> None:
    """Also where p = 1/2 is at an end, or hidden by rounding."""
    y1 = Interval([0.1, 0.1, 0.6, 0.25, 0.5], [0.2, 0.6, 0.7, 0.5, 0.75])
    y2 = Interval([0.3, 0.3, 0.8, 0.25, 0.5], [0.4, 0.8, 1.0, 0.5, 0.75])
    m = functions_of_the_mean.smaller(y1, y2)
    assert m.lo == pytest.approx([0.2, 0.2, 0.15, 0.25, 0.25], rel=1e-15)
    assert m.hi == pytest.approx([0.3, 0.5, 0.3, 0.5, 0.5], rel=1e-15)
    assert (m.hi[[1, 3, 4]] == 0.5).all()
    hidden = functions_of_the_mean.smaller(Interval(0.25, 0.5), Interval(0.25, 0.5 - 2**-54))
    assert hidden.hi == 0.5


@pytest.mark.parametrize(("kind", "a"), OF_MEAN)
def test_parts_are_rounded_outward(kind: str, a: str) -> None:
    """Values that are doubles, such as h = m for a = 1, and values that are none: an end one ulp inside would show."""
    rule = rule_of(kind, a)
    m = np.array([0.0, *MEANS, 0.125, 0.25, 0.5])
    b = Fraction(a)
    found = rule.on(Interval(m))
    with precision(BITS):
        x = ball(b)
        k = 4**x * x.gamma() * x.gamma() / (2 * x).gamma()
        for i, point in enumerate(m.tolist()):
            p = arb(point)
            q, s = 4 * p * (1 - p), (2 * p) ** x + (2 * (1 - p)) ** x
            h1 = 4 * x * q ** (x - 1) / (s * s) if kind == "karmarkar" else 4 * q ** (x - 1) / k
            power = 16 * q ** (x - 2) * (x if kind == "karmarkar" else 1 / k)
            exact = [definition(kind, a, p), h1, power, *([s * s] if kind == "karmarkar" else [])]
            assert len(found) == len(exact)
            for part, value in zip(found, exact, strict=True):
                if not value.is_finite():  # 0 to a negative power
                    assert (part.lo[i], part.hi[i]) == (0.0, np.inf)
                    continue
                assert encloses(part.lo[i], part.hi[i], value)
                assert part.hi[i] - part.lo[i] <= 4e-15 * float(value) + 3e-300


def test_what_overflows_is_enclosed() -> None:
    """(4e-300)^(-39/20) is no double, and nor is what it is at 0."""
    power = rule_of("karmarkar", "1/20").on(Interval([1e-300, 0.0, 0.0], [1e-300, 0.0, 0.25]))[2]
    assert power.lo.tolist() == [0.0, 0.0, 0.0]
    assert power.hi.tolist() == [np.inf, np.inf, np.inf]


@pytest.mark.parametrize("a", ["1/20", "1", "23/10", "200"])
def test_the_series_of_the_beta_function_holds_its_rest(a: str) -> None:
    """At a precision that would show what is left out: I_p(a, a) a K/Q^a, which is 1/(1-p) for a = 1."""
    with precision(BITS):
        x = ball(Fraction(a))
        series, b = functions_of_the_mean.series(x), x.gamma() * x.gamma() / (2 * x).gamma()
        for point in (0.5, 0.25, 0.01):
            p = arb(point)
            exact = definition("beta-pool", a, p) * x * b / (p * (1 - p)) ** x
            assert series(p).overlaps(exact)
            assert series(p).rad() < exact * arb(2) ** -80


def test_a_part_is_computed_once_for_each_double() -> None:
    rule, points = rule_of("karmarkar", 2.5), []
    formulas = rule.parts

    def counted(m: arb) -> Any:
        points.append(float(m))
        return formulas(m)

    rule.parts = counted
    m = Interval(np.tile([0.1, 0.2, 0.3], 1000), np.tile([0.2, 0.3, 0.4], 1000))
    for _ in range(2):
        rule.on(m)
    assert sorted(points) == [0.1, 0.2, 0.3, 0.4]
    assert rule.ends.cache_info().maxsize == 2**14


# --- enclosures of the forecasts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "a"), OF_MEAN)
def test_f_is_enclosed_at_points(kind: str, a: str) -> None:
    """On both sides of 1/2, next to it and next to the ends; at the ends it is 0 and 1."""
    rule = rule_of(kind, a)
    p = np.array([*MEANS, 0.5, *(1 - x for x in MEANS if x > 1e-9)])
    x1 = np.minimum(p * 1.25, 1.0)
    x2 = np.clip(2 * p - x1, 0.0, 1.0)
    x1 = np.append(x1, [0.5, 0.5])  # and sums that are rounded to 1
    x2 = np.append(x2, [0.5 - 2.0**-54, 0.5 + 2.0**-53])
    found = rule.at(x1, x2, CELL)
    with precision(BITS):
        for i in range(len(x1)):
            exact = definition(kind, a, (arb(x1[i]) + arb(x2[i])) / 2)
            assert encloses(found.lo[i], found.hi[i], exact, 1e-300), (x1[i], x2[i])
            assert found.hi[i] - found.lo[i] <= 1e-15 * (2 + 2 * float(Fraction(a))) * max(float(exact), 1e-2)
    ends = rule.at(np.array([0.0, 1.0]), np.array([0.0, 1.0]), CELL)
    assert ends.lo[0] == 0
    assert ends.hi[0] < 1e-14
    assert ends.lo[1] > 1 - 1e-14
    assert ends.hi[1] == 1


def corners_of(rule: Any, y1: Interval, y2: Interval) -> Interval:
    """f at the corners of boxes, as the check of the dual inequality computes it."""
    found = rule.at(np.stack((y1.lo, y1.hi), axis=1)[:, :, None], np.stack((y2.lo, y2.hi), axis=1)[:, None, :], CELL)
    assert isinstance(found, Interval)
    return found


@pytest.mark.parametrize(("kind", "a"), OF_MEAN)
def test_derivatives_are_enclosed_tightly_on_tiny_boxes(kind: str, a: str) -> None:
    """f, f_1 = f_2 = h'/2 and f_11 = f_22 = h''/4: a factor of 2 or a sign would show in each."""
    rule, wide = rule_of(kind, a), 2.0**-26
    near = np.array(MEANS)
    lo = np.concatenate((near, [0.5, 0.5 - wide / 8, 0.5 - wide / 2], 1 - near[near > 1e-9]))
    spread = np.minimum(lo, 1 - lo) / 4
    y1, y2 = (Interval(x, x + 4 * spread * wide) for x in (lo - spread, lo + spread))
    given = rule.over(y1, y2, CELL, corners_of(rule, y1, y2))
    size = 1e-7 * (1 + float(Fraction(a))) ** 2
    with precision(BITS):
        for i in range(len(lo)):
            for t in (0.0, 0.25, 0.5, 1.0):
                z1, z2 = ((1 - arb(t)) * arb(y.lo[i]) + arb(t) * arb(y.hi[i]) for y in (y1, y2))
                p = (z1 + z2) / 2
                h, h1, h2 = derivatives(kind, a, p)
                scales = (float(h), float(h1) / 2, float(h1 / (p * (1 - p))) / 4)  # of f, f_1 and f_11
                enclosed = ([given.f], given.first, given.second)
                for parts, exact, scale in zip(enclosed, (h, h1 / 2, h2 / 4), scales, strict=True):
                    for part in parts:
                        assert encloses(part.lo[i], part.hi[i], exact, 1e-30 * scale), (lo[i], t)
                        assert part.hi[i] - part.lo[i] <= size * scale + 1e-290, (lo[i], t)


def random_boxes(rng: np.random.Generator, count: int) -> tuple[Interval, Interval]:
    """Boxes of reports of many sizes, some at the ends."""
    sides = []
    for _ in range(2):
        width = 10 ** rng.uniform(-6, 0, count)
        lo = rng.uniform(0, 1, count) * (1 - width)
        lo = np.where(rng.random(count) < 0.15, 0.0, np.where(rng.random(count) < 0.15, 1 - width, lo))
        sides.append(Interval(lo, np.minimum(lo + width, 1.0)))
    return sides[0], sides[1]


@pytest.mark.parametrize(("kind", "a"), [("karmarkar", "7/10"), ("karmarkar", "5/2"), ("beta-pool", "3/2")])
def test_derivatives_are_enclosed_on_boxes_of_all_sizes(kind: str, a: str) -> None:
    rng, count = np.random.default_rng(0), 80
    rule = rule_of(kind, a)
    y1, y2 = random_boxes(rng, count)
    given = rule.over(y1, y2, CELL, corners_of(rule, y1, y2))
    with precision(BITS):
        for i in range(count):
            for t, u in [*rng.random((2, 2)).tolist(), (1.0, 1.0)]:
                p = (arb(y1.lo[i] + t * (y1.hi[i] - y1.lo[i])) + arb(y2.lo[i] + u * (y2.hi[i] - y2.lo[i]))) / 2
                if not 0 < p < 1:
                    continue
                h, h1, h2 = derivatives(kind, a, p)
                for part, exact in ((given.f, h), (given.first[0], h1 / 2), (given.second[1], h2 / 4)):
                    assert encloses(part.lo[i], part.hi[i], exact, 1e-30 * (1 + abs(float(exact))))


def test_the_geometric_mean_is_enclosed_at_points() -> None:
    rng = np.random.default_rng(0)
    x1, x2 = (np.concatenate((rng.random(50), 10 ** rng.uniform(-20, 0, 50), [0.0, 0.25, 1.0, 1.0])) for _ in range(2))
    found = functions_of_the_mean.GeometricMean().at(x1, x2, CELL)
    with precision(BITS):
        for z1, z2, lo, hi in zip(x1, x2, found.lo, found.hi, strict=True):
            exact = (arb(z1) * arb(z2)).sqrt()
            assert encloses(lo, hi, exact)
            assert hi - lo <= 4e-15 * float(exact) + 1e-140


def test_how_the_geometric_mean_bends() -> None:
    """X (1-f)^2 and Y f^2 lie above their chords by no more than w^2/8 K, and by nearly that where boxes are small."""
    rng, count = np.random.default_rng(0), 400
    rule = functions_of_the_mean.GeometricMean()
    y1, y2 = random_boxes(rng, count)
    given = rule.over(y1, y2, CELL, corners_of(rule, y1, y2))
    assert given.bends is not None

    def parts(x1: Floats, x2: Floats) -> Floats:
        f = np.sqrt(x1 * x2)
        return np.stack((x1 * x2 * (1 - f) ** 2, (1 - x1) * (1 - x2) * f**2))

    for u in (0.0, 0.3, 1.0):
        other = y2.lo + u * (y2.hi - y2.lo)
        width = y1.hi - y1.lo
        low, high = parts(y1.lo, other), parts(y1.hi, other)
        for t in (0.001, 0.01, *np.linspace(0, 1, 41)):
            x1 = y1.lo + t * width
            f = np.sqrt(x1 * other)
            assert ((f >= given.f.lo - 1e-12) & (f <= given.f.hi + 1e-12)).all()
            above = parts(x1, other) - (1 - t) * low - t * high
            for gap, bend in zip(above, given.bends[0], strict=True):
                assert (gap <= width**2 * t * (1 - t) / 2 * bend + 1e-15).all()


@pytest.mark.parametrize(("low", "width", "other", "place"), [(0.3, 1e-3, 0.4, 0.5), (0.0, 0.25, 0.6, 1e-5)])
def test_the_bends_of_the_geometric_mean_are_tight(low: float, width: float, other: float, place: float) -> None:
    """Inside, K is the second derivative; next to 0, X (1-f)^2 does rise above its chord as fast as K says."""
    x = Interval([other], [other + 1e-9])
    own = Interval([low], [low + width])
    for agent, sides in enumerate(((own, x), (x, own))):
        bends = functions_of_the_mean.GeometricMean().over(*sides, CELL, Interval(np.zeros((1, 2, 2)))).bends
        assert bends is not None
        with precision(BITS):
            z, step = arb(other), arb(width) * place

            def yes(x: arb, z: arb = z) -> arb:
                return x * z * (1 - (x * z).sqrt()) * (1 - (x * z).sqrt())

            def no(x: arb, z: arb = z) -> arb:
                return (1 - x) * (1 - z) * x * z

            for g, bend in ((yes, bends[agent].yes), (no, bends[agent].no)):
                chord = (1 - arb(place)) * g(arb(low)) + arb(place) * g(arb(low) + width)
                needed = float(2 * (g(arb(low) + step) - chord) / (step * (width - step)))
                assert needed <= bend[0] <= 1.01 * needed


@pytest.mark.parametrize(
    ("kind", "a"), one_of(2, [("karmarkar", 1.5), ("beta-pool", 0.7), ("geometric-mean", None)]), ids=str
)
def test_no_point_of_a_box_exceeds_what_is_proved(kind: str, a: float | None) -> None:
    """The density less the slopes, and the function of the tails, at random points of random boxes."""
    rng, count = np.random.default_rng(1), 300
    forecast = rule_of(kind, a)
    slopes = dual.Slopes((0.2, 0.3), np.array([0.0, 1.0]), rng.normal(0, 0.3, (2, 2, 2)))
    y1, y2 = random_boxes(rng, count)
    mu = np.sort(rng.uniform(0.2, 0.3, (count, 2)), axis=1)
    zero = np.zeros(count, dtype=np.int64)
    boxes = Boxes(np.stack((y1.lo, y1.hi), axis=1), np.stack((y2.lo, y2.hi), axis=1), mu, zero, zero)
    proved = dual.needed(forecast, slopes, boxes).most
    growth = (0.3, 0.2)
    in_tails = [tails.needed(forecast, growth, boxes, mirrored=mirrored).most for mirrored in (False, True)]
    for _ in range(50):
        t, u, v = rng.random((3, count))
        x1, x2 = y1.lo + t * (y1.hi - y1.lo), y2.lo + u * (y2.hi - y2.lo)
        m = mu[:, 0] + v * (mu[:, 1] - mu[:, 0])
        found = forecast.at(x1, x2, CELL)
        f = (found.lo + found.hi) / 2
        yes, no = x1 * x2, (1 - x1) * (1 - x2)
        d = m * no + (1 - m) * yes
        density = yes * (1 - f) ** 2 / m + no * f**2 / (1 - m) - np.where(d > 0, yes * no / np.where(d > 0, d, 1), 0)
        r = (m - 0.2) / (0.3 - 0.2)
        a1, a2 = (
            (1 - r) * ((1 - x) * values[0, 0] + x * values[0, 1]) + r * ((1 - x) * values[1, 0] + x * values[1, 1])
            for x, values in ((x1, slopes.values[0]), (x2, slopes.values[1]))
        )
        assert (density - a1 * (x2 - m) - a2 * (x1 - m) <= proved + 1e-12).all()
        assert (no * f**2 - growth[0] * (x1 + x2) - growth[1] * x1 * x2 <= in_tails[0] + 1e-12).all()
        z1, z2 = 1 - x1, 1 - x2
        assert (yes * (1 - f) ** 2 - growth[0] * (z1 + z2) - growth[1] * z1 * z2 <= in_tails[1] + 1e-12).all()


# --- the forecast at rational reports, the formula and the reading ----------------------------------------------------


@pytest.mark.parametrize(("kind", "a"), OF_MEAN)
def test_the_forecast_at_rational_reports(kind: str, a: str) -> None:
    rule = rule_of(kind, a)
    for profile in ((0, 0), (1, 1), (0, 1), (Fraction(1, 3), Fraction(2, 3))):
        assert rule.forecast(tuple(map(Fraction, profile))) == Fraction(sum(profile)) / 2
    for x1, x2 in (("1/3", "1/7"), ("6/7", "5/9"), ("0", "1/1000"), ("1", "999/1000")):
        profile = Fraction(x1), Fraction(x2)
        forecast, mirrored = rule.forecast(profile), rule.forecast((1 - profile[0], 1 - profile[1]))
        with precision(BITS):
            exact = definition(kind, a, ball((profile[0] + profile[1]) / 2))
            assert forecast.overlaps(exact)
            assert mirrored.overlaps(1 - exact)
        assert forecast.rel_accuracy_bits() >= 60


def test_the_forecast_of_the_geometric_mean() -> None:
    rule = functions_of_the_mean.GeometricMean()
    assert rule.forecast((Fraction(0), Fraction(1, 3))) == 0
    assert rule.forecast((Fraction(1), Fraction(1))) == 1
    forecast = rule.forecast((Fraction(1, 3), Fraction(1, 6)))
    assert isinstance(forecast, arb)
    assert (forecast * forecast * 18).overlaps(arb(1))
    assert forecast.rel_accuracy_bits() >= 70


@pytest.mark.parametrize(
    ("kind", "a", "formula"),
    [
        ("karmarkar", 2.5, "f = p^a/(p^a + (1-p)^a) with p the mean of the two reports and a = 2.5"),
        ("karmarkar", "10/4", "f = p^a/(p^a + (1-p)^a) with p the mean of the two reports and a = 10/4"),
        ("karmarkar", 0.1, "f = p^a/(p^a + (1-p)^a) with p the mean of the two reports and a = 0.1"),
        (
            "beta-pool",
            3,
            "f = I_p(a, a), the regularised incomplete beta function, with p the mean of the two reports and a = 3",
        ),
        ("geometric-mean", None, "f = sqrt(x_1 x_2) with x_1 and x_2 the two reports"),
    ],
)
def test_the_formula_of_a_claim(kind: str, a: Any, formula: str) -> None:
    rule = rule_of(kind, a)
    assert rule.formula == formula
    assert rule.exchangeable
    assert rule.mirrored == (kind != "geometric-mean")
    assert rule.resolution == 1
    if a is not None:
        assert rule.a == Fraction(a)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"kind": "karmarkar", "a": 0.0499}, "aggregator.a must lie between 0.05 and 200"),
        ({"kind": "beta-pool", "a": 200.0001}, "aggregator.a must lie between 0.05 and 200"),
        ({"kind": "karmarkar", "a": "0" * 40 + "5/2"}, "at most 40 characters"),
        ({"kind": "karmarkar", "a": "2.5"}, "finite number"),
        ({"kind": "karmarkar", "a": float("nan")}, "finite number"),
        ({"kind": "karmarkar", "a": True}, "finite number"),
        ({"kind": "karmarkar"}, "must have the field 'a'"),
        ({"kind": "beta-pool", "a": 2, "b": 2}, "'b', which is not checked"),
        ({"kind": "geometric-mean", "a": 2}, "'a', which is not checked"),
    ],
)
def test_what_is_no_rule_is_refused(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        read(data, functions_of_the_mean.MEAN_SCHEMAS[data["kind"]], "aggregator")


# --- certificates -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates() -> dict[str, Any]:
    """One of each rule, of moderate tolerance."""
    return {name: rp.certify(name, tolerance=4e-4) for name in DEFAULTS}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_bracket_contains_what_a_search_finds(certificates: dict[str, Any], name: str) -> None:
    certificate = certificates[name]
    verified = rp.verify(certificate)
    assert verified.verified, verified.sentence
    assert certificate.upper - certificate.lower <= 4.04e-4
    found = rp.worst_case(name, ALL, rng=1).regret
    assert certificate.lower - 1e-9 <= found <= certificate.upper


def forged(data: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The file with one entry changed, and its hash and its claims made to fit."""
    data = copy.deepcopy(data)
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return sign(data)


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_forged_bound_is_refused(certificates: dict[str, Any], name: str) -> None:
    """The lower bound already when it is one ulp higher."""
    data = dict(certificates[name].data)
    lower, upper = certificates[name].lower, certificates[name].upper
    assert rp.verify(forged(data, ("upper", "bound"), upper + 1e-9)).verified
    sentence = rp.verify(forged(data, ("upper", "bound"), lower - 1e-9)).sentence
    assert "prove" in sentence
    above = rp.verify(forged(data, ("lower", "bound"), float(np.nextafter(lower, 1))))
    assert not above.verified
    assert "lower" in above.sentence
    assert not rp.verify(forged(data, ("lower", "mixture", 0, "prior"), "1/2")).verified


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (3.5, "lower|prove|hold"),
        (0, "between 0.05 and 200"),
        (1e9, "between 0.05 and 200"),
        ("x", "aggregator.a"),
        (None, "a"),
    ],
)
def test_a_forged_exponent_is_refused(certificates: dict[str, Any], value: Any, sentence: str) -> None:
    for name in ("karmarkar", "beta-pool"):
        verified = rp.verify(forged(dict(certificates[name].data), ("aggregator", "a"), value))
        assert not verified.verified
        assert any(part in verified.sentence for part in sentence.split("|")), verified.sentence


def test_forged_slopes_are_refused(certificates: dict[str, Any]) -> None:
    for name in DEFAULTS:
        data = dict(certificates[name].data)
        intervals = data["upper"]["witness"]["intervals"]
        values = intervals[len(intervals) // 2]["slopes"]
        path = ("upper", "witness", "intervals", len(intervals) // 2, "slopes", 0, len(values[0]) // 2)
        for change in (10.0, -10.0):
            verified = rp.verify(forged(data, path, values[0][len(values[0]) // 2] + change))
            assert not verified.verified
        assert not rp.verify(forged(data, ("upper", "witness", "tails", "low", "constants"), [0.0, 0.0, 0.0])).verified


def test_one_kind_is_not_another(certificates: dict[str, Any]) -> None:
    data = dict(certificates["karmarkar"].data)
    for kind in ("beta-pool", "geometric-mean", "geometric"):
        assert not rp.verify(forged(data, ("aggregator", "kind"), kind)).verified


def test_what_cannot_be_certified_is_told() -> None:
    with unsupported_error(r"a must lie between 0\.05 and 200; it is 0\.01"):
        rp.certify("karmarkar:a=0.01")
    with unsupported_error("for 3 agents"):
        rp.certify("beta-pool", rp.ConditionallyIndependent(3, None, None))


def test_a_range_of_priors() -> None:
    family = rp.ConditionallyIndependent(2, None, None, prior_range=(0.3, 0.4))
    certificate: Any = rp.certify("geometric-mean", family, tolerance=1e-5)
    assert rp.verify(certificate).verified
    assert certificate.upper < rp.worst_case("geometric-mean", ALL).regret


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*DEFAULTS, "karmarkar:a=1.5", "karmarkar:a=0.3", "beta-pool:a=2.3", "beta-pool:a=0.5"]
)
def test_the_full_certificates(name: str) -> None:
    certificate: Any = rp.certify(name)
    assert rp.verify(certificate).verified
    assert certificate.upper - certificate.lower <= 1e-6
