"""Proved worst cases of functions of the mean and of the geometric mean, and the interval functions that they need."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
import pytest
from flint import arb

import robustpool as rp
from robustpool.verification import dual, mean_forecasts, powers, tails
from robustpool.verification.balls import precision
from robustpool.verification.boxes import Boxes
from robustpool.verification.forecasts import exact_forecast, read_pieces
from robustpool.verification.intervals import Interval
from robustpool.verification.refusal import Refused
from robustpool.verification.verify import content_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DEFAULTS = ("karmarkar", "beta-pool", "geometric-mean")
ALL = rp.ConditionallyIndependent(2, None, None)
CELL = np.zeros((1, 2), dtype=np.int64)
OF_MEAN = [
    *(("karmarkar", a) for a in ("1/20", "7/10", "1", "3/2", "2", "5/2", "40")),
    *(("beta-pool", a) for a in ("3/10", "1", "3/2", "2", "23/10", "6", "60")),
]


def encloses(lo: float, hi: float, exact: arb) -> bool:
    """Whether a ball of high precision is not seen to leave an interval; one that is not a number says nothing."""
    return not (arb(lo) > exact or arb(hi) < exact)


# --- exp, log, powers, roots ------------------------------------------------------------------------------------------


def test_exp_encloses() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate((rng.uniform(-745, 745, 400), rng.normal(0, 1, 400), [0.0, 1e-300, -1e-300, 700.0, -700.0]))
    found = powers.exp(Interval(x))
    with precision(200):
        for z, lo, hi in zip(x, found.lo, found.hi, strict=True):
            assert encloses(lo, hi, arb(z).exp()), z
    middle = np.abs(x) < 50
    assert ((found.hi - found.lo)[middle] <= 2e-13 * found.hi[middle]).all()
    ends = powers.exp(Interval([-np.inf, 0.0, -np.inf], [np.inf, 1000.0, -800.0]))
    assert ends.lo[0] == 0
    assert np.isinf(ends.hi[:2]).all()
    assert ends.hi[2] < 1e-299


def test_log_encloses() -> None:
    rng = np.random.default_rng(0)
    edges = [1.0, 2.0, 0.5, 5e-324, 1e308, 0.7071, *(np.nextafter(x, d) for x in (0.7071, 1.0) for d in (0.0, 2.0))]
    x = np.concatenate((np.exp(rng.uniform(-740, 700, 400)), rng.uniform(0.5, 2, 400), edges))
    found = powers.log(Interval(x))
    with precision(200):
        for z, lo, hi in zip(x, found.lo, found.hi, strict=True):
            assert encloses(lo, hi, arb(z).log()), z
    assert (found.hi - found.lo <= 1e-13 * np.abs(found.lo) + 1e-290).all()
    assert powers.log(Interval(0.0, 1.0)).lo == -np.inf


@pytest.mark.parametrize("exponent", ["5/2", "1/20", "-3/2", "0", "150"])
def test_powers_and_roots_enclose(exponent: str) -> None:
    rng = np.random.default_rng(0)
    s = Fraction(exponent)
    x = np.concatenate((rng.uniform(0, 2, 100), 10 ** rng.uniform(-30, 0, 100), [1.0]))
    found, roots = powers.power(Interval(x), s), powers.root(Interval(x))
    with precision(200):
        for k, z in enumerate(x):
            assert encloses(found.lo[k], found.hi[k], arb(z) ** (arb(s.numerator) / s.denominator)), z
            assert encloses(roots.lo[k], roots.hi[k], arb(z).sqrt()), z
    at_0 = powers.power(Interval(0.0, 0.25), s)
    assert at_0.hi == np.inf if s < 0 else at_0.hi >= 0.25 ** float(s)
    assert at_0.lo <= (4.0**1.5 if s < 0 else 1.0 if s == 0 else 0.0)


# --- enclosures of the forecasts --------------------------------------------------------------------------------------


def random_boxes(rng: np.random.Generator, count: int) -> tuple[Interval, Interval]:
    """Boxes of reports of many sizes, some at the ends."""
    sides = []
    for _ in range(2):
        width = 10 ** rng.uniform(-6, 0, count)
        lo = rng.uniform(0, 1, count) * (1 - width)
        lo = np.where(rng.random(count) < 0.15, 0.0, np.where(rng.random(count) < 0.15, 1 - width, lo))
        sides.append(Interval(lo, np.minimum(lo + width, 1.0)))
    return sides[0], sides[1]


def exact_h(kind: str, a: Fraction, p: arb) -> tuple[arb, arb, arb]:
    """h, h' and h'' by other formulas than the verifier's."""
    b, r = arb(flint.fmpq(a.numerator, a.denominator)), 1 - p
    if kind == "karmarkar":
        h = p**b / (p**b + r**b)
        h1 = b * h * (1 - h) / (p * r)
        return h, h1, h1 * (b * (1 - 2 * h) - (1 - 2 * p)) / (p * r)
    h1 = (p * r) ** (b - 1) * (2 * b).gamma() / b.gamma() ** 2
    return p.beta_lower(b, b, regularized=1), h1, h1 * (b - 1) * (1 - 2 * p) / (p * r)


@pytest.mark.parametrize(("kind", "exponent"), OF_MEAN)
def test_functions_of_the_mean_are_enclosed(kind: str, exponent: str) -> None:
    rng, count = np.random.default_rng(0), 40
    a = Fraction(exponent)
    forecast = mean_forecasts.read_mean_forecast({"kind": kind, "a": exponent})
    y1, y2 = random_boxes(rng, count)
    corners = forecast.at(
        np.stack((y1.lo, y1.hi), axis=1)[:, :, None], np.stack((y2.lo, y2.hi), axis=1)[:, None, :], CELL
    )
    given = forecast.over(y1, y2, CELL, corners)
    assert given.first is not None
    assert given.second is not None
    ends = forecast.at(np.array([0.0, 1.0]), np.array([0.0, 1.0]), CELL)
    assert ends.hi[0] < 1e-14
    assert ends.lo[1] > 1 - 1e-14
    with precision(300):
        for _ in range(3):
            t, u = rng.random((2, count))
            x1, x2 = y1.lo + t * (y1.hi - y1.lo), y2.lo + u * (y2.hi - y2.lo)
            here = forecast.at(x1, x2, CELL)
            for k in range(count):
                p = (arb(x1[k]) + arb(x2[k])) / 2
                if not 0 < p < 1:
                    continue
                h, h1, h2 = exact_h(kind, a, p)
                assert encloses(here.lo[k], here.hi[k], h)
                assert encloses(given.f.lo[k], given.f.hi[k], h)
                assert encloses(given.first[0].lo[k], given.first[0].hi[k], h1 / 2)
                assert encloses(given.second[1].lo[k], given.second[1].hi[k], h2 / 4)
            assert (here.hi - here.lo <= 1e-11).all()


def test_derivatives_are_tight_on_small_boxes() -> None:
    y1, y2 = Interval([0.3], [0.3 + 1e-6]), Interval([0.4], [0.4 + 1e-6])
    for kind in ("karmarkar", "beta-pool"):
        forecast = mean_forecasts.read_mean_forecast({"kind": kind, "a": 2.5})
        given = forecast.over(y1, y2, CELL, Interval(np.zeros((1, 2, 2))))
        for part in (given.first, given.second):
            assert part is not None
            assert (part[0].hi - part[0].lo < 1e-4).all()


def test_how_the_geometric_mean_bends() -> None:
    """X (1-f)^2 and Y f^2 lie above their chords by no more than w^2/8 K."""
    rng, count = np.random.default_rng(0), 400
    forecast = mean_forecasts.GeometricMean()
    y1, y2 = random_boxes(rng, count)
    corners = forecast.at(
        np.stack((y1.lo, y1.hi), axis=1)[:, :, None], np.stack((y2.lo, y2.hi), axis=1)[:, None, :], CELL
    )
    given = forecast.over(y1, y2, CELL, corners)
    assert given.bends is not None

    def parts(x1: Floats, x2: Floats) -> Floats:
        f = np.sqrt(x1 * x2)
        return np.stack((x1 * x2 * (1 - f) ** 2, (1 - x1) * (1 - x2) * f**2))

    for u in (0.0, 0.3, 1.0):
        other = y2.lo + u * (y2.hi - y2.lo)
        width = y1.hi - y1.lo
        low, high = parts(y1.lo, other), parts(y1.hi, other)
        for t in np.linspace(0, 1, 41):
            x1 = y1.lo + t * width
            f = np.sqrt(x1 * other)
            assert ((f >= given.f.lo - 1e-12) & (f <= given.f.hi + 1e-12)).all()
            above = parts(x1, other) - (1 - t) * low - t * high
            for gap, bend in zip(above, given.bends[0], strict=True):
                assert (gap <= width**2 * t * (1 - t) / 2 * bend + 1e-15).all()


@pytest.mark.parametrize(
    "aggregator",
    [{"kind": "karmarkar", "a": 1.5}, {"kind": "beta-pool", "a": 0.7}, {"kind": "geometric-mean"}],
    ids=lambda aggregator: aggregator["kind"],
)
def test_no_point_of_a_box_exceeds_what_is_proved(aggregator: dict[str, Any]) -> None:
    """The density less the slopes, and the function of the tails, at random points of random boxes."""
    rng, count = np.random.default_rng(1), 300
    forecast = read_pieces(aggregator).pieces[0]
    slopes = dual.Slopes((0.2, 0.3), np.array([0.0, 1.0]), rng.normal(0, 0.3, (2, 2, 2)))
    y1, y2 = random_boxes(rng, count)
    mu = np.sort(rng.uniform(0.2, 0.3, (count, 2)), axis=1)
    zero = np.zeros(count, dtype=np.int64)
    boxes = Boxes(np.stack((y1.lo, y1.hi), axis=1), np.stack((y2.lo, y2.hi), axis=1), mu, zero, zero)
    proved = dual.needed(forecast, slopes, boxes).most
    growth = (0.3, 0.2)
    in_tails = [tails._needed(forecast, growth, boxes, mirrored=mirrored).most for mirrored in (False, True)]
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


# --- certificates -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates() -> dict[str, rp.Certificate]:
    """One of each rule, of moderate tolerance."""
    return {name: rp.certify(name, tolerance=1e-4) for name in DEFAULTS}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_bracket_contains_what_a_search_finds(certificates: dict[str, rp.Certificate], name: str) -> None:
    certificate = certificates[name]
    verified = rp.verify(certificate)
    assert verified.verified, verified.sentence
    assert certificate.upper - certificate.lower <= 1.01e-4
    found = rp.worst_case(name, ALL, rng=1).regret
    assert certificate.lower - 1e-9 <= found <= certificate.upper


def forged(data: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The file with one entry changed, and its hash and its sentence made to fit."""
    data = copy.deepcopy(data)
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    between = f" lies between {data['lower']['bound']!r} and {data['upper']['bound']!r}."
    data["claim"] = data["claim"].partition(" lies between ")[0] + between
    return {**data, "hash": content_hash(data)}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_forged_bound_is_refused(certificates: dict[str, rp.Certificate], name: str) -> None:
    data = dict(certificates[name].data)
    lower, upper = certificates[name].lower, certificates[name].upper
    assert rp.verify(forged(data, ("upper", "bound"), upper + 1e-9)).verified
    sentence = rp.verify(forged(data, ("upper", "bound"), lower - 1e-9)).sentence
    assert "prove" in sentence
    assert not rp.verify(forged(data, ("lower", "bound"), lower + 1e-12)).verified
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
def test_a_forged_exponent_is_refused(certificates: dict[str, rp.Certificate], value: Any, sentence: str) -> None:
    for name in ("karmarkar", "beta-pool"):
        verified = rp.verify(forged(dict(certificates[name].data), ("aggregator", "a"), value))
        assert not verified.verified
        assert any(part in verified.sentence for part in sentence.split("|")), verified.sentence


