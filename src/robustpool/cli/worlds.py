"""The options that describe a world, which ``design``, ``worst-case`` and ``certify`` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..families.worlds import INDEPENDENT, WORLDS, make_world

if TYPE_CHECKING:
    from ..families.world import World


@dataclass(frozen=True)
class WorldOptions:
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

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, but for the name of the world."""
        return {name: value for name, value in vars(self).items() if name != "world" and value is not None}

    def make(self, **others: Any) -> World:
        """The world of these options."""
        return make_world(self.world or INDEPENDENT, self.given | others)

    def of(self, rule: str) -> World:
        """The same with any reports and priors; what is not given is the design's, if the rule is a design."""
        from dataclasses import fields, replace

        from ..designs.any_aggregator import as_aggregator
        from ..designs.design import Design
        from ..errors import InputError
        from ..families.world import World
        from ..families.worlds import check_options, world_class

        chosen = as_aggregator(rule)
        own: Any = chosen.family if isinstance(chosen, Design) else self.make()
        if not isinstance(own, World):
            raise InputError(f"{rule!r} is a design for a finite family, which answers only its own reports.")
        if self.world is not None and not isinstance(own, world_class(self.world)):
            own = self.make()
        check_options(type(own), self.given)
        grids = {field.name: None for field in fields(own) if field.name in own.open_fields}
        return replace(own, **self.given | grids)

    def check_no_family(self, family: str, **others: Any) -> None:
        """Name the first option, of these and others, that was given beside a family file."""
        from ..errors import InputError

        for option, value in (vars(self) | others).items():
            if value is not None:
                name = option.replace("_", "-")
                raise InputError(f"--{name} is for a world with a name; --family {family!r} has its own structures.")
