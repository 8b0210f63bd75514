"""Reading a certificate: exact sets of fields, exact numbers, labels that cannot lie, and a budget for all the work.

A schema says what a value must be: an object with exactly these fields ({"prior": rational, "split?": ...}, where "?"
marks what may be absent), a list of such values ([rational]), a function of the value and its place that returns what
was read or refuses it, or `LATER`. What a schema does not name is refused, so a certificate holds nothing unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

Schema = dict[str, Any] | list[Any] | Callable[[Any, str], Any] | None
LATER = None  # a part that is read later, when it is known what it should be

LARGEST = 10**300  # larger numbers are no probabilities, and a sentence could not show them as doubles
DIGITS = 1000  # of a numerator or a denominator
LABEL = 80  # characters
SHOWN = 40  # characters of a number that a claim shows
MOST_AGENTS = 100  # who are conditionally independent
STEPS = 120_000_000  # the budget unless the reader gives another; a step takes about a microsecond

RATIONAL = re.compile(rf"-?[0-9]{{1,{DIGITS}}}(/[0-9]{{1,{DIGITS}}})?")


class Refused(Exception):  # noqa: N818
    """A claim that is not proved, or a file that is not well formed; the sentence says why."""


class OverBudget(Refused):
    """A check that would take more work than the reader allows: neither proved nor refuted."""


class Budget:
    """How much work a check may do, in steps of about a microsecond each."""

    def __init__(self, steps: float = STEPS) -> None:
        """Start with nothing spent."""
        self.steps, self.spent = steps, 0.0

    def spend(self, steps: float) -> None:
        """Count work before it is done, and refuse what the budget does not allow."""
        self.spent += steps
        if self.spent > self.steps:
            more = 10 * max(int(self.steps), 1)
            raise OverBudget(f"this needs more than the budget of {self.steps:,.0f} steps; run with --budget {more}.")


def read(value: Any, schema: Schema, where: str) -> Any:
    """The value as the schema reads it.

    >>> read({"prior": "1/3", "knots": [0, 1]}, {"prior": rational, "knots": [double], "end?": label}, "entry")
    {'prior': Fraction(1, 3), 'knots': [0.0, 1.0]}
    """
    if isinstance(schema, dict):
        names = {name.rstrip("?"): part for name, part in schema.items()}
        if not isinstance(value, Mapping):
            raise Refused(f"{where} must be an object with the fields {', '.join(names)}.")
        if missing := [name for name in schema if not name.endswith("?") and name not in value]:
            raise Refused(f"{where} must have the field {missing[0]!r}.")
        if unknown := [name for name in value if name not in names]:
            raise Refused(f"{where} has the field {quoted(unknown[0])}, which is not checked.")
        return {name: read(value[name], part, f"{where}.{name}") for name, part in names.items() if name in value}
    if isinstance(schema, list):
        if not isinstance(value, list):
            raise Refused(f"{where} must be a list; it is {quoted(value)}.")
        return [read(part, schema[0], f"{where}[{i}]") for i, part in enumerate(value)]
    return value if schema is LATER else schema(value, where)


def by_kind(**schemas: Schema) -> Callable[[Any, str], Any]:
    """A schema for an object whose field ``kind`` says which of several it is."""

    def one_of_them(value: Any, where: str) -> Any:
        named = {name.replace("_", "-"): schema for name, schema in schemas.items()}
        kind = word(*named)(value.get("kind") if isinstance(value, Mapping) else None, f"{where}.kind")
        return read(value, named[kind], where)

    return one_of_them


def word(*words: str) -> Callable[[Any, str], str]:
    """A schema for one of some words."""

    def one_of_them(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise Refused(f"{where} must be {' or '.join(map(repr, words))}; it is {quoted(value)}.")
        return value

    return one_of_them


def rational(value: Any, where: str) -> Fraction:
    """A JSON number as the exact fraction that this double is, or a text such as "1/3".

    >>> rational("2/6", "x"), rational(0.25, "x")
    (Fraction(1, 3), Fraction(1, 4))
    """
    if type(value) is str and RATIONAL.fullmatch(value):
        above, _, below = value.partition("/")
        if below and not int(below):
            raise Refused(f"{where} has the denominator 0.")
        value = Fraction(int(above), int(below or 1))
    if type(value) not in (int, float, Fraction) or not abs(value) <= LARGEST:  # NaN fails too
        raise Refused(f'{where} must be a finite number or a text such as "1/3"; it is {quoted(value)}.')
    return Fraction(value)


def double(value: Any, where: str) -> float:
    """A JSON number that is a double; bounds are, so that every program shows the same."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    if isinstance(value, str):
        raise Refused(f"{where} must be a number; it is text.")
    exact = rational(value, where)
    if float(exact) != exact:
        raise Refused(f"{where} must be a double; it is {quoted(value)}.")
    return float(exact)


def exactly(value: Any, where: str) -> str:
    """A number as a claim shows it: all of it, so that the claim is about no other.

    >>> exactly(0.1, "b"), exactly("1/3", "b"), exactly(4, "k")
    ('0.1', '1/3', '4')
    """
    rational(value, where)
    text = value if isinstance(value, str) else repr(value)
    if len(text) > SHOWN:
        raise Refused(f"{where} must be a number of at most {SHOWN} characters: the claim states it.")
    return text


def label(value: Any, where: str) -> str:
    """A text for people, in which nothing is proved: one line of printable characters, and not a long one."""
    if not isinstance(value, str) or len(value) > LABEL or not value.isprintable():
        raise Refused(f"{where} must be a text of at most {LABEL} printable characters; it is {quoted(value)}.")
    return value


def quoted(value: Any) -> str:
    """A value of the file as a sentence shows it: one line, escaped, not longer than people read.

    >>> quoted("a\\nb"), quoted("x" * 100)
    ("'a\\\\nb'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...")
    """
    if isinstance(value, (list, Mapping)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    text = ascii(value if not isinstance(value, str) else value[:LABEL])
    return text if len(text) <= 40 else f"{text[:40]}..."


def short(x: Fraction) -> str:
    """A fraction as it stands in a sentence.

    >>> short(Fraction(1, 3)), short(Fraction(10**30 + 1, 10**31))
    ('1/3', 'about 0.1')
    """
    return str(x) if abs(x.numerator) < 10**12 > x.denominator else f"about {float(x)!r}"
