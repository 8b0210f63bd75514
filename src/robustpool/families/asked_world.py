"""A world as somebody asks for it: by its name and some of its options. Commands and requests share this."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .worlds import INDEPENDENT, check_options, make_world, world_class

if TYPE_CHECKING:
    from ..designs.any_aggregator import AnyAggregator
    from .world import World


@dataclass(frozen=True)
class AskedWorld:
    """How the forecasters come by what they say. What is None was not given, and is the world's own or the design's."""

    world: str | None = None
    agents: int | None = None
    prior_range: tuple[float, float] | None = None
    neglect: tuple[float, float] | None = None
    signals: int | None = None
    fraction: float | None = None
    states: int | None = None
    overlap: tuple[float, float] | None = None
    information: tuple[float, float] | None = None
    knowable: float | None = None
    second_answers: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, but for the name of the world."""
        return {name: value for name, value in vars(self).items() if name != "world" and value is not None}

    def make(self, **others: Any) -> World:
        """The world of these options."""
        return make_world(self.world or INDEPENDENT, self.given | others)

    def of(self, rule: AnyAggregator) -> World:
        """The same with any reports and priors; what is not given is the design's, if the rule is a design."""
        from ..designs.any_aggregator import as_aggregator
        from ..designs.design import Design
        from .world import World

        chosen = as_aggregator(rule)
        own: Any = chosen.family if isinstance(chosen, Design) else self.make()
        if not isinstance(own, World):
            name = rule if isinstance(rule, str) else getattr(chosen, "name", "this")
            raise InputError(f"{name!r} is a design for a finite family, which answers only its own reports.")
        if self.world is not None and not isinstance(own, world_class(self.world)):
            own = self.make()
        check_options(type(own), self.given)
        grids = {field.name: None for field in fields(own) if field.name in own.open_fields}
        return replace(own, **self.given | grids)

    def about(self, rule: AnyAggregator) -> World | None:
        """The world that a proof about a rule is for; None for that of the rule itself."""
        return self.of(rule) if self.world is not None or self.given else None

    def check_no_family(self, family: str | None = None, **others: Any) -> None:
        """Name the first option, of these and others, that was given beside a family file."""
        for option, value in (vars(self) | others).items():
            if value is not None:
                name, file = option.replace("_", "-"), "" if family is None else f" {family!r}"
                raise InputError(f"--{name} is for a world with a name; --family{file} has its own structures.")
