"""The dual certificate of two agents: its arithmetic, its bounds on boxes, the proofs that it gives, what it refuses."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustpool as rp
from robustpool.aggregators.grid import GridAggregator
from robustpool.errors import InputError, UnsupportedError
from robustpool.verification.boxes import Boxes
from robustpool.verification.dual import Slopes, highest_needed, needed
from robustpool.verification.forecasts import Grid, PriorEstimate, exact_forecast, read_pieces
from robustpool.verification.intervals import Interval
from robustpool.verification.mixtures import expected_regret
from robustpool.verification.tails import _needed as tail_needed
from robustpool.verification.tails import highest_constant, tail_bound

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from robustpool.certificates.front_door import Progress

    Floats = NDArray[np.float64]

ESTIMATES: dict[str, dict[str, Any]] = {
    "average-prior": {"kind": "prior-estimate", "pieces": [{"kappa": "1/2", "delta": "0", "side": "everywhere"}]},
    "arieli-tuned": {
        "kind": "prior-estimate",
        "pieces": [
            {"kappa": "49/100", "delta": "0", "side": "below"},
            {"kappa": "49/100", "delta": "1/50", "side": "above"},
        ],
    },
    "lopsided": {"kind": "prior-estimate", "pieces": [{"kappa": "1/5", "delta": "3/10", "side": "everywhere"}]},
}


# ------------------------------------------------------------------------------------------------- interval arithmetic

usual = st.floats(-1e120, 1e120)
any_size = st.one_of(st.floats(-10, 10), usual, st.floats(-1e-290, 1e-290), st.sampled_from([0.0, 5e-324, 1.0, -1.0]))
share = st.fractions(0, 1, max_denominator=1000)
spans = st.tuples(any_size, any_size).map(lambda pair: (min(pair), max(pair)))


def inside(span: tuple[float, float], at: Fraction) -> Fraction:
    low, high = map(Fraction, span)
    return low + at * (high - low)


def holds(interval: Interval, exact: Fraction) -> bool:
    lo, hi = float(interval.lo), float(interval.hi)
    return (lo == -np.inf or Fraction(lo) <= exact) and (hi == np.inf or exact <= Fraction(hi))


@settings(max_examples=100, deadline=None)
@given(spans, spans, share, share)
def test_intervals_contain_the_exact_results(
    one: tuple[float, float], two: tuple[float, float], s: Fraction, t: Fraction
) -> None:
    x, y, a, b = Interval(*one), Interval(*two), inside(one, s), inside(two, t)
    assert holds(x + y, a + b)
    assert holds(x - y, a - b)
    assert holds(x * y, a * b)
    assert holds(x.squared(), a * a)
    assert holds(x.scaled(3.0), 3 * a)
    assert float(x.squared().lo) >= 0
    assert holds(Interval.of(a), a)
    if one[0] > 1e-280:
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


# ------------------------------------------------------------------- exact values and derivatives, by series in fractions


class Series:
    """a + b h + c h^2 in fractions: a function of h up to its second derivative, 2 c."""

    def __init__(self, a: Any, b: Any = 0, c: Any = 0) -> None:
        self.a, self.b, self.c = Fraction(a), Fraction(b), Fraction(c)

    def __add__(self, other: Any) -> Series:
        o = _series(other)
        return Series(self.a + o.a, self.b + o.b, self.c + o.c)

    def __neg__(self) -> Series:
        return Series(-self.a, -self.b, -self.c)

    def __sub__(self, other: Any) -> Series:
        return self + -_series(other)

    def __rsub__(self, other: Any) -> Series:
        return _series(other) - self

    def __mul__(self, other: Any) -> Series:
        o = _series(other)
        return Series(self.a * o.a, self.a * o.b + self.b * o.a, self.a * o.c + self.b * o.b + self.c * o.a)

    def __truediv__(self, other: Any) -> Series:
        o = _series(other)
        a = self.a / o.a
        b = (self.b - a * o.b) / o.a
        return Series(a, b, (self.c - a * o.c - b * o.b) / o.a)

    __radd__, __rmul__ = __add__, __mul__


def _series(x: Any) -> Series:
    return x if isinstance(x, Series) else Series(x)


def table_formula(values: Floats, cell: tuple[int, int]) -> Callable[[Any, Any], Any]:
    """The bilinear function of one cell."""
    n, (i, j) = len(values) - 1, cell
    f = [[Fraction(float(values[i + a, j + b])) for b in (0, 1)] for a in (0, 1)]

    def formula(x1: Any, x2: Any) -> Any:
        t, u = x1 * n - i, x2 * n - j
        return (1 - t) * ((1 - u) * f[0][0] + u * f[0][1]) + t * ((1 - u) * f[1][0] + u * f[1][1])

    return formula


def estimate_formula(kappa: Fraction, delta: Fraction) -> Callable[[Any, Any], Any]:
    """The posterior if the prior is kappa (x_1 + x_2) + delta."""

    def formula(x1: Any, x2: Any) -> Any:
        m = (x1 + x2) * kappa + delta
        yes, no = x1 * x2 * (1 - m), (1 - x1) * (1 - x2) * m
        return yes / (yes + no)

    return formula


def density(formula: Callable[[Any, Any], Any], x1: Any, x2: Any, mu: Any) -> Any:
    """Pr[x] (f - g)^2 over the product of the chances of the two reports, as it is defined."""
    yes, no = x1 * x2 / mu, (1 - x1) * (1 - x2) / (1 - mu)
    gap = formula(x1, x2) - yes / (yes + no)
    return (yes + no) * gap * gap


def right_side(slopes: Slopes, k: tuple[int, int], n: int, x1: Any, x2: Any, mu: Any) -> Any:
    """alpha_1(x_1, mu)(x_2 - mu) + alpha_2(x_2, mu)(x_1 - mu) between the knots k and k + 1."""
    m0, m1 = map(Fraction, slopes.priors)
    r = (mu - m0) / (m1 - m0)
    total: Any = Fraction(0)
    for agent, (own, other) in enumerate(((x1, x2), (x2, x1))):
        left, right = (Fraction(float(slopes.knots[k[agent] + side])) / n for side in (0, 1))
        t = (own - left) / (right - left)
        a = [[Fraction(float(slopes.values[agent, end, k[agent] + side])) for side in (0, 1)] for end in (0, 1)]
        low, high = ((1 - t) * ends[0] + t * ends[1] for ends in a)
        total = total + ((1 - r) * low + r * high) * (other - mu)
    return total


def random_slopes(n: int, rng: np.random.Generator) -> Slopes:
    extra = rng.uniform(0, n, size=3)
    knots = np.unique(np.concatenate((np.arange(n + 1.0), extra)))
    low = float(np.exp(rng.uniform(np.log(0.01), np.log(0.9))))
    priors = (low, low + float(rng.uniform(0.02, 1)) * (0.99 - low))
    return Slopes(priors, knots, rng.normal(scale=rng.choice([0.1, 1.0]), size=(2, 2, len(knots))))


def random_box(span: tuple[float, float], rng: np.random.Generator) -> tuple[float, float]:
    """A part of an interval: sometimes from its end, sometimes all, sometimes tiny."""
    low, high = span
    ends = np.sort(rng.uniform(low, high, size=2))
    if rng.random() < 0.3:
        ends[0] = low
    if rng.random() < 0.3:
        ends[1] = high
    if rng.random() < 0.2:
        ends[1] = min(ends[0] + 1e-6 * (high - low), high)
    return (float(ends[0]), float(ends[1])) if ends[0] < ends[1] else span


def random_aggregator(kind: str, rng: np.random.Generator) -> tuple[Grid | PriorEstimate, Any]:
    """A piece as the verifier has it, and its formula in a cell."""
    if kind == "table":
        n = int(rng.integers(1, 5))
        values = rng.random((n + 1, n + 1)).round(rng.choice([1, 15]))
        return Grid(values), lambda cell: table_formula(values, cell)
    pieces = ESTIMATES[kind]["pieces"]
    which = int(rng.integers(len(pieces)))
    kappa, delta = (Fraction(pieces[which][name]) for name in ("kappa", "delta"))
    return PriorEstimate(kappa, delta, "everywhere"), lambda _: estimate_formula(kappa, delta)


KINDS = ["table", *ESTIMATES]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_needed_on_a_box_is_enough_at_its_points(kind: str) -> None:
    """Corners, values anywhere and bending against exact values and exact second derivatives, at random points."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        forecast, formula_in = random_aggregator(kind, rng)
        n = forecast.resolution
        slopes = random_slopes(n, rng)
        k = tuple(int(rng.integers(len(slopes.knots) - 1)) for _ in range(2))
        spans = [
            *((float(slopes.knots[i]), float(slopes.knots[i + 1])) for i in k),
            slopes.priors,
        ]
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
            at = [
                Fraction(side[0]) / s + t * width for side, s, t, width in zip(box, scale, share, widths, strict=True)
            ]
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
            constant = highest_constant(forecast, growth, mirrored=mirrored, enough=0.0, slack=1e-3)
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
        boxes = Boxes(
            *(np.array([side]) for side in (*box, (0.0, 0.0))), *(np.array([i], dtype=np.int64) for i in cell)
        )
        with np.errstate(all="ignore"):
            measured = tail_needed(forecast, (0.25, 0.5), boxes, mirrored=mirrored)
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


