"""Probabilities as people type them: 0.7, 70%, 70 %, 7/10; for the command line and for the page.

>>> probability(1, "70 %"), probability(2, "7/10"), probability(3, "0,7", decimal_comma=True)
(0.7, 0.7, 0.7)
"""

from __future__ import annotations

import math
import re
from typing import Any

from ..errors import InputError

THOUSANDS = r"[1-9]\d{0,2},\d{3}"
"""What may be a number of thousands: 1,000 is not read as 1."""


class MistypedError(InputError):
    """A report that is not a probability; ``place`` counts from 1, and ``suggestion`` is what was probably meant."""

    def __init__(self, place: int, sentence: str, suggestion: str | None = None) -> None:
        super().__init__(sentence)
        self.place = place
        self.suggestion = suggestion


def probability(place: int, text: str, *, decimal_comma: bool = False) -> float:
    """A report for a rule; a number that looks like a percentage without its sign gets its own error.

    With ``decimal_comma``, a single comma is a decimal point; else it is an error that says so, since vectors have commas.
    """
    text = text.strip()
    comma = decimal_comma and text.count(",") == 1 and "." not in text and not re.fullmatch(THOUSANDS, text)
    given = text.replace(",", ".") if comma else text
    number = report(place, given)
    if text.endswith("%") and not 0 <= number <= 1:
        raise MistypedError(place, f"report {place} must lie between 0% and 100%; it is {text}.")
    if 1 < number <= 100:
        sentence = f"report {place} must lie in [0, 1]; it is {text}; for {number:g} % write {number / 100:g}."
        raise MistypedError(place, sentence, f"{number:g} %")
    return number


def report(place: int, text: str) -> float:
    """A number, a percentage such as 70%, or a fraction such as 1/3."""
    above, slash, below = text.partition("/")
    if slash and above.strip() == below.strip() != "1" and above.strip().isdigit():
        raise MistypedError(
            place, f"report {place} is {text!r}, which may mean 1 or even odds; write 1 or 0.5.", "50 %"
        )
    try:
        if text.endswith("%"):
            return _number(text[:-1]) / 100
        return _number(above) / _number(below) if slash else _number(text)
    except (ValueError, ZeroDivisionError):
        raise MistypedError(place, f"report {place} must be a number; it is {text!r}{_hint(text)}.") from None


def entered(place: int, value: Any) -> float:
    """A report from a form or from JSON: a number, or a text as a person types it.

    >>> entered(1, 0.7), entered(2, "70%")
    (0.7, 0.7)
    """
    if isinstance(value, str):
        if not value.strip():
            raise MistypedError(place, f"report {place} is empty; write a probability such as 0.7 or 70 %.")
        number = probability(place, value, decimal_comma=True)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise MistypedError(place, f"report {place} must be a number; it is {value!r}.")
    else:
        number = probability(place, repr(value))
    if not 0 <= number <= 1:
        raise MistypedError(place, f"report {place} must lie in [0, 1]; it is {value}.")
    return number


def entered_distribution(place: int, values: Any, outcomes: int) -> list[float]:
    """A report on several outcomes, as numbers or as a person types them; they must sum to 1.

    >>> entered_distribution(1, ["60 %", 0.3, "1/10"], 3)
    [0.6, 0.3, 0.1]
    """
    from ..aggregators.distributions import SUM_TOLERANCE

    if not isinstance(values, list) or len(values) != outcomes:
        raise MistypedError(place, f"report {place} must be a list of {outcomes} probabilities; it is {values!r}.")
    numbers = [entered(place, value) for value in values]
    if abs(sum(numbers) - 1) > SUM_TOLERANCE:
        raise MistypedError(
            place, f"the probabilities of report {place} must sum to 1; they sum to {sum(numbers):.10g}."
        )
    return numbers


def _number(text: str) -> float:
    """A number; Python alone would read 0_1 as 1, and nan."""
    number = math.nan if "_" in text else float(text)
    if math.isnan(number):
        raise ValueError(text)
    return number


def _hint(text: str) -> str:
    """What to write in place of a decimal comma, or of a distribution over more than two outcomes."""
    if text.count(",") > 1:
        return "; for a question with more than two outcomes give a file with a row for each forecaster and option (`robustpool aggregate FILE.csv`)"
    sign = "%" if text.endswith("%") else ""
    try:
        return f"; write {_number(text.removesuffix('%').replace(',', '.')):g}{sign}" if "," in text else ""
    except ValueError:
        return ""
