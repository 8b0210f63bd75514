"""Options in JSON: only those that there are, each of its kind. What they mean is checked where they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import checks
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def whole(name: str, value: Any) -> int:
    """A whole number, of a size that the library handles."""
    return checks.whole(name, value, least=0, most=10**9)


def number(name: str, value: Any) -> float:
    """A number."""
    return checks.number(name, value)


def pair(name: str, value: Any) -> tuple[float, float]:
    """A list of two numbers, from low to high."""
    return checks.interval(name, tuple(value) if isinstance(value, list) else value, least=-1e300, most=1e300)


def text(name: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text; it is {value!r}.")
    return value


def word(name: str, value: Any) -> str:
    """A text that is no file: what a client sends never becomes a path."""
    if text(name, value).endswith(".json"):
        raise InputError(f"{name} must be a name; {value!r} is a file, which belongs into the request itself.")
    return value


def flag(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false; it is {value!r}.")
    return value


def content(name: str, value: Any) -> dict[str, Any]:
    """The content of a JSON file."""
    if not isinstance(value, dict):
        raise InputError(f"{name} must be the JSON object of a file; it is {str(value)[:80]!r}.")
    return value


def steps(name: str, value: Any) -> str:
    """A whole number or a word, as a command line has it."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError(f"{name} must be a whole number or continuous; it is {value!r}.")
    return str(value)


WORLD: Mapping[str, Callable[[str, Any], Any]] = {
    "world": text,
    "agents": whole,
    "prior_range": pair,
    "neglect": pair,
    "signals": whole,
    "fraction": number,
    "states": whole,
    "overlap": pair,
    "information": pair,
    "knowable": number,
    "second_answers": whole,
}
"""The fields of `robustpool.families.asked_world.AskedWorld`."""


def read_options(data: dict[str, Any], readers: Mapping[str, Callable[[str, Any], Any]]) -> dict[str, Any]:
    """The options that were given, without those that are null.

    >>> read_options({"agents": 3, "loss": None}, {"agents": whole, "loss": text})
    {'agents': 3}
    """
    for name in data:
        if name not in readers:
            raise InputError(f"there is no option {name!r}; the options are {', '.join(readers)}.")
    return {name: readers[name](name, value) for name, value in data.items() if value is not None}
