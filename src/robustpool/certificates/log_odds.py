"""Certificates for rules that see only the sum of the log-odds: the slopes that `verification.log_odds` then checks.

Everything here is found in floats. With the verifier's notation (m = logit mu, t = logit g, lambda = kappa / mu) and
H = (f - g)^2, or KL(g || f) for the log loss, the least bound at one prior is the concave envelope of g -> H at g = mu,

    S(m) = min over kappa of max over t of H - kappa r,        r = g / mu - 1 = expm1(t - m) (1 - g),

and for a larger bound the slopes that prove it are those between

    max over t > m of (H - bound) / r        and        min over t < m of (bound - H) / (-r).

The witness is a polygon m -> kappa(m) through the middle of this tube, with nodes where it bends or is narrow.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, log, log1p, nextafter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from flint import arb

from ..aggregators import pools
from ..numerics import sigma
from ..verification import theorem
from ..verification.balls import precision
from ..verification.divergences import DIVERGENCES, SQUARE
from ..verification.log_odds import Phi, check_upper, read_phi, read_witness, sides
from ..verification.reading import Budget, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..aggregators.rules import Rule
    from ..typing import Floats, Integers
    from ..verification.divergences import Divergence

CONTACT_PRIOR = 0.19098300562505257  # (3 - sqrt 5)/4, the worst prior of the theorem; its mirror image is as bad
STAGES = (1e-3, 1e-6)  # proved on the way to the tolerance, so that the bound is seen falling
SMALLEST_LOGIT = -600.0


class Proof(NamedTuple):
    """The worst case that the search found, and an upper bound that is proved, with its witness."""

    found: float
    upper: float
    witness: dict[str, Any]
    worst: Informed


class Informed(NamedTuple):
    """A structure in which one agent reports low or high, and the others know nothing and report the prior."""

    prior: float
    low: float
    high: float


# ---------------------------------------------------------------------------------------------------------- the rules


def phi_of(rule: Rule, agents: int) -> dict[str, Any] | None:
    """The rule as a function of the sum of the log-odds, in the verifier's form; None if it is not one.

    >>> from robustpool.aggregators.rules import get_rule
    >>> phi_of(get_rule("geometric-odds"), 3)
    {'form': 'linear', 'alpha': '1/3', 'shift': 0.0}
    >>> phi_of(get_rule("mean"), 2)
    """
    stem, given = rule.name.partition(":")[0], rule.parameters
    if agents == 1 and stem in ("robust", "minimax", "minimax-log", "mean", "median", "trimmed-mean"):
        return linear(Fraction(1))  # f = x
    if stem == "minimax":
        forms = {2: (0.5, given["b"], 4.0)}
        if not given["unanimous"]:
            forms[3] = pools.NOT_UNANIMOUS[3][:3]  # what follows has the factor beta = 0
        return {"form": "tanh", **dict(zip("abk", forms[agents], strict=True))} if agents in forms else None
    if stem == "minimax-log":
        saturates = agents == 2 or given["summed"]
        return {"form": "saturating", **dict(zip("ck", pools.saturation(agents), strict=True))} if saturates else None
    if stem == "robust":  # tanh(L/2) with L = s/n
        a, b = (_exact(Fraction(1, number)) for number in (agents, 5 * agents))
        return {"form": "tanh", "a": a, "b": b, "k": 2.0 * agents}
    if stem == "bordley":
        return linear(Fraction(1), (agents - 1) * (log(given["prior"]) - log1p(-given["prior"])))
    if stem == "log-odds":
        return linear(Fraction(given["alpha"]), given["shift"])
    factors: dict[str, Callable[[], Fraction]] = {
        "geometric-odds": lambda: Fraction(1, agents),
        "extremized-odds": lambda: Fraction(given["d"]) / agents,
        "neyman-odds": lambda: Fraction(float(pools.neyman_factor(np.array([agents]))[0])) / agents,
        "product": lambda: Fraction(1),
    }
    return linear(factors[stem]()) if stem in factors else None


def linear(alpha: Fraction, shift: float = 0.0) -> dict[str, Any]:
    """Phi(s) = alpha s - shift, as a certificate holds it."""
    return {"form": "linear", "alpha": _exact(alpha), "shift": shift}


def _exact(value: Fraction) -> float | str:
    """A number as a certificate holds it: a double if it is one, else p/q."""
    return float(value) if Fraction(float(value)) == value else str(value)


# ------------------------------------------------------------------------------------------------------- the certificate


def certify_phi(
    written: dict[str, Any],
    agents: int,
    prior_range: tuple[float, float],
    tolerance: float = 1e-9,
    loss: str = "square",
) -> Iterator[Proof]:
    """Prove upper bounds, the last within ``tolerance`` of the worst case that the two-dimensional search finds.

    The rule is ``written`` as a certificate holds it. ``found`` is the supremum of the envelopes, which is the worst case, whatever the number of agents.
    """
    phi, divergence = read_phi(written, "aggregator.phi"), DIVERGENCES[loss]
    exact_range = (Fraction(prior_range[0]), Fraction(prior_range[1]))

    sides = _sides(phi, agents, exact_range, divergence)
    peaks = {name: side.supremum() for name, side in sides.items()}
    name = max(peaks, key=lambda name: peaks[name][0])
    found, worst = peaks[name][0], sides[name].structure(peaks[name][1])
    if name == "above" or not prior_range[0] <= worst.prior <= prior_range[1]:  # one side may serve both halves
        worst = Informed(1 - worst.prior, 1 - worst.high, 1 - worst.low)

    def proved(found: float, bound: float, witness: dict[str, Any]) -> Proof:
        slopes = read_witness(witness, "witness")
        check_upper(phi, agents, exact_range, slopes, Fraction(bound), Budget(), divergence)
        return Proof(found, bound, witness, worst)

    if divergence is SQUARE and _theorem_applies(phi, agents, prior_range):
        yield proved(smallest_bound(), smallest_bound(), {"kind": "theorem"})
        return
    proof, refusal = None, Refused("nothing could be shown.")
    for slack in [*(stage for stage in STAGES if stage > tolerance), tolerance]:
        try:
            found, bound, witness = _slopes(sides, found, slack)
            proof = proved(found, bound, witness)
        except Refused as error:
            refusal = error
            continue
        yield proof
    if proof is None:
        raise refusal


def worst_regret(written: dict[str, Any], agents: int, prior_range: tuple[Fraction, Fraction]) -> float:
    """The worst case that the two-dimensional search finds, in floats; nothing is proved."""
    sides = _sides(read_phi(written, "aggregator.phi"), agents, prior_range)
    return max(side.supremum()[0] for side in sides.values())


def _slopes(sides: dict[str, Side], found: float, slack: float) -> tuple[float, float, dict[str, Any]]:
    """The slopes for a bound of ``found`` and somewhat less than ``slack``; where there are none, more is found first."""
    for _ in range(20):
        bound = nextafter(found + 0.9 * slack, inf)
        try:
            return found, bound, {"kind": "slopes", **{name: side.slopes(bound) for name, side in sides.items()}}
        except NoSlopeError as worse:
            (logit,) = worse.args
            more = max(side.polished(logit - 0.1, logit + 0.1) for side in sides.values())
            found = max(more[0], found + 0.5 * slack)
    raise Refused(f"no slopes were found for a bound near {found:.12g}.")


def smallest_bound() -> float:
    """The smallest double that is at least (5 sqrt 5 - 11)/8.

    >>> smallest_bound()
    0.0225424859373685...
    """
    bound = (5 * 5**0.5 - 11) / 8 - 1e-15  # too small, whatever the rounding
    while not theorem.at_least_value(Fraction(bound)):
        bound = nextafter(bound, 1.0)
    return bound


def _theorem_applies(phi: Phi, agents: int, prior_range: tuple[float, float]) -> bool:
    """Whether the rule is the theorem's, and its worst prior, or the mirror image of that, is in the range."""
    low, high = prior_range
    worst = low <= CONTACT_PRIOR <= high or low <= 1 - CONTACT_PRIOR <= high
    return worst and agents == 2 and phi == theorem.rule(phi.b) and theorem.RANGE[0] <= phi.b <= theorem.RANGE[1]


