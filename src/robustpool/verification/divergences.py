"""By how much a forecast f costs more than the posterior g, under the square loss and under the log loss.

In log-odds z = logit f = Phi(s) and t = logit g, with s = t + (n-1) m at the prior with the logit m,

    square    D = (f - g)^2
    log       D = KL(g || f) = g log(g/f) + (1-g) log((1-g)/(1-f)) = S(z) - S(t) - g (z - t),    S(x) = log(1 + exp(x))

S' is the logistic function. `log_odds` proves D <= bound + kappa (g/mu - 1) for all posteriors; what this takes besides the
value of D and its derivatives, the ends of the ranges, is here as well. (docs/derivations/log-loss)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from flint import arb

from .balls import ball, hull, sigma

if TYPE_CHECKING:
    from .log_odds import Phi


class Divergence(Protocol):
    """The D of a proper loss."""

    name: str

    def value(self, z: arb, t: arb) -> arb:
        """D."""

    def slopes(self, z: arb, t: arb, slope: arb) -> tuple[arb, arb]:
        """The derivatives of D(Phi(s), t), with ``slope`` = Phi'(s): by s alone, and by t with s = t + ..."""

    def beyond(self, phi: Phi, t: float, drift: arb) -> arb:
        """A ball whose upper end is at least D for all posteriors beyond t, where s = t + drift."""

    def serves_smaller_priors(self, phi: Phi, agents: int, m: arb, kappa: arb, bound: arb) -> bool:
        """Whether D <= bound + kappa (g/mu - 1) at the prior with logit m implies it, with this kappa, at all smaller priors."""


class Square:
    """(f - g)^2."""

    name = "square"

    def value(self, z: arb, t: arb) -> arb:
        """See Divergence."""
        gap = sigma(z) - sigma(t)
        return gap * gap

    def slopes(self, z: arb, t: arb, slope: arb) -> tuple[arb, arb]:
        """df/ds = f (1-f) Phi'(s) and dg/dt = g (1-g)."""
        f, g = sigma(z), sigma(t)
        dg, df = g * (1 - g), f * (1 - f) * slope
        return 2 * (f - g) * df, 2 * (f - g) * (df - dg)

    def beyond(self, phi: Phi, t: float, drift: arb) -> arb:
        """f and g lie between their values at t and their limit, 0 or 1."""
        limit = arb(int(t > 0))
        gap = hull(sigma(phi(t + drift)), limit) - hull(sigma(arb(t)), limit)
        return gap * gap

    def serves_smaller_priors(self, phi: Phi, agents: int, m: arb, kappa: arb, bound: arb) -> bool:  # noqa: ARG002
        """It does if kappa >= mu.

        At g = 0 the inequality says kappa <= bound. At a smaller prior nu the forecast is some f' <= f.
        Where f' >= g, (f' - g)^2 <= (f - g)^2 <= bound - kappa + kappa g / mu, and kappa g / nu is even more.
        Where f' <= g, (f' - g)^2 <= g <= kappa g / nu, and bound - kappa >= 0.
        """
        return bool(kappa >= sigma(m))


class Log:
    """KL(g || f)."""

    name = "log"

    def value(self, z: arb, t: arb) -> arb:
        """See Divergence."""
        return softplus(z) - softplus(t) - sigma(t) * (z - t)

    def slopes(self, z: arb, t: arb, slope: arb) -> tuple[arb, arb]:
        """dD/dz = f - g and, for a fixed z, dD/dt = g (1-g) (t - z)."""
        f, g = sigma(z), sigma(t)
        by_s = (f - g) * slope
        return by_s, by_s + g * (1 - g) * (t - z)

    def beyond(self, phi: Phi, t: float, drift: arb) -> arb:
        """For t < 0, D <= S(z) + g |z - t|. S(z) falls with t, and g <= exp(t), |z| <= A |s| + |shift| with A = a + b.

        x exp(-x) falls from x = 1 on, so that the value at t bounds those beyond. For t > 0 it is the same of -z, -t and 1 - g,
        as D does not change when both states do.
        """
        if abs(t) < 1:
            return arb("nan")
        size = abs(arb(t))
        far = phi.growth * (size + abs(drift)) + abs(ball(phi.shift)) + size
        return softplus(phi(t + drift) if t < 0 else -phi(t + drift)) + (-size).exp() * far

    def serves_smaller_priors(self, phi: Phi, agents: int, m: arb, kappa: arb, bound: arb) -> bool:
        """It does under these conditions on P = kappa/mu - A (n-1) |m| - |shift| - log 2, with A = a + b and w = max(A - 1, 0).

            kappa >= A (n-1) exp(m),        P >= 0 if w = 0,        w exp(-1 - P/w) <= bound - kappa if w > 0

        At g = 0 the inequality says kappa <= bound. At a smaller prior nu the forecast is some f' <= f.
        Where f' >= g, D(f') <= D(f) <= bound - kappa + kappa g / mu, and kappa g / nu is even more.
        Where f' < g, D <= g log(g/f') <= g (w log(1/g) + A (n-1) |logit nu| + |shift| + log 2): for t <= 0,
        log(g/f') <= t - Phi(s'), and for t > 0, log(1/f') <= log 2 - Phi(-(n-1) |logit nu|), where |Phi(s)| <= A |s| + |shift|. What
        is left to show is g (w log(1/g) - P) <= bound - kappa, with P at nu, which is at least the P at mu by the first
        condition. The largest value of the left side over all g is w exp(-1 - P/w).
        """
        growth = phi.growth
        rest = kappa * (1 + (-m).exp()) - growth * (agents - 1) * abs(m) - abs(ball(phi.shift)) - arb(2).log()
        if not (m < 0 and kappa >= growth * (agents - 1) * m.exp()):
            return False
        if phi.a + phi.b <= 1:
            return bool(rest >= 0)
        over = growth - 1
        return bool(over * (-1 - rest / over).exp() <= bound - kappa)


def softplus(x: arb) -> arb:
    """S(x) = log(1 + exp(x))."""
    return (1 + x.exp()).log()


SQUARE: Final = Square()
DIVERGENCES: Final[dict[str, Divergence]] = {"square": SQUARE, "log": Log()}
"""By the name of the loss in a certificate."""
