"""Mixtures with rational parameters, from what a solver found in floats, from the theory, or on record.

Rounding keeps what a lower bound lives on: each agent's reports still average to the prior, and reports that were the
same number are the same fraction, so that the aggregator still cannot tell the structures apart.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache, lru_cache
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .. import checks
from ..errors import InputError
from ..numerics import sigma
from ..verification.mixtures import MIXTURE, Structure, expected_regret, read_mixture
from ..verification.mixtures import unanimous_bound as exact_unanimous
from ..verification.mixtures import value_bound as exact_value
from ..verification.reading import Budget, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from ..verification.mixtures import Profile

    Mixture = list[dict[str, Any]]  # as it stands in a certificate
    Pairs = tuple[tuple[Fraction, Fraction], ...]

UNLIMITED = Budget(math.inf)

LOWER_BOUNDS = Path(__file__).with_name("lower_bounds.json")
"""Mixtures for six and more agents, as tools/lower_bounds.py found them; what they prove is computed here."""

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
    prior: float,
    reports: ArrayLike,
    *,
    resolution: int | None = None,
    prior_range: Sequence[float] = (0.0, 1.0),
    symmetric: bool = False,
) -> dict[str, Any]:
    """One structure that a search found, as the only entry of a mixture: the witness of a lower bound for one aggregator.

    If the aggregator is symmetric, agents with the same reports are counted.

    >>> structure_entry(0.25, [[0.0, 0.5], [0.1, 1.0]])
    {'weight': '1', 'prior': '1/4', 'reports': [['0', '1/2'], ['1/10', '1']]}
    >>> structure_entry(0.25, [[0.0, 0.5], [0.1, 1.0], [0.0, 0.5]], symmetric=True)
    {'weight': '1', 'prior': '1/4', 'reports': [['0', '1/2'], ['1/10', '1']], 'agents': [2, 1]}
    """
    pairs = np.asarray(reports, dtype=np.float64)[None]
    entry = rational_mixture([1.0], [prior], pairs, resolution=resolution, prior_range=prior_range)[0]
    if not symmetric:
        return entry
    counts = Counter(map(tuple, entry["reports"]))
    return {**entry, "reports": [list(pair) for pair in counts], "agents": list(counts.values())}


def mirrored_pair(agents: int, prior_range: Sequence[float] = (0.0, 1.0), loss: str = "square") -> Mixture | None:
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
    mu = max(least, _best_prior(agents, loss))
    half = Fraction(1, 2)
    structures = ((mu, (Fraction(0), half)), (1 - mu, (half, Fraction(1))))
    return [_alike(half, prior, reports, agents) for prior, reports in structures]


def _alike(weight: Fraction, prior: Fraction, reports: tuple[Fraction, Fraction], agents: int) -> dict[str, Any]:
    """A structure in which all agents are alike; more than two of them are counted."""
    if agents <= 2:
        return _entry(Structure(weight, prior, (reports,) * agents))
    return _entry(Structure(weight, prior, (reports,), (agents,)))


def unanimity_structure(agents: int, prior_range: Sequence[float] = (0.0, 1.0)) -> Mixture | None:
    """All agents report 0 or b < 1/2 with the prior mu < b, where a unanimous aggregator says b at most if all say b.

    Of the mu in the range, or with 1 - mu in it (then the mirror image is used), it takes that with the largest bound
    (mu/g) (g - b)^2, logit g = n logit b - (n - 1) logit mu (docs/derivations/lower-bound). None if there is no such
    mu, and for one or two agents: with two, b = 1/2 is best, and the mirrored pair shows the same for every aggregator.

    >>> outward(unanimous_bound(unanimity_structure(3), agents=3), "down")
    0.0451224...
    """
    low, high = (Fraction(float(end)) for end in prior_range)
    half = Fraction(1, 2)
    first, last = (low, min(high, half)) if low < half else (1 - high, min(1 - low, half))
    if agents < 3 or not first < last:
        return None
    mu, b = _best_unanimous(agents, float(first), float(last))
    prior = min(max(Fraction(mu).limit_denominator(10**5), first), last)
    said = max(Fraction(b).limit_denominator(10**5), prior)
    if low < half:
        return [_alike(Fraction(1), prior, (Fraction(0), said), agents)]
    return [_alike(Fraction(1), 1 - prior, (1 - said, Fraction(1)), agents)]


def touching_pair(agents: int, prior_range: Sequence[float] = (0.0, 1.0)) -> Mixture | None:
    """Two structures with the priors a < b in which all agents may report x, and which no aggregator can tell apart then.

    With prior a an agent reports 0 or x, with prior b x or 1 (0 or x, if b < x). Let p_a and p_b be the chances that all
    report x, and g_a, g_b the posteriors then. With weights that are proportional to 1/sqrt p the mixture shows

        value >= (g_a - g_b)^2 / (1/sqrt p_a + 1/sqrt p_b)^2.                   (docs/worlds/prior-ranges.md)

    Of the priors in the range and of all x it takes those with the largest bound; None for a single agent or prior.

    >>> pair = touching_pair(2, (0.1, 0.3))
    >>> outward(value_bound(pair, 2, (0.1, 0.3)), "down")
    0.0085447...
    """
    low, high = (Fraction(float(end)) for end in prior_range)
    if agents < 2 or not low < high:
        return None
    touch = best_touch(agents, (float(low), float(high)))
    a, b = (min(max(Fraction(prior).limit_denominator(10**5), low), high) for prior in touch.priors)
    said = Fraction(touch.report).limit_denominator(10**5)
    sides = [(prior, (Fraction(0), said) if prior < said else (said, Fraction(1))) for prior in (a, b)]
    weight = min(max(Fraction(touch.weight).limit_denominator(10**5), Fraction(0)), Fraction(1))
    if not 0 < a < b < 1:
        return None
    return [_alike(share, *side, agents) for share, side in zip((weight, 1 - weight), sides, strict=True)]


class Touch(NamedTuple):
    """The pair of `touching_pair` in floats: what it shows, the best forecast where all report x, and the weight of the first."""

    bound: float
    priors: tuple[float, float]
    report: float
    weight: float
    forecast: float
    posteriors: tuple[float, float]


def best_touch(agents: int, prior_range: tuple[float, float]) -> Touch:
    """The best pair of structures that touch, on ever finer grids of log-odds."""

    def chance(m: Any, t: Any, s: Any) -> Any:
        """That all report x: mu/g if their other report is 0, (1 - mu)/(1 - g) if it is 1; x is sigma(s)."""
        with np.errstate(divide="ignore", over="ignore"):  # in the case that does not apply
            return np.where(m < s, sigma(m) / sigma(t), sigma(-m) / sigma(-t))

    def pair(a: Any, b: Any, s: Any) -> tuple[Any, ...]:
        posts = [agents * s - (agents - 1) * m for m in (a, b)]
        roots = [np.sqrt(chance(m, t, s)) for m, t in zip((a, b), posts, strict=True)]
        g = [sigma(t) for t in posts]
        return ((g[0] - g[1]) * roots[0] * roots[1] / (roots[0] + roots[1])) ** 2, roots, g

    first, last = (_logit(min(max(end, 1e-6), 1 - 1e-6)) for end in prior_range)
    place, width = np.array([first, last, (first + last) / 2]), max(last - first, 4.0)
    while width > 1e-9:
        near = np.linspace(-width, width, 25)
        axes = [np.clip(place[0] + near, first, last), np.clip(place[1] + near, first, last), place[2] + near]
        a, b, s = np.meshgrid(*axes, indexing="ij")
        values = np.where(a < b, pair(a, b, s)[0], 0.0)
        i, j, k = np.unravel_index(int(values.argmax()), values.shape)
        place, width = np.array([axes[0][i], axes[1][j], axes[2][k]]), 0.5 * width
    bound, roots, g = pair(*place)
    weight = roots[1] / (roots[0] + roots[1])
    forecast = (g[0] * roots[0] + g[1] * roots[1]) / (roots[0] + roots[1])
    a, b, x = (float(sigma(z)) for z in place)
    return Touch(float(bound), (a, b), x, float(weight), float(forecast), (float(g[0]), float(g[1])))


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def mixture_on_record(agents: int, prior_range: Sequence[float] = (0.0, 1.0)) -> Mixture | None:
    """The mixture of tools/lower_bounds.py for so many agents, if there is one and its priors lie in the range."""
    mixture = _record(LOWER_BOUNDS).get(str(agents))
    low, high = (Fraction(float(end)) for end in prior_range)
    return mixture if mixture and all(low <= Fraction(entry["prior"]) <= high for entry in mixture) else None


@cache
def _record(file: Path) -> dict[str, Mixture]:
    return dict(json.loads(file.read_text(encoding="utf-8")))


def value_bound(
    mixture: Mixture, agents: int, prior_range: Sequence[float | Fraction] = (0.0, 1.0), loss: str = "square"
) -> Fraction:
    """What no aggregator can be better than against a mixture: exactly, or, under the log loss, its lower end in balls."""
    return exact_value(structures_of(mixture, agents, prior_range), UNLIMITED, loss)


def unanimous_bound(mixture: Mixture, agents: int, prior_range: Sequence[float | Fraction] = (0.0, 1.0)) -> Fraction:
    """What no unanimous aggregator can be better than against a mixture, exactly."""
    return exact_unanimous(structures_of(mixture, agents, prior_range), UNLIMITED)


def unanimous_claim(mixture: Mixture, agents: int, prior_range: Sequence[float] = (0.0, 1.0)) -> dict[str, Any]:
    """The ``unanimous`` of a certificate: what no unanimous aggregator can be better than, rounded down."""
    return {"bound": outward(unanimous_bound(mixture, agents, prior_range), "down"), "mixture": mixture}


def value_claim(
    mixture: Mixture, agents: int, prior_range: Sequence[float] = (0.0, 1.0), loss: str = "square"
) -> dict[str, Any]:
    """The ``value`` of a certificate: what no aggregator can be better than, rounded down."""
    return {"bound": outward(value_bound(mixture, agents, prior_range, loss), "down"), "mixture": mixture}


def lower_claim(
    mixture: Mixture,
    forecast: Callable[[Profile], Any],
    agents: int,
    prior_range: Sequence[float] = (0.0, 1.0),
    loss: str = "square",
) -> dict[str, Any]:
    """The ``lower`` of a certificate: an aggregator's expected regret under a mixture, rounded down."""
    exact = expected_regret(structures_of(mixture, agents, prior_range), forecast, UNLIMITED, loss)
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


