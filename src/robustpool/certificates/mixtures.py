"""Mixtures with rational parameters, from what a solver found in floats or from the mirrored pair of the theory.

Rounding keeps what a lower bound lives on: each agent's reports still average to the prior, and reports that were the
same number are the same fraction, so that the aggregator still cannot tell the structures apart.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import checks
from ..errors import InputError
from ..verification.mixtures import MIXTURE, Structure, expected_regret, read_mixture
from ..verification.mixtures import value_bound as exact_value
from ..verification.reading import Budget, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from ..verification.mixtures import Profile

    Mixture = list[dict[str, Any]]  # as it stands in a certificate
    Pairs = tuple[tuple[Fraction, Fraction], ...]

UNLIMITED = Budget(math.inf)

WEIGHT_PARTS = 2**60
"""Weights are whole numbers of about this many parts; what is less than half a part is dropped."""

FINE = 2**52
"""Numbers that are no simple fraction are rounded to multiples of 1/FINE."""

SIMPLE = 10_000
"""The largest denominator of a simple fraction."""

SAME = 2.0**-50
"""A float this near to a simple fraction stands for it."""


def rational_mixture(
    weights: ArrayLike,
    priors: ArrayLike,
    reports: ArrayLike,
    symmetries: Sequence[str] = (),
    *,
    resolution: int | None = None,
    prior_range: Sequence[float] = (0.0, 1.0),
) -> Mixture:
    """A mixture in floats as the list of a certificate: weights (m,), priors (m,), reports (m, agents, 2).

    Where ``symmetries`` names agents or states, each structure stands, in equal parts, for itself and for those in which
    they are exchanged; here all of them are written out. ``resolution`` N says that reports are multiples of 1/N. A
    structure whose prior is 0 or 1 has no regret and touches no other, so it is left out.

    >>> rational_mixture([1.0], [0.2], [[[0.0, 0.5], [0.2, 0.2]]], ["states"])
    [{'weight': '1/2', 'prior': '1/5', 'reports': [['0', '1/2'], ['1/5', '1/5']]},
     {'weight': '1/2', 'prior': '4/5', 'reports': [['1/2', '1'], ['4/5', '4/5']]}]
    """
    w = checks.real_array("weights", weights)
    mu, x = checks.unit_array("priors", priors), checks.unit_array("reports", reports)
    if w.ndim != 1 or mu.shape != w.shape or x.ndim != 3 or len(x) != len(w) or x.shape[2] != 2:
        raise InputError(
            "a mixture needs weights (m,), priors (m,) and reports (m, agents, 2); "
            f"the shapes are {w.shape}, {mu.shape} and {x.shape}."
        )
    unknown = set(symmetries) - {"agents", "states"}
    if unknown:
        raise InputError(f"symmetries must be among agents and states; there is {min(unknown)!r}.")
    ends = [Fraction(float(end)) for end in prior_range]
    parts: dict[tuple[Fraction, Pairs], Fraction] = defaultdict(Fraction)
    for count, prior, pairs in zip(integer_weights(w), mu.tolist(), x.tolist(), strict=True):
        if count and 0 < prior < 1:
            rounded = tuple((_report(low, resolution), _report(high, resolution)) for low, high in pairs)
            images = _images(_fraction(prior), rounded, symmetries)
            for image in images:
                parts[_within(*image, *ends)] += Fraction(count, len(images))
    if not parts:
        raise InputError("a mixture needs a structure with a positive weight and a prior strictly between 0 and 1.")
    total = sum(parts.values())
    return [_entry(Structure(weight / total, *key)) for key, weight in sorted(parts.items())]


def structure_entry(
    prior: float, reports: ArrayLike, *, resolution: int | None = None, prior_range: Sequence[float] = (0.0, 1.0)
) -> dict[str, Any]:
    """One structure that a search found, as the only entry of a mixture: the witness of a lower bound for one aggregator.

    >>> structure_entry(0.25, [[0.0, 0.5], [0.1, 1.0]])
    {'weight': '1', 'prior': '1/4', 'reports': [['0', '1/2'], ['1/10', '1']]}
    """
    pairs = np.asarray(reports, dtype=np.float64)[None]
    return rational_mixture([1.0], [prior], pairs, resolution=resolution, prior_range=prior_range)[0]


def mirrored_pair(agents: int, prior_range: Sequence[float] = (0.0, 1.0)) -> Mixture | None:
    """All agents report 0 or 1/2 with the prior mu, or 1/2 or 1 with the prior 1 - mu (docs/derivations/lower-bound).

    Of the mu for which both priors are in the range it takes that with the largest bound; None if there is none below 1/2,
    and for a single agent, whose report is the best forecast.

    >>> pair = mirrored_pair(2)
    >>> outward(value_bound(pair, agents=2), "down")
    0.0225424859373685...
    >>> mirrored_pair(2, (0.0, 0.4)) is None
    True
    """
    low, high = (Fraction(float(end)) for end in prior_range)
    least = max(low, 1 - high)
    if agents < 2 or not least < Fraction(1, 2):
        return None
    mu = max(least, _best_prior(agents))
    half = Fraction(1, 2)
    structures = ((mu, (Fraction(0), half)), (1 - mu, (half, Fraction(1))))
    return [_entry(Structure(half, prior, (reports,) * agents)) for prior, reports in structures]


def value_bound(mixture: Mixture, agents: int, prior_range: Sequence[float | Fraction] = (0.0, 1.0)) -> Fraction:
    """What no aggregator can be better than against a mixture, exactly."""
    return exact_value(structures_of(mixture, agents, prior_range), UNLIMITED)


def value_claim(mixture: Mixture, agents: int, prior_range: Sequence[float] = (0.0, 1.0)) -> dict[str, Any]:
    """The ``value`` of a certificate: what no aggregator can be better than, rounded down."""
    return {"bound": outward(value_bound(mixture, agents, prior_range), "down"), "mixture": mixture}


def lower_claim(
    mixture: Mixture, forecast: Callable[[Profile], Any], agents: int, prior_range: Sequence[float] = (0.0, 1.0)
) -> dict[str, Any]:
    """The ``lower`` of a certificate: an aggregator's expected regret under a mixture, rounded down."""
    exact = expected_regret(structures_of(mixture, agents, prior_range), forecast, UNLIMITED)
    return {"bound": outward(exact, "down"), "mixture": mixture}


