"""Aggregators of two reports as the verifier reads them: values and derivatives in interval arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from .dual import Enclosure, Forecast
from .intervals import TINY, Interval, down, up
from .mean_forecasts import MEAN_KINDS, read_raw
from .mixtures import grid_forecast, rational
from .refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from .intervals import Floats

ONE = Interval(1.0)


class Grid:
    """A table on the reports k/N, bilinear in between."""

    def __init__(self, values: Floats) -> None:
        """Take the table (N + 1, N + 1)."""
        self.values = values
        self.resolution = len(values) - 1

    def holds(self, y1: Interval, y2: Interval) -> NDArray[np.bool_]:
        """Everywhere."""
        return np.ones(np.broadcast(y1.lo, y2.lo).shape, dtype=bool)

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
        for along, rise in (
            (u, ((f[0][0], f[1][0]), (f[0][1], f[1][1]))),
            (t, ((f[0][0], f[0][1]), (f[1][0], f[1][1]))),
        ):
            low, high = rise[0][1] - rise[0][0], rise[1][1] - rise[1][0]
            first.append((low + along * (high - low)).scaled(n))
        return Enclosure(corners.hull(), (first[0], first[1]), None)


class PriorEstimate:
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


@dataclass(frozen=True)
class Pieces:
    """An aggregator as its smooth pieces, and the symmetries that it has exactly."""

    pieces: tuple[Forecast, ...]
    exchangeable: bool  # f(x_1, x_2) = f(x_2, x_1)
    mirrored: bool  # f(1 - x_1, 1 - x_2) = 1 - f(x_1, x_2)


def read_pieces(aggregator: dict[str, Any]) -> Pieces:
    """The aggregator of a certificate; numbers are doubles, taken exactly."""
    kind = aggregator.get("kind")
    try:
        if kind == "grid":
            grid_forecast(aggregator["values"], 2)  # refuses what is no table of forecasts
            return _grid(np.array(aggregator["values"], dtype=np.float64))
        if kind == "prior-estimate":
            return _prior_estimate([(piece["kappa"], piece["delta"], piece["side"]) for piece in aggregator["pieces"]])
        if kind in MEAN_KINDS:
            return Pieces((read_raw(aggregator),), exchangeable=True, mirrored=kind != "geometric-mean")
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(f"the aggregator cannot be read: {error}.") from None
    raise Refused(f"an aggregator of kind {kind!r} is not known to the check of two agents.")


def _grid(values: Floats) -> Pieces:
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        raise Refused(f"the table of two agents must be square, two by two at least; its shape is {values.shape}.")
    if not ((values >= 0) & (values <= 1)).all():
        raise Refused("a forecast in the table does not lie in [0, 1].")
    exact = [[Fraction(x) for x in row] for row in values.tolist()]
    n = len(exact) - 1
    mirrored = all(exact[i][j] + exact[n - i][n - j] == 1 for i in range(n + 1) for j in range(n + 1))
    return Pieces((Grid(values),), exchangeable=bool((values == values.T).all()), mirrored=mirrored)


def _prior_estimate(given: list[tuple[str, str, str]]) -> Pieces:
    pieces = {side: (rational(kappa, "kappa"), rational(delta, "delta")) for kappa, delta, side in given}
    if len(given) != len(pieces) or set(pieces) not in ({"everywhere"}, {"above", "below"}):
        raise Refused(f"the pieces of the aggregator must cover all reports once; they are {given}.")
    for kappa, delta in pieces.values():
        if not (kappa > 0 and delta >= 0 and 2 * kappa + delta <= 1):
            raise Refused(f"kappa {kappa} and delta {delta}: the estimated prior would leave [0, 1].")
    in_mirror = {OPPOSITE[side]: (kappa, 1 - 2 * kappa - delta) for side, (kappa, delta) in pieces.items()}
    return Pieces(
        tuple(PriorEstimate(*values, side) for side, values in pieces.items()),
        exchangeable=True,
        mirrored=in_mirror == pieces,
    )


OPPOSITE = {"above": "below", "below": "above", "everywhere": "everywhere"}


def exact_forecast(aggregator: dict[str, Any]) -> Callable[[tuple[Fraction, ...]], Fraction]:
    """The aggregator of two reports in exact fractions. On the border of two pieces the one below holds."""
    if aggregator.get("kind") == "grid":
        return grid_forecast(aggregator.get("values"), 2)
    read_pieces(aggregator)  # refuses what is not well formed
    if aggregator["kind"] in MEAN_KINDS:
        raise Refused(
            f"the forecasts of the rule {aggregator['kind']} are no fractions; its regret is computed in balls."
        )
    given = {
        piece["side"]: (rational(piece["kappa"], "kappa"), rational(piece["delta"], "delta"))
        for piece in aggregator["pieces"]
    }

    def forecast(profile: tuple[Fraction, ...]) -> Fraction:
        x1, x2 = profile
        if x1 == x2 and x1 in (0, 1):
            return x1
        kappa, delta = given.get("everywhere") or given["below" if x1 + x2 <= 1 else "above"]
        m = kappa * (x1 + x2) + delta
        yes, no = x1 * x2 * (1 - m), (1 - x1) * (1 - x2) * m
        return yes / (yes + no) if yes + no else Fraction(1, 2)  # 0 meets 1: it never happens

    return forecast
