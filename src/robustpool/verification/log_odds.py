"""Rules that see only the sum of the log-odds: an upper bound on their regret over all conditionally independent structures.

Notation: n agents, prior mu, omniscient posterior g, in log-odds m = logit mu and t = logit g; the reports' log-odds sum
to s = t + (n-1) m. The rule is f = sigma(Phi(s)), with Phi increasing from -inf to inf. (docs/derivations/log-odds-certificates)

In every structure with prior mu the posterior g has mean mu. If for some slope lambda

    D <= bound + lambda (g - mu)        for all g in [0, 1],                                                     (1)

the expected value of both sides says that the regret is at most ``bound``, whatever the number of signals. Here D is
(f - g)^2 for the square loss and KL(g || f) for the log loss (`divergences`). The witness is a slope for each prior. For
mu <= 1/2 it is written lambda = kappa / mu, and (1) is F <= 0 with

    F(m, t) = D - bound - kappa(m) (g / mu - 1),        1 / mu = 1 + exp(-m).                                    (2)

Priors above 1/2 are those below 1/2 of the mirrored rule 1 - phi(-s), whose Phi is -Phi(-s).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

from flint import arb

from .balls import STEPS_OF_A_BOX, Number, ball, hull, logit, negative_on, precision, sigma
from .divergences import SQUARE, Divergence
from .reading import SHOWN, Budget, Refused, by_kind, double, rational, read, short, word

Node: TypeAlias = tuple[float, Fraction]  # (logit of the prior, kappa)
Kappa: TypeAlias = Callable[[arb], tuple[arb, arb]]  # m -> kappa and its derivative

FORMS = {
    "linear": {"form": word("linear"), "alpha": rational, "shift": rational},
    "tanh": {"form": word("tanh"), "a": rational, "b": rational, "k": rational},
    "saturating": {"form": word("saturating"), "c": rational, "k": rational},
}
HALVINGS = 8  # of a piece between two nodes, for its tails
FAR = tuple(2.0**i for i in range(1, 13))  # log-odds of posteriors where a tail may begin
HALF = Fraction(1, 2)


# ------------------------------------------------------------------------------------------------------------- the rule


@dataclass(frozen=True)
class Phi:
    """Phi(s) = s (a + b tanh(s/k)^2) - c tanh(s/k) - shift, the logit of the forecast; b = c = 0 is the linear form.

    It increases from -inf to inf if a, b >= 0, a + b > 0, k > 0 and 0 <= c <= a k, because s and tanh(s/k) have the same sign,
    and the derivative of c tanh(s/k) is at most c/k. So |Phi(s)| <= (a + b) |s| + |shift|.
    """

    a: Fraction
    b: Fraction = Fraction(0)
    k: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)
    c: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Check that it increases, and that a sentence can show it."""
        if not (self.a >= 0 and self.b >= 0 and self.a + self.b > 0 and self.k > 0):
            raise Refused("phi must increase without bound: alpha > 0, or a, b >= 0 with a + b > 0 and k > 0.")
        if not 0 <= self.c <= self.a * self.k:
            raise Refused("phi must increase: 0 <= c <= a k.")
        if any(len(_text(x)) > SHOWN for x in (self.a, self.b, self.k, self.shift, self.c)):
            raise Refused(f"a parameter of phi takes more than {SHOWN} characters to write down.")

    @property
    def formula(self) -> str:
        """The rule as a claim states it: a double by its shortest decimals, which determine it, other numbers as p/q.

        >>> Phi(Fraction(1, 3), shift=Fraction(-0.2)).formula
        'logit f = (1/3) s + 0.2, where s is the sum of the log-odds of the reports'
        """
        a, b, k, size, c = (_text(x) for x in (self.a, self.b, self.k, abs(self.shift), self.c))
        product = f"s ({a} + {b} tanh(s/{k})^2)" if self.b else f"{a} s"
        product += f" - {c} tanh(s/{k})" if self.c else ""
        shift = f" {'-' if self.shift > 0 else '+'} {size}" if self.shift else ""
        return f"logit f = {product}{shift}, where s is the sum of the log-odds of the reports"

    @cached_property
    def balls(self) -> tuple[arb, arb, arb, arb, arb]:
        """The parameters as balls."""
        with precision():
            return ball(self.a), ball(self.b), ball(self.k), ball(self.shift), ball(self.c)

    @property
    def growth(self) -> arb:
        """a + b, the slope of Phi far out."""
        return ball(self.a + self.b)

    def __call__(self, s: Number) -> Number:
        """Phi(s)."""
        a, b, k, shift, c = self.balls
        if not (self.b or self.c):
            return a * s - shift
        w = 2 * sigma(2 * s / k) - 1  # = tanh(s/k)
        return s * (a + b * (w * w)) - c * w - shift

    def slope(self, s: arb) -> arb:
        """Phi'(s) = a + b w^2 + (2 b s w - c) (1 - w^2) / k with w = tanh(s/k)."""
        a, b, k, _, c = self.balls
        if not (self.b or self.c):
            return a
        w = 2 * sigma(2 * s / k) - 1
        return a + b * w * (w + 2 * (s / k) * (1 - w * w)) - c / k * (1 - w * w)

    def forecast(self, profile: tuple[Fraction, ...]) -> Fraction | arb:
        """The forecast for these reports: the limit 0 or 1 where one of them is certain, else a ball."""
        if 0 in profile or 1 in profile:
            return Fraction(1 in profile)
        with precision():
            return sigma(self(sum((ball(x / (1 - x)).log() for x in profile), arb(0))))