def structures_of(
    mixture: Mixture, agents: int, prior_range: Sequence[float | Fraction] = (0.0, 1.0)
) -> list[Structure]:
    """The structures of a mixture, read by the verifier."""
    low, high = (Fraction(end) for end in prior_range)
    return read_mixture(read(mixture, MIXTURE, "mixture"), agents, (low, high), "mixture", UNLIMITED)


def integer_weights(weights: Any) -> list[int]:
    """Weights as whole numbers of parts, about WEIGHT_PARTS together: divided by their sum they sum to 1 exactly.

    >>> integer_weights(np.array([1.0, 3.0, 1e-30])) == [2**58, 3 * 2**58, 0]
    True
    """
    if not ((weights >= 0).all() and weights.sum() > 0):
        raise InputError("weights must not be negative, and one must be positive.")
    exact = [Fraction(weight) for weight in weights.tolist()]
    total = sum(exact)
    return [round(weight / total * WEIGHT_PARTS) for weight in exact]


def outward(x: Fraction, direction: Literal["down", "up"]) -> float:
    """The nearest double at most (``down``) or at least (``up``) x.

    >>> outward(Fraction(1, 10), "down") < outward(Fraction(1, 10), "up") == 0.1
    True
    """
    if direction not in ("down", "up"):
        raise InputError(f"direction must be 'down' or 'up'; it is {direction!r}.")
    nearest = float(x)
    if direction == "down":
        return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def _best_prior(agents: int) -> Fraction:
    """The maximiser on (0, 1/2) of (mu/g)(g - 1/2)^2, odds(g) = odds(1 - mu)^(n-1), by golden sections."""

    def bound(mu: float) -> float:
        g = 1 / (1 + (mu / (1 - mu)) ** (agents - 1))
        return mu / g * (g - 0.5) ** 2

    left, right, ratio = 0.0, 0.5, (math.sqrt(5) - 1) / 2
    while right - left > 1e-9:  # the bound is flat there: it loses about 1e-18
        a, b = right - ratio * (right - left), left + ratio * (right - left)
        left, right = (left, b) if bound(a) > bound(b) else (a, right)
    return Fraction((left + right) / 2).limit_denominator(10**8)


def _report(x: float, resolution: int | None) -> Fraction:
    """The multiple of 1/N that a report is up to rounding, else a simple or a fine fraction."""
    if resolution is not None:
        near = Fraction(round(x * resolution), resolution)
        if abs(x - near) <= 1e-12:
            return near
    return _fraction(x)


@lru_cache(maxsize=100_000)
def _fraction(x: float) -> Fraction:
    """The simple fraction that a float is up to rounding, else a multiple of 1/FINE; near 0 and 1 the float itself."""
    simple = simple_fraction(x)
    if simple is not None:
        return simple
    return Fraction(round(Fraction(x) * FINE), FINE) if 0.001 < x < 0.999 else Fraction(x)


def simple_fraction(x: float) -> Fraction | None:
    """The fraction with a denominator up to SIMPLE that a float in [0, 1] is up to rounding, if there is one.

    >>> simple_fraction(1 / 12), simple_fraction(0.7 - 0.4), simple_fraction(2**-0.5)
    (Fraction(1, 12), Fraction(3, 10), None)
    """
    simple = Fraction(x).limit_denominator(SIMPLE)
    near = abs(Fraction(x) - simple) <= Fraction(SAME) * min(simple, 1 - simple)
    return simple if near else None


def _images(prior: Fraction, reports: Pairs, symmetries: Sequence[str]) -> list[tuple[Fraction, Pairs]]:
    """The structure under each symmetry, equal ones as often as they come."""
    images = [(prior, reports)]
    if "states" in symmetries:
        images.append((1 - prior, tuple((1 - high, 1 - low) for low, high in reports)))
    if "agents" in symmetries:
        images = [(mu, order) for mu, pairs in images for order in permutations(pairs)]
    return images


def _within(prior: Fraction, reports: Pairs, low: Fraction, high: Fraction) -> tuple[Fraction, Pairs]:
    """The structure with its prior moved into the range by what rounding took it out, the reports left where they are.

    A report that was the prior may then lie on the wrong side of it. It stays, so that profiles coincide; her other
    report becomes 0 or 1 and comes with the tiny chance that makes the mean right.
    """
    moved = min(max(prior, low), high)
    if abs(moved - prior) > Fraction(1, 10**12):
        raise InputError(
            f"priors must lie in the family's range from {float(low)!r} to {float(high)!r}; one is {float(prior)!r}."
        )
    return moved, tuple(_around(moved, *pair) for pair in reports)


def _around(prior: Fraction, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    if low > prior:
        return Fraction(0), low
    if high < prior:
        return high, Fraction(1)
    return low, high


def _entry(structure: Structure) -> dict[str, Any]:
    """An entry of a mixture as it stands in a certificate."""
    reports = [[str(low), str(high)] for low, high in structure.reports]
    return {"weight": str(structure.weight), "prior": str(structure.prior), "reports": reports}
