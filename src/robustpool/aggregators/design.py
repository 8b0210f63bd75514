"""A design as it stands in a file, and whatever users call an aggregator: a rule's name, a design file, a function."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from .. import html
from ..errors import InputError
from ..structures.conditionally_independent import ConditionallyIndependent
from ..wording import between, counted
from .grid import GridAggregator
from .rules import get_rule
from .table import TableAggregator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

DESIGN_FORMAT = "robustpool-design/1"

AnyAggregator = str | os.PathLike[str] | Callable[[Any], Any]
"""The name of a rule, a design file (``*.json`` or a path), or a callable from reports (m, n) to forecasts (m,)."""


@dataclass(frozen=True, eq=False)
class Design:
    """A design; call it like any aggregator. ``data`` is the whole content of the file."""

    aggregator: TableAggregator | GridAggregator
    lower: float
    upper: float
    data: dict[str, Any]

    def __call__(self, reports: ArrayLike) -> NDArray[np.float64]:
        """The forecasts for report profiles."""
        return self.aggregator(reports)

    @property
    def made_for(self) -> str:
        """Its family in words."""
        about = self.data["family"]
        if about["kind"] == "finite":
            return f"a finite family of {counted(about['structures'], 'structure')}"
        low, high = about["prior_range"]
        family = ConditionallyIndependent(about["agents"], about["reports"], about["priors"], (low, high))
        return family.words(self.data["settings"]["nature"])

    @property
    def certifiable(self) -> bool:
        """Whether `certify` has a proof for such a design.

        The square loss; a finite family, or the additive regret of two agents over a range of priors.
        """
        about, settings = self.data["family"], self.data["settings"]
        if about["kind"] == "finite":
            return bool(settings["loss"] == "square")
        independent = about["agents"] == 2 and about["prior_range"][0] < about["prior_range"][1]
        return independent and (settings["loss"], settings["paradigm"]) == ("square", "additive")

    @property
    def off_grid(self) -> bool:
        """Whether its upper bound is the worst regret found over any reports of independent agents, not over a grid or a list."""
        settings = self.data["settings"]
        return (settings["loss"], settings["paradigm"], settings["nature"]) == ("square", "additive", "continuous")

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return f"design {self.data['hash'][7:15]}"

    def _repr_html_(self) -> html.Html:
        """In a notebook: the bounds, how they came about, and the aggregator."""
        bounds, settings, family, stopped = (
            part if isinstance(part := self.data.get(key), dict) else {}
            for key in ("bounds", "settings", "family", "stopped")
        )
        words = "not proved" if not bounds.get("proved") else "proved, as the file says"
        arithmetic = bounds.get("arithmetic", "floating point")
        said = [
            ("value of the game", f"{between(self.lower, self.upper, 9)}, {words}"),
            ("lower bound", f"measured ({arithmetic})"),
            ("upper bound", bounds.get("upper_is", "measured")),
            ("family", family.get("kind", "unknown")),
            ("game", f"{settings.get('loss', 'unknown')} loss, {settings.get('paradigm', 'unknown paradigm')}"),
            ("it ended because", stopped.get("sentence", "unknown")),
        ]
        title = f"Design {str(self.data.get('hash', ''))[7:15]}".rstrip()
        return html.card(title, html.facts(said), self.aggregator._repr_html_())


def load_design(path: str | os.PathLike[str]) -> Design:
    """Read a design file and check that nobody changed it."""
    name = os.fspath(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the design file {name!r} does not exist.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the design file {name!r} cannot be read ({error}).") from None
    if not isinstance(data, dict) or data.get("format") != DESIGN_FORMAT:
        found = data.get("format") if isinstance(data, dict) else None
        raise InputError(f"{name!r} is not a design: format must be {DESIGN_FORMAT!r}; it is {found!r}.")
    if data.get("hash") != content_hash({key: value for key, value in data.items() if key != "hash"}):
        raise InputError(f"{name!r} was changed after it was written: its content does not match its hash.")
    try:
        return Design(_stored(data["aggregator"]), data["bounds"]["lower"], data["bounds"]["upper"], data)
    except (KeyError, TypeError) as error:
        raise InputError(f"{name!r} is not a whole design: {error} is missing or of another kind.") from None


def _stored(aggregator: dict[str, Any]) -> TableAggregator | GridAggregator:
    if aggregator["kind"] == "grid":
        return GridAggregator(np.array(aggregator["values"]))
    return TableAggregator(np.array(aggregator["reports"]), np.array(aggregator["forecasts"]))


def content_hash(data: dict[str, Any]) -> str:
    """sha256 over the JSON text with sorted keys and no spaces.

    >>> content_hash({"b": 1, "a": 0.5}) == content_hash({"a": 0.5, "b": 1})
    True
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def is_design_file(rule: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a rule is meant as a design file: a path, or a name that ends in .json."""
    return isinstance(rule, os.PathLike) or (isinstance(rule, str) and rule.endswith(".json"))


def agents_of(aggregator: object) -> int | None:
    """For how many answers a design or a table is made; None: for any number, or nobody knows.

    >>> agents_of(GridAggregator(np.zeros((3, 3)))), agents_of(get_rule("mean"))
    (2, None)
    """
    inner = aggregator.aggregator if isinstance(aggregator, Design) else aggregator
    if isinstance(inner, GridAggregator):
        return inner.agents
    return inner.reports.shape[1] if isinstance(inner, TableAggregator) else None


def as_aggregator(rule: AnyAggregator) -> Callable[[Any], Any]:
    """The callable that a user means.

    >>> as_aggregator("mean")([[0.2, 0.4]])
    array([0.3])
    """
    if is_design_file(rule):
        return load_design(rule)
    if isinstance(rule, str):
        return get_rule(rule)
    given: Any = rule
    meant = given if callable(given) else getattr(given, "aggregator", None)  # a solution has one
    if callable(meant):
        return meant
    raise InputError(f"rule must be the name of a rule, a design file or a callable; it is {rule!r}.")
