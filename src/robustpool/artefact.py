"""A design in a file: the aggregator with its assumptions, bounds, settings, versions and a hash. JSON, no pickles."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__
from .aggregators.grid import GridAggregator
from .aggregators.table import TableAggregator
from .errors import InputError
from .structures.conditionally_independent import ConditionallyIndependent, EnumeratedFamily
from .structures.family_file import write_json

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .solvers.solution import Mixture, Solution
    from .structures.finite import FiniteFamily

FORMAT = "robustpool-design/1"


@dataclass(frozen=True, eq=False)
class Design:
    """A design as it stands in a file; call it like any aggregator."""

    aggregator: TableAggregator | GridAggregator
    lower: float
    upper: float
    data: dict[str, Any]

    def __call__(self, reports: ArrayLike) -> NDArray[np.float64]:
        """The forecasts for report profiles."""
        return self.aggregator(reports)

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return f"design {self.data['hash'][7:15]}"


def save_design(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution as a design file, whole or not at all."""
    write_json(path, design_to_json(solution))


def design_to_json(solution: Solution) -> dict[str, Any]:
    """The JSON object of a design."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "family": _family_to_json(solution.family),
        "settings": solution.settings,
        "bounds": {
            "lower": solution.lower,
            "upper": solution.upper,
            "gap": solution.gap,
            "proved": False,
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
    if isinstance(structures, EnumeratedFamily):
        priors, reports = structures.parameters(used)
        return {"prior": priors.tolist(), "reports": reports.tolist(), "weight": weight}
    names = [structures.name(int(t)) for t in used] if structures.names else None
    return {"structure": used.tolist(), "name": names, "weight": weight}


def load_design(path: str | os.PathLike[str]) -> Design:
    """Read a design file and check that nobody changed it."""
    name = os.fspath(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the design file {name!r} does not exist.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"the design file {name!r} cannot be read ({error}).") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else None
        raise InputError(f"{name!r} is not a design: format must be {FORMAT!r}; it is {found!r}.")
    if data.get("hash") != content_hash({key: value for key, value in data.items() if key != "hash"}):
        raise InputError(f"{name!r} was changed after it was written: its content does not match its hash.")
    stored = data["aggregator"]
    aggregator: TableAggregator | GridAggregator
    if stored["kind"] == "grid":
        aggregator = GridAggregator(np.array(stored["values"]))
    else:
        aggregator = TableAggregator(np.array(stored["reports"]), np.array(stored["forecasts"]))
    return Design(aggregator, data["bounds"]["lower"], data["bounds"]["upper"], data)


def content_hash(data: dict[str, Any]) -> str:
    """sha256 over the JSON text with sorted keys and no spaces.

    >>> content_hash({"b": 1, "a": 0.5}) == content_hash({"a": 0.5, "b": 1})
    True
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
