"""Combining a few numbers for the command line: text in, text and data out. Without typer, so that it starts at once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Asked:
    """What --explain is told besides the reports and the rule."""

    prior_range: tuple[float, float] | None = None
    public_evidence: bool = False
    knows_all: str | None = None
    slope: float | None = None
    weights: str | None = None
    names: str | None = None
    report: str | None = None

    def given(self) -> str | None:
        """The first option that was given, as it is written."""
        return next((f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value), None)

    def know(self) -> dict[str, Any]:
        """What is known, as `read_knowledge` takes it; places count from 1 here."""
        who = self.knows_all
        place = int(who) - 1 if who is not None and who.isdecimal() else who
        known = {"base_rate": self.prior_range, "public": self.public_evidence or None}
        return known | {"knows_all": place, "slope": self.slope}


def explained(reports: list[str], rule: str, clip: float | None, asked: Asked) -> Answer:
    """The forecast and its reasons; with what is known, and as a page, if that is wanted."""
    from ..aggregators.rules import Rule
    from ..designs.any_aggregator import as_aggregator
    from ..explanation.explain import explain
    from ..views.explanation import as_data, as_lines, takes_braille
    from ..views.terminal import terminal_width, wrapped
    from ..wording import shown

    numbers, design = _numbers(reports, rule, clip)
    more = replace(asked, prior_range=None).given()
    if more is not None and not isinstance(as_aggregator(rule), Rule):
        raise InputError(f"{more} is for named rules; {rule!r} is a design or a fitted pool.")
    weights, names = _weights(asked.weights), [] if asked.names is None else asked.names.split(",")
    if names and len(names) != len(numbers):
        raise InputError(f"--names must be one for each of the {len(numbers)} reports; there are {len(names)}.")
    with warnings_on_standard_error():
        why = explain(numbers, rule, prior_range=asked.prior_range, clip=clip, weights=weights, names=names)
    clipped = 0 if design else _say_clipped(numbers, rule, clip)
    data = {"forecast": why.forecast, "rule": rule, "reports": numbers, "clipped": clipped, "explanation": as_data(why)}
    lines = as_lines(why, terminal_width(), braille=takes_braille())
    if more is not None:
        said = _answer(numbers, rule, clip, weights, names, asked)
        known = [sentence for sentences in said.knowledge.values() for sentence in sentences]
        data["knowing"] = {"forecast": said.forecast, "rule": said.used, "sentences": known}
        if known:
            known += [f"With what is known, the forecast is {shown(said.forecast)}."]
            lines += wrapped(["", "What is known", *known], terminal_width())
        if asked.report is not None:
            from ..views.explanation_page import write_explanation

            write_explanation(said, asked.report)
            data["report"] = asked.report
            lines += ["", f"The report is in {asked.report}"]
    return Answer(data, lines)


def _answer(
    numbers: list[float], rule: str, clip: float | None, weights: list[float] | None, names: list[str], asked: Asked
) -> Any:
    from ..explanation.answering import answer
    from ..explanation.knowledge import read_knowledge

    know = read_knowledge(asked.know(), len(numbers))
    return answer(numbers, rule, clip=clip, weights=weights, know=know, names=names)


def _weights(text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(weight) for weight in text.split(",")]
    except ValueError:
        raise InputError(f"--weights must be numbers with commas between; it is {text!r}.") from None


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
