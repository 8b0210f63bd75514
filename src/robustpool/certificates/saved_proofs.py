"""Where a proof stands, as a checkpoint keeps it, and back. What nobody can have saved is refused; `robustpool verify` checks the rest."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checkpoints import check
from ..families.worst_case import WorstCase
from ..structures.binary_structure import BinaryStructure
from ..verification.dual import Slopes
from .cover import Standing, Tail
from .dual import Contacts, Proved, Split, halves
from .many_agents import ROUNDS
from .many_agents import Standing as ManyStanding
from .progress import Slabs

if TYPE_CHECKING:
    from .dual import Priors


def check_proof(data: Any) -> None:
    """Refuse what nobody can have saved of a proof of any kind."""
    if "cover" in data:
        cover_from_data(data["cover"])
        worst_from_data(data["worst"])
    elif "points" in data:
        many_from_data(data, data["points"].shape[1])
    else:
        slabs_from_data(data)


def worst_to_data(worst: WorstCase) -> dict[str, Any]:
    """The worst structure that is known."""
    assert isinstance(worst.structure, BinaryStructure)
    return {"regret": worst.regret, "prior": worst.structure.prior, "reports": worst.structure.reports}


def worst_from_data(data: Any) -> WorstCase:
    """The same from saved data."""
    return WorstCase(_number(data["regret"]), BinaryStructure(data["prior"], data["reports"]))


# ------------------------------------------------------------------------------------------------------------ two agents


def cover_to_data(standing: Standing) -> dict[str, Any]:
    """The intervals of priors so far, with their slopes."""
    return {
        "found": standing.found,
        "goal": standing.goal,
        "tails": {end: tail._asdict() for end, tail in standing.tails.items()},
        "open": [_proved_to_data(proved) for proved in standing.open],
        "final": [_proved_to_data(proved) for proved in standing.final],
        "halving": [list(priors) for priors in standing.halving],
    }


def cover_from_data(data: Any) -> Standing:
    """The same from saved data: intervals that follow each other."""
    tails = {end: _tail(tail) for end, tail in data["tails"].items()}
    standing = Standing(
        _number(data["found"]),
        _number(data["goal"]),
        tails,
        [_proved_from_data(proved) for proved in data["open"]],
        [_proved_from_data(proved) for proved in data["final"]],
        [_priors(priors) for priors in data["halving"]],
    )
    check("the tails", tails.keys() <= {"low", "high"})
    check("the intervals", _follow([proved.priors for proved in (*standing.open, *standing.final)]))
    check("the intervals", {*standing.halving} <= {proved.priors for proved in standing.open if halves(proved.priors)})
    check("the bounds", 0 <= standing.found <= standing.goal)
    return standing


def _tail(data: Any) -> Tail:
    constants = tuple(map(_number, data["constants"]))
    check("a tail", len(constants) == 3 and 0 < _number(data["prior"]) < 1)
    return Tail(data["prior"], constants, _bound(data["bound"]))  # type: ignore[arg-type]


def _proved_to_data(proved: Proved) -> dict[str, Any]:
    return {
        "slopes": _slopes_to_data(proved.slopes),
        "priors": list(proved.priors),
        "bound": proved.bound,
        "least": proved.least,
        "contacts": proved.contacts._asdict(),
        "knots": proved.knots,
    }


def _proved_from_data(data: Any) -> Proved:
    contacts = Contacts(_array(data["contacts"]["reports"], 2), _array(data["contacts"]["chances"], 1))
    check("the contacts", contacts.reports.shape == (len(contacts.chances), 2))
    check("the contacts", bool(((contacts.reports >= 0) & (contacts.reports <= 1)).all()))
    slopes = _slopes_from_data(data["slopes"])
    return Proved(
        slopes, _priors(data["priors"]), _bound(data["bound"]), _number(data["least"]), contacts, _knots(data["knots"])
    )


def _slopes_to_data(slopes: Slopes | Split) -> dict[str, Any]:
    if isinstance(slopes, Split):
        return {"end": slopes.end, "at": slopes.at, "parts": [_slopes_to_data(part) for part in slopes.parts]}
    return {"priors": list(slopes.priors), "knots": slopes.knots, "values": slopes.values, "ranges": slopes.ranges}


def _slopes_from_data(data: Any) -> Slopes | Split:
    if "parts" in data:
        first, second = map(_slopes_from_data, data["parts"])
        check("a split", data["end"] in ("low", "high"))
        return Split(data["end"], _number(data["at"]), (first, second))
    knots, values = _knots(data["knots"]), _array(data["values"], 3)
    check("the slopes", values.shape == (2, 2, len(knots)))
    ranges = data["ranges"]
    if ranges is not None:
        (a, b), (c, d) = ranges
        ranges = (_number(a), _number(b)), (_number(c), _number(d))
    return Slopes(_priors(data["priors"]), knots, values, ranges)


# ----------------------------------------------------------------------------------------------------------- many agents


def many_to_data(standing: ManyStanding) -> dict[str, Any]:
    """The stage, the intervals that are done and left, and the points so far."""
    tried = [[*priors, count] for priors, count in standing.tried.items()]
    centres = [[prior, values] for prior, values in standing.centres.items()]
    return {**standing._asdict(), "tried": tried, "centres": centres}


def many_from_data(data: Any, agents: int) -> ManyStanding:
    """The same from saved data."""
    check("the data", isinstance(data, dict) and data.keys() == set(ManyStanding._fields))
    tried = {_priors(priors): count for *priors, count in data["tried"]}
    centres = {_number(prior): _array(values, 1) for prior, values in data["centres"]}
    points = _array(data["points"], 2)
    waiting = [_priors(priors) for priors in data["waiting"]]
    done = [_priors(entry["priors"]) for entry in data["done"]]
    check("the stage", type(data["stage"]) is int and data["stage"] in (0, 1))
    check("the intervals", _follow([*done, *waiting]))
    check(
        "the tries",
        tried.keys() <= {*waiting} and all(type(count) is int and 0 < count < ROUNDS for count in tried.values()),
    )
    check("the points", points.shape[1] == agents and bool(((points >= 0) & (points <= 1)).all()))
    check("the tail", data["tail"] is None or (isinstance(data["tail"], dict) and 0 < data["tail"]["prior"] < 1))
    check("the witness", (data["witness"] is None) == (data["proved"] == math.inf))
    _check_plain(data["done"], data["tail"], data["witness"])
    read = {"waiting": waiting, "points": points, "tried": tried, "centres": centres}
    return ManyStanding(**{**data, **read, "proved": _bound(data["proved"])})


# ------------------------------------------------------------------------------------------------------------- the parts


def _check_plain(*parts: Any) -> None:
    """Refuse what cannot be a part of a certificate."""
    try:
        json.dumps(parts, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        check("a part of the certificate", False)


def _follow(intervals: list[Priors]) -> bool:
    """Whether intervals follow each other without gaps."""
    return all(one[1] == other[0] for one, other in pairwise(sorted(intervals)))


def _number(value: Any) -> float:
    check("a number", isinstance(value, float) and math.isfinite(value))
    return float(value)


def _bound(value: Any) -> float:
    check("a bound", isinstance(value, float) and not math.isnan(value))
    return float(value)


def _array(value: Any, axes: int) -> Any:
    check("an array", isinstance(value, np.ndarray) and value.dtype == float and value.ndim == axes)
    check("an array", bool(np.isfinite(value).all()))
    return value


def _knots(value: Any) -> Any:
    check("the knots", len(_array(value, 1)) > 1 and bool((np.diff(value) > 0).all()))
    return value


def _priors(value: Any) -> Priors:
    low, high = value
    check("an interval of priors", 0 <= _number(low) < _number(high) <= 1)
    return low, high


# --------------------------------------------------------------------------------------------------------- common source


def slabs_from_data(data: Any) -> Slabs:
    """Where a proof by slabs stood, from saved data."""
    check("the slabs", isinstance(data, dict) and data.keys() == set(Slabs._fields))
    check("the slabs", isinstance(data["finished"], bool) and isinstance(data["entries"], list))
    check("the slabs", all(0 < _number(data[name]) < 1 for name in ("reached", "width")))
    ends = [0.0, *(entry["chances"][1] for entry in data["entries"])]
    check("the slabs", [entry["chances"] for entry in data["entries"]] == [list(pair) for pair in pairwise(ends)])
    check(
        "the slabs", ends[-1] == data["reached"] and all(isinstance(entry["cover"], dict) for entry in data["entries"])
    )
    _check_plain(data["entries"])
    return Slabs(**data)
