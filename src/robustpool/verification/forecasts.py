"""Aggregators of two reports as the verifier reads them: values and derivatives in interval arithmetic."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .dual import Enclosure, Forecast
from .functions_of_the_mean import MEAN_SCHEMAS, read_mean_forecast
from .intervals import TINY, Floats, Interval, down, up
from .reading import Budget, Refused, by_kind, double, exactly, rational, word

if TYPE_CHECKING:
    from collections.abc import Callable

    from flint import arb
    from numpy.typing import NDArray

    from .mixtures import Profile

ONE = Interval(1.0)
SIDES = {"everywhere": "everywhere", "below": "where x_1 + x_2 <= 1", "above": "where x_1 + x_2 > 1"}
OPPOSITE = {"above": "below", "below": "above", "everywhere": "everywhere"}
GRID = {"kind": word("grid"), "values": [[double]]}
PIECE = {"kappa": rational, "delta": rational, "side": word(*SIDES)}
PRIOR_ESTIMATE = {"kind": word("prior-estimate"), "pieces": [PIECE]}


class Grid(Forecast):
    """A table on the reports k/N, bilinear in between."""

    def __init__(self, values: Floats) -> None:
        """Take the table (N + 1, N + 1)."""
        self.values = values
        self.resolution = len(values) - 1

    def _corner(self, cell: NDArray[np.int64], i: int, j: int) -> Interval:
        return Interval(self.values[cell[:, 0] + i, cell[:, 1] + j])

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:
        """f at the points y1 (boxes, 2, 1) and y2 (boxes, 1, 2)."""
        t = Interval(y1) - Interval(cell[:, 0, None, None].astype(float))
        u = Interval(y2) - Interval(cell[:, 1, None, None].astype(float))
        f = [[self._corner(cell, i, j)[:, None, None] for j in (0, 1)] for i in (0, 1)]
        low = f[0][0] + t * (f[1][0] - f[0][0])
        high = f[0][1] + t * (f[1][1] - f[0][1])
        return low + u * (high - low)

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:
        """f between its corners; f_1 = N (f(1, u) - f(0, u)) between those at the ends of u, and f_2 alike."""
        n = float(self.resolution)
        t, u = (Interval(z.lo - k, z.hi - k) for z, k in ((y1, cell[:, 0]), (y2, cell[:, 1])))
        f = [[self._corner(cell, i, j) for j in (0, 1)] for i in (0, 1)]
        first = []
        for along, (low, high) in (
            (u, (f[1][0] - f[0][0], f[1][1] - f[0][1])),
            (t, (f[0][1] - f[0][0], f[1][1] - f[1][0])),
        ):
            first.append((low + along * (high - low)).scaled(n))
        return Enclosure(corners.hull(), (first[0], first[1]), None)


class PriorEstimate(Forecast):
    """f = sigma(logit x_1 + logit x_2 - logit m) with the prior estimated as m = kappa (x_1 + x_2) + delta.

    f = X (1-m)/D with D = X (1-m) + Y m; kappa, delta and 1 - 2 kappa - delta are not negative. At (0, 0) it is 0 and at
    (1, 1) it is 1, by its limits. A piece may be in force on one side of x_1 + x_2 = 1 only.
    """

    resolution = 1

    def __init__(self, kappa: Fraction, delta: Fraction, side: str) -> None:
        """Take the numbers, and where they hold: "below", "above" or "everywhere"."""
        self.kappa, self.delta, self.side = Interval.of(kappa), Interval.of(delta), side
        self.spare = Interval.of(1 - 2 * kappa - delta)

    def holds(self, y1: Interval, y2: Interval) -> NDArray[np.bool_]:
        """Whether a box reaches to the side where the piece holds, its border included."""
        total = y1 + y2
        below, above = total.lo <= 1.0, total.hi >= 1.0
        return below if self.side == "below" else above if self.side == "above" else below | above

    def _parts(self, x1: Interval, x2: Interval) -> tuple[Interval, ...]:
        z1, z2 = ((ONE - x).within(0.0, 1.0) for x in (x1, x2))
        m = (self.kappa * (x1 + x2) + self.delta).within(0.0, 1.0)
        rest = (self.kappa * (z1 + z2) + self.spare).within(0.0, 1.0)  # 1 - m
        return z1, z2, m, rest, (x1 * x2 * rest).within(0.0, 1.0), (z1 * z2 * m).within(0.0, 1.0)

    @staticmethod
    def _ratio(a: Interval, b: Interval) -> Interval:
        """a / (a + b) for a, b >= 0: it grows with a and falls with b; anything between 0 and 1 where both may be 0."""
        low, high = Interval(a.lo) + Interval(b.hi), Interval(a.hi) + Interval(b.lo)
        return Interval(down(a.lo / low.hi), np.where(high.lo > 0, up(a.hi / np.maximum(high.lo, TINY)), 1.0)).within(
            0.0, 1.0
        )

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:  # noqa: ARG002
        """f at points; the limits 0 and 1 where both reports are 0, or 1."""
        f = self._ratio(*self._parts(Interval(y1), Interval(y2))[4:])
        zero, one = (y1 == 0) & (y2 == 0), (y1 == 1) & (y2 == 1)
        return Interval(np.where(zero, 0.0, np.where(one, 1.0, f.lo)), np.where(zero, 0.0, np.where(one, 1.0, f.hi)))

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:  # noqa: ARG002
        """f_1 = r/D^2 and f_11 = (r_1 D - 2 r D_1)/D^3 with r = x_2 (1-x_2) (m (1-m) - kappa x_1 (1-x_1)).

        At the corner (0, 0), where there are no derivatives, f <= X/(Y m) <= max(x_1, x_2)/(2 kappa Y), as
        X/(x_1 + x_2) <= max(x_1, x_2)/2; at (1, 1) 1 - f alike.
        """
        z1, z2, m, rest, yes, no = self._parts(y1, y2)
        f, total = self._ratio(yes, no), yes + no
        two_kappa = self.kappa.scaled(2.0)
        most = (Interval(np.maximum(y1.hi, y2.hi)) / (two_kappa * z1 * z2)).hi
        least = (ONE - Interval(np.maximum(z1.hi, z2.hi)) / (two_kappa * y1 * y2)).lo
        f = Interval(np.fmax(f.lo, least), np.fmin(f.hi, most))
        first, second = [], []
        for (x, z), (x_other, z_other) in (((y1, z1), (y2, z2)), ((y2, z2), (y1, z1))):
            spread = (x_other * z_other).within(0.0, 1.0)
            r = spread * (m * rest - self.kappa * x * z)
            r_1 = spread * two_kappa * (x - m)
            total_1 = x_other * (rest - self.kappa * x) + z_other * (self.kappa * z - m)
            square = total.squared()
            first.append(r / square)
            second.append((r_1 * total - (r * total_1).scaled(2.0)) / (square * total))
        return Enclosure(f, (first[0], first[1]), (second[0], second[1]))


class Aggregator(NamedTuple):
    """An aggregator of two reports: its formula, its smooth pieces, its exact forecasts, and its exact symmetries."""

    formula: str  # as a claim states it
    pieces: tuple[Forecast, ...]
    forecast: Callable[[Profile], Fraction | arb]
    exchangeable: bool  # f(x_1, x_2) = f(x_2, x_1)
    mirrored: bool  # f(1 - x_1, 1 - x_2) = 1 - f(x_1, x_2)

    @property
    def resolution(self) -> int:
        """N: all pieces are smooth between reports k/N."""
        return self.pieces[0].resolution


def read_aggregator(data: Any, where: str = "aggregator", budget: Budget | None = None) -> Aggregator:
    """The aggregator of two reports of a certificate; numbers are doubles or fractions, taken exactly.

    What it takes to evaluate a function of the mean is spent from the budget, if there is one.
    """
    read_ = by_kind(grid=GRID, prior_estimate=PRIOR_ESTIMATE, **MEAN_SCHEMAS)(data, where)
    if read_["kind"] == "grid":
        return _grid(read_["values"])
    if read_["kind"] == "prior-estimate":
        return _prior_estimate(read_["pieces"], data["pieces"])
    rule = read_mean_forecast(read_, budget)
    return Aggregator(rule.formula, (rule,), rule.forecast, rule.exchangeable, rule.mirrored)


def _grid(rows: list[list[float]]) -> Aggregator:
    n = len(rows) - 1
    if n < 1 or any(len(row) != n + 1 for row in rows):
        raise Refused("aggregator.values must be square, two by two at least.")
    values = np.array(rows)
    if not ((values >= 0) & (values <= 1)).all():
        raise Refused("aggregator.values must be forecasts in [0, 1].")
    mirror = values[::-1, ::-1]
    larger, smaller = np.maximum(values, mirror), np.minimum(values, mirror)
    # 1 - y is exact for doubles y in [1/2, 1], so that this asks exactly whether two entries sum to 1
    mirrored = bool(((larger >= 0.5) & (smaller == 1.0 - larger)).all())
    named = f"{rows}" if n == 1 else f"of {n + 1} by {n + 1} forecasts with the hash {table_hash(rows)}"
    formula = f"f is the table {named}, row i and column j at the reports i/{n} and j/{n}, bilinear in between"
    return Aggregator(formula, (Grid(values),), partial(_bilinear, rows), bool((values == values.T).all()), mirrored)


def table_hash(rows: Any) -> str:
    """sha256 over the JSON text of a table, without spaces."""
    return "sha256:" + hashlib.sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _bilinear(rows: list[list[float]], profile: Profile) -> Fraction:
    """sum over the corners of the cell of (alpha or 1 - alpha)(beta or 1 - beta) times the value there.

    >>> _bilinear([[0.0, 0.5], [0.5, 1.0]], (Fraction(1, 5), Fraction(2, 5)))
    Fraction(3, 10)
    """
    n = len(rows) - 1
    (i, a), (j, b) = ((k, n * x - k) for x in profile for k in (min(int(n * x), n - 1),))
    corners = (((1 - a) * (1 - b), i, j), (a * (1 - b), i + 1, j), ((1 - a) * b, i, j + 1), (a * b, i + 1, j + 1))
    return sum((weight * Fraction(rows[k][m]) for weight, k, m in corners), Fraction(0))


def _prior_estimate(pieces: list[dict[str, Any]], texts: list[dict[str, Any]]) -> Aggregator:
    by_side = {piece["side"]: (piece["kappa"], piece["delta"]) for piece in pieces}
    if len(pieces) != len(by_side) or set(by_side) not in ({"everywhere"}, {"above", "below"}):
        raise Refused("aggregator.pieces must cover all reports once: everywhere, or below and above.")
    for kappa, delta in by_side.values():
        if not (kappa > 0 and delta >= 0 and 2 * kappa + delta <= 1):
            raise Refused("aggregator.pieces must have kappa > 0, delta >= 0 and 2 kappa + delta <= 1.")
    in_mirror = {OPPOSITE[side]: (kappa, 1 - 2 * kappa - delta) for side, (kappa, delta) in by_side.items()}
    priors = [
        f"m = {exactly(text['kappa'], 'kappa')} (x_1 + x_2) + {exactly(text['delta'], 'delta')} {SIDES[text['side']]}"
        for text in texts
    ]
    formula = (
        f"logit f = logit x_1 + logit x_2 - logit m with {', '.join(priors)} (0 if both report 0, 1 if both report 1)"
    )
    estimates = tuple(PriorEstimate(*values, side) for side, values in by_side.items())
    return Aggregator(formula, estimates, partial(_by_prior, by_side), exchangeable=True, mirrored=in_mirror == by_side)


def _by_prior(by_side: dict[str, tuple[Fraction, Fraction]], profile: Profile) -> Fraction:
    """X (1-m)/(X (1-m) + Y m), by the limits 0 and 1 where both reports are 0, or 1; where two pieces meet, the one below."""
    x1, x2 = profile
    if x1 == x2 and x1 in (0, 1):
        return x1
    kappa, delta = by_side.get("everywhere") or by_side["below" if x1 + x2 <= 1 else "above"]
    m = kappa * (x1 + x2) + delta
    yes, no = x1 * x2 * (1 - m), (1 - x1) * (1 - x2) * m
    return yes / (yes + no) if yes + no else Fraction(1, 2)  # 0 meets 1: it never happens
