"""Numbers as people read them: bounds rounded outward, forecasts with the digits that matter, counts with their nouns, lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_DIGITS = 6
"""From there on a forecast is written by its distance from 0 or 1."""

MOST_NAMES = 5
"""Names in a sentence; the others are counted."""


def outward(value: float, rounding: str, digits: int = 12) -> str:
    """A bound as text, rounded away from the value that it bounds (ROUND_FLOOR or ROUND_CEILING).

    >>> outward(0.0225424859, "ROUND_CEILING", 6)
    '0.022543'
    """
    from decimal import Context, Decimal

    if not math.isfinite(value):
        return str(float(value))
    wide = Context(prec=digits + 400)  # no double has more digits before the point
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=rounding, context=wide):f}"


def between(lower: float, upper: float, digits: int = 12) -> str:
    """Two bounds in a sentence, rounded outward.

    >>> between(0.12345, 0.12345, 3)
    'between 0.123 and 0.124'
    """
    return f"between {outward(lower, 'ROUND_FLOOR', digits)} and {outward(upper, 'ROUND_CEILING', digits)}"


def between_points(regret: float) -> str:
    """What a search found between the points of a grid: the worst case there is at least that.

    >>> between_points(0.15434567)
    'at least 0.154345 (found by search)'
    >>> between_points(math.inf)
    'infinite (found by search)'
    """
    if regret == math.inf:
        return "infinite (found by search)"
    return f"at least {outward(regret, 'ROUND_FLOOR', 6)} (found by search)"


def at_most(value: float, digits: int = 2) -> str:
    """A gap as text, rounded up to some significant digits.

    >>> at_most(9.2301e-7), at_most(0.0)
    ('9.3e-7', '0')
    """
    from decimal import ROUND_CEILING, Context

    return f"{Context(prec=digits, rounding=ROUND_CEILING).create_decimal(float(value)):g}"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "round"), counted(1200, "structure")
    ('1 round', '1,200 structures')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def estimate(value: float | None, digits: int = 4) -> str:
    """An estimate as text.

    >>> estimate(0.20007), estimate(float("inf")), estimate(None)
    ('0.2001', 'infinite', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}f}" if math.isfinite(value) else "infinite"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names in a sentence, not too many.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed("abcdefg"), listed("abcdefg", most=7)
    ('a', 'a, b and c', 'a, b, c, d and 3 more', 'a, b, c, d, e, f and g')
    """
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def shown(forecast: float | tuple[float, ...]) -> str:
    """A forecast with three digits, or as many as keep it away from 0 and 1.

    >>> shown(0.66077), shown(0.99996), shown(1 - 4e-12), shown(0.0), shown((0.2, 0.8))
    ('0.661', '0.99996', '1 - 4e-12', '0', '(0.200, 0.800)')
    """
    if isinstance(forecast, tuple):
        return "(" + ", ".join(map(shown, forecast)) + ")"
    if 0 < forecast < 1 and _digits(forecast) > MOST_DIGITS:
        return f"{forecast:.1g}" if forecast < 0.5 else f"1 - {1 - forecast:.1g}"
    return f"{forecast:.{_digits(forecast)}f}" if 0 < forecast < 1 else f"{forecast:g}"


def percent(probability: float) -> str:
    """A base rate in per cent, with as many digits as keep it away from 0 and 100.

    >>> percent(0.05), percent(0.6423), percent(0.99999), percent(2e-20), percent(1 - 2e-16)
    ('5 %', '64.2 %', '99.999 %', '2e-18 %', 'just below 100 %')
    """
    if 0 < probability < 1 and _digits(probability) > MOST_DIGITS:
        return f"{100 * probability:.1g} %" if probability < 0.5 else "just below 100 %"
    digits = _digits(probability) - 2 if 0 < probability < 1 else 0
    return f"{100 * probability:.{digits}f}".removesuffix(".0") + " %"


def interval_end(posterior: float, rounding: str) -> str:
    """The end of an interval with the digits of a forecast, rounded away from the interval."""
    if not 0 < posterior < 1:
        return shown(posterior)
    return outward(posterior, rounding, min(_digits(posterior), MOST_DIGITS))


def _digits(probability: float) -> int:
    """Three digits, or as many as keep it away from 0 and 1."""
    return max(3, math.ceil(-math.log10(min(probability, 1 - probability)) - 1e-9))