def test_a_tail_bounds_the_regret_of_all_small_priors() -> None:
    aggregator = {"kind": "grid", "values": [[0.0, 0.4], [0.6, 1.0]]}
    (piece,) = read_pieces(aggregator).pieces
    c0 = max(highest_constant(piece, (0.1, 0.5), mirrored=False, enough=0.0, slack=1e-4), 0.0)
    forecast, rng = exact_forecast(aggregator), np.random.default_rng(9)
    for _ in range(200):
        prior = float(rng.uniform(1e-4, 0.05))
        reports = [
            [float(rng.choice([0.0, rng.uniform(0, prior)])), float(np.exp(rng.uniform(np.log(prior), 0)))]
            for _ in range(2)
        ]
        mixture = [{"weight": 1, "prior": prior, "reports": reports}]
        assert expected_regret(mixture, 2, (0, 1), forecast) <= tail_bound(0.05, (c0, 0.1, 0.5))


# ------------------------------------------------------------------------------------------------------------ brackets


def verified(certificate: rp.Certificate) -> bool:
    verdict = rp.verify(certificate)
    assert (verdict.upper, verdict.lower) == (certificate.upper, certificate.lower)
    return verdict.verified


def test_the_mean() -> None:
    certificate = rp.certify("mean")
    assert certificate.lower <= 0.0625 <= certificate.upper <= certificate.lower + 5.1e-7
    assert certificate.value is not None
    assert certificate.value == pytest.approx(0.0225424859, abs=1e-10)
    assert verified(certificate)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "about"), [("average-prior", 0.0259923), ("arieli-tuned", 0.0249898)])
