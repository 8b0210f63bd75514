"""An upper bound on the regret of n conditionally independent agents: the dual inequality, box by box.

With X = prod x_i, Y = prod (1-x_i), p = X/mu^(n-1), q = Y/(1-mu)^(n-1), c = p + q and g = p/c, the regret at the prior mu is
the mean of

    A(x, mu) = c (f - g)^2

over independent reports x_1, ..., x_n whose means are mu. Whatever the slope alpha is, a function of n - 1 reports, the terms
alpha(x_-i)(x_i - mu) have the mean 0, where x_-i are the reports of the other agents. So if

    A <= V + sum_i alpha(x_-i, mu)(x_i - mu)        for all x                                                    (*)

then no structure with this prior has a regret above V. The slope is symmetric in its reports, linear in each of them between
knots, and linear in mu between the two ends of an interval of priors. Then within a cell of the knots

    sum_i alpha(x_-i, mu)(x_i - mu) = P(x, mu) - mu S(x, mu),    S = sum_i alpha(x_-i),    P = sum_i alpha(x_-i) x_i,

where P and S are linear in each report and in mu. A function D is below the interpolation of its corners by no more than
curvature allows: on a box of widths w_k

    D <= the largest value at the corners + sum_k w_k^2/8 max(0, K_k),

with K_k at least minus the second derivative of D in direction k. Where that is poor, next to reports of 0 and 1, the plain
range of each term may do. Boxes where neither does are halved. docs/derivations/many-agents-certificate.md derives each
formula below; `robustpool.verification.dual` is the same for two agents and more kinds of aggregators. The rule is its own mirror
image, so that priors up to 1/2 are enough.

Knots and ends of intervals are multiples of 2^-24, and a box is halved only where its middle is a multiple of 2^-50. So the
ends of all boxes, their middles and 1 - x are exact.

Tails need no slopes. A <= p + q f^2, where p has the mean mu. If

    Y f^2 <= sum_k C_k e_k(x)        for all x,                                                                  (**)

with C_k >= 0 and e_k the elementary symmetric polynomials, then the regret at the prior mu is at most
mu + sum_k C_k binom(n, k) mu^k/(1-mu)^(n-1), which grows with mu: what it is at the largest prior of the tail holds for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import combinations_with_replacement, islice, pairwise, product
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .boxes import AT_ONCE, Measured, all_at_most, bending
from .intervals import Floats, Interval, down, up
from .reading import Budget, Refused, double, read, word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray


ONE = Interval(1.0)
MOST_AGENTS = 8  # a box has 2^(n+1) corners
PLACES = 2.0**24  # knots and priors are multiples of 1/PLACES
FINEST = 2.0**50  # a box whose middle is no multiple of 1/FINEST is not halved: it is given up
STEPS_A_CORNER = 0.7  # of the budget, for a corner of a box; 0.3 to 0.6 microseconds were measured
STEPS_A_CHUNK = 40  # for a corner of some cells at a time, and each agent
SLOP = (
    2.0**-40
)  # of the size of P and S: their corners are means of means of doubles, at most 26 for each of n + 1 directions
FORECAST = 2.0**-37  # more than the errors of f and g at a corner
SIZE = 1 + 2.0**-44  # more than the relative error of c at a corner

TAIL = {"prior": double, "constants": [double]}
INTERVAL = {"priors": [double], "knots": [double], "slopes": [[double]]}
WITNESS = {"kind": word("symmetric-dual"), "tail?": TAIL, "intervals": [INTERVAL]}


# ------------------------------------------------------------------------------------------------------------- the rule


class Derivatives(NamedTuple):
    """f on boxes (boxes,), and its first and second derivatives in each report (boxes, agents)."""

    f: Interval
    first: Interval
    second: Interval


class SymmetricRule(Protocol):
    """An aggregator that does not depend on the order of the reports, grows with each, and is its own mirror image.

    Its first derivatives are continuous, its second ones may jump.
    """

    agents: int

    def near(self, x: Floats) -> Floats:
        """f at points (m, agents), in floats: for those who look for a proof."""

    def on(self, x: Floats) -> tuple[Floats, Derivatives]:
        """Boxes (boxes, agents, 2) of reports that are multiples of 2^-50: f at their corners (boxes, 2, ..., 2), and all over.

        f at a corner is off by less than 2^-38; it may be anything where 0 meets 1.
        """


# --------------------------------------------------------------------------------------------------------------- boxes


@dataclass
class Boxes:
    """Boxes of n reports and a prior, and P and S at their corners: (boxes, 2, ..., 2), an axis a report, the prior last."""

    x: Floats  # (boxes, n, 2)
    mu: Floats  # (boxes, 2)
    P: Floats
    S: Floats
    size: float  # at least that of P and S in the cell that a box is a part of

    def __len__(self) -> int:
        return len(self.x)

    @property
    def steps(self) -> float:
        """What it takes to look at one of them."""
        return STEPS_A_CORNER * 2 ** (self.x.shape[1] + 1)

    def pick(self, which: Any) -> Boxes:
        """Some of them."""
        x, mu, P, S = (np.array(side[which]) for side in (self.x, self.mu, self.P, self.S))  # no view keeps the others
        return Boxes(x, mu, P, S, self.size)

    def halved(self, bends: Floats) -> Boxes:
        """Both halves of each box, cut where bending adds most; of directions where nothing is known, in the widest."""
        sides = np.concatenate((self.x, self.mu[:, None]), axis=1)
        widths = sides[:, :, 1] - sides[:, :, 0]
        cut = np.where(bends < np.inf, bends, 1e300 * widths).argmax(axis=1)
        middle = sides[np.arange(len(self)), cut].mean(axis=1)
        odd = np.flatnonzero(middle * FINEST % 1)
        if len(odd):
            at = sides[odd[0], :, 0].tolist()
            raise Refused(f"the inequality could not be shown at the reports {at[:-1]} and the prior {at[-1]}.")
        parts = [part for way in np.unique(cut) for part in self.pick(cut == way)._cut(int(way))]
        x, mu, P, S = (np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "mu", "P", "S"))
        return Boxes(x, mu, P, S, self.size)

    def _cut(self, way: int) -> list[Boxes]:
        """Both halves, all cut the same way. P and S are linear in each direction: in the middle they are the means."""
        halves = []
        for moved in (1, 0):  # which of the two ends becomes the middle
            x, mu = self.x.copy(), self.mu.copy()
            ends = mu if way == x.shape[1] else x[:, way]
            ends[:, moved] = (ends[:, 0] + ends[:, 1]) / 2
            P, S = (_middle(values, 1 + way, moved) for values in (self.P, self.S))
            halves.append(Boxes(x, mu, P, S, self.size))
        return halves


def _middle(values: Floats, axis: int, moved: int) -> Floats:
    corners = values.copy()
    place = [slice(None)] * values.ndim
    place[axis] = moved  # type: ignore[call-overload]
    corners[tuple(place)] = values.mean(axis=axis)
    return corners


def outer(combine: np.ufunc, parts: Iterable[Floats]) -> Floats:
    """All products, or sums, of the ends of n reports: (boxes, 2) each -> (boxes, 2, ..., 2)."""

    def longer(done: Floats, part: Floats) -> Floats:
        return np.asarray(combine(done[..., None], part[(slice(None), *[None] * (done.ndim - 1), slice(None))]))

    return reduce(longer, parts)


def _corners(agents: int) -> Iterator[tuple[int, ...]]:
    return product((0, 1), repeat=agents)


def multisets(size: int, length: int) -> Iterator[NDArray[np.int64]]:
    """All k_1 <= ... <= k_length below size, some at a time, in lexicographic order."""
    rows = combinations_with_replacement(range(size), length)
    while some := list(islice(rows, AT_ONCE)):
        yield np.array(some, dtype=np.int64).reshape(len(some), length)


# -------------------------------------------------------------------------------------------------------- the inequality


@dataclass(frozen=True)
class Slopes:
    """alpha on an interval of priors: at both ends (2, multisets of n - 1 knots), the multisets in lexicographic order."""

    agents: int
    priors: tuple[float, float]
    knots: Floats
    values: Floats

    def boxes(self) -> Iterator[Boxes]:
        """The cells of the knots, those in which the agents are in order, with P and S at their corners."""
        place = self._places()
        for cells in multisets(len(self.knots) - 1, self.agents):
            P, S = (np.empty((len(cells), *[2] * (self.agents + 1))) for _ in range(2))
            for corner in _corners(self.agents):
                at = cells + np.array(corner)
                here: Any = (slice(None), *corner)
                alpha = [self.values[:, place(np.delete(at, i, axis=1))].T for i in range(self.agents)]
                S[here] = sum(alpha)
                P[here] = sum(a * self.knots[at[:, i], None] for i, a in enumerate(alpha))
            x = np.stack((self.knots[cells], self.knots[cells + 1]), axis=-1)
            yield Boxes(
                x, np.tile(np.array(self.priors), (len(cells), 1)), P, S, self.agents * np.abs(self.values).max()
            )

    def _places(self) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        """The number of a multiset of knots, written in any order, among all in lexicographic order."""
        size, length = len(self.knots), self.agents - 1
        code = size ** np.arange(length - 1, -1, -1)
        codes = np.concatenate([rows @ code for rows in multisets(size, length)])  # they increase
        return lambda rows: np.searchsorted(codes, np.sort(rows, axis=1) @ code)


def needed(rule: SymmetricRule, boxes: Boxes) -> Measured:
    """The V that (*) needs on boxes."""
    n, count = rule.agents, len(boxes)
    f, over = rule.on(boxes.x)
    X, Y = (outer(np.multiply, np.moveaxis(side, 1, 0)) for side in (boxes.x, 1 - boxes.x))
    every = (slice(None), *[None] * n)
    p, q = (
        side[..., None] / reduce(np.multiply, [prior] * (n - 1))[every]  # ** may be off by more than a bit
        for side, prior in ((X, boxes.mu), (Y, 1 - boxes.mu))
    )
    c = p + q
    g = np.divide(p, c, out=np.zeros_like(p), where=c > 0)
    gap = np.abs(f[..., None] - g) + FORECAST
    line = boxes.P - boxes.mu[every] * boxes.S
    slop = SLOP * (1 + boxes.size)
    corner = (np.where(c > 0, c * SIZE * gap * gap, 0.0) * SIZE - line + slop).reshape(count, -1)

    wide = boxes.mu[:, 1] - boxes.mu[:, 0]
    change = (boxes.S[..., 1] - boxes.S[..., 0]).reshape(count, -1).min(
        axis=1
    ) - 2 * slop  # of S from end to end, at least
    rise = down(change * wide / 4) - slop * wide  # -(P - mu S)'' w^2/8 is at least that
    density = Density.over(boxes, over)
    added = [bending(density.bend_in_report(i), boxes.x[:, i], 1.0) for i in range(n)]
    bend = wide * wide * density.bend_in_prior() / 8
    bend = up(bend + np.abs(bend) * 2.0**-48 - rise)
    lowest = line.reshape(count, -1).min(axis=1) - slop - np.maximum(-rise, 0.0)
    return _measured(
        corner, [*added, np.maximum(np.where(np.isnan(bend), np.inf, bend), 0.0)], up(density.most() - lowest)
    )


def needed_in_tail(rule: SymmetricRule, boxes: Boxes) -> Measured:
    """By how much Y f^2 exceeds P on boxes: (**) holds where that is at most 0."""
    count = len(boxes)
    f, over = rule.on(boxes.x)
    Y = outer(np.multiply, np.moveaxis(1 - boxes.x, 1, 0))
    f = f + FORECAST
    slop = SLOP * (1 + boxes.size)
    corner = (np.where(Y > 0, Y * SIZE * f * f, 0.0) * SIZE - boxes.P[..., 0] + slop).reshape(count, -1)
    density = Density.over(boxes, over)
    added = [bending(density.bend_of_no(i), boxes.x[:, i], 1.0) for i in range(rule.agents)]
    most = (density.no * density.f.squared()).hi
    return _measured(corner, [*added, np.zeros(count)], up(most - boxes.P.reshape(count, -1).min(axis=1) + slop))


def _measured(corner: Floats, added: list[Floats], anywhere: Floats) -> Measured:
    """What is known of a function on boxes, from its corners, from what bending adds, and from its range."""
    bends = np.stack(added, axis=1)
    highest = np.where(np.isnan(corner), np.inf, corner).max(axis=1)
    return Measured(corner, np.fmin(up(highest + bends.sum(axis=1) * (1 + 2.0**-48)), anywhere), bends)


@dataclass(frozen=True, eq=False)
class Density:
    """A = c (f-g)^2 on boxes (boxes,), with what it is made of."""

    rule: Derivatives
    f: Interval
    wrong: Interval  # 1 - f
    g: Interval
    rest: Interval  # 1 - g
    yes: Interval  # p
    no: Interval  # q
    c: Interval
    by_yes: Interval  # p/x_i (boxes, n)
    by_no: Interval  # q/(1-x_i)
    mu: Interval
    nu: Interval

    @classmethod
    def over(cls, boxes: Boxes, rule: Derivatives) -> Density:
        """p grows with the reports and falls with mu, q the other way round, and g = p/(p+q) as p does."""
        n = boxes.x.shape[1]
        x, z = Interval(boxes.x[..., 0], boxes.x[..., 1]), Interval(1 - boxes.x[..., 1], 1 - boxes.x[..., 0])
        mu, nu = Interval(boxes.mu[:, 0], boxes.mu[:, 1]), Interval(1 - boxes.mu[:, 1], 1 - boxes.mu[:, 0])
        u, v = ONE / _product([mu] * (n - 1)), ONE / _product([nu] * (n - 1))
        others = [[j for j in range(n) if j != i] for i in range(n)]
        by_yes, by_no = (
            _stacked([_product([factor, *(side[:, j] for j in rest)]) for rest in others])
            for factor, side in ((u, x), (v, z))
        )
        yes, no = _product([by_yes[:, 0], x[:, 0]]), _product([by_no[:, 0], z[:, 0]])
        low, high = (
            (Interval(yes.lo) / Interval(up(yes.lo + no.hi))).lo,
            (Interval(yes.hi) / Interval(down(yes.hi + no.lo))).hi,
        )
        g = Interval(np.where(yes.lo > 0, low, 0.0), np.where(yes.hi + no.lo > 0, high, 1.0)).within(0.0, 1.0)
        c = Interval(down(yes.lo + no.lo), up(yes.hi + no.hi)).within(0.0, np.inf)
        f, wrong, rest = rule.f, (ONE - rule.f).within(0.0, 1.0), (ONE - g).within(0.0, 1.0)
        return cls(rule, f, wrong, g, rest, yes, no, c, by_yes, by_no, mu, nu)

    def most(self) -> Floats:
        """At least A, which is also at most p (1-f)^2 + q f^2."""
        gap = np.maximum(up(self.f.hi - self.g.lo), up(self.g.hi - self.f.lo))
        whole = self.yes * self.wrong.squared() + self.no * self.f.squared()
        return np.fmin(up(self.c.hi * up(gap * gap)), whole.hi)

    def bend_in_report(self, i: int) -> Floats:
        """At least -A_ii, with A = p (1-f)^2 + q f^2 - pq/c, where p and q are linear in x_i:

        4 f_i (p/x_i (1-f) + q/(1-x_i) f) - 2 c f_i^2 + 2 f_ii c (g - f) - 2 (p/x_i)^2 (q/(1-x_i))^2/c^3.
        """
        first, second, by_yes, by_no = (
            side[:, i] for side in (self.rule.first, self.rule.second, self.by_yes, self.by_no)
        )
        linear = (first * (by_yes * self.wrong + by_no * self.f)).scaled(4.0).hi
        square = np.maximum((self.c * first.squared()).lo, 0.0)
        bend = up(up(linear - 2 * square) + (second * self.c * (self.g - self.f)).scaled(2.0).hi)
        concave = (by_yes * by_no).squared() / (self.c.squared() * self.c)
        return up(bend - 2 * np.where(concave.lo > 0, concave.lo, 0.0))

    def bend_of_no(self, i: int) -> Floats:
        """At least -(q f^2)_ii = 4 f_i q/(1-x_i) f - 2 q f_i^2 - 2 f_ii q f."""
        first, second = self.rule.first[:, i], self.rule.second[:, i]
        linear = (first * self.by_no[:, i] * self.f).scaled(4.0).hi
        square = np.maximum((self.no * first.squared()).lo, 0.0)
        return up(up(linear - 2 * square) - 2 * (second * self.no * self.f).lo)

    def bend_in_prior(self) -> Floats:
        """At least -A_mumu = n (n-1) c (f-g) (g (2-f-g)/mu^2 - (1-g)(f+g)/nu^2) - 2 (n-1)^2 c g^2 (1-g)^2/(mu nu)^2."""
        n = self.by_yes.lo.shape[1]
        mu_2, nu_2 = self.mu.squared(), self.nu.squared()
        tilt = self.g * (self.rest + self.wrong) / mu_2 - self.rest * (self.f + self.g) / nu_2
        linear = (self.c * (self.f - self.g) * tilt).scaled(float(n * (n - 1))).hi
        concave = (self.c * (self.g * self.rest).squared() / (mu_2 * nu_2)).lo
        return up(linear - 2 * (n - 1) ** 2 * np.maximum(concave, 0.0))


def _product(factors: Sequence[Interval]) -> Interval:
    """The product of numbers that are not negative."""
    return reduce(lambda a, b: Interval(np.maximum(down(a.lo * b.lo), 0.0), up(a.hi * b.hi)), factors)


def _stacked(columns: Sequence[Interval]) -> Interval:
    return Interval(np.stack([one.lo for one in columns], axis=1), np.stack([one.hi for one in columns], axis=1))


# ----------------------------------------------------------------------------------------------------------- the witness


def check_upper(
    rule: SymmetricRule,
    prior_range: tuple[Fraction, Fraction],
    witness: Any,
    bound: float,
    budget: Budget,
    watch: Callable[[float], None] = lambda _: None,
) -> None:
    """Prove that the rule's regret is at most ``bound`` on all structures of its agents, or raise `Refused`."""
    if not 2 <= rule.agents <= MOST_AGENTS:
        raise Refused(f"a witness of this kind is for 2 to {MOST_AGENTS} agents; there are {rule.agents}.")
    data = read(witness, WITNESS, "upper.witness")
    low, high = prior_range
    low, high = min(low, 1 - high), min(high, 1 - low, Fraction(1, 2))  # the rule is its own mirror image
    reach = Fraction(check_tail(rule, data["tail"], bound, budget) if "tail" in data else 0)
    start = max(reach, low)
    ends = [read_priors(entry["priors"], f"upper.witness.intervals[{i}]") for i, entry in enumerate(data["intervals"])]
    chained = ends and ends[0][0] <= start and ends[-1][1] >= high and all(a[1] >= b[0] for a, b in pairwise(ends))
    if not (chained or reach >= high):
        raise Refused(f"the intervals must cover the priors from {float(start):.6g} to {float(high):.6g}, in order.")
    for i, (entry, priors) in enumerate(zip(data["intervals"], ends, strict=True)):
        watch(i / len(ends))
        slopes = read_slopes(entry, priors, rule.agents, f"upper.witness.intervals[{i}]", budget)
        if not all_at_most(partial(needed, rule), slopes.boxes(), bound, budget):
            raise Refused(f"the inequality fails for priors between {priors[0]:.6g} and {priors[1]:.6g}.")


