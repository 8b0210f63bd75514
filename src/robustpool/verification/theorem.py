"""The theorem for two agents: logit f = s (1/2 + b tanh(s/4)^2) has worst-case regret V = (5 sqrt 5 - 11)/8, and none has less.

The proof on paper is docs/derivations/two-agents-theorem; this file checks what it leaves to the computer. With the
notation of `log_odds` and n = 2, for priors mu <= 1/2 (the rule is its own mirror image) it shows

    F(m, t) = (f - g)^2 - V - kappa(m) (g / mu - 1) <= 0

strictly, but for g = 0 and for the contact mu* = (3 - sqrt 5)/4, g = 1 - mu*, where the line touches. The slopes are

    m <= CUT     kappa = V, so that F <= 0 is H <= V with H = (mu / g) (f - g)^2:
                 m <= START      by hand, as mu / (1 - mu) = exp(m) <= V
                 t beyond FAR    both tails, at once
                 at the contact  on a square log H is concave, and its gradient vanishes at the contact, where H = V
                 the rest        F < 0 on boxes
    m >= CUT     kappa = mu (7/40) (1 - 2 mu): F < 0 as in any certificate

They do not depend on b. For given m and t, f lies between its values at the ends of an interval of b, and (f - g)^2 is
convex in f: what holds at both ends with the same slopes holds for every b between.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Final

from flint import arb, arb_series

from .balls import Number, hull, logit, precision, sigma
from .log_odds import Inequality, Phi
from .reading import Budget, Refused, short

RANGE: Final = (Fraction(2, 25), Fraction(9, 10))
"""The slopes serve all b in this interval, both ends included."""

START: Final = -3.8  # logit of the prior 0.0219
CUT: Final = -1.1  # logit of the prior 0.2497
FAR: Final = (-8.0, 8.0)  # the boxes end here
CONTACT: Final = (1.40625, 1.484375)  # t and -m on the square around the contact, where both are 1.4436
CELLS: Final = 8  # on a side of the square
STEPS_OF_A_CELL: Final = 150  # of the budget; 110 microseconds were measured


def at_least_value(bound: Fraction) -> bool:
    """Whether bound >= V, exactly: 8 bound + 11 >= 5 sqrt 5.

    >>> at_least_value(Fraction(0.022542485937368566)), at_least_value(Fraction(0.022542485936))
    (True, False)
    """
    left = 8 * bound + 11
    return left > 0 and left * left >= 125


def check_claim(phi: Phi, agents: int | Fraction, bound: Fraction, budget: Budget) -> None:
    """Prove that the worst-case regret of logit f = s (1/2 + b tanh(s/4)^2) for two agents is at most V <= bound, or refuse."""
    if agents != 2 or phi != rule(phi.b):
        raise Refused("the theorem is about two agents and logit f = s (1/2 + b tanh(s/4)^2) only.")
    if not RANGE[0] <= phi.b <= RANGE[1]:
        raise Refused(f"the theorem is for b from {RANGE[0]} to {RANGE[1]}; it is {short(phi.b)}.")
    if not at_least_value(bound):
        raise Refused(f"the bound {float(bound)!r} is below (5 sqrt 5 - 11)/8, which no aggregator can reach.")
    with precision():
        for part in (check_low_priors, check_contact, check_other_priors):
            part(phi, budget)


def rule(b: Fraction) -> Phi:
    """logit f = s (1/2 + b tanh(s/4)^2)."""
    return Phi(Fraction(1, 2), b, Fraction(4))


def value() -> arb:
    """V."""
    return (5 * arb(5).sqrt() - 11) / 8


def check_low_priors(phi: Phi, budget: Budget) -> None:
    """Prove H <= V for all m <= CUT, but for the square around the contact.

    Lower tail: where f <= g, H <= mu g; else H <= exp(2 Phi(s)) mu / g, which grows with m and t as Phi' >= 1/2.
    """
    v, (low, high), (inner, outer) = value(), FAR, CONTACT
    lines = Inequality(phi, 2, v, lambda _: (v, arb(0)))
    g, mu = sigma(arb(low)), sigma(arb(CUT))
    small = arb(START).exp() < v
    lower = g < v and (2 * phi(low + arb(CUT))).exp() * mu / g < v
    if not (small and lower and lines.negative_beyond(hull(arb(START), arb(CUT)), high, budget)):
        raise Refused("the smallest priors or the tails of the theorem could not be shown.")
    lines.check_box((START, -outer), FAR, budget)
    lines.check_box((-outer, -inner), (low, inner), budget)
    lines.check_box((-outer, -inner), (outer, high), budget)
    lines.check_box((-inner, CUT), FAR, budget)


def check_contact(phi: Phi, budget: Budget) -> None:
    """Prove H <= V on the square: it contains the contact, where H = V and the gradient of log H is 0, and log H is concave."""
    contact = -logit((3 - arb(5).sqrt()) / 4)
    if not CONTACT[0] < contact < CONTACT[1]:
        raise Refused("the contact lies outside its square.")
    cuts = [CONTACT[0] + (CONTACT[1] - CONTACT[0]) * i / CELLS for i in range(CELLS + 1)]  # exact: few binary digits
    cells = [hull(arb(x), arb(y)) for x, y in pairwise(cuts)]
    for m, t in product(cells, repeat=2):
        budget.spend(STEPS_OF_A_CELL)
        by_mm, by_mt, by_tt = log_hessian(phi, -m, t)
        if not (by_mm < 0 and by_mm * by_tt - by_mt * by_mt > 0):
            raise Refused("log H could not be shown to be concave around the contact.")


def log_hessian(phi: Phi, m: arb, t: arb) -> tuple[arb, arb, arb]:
    """The second derivatives of log H by mm, mt and tt, from the power series of log H(m + x z, t + y z) in z."""
    by_mm, by_tt, by_both = (
        2 * log_h(phi, arb_series([m, x], 3), arb_series([t, y], 3))[2] for x, y in ((1, 0), (0, 1), (1, 1))
    )
    return by_mm, (by_both - by_mm - by_tt) / 2, by_tt


def log_h(phi: Phi, m: Number, t: Number) -> Number:
    """log H = log mu - log g + 2 log(g - f) for g > f; the logarithm of a ball with numbers <= 0 fails all comparisons."""
    mu, g, f = sigma(m), sigma(t), sigma(phi(m + t))
    return mu.log() - g.log() + 2 * (g - f).log()


def check_other_priors(phi: Phi, budget: Budget) -> None:
    """Prove F < 0 for all m from CUT to 0, with the slopes lambda = (7/40) (1 - 2 mu)."""
    Inequality(phi, 2, value(), other_kappa).check(CUT, 0.0, budget)


def other_kappa(m: arb) -> tuple[arb, arb]:
    """(7/40) mu (1 - 2 mu) = (7/320) (1 - x^2) with x = 1 - 4 mu, and its derivative by m, where dmu/dm = mu (1 - mu)."""
    mu = sigma(m)
    x = 1 - 4 * mu
    return 7 * (1 - x * x) / 320, 7 * mu * (1 - mu) * x / 40
