"""A design in a file: the aggregator with its assumptions, bounds, settings, versions and a hash. JSON, no pickles."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__
from .aggregators.design import DESIGN_FORMAT, content_hash
from .aggregators.grid import GridAggregator
from .files import write_json
from .structures.conditionally_independent import ConditionallyIndependent, EnumeratedFamily, NamedStructures

if TYPE_CHECKING:
    import os

    from .aggregators.table import TableAggregator
    from .solvers.solution import Mixture, Solution
    from .structures.finite import FiniteFamily


def save_design(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution as a design file, whole or not at all."""
    write_json(path, design_to_json(solution))


def design_to_json(solution: Solution) -> dict[str, Any]:
    """The JSON object of a design."""
    data: dict[str, Any] = {
        "format": DESIGN_FORMAT,
        "family": _family_to_json(solution.family),
        "settings": solution.settings,
        "bounds": {
            "lower": solution.lower,
            "upper": solution.upper,
            "gap": solution.gap,
            "proved": False,
            "upper_is": "found by search" if solution.searched else "measured",
            "arithmetic": solution.settings["arithmetic"],
        },
        "guarantee": solution.guarantee,
        "rounds": solution.rounds,
        "seconds": solution.seconds,
        "stopped": {"reason": solution.stopped.name.lower(), "sentence": solution.stopped.value},
        "aggregator": _aggregator_to_json(solution.aggregator),
        "mixture": _mixture_to_json(solution.mixture),
        "trace": {
            key: [asdict(point)[key] for point in solution.trace] for key in ("round", "lower", "upper", "seconds")
        },
        "versions": {"robustpool": __version__, "numpy": np.__version__, "python": platform.python_version()},
    }
    return {**data, "hash": content_hash(data)}


def _family_to_json(family: FiniteFamily | ConditionallyIndependent) -> dict[str, Any]:
    if isinstance(family, ConditionallyIndependent):
        return {"kind": "conditionally-independent", **asdict(family)}
    return {
        "kind": "finite",
        "states": list(family.states),
        "agents": list(family.agents),
        "report": family.report.name,
        "structures": len(family),
        "fingerprint": family.fingerprint(),
    }


def _aggregator_to_json(aggregator: TableAggregator | GridAggregator) -> dict[str, Any]:
    if isinstance(aggregator, GridAggregator):
        return {"kind": "grid", "interpolation": "multilinear", "values": aggregator.values.tolist()}
    return {"kind": "table", "reports": aggregator.reports.tolist(), "forecasts": aggregator.forecasts.tolist()}


def _mixture_to_json(mixture: Mixture) -> dict[str, Any]:
    used = np.flatnonzero(mixture.weights)
    structures, weight = mixture.structures, mixture.weights[used].tolist()
    if isinstance(structures, (EnumeratedFamily, NamedStructures)):
        priors, reports = structures.parameters(used)
        exchanged = list(mixture.symmetries)
        return {"prior": priors.tolist(), "reports": reports.tolist(), "weight": weight, "exchanged": exchanged}
    names = [structures.name(int(t)) for t in used] if structures.names else None
    return {"structure": used.tolist(), "name": names, "weight": weight}