def test_closed_forms(rule: str, about: float) -> None:
    certificate = rp.certify(rule)
    assert certificate.upper - certificate.lower <= 1e-6
    assert certificate.lower == pytest.approx(about, abs=1e-6)
    assert verified(certificate)


def saved(path: Path, family: rp.ConditionallyIndependent, **options: Any) -> Path:
    """A design file."""
    rp.save_design(rp.solve(family, **options), path)
    return path


def test_a_small_design(tmp_path: Path) -> None:
    family = rp.ConditionallyIndependent(2, 4, None)
    design = saved(tmp_path / "design.json", family, nature="continuous", tolerance=1e-3)
    certificate = rp.certify(design, tolerance=1e-3)
    assert certificate.upper - certificate.lower <= 1.01e-3
    assert certificate.data["aggregator"]["kind"] == "grid"
    assert verified(certificate)


@pytest.mark.slow
def test_a_design_as_large_as_the_papers(tmp_path: Path) -> None:
    family = rp.ConditionallyIndependent(2, 20, None)
    design = saved(tmp_path / "design.json", family, nature="continuous", tolerance=1e-6)
    began = time.perf_counter()
    certificate = rp.certify(design, tolerance=5e-7)
    assert time.perf_counter() - began < 360  # three minutes on two cores, with some patience for busy machines
    assert certificate.upper - certificate.lower <= 1e-6
    assert 0.0226 < certificate.upper < 0.02263
    assert verified(certificate)


def smooth_table(n: int, rng: np.random.Generator, roughness: float = 0.02) -> Floats:
    """The mean, shaken a little; agents cannot be exchanged, and the mirror shows something else."""
    x = np.linspace(0, 1, n + 1)
    return np.clip((x[:, None] + x) / 2 + rng.normal(scale=roughness, size=(n + 1, n + 1)), 0, 1)


def test_a_table_without_any_symmetry() -> None:
    table = smooth_table(3, np.random.default_rng(1))
    about = read_pieces({"kind": "grid", "values": table.tolist()})
    assert (about.exchangeable, about.mirrored) == (False, False)
    certificate = rp.certify(GridAggregator(table), tolerance=1e-3)
    witness = certificate.data["upper"]["witness"]
    assert set(witness["tails"]) == {"low", "high"}
    assert np.shape(witness["intervals"][0]["slopes"])[0] == 2  # one for each agent
    assert certificate.upper - certificate.lower <= 1.01e-3
    assert verified(certificate)