def read_priors(ends: list[float], where: str) -> tuple[float, float]:
    """The two ends of an interval of priors."""
    if len(ends) != 2 or not 0 < ends[0] < ends[1] < 1 or not all(_placed(end) for end in ends):
        raise Refused(f"{where}.priors must be two multiples of 2^-24 within (0, 1), the lower first.")
    return ends[0], ends[1]


def read_slopes(entry: dict[str, Any], priors: tuple[float, float], agents: int, where: str, budget: Budget) -> Slopes:
    """The slopes of an interval of priors: as many as there are multisets of n - 1 knots, at both ends."""
    knots, values = entry["knots"], entry["slopes"]
    if (
        len(knots) < 2
        or knots[0] != 0
        or knots[-1] != 1
        or not all(map(_placed, knots))
        or any(a >= b for a, b in pairwise(knots))
    ):
        raise Refused(f"{where}.knots must be multiples of 2^-24 that increase from 0 to 1.")
    cells, count = comb(len(knots) + agents - 2, agents), comb(len(knots) + agents - 2, agents - 1)
    chunks = -(-cells // AT_ONCE)
    budget.spend((cells * STEPS_A_CORNER + chunks * STEPS_A_CHUNK * agents) * 2 ** (agents + 1))
    if [len(row) for row in values] != [count, count]:
        raise Refused(f"{where}.slopes must be two lists of {count} numbers.")
    if not max(map(abs, [*values[0], *values[1]])) <= 1e6:
        raise Refused(f"{where}.slopes must not exceed 1e6 in size.")
    return Slopes(agents, priors, np.array(knots), np.array(values))


def _placed(x: float) -> bool:
    return (x * PLACES).is_integer()


def tail_boxes(agents: int, constants: Sequence[float]) -> Iterator[Boxes]:
    """Cells of all reports with P = sum_k C_k e_k(x) at their corners; the prior is 0, so that q = Y."""
    knots = np.array([0.0, 0.0625, 0.25, 0.5, 0.75, 0.9375, 1.0])
    for cells in multisets(len(knots) - 1, agents):
        x = np.stack((knots[cells], knots[cells + 1]), axis=-1)
        P = np.zeros((len(cells), *[2] * (agents + 1)))
        for corner in _corners(agents):
            at = np.take_along_axis(x, np.array(corner)[None, :, None], axis=2)[:, :, 0]
            here: Any = (slice(None), *corner)
            P[here] = (elementary(at) @ np.array(constants))[:, None]
        yield Boxes(x, np.zeros((len(cells), 2)), P, np.zeros_like(P), 2**agents * max(constants))


def elementary(x: Floats) -> Floats:
    """The elementary symmetric polynomials e_0, ..., e_n of reports (m, n): shape (m, n + 1).

    >>> elementary(np.array([[2.0, 3.0]]))
    array([[1., 5., 6.]])
    """
    e = np.zeros((len(x), x.shape[1] + 1))
    e[:, 0] = 1.0
    for i in range(x.shape[1]):
        e[:, 1:] += e[:, :-1] * x[:, i, None]
    return e


def tail_bound(prior: float, constants: Sequence[float], agents: int) -> Fraction:
    """mu + sum_k C_k binom(n, k) mu^k/(1-mu)^(n-1)."""
    mu = Fraction(prior)
    terms = [Fraction(c) * comb(agents, k) * mu**k for k, c in enumerate(constants)]
    return mu + sum(terms, Fraction(0)) / (1 - mu) ** (agents - 1)


def check_tail(rule: SymmetricRule, tail: dict[str, Any], bound: float, budget: Budget) -> float:
    """Prove the bound for all priors up to that of the tail, and return it."""
    prior, constants = tail["prior"], tail["constants"]
    if not 0 < prior < 1 or len(constants) != rule.agents + 1 or not all(0 <= c <= 1e6 for c in constants):
        raise Refused(f"the tail must have a prior in (0, 1) and {rule.agents + 1} constants from 0 to 1e6.")
    if not tail_bound(prior, constants, rule.agents) <= Fraction(bound):
        raise Refused(
            f"the tail proves {float(tail_bound(prior, constants, rule.agents))!r} for priors up to {prior!r}, not {bound!r}."
        )
    if not all_at_most(partial(needed_in_tail, rule), tail_boxes(rule.agents, constants), 0.0, budget):
        raise Refused("the constants of the tail are too small.")
    return prior
