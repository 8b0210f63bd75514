"""Files that are meant to hurt: small certificates, signed, whose check takes as much work as the size says."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from forging import sign

if TYPE_CHECKING:
    from collections.abc import Callable

Data = dict[str, Any]

MEAN = {"kind": "grid", "values": [[0, 0.5], [0.5, 1]]}
ROUGH = {"kind": "grid", "values": [[0.1, 0.3], [0.6, 0.9]]}
HALF_SUM = {"kind": "log-odds", "phi": {"form": "linear", "alpha": "1/2", "shift": 0}}
PIECES = [{"kappa": 0.4, "delta": 0.1, "side": "below"}, {"kappa": 0.3, "delta": 0.2, "side": "above"}]
MIDDLE = [0.3, 0.7]  # priors


def certificate(aggregator: Data, **parts: Any) -> Data:
    """A certificate with some parts of its own; the others are harmless."""
    agents = parts.pop("agents", 2)
    nothing = [{"weight": 1, "prior": 0.5, "reports": [[0.5, 0.5]] * agents}]
    data = {
        "format": "robustpool-certificate/2",
        "claims": [],
        "family": {"kind": "conditionally-independent", "agents": agents, "prior_range": parts.pop("priors", [0, 1])},
        "loss": "square",
        "paradigm": "additive",
        "aggregator": aggregator,
        "upper": {"bound": 0.99, "witness": {"kind": "theorem"}},
        "lower": {"bound": 0.0, "mixture": nothing},
        "versions": {"robustpool": "0", "python": "3"},
    }
    return sign(data | parts)


# ---------------------------------------------------------------------------------------------------------- upper bounds


def dual(intervals: list[Data], tails: Data | None = None) -> Data:
    """The claim that no regret is above 0.99."""
    return {"bound": 0.99, "witness": {"kind": "dual", "tails": tails or {}, "intervals": intervals}}


def irregular(count: int) -> list[float]:
    """Knots from 0 to 1 whose sums are all different."""
    rng = random.Random(count)
    return sorted({0.0, 1.0, *(rng.random() for _ in range(count - 2))})


def knots(aggregator: Data, size: int) -> Data:
    """All pairs of cells between so many knots."""
    places = irregular(size)
    entry = {"priors": MIDDLE, "knots": places, "slopes": [[0] * len(places)] * 2}
    if aggregator == ROUGH:
        entry["slopes"] = [entry["slopes"]] * 2
    return certificate(aggregator, priors=MIDDLE, upper=dual([entry]))


def intervals(size: int) -> Data:
    """So many intervals of priors."""
    ends = [0.3 + 0.4 * i / size for i in range(size + 1)]
    entries = [{"priors": [*pair], "knots": [0, 1], "slopes": [[0, 0]] * 2} for pair in pairwise(ends)]
    return certificate(MEAN, priors=[0.3, ends[-1]], upper=dual(entries))


def tiny_intervals(size: int) -> Data:
    """The same, each as narrow as doubles are."""
    ends = [0.5]
    for _ in range(size):
        ends.append(math.nextafter(ends[-1], 1))
    entries = [{"priors": [*pair], "knots": [0, 1], "slopes": [[0, 0]] * 2} for pair in pairwise(ends)]
    return certificate(MEAN, priors=[0.5, ends[-1]], upper=dual(entries))


def table(size: int) -> Data:
    """A large table, and tails at both ends that check all its cells."""
    values = [[round((i + j) / (2 * size), 3) for j in range(size + 1)] for i in range(size + 1)]
    values[0][1] = 0.3
    tail = {"prior": 0.3, "constants": [0.2, 0.1, 0.1]}
    upper = dual([], {"low": tail, "high": {**tail, "prior": 0.75}})
    return certificate({"kind": "grid", "values": values}, upper=upper)


def nested_splits(size: int) -> Data:
    """Splits within splits."""
    leaf: Data = {"knots": [0, 0.25, 0.5, 1], "slopes": [[[0] * 4] * 2] * 2}
    entry = leaf
    for i in range(size):
        entry = {"end": "low" if i % 2 else "high", "at": 0.5, "parts": [entry, leaf]}
    return certificate(ROUGH, priors=MIDDLE, upper=dual([{"priors": MIDDLE, **entry}]))


def nodes(size: int, ends: tuple[float, float] = (-4.0, 0.0), kappa: Any = 0.05, agents: int = 2, **phi: Any) -> Data:
    """So many slopes of a function of the summed log-odds, on priors that need no lower tail."""
    logits = [ends[0] + (ends[1] - ends[0]) * i / size for i in range(size + 1)]
    witness = {"kind": "slopes", "below": {"logits": logits, "kappas": [kappa] * len(logits)}}
    aggregator = {"kind": "log-odds", "phi": phi} if phi else HALF_SUM
    upper = {"bound": 0.99, "witness": witness}
    return certificate(aggregator, agents=agents, priors=[0.05, 0.5], upper=upper)


# -------------------------------------------------------------------------------------------------------------- mixtures


def mixture(size: int, agents: int, digits: int) -> Data:
    """So many structures, of fractions with so many digits that share no factors."""
    rng, entries = random.Random(size), []
    for _ in range(size):
        prior = Fraction(rng.randrange(1, 10**digits), 10**digits + 1)
        pairs = []
        for _ in range(agents):
            below, above = (rng.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
            low = Fraction(int(prior * below) * rng.randrange(1, 9) // 9, below)
            least = math.ceil(prior * above)
            high = Fraction(least + (above - least) * rng.randrange(1, 9) // 9, above)
            pairs.append([str(low), str(high)])
        entries.append({"weight": f"1/{size}", "prior": str(prior), "reports": pairs})
    claim = {"bound": 0.0, "mixture": entries}
    return certificate(MEAN if agents == 2 else HALF_SUM, agents=agents, lower=claim, value=claim)


# ------------------------------------------------------------------------------------------------------- finite families


def finite(states: int, signals: list[int], report: str, structures: int = 1) -> Data:
    """Structures in which all is equally likely; there is one profile of reports, and many signals that lead to it."""
    total, agents = states * math.prod(signals), len(signals)

    def joint(shape: list[int]) -> Any:
        return [joint(shape[1:]) for _ in range(shape[0])] if shape else f"1/{total}"

    entry = {"name": "equal", "joint": joint([states, *signals])}
    own = ["1/2"] if states == 2 else [f"1/{states}"] * states
    if report == "higher-order":
        own = own * agents
    if report == "decision":  # the earliest of the states that are equally likely
        own = ["1"] + ["0"] * (states - 1)
    return family(states, agents, report, [entry] * structures, own)


def listed(points: int, numbers: int = 1) -> Data:
    """So many points with the same report, of so many numbers."""
    point = {"reports": [["1/2"] * numbers], "mass": [f"1/{2 * points}"] * 2}
    return family(2, 1, "listed", [{"name": "equal", "points": [point] * points}], ["1/2"] * numbers)


def family(states: int, agents: int, report: str, structures: list[Data], own: list[str]) -> Data:
    """The certificate of such a family, with a table of one row."""
    forecast = "1/2" if states == 2 else [f"1/{states}"] * states
    weights = [{"weight": f"1/{len(structures)}", "structure": i} for i in range(len(structures))]
    return certificate(
        {"kind": "table", "reports": [[own] * agents], "forecasts": [forecast]},
        family={
            "kind": "finite",
            "states": ["state"] * states,
            "agents": ["agent"] * agents,
            "report": report,
            "structures": structures,
        },
        upper={"bound": 1.0},
        lower={"bound": 0.0, "mixture": weights},
        value={"bound": 0.0, "mixture": weights},
    )


ATTACKS: dict[str, tuple[Callable[[int], Data], int]] = {
    "knots of a table": (lambda size: knots(MEAN, size), 240),
    "knots without symmetry": (lambda size: knots(ROUGH, size), 160),
    "knots of the geometric mean": (lambda size: knots({"kind": "geometric-mean"}, size), 240),
    "knots of a prior estimate": (lambda size: knots({"kind": "prior-estimate", "pieces": PIECES}, size), 160),
    "points of karmarkar": (lambda size: knots({"kind": "karmarkar", "a": 1.7}, size), 80),
    "points of beta-pool": (lambda size: knots({"kind": "beta-pool", "a": 3}, size), 80),
    "intervals": (intervals, 60),
    "tiny intervals": (tiny_intervals, 60),
    "entries of a table": (table, 160),
    "nested splits": (nested_splits, 60),
    "nodes": (nodes, 3000),
    "nodes with long kappas": (lambda size: nodes(size, kappa=f"{'1' * 998}/{'7' * 1000}"), 3000),
    "nodes for twelve agents": (lambda size: nodes(size, agents=12), 3000),
    "nodes of a bent rule": (lambda size: nodes(size, form="tanh", a=0.5, b=0.1, k=4), 3000),
    "structures": (lambda size: mixture(size, 2, 3), 400),
    "structures of one agent": (lambda size: mixture(size, 1, 3), 1200),
    "structures with long fractions": (lambda size: mixture(size, 2, 999), 16),
    "structures of six agents": (lambda size: mixture(size, 6, 6), 32),
    "signals": (lambda size: finite(2, [size], "posterior"), 4000),
    "signals of two agents": (lambda size: finite(2, [size, size], "posterior"), 64),
    "signals, higher-order": (lambda size: finite(2, [size, size], "higher-order"), 48),
    "agents, higher-order": (lambda size: finite(2, [2] * size, "higher-order"), 8),
    "states": (lambda size: finite(size, [1] * 12, "posterior"), 1600),
    "states, higher-order": (lambda size: finite(size, [1] * 12, "higher-order"), 240),
    "states, decisions": (lambda size: finite(size, [1] * 12, "decision"), 1600),
    "structures of a finite family": (lambda size: finite(2, [1], "posterior", size), 1600),
    "listed points": (listed, 3200),
    "numbers of a listed report": (lambda size: listed(100, size), 400),
}
