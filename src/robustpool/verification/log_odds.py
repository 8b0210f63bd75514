"""Rules that see only the sum of the log-odds: an upper bound on their regret over all conditionally independent structures.

Notation: n agents, prior mu, omniscient posterior g, in log-odds m = logit mu and t = logit g; the reports' log-odds sum
to s = t + (n-1) m. The rule is f = sigma(Phi(s)), with Phi increasing from -inf to inf. (docs/derivations/log-odds-certificates)

In every structure with prior mu the posterior g has mean mu. If for some slope lambda

    (f - g)^2 <= bound + lambda (g - mu)        for all g in [0, 1],                                             (1)

the expected value of both sides says that the regret is at most ``bound``, whatever the number of signals. The witness
is a slope for each prior. For mu <= 1/2 it is written lambda = kappa / mu, and (1) is F <= 0 with

    F(m, t) = (f - g)^2 - bound - kappa(m) (g / mu - 1),        1 / mu = 1 + exp(-m).                            (2)

Priors above 1/2 are those below 1/2 of the mirrored rule 1 - phi(-s), whose Phi is -Phi(-s).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any, TypeAlias

from flint import arb

from .balls import Work, ball, logit, negative_on, precision, rational, sigma
from .refusal import Refused

Node: TypeAlias = tuple[float, arb]  # (logit of the prior, kappa)

MOST_AGENTS = 16  # a structure of n agents has 2^n profiles
DEEPEST = 8  # how often a piece between two nodes is halved for its tails
FARTHEST = 4096.0  # the posterior's log-odds beyond which no tail is looked for


@dataclass(frozen=True, eq=False)
class Phi:
    """Phi(s) = s (a + b tanh(s/k)^2) - shift, the logit of the forecast; b = 0 is the linear form."""

    a: arb
    b: arb
    k: arb
    shift: arb

    def mirrored(self) -> Phi:
        """-Phi(-s)."""
        return Phi(self.a, self.b, self.k, -self.shift)

    def __call__(self, s: arb) -> arb:
        """Phi(s)."""
        if self.b.is_zero():
            return self.a * s - self.shift
        w = (s / self.k).tanh()
        return s * (self.a + self.b * (w * w)) - self.shift

    def slope(self, s: arb) -> arb:
        """Phi'(s) = a + b w^2 + 2 b (s/k) w (1 - w^2) with w = tanh(s/k)."""
        if self.b.is_zero():
            return self.a
        w = (s / self.k).tanh()
        return self.a + self.b * w * (w + 2 * (s / self.k) * (1 - w * w))


def read_phi(aggregator: Mapping[str, Any]) -> Phi:
    """Read {"form": "linear", "alpha", "shift"} or {"form": "tanh", "a", "b", "k"}; Phi has to increase to infinity.

    a >= 0, b >= 0, a + b > 0 and k > 0 suffice, because s and tanh(s/k) have the same sign.
    """
    data = aggregator.get("phi")
    form = data.get("form") if isinstance(data, Mapping) else None
    names = {"linear": ("alpha", "shift"), "tanh": ("a", "b", "k")}.get(str(form))
    if names is None or set(data) != {"form", *names}:  # type: ignore[arg-type]
        raise Refused(f"phi must be linear with alpha and shift, or tanh with a, b and k; it is {data!r}.")
    values = [rational(f"phi.{name}", data[name]) for name in names]  # type: ignore[index]
    a, b, k, shift = (values[0], Fraction(0), Fraction(1), values[1]) if form == "linear" else (*values, Fraction(0))
    if not (a >= 0 and b >= 0 and a + b > 0 and k > 0):
        raise Refused(
            f"phi must increase without bound: alpha > 0, or a, b >= 0 with a + b > 0 and k > 0; it is {data!r}."
        )
    return Phi(ball(a), ball(b), ball(k), ball(shift))


# ----------------------------------------------------------------------------------------------------- the upper bound