@pytest.mark.parametrize("prior_range", [(0.1, 0.4), (0.3, 0.7), (0.25, 0.75), (0.99, 1.0), (0.0, 0.05)])
def test_a_range_of_priors(prior_range: tuple[float, float]) -> None:
    family = rp.ConditionallyIndependent(2, None, None, prior_range)
    certificate = rp.certify("mean", family, tolerance=1e-4)
    assert certificate.upper - certificate.lower <= 1.01e-4
    assert certificate.upper <= 0.0626
    assert set(certificate.data["upper"]["witness"]["tails"]) == {
        end for end, prior in zip(("low", "high"), prior_range, strict=True) if prior in (0, 1)
    }
    assert verified(certificate)


# --------------------------------------------------------------------------------------------- no bound is ever too low


def random_regrets(aggregator: Any, prior_range: tuple[float, float], rng: np.random.Generator, count: int) -> Floats:
    """The regret on random structures with two to four signals an agent, from the definition."""
    signals = int(rng.integers(2, 5))
    mu = rng.uniform(max(prior_range[0], 1e-4), min(prior_range[1], 1 - 1e-4), size=count)
    states = np.stack((1 - mu, mu), axis=1)
    given = rng.dirichlet(np.full(signals, rng.choice([0.2, 1.0])), size=(count, 2, 2))  # structure, agent, state
    if rng.random() < 0.5:
        given[:, 0, 0, 0] = 0.0  # one signal can come in one state only
        given /= given.sum(axis=-1, keepdims=True)
    own = np.einsum("ka,kiax->kiax", states, given)
    reports = own[:, :, 1] / np.maximum(own.sum(axis=2), 1e-300)  # structure, agent, signal
    joint = np.einsum("ka,kax,kay->kaxy", states, given[:, 0], given[:, 1])
    mass = joint.sum(axis=1)
    posterior = joint[:, 1] / np.maximum(mass, 1e-300)
    pairs = np.stack(np.broadcast_arrays(reports[:, 0, :, None], reports[:, 1, None, :]), axis=-1)
    forecasts = np.asarray(aggregator(np.clip(pairs.reshape(-1, 2), 0, 1))).reshape(mass.shape)
    return np.asarray((mass * (forecasts - posterior) ** 2).sum(axis=(1, 2)))


def stop_at_once(progress: Progress) -> None:
    """Be content with the first bound that is proved."""
    if progress.certificate is not None:
        raise KeyboardInterrupt


def random_case(rng: np.random.Generator) -> tuple[Any, tuple[float, float]]:
    """A table, rough or smooth, or a rule with random parameters; and a range of priors, often a narrow one."""
    low = float(rng.uniform(0.02, 0.9))
    prior_range = (low, min(low + float(rng.uniform(0.01, 0.3)), 0.99))
    n, kind = int(rng.integers(1, 5)), rng.random()
    if kind < 0.35:
        return GridAggregator(rng.random((n + 1, n + 1))), prior_range
    if kind < 0.5:
        table = rng.integers(0, 2, size=(n + 1, n + 1)).astype(float)  # as rough as can be
        return GridAggregator(table), prior_range
    if kind < 0.7:
        table = smooth_table(n, rng, 0.1)
        return GridAggregator((table + table.T) / 2), prior_range
    name = rng.choice(["log-odds:alpha={:.3f}", "extremized-odds:d={:.3f}", "minimax:b={:.3f}", "bordley:prior={:.3f}"])
    return rp.get_rule(str(name).format(rng.uniform(0.3, 0.9))), prior_range


def check_random_case(rng: np.random.Generator, *, all_priors: bool = False) -> None:
    aggregator, prior_range = random_case(rng)
    prior_range = (0.0, 1.0) if all_priors else prior_range
    family = rp.ConditionallyIndependent(2, None, None, prior_range)
    certificate = rp.certify(aggregator, family, tolerance=1e-2, progress=stop_at_once)
    assert certificate.lower <= certificate.upper
    assert random_regrets(aggregator, prior_range, rng, 400).max() <= certificate.upper + 1e-12
    assert rp.worst_case(aggregator, family, rng=int(rng.integers(1, 1000))).regret <= certificate.upper + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_no_structure_is_worse_than_the_bound(seed: int) -> None:
    check_random_case(np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_no_structure_is_worse_than_the_bound_of_a_thousand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        check_random_case(rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 204))
