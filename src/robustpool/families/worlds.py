"""The worlds by name: which file has which, and how options become a family."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import checks
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .world import World

INDEPENDENT = "independent"

WORLDS = {
    INDEPENDENT: "conditionally_independent:ConditionallyIndependent",
    "common-source": "common_source:CommonSource",
    "partial-information": "partial_information:PartialInformation",
    "neglect": "neglect:Neglect",
    "identical": "identical:Identical",
    "correlated": "correlated:Correlated",
    "contaminated": "contaminated:Contaminated",
    "several-states": "several_states:SeveralStates",
    "second-question": "second_question:SecondQuestion",
}
"""name: module:class, so that only the world that somebody asks for is imported."""


def world_class(name: str) -> type[World]:
    """The class of a world.

    >>> world_class("independent").kind
    'conditionally-independent'
    """
    module, _, record = WORLDS[checks.choice("world", name, WORLDS)].partition(":")
    found: type[World] = getattr(import_module(f".{module}", __package__), record)
    return found


def class_of_kind(kind: str) -> type[World] | None:
    """The class of the families that call themselves so in a design file; None if there is none."""
    return next((world for world in map(world_class, WORLDS) if world.kind == kind), None)


def make_world(name: str, options: Mapping[str, Any]) -> World:
    """The world with these options.

    >>> make_world("independent", {"agents": 3, "priors": None}).words()
    '3 conditionally independent agents, reports in steps of 1/20, any prior'
    """
    world = world_class(name)
    check_options(world, options)
    return world(**options)


def check_options(world: type[World], options: Iterable[str]) -> None:
    """Name the first option that the world does not have."""
    for option in options:
        if option not in options_of(world):
            name = next(each for each in WORLDS if world_class(each) is world)
            owners = ", ".join(other for other in WORLDS if option in options_of(world_class(other)))
            raise InputError(
                f"--{option.replace('_', '-')} is not an option of the world {name}; it belongs to {owners or 'none'}."
            )


def options_of(world: type[World]) -> set[str]:
    """The options that a world has.

    >>> sorted(options_of(world_class("correlated")))
    ['agents', 'reports']
    """
    return {field.name for field in fields(world)}  # type: ignore[arg-type]
