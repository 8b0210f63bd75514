"""The theorem for two agents: logit f = s (1/2 + b tanh(s/4)^2) has worst-case regret V = (5 sqrt 5 - 11)/8, and none has less.

The proof on paper is docs/derivations/two-agents-theorem; this file checks what it leaves to the computer. With the
notation of `log_odds` and n = 2, for priors mu <= 1/2 (the rule is its own mirror image) it shows

    F(m, t) = (f - g)^2 - V - kappa(m) (g / mu - 1) <= 0

strictly, but for one point: the contact mu* = (3 - sqrt 5)/4, g = 1 - mu*, where the line touches.

    outer regions    m <= MIDDLE[0] and m >= MIDDLE[1]; kappa / V as in BEFORE and AFTER: F < 0 as in any certificate
    middle region    between them kappa = V, so that F <= 0 is H <= V with H = (mu / g) (f - g)^2:
                     t in CONTACT     log H is concave, and its gradient vanishes at the contact, where H = V exactly
                     other t          F < 0 on boxes, and both tails by monotony

The slopes do not depend on b. For given m and t, f lies between its values at the ends of an interval of b, and
(f - g)^2 is convex in f: what holds at both ends with the same slopes holds for every b between.

>>> prove_minimax(Fraction(9, 100)).outer_boxes > 0
True
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Final

from flint import arb

from .balls import Work, ball, hull, logit, precision, sigma
from .log_odds import Node, Phi, Segment, Slopes, read_phi
from .refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

RANGE: Final = (Fraction(1, 25), Fraction(9, 10))
"""The slopes below serve all b in this interval, both ends included."""

MIDDLE: Final = (-1.5625, -1.40625)  # logits of the priors 0.1733 and 0.1968
CONTACT: Final = (1.3125, 1.5625)  # logits of the posteriors 0.788 and 0.827
BEFORE: Final = (
    (-5.25, "1/2"),
    (-3.875, "4/5"),
    (-2.5, "0.98"),
    (-2.25, "0.992"),
    (-1.75, "0.992"),
    (-1.5625, "0.998"),
)
AFTER: Final = (
    *((-1.40625, "0.9998"), (-1.375, "0.9992"), (-1.3125, "0.9966"), (-1.25, "0.992"), (-1.125, "0.974")),
    *((-1.0, "0.944"), (-0.75, "0.836"), (-0.5, "0.65"), (-0.25, "0.37"), (0.0, "0")),
)


# ---------------------------------------------------------------------------------------------------- numbers p + q sqrt 5


@dataclass(frozen=True)
class Root5:
    """The number p + q sqrt(5), exactly."""

    p: Fraction
    q: Fraction = Fraction(0)

    def __add__(self, other: Root5) -> Root5:
        """Add."""
        return Root5(self.p + other.p, self.q + other.q)

    def __sub__(self, other: Root5) -> Root5:
        """Subtract."""
        return Root5(self.p - other.p, self.q - other.q)

    def __mul__(self, other: Root5) -> Root5:
        """Multiply."""
        return Root5(self.p * other.p + 5 * self.q * other.q, self.p * other.q + self.q * other.p)

    def __truediv__(self, other: Root5) -> Root5:
        """Divide: 1 / (p + q sqrt 5) = (p - q sqrt 5) / (p^2 - 5 q^2)."""
        norm = other.p * other.p - 5 * other.q * other.q
        return self * Root5(other.p / norm, -other.q / norm)

    def ball(self) -> arb:
        """The number as a ball."""
        return ball(self.p) + ball(self.q) * arb(5).sqrt()


ZERO, ONE, HALF, QUARTER = (Root5(Fraction(x)) for x in ("0", "1", "1/2", "1/4"))
MU: Final = Root5(Fraction(3, 4), Fraction(-1, 4))
V: Final = Root5(Fraction(-11, 8), Fraction(5, 8))


def at_least_value(bound: Fraction) -> bool:
    """Whether bound >= V, exactly: 8 bound + 11 >= 5 sqrt 5.

    >>> at_least_value(Fraction(0.022542485937368566)), at_least_value(Fraction(0.022542485936))
    (True, False)
    """
    left = 8 * bound + 11
    return left > 0 and left * left >= 125


# -------------------------------------------------------------------------------------------------------- the upper bound


@dataclass(frozen=True)
class Proof:
    """What was shown for one b: F <= 0 for all priors and posteriors, by so many boxes in each region."""

    b: Fraction
    outer_boxes: int
    middle_boxes: int
    contact_boxes: int


def prove_minimax(b: Fraction) -> Proof:
    """Prove that the worst-case regret of logit f = s (1/2 + b tanh(s/4)^2) for two agents is at most V, or raise `Refused`."""
    if not RANGE[0] <= b <= RANGE[1]:
        raise Refused(f"the theorem is for b from {RANGE[0]} to {RANGE[1]}; it is {float(b)!r}.")
    with precision():
        phi = Phi(arb(1) / 2, ball(b), arb(4), arb(0))
        outer, middle, value = Work(), Work(), V.ball()
        for table, low, high in ((BEFORE, Fraction(0), None), (AFTER, None, Fraction(1, 2))):
            nodes: list[Node] = [(m, value * ball(Fraction(share))) for m, share in table]
            Slopes(phi, 2, value, nodes).cover(low, high, outer)
        _prove_middle(Segment(phi, 2, value, (MIDDLE[0], value), (MIDDLE[1], value)), middle)
        return Proof(b, outer.boxes, middle.boxes, _prove_contact(phi))


def prove_range() -> tuple[Proof, Proof]:
    """Prove the upper bound for every b of `RANGE`, and for every rule whose forecast lies between those of its two ends."""
    return prove_minimax(RANGE[0]), prove_minimax(RANGE[1])


def _prove_middle(segment: Segment, work: Work) -> None:
    """Prove H < V for the middle priors and all t outside CONTACT.

    Upper tail: H <= (mu / g) max(1 - f, 1 - g)^2. Lower tail, g <= f: f <= exp(Phi(s)), and exp(2 Phi(s)) mu / g grows with
    m and t, because Phi' >= 1/2; f <= g: H <= mu g.
    """
    low, high = -16.0, 4.0
    m0, m1 = (arb(m) for m in MIDDLE)
    g, mu, value = sigma(arb(low)), sigma(m1), segment.bound
    if not (mu * g < value and (2 * segment.phi(low + m1)).exp() * mu / g < value):
        raise Refused("the tail g -> 0 of the middle region could not be shown.")
    f, g = sigma(segment.phi(high + m0)), sigma(arb(high))
    gap = (1 - f).max(1 - g)
    if not mu / g * gap * gap < value:
        raise Refused("the tail g -> 1 of the middle region could not be shown.")
    segment.boxes(low, CONTACT[0], work)
    segment.boxes(CONTACT[1], high, work)


def _prove_contact(phi: Phi, parts: int = 8) -> int:
    """Prove H <= V on MIDDLE x CONTACT: log H is concave there, and stationary at the contact, where H = V.

    At the contact s = 0, f = 1/2, df/ds = 1/8 (the slope of Phi at 0 is 1/2 whatever b), g = 1 - mu, d = g - f, and

        d log H / dm = (1 - mu) - 2 f'/d,    d log H / dt = -(1 - g) + 2 (g' - f')/d,    g' = g (1 - g).
    """
    g, d, df = ONE - MU, HALF - MU, HALF * QUARTER
    by_m = (ONE - MU) - (df + df) / d
    by_t = (g * (ONE - g) - df) * (ONE + ONE) / d - (ONE - g)
    if not (MU / g * d * d == V and by_m == ZERO and by_t == ZERO):
        raise Refused("the contact point is not a stationary point with the value V.")
    m = logit(MU.ball())
    if not (MIDDLE[0] < m < MIDDLE[1] and CONTACT[0] < -m < CONTACT[1]):
        raise Refused("the contact point lies outside its box.")
    for box in product(_cells(*MIDDLE, parts), _cells(*CONTACT, parts)):
        a, b, c = _log_hessian(phi, *box)
        if not (a < 0 and a * c - b * b > 0):
            raise Refused("log H could not be shown to be concave around the contact point.")
    return parts * parts


def _cells(low: float, high: float, parts: int) -> list[arb]:
    """An interval cut into equal balls; its ends have few binary digits, so that the cuts are exact."""
    cuts = [low + (high - low) * i / parts for i in range(parts + 1)]
    return [hull(arb(x), arb(y)) for x, y in pairwise(cuts)]


def _log_hessian(phi: Phi, m: arb, t: arb) -> tuple[arb, arb, arb]:
    """The second derivatives of log H = log mu - log g + 2 log d by mm, mt and tt, with d = g - f > 0.

    f' = f (1-f) Phi' and f'' = f (1-f) ((1-2f) Phi'^2 + Phi''); as s = m + t, d_m = -f', d_t = g' - f', d_mm = d_mt = -f''.
    """
    mu, g, s = sigma(m), sigma(t), m + t
    f, w, p1 = sigma(phi(s)), (s / phi.k).tanh(), phi.slope(s)
    # Phi'' = (2 b / k) (1 - w^2) (2 w + (s/k) (1 - 3 w^2)), w = tanh(s/k)
    p2 = 2 * phi.b / phi.k * (1 - w * w) * (2 * w + s / phi.k * (1 - 3 * w * w))
    f1, f2 = f * (1 - f) * p1, f * (1 - f) * ((1 - 2 * f) * p1 * p1 + p2)
    g1, g2, d = g * (1 - g), g * (1 - g) * (1 - 2 * g), g - f
    if not d > 0:
        raise Refused("f reaches g around the contact point.")
    by_mm = -mu * (1 - mu) + 2 * (-f2 / d - f1 * f1 / (d * d))
    by_mt = 2 * (-f2 / d + f1 * (g1 - f1) / (d * d))
    by_tt = g1 + 2 * ((g2 - f2) / d - (g1 - f1) * (g1 - f1) / (d * d))
    return by_mm, by_mt, by_tt


# -------------------------------------------------------------------------------------------------------- the lower bound


def mirrored_pair_value() -> Root5:
    """The least expected regret of any aggregator against two structures, each with probability 1/2; it is V exactly.

    In the first the prior is mu* and both agents report 0 or 1/2, in the second it is 1 - mu* and they report 1/2 or 1.
    At each profile the best forecast is the mean of the posteriors g_k with their masses w_k, and it costs
    sum w_k g_k^2 - (sum w_k g_k)^2 / sum w_k.

    >>> mirrored_pair_value() == V
    True
    """
    masses: dict[tuple[Root5, ...], list[tuple[Root5, Root5]]] = {}
    for mu, low, high in ((MU, ZERO, HALF), (ONE - MU, HALF, ONE)):
        signals = ((low, (high - mu) / (high - low)), (high, (mu - low) / (high - low)))
        for (x, p), (y, q) in product(signals, repeat=2):
            yes, no = x * y / mu, (ONE - x) * (ONE - y) / (ONE - mu)
            masses.setdefault((x, y), []).append((HALF * p * q * (yes + no), yes / (yes + no)))
    total = ZERO
    for entries in masses.values():
        weight, first, second = ZERO, ZERO, ZERO
        for w, g in entries:
            weight, first, second = weight + w, first + w * g, second + w * g * g
        total = total + second - first * first / weight
    return total


# -------------------------------------------------------------------------------------------------------------- claims


def check_claim(aggregator: Mapping[str, Any], agents: int, bound: Fraction) -> None:
    """Prove a claim whose witness is this theorem: two agents, the rule with some b of `RANGE`, and a bound from V on."""
    with precision():
        read_phi(aggregator)
    data = aggregator["phi"]
    known = data["form"] == "tanh" and Fraction(data["a"]) == Fraction(1, 2) and Fraction(data["k"]) == 4
    if not (known and agents == 2):
        raise Refused("the theorem is about two agents and logit f = s (1/2 + b tanh(s/4)^2) only.")
    if not at_least_value(bound):
        raise Refused(f"the bound {float(bound)!r} is below (5 sqrt 5 - 11)/8, which no aggregator can reach.")
    prove_minimax(Fraction(data["b"]))