# ------------------------------------------------------------------------------------------------- one side of prior 1/2


def _sides(phi: Phi, agents: int, prior_range: tuple[Fraction, Fraction], loss: Divergence = SQUARE) -> dict[str, Side]:
    """The priors up to 1/2, and those above it by the mirrored rule; one side does for both if the rule is its mirror."""
    parts = sides(phi, *prior_range).items()
    return {name: Side(rule, agents, float(low), float(high), loss) for name, (rule, low, high) in parts}


def _function(phi: Phi) -> Callable[[Floats], Floats]:
    """Phi in floats."""
    a, b, k, shift, c = (float(x) for x in (phi.a, phi.b, phi.k, phi.shift, phi.c))

    def function(s: Floats) -> Floats:
        w = np.tanh(s / k)
        return np.asarray(s * (a + b * w**2) - c * w - shift)

    return function


def _square(z: Floats, t: Floats) -> Floats:
    """(f - g)^2."""
    return np.asarray((sigma(z) - sigma(t)) ** 2)


def _kl(z: Floats, t: Floats) -> Floats:
    """KL(g || f) = S(z) - S(t) - g (z - t), S(x) = log(1 + exp(x)); for t > 0 of the other state, which loses no digits."""
    z, t = np.where(t > 0, -z, z), -np.abs(t)
    return np.asarray(np.logaddexp(0, z) - np.logaddexp(0, t) - sigma(t) * (z - t))


