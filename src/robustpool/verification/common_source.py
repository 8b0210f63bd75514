"""Two agents with a common source: the rule, and an upper bound on its regret over all of them.

The agents are independent given a hidden y, and the event has the chance p_0 or p_1 given y. docs/derivations/common-source.md
shows that it is enough to look at p_1 = 1: the regret of some structure with p_1 = 1 (or of its mirror image, with p_0 = 0) is at
least that of any other. With p = p_0, x = p + (1-p) pi and g = p + (1-p) gamma,

    E (f - g)^2 = (1-p)^2 E (F - gamma)^2,        F(pi_1, pi_2) = (f(x_1, x_2) - p)/(1-p),

which is (1-p)^2 times the regret of the aggregator F of two conditionally independent agents who report pi. So it is at most B if
F is proved, as in `cover`, to have a regret of at most B/(1-p)^2. A *slab* is an interval of p; there F is an interval. The
slabs begin at 0, and from the last one on |f - g| <= 1 - min(p, f(p, p)) is small enough.

    logit f = w (G_1 + G_2) + kappa T(s),    G = log((d + o)/(d + 1/o)),    T = s tanh(s/k)^2,    o = x/(1-x),    s = log o_1 + log o_2

    dG/dl = r + t,    d^2G/dl^2 = r (1-r) - t (1-t),        r = o/(d + o),  t = 1/(1 + d o),  l = log o
    dT/ds = h^2 + 2 u h (1-h^2),    d^2T/ds^2 = (1-h^2) (4 h + 2 u (1 - 3 h^2))/k,        u = s/k,  h = tanh u

F is increasing in both reports, with F_1 = f_1 and F_11 = (1-p) f_11.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from .balls import ball, precision
from .balls import sigma as sigma_ball
from .cover import check_upper as check_cover
from .dual import Enclosure, Forecast
from .forecasts import Aggregator
from .intervals import Floats, Interval, down, up
from .logistic import sigma
from .reading import LATER, Budget, Refused, double, exactly, rational, read, word
from .remembering import Remembering
from .stretched import between_ends

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ONE = Interval(1.0)
SCHEMA = {"kind": word("common-source"), "slope": rational, "d": rational, "kappa": rational, "k": rational}
WITNESS = {"kind": word("slabs"), "slabs": [{"chances": [double], "cover": LATER}]}
STEPS_OF_A_POINT = 60  # of the budget


class SourceRule(Remembering):
    """logit f = w (G_1 + G_2) + kappa T(s), for two agents."""

    agents = 2

    def __init__(self, w: Fraction, d: Fraction, kappa: Fraction, k: Fraction, budget: Budget | None = None) -> None:
        """Take the numbers; what it takes to evaluate the rule at new reports is spent from the budget."""
        self.w, self.d, self.kappa, self.k = w, d, kappa, k
        self.budget = budget or Budget(np.inf)
        self.remember()

    def remember(self) -> None:
        """See Remembering."""
        self.point = lru_cache(2**17)(self._point)

    def forecast(self, profile: tuple[Fraction, ...]) -> Fraction | arb:
        """f at rational reports: 0 or 1 where one of them is certain, else a ball."""
        if 0 in profile or 1 in profile:
            return Fraction(1 in profile)
        with precision():
            logits, terms = zip(*(self._logit_and_term(ball(x)) for x in profile), strict=True)
            s = sum(logits, arb(0))
            return sigma_ball(ball(self.w) * sum(terms, arb(0)) + ball(self.kappa) * s * (s / ball(self.k)).tanh() ** 2)

    def _logit_and_term(self, x: arb) -> tuple[arb, arb]:
        """l = log(x/(1-x)), and G = l + log((d + (1-d) x)/(1 - (1-d) x))."""
        l, d = (x / (1 - x)).log(), ball(self.d)
        return l, l + ((d + (1 - d) * x) / (1 - (1 - d) * x)).log()

    def _point(self, x: float) -> tuple[float, float, float, float]:
        """Bounds on l and on G; infinite where x is 0 or 1."""
        if not 0.0 < x < 1.0:
            end = -np.inf if x <= 0.0 else np.inf
            return end, end, end, end
        self.budget.spend(STEPS_OF_A_POINT)
        with precision():
            l, term = self._logit_and_term(arb(x))
            low, high, least, most = (np.asarray(float(side)) for z in (l, term) for side in (z.lower(), z.upper()))
        return float(down(low)), float(up(high)), float(down(least)), float(up(most))

    def points(self, x: Floats) -> tuple[Interval, Interval]:
        """l and G at points."""
        distinct, place = np.unique(x, return_inverse=True)
        table = np.array([self.point(value) for value in distinct.tolist()]).reshape(-1, 4)[place.reshape(x.shape)]
        return Interval(table[..., 0], table[..., 1]), Interval(table[..., 2], table[..., 3])

    def between(self, x1: Interval, x2: Interval) -> Interval:
        """f for reports in these intervals: it grows with both of them."""
        return Interval(self._end(x1.lo, x2.lo).lo, self._end(x1.hi, x2.hi).hi)

    def _end(self, x1: Floats, x2: Floats) -> Interval:
        """f at points; 0 and 1 where a report is certain, anything where 0 meets 1."""
        x1, x2 = np.broadcast_arrays(x1, x2)
        (l1, g1), (l2, g2) = self.points(x1), self.points(x2)
        with np.errstate(invalid="ignore"):
            s = l1 + l2
            h = self._tanh(s)
            z = Interval.of(self.w) * (g1 + g2) + Interval.of(self.kappa) * s * h.squared()
            f = sigma(z)
        no, yes = (x1 <= 0) | (x2 <= 0), (x1 >= 1) | (x2 >= 1)
        low = np.where(yes & ~no, 1.0, np.where(no, 0.0, f.lo))
        high = np.where(no & ~yes, 0.0, np.where(yes, 1.0, f.hi))
        return Interval(low, high)

    def _tanh(self, s: Interval) -> Interval:
        """tanh(s/k) = 2 sigma(2 s/k) - 1."""
        return (sigma((s / Interval.of(self.k)).scaled(2.0)).scaled(2.0) - ONE).within(-1.0, 1.0)

    def derivatives(self, x1: Interval, x2: Interval, f: Interval) -> list[tuple[Interval, Interval]]:
        """f_1 and f_11, f_2 and f_22 on boxes, given f there."""
        l1, l2 = (Interval(self.points(x.lo)[0].lo, self.points(x.hi)[0].hi) for x in (x1, x2))
        s, k = l1 + l2, Interval.of(self.k)
        h, u = self._tanh(s), s / k
        flat = (ONE - h.squared()).within(0.0, 1.0)
        steep = h.squared() + u.scaled(2.0) * h * flat
        bent = flat * (h.scaled(4.0) + u.scaled(2.0) * (ONE - h.squared().scaled(3.0))) / k
        kappa, w, d = Interval.of(self.kappa), Interval.of(self.w), Interval.of(self.d)
        steep, bent = kappa * Interval(np.maximum(steep.lo, 0.0), steep.hi), kappa * bent
        spread, results = between_ends(f.lo, f.hi), []
        for x in (x1, x2):
            rest = ONE - x
            r = Interval(
                (Interval(x.lo) / (d * Interval(rest.hi) + Interval(x.lo))).lo,
                (Interval(x.hi) / (d * Interval(rest.lo) + Interval(x.hi))).hi,
            )
            t = Interval(
                (Interval(rest.lo) / (d * Interval(x.hi) + Interval(rest.lo))).lo,
                (Interval(rest.hi) / (d * Interval(x.lo) + Interval(rest.hi))).hi,
            )
            r, t = r.within(0.0, 1.0), t.within(0.0, 1.0)
            slope = w * (r + t) + steep
            bend = w * (between_ends(r.lo, r.hi) - between_ends(t.lo, t.hi)) + bent
            size = between_ends(x.lo, x.hi)
            first = slope / size
            second = (bend - slope * (ONE - x.scaled(2.0))) / size.squared()
            results.append((spread * first, spread * ((ONE - f.scaled(2.0)) * first.squared() + second)))
        return results

    @property
    def formula(self) -> str:
        """The rule as a claim states it."""
        w, d, kappa, k = (exactly(float(x), "aggregator") for x in (self.w, self.d, self.kappa, self.k))
        return (
            f"logit f = {w} (log(({d} + o_1)/({d} + 1/o_1)) + log(({d} + o_2)/({d} + 1/o_2))) + {kappa} s tanh(s/{k})^2, where o are "
            "the odds of the reports and s is the sum of their logarithms"
        )


class Slab(Forecast):
    """F = (f - p)/(1-p) for all p of an interval."""

    resolution = 1

    def __init__(self, rule: SourceRule, low: float, high: float) -> None:
        """Take the ends of the interval, 0 <= low < high < 1."""
        self.rule, self.p, self.rest = rule, Interval(low, high), ONE - Interval(low, high)
        self.least = min(float(self._scaled(self.p, Interval(0.0), Interval(0.0)).lo), 0.0)

    def _scaled(self, p: Interval, pi1: Interval, pi2: Interval) -> Interval:
        """F = 1 - (1-f)/(1-p)."""
        f = self.rule.between(_reports(p, pi1), _reports(p, pi2))
        wrong = (ONE - f).within(0.0, 1.0) / (ONE - p)
        return Interval((ONE - wrong).lo, np.minimum((ONE - wrong).hi, 1.0))

    def at(self, y1: Floats, y2: Floats, cell: NDArray[np.int64]) -> Interval:  # noqa: ARG002
        """F at points, for all p: its range, and F at the middle p plus what its derivative in p allows.

        dF/dp = ((1-pi_1) f_1 + (1-pi_2) f_2)/(1-p) - (1-f)/(1-p)^2
        """
        y1, y2 = np.broadcast_arrays(y1, y2)
        pi1, pi2 = Interval(y1), Interval(y2)
        plain = self._scaled(self.p, pi1, pi2)
        x1, x2 = _reports(self.p, pi1), _reports(self.p, pi2)
        f = self.rule.between(x1, x2)
        with np.errstate(all="ignore"):
            (f1, _), (f2, _) = self.rule.derivatives(x1, x2, f)
            growth = ((ONE - pi1) * f1 + (ONE - pi2) * f2) / self.rest - (ONE - f) / self.rest.squared()
            middle = self.p.lo + 0.5 * (self.p.hi - self.p.lo)
            half = up(np.maximum(self.p.hi - middle, middle - self.p.lo))
            near = self._scaled(Interval(middle), pi1, pi2) + growth * Interval(-half, half)
        return Interval(np.fmax(plain.lo, near.lo), np.fmin(plain.hi, near.hi))

    def over(self, y1: Interval, y2: Interval, cell: NDArray[np.int64], corners: Interval) -> Enclosure:  # noqa: ARG002
        """F between its corners, and its derivatives."""
        x1, x2 = _reports(self.p, y1), _reports(self.p, y2)
        (f1, f11), (f2, f22) = self.rule.derivatives(x1, x2, self.rule.between(x1, x2))
        return Enclosure(corners.hull(), (f1, f2), (self.rest * f11, self.rest * f22))

    def aggregator(self) -> Aggregator:
        """As `cover` takes it."""
        return Aggregator("", (self,), self.rule.forecast, exchangeable=True, mirrored=False)

    def bound(self, bound: float) -> float:
        """At most B/(1-p)^2 for all p of the slab."""
        most = (self.rest.squared()).hi
        return float(down(np.asarray(bound / most)))


def _reports(p: Interval, pi: Interval) -> Interval:
    """x = p + (1-p) pi, which grows with both."""
    low, high = (ONE - (ONE - Interval(a)) * (ONE - Interval(b)) for a, b in ((p.lo, pi.lo), (p.hi, pi.hi)))
    ends = (  # where p = 0 or pi = 1, x = pi exactly
        np.where((p.lo == 0.0) | (pi.lo == 1.0), pi.lo, low.lo),
        np.where((p.hi == 0.0) | (pi.hi == 1.0), pi.hi, high.hi),
    )
    return Interval(*ends).within(0.0, 1.0)


def read_source(data: Any, budget: Budget | None = None) -> SourceRule:
    """The rule of a certificate; numbers are doubles, taken exactly."""
    read_ = read(data, SCHEMA, "aggregator")
    w, d, kappa, k = (read_[name] for name in ("slope", "d", "kappa", "k"))
    if not (0 < w <= 4 and 0 < d <= 1 and 0 <= kappa <= 4 and Fraction(1, 16) <= k <= 64):
        raise Refused("aggregator must have 0 < slope <= 4, 0 < d <= 1, 0 <= kappa <= 4 and 1/16 <= k <= 64.")
    for name in ("slope", "d", "kappa", "k"):
        double(data[name], f"aggregator.{name}")
    return SourceRule(w, d, kappa, k, budget)


def close_to_1(rule: SourceRule, p: float, bound: float) -> bool:
    """Whether |f - g| <= 1 - min(p, f(p, p)) proves the bound for all p_0 from p on."""
    f = rule.between(Interval(p), Interval(p))
    most = (ONE - Interval(np.minimum(p, f.lo))).squared().hi
    return bool(most <= bound)


def check_upper(
    rule: SourceRule, witness: Any, bound: float, budget: Budget, watch: Callable[[float], None] = lambda _: None
) -> None:
    """Prove that no two agents with a common source cost the rule more than the bound, or refuse."""
    slabs = read(witness, WITNESS, "upper.witness")["slabs"]
    reached = 0.0
    for i, entry in enumerate(slabs):
        where = f"upper.witness.slabs[{i}]"
        if len(entry["chances"]) != 2 or not 0 <= entry["chances"][0] < entry["chances"][1] < 1:
            raise Refused(f"{where}.chances must be two numbers in [0, 1), the lower first.")
        low, high = entry["chances"]
        if low > reached:
            raise Refused(f"the chances from {reached:.6g} to {low:.6g} are not covered, or not in order.")
        slab = Slab(rule, low, high)
        check_cover(slab.aggregator(), (Fraction(0), Fraction(1)), entry["cover"], slab.bound(bound), budget)
        reached = max(reached, high)
        watch((i + 1) / len(slabs))
    if not close_to_1(rule, reached, bound):
        raise Refused(f"the chances from {reached:.6g} on are not covered.")
