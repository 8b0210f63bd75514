"""What a forger needs: a small certificate of each kind, changes in one place, and a signature that fits."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import robustpool as rp
from robustpool.aggregators.grid import GridAggregator
from robustpool.certificates.certifiable import rule_of
from robustpool.families.family_file import EXAMPLES
from robustpool.verification.claims import claims
from robustpool.verification.verify import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from robustpool.certificates.certify import Progress

Place = tuple[Any, ...]


def stop_at_once(progress: Progress) -> None:
    """Be content with the first bound that is proved."""
    if progress.certificate is not None:
        raise KeyboardInterrupt


def small(aggregator: Any, prior_range: tuple[float, float]) -> rp.Certificate:
    family = rp.ConditionallyIndependent(2, None, None, prior_range)
    return rp.certify(aggregator, family, tolerance=1e-2, progress=stop_at_once)


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
    structures = [
        rp.InformationStructure([[0.45, 0.05], [0.05, 0.45]]),
        rp.InformationStructure([[0.3, 0.2], [0.2, 0.3]]),
    ]
    return rp.certify(lambda x: 0.2 + x[:, 0, 0], rp.FiniteFamily.from_structures(structures, report=own_words))


ROUGH = GridAggregator(np.array([[0.1, 0.3], [0.6, 0.9]]))
MAKERS: dict[str, Callable[[], rp.Certificate]] = {
    "theorem": lambda: rp.certify("minimax"),
    "slopes": lambda: small("log-odds:alpha=0.6", (0.0, 1.0)),
    "shifted slopes": lambda: small("bordley:prior=0.4", (0.45, 0.6)),
    "mean": lambda: small("mean", (0.3, 0.33)),
    "low tail": lambda: small("mean", (0.0, 0.01)),
    "table": lambda: small(ROUGH, (0.3, 0.32)),
    "high tail": lambda: small(ROUGH, (0.995, 1.0)),
    "prior estimate": lambda: small("arieli-tuned", (0.4, 0.42)),
    "geometric mean": lambda: small("geometric-mean", (0.4, 0.42)),
    "function of the mean": lambda: small("karmarkar", (0.4, 0.42)),
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


def sign(data: dict[str, Any]) -> dict[str, Any]:
    """The claims that the content would prove, and the hash; what cannot be put into words keeps its claims."""
    with suppress(Exception):
        data["claims"] = claims(
            data, None if data["family"]["kind"] == "finite" else rule_of(data["aggregator"]).formula
        )
    data["hash"] = content_hash(data)
    return data


def refusal(data: dict[str, Any]) -> str:
    """Why a certificate is refused, however well it is signed; whoever is refused has proved nothing."""
    verdict = rp.verify(sign(data))
    assert not verdict.verified
    assert (verdict.upper, verdict.lower, verdict.value, verdict.claims) == (None, None, None, ())
    return verdict.sentence
