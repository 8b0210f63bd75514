"""``robustpool aggregate``: combine a few numbers."""

from __future__ import annotations

from pathlib import Path
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

    Reports that are vectors (designs for more than two states, or for higher-order reports) are written with commas.

    \b
    Examples:
      robustpool aggregate 0.7 0.6
      robustpool aggregate 0.7 0.6 0.8 --rule extremized-odds:d=1.5
      robustpool aggregate 0.5 0.5 --rule weather.json
    """
    numbers = [_report(place, text) for place, text in enumerate(reports, start=1)]
    forecast = _forecast(numbers, rule, clip)
    data = {"forecast": forecast, "rule": rule, "reports": numbers}
    shown = f"{forecast:.6g}" if isinstance(forecast, float) else " ".join(f"{value:.6g}" for value in forecast)
    show(data, [shown], as_json=as_json)


def _forecast(numbers: list[Any], rule: str, clip: float | None) -> Any:
    if all(isinstance(number, float) for number in numbers) and not _is_design_file(rule):
        return _with_warnings(numbers, rule, clip)
    from ..artefact import load_design

    if not _is_design_file(rule):
        raise InputError(f"reports with commas need a design file as --rule; it is {rule!r}.")
    if clip is not None:
        raise InputError("clip is for rules; a design takes the reports of its family as they are.")
    said = load_design(rule)([numbers])[0]
    return said.tolist() if said.ndim else float(said)


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


def _is_design_file(rule: str) -> bool:
    return rule.endswith(".json") or Path(rule).is_file()


def _report(place: int, text: str) -> float | list[float]:
    parts = text.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        hint = f"; write {float(text[:-1]) / 100:g}" if text.endswith("%") and _number(text[:-1]) else ""
        raise InputError(f"report {place} must be a number; it is {text!r}{hint}.") from None
    return values if len(parts) > 1 else values[0]


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
