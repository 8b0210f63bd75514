"""The options that describe a world, which ``design``, ``worst-case`` and ``certify`` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Option

from ..families.asked_world import AskedWorld
from ..families.worlds import INDEPENDENT, WORLDS


@dataclass(frozen=True)
class WorldOptions(AskedWorld):
    """How the forecasters come by what they say; the names are those of the fields of the worlds."""

    world: Annotated[
        str | None,
        Option(help=f"{', '.join(WORLDS)}. `robustpool table` has their values.", show_default=INDEPENDENT),
    ] = None
    agents: Annotated[int | None, Option(help="How many forecasters.", show_default="2, or the design's")] = None
    prior_range: Annotated[
        tuple[float, float] | None,
        Option(metavar="LO HI", help="Only priors between LO and HI.", show_default="all, or the design's"),
    ] = None
    neglect: Annotated[
        tuple[float, float] | None,
        Option(
            metavar="LO HI",
            help="World neglect: the power of the base rate in what they say, 1 for all of it.",
            show_default="0.5 1",
        ),
    ] = None
    signals: Annotated[
        int | None, Option(help="World identical: search experiments with up to this many signals.", show_default="3")
    ] = None
    fraction: Annotated[
        float | None,
        Option(help="World contaminated: the fraction of questions with any correlation.", show_default="0.05"),
    ] = None
    states: Annotated[
        int | None, Option(help="World several-states: how many outcomes a question has.", show_default="3")
    ] = None
    overlap: Annotated[
        tuple[float, float] | None,
        Option(
            metavar="LO HI",
            help="World partial-information: the share of what one forecaster knows that each other one knows too.",
            show_default="0.2 1",
        ),
    ] = None
    information: Annotated[
        tuple[float, float] | None,
        Option(
            metavar="LO HI",
            help="World partial-information: the share of what can be known that one forecaster knows.",
            show_default="0 1",
        ),
    ] = None
    knowable: Annotated[
        float | None,
        Option(
            help="World partial-information: the most that all forecasters know together of what can be known.",
            show_default="0.9",
        ),
    ] = None
    second_answers: Annotated[
        int | None,
        Option(help="World second-question: second answers are rounded to multiples of 1/R.", show_default="4"),
    ] = None
