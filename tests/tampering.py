"""What a forger needs: a small certificate of each kind, changes in one place, and a signature that fits."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import robustpool as rp
from forging import INDEPENDENT, sign
from robustpool.families.family_file import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Place = tuple[Any, ...]


def weather_design() -> rp.Certificate:
    """With the value of the game, and with the worst-case loss in place of the regret."""
    solution = rp.solve(rp.load_family(EXAMPLES / "weather-unknown.json"), tolerance=1e-9, paradigm="absolute")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "design.json"
        rp.save_design(solution, path)
        return rp.certify(path, EXAMPLES / "weather-unknown.json")


def own_words(agent: int, signal: int, structure: rp.InformationStructure) -> list[float]:
    """A report of two numbers that no format of ours gives: which signal, and whose."""
    return [float(signal) / 3, float(agent) * structure.joint.shape[0]]


def with_own_words() -> rp.Certificate:
    joints = [[[0.45, 0.05], [0.05, 0.45]], [[0.3, 0.2], [0.2, 0.3]]]
    family = rp.FiniteFamily.from_structures([*map(rp.InformationStructure, joints)], report=own_words)
    return rp.certify(lambda x: 0.2 + x[:, 0, 0], family)


OTHERS = ("slopes for three", "design", "splits", "beta-pool")  # what takes longer, or is much like another
MAKERS: dict[str, Callable[[], rp.Certificate]] = {
    **{name: make for name, make in INDEPENDENT.items() if name not in OTHERS},
    "finite": lambda: rp.certify("mean", EXAMPLES / "weather-unknown.json"),
    "finite, absolute": weather_design,
    "finite, listed": with_own_words,
}


def as_read(certificate: rp.Certificate) -> dict[str, Any]:
    """The content of the file."""
    return dict(json.loads(json.dumps(certificate.data)))


def leaves(data: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every number and every text, with the way to it."""
    if isinstance(data, (dict, list)):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(part, (*at, key))
    else:
        yield at, data


def branches(data: Any, at: Place = ()) -> Iterator[Place]:
    """The way to every object and list, and to what is in them."""
    if at:
        yield at
    if isinstance(data, (dict, list)):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from branches(part, (*at, key))


def part_of(data: Any, at: Place) -> Any:
    for key in at:
        data = data[key]
    return data


def changed(data: dict[str, Any], at: Place, value: Any, *, signed: bool = True) -> dict[str, Any]:
    """A copy with another value in one place; ``signed``: with claims and a hash that fit."""
    result = copy.deepcopy(data)
    part_of(result, at[:-1])[at[-1]] = value
    return sign(result) if signed else result


def without(data: dict[str, Any], at: Place) -> dict[str, Any]:
    """A copy that lacks a part."""
    result = copy.deepcopy(data)
    del part_of(result, at[:-1])[at[-1]]
    return result


def refusal(data: dict[str, Any]) -> str:
    """Why a certificate is refused, however well it is signed; whoever is refused has proved nothing."""
    verdict = rp.verify(sign(data))
    assert not verdict.verified
    assert (verdict.upper, verdict.lower, verdict.value, verdict.claims) == (None, None, None, ())
    return verdict.sentence