def check_upper(
    aggregator: Mapping[str, Any],
    agents: Any,
    prior_range: tuple[Fraction, Fraction],
    witness: Any,
    bound: Fraction,
) -> None:
    """Prove that the rule's regret is at most ``bound`` on all conditionally independent structures, or raise `Refused`.

    The priors are those of the closed range without 0 and 1, which have no regret. The witness is {"kind": "slopes", "below":
    {"logits", "kappas"}, "above": {...}}: the slopes for priors up to 1/2, and those of the mirrored rule, which a rule
    that is its own mirror image may leave out; or {"kind": "theorem"}, see `robustpool.verification.theorem`.
    """
    low, high = prior_range
    if type(agents) is not int or agents < 1:
        raise Refused(f"the number of agents must be a whole number from 1 on; it is {agents!r}.")
    if not (0 <= low <= high <= 1 and high > 0 and low < 1):
        raise Refused(f"prior_range must lie in [0, 1], from low to high; it is [{low}, {high}].")
    kind = witness.get("kind") if isinstance(witness, Mapping) else None
    if kind == "theorem":
        from .theorem import check_claim

        return check_claim(aggregator, agents, bound)
    if kind != "slopes":
        raise Refused(f"the witness must be of the kind slopes or theorem; it is {kind!r}.")
    half, work = Fraction(1, 2), Work()
    with precision():
        phi, limit = read_phi(aggregator), ball(bound)
        sides = {"below": (low, min(high, half)), "above": (1 - high, min(1 - low, half))}
        own_mirror = phi.shift.is_zero()
        if own_mirror and "above" not in witness:
            checked = Slopes(phi, agents, limit, read_nodes(witness, "below"))
            needed = [ends for ends in sides.values() if ends[0] <= ends[1]]
            checked.cover(min(ends[0] for ends in needed), max(ends[1] for ends in needed), work)
            return None
        for side, ends in sides.items():
            if ends[0] <= ends[1]:
                rule = phi if side == "below" else phi.mirrored()
                Slopes(rule, agents, limit, read_nodes(witness, side)).cover(*ends, work)
    return None


def read_nodes(witness: Mapping[str, Any], side: str) -> list[Node]:
    """Read the points (logit mu, kappa) of one side, in increasing order."""
    data = witness.get(side)
    logits, kappas = (data.get("logits"), data.get("kappas")) if isinstance(data, Mapping) else (None, None)
    if not (isinstance(logits, list) and isinstance(kappas, list) and len(logits) == len(kappas) >= 2):
        raise Refused(
            f"the slopes {side} 1/2 must be two lists of equal length, logits and kappas, of at least 2 numbers."
        )
    nodes = [rational(f"witness.{side}.logits", x) for x in logits]
    if any(float(x) != x for x in nodes) or any(x >= y for x, y in pairwise(nodes)):
        raise Refused(f"witness.{side}.logits must be doubles in increasing order.")
    return [(float(x), ball(rational(f"witness.{side}.kappas", y))) for x, y in zip(nodes, kappas, strict=True)]


@dataclass(frozen=True, eq=False)
class Slopes:
    """What is to be shown on one side of 1/2: (2) for the rule Phi, with the slopes of ``nodes``."""

    phi: Phi
    agents: int
    bound: arb
    nodes: list[Node]

    def cover(self, low: Fraction | None, high: Fraction | None, work: Work) -> None:
        """Prove (2) for all priors in [low, high], high <= 1/2; None: from the first or to the last node; 0: all small ones."""
        first, last = self.nodes[0], self.nodes[-1]
        if high is not None and not arb(last[0]) >= logit(ball(high)):
            raise Refused(f"the slopes end at prior {_probability(last[0])}, before {float(high):.6g}.")
        if low == 0:
            self.small_priors(*first)
        elif low is not None and not arb(first[0]) <= logit(ball(low)):
            raise Refused(f"the slopes start at prior {_probability(first[0])}, after {float(low):.6g}.")
        for left, right in pairwise(self.nodes):
            Segment(self.phi, self.agents, self.bound, left, right).check(work)

    def small_priors(self, m: float, kappa: arb) -> None:
        """Prove (1) for all priors up to sigma(m), with the one number kappa.

        Let mu <= kappa <= bound. Where f <= g, or g >= mu / kappa, it holds because (f - g)^2 <= g^2 <= kappa g / mu or
        (f - g)^2 <= 1 <= kappa g / mu. Else (f - g)^2 <= f^2, and f increases with g and mu: with g = mu / kappa at the
        largest mu, f^2 <= bound - kappa is enough.
        """
        mu = sigma(arb(m))
        if not (mu < kappa < self.bound):
            raise Refused(f"at priors below {_probability(m)} kappa must lie between the prior and the bound.")
        f = sigma(self.phi(logit(mu / kappa) + (self.agents - 1) * arb(m)))
        if not f * f <= self.bound - kappa:
            raise Refused(f"the inequality could not be shown for priors below {_probability(m)}.")


