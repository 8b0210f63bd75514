"""Rules that average stretched log-odds, for any number of agents: logit f = (1/n) sum_i h(logit x_i).

    h(l) = a l + c sgn(l) (|l| - L)_+^2        with a > 0, c >= 0 and L >= 0: h is odd, and it grows without bound

With t(x) = h(logit x)/n the forecast is f = sigma(z), z = sum_i t(x_i), and its derivatives in x_i are

    f_i = f (1-f) t'        f_ii = f (1-f) ((1-2f) t'^2 + t'')
    t' = h'/(n x (1-x))     t'' = (h'' - h' (1-2x))/(n x^2 (1-x)^2)        h' = a + 2 c (|l| - L)_+,  h'' = 2 c sgn(l) beyond L

h'' jumps at |l| = L, where f_i is still continuous. Next to x_i = 0 the factor f vanishes faster than any power of x_i
grows, if c > 0: f (1-f) <= e^z gives f_i <= e^(z - t) (e^t t'), where e^t t' is a bounded function of x_i alone; likewise
f_ii. Next to x_i = 1 the mirror image serves. docs/derivations/many-agents-certificate.md has the details.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb

from .balls import ball, logit, precision
from .balls import sigma as sigma_ball
from .intervals import Floats, Interval, down, up
from .logistic import exp_most, sigma, sigma_near
from .many_agents import Derivatives, outer
from .reading import Budget, Refused, exactly, rational, read, word
from .remembering import Remembering

ONE = Interval(1.0)
SCHEMA = {"kind": word("stretched-log-odds"), "a": rational, "threshold": rational, "c": rational}
LARGEST = 4  # of a and c, so that |z| <= 5,100 for reports that are multiples of 2^-50, and rounding stays small
STEPS_OF_A_POINT = 60  # of the budget
FARTHEST = 400.0  # log-odds up to which the derivatives next to 0 are looked at
SLICES = 16  # of each unit of log-odds, there


class Stretched(Remembering):
    """The rule for n agents; see `robustpool.verification.many_agents.SymmetricRule`."""

    def __init__(
        self, agents: int, a: Fraction, threshold: Fraction, c: Fraction, budget: Budget | None = None
    ) -> None:
        """Take the numbers; what it takes to evaluate the rule at new reports is spent from the budget."""
        self.agents, self.a, self.threshold, self.c = agents, a, threshold, c
        self.budget = budget or Budget(np.inf)
        self.remember()

    def remember(self) -> None:
        """See Remembering."""
        self.point = lru_cache(2**17)(self._point)
        self.next_to_0 = lru_cache(2**12)(self._next_to_0)

    def forecast(self, profile: tuple[Fraction, ...]) -> Fraction | arb:
        """f at rational reports: the limit 0 or 1 where one of them is certain, else a ball."""
        if 0 in profile or 1 in profile:
            return Fraction(1 in profile)
        with precision():
            return sigma_ball(sum((self._t(logit(ball(x)), x < Fraction(1, 2)) for x in profile), arb(0)))

    def _t(self, l: arb, negative: bool) -> arb:
        """h(l)/n."""
        excess = (abs(l) - ball(self.threshold)).max(arb(0))
        bent = ball(self.c) * excess * excess
        return (ball(self.a) * l + (-bent if negative else bent)) / self.agents

    # --------------------------------------------------------------------------------------------------------- at points

    def _point(self, x: float) -> tuple[float, float, float]:
        """Bounds on logit x, and h(logit x)/n up to its last bits."""
        if x in (0.0, 1.0):
            end = -np.inf if x == 0.0 else np.inf
            return end, end, end
        self.budget.spend(STEPS_OF_A_POINT)
        with precision():
            l = logit(arb(x))
            low, high = (float(side) for side in (l.lower(), l.upper()))
            return float(down(np.asarray(low))), float(up(np.asarray(high))), float(self._t(l, x < 0.5))

    def points(self, x: Floats) -> tuple[Interval, Floats]:
        """logit x and h(logit x)/n at points."""
        distinct, place = np.unique(x, return_inverse=True)
        table = np.array([self.point(value) for value in distinct.tolist()]).reshape(-1, 3)[place.reshape(x.shape)]
        return Interval(table[..., 0], table[..., 1]), table[..., 2]

    def near(self, x: Floats) -> Floats:
        """f at points (m, agents), in floats."""
        return sigma_near(self.points(x)[1].sum(axis=1))

    # ---------------------------------------------------------------------------------------------------------- on boxes

    def on(self, x: Floats) -> tuple[Floats, Derivatives]:
        """See SymmetricRule.

        Reports are multiples of 2^-50, so that sum |t_i| <= 5,100. Each t_i and each sum is wrong by 2^-51 of its size at
        most, and f by a quarter of what z is. Where 0 meets 1, f is not a number at the corner.
        """
        logits, t = self.points(x)
        return sigma_near(outer(np.add, np.moveaxis(t, 1, 0))), self._over(x, logits, t)

    def _over(self, x: Floats, logits: Interval, t: Floats) -> Derivatives:
        """f and its derivatives on boxes of reports (boxes, agents, 2)."""
        size = 2.0**-48 * np.abs(t).sum(axis=1) + 2.0**-48
        z = Interval(t[..., 0].sum(axis=1) - size[:, 0], t[..., 1].sum(axis=1) + size[:, 1])
        f = sigma(z)
        spread = between_ends(f.lo, f.hi)
        first, second = self._t_derivatives(x, logits)
        by_1 = spread[:, None] * first
        by_2 = spread[:, None] * ((ONE - f.scaled(2.0))[:, None] * first.squared() + second)
        return Derivatives(f, *self._next_to_ends(x, t, size, by_1, by_2))

    def _t_derivatives(self, x: Floats, logits: Interval) -> tuple[Interval, Interval]:
        """t' and t'' on intervals of one report (..., 2), whose ends have these logits; the whole line where one is 0 or 1."""
        c2, threshold, share = (
            Interval.of(2 * self.c),
            Interval.of(self.threshold),
            Interval.of(Fraction(1, self.agents)),
        )
        low, high = logits.lo[..., 0], logits.hi[..., 1]
        near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        far = np.maximum(np.abs(low), np.abs(high))
        beyond = Interval((Interval(near) - threshold).lo, (Interval(far) - threshold).hi)
        slope = Interval.of(self.a) + c2 * Interval(np.maximum(beyond.lo, 0.0), np.maximum(beyond.hi, 0.0))
        bend = Interval(
            np.where(low > threshold.hi, c2.lo, np.where(low < -threshold.lo, -c2.hi, 0.0)),
            np.where(high < -threshold.hi, -c2.lo, np.where(high > threshold.lo, c2.hi, 0.0)),
        )
        spread, tilt = between_ends(x[..., 0], x[..., 1]), ONE - Interval(x[..., 0], x[..., 1]).scaled(2.0)
        return slope * share / spread, (bend - slope * tilt) * share / spread.squared()

    def _next_to_ends(
        self, x: Floats, t: Floats, size: Floats, first: Interval, second: Interval
    ) -> tuple[Interval, Interval]:
        """The derivatives, better bounded where a report may be 0 or 1: f_i <= e^(z-t) (e^t t'), |f_ii| alike."""
        lo_1, hi_1, lo_2, hi_2 = (np.array(side) for side in (first.lo, first.hi, second.lo, second.hi))
        for end in (0, 1):
            box, agent = np.nonzero(x[..., end] == end)
            if not len(box):
                continue
            widths = 1.0 - x[box, agent, 0] if end else x[box, agent, 1]
            bounds = np.array([self.next_to_0(width) for width in widths.tolist()]).reshape(-1, 3)
            others = np.where(np.arange(self.agents) == agent[:, None], 0.0, t[box, :, 1 - end])
            rest = others.sum(axis=1) * (-1 if end else 1) + size[box, 1 - end]
            grown = up(exp_most(rest)[:, None] * bounds)
            bent = up(grown[:, 1] + grown[:, 2])
            lo_1[box, agent] = np.fmax(lo_1[box, agent], 0.0)
            hi_1[box, agent] = np.fmin(hi_1[box, agent], grown[:, 0])
            lo_2[box, agent] = np.fmax(lo_2[box, agent], -bent)
            hi_2[box, agent] = np.fmin(hi_2[box, agent], bent)
        return Interval(lo_1, hi_1), Interval(lo_2, hi_2)

    def _next_to_0(self, high: float) -> tuple[float, float, float]:
        """At least e^t t', e^t t'^2 and e^t |t''| for 0 < x <= high.

        In l = logit x they are e^(h/n) times h'/x', (h'/x')^2 and (|h''| + h')/x'^2 at most, up to factors n, where
        1/x' = (1 + e^-l)(1 + e^l). The logarithms have derivatives of at least h'/n - 2 - 4 c/h' for l < -L, which is not
        negative where h' >= 3 n + 4 c: there they grow with l, and what holds at the larger end holds for all below it.
        """
        nothing = (np.inf, np.inf, np.inf)
        threshold, c = float(self.threshold), float(self.c)
        start = -(threshold + (3 * self.agents + 4 * c) / (2 * c) + 1) if c > 0 else -np.inf
        if high > 0.5 or start < -FARTHEST:
            return nothing
        with precision():
            top = min(float(up(np.asarray(float(logit(arb(high)).upper())))), 0.0)
            cuts = np.linspace(min(start, top - 1), top, 2 + int(SLICES * (top - min(start, top - 1))))
            self.budget.spend(STEPS_OF_A_POINT * len(cuts))
            best = [arb(0)] * 3
            for left, right in pairwise(cuts.tolist()):
                l = arb(left).union(arb(right))
                slope = ball(self.a) + 2 * ball(self.c) * (abs(l) - ball(self.threshold)).max(arb(0))
                widen = (1 + (-l).exp()) * (1 + l.exp())
                size = self._t(l, negative=True).exp() / self.agents
                first = slope * widen
                values = (
                    size * first,
                    size * first * first / self.agents,
                    size * (2 * ball(self.c) + slope) * widen * widen,
                )
                best = [one.max(other) for one, other in zip(best, values, strict=True)]
            a, b, d = (float(up(np.asarray(float(one.upper())))) for one in best)
        return a, b, d

    @property
    def formula(self) -> str:
        """The rule as a claim states it."""
        a, threshold, c = (_text(x) for x in (self.a, self.threshold, self.c))
        return (
            f"logit f = ({a} s + {c} sum sgn(l) max(|l| - {threshold}, 0)^2)/{self.agents}, where l are the log-odds of the "
            "reports and s is their sum"
        )


def _text(x: Fraction) -> str:
    return repr(float(x)) if x == Fraction(float(x)) else f"({x})"


def between_ends(low: Floats, high: Floats) -> Interval:
    """x (1-x) for low <= x <= high, within [0, 1]: it grows up to 1/2 and falls from there."""
    ends = [Interval(x) * (ONE - Interval(x)) for x in (low, high)]
    least = np.maximum(np.minimum(ends[0].lo, ends[1].lo), 0.0)
    return Interval(least, np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(ends[0].hi, ends[1].hi)))


def read_stretched(data: Any, agents: int, budget: Budget | None = None) -> Stretched:
    """The rule of a certificate; numbers are doubles or fractions, taken exactly."""
    read_ = read(data, SCHEMA, "aggregator")
    a, threshold, c = read_["a"], read_["threshold"], read_["c"]
    if not (0 < a <= LARGEST and 0 <= c <= LARGEST and 0 <= threshold <= LARGEST):
        raise Refused(f"aggregator must have 0 < a <= {LARGEST}, and c and threshold from 0 to {LARGEST}.")
    for name in ("a", "threshold", "c"):
        exactly(data[name], f"aggregator.{name}")  # a sentence can show it
    return Stretched(agents, a, threshold, c, budget)