def _text(x: Fraction) -> str:
    return repr(float(x)) if x == Fraction(float(x)) else f"({x})"


def read_phi(value: Any, where: str) -> Phi:
    """Read {"form": "linear", "alpha", "shift"}, {"form": "tanh", "a", "b", "k"} or {"form": "saturating", "c", "k"}, where a = 1."""
    form = word(*FORMS)(value.get("form") if isinstance(value, Mapping) else None, f"{where}.form")
    data = read(value, FORMS[form], where)
    if form == "linear":
        return Phi(data["alpha"], shift=data["shift"])
    if form == "saturating":
        return Phi(Fraction(1), k=data["k"], c=data["c"])
    return Phi(data["a"], data["b"], data["k"])


# ---------------------------------------------------------------------------------------------------------- the witness


def _read_nodes(value: Any, where: str) -> list[Node]:
    """The points (logit mu, kappa) of one side, in increasing order."""
    data = read(value, {"logits": [double], "kappas": [rational]}, where)
    logits, kappas = data["logits"], data["kappas"]
    if not len(logits) == len(kappas) >= 2 or any(x >= y for x, y in pairwise(logits)):
        raise Refused(f"{where} must have at least two logits, in increasing order, and as many kappas.")
    return list(zip(logits, kappas, strict=True))


SLOPES = {"kind": word("slopes"), "below?": _read_nodes, "above?": _read_nodes}
read_witness = by_kind(theorem={"kind": word("theorem")}, slopes=SLOPES)
"""The slopes for priors up to 1/2, and those of the mirrored rule; or see `robustpool.verification.theorem`."""


def sides(phi: Phi, low: Fraction, high: Fraction) -> dict[str, tuple[Phi, Fraction, Fraction]]:
    """The parts of a range of priors that need slopes of their own, each as priors up to 1/2 of a rule.

    >>> list(sides(Phi(HALF), Fraction(0), Fraction(1))), list(sides(Phi(HALF, shift=HALF), Fraction(0), Fraction(1)))
    (['below'], ['below', 'above'])
    """
    if not phi.shift:  # the rule is its own mirror image
        return {"below": (phi, min(low, 1 - high), min(high, 1 - low, HALF))}
    mirrored = replace(phi, shift=-phi.shift)
    below = {"below": (phi, low, min(high, HALF))} if low < HALF or high == HALF else {}
    return below | ({"above": (mirrored, 1 - high, min(1 - low, HALF))} if high > HALF else {})


def check_upper(
    phi: Phi,
    agents: int | Fraction,
    prior_range: tuple[Fraction, Fraction],
    witness: Any,
    bound: Fraction,
    budget: Budget,
    loss: Divergence = SQUARE,
) -> None:
    """Prove that the rule's regret is at most ``bound`` on all conditionally independent structures, or raise `Refused`.

    The priors are those of the closed range without 0 and 1, which have no regret; the witness is what `read_witness` read. The
    agents, at least one, need not be a whole number: only s = t + (agents - 1) m is used (`verification.neglect`).
    """
    if witness["kind"] == "theorem":
        if loss is not SQUARE:
            raise Refused("the theorem is about the square loss only.")
        from .theorem import check_claim  # which is proved with the tools of this file

        check_claim(phi, agents, bound, budget)
        return
    if agents < 1:
        raise Refused(
            f"an upper bound is checked for at least one agent; {short(1 - Fraction(agents))} of one is missing."
        )
    if agents != int(agents) and loss is not SQUARE:
        raise Refused("a fraction of an agent is for the square loss only.")
    needed = sides(phi, *prior_range)
    if set(witness) != {"kind", *needed}:
        raise Refused(f"the witness must have slopes {' and '.join(needed)} the prior 1/2, and no others.")
    with precision():
        for name, (rule, low, high) in needed.items():
            _check_cover(witness[name], low, high)
            (first, kappa), top = witness[name][0], ball(bound)
            if low == 0 and not loss.serves_smaller_priors(rule, float(agents), arb(first), ball(kappa), top):
                start = _probability(first)
                raise Refused(f"the slopes start at prior {start}, and kappa is too small for the priors below.")
            for left, right in pairwise(witness[name]):
                Inequality(rule, agents, top, _chord(left, right), loss).check(left[0], right[0], budget)