GAPS = {"square": _square, "log": _kl}


class NoSlopeError(Exception):
    """No slope proves the bound at the prior with this logit: the search for the worst one has missed something."""


class Side:
    """The priors in [low, high], high <= 1/2, of one rule."""

    def __init__(self, phi: Phi, agents: int, low: float, high: float, loss: Divergence = SQUARE) -> None:
        """Lay out the grid of posteriors: dense in the middle, and as far out as the rule is flat."""
        self.exact, self.loss, self.divergence = phi, loss, GAPS[loss.name]
        self.phi, self.n1, self.low, self.high = _function(phi), agents - 1, low, high
        far = 60.0 / min(float(phi.a or phi.b), 1.0)
        tail = np.geomspace(12.0, far, 120)[1:]
        self.grid = np.concatenate((-tail[::-1], np.linspace(-12.0, 12.0, 481), tail))
        self.tubes: dict[float, tuple[float, float]] = {}

    def gap(self, m: Floats | float, t: Floats) -> Floats:
        """H."""
        return self.divergence(self.phi(t + self.n1 * m), t)

    @staticmethod
    def lever(m: Floats | float, t: Floats) -> Floats:
        """r = g / mu - 1 = expm1(t - m) (1 - g) = -exp(-m) expm1(m - t) g; m <= 0, so that neither form overflows."""
        low, high = np.minimum(t, 0.0), np.maximum(t, 0.0)
        return np.where(t <= 0, np.expm1(low - m) * sigma(-low), -np.exp(-m) * np.expm1(m - high) * sigma(high))

    def _largest(self, function: Callable[[Floats], Floats], grid: Floats, times: int = 3) -> tuple[float, float]:
        """The maximum over t and its place: on the grid, then on ever finer ones around its two highest peaks."""
        values, best = function(grid), (-inf, 0.0)
        for i in _highest_peaks(values, 2):
            ends = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
            for _ in range(times):
                fine = np.linspace(*ends, 81)
                values = function(fine)
                j = int(np.argmax(values))
                best = max(best, (float(values[j]), float(fine[j])))
                ends = fine[max(j - 1, 0)], fine[min(j + 1, 80)]
        return best

    def _halves(self, m: float) -> tuple[Floats, Floats]:
        """The grid of posteriors below and above the prior."""
        left, right = self.grid[self.grid < m - 1e-6], self.grid[self.grid > m + 1e-6]
        return np.append(left, m - 1e-6), np.append(m + 1e-6, right)

    # ------------------------------------------------------------------------------------------------ the worst case

    def supremum(self) -> tuple[float, float]:
        """max over the priors of S and its place, found on a grid of priors and polished around its peaks."""
        left = _logit(self.low) if self.low > 0 else -16.0
        right = _logit(self.high)
        priors = np.linspace(min(left, right), right, 161)
        coarse, _ = self._envelopes(priors)
        best = max((self.envelope(float(m)), float(m)) for m in priors[[0, -1]])
        for i in _highest_peaks(coarse, 3):
            if coarse[i] <= coarse.max() - 1e-3 or (i in {0, len(priors) - 1} and self._falls_inwards(priors, i)):
                continue  # it is too low, or it is an end, which has been looked at
            best = max(best, self.polished(priors[max(i - 1, 0)], priors[min(i + 1, len(priors) - 1)]))
        return best

    def _falls_inwards(self, priors: Floats, i: int) -> bool:
        """Whether S falls from an end of the priors inwards."""
        end, next_one = float(priors[i]), float(priors[1] if i == 0 else priors[-2])
        return self.envelope(end + 1e-3 * (next_one - end)) < self.envelope(end)

    def polished(self, left: float, right: float) -> tuple[float, float]:
        """The largest S between two priors, and its place."""
        from scipy.optimize import minimize_scalar

        if not left < right:
            return self.envelope(float(left)), float(left)
        done = minimize_scalar(
            lambda m: -self.envelope(float(m)), bounds=(left, right), method="bounded", options={"xatol": 1e-9}
        )
        return -float(done.fun), float(done.x)

    def _envelopes(self, priors: Floats) -> tuple[Floats, Floats]:
        """S at many priors and its kappa, roughly: bisection for kappa on the grid of posteriors."""
        m = priors[:, None]
        gap, lever = self.gap(m, self.grid), self.lever(m, self.grid)
        high = self._most(gap)
        low, rows = -high, np.arange(len(priors))
        for _ in range(20 + int(np.ceil(np.log2(high.max())))):
            kappa = 0.5 * (low + high)
            beyond = lever[rows, np.argmax(gap - kappa[:, None] * lever, axis=1)] > 0
            low, high = np.where(beyond, kappa, low), np.where(beyond, high, kappa)
        return np.asarray(np.max(gap - high[:, None] * lever, axis=1)), high

    @staticmethod
    def _most(gap: Floats) -> Floats:
        """At least |kappa|, at each prior: by H <= S + kappa r at g = 0 and g = 1, |kappa| <= S, and S is at most the largest H."""
        return np.asarray(np.maximum(1.0, gap.max(axis=1)))

    def envelope(self, m: float) -> float:
        """S at one prior, to nearly all digits."""
        return max(self.contacts(m))[0]

    def contacts(self, m: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """The posteriors t below and above the prior at which H - kappa r is largest, for the kappa with equal maxima.

        Each comes with its maximum before it; where the prior itself is the worst posterior, both are the prior.
        """
        from scipy.optimize import brentq

        left, right = (np.sort(np.append(half, m)) for half in self._halves(m))

        def largest(kappa: float, grid: Floats, times: int = 3) -> tuple[float, float]:
            return self._largest(lambda t: self.gap(m, t) - kappa * self.lever(m, t), grid, times)

        def difference(kappa: float) -> float:
            return largest(kappa, right)[0] - largest(kappa, left)[0]

        # Where the prior itself is the worst posterior, kappa is the tangent's; the difference is flat around it.
        below, here, above = self.gap(m, np.array([m - 1e-5, m, m + 1e-5]))
        tangent = float((above - below) / 2e-5 * (1 + np.exp(m)))
        if (top := max(largest(tangent, left), largest(tangent, right))[0]) <= here + 1e-14:
            return (top, m), (top, m)
        rough = float(self._envelopes(np.array([m]))[1][0])
        ends = rough - 1e-3, rough + 1e-3
        if not difference(ends[0]) >= 0 >= difference(ends[1]):
            most = float(self._most(self.gap(m, self.grid)[None])[0])
            ends = -most, most
        kappa = brentq(difference, *ends, xtol=1e-14)
        return largest(kappa, left, 5), largest(kappa, right, 5)

    def structure(self, m: float) -> Informed:
        """The worst structure at a prior: the informed agent's reports are the posteriors at the contacts.

        The others report mu, so that hers is the posterior. A contact at the end of the grid is a report of 0 or 1.
        """
        prior = min(max(float(sigma(np.array(m))), self.low), self.high)
        (_, below), (_, above) = self.contacts(m)
        low = 0.0 if below <= self.grid[0] else min(float(sigma(np.array(below))), prior)
        high = 1.0 if above >= self.grid[-1] else max(float(sigma(np.array(above))), prior)
        return Informed(prior, low, high)

    # ------------------------------------------------------------------------------------------------------ the slopes

    def tube(self, m: float, bound: float) -> tuple[float, float]:
        """The least and the largest kappa with H <= bound + kappa r for all t."""
        if m not in self.tubes:
            left, right = self._halves(m)

            def chord(t: Floats) -> Floats:  # the slope of the line from the bound at the prior to H at t
                return (self.gap(m, t) - bound) / self.lever(m, t)

            self.tubes[m] = self._largest(chord, right)[0], -self._largest(lambda t: -chord(t), left)[0]
            if not self.tubes[m][0] < self.tubes[m][1]:
                raise NoSlopeError(m)
        return self.tubes[m]

    def slopes(self, bound: float) -> dict[str, list[float]]:
        """The nodes: the middle of the tube, halved until the polygon stays in the middle half of it."""
        self.tubes = {}
        right = _logit(self.high)
        right = right if right == 0 else nextafter(right, inf) + 1e-12
        left = nextafter(_logit(self.low), -inf) - 1e-12 if self.low > 0 else self._smallest(bound, right)
        start = np.linspace(left, right, max(2, int(np.ceil((right - left) / 0.25)) + 1))
        nodes: list[float] = [float(start[0])]
        stack = [(a, b, 0) for a, b in pairwise(start.tolist())][::-1]
        while stack:
            a, b, depth = stack.pop()
            if depth < 26 and not self._straight(a, b, bound):
                stack += [(0.5 * (a + b), b, depth + 1), (a, 0.5 * (a + b), depth + 1)]
            else:
                nodes.append(b)
        return {"logits": nodes, "kappas": [self._middle(m, bound) for m in nodes]}

    def _middle(self, m: float, bound: float) -> float:
        low, high = self.tube(m, bound)
        return 0.5 * (low + high)

    def _straight(self, a: float, b: float, bound: float) -> bool:
        """Whether the straight line between the middles at a and b stays in the middle half of the tube."""
        ends = self._middle(a, bound), self._middle(b, bound)
        for share in (0.25, 0.5, 0.75):
            low, high = self.tube(a + share * (b - a), bound)
            kappa = ends[0] + share * (ends[1] - ends[0])
            if not abs(kappa - 0.5 * (low + high)) <= 0.25 * (high - low):
                return False
        return True

    def _smallest(self, bound: float, right: float) -> float:
        """A prior whose slope serves all smaller priors."""
        m = min(log(bound / 4), right - 0.25)
        while m > SMALLEST_LOGIT:
            with precision():
                given = (arb(m), arb(self._middle(m, bound)), arb(bound))
                if self.loss.serves_smaller_priors(self.exact, self.n1 + 1, *given):
                    return m
            m -= 0.5
        raise Refused(f"no argument was found for priors below {sigma(np.array(m)):.3g}.")


def _highest_peaks(values: Floats, most: int) -> Integers:
    """The places of the highest values that are at least their neighbours, the highest first."""
    fenced = np.concatenate(([-inf], values, [-inf]))
    peaks = np.flatnonzero((values >= fenced[:-2]) & (values >= fenced[2:]))
    return peaks[np.argsort(-values[peaks])[:most]]


def _logit(p: float) -> float:
    return log(p) - log1p(-p)