def test_no_structure_is_worse_than_the_bound_for_all_priors(seed: int) -> None:
    """The same with both tails."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        check_random_case(rng, all_priors=True)


def test_slopes_that_prove_nothing_are_seen_to() -> None:
    """The bound that flat slopes need is the largest density, which is far too much; and less is not proved."""
    piece = Grid(np.array([[0.0, 0.5], [0.5, 1.0]]))
    slopes = Slopes((0.4, 0.5), np.array([0.0, 1.0]), np.zeros((2, 2, 2)))
    proved = highest_needed(piece, slopes, symmetric=True, enough=0.0, slack=1e-6)
    exact = max(
        density(table_formula(piece.values, (0, 0)), Fraction(i, 60), Fraction(j, 60), Fraction(mu, 100))
        for i in range(1, 60)
        for j in range(1, 60)
        for mu in (40, 45, 50)
    )
    assert exact <= Fraction(proved) <= exact + Fraction(1, 50)
    assert highest_needed(piece, slopes, symmetric=True, enough=float(exact) - 1e-3) == np.inf


# ------------------------------------------------------------------------------------------------------------- stopping


def test_ctrl_c_keeps_the_bound_that_was_reached() -> None:
    seen: list[Progress] = []

    def progress(state: Progress) -> None:
        seen.append(state)
        stop_at_once(state)

    table = GridAggregator(np.array([[0.0, 0.9], [0.2, 1.0]]))
    family = rp.ConditionallyIndependent(2, None, None, (0.3, 0.5))
    certificate = rp.certify(table, family, tolerance=1e-9, progress=progress)
    assert [state.certificate is None for state in seen] == [True] * (len(seen) - 1) + [False]
    assert all(state.upper == np.inf for state in seen[:-1])
    assert certificate.upper == seen[-1].upper < np.inf
    assert seen[-1].left > 0
    assert certificate.upper - certificate.lower > 1e-9
    assert verified(certificate)


def test_ctrl_c_before_there_is_a_bound() -> None:
    def progress(state: Progress) -> None:
        assert state.certificate is None
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rp.certify("mean", progress=progress)


# ------------------------------------------------------------------------------------------------------------- refusals


def average(x: Floats) -> Floats:
    return np.asarray(x).mean(axis=1)


@pytest.mark.parametrize(
    ("aggregator", "family", "sentence"),
    [
        (lambda: average, None, "not known as a formula; what cannot be certified .* can be made a table"),
        (lambda: "beta-pool", rp.ConditionallyIndependent(3, None, None), "no way is known here to certify"),
        (
            lambda: GridAggregator(np.zeros((2, 2, 2))),
            None,
            "tables are certified for two agents; this one is for 3 and the family has 3",
        ),
        (
            lambda: GridAggregator(np.zeros((2, 2))),
            rp.ConditionallyIndependent(3, None, None),
            "this one is for 2 and the family has 3",
        ),
        (
            lambda: "mean",
            rp.ConditionallyIndependent(2, None, None, (0.3, 0.3)),
            "a certificate is for a range of priors, not for the single prior",
        ),
    ],
)
def test_what_cannot_be_certified(aggregator: Any, family: Any, sentence: str) -> None:
    with pytest.raises(UnsupportedError, match=sentence):
        rp.certify(aggregator(), family)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "log"}, "was made for the loss 'log'; .* certified for 'square' only"),
        ({"paradigm": "absolute"}, "was made for the paradigm 'absolute'"),
    ],
)
def test_designs_for_another_game(tmp_path: Path, options: dict[str, str], sentence: str) -> None:
    design = saved(tmp_path / "design.json", rp.ConditionallyIndependent(2, 2, 4), **options)
    with pytest.raises(UnsupportedError, match=sentence):
        rp.certify(design)


def test_a_finite_family_that_forgot_its_signals() -> None:
    family = rp.FiniteFamily.from_structures([rp.InformationStructure([[0.45, 0.05], [0.05, 0.45]])])
    with pytest.raises(UnsupportedError, match="no longer knows its signals; give the family file"):
        rp.certify("mean", family)  # type: ignore[arg-type]


@pytest.mark.parametrize("tolerance", [0.0, -1e-6, 1.0, float("nan"), float("inf")])
def test_a_tolerance_out_of_range(tolerance: float) -> None:
    with pytest.raises(InputError, match="tolerance must"):
        rp.certify("mean", tolerance=tolerance)


def test_files_that_are_not_there() -> None:
    with pytest.raises(InputError, match=r"nowhere\.json"):
        rp.certify("mean", "nowhere.json")
    with pytest.raises(InputError, match="nosuchrule"):
        rp.certify("nosuchrule")
    with pytest.raises(InputError, match=r"the certificate 'nowhere\.json' does not exist"):
        rp.verify("nowhere.json")