@dataclass(frozen=True, eq=False)
class Segment:
    """What is to be shown between two nodes, where kappa is linear in m: (2) for all t."""

    phi: Phi
    agents: int
    bound: arb
    left: Node
    right: Node

    def check(self, work: Work, depth: int = 0) -> None:
        """Prove F < 0 for all t: both tails by monotony, in halves if need be; what is between by boxes."""
        try:
            ends = self.tail(-2.0), self.tail(2.0)
        except Refused:
            middle = 0.5 * (self.left[0] + self.right[0])
            if depth == DEEPEST or not self.left[0] < middle < self.right[0]:
                raise
            node = (middle, self.kappa(arb(middle))[0])
            replace(self, right=node).check(work, depth + 1)
            replace(self, left=node).check(work, depth + 1)
        else:
            self.boxes(*ends, work)

    def boxes(self, low: float, high: float, work: Work) -> None:
        """Prove F < 0 for all t in [low, high]."""
        negative_on(((self.left[0], self.right[0]), (low, high)), self.value, self.gradient, _place, work)

    def kappa(self, m: arb) -> tuple[arb, arb]:
        """Return kappa and its slope in m."""
        (m0, k0), (m1, k1) = self.left, self.right
        slope = (k1 - k0) / (arb(m1) - arb(m0))
        return k0 + slope * (m - m0), slope

    def value(self, m: arb, t: arb) -> arb:
        """F."""
        g, f = sigma(t), sigma(self.phi(t + (self.agents - 1) * m))
        return (f - g) * (f - g) - self.bound - self.kappa(m)[0] * (g * (1 + (-m).exp()) - 1)

    def gradient(self, m: arb, t: arb) -> tuple[arb, arb]:
        """The derivatives of F by m and by t, with df/ds = f (1-f) Phi'(s) and dg/dt = g (1-g)."""
        n1, e = self.agents - 1, (-m).exp()
        s = t + n1 * m
        g, f = sigma(t), sigma(self.phi(s))
        dg, df = g * (1 - g), f * (1 - f) * self.phi.slope(s)
        kappa, slope = self.kappa(m)
        by_m = 2 * n1 * (f - g) * df - slope * (g * (1 + e) - 1) + kappa * g * e
        by_t = 2 * (f - g) * (df - dg) - kappa * dg * (1 + e)
        return by_m, by_t

    def tail(self, t: float) -> float:
        """Return some t beyond which F < 0 (below it if t < 0, else above), or raise `Refused`."""
        while not self.negative_beyond(t):
            t *= 1.25
            if abs(t) > FARTHEST:
                raise Refused(f"the inequality could not be shown at {_place((self.left[0], t))}, far out.")
        return t

    def negative_beyond(self, t: float) -> bool:
        """Whether F < 0 is plain for all g beyond sigma(t): f and g lie between 0 (or 1) and their extreme values there.

        The last term of F is linear in each of kappa, g and 1/mu, so that it is largest where all are at an end.
        """
        (m0, k0), (m1, k1) = self.left, self.right
        end, m = (arb(0), m1) if t < 0 else (arb(1), m0)
        g, f = sigma(arb(t)), sigma(self.phi(t + (self.agents - 1) * arb(m)))
        gap = abs(f - end).max(abs(g - end))
        ends = product((k0, k1), (end, g), (1 + (-arb(m0)).exp(), 1 + (-arb(m1)).exp()))
        return all(gap * gap - self.bound - kappa * (x * inverse - 1) < 0 for kappa, x, inverse in ends)


def _place(at: Sequence[float]) -> str:
    """The point (m, t), for people."""
    return f"prior {_probability(at[0])} and posterior {_probability(at[1])}"


def _probability(x: float) -> str:
    """The probability with log-odds x, for people."""
    with precision():
        return f"{float(sigma(arb(x))):.6g}"


# ---------------------------------------------------------------------------------------------- regret on one structure


def regret_at(aggregator: Mapping[str, Any], structure: Mapping[str, Any]) -> arb:
    """A ball that contains the regret of the rule on one structure {"prior": mu, "reports": [[low, high], ...]}.

    Sum over the 2^n profiles x of Pr[x] (f(x) - g(x))^2. With q_i the chance of x_i, all but f is rational:
    Pr[x, 1] = prod q_i x_i / mu^(n-1), Pr[x, 0] = prod q_i (1 - x_i) / (1 - mu)^(n-1), g = Pr[x, 1] / Pr[x].
    """
    mu = rational("prior", structure.get("prior"))
    pairs = [[rational("a report", x) for x in pair] for pair in structure.get("reports", [])]
    if len(pairs) > MOST_AGENTS:
        raise Refused(f"a structure may have at most {MOST_AGENTS} agents; it has {len(pairs)}.")
    if not (0 < mu < 1 and pairs and all(len(pair) == 2 and 0 <= pair[0] <= mu <= pair[1] <= 1 for pair in pairs)):
        raise Refused(f"a structure needs pairs of reports with 0 <= low <= prior <= high <= 1; it is {structure!r}.")
    signals = [
        ((low, (high - mu) / (high - low)), (high, (mu - low) / (high - low))) if low < high else ((mu, Fraction(1)),)
        for low, high in pairs
    ]
    total, n = arb(0), len(pairs)
    with precision():
        phi = read_phi(aggregator)
        for profile in product(*signals):
            chance = prod(q for _, q in profile)
            yes, no = (prod((p(x) for x, _ in profile), start=Fraction(1)) for p in (Fraction, lambda x: 1 - x))
            with_1, with_0 = chance * yes / mu ** (n - 1), chance * no / (1 - mu) ** (n - 1)
            if with_0 + with_1 > 0:
                f = arb(1 if no == 0 else 0) if yes * no == 0 else sigma(phi(ball(yes / no).log()))
                gap = f - ball(with_1 / (with_0 + with_1))
                total += ball(with_0 + with_1) * gap * gap
    return total
