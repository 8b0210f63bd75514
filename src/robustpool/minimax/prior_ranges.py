"""Two forecasters whose base rate lies in a known range: the rule, and its worst case against the range, proved.

The rule is logit f = alpha s - shift. The two structures of `touching_pair`, with the priors a < b and the posteriors g_a, g_b where
both report x, force its forecast f and its slope there (docs/worlds/prior-ranges.md):

    f = (g_a sqrt p_a + g_b sqrt p_b) / (sqrt p_a + sqrt p_b),
    alpha = (1 - g_a)(g_a + f) / (2 f (1 - f)),   or, if x lies at a:   alpha = g_b (2 - g_b - f) / (2 f (1 - f)).

Where `minimax` is as good, as for the widest ranges, that is the rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, log1p
from typing import TYPE_CHECKING

from ..aggregators.rules import get_rule
from ..certificates.certify import certify
from ..certificates.log_odds import phi_of, worst_regret
from ..certificates.mixtures import best_touch
from ..errors import InputError
from ..families.conditionally_independent import ConditionallyIndependent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..aggregators.rules import Rule

DIGITS = 5
"""Decimals of alpha and shift."""


@dataclass(frozen=True)
class PriorRange:
    """A range of base rates with proved bounds: no rule has a smaller worst case than ``lower``, that of ``rule`` is at most ``upper``."""

    low: float
    high: float
    lower: float
    upper: float
    rule: str


def prior_range_rule(low: float, high: float) -> Rule:
    """The rule for two forecasters with independent evidence whose base rate lies between ``low`` and ``high``.

    >>> prior_range_rule(0.1, 0.3).name, prior_range_rule(0.0, 1.0).name
    ('log-odds:alpha=0.81526,shift=-0.94431', 'minimax')
    """
    if not 0 <= low < high <= 1:
        raise InputError(f"a range of base rates must have 0 <= low < high <= 1; it is from {low!r} to {high!r}.")
    touch = best_touch(2, (low, high))
    f, (g_a, g_b), x = touch.forecast, touch.posteriors, touch.report
    near_a = abs(x - touch.priors[0]) < abs(x - touch.priors[1])
    alpha = (g_b * (2 - g_b - f) if near_a else (1 - g_a) * (g_a + f)) / (2 * f * (1 - f))
    shift = 2 * alpha * _logit(x) - _logit(f)
    rules = [get_rule("minimax"), get_rule(f"log-odds:alpha={round(alpha, DIGITS)!r},shift={round(shift, DIGITS)!r}")]
    return min(rules, key=lambda rule: _worst(rule, low, high))


def prior_range_curve(ranges: Iterable[tuple[float, float]]) -> Iterator[PriorRange]:
    """The value against the range of base rates, for two forecasters with independent evidence: proved bounds, range by range.

    >>> next(prior_range_curve([(0.3, 0.7)])).rule
    'log-odds:alpha=0.72'
    """
    for low, high in ranges:
        rule = prior_range_rule(low, high)
        proof = certify(rule, ConditionallyIndependent(2, None, None, (low, high)))
        assert proof.value is not None
        assert proof.upper is not None
        yield PriorRange(low, high, proof.value, proof.upper, rule.name)


def _worst(rule: Rule, low: float, high: float) -> float:
    """The worst case that the two-dimensional search finds."""
    phi = phi_of(rule, 2)
    assert phi is not None
    return worst_regret(phi, 2, (Fraction(low), Fraction(high)))


def _logit(p: float) -> float:
    return log(p) - log1p(-p)
