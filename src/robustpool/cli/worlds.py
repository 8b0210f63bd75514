"""The options that describe a world, which ``design``, ``worst-case`` and ``certify`` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

if TYPE_CHECKING:
    from ..families.world import World


@dataclass(frozen=True)
class WorldOptions:
    """How the forecasters come by what they say; the names are those of the fields of the worlds."""

    world: Annotated[
        str | None,
        Option(help="independent or common-source. See `robustpool table` for the worlds.", show_default="independent"),
    ] = None
    agents: Annotated[int | None, Option(help="How many forecasters.", show_default="2, or the design's")] = None
    prior_range: Annotated[
        tuple[float, float] | None,
        Option(metavar="LO HI", help="Only priors between LO and HI.", show_default="all, or the design's"),
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, but for the name of the world."""
        return {name: value for name, value in vars(self).items() if name != "world" and value is not None}

    def make(self, **others: Any) -> World:
        """The world of these options."""
        from ..families.worlds import INDEPENDENT, make_world

        return make_world(self.world or INDEPENDENT, self.given | others)

    def of(self, rule: str) -> World:
        """The same with any reports and priors; what is not given is the design's, if the rule is a design."""
        from dataclasses import fields, replace

        from ..designs.any_aggregator import as_aggregator
        from ..designs.design import Design
        from ..errors import InputError
        from ..families.world import World
        from ..families.worlds import world_class

        chosen = as_aggregator(rule)
        own: Any = chosen.family if isinstance(chosen, Design) else self.make()
        if not isinstance(own, World):
            raise InputError(f"{rule!r} is a design for a finite family, which answers only its own reports.")
        if self.world is not None and not isinstance(own, world_class(self.world)):
            own = self.make()
        grids = {field.name: None for field in fields(own) if field.name in ("reports", "priors")}
        self.make()  # says which options do not belong to the world
        return replace(own, **self.given | grids)
