"""What a user knows of the forecasters and the question: choices that change the answer, each checked, each with what is proved.

    the base rate lies in a range       two forecasters: the rule for that range; else the forecast is brought into what the range allows
    all saw the same public evidence    nothing changes, and neither does what is proved
    one knows all that the others know  her report is the answer
    they are over-confident             each report's log-odds are multiplied by a slope below 1 first
    more than two outcomes              reports and forecast are distributions

Bringing a forecast f into the interval of all right answers that the range allows never takes it away from the right answer, whichever that
is: whatever is proved of f holds for the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import InputError
from ..minimax.prior_ranges import PriorRange, prior_range_curve
from ..minimax.rows import minimax_rows
from ..numerics import logit, sigma
from .typed import MistypedError, entered

if TYPE_CHECKING:
    from ..typing import Floats

CHOICES = ("base_rate", "public", "knows_all", "slope", "outcomes")
UNKNOWN = "unknown"
"""One knows all that the others know, but nobody can tell who."""

STEEPEST, FLATTEST = 1.0, 0.1
NEAREST = 1e-4
"""How near to 0 and 1 a base rate may be: for nearer ones the search for a rule takes too long."""

MOST_OUTCOMES = 20


class KnowledgeError(InputError):
    """A choice that cannot be, by itself or next to another; ``choice`` names it."""

    def __init__(self, choice: str, sentence: str) -> None:
        super().__init__(sentence)
        self.choice = choice


@dataclass(frozen=True)
class Knowledge:
    """What is known; the defaults are nothing."""

    base_rate: tuple[float, float] | None = None
    public: bool = False
    knows_all: int | str | None = None  # her place, from 0, or UNKNOWN
    slope: float | None = None
    outcomes: int = 2

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return self != Knowledge()


NOTHING = Knowledge()


def read_knowledge(data: Any, agents: int) -> Knowledge:
    """Knowledge from JSON, checked.

    >>> read_knowledge({"base_rate": ["5 %", 0.2], "public": True}, agents=2)
    Knowledge(base_rate=(0.05, 0.2), public=True, knows_all=None, slope=None, outcomes=2)
    """
    if not isinstance(data, Mapping):
        raise InputError(f"know must be an object with what is known; it is {data!r}.")
    for name in data:
        if name not in CHOICES:
            raise InputError(f"know may have {', '.join(CHOICES)}; it has {name!r}.")
    given = {name: value for name, value in data.items() if value is not None}
    known: dict[str, Any] = {}
    if "base_rate" in given:
        known["base_rate"] = _range(given["base_rate"])
    if "public" in given:
        if not isinstance(given["public"], bool):
            raise KnowledgeError("public", f"know.public must be true or false; it is {given['public']!r}.")
        known["public"] = given["public"]
    if "knows_all" in given:
        known["knows_all"] = _place(given["knows_all"], agents)
    if "slope" in given:
        known["slope"] = _slope(given["slope"])
    if "outcomes" in given:
        known["outcomes"] = _whole("outcomes", given["outcomes"], 2, MOST_OUTCOMES)
    return check(Knowledge(**known))


def check(know: Knowledge) -> Knowledge:
    """The knowledge, unless its parts contradict each other."""
    if know.base_rate is not None and know.outcomes > 2:
        raise KnowledgeError(
            "base_rate", f"a range of base rates is for questions with two outcomes; this one has {know.outcomes}."
        )
    if know.base_rate is not None and know.knows_all == UNKNOWN:
        raise KnowledgeError(
            "knows_all",
            "a range of base rates is for independent evidence; if one of them knows all that the others know, say who.",
        )
    return know


def _range(ends: Any) -> tuple[float, float]:
    """A range of base rates: two probabilities in order, as people type them."""
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise KnowledgeError("base_rate", f"a range of base rates has a low and a high end; it is {ends!r}.")
    try:
        low, high = (entered(place, end) for place, end in enumerate(ends, start=1))
    except MistypedError as error:
        end = ("low", "high")[error.place - 1]
        raise KnowledgeError("base_rate", str(error).replace(f"report {error.place}", f"the {end} base rate")) from None
    if low > high:
        raise KnowledgeError(
            "base_rate", f"a range of base rates goes from low to high; it is from {low:g} to {high:g}."
        )
    if low == high and low in (0, 1):
        raise KnowledgeError("base_rate", f"a base rate of {100 * low:g} % leaves nothing to forecast.")
    if any(0 < min(end, 1 - end) < NEAREST for end in (low, high)):
        raise KnowledgeError(
            "base_rate",
            f"an end of a range is 0, 1, or at least {NEAREST:g} away from them; it is {low:g} to {high:g}.",
        )
    return low, high


def _place(place: Any, agents: int) -> int | str:
    return UNKNOWN if place == UNKNOWN else _whole("knows_all", place, 0, agents - 1)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    try:
        return checks.whole(f"know.{name}", value, least=least, most=most)
    except InputError as error:
        raise KnowledgeError(name, str(error)) from None


def _slope(slope: Any) -> float:
    """A slope as a number, or as people type it."""
    try:
        value = entered(1, slope)
    except MistypedError:
        value = float("nan")
    if not FLATTEST <= value <= STEEPEST:
        raise KnowledgeError(
            "slope", f"the slope of over-confident forecasters lies in [{FLATTEST:g}, {STEEPEST:g}]; it is {slope}."
        )
    return value


# ------------------------------------------------------------------------------------------------------- what it changes


def moderated(x: Floats, slope: float | None) -> Floats:
    """Reports with log-odds times the slope: logit x' = slope logit x; 0 and 1 stay.

    >>> moderated(np.array([0.9, 0.5, 0.0]), 0.5)
    array([0.75, 0.5 , 0.  ])
    """
    if slope is None:
        return x
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant
        return np.asarray(sigma(slope * logit(x)))


def moderated_distributions(x: Floats, slope: float | None) -> Floats:
    """Distributions to the power of the slope, (..., k): log x'_k = slope log x_k + constant; for two outcomes the same."""
    if slope is None:
        return x
    powers = x**slope
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


_PROOFS: dict[tuple[float, float], PriorRange | None] = {}
MOST_PROOFS = 1000
NARROW = 0.05
"""In a range of base rates that is narrower, the right answers for given reports are so close to each other that no rule is looked for."""


def proved_rule(low: float, high: float) -> PriorRange | None:
    """The rule for two forecasters with a base rate in a range, with its proved bounds; None if the range is narrow.

    Ranges of the minimax table are on record; the first time, others take a few seconds.
    """
    ends = (low, high)
    if not has_proof(ends):
        if len(_PROOFS) > MOST_PROOFS:
            _PROOFS.clear()
        _PROOFS[ends] = next(prior_range_curve([ends]))
    return _PROOFS.get(ends)


def has_proof(ends: tuple[float, float]) -> bool:
    """Whether the rule for a range is there at once."""
    if not _PROOFS:
        for row in minimax_rows("prior-range"):
            if row.prior_range is not None and row.proved and row.lower is not None and row.upper is not None:
                _PROOFS[row.prior_range] = PriorRange(*row.prior_range, row.lower, row.upper, row.rule)
        _PROOFS[0.0, 1.0] = None  # no range at all
    return ends in _PROOFS or ends[1] - ends[0] < NARROW