def test_forged_slopes_are_refused(certificates: dict[str, rp.Certificate]) -> None:
    for name in DEFAULTS:
        data = dict(certificates[name].data)
        intervals = data["upper"]["witness"]["intervals"]
        values = intervals[len(intervals) // 2]["slopes"]
        path = ("upper", "witness", "intervals", len(intervals) // 2, "slopes", 0, len(values[0]) // 2)
        for change in (10.0, -10.0):
            verified = rp.verify(forged(data, path, values[0][len(values[0]) // 2] + change))
            assert not verified.verified
        assert not rp.verify(forged(data, ("upper", "witness", "tails", "low", "constants"), [0.0, 0.0, 0.0])).verified


def test_one_kind_is_not_another(certificates: dict[str, rp.Certificate]) -> None:
    data = dict(certificates["karmarkar"].data)
    for kind in ("beta-pool", "geometric-mean", "geometric"):
        assert not rp.verify(forged(data, ("aggregator", "kind"), kind)).verified


def test_what_cannot_be_certified_is_told() -> None:
    with pytest.raises(rp.UnsupportedError, match=r"the exponent a must lie between 0\.05 and 200; it is 0\.01"):
        rp.certify("karmarkar:a=0.01")
    with pytest.raises(rp.UnsupportedError, match="for 3 agents"):
        rp.certify("beta-pool", rp.ConditionallyIndependent(3, None, None))
    with pytest.raises(Refused, match="no fractions"):
        exact_forecast({"kind": "geometric-mean"})


def test_a_range_of_priors() -> None:
    family = rp.ConditionallyIndependent(2, None, None, prior_range=(0.3, 0.4))
    certificate = rp.certify("geometric-mean", family, tolerance=1e-5)
    assert rp.verify(certificate).verified
    assert certificate.upper < rp.worst_case("geometric-mean", ALL).regret


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*DEFAULTS, "karmarkar:a=1.5", "karmarkar:a=0.3", "beta-pool:a=2.3", "beta-pool:a=0.5"]
)
def test_the_full_certificates(name: str) -> None:
    certificate = rp.certify(name)
    assert rp.verify(certificate).verified
    assert certificate.upper - certificate.lower <= 1e-6