def _best_prior(agents: int, loss: str = "square") -> Fraction:
    """The maximiser on (0, 1/2) of (mu/g) D(1/2, g), odds(g) = odds(1 - mu)^(n-1), by golden sections.

    D(1/2, g) is (g - 1/2)^2 or, under the log loss, KL(g || 1/2) = log 2 + g log g + (1-g) log(1-g).
    """

    def bound(mu: float) -> float:
        odds = (mu / (1 - mu)) ** (agents - 1)  # of 1 - g
        g = 1 / (1 + odds)
        if loss == "log":
            return mu / g * (math.log(2 * g) + (1 - g) * math.log(odds)) if odds else mu * math.log(2)
        return mu / g * (g - 0.5) ** 2

    left, right, ratio = 0.0, 0.5, (math.sqrt(5) - 1) / 2
    while right - left > 1e-9:  # the bound is flat there: it loses about 1e-18
        a, b = right - ratio * (right - left), left + ratio * (right - left)
        left, right = (left, b) if bound(a) > bound(b) else (a, right)
    return Fraction((left + right) / 2).limit_denominator(10**8)


def _best_unanimous(agents: int, first: float, last: float) -> tuple[float, float]:
    """The maximiser of (mu/g) (g - b)^2 over first <= mu <= last and mu <= b < 1/2, on ever finer grids."""

    def bound(mu: Any, b: Any) -> Any:
        logit = agents * np.log(b / (1 - b)) - (agents - 1) * np.log(mu / (1 - mu))
        g = 1 / (1 + np.exp(-np.clip(logit, -300, 300)))
        return mu / g * (g - b) ** 2

    mu, b, width = (first + last) / 2, 0.25, 0.25
    while width > 1e-9:
        near = np.linspace(-width, width, 41)
        priors, reports = np.clip(mu + near, max(first, 1e-9), last), np.clip(b + near, 1e-9, 0.4999)
        values = bound(*np.meshgrid(priors, reports, indexing="ij"))
        values = np.where(reports[None] >= priors[:, None], values, 0.0)
        i, j = np.unravel_index(int(values.argmax()), values.shape)
        mu, b, width = float(priors[i]), float(reports[j]), 0.4 * width
    return mu, b


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
    entry = {"weight": str(structure.weight), "prior": str(structure.prior), "reports": reports}
    return entry if structure.agents is None else {**entry, "agents": list(structure.agents)}
