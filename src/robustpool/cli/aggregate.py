"""``robustpool aggregate``: combine a few numbers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import InputError
from .render import JsonFlag, show


def aggregate(
    reports: Annotated[
        list[str], typer.Argument(help="The forecasters' probabilities, such as 0.7 0.6.", show_default=False)
    ],
    rule: Annotated[
        str, typer.Option("--rule", "-r", help="A rule (see `robustpool rules`) or a design file.")
    ] = "minimax",
    clip: Annotated[float | None, typer.Option(help="Bring probabilities into [CLIP, 1 - CLIP] first.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Combine probabilities for one event into one.

    Fractions such as 1/3 are numbers too. For a design whose reports are vectors (more than two states, or higher-order
    reports) write each with commas; for a design on decisions, the name of the state.

    \b
    Examples:
      robustpool aggregate 0.7 0.6
      robustpool aggregate 0.7 0.6 0.8 --rule extremized-odds:d=1.5
      robustpool aggregate 0.5 0.5 --rule weather.json
    """
    from ..aggregators.design import is_design_file

    if is_design_file(rule):
        numbers, forecast = _by_design(reports, rule, clip)
    else:
        numbers = [_report(place, text) for place, text in enumerate(reports, start=1)]
        forecast = _with_warnings(numbers, rule, clip)
    data = {"forecast": forecast, "rule": rule, "reports": numbers}
    shown = f"{forecast:.6g}" if isinstance(forecast, float) else " ".join(f"{value:.6g}" for value in forecast)
    show(data, [shown], as_json=as_json)


def _by_design(reports: list[str], rule: str, clip: float | None) -> tuple[list[Any], Any]:
    """The reports as numbers or vectors, and what a design says to them."""
    from ..aggregators.design import load_design

    if clip is not None:
        raise InputError("clip is for rules; a design takes the reports of its family as they are.")
    design = load_design(rule)
    states = design.data["family"].get("states", [])
    names = states if design.data["family"].get("report") == "decision" else []
    numbers = [_design_report(place, text, names) for place, text in enumerate(reports, start=1)]
    lengths = {len(number) if isinstance(number, list) else 1 for number in numbers}
    if len(lengths) > 1:
        raise InputError(f"reports must have one length; they have the lengths {sorted(lengths)}.")
    said = design([numbers])[0]
    return numbers, said.tolist() if said.ndim else float(said)


def _design_report(place: int, text: str, names: list[str]) -> Any:
    """A number, a vector with commas, or the name of a state for a design on decisions."""
    if text in names:
        chosen = names.index(text)
        return float(chosen) if len(names) == 2 else [float(k == chosen) for k in range(len(names))]
    parts = [_report(place, part) for part in text.split(",")]
    return parts if len(parts) > 1 else parts[0]


def _with_warnings(numbers: list[float], rule: str, clip: float | None) -> float:
    """The forecast; a warning becomes a line on standard error."""
    import warnings

    from ..forecasts import aggregate as pool

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forecast = pool(numbers, rule, clip=clip)
    for warning in caught:
        typer.echo(f"robustpool: warning: {warning.message}", err=True)
    return forecast


def _report(place: int, text: str) -> float:
    """A number, or a fraction such as 1/3."""
    above, slash, below = text.partition("/")
    try:
        return float(above) / float(below) if slash else float(text)
    except (ValueError, ZeroDivisionError):
        hint = _hint(text)
        raise InputError(f"report {place} must be a number; it is {text!r}{hint}.") from None


def _hint(text: str) -> str:
    for wrong, right in (("%", ""), (",", ".")):
        try:
            number = float(text.replace(wrong, right))
        except ValueError:
            continue
        if wrong in text:
            return f"; write {number / 100 if wrong == '%' else number:g}"
    return ""
