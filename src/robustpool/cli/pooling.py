"""Combining a few numbers for the command line: text in, text and data out. Without typer, so that it starts at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..explanation.typed import probability, report
from .output import Answer, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..designs.design import Design


NUMERALS = frozenset("0123456789.,/%eE+-")
"""What a number is written with; a name with another character may be a file."""


def pooled(reports: list[str], rule: str, clip: float | None) -> Answer:
    """The forecast."""
    from ..forecasts import ClippedWarning, aggregate

    numbers, design = _numbers(reports, rule, clip)
    if design is None:
        with warnings_on_standard_error(ClippedWarning):
            forecast = aggregate(numbers, rule, clip=clip)
    else:
        forecast = design([numbers])[0].tolist()
    shown = f"{forecast:.6g}" if isinstance(forecast, float) else " ".join(f"{value:.6g}" for value in forecast)
    clipped = 0 if design else _say_clipped(numbers, rule, clip)
    return Answer({"forecast": forecast, "rule": rule, "reports": numbers, "clipped": clipped}, [shown])


def explained(reports: list[str], rule: str, clip: float | None, prior_range: tuple[float, float] | None) -> Answer:
    """The forecast and its reasons."""
    from ..explanation.explain import explain
    from ..views.explanation import as_data, as_lines, takes_braille
    from ..views.terminal import terminal_width

    numbers, design = _numbers(reports, rule, clip)
    with warnings_on_standard_error():
        why = explain(numbers, rule, prior_range=prior_range, clip=clip)
    clipped = 0 if design else _say_clipped(numbers, rule, clip)
    data = {"forecast": why.forecast, "rule": rule, "reports": numbers, "clipped": clipped, "explanation": as_data(why)}
    return Answer(data, as_lines(why, terminal_width(), braille=takes_braille()))


def quick_arguments(arguments: list[str]) -> tuple[list[str], str, bool] | None:
    """Reports, rule and whether JSON is wanted, of ``aggregate 0.7 0.6 [--rule R] [--json]``; None for anything else."""
    if arguments[:1] != ["aggregate"]:
        return None
    reports, rule, as_json, rest = [], "robust", False, iter(arguments[1:])
    for word in rest:
        if word == "--json":
            as_json = True
        elif word in ("--rule", "-r"):
            rule = next(rest, "")
        elif word.removeprefix(".")[:1].isdigit() and NUMERALS.issuperset(word):
            reports.append(word)
        else:
            return None
    return (reports, rule, as_json) if reports and rule else None


def _numbers(reports: list[str], rule: str, clip: float | None) -> tuple[list[Any], Design | None]:
    """The reports as a rule takes them, or as a design does: numbers, or vectors of one length; and the design.

    A design in which a certain report decides is treated like a rule: its reports are clipped.
    """
    from ..designs.any_aggregator import as_aggregator
    from ..designs.design import Design
    from ..designs.records import FiniteRecord

    design = as_aggregator(rule)
    if not isinstance(design, Design) or design.decided_by_one:
        return [probability(place, text) for place, text in enumerate(reports, start=1)], None
    if clip is not None:
        raise InputError("clip is for rules; a design uses the reports of its family unchanged.")
    family = design.family
    names = family.states if isinstance(family, FiniteRecord) and family.report == "decision" else ()
    numbers = [_design_report(place, text, names) for place, text in enumerate(reports, start=1)]
    lengths = {len(number) if isinstance(number, list) else 1 for number in numbers}
    if len(lengths) > 1:
        raise InputError(f"reports must have the same length; the lengths are {sorted(lengths)}.")
    return numbers, design


def _design_report(place: int, text: str, names: tuple[str, ...]) -> Any:
    """A number, a vector with commas, or the name of a state for a design on decisions."""
    if text in names:
        state = names.index(text)
        return float(state) if len(names) == 2 else [float(k == state) for k in range(len(names))]
    parts = [report(place, part) for part in text.split(",")]
    return parts if len(parts) > 1 else parts[0]


def _say_clipped(numbers: list[float], rule: str, clip: float | None) -> int:
    """How many reports were clipped; reported on standard error if clipping was by default."""
    import numpy as np

    from ..designs.any_aggregator import as_aggregator
    from ..forecasts import clip_for, outside
    from ..practice.pooling import clipping_words

    clipped = outside(np.array(numbers), clip_for(as_aggregator(rule), clip))
    if (words := clipping_words(rule, rule, clip, clipped, len(numbers), "report")) is not None:
        say(words)
    return clipped


@contextmanager
def warnings_on_standard_error(*unsaid: type[Warning]) -> Iterator[None]:
    """Warnings become lines on standard error, except for some kinds, which are reported elsewhere."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not issubclass(warning.category, unsaid):
            say(f"warning: {warning.message}")