def _check_cover(nodes: list[Node], low: Fraction, high: Fraction) -> None:
    """Prove that the slopes reach from low to high; if low = 0, the first node has to serve all smaller priors."""
    first, last = nodes[0][0], nodes[-1][0]
    if not ((low == 0 or arb(first) <= logit(ball(low))) and arb(last) >= logit(ball(high))):
        ends = f"from {_probability(first)} to {_probability(last)}, not from {float(low):.6g} to {float(high):.6g}"
        raise Refused(f"the slopes are for priors {ends}.")


def _chord(left: Node, right: Node) -> Kappa:
    """The straight line between two nodes."""
    (m0, k0), (m1, k1) = ((arb(m), ball(kappa)) for m, kappa in (left, right))
    slope = (k1 - k0) / (m1 - m0)
    return lambda m: (k0 + slope * (m - m0), slope)


# ------------------------------------------------------------------------------------------------------- the inequality


@dataclass(frozen=True, eq=False)
class Inequality:
    """F < 0, for a rule and its slopes."""

    phi: Phi
    agents: int | Fraction
    bound: arb
    kappa: Kappa
    loss: Divergence = SQUARE

    @cached_property
    def others(self) -> arb:
        """n - 1."""
        return ball(Fraction(self.agents) - 1)

    def check(self, low: float, high: float, budget: Budget, halvings: int = HALVINGS) -> None:
        """Prove it for all m in [low, high] and all t: the tails at once, in halves if need be, and the rest on boxes."""
        left, right = (self.tail(hull(arb(low), arb(high)), sign, budget) for sign in (-1, 1))
        if left and right:
            self.check_box((low, high), (left, right), budget)
        elif not halvings:
            raise Refused(f"the inequality could not be shown near {_place((low, FAR[-1] if left else -FAR[-1]))}.")
        else:
            middle = 0.5 * (low + high)
            self.check(low, middle, budget, halvings - 1)
            self.check(middle, high, budget, halvings - 1)

    def check_box(self, m: tuple[float, float], t: tuple[float, float], budget: Budget) -> None:
        """Prove it for all m and t between these ends."""
        negative_on((m, t), self.value, self.gradient, _place, budget)

    def value(self, m: arb, t: arb) -> arb:
        """F."""
        return self.loss.value(self.phi(t + self.others * m), t) + self._line(m, sigma(t))

    def _line(self, m: arb, g: arb) -> arb:
        """-bound - kappa(m) (g / mu - 1)."""
        return -self.bound - self.kappa(m)[0] * (g * (1 + (-m).exp()) - 1)

    def gradient(self, m: arb, t: arb) -> tuple[arb, arb]:
        """The derivatives of F by m and by t, with ds/dm = n - 1, ds/dt = 1 and dg/dt = g (1-g)."""
        n1, e = self.others, (-m).exp()
        s, g = t + n1 * m, sigma(t)
        by_s, by_both = self.loss.slopes(self.phi(s), t, self.phi.slope(s))
        kappa, slope = self.kappa(m)
        by_m = n1 * by_s - slope * (g * (1 + e) - 1) + kappa * g * e
        by_t = by_both - kappa * (g * (1 - g)) * (1 + e)
        return by_m, by_t

    def tail(self, m: arb, sign: int, budget: Budget) -> float | None:
        """Some t such that F < 0 beyond it, on the side of the sign; None if none is found."""
        return next((sign * size for size in FAR if self.negative_beyond(m, sign * size, budget)), None)

    def negative_beyond(self, m: arb, t: float, budget: Budget) -> bool:
        """Whether F < 0 for all posteriors beyond t: g lies between its value at t and its limit, 0 or 1."""
        budget.spend(STEPS_OF_A_BOX)
        g = hull(sigma(arb(t)), arb(int(t > 0)))
        return bool(self.loss.beyond(self.phi, t, self.others * m) + self._line(m, g) < 0)


def _place(at: Sequence[float]) -> str:
    """The point (m, t), for people."""
    return f"prior {_probability(at[0])} and posterior {_probability(at[1])}"


def _probability(z: float) -> str:
    return f"{float(sigma(arb(z))):.6g}"
